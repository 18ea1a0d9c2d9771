import copy
import dataclasses
import enum
import gc
import inspect
import math
import operator
import pickle
import re
import sys
import threading
import traceback
import weakref
from collections import Counter
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from calque_core import (
    CustomRules,
    Primitive,
    ShapeDtypeStruct,
    Trace,
    current_trace,
    ensure_compile_time_eval,
    eval_jaxpr,
    hand_down,
    lax,
    make_jaxpr,
    pure_callback,
    tracing,
    typeof,
)
from calque_core.config import default_dtype_bits, enable_x64
from calque_core.errors import TracerBoolConversionError, UnexpectedTracerError
from calque_core.lax import custom_jvp_call_p
from calque_core.ops.calls.checkpoint import remat_p
from calque_core.ops.calls.jit import jit_p
from calque_pytree import register_dataclass, static, tree_map
from calque_xla_backend import Array, clear_caches, device_put, hlo, jit, register_lowering
from calque_xla_backend.compiler import compiler_of

X = np.array([1.0, 2.0, 3.0])


class Pair(NamedTuple):
    left: Any
    right: Any


class CountTrace(Trace):
    """Counts the primitives that reach it, and hands them down."""

    def __init__(self, parent):
        super().__init__(parent)
        self.counts = Counter()

    def process_primitive(self, primitive, args, params):
        self.counts[primitive.name] += 1
        return hand_down(self.parent, primitive, args, params)


def counted(f):
    """Return a function that notes each of its traces, and the list of notes."""
    notes = []

    def traced(*args, **kwargs):
        notes.append(args)
        return f(*args, **kwargs)

    return traced, notes


# What it computes


def test_results_are_device_arrays_of_the_right_type_and_value():
    out = jit(lambda x: lax.sin(x) * 2.0)(X)
    assert type(out) is Array
    assert out.dtype == np.float64
    np.testing.assert_allclose(out, np.sin(X) * 2, rtol=1e-14)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (0,), (2, 0, 3), (2, 3)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex128"])
def test_every_dtype_and_shape_goes_in_and_comes_out_unchanged(shape, dtype):
    x = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
    out = jit(lambda x: (x, x))(x)[1]
    assert (out.shape, out.dtype) == (shape, x.dtype)
    np.testing.assert_array_equal(out, x)


def test_arguments_and_results_are_pytrees():
    f = jit(lambda p, d: {"sum": p.left + d["x"], "others": (p.right, [d["x"]], None)})
    out = f(Pair(1.0, X), {"x": device_put(X)})
    assert set(out) == {"sum", "others"}
    np.testing.assert_array_equal(out["sum"], X + 1)
    assert out["others"][2] is None


def test_a_result_that_is_a_python_scalar_becomes_an_array():
    out = jit(lambda: (1.0, 2, True))()
    assert [x.dtype for x in out] == [np.float64, np.int64, np.bool_]


def test_no_results_are_fine():
    assert jit(lambda x: None)(1.0) is None
    assert jit(lambda x: ())(X) == ()


def test_unused_arguments_are_not_passed_to_the_program():
    f = jit(lambda x, y, z: y + 1.0)
    assert f(X, 2.0, "z"[:0] or 1) == 3.0
    assert f(device_put(X), device_put(2.0), device_put(1)) == 3.0


def test_2000_arguments(quickly):
    f = jit(lambda *xs: sum(xs[1:], xs[0]), compiler_options=quickly)
    assert f(*[1.0] * 2000) == 2000.0


def test_numpy_functions_in_the_body_are_compiled():
    np.testing.assert_allclose(jit(lambda x: np.sin(x) + np.cos(x))(X), np.sin(X) + np.cos(X), rtol=1e-14)


def test_overwriting_an_argument_after_the_call_changes_nothing():
    for size in (1, 16, 1 << 16):
        x = np.zeros(size)
        out = jit(lambda x: (x, x + 1.0))(x)
        x[:] = 7.0
        np.testing.assert_array_equal(out[0], np.zeros(size))
        np.testing.assert_array_equal(out[1], np.ones(size))


def test_overwriting_a_captured_array_after_the_trace_changes_nothing():
    for size in (4, 4096):
        constant = np.ones(size)
        f = jit(lambda x, c=constant: x + c)
        assert f(1.0)[0] == 2.0
        constant[:] = 100.0
        assert f(1.0)[0] == 2.0


def test_a_large_captured_array_is_an_argument_and_not_text():
    constant = np.arange(1_000_000.0)
    f = jit(lambda x: (x + constant)[-1])
    assert f(1.0) == 1_000_000.0
    assert len(f.lower(1.0).as_text()) < 2000


def test_a_captured_device_array_is_used_as_it_is():
    constant = device_put(np.arange(5.0))
    assert jit(lambda x: x + constant)(1.0)[4] == 5.0


# When it traces


def test_it_traces_once_for_each_set_of_types():
    f, notes = counted(lambda x, y: x * y)
    jitted = jit(f)
    for args in [(3.0, 4.0), (4.0, 5.0), (-1.0, 0.0)]:
        jitted(*args)
    assert len(notes) == 1
    jitted(np.float64(3.0), 4.0)  # strong
    jitted(np.float32(3.0), 4.0)
    jitted(X, 4.0)
    jitted(1, 4.0)
    assert len(notes) == 5


