"""Programs that last: each program of the table comes back from data, and every transformation of it agrees."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
from functools import partial
from inspect import signature

import numpy as np
import pytest
from agreement import assert_close, assert_same, assert_within
from custom_program import with_jvp, with_vjp
from stored_programs import program_of
from test_laws import PROGRAMS, each

from calque_autodiff import custom_jvp, vjp
from calque_batching import vmap
from calque_core import (
    UnexpectedTracerError,
    check_jaxpr,
    float0,
    jaxpr_as_fun,
    jaxpr_equal,
    jaxpr_from_dict,
    jaxpr_to_dict,
    lax,
    make_jaxpr,
    parse_jaxpr,
    subjaxprs,
    to_python,
)
from calque_core.extend import is_float
from calque_xla_backend import jit

# What is Python code, or closes over it, is no data: the parameter that says so.
REFUSED = (
    "'callback' of '", "'check' of 'check'", "a rule for batches of ", "a transpose rule of ",
    "'pullback' of 'custom_vjp_linear'",
)  # fmt: skip


def stored(jaxpr):
    """Return a program as data that `json` has written and read; None for one that is refused."""
    try:
        return json.loads(json.dumps(jaxpr_to_dict(jaxpr), allow_nan=False))
    except TypeError as error:
        if any(text in str(error) for text in REFUSED):
            return None
        raise


@each(PROGRAMS)
def test_programs_come_back_from_data(program, dtype):
    example = program.example(dtype)
    jaxpr = make_jaxpr(example)(*example.leaves)
    data = stored(jaxpr)
    if data is None:
        return
    again = jaxpr_from_dict(data)
    check_jaxpr(again)
    assert jaxpr_to_dict(again) == data  # rules included
    assert jaxpr_equal(again, jaxpr) or data["rules"]
    assert str(again) == str(jaxpr)
    assert_same(jaxpr_as_fun(again)(*example.leaves), jaxpr_as_fun(jaxpr)(*example.leaves))


def test_few_programs_of_the_table_are_refused():
    refused = 0
    for program in PROGRAMS:  # 3 s
        example = program.example(program.dtypes[0])
        refused += stored(make_jaxpr(example)(*example.leaves)) is None
    assert refused <= 13
    assert len(PROGRAMS) > 580


# What a text does not say
LACKING = ("the values of constants", "' lacks ", "the parameter policy", "the parameter message")


def from_text(jaxpr):
    """Return the program that the text of a program gives; None for one that is refused."""
    try:
        return parse_jaxpr(str(jaxpr))
    except ValueError as error:
        if any(text in str(error) for text in LACKING):
            return None
        raise


@each(PROGRAMS)
def test_programs_come_back_from_text(program, dtype):
    example = program.example(dtype)
    jaxpr = make_jaxpr(example)(*example.leaves)
    again = from_text(jaxpr)
    if again is None:
        return
    assert str(again) == str(jaxpr)
    # A call of `jit` in it has no compiler, so that its operations are evaluated.
    outs, expected = (jaxpr_as_fun(x)(*example.leaves) for x in (again, jaxpr))
    assert_within(outs, expected, program.ulps_in(dtype), by_array=True)


def test_three_of_four_programs_of_the_table_come_back_from_text():
    examples = [program.example(program.dtypes[0]) for program in PROGRAMS]
    loaded = [from_text(make_jaxpr(example)(*example.leaves)) for example in examples]
    assert sum(jaxpr is not None for jaxpr in loaded) >= 430


NO_SOURCE = ("holds a program", "is an object of class", "without a public name")  # what Python's text cannot say


def from_source(jaxpr):
    """Return the function that the source of a program defines; None for a program that is refused."""
    try:
        text = to_python(jaxpr)
    except TypeError as error:
        if any(words in str(error) for words in NO_SOURCE):
            return None
        raise
    names = {}
    exec(text, names)  # our own text
    run = names["program"]
    return partial(run, consts=jaxpr.consts) if "consts" in signature(run).parameters else run


@each(PROGRAMS)
def test_the_source_of_a_program_runs(program, dtype):
    example = program.example(dtype)
    jaxpr = make_jaxpr(example)(*example.leaves)
    run = from_source(jaxpr)
    if run is None:
        return
    expected = jaxpr_as_fun(jaxpr)(*example.leaves)
    assert_within(list(run(*example.leaves)), expected, program.ulps_in(dtype), by_array=True)
    again = make_jaxpr(run)(*example.leaves)
    assert again.out_avals == jaxpr.out_avals
    if not list(subjaxprs(jaxpr)):  # a straight line: nothing is inlined, no index is clamped
        assert len(again.eqns) == len(jaxpr.eqns)


def test_three_of_four_programs_of_the_table_are_source():
    examples = [program.example(program.dtypes[0]) for program in PROGRAMS]
    assert sum(from_source(make_jaxpr(example)(*example.leaves)) is not None for example in examples) >= 430


def transformed(jaxpr, leaves):
    """Return results of a program: compiled, batched, its cotangents, and those of the batch, compiled."""
    fun = jaxpr_as_fun(jaxpr)
    floating = [i for i, x in enumerate(leaves) if is_float(np.asarray(x).dtype)]

    def cotangents(*xs):
        outs, back = vjp(lambda *fs: fun(*[fs[floating.index(i)] if i in floating else x for i, x in enumerate(xs)]),
                         *[xs[i] for i in floating])  # fmt: skip
        return back(
            [np.zeros(np.shape(y), float0) if not is_float(np.asarray(y).dtype) else np.ones_like(y) for y in outs]
        )

    batch = [np.stack([np.asarray(x)] * 2) for x in leaves]
    results = {"jit": jit(fun)(*leaves), "vmap": vmap(fun)(*batch)}
    if floating:
        results["grad"] = cotangents(*leaves)
    return results


@pytest.mark.sampled(keep=0.02)
@pytest.mark.parametrize("program", [p for p in PROGRAMS if "float64" in p.dtypes], ids=lambda p: p.name)
def test_transformations_of_a_program_that_came_back_agree(program):
    example = program.example("float64")
    jaxpr = make_jaxpr(example)(*example.leaves)
    data = stored(jaxpr)
    if data is None:
        return
    again = jaxpr_from_dict(data)
    for name in ("jit", "vmap", "grad"):
        outcome = [_outcome(name, x, example) for x in (jaxpr, again)]
        if type(outcome[0]) is str:  # a transformation that has no rule: the same for both
            assert outcome[0] == outcome[1]
        else:
            assert_close(outcome[1], outcome[0], 1e-12)


def _outcome(name, jaxpr, example):
    try:
        return transformed(jaxpr, example.leaves).get(name)
    except (NotImplementedError, TypeError, ValueError) as error:
        return type(error).__name__


# Random programs: the sample is one of each block


BLOCKS = 20


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_programs_come_back(sample, block):
    for seed in sample(range(block, 5000, BLOCKS), 0.0):
        name, fun, leaves, ulps = program_of(seed)
        jaxpr = make_jaxpr(fun)(*leaves)
        check_jaxpr(jaxpr)
        with np.errstate(all="ignore"):  # a traced program computes both values of a choice
            expected = jaxpr_as_fun(jaxpr)(*leaves)
            data = stored(jaxpr)
            if data is not None:
                again = jaxpr_from_dict(data)
                assert jaxpr_to_dict(again) == data, (seed, name)
                assert str(again) == str(jaxpr), (seed, name)
                assert_same(jaxpr_as_fun(again)(*leaves), expected)
            read = from_text(jaxpr)
            if read is not None:
                assert str(read) == str(jaxpr), (seed, name)
                assert_within(jaxpr_as_fun(read)(*leaves), expected, ulps, by_array=True)
            run = from_source(jaxpr)
            if run is not None:
                assert_within(list(run(*leaves)), expected, ulps, by_array=True)
                assert make_jaxpr(run)(*leaves).out_avals == jaxpr.out_avals, (seed, name)


@pytest.mark.parametrize("block", range(8))
def test_transformations_of_random_programs_that_came_back_agree(sample, block):
    for seed in sample(range(2 * block, 400, 16), 0.0):  # steps, which have every transformation
        _, fun, leaves, _ = program_of(seed)
        jaxpr = make_jaxpr(fun)(*leaves)
        data = stored(jaxpr)
        if data is not None:
            first, second = (transformed(x, leaves) for x in (jaxpr, jaxpr_from_dict(data)))
            assert list(first) == list(second) == ["jit", "vmap", "grad"]
            for name, values in first.items():
                assert_close(second[name], values, 1e-12)


FRESH = """
import json, sys
import numpy as np
import calque_core as core
how, program = json.load(sys.stdin)
jaxpr = core.jaxpr_from_dict(program) if how == "dict" else core.parse_jaxpr(program)
print(sum(float(np.sum(np.abs(x))) for x in core.eval_jaxpr(jaxpr, (), np.eye(3) + 0.1)))
"""


@pytest.mark.parametrize("how", ["dict", "text"])
def test_a_new_process_imports_the_families_of_a_program(how):
    fun = lambda a: (lax.linalg.cholesky(a), lax.lgamma(a), lax.fft(a, "FFT", (3,)))
    a = np.eye(3) + 0.1
    jaxpr = make_jaxpr(fun)(a)
    program = jaxpr_to_dict(jaxpr) if how == "dict" else str(jaxpr)
    ran = subprocess.run(
        [sys.executable, "-c", FRESH], input=json.dumps([how, program]), capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    np.testing.assert_allclose(float(ran.stdout), sum(np.sum(np.abs(x)) for x in fun(a)), rtol=1e-14)


# Rules of functions


@pytest.mark.parametrize("ruled", [with_jvp, with_vjp])
def test_wrong_rules_come_back_as_wrong_as_they_were(ruled):
    function = ruled(lax.sin, 3.0)
    jaxpr = make_jaxpr(lambda x: function(x))(0.5)
    [again] = vjp(jaxpr_as_fun(jaxpr_from_dict(stored(jaxpr))), 0.5)[1]([1.0])
    np.testing.assert_allclose(again, 3.0 * np.cos(0.5), rtol=1e-12)


def test_rules_come_back_at_every_order():
    function = with_vjp(lax.sin, 3.0)  # off by three at each order
    jaxpr = make_jaxpr(lambda x: function(x))(0.5)
    fun = lambda x: jaxpr_as_fun(jaxpr_from_dict(stored(jaxpr)))(x)[0]
    for order in range(3):
        want = lambda x: function(x)
        got_f, want_f = fun, want
        for _ in range(order):
            got_f, want_f = _slope(got_f), _slope(want_f)
        np.testing.assert_allclose(got_f(0.5), want_f(0.5), rtol=1e-12)


def _slope(f):
    return lambda x: vjp(f, x)[1](1.0)[0]


@pytest.mark.parametrize("ruled", [with_jvp, with_vjp])
@pytest.mark.parametrize("in_axes", [(0, 0), (0, None), (None, 0)], ids=str)
def test_rules_of_a_batch_that_close_over_values_come_back(ruled, in_axes):
    closed = lambda x, width: ruled(lambda x: lax.sin(x) * width, 3.0)(x)
    whole = np.array([0.5, 1.0, 1.5])
    args = [whole if axis == 0 else whole[0] for axis in in_axes]
    jaxpr = make_jaxpr(vmap(jit(closed), in_axes=in_axes))(*args)
    again = jaxpr_from_dict(stored(jaxpr))
    check_jaxpr(again)
    [bar] = vjp(lambda x: jaxpr_as_fun(again)(x, args[1])[0], args[0])[1](np.ones(3))
    expected = 3.0 * np.cos(args[0]) * args[1]
    np.testing.assert_allclose(bar, expected if in_axes[0] == 0 else expected.sum(), rtol=1e-12)
    with pytest.raises(UnexpectedTracerError, match="closes over a value that is being differentiated"):
        vjp(lambda width: jaxpr_as_fun(again)(args[0], width)[0], args[1])


def test_rules_that_need_new_rules_without_end_are_refused():
    def endless(x):
        function = custom_jvp(lambda x: lax.sin(x))
        function.defjvp(lambda primals, tangents: (endless(*primals), tangents[0]))
        return function(x)

    with pytest.raises(TypeError, match="need other rules without end"):
        jaxpr_to_dict(make_jaxpr(endless)(0.5))


@pytest.mark.sampled(keep=0.1)
@pytest.mark.parametrize("seed", range(10))
def test_damaged_rules_give_a_program_or_a_value_error(seed):
    function = with_vjp(lambda x: lax.sin(x) * np.linspace(0.5, 1.0, 3), 2.0)
    data = stored(make_jaxpr(lambda x: function(x) * 2.0)(np.ones(3)))
    rng, errors = random.Random(seed), []
    for _ in range(1000):
        damaged = copy.deepcopy(data)
        holder, key = rng.choice(list(_entries(damaged)))
        others = [-1, 0, 1, 2, None, "", [], {}, True, "jvp", *(holder[key] for holder, key in _entries(data))]
        holder[key] = copy.deepcopy(rng.choice(others))
        try:
            jaxpr_from_dict(damaged)
        except ValueError as error:
            errors.append(error)
    assert len(errors) > 500
    assert {type(error) for error in errors} == {ValueError}
    assert [str(error) for error in errors if not str(error).startswith("jaxpr_from_dict: ")] == []


def _entries(data):
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield data, key
        yield from _entries(value)
