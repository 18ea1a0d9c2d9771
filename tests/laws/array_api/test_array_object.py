"""Operators, indices and conversions of arrays: with arrays and Python scalars, on both sides, and in place."""

import operator

import numpy as np
import pytest
from arrays import numbers
from forms import assert_conforms, compiled, evaluated, expected, on_a_device, traced
from standard import ALL_DTYPES, BINARY, OPERATORS, PAIRS, dtypes_of, kind_of, promoted

import calque_numpy as cnp
from calque_core import make_jaxpr
from calque_xla_backend import Array, device_put

FUNCTIONS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift, "==": operator.eq, "!=": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
IN_PLACE = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv, "//": operator.ifloordiv,
    "%": operator.imod, "**": operator.ipow, "&": operator.iand, "|": operator.ior, "^": operator.ixor,
    "<<": operator.ilshift, ">>": operator.irshift,
}  # fmt: skip
UNARY = {"+": ("ifc", operator.pos), "-": ("ifc", operator.neg), "~": ("bi", operator.invert), "abs": ("ifc", abs)}
SCALARS = {"b": [True], "i": [3], "f": [3, 2.5], "c": [3, 2.5, 1 + 2j]}
FORMS = [evaluated, traced, compiled, on_a_device]


def kinds_of(symbol):
    return BINARY[OPERATORS[symbol]][0]


def small(x):
    """Return operands that are exponents, divisors and shifts too: positive, and small."""
    return x if x.dtype.kind in "bc" else abs(x) % 5 + 1


def pairs_of(symbol):
    kinds = kinds_of(symbol)
    return [pair for pair in PAIRS if set(map(kind_of, pair)) <= set(kinds)]


@pytest.mark.sampled(keep=0.3, rows=("symbol",))
@pytest.mark.parametrize("symbol", FUNCTIONS)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_an_operator_is_its_function_for_every_pair_of_dtypes(symbol, form, sample):
    keep = 0.25 if form in (evaluated, traced) else 0.1
    operands = [
        (small(numbers(one, (2, 1))), small(numbers(other, (3,), 1))) for one, other in sample(pairs_of(symbol), keep)
    ]
    assert_conforms(lambda m, xs: [FUNCTIONS[symbol](*pair) for pair in xs], operands, by=(form,))
    result = BINARY[OPERATORS[symbol]][1]
    for one, other in operands:
        dtype = promoted(str(one.dtype), str(other.dtype)) if result == "same" else "bool"
        assert expected(lambda m, x, y: FUNCTIONS[symbol](x, y), one, other).dtype == dtype


@pytest.mark.sampled(keep=0.3, rows=("symbol",))
@pytest.mark.parametrize("symbol", FUNCTIONS)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_a_python_scalar_on_either_side_takes_the_dtype_of_the_array(symbol, form, sample):
    f = FUNCTIONS[symbol]
    for dtype in sample(dtypes_of(kinds_of(symbol)), 0.2 if form in (evaluated, traced) else 0.1):
        x = small(numbers(dtype, (4,)))
        scalars = SCALARS[kind_of(dtype)]

        def program(m, x, scalars=scalars):
            return [f(x, scalar) for scalar in scalars] + [f(scalar, x) for scalar in scalars]

        assert_conforms(program, x, by=(form,))
        if BINARY[OPERATORS[symbol]][1] == "same":
            assert {str(out.dtype) for out in expected(program, x)} == {dtype}


@pytest.mark.sampled(keep=0.3, rows=("symbol",))
@pytest.mark.parametrize("symbol", IN_PLACE)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_an_operator_in_place_changes_a_copy_and_not_the_array(symbol, form):
    dtype = dtypes_of(kinds_of(symbol))[-1]
    x, scalar = small(numbers(dtype, (2, 3))), SCALARS[kind_of(dtype)][0]

    def program(m, x, y):
        z, w = m.asarray(x, copy=True), m.reshape(x, (3, 2), copy=True)
        z = IN_PLACE[symbol](z, y)
        w = IN_PLACE[symbol](w, scalar)
        return x, z, w

    assert_conforms(program, x, x[0], by=(form,))


