"""Checking derivatives: against central differences, and forward mode against reverse mode.

One idea: a derivative is never compared with a formula.  `check_jvp` compares it with differences along a random
direction t, `check_vjp` by the adjoint law <u, J t> == <J^T u, t> for a random u; both take fixed seeds.

Complex numbers: the product is the real part of the sum of u t, without conjugation, as in transposition.  A
derivative is linear over the reals only, so it is checked along t and along i t, and for u and for i u.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from calque_autodiff.verbs.forward import jvp
from calque_autodiff.verbs.linearize import vjp
from calque_core import api_boundary, float0, typeof
from calque_core.engine import check_sequence
from calque_core.extend import check_callable, describe_function, is_float
from calque_pytree import keystr, tree_flatten, tree_flatten_with_path, tree_leaves, tree_map

Value = Any
Array = np.ndarray[Any, Any]

_STEPS = {2: 1e-1, 4: 1e-2, 8: 1e-5}  # by the bytes of a real number: about the cube root of the rounding error
_TOLERANCES = {2: 1e-1, 4: 1e-2, 8: 1e-6}
_MODES = ("fwd", "rev")


@api_boundary
def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = _MODES,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check the derivatives of `f` at `args`, up to `order`, in the modes "fwd" (jvp) and "rev" (vjp).

    An order above 1 checks the derivatives of derivatives, each mode over each.  Tolerances and the step `eps` of the
    differences follow from the narrowest dtype if they are None.  Integer arguments are constant.
    Raises: AssertionError that names the mode and the leaf; ValueError for an unknown mode or an order below 1.

    >>> from calque_autodiff import check_grads
    >>> from calque_core import lax
    >>> check_grads(lambda x: lax.sin(x) * x, (0.5,), order=2)
    """
    check_callable(f, "check_grads")
    check_sequence(f"check_grads of {describe_function(f)}", "args", args)
    if not isinstance(order, int) or order < 1 or not modes or not set(modes) <= set(_MODES):
        raise ValueError(
            f"check_grads got order={order!r} and modes={modes!r}. Use an order of 1 or more, and a list of 'fwd' "
            "and 'rev'."
        )
    options = {"atol": atol, "rtol": rtol, "eps": eps}
    for mode in modes:
        check, transform, derivative = _CHECKS[mode]
        check(f, partial(transform, f), args, **options)
        if order > 1:
            check_grads(partial(derivative, f), args, order - 1, modes, **options)


@api_boundary
def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check that `f_jvp(args, tangents)` returns the value of `f` and its derivative, by central differences.

    Raises: AssertionError.

    >>> from calque_autodiff import check_jvp, jvp
    >>> from calque_core import lax
    >>> from functools import partial
    >>> check_jvp(lax.exp, partial(jvp, lax.exp), (1.0,))
    """
    args = tuple(args)
    caller, value = f"the jvp of {describe_function(f)}", f(*args)
    atol, rtol = _tolerances((args, value), atol, rtol)
    step = eps or _STEPS[_real_size((args, value))]
    for dots in _directions(args, seed=0):
        slope = _differences(f, args, dots, step)
        out, out_dot = f_jvp(args, dots)
        _compare(f"the value in {caller}", value, out, atol, rtol)
        _compare(caller, slope, out_dot, atol, rtol)


@api_boundary
def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check that `f_vjp(*args)` returns the value of `f` and the transpose of its derivative.

    Raises: AssertionError.

    >>> from calque_autodiff import check_vjp, vjp
    >>> from calque_core import lax
    >>> from functools import partial
    >>> check_vjp(lax.exp, partial(vjp, lax.exp), (1.0,))
    """
    args = tuple(args)
    out, pull_back = f_vjp(*args)
    caller = f"the vjp of {describe_function(f)}"
    atol, rtol = _tolerances((args, out), atol, rtol)
    _compare(f"the value in {caller}", f(*args), out, atol, rtol)
    slope = partial(_differences, f, args, step=eps or _STEPS[_real_size((args, out))])
    slopes = [(dots, slope(dots)) for dots in _directions(args, seed=0)]
    for cts in _directions(out, seed=1):
        bars = pull_back(cts)
        for dots, out_dot in slopes:
            _compare_types(caller, dots, bars)
            if not _are_close(_product(cts, out_dot), _product(bars, dots), atol, rtol):
                raise AssertionError(_broken_law(caller, slope, (cts, bars, dots), atol, rtol))