def test_device_arrays_and_numpy_arrays_of_one_type_share_a_trace():
    f, notes = counted(lambda x: x + x)
    jitted = jit(f)
    jitted(X)
    jitted(device_put(X))
    jitted(X)
    assert len(notes) == 1


def test_two_jits_of_one_function_share_the_trace():
    f, notes = counted(lambda x: x + x)
    jit(f)(1.0)
    jit(f)(1.0)
    assert len(notes) == 1
    jit(f, static_argnums=0)(1.0)
    assert len(notes) == 2


def test_one_trace_serves_evaluation_and_staging():
    f, notes = counted(lambda x: lax.sin(x))
    jitted = jit(f)
    make_jaxpr(jitted)(1.0)
    jitted(1.0)
    make_jaxpr(lambda x: jitted(x) + jitted(x * 2.0))(1.0)
    assert len(notes) == 1
    make_jaxpr(lambda x: jitted(lax.cos(x)))(1.0)
    assert len(notes) == 2  # Python's 1.0 and x * 2.0 are weakly typed, cos(x) is not


def test_settings_are_part_of_the_key():
    jitted = jit(lambda x: x + 1.0)
    assert jitted(X).dtype == np.float64
    with enable_x64(False):
        assert jitted(X).dtype == np.float32
        assert jitted(device_put(X)).dtype == np.float32
    assert jitted(X).dtype == np.float64
    assert jitted(2.0).dtype == np.float64
    with default_dtype_bits(32):
        assert jitted(2.0).dtype == np.float32
        assert jitted(X).dtype == np.float64
    assert jitted(2.0).dtype == np.float64


def test_a_device_array_of_64_bits_counts_as_one_of_32_with_enable_x64_off():
    x = device_put(X)
    f = jit(lambda x: x * 2.0)
    f(x)
    with enable_x64(False):
        for _ in range(3):
            assert f(x).dtype == np.float32
    assert f(x).dtype == np.float64


def test_cache_info_counts_a_program_once_for_all_kinds_of_arrays():
    doubled = jit(lambda x: x + x)
    first = doubled(np.ones(2))
    doubled(first)
    doubled(doubled(first))
    assert doubled.cache_info() == (1, 1)
    doubled(np.ones(3))
    assert doubled.cache_info() == (2, 2)


def test_clear_cache_and_clear_caches_drop_programs():
    f, notes = counted(lambda x: x + x)
    jitted = jit(f)
    jitted(1.0)
    assert jitted.cache_info() == (1, 1)
    jitted.clear_cache()
    assert jitted.cache_info() == (0, 0)
    jitted(1.0)
    clear_caches()
    jitted(1.0)
    assert len(notes) == 3


def test_replacing_a_rule_traces_again():
    p = Primitive("replaced")
    p.def_abstract_eval(lambda x: x)
    register_lowering(p, lambda ctx, x: [hlo.add(x, x)])
    f = jit(lambda x: p.bind(x))
    assert f(device_put(3.0)) == 6.0
    assert f(device_put(3.0)) == 6.0
    register_lowering(p, lambda ctx, x: [hlo.multiply(x, x)])
    assert f(device_put(3.0)) == 9.0
    assert f(3.0) == 9.0


# A jitted function is a Python callable


@pytest.mark.parametrize("arg", [X, device_put(X)], ids=["numpy", "device"])
def test_a_warm_function_called_with_values_while_staging_is_staged(arg):
    f = jit(lambda x: lax.sin(x))
    for _ in range(3):
        f(arg)
    jaxpr = make_jaxpr(lambda y: f(arg) + y)(X)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["jit", "add"]


@pytest.mark.parametrize("arg", [X, device_put(X)], ids=["numpy", "device"])
def test_a_warm_function_called_with_values_under_a_trace_goes_through_it(arg):
    f = jit(lambda x: lax.sin(x))
    for _ in range(3):
        f(arg)
    with tracing(CountTrace(current_trace())) as trace:
        out = f(arg)
    assert trace.counts == {"jit": 1}
    np.testing.assert_allclose(out, np.sin(X), rtol=1e-14)


def test_compile_time_evaluation_runs_a_warm_function_on_values():
    f = jit(lambda x: lax.sin(x))
    f(X)

    def g(y):
        with ensure_compile_time_eval():
            known = f(X)
        return y + known

    assert [eqn.primitive.name for eqn in make_jaxpr(g)(X).eqns] == ["add"]


def test_evaluating_the_equation_runs_the_compiled_program():
    f = jit(lambda x: lax.sin(x))
    eqn = make_jaxpr(f)(X).eqns[0]
    outs = jit_p.bind(X, **eqn.params)
    assert type(outs[0]) is Array


def test_nested_jits_are_one_program_and_close_over_tracers():
    @jit
    def outer(x):
        @jit
        def inner(y):
            return lax.cos(y) + x

        return inner(x * 2.0) + inner(x * 3.0)

    expected = np.cos(2 * X) + np.cos(3 * X) + 2 * X
    np.testing.assert_allclose(outer(X), expected, rtol=1e-14)
    text = outer.lower(X).as_text()
    assert text.count("func.func private") == 1
    assert text.count("call @inner") == 2