@pytest.mark.parametrize("symbol", UNARY)
@pytest.mark.parametrize("form", [evaluated, traced], ids=lambda form: form.__name__)
def test_a_unary_operator_keeps_the_dtype(symbol, form):
    kinds, f = UNARY[symbol]
    for dtype in dtypes_of(kinds):
        for shape in ((), (0,), (2, 3)):
            assert_conforms(lambda m, x: f(x), numbers(dtype, shape), by=(form,))


INDICES = {
    "integers": [np.s_[2], np.s_[-1], np.s_[1, -2]],
    "slices": [np.s_[:], np.s_[1:], np.s_[:-1], np.s_[::2], np.s_[::-1], np.s_[3:0:-2], np.s_[-9:9]],
    "empty slices": [np.s_[2:2], np.s_[0:0], np.s_[3:1], np.s_[9:12], np.s_[:, 4:1]],
    "an ellipsis": [np.s_[...], np.s_[..., 0], np.s_[1, ...], np.s_[1:3, ..., ::-1], np.s_[0, 1, ...]],
    "new axes": [np.s_[None], np.s_[None, 0], np.s_[:, None, 1:2], np.s_[..., None], np.s_[None, ..., None, 0]],
    "integers and slices": [np.s_[1, ::-2], np.s_[0:2, -1], np.s_[-3:-1, -9:9]],
    "arrays of integers": [
        np.array([0, 2, 2]),
        (np.array([0, 1]), np.array([-1, 2])),
        (np.array([[0], [2]]), np.array([1, 3])),
        (np.array([1, 0]), 2),
    ],
}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("name", INDICES)
def test_an_index_selects_what_numpy_selects(name, form):
    for dtype in ("bool", "uint8", "float32", "complex128") if form is evaluated else ("float32",):
        assert_conforms(lambda m, x: [x[index] for index in INDICES[name]], numbers(dtype, (4, 5)), by=(form,))


@pytest.mark.parametrize("form", [evaluated, on_a_device], ids=lambda form: form.__name__)
def test_a_mask_selects_what_numpy_selects(form):
    x = numbers("float64", (4, 5))
    for mask in (x > 0, x > 9, np.array([True, False, True, True])):
        assert_conforms(lambda m, x, mask: x[mask], x, mask, by=(form,))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_an_array_of_no_axes_is_indexed_by_nothing(form):
    program = lambda m, x: [x[()], x[...], x[None], x[..., None]]
    for dtype in ALL_DTYPES:
        assert_conforms(program, numbers(dtype, ()), by=(form,))


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_a_device_array_of_one_element_is_a_python_number(dtype):
    x = numbers(dtype, ())
    converters = {"b": [bool], "i": [int, float, operator.index], "f": [float, complex], "c": [complex]}[kind_of(dtype)]
    for convert in (*converters, bool):
        got, want = convert(device_put(x)), convert(x)
        assert (type(got), got) == (type(want), want)


def test_arrays_do_not_change_in_place_and_say_what_to_do():
    x = device_put(np.ones(3))
    for array in (x, None):

        def change(a):
            a[0] = 2.0
            return a

        with pytest.raises(TypeError, match=r"x\.at\[.*\]\.set\("):
            change(array) if array is not None else make_jaxpr(change)(np.ones(3))


def test_a_device_array_is_exported_by_dlpack():
    for dtype in ALL_DTYPES:
        x = numbers(dtype, (2, 3))
        for out in (np.from_dlpack(device_put(x)), cnp.from_dlpack(device_put(x), device="cpu")):
            np.testing.assert_array_equal(out, x, strict=True)
        assert type(cnp.from_dlpack(device_put(x))) is Array
    assert device_put(x).__dlpack_device__() == x.__dlpack_device__()
