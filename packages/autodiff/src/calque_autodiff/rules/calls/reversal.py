"""Running a loop backwards from a fixed number of saved states, for the reverse mode of `while`.

One idea: the state before the last step is computed again from the nearest saved state; on the way, free places of the
stack take states for earlier steps.  The distance of saved states follows from the numbers of remaining steps and free
places: the number of places is part of the program, the number of steps is a value.

Source: Griewank (1992), Achieving logarithmic growth of temporal and spatial complexity in reverse automatic
differentiation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from calque_core import typeof
from calque_core.engine import scalar_dtype
from calque_core.lax import (
    broadcast,
    convert_element_type,
    div,
    dynamic_index_in_dim,
    dynamic_update_index_in_dim,
    eq,
    max,
    min,
    rem,
    select,
    while_loop,
)
from calque_pytree import tree_map

Value = Any
State = Sequence[Value]
Step = Callable[[State], State]
Undo = Callable[[State, State], State]


class SavedState(NamedTuple):
    """A state, its number, and how often later steps may still be computed; the stack is one of these, of rows."""

    start: Value
    turns: Value
    state: State


def run_backwards(count: Value, options: dict[str, Any], step: Step, undo: Undo, state: State, bars: State) -> State:
    """Return `undo(state, undo(step(state), undo(step(step(state)), ... bars)))`, of `count` states.

    At most `places` of them, which are `options["checkpoints"]`, are saved at a time.  Each step is computed at most
    `fewest_turns(count, places)` times.
    """
    places = options["checkpoints"]
    if not state:
        return _repeat(count, options, lambda bars: undo([], bars), bars)
    first = SavedState(convert_element_type(0, typeof(count).dtype), fewest_turns(count, places), list(state))
    stack = tree_map(lambda x: broadcast(x, (places + 1,)), first)  # the last place takes states that are not saved

    def back(carry: Any) -> Any:
        end, top, stack, bars = carry
        top, stack, state = _rewound(end, places, step, top, stack)
        is_done = eq(_read(stack.start, top), end - 1)
        return end - 1, top - convert_element_type(is_done, np.int32), stack, list(undo(state, bars))

    start = (count, np.int32(0), stack, list(bars))
    *_, bars = while_loop(lambda carry: carry[0] > 0, back, start, **options)
    return bars


def _rewound(end: Value, places: int, step: Step, top: Value, stack: SavedState) -> tuple[Value, SavedState, State]:
    """Return the last of `end` states, computed from the stack's state at `top`, and the stack with states added."""

    def advance(carry: tuple[Value, SavedState, SavedState]) -> tuple[Value, SavedState, SavedState]:
        top, stack, (start, turns, state) = carry
        ahead = split(end - start, turns, places - convert_element_type(top, typeof(start).dtype))
        entry = SavedState(start + ahead, turns, _repeat(ahead, {"checkpoints": places}, step, state))
        stack = stack._replace(turns=_write(stack.turns, top, turns - 1))
        is_kept = end - entry.start > 1
        top = top + convert_element_type(is_kept, np.int32)
        return top, _write(stack, select(is_kept, top, np.int32(places)), entry), entry

    carry = (top, stack, _read(stack, top))
    top, stack, entry = while_loop(lambda carry: end - carry[2].start > 1, advance, carry, checkpoints=places)
    return top, stack, entry.state


def _repeat(count: Value, options: dict[str, Any], step: Step, state: State) -> State:
    """Return the state after `count` steps."""
    start = (convert_element_type(0, typeof(count).dtype), list(state))
    _, state = while_loop(lambda c: c[0] < count, lambda c: (c[0] + 1, list(step(c[1]))), start, **options)
    return state


# The schedule


def fewest_turns(count: Value, places: int) -> Value:
    """Return how often a step has to be computed: the least r with C(places + r, r) >= count.

    >>> [int(fewest_turns(np.int64(n), 16)) for n in (1, 17, 18, 153, 154, 969)]
    [0, 1, 2, 2, 3, 3]
    """

    def more(state: tuple[Value, Value, Value]) -> tuple[Value, Value, Value]:
        turns, floating, reach = state
        return turns + 1, floating + 1.0, reach * (places + 1.0 + floating) / (floating + 1.0)

    start = (convert_element_type(0, typeof(count).dtype), 0.0, 1.0)
    goal = convert_element_type(count, scalar_dtype(float))
    turns, _, _ = while_loop(lambda state: state[2] < goal, more, start, checkpoints=places)
    return turns


def split(count: Value, turns: Value, places: Value) -> Value:
    """Return the number of steps, of `count`, after which to save the next state; `places` include the first state's.

    The steps are divided as turns to places.  If they are C(places + turns, turns) at most, the steps before the state
    are C(places + turns - 1, turns - 1) at most, and have one turn less; the steps after it are
    C(places + turns - 1, turns) at most, and have one place less.
    """
    shares = places + turns
    ahead = div(count, shares) * turns + div(rem(count, shares) * turns + shares - 1, shares)
    return select(eq(places, 1), count - 1, max(min(ahead, count - 1), convert_element_type(1, typeof(count).dtype)))


# The stack


def _read(stack: Any, i: Value) -> Any:
    return tree_map(lambda rows: dynamic_index_in_dim(rows, i, keepdims=False, allow_negative_indices=False), stack)


def _write(stack: Any, i: Value, entry: Any) -> Any:
    return tree_map(
        lambda rows, x: dynamic_update_index_in_dim(rows, x, i, 0, allow_negative_indices=False), stack, entry
    )
