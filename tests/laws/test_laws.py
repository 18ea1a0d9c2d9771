"""Every program of the table against every law."""

from __future__ import annotations

import re

import numpy as np
import pytest
from agreement import (
    assert_close,
    assert_same,
    assert_within,
    check_differences,
    directions,
    inner,
    types_of,
    unit_roundoff,
)
from complex_programs import COMPLEX_PROGRAMS
from composites import COMPOSITES
from custom import CUSTOM
from custom_backwards import BACKWARD_RULES
from custom_places import PLACES
from front import FRONT
from operations import OPERATIONS
from transformations import QUICKLY, TRANSFORMATIONS, batch_of, check_stack, is_mapped, looped

from calque_autodiff import jvp, linearize, linearize_jaxpr, transpose_jaxpr, vjp
from calque_batching import BatchTrace, vmap
from calque_core import (
    Zero,
    check_jaxpr,
    config,
    eval_jaxpr,
    eval_shape,
    float0,
    instantiate_zeros,
    jaxpr_as_fun,
    jaxpr_equal,
    lax,
    make_jaxpr,
    typeof,
)
from calque_core.extend import marked, merged, unmarked
from calque_core.jaxprs.walk import nested_jaxprs
from calque_core.kits.matrix import standard_primitives
from calque_pytree import tree_leaves, tree_structure
from calque_xla_backend import jit

OF_OPERATIONS = [row for rows in OPERATIONS.values() for row in rows]
COMPOSED = [*COMPOSITES, *FRONT, *COMPLEX_PROGRAMS]
PROGRAMS = [
    *OF_OPERATIONS,
    *COMPOSED,
    *(row.right for row in [*CUSTOM, *BACKWARD_RULES, *PLACES]),
]  # of the latter, `test_custom.py` has the pairs
SMOOTH = [p for p in PROGRAMS if p.widest in ("float64", "complex128") and p.example(p.widest).floating]


def each(programs, dtypes=None):
    cases = [(p, dtype) for p in programs for dtype in p.dtypes if dtypes is None or dtype in dtypes]
    every = pytest.mark.parametrize(("program", "dtype"), cases, ids=[f"{p.name}-{dtype}" for p, dtype in cases])
    return lambda law: pytest.mark.sampled(keep=0.05, rows=["program"])(every(law))


def each_program(programs):
    return pytest.mark.parametrize("program", programs, ids=[p.name for p in programs])


def test_the_names_of_the_rows_differ():
    names = [p.name for p in PROGRAMS]
    assert len(set(names)) == len(names)


# In test_ffi.py, which builds a kernel for it; in test_own_values.py, since their operands are no arrays.
ELSEWHERE = {"ffi_call", "lower", "raise"}


def test_every_primitive_has_a_row():
    assert sorted({*OPERATIONS, *ELSEWHERE}) == [p.name for p in standard_primitives()]


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_rows_of_a_primitive_use_it(name, monkeypatch):
    used = set()
    process = BatchTrace.process_primitive

    def spy(trace, primitive, args, params):
        used.add(primitive.name)
        return process(trace, primitive, args, params)

    monkeypatch.setattr(BatchTrace, "process_primitive", spy)
    for program in OPERATIONS[name]:
        example = program.example(program.dtypes[0])
        used |= {
            eqn.primitive.name for jaxpr in nested_jaxprs(make_jaxpr(example)(*example.leaves)) for eqn in jaxpr.eqns
        }
    assert name in used


# Stage


@each(PROGRAMS)
def test_stage(program, dtype):
    example = program.example(dtype)
    outs = example(*example.leaves)
    jaxpr = make_jaxpr(example)(*example.leaves)
    check_jaxpr(jaxpr)
    assert [a.strip_weak_type().str_short() for a in jaxpr.out_avals] == types_of(outs)
    # A primitive is the same NumPy call both times; a program of NumPy's own functions is made of others when staged.
    ulps = program.ulps_in(dtype) if program.by_array else 0
    assert_within(eval_jaxpr(jaxpr, jaxpr.consts, *example.leaves), outs, ulps, by_array=True)
    again = make_jaxpr(jaxpr_as_fun(jaxpr))(*jaxpr.in_avals)
    assert jaxpr_equal(jaxpr, again)
    for _ in range(3):  # from the third call on, the equations of NumPy's functions are copied from an earlier one
        later = make_jaxpr(example)(*example.leaves)
    assert str(later) == str(jaxpr)  # equal but for the rules, functions of the program


