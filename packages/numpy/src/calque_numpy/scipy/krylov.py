"""Linear equations by iteration, by the names of `scipy.sparse.linalg`: `cg`, `bicgstab`, `gmres`.

One idea: the operator is a function of a vector, and the equation gives the derivative, by `custom_linear_solve`: no
step is differentiated.  A tree of arrays is one vector here.  A preconditioner M changes the steps, and neither the
solution nor its derivative; reverse mode solves with the transposes of both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import matmul
from typing import Any, NamedTuple

import numpy as np

from calque_core import ShapeError, lax, make_jaxpr, ravel_pytree, typeof
from calque_core.engine import join_constants
from calque_core.engine.numpy_functions import as_dtype
from calque_core.extend import where as place
from calque_core.lax import custom_linear_solve, linear_transpose_p
from calque_numpy.creation import zeros, zeros_like
from calque_numpy.least_squares import lstsq
from calque_numpy.masks import where
from calque_numpy.products import vdot
from calque_numpy.scipy.floats import float_dtype
from calque_pytree import tree_flatten, tree_leaves, tree_structure

__all__ = ["bicgstab", "cg", "gmres"]

Value = Any
Operator = Callable[[Value], Value]


class Start(NamedTuple):
    """An iteration for A x = b: its start x, a preconditioner M, the norm of b - A x at its end, and its most steps."""

    x: Value
    M: Operator
    limit: Value
    maxiter: int


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, Value]:
    """Return the solution x of A x = b by conjugate gradients, for a positive definite A, and 0 for success.

    The iteration ends when the norm of b - A x is at most the greater of `atol` and `tol` times the norm of b, or after
    `maxiter` steps, by default 10 for each element of b: then the second result is their number.  `A` and the
    preconditioner `M`, close to the inverse of A, are matrices or functions of a tree like `b`; they must be linear,
    and Hermitian.  The derivative is that of the exact solution, by one more iteration.
    Shapes: b [*s] or a tree of arrays, x0 like b -> x like b, [].  Dtype: of A and b; integers become floats.
    Raises: ShapeError if `A`, `x0` or a result of A does not fit b; TypeError if a result of A has another dtype.

    >>> import numpy as np
    >>> from calque_numpy.scipy.krylov import cg
    >>> x, info = cg(lambda x: np.array([2.0, 4.0]) * x, np.array([1.0, 1.0]))
    >>> x.round(4), int(info)
    (array([0.5 , 0.25]), 0)
    """
    return _solution("cg", _conjugate_gradients, A, b, x0, M, (tol, atol, maxiter))


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, Value]:
    """Return the solution x of A x = b by stabilised biconjugate gradients, and 0 for success.

    A step takes two products with A, and keeps no basis.  A need not be symmetric.
    Other arguments, shapes, dtypes and errors: as `cg`.

    >>> import numpy as np
    >>> from calque_numpy.scipy.krylov import bicgstab
    >>> x, info = bicgstab(np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([3.0, 4.0]))
    >>> x.round(4), int(info)
    (array([1., 1.]), 0)
    """
    return _solution("bicgstab", _stabilized_gradients, A, b, x0, M, (tol, atol, maxiter))


def gmres(  # noqa: PLR0913 -- jax's parameters
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, Value]:
    """Return the solution x of A x = b by generalised minimal residuals, and 0 for success.

    A cycle makes a basis of `restart` vectors, and takes from their span the x of the least norm of b - A x; `maxiter`
    counts cycles.  By the `solve_method` "incremental" a cycle ends as soon as that norm is small enough; "batched"
    makes the whole basis.  A need not be symmetric.  Other arguments, shapes, dtypes and errors: as `cg`.
    Raises: ValueError for another `solve_method`, or a `restart` below 1.

    >>> import numpy as np
    >>> from calque_numpy.scipy.krylov import gmres
    >>> x, info = gmres(np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([3.0, 4.0]))
    >>> x.round(4), int(info)
    (array([1., 1.]), 0)
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(f"gmres{place()} has the solve_method {solve_method!r}. Use 'batched' or 'incremental'.")
    if restart < 1:
        raise ValueError(f"gmres{place()}: restart is {restart}. Give the size of a basis, at least 1.")
    method = partial(_minimal_residuals, restart, solve_method == "incremental")
    return _solution("gmres", method, A, b, x0, M, (tol, atol, maxiter))


