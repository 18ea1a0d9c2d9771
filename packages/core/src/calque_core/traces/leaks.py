"""Tracers that outlive their trace, and the objects that hold them, while `config.checking_leaks` is on.

One idea: when a trace has closed, the garbage collector tells which objects refer to its tracers, which objects refer
to these, and so on, until a chain reaches a root: a global or a class of the user, or a variable of a running function.
Variables of calque's frames, and of the frame that ran the trace, are no roots.

Read next: `trace.py`, whose `tracing` calls `check_leaks`.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from types import CellType, FrameType, FunctionType
from typing import Any, NamedTuple

from calque_core.context import entered, here
from calque_core.errors import UnexpectedTracerError
from calque_core.frames.source import at_place, is_internal_file
from calque_core.traces.trace import Trace
from calque_core.traces.tracer import Tracer

_MAX_OBJECTS = 256  # a chain has a few objects; a search costs this many comparisons per reference
_MACHINERY = frozenset((entered.leave.__code__.co_filename, Trace.close.__code__.co_filename, __file__))


class _Variable(NamedTuple):
    """A variable of a running function of the user."""

    name: str
    place: str


def check_leaks(trace: Trace) -> None:
    """Check that no object of the user refers to a tracer of a closed trace.

    Raises: UnexpectedTracerError with the place that made the tracer, and the path to it.
    """
    if not here().settings.checking_leaks:
        return
    variables, hidden = _user_variables(sys._getframe(1))
    if _referrer_chain(trace, variables, hidden):
        gc.collect()  # removes classes that only refer to themselves; rarely needed, and slow
        chain = _referrer_chain(trace, variables, hidden)
        if not chain:
            return
        place = at_place(chain[-1].origin)
        raise UnexpectedTracerError(
            f"a traced value of type {chain[-1].aval}{f', made{place},' if place else ''} outlives "
            f"{trace.describe()}: it is {_path(chain, variables)}. Return values from a transformed function instead "
            "of storing them in a global, an attribute, a cache or a closure."
        )


def _user_variables(frame: FrameType | None) -> tuple[dict[int, _Variable], set[int]]:
    """Return the variables of running functions by the ids of their values, and the ids of the dicts that hold them.

    The variables of the frame that ran the trace are left out.
    """
    while frame is not None and frame.f_code.co_filename in _MACHINERY:
        frame = frame.f_back
    variables: dict[int, _Variable] = {}
    hidden: set[int] = set()
    while frame is not None and (frame := frame.f_back) is not None:
        values = frame.f_locals  # in older Pythons a dict that the frame keeps
        if values is not frame.f_globals and not is_internal_file(frame.f_code.co_filename):
            hidden.add(id(values))
            for name, value in values.items():
                variables.setdefault(id(value), _Variable(name, at_place((frame.f_code, frame.f_lasti))))
    return variables, hidden


def _referrer_chain(trace: Trace, variables: dict[int, _Variable], hidden: set[int]) -> list[Any]:
    """Return the objects from a root to a tracer, each referring to the next; [] if no root reaches a tracer."""
    objects: list[Any] = [x for x in gc.get_objects() if isinstance(x, Tracer) and x._trace is trace]
    child: list[int] = [-1] * len(objects)  # of each object, the number of the object it refers to
    number_of = {id(x): number for number, x in enumerate(objects)}
    hidden = {*hidden, id(objects)}
    start = 0
    while start < len(objects) < _MAX_OBJECTS:
        level = range(start, len(objects))
        root = next((n for n in level if _is_root(objects[n], variables)), None)
        if root is not None:
            return list(_walk(root, objects, child))
        asked = tuple(objects[start:])  # since 3.13 the tuple of the arguments is among the referrers
        hidden.add(id(asked))
        for holder in gc.get_referrers(*asked):  # one pass over all objects of the process
            if id(holder) in hidden or id(holder) in number_of or isinstance(holder, (FrameType, Trace)):
                continue
            referents = gc.get_referents(holder)
            number_of[id(holder)] = len(objects)
            child.append(next(number_of[id(x)] for x in referents if number_of.get(id(x), -1) in level))
            objects.append(holder)
        start = level.stop
    return []


def _is_root(x: Any, variables: dict[int, _Variable]) -> bool:
    if _is_globals(x):
        return not is_internal_file(str(x.get("__file__", "")))
    return id(x) in variables or isinstance(x, type)


def _is_globals(x: Any) -> bool:
    return type(x) is dict and "__name__" in x and "__builtins__" in x


def _walk(number: int, objects: Sequence[Any], child: Sequence[int]) -> Iterator[Any]:
    while number >= 0:
        yield objects[number]
        number = child[number]


def _path(chain: Sequence[Any], variables: dict[int, _Variable]) -> str:
    """Return 'KEPT[0].x, where KEPT is a global of train', for messages."""
    chain = [x for above, x in zip((None, *chain), chain) if not _is_namespace(above, x)]
    first, *inner = chain
    steps = "".join(map(_step, chain, inner, [*inner[1:], None]))
    if id(first) in variables:
        name, place = variables[id(first)]
        return f"{name}{steps}, where {name} is a variable{place}"
    if _is_globals(first):
        name = next(key for key, value in first.items() if value is inner[0])
        steps = "".join(map(_step, inner, inner[1:], [*inner[2:], None]))
        return f"{name}{steps}, where {name} is a global of {first['__name__']}"
    return f"{first.__name__}{steps}, where {first.__name__} is a class of {first.__module__}"


def _is_namespace(holder: Any, held: Any) -> bool:
    """Tell whether `held` is the dict of the attributes of `holder`."""
    if type(held) is not dict:
        return False
    is_of_class = isinstance(holder, type) and held.keys() == vars(holder).keys()
    return is_of_class or held is getattr(holder, "__dict__", None)


def _step(holder: Any, held: Any, below: Any) -> str:
    """Return the Python expression that leads from `holder` to `held`, which refers to `below`."""
    closure = holder.__closure__ if isinstance(holder, FunctionType) else None
    if closure is not None and closure is held:
        return next(f" (closure {n})" for n, cell in zip(holder.__code__.co_freevars, closure) if cell is below)
    if isinstance(holder, CellType) or (type(holder) is tuple and isinstance(held, CellType)):
        return ""
    if isinstance(holder, dict):
        return next((f"[{key!r}]" for key, value in holder.items() if value is held), "[...]")
    if isinstance(holder, (list, tuple)):
        return next(f"[{i}]" for i, value in enumerate(holder) if value is held)
    names = [*getattr(holder, "__dict__", ()), *(n for c in type(holder).__mro__ for n in getattr(c, "__slots__", ()))]
    return next((f".{n}" for n in names if getattr(holder, n, None) is held), f" -> {type(held).__name__}")