@each(PROGRAMS)
def test_shapes_are_known_without_computing(program, dtype):
    args = program.example(dtype).args
    out, shapes = program.fun(*args), eval_shape(program.fun, *args)
    assert tree_structure(out) == tree_structure(shapes)
    found = [(s.shape, s.dtype) for s in tree_leaves(shapes)]
    assert found == [(typeof(x).shape, typeof(x).dtype) for x in tree_leaves(out)]


# Forward


@each(SMOOTH, ("float64", "complex128"))
def test_forward(program, dtype):
    example = program.example(dtype)
    for chosen in subsets(example.floating):
        fun, xs = restricted(example, chosen), [example.leaves[i] for i in chosen]
        dots = directions(xs, 1)
        outs, out_dots = jvp(fun, tuple(xs), tuple(dots))
        assert_within(outs, fun(*xs), program.ulps_in(dtype) if program.by_array else 0, by_array=True)  # as in `stage`
        check_differences(out_dots, fun, xs, dots)


def subsets(items):
    """Give all of the items together, and each by itself, so that the others have no tangent."""
    return [items, *([i] for i in items if len(items) > 1)]


def restricted(example, chosen):
    def fun(*xs):
        merged = list(example.leaves)
        for i, x in zip(chosen, xs):
            merged[i] = x
        return example(*merged)

    return fun


# Adjoint


@each(SMOOTH, ("float32", "float64", "complex64", "complex128"))
def test_adjoint(program, dtype):
    example = program.example(dtype)
    for chosen in subsets(example.floating):
        fun, xs = restricted(example, chosen), [example.leaves[i] for i in chosen]
        dots = directions(xs, 1)
        outs, out_dots = jvp(fun, tuple(xs), tuple(dots))
        again, f_lin = linearize(fun, *xs)
        for _ in range(2):  # the third time, operations and functions run as steps
            vjp(fun, *xs)
        last, f_vjp = vjp(fun, *xs)
        ulps = program.ulps_in(dtype) if program.by_array else 0  # an inner derivative may add in another order
        assert_within(again, outs, ulps, by_array=True)
        assert_within(last, outs, ulps, by_array=True)
        assert_within(f_lin(*dots), out_dots, program.ulps_in(dtype), by_array=True)
        cts = directions(outs, 2)
        bars = f_vjp(cts)
        assert types_of(bars) == types_of(dots)
        forward, size = inner(cts, out_dots)
        backward, _ = inner(bars, dots)
        np.testing.assert_allclose(backward, forward, rtol=0, atol=300 * unit_roundoff([*xs, *outs]) * (1 + size))


@each(SMOOTH, ("float64", "complex128"))
def test_a_copied_backward_pass_is_that_of_the_rules(program, dtype, monkeypatch):
    example = program.example(dtype)
    fun, xs = restricted(example, example.floating), [example.leaves[i] for i in example.floating]
    cts = directions(fun(*xs), 2)
    is_traced = [ct.dtype != float0 for ct in cts]

    def backward(traced, *xs):
        return vjp(fun, *xs)[1](merged(is_traced, traced, unmarked(cts, is_traced)))

    args = marked(cts, is_traced), *xs
    for _ in range(3):  # from the third call on, equations are copied
        copied = make_jaxpr(backward)(*args)
    monkeypatch.setattr("calque_autodiff.programs.transpose.copied_transposition", lambda *_: None)
    by_rules = make_jaxpr(backward)(*args)
    assert str(copied) == str(by_rules)
    assert [eqn.source_info for eqn in copied.eqns] == [eqn.source_info for eqn in by_rules.eqns]


@pytest.mark.sampled(keep=1.0, rows=["program"])
@each_program(PROGRAMS)
def test_what_is_not_floating_has_float0_tangents(program):
    example = program.example(program.dtypes[-1])
    outs, out_dots = jvp(example, tuple(example.leaves), tuple(directions(example.leaves, 1)))
    assert types_of(out_dots) == types_of(directions(outs, 2))
    _, f_vjp = vjp(example, *example.leaves)
    assert types_of(f_vjp(directions(outs, 2))) == types_of(directions(example.leaves, 1))