def _solution(
    name: str, method: Callable[..., Any], A: Any, b: Any, x0: Any, M: Any, ends: tuple[Value, Value, int | None]
) -> tuple[Any, Value]:
    """Return the solution by a method, and its number of steps if it did not converge, otherwise 0."""
    vector, unravel = _vector(name, b, A)
    like, dtype = unravel(vector), typeof(vector).dtype
    multiply, precondition = (
        _on_vectors(f"the result of {role} of {name}", _operator(f"{role} of {name}", f), like, unravel)
        for role, f in (("A", A), ("M", (lambda x: x) if M is None else M))
    )
    start = zeros_like(vector) if x0 is None else as_dtype(_flat(f"x0 of {name}", x0, like), dtype)
    tol, atol, maxiter = ends
    is_symmetric = name == "cg" and dtype.kind == "f"

    def solve(x: Value, M: Operator, A: Operator, b: Value) -> tuple[Value, Value]:
        limit = lax.max(tol * _norm(b), atol)
        x, r, count = method(A, b, Start(x, M, limit, 10 * vector.size if maxiter is None else maxiter))
        return x, where(_norm(r) <= limit, 0, lax.max(count, 1))

    def transpose_solve(A: Operator, b: Value) -> tuple[Value, Value]:
        M_transpose = precondition if M is None or is_symmetric else _transpose(precondition, b)
        return solve(zeros_like(b), M_transpose, A, b)

    x, info = custom_linear_solve(
        multiply, vector, partial(solve, start, precondition), transpose_solve, is_symmetric, has_aux=True
    )
    return unravel(x), info


# Vectors and operators


def _vector(name: str, b: Any, A: Any) -> tuple[Value, Callable[[Value], Any]]:
    """Return `b` as one vector of floats, and the inverse; a matrix A decides about the dtype, too."""
    leaves, tree = tree_flatten(b)
    dtype = float_dtype(name, *leaves, takes_complex=True) if leaves else np.dtype(float)
    if not callable(A) and hasattr(A, "dtype"):
        dtype = float_dtype(name, A, np.zeros((), dtype), takes_complex=True)
    return ravel_pytree(tree.unflatten([as_dtype(x, dtype) for x in leaves]))


def _operator(role: str, operator: Any) -> Operator:
    """Return the function of a matrix, or of anything with a product.  Raises: TypeError, ShapeError."""
    if callable(operator):
        return operator  # type: ignore[no-any-return]
    if not hasattr(operator, "__matmul__"):
        raise TypeError(f"{role}{place()} is {operator!r}. Give a matrix, or a function of a vector.")
    shape = np.shape(operator)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ShapeError(f"{role}{place()} has the shape {shape}. Give a square matrix, or a function of a vector.")
    return partial(matmul, operator)


def _on_vectors(role: str, operator: Operator, like: Any, unravel: Callable[[Value], Any]) -> Operator:
    """Return an operator on trees like `like` as one on vectors, which checks its results."""

    def on_vectors(x: Value) -> Value:
        out = _flat(role, operator(unravel(x)), like)
        if typeof(out).dtype != typeof(x).dtype:
            raise TypeError(
                f"{role}{place()} has the dtype {typeof(out).dtype} for a vector of {typeof(x).dtype}. Give b the "
                "dtype of the result, or keep the dtype of the vector."
            )
        return out

    return on_vectors


def _flat(role: str, tree: Any, like: Any) -> Value:
    """Return a tree of the structure and the shapes of `like` as a vector.  Raises: ShapeError."""
    structures = [tree_structure(x) for x in (tree, like)]
    shapes = [[np.shape(leaf) for leaf in tree_leaves(x)] for x in (tree, like)]
    for got, wanted, facts in ((*structures, "structure"), (*shapes, "shapes")):
        if got != wanted:
            raise ShapeError(f"{role}{place()} has the {facts} {got}, but b has {wanted}. Both must be equal.")
    return ravel_pytree(tree)[0]


def _transpose(operator: Operator, like: Value) -> Operator:
    """Return the transpose of a linear function of vectors, as an equation that autodiff makes a program of."""
    (program,), consts = join_constants([make_jaxpr(operator)(like)])
    return lambda x: linear_transpose_p.bind(*consts, x, jaxpr=program, num_res=len(consts))[0]


def _norm(x: Value) -> Value:
    return lax.sqrt(vdot(x, x).real)


def _over(x: Value, y: Value) -> Value:
    """Return x / y, and 0 where y is 0, so that a method that breaks down takes no more steps."""
    is_zero = y == 0
    return where(is_zero, 0.0, x / where(is_zero, 1.0, y))


# Methods: functions of A, b and a start, which return x, b - A x and the number of steps