def _forward_derivative(f: Callable[..., Any], *args: Any) -> list[Value]:
    """Return the derivative of `f` along a fixed direction, without integer outputs."""
    _, out_dot = jvp(f, args, _direction(args, seed=2))
    return [x for x in tree_leaves(out_dot) if typeof(x).dtype != float0]


def _reverse_derivative(f: Callable[..., Any], *args: Any) -> list[Value]:
    """Return the cotangents of the arguments of `f` for a fixed cotangent, without integer arguments."""
    out, pull_back = vjp(f, *args)
    return [x for x in tree_leaves(pull_back(_direction(out, seed=3))) if typeof(x).dtype != float0]


_CHECKS: dict[str, tuple[Callable[..., None], Callable[..., Any], Callable[..., list[Value]]]] = {
    "fwd": (check_jvp, jvp, _forward_derivative),
    "rev": (check_vjp, vjp, _reverse_derivative),
}


def _directions(tree: Any, seed: int) -> list[Any]:
    """Return a random direction; with complex leaves, also a second direction, with the complex leaves times i."""
    direction = _direction(tree, seed)
    turned = tree_map(lambda t: t * 1j if typeof(t).kind == "c" else t, direction)
    is_complex = any(typeof(t).kind == "c" for t in tree_leaves(direction))
    return [direction, turned] if is_complex else [direction]


def _direction(tree: Any, seed: int) -> Any:
    """Return normal random numbers of the types of the leaves; `float0` for integers."""
    rng = np.random.default_rng(seed)
    return tree_map(lambda x: _normal(rng, typeof(x)), tree)


def _normal(rng: np.random.Generator, aval: Any) -> Value:
    if not is_float(aval.dtype):
        return np.zeros(aval.shape, float0)
    real = rng.standard_normal(aval.shape)
    return np.asarray(real + 1j * rng.standard_normal(aval.shape) if aval.kind == "c" else real).astype(aval.dtype)[()]


def _differences(f: Callable[..., Any], args: Any, dots: Any, step: float) -> Any:
    """Return (f(args + step dots / 2) - f(args - step dots / 2)) / step; `float0` zeros for integer outputs.

    Raises: AssertionError where the differences are nan: nothing can be compared with them.
    """
    above, below = (f(*tree_map(partial(_move, step=sign * step), args, dots)) for sign in (0.5, -0.5))
    slope = tree_map(lambda hi, lo: _quotient(np.asarray(hi), np.asarray(lo), step), above, below)
    for path, leaf in tree_flatten_with_path(slope)[0]:
        if typeof(leaf).dtype != float0 and np.isnan(leaf).any():
            raise AssertionError(
                f"{describe_function(f)} has a result{keystr(path)} that is nan or infinite within {step / 2:g} of "
                "args, so differences cannot check its derivative. Choose args where its results are finite."
            )
    return slope


def _move(x: Value, x_dot: Value, *, step: float) -> Value:
    return x if np.asarray(x_dot).dtype == float0 else np.asarray(x + step * x_dot).astype(typeof(x).dtype)[()]


def _quotient(high: Array, low: Array, step: float) -> Array:
    if not is_float(high.dtype):
        return np.zeros(high.shape, float0)
    with np.errstate(invalid="ignore"):  # infinity less infinity: our error says more than NumPy's warning
        return ((high - low) / step).astype(high.dtype)


