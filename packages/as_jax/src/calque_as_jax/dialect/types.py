"""`jax.typeof`: calque's type of a value, with the attributes that only jax's types have, such as `sharding`."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from calque_as_jax.keys import KeyDtype, KeyType
from calque_as_jax.values import NO_SHARDING, NoSharding
from calque_core import ShapedArray, float0, register_aval
from calque_core import ShapeDtypeStruct as CoreStruct
from calque_core import typeof as core_typeof
from calque_core.extend import is_float
from calque_core.ref import AbstractRef

__all__ = ["ShapeDtypeStruct", "TypeOf", "struct_of", "tangent_type", "typeof"]


class _StructType(type):
    """The type of `ShapeDtypeStruct`: calque's, and the types of keys, are instances."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, (CoreStruct, KeyType))


class ShapeDtypeStruct(CoreStruct, metaclass=_StructType):
    """`jax.ShapeDtypeStruct`: a stand-in for an array, or for keys.

    >>> ShapeDtypeStruct((2,), KeyDtype("rbg"))
    ShapeDtypeStruct(shape=(2,), dtype=key<rbg>)
    """

    __module__ = "jax"
    __slots__ = ()

    def __init__(self, shape: Any, dtype: Any, *, weak_type: bool = False, sharding: Any = None, **_: Any) -> None:
        if isinstance(dtype, KeyDtype):
            stand_in: Any = self
            stand_in.aval, stand_in.sharding = KeyType(tuple(shape), dtype.impl), sharding
        else:
            super().__init__(shape, dtype, sharding=sharding, weak_type=weak_type)

    def update(self, **fields: Any) -> ShapeDtypeStruct:
        """Return the stand-in with another `shape`, `dtype`, `sharding` or `weak_type`."""
        old = {name: getattr(self, name) for name in ("shape", "dtype", "sharding", "weak_type")}
        return ShapeDtypeStruct(**(old | fields))


register_aval(ShapeDtypeStruct, attrgetter("aval"))


def struct_of(x: Any) -> ShapeDtypeStruct:
    """Return the stand-in for an array of a type, or of the type of another stand-in."""
    aval = getattr(x, "aval", x)
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


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
    aval = core_typeof(x)
    return aval if type(aval) is AbstractRef else TypeOf(aval)
