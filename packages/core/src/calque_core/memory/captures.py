"""The user's arrays that a trace refers to: copied or held, so that later writes change no number of the trace.

One idea: memory that is small, or that NumPy does not own, is copied where an operation uses it, and the operation
computes with the copy; the next use takes the same copy if the bytes are still equal.  A larger array is made read-only
until the trace ends, so that a write fails loudly.  Read-only memory is neither copied nor held.

Which arrays are held is known to the whole process.  To give an array back is safe to repeat, and safe to interrupt: an
array is writable again as soon as no `Holdings` name it, whoever looks next.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np

from calque_core.frames.source import where
from calque_core.types.avals import typeof

Array = np.ndarray[Any, Any]

COPIED_BYTES = 64 << 10  # an array up to this size is copied where it is used
FOREIGN_BYTES = 64 << 20  # so is memory of another library, up to this size

_lock = threading.RLock()  # a finalizer may come while this thread holds it
_held: dict[int, _Held] = {}  # by id; the arrays are kept alive, so ids stay unique


class Copied(bytearray):
    """The memory of a copy that a trace keeps."""

    __slots__ = ()


class _Held(NamedTuple):
    array: Array
    holders: set[int]  # ids of the `Holdings` that name it


class _Copy(NamedTuple):
    source: weakref.ref[Array]
    array: Array
    data: Copied


NOTHING: Mapping[int, Array] = MappingProxyType({})
_same_bytes = bytearray.__eq__  # 0.6 us for 32 KiB; NotImplemented for an array that is not contiguous


def chain(array: Any) -> Iterator[Array]:
    """Return `array` and the NumPy arrays that it views, its owner last."""
    while isinstance(array, np.ndarray):
        yield array
        array = array.base


def is_held(array: Array) -> bool:
    """Tell whether `array` is read-only because a trace holds it, and will be writable again."""
    return id(array) in _held


def is_writable(x: Any) -> bool:
    """Tell whether the memory of a value can be written to, now or when a trace ends, through any array that it views.

    >>> x = np.zeros(3)
    >>> is_writable(np.broadcast_to(x, (2, 3))), is_writable(1.0)
    (True, False)
    """
    return any(part.flags.writeable or id(part) in _held for part in chain(x))


class Holdings(dict[int, Array]):
    """The large arrays, by id, that one trace makes read-only.

    The finalizer gives back what an interrupt kept `release` from giving back.  Python loses an interrupt that comes
    inside a finalizer, so only traces that hold an array have an object with one.
    """

    __slots__ = ("__weakref__",)

    def add(self, x: Array) -> None:
        """Make an array, and the arrays that own its memory, read-only until `release`."""
        with _lock:
            for part in chain(x):
                key = id(part)
                if part.flags.writeable and key not in _held:
                    _held[key] = _Held(part, set())
                if key in _held:
                    # `release` finds the array from the first line on, whichever is the last that runs.
                    self[key] = part
                    _held[key].holders.add(id(self))
                    part.flags.writeable = False

    def release(self) -> None:
        """Give the arrays back to their owners, writable as before.  A second call is harmless."""
        with _lock:
            for key in self:
                if key in _held:
                    _held[key].holders.discard(id(self))
            _give_back()
            self.clear()

    def __del__(self) -> None:
        self.release()


class Captures:
    """The arrays that one trace has copied or holds.

    `outer` is a trace around it, whose copies it shares: an inner trace that is made anew in each step of a loop copies
    a constant once.

    >>> x = np.zeros(3)
    >>> with Captures() as captures:
    ...     copy = captures.use(x)
    ...     x[0] = 1.0
    >>> copy, captures.use(x) is copy
    (array([0., 0., 0.]), False)
    """

    __slots__ = ("__weakref__", "copies", "held", "places")

    def __init__(self, outer: Any = None) -> None:
        while outer is not None and outer.captures is None:
            outer = outer.parent
        around: Captures | None = None if outer is None else outer.captures
        self.copies: dict[int, _Copy] = {} if around is None else around.copies
        self.places: dict[Any, _Copy] = {} if around is None else around.places
        self.held: Mapping[int, Array] = NOTHING

    def use(self, x: Array) -> Array:
        """Return the array to compute with in place of the user's: `x`, if nobody can write to it, or a copy.

        Raises: ValueError for memory of another library that is too large to copy.
        """
        known = self.copies.get(id(x))
        if known is not None and known.source() is x and _same_bytes(known.data, x) is True:
            return known.array
        if id(x) in self.held or not is_writable(x):
            return x
        is_foreign = not next(part for part in chain(x) if not isinstance(part.base, np.ndarray)).flags.owndata
        if is_foreign or x.nbytes <= COPIED_BYTES:
            return self._copy(x)
        self._hold(x)
        return x

    def _copy(self, x: Array) -> Array:
        """Return a read-only copy; views that are made anew in each step of a loop are known by their place."""
        if x.nbytes > FOREIGN_BYTES:
            raise ValueError(
                f"a writable array of type {typeof(x)} was used{where()}, {x.nbytes >> 20} MiB of memory that NumPy "
                "does not own and that may change unseen. Copy it first: numpy.array(x)."
            )
        data = Copied(x.tobytes())
        place = (x.__array_interface__["data"][0], x.strides, x.shape, x.dtype)
        known = self.places.get(place)
        if known is not None and known.data == data:
            array, memory = known.array, known.data
        else:
            memory, array = data, np.ndarray(x.shape, x.dtype, data)
            array.flags.writeable = False
        self.copies[id(x)] = self.places[place] = _Copy(weakref.ref(x), array, memory)
        return array

    def _hold(self, x: Array) -> None:
        if not isinstance(self.held, Holdings):
            self.held = Holdings()
        self.held.add(x)

    def release(self) -> None:
        """Give the arrays back to their owners, writable as before.  Nothing is raised, and a second call is harmless.

        An interrupt is raised when all arrays are given back.
        """
        held = self.held
        if isinstance(held, Holdings):
            try:
                held.release()
            except BaseException:
                held.release()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _give_back() -> None:
    """Make all arrays writable that nobody holds any more; a view of a held one waits, as NumPy lets it follow only."""
    free = [array for array, holders in _held.values() if not holders]
    for array in sorted(free, key=lambda a: sum(1 for _ in chain(a))):
        if any(id(part) in _held for part in chain(array.base)):
            continue
        with suppress(ValueError):  # its owner may have been made read-only for good
            array.flags.writeable = True
        del _held[id(array)]


def frozen(x: Any) -> Any:
    """Return `x` if nobody can ever change it, otherwise a read-only copy: what a kept trace may refer to."""
    if not is_writable(x):
        return x
    copy = x.copy()
    copy.flags.writeable = False
    return copy