def test_a_trace_that_captured_tracers_is_kept_by_their_owner_alone():
    notes = []

    @jit
    def outer(x):
        def inner(y):
            notes.append(y)
            return y + x

        jitted = jit(inner)
        return jitted(x) + jitted(x)

    outer(X)
    assert len(notes) == 1
    outer(np.float32(1.0))
    assert len(notes) == 2


def test_a_captured_tracer_does_not_stay_in_the_function_s_cache():
    holder = []

    @jit
    def inner(y):
        return y + holder[0]

    def outer(x):
        holder[:] = [x]
        return inner(x)

    first = make_jaxpr(outer)(X)
    second = make_jaxpr(outer)(X)
    assert inner.cache_info().traces == 0
    assert len(first.eqns) == len(second.eqns) == 1
    assert len(second.eqns[0].invars) == 2


def test_inline_records_the_function_s_own_equations():
    f = jit(lambda x: lax.sin(x), inline=True)
    assert [eqn.primitive.name for eqn in make_jaxpr(f)(X).eqns] == ["sin"]
    assert type(f(X)) is Array


def test_jit_of_jit():
    np.testing.assert_allclose(jit(jit(lax.sin))(X), np.sin(X), rtol=1e-14)


# Static arguments


def test_static_arguments_by_position_and_by_name_are_passed_as_they_are():
    def power(x, n, *, base=1):
        assert type(n) is int
        return x * n + base

    f = jit(power, static_argnums=1, static_argnames="base")
    assert f(2.0, 3) == 7.0
    assert f(2.0, 3, base=2) == 8.0
    assert f(2.0, 4) == 9.0


def test_a_static_argument_named_by_position_is_static_by_keyword_too_and_the_reverse():
    def f(x, n):
        return x * range(n)[-1]

    assert jit(f, static_argnums=1)(2.0, n=4) == 6.0
    assert jit(f, static_argnames="n")(2.0, 4) == 6.0
    assert jit(f, static_argnums=-1)(2.0, 4) == 6.0
    assert jit(f, static_argnums=(1,))(device_put(2.0), 4) == 6.0


def test_each_static_value_is_one_trace_and_values_of_different_types_or_signs_differ():
    f, notes = counted(lambda x, k: x * math.copysign(1.0, k) if k == 0 else x + k)
    jitted = jit(f, static_argnums=1)
    assert [float(jitted(1.0, k)) for k in (0.0, -0.0, 0.0, -0.0)] == [1.0, -1.0, 1.0, -1.0]
    assert len(notes) == 2
    for k in (1, True, 1.0, (1,), (True,)):
        if type(k) is not tuple:
            jitted(1.0, k)
    assert len(notes) == 5
    jitted(1.0, 1)
    assert len(notes) == 5


class Choice(NamedTuple):
    by: object
    other: object = None


@dataclasses.dataclass(frozen=True)
class Config:
    by: object


@register_dataclass
@dataclasses.dataclass
class Scaled:
    x: object
    by: object = static(default=None)


def sign_and_type(x, by):
    """Return another number for each of the values that Python calls equal to 0."""
    kinds = [float, int, bool, np.float32]
    return x + kinds.index(type(by)) + 10 * math.copysign(1.0, by)


ZEROS = (0.0, -0.0, 0, False, np.float32(0.0), np.float32(-0.0))


def unwrapped(value):
    if isinstance(value, (Choice, Config)):
        return unwrapped(value.by)
    return unwrapped(*value) if isinstance(value, frozenset) else value


@pytest.mark.parametrize("holder", [Choice, Config, lambda by: Choice(Config(by)), lambda by: frozenset([Config(by)])])
def test_equal_static_values_that_behave_differently_have_their_own_programs(holder):
    def f(x, holds):
        return sign_and_type(x, unwrapped(holds))

    jitted = jit(f, static_argnums=1)
    for x in (np.float64(1.0), device_put(1.0), device_put(2.0)):
        assert [float(jitted(x, holder(zero))) for zero in ZEROS] == [f(x, holder(zero)) for zero in ZEROS]
    assert jitted.cache_info().traces == len(ZEROS)


def test_equal_static_ranges_have_their_own_programs():
    f = jit(lambda x, r: x + r.start, static_argnums=1)
    assert [float(f(0.0, r)) for r in (range(0), range(3, 3), range(0))] == [0.0, 3.0, 0.0]


@pytest.mark.parametrize(
    ("tree", "read"),
    [
        (lambda zero: Scaled(1.0, zero), lambda tree: tree.by),
        (lambda zero: [Scaled(1.0, (zero,))], lambda tree: tree[0].by[0]),
        (lambda zero: {zero: 1.0}, lambda tree: next(iter(tree))),
        (lambda zero: {"a": {zero: 1.0, 7: 1.0}}, lambda tree: min(tree["a"])),
    ],
)
@pytest.mark.parametrize("as_keyword", [False, True])
def test_arguments_whose_static_fields_or_keys_are_equal_and_different_have_their_own_programs(tree, read, as_keyword):
    """Often enough that the fast ways to the program, which compare structures by generated code, are taken as well."""
    jitted = jit(lambda tree: sign_and_type(1.0, read(tree)))
    expected = [sign_and_type(1.0, zero) for zero in ZEROS]
    for put in [device_put, np.float64] * 20:
        trees = [tree_map(put, tree(zero)) for zero in ZEROS]
        outs = [jitted(tree=x) if as_keyword else jitted(x) for x in trees]
        assert [float(out) for out in outs] == expected
        for same in [trees[0]] * 2:
            assert float(jitted(tree=same) if as_keyword else jitted(same)) == expected[0]


