"""Matrices of special forms, and equations of matrices, beside scipy: values, shapes and dtypes, eager and compiled."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from calque_core import eval_jaxpr, make_jaxpr
from calque_numpy.scipy import linalg
from calque_pytree import tree_leaves
from calque_xla_backend import jit

rng = np.random.default_rng(0)
VECTORS = {
    "float64": rng.normal(size=5) + 3.0,
    "float32": rng.normal(size=4).astype("float32") + 3,
    "int64": np.arange(1, 6),
    "complex128": rng.normal(size=4) + 2.0j,
    "one element": np.ones(1),
    "two elements": np.array([2.0, 3.0]),
}
LENGTHS = [1, 2, 4]  # of vectors in programs of two operands

# Programs of a module of scipy.linalg's names and one vector.
OF_VECTORS = {
    "toeplitz": lambda m, x: (m.toeplitz(x), m.toeplitz(x, x[:2])),
    "circulant": lambda m, x: m.circulant(x),
    "hankel": lambda m, x: (m.hankel(x), m.hankel(x, x[::-1][:3])),
    "fiedler": lambda m, x: m.fiedler(x + 0.0),
    "convolution_matrix": lambda m, x: [
        m.convolution_matrix(x, n, mode) for n in (1, 3, 7) for mode in ("full", "same", "valid")
    ],
}
OF_TWO_OR_MORE = {
    "companion": lambda m, x: m.companion(x),
    "fiedler_companion": lambda m, x: m.fiedler_companion(x),
    "leslie": lambda m, x: m.leslie(x, x[1:]),
}
OF_SIZES = {
    "hilbert": lambda m, n: m.hilbert(n),
    "invhilbert": lambda m, n: (m.invhilbert(n), m.invhilbert(n, exact=True)),
    "pascal": lambda m, n: [m.pascal(n, kind, exact) for kind in ("symmetric", "lower", "upper") for exact in (0, 1)],
    "invpascal": lambda m, n: [m.invpascal(n, k, exact) for k in ("symmetric", "lower", "upper") for exact in (0, 1)],
    "hadamard": lambda m, n: (m.hadamard(2**n), m.hadamard(2, dtype=np.float32)),
    "helmert": lambda m, n: (m.helmert(n + 1), m.helmert(n + 1, full=True)),
    "dft": lambda m, n: [m.dft(n, scale) for scale in (None, *["sqrtn", "n"][: 2 * bool(n)])],
}


def same(got, want, ulps=16):
    for x, y in zip(tree_leaves(got), tree_leaves(want), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        scale = np.abs(y).max(initial=1e-30)
        eps = np.finfo(y.dtype).eps if y.dtype.kind in "fc" else 0
        np.testing.assert_allclose(x, y, rtol=ulps * eps, atol=ulps * eps * scale)


def everywhere(fun, *args):
    """Return the values, which must be the same when the function is traced."""
    outs = fun(*args)
    jaxpr = make_jaxpr(fun)(*args)
    same(eval_jaxpr(jaxpr, jaxpr.consts, *args), tree_leaves(outs), 64)
    return outs


@pytest.mark.parametrize("kind", VECTORS)
@pytest.mark.parametrize("name", [*OF_VECTORS, *OF_TWO_OR_MORE])
def test_matrices_made_of_vectors_are_those_of_scipy(name, kind):
    x = VECTORS[kind]
    if name in OF_TWO_OR_MORE and x.size < 2:
        pytest.skip("it needs two elements")
    program = {**OF_VECTORS, **OF_TWO_OR_MORE}[name]
    same(everywhere(lambda x: program(linalg, x), x), program(scipy.linalg, x))


def test_matrices_made_of_vectors_are_batched_and_compiled():
    x = rng.normal(size=(2, 3, 4)) + 3.0
    programs = {**OF_VECTORS, **OF_TWO_OR_MORE}
    fun = lambda x: [f(linalg, x) for name, f in programs.items()]
    for f in (linalg.toeplitz, linalg.circulant, linalg.hankel, linalg.companion, linalg.fiedler):
        same(f(x), np.stack([[f(row) for row in rows] for rows in x]))
    same(linalg.leslie(x, x[..., 1:]), np.stack([[linalg.leslie(row, row[1:]) for row in rows] for rows in x]))
    same(jit(fun)(x[0, 0]), fun(x[0, 0]))


@pytest.mark.parametrize("n", [0, 1, 2, 5, 12])
@pytest.mark.parametrize("name", OF_SIZES)
def test_matrices_of_a_size_are_those_of_scipy(name, n):
    if name == "hadamard" and n > 5:
        pytest.skip("the matrix is too large")
    program = OF_SIZES[name]
    same(program(linalg, n), program(scipy.linalg, n), 1e4 if name == "dft" else 16)


# Equations and functions of matrices

SQUARE, OTHER, RIGHT = rng.normal(size=(4, 4)) + 4 * np.eye(4), rng.normal(size=(3, 3)), rng.normal(size=(4, 3))
TALL, WIDE = rng.normal(size=(5, 3)), rng.normal(size=(3, 5))
OF_MATRICES = {
    "solve_sylvester": (lambda m, a, b, q: m.solve_sylvester(a, b, q), SQUARE, OTHER, RIGHT),
    "solve_sylvester of complex matrices": (
        lambda m, a, b, q: m.solve_sylvester(a + 1j, b + 1j, q),
        SQUARE,
        OTHER,
        RIGHT,
    ),
    "expm_frechet": (lambda m, a, e: m.expm_frechet(a, e), SQUARE, rng.normal(size=(4, 4))),
    "expm_frechet along a large change": (lambda m, a, e: m.expm_frechet(a, e, "SPS", False), SQUARE, 1e9 * SQUARE.T),
    "polar": (lambda m, a: m.polar(a), SQUARE),
    "polar of a tall matrix": (lambda m, a: (m.polar(a), m.polar(a, "left")), TALL),
    "polar of a wide matrix": (lambda m, a: (m.polar(a), m.polar(a, "left")), WIDE),
    "sqrtm": (lambda m, a: m.sqrtm(a) + 0j, SQUARE),
    "funm": (lambda m, a: m.funm(a, np.exp) + 0j, SQUARE),
    "qr_multiply": (lambda m, a, c: m.qr_multiply(a, c), TALL, rng.normal(size=(2, 5))),
    "qr_multiply of a vector": (lambda m, a, c: m.qr_multiply(a, c, pivoting=True), TALL, rng.normal(size=5)),
    "qr_multiply on the left": (lambda m, a, c: m.qr_multiply(a, c, "left"), TALL, rng.normal(size=(3, 2))),
    "qr_multiply of the conjugate": (
        lambda m, a, c: m.qr_multiply(a + 1j * a[::-1], c, "left", conjugate=True),
        WIDE,
        rng.normal(size=3) + 1j,
    ),
    "eigh_tridiagonal": (lambda m, d, e: m.eigh_tridiagonal(d, e, True), rng.normal(size=5), rng.normal(size=4)),
    "eigh_tridiagonal of a range": (
        lambda m, d, e: (
            m.eigh_tridiagonal(d, e, True, select="i", select_range=(1, 2)),
            m.eigh_tridiagonal(d, e, True, select="v", select_range=(-1.0, 1.0)),
        ),
        rng.normal(size=5),
        rng.normal(size=4),
    ),
}


@pytest.mark.parametrize("name", OF_MATRICES)
def test_functions_of_matrices_are_those_of_scipy(name):
    program, *args = OF_MATRICES[name]
    traced = everywhere if "range" not in name else lambda fun, *args: fun(*args)
    same(traced(lambda *args: program(linalg, *args), *args), program(scipy.linalg, *args), 1000)


def test_functions_of_matrices_are_compiled_and_batched():
    def fun(a, b, q):
        x = linalg.solve_sylvester(a, b, q)
        return x, linalg.polar(q), linalg.sqrtm(a), linalg.expm_frechet(b, b @ b), linalg.qr_multiply(a, q, "left")

    batch = [np.stack([x, 0.5 * x]) for x in (SQUARE, OTHER, RIGHT)]
    together = tree_leaves(jit(fun)(*batch))
    for i in range(2):
        same([np.asarray(x)[i] for x in together], fun(*(x[i] for x in batch)), 1000)
