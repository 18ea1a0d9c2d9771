"""The products of all numbers of a row but one, with zeros, infinities and sizes that overflow."""

import numpy as np
import pytest

from calque_core import make_jaxpr
from calque_core.engine import leave_one_out_products

ROWS = {
    "usual": [0.5, -2.0, 3.0, 1.5],
    "one zero": [0.5, 0.0, 3.0, 1.5],
    "two zeros": [0.5, 0.0, 3.0, -0.0],
    "infinite": [0.5, np.inf, 3.0, 1.5],
    "nan": [0.5, np.nan, 3.0, 1.5],
    "overflow": [1e200, 1e150, 1e-100, 2.0],
    "underflow": [1e-200, 1e-120, 1e300, 2.0],
    "subnormal": [5e-320, 2.0, 3.0, 4.0],
    "one": [7.0],
    "none": [],
}


def one_by_one(row):
    return [np.prod(np.delete(row, i)) for i in range(len(row))]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128"])
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_each_product_leaves_one_number_out(name, dtype):
    row = np.array(ROWS[name]).astype(dtype)
    out = leave_one_out_products(row, np.prod(row))
    assert out.dtype == row.dtype
    np.testing.assert_allclose(out, one_by_one(row), rtol=8 * np.finfo(dtype).eps)


def test_each_row_has_its_own_products():
    x = np.random.default_rng(1).uniform(-2.0, 2.0, (3, 2, 5))
    want = np.array([[one_by_one(row) for row in rows] for rows in x])
    np.testing.assert_allclose(leave_one_out_products(x, np.prod(x, -1)), want, rtol=1e-14)
    x[1, 1, 2] = 0.0
    want[1, 1] = one_by_one(x[1, 1])
    np.testing.assert_allclose(leave_one_out_products(x, np.prod(x, -1)), want, rtol=1e-14)


def test_other_transformations_see_running_products():
    x = np.array([2.0, 3.0, 0.0])
    program = make_jaxpr(lambda x: leave_one_out_products(x, np.prod(x)))(x)
    assert [eqn.primitive.name for eqn in program.eqns][-1] == "leave_one_out_products"
    rule = program.eqns[-1].primitive.rules["decomposition"]
    np.testing.assert_array_equal(rule(x, np.float64(0.0)), [0.0, 0.0, 6.0])
