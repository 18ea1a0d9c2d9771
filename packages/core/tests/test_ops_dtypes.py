"""The evaluation of every operation against its type rule: over every dtype, with 64 bits and with 32.

One idea: the type rule is asked first, and evaluation must give an array of that type, or refuse where the rule does.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

from calque_core import canonicalize_dtype, config, lax
from calque_core.jaxprs.walk import nested_jaxprs
from calque_core.kits.matrix import core_primitives
from calque_core.staging.make_jaxpr import make_jaxpr
from calque_core.testing import check_types
from calque_core.types.dtypes import SHORT_DTYPES

pytestmark = pytest.mark.sampled(keep=0.1)

NUMPY_DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip
DTYPES = [*NUMPY_DTYPES, *sorted(SHORT_DTYPES)]
SHORT_FLOATS = sorted(name for name, row in SHORT_DTYPES.items() if row.kind == "f")
REFUSED = ["int1", "uint1", "int2", "uint2", "float6_e2m3fn", "float6_e3m2fn", "float8_e8m0fnu", "complex32"]

UNARY = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "clz",
    "conj", "cos", "cosh", "discard", "erf", "erf_inv", "erfc", "exp", "exp2", "expm1", "floor", "imag",
    "is_finite", "log", "log1p", "logistic", "logistic_slope", "neg", "optimization_barrier",
    "population_count", "real", "round", "rsqrt", "sign", "sin", "sinh", "sqrt", "square", "stop_gradient", "tan",
    "tanh", "tanh_slope",
]  # fmt: skip
BINARY = [
    "add", "add_any", "atan2", "complex", "div", "eq", "ge", "gt", "le", "lt",
    "max", "min", "mul", "ne", "nextafter", "pow", "rem", "shift_left",
    "shift_right_arithmetic", "shift_right_logical", "sub",
]  # fmt: skip
PAIRS = {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}
ELEMENTWISE = [*UNARY, *BINARY, *PAIRS, "not", "integer_pow", "round", "clamp", "select_n", "guard"]
ROWS, LAST = (((1,), (1,)), ((), ())), (((0, 1), (0, 1)), ((), ()))


ROW = np.array([[7]])
READ, WRITTEN = lax.GatherDimensionNumbers((1,), (0,), (0,)), lax.ScatterDimensionNumbers((1,), (0,), (0,))


def is_known(name):
    try:
        return bool(canonicalize_dtype(name))
    except TypeError:
        return False  # ml_dtypes is not installed


def twice(name):
    return lambda x: getattr(lax, name)(x, x)


def along(name, axes, **options):
    return lambda x: getattr(lax, name)(x, axes, **options)


# primitive -> functions of one array of type [2, 3]
PROGRAMS = {
    **{name: [getattr(lax, name)] for name in UNARY},
    **{name: [twice(name)] for name in BINARY},
    **{name: [twice(public)] for name, public in PAIRS.items()},
    "not": [lax.bitwise_not],
    "integer_pow": [lambda x, y=y: lax.integer_pow(x, y) for y in (-2, 0, 1, 3)],
    "round": [lambda x, how=how: lax.round(x, how) for how in lax.RoundingMethod],
    "clamp": [lambda x: lax.clamp(x, x, x)],
    "threefry2x32": [lambda x: lax.threefry2x32(x, x, x, x)[0]],
    "philox4x32": [lambda x: lax.philox4x32((x, x), (x, x, x, x))[0]],
    "select_n": [lambda x: lax.select(lax.eq(x, x), x, x), lambda x: lax.select_n(np.int32(1), x, x, x)],
    "guard": [lambda x: lax.guard_p.bind(lax.eq(x, x), x, x)],
    "convert_element_type": [lambda x, new=new: lax.convert_element_type(x, new) for new in DTYPES if is_known(new)],
    "bitcast_convert_type": [
        lambda x, new=new: lax.bitcast_convert_type(x, new)
        for new in ("int8", "uint16", "int32", "uint64", "float16", "float64", "complex64", "bool")
    ],
    "broadcast_in_dim": [lambda x: lax.broadcast(x, (2,))],
    "reshape": [lambda x: lax.reshape(x, (3, 1, 2))],
    "transpose": [lambda x: lax.transpose(x, (1, 0))],
    "rev": [lambda x: lax.rev(x, (0, 1))],
    "squeeze": [lambda x: lax.squeeze(lax.expand_dims(x, (0,)), (0,))],
    "slice": [lambda x: lax.slice(x, (0, 1), (2, 3), (1, 2))],
    "pad": [lambda x: lax.pad(x, lax.zeros_like(x, shape=()), ((1, 0, 2), (0, 2, 0)))],
    **{
        name: [along(name, axes) for axes in (0, 1)]
        for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
    },
    "concatenate": [lambda x: lax.concatenate([x, x], 1)],
    "split": [lambda x: lax.split(x, (1, x.shape[1] - 1), 1)[1]],
    "stack": [lambda x: lax.stack([x, x], 1)],
    "unstack": [lambda x: lax.unstack(x, 1)[0], lambda x: lax.unstack(x[0])[1]],
    "tile": [lambda x: lax.tile(x, (2, 3))],
    "iota": [lambda x: lax.broadcasted_iota(x.dtype, (2, 3), 1)],
    **{
        name: [along(name, None), along(name, 0), along(name, 0, keepdims=True)]
        for name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or", "reduce_xor")
    },
    "reduce_precision": [lambda x: lax.reduce_precision(x, 3, 2)],
    "reduce": [
        lambda x: lax.reduce(x, lax.full_like(x, 2, shape=()), lambda a, b: a * b + a - a, (0,)),
        lambda x: lax.reduce((x, x), (lax.full_like(x, 1, shape=()),) * 2, lambda a, b: (a[1] + b[0], a[1]), (0, 1))[1],
    ],
    "argmax": [lambda x: lax.argmax(x, 1)],
    "argmin": [lambda x: lax.argmin(x, 0, np.int8)],
    "dot_general": [
        lambda x: lax.dot_general(x, x, ROWS),
        lambda x: lax.dot_general(x, x, LAST),
        lambda x: lax.dot_general(x, x, (((1,), (1,)), ((0,), (0,)))),
        lambda x: lax.dot_general(x, x, ROWS, np.float32),
    ],
    "dynamic_slice": [
        lambda x: lax.dynamic_index_in_dim(x, 1, keepdims=False),
        lambda x: lax.dynamic_index_in_dim(np.arange(3), lax.reshape(lax.slice(x, (0, 0), (1, 1)), ())),
    ],
    "dynamic_update_slice": [lambda x: lax.dynamic_update_index_in_dim(x, lax.dynamic_index_in_dim(x, 1), 0, 0)],
    "gather": [lambda x, mode=mode: lax.gather(x, ROW, READ, (1, 3), mode=mode) for mode in ("clip", "fill")],
    **{
        name: [lambda x, name=name: getattr(lax, name)(x, ROW, lax.slice(x, (0, 0), (1, 3)), WRITTEN)]
        for name in ("scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max")
    },
    "sort": [lambda x: lax.sort(x, 0), lambda x: lax.sort((x, x, x), 0, num_keys=2)[2]],
    "top_k": [lambda x: lax.top_k(x, 2)[0], lambda x: lax.top_k(x, 1, axis=0)[1]],
    "name": [lambda x: lax.name_p.bind(x, name="x")],
    "cond": [lambda x: lax.cond(lax.reduce_and(lax.eq(x, x)), lax.exp, lambda x: x, x)],
    "platform_dependent": [lambda x: lax.platform_dependent(x, cpu=lambda x: x, default=lambda x: lax.rev(x, (0,)))],
    "scan": [
        lambda x: lax.scan(lambda c, row: (lax.mul(c, row), c), lax.dynamic_index_in_dim(x, 0, keepdims=False), x)[0],
        lambda x: lax.scan(lambda c, row: (c, lax.mul(c, row)), lax.dynamic_index_in_dim(x, 0, keepdims=False), x)[1],
    ],
    "while": [lambda x: lax.while_loop(lambda c: lax.ne(lax.reduce_max(lax.abs(c)), 0), lambda c: lax.sub(c, c), x)],
}
NEED_MORE = {
    **dict.fromkeys(("dce_sink", "debug_callback", "check"), "it has no result"),
    **dict.fromkeys(("pure_callback", "io_callback"), "the user's function computes it"),
    "ffi_call": "the user's kernel computes it",
    **dict.fromkeys(("psum", "pmax", "pmin", "axis_index", "pvary"), "evaluation knows no named axis"),
    **dict.fromkeys(
        ("all_gather", "all_gather_invariant", "psum_scatter", "all_to_all", "ppermute"),
        "evaluation knows no named axis",
    ),
    **dict.fromkeys(("shard_map", "xla_pmap"), "it evaluates the equations that it holds, for each shard"),
    "sharding_constraint": "it returns its operand",
    **dict.fromkeys(("lower", "raise"), "they take and make values of own types"),
    **dict.fromkeys(("jit", "remat", "composite"), "it evaluates to the equations that it holds"),
    **dict.fromkeys(
        ("custom_jvp_call", "custom_vjp_call", "custom_vmap_call", "custom_vjp_fwd", "custom_vjp_linear"),
        "it evaluates as its function does",
    ),
    **dict.fromkeys(("linear_call", "linear_transpose"), "it evaluates to the equations that it holds"),
    **dict.fromkeys(("custom_linear_solve", "custom_root"), "it evaluates to what its solver returns"),
}


def scalar_type(name: str) -> type:
    """Return a dtype's scalar type; the test is skipped if nobody defines it."""
    if name in NUMPY_DTYPES:
        return np.dtype(name).type
    ml_dtypes = pytest.importorskip("ml_dtypes", reason=f"{name} is defined by ml_dtypes, which comes with jaxlib")
    if not hasattr(ml_dtypes, name):
        pytest.skip(f"this ml_dtypes has no {name}")
    return getattr(ml_dtypes, name)


