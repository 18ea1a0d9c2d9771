from itertools import product

import numpy as np
import pytest

from calque_linalg import triangular_solve
from calque_xla_backend import jit

OPTIONS = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, shape)
    return (x + 1j * rng.uniform(-1, 1, shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@pytest.mark.sampled(keep=0.2)
@pytest.mark.parametrize("flags", list(product([False, True], repeat=5)))
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 1, 3, 3), (0, 0), (0, 2, 2)])
def test_compiled_and_evaluated_solutions_agree(flags, dtype, shape):
    options, n = dict(zip(OPTIONS, flags)), shape[-1]
    a = numbers(shape, dtype) / max(n, 1) + 2 * np.eye(n, dtype=dtype)
    b = numbers((*shape[:-2], *((n, 2) if options["left_side"] else (2, n))), dtype, 1)
    solve = lambda a, b: triangular_solve(a, b, **options)
    out, expected = jit(solve)(a, b), solve(a, b)
    assert (out.shape, out.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(out, expected, atol=50 * np.finfo(dtype).eps)


def test_a_singular_triangle_gives_no_finite_solution():
    out = jit(lambda a, b: triangular_solve(a, b, left_side=True))(np.diag([1.0, 0.0]), np.ones(2))
    assert not np.isfinite(np.asarray(out)[1])