def test_compiler_options_that_are_equal_and_different_have_their_own_compilers():
    assert compiler_of((("option", 1),)) is compiler_of((("option", 1),))
    assert compiler_of((("option", 1),)) is not compiler_of((("option", True),))


def test_static_strings_functions_and_none():
    f = jit(lambda x, op, mode: op(x) if mode == "on" else x, static_argnums=(1, 2))
    assert f(0.0, lax.cos, "on") == 1.0
    assert f(0.0, None, None) == 0.0


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, np.ones(3), device_put(1.0)])
def test_an_unhashable_static_argument_is_refused_by_name(value):
    f = jit(lambda x, sizes: x, static_argnums=1)
    place = r"\(test_jit.py:\d+\) at test_jit.py:\d+ \(.*\)"
    with pytest.raises(TypeError, match=rf"jit of <lambda> {place}: the static argument sizes is .*no hash"):
        f(1.0, value)


class ArrayOfSizes:
    """Has a hash, and an == that gives an array."""

    def __init__(self, *sizes):
        self.sizes = np.array(sizes)

    def __hash__(self):
        return 0

    def __eq__(self, other):
        return self.sizes == other.sizes


@dataclasses.dataclass(frozen=True)
class HoldsSizes:
    sizes: ArrayOfSizes


@pytest.mark.parametrize("make", [ArrayOfSizes, lambda *sizes: HoldsSizes(ArrayOfSizes(*sizes))])
@pytest.mark.parametrize("transform", [lambda f: f, lambda f: make_jaxpr(f, static_argnames=("sizes", "n"))])
def test_a_static_argument_that_cannot_be_compared_is_refused_by_name(make, transform):
    kind = type(make(1)).__name__
    words = (
        r"^jit of keep \(test_jit.py:\d+\) at test_jit.py:\d+ \(.*\): two values of the static argument sizes, of type "
        rf"{kind}, cannot be compared, because {kind}.__eq__ gives neither True nor False \(The tr.*\)\. Give {kind}"
    )
    for options in ({"static_argnums": (1, 2)}, {"static_argnames": ("n", "sizes")}):

        @partial(jit, **options)
        def keep(x, n, sizes):
            return x

        use = transform(lambda x, n, sizes, keep=keep: keep(x, n, sizes))
        use(1.0, n=3, sizes=make(1, 2))
        with pytest.raises(TypeError, match=words) as caught:
            use(1.0, n=3, sizes=make(1, 2))
        assert isinstance(caught.value.__cause__, ValueError)
        assert caught.value.__cause__.__context__ is None


def test_an_error_of_the_function_is_not_blamed_on_its_static_arguments():
    def fails(x, n):
        if n == 2:
            raise ValueError("mine")
        return x

    f = jit(fails, static_argnums=1)
    f(1.0, 1)
    with pytest.raises(ValueError, match=r"^mine"):
        f(1.0, 2)


def test_a_refused_argument_is_one_error_and_not_three():
    for value in ("a", np.array(["a"]), np.array([object()])):
        with pytest.raises(TypeError, match="jit of <lambda>") as caught:
            jit(lambda x: x)(value)
        assert caught.value.__context__ is None


def test_a_traced_static_argument_is_refused_by_name():
    inner = jit(lambda x, n: x, static_argnums=1)
    with pytest.raises(TypeError, match=r"the static argument n is .*no hash"):
        jit(lambda x: inner(x, x))(1.0)


def test_a_static_position_out_of_range_is_refused_when_jit_is_called():
    with pytest.raises(ValueError, match=r"static_argnums=3, but the function has 1 positional argument\. Count"):
        jit(lambda x: x, static_argnums=3)


def test_a_misspelt_static_name_is_refused_when_jit_is_called():
    with pytest.raises(ValueError, match=r"='mod', which is no argument of the function\. Name one of: x, m"):
        jit(lambda x, mode: x, static_argnames="mod")


def test_static_arguments_of_the_wrong_kind_are_refused():
    with pytest.raises(TypeError, match=r"static_argnums='x'\. Give an int"):
        jit(lambda x: x, static_argnums="x")
    with pytest.raises(TypeError, match=r"static_argnames=\(1,\)\. Give a name"):
        jit(lambda x: x, static_argnames=(1,))


# What can be jitted


def test_decorator_with_and_without_arguments():
    @jit
    def f(x):
        """Double."""
        return x + x

    @jit(static_argnums=1)
    def g(x, n):
        return x * n

    assert (f.__name__, f.__doc__, inspect.signature(f).parameters.keys()) == ("f", "Double.", {"x"})
    assert f.__wrapped__(2) == 4
    assert (f(1.0), g(2.0, 3)) == (2.0, 6.0)


def test_methods_bind_and_static_self_works():
    class Model:
        weight = 3.0

        @partial(jit, static_argnums=0)
        def scale(self, x):
            return x * self.weight

        @jit
        def forward(self, x):
            return x

        @staticmethod
        @jit
        def plus(x, y):
            return x + y

    assert Model().scale(2.0) == 6.0
    assert Model.plus(1.0, 2.0) == 3.0
    with pytest.raises(TypeError, match=r"jit of forward.*: self is .* of type Model, which is not an array"):
        Model().forward(1.0)


