"""Minima of functions of a vector, by the names of `scipy.optimize`: `minimize`.

One idea: a quasi-Newton method is a memory of past steps, which gives a direction.  The search keeps no derivative; at
the minimum the gradient is zero, and this equation says how the minimum moves with the values that the function uses.

Read next: `line_search.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from calque.line_search import Point, wolfe_step
from calque_autodiff import closure_convert, custom_rules, grad, jvp, value_and_grad
from calque_core import ShapeError, api_boundary, finfo, typeof
from calque_core.engine.numpy_functions import as_dtype
from calque_core.extend import check_callable
from calque_core.extend import where as place
from calque_core.lax import scan, stop_gradient, while_loop
from calque_numpy import asarray, eye, inf, maximum, outer, roll, where, zeros
from calque_numpy.linalg import norm as norm_of
from calque_numpy.scipy.floats import float_dtype
from calque_numpy.scipy.krylov import cg

__all__ = ["OptimizeResults", "minimize"]

Value = Any
Function = Callable[..., Any]


class OptimizeResults(NamedTuple):
    """The result of `minimize`: a point, and the end of the search.

    `status` is 0 at a point of small gradient, 1 after the most steps, 3 if a step lowered neither value nor gradient,
    and 4 where steps lower the value too little; `success` is True for 0 and 4.  `hess_inv` is the approximation of the
    inverse Hessian, None for L-BFGS.

    >>> from calque.scipy.optimize import OptimizeResults
    >>> OptimizeResults._fields
    ('x', 'success', 'status', 'fun', 'jac', 'hess_inv', 'nfev', 'njev', 'nit')
    """

    x: Value
    success: Value
    status: Value
    fun: Value
    jac: Value
    hess_inv: Value
    nfev: Value
    njev: Value
    nit: Value


@api_boundary
def minimize(
    fun: Function,
    x0: Value,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """Return a minimum of `fun(x, *args)` near `x0`, as an `OptimizeResults`.

    The method is "BFGS", or "l-bfgs-experimental-do-not-rely-on-this", which keeps the last `maxcor` steps (10) in
    place of a matrix.  The search ends when the norm of the gradient, of order `norm` (inf), is below `gtol` (1e-5);
    after `maxiter` steps (200 for each element of x0); or when L-BFGS lowers the value by less than `ftol` of it.
    `line_search_maxiter`, or `maxls`, bounds the calls of a step (20).  These are the options; `tol` gives `gtol` and
    `ftol`.
    `x` and `fun` have derivatives by the values that `fun` uses, from the equation grad(fun) = 0, where the Hessian is
    positive definite; the other fields have none, and there is none by x0.
    Shapes: x0 [n], fun(x) [] -> x [n], hess_inv [n, n].  Dtype: of x0; integers become floats.
    Raises: ShapeError if x0 is no vector; TypeError if x0 is complex, `args` no tuple, or the value of `fun` no real
    scalar; ValueError for an unknown method or option.

    >>> import numpy as np
    >>> from calque.scipy.optimize import minimize
    >>> result = minimize(lambda x, a: np.sum((x - a) ** 4), np.zeros(2), (np.array([1.0, 2.0]),), method="BFGS")
    >>> bool(result.success), result.x.round(1)
    (True, array([1., 2.]))
    """
    check_callable(fun, "minimize")
    x0, settings = _arguments(x0, args, method, tol, options or {})
    objective, values = closure_convert(lambda x: fun(x, *args), x0)
    constants = stop_gradient(values)
    state = _descent(lambda x: value_and_grad(objective)(x, *constants), stop_gradient(x0), settings)
    x = _at_minimum(objective)(state.x, *values)
    is_success = (state.status == 0) | (state.status == _SMALL_PROGRESS)
    return OptimizeResults(
        x,
        is_success,
        state.status,
        objective(x, *values),
        state.gradient,
        state.memory if settings.memory is _MATRIX else None,
        state.calls,
        state.calls,
        state.count,
    )


# Arguments


class _Settings(NamedTuple):
    memory: _Memory
    maxiter: int
    gtol: Value
    norm: Value
    most_calls: int
    ftol: Value


def _arguments(
    x0: Value, args: Any, method: str, tol: float | None, options: Mapping[str, Any]
) -> tuple[Value, _Settings]:
    """Return the start and the settings, checked."""
    x0 = as_dtype(asarray(x0), float_dtype("minimize", x0))
    if typeof(x0).ndim != 1:
        raise ShapeError(f"minimize{place()}: x0 is {typeof(x0)}. Give a vector; ravel_pytree makes one of a tree.")
    if not isinstance(args, tuple):
        raise TypeError(f"minimize{place()}: args is {args!r}. Give a tuple, such as (value,).")
    if method.lower() not in _METHODS:
        raise ValueError(f"minimize{place()} has no method {method!r}. Use one of {', '.join(map(repr, _METHODS))}.")
    memory, names = _METHODS[method.lower()]
    unknown = sorted(options.keys() - set(names))
    if unknown:
        raise ValueError(
            f"minimize{place()}: {method} has no option {unknown[0]!r}. Its options are {', '.join(names)}."
        )
    gtol = 1e-5 if tol is None else tol
    settings = _Settings(
        memory(options),
        200 * x0.size if options.get("maxiter") is None else options["maxiter"],
        options.get("gtol", gtol),
        options.get("norm", inf),
        options.get("line_search_maxiter", options.get("maxls", 20)),
        options.get("ftol", (2.2e-9 if tol is None else tol) if "ftol" in names else -inf),
    )
    return x0, settings


# The search


class _State(NamedTuple):
    x: Value
    value: Value
    gradient: Value
    memory: Any
    status: Value
    count: Value
    calls: Value


_RUNNING, _CONVERGED, _MOST_STEPS, _NO_STEP, _SMALL_PROGRESS = -1, 0, 1, 3, 4


def _descent(fun: Function, x: Value, settings: _Settings) -> _State:
    """Return the state after the last step of a quasi-Newton method.

    Source: Nocedal & Wright (2006), algorithms 6.1 and 7.5.
    """
    memory, dtype = settings.memory, typeof(x).dtype

    def evaluate(x: Value) -> tuple[Value, Value]:
        value, gradient = fun(x)
        return as_dtype(value, dtype), gradient

    def status_of(before: Point, after: Point, count: Value) -> Value:
        size = maximum(maximum(abs(before.value), abs(after.value)), 1.0)
        norms = [norm_of(point.gradient, settings.norm) for point in (before, after)]
        helps = (after.value < before.value) | (norms[1] < norms[0])  # not so for NaN
        status = where(count >= settings.maxiter, _MOST_STEPS, _RUNNING)
        status = where(before.value - after.value < settings.ftol * size, _SMALL_PROGRESS, status)
        status = where(helps, status, _NO_STEP)
        return where(norms[1] < settings.gtol, _CONVERGED, status)

    def step(state: _State) -> _State:
        direction = -memory.times(state.memory, state.gradient)
        length = maximum(norm_of(state.gradient), 1.0)
        first = where(state.count == 0, 1.0 / length, 1.0)
        start = Point(zeros((), dtype), state.value, state.gradient @ direction, state.gradient)
        end, calls = wolfe_step(evaluate, state.x, start, direction, first, settings.most_calls)
        s, y, count = end.step * direction, end.gradient - state.gradient, state.count + 1
        kept = memory.updated(state.memory, s, y, state.count == 0)
        return _State(
            state.x + s, end.value, end.gradient, kept, status_of(start, end, count), count, state.calls + calls
        )

    value, gradient = evaluate(x)
    status = where(settings.maxiter <= 0, _MOST_STEPS, _RUNNING)
    status = where(norm_of(gradient, settings.norm) < settings.gtol, _CONVERGED, status)
    start = _State(x, value, gradient, memory.start(x), status, 0, 1)
    return _State(*while_loop(lambda state: state.status == _RUNNING, step, start))


# Memories: approximations of the inverse Hessian


class _Memory(NamedTuple):
    """An approximation of the inverse Hessian H: at the start, H times a gradient, H after a step with s and y."""

    start: Function
    times: Function
    updated: Function


def _matrix_updated(H: Value, s: Value, y: Value, is_first: Value) -> Value:
    """Source: Nocedal & Wright (2006), equations 6.17 and 6.20."""
    curvature = s @ y
    is_positive = curvature > 0.0
    rho = 1.0 / where(is_positive, curvature, 1.0)
    H_scaled = where(is_first, curvature / where(is_positive, y @ y, 1.0), 1.0) * H
    Hy = H_scaled @ y
    update = rho * ((1.0 + rho * (y @ Hy)) * outer(s, s) - outer(s, Hy) - outer(Hy, s))
    return where(is_positive, H_scaled + update, H)


_MATRIX = _Memory(lambda x: eye(x.size, dtype=typeof(x).dtype), lambda H, g: H @ g, _matrix_updated)


def _last_steps(options: Mapping[str, Any]) -> _Memory:
    """Return the memory of `maxcor` steps, the last one at the end; a rho of 0 marks an empty place."""
    size = options.get("maxcor", 10)

    def start(x: Value) -> Value:
        dtype = typeof(x).dtype
        return zeros((size, x.size), dtype), zeros((size, x.size), dtype), zeros(size, dtype)

    def times(memory: Value, g: Value) -> Value:
        """Source: Nocedal & Wright (2006), algorithm 7.4 and equation 7.20."""
        _, Y, rhos = memory

        def back(q: Value, row: Value) -> tuple[Value, Value]:
            s, y, rho = row
            alpha = rho * (s @ q)
            return q - alpha * y, alpha

        def forth(r: Value, row: Value) -> tuple[Value, None]:
            (s, y, rho), alpha = row
            return r + (alpha - rho * (y @ r)) * s, None

        q, alphas = scan(back, g, memory, reverse=True)
        scale = rhos[-1] * (Y[-1] @ Y[-1])
        return scan(forth, q / where(scale > 0.0, scale, 1.0), (memory, alphas))[0]

    def updated(memory: Value, s: Value, y: Value, is_first: Value) -> Value:
        curvature = s @ y
        is_positive = curvature > 0.0
        row = s, y, 1.0 / where(is_positive, curvature, 1.0)
        return tuple(where(is_positive, roll(old, -1, 0).at[-1].set(new), old) for old, new in zip(memory, row))

    return _Memory(start, times, updated)


_METHODS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "bfgs": (lambda options: _MATRIX, ("maxiter", "gtol", "norm", "line_search_maxiter")),
    "l-bfgs-experimental-do-not-rely-on-this": (_last_steps, ("maxiter", "gtol", "norm", "maxls", "ftol", "maxcor")),
}


# The derivative


def _at_minimum(objective: Function) -> Function:
    """Return the function (x, *values) -> x whose derivative is that of a minimum.

    Where the gradient g(x, v) is 0, g_x x_dot + g_v v_dot = 0.
    """
    at_minimum = custom_rules(lambda x, *values: x)
    gradient = grad(objective)

    @at_minimum.def_jvp
    def moved(primals: tuple[Value, ...], tangents: tuple[Value, ...]) -> tuple[Value, Value]:
        x, *values = primals
        _, g_dot = jvp(lambda *values: gradient(x, *values), tuple(values), tuple(tangents[1:]))
        hessian = lambda v: jvp(lambda x: gradient(x, *values), (x,), (v,))[1]
        return x, cg(hessian, -g_dot, tol=10 * float(finfo(typeof(x).dtype).eps))[0]

    return at_minimum
