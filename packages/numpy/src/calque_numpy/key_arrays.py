"""Arrays of random keys: the class of the keys that `random.key` and `random.split` return.

One idea: a key counts as one element, though it is two words, or four of some generators.  The class is a pytree node
over its words, uint32 with a last axis for them, so that transformations, loops and branches take keys; indexing and
NumPy's functions that only move elements act on the axes of the keys, by acting on each of the words alone.

Read next: `random/keys.py`, the functions that make keys; `evaluation.py`, through which this package's functions take
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from calque_core import lax, typeof
from calque_core.engine import has_tracer
from calque_core.engine.numpy_functions import at
from calque_core.extend import where
from calque_numpy.releases import of_numpy
from calque_pytree import register_pytree_node, tree_leaves, tree_map

Value = Any

_OF_SEVERAL = frozenset((np.atleast_1d, np.atleast_2d, np.atleast_3d, np.broadcast_arrays))
_MOVING = _OF_SEVERAL | frozenset((
    np.stack, np.concatenate, np.vstack, np.hstack, np.dstack, np.column_stack, np.block,
    np.append, np.where, np.split, np.array_split, np.vsplit, np.hsplit, np.dsplit, np.reshape, np.ravel, np.squeeze,
    np.expand_dims, np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.broadcast_to, np.flip, np.flipud, np.fliplr,
    np.rot90, np.roll, np.tile, np.repeat, np.take, np.take_along_axis, np.compress, np.extract, np.delete, np.resize,
    *of_numpy("unstack"),
))  # fmt: skip
_AS_A_WHOLE: dict[Callable[..., Any], Callable[[Any], Any]] = {
    np.shape: lambda keys: keys.shape,
    np.ndim: lambda keys: keys.ndim,
    np.size: lambda keys: keys.size,
    np.copy: lambda keys, *_, **__: keys.copy(),
}


class prng_key(np.void):  # type: ignore[misc]  # NumPy subclasses it likewise, for records
    """The type of one key: `numpy.issubdtype(keys.dtype, prng_key)` tells keys from numbers.

    >>> import numpy as np
    >>> from calque_numpy.random import key, prng_key
    >>> np.issubdtype(key(0).dtype, prng_key), np.issubdtype(np.dtype("uint32"), prng_key)
    (True, False)
    """


KEY_WORDS = {"threefry2x32": 2, "rbg": 4, "unsafe_rbg": 4}  # of one key, by the name of its generator
_DTYPES = {impl: np.dtype((prng_key, [(impl, np.uint32, (count,))])) for impl, count in KEY_WORDS.items()}


class KeyArray(np.lib.mixins.NDArrayOperatorsMixin):
    """Random keys; `shape`, `ndim`, `size` and indices count keys, not their words.

    `numpy.stack`, `concatenate`, `where`, `reshape` and other functions that move elements take keys.

    >>> from calque_numpy.random import key, split
    >>> keys = split(key(42), 3)
    >>> keys.shape, keys[0].shape
    ((3,), ())
    """

    __slots__ = ("impl", "words")
    __hash__ = None  # type: ignore[assignment]  # as of arrays: equality is elementwise

    def __init__(self, words: Value, impl: str = "threefry2x32") -> None:
        self.words, self.impl = words, impl

    def with_words(self, words: Value) -> KeyArray:
        """Return keys of the same class and generator with other words."""
        return self.__class__(words, self.impl)

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
        return typeof(self.words).size // KEY_WORDS[self.impl]  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of keys, whose type is `prng_key`."""
        return _DTYPES[self.impl]

    @property
    def itemsize(self) -> int:
        """The bytes of one key."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all keys."""
        return self.size * self.dtype.itemsize

    @property
    def device(self) -> Any:
        """The device of the words, of keys on a device."""
        return self.words.device

    @property
    def sharding(self) -> Any:
        """Where the words are, of keys on a device."""
        return self.words.sharding

    def devices(self) -> set[Any]:
        """Return the set of the devices that hold keys on a device."""
        return self.words.devices()  # type: ignore[no-any-return]

    def block_until_ready(self) -> KeyArray:
        """Wait until the keys are computed, which NumPy's are; return them."""
        if hasattr(self.words, "block_until_ready"):
            self.words.block_until_ready()
        return self

    def copy(self) -> KeyArray:
        """Return keys in memory of their own."""
        return self.with_words(self.words.copy())

    def __copy__(self) -> KeyArray:
        return self.copy()

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

    def __bool__(self) -> bool:
        raise TypeError(f"a key{where()} has no truth value. Use random.bernoulli(key) for a random one.")

    def __getitem__(self, index: Any) -> KeyArray:
        each = index if isinstance(index, tuple) else (index,)
        has_ellipsis = any(x is Ellipsis for x in each)
        full = (*each, slice(None)) if has_ellipsis else (*each, Ellipsis, slice(None))
        return self.with_words(at(self.words)[full].get() if has_tracer(each) else self.words[full])

    def __eq__(self, other: object) -> Value:
        """Return, for each key, whether all words are equal."""
        return lax.reduce_and(self._equal_words(other), -1) if isinstance(other, KeyArray) else NotImplemented

    def __ne__(self, other: object) -> Value:
        return lax.bitwise_not(self == other) if isinstance(other, KeyArray) else NotImplemented

    def _equal_words(self, other: KeyArray) -> Value:
        _check_one_impl("==", (self, other))
        return self.words == other.words

    def __repr__(self) -> str:
        return f"KeyArray({self.words!r}{'' if self.impl == 'threefry2x32' else f', impl={self.impl!r}'})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError(
            f"numpy.asarray{where()} of keys, which are no numbers. Use numpy.stack to join keys, and "
            "random.key_data(keys) for their words."
        )

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if ufunc in (np.equal, np.not_equal) and method == "__call__" and not kwargs:
            first, second = inputs
            if _is_keys(first) and _is_keys(second):
                return first == second if ufunc is np.equal else first != second
        raise _no_numbers(ufunc.__name__)

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        return of_keys(func, args, kwargs)

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
        return self.with_words(of_each_word(method, self).words)


