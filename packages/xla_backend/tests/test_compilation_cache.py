"""Programs on disk: a second process loads them, and nothing about the folder can fail a call."""

import logging
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from calque_core import config, lax, make_jaxpr
from calque_xla_backend import compilation_cache, device_put
from calque_xla_backend.compilation_cache import cache
from calque_xla_backend.compile import compile_jaxpr, compile_program, lower_program
from calque_xla_backend.runtime.placement import placement

X = np.array([1.0, 2.0, 3.0])
posix = pytest.mark.skipif(sys.platform == "win32", reason="modes are those of POSIX")


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """Give the test a cache of its own that stores every program; return its folder."""
    monkeypatch.setattr(cache, "_cache", cache.CompilationCache())
    monkeypatch.setattr(cache, "MIN_COMPILE_SECONDS", 0.0)
    folder = tmp_path / "cache"
    monkeypatch.setenv("CALQUE_CACHE", str(folder))
    return folder


def compiled(fun=lax.sin, x=X):
    """Return a program compiled or loaded anew: no memo of another program serves."""
    return compile_jaxpr(make_jaxpr(fun)(x), placement())


def names_in(folder):
    return [path.name for path in folder.iterdir()]


def counts():
    info = compilation_cache.cache_info()
    return info.hits, info.misses, info.stored


def test_a_program_is_stored_and_loaded_and_gives_the_same_bits(own_cache):
    first = compiled()([X])[0]
    assert counts() == (0, 1, 1)
    second = compiled()([X])[0]
    assert counts() == (1, 1, 1)
    assert np.asarray(first).tobytes() == np.asarray(second).tobytes()
    assert [path.suffix for path in own_cache.iterdir()] == [".xla"]


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, lax.sin(s[1])), (0, x))[1],
        lambda x: lax.scan(lambda c, y: (c + y, c * y), 0.0, x)[1],
        lambda x: lax.sort(x),
        lambda x: x + np.arange(3000.0)[:3],
        lambda x: x + np.arange(3000.0).sum() + np.tile(X, 1000)[:3],
    ],
    ids=["while", "scan", "sort", "constant", "large constant"],
)
def test_programs_of_every_kind_are_loaded(own_cache, fun):
    first, second = (np.asarray(compiled(fun)([X])[0]) for _ in range(2))
    assert counts() == (1, 1, 1)
    assert first.tobytes() == second.tobytes()


def test_a_loaded_program_takes_donated_arguments(own_cache):
    jaxpr = make_jaxpr(lambda x: x + 1.0)(X)
    for _ in range(2):
        x = device_put(X)
        np.testing.assert_array_equal(
            compile_program(lower_program(jaxpr, "cpu", donated=(0,)), placement())([x])[0], X + 1.0
        )
        assert x.is_deleted()
    assert counts() == (1, 1, 1)


def test_the_log_of_compilations_tells_a_loaded_program_from_a_compiled_one(own_cache, caplog):
    with config.log_compiles():
        compiled()
        compiled()
    first, second = [record.getMessage() for record in caplog.records]
    assert re.fullmatch(r"compiled .*: lowered in [\d.]+ m?s, compiled by XLA in [\d.]+ m?s\.", first)
    assert re.fullmatch(r"loaded .*: lowered in [\d.]+ m?s, loaded from the compilation cache in [\d.]+ m?s\.", second)


def test_a_program_that_compiles_quickly_is_not_stored(own_cache, monkeypatch):
    monkeypatch.setattr(cache, "MIN_COMPILE_SECONDS", 1e9)
    compiled()
    assert counts() == (0, 1, 0)
    assert not own_cache.exists()


def test_only_programs_of_50_ms_and_more_are_stored():
    assert cache.MIN_COMPILE_SECONDS == 0.05


def test_off_means_that_no_folder_is_touched(own_cache, monkeypatch):
    monkeypatch.setenv("CALQUE_CACHE", "off")
    compiled()
    assert counts() == (0, 0, 0)
    assert compilation_cache.cache_info().reason == "CALQUE_CACHE is off"
    assert not own_cache.exists()


def test_the_environment_is_read_at_the_first_compile_and_not_again(own_cache, monkeypatch, tmp_path):
    monkeypatch.setenv("CALQUE_CACHE", str(tmp_path / "first"))
    compiled()
    monkeypatch.setenv("CALQUE_CACHE", str(tmp_path / "second"))
    compiled()
    assert counts() == (1, 1, 1)
    assert names_in(tmp_path) == ["first"]


