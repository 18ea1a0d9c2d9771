import bdb
import io

import pytest

from calque_core.frames.prompt import Prompt
from calque_core.frames.recorded import RecordedFrame, record_frames

HERE = "here"


def inner(x):
    values = {"x": x, "text": "one line"}
    return record_frames(True, 2), values


def outer(y):
    return inner(y + 1)


def session(monkeypatch, capsys, *commands, frames=None):
    """Return what the prompt prints for commands, without what it prints first."""
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{command}\n" for command in commands)))
    Prompt(frames or outer(1)[0]).cmdloop()
    first, *answers = capsys.readouterr().out.split("(calque) ")
    assert first.startswith("> ")
    return [answer.rstrip("\n") for answer in answers]


def test_expressions_see_the_names_of_the_frame(monkeypatch, capsys):
    commands = "p x", "p [v * x for v in (1, x)]", "p HERE", "up", "p y", "p x", "p y +", "c"
    answers = session(monkeypatch, capsys, *commands)
    assert answers[:3] == ["2", "[2, 4]", "'here'"]
    assert answers[4] == "1"
    assert answers[5].startswith("*** NameError: name 'x' is not defined")
    assert answers[6].startswith("*** SyntaxError: ")
    assert len(answers) == len(commands)


def test_up_and_down_stop_at_the_ends(monkeypatch, capsys):
    up, at_top, down, at_bottom, _ = session(monkeypatch, capsys, "u", "up", "d", "down", "continue")
    assert up.endswith("outer()\n-> return inner(y + 1)")
    assert at_top == "*** This is the oldest frame."
    assert down.endswith("inner()\n-> return record_frames(True, 2), values")
    assert at_bottom == "*** This is the newest frame."


def test_list_where_and_args_show_the_program(monkeypatch, capsys):
    lines, frames, names, _ = session(monkeypatch, capsys, "list", "where", "args", "c")
    (shown,) = [line for line in lines.splitlines() if "->" in line]
    assert shown.endswith("->     return record_frames(True, 2), values")
    assert "def inner(x):" in lines
    oldest, newest = (line for line in frames.splitlines() if line.endswith("()"))
    assert (oldest[0], newest[0]) == (" ", ">")
    assert oldest.endswith("outer()")
    assert names == "x = 2\nvalues = {'x': 2, 'text': 'one line'}"


def test_pp_breaks_long_values_and_an_empty_line_does_nothing(monkeypatch, capsys):
    frame = RecordedFrame("nowhere.py", 3, "f", {"x": [10**9] * 12}, {})
    answers = session(monkeypatch, capsys, "pp x", "", "list", "c", frames=[frame])
    assert answers[0].count("\n") == 11
    assert answers[1:3] == ["", ""]


def test_an_unknown_command_is_named_and_help_lists_the_commands(monkeypatch, capsys):
    unknown, helped, _ = session(monkeypatch, capsys, "next 3", "help p", "c")
    assert unknown == "*** There is no command 'next'. Type help, or p and an expression."
    assert helped == "Show the value of an expression: p x + 1."


@pytest.mark.parametrize("text", ["q\n", "quit\n", "exit\n", ""])
def test_quit_and_the_end_of_the_input_raise(text, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    with pytest.raises(bdb.BdbQuit):
        Prompt(outer(1)[0]).cmdloop()


def test_a_record_keeps_the_names_as_they_were():
    frames, _ = outer(1)
    assert [(frame.function, frame.local_names) for frame in frames][1] == ("outer", {"y": 1})
    assert frames[0].line == inner.__code__.co_firstlineno + 2
    assert frames[0].global_names is globals()


def test_the_frame_of_a_module_has_no_local_names():
    namespace = {"record_frames": record_frames}
    exec("frames = record_frames(True, 1)", namespace)
    (frame,) = namespace["frames"]
    assert (frame.local_names, frame.global_names is namespace) == ({}, True)


def test_frames_of_calque_are_shown_on_demand():
    files = [frame.file_name for frame in record_frames(False, None)]
    assert files[0] == __file__
    assert len(record_frames(True, None)) == len(files)  # nothing of calque calls this test
