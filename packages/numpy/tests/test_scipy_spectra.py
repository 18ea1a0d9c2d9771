"""Eigenvalues, polar and Schur forms, functions of matrices by scipy's names: by the equations that define them."""

import numpy as np
import pytest

from calque_core import ShapeError, eval_jaxpr, make_jaxpr
from calque_core.config import enable_x64
from calque_numpy.scipy import linalg
from calque_pytree import tree_leaves

DTYPES = ["float32", "float64", "complex128"]
SIZES = [1, 2, 4]


def random(shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.uniform(-1, 1, shape)
    return values.astype(dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def definite(n, dtype):
    x = random((n, n), dtype, seed=5)
    return x @ adjoint(x) + np.eye(n, dtype=dtype)


def close(x, y):
    eps = np.finfo(np.result_type(y, np.float32)).eps
    np.testing.assert_allclose(x, y, atol=1000 * eps, rtol=1000 * eps)


def both(fun, *args):
    """Return the results on values, after a check that the traced function gives them too."""
    outs = fun(*args)
    jaxpr = make_jaxpr(fun)(*args)
    for x, y in zip(eval_jaxpr(jaxpr, jaxpr.consts, *args), tree_leaves(outs), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        close(x, y)
    return outs


# Eigenvalues, singular values


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("lower", [True, False])
def test_a_pair_of_matrices_has_the_eigenvalues_of_its_equation(n, dtype, lower):
    triangle = np.tril if lower else np.triu
    a, b = random((n, n), dtype), definite(n, dtype)
    whole = triangle(a) + adjoint(triangle(a, -1 if lower else 1))
    np.fill_diagonal(whole, np.diag(a).real)
    for kind in (1, 2, 3):
        w, v = both(lambda a, b, t=kind: linalg.eigh(a, b, lower, type=t), a, triangle(b))
        left, right = {1: (whole @ v, b @ v * w), 2: (whole @ b @ v, v * w), 3: (b @ whole @ v, v * w)}[kind]
        close(left, right)
        close(linalg.eigh(a, b, lower, True, type=kind), w)
    w, v = both(lambda a: linalg.eigh(a, lower=lower), a)
    close(whole @ v, v * w)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (4, 2), (2, 4), (2, 3, 3)])
def test_the_polar_form_has_an_orthogonal_and_a_positive_factor(shape, dtype, side):
    x = random(shape, dtype)
    u, p = both(lambda x: linalg.polar(x, side), x)
    close(u @ p if side == "right" else p @ u, x)
    inner = adjoint(u) @ u if shape[-2] >= shape[-1] else u @ adjoint(u)
    close(inner, np.broadcast_to(np.eye(min(shape[-2:]), dtype=dtype), inner.shape))
    assert (np.linalg.eigvalsh(p) > -1e-5).all()


def test_singular_values_are_numpys():
    x = random((3, 2))
    close(both(lambda x: linalg.svd(x, compute_uv=False), x), np.linalg.svd(x, compute_uv=False))
    u, s, vh = both(lambda x: linalg.svd(x, False), x)
    close((u * s) @ vh, x)


# Schur forms


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_schur_and_hessenberg_forms_are_similar_to_the_matrix(n, dtype):
    x = random((n, n), dtype)
    for output in ("real", "complex"):
        form, vectors = both(lambda x, o=output: linalg.schur(x, o), x)
        close(vectors @ form @ adjoint(vectors), x)
    assert not np.tril(form, -1).any()
    form, vectors = both(lambda x: linalg.rsf2csf(*linalg.schur(x)), x)
    close(vectors @ form @ adjoint(vectors), x)
    assert not np.tril(form, -1).any()
    form, q = both(lambda x: linalg.hessenberg(x, calc_q=True), x)
    close(q @ form @ adjoint(q), x)
    assert not np.tril(form, -2).any()
    np.testing.assert_array_equal(linalg.hessenberg(x), form)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (5, 5), (2, 3, 3)])
def test_the_square_of_the_square_root_is_the_matrix(shape, dtype):
    x = random(shape, dtype)
    root = both(linalg.sqrtm, x)
    close(root @ root, x)
    assert (np.linalg.eigvals(root).real > -1e-3).all()


