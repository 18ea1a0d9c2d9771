import bdb
import io

import numpy as np
import pytest

from calque_core import debug, eval_jaxpr, lax, make_jaxpr


def test_print_formats_values_when_the_program_runs(capsys):
    def program(x):
        debug.print("x={:.2f} {name} {1} {{}}", x, lax.add(x, 1), name="is")
        return x

    with pytest.raises(ValueError, match="manual field specification"):
        program(1.0)

    def program(x):
        debug.print("x={0:.2f} {name} {1} {{}}", x, np.arange(2) + x, name="is")
        return x

    jaxpr = make_jaxpr(program)(2.0)
    assert capsys.readouterr().out == ""
    eval_jaxpr(jaxpr, jaxpr.consts, 2.0)
    program(1.0)
    assert capsys.readouterr().out == "x=2.00 is [2. 3.] {}\nx=1.00 is [1. 2.] {}\n"


def test_attributes_items_and_nested_widths_are_formatted_late(capsys):
    def program(x):
        debug.print("{0.shape} {0[1]} {d[k]:>{width}} {0!r}", x, d={"k": x[0]}, width=4)

    eval_jaxpr(jaxpr := make_jaxpr(program)(np.arange(2)), jaxpr.consts, np.arange(2))
    assert capsys.readouterr().out == "(2,) 1    0 array([0, 1])\n"
    assert [eqn.primitive.name for eqn in jaxpr.eqns][-1] == "debug_callback"


@pytest.mark.parametrize(
    ("args", "kwargs", "named"),
    [((1.0,), {}, "argument 0"), ((), {"x": 1.0}, "'x'"), ((1.0, 2.0), {"y": 3.0}, "argument 0, argument 1, 'y'")],
)
def test_an_f_string_is_found_by_its_unused_arguments(args, kwargs, named):
    message = rf"debug.print at test_debug.py:.* has no field for {named} in its format. .*do not use an f-string"
    with pytest.raises(ValueError, match=message):
        debug.print("value 1.0", *args, **kwargs)


@pytest.mark.parametrize(("fmt", "field"), [("{} {}", "1"), ("{x} {y}", "'y'"), ("{7.shape}", "7")])
def test_a_field_without_an_argument_is_named(fmt, field):
    with pytest.raises(ValueError, match=rf"debug.print at .* has no argument for the field {field} of '"):
        debug.print(fmt, 1.0, x=2.0)


def test_the_format_must_be_text():
    with pytest.raises(TypeError, match=r"debug.print at .* got a format of type float. Give a string."):
        debug.print(1.0)


def test_arguments_that_are_no_arrays_reach_the_callback():
    got = []
    marker = object()
    jaxpr = make_jaxpr(lambda x: debug.callback(lambda *a, **k: got.append((a, k)), marker, x, None, kind="s"))(1.0)
    eval_jaxpr(jaxpr, (), 1.0)
    ((args, kwargs),) = got
    assert args[0] is marker
    assert args[1:] == (1.0, None)
    assert kwargs == {"kind": "s"}


