"""The user's arrays that a trace refers to: copied or held, so that later writes change no number of the trace.

One idea: memory that is small, or that NumPy does not own, is copied where an operation uses it, and the operation
computes with the copy; the next use takes the same copy if the bytes are still equal.  A larger array is made read-only
until the trace ends, so that a write fails loudly.  Read-only memory is neither copied nor held.  Its user can still
set the shape, the dtype and the strides of an array, also of a read-only one, so the operation computes with a view.

One table of the process lists the held arrays.  Release is safe to repeat, and safe to interrupt: the next release of
any trace makes all arrays writable that are in no `Holdings`.
"""

from __future__ import annotations

import weakref
from _thread import RLock
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.lib.stride_tricks import as_strided

from calque_core.frames.source import where
from calque_core.record import Record
from calque_core.types.avals import typeof

Array = np.ndarray[Any, Any]

COPIED_BYTES = 64 << 10  # an array up to this size is copied where it is used
FOREIGN_BYTES = 64 << 20  # memory of another library is copied up to this size

_lock = RLock()  # a finalizer may run while this thread holds the lock
held_arrays: dict[int, _Held] = {}  # by id; the arrays are kept alive, so ids stay unique


class Copied(bytearray):
    """The memory of a copy that a trace keeps."""

    __slots__ = ()


class _Held(Record):
    array: Array
    holders: set[int]  # ids of the `Holdings` that name it


class _Copy(NamedTuple):
    source: weakref.ref[Array]
    array: Array
    data: Copied


class _View(NamedTuple):
    source: weakref.ref[Array]
    array: weakref.ref[Array]  # weak, since a trace may outlive the large arrays that a trace inside it used


_new_copy: Any = partial(tuple.__new__, _Copy)  # runs in C only: 0.2 us, where the class takes 0.5
NOTHING: Mapping[int, Array] = MappingProxyType({})
_same_bytes = bytearray.__eq__  # 0.6 us for 32 KiB; NotImplemented for an array that is not contiguous
# The classes of objects between an array and the array that it views: `as_strided`'s, also for `sliding_window_view`.
_Strided: Any = type(as_strided(np.empty(0)).base)
BETWEEN = frozenset((_Strided, memoryview))


def behind(base: Any) -> Any:
    """Return the object whose memory an object of a class in `BETWEEN` shows; any other object unchanged.

    >>> x = np.arange(4.0)
    >>> behind(np.lib.stride_tricks.sliding_window_view(x, 2).base) is x
    True
    """
    while type(base) in BETWEEN:
        base = base.base if type(base) is _Strided else base.obj
    return base


def view_chain(array: Any) -> Iterator[Array]:
    """Return `array` and the NumPy arrays that it views, its owner last."""
    while isinstance(array, np.ndarray):
        yield array
        array = behind(array.base)


def is_held(array: Array) -> bool:
    """Tell whether `array` is read-only only while a trace holds it."""
    return id(array) in held_arrays


def is_writable(x: Any) -> bool:
    """Tell whether the memory of a value can be written to, now or when a trace ends, through any array that it views.

    >>> x = np.zeros(3)
    >>> is_writable(np.broadcast_to(x, (2, 3))), is_writable(1.0)
    (True, False)
    """
    while isinstance(x, np.ndarray):  # a loop over `view_chain` takes three times as long
        if x.flags.writeable or id(x) in held_arrays:
            return True
        x = x.base
    return type(x) in BETWEEN and is_writable(behind(x))


class Holdings(dict[int, Array]):
    """The large arrays, by id, that one trace makes read-only.

    The finalizer releases arrays if an interrupt stopped `release`.  Python loses an interrupt that falls into a
    finalizer, so only traces that hold an array have an object with a finalizer.
    """

    __slots__ = ("__weakref__",)

    def add(self, x: Array) -> None:
        """Make an array, and the arrays that own its memory, read-only until `release`."""
        with _lock:
            for array in view_chain(x):
                key = id(array)
                if array.flags.writeable and key not in held_arrays:
                    held_arrays[key] = _Held(array, set())
                if key in held_arrays:
                    # After the first line, `release` frees the array, also if an interrupt skips the next lines.
                    self[key] = array
                    held_arrays[key].holders.add(id(self))
                    array.flags.writeable = False

    def release(self) -> None:
        """Make the arrays writable as before.  A second call is harmless."""
        with _lock:
            for key in self:
                if key in held_arrays:
                    held_arrays[key].holders.discard(id(self))
            _make_writable()
            self.clear()

    def __del__(self) -> None:
        self.release()