def _is_keys(x: object) -> bool:
    return isinstance(x, KeyArray)


def has_keys(x: Any) -> bool:
    """Tell whether nested lists, tuples and dicts hold keys.

    >>> from calque_numpy.random import key
    >>> has_keys([key(0), 1]), has_keys([1])
    (True, False)
    """
    return any(map(_is_keys, tree_leaves(x, is_leaf=_is_keys)))


def of_keys(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return the result of one of NumPy's functions for arguments that hold keys.

    Raises: TypeError unless the function moves elements, and where numbers would move among keys.

    >>> import numpy as np
    >>> from calque_numpy.random import key
    >>> of_keys(np.stack, ([key(0), key(1)],), {}).shape
    (2,)
    """
    if func in _AS_A_WHOLE:
        return _AS_A_WHOLE[func](*args, **kwargs)
    if func is np.array_equal:
        first, second = args
        return _is_keys(first) and _is_keys(second) and first.shape == second.shape and (first == second).all()
    if isinstance(func, np.ufunc):
        return func(*args, **kwargs)  # asks the class of the keys
    if func in (np.asarray, np.array):
        if not _is_keys(args[0]):
            return of_keys(np.stack, args[:1], {})
        return args[0].copy() if kwargs.get("copy", func is np.array) else args[0]
    if func not in _MOVING:
        raise _no_numbers(func.__name__)
    _check_alike(func, args)
    return of_each_word(func, *args, **kwargs)


def _no_numbers(name: str) -> TypeError:
    return TypeError(
        f"numpy.{name}{where()} of keys: only functions that move elements take keys, such as numpy.stack. "
        "Use random.key_data(keys), their words, or random numbers made from them."
    )


def _check_alike(func: Callable[..., Any], args: Sequence[Any]) -> None:
    """Refuse numbers among the elements of keys.

    Raises: TypeError.
    """
    if func in _OF_SEVERAL:
        moved = args
    elif func in (np.where, np.extract):
        moved = args[1:3]
    else:
        moved = args[: 2 if func is np.append else 1]
    items = tree_leaves(list(moved), is_leaf=_is_keys)
    if items and not any(map(_is_keys, items)):  # keys in the place of indices
        raise _no_numbers(func.__name__)
    for x in items:
        if not _is_keys(x):
            raise TypeError(
                f"numpy.{func.__name__}{where()} of keys and of a value of type {type(x).__name__}: "
                "join keys with keys alone."
            )


def of_each_word(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Apply a function that only moves elements to the words of each place alone; join the results."""
    keys = [x for x in tree_leaves((args, kwargs), is_leaf=_is_keys) if _is_keys(x)]
    impl = _check_one_impl(getattr(function, "__name__", "moved"), keys)

    def words(i: int) -> Any:
        chosen = tree_map(lambda x: x.words[..., i] if _is_keys(x) else x, (args, kwargs), is_leaf=_is_keys)
        return function(*chosen[0], **chosen[1])

    def joined(*words: Value) -> KeyArray:
        return KeyArray(lax.stack(words, typeof(words[0]).ndim), impl)

    return tree_map(joined, *map(words, range(KEY_WORDS[impl])))


def _check_one_impl(name: str, keys: Sequence[KeyArray]) -> str:
    """Return the generator of all keys.  Raises: TypeError if two differ."""
    first, *others = dict.fromkeys(x.impl for x in keys)
    if others:
        raise TypeError(
            f"{name}{where()} of keys of {first} and of {others[0]}: their words have different meanings. Make all "
            "keys with one impl."
        )
    return first


register_pytree_node(
    KeyArray, lambda keys: ((keys.words,), keys.impl), lambda impl, children: KeyArray(children[0], impl)
)