def _conjugate_gradients(A: Operator, b: Value, start: Start) -> tuple[Value, Value, Value]:
    """Source: Saad (2003), Iterative methods for sparse linear systems, algorithm 9.1."""

    def goes_on(state: tuple[Value, ...]) -> Value:
        return (_norm(state[1]) > start.limit) & (state[4] < start.maxiter)

    def step(state: tuple[Value, ...]) -> tuple[Value, ...]:
        x, r, p, size, count = state
        image = A(p)
        length = _over(size, vdot(p, image))
        x, r = x + length * p, r - length * image
        z = start.M(r)
        new_size = vdot(r, z)
        return x, r, z + _over(new_size, size) * p, new_size, count + 1

    r = b - A(start.x)
    z = start.M(r)
    x, r, _, _, count = lax.while_loop(goes_on, step, (start.x, r, z, vdot(r, z), 0))
    return x, r, count


def _stabilized_gradients(A: Operator, b: Value, start: Start) -> tuple[Value, Value, Value]:
    """Source: Vorst (1992), Bi-CGSTAB, section 3, with the preconditioner to the right of A."""

    def goes_on(state: tuple[Value, ...]) -> Value:
        return (_norm(state[1]) > start.limit) & (state[4] < start.maxiter)

    def step(state: tuple[Value, ...]) -> tuple[Value, ...]:
        x, r, p, rho, count = state
        p_hat = start.M(p)
        v = A(p_hat)
        alpha = _over(rho, vdot(shadow, v))
        s = r - alpha * v
        s_hat = start.M(s)
        t = A(s_hat)
        omega = _over(vdot(t, s), vdot(t, t))
        x, r = x + alpha * p_hat + omega * s_hat, s - omega * t
        new_rho = vdot(shadow, r)
        return x, r, r + _over(new_rho * alpha, rho * omega) * (p - omega * v), new_rho, count + 1

    shadow = b - A(start.x)
    state = start.x, shadow, shadow, vdot(shadow, shadow), 0
    x, r, _, _, count = lax.while_loop(goes_on, step, state)
    return x, r, count


def _minimal_residuals(
    restart: int, is_incremental: bool, A: Operator, b: Value, start: Start
) -> tuple[Value, Value, Value]:
    """Source: Saad & Schultz (1986), GMRES, algorithm 4, with the preconditioner to the right of A."""
    size = min(restart, b.size)

    def goes_on(state: tuple[Value, ...]) -> Value:
        return (_norm(state[1]) > start.limit) & (state[2] < start.maxiter)

    def cycle(state: tuple[Value, ...]) -> tuple[Value, ...]:
        x, r, count = state
        limit = start.limit if is_incremental else 0.0
        x = x + start.M(_least_residual(lambda v: A(start.M(v)), r, size, limit))
        return x, b - A(x), count + 1

    x, r, count = lax.while_loop(goes_on, cycle, (start.x, b - A(start.x), 0))
    return x, r, count


def _least_residual(A: Operator, r: Value, size: int, limit: Value) -> Value:
    """Return the d of a Krylov space of dimension `size` with the least norm of r - A d.

    With the basis V, A V[:size] = H V: d = y V with the y of the least norm of e1 |r| - H y.  The vector `null` with
    null[0] = 1 is orthogonal to the columns of H, so this norm is |r| / |null|.
    """
    length, dtype = _norm(r), typeof(r).dtype
    basis = zeros((size + 1, r.size), dtype).at[0].set(_over(r, length))
    null = zeros(size + 1, dtype).at[0].set(1.0)

    def step(state: tuple[Value, ...]) -> tuple[Value, ...]:
        basis, H, null, _, k = state
        image = A(basis[k])
        w, h = image, zeros(size + 1, dtype)
        for _ in range(2):  # the second time removes the rounding of the first
            shares = basis.conj() @ w
            w, h = w - shares @ basis, h + shares
        is_new = _norm(w) > np.finfo(dtype).eps * _norm(image)
        rest = where(is_new, _norm(w), 0.0)
        null = null.at[k + 1].set(-_over(null @ h, rest))
        left = where(is_new, length / _norm(null), 0.0)
        return basis.at[k + 1].set(_over(w, rest)), H.at[:, k].set(h.at[k + 1].set(rest)), null, left, k + 1

    H = zeros((size + 1, size), dtype)
    state = lax.while_loop(lambda s: (s[3] > limit) & (s[4] < size), step, (basis, H, null, length, 0))
    y = lstsq(state[1], null * length)[0]
    return y @ state[0][:-1]
