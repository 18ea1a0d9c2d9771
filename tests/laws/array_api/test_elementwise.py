"""Elementwise functions: NumPy's values, and the dtypes of the standard's promotion table."""

import numpy as np
import pytest
from arrays import numbers
from forms import assert_conforms, compiled, expected, on_a_device
from standard import BINARY, REAL_OF, UNARY, bits_of, dtypes_of, kind_of, pairs_of, promoted

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan)


def second(name, dtype, shape=(7,)):
    y = numbers(dtype, shape, seed=1)
    if name.endswith("shift") or (name == "pow" and kind_of(dtype) == "i"):
        return abs(y) % min(8, bits_of(dtype))  # a larger shift is undefined, and an integer has no negative power
    return y


def dtype_of(result, dtype):
    return {"same": dtype, "bool": "bool", "part": REAL_OF.get(dtype, dtype)}[result]


def program(name):
    return lambda m, *operands: [getattr(m, name)(*xs) for xs in operands]


def cases_of(name):
    """Return the operands of a function in every dtype that the standard allows, and the dtypes of its results."""
    if name in UNARY:
        kinds, result = UNARY[name]
        return [(numbers(d),) for d in dtypes_of(kinds)], [dtype_of(result, d) for d in dtypes_of(kinds)]
    kinds, result = BINARY[name]
    operands = [(numbers(one), second(name, other)) for one, other in pairs_of(kinds)]
    return operands, [dtype_of(result, promoted(*pair)) for pair in pairs_of(kinds)]


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_results_have_the_dtype_of_the_standard(name):
    operands, dtypes = cases_of(name)
    assert [str(x.dtype) for x in expected(program(name), *operands)] == dtypes  # NumPy conforms
    assert_conforms(program(name), *operands)


@pytest.mark.sampled(keep=0.15)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_compiled_results_have_the_dtype_of_the_standard(name, sample):
    operands, _ = cases_of(name)
    assert_conforms(program(name), *sample(operands, 0.2), by=(compiled,))


@pytest.mark.sampled(keep=0.05)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_results_of_device_arrays_have_the_dtype_of_the_standard(name, sample):
    operands, _ = cases_of(name)
    assert_conforms(program(name), *sample(operands, 0.2), by=(on_a_device,))


@pytest.mark.sampled(keep=0.4)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
@pytest.mark.parametrize(
    "shapes", [((), ()), ((0,), (0,)), ((2, 0), (1,)), ((3, 1), (2, 1, 4)), ((1,), (1, 1))], ids=str
)
def test_operands_are_broadcast(name, shapes):
    kinds, _ = UNARY.get(name) or BINARY[name]
    dtype = dtypes_of(kinds)[-1]
    x, y = numbers(dtype, shapes[0]), second(name, dtype, shapes[1])
    assert_conforms(program(name), (x,) if name in UNARY else (x, y))