# Damage and refusals


def damage_entry(folder, entry=b"nonsense"):
    [path] = folder.iterdir()
    path.write_bytes(entry)


def test_a_damaged_entry_is_compiled_anew_and_replaced(own_cache, caplog):
    first = np.asarray(compiled()([X])[0])
    damage_entry(own_cache)
    np.testing.assert_array_equal(compiled()([X])[0], first)
    assert "is damaged: it has 8 bytes, fewer than its header. It is removed." in caplog.text
    compiled()
    assert counts() == (1, 2, 2)


def test_an_entry_that_xla_refuses_is_removed_and_compiled_anew(own_cache, caplog, monkeypatch):
    compiled()

    def refuse(payload, place, options):
        raise cache.XlaRuntimeError("INTERNAL: of another release")

    with monkeypatch.context() as patch:
        patch.setattr(cache, "load_executable", refuse)
        compiled()
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith("XLA refuses the entry ")
    assert record.getMessage().endswith(" of the compilation cache: INTERNAL: of another release. It is removed.")
    assert counts() == (0, 2, 2)


def test_a_program_that_cannot_be_serialized_runs_all_the_same(own_cache, caplog, monkeypatch):
    def refuse(executable):
        raise cache.XlaRuntimeError("UNIMPLEMENTED")

    caplog.set_level(logging.INFO, "calque")
    monkeypatch.setattr(cache, "serialize_executable", refuse)
    np.testing.assert_allclose(compiled()([X])[0], np.sin(X), rtol=1e-14)
    assert [record.getMessage() for record in caplog.records] == [
        "The compilation cache cannot store a program: UNIMPLEMENTED."
    ]


def test_a_full_disk_costs_one_line_of_the_log(own_cache, caplog, monkeypatch):
    def fail(self, key, payload):
        raise OSError(28, "No space left on device")

    caplog.set_level(logging.INFO, "calque")
    monkeypatch.setattr(cache.Entries, "write", fail)
    for fun in (lax.sin, lax.cos):
        compiled(fun)
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.INFO, "The compilation cache cannot store a program: [Errno 28] No space left on device.")
    ]


@posix
def test_a_folder_that_others_may_write_to_is_not_read(own_cache, caplog):
    compiled()
    own_cache.chmod(0o777)
    cache._cache._entries = cache._cache._choice = None  # as in a new process
    compiled()
    assert counts() == (0, 1, 1)
    reason = f"other users may write to {own_cache} (mode 777); `chmod 700` closes it"
    assert [record.getMessage() for record in caplog.records] == [f"The compilation cache is off: {reason}."]
    assert compilation_cache.cache_info().reason == reason


@posix
def test_a_folder_that_appears_after_the_first_compile_is_judged_before_it_is_used(own_cache, monkeypatch):
    compiled(lax.cos)
    for path in own_cache.iterdir():
        path.unlink()
    own_cache.rmdir()
    cache._cache._entries = None  # as before the folder was made
    create = cache.create

    def create_open(folder):
        create(folder)
        own_cache.chmod(0o777)

    monkeypatch.setattr(cache, "create", create_open)
    compiled(lax.sin)
    assert list(own_cache.iterdir()) == []
    assert "other users may write" in compilation_cache.cache_info().reason


def test_a_mistake_in_the_variable_is_a_line_of_the_log(own_cache, caplog, monkeypatch):
    monkeypatch.setenv("CALQUE_CACHE", "on")
    compiled()
    compiled()
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.WARNING, "The compilation cache is off: CALQUE_CACHE is 'on'; use 'off' or an absolute path.")
    ]


# Functions


def test_a_call_moves_the_cache_and_turns_it_off(own_cache, tmp_path):
    compilation_cache.set_cache_dir(tmp_path / "moved", max_bytes=10**6)
    compiled()
    info = compilation_cache.cache_info()
    assert (info.folder, info.entries, info.max_bytes) == (str(tmp_path / "moved"), 1, 10**6)
    compilation_cache.set_cache_dir(None)
    compiled()
    assert counts() == (0, 1, 1)
    assert compilation_cache.cache_info()[:4] == (None, "set_cache_dir(None) was called", 0, 0)
    assert not own_cache.exists()


