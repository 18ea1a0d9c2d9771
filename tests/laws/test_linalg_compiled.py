"""Compiled factorisations: LAPACK's status becomes NaN, and operands stay whole although LAPACK overwrites them."""

import subprocess
import sys

import numpy as np
import pytest

import calque_linalg as linalg
from calque_xla_backend import jit

DTYPES = ["float32", "float64", "complex64", "complex128"]


def numbers(shape, dtype):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, shape)
    return (x + 1j * rng.uniform(-1, 1, shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def definite(shape, dtype):
    x = numbers(shape, dtype)
    return x @ x.conj().mT + np.eye(shape[-1], dtype=dtype)


def assert_agrees(fun, *args, ulps=200):
    outs, expected = jit(fun)(*args), fun(*args)
    many = isinstance(expected, tuple)
    for x, y in zip(outs if many else [outs], expected if many else [expected], strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, atol=ulps * np.finfo(y.dtype).eps if y.dtype.kind in "fc" else 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (2, 1, 3, 3), (1, 1), (0, 0), (2, 0, 0), (0, 2, 2)])
def test_cholesky_compiles(dtype, shape):
    assert_agrees(linalg.cholesky, definite(shape, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 2), (2, 1, 2, 3), (1, 1), (0, 0), (3, 0), (0, 3), (0, 2, 2)])
def test_factorizations_of_any_sizes_compile(dtype, shape):
    def program(x):
        factors = [*linalg.lu(x), *linalg.geqrf(x)]
        if shape[-2] >= shape[-1]:
            factors.append(linalg.householder_product(*linalg.geqrf(x)))
        for pivoting in (False, True):
            for full_matrices in (False, True):
                factors.extend(linalg.qr(x, pivoting=pivoting, full_matrices=full_matrices))
        return tuple(factors)

    assert_agrees(program, numbers(shape, dtype))


def test_a_singular_matrix_has_factors():
    factors, _, order = jit(linalg.lu)(np.ones((2, 2)))
    np.testing.assert_array_equal(factors, [[1.0, 1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(order, [0, 1])


def test_a_matrix_that_is_not_positive_definite_gives_nan_and_its_neighbours_do_not():
    good = definite((3, 3), "float64")
    out = np.asarray(jit(linalg.cholesky)(np.stack([good, -good])))
    assert np.isfinite(out[0]).all()
    assert np.isnan(out[1][np.tril_indices(3)]).all()


def test_an_operand_that_is_needed_again_stays_whole():
    x = definite((3, 3), "float64")
    factor, same = jit(lambda x: (linalg.cholesky(x, symmetrize_input=False), x + 0.0))(x)
    np.testing.assert_array_equal(same, x)
    np.testing.assert_allclose(np.asarray(factor) @ np.asarray(factor).T, x)


def test_scipy_is_loaded_by_the_first_program_that_needs_lapack():
    code = (
        "import sys, numpy as np, calque_xla_backend as cx\n"
        "from calque_core.lax import linalg\n"
        "cx.jit(lambda x: x + 1.0)(1.0)\n"
        "before = 'scipy.linalg' in sys.modules\n"
        "cx.jit(linalg.cholesky)(np.eye(2))\n"
        "print(before, 'scipy.linalg' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
