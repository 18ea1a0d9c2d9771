"""What holds for every operation: staging and evaluation agree in values, types and refusals, in both dtype regimes."""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import config, lax
from calque_core.engine import StraightLine, is_straight
from calque_core.jaxprs.interpret import eval_jaxpr
from calque_core.staging.make_jaxpr import make_jaxpr
from calque_core.types.stand_in import ShapeDtypeStruct

pytestmark = pytest.mark.sampled(keep=0.1)

KINDS = {
    "b": ["bool"],
    "i": ["int8", "int32", "int64"],
    "u": ["uint8", "uint32", "uint64"],
    "f": ["float16", "float32", "float64"],
    "c": ["complex64", "complex128"],
}
DTYPES = [name for names in KINDS.values() for name in names]
REAL, ALL = "biuf", "biufc"

UNARY = {
    **dict.fromkeys(["asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "exp2"], ALL),
    **dict.fromkeys(["sin", "cos", "tan", "tanh", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "logistic"], ALL),
    **dict.fromkeys(["floor", "ceil", "round", "is_finite", "erf_inv", "erf", "erfc"], REAL),
    "cbrt": REAL,
    **dict.fromkeys(["neg", "square", "sign"], "iufc"),
    **dict.fromkeys(["abs", "stop_gradient", "zeros_like", "ones_like", "reciprocal"], ALL),
    **dict.fromkeys(["real", "imag", "conj"], ALL),
    "bitwise_not": "biu",
    **dict.fromkeys(["population_count", "clz"], "iu"),
}
BINARY = {
    **dict.fromkeys(["add", "mul", "eq", "ne", "pow", "max", "min"], ALL),
    **dict.fromkeys(["sub", "div"], "iufc"),
    "rem": "iuf",
    "complex": REAL,
    **dict.fromkeys(["atan2", "nextafter"], REAL),
    **dict.fromkeys(["lt", "le", "gt", "ge"], REAL),
    **dict.fromkeys(["bitwise_and", "bitwise_or", "bitwise_xor"], "biu"),
    **dict.fromkeys(["shift_left", "shift_right_logical", "shift_right_arithmetic", "mulhi"], "iu"),
}
# name -> (function of one array of rank 2, the kinds it takes)
STRUCTURED = {
    "integer_pow 3": (lambda x: lax.integer_pow(x, 3), "iufc"),
    "integer_pow 0": (lambda x: lax.integer_pow(x, 0), "iufc"),
    "integer_pow -2": (lambda x: lax.integer_pow(x, -2), "fc"),
    "round to even": (lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), REAL),
    "clamp": (lambda x: lax.clamp(x, x, x), ALL),
    "select_n": (lambda x: lax.select_n(lax.eq(x, x), x, x), ALL),
    "select of a scalar": (lambda x: lax.select(lax.ne(x, x), x, lax.zeros_like(x, shape=())), ALL),
    "guard": (lambda x: lax.guard_p.bind(lax.eq(x, x), x, x), ALL),
    "broadcast": (lambda x: lax.broadcast(x, (2, 0)), ALL),
    "expand_dims": (lambda x: lax.expand_dims(x, (0, -1)), ALL),
    "reshape": (lambda x: lax.reshape(x, (x.shape[1], 1, x.shape[0])), ALL),
    "transpose": (lambda x: lax.transpose(x, (1, 0)), ALL),
    "squeeze": (lambda x: lax.squeeze(lax.expand_dims(x, (1,)), (1,)), ALL),
    "rev": (lambda x: lax.rev(x, (0, 1)), ALL),
    "slice": (lambda x: lax.slice(x, (0, 0), x.shape, (2, 1)), ALL),
    "pad": (lambda x: lax.pad(x, lax.zeros_like(x, shape=()), ((1, 0, 2), (0, 2, 0))), ALL),
    "concatenate": (lambda x: lax.concatenate([x, x], 1), ALL),
    "split": (lambda x: lax.split(x, (0, x.shape[1]), 1)[1], ALL),
    "stack": (lambda x: lax.stack([x, x], 1), ALL),
    "unstack": (lambda x: lax.unstack(lax.stack([x, x], 1), 1)[1], ALL),
    "tile": (lambda x: lax.tile(x, (2, 3)), ALL),
    "full_like": (lambda x: lax.full_like(x, 1), ALL),
    "reduce_sum": (lambda x: lax.reduce_sum(x, 0), "iufc"),
    "reduce_sum with a kept axis": (lambda x: lax.reduce_sum(x, 0, keepdims=True), "iufc"),
    "reduce_max": (lambda x: lax.reduce_max(x, (0, 1)), ALL),
    "reduce_min": (lambda x: lax.reduce_min(x, -1), ALL),
    "reduce_and": (lambda x: lax.reduce_and(x), "biu"),
    "reduce_prod": (lambda x: lax.reduce_prod(x, 1), "iufc"),
    "reduce_xor": (lambda x: lax.reduce_xor(x, 0), "biu"),
    "reduce": (lambda x: lax.reduce(x, lax.zeros_like(x, shape=()), lambda a, b: b + a + a - a, (1,)), "iufc"),
    "reduce_precision": (lambda x: lax.reduce_precision(x, 4, 3), "f"),
    "cumsum": (lambda x: lax.cumsum(x, 1), "iufc"),
    "cumprod": (lambda x: lax.cumprod(x, 0, reverse=True), "iufc"),
    "cummax": (lambda x: lax.cummax(x, 1), ALL),
    "cummin": (lambda x: lax.cummin(x, 0, reverse=True), ALL),
    "cumlogsumexp": (lambda x: lax.cumlogsumexp(x, 1), "f"),
    "reduce_or": (lambda x: lax.reduce_or(x, 1), "biu"),
    "dot_general": (lambda x: lax.dot_general(x, x, (((1,), (1,)), ((), ()))), ALL),
    "batched dot_general": (lambda x: lax.dot_general(x, x, (((1,), (1,)), ((0,), (0,)))), ALL),
    "sort": (lambda x: lax.sort(x, 0), ALL),
    "sort_key_val": (lambda x: lax.sort_key_val(x, x, 1)[1], ALL),
    "top_k": (lambda x: lax.top_k(x, x.shape[0] // 2, axis=0)[0], REAL),
    "approx_min_k": (lambda x: lax.approx_min_k(x, x.shape[1])[0], REAL),
    "broadcast_to_rank": (lambda x: lax.broadcast_to_rank(x, 4), ALL),
    "broadcast_like": (lambda x: lax.broadcast_like(x, np.zeros((2, *x.shape))), ALL),
    "collapse": (lambda x: lax.collapse(x, 0), ALL),
    "batch_matmul": (lambda x: lax.batch_matmul(x, lax.transpose(x, (1, 0))), ALL),
    "ragged_dot": (lambda x: lax.ragged_dot(x, lax.broadcast(lax.transpose(x, (1, 0)), (2,)), np.array([1, 1])), ALL),
    "mul in float32": (lambda x: lax.mul(x, x, out_dtype=np.float32), ALL),
    "slice_in_dim": (lambda x: lax.slice_in_dim(x, 0, None, 2, axis=1), ALL),
}
ARG = {
    "argmax": (lambda x: lax.argmax(x, 0), ALL),
    "argmin": (lambda x: lax.argmin(x, 1, np.int32), ALL),
}


def numbers(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Give small positive numbers, so that no function warns and no divisor is zero."""
    values = np.arange(1, 1 + np.prod(shape)).reshape(shape)
    return (values % 2 if dtype == "bool" else values / 8 if np.dtype(dtype).kind in "fc" else values).astype(dtype)


def staged(fun, *args):
    jaxpr = make_jaxpr(fun)(*args)
    typed = [x.astype(aval.dtype) for x, aval in zip(args, jaxpr.in_avals)]  # with x64 off the program is a narrow one
    return jaxpr.out_avals[0], eval_jaxpr(jaxpr, jaxpr.consts, *typed)[0]


def check_agreement(fun, *args):
    """Evaluate and stage; the type rule, the evaluation and the run of the jaxpr must agree exactly."""
    out = fun(*args)
    aval, again = staged(fun, *args)
    assert isinstance(out, np.ndarray | np.generic), "evaluation gives NumPy values"
    assert (out.shape, out.dtype) == (aval.shape, aval.dtype) == (again.shape, again.dtype)
    assert not aval.weak_type, "results are strong"
    np.testing.assert_array_equal(out, again)
    return out


def check_refusal(fun, *args):
    with pytest.raises(TypeError):
        fun(*args)
    with pytest.raises(TypeError):
        make_jaxpr(fun)(*args)


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 1), (0, 2)])
def test_unary_operations_agree_or_refuse_alike(name, dtype, shape):
    x = numbers(dtype, shape)
    function = getattr(lax, name)
    if np.dtype(dtype).kind not in UNARY[name]:
        check_refusal(function, x)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):  # logarithms of zero and the like: NumPy's own warnings
            check_agreement(function, x)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shapes", [((), ()), ((3,), (3,)), ((2, 1), ()), ((), (0, 2)), ((2, 1), (1, 3))])
def test_binary_operations_agree_or_refuse_alike(name, dtype, shapes):
    x, y = (numbers(dtype, shape) for shape in shapes)
    function = getattr(lax, name)
    if np.dtype(dtype).kind not in BINARY[name]:
        check_refusal(function, x, y)
    else:
        assert check_agreement(function, x, y).shape == np.broadcast_shapes(*shapes)


@pytest.mark.parametrize("name", STRUCTURED)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 2), (1, 1), (0, 2), (2, 0)])
def test_structured_operations_agree_or_refuse_alike(name, dtype, shape):
    function, kinds = STRUCTURED[name]
    (check_agreement if np.dtype(dtype).kind in kinds else check_refusal)(function, numbers(dtype, shape))


@pytest.mark.parametrize("name", STRUCTURED)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 2), (1, 1), (0, 2)])
def test_straight_line_code_gives_the_bits_of_evaluation(name, dtype, shape):
    function, kinds = STRUCTURED[name]
    if np.dtype(dtype).kind not in kinds:
        return
    x = numbers(dtype, shape)
    jaxpr, expected = make_jaxpr(function)(x), function(x)
    if is_straight(jaxpr):
        out = straight_line(jaxpr)(x)
        assert (type(out), out.shape, out.dtype) == (type(expected), expected.shape, expected.dtype)
        np.testing.assert_array_equal(out, expected)


def straight_line(jaxpr):
    code = StraightLine()
    return code.function(code.arguments(jaxpr.invars), *code.results(jaxpr))


def values_of(fun, count, dtype, order):
    """Give the results of a function of `count` arrays in a byte order: small numbers, then their negatives."""
    operands = [numbers(dtype, (3, 2)), -numbers(dtype, (3, 2))[::-1] if np.dtype(dtype).kind in "ifc" else None]
    operands[1] = operands[0][::-1] if operands[1] is None else operands[1]
    with np.errstate(all="ignore"):
        return [
            fun(*[x.astype(np.dtype(dtype).newbyteorder(order)) for x in (operands * 2)[start : start + count]])
            for start in (0, 1)
        ]


@pytest.mark.parametrize("name", [*UNARY, *BINARY, *STRUCTURED, "bits", "reduce_precision"])
@pytest.mark.parametrize("dtype", ["int32", "uint64", "float16", "float32", "float64", "complex128"])
def test_values_do_not_depend_on_the_byte_order(name, dtype):
    function, kinds = STRUCTURED.get(name) or (getattr(lax, name, None), UNARY.get(name) or BINARY.get(name))
    if name == "bits":
        function, kinds = (lambda x: lax.bitcast_convert_type(x, f"u{x.dtype.itemsize}")), "iuf"
    elif name == "reduce_precision":
        function, kinds = (lambda x: lax.reduce_precision(x, 5, 2)), "f"
    if np.dtype(dtype).kind not in kinds:
        return
    count = 2 if name in BINARY else 1
    for want, got in zip(values_of(function, count, dtype, "="), values_of(function, count, dtype, "S"), strict=True):
        assert got.dtype.newbyteorder("=") == want.dtype
        np.testing.assert_allclose(got, want, 1e-6)


@pytest.mark.parametrize("name", ARG)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 2), (1, 1)])
def test_positions_agree_or_refuse_alike(name, dtype, shape):
    function, kinds = ARG[name]
    (check_agreement if np.dtype(dtype).kind in kinds else check_refusal)(function, numbers(dtype, shape))


NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for name, kinds in [*UNARY.items(), *((name, kinds) for name, (_, kinds) in STRUCTURED.items())]
        for dtype in NARROW
        if np.dtype(dtype).kind in kinds
    ],
)
def test_with_x64_off_the_result_is_that_of_the_narrow_operand(name, dtype):
    function = getattr(lax, name) if name in UNARY else STRUCTURED[name][0]
    x = numbers(dtype, (3, 2))
    with config.enable_x64(False), np.errstate(divide="ignore", invalid="ignore"):
        out = check_agreement(function, x)
        expected = function(x.astype(NARROW[dtype]))
    assert out.dtype == expected.dtype
    assert out.dtype.name not in NARROW
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name, kinds in BINARY.items() for dtype in NARROW if np.dtype(dtype).kind in kinds],
)
def test_with_x64_off_binary_results_are_narrow(name, dtype):
    x = numbers(dtype, (3,))
    wide = getattr(lax, name)(x, x)
    with config.enable_x64(False):
        out = check_agreement(getattr(lax, name), x, x)
    assert out.dtype == NARROW.get(wide.dtype.name, "bool")


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("scalar", [2, 0.5, 1j])
@pytest.mark.parametrize("name", ["add", "mul", "sub", "eq"])
def test_python_scalars_alone_have_the_default_dtype_and_give_strong_results(name, scalar, bits):
    with config.default_dtype_bits(bits):
        out = getattr(lax, name)(scalar, scalar)
    expected = (
        bool
        if name == "eq"
        else {int: f"int{bits}", float: f"float{bits}", complex: f"complex{2 * bits}"}[type(scalar)]
    )
    assert isinstance(out, np.generic)
    assert out.dtype == expected


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scalar", [True, 2, 0.5, 1j])
def test_python_scalars_promote_as_in_numpy(dtype, scalar):
    x = numbers(dtype, (2,))
    assert check_agreement(lambda x: lax.mul(x, scalar), x).dtype == (x * scalar).dtype


@pytest.mark.parametrize("left", DTYPES)
@pytest.mark.parametrize("right", DTYPES)
def test_arrays_promote_as_in_numpy(left, right):
    x, y = numbers(left, (2, 1)), numbers(right, (3,))
    expected = x + y
    out = check_agreement(lax.add, x, y)
    assert out.dtype == expected.dtype
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_operands_that_are_no_arrays_are_refused_by_name(name):
    function = getattr(lax, name)
    with pytest.raises(TypeError, match=r"is not an array or a scalar"):
        function(*["text"] * (1 if name in UNARY else 2))


@pytest.mark.parametrize("name", [*UNARY, *STRUCTURED])
def test_abstract_values_are_enough_to_trace(name):
    function, kinds = (getattr(lax, name), UNARY[name]) if name in UNARY else STRUCTURED[name]
    dtype = np.dtype(KINDS[kinds[-1]][-1])
    shape = (3, 2)
    (aval,) = make_jaxpr(function)(ShapeDtypeStruct(shape, dtype)).out_avals
    with np.errstate(invalid="ignore"):
        assert aval.shape == function(numbers(dtype.name, shape)).shape


def test_primitives_insist_on_one_dtype_and_name_both_types():
    with pytest.raises(
        TypeError,
        match=r"add of float32\[2\] and float64\[2\] at test_ops_laws\.py.*: the dtypes differ\. Convert one",
    ):
        make_jaxpr(lax.add_p.bind)(np.zeros(2, np.float32), np.zeros(2))


def test_primitives_insist_on_equal_shapes_and_name_both_types():
    with pytest.raises(
        TypeError,
        match=r"add of float64\[2\] and float64\[3\] at test_ops_laws\.py.*: the shapes differ\. Broadcast",
    ):
        make_jaxpr(lax.add_p.bind)(np.zeros(2), np.zeros(3))


@pytest.mark.parametrize("name", BINARY)
def test_shapes_that_do_not_broadcast_are_refused_with_both_types_and_the_line(name):
    with pytest.raises(
        ValueError, match=rf"{name.removeprefix('bitwise_')} of int64\[2\] and int64\[3\] at test_ops_laws\.py:\d+"
    ):
        getattr(lax, name)(np.zeros(2, int), np.ones(3, int))


def test_results_do_not_share_memory_that_many_elements_share():
    for out in (lax.broadcast(np.ones(3), (2,)), lax.full((4,), 1.0), lax.broadcasted_iota(int, (2, 3), 0)):
        out[...] = 5.0
        out[0] = 1.0
        assert np.unique(out).size == 2


def test_every_public_name_exists_once():
    assert len(set(lax.__all__)) == len(lax.__all__)
    assert all(hasattr(lax, name) for name in lax.__all__)


def test_every_primitive_of_the_namespace_has_a_type_rule_and_an_evaluation():
    for name in (name for name in lax.__all__ if name.endswith("_p")):
        primitive = getattr(lax, name)
        rules = primitive.rules
        assert "impl" in rules or "by a backend" in primitive.holes["impl"], name
        assert "abstract_eval" in rules, name


def test_primitive_names_follow_their_variables():
    other_names = {"pmap_p": "xla_pmap"}  # as jax prints it
    for name in (name for name in lax.__all__ if name.endswith("_p")):
        assert getattr(lax, name).name == other_names.get(name, name.removesuffix("_p"))
