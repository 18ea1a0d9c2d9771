"""Hessenberg, tridiagonal and Schur forms, by their products with the orthogonal matrices that go with them."""

from __future__ import annotations

import numpy as np
import pytest

import calque_linalg as linalg
from calque_core import ShapeError, eval_jaxpr, make_jaxpr
from calque_pytree import tree_leaves

DTYPES = ["float32", "float64", "complex64", "complex128"]
BATCHES = [(), (2,), (2, 1), (0,)]
SIZES = [0, 1, 2, 3, 6]


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.uniform(-1, 1, shape)
    return values.astype(dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def close(x, y):
    assert x.dtype == y.dtype
    np.testing.assert_allclose(x, y, atol=200 * np.finfo(np.asarray(y).dtype).eps, rtol=0)


def orthogonal(packed, taus):
    """Return the product of the reflections that LAPACK stores below the diagonal beside the main one."""
    n = packed.shape[-1]
    q = np.zeros_like(packed) + np.eye(n, dtype=packed.dtype)
    for k in range(n - 1):
        v = packed[..., :, k].copy()
        v[..., : k + 1] = 0
        v[..., k + 1] = 1
        q = q - taus[..., k, None, None] * (q @ v[..., None]) @ adjoint(v[..., None])
    return q


def check_staged(fun, *args):
    outs = tree_leaves(fun(*args))
    jaxpr = make_jaxpr(fun)(*args)
    assert [(a.shape, a.dtype) for a in jaxpr.out_avals] == [(x.shape, x.dtype) for x in outs]
    for x, y in zip(eval_jaxpr(jaxpr, jaxpr.consts, *args), outs, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", SIZES)
def test_the_hessenberg_form_is_similar_to_the_matrix(dtype, batch, n):
    x = random((*batch, n, n), dtype)
    packed, taus = linalg.hessenberg(x)
    assert taus.shape == (*batch, max(n - 1, 0))
    q, form = orthogonal(packed, taus), np.triu(packed, -1)
    close(q @ form @ adjoint(q), x)
    check_staged(linalg.hessenberg, x)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", SIZES)
def test_the_tridiagonal_form_has_the_eigenvalues_of_the_triangle(dtype, batch, n, lower):
    x = random((*batch, n, n), dtype)
    packed, d, e, taus = linalg.tridiagonal(x, lower=lower)
    form = np.zeros(x.shape, d.dtype)
    form[..., range(n), range(n)] = d
    form[..., range(1, n), range(n - 1)] = e
    close(np.linalg.eigvalsh(form), np.linalg.eigvalsh(x, "L" if lower else "U"))
    untouched = (np.triu if lower else np.tril)(x, 1 if lower else -1)
    np.testing.assert_array_equal((np.triu if lower else np.tril)(packed, 1 if lower else -1), untouched)
    beside = packed.diagonal(-1 if lower else 1, -2, -1).real
    np.testing.assert_array_equal(beside, e)
    assert taus.shape == e.shape
    check_staged(lambda x: linalg.tridiagonal(x, lower=lower), x)


def blocks_of(form):
    """Return the first rows of the blocks of size 2."""
    return np.flatnonzero(np.diag(form, -1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", [*SIZES, 25])
def test_the_schur_form_is_triangular_or_has_blocks_for_pairs_of_complex_eigenvalues(dtype, batch, n):
    x = random((*batch, n, n), dtype)
    form, vectors = linalg.schur(x)
    close(vectors @ form @ adjoint(vectors), x)
    close(vectors @ adjoint(vectors), np.broadcast_to(np.eye(n, dtype=dtype), x.shape))
    assert not np.tril(form, -2 if np.dtype(dtype).kind == "f" else -1).any()
    for one in form.reshape(-1, n, n) if form.size else []:
        for k in blocks_of(one):
            (a, b), (c, d) = one[k : k + 2, k : k + 2]
            assert abs(a - d) < 50 * np.finfo(dtype).eps
            assert b * c < 0
        assert (np.diff(blocks_of(one)) > 1).all()
    close(linalg.schur(x, compute_schur_vectors=False), form)
    check_staged(linalg.schur, x)


@pytest.mark.parametrize("kind", ["cyclic", "triangular", "zero", "one value", "orthogonal"])
@pytest.mark.parametrize("n", [2, 3, 4, 12])
def test_the_schur_form_of_special_matrices(kind, n):
    x = {
        "cyclic": np.roll(np.eye(n), 1, 0),
        "triangular": np.triu(random((n, n), "float64")),
        "zero": np.zeros((n, n)),
        "one value": np.eye(n) + np.eye(n, k=1),
        "orthogonal": np.linalg.qr(random((n, n), "float64"))[0],
    }[kind]
    for dtype in ("float64", "complex128"):
        form, vectors = linalg.schur(x.astype(dtype))
        close(vectors @ form @ adjoint(vectors), x.astype(dtype))


@pytest.mark.parametrize("name", ["hessenberg", "tridiagonal", "schur"])
def test_operands_that_are_no_square_matrices_of_lapacks_dtypes_are_refused(name):
    for call in (getattr(linalg, name), make_jaxpr(getattr(linalg, name))):
        with pytest.raises(ShapeError, match=rf"{name} of float64\[2,3\] at .*the last two sizes differ"):
            call(np.ones((2, 3)))
        with pytest.raises(TypeError, match=rf"{name} of float16\[2,2\].*not defined for float16\. Convert"):
            call(np.eye(2, dtype=np.float16))


@pytest.mark.parametrize("n", [2, 3])
def test_a_schur_form_that_does_not_exist_is_an_error_with_the_place(n):
    words = rf"schur of float64\[{n},{n}\] at test_similarity\.py:\d+ .*do not converge\. Check that all elements"
    with pytest.raises(np.linalg.LinAlgError, match=words):
        linalg.schur(np.full((n, n), np.nan))