def _real_size(tree: Any) -> int:
    """Return the bytes of a real number of the narrowest floating leaf; 8 without one."""
    dtypes = [typeof(x).dtype for x in tree_leaves(tree)]
    return min((d.itemsize // (1 + (d.kind == "c")) for d in dtypes if is_float(d)), default=8)


def _tolerances(tree: Any, atol: float | None, rtol: float | None) -> tuple[float, float]:
    default = _TOLERANCES[_real_size(tree)]
    return default if atol is None else atol, default if rtol is None else rtol


def _compare(caller: str, expected: Any, actual: Any, atol: float, rtol: float) -> None:
    """Compare two trees leaf by leaf; `float0` leaves have no values to compare."""
    _compare_types(caller, expected, actual)
    for (path, expected_leaf), actual_leaf in zip(tree_flatten_with_path(expected)[0], tree_leaves(actual)):
        if typeof(expected_leaf).dtype != float0:
            _compare_values(f"{caller}{keystr(path)}", np.asarray(expected_leaf), np.asarray(actual_leaf), atol, rtol)


def _compare_values(caller: str, expected: Array, actual: Array, atol: float, rtol: float) -> None:
    is_close = np.asarray(np.isclose(actual, expected, rtol, atol, equal_nan=True))
    if not is_close.all():
        index = tuple(map(int, np.argwhere(~is_close)[0]))
        place = f" at {list(index)}" if index else ""
        raise AssertionError(
            f"{caller} gives {actual[index]}{place} where {expected[index]} is right, to atol={atol} and rtol={rtol}. "
            "Correct the derivative, or pass tolerances that fit the function."
        )


def _compare_types(caller: str, expected: Any, actual: Any) -> None:
    (expected_leaves, expected_tree), (actual_leaves, actual_tree) = tree_flatten(expected), tree_flatten(actual)
    if expected_tree != actual_tree:
        raise AssertionError(f"{caller} has the structure {actual_tree}, but {expected_tree} is right.")
    types = [tuple(str(typeof(x).strip_weak_type()) for x in leaves) for leaves in (expected_leaves, actual_leaves)]
    if types[0] != types[1]:
        raise AssertionError(f"{caller} has the types {types[1]}, but {types[0]} are right.")


def _are_close(forward: list[float], backward: list[float], atol: float, rtol: float) -> bool:
    """Compare two inner products, to a tolerance that grows with their terms."""
    return bool(np.isclose(sum(backward), sum(forward), rtol, atol * (1 + sum(map(abs, forward)))))


def _broken_law(caller: str, slope: Callable[[Any], Any], law: tuple[Any, Any, Any], atol: float, rtol: float) -> str:
    """Return the message for <u, J t> != <J^T u, t>, with the first argument that breaks the law by itself."""
    cts, bars, dots = law
    leaf, forward, backward = "", _product(cts, slope(dots)), _product(bars, dots)
    for path, alone in _one_leaf_each(dots):
        sides = _product(cts, slope(alone)), _product(bars, alone)
        if not _are_close(*sides, atol, rtol):
            leaf, (forward, backward) = f" by args{keystr(path)}", sides
            break
    return (
        f"{caller}{leaf} breaks the adjoint law: <J^T u, t> is {sum(backward)}, and <u, J t> by differences is "
        f"{sum(forward)}. Correct the derivative, or pass tolerances that fit the function."
    )


def _one_leaf_each(dots: Any) -> Iterator[tuple[Any, Any]]:
    """Return, for each leaf of a direction, its path and the direction with zeros in all other leaves."""
    paths, treedef = tree_flatten_with_path(dots)
    zeros = [np.zeros_like(x) for _, x in paths]
    for i, (path, dot) in enumerate(paths):
        yield path, treedef.unflatten([*zeros[:i], dot, *zeros[i + 1 :]])


def _product(u: Any, t: Any) -> list[float]:
    """Return the terms of the real inner product, one per leaf."""
    pairs = zip(map(np.asarray, tree_leaves(u)), map(np.asarray, tree_leaves(t)))
    return [float(np.sum(a * b).real) for a, b in pairs if a.dtype != float0]