@posix
def test_a_folder_that_cannot_be_used_is_refused_with_the_place_of_the_call(own_cache, tmp_path):
    tmp_path.chmod(0o777)
    with pytest.raises(ValueError, match="set_cache_dir") as caught:
        compilation_cache.set_cache_dir(tmp_path)
    tmp_path.chmod(0o700)
    assert "test_compilation_cache.py" in str(caught.value)
    assert str(caught.value).endswith(
        f"got a folder that cannot hold compiled programs: other users may write to {tmp_path} (mode 777); `chmod 700` "
        "closes it. Use a folder of your own that nobody else can write to."
    )
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"cannot hold compiled programs: .*file.*Use a folder of your own"):
        compilation_cache.set_cache_dir(tmp_path / "file" / "inner")


def test_a_bound_is_positive(own_cache):
    with pytest.raises(ValueError, match=r"got max_bytes=0\. Use a positive number of bytes\."):
        compilation_cache.set_cache_dir(None, max_bytes=0)


def test_clearing_removes_the_programs(own_cache):
    compilation_cache.clear_cache()
    compiled()
    compilation_cache.clear_cache()
    assert compilation_cache.cache_info().entries == 0
    compiled()
    assert counts() == (0, 2, 2)


@pytest.mark.parametrize(
    ("text", "size"),
    [("1000", 1000), ("10K", 10240), ("500m", 500 * 2**20), ("2 G", 2**31), ("1T", 2**40), ("", 2**30)],
)
def test_the_bound_is_a_number_of_bytes_with_a_unit(monkeypatch, text, size):
    monkeypatch.setenv("CALQUE_CACHE_SIZE", text)
    assert cache.max_bytes() == size
    assert cache.size_mistake() == ""


@pytest.mark.parametrize("text", ["0", "many", "1.5G", "10 MB", "-1"])
def test_a_wrong_bound_is_the_default_and_said(monkeypatch, text):
    monkeypatch.setenv("CALQUE_CACHE_SIZE", text)
    assert cache.max_bytes() == 2**30
    assert cache.size_mistake() == (
        f"CALQUE_CACHE_SIZE is {text!r}; use a number of bytes, or a number with K, M, G or T"
    )


def test_a_wrong_bound_is_a_line_of_the_log(own_cache, caplog, monkeypatch):
    monkeypatch.setenv("CALQUE_CACHE_SIZE", "many")
    compiled()
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == f"The compilation cache has its default bound: {cache.size_mistake()}."


def test_every_wrong_setting_is_named_and_a_cache_that_is_off_is_not_wrong(own_cache, monkeypatch):
    assert compilation_cache.check_settings() == []
    own_cache.write_text("")
    monkeypatch.setenv("CALQUE_CACHE_SIZE", "many")
    assert compilation_cache.check_settings() == [cache.size_mistake(), f"{own_cache} is not a folder"]
    monkeypatch.delenv("CALQUE_CACHE_SIZE")
    compilation_cache.set_cache_dir(None)
    assert compilation_cache.check_settings() == []


# Other processes

PROGRAM = """
import os, sys
import numpy as np
from calque_core import lax
from calque_xla_backend import compilation_cache, jit
from calque_xla_backend.compilation_cache import cache
cache.MIN_COMPILE_SECONDS = 0.0
{above}
@jit
def f(x):
    return lax.sin(x) * 2.0
print(np.asarray(f(np.arange(3.0))).tobytes().hex())
print(*compilation_cache.cache_info()[5:])
"""


def run(above="", **environment):
    """Run the program in a process with these environment variables; None unsets one.  Return its two lines."""
    variables = {name: value for name, value in {**os.environ, **environment}.items() if value is not None}
    program = PROGRAM.format(above=above)
    command = [sys.executable, "-W", "error", "-c", program]
    process = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout.splitlines(), process.stderr


def test_a_second_process_loads_what_the_first_has_compiled_and_a_comment_above_changes_nothing(tmp_path):
    (first, first_counts), _ = run(XDG_CACHE_HOME=str(tmp_path), CALQUE_CACHE=None)
    (second, second_counts), errors = run("# a comment\n\n", XDG_CACHE_HOME=str(tmp_path), CALQUE_CACHE=None)
    assert (first_counts, second_counts) == ("0 1 1", "1 0 0")
    assert first == second
    assert errors == ""
    assert names_in(tmp_path) == ["calque"]


@posix
def test_without_a_home_or_with_one_that_cannot_be_written_programs_run_and_nothing_is_printed(tmp_path):
    (_, no_home), errors = run(HOME=None, XDG_CACHE_HOME=None, CALQUE_CACHE=None)
    assert (no_home, errors) == ("0 0 0", "")
    home = tmp_path / "file"
    home.write_text("")  # no user can make a folder in a file, not even root, whom no mode stops
    (_, no_folder), errors = run(HOME=str(home), XDG_CACHE_HOME=None, CALQUE_CACHE=None)
    assert (no_folder, errors) == ("0 1 0", "")