def test_bound_methods_partials_builtins_and_callables_without_weak_references():
    class Scale:
        __slots__ = ("factor",)

        def __init__(self, factor):
            self.factor = factor

        def __call__(self, x):
            return x * self.factor

        def twice(self, x):
            return self(self(x))

    assert jit(Scale(2.0))(3.0) == 6.0
    assert jit(Scale(2.0).twice)(3.0) == 12.0
    assert jit(partial(lax.mul, 4.0))(2.0) == 8.0
    assert jit(abs)(-2.0) == 2.0
    assert jit(np.sin)(0.0) == 0.0


def test_keywords_defaults_and_extra_arguments():
    def f(x, y=2.0, *args, scale=1.0, **more):
        return (x + y) * scale + sum(args) + sum(more.values())

    jitted = jit(f)
    calls = [((1.0,), {}), ((1.0, 3.0), {}), ((1.0,), {"y": 5.0}), ((1.0, 1.0, 1.0), {"scale": 2.0, "k": 1.0})]
    for args, kwargs in calls:
        for _ in range(3):
            assert jitted(*args, **kwargs) == f(*args, **kwargs)
            assert jitted(*map(device_put, args), **{k: device_put(v) for k, v in kwargs.items()}) == f(*args, **kwargs)


def test_the_names_of_parameters_cannot_collide_with_generated_code():
    @jit
    def f(a0, last_call, compiled, general, active, *, kwargs=0.0, extra=0.0):
        return a0 + 2 * last_call + 3 * compiled + 4 * general + 5 * active + kwargs + extra

    for _ in range(2):
        assert f(a0=1.0, last_call=1.0, compiled=1.0, general=1.0, active=1.0, kwargs=1.0, extra=1.0) == 17.0
        assert f(*[device_put(1.0)] * 5) == 15.0


def test_calling_with_the_wrong_arguments_is_python_s_own_error():
    f = jit(lambda x, y: x + y)
    f(1.0, 2.0)
    for args, kwargs in [((1.0,), {}), ((device_put(1.0),), {}), ((1.0, 2.0, 3.0), {}), ((1.0,), {"z": 1.0})]:
        with pytest.raises(TypeError, match="argument"):
            f(*args, **kwargs)


