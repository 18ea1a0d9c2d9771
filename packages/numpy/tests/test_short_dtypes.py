"""NumPy's functions and array methods over the dtypes of ml_dtypes: right, or refused with words."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import finfo, jaxpr_as_fun, make_jaxpr
from calque_core.engine import SHORT_DTYPES, kind_of
from calque_core.extend import is_float
from calque_numpy.scipy import special

pytest.importorskip("ml_dtypes", reason="ml_dtypes defines the dtypes, and comes with jaxlib")
pytestmark = pytest.mark.sampled(keep=0.3)

# name -> a function of a vector, and the dtype of its result for floats and for integers; None: the dtype is kept
FUNCTIONS = {
    "sum": (lambda m, x: m.sum(x), None, "int64 uint64"),
    "mean": (lambda m, x: m.mean(x), None, "float64"),
    "var": (lambda m, x: m.var(x), None, "float64"),
    "std": (lambda m, x: m.std(x), None, "float64"),
    "max": (lambda m, x: m.max(x), None, None),
    "min": (lambda m, x: m.min(x), None, None),
    "ptp": (lambda m, x: m.ptp(x), None, None),
    "argmax": (lambda m, x: m.argmax(x), "int64", "int64"),
    "argmin": (lambda m, x: m.argmin(x), "int64", "int64"),
    "sort": (lambda m, x: m.sort(x), None, None),
    "argsort": (lambda m, x: m.argsort(x), "int64", "int64"),
    "where": (lambda m, x: m.where(x > 1, x, 0), None, None),
    "clip": (lambda m, x: m.clip(x, 1, 2), None, None),
    "dot": (lambda m, x: m.dot(x, x), None, None),
    "matmul": (lambda m, x: m.matmul(x, x), None, None),
    "outer": (lambda m, x: m.outer(x, x), None, None),
    "einsum": (lambda m, x: m.einsum("i,i->i", x, x), None, None),
    "round": (lambda m, x: m.round(x), None, None),
    "abs": (lambda m, x: m.abs(x), None, None),
    "negative": (lambda m, x: m.negative(m.negative(x)), None, None),
    "square": (lambda m, x: m.square(x), None, None),
    "remainder": (lambda m, x: m.remainder(x, x), None, None),
    "fmod": (lambda m, x: m.fmod(x, x), None, None),
    "floor_divide": (lambda m, x: m.floor_divide(x, x), None, None),
    "true_divide": (lambda m, x: m.true_divide(x, x), None, "float64"),
    "maximum": (lambda m, x: m.maximum(x, x), None, None),
    "concatenate": (lambda m, x: m.concatenate([x, x]), None, None),
    "pad": (lambda m, x: m.pad(x, 1), None, None),
    "diff": (lambda m, x: m.diff(x), None, None),
    "astype": (lambda m, x: m.astype(x, np.float32), "float32", "float32"),
    "nan_to_num": (lambda m, x: m.nan_to_num(x), None, None),
    "sqrt": (lambda m, x: m.sqrt(x), None, "float16"),
    "hypot": (lambda m, x: m.hypot(x, x), None, "float16"),
}
METHODS = {
    "sum": (lambda x: x.sum(), None, "int64 uint64"),
    "mean": (lambda x: x.mean(), None, "float64"),
    "max": (lambda x: x.max(), None, None),
    "argmin": (lambda x: x.argmin(), "int64", "int64"),
    "round": (lambda x: x.round(), None, None),
    "astype": (lambda x: x.astype("int8"), "int8", "int8"),
    "dot": (lambda x: x.dot(x), None, None),
    "clip": (lambda x: x.clip(1, 2), None, None),
    "+": (lambda x: x + 1, None, None),
    "-": (lambda x: -(x - x), None, None),
    "**": (lambda x: x**2, None, None),
    "//": (lambda x: x // 2, None, None),
    "%": (lambda x: x % 2, None, None),
    "<": (lambda x: x < 2, "bool", "bool"),
    "[]": (lambda x: x[np.array([2, 0])], None, None),
}


def vector(dtype):
    return np.array([1, 2, 3], np.int8).astype(dtype)


def expected_dtype(dtype, floating, integral):
    name = floating if is_float(dtype) else integral
    if name is None:
        return dtype
    names = name.split()
    return np.dtype(names[-1] if kind_of(dtype) == "u" else names[0])


def check(function, wide_function, dtype, out_dtype):
    """Compare with NumPy's result in float64, rounded or wrapped around to the dtype of the result."""
    x = vector(dtype)
    out = function(x)
    assert out.dtype == out_dtype
    wide = np.asarray(wide_function(x.astype(np.float64) if is_float(dtype) else x.astype(np.int64)))
    if is_float(out_dtype):
        tolerance = 4 * float(finfo(out_dtype).eps)
        limit = min(float(finfo(out_dtype).max), float(np.finfo(np.float64).max))
        np.testing.assert_allclose(np.asarray(out).astype(np.float64), np.minimum(wide, limit), rtol=tolerance)
    else:
        np.testing.assert_array_equal(np.asarray(out).astype(np.int64), wide.astype(out_dtype).astype(np.int64))
    (traced,) = jaxpr_as_fun(make_jaxpr(function)(x))(x)
    assert traced.dtype == out_dtype
    np.testing.assert_array_equal(np.asarray(traced).astype(np.float64), np.asarray(out).astype(np.float64))


