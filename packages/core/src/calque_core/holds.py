"""Arrays that a trace still needs, protected from being overwritten by their owner.

One idea: a trace that captures a writable NumPy array makes it read-only until the trace ends, so that an in-place
write fails loudly instead of changing a pending derivative; what outlives the trace is copied once, at its end.  A
constant matrix used in a loop of 1,000 steps is then neither copied 1,000 times nor trusted blindly.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

_lock = threading.Lock()
_held: dict[int, list[Any]] = {}  # id -> [array, holders, views that wait for it]; kept alive, so ids stay unique


def _chain(array: Any) -> list[np.ndarray[Any, Any]]:
    """Return `array` and the arrays whose memory it views."""
    chain = []
    while isinstance(array, np.ndarray):
        chain.append(array)
        array = array.base
    return chain


def is_held(array: np.ndarray[Any, Any]) -> bool:
    """Tell whether `array` is read-only because a trace holds it, and will be writable again."""
    return id(array) in _held


class Holds:
    """The arrays that one trace holds read-only."""

    __slots__ = ("arrays", "released")

    def __init__(self) -> None:
        self.arrays: dict[int, np.ndarray[Any, Any]] = {}
        self.released: list[np.ndarray[Any, Any]] = []

    def add(self, array: np.ndarray[Any, Any]) -> None:
        """Make a writable array, and the arrays that own its memory, read-only until `release`."""
        if id(array) in self.arrays or not (array.flags.writeable or array.base is not None or id(array) in _held):
            return
        for part in _chain(array):
            key = id(part)
            with _lock:
                entry = _held.get(key)
                if key in self.arrays or (entry is None and not part.flags.writeable):
                    continue
                # Nothing is called from here on: an interrupt comes before all of it or after.
                if entry is None:
                    entry = _held[key] = [part, 0, []]
                entry[1] += 1
                part.flags.writeable = False
                self.arrays[key] = part

    def covers(self, array: np.ndarray[Any, Any]) -> bool:
        """Tell whether the memory of `array` can be written again once the holds are released."""
        return array.flags.writeable or any(id(part) in _held for part in _chain(array))

    def release(self) -> None:
        """Give the arrays back to their owners, writable as before."""
        if not self.arrays:
            return
        try:
            self._give_all_back()
        except KeyboardInterrupt:  # nobody else would ever give back what is left
            self._give_all_back()
            raise

    def _give_all_back(self) -> None:
        with _lock:
            for key in list(self.arrays):
                array = self.arrays[key]
                del self.arrays[key]
                _held[key][1] -= 1
                self.released.append(array)
            for array in sorted(self.released, key=lambda a: len(_chain(a))):
                _give_back(array)
            self.released = []


def _give_back(array: np.ndarray[Any, Any]) -> None:
    """Make an array writable that nobody holds; a view of a held one waits, as NumPy lets it follow its owner only."""
    entry = _held.get(id(array))
    if entry is None or entry[1]:
        return
    owner = _held.get(id(array.base))
    if owner is not None:
        owner[2].append(array)
        return
    del _held[id(array)]
    array.flags.writeable = True
    for view in entry[2]:
        _give_back(view)


def frozen(array: Any, holds: Holds) -> Any:
    """Return `array` if nobody can change it, otherwise a read-only copy: what a kept trace may refer to."""
    if type(array) is not np.ndarray or not holds.covers(array):
        return array
    copy = array.copy()
    copy.flags.writeable = False
    return copy
