"""Random keys as jax has them: leaves of pytrees, and operands of programs.

One idea: calque's `KeyArray` is a pytree node over its words; the class here is no node, and has an own type, so a key
is one leaf, one variable of a program and one operand of `cond`, `scan` and `vmap`.

Read next: `calque_numpy/key_arrays.py`; `calque_core/types/own_types.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, Self

import numpy as np

from calque_core import OwnType, ShapedArray, float0, register_aval, typeof
from calque_core.engine.numpy_functions import at
from calque_core.extend import shaped_array
from calque_numpy.key_arrays import KEY_WORDS, KeyArray, of_keys, prng_key
from calque_pytree import tree_map

Value = Any

_UINT32 = np.dtype(np.uint32)


_TAGS = {"threefry2x32": "fry", "rbg": "rbg", "unsafe_rbg": "urbg"}


class KeyDtype:
    """The dtype of keys of one generator, by jax's name; NumPy and `jnp.issubdtype` read its `dtype`."""

    type, kind, isbuiltin = prng_key, "V", 0

    def __init__(self, impl: str) -> None:
        self.impl, self.name = impl, f"key<{_TAGS[impl]}>"
        self.dtype = KeyArray(np.zeros(KEY_WORDS[impl], np.uint32), impl).dtype
        self.itemsize = self.dtype.itemsize

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return self is other or other is self.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


KEY_DTYPES = {impl: KeyDtype(impl) for impl in KEY_WORDS}


class Key(KeyArray):
    """Random keys: `isinstance(key, jax.Array)` holds, and a key is a leaf."""

    __slots__ = ()

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return as_leaves(of_keys(func, args, kwargs))

    @property
    def dtype(self) -> Any:
        """The dtype of keys."""
        return KEY_DTYPES[self.impl]

    def __repr__(self) -> str:
        return f"Array({self.shape}, dtype={self.dtype}) overlaying:\n{self.words}"

    def astype(self, dtype: Any) -> Key:
        """Return the keys.  Raises: TypeError unless `dtype` is theirs."""
        if self.dtype != dtype:
            raise TypeError(f"astype of keys: their dtype is {self.dtype}, not {dtype}. Use random.key_data(keys).")
        return self

    @property
    def at(self) -> Updates:
        """Updates by index: `keys.at[index].set(other)`."""
        return Updates(self)


def as_leaves(tree: Value) -> Value:
    """Return a pytree with the keys that are nodes as leaves.

    >>> type(as_leaves(KeyArray(np.zeros(2, np.uint32)))).__name__
    'Key'
    """
    return tree_map(_as_leaf, tree, is_leaf=_is_node)


def _is_node(x: Value) -> bool:
    return type(x) is KeyArray


def _as_leaf(x: Value) -> Value:
    return Key(x.words, x.impl) if type(x) is KeyArray else x


@dataclass(frozen=True)
class KeyType(OwnType):
    """The type of keys: their shape and their generator."""

    shape: tuple[int, ...]
    impl: str = "threefry2x32"

    @classmethod
    def of(cls, value: Value) -> Self:
        """Return the type of keys."""
        made: Self = _key_type(cls, typeof(value.words).shape, value.impl)
        return made

    def arrays(self) -> dict[str, ShapedArray]:
        """Return the type of the words."""
        return {"words": shaped_array((*self.shape, KEY_WORDS[self.impl]), _UINT32)}

    def make(self, **arrays: Value) -> Key:
        """Return keys with these words."""
        return Key(arrays["words"], self.impl)

    @property
    def dtype(self) -> Any:
        """The dtype of keys."""
        return KEY_DTYPES[self.impl]

    kind = "V"

    @property
    def ndim(self) -> int:
        """The number of axes of keys."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of keys."""
        return prod(self.shape)

    def to_tangent_aval(self) -> ShapedArray:
        """Return the type of no tangents."""
        return ShapedArray(self.shape, float0)

    def str_short(self) -> str:
        """Return the type as jax writes it.

        >>> KeyType((3,))
        key<fry>[3]
        """
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@lru_cache(maxsize=1 << 10)  # a fifth of the time of a warm call of a jitted function
def _key_type(kind: Any, shape: tuple[int, ...], impl: str) -> Any:
    return kind(shape[:-1], impl)


register_aval(Key, KeyType)


class Updates:
    """`keys.at`: an index gives the elements that `set` replaces."""

    __slots__ = ("index", "keys")

    def __init__(self, keys: Key, index: Any = None) -> None:
        self.keys, self.index = keys, index

    def __getitem__(self, index: Any) -> Updates:
        return Updates(self.keys, index)

    def get(self, **options: Any) -> KeyArray:
        """Return the keys at the index."""
        return self.keys.with_words(self._words().get(**options))

    def set(self, values: Key, **options: Any) -> KeyArray:
        """Return the keys with other keys at the index."""
        return self.keys.with_words(self._words().set(values.words, **options))

    def _words(self) -> Any:
        each = self.index if isinstance(self.index, tuple) else (self.index,)
        whole = each if any(x is Ellipsis for x in each) else (*each, Ellipsis)
        return at(self.keys.words)[(*whole, slice(None))]
