"""Arrays of keys: the class of the keys that `key` and `split` return.

One idea: a key counts as one element, though it is two words.  The class is a pytree node over its words, uint32 with a
last axis of 2, so that transformations, loops and branches take keys; indexing and NumPy's functions that only move
elements act on the axes of the keys, by acting on each of the two words alone.

Read next: `keys.py`, the functions that make keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from calque_core import lax, typeof
from calque_core.extend import where
from calque_pytree import register_pytree_node, tree_map

Value = Any

_MOVING = frozenset((
    np.stack, np.concatenate, np.vstack, np.hstack, np.dstack, np.column_stack, np.split, np.array_split, np.where,
    np.reshape, np.ravel, np.squeeze, np.expand_dims, np.transpose, np.swapaxes, np.moveaxis, np.broadcast_to, np.flip,
    np.roll, np.tile, np.repeat, np.take,
))  # fmt: skip


class KeyArray:
    """Random keys; `shape`, `ndim`, `size` and indices count keys, not their words.

    `numpy.stack`, `concatenate`, `where`, `reshape` and other functions that move elements take keys.

    >>> from calque_numpy.random import key, split
    >>> keys = split(key(42), 3)
    >>> keys.shape, keys[0].shape
    ((3,), ())
    """

    __slots__ = ("words",)
    __hash__ = None  # type: ignore[assignment]  # as of arrays: equality is elementwise
    __array_ufunc__ = None  # no arithmetic

    def __init__(self, words: Value) -> None:
        self.words = words

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes of keys."""
        return typeof(self.words).shape[:-1]  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """The number of axes of keys."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of keys."""
        return typeof(self.words).size // 2  # type: ignore[no-any-return]

    @property
    def T(self) -> KeyArray:
        """The keys with their axes in reverse order."""
        return self.transpose()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"len{where()} of a single key. Make several with split(key, num).")
        return self.shape[0]

    def __iter__(self) -> Iterator[KeyArray]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> KeyArray:
        each = index if isinstance(index, tuple) else (index,)
        has_ellipsis = any(x is Ellipsis for x in each)
        return KeyArray(self.words[(*each, slice(None)) if has_ellipsis else (*each, Ellipsis, slice(None))])

    def __eq__(self, other: object) -> Value:
        """Return, for each key, whether both words are equal."""
        return lax.reduce_and(self.words == other.words, -1) if isinstance(other, KeyArray) else NotImplemented

    def __ne__(self, other: object) -> Value:
        return lax.reduce_or(self.words != other.words, -1) if isinstance(other, KeyArray) else NotImplemented

    def __repr__(self) -> str:
        return f"KeyArray({self.words!r})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError(
            f"numpy.asarray{where()} of keys, which are no numbers. Use random.key_data(keys), their words."
        )

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        if func not in _MOVING:
            raise TypeError(
                f"numpy.{func.__name__}{where()} of keys: only functions that move elements take keys, such as "
                "numpy.stack. Use random.key_data(keys), their words."
            )
        return _of_each_word(func, *args, **kwargs)

    def reshape(self, *shape: Any) -> KeyArray:
        """Return the keys in another shape, in row-major order."""
        return self._moved(lambda x: x.reshape(*shape))

    def ravel(self) -> KeyArray:
        """Return the keys along one axis."""
        return self.reshape(-1)

    def flatten(self) -> KeyArray:
        """Return the keys along one axis."""
        return self.reshape(-1)

    def squeeze(self, axis: Any = None) -> KeyArray:
        """Return the keys without axes of size 1."""
        return self._moved(lambda x: x.squeeze(axis))

    def transpose(self, *axes: Any) -> KeyArray:
        """Return the keys with their axes in another order."""
        return self._moved(lambda x: x.transpose(*axes))

    def swapaxes(self, axis1: int, axis2: int) -> KeyArray:
        """Return the keys with two axes exchanged."""
        return self._moved(lambda x: x.swapaxes(axis1, axis2))

    def _moved(self, method: Callable[[Value], Value]) -> KeyArray:
        moved: KeyArray = _of_each_word(method, self)
        return moved


def _is_keys(x: object) -> bool:
    return isinstance(x, KeyArray)


def _of_each_word(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Apply a function that only moves elements to the first words and to the second words; join the results."""

    def words(i: int) -> Any:
        chosen = tree_map(lambda x: x.words[..., i] if _is_keys(x) else x, (args, kwargs), is_leaf=_is_keys)
        return function(*chosen[0], **chosen[1])

    def joined(first: Value, second: Value) -> KeyArray:
        return KeyArray(lax.stack([first, second], typeof(first).ndim))

    return tree_map(joined, words(0), words(1))


register_pytree_node(KeyArray, lambda keys: ((keys.words,), None), lambda _, children: KeyArray(*children))