def run_child(program, *args):
    """Run a program that prints one line when all its assertions held; return the line."""
    command = [sys.executable, "-c", program, *map(str, args)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert process.returncode == 0, process.stderr[-2000:]
    return process.stdout.strip()


# Every damaged entry must be refused before XLA reads it: XLA would trust it.
DAMAGE = """
import logging, os, random, sys
from calque_core import lax, make_jaxpr
from calque_xla_backend.compilation_cache import cache, set_cache_dir
from calque_xla_backend.compilation_cache.key import key_of
from calque_xla_backend.modules.module import lower_jaxpr_to_module
from calque_xla_backend.runtime.placement import placement
from calque_xla_backend.runtime.runtime import compile_module, compile_options
folder, count = sys.argv[1], int(sys.argv[2])
logging.getLogger("calque").addHandler(logging.NullHandler())
set_cache_dir(folder)
place, rng = placement(), random.Random(0)
module, options = lower_jaxpr_to_module(make_jaxpr(lax.sin)(1.0)).module, compile_options(place)
key = key_of(module, options, "cpu")
cache._cache.store(key, compile_module(module, place, options))
[name] = os.listdir(folder)
path = os.path.join(folder, name)
with open(path, "rb") as file:
    whole = file.read()

def damaged():
    place, other, piece = rng.randrange(len(whole)), rng.randrange(len(whole)), rng.randbytes(8)
    return rng.choice([
        whole[:place] + bytes([whole[place] ^ 1 << rng.randrange(8)]) + whole[place + 1 :],
        whole[:place],
        whole[:place] + piece + whole[place:],
        whole[:place] + piece + whole[place + 8 :],
        whole[:8] + rng.randbytes(80) + whole[88:],
        whole[min(place, other) :] + whole[: min(place, other)],
    ])

for _ in range(count):
    entry = damaged()
    with open(path, "wb") as file:
        file.write(entry)
    loaded = cache._cache.load(key, place, options)
    assert (loaded is None) == (entry != whole), "a damaged entry was loaded"
    assert os.path.exists(path) == (entry == whole), "a damaged entry was left in the folder"
with open(path, "wb") as file:
    file.write(whole)
assert cache._cache.load(key, place, options) is not None
print("refused")
"""


def test_ten_thousand_damaged_entries_are_refused_and_no_process_crashes(tmp_path, sample):
    assert run_child(DAMAGE, tmp_path / "cache", len(sample(range(10_000), 0.05))) == "refused"


# Four processes compile, store and load the same programs; one of them is killed at a random moment, and another one
# takes its place.
KILLS = """
import os, random, signal, sys
import numpy as np
from calque_core import make_jaxpr
from calque_xla_backend.compilation_cache import cache, cache_info, set_cache_dir
from calque_xla_backend.compile import compile_jaxpr
from calque_xla_backend.runtime.placement import placement
folder, kills = sys.argv[1], int(sys.argv[2])
cache.MIN_COMPILE_SECONDS = 0.0
set_cache_dir(folder)
X = np.arange(4.0)
watched, progress = os.pipe()

def check(factor):
    program = compile_jaxpr(make_jaxpr(lambda x: x * factor)(X), placement())
    assert np.array_equal(np.asarray(program([X])[0]), X * factor), "a wrong result"

def work():
    while True:
        for factor in (2.0, 3.0, 4.0):
            check(factor)
            os.write(progress, b".")
            if cache._cache.hits > 20:
                cache.clear_cache()
                cache._cache.hits = 0

def start():
    child = os.fork()
    if child:
        return child
    try:
        work()
    finally:
        os._exit(3)

def kill(child):
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL, "a process ended by itself"

rng = random.Random(0)
children = [start() for _ in range(4)]
for _ in range(kills):
    os.read(watched, rng.randrange(1, 8))
    kill(children.pop(rng.randrange(4)))
    children.append(start())
for child in children:
    kill(child)
for factor in (2.0, 3.0, 4.0):
    check(factor)
print(cache_info().hits + cache_info().stored)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_four_processes_and_two_hundred_kills_give_no_wrong_result(tmp_path, sample):
    assert run_child(KILLS, tmp_path / "cache", len(sample(range(200), 0.1))) == "3"