def of(name):
    return np.dtype(getattr(cnp, name))


@pytest.mark.parametrize("short", sorted(SHORT_DTYPES))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_short_dtypes_are_numpys_in_a_wide_dtype(name, short):
    function, *dtypes = FUNCTIONS[name]
    dtype, numpy = of(short), np
    wide = (lambda x: x.astype(np.float32)) if name == "astype" else lambda x: function(numpy, x)
    check(lambda x: function(cnp, x), wide, dtype, expected_dtype(dtype, *dtypes))


@pytest.mark.parametrize("short", sorted(SHORT_DTYPES))
@pytest.mark.parametrize("name", METHODS)
def test_methods_and_operators_of_traced_short_dtypes_are_numpys_in_a_wide_dtype(name, short):
    method, *dtypes = METHODS[name]
    dtype = of(short)
    check(lambda x: jaxpr_as_fun(make_jaxpr(method)(x))(x)[0], method, dtype, expected_dtype(dtype, *dtypes))


@pytest.mark.parametrize("short", sorted(SHORT_DTYPES))
def test_arrays_of_short_dtypes_are_made_from_numbers_and_lists(short):
    dtype = of(short)
    made = [cnp.arange(3, dtype=dtype), cnp.linspace(0, 2, 3, dtype=dtype), cnp.asarray([0, 1, 2], dtype)]
    made += [cnp.array([0, 1, 2], short), cnp.astype(np.arange(3), short), cnp.asarray([0.0, 1.0, 2.0], dtype)]
    for x in made:
        assert (x.dtype, x.astype(float).tolist()) == (dtype, [0.0, 1.0, 2.0])
    for x, number in ((cnp.zeros(2, dtype), 0), (cnp.ones(2, dtype), 1), (cnp.full(2, 3, dtype), 3)):
        assert (x.dtype, x.astype(float).tolist()) == (dtype, [number] * 2)
    assert cnp.eye(2, dtype=dtype).astype(int).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("items", "number", "name"),
    [([1, 16], 16, "uint4"), ([[1], [-9]], -9, "int4"), ([1, 300], 300, "int8"), ([-1], -1, "uint8")],
)
def test_integers_of_a_list_that_do_not_fit_are_refused(items, number, name):
    with pytest.raises(OverflowError, match=rf"the integer {number} does not fit {name}\. Use a wider dtype"):
        cnp.asarray(items, name)
    with pytest.raises(OverflowError, match=r"does not fit"):
        cnp.array(items, name)


REFUSED = {
    "bits of floats": (lambda x: cnp.bitwise_and(x, x), "bfloat16", "not defined for bfloat16"),
    "a wider float": (lambda x: cnp.add(x, np.float32(1)), "float8_e4m3fn", "have no common dtype"),
    "another short float": (lambda x: cnp.add(x, x.astype(cnp.float8_e5m2)), "float8_e4m3fn", "have no common dtype"),
    "a wider integer": (lambda x: cnp.add(x, np.int8(1)), "int4", "int4 and int8 have no common dtype"),
    "a Python float": (lambda x: cnp.multiply(x, 0.5), "int4", "int4 and float have no common dtype"),
    "points between integers": (lambda x: cnp.linspace(x[0], x[1], 3), "int4", "int4 and float have no common dtype"),
    "float64": (lambda x: cnp.float_power(x, 2), "float8_e5m2", "have no common dtype"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_functions_without_a_common_dtype_are_refused_with_words(name):
    function, short, words = REFUSED[name]
    with pytest.raises(TypeError, match=words):
        function(vector(of(short)))
    with pytest.raises(TypeError, match=words):
        make_jaxpr(function)(vector(of(short)))


def test_names_of_dtypes():
    assert cnp.bfloat16 is of("bfloat16").type
    assert cnp.finfo(cnp.bfloat16).bits == 16
    assert (cnp.iinfo(cnp.int4).min, cnp.iinfo(cnp.int4).max) == (-8, 7)
    assert cnp.issubdtype(cnp.int4, np.signedinteger)
    assert cnp.isdtype(cnp.float8_e5m2, "real floating")
    assert cnp.promote_types(cnp.bfloat16, np.float16) == np.float32
    with pytest.raises(AttributeError, match="calque_numpy has no attribute 'float65'"):
        _ = cnp.float65


def test_special_functions_of_four_bits_are_floats():
    x = np.array([1, 3], cnp.int4)
    assert special.gamma(x).dtype == make_jaxpr(special.gamma)(x).out_avals[0].dtype == np.float64
    np.testing.assert_allclose(special.gamma(x), [1.0, 2.0], rtol=1e-15)
