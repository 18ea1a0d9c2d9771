"""The special cases of the standard: infinities, NaNs, signed zeros and the ends of domains, in every form.

One idea: a row holds operands and the result that the standard prescribes; a zero is compared with its sign.  All rows
are computed by one trace and one compilation for each dtype.
"""

import math

import numpy as np
import pytest
from forms import compiled, evaluated, traced
from standard import FLOATS

inf, nan, pi = math.inf, math.nan, math.pi

UNARY = {
    "abs": [(nan, nan), (-0.0, 0.0), (inf, inf), (-inf, inf)],
    "acos": [(nan, nan), (1.5, nan), (-1.5, nan), (1.0, 0.0)],
    "acosh": [(nan, nan), (0.5, nan), (1.0, 0.0), (inf, inf)],
    "asin": [(nan, nan), (1.5, nan), (-1.5, nan), (0.0, 0.0), (-0.0, -0.0)],
    "asinh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)],
    "atan": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, pi / 2), (-inf, -pi / 2)],
    "atanh": [(nan, nan), (-1.5, nan), (1.5, nan), (-1.0, -inf), (1.0, inf), (0.0, 0.0), (-0.0, -0.0)],
    "ceil": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf), (3.0, 3.0), (-0.5, -0.0)],
    "cos": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, nan), (-inf, nan)],
    "cosh": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, inf)],
    "exp": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, 0.0)],
    "expm1": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -1.0)],
    "floor": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf), (-3.0, -3.0)],
    "isfinite": [(nan, False), (inf, False), (-inf, False), (1.0, True)],
    "isinf": [(nan, False), (inf, True), (-inf, True), (1.0, False)],
    "isnan": [(nan, True), (inf, False), (-inf, False), (1.0, False)],
    "log": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "log10": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "log1p": [(nan, nan), (-2.0, nan), (-1.0, -inf), (-0.0, -0.0), (0.0, 0.0), (inf, inf)],
    "log2": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "negative": [(nan, nan), (0.0, -0.0), (-0.0, 0.0), (inf, -inf)],
    "reciprocal": [(nan, nan), (0.0, inf), (-0.0, -inf), (inf, 0.0), (-inf, -0.0)],
    "round": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (0.5, 0.0), (1.5, 2.0), (-0.5, -0.0), (-2.5, -2.0)],
    "sign": [(nan, nan), (-3.0, -1.0), (0.0, 0.0), (-0.0, 0.0), (inf, 1.0), (-inf, -1.0)],
    "signbit": [(0.0, False), (-0.0, True), (inf, False), (-inf, True), (1.0, False), (-1.0, True), (-nan, True)],
    "sin": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "sinh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)],
    "sqrt": [(nan, nan), (-1.0, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf)],
    "square": [(nan, nan), (-0.0, 0.0), (-inf, inf)],
    "tan": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "tanh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0)],
    "trunc": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf), (-3.5, -3.0), (-0.5, -0.0)],
}
BINARY = {
    "add": [
        (nan, 1.0, nan), (1.0, nan, nan), (inf, -inf, nan), (-inf, inf, nan), (inf, inf, inf), (-inf, -inf, -inf),
        (inf, 1.0, inf), (1.0, -inf, -inf), (-0.0, -0.0, -0.0), (-0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (-0.0, 2.0, 2.0),
        (2.0, -2.0, 0.0),
    ],
    "atan2": [
        (nan, 1.0, nan), (1.0, nan, nan), (1.0, 0.0, pi / 2), (1.0, -0.0, pi / 2), (0.0, 1.0, 0.0), (0.0, 0.0, 0.0),
        (0.0, -0.0, pi), (0.0, -1.0, pi), (-0.0, 1.0, -0.0), (-0.0, 0.0, -0.0), (-0.0, -0.0, -pi), (-0.0, -1.0, -pi),
        (-1.0, 0.0, -pi / 2), (-1.0, -0.0, -pi / 2), (1.0, inf, 0.0), (1.0, -inf, pi), (-1.0, inf, -0.0),
        (-1.0, -inf, -pi), (inf, 1.0, pi / 2), (-inf, 1.0, -pi / 2), (inf, inf, pi / 4), (inf, -inf, 3 * pi / 4),
        (-inf, inf, -pi / 4), (-inf, -inf, -3 * pi / 4),
    ],
    "copysign": [(1.0, -0.0, -1.0), (-0.0, 1.0, 0.0), (inf, -2.0, -inf), (nan, 1.0, nan), (2.0, -nan, -2.0)],
    "divide": [
        (nan, 1.0, nan), (1.0, nan, nan), (inf, -inf, nan), (inf, inf, nan), (0.0, 0.0, nan), (-0.0, 0.0, nan),
        (0.0, 1.0, 0.0), (-0.0, 1.0, -0.0), (0.0, -1.0, -0.0), (-0.0, -1.0, 0.0), (1.0, 0.0, inf), (1.0, -0.0, -inf),
        (-1.0, 0.0, -inf), (-1.0, -0.0, inf), (inf, 2.0, inf), (inf, -2.0, -inf), (-inf, 2.0, -inf), (1.0, inf, 0.0),
        (1.0, -inf, -0.0), (-1.0, inf, -0.0), (-1.0, -inf, 0.0),
    ],
    "floor_divide": [
        (nan, 1.0, nan), (1.0, nan, nan), (inf, inf, nan), (-inf, inf, nan), (0.0, 0.0, nan), (0.0, 1.0, 0.0),
        (-0.0, 1.0, -0.0), (0.0, -1.0, -0.0), (-0.0, -1.0, 0.0), (1.0, 0.0, inf), (-1.0, 0.0, -inf), (7.0, 2.0, 3.0),
        (-7.0, 2.0, -4.0), (1.0, inf, 0.0), (-1.0, -inf, 0.0), (-1.0, inf, -1.0), (1.0, -inf, -1.0),
    ],
    "hypot": [(nan, inf, inf), (-inf, nan, inf), (nan, 1.0, nan), (3.0, 4.0, 5.0), (-0.0, 0.0, 0.0)],
    "logaddexp": [(nan, 1.0, nan), (1.0, nan, nan), (inf, 1.0, inf), (-inf, -inf, -inf), (-inf, 2.0, 2.0)],
    "maximum": [(nan, 1.0, nan), (1.0, nan, nan), (inf, 1.0, inf), (-inf, 1.0, 1.0)],
    "minimum": [(nan, 1.0, nan), (1.0, nan, nan), (inf, 1.0, 1.0), (-inf, 1.0, -inf)],
    "multiply": [
        (nan, 1.0, nan), (inf, 0.0, nan), (-inf, -0.0, nan), (0.0, inf, nan), (inf, -inf, -inf), (-inf, -inf, inf),
        (inf, -2.0, -inf), (-0.0, 2.0, -0.0), (-0.0, -2.0, 0.0), (0.0, -0.0, -0.0),
    ],
    "nextafter": [(nan, 1.0, nan), (1.0, nan, nan), (0.0, -0.0, -0.0), (-0.0, 0.0, 0.0), (1.0, 1.0, 1.0)],
    "pow": [
        (nan, 0.0, 1.0), (1.0, nan, 1.0), (nan, -0.0, 1.0), (nan, 2.0, nan), (2.0, nan, nan), (1.0, inf, 1.0),
        (1.0, -inf, 1.0), (-1.0, inf, 1.0), (-1.0, -inf, 1.0), (2.0, inf, inf), (2.0, -inf, 0.0), (0.5, inf, 0.0),
        (0.5, -inf, inf), (inf, 2.0, inf), (inf, -2.0, 0.0), (-inf, 3.0, -inf), (-inf, 2.0, inf), (-inf, 2.5, inf),
        (-inf, -3.0, -0.0), (-inf, -2.0, 0.0), (0.0, 2.0, 0.0), (0.0, -2.0, inf), (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0),
        (-0.0, -3.0, -inf), (-0.0, -2.0, inf), (-0.0, 2.5, 0.0), (-2.0, 0.5, nan), (-2.0, 3.0, -8.0),
    ],
    "remainder": [
        (nan, 1.0, nan), (1.0, nan, nan), (inf, 2.0, nan), (-inf, 2.0, nan), (inf, inf, nan), (1.0, 0.0, nan),
        (0.0, 0.0, nan), (0.0, 1.0, 0.0), (-0.0, 1.0, 0.0), (0.0, -1.0, -0.0), (-0.0, -1.0, -0.0), (2.0, inf, 2.0),
        (2.0, -inf, -inf), (-2.0, inf, inf), (-2.0, -inf, -2.0), (5.0, -3.0, -1.0), (-5.0, 3.0, 1.0), (4.0, 2.0, 0.0),
        (4.0, -2.0, -0.0),
    ],
    "subtract": [(inf, inf, nan), (-inf, -inf, nan), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (1.0, inf, -inf)],
    "equal": [(nan, nan, False), (0.0, -0.0, True), (inf, inf, True)],
    "not_equal": [(nan, nan, True), (0.0, -0.0, False), (inf, inf, False)],
    "less": [(nan, 1.0, False), (-inf, inf, True), (-0.0, 0.0, False)],
    "greater_equal": [(nan, 1.0, False), (-0.0, 0.0, True), (1.0, nan, False)],
}  # fmt: skip
REDUCTIONS = {
    "max": [((nan, 1.0), nan), ((-inf, inf), inf)],
    "min": [((1.0, nan), nan), ((-inf, inf), -inf)],
    "mean": [((nan, 1.0), nan), ((inf, 1.0), inf), ((inf, -inf), nan)],
    "prod": [((nan, 1.0), nan), ((inf, -1.0), -inf), ((), 1.0)],
    "std": [((nan, 1.0), nan), ((3.0,), 0.0)],
    "sum": [((nan, 1.0), nan), ((inf, -inf), nan), ((), 0.0)],
    "all": [((nan, 1.0), True), ((), True), ((0.0, nan), False)],
    "any": [((nan, 0.0), True), ((), False), ((-0.0,), False)],
    "argmax": [((1.0, nan, inf), 1)],
    "argmin": [((1.0, nan, -inf), 1)],
    "count_nonzero": [((nan, -0.0, inf), 2)],
}
# NumPy's remainder of floats has the sign of the divisor also where it is 0; ours keeps its derivative there instead.
SIGN_OF_ZERO_IS_OPEN = {"floor_divide", "remainder"}
ROWS = {name: list(zip(*rows, strict=True)) for name, rows in (UNARY | BINARY).items()}


def program_of(rows):
    """Return a program that calls each function once, with arrays of its operands in all rows."""
    return lambda m, operands: [getattr(m, name)(*xs) for name, xs in zip(rows, operands, strict=True)]


def computed(form, program, operands):
    with np.errstate(all="ignore"):
        return [np.asarray(out) for out in form(program, operands)]


def assert_prescribed(got, want, name):
    want = np.array(want, got.dtype)
    eps = np.finfo(got.dtype).eps if got.dtype.kind == "f" else 0
    np.testing.assert_allclose(got, want, rtol=4 * eps, err_msg=name)
    if got.dtype.kind == "f" and name not in SIGN_OF_ZERO_IS_OPEN:
        is_zero = want == 0
        np.testing.assert_array_equal(np.signbit(got[is_zero]), np.signbit(want[is_zero]), err_msg=name)


@pytest.mark.sampled(keep=0.3, rows=("form",))
@pytest.mark.parametrize("form", [evaluated, traced, compiled], ids=lambda form: form.__name__)
@pytest.mark.parametrize("dtype", FLOATS)
def test_elementwise_functions_have_the_special_values_of_the_standard(form, dtype):
    operands = [[np.array(column, dtype) for column in columns[:-1]] for columns in ROWS.values()]
    outs = computed(form, program_of(ROWS), operands)
    for (name, columns), out in zip(ROWS.items(), outs, strict=True):
        assert_prescribed(out, columns[-1], name)


@pytest.mark.parametrize("form", [evaluated, traced, compiled], ids=lambda form: form.__name__)
def test_reductions_have_the_special_values_of_the_standard(form):
    calls = [(name, np.array(x), want) for name, rows in REDUCTIONS.items() for x, want in rows]
    names, operands, wanted = zip(*calls, strict=True)
    outs = computed(form, program_of(names), [[x] for x in operands])
    for name, out, want in zip(names, outs, wanted, strict=True):
        assert_prescribed(out, want, name)


@pytest.mark.parametrize("name", [name for name in ROWS if not name.startswith("is")])
def test_a_row_of_the_tables_holds_for_numpy(name):
    xs = [np.array(column, float) for column in ROWS[name][:-1]]
    with np.errstate(all="ignore"):
        got = getattr(np, name)(*xs)
    assert_prescribed(got, ROWS[name][-1], "" if name != "floor_divide" else name)