def test_results_are_ignored_and_exceptions_are_not():
    assert debug.callback(lambda x: x, 1.0) is None
    with pytest.raises(ZeroDivisionError) as caught:
        debug.callback(lambda x: 1 // int(x), 0)
    assert "This happened in the callback <lambda> (test_debug.py:" in caught.value.__notes__[0]
    assert "of debug.callback at test_debug.py:" in caught.value.__notes__[0]


def test_a_callback_must_be_a_function():
    with pytest.raises(TypeError, match=r"debug.callback got 'f' of type str"):
        debug.callback("f")


# Breakpoints


def stop_in(program, x, monkeypatch, capsys, *commands):
    """Return what the prompt of a breakpoint answers to commands, and the result."""
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{command}\n" for command in commands)))
    out = program(x)
    return [answer.rstrip("\n") for answer in capsys.readouterr().out.split("(calque) ")[1:]], out


def watched(x):
    y = lax.mul(x, 3.0)
    both = {"x": x, "pair": (y, "text")}
    debug.breakpoint()
    return lax.add(both["x"], y)


def test_a_breakpoint_shows_the_variables_of_its_caller(monkeypatch, capsys):
    answers, out = stop_in(watched, 2.0, monkeypatch, capsys, "p y", "p both['pair']", "c")
    assert answers == [repr(lax.mul(2.0, 3.0)), f"({lax.mul(2.0, 3.0)!r}, 'text')", ""]
    assert out == 8.0


def test_a_breakpoint_of_a_traced_program_shows_the_values_of_each_run(monkeypatch, capsys):
    jaxpr = make_jaxpr(watched)(2.0)
    assert capsys.readouterr().out == ""
    for x in (1.0, 5.0):
        run = lambda x: eval_jaxpr(jaxpr, jaxpr.consts, x)
        answers, out = stop_in(run, x, monkeypatch, capsys, "p float(y)", "p both", "up", "p float(x)", "c")
        assert answers[:2] == [f"{3.0 * x}", f"{{'x': array({x:.0f}.), 'pair': (array({3 * x:.0f}.), 'text')}}"]
        assert "test_a_breakpoint_of_a_traced_program" in answers[2]
        assert out == [4.0 * x]


def test_a_breakpoint_passes_each_tracer_once_and_keeps_none():
    def program(x, y):
        again = [x, x, y]
        debug.breakpoint(num_frames=1)
        return again[0]

    jaxpr = make_jaxpr(program)(1.0, 2.0)
    (eqn,) = jaxpr.eqns
    assert len(eqn.invars) == 2
    (frame,) = eqn.params["callback"].fun.frames
    assert frame.local_names == {"x": None, "y": None, "again": None}


def test_a_tracer_of_another_trace_is_shown_as_text(monkeypatch, capsys):
    leaked = []
    make_jaxpr(lambda x: leaked.append(x) or x)(1.0)

    def program(x):
        other = leaked[0]
        debug.breakpoint(num_frames=1)
        return x if other is not None else None

    jaxpr = make_jaxpr(program)(1.0)
    run = lambda x: eval_jaxpr(jaxpr, jaxpr.consts, x)
    answers, _ = stop_in(run, 1.0, monkeypatch, capsys, "p other", "p x", "c")
    assert "a traced value that has no value at the breakpoint" in answers[0]
    assert answers[1] == "array(1.)"


def test_a_variable_that_is_no_pytree_is_shown_as_it_is(monkeypatch, capsys):
    def program(x):
        mixed = {1: x, "a": 2}
        debug.breakpoint(num_frames=1)
        return mixed["a"]

    answers, _ = stop_in(program, 1.5, monkeypatch, capsys, "p mixed", "c")
    assert answers[0] == "{1: 1.5, 'a': 2}"


def test_quit_ends_the_program(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
    with pytest.raises(bdb.BdbQuit) as caught:
        watched(1.0)
    assert any("of debug.breakpoint at test_debug.py" in note for note in caught.value.__notes__)


def test_a_breakpoint_without_frames_is_refused():
    with pytest.raises(ValueError, match=r"debug.breakpoint at test_debug.py:.* got num_frames=0. Give 1 or more, or"):
        debug.breakpoint(num_frames=0)


def test_print_takes_the_print_options_of_the_caller(capsys):
    x = np.array([1.23456789, 2.0])

    def program(x):
        with np.printoptions(precision=2):
            debug.print("{}", x)
        debug.print("{}", x)
        return x

    with np.printoptions(precision=3):
        jaxpr = make_jaxpr(program)(x)
        program(x)
    assert capsys.readouterr().out == "[1.23 2.  ]\n[1.235 2.   ]\n"
    eval_jaxpr(jaxpr, jaxpr.consts, x)
    assert capsys.readouterr().out == "[1.23 2.  ]\n[1.235 2.   ]\n"


def test_print_with_other_options_is_another_program():
    programs = []
    for precision in (2, 2, 3):
        with np.printoptions(precision=precision):
            programs.append(make_jaxpr(lambda x: debug.print("{}", x))(1.0).eqns[0].params["callback"])
    assert programs[0].fun == programs[1].fun != programs[2].fun
