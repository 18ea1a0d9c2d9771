"""Loops that count: a `scan` between known bounds, a `while` between traced ones.

One idea: the counter is a part of the carry, which the user's function gets and does not return.

Read next: `while_loop.py` and `scan.py`, the loops beneath.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from calque_core.calls.api_util import call, check_callable, describe_value
from calque_core.frames.names import named_after
from calque_core.frames.tracebacks import api_boundary
from calque_core.ops.calls.loops import check_carry, loop_name
from calque_core.ops.calls.scan import run_scan, steps_at_once
from calque_core.ops.calls.while_loop import run_unbounded
from calque_core.ops.elementwise.convert import convert_element_type
from calque_core.ops.elementwise.operands import promoted_type
from calque_core.ops.elementwise.weakness import strong
from calque_core.traces.tracer import is_tracer
from calque_core.types.avals import is_array_like, typeof
from calque_core.types.dtypes import kind_of
from calque_core.types.limits import iinfo
from calque_pytree import tree_structure

Value = Any


@api_boundary
def fori_loop(
    lower: Value,
    upper: Value,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """Run `value = body_fun(i, value)` for i from `lower` up to, and without, `upper`; return the last value.

    If both bounds are known when this is traced, the loop is a `scan`, and reverse mode keeps every step; otherwise it
    is a `while_loop`.  `unroll` is that of `scan`; it needs known bounds.
    Dtype of i: that of the bounds.  Between Python integers of 64 bits it is a Python integer to other dtypes, as in a
    loop over `range`: `x * i` has the dtype of an array `x` of floats.
    Raises: TypeError if a bound is not an integer scalar, or the value changes its type; ValueError if the dtype of one
    bound cannot hold the other, or for `unroll` beside a traced bound.

    >>> from calque_core.lax import fori_loop
    >>> fori_loop(0, 4, lambda i, total: total + i, 0)
    6
    """
    check_callable(body_fun, "fori_loop")
    caller = loop_name("fori_loop", body_fun)
    dtype = _counter_dtype(caller, lower, upper)
    # In 32 bits a weak counter would have 64 where the program is evaluated outside of the block with that setting.
    is_weak = dtype == np.int64 and typeof(lower).weak_type and typeof(upper).weak_type
    if not is_tracer(lower) and not is_tracer(upper):
        count = max(int(upper) - int(lower), 0)
        unroll = 1 if unroll is None else steps_at_once(caller, unroll, count)
        first = int(lower) if is_weak else dtype.type(int(lower))
        return _scan_counting(caller, first, count, body_fun, init_val, unroll)
    if unroll is not None:
        raise ValueError(
            f"{caller} got unroll={unroll!r} beside a traced bound, so the number of steps is not known. Give integers "
            "as bounds, or leave unroll out."
        )
    start = lower if is_weak else convert_element_type(strong(lower), dtype)
    is_fit = is_tracer(upper) and typeof(upper).dtype == dtype  # compared alone, it may be weak beside a strong counter
    stop = upper if is_weak or is_fit else convert_element_type(strong(upper), dtype)

    @named_after(body_fun)  # so that messages name the user's function
    def step(state: CountedTo) -> CountedTo:
        return CountedTo(state.i + 1, state.end, _count_on(caller, body_fun, state.i, state.value))

    below = lambda state: state.i < state.end
    return run_unbounded(caller, below, step, CountedTo(start, stop, init_val)).value


def _counter_dtype(caller: str, lower: Value, upper: Value) -> np.dtype[Any]:
    """Return the common dtype of the bounds; a strong bound decides over a weak one."""
    for name, bound in (("lower", lower), ("upper", upper)):
        if not is_array_like(bound) or typeof(bound).shape or typeof(bound).kind not in "iu":
            raise TypeError(f"{caller} got {describe_value(bound)} as its bound {name!r}. Give an integer scalar.")
    avals = [typeof(lower), typeof(upper)]
    dtype = promoted_type([aval for aval in avals if not aval.weak_type] or avals)
    if kind_of(dtype) not in "iu":
        types = " and ".join(str(aval) for aval in avals)
        raise TypeError(f"{caller} got bounds of types {types}, but no integer dtype holds both. Convert one of them.")
    for bound in (lower, upper):
        if type(bound) is int and not iinfo(dtype).min <= bound <= iinfo(dtype).max:
            raise ValueError(
                f"{caller} got the bound {bound}, which does not fit {dtype}, the dtype of the other bound. Convert "
                "the other bound to a wider dtype."
            )
    return dtype


class Counted(NamedTuple):
    """The state of a loop that counts: a path in a message says which part the user's function has changed."""

    i: Value
    value: Any


class CountedTo(NamedTuple):
    """The state of a loop that counts to a bound that is not known."""

    i: Value
    end: Value
    value: Any


def _count_on(caller: str, body_fun: Callable[[Any, Any], Any], i: Value, value: Any) -> Any:
    """Return the value after a step.  Raises: TypeError if it has another structure."""
    after = call(body_fun, "fori_loop", i, value)
    check_carry(caller, body_fun, tree_structure(value), tree_structure(after))
    return after


def _scan_counting(
    caller: str, start: Value, count: int, body_fun: Callable[[Any, Any], Any], init_val: Any, unroll: int
) -> Any:
    @named_after(body_fun)
    def step(state: Counted, _: None) -> tuple[Counted, None]:
        return Counted(state.i + 1, _count_on(caller, body_fun, *state)), None

    (_, value), _ = run_scan(caller, step, Counted(start, init_val), None, count, False, unroll)
    return value
