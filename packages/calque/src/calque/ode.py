"""Ordinary differential equations: `odeint`, with steps that adapt.

One idea: the steps choose themselves, a choice has no derivative, and between the ends of a step the solution is a
polynomial.  Forward mode differentiates the steps.  Reverse mode solves the adjoint equation, backward in time, by
`odeint` itself, so that derivatives have derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from calque_autodiff import closure_convert, custom_vjp, vjp
from calque_batching import vmap
from calque_core import ShapeError, api_boundary, finfo, ravel_pytree, typeof
from calque_core.engine import known, unknown
from calque_core.engine.numpy_functions import as_dtype
from calque_core.extend import check_callable, describe_function, is_float
from calque_core.extend import where as place
from calque_core.lax import scan, stop_gradient, while_loop
from calque_numpy import asarray, clip, concatenate, isfinite, maximum, mean, minimum, sqrt, stack, where, zeros_like
from calque_numpy.scipy.floats import float_dtype
from calque_pytree import tree_flatten, tree_map

__all__ = ["odeint"]

Value = Any
Velocity = Callable[..., Value]  # (y, t, *operands) -> dy/dt, for a vector y

# Source: Dormand & Prince (1980), table 2.
STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
# Source: Hairer, Norsett & Wanner (1993), Solving ordinary differential equations I, section II.6.
DENSE = (
    -12715105075 / 11282082432,
    0.0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
)


class Control(NamedTuple):
    """The bounds of steps: the tolerances, the most steps between two times, and the longest step."""

    rtol: Value
    atol: Value
    mxstep: Value
    hmax: Value


@api_boundary
def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Value,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = np.inf,
    hmax: float = np.inf,
) -> Any:
    """Return the solution of dy/dt = func(y, t, *args) with y(t[0]) = y0 at the times `t`, which grow.

    The method of Dormand and Prince of orders 5 and 4: the error of a step is at most `atol + rtol * abs(y)`, in the
    mean of squares, and a step at most `hmax`.  The solution is NaN from where `mxstep` steps did not reach the next
    time, or steps became too small.  Stiff equations need many steps.
    Forward mode differentiates the steps.  Reverse mode solves the adjoint equation with the same tolerances, by y0, t,
    the arguments, and the values that `func` closes over.
    Shapes: y0 a tree of arrays [*s], t [n] -> a tree of arrays [n, *s].  Dtype: of y0, integers become floats; times
    are rounded to its precision.
    Raises: ShapeError if t is no vector; ValueError if known times decrease; TypeError if `func` does not return the
    structure, the shapes and the dtypes of y0.

    >>> import numpy as np
    >>> from calque import ode
    >>> ode.odeint(lambda y, t: -2.0 * t * y, 1.0, np.array([0.0, 1.0, 2.0])).round(6)
    array([1.      , 0.367879, 0.018316])
    """
    check_callable(func, "odeint")
    caller = f"odeint of {describe_function(func)}{place()}"
    vector, unravel = ravel_pytree(tree_map(_as_float, y0))
    precision = finfo(typeof(vector).dtype)
    t = as_dtype(_times(caller, t), precision.dtype)
    converted, values = closure_convert(func, unravel(vector), t[0], *args)
    operands, arguments = tree_flatten((args, tuple(values)))

    def velocity(y: Value, t: Value, *operands: Value) -> Value:
        args, values = arguments.unflatten(operands)
        slope, back = ravel_pytree(converted(unravel(y), t, *args, *values))
        if back != unravel or typeof(slope).dtype != typeof(y).dtype:
            returned, expected = (tree_map(typeof, f(x)) for f, x in ((back, slope), (unravel, y)))
            raise TypeError(
                f"{caller}: the function returned {returned} for the state {expected}. Return the types of the state, "
                "or start with the types that it returns."
            )
        return slope

    control = Control(max(float(rtol), 4 * float(precision.eps)), atol, mxstep, hmax)
    return vmap(unravel)(_with_adjoint(velocity, control)(vector, t, *operands))


def _as_float(x: Value) -> Value:
    return as_dtype(x, float_dtype("odeint", x, takes_complex=True))


def _times(caller: str, t: Value) -> Value:
    """Return the times as a vector of floats.  Raises: ShapeError, ValueError."""
    t = as_dtype(asarray(t), float_dtype("odeint", t))
    if typeof(t).ndim != 1 or not t.size:
        raise ShapeError(f"{caller}: the times are {typeof(t)}. Give a vector of times, the first for y0.")
    value = known(t)
    if value is not unknown and bool((value[1:] < value[:-1]).any()):
        i = int((value[1:] < value[:-1]).argmax())
        raise ValueError(
            f"{caller}: after the time {value[i]} comes {value[i + 1]}. Give times that grow; to go back, integrate "
            "in -t."
        )
    return t


# The derivative


def _with_adjoint(velocity: Velocity, control: Control) -> Callable[..., Value]:
    """Return the function (y, t, *operands) -> path [n, size] with its adjoint as its reverse mode.

    With a = d(loss)/dy along the path, da/dt = -a df/dy, and the operands' part is the integral of a df/dp.
    Source: Chen et al. (2018), Neural ordinary differential equations, appendix B.
    """

    @custom_vjp
    def path(y: Value, t: Value, *operands: Value) -> Value:
        return _path(partial(_with_operands, velocity, operands), y, t, control)

    def forward(y: Value, t: Value, *operands: Value) -> tuple[Value, Any]:
        ys = _path(partial(_with_operands, velocity, operands), y, t, control)
        return ys, (ys, t, operands)

    def backward(kept: Any, ys_bar: Value) -> tuple[Value, ...]:
        ys, t, operands = kept
        places = [i for i, x in enumerate(operands) if is_float(typeof(x).dtype)]

        def reverse(state: Any, s: Value, *operands: Value) -> Any:  # in the time s = -t, which grows backward
            def velocity_of(y: Value, *floats: Value) -> Value:
                chosen = dict(zip(places, floats))
                return velocity(y, -s, *(chosen.get(i, x) for i, x in enumerate(operands)))

            slope, pull = vjp(velocity_of, state[0], *(operands[i] for i in places))
            y_bar, *bars = pull(state[1])
            return -slope, y_bar, bars

        def interval(carry: Any, row: Any) -> tuple[Any, Value]:
            y, y_bar, start, end = row
            a, bars = carry[0] + y_bar, carry[1]
            ends = odeint(reverse, (y, a, bars), stack([-end, -start]), *operands, **control._asdict())
            _, a_start, bars = tree_map(lambda x: x[-1], ends)
            return (a_start, bars), (y_bar @ velocity(y, end, *operands)).real

        first = zeros_like(ys[0]), [zeros_like(operands[i]) for i in places]
        (a, bars), t_bars = scan(interval, first, (ys[1:], ys_bar[1:], t[:-1], t[1:]), reverse=True)
        start_bar = -(a @ velocity(ys[0], t[0], *operands)).real
        bars_by_place = dict(zip(places, bars))
        t_bar = as_dtype(concatenate([start_bar[None], t_bars]), typeof(t).dtype)
        return a + ys_bar[0], t_bar, *(bars_by_place.get(i) for i in range(len(operands)))

    path.defvjp(forward, backward, jvp="fwd")
    return path


def _with_operands(velocity: Velocity, operands: Sequence[Value], y: Value, t: Value) -> Value:
    return velocity(y, t, *operands)


# The steps


class _Step(NamedTuple):
    """The last accepted step: its start, its length, and the coefficients of the polynomial between its ends."""

    start: Value
    length: Value
    coefficients: Value

    def at(self, t: Value) -> Value:
        """Return the solution at a time.  Source: Hairer, Norsett & Wanner (1993), section II.6."""
        x = where(self.length > 0.0, t - self.start, 0.0) / where(self.length > 0.0, self.length, 1.0)
        c = self.coefficients
        return c[0] + x * (c[1] + (1.0 - x) * (c[2] + x * (c[3] + (1.0 - x) * c[4])))


def _path(velocity: Velocity, y: Value, t: Value, control: Control) -> Value:
    """Return the solution at the times t.  Shapes: y [k], t [n] -> [n, k]."""
    slope = velocity(y, t[0])
    known_y, known_slope, known_t = stop_gradient((y, slope, t[0]))
    first = minimum(_first_length(velocity, known_y, known_slope, known_t, control), control.hmax)

    def interval(carry: tuple[Value, ...], end: Value) -> tuple[Any, Value]:
        def goes_on(state: tuple[Value, ...]) -> Value:
            _, _, t, h, _, count = state
            return (t < end) & (t + h > t) & (count < control.mxstep)

        def step(state: tuple[Value, ...]) -> tuple[Value, ...]:
            y, slope, t, h, last, count = state
            new, new_slope, error, taken = _dormand_prince(velocity, y, slope, t, h)
            size = _norm(stop_gradient(error), stop_gradient(maximum(abs(y), abs(new))), control)
            good = size <= 1.0
            grown = minimum(stop_gradient(h) * _growth(size), control.hmax)
            y, slope, t = where(good, new, y), where(good, new_slope, slope), where(good, t + h, t)
            return y, slope, t, grown, tree_map(partial(where, good), taken, last), count + 1

        *state, last, _ = while_loop(goes_on, step, (*carry, 0))
        is_reached = (state[2] >= end) & (last.start <= end)
        return (*state, last), where(is_reached, last.at(end), np.nan)

    last = _Step(t[0], zeros_like(t[0]), stack([y, *[zeros_like(y)] * 4]))
    _, later = scan(interval, (y, slope, t[0], first, last), t[1:])
    return concatenate([y[None], later])


def _dormand_prince(
    velocity: Velocity, y: Value, slope: Value, t: Value, h: Value
) -> tuple[Value, Value, Value, _Step]:
    """Return y and its slope after a step of length h, the estimate of the error, and the step."""
    slopes = [slope]

    def combined(weights: Sequence[float]) -> Value:
        return h * sum(w * k for w, k in zip(weights, slopes) if w)

    for row in STAGES:
        new = y + combined(row)
        slopes.append(velocity(new, t + h * sum(row)))
    rise = new - y
    bend = h * slope - rise
    coefficients = stack([y, rise, bend, rise - h * slopes[-1] - bend, combined(DENSE)])
    return new, slopes[-1], combined(ERROR), _Step(t, h, coefficients)


def _norm(x: Value, size: Value, control: Control) -> Value:
    """Return the root of the mean of squares of x in units of the tolerance for values of this size."""
    return sqrt(mean((abs(x) / (control.atol + control.rtol * abs(size))) ** 2))


def _growth(size: Value) -> Value:
    """Return the ratio of the next step to this one, for an error of this size in units of the tolerance."""
    safe = where(isfinite(size), maximum(size, 1e-10), 1.0)
    return where(isfinite(size), clip(0.9 * safe**-0.2, 0.2, 10.0), 0.2)


def _first_length(velocity: Velocity, y: Value, slope: Value, t: Value, control: Control) -> Value:
    """Return the length of the first step.  Source: Hairer, Norsett & Wanner (1993), section II.4."""
    norms = _norm(y, y, control), _norm(slope, y, control)
    is_small = (norms[0] < 1e-5) | (norms[1] < 1e-5)
    guess = where(is_small, 1e-6, 0.01 * norms[0] / where(is_small, 1.0, norms[1]))
    bend = _norm(velocity(y + guess * slope, t + guess) - slope, y, control) / guess
    steepest = maximum(norms[1], bend)
    is_flat = steepest <= 1e-15
    length = where(is_flat, maximum(1e-6, guess * 1e-3), (0.01 / where(is_flat, 1.0, steepest)) ** 0.2)
    return as_dtype(minimum(100.0 * guess, length), typeof(t).dtype)