class Captures:
    """The arrays that one trace has copied or holds.

    A trace shares the copies of its `outer` trace: so a constant is copied once, although each step of a loop makes a
    new inner trace.

    >>> import numpy as np
    >>> from calque_core.engine import Captures
    >>> x = np.zeros(3)
    >>> with Captures() as captures:
    ...     copy = captures.use(x)
    ...     x[0] = 1.0
    >>> copy, captures.use(x) is copy
    (array([0., 0., 0.]), False)
    """

    __slots__ = ("__weakref__", "_views", "copies", "held", "places")

    def __init__(self, outer: Any = None) -> None:
        while outer is not None and outer.captures is None:
            outer = outer.parent
        shared: Captures | None = None if outer is None else outer.captures
        self.copies: dict[int, _Copy] = {} if shared is None else shared.copies
        self.places: dict[Any, _Copy] = {} if shared is None else shared.places
        self._views: dict[int, _View] = {} if shared is None else shared._views
        self.held: Mapping[int, Array] = NOTHING

    def use(self, x: Array) -> Array:
        """Return the array that the operation computes with: a copy of `x`, or a view if `x` is read-only or now held.

        Raises: ValueError for memory of another library that is too large to copy.
        """
        copy = self.copies.get(id(x))
        if copy is not None and copy.source() is x and _same_bytes(copy.data, x) is True:
            array = copy.array
            if array.shape == x.shape and array.dtype == x.dtype:  # they can be set in place
                return array
        if x.nbytes <= COPIED_BYTES and x.flags.writeable:  # nearly always; 1 us sooner
            return self._copy(x)
        if id(x) not in self.held and is_writable(x):
            if x.nbytes <= COPIED_BYTES or not _is_holdable(x):
                return self._copy(x)
            self._hold(x)
        return self._view(x)

    def _view(self, x: Array) -> Array:
        """Return a view that only traces know, the same one as long as nobody changes what `x` shows of its memory."""
        known = self._views.get(id(x))
        view = None if known is None else known.array()
        if view is x or isinstance(x.base, Copied):  # from a trace inside this one
            return x
        if view is None or known.source() is not x or _shown(view) != _shown(x):  # type: ignore[union-attr]
            view = x.view(np.ndarray)
            self._views[id(x)] = self._views[id(view)] = _View(weakref.ref(x), weakref.ref(view))
        return view

    def _copy(self, x: Array) -> Array:
        """Return a read-only copy.  Equal views of one memory, made anew in each step of a loop, share a copy."""
        if x.nbytes > FOREIGN_BYTES:
            raise ValueError(
                f"a writable array of type {typeof(x)} was used{where()}. Its {x.nbytes >> 20} MiB of memory do not "
                "belong to NumPy, so a later change would go unnoticed. Copy it first: numpy.array(x)."
            )
        data = Copied(x.tobytes())
        if x.base is None and x.flags.c_contiguous:
            array = np.ndarray(x.shape, x.dtype, data)
            array.setflags(write=False)
            self.copies[id(x)] = _new_copy((weakref.ref(x), array, data))
            return array
        base = x if x.base is None else x.base
        place: tuple[Any, ...] = (id(base), x.strides, x.shape, x.dtype)  # the address takes 1 us more
        copy = self.places.get(place)
        if copy is not None and copy.data != data:  # maybe a view of another part of the same memory
            place = (x.__array_interface__["data"][0], *place)
            copy = self.places.get(place)
        if copy is not None and copy.data == data:
            array, memory = copy.array, copy.data
        else:
            memory, array = data, np.ndarray(x.shape, x.dtype, data)
            array.setflags(write=False)
        self.copies[id(x)] = self.places[place] = _new_copy((weakref.ref(x), array, memory))
        return array

    def _hold(self, x: Array) -> None:
        if not isinstance(self.held, Holdings):
            self.held = Holdings()
        self.held.add(x)
        known = self._views.get(id(x))
        source = None if known is None or known.array() is not x else known.source()
        if source is not None:  # NumPy leaves it out of the chain of its view
            self.held.add(source)

    def release(self) -> None:
        """Make the held arrays writable as before.  It raises nothing, and a second call is harmless.

        An interrupt is raised after all arrays are released.
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
        if self.held is not NOTHING:
            self.release()


def _shown(x: Array) -> Any:
    """Return what a view shows of its memory; NumPy lets a user set it in place."""
    return x.shape, x.strides, x.dtype


def _is_holdable(x: Array) -> bool:
    """Tell whether NumPy owns the memory, and only arrays of NumPy's can write to it."""
    *views, owner = view_chain(x)
    return owner.flags.owndata and all(isinstance(v.base, np.ndarray) or not v.flags.writeable for v in views)


def _make_writable() -> None:
    """Make writable all arrays that no trace holds; a view of a held array must wait, by NumPy's rule."""
    free = [array for array, holders in held_arrays.values() if not holders]
    for array in sorted(free, key=lambda a: sum(1 for _ in view_chain(a))):
        if any(id(view) in held_arrays for view in view_chain(behind(array.base))):
            continue
        with suppress(ValueError):  # the user may have made its owner read-only
            array.flags.writeable = True
        del held_arrays[id(array)]


def as_read_only(x: Any) -> Any:
    """Return `x` if nobody can ever change it, otherwise a read-only copy, for a trace that is kept."""
    if not is_writable(x):
        return x
    copy = x.copy()
    copy.flags.writeable = False
    return copy
