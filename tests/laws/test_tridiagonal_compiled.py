import numpy as np
import pytest

from calque_linalg import tridiagonal_solve
from calque_xla_backend import jit


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 2), (3, 4, 2), (2, 1, 1, 1), (0, 2), (2, 0, 1)])
def test_compiled_and_evaluated_solutions_agree(dtype, shape):
    rng = np.random.default_rng(0)
    args = [rng.uniform(-1, 1, s).astype(dtype) for s in (*[shape[:-1]] * 3, shape)]
    args[1] += np.array(2.5, dtype)
    out, expected = jit(tridiagonal_solve)(*args), tridiagonal_solve(*args)
    assert (out.shape, out.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(out, expected, atol=100 * np.finfo(dtype).eps)


def test_a_singular_matrix_gives_nan():
    ones = np.ones((2, 2))
    out = jit(tridiagonal_solve)(ones, ones + np.array([[0.0], [1.0]]), ones, np.ones((2, 2, 1)))
    assert np.isnan(np.asarray(out)[0]).all()
    np.testing.assert_allclose(np.asarray(out)[1], 1 / 3)
