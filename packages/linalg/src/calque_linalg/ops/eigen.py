"""Eigenvalues and singular values: symmetric, general, and rectangular matrices.

One idea: a matrix is the last two axes of an array, and all axes before them are a batch, so a batch of matrices is one
call of LAPACK's, eagerly (through NumPy) and compiled.  Eagerly, a matrix without a result is an error; compiled, its
results are NaN.

The vectors are determined up to their signs, complex ones up to their phases, and those of equal values up to a basis
of the space that they span.  Compare values that do not depend on this choice: projectors, reconstructed matrices.

Read next: `reflections.py`, for the reductions that these functions use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calque_core import Primitive, ShapedArray, typeof
from calque_core.engine.numpy_functions import integers
from calque_core.extend import bind_checked, complex_dtype, real_dtype, shaped_array, where
from calque_core.lax import slice
from calque_linalg.ops.matrices import check_matrices, check_square, failure, field_operands, symmetrized

Value = Any
Range = tuple[int, int] | None


def by_lapack(name: str, function: Callable[..., Value], x: Value, *args: Value) -> Value:
    """Return `function(x, *args)`; an error of LAPACK's names the operation, the operand's type and the user's line."""
    try:
        return function(x, *args)
    except np.linalg.LinAlgError as error:
        raise failure(name, x, f"{error}. Check that all elements of the matrix are finite") from error


def _range_of(name: str, subset: Any, size: int) -> tuple[int, int]:
    """Return the range of values that the user asks for, all of them by default."""
    if subset is None:
        return 0, size
    limits = integers(name, "subset_by_index", subset)
    if len(limits) != 2 or not 0 <= limits[0] <= limits[1] <= size:
        raise ValueError(
            f"{name}{where()}: subset_by_index is {subset!r}. Give a start and a stop, from 0 to {size}, in this order."
        )
    return limits[0], limits[1]


def _columns(x: Value, start: int, stop: int) -> Value:
    """Return the part from `start` to `stop` of the last axis."""
    shape = typeof(x).shape
    if (start, stop) == (0, shape[-1]):
        return x
    return slice(x, (*(0 for _ in shape[1:]), start), (*shape[:-1], stop))


def _rows(x: Value, start: int, stop: int) -> Value:
    """Return the part from `start` to `stop` of the last axis but one."""
    shape = typeof(x).shape
    if (start, stop) == (0, shape[-2]):
        return x
    return slice(x, (*(0 for _ in shape[2:]), start, 0), (*shape[:-2], stop, shape[-1]))


# Symmetric and Hermitian matrices

eigh_p = Primitive("eigh", multiple_results=True)


@eigh_p.def_abstract_eval(cached=True)
def eigh_abstract_eval(x_aval: ShapedArray, *, lower: bool) -> list[ShapedArray]:
    check_square("eigh", x_aval)
    return [shaped_array(x_aval.shape, x_aval.dtype), shaped_array(x_aval.shape[:-1], real_dtype(x_aval.dtype))]


def eigh_impl(x: Value, *, lower: bool) -> list[Value]:
    values, vectors = by_lapack("eigh", np.linalg.eigh, x, "L" if lower else "U")
    return [vectors, values]


eigh_p.def_impl(eigh_impl, leaf=True)


def eigh(
    x: Value,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: Range = None,
) -> tuple[Value, Value]:
    """Return the eigenvectors and eigenvalues of a symmetric or Hermitian matrix: x @ v = v * w.

    Column i of the vectors belongs to value i; the values ascend, and the vectors are orthonormal.  With
    `symmetrize_input`, the matrix is (x + x^H) / 2; without, the triangle `lower` (or upper) of `x` stands for all of
    it.  `subset_by_index` is the range of values and vectors to return.  `sort_eigenvalues=False` allows another order;
    LAPACK sorts in any case.
    Shapes: x [*b, n, n] -> vectors [*b, n, k], values [*b, k].  Dtypes: x's, float64 for
    integers, and that of its real part.
    Derivatives: those of vectors keep the phase of each (v^H dv has a zero diagonal), and are NaN for equal values.
    Raises: ShapeError unless `x` is square; TypeError for half precision; ValueError for a
    range outside [0, n]; LinAlgError if the iteration does not converge.  Compiled, the results are then NaN.

    >>> import numpy as np
    >>> from calque_linalg import eigh
    >>> eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))[1]
    array([1., 3.])
    """
    (x,) = field_operands("eigh", x)
    aval = typeof(x)
    check_square("eigh", aval)
    start, stop = _range_of("eigh", subset_by_index, aval.shape[-1])
    vectors, values = eigh_p.bind(symmetrized(x) if symmetrize_input else x, lower=bool(lower))
    return _columns(vectors, start, stop), _columns(values, start, stop)


# General square matrices

eig_p = Primitive("eig", multiple_results=True)


@eig_p.def_abstract_eval(cached=True)
def eig_abstract_eval(
    x_aval: ShapedArray, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool
) -> list[ShapedArray]:
    check_square("eig", x_aval)
    dtype = complex_dtype(x_aval.dtype)
    vectors = shaped_array(x_aval.shape, dtype)
    sides = compute_left_eigenvectors + compute_right_eigenvectors
    return [shaped_array(x_aval.shape[:-1], dtype), *[vectors] * sides]


def eig_impl(x: Value, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool) -> list[Value]:
    dtype = complex_dtype(x.dtype)
    if not (compute_left_eigenvectors or compute_right_eigenvectors):
        return [by_lapack("eig", np.linalg.eigvals, x).astype(dtype, copy=False)]
    values, right = (a.astype(dtype, copy=False) for a in by_lapack("eig", np.linalg.eig, x))
    left = [by_lapack("eig", _left_vectors, right)] if compute_left_eigenvectors else []
    return [values, *left, right] if compute_right_eigenvectors else [values, *left]


