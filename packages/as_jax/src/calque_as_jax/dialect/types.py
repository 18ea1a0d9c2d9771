"""`jax.typeof`: calque's type of a value, with what jax's types have in addition, such as `sharding`."""

from __future__ import annotations

from typing import Any

from calque_as_jax.keys import KEY_DTYPE, KeyType
from calque_as_jax.values import NO_SHARDING, NoSharding
from calque_core import ShapedArray, float0
from calque_core import ShapeDtypeStruct as CoreStruct
from calque_core import typeof as core_typeof
from calque_core.extend import is_float

__all__ = ["ShapeDtypeStruct", "TypeOf", "tangent_type", "typeof"]


class _StructType(type):
    """The type of `ShapeDtypeStruct`: calque's, and the types of keys, are instances."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, (CoreStruct, KeyType))


class ShapeDtypeStruct(metaclass=_StructType):
    """`jax.ShapeDtypeStruct`: calque's, or the type of keys for their dtype."""

    __module__ = "jax"

    def __new__(cls, shape: Any, dtype: Any, **options: Any) -> Any:
        """Return a stand-in for an array.

        >>> ShapeDtypeStruct((2,), KEY_DTYPE), ShapeDtypeStruct((2,), "int32")
        (key<fry>[2], ShapeDtypeStruct(shape=(2,), dtype=int32))
        """
        if dtype == KEY_DTYPE:
            return KeyType(tuple(shape))
        options = {name: x for name, x in options.items() if not (x is None or name == "is_ref")}
        return CoreStruct(shape, dtype, **options)


class TypeOf:
    """The type of a value; it counts as a `ShapedArray`, and equals the one that it stands for."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # so that isinstance says so
        return ShapedArray

    @property
    def sharding(self) -> NoSharding:
        """No sharding: calque's types hold none."""
        return NO_SHARDING

    def to_tangent_aval(self) -> Any:
        """Return the type of tangents."""
        return tangent_type(self.aval)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.aval, name)

    def __eq__(self, other: object) -> bool:
        return bool(self.aval == getattr(other, "aval", other))

    def __hash__(self) -> int:
        return hash(self.aval)

    def __repr__(self) -> str:
        return repr(self.aval)


def tangent_type(aval: Any) -> Any:
    """Return the type of tangents of values of a type."""
    if type(aval) is KeyType or not is_float(aval.dtype):
        return ShapedArray(aval.shape, float0)
    return aval.strip_weak_type()


def typeof(x: Any) -> Any:
    """Return the type of an array, a number or a random key.

    >>> typeof(1.0), isinstance(typeof(1.0), ShapedArray)
    (~float32[], True)
    """
    return TypeOf(core_typeof(x))