@each(SMOOTH, ("float64", "complex128"))
def test_transposing_the_linear_program_twice_gives_it_back(program, dtype):
    example = program.example(dtype)
    jaxpr = make_jaxpr(example)(*example.leaves)
    parts = linearize_jaxpr(jaxpr, [v.aval.dtype.kind in "fc" for v in jaxpr.invars])
    residuals = parts.residuals(example.leaves, eval_jaxpr(parts.known, parts.known.consts, *example.leaves))
    shown = [type(getattr(v, "val", None)) is not Zero for v in parts.linear.outvars]
    linear = parts.linear.replace(outvars=[v for v, is_shown in zip(parts.linear.outvars, shown) if is_shown])
    check_jaxpr(linear)
    once, _ = transpose_jaxpr(linear, mask(residuals, linear), instantiate=True)
    twice, _ = transpose_jaxpr(once, mask(residuals, once), instantiate=True)
    dots = directions([example.leaves[i] for i in example.floating], 1)
    got = eval_jaxpr(twice, twice.consts, *residuals, *dots)
    assert_close(got, [instantiate_zeros(x) for x in eval_jaxpr(linear, linear.consts, *residuals, *dots)], 1e-12)


def mask(residuals, jaxpr):
    return [False] * len(residuals) + [True] * (len(jaxpr.invars) - len(residuals))


# Batch


@each(PROGRAMS)
def test_batch_of_one_and_of_three(program, dtype):
    example = program.example(dtype)
    mapped = [is_mapped(x) for x in example.leaves]
    for size in (1, 3):
        rows = [program.example(dtype, seed).leaves for seed in range(size)]
        check_batch(example, dtype, rows, [0 if m else None for m in mapped])
    check_batch(example, dtype, rows, [-1 if m else None for m in mapped], out_axes=-1)


@each(PROGRAMS)
def test_batch_of_each_argument_along_each_axis(program, dtype):
    example = program.example(dtype)
    rows = [program.example(dtype, seed).leaves for seed in range(3)]
    for i, x in enumerate(example.leaves):
        ndim = np.ndim(x)
        for axis in [*range(ndim + 1), -2][: ndim + 2] if is_mapped(x) else []:
            if axis >= -ndim - 1:
                check_batch(example, dtype, rows, [axis if i == j else None for j in range(len(example.leaves))])


def check_batch(example, dtype, rows, in_axes, out_axes=0):
    """Compare vmap with a loop; an argument that is not mapped has its value of the first row."""
    xs = [
        column[0] if axis is None else np.stack(column, axis) for column, axis in zip(zip(*rows), in_axes, strict=True)
    ]
    batched = vmap(example, in_axes=tuple(in_axes), out_axes=out_axes)
    outs, _, by_plans = [batched(*xs) for _ in range(3)]  # rules run twice per types, then the plans made of them
    assert_within(by_plans, outs, example.program.ulps_in(dtype) if example.program.reorders else 0, by_array=True)
    front = [x if axis is None else np.moveaxis(x, axis, 0) for x, axis in zip(xs, in_axes)]
    want = looped(example, [axis is not None for axis in in_axes])(*front)
    want = [np.moveaxis(x, 0, out_axes) for x in want]
    assert_within(outs, want, example.program.ulps_in(dtype), by_array=example.program.by_array)


@each(PROGRAMS)
def test_batch_of_none(program, dtype):
    example = program.example(dtype)
    mapped = [is_mapped(x) for x in example.leaves]
    for axis in (0, -1):
        xs = [np.stack([x], axis).take([], axis) if m else x for x, m in zip(example.leaves, mapped)]
        outs = vmap(example, in_axes=tuple(axis if m else None for m in mapped))(*xs)
        want = [np.empty((0, *typeof(x).shape), typeof(x).dtype) for x in example(*example.leaves)]
        assert types_of(outs) == types_of(want)


# Compile


@each(PROGRAMS)
def test_compile(program, dtype):
    example = program.example(dtype)
    function = jit(example)
    outs = function(*example.leaves)
    assert_within(outs, example(*example.leaves), program.ulps_in(dtype), by_array=program.by_array)
    assert_same(function(*example.leaves), outs)