def _left_vectors(right: Value) -> Value:
    """Return the left eigenvectors, scaled as LAPACK scales vectors: length 1, and a real largest component.

    The rows of the inverse are left eigenvectors, in the order of the right ones.
    """
    if not right.size:
        return right
    left = np.conj(np.swapaxes(np.linalg.inv(right), -1, -2))
    largest = np.take_along_axis(left, np.argmax(np.abs(left), axis=-2, keepdims=True), axis=-2)
    return left * (np.conj(largest) / (np.abs(largest) * np.linalg.norm(left, axis=-2, keepdims=True)))


eig_p.def_impl(eig_impl, leaf=True)


def eig(x: Value, *, compute_left_eigenvectors: bool = True, compute_right_eigenvectors: bool = True) -> list[Value]:
    """Return the eigenvalues of a square matrix, then its left and its right eigenvectors if asked for.

    Column i of the right vectors satisfies x @ v = w_i v, of the left ones v^H @ x = w_i v^H.  Each vector has length 1
    and a real largest component.  The values are in no order.
    Shapes: x [*b, n, n] -> values [*b, n], vectors [*b, n, n].  Dtypes: complex.
    Derivatives: for distinct values; those of vectors keep the length and the real component.  For equal values they
    are NaN, except of values alone, where they hold for symmetric functions of the values.
    Raises: ShapeError unless `x` is square; TypeError for half precision; LinAlgError if
    the iteration does not converge, or left vectors are asked for and the matrix has no basis of eigenvectors.
    Compiled, the results are then NaN, and such left vectors are parallel.

    >>> import numpy as np
    >>> from calque_linalg import eig
    >>> eig(np.array([[0.0, 1.0], [-1.0, 0.0]]))[0]
    array([0.+1.j, 0.-1.j])
    """
    (x,) = field_operands("eig", x)
    outs: list[Value] = bind_checked(
        eig_p,
        x,
        compute_left_eigenvectors=bool(compute_left_eigenvectors),
        compute_right_eigenvectors=bool(compute_right_eigenvectors),
    )
    return outs


# Singular values

svd_p = Primitive("svd", multiple_results=True)


@svd_p.def_abstract_eval(cached=True)
def svd_abstract_eval(x_aval: ShapedArray, *, full_matrices: bool, compute_uv: bool) -> list[ShapedArray]:
    check_matrices("svd", x_aval)
    *batch, m, n = x_aval.shape
    rank = min(m, n)
    values = shaped_array((*batch, rank), real_dtype(x_aval.dtype))
    if not compute_uv:
        return [values]
    shapes = (*batch, m, m if full_matrices else rank), (*batch, n if full_matrices else rank, n)
    return [values, *(shaped_array(shape, x_aval.dtype) for shape in shapes)]


def svd_impl(x: Value, *, full_matrices: bool, compute_uv: bool) -> list[Value]:
    if not compute_uv:
        return [by_lapack("svd", _singular_values, x)]
    u, values, vh = by_lapack("svd", np.linalg.svd, x, full_matrices)
    return [values, u, vh]


def _singular_values(x: Value) -> Value:
    return np.linalg.svd(x, compute_uv=False)


svd_p.def_impl(svd_impl, leaf=True)


def svd(x: Value, *, full_matrices: bool = True, compute_uv: bool = True, subset_by_index: Range = None) -> Any:
    """Return the singular value decomposition u, s, vh of a matrix, x = u @ diag(s) @ vh; or `s`, without `compute_uv`.

    The values are not negative and descend; the columns of `u` and the rows of `vh` are orthonormal.  With
    `full_matrices`, both are square; without, they belong to the k = min(m, n) values.  `subset_by_index` is the range
    of values to return, and of the vectors that belong to them.
    Shapes: x [*b, m, n] -> u [*b, m, m] or [*b, m, k], s [*b, k], vh [*b, n, n] or [*b, k, n].  Dtypes: x's, and that
    of its real part for `s`.
    Derivatives: those of vectors keep the phase of each column v of vh^H (v^H dv is 0); they are NaN for equal values,
    and for the value 0 unless the matrix is square.  A value's derivative at 0 is one of its subgradients.  Full
    matrices have derivatives only if the matrix is square.
    Raises: ShapeError unless `x` is a matrix; TypeError for half precision; ValueError for
    a range outside [0, k], or a range of full matrices; LinAlgError if the iteration does not converge.  Compiled, the
    results are then NaN.

    >>> import numpy as np
    >>> from calque_linalg import svd
    >>> svd(np.array([[3.0, 0.0], [0.0, -2.0]]), compute_uv=False)
    array([3., 2.])
    """
    (x,) = field_operands("svd", x)
    aval = typeof(x)
    check_matrices("svd", aval)
    rank = min(aval.shape[-2:])
    start, stop = _range_of("svd", subset_by_index, rank)
    if compute_uv and full_matrices and (start, stop) != (0, rank):
        raise ValueError(
            f"svd{where()}: full matrices have vectors that belong to no value, so subset_by_index={subset_by_index!r} "
            "cannot choose among them. Set full_matrices=False."
        )
    values, *vectors = svd_p.bind(x, full_matrices=bool(full_matrices and compute_uv), compute_uv=bool(compute_uv))
    values = _columns(values, start, stop)
    if not compute_uv:
        return values
    u, vh = vectors
    return (u, values, vh) if full_matrices else (_columns(u, start, stop), values, _rows(vh, start, stop))
