"""Which functions give the same program each time, and that loops and branches stage those once, and no others."""

import functools
import math
import random
import time

import numpy as np
import pytest

from calque_core import Primitive, config, lax, make_jaxpr
from calque_core.engine import advance_rule_epoch
from calque_core.frames.reach import reach
from calque_core.frames.tracebacks import api_boundary
from calque_core.known import table
from calque_core.known.table import KnownOperations
from calque_core.ops.calls import staged_programs

SCALE = 2.0
TABLE = {"scale": 2.0}


def by_global(x):
    return x * SCALE


def by_helper(x):
    return by_global(x) + 1.0


def recursive(x, depth=2):
    return x if not depth else recursive(x, depth - 1) * SCALE


def made(value):
    return lambda x: x * value


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: x,
        by_global,
        by_helper,
        recursive,
        made(2.0),
        made(np.float32(2.0)),
        made((1, 2.0)),
        lambda x: np.sin(x) + lax.mul(x, math.pi),
        lambda x: x.astype(np.float32).sum(),
        lambda x: [y * 2.0 for y in (x, x)],
        lambda x, y=3.0, *, z=None: x * y,
        lambda x: lax.cond(True, lambda y: y, lambda y: -y, x),
        api_boundary(by_helper),
    ],
)
def test_functions_that_read_numbers_and_pure_functions_have_a_key(fun):
    assert reach(fun) is not None
    assert reach(fun) == reach(fun)
    assert hash(reach(fun)) == hash(reach(fun))


@pytest.mark.parametrize(("fun", "count"), [(made(2.0), 1), (by_helper, 2), (lambda x: np.sin(by_helper(x)), 4)])
def test_a_key_has_at_most_so_many_functions_and_modules(fun, count):
    assert reach(fun, at_most=count) == reach(fun)
    assert reach(fun, at_most=count - 1) is None


class Model:
    scale = 2.0

    def step(self, x):
        return x * self.scale


def imports(x):
    import time as clock  # noqa: PLC0415  what the test is about

    return x * clock.time()


def assigns(x):
    global SCALE
    SCALE = SCALE + 0.0
    return x


def with_attribute(x):
    return x * with_attribute.scale


with_attribute.scale = 2.0
GENERATOR = random.Random(0)


@pytest.mark.parametrize(
    "fun",
    [
        made(np.ones(2)),
        made([2.0]),
        made({"a": 2.0}),
        made(Model()),
        made(iter([2.0])),
        made(Model),
        Model().step,
        lambda x: x * TABLE["scale"],
        lambda x: x * Model.scale,
        lambda x: x * np.random.rand(),  # noqa: NPY002  what the test is about
        lambda x: x * GENERATOR.random(),
        lambda x: x * time.time(),
        lambda x: x * config.current().default_dtype_bits,
        lambda x: print(x),
        lambda x: x * hash(x),
        np.frompyfunc(lambda x: x, 1, 1),
        imports,
        assigns,
        with_attribute,
        made(Primitive("odd")),
    ],
)
def test_functions_that_read_what_can_change_have_none(fun):
    assert reach(fun) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        (2.0, 3.0),
        (1.0, np.float64(1.0)),
        (np.float32(1.0), np.float64(1.0)),
        ((1, 2), (1, 2.0)),
        (math.sin, math.cos),
        (np.sin, np.cos),
        (made(1.0), made(2.0)),
        (lambda x: x + 1.0, lambda x: x + 2.0),
    ],
)
def test_other_values_give_other_keys(one, other):
    assert reach(made(one)) is not None
    assert reach(made(one)) != reach(made(other))
    assert reach(made(math.nan)) == reach(made(math.nan))


def test_a_wrapper_is_not_taken_for_what_it_wraps():
    @functools.wraps(by_global)
    def doubled(x):
        return by_global(x) * 2.0

    keys = [reach(f) for f in (by_global, doubled, api_boundary(doubled), api_boundary(by_global))]
    assert None not in keys
    assert keys[0] == keys[3] != keys[1] == keys[2]