# Compose


def pairs(programs, names):
    """Parametrize by programs and outer transformations, of each of which a test composes all inner ones."""
    return [pytest.param(p, outer, names, id=f"{p.name}-{outer}") for p in programs for outer in names]


# What `checkpoint` does with a program does not depend on the operations in it: those have no pairs with it.
BY_OPERATION = [name for name in TRANSFORMATIONS if name != "checkpoint"]


@pytest.mark.sampled(keep=0.15, rows=["program"])
@pytest.mark.parametrize(
    ("program", "outer", "names"), [*pairs(OF_OPERATIONS, BY_OPERATION), *pairs(COMPOSED, TRANSFORMATIONS)]
)
def test_compose(program, outer, names, sample):
    dtype = program.widest
    example = program.example(dtype)
    for name in sample(names, 0.2):
        leaves = batch_of(program, dtype, (outer == "vmap") + (name == "vmap"))
        try:
            check_stack(example, (outer, name), leaves)
        except BaseException as error:
            error.add_note(f"This is {outer}({name}({program.name})).")
            raise


# Regimes

WIDE_TENSOR = re.compile(r"tensor<(?:\d+x)*(?:f64|u?i64|complex<f64>)>")


@pytest.mark.sampled(keep=1.0, rows=["program"])
@each_program(PROGRAMS)
def test_with_x64_off_everything_has_32_bits_and_means_the_same(program, is_drawn):
    dtype = program.widest
    example = program.example(dtype)
    wide = example(*example.leaves)
    with config.enable_x64(False):
        jaxpr = make_jaxpr(example)(*example.leaves)
        check_jaxpr(jaxpr)
        leaves = [x.astype(a.dtype) if is_mapped(x) else x for x, a in zip(example.leaves, jaxpr.in_avals)]
        outs = eval_jaxpr(jaxpr, jaxpr.consts, *leaves)
        _, out_dots = jvp(example, tuple(example.leaves), tuple(directions(leaves, 1)))
        _, f_vjp = vjp(example, *example.leaves)
        bars = f_vjp(directions(outs, 2))
        lowered = jit(example, compiler_options=QUICKLY).lower(*example.leaves)
        assert [a.strip_weak_type().str_short() for a in jaxpr.out_avals] == types_of(outs)
        assert types_of(out_dots) == types_of(directions(outs, 2))
        assert types_of(bars) == types_of(directions(leaves, 1))
        assert not WIDE_TENSOR.findall(lowered.as_text())
        # Without operands of 64 bits the program is that of 32 bits, whose values are the law of compilation.
        if is_drawn(program.name, 0.2):
            compiled = lowered.compile()(*example.leaves)
            assert_within(compiled, outs, program.ulps_in(dtype), by_array=program.by_array)
    atoms = {v for inside in nested_jaxprs(jaxpr) for eqn in inside.eqns for v in [*eqn.invars, *eqn.outvars]}
    assert not {v.aval.dtype.name for v in atoms} & {"float64", "int64", "uint64", "complex128"}
    for narrow, x in zip(outs, wide, strict=True):
        np.testing.assert_allclose(np.asarray(narrow), np.asarray(x), rtol=2e-4, atol=2e-5)


def test_one_jitted_function_serves_both_regimes_in_turn():
    function = jit(lambda x: lax.sin(x) * 2.0)
    for _ in range(2):
        assert function(np.ones(2)).dtype == np.float64
        with config.enable_x64(False):
            assert function(np.ones(2)).dtype == np.float32


# Structure


@each_program([p for p in COMPOSITES if p.name in ("mlp", "nested results", "integer results", "weak scalars")])
def test_results_keep_their_structure(program):
    args = program.example("float64").args
    out = tree_structure(program.fun(*args))
    assert tree_structure(jit(program.fun)(*args)) == out
    assert tree_structure(vmap(program.fun, in_axes=None, axis_size=2)(*args)) == out
    assert tree_structure(linearize(program.fun, *args)[0]) == out
    _, f_vjp = vjp(program.fun, *args)
    cts = out.unflatten(directions(tree_leaves(program.fun(*args)), 2))
    assert tree_structure(f_vjp(cts)) == tree_structure(args)