def test_a_singular_matrix_may_have_a_square_root():
    close(linalg.sqrtm(np.diag([4.0, 0.0, 0.0])), np.diag([2.0, 0.0, 0.0]))


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 3)])
def test_functions_of_matrices_are_those_of_their_eigenvalues(shape):
    x = random(shape, "complex128")
    values, vectors = np.linalg.eig(x)
    want = (vectors * np.sin(values)[..., None, :]) @ np.linalg.inv(vectors)
    out, error = both(lambda x: linalg.funm(x, np.sin, disp=False), x)
    close(out, want)
    close(linalg.funm(x, np.sin), out)
    assert error.shape == shape[:-2]
    assert (error < 1e-12).all()


def test_the_error_of_a_function_is_large_for_eigenvalues_close_to_one_another():
    _, error = linalg.funm(np.array([[1.0, 1.0], [0.0, 1.0]]), np.sin, disp=False)
    assert error == 1.0


# Special matrices


def test_a_toeplitz_matrix_has_equal_elements_on_each_diagonal():
    out = both(linalg.toeplitz, np.array([1, 2, 3]), np.array([9.0, 7.0]))
    np.testing.assert_array_equal(out, [[1, 7], [2, 1], [3, 2]])
    np.testing.assert_array_equal(both(linalg.toeplitz, np.array([1, 2j])), [[1, -2j], [2j, 1]])
    assert linalg.toeplitz(np.ones(0), np.ones(2)).shape == (0, 2)


def test_blocks_stand_on_the_diagonal():
    out = both(linalg.block_diag, np.ones((2, 1)), np.array([2, 3]), np.float64(4.0))
    np.testing.assert_array_equal(out, [[1, 0, 0, 0], [1, 0, 0, 0], [0, 2, 3, 0], [0, 0, 0, 4]])
    assert linalg.block_diag().shape == (1, 0)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: linalg.schur(x, "complicated"), ValueError, "output is 'complicated'. Use 'real' or 'complex'."),
        (lambda x: linalg.rsf2csf(x, x[:1]), ShapeError, "the shapes differ. Give a form with its vectors."),
        (lambda x: linalg.eigh(x, x, type=4), ValueError, "type is 4. Use 1, 2 or 3."),
        (lambda x: linalg.polar(x, "top"), ValueError, "side is 'top'. Use 'left' or 'right'."),
        (lambda x: linalg.toeplitz(x[0, 0]), ShapeError, "an operand is float64[]. Give vectors."),
        (lambda x: linalg.hankel(x, np.ones((3, 1))), ShapeError, "the leading axes do not broadcast"),
        (lambda x: linalg.companion(x[0, :1]), ShapeError, "there are too few coefficients. Give 2 or more."),
        (lambda x: linalg.leslie(x[0], x[0]), ShapeError, "the vectors have the lengths 2 and 2"),
        (lambda x: linalg.convolution_matrix(x, 0), ValueError, "n is 0. Give a positive number of columns."),
        (lambda x: linalg.convolution_matrix(x, 2, "all"), ValueError, "mode is 'all'. Use 'full'"),
        (lambda x: linalg.convolution_matrix(x[0, 0], 2), ShapeError, "there are no elements. Give a vector."),
        (lambda x: linalg.polar(x[0]), ShapeError, "polar of float64[2]"),
        (lambda x: linalg.solve_sylvester(x, x, x[0]), ShapeError, "an operand is float64[2]. Give matrices."),
        (lambda x: linalg.solve_sylvester(x, x, x[:1]), ShapeError, "the shapes do not fit. The third must"),
        (lambda x: linalg.qr_multiply(x, x, "top"), ValueError, "mode is 'top'. Use 'left' or 'right'."),
        (lambda x: linalg.qr_multiply(x, x[:1], "left"), ShapeError, "must have 2 rows for the mode 'left'"),
        (lambda x: linalg.expm_frechet(x, x[:1]), ShapeError, "the operands must be square matrices of one shape"),
        (lambda x: linalg.expm_frechet(x, x, "Pade"), ValueError, "method is 'Pade'. Use 'SPS'"),
        (lambda x: linalg.eigh_tridiagonal(x[0], x[0]), ShapeError, "The second must have one element fewer"),
        (lambda x: linalg.eigh_tridiagonal(x[0], 1j * x[0, :1]), TypeError, "the diagonals are complex. Use eigh."),
        (lambda x: linalg.eigh_tridiagonal(x[0], x[0, :1], select="x"), ValueError, "select is 'x'. Use 'a'"),
        (lambda x: linalg.eigh_tridiagonal(x[0], x[0, :1], select="i"), ValueError, "select_range is None."),
        (
            lambda x: linalg.eigh_tridiagonal(x[0], x[0, :1], False, "i", (0, 5)),
            ValueError,
            "two positions from 0 to 1",
        ),
        (lambda x: linalg.eigh_tridiagonal(x, x[:, :1], False, "v", (0, 5)), ValueError, "Use select='i'."),
        (lambda x: linalg.hadamard(6), ValueError, "n is 6, which is no power of 2."),
        (lambda x: linalg.hilbert(-1), ValueError, "n is -1. Give a size of at least 0."),
        (lambda x: linalg.pascal(3, "left"), ValueError, "kind is 'left'. Use 'symmetric'"),
        (lambda x: linalg.pascal(40), ValueError, "elements for n=40 do not fit uint64. Use exact=False"),
        (lambda x: linalg.invhilbert(400), ValueError, "do not fit float64. Use a smaller n."),
        (lambda x: linalg.dft(3, "3"), ValueError, "scale is '3'. Use 'sqrtn', 'n' or None."),
        (lambda x: linalg.block_diag(x[None]), ShapeError, "an operand is float64[1,2,2]. Give matrices."),
        (lambda x: linalg.sqrtm(x[:1]), ShapeError, "the last two sizes differ"),
    ],
)
def test_wrong_arguments_are_refused(call, error, words):
    with pytest.raises(error) as caught:
        make_jaxpr(call)(np.eye(2))
    assert words in str(caught.value)