@pytest.mark.parametrize("enable_x64", [True, False], ids=["x64", "x32"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_evaluation_gives_the_type_that_the_type_rule_says_or_both_refuse(name, dtype, enable_x64):
    x = (np.arange(6).reshape(2, 3) % 2 + 1).astype(scalar_type(dtype))
    with config.enable_x64(enable_x64), np.errstate(all="ignore"):
        for fun in PROGRAMS[name]:
            check_types(fun, x)
            if name in ELEMENTWISE:
                check_types(fun, x[0, 0])
                check_types(fun, x[:0])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_row_of_the_table_is_about_its_primitive(name):
    bound = set()
    for dtype in (bool, np.int32, np.uint32, np.float64, np.complex128):
        for fun in PROGRAMS[name]:
            with suppress(TypeError, ValueError):
                jaxpr = make_jaxpr(fun)(np.ones((2, 3), dtype))
                bound |= {eqn.primitive.name for inner in nested_jaxprs(jaxpr) for eqn in inner.eqns}
    assert name in bound


def test_no_primitive_escapes_the_table():
    assert {p.name for p in core_primitives()} == {*PROGRAMS, *NEED_MORE}


@pytest.mark.parametrize("dtype", REFUSED)
def test_dtypes_without_operations_are_refused_before_they_go_wrong(dtype):
    x = np.ones(2, scalar_type(dtype))
    for fun in (lax.neg, lax.sqrt, lax.reduce_sum, lambda x: lax.add(x, 1), make_jaxpr(lax.neg)):
        with pytest.raises(TypeError, match=rf"{dtype}.*Convert .* first"):
            fun(x)
    with pytest.raises(
        TypeError, match=rf"{dtype} at .* is not a dtype that calque computes with\. Convert to .* NumPy"
    ):
        lax.convert_element_type(np.ones(2), dtype)


@pytest.mark.parametrize("dtype", ["float16", *SHORT_FLOATS])
def test_short_floats_are_summed_in_single(dtype):
    has_few_numbers = dtype in SHORT_DTYPES and SHORT_DTYPES[dtype].bits < 8
    x = np.full(8, 0.5, scalar_type(dtype)) if has_few_numbers else np.full(512, 1 / 64, scalar_type(dtype))
    total = 4.0 if has_few_numbers else 8.0
    assert float(lax.reduce_sum(x)) == total
    assert float(lax.dot(x, np.ones_like(x))) == total


def greatest_of(dtype):
    """Return the greatest number of all patterns of bits, infinity included."""
    if dtype not in SHORT_DTYPES:
        return np.inf
    scalar = np.dtype(scalar_type(dtype))
    with np.errstate(invalid="ignore"):  # of NaN
        numbers = np.arange(1 << SHORT_DTYPES[dtype].bits).astype(f"u{scalar.itemsize}").view(scalar).astype(np.float64)
    return np.nanmax(numbers)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", *SHORT_FLOATS])
def test_the_extremes_of_no_elements_are_infinite_where_the_dtype_has_infinity(dtype):
    empty = np.ones((0,), scalar_type(dtype))
    greatest = greatest_of(dtype)
    assert (float(lax.reduce_min(empty)), float(lax.reduce_max(empty))) == (greatest, -greatest)


@pytest.mark.parametrize("dtype", SHORT_FLOATS)
def test_extremes_of_short_floats_are_elements(dtype):
    x = np.array([[0.5, 1.5], [-1.5, -0.5]], scalar_type(dtype))
    assert lax.reduce_max(x, 1).tolist() == [1.5, -0.5]
    assert lax.reduce_min(x, 1).tolist() == [0.5, -1.5]


@pytest.mark.parametrize("dtype", ["bool", "complex64", "complex128", "int32"])
def test_the_bits_of_a_dtype_are_read_as_the_same_dtype(dtype):
    x = np.array([1, 0, 1], dtype)
    np.testing.assert_array_equal(lax.bitcast_convert_type(x, dtype), x, strict=True)
    (eqn,) = make_jaxpr(lambda x: lax.bitcast_convert_type(x, dtype))(x).eqns
    assert eqn.outvars[0].aval.dtype == dtype


def test_the_bits_of_bools_and_complex_numbers_are_not_read_as_another_dtype():
    for x, dtype in (
        (np.True_, "uint8"),
        (np.uint8(1), "bool"),
        (np.complex64(1), "float64"),
        (np.ones(2), "complex128"),
    ):
        with pytest.raises(TypeError, match=r"bitcast_convert_type at .* takes integers and real floats"):
            lax.bitcast_convert_type(x, dtype)
