"""Sets of columns, for the elements of arrays: a number stands for a set, and an array of numbers for an array of sets.

One idea: an operation that moves elements moves the numbers, as it is; only a union makes new sets.  So elements with
equal sets share one, and a matrix product of dense operands stores few sets.

Read next: `detection.py`, which carries arrays of numbers through a program; `rules/`, what an operation does to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Indices = NDArray[np.int64]
EMPTY = 0  # the number of the empty set


class Sets:
    """A growing list of sets of columns.  Set 0 is empty.  A set is sorted, and is never changed.

    >>> import numpy as np
    >>> from calque_sparse import Sets
    >>> sets = Sets(3)
    >>> ids = sets.singletons(np.arange(3))
    >>> both = sets.union(ids[:2], ids[1:])
    >>> sets.members(both)
    (array([2, 2]), array([0, 1, 1, 2]))
    """

    def __init__(self, num_columns: int) -> None:
        self.num_columns, self.count = num_columns, 1
        self._offsets, self._columns = np.zeros(16, np.int64), np.zeros(16, np.int64)

    def append(self, sizes: Indices, columns: Indices) -> Ids:
        """Store sets of these sizes, whose members are concatenated in `columns`; return their numbers."""
        first, end = self.count, int(self._offsets[self.count])
        self.count += len(sizes)
        self._offsets = _grown(self._offsets, self.count + 1)
        self._columns = _grown(self._columns, end + len(columns))
        self._offsets[first + 1 : self.count + 1] = end + np.cumsum(sizes)
        self._columns[end : end + len(columns)] = columns
        return np.arange(first, self.count, dtype=np.int32)

    def singletons(self, columns: Any) -> Ids:
        """Return new sets of one column each.  Shapes: columns [n] -> [n]."""
        return self.append(np.ones(len(columns), np.int64), columns)

    def sizes(self, ids: Any) -> Indices:
        """Return the number of members of each set."""
        return np.asarray(self._offsets[np.add(ids, 1)] - self._offsets[ids])

    def members(self, ids: Any) -> tuple[Indices, Indices]:
        """Return the sizes of sets and their members, concatenated.  Shapes: ids [n] -> [n], [sum of sizes]."""
        sizes = self.sizes(ids)
        return sizes, self._columns[np.repeat(self._offsets[ids], sizes) + counted(sizes)]

    def union(self, *operands: Any) -> Ids:
        """Return the unions of sets at equal places.  Shapes: all broadcast."""
        out, *others = np.broadcast_arrays(*operands)
        for ids in others:
            differ = (out != ids) & (out != EMPTY) & (ids != EMPTY)
            out = np.where(out == EMPTY, ids, out)
            if differ.any():
                stride = np.int64(self.count)
                keys, places = np.unique(out[differ] * stride + ids[differ], return_inverse=True)
                groups = np.tile(np.arange(len(keys)), 2)
                out[differ] = self.merge(groups, np.concatenate([keys // stride, keys % stride]), len(keys))[places]
        return np.asarray(out, np.int32)

    def union_over(self, ids: Any, axes: Sequence[int], *, keepdims: bool = False) -> Ids:
        """Return the unions of all sets along some axes."""
        moved = np.moveaxis(ids, axes, range(len(axes)))
        kept = moved.shape[len(axes) :]
        flat = moved.reshape(-1, int(np.prod(kept, dtype=int)))
        groups = np.broadcast_to(np.arange(flat.shape[1]), flat.shape)
        out = self.merge(groups.ravel(), flat.ravel(), flat.shape[1]).reshape(kept)
        return np.expand_dims(out, tuple(axes)) if keepdims else out

    def everything(self, *arrays: Any) -> Any:
        """Return the union of all sets in some arrays, one number."""
        return self.union(*[self.union_over(np.ravel(ids), [0]) for ids in arrays])[()]

    def merge(self, groups: Any, ids: Any, count: int) -> Ids:
        """Return the union of the sets of each group, of `count` groups.  One that equals a member is that member."""
        present, stride = ids != EMPTY, np.int64(self.count)
        keys = sorted_distinct(groups[present] * stride + ids[present])
        groups, ids = keys // stride, keys % stride
        sizes = self.sizes(ids)
        order = np.lexsort((sizes, groups))
        out = np.zeros(count, np.int32)
        out[groups] = ids[order]  # the last of several numbers stays: the largest set of a group
        several = np.flatnonzero(np.bincount(groups, minlength=count) > 1)
        if len(several):
            chosen = np.isin(groups, several)
            counts, columns = self._distinct_members(
                np.searchsorted(several, groups[chosen]), ids[chosen], len(several)
            )
            is_new = counts > self.sizes(out[several])
            out[several[is_new]] = self.append(counts[is_new], columns[np.repeat(is_new, counts)])
        return out

    def _distinct_members(self, groups: Indices, ids: Indices, count: int) -> tuple[Any, Any]:
        """Return the size of the union of each group, and the members, sorted."""
        (sizes, columns), width = self.members(ids), self.num_columns
        if count * width <= 16 * len(columns):  # marking takes less than sorting
            marks = np.zeros((count, width), bool)
            marks.ravel()[np.repeat(groups * width, sizes) + columns] = True
            return marks.sum(1), np.nonzero(marks)[1]
        keys = sorted_distinct(np.repeat(groups * width, sizes) + columns)
        return np.bincount(keys // width, minlength=count), keys % width


def counted(sizes: Indices) -> Indices:
    """Return the concatenated ranges `0 .. size`.

    >>> counted(np.array([1, 3]))
    array([0, 0, 1, 2])
    """
    ends = np.cumsum(sizes)
    return np.subtract(np.arange(int(sizes.sum())), np.repeat(ends - sizes, sizes))


def _grown(array: Indices, size: int) -> Indices:
    """Return the array, or a larger one with the same beginning."""
    return array if size <= len(array) else np.concatenate([array, np.zeros(2 * size - len(array), np.int64)])


def sorted_distinct(keys: Any) -> Indices:
    """Return the sorted distinct keys: `np.unique` takes ten times as long for many integers."""
    keys = np.sort(keys)
    return np.asarray(keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]])