def test_a_value_that_is_no_function_is_refused():
    with pytest.raises(TypeError, match=r"jit got 3\.0 of type float.*Give a function"):
        jit(3.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'static_argnum'"):
        jit(lambda x: x, static_argnum=0)

    def generator(x):
        yield x

    with pytest.raises(TypeError, match="a generator or coroutine runs after"):
        jit(generator)


def test_deepcopy_gives_the_function_and_a_lambda_is_not_pickled():
    f = jit(lambda x: x + 1.0)
    assert copy.deepcopy(f)(1.0) == 2.0
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(f)


def test_a_jitted_callable_can_be_referred_to_weakly():
    f = jit(lambda x: x)
    assert weakref.ref(f)() is f


# Errors


def test_an_argument_that_is_no_array_is_named_by_its_path():
    f = jit(lambda p, q: p["w"])
    f({"w": 1.0}, 2.0)
    with pytest.raises(TypeError, match=r"jit of <lambda> \(test_jit.py:\d+\): p\['w'\] is 'abc' of type str"):
        f({"w": "abc"}, 2.0)


@pytest.mark.parametrize("result", ["done", lambda: 1, object()])
def test_a_result_that_is_no_array_is_refused(result):
    with pytest.raises(TypeError, match=r"jit of <lambda> \(test_jit.py:\d+\) returned .* of type \w+\. Return arrays"):
        jit(lambda x: result)(1.0)


def test_python_control_flow_on_an_argument_says_which_and_what_to_do():
    with pytest.raises(TracerBoolConversionError, match=r"depends on the value of the argument x\..*static_argnums"):
        jit(lambda x, y: x if x > 0.0 else y)(1.0, 2.0)


def test_a_builtin_that_needs_a_number_is_refused_with_a_hint():
    with pytest.raises(TypeError, match=r"float\(\) was asked of a traced value .* under jit of sin"):
        jit(math.sin)(1.0)


@pytest.mark.parametrize("error", [RuntimeError("user bug"), KeyboardInterrupt()])
def test_an_exception_in_a_trace_leaves_the_state_as_it_was(error):
    def bad(x):
        lax.sin(x)
        raise error

    before = current_trace()
    for _ in range(2):
        with pytest.raises(type(error)):
            jit(bad)(1.0)
        with pytest.raises(type(error)):
            jit(jit(bad))(X)
    assert current_trace() is before
    assert jit(lax.sin)(0.0) == 0.0


def test_an_escaped_tracer_is_refused():
    saved = []
    jit(lambda x: saved.append(x))(1.0)
    with pytest.raises(UnexpectedTracerError, match=r"an escaped tracer .* jit of <lambda>.* has ended"):
        jit(lambda x: x)(saved[0])
    with pytest.raises(UnexpectedTracerError, match="an escaped tracer"):
        jit(lambda x: x + saved[0])(1.0)


def test_a_function_that_calls_itself_without_end_is_refused():
    @jit
    def f(x):
        return f(x) + 1.0

    with pytest.raises(RecursionError, match=r"jit of f \(test_jit.py:\d+\) calls itself with arguments of the same"):
        f(np.float64(1.0))


def test_recursion_that_a_static_argument_ends_is_fine():
    @partial(jit, static_argnums=1)
    def f(x, n):
        return x if n == 0 else f(x, n - 1) * 2.0

    assert f(1.0, 5) == 32.0


def nest(depth):
    f = lambda x: x + 1.0
    for _ in range(depth):
        f = jit(lambda x, g=f: g(x))
    return f


def test_deep_nesting_works_within_python_s_recursion_limit_and_says_so_beyond():
    assert nest(20)(1.0) == 2.0
    with pytest.raises(RecursionError) as caught:
        nest(500)(1.0)
    assert "Nest less deeply, or raise the limit" in str(caught.value)
    printed = "".join(traceback.format_exception(caught.value)).splitlines()
    assert len(printed) < 100
    errors = {line.partition(":")[0] for line in printed if line.partition(":")[0].endswith("Error")}
    assert errors == {"RecursionError"}  # and no error of another kind before it
    assert sum("nested too deeply" in line for line in printed) == 1


def test_300_nested_jits_with_a_higher_limit():
    result = []

    def run():
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(20_000)
        try:
            result.append(float(nest(300)(1.0)))
        finally:
            sys.setrecursionlimit(limit)

    old = threading.stack_size(512 << 20)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(old)
    assert result == [2.0]


def test_a_python_integer_that_does_not_fit_is_refused_also_when_warm():
    f = jit(lambda x, y: x)
    for _ in range(20):
        f(1, 2.0)
    with pytest.raises(OverflowError, match="the Python integer"):
        f(2**70, 2.0)
    with enable_x64(False):
        for _ in range(3):
            f(1, 2.0)
        with pytest.raises(OverflowError, match="the Python integer"):
            f(2**40, 2.0)


@pytest.mark.parametrize(("number", "value"), [(np.int8(1), 2**40), (np.int8(1), -129), (np.uint8(1), -1)])
def test_a_python_integer_that_the_program_converts_to_a_type_too_narrow_is_refused(number, value):
    def add(x, *, y=0):
        return x + number, y + number

    f, words = jit(add), rf"argument x is the Python integer {value}, .* fit {number.dtype}, .* numpy\.int64\({value}\)"
    with pytest.raises(OverflowError, match=r"jit of .*add \(test_jit\.py:\d+\): the " + words):
        f(value)
    for y in range(20):
        assert f(2, y=y)[0] == f(2)[0] == 3
    with pytest.raises(OverflowError, match=words):
        f(value)
    with pytest.raises(OverflowError, match="argument y is the Python integer 300"):
        f(2, y=300)
    assert f(np.int64(value))[0] == value + 1
    assert f(jit(lambda x: x)(value))[0] == np.int64(value + 1).astype(number.dtype)  # an array wraps


def test_a_python_integer_is_refused_through_programs_inside_of_programs():
    inner = jit(lambda x, y: (x + np.int8(1)) * y)
    for f in (jit(inner), jit(lambda x, y: inner(x, y) + 1), jit(lambda x, y: jit(inner)(x, y))):
        assert f(2, 1.0).dtype == np.float64
        with pytest.raises(OverflowError, match=r"the argument x is the Python integer 128, which does not fit int8"):
            f(128, 1.0)
    params = {"policy": None, "prevent_cse": True, "differentiated": False}
    checkpointed = make_jaxpr(lambda x: x + np.int8(1))(2)
    with pytest.raises(OverflowError, match="the argument x is the Python integer 128"):
        jit(lambda x: remat_p.bind(x, jaxpr=checkpointed, **params))(128)
    custom = {"jaxpr": checkpointed, "rules": CustomRules("f", "f", ())}
    with pytest.raises(OverflowError, match="the argument x is the Python integer 128"):
        jit(lambda x: custom_jvp_call_p.bind(x, **custom))(128)
    jaxpr = make_jaxpr(inner)(2, 1.0)
    with pytest.raises(OverflowError, match=r"the argument 0 of the program is the Python integer 128"):
        eval_jaxpr(jaxpr, jaxpr.consts, 128, 1.0)


def test_a_value_computed_from_a_python_integer_wraps_around():
    assert jit(lambda x: x * 100 + np.int8(1))(3) == np.int64(301).astype(np.int8)


@pytest.mark.parametrize("compare", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
@pytest.mark.parametrize("number", [np.int8(1), np.uint8(1), np.array([1, 2], np.int32)])
def test_a_comparison_with_a_python_integer_is_exact(compare, number):
    f = jit(lambda x: (compare(x, number), compare(number, x)))
    for value in (1, 2**40 + 1, -(2**40) + 1, -1):
        for one, other in zip(f(value), (compare(value, number), compare(number, value))):
            assert np.array_equal(one, other)


def test_a_type_instead_of_an_array_is_for_lower_only():
    f = jit(lambda p, x: p["w"] * x)
    for like in (ShapeDtypeStruct((3,), np.float64), SimpleNamespace(shape=(3,), dtype=np.float64)):
        assert "tensor<3xf64>" in f.lower({"w": like}, 1.0).as_text()
        assert f.eval_shape({"w": like}, 1.0) == ShapeDtypeStruct((3,), np.float64)
    words = r"jit of <lambda> \(test_jit.py:.*\): p\['w'\] is ShapeDtypeStruct\(.*\), a type instead of an array"
    with pytest.raises(TypeError, match=words):
        f({"w": ShapeDtypeStruct((3,), np.float64)}, 1.0)


def test_equations_know_the_user_s_line():
    f = jit(lambda x: lax.sin(x))
    outer = make_jaxpr(lambda x: f(x))(1.0).eqns[0]
    for eqn in (outer, outer.params["jaxpr"].eqns[0]):
        assert eqn.source_info.file_name == __file__


# Donation


def test_a_donated_argument_is_deleted_and_using_it_is_an_error_that_says_so():
    f = jit(lambda x, y: x + y, donate_argnums=0)
    x, y = device_put(np.ones(1000)), device_put(np.ones(1000))
    assert f(x, y)[0] == 2.0
    assert x.is_deleted()
    assert not y.is_deleted()
    with pytest.raises(RuntimeError, match=r"<lambda> at .*, x: .*deleted or donated\. Keep a copy"):
        f(x, y)
    with pytest.raises(RuntimeError, match="deleted or donated"):
        jit(lambda x: x * 2.0)(x)


def test_every_leaf_of_a_donated_argument_is_donated():
    f = jit(lambda keep, d: {k: v + keep for k, v in d.items()}, donate_argnums=-1)
    keep, d = device_put(np.ones(1000)), {"a": device_put(np.ones(1000)), "b": device_put(np.ones(1000))}
    f(keep, d)
    assert not keep.is_deleted()
    assert d["a"].is_deleted()
    assert d["b"].is_deleted()


@pytest.mark.parametrize("choice", [{"donate_argnums": (1, 2)}, {"donate_argnames": ("d", "more")}], ids=str)
def test_a_donated_argument_is_donated_by_name_too(choice):
    f = jit(lambda keep, d, more: tree_map(lambda v: v + keep + more, d), **choice)
    for call in (
        lambda k, d, m: f(k, more=m, d=d),
        lambda k, d, m: f(k, d, more=m),
        lambda k, d, m: f(more=m, d=d, keep=k),
    ):
        keep, more, d = (device_put(np.ones(1000)) for _ in range(3))
        call(keep, {"a": d, "b": 1.0}, more)
        assert [x.is_deleted() for x in (keep, d, more)] == [False, True, True]


def test_arguments_without_a_position_are_donated_by_name():
    f = jit(lambda x, *, state, **more: (state + x, more), donate_argnames=("state", "other"))
    x, state, other = (device_put(np.ones(1000)) for _ in range(3))
    f(x, state=state, other=other)
    assert [x.is_deleted(), state.is_deleted(), other.is_deleted()] == [False, True, True]


def test_a_donated_name_must_be_an_argument():
    with pytest.raises(
        ValueError, match=r"donate_argnames='sate', which is no argument of the function\. Name one of: x"
    ):
        jit(lambda x, state: x, donate_argnames="sate")


def test_the_last_argument_of_a_variadic_function_is_donated():
    f = jit(lambda *xs, y=0.0: [x + y for x in xs], donate_argnums=-1)
    x, y, z = (device_put(np.ones(1000)) for _ in range(3))
    f(x, z, y=y)
    assert [x.is_deleted(), y.is_deleted(), z.is_deleted()] == [False, False, True]


@pytest.mark.parametrize("option", ["static_argnums", "donate_argnums"])
@pytest.mark.parametrize("argnums", [True, (0, False)])
def test_a_bool_is_no_position(option, argnums):
    with pytest.raises(TypeError, match=rf"{option}={re.escape(str(argnums))}\. Give an int or a tuple of ints"):
        jit(lambda x, y: x, **{option: argnums})


def test_a_numpy_argument_can_be_donated_and_stays_as_it_is():
    f = jit(lambda x: x + 1.0, donate_argnums=0)
    x = np.ones(1000)
    for _ in range(3):
        assert f(x)[0] == 2.0
    assert x[0] == 1.0


# Threads and memory


def test_threads_that_trace_and_call_at_once_get_right_results(quickly):
    f = jit(lambda x, y: (x * y, {"s": x + y}))
    errors = []

    def work(seed):
        try:
            for i in range(12):
                x = np.full(seed % 3 + 1, float(i))
                product, tree = f(x, device_put(x)) if i % 2 else f(device_put(x), device_put(x))
                np.testing.assert_array_equal(product, x * x)
                np.testing.assert_array_equal(tree["s"], x + x)
                make_jaxpr(f)(x, x)
                assert jit(lambda v, k=seed: v + k, compiler_options=quickly)(float(i)) == i + seed
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_dropped_function_is_freed_with_its_traces():
    captured = np.ones(10_000)
    f = jit(lambda x: x + captured)
    f(X[0])
    traces = [weakref.ref(t.jaxpr) for t in [next(iter(cache_of_jitted(f).traces.values()))]]
    del f
    gc.collect()
    assert traces[0]() is None


def cache_of_jitted(f):
    return f.clear_cache.__self__.traced.cache


def test_no_cycle_keeps_a_dropped_function_alive():
    def make():
        f = jit(lambda x: x + 1.0)
        f(1.0)
        return weakref.ref(f), weakref.ref(f.__wrapped__)

    gc.disable()
    try:
        refs = make()
        assert [ref() for ref in refs] == [None, None]
    finally:
        gc.enable()


def test_an_error_of_a_call_keeps_nothing_alive():
    def callback(x):
        return pure_callback(lambda v: 1 // 0, x, x)

    def meet(fun, arg, kind):
        f = jit(fun)
        with pytest.raises(kind):
            f(arg)
        return weakref.ref(f)

    gc.disable()
    try:
        refs = [meet(lambda x: x, "text", TypeError), meet(callback, 1.0, ZeroDivisionError)]
        assert [ref() for ref in refs] == [None, None]
    finally:
        gc.enable()


def test_a_staging_trace_is_freed_when_it_ends():
    traces = []
    gc.disable()
    try:
        jit(lambda x: traces.append(weakref.ref(x._trace)) or x + 1.0)(1.0)
        assert [trace() for trace in traces] == [None]
    finally:
        gc.enable()


def test_lower_shows_the_module():
    text = jit(lambda x: lax.sin(x)).lower(X).as_text()
    assert re.search(r"func.func public @main\(%arg0: tensor<3xf64>\)", text)
    assert "stablehlo.sine" in text


def test_compiler_options_reach_xla():
    assert jit(lambda x: x + 1.0, compiler_options={"xla_cpu_enable_fast_math": False})(1.0) == 2.0
    with pytest.raises(RuntimeError, match="no_such_option"):
        jit(lambda x: x + 1.0, compiler_options={"no_such_option": 1})(1.0)
    assert jit(lambda x: x + 1.0, compiler_options={"xla_cpu_enable_fast_math": np.bool_(False)})(1.0) == 2.0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ([1], r"compiler_options is \[1\] at test_jit.py:\d+ .*give a dict"),
        ({3: 1}, r"compiler_options has 3: 1 at test_jit.py:\d+ .*a name is a string"),
        ({"xla_cpu_enable_fast_math": None}, "has 'xla_cpu_enable_fast_math': None at .*a value is a bool"),
    ],
)
def test_compiler_options_that_are_not_names_with_scalars_are_refused(options, named):
    lowered = jit(lax.sin).lower(1.0)
    with pytest.raises(TypeError, match=f"jit of sin.*: .*{named}"):
        jit(lax.sin, compiler_options=options)
    with pytest.raises(TypeError, match=f"compile of sin: .*{named}"):
        lowered.compile(options)


# Python scalars


def test_a_counter_that_comes_back_is_weak_and_leaves_the_parameters_their_dtype():
    @jit
    def adam(p, t):
        t = t + 1
        return p / (1 - 0.9**t), t

    p, t = np.ones(3, np.float32), 0
    for _ in range(3):
        p, t = adam(p, t)
        assert (p.dtype, t.dtype) == (np.float32, np.int64)
    assert repr(t) == "Array(3, dtype=int64, weak_type=True)"
    assert adam.cache_info().traces == 1


@pytest.mark.parametrize("inline", [False, True])
def test_a_result_is_weak_where_the_function_gives_a_python_scalar(inline):
    f = jit(lambda s: (s + 1, s > 0, lax.sin(s), s), inline=inline)
    for outs in (f(2.0), f(f(2.0)[0])):
        assert [typeof(x).weak_type for x in outs] == [True, True, False, True]
    assert [a.weak_type for a in make_jaxpr(f)(2.0).out_avals] == [True, True, False, True]


def test_operations_on_a_weak_array_are_weak_as_those_on_a_python_scalar():
    s, p = jit(lambda s: s + 0.5)(1.5), np.ones(2, np.float32)
    assert (p * (s + 1)).dtype == (p * s**2).dtype == (p * (s // 1)).dtype == (1 / s * p).dtype == np.float32
    assert (p * lax.sin(s)).dtype == np.float64
    assert typeof(np.add(s, 1)) == typeof(np.float64(1))
    assert typeof(s > 1) == typeof(True)
    assert float(s * 2) == 4.0
    with enable_x64(False):
        assert (jit(lambda p, s: p * s)(p, s)).dtype == np.float32


def test_a_weak_array_stays_so_when_it_is_copied_or_pickled():
    s = jit(lambda s: s + 1)(1)
    for other in (copy.copy(s), copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        assert (typeof(other), int(other)) == (typeof(1), 2)


def test_a_weak_array_is_passed_to_a_program_of_strong_ones_as_it_is():
    s = jit(lambda s: s + 1.0)(1.0)
    (out,) = jit_p.bind(s, jaxpr=make_jaxpr(lax.sin)(np.float64(1.0)), name="f", compiler=compiler_of(()))
    assert float(out) == pytest.approx(np.sin(2.0))


class Metres(float):
    """A length."""


def test_numbers_of_derived_classes_are_arguments_and_operands():
    order = enum.IntEnum("Order", ["FIRST", "SECOND"])
    double = jit(lambda x: x * order.SECOND)
    for _ in range(3):
        assert double(order.SECOND) == 4
        assert double(Metres(1.5)) == 3.0
    assert device_put(Metres(2.0)) == 2.0
    np.testing.assert_array_equal(device_put(np.ones(2, np.float32)) * Metres(2.0), np.full(2, 2.0, np.float32))
    assert jit(lambda x: x)(Metres(2.0)).weak_type