def test_values_without_a_result_are_refused_in_evaluation():
    with pytest.raises(ValueError, match=r"the first coefficient is 0\. Remove leading zeros\."):
        linalg.companion([0.0, 1.0])
    with pytest.raises(np.linalg.LinAlgError, match="the sum of an eigenvalue of a and an eigenvalue of b is 0"):
        linalg.solve_sylvester(np.eye(2), -np.eye(2), np.ones((2, 2)))


def test_the_orthogonal_factor_of_a_singular_matrix_is_one_of_several():
    u, p = linalg.polar(np.diag([2.0, 0.0]))
    close(u @ p, np.diag([2.0, 0.0]))
    close(u @ u.T, np.eye(2))


def test_lists_are_matrices():
    a = [[4.0, 1.0], [1.0, 3.0]]
    names = [
        "sqrtm",
        "polar",
        "expm",
        "inv",
        "det",
        "eigh",
        "svd",
        "schur",
        "hessenberg",
        "lu",
        "lu_factor",
        "cholesky",
        "qr",
    ]
    for fun in [*(getattr(linalg, name) for name in names), lambda a: linalg.solve_sylvester(a, a, a)]:
        for x, y in zip(tree_leaves(fun(a)), tree_leaves(fun(np.array(a))), strict=True):
            np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(linalg.toeplitz([True, False]), np.eye(2, dtype=bool))


def test_matrices_of_a_size_have_32_bits_where_the_settings_say_so():
    with enable_x64(False):
        outs = linalg.hilbert(2), linalg.helmert(2), linalg.invhilbert(2), linalg.dft(2), linalg.pascal(2)
        assert [x.dtype.name for x in outs] == ["float32"] * 3 + ["complex64", "uint32"]
        with pytest.raises(ValueError, match="elements for n=20 do not fit uint32"):
            linalg.pascal(20)


def test_the_smallest_companions_have_the_size_0():
    assert linalg.fiedler_companion([3.0]).shape == (0, 0)
    np.testing.assert_array_equal(linalg.fiedler_companion([2.0, 1.0]), [[-0.5]])