@pytest.fixture
def stagings(monkeypatch):
    """Return the list of functions staged so far."""
    seen = []
    original = staged_programs._stage

    def counted(verb, fun, in_tree, avals, *trace_type):
        seen.append(fun)
        return original(verb, fun, in_tree, avals, *trace_type)

    monkeypatch.setattr(staged_programs, "_stage", counted)
    monkeypatch.setattr(staged_programs, "_programs", KnownOperations())
    return seen


LOOPS = {
    "while_loop": (2, lambda x: lax.while_loop(lambda x: lax.lt(x, 9.0), lambda x: x * 2.0, x)),
    "fori_loop": (1, lambda x: lax.fori_loop(0, 3, lambda i, x: x * 2.0, x)),
    "scan": (1, lambda x: lax.scan(lambda carry, y: (carry * 2.0, y), x, np.ones(3))),
    "map": (1, lambda x: lax.map(lambda y: y * 2.0, lax.full((3,), x))),
    "cond": (2, lambda x: lax.cond(True, lambda x: x * 2.0, lambda x: x, x)),
    "switch": (2, lambda x: lax.switch(1, [lambda x: x * 2.0, lambda x: x], x)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_stages_its_functions_once_for_each_type(name, stagings):
    count, loop = LOOPS[name]
    for _ in range(3):
        loop(1.0)
    assert len(stagings) == count
    loop(np.float64(3.0))
    make_jaxpr(loop)(2.0)
    kept = len(stagings)
    loop(np.float32(1.0))
    assert len(stagings) == kept + count
    with config.enable_x64(False):
        loop(1.0)
    assert len(stagings) == kept + 2 * count


def times(value):
    return lax.while_loop(lambda x: lax.lt(x, 9.0), lambda x: x * value, 1.0)


def test_a_closed_over_number_that_changes_is_seen(stagings):
    assert [times(2.0), times(3.0), times(2.0)] == [16.0, 9.0, 16.0]
    assert len(stagings) == 2 + 1


def test_a_variable_that_changes_after_the_function_was_made_is_seen():
    factor = 2.0

    def body(x):
        return x * factor

    def run():
        return lax.while_loop(lambda x: lax.lt(x, 9.0), body, 1.0)

    assert run() == 16.0
    factor = 3.0
    assert run() == 9.0


def test_a_global_and_what_a_helper_reads_are_seen(monkeypatch):
    def run():
        return lax.fori_loop(0, 1, lambda i, x: by_helper(x), 1.0)

    assert run() == 3.0
    monkeypatch.setattr(f"{__name__}.SCALE", 5.0)
    assert run() == 6.0
    monkeypatch.setattr(f"{__name__}.by_global", lambda x: x * 7.0)
    assert run() == 8.0


def test_arrays_that_change_are_seen():
    factor = np.array(2.0)

    def run():
        return lax.fori_loop(0, 1, lambda i, x: x * factor + (1.0 if factor > 2.0 else 0.0), 1.0)

    assert run() == 2.0
    factor[...] = 3.0
    assert run() == 4.0


def test_a_function_that_remembers_is_staged_each_time():
    calls = 0

    def body(x):
        nonlocal calls
        calls += 1
        return x * 2.0

    for _ in range(3):
        lax.scan(lambda x, _: (body(x), None), 1.0, length=2)
    assert calls == 3


def test_captured_tracers_are_not_kept(stagings):
    def program(x):
        return lax.fori_loop(0, 2, lambda i, y: y * x, 1.0)

    assert str(make_jaxpr(program)(2.0)) == str(make_jaxpr(program)(2.0))
    assert len(stagings) == 2


def test_no_more_programs_are_kept_than_stated(monkeypatch):
    monkeypatch.setattr(staged_programs, "_programs", KnownOperations())
    monkeypatch.setattr(table, "_LIMIT", 3)
    assert [times(float(n)) for n in range(2, 8)] == [16.0, 9.0, 16.0, 25.0, 36.0, 49.0]
    assert len(staged_programs._programs.known) <= 3


def test_no_program_is_kept_when_a_rule_is_replaced(stagings):
    times(2.0)
    assert staged_programs._programs.known
    advance_rule_epoch()
    assert not staged_programs._programs.known
