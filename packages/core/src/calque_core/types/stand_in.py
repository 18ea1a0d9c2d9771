"""Stand-ins: objects in place of arrays where only their types matter.

Read next: `avals.py`, the types.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from calque_core.frames.source import where
from calque_core.types.avals import (
    NO_AXES,
    AbstractValue,
    AxisNames,
    Shape,
    ShapedArray,
    _aval_functions,
    is_array_like,
    typeof,
)


class ShapeDtypeStruct:
    """A stand-in for an array where only its type matters: `make_jaxpr(f)(ShapeDtypeStruct((3,), "float32"))`.

    `sharding` says where the array will be: a program that `jit(f).lower` makes takes it there.
    Raises: TypeError for a `dtype` that is None or no dtype.

    >>> from calque_core import ShapeDtypeStruct
    >>> ShapeDtypeStruct((3,), "float32")
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """

    __slots__ = ("aval", "sharding")

    def __init__(
        self,
        shape: Sequence[int],
        dtype: Any,
        *,
        sharding: Any = None,
        weak_type: bool = False,
        vma: Collection[Any] = NO_AXES,
    ) -> None:
        if dtype is None:
            raise TypeError(f"ShapeDtypeStruct{where()}: the dtype is None. Give a dtype, for example 'float32'.")
        self.aval, self.sharding = ShapedArray(shape, dtype, weak_type, vma=vma), sharding

    @classmethod
    def like(cls, x: Any) -> ShapeDtypeStruct:
        """Return the stand-in for `x`, an array, a scalar, a tracer or a type, with its sharding if it has one.

        Raises: TypeError if `x` is none of these.

        >>> import numpy as np
        >>> from calque_core import ShapeDtypeStruct
        >>> ShapeDtypeStruct.like(np.zeros((2, 3)))
        ShapeDtypeStruct(shape=(2, 3), dtype=float64)
        """
        aval: Any = x if isinstance(x, AbstractValue) else typeof(x)
        sharding = getattr(x, "sharding", None)
        return cls(aval.shape, aval.dtype, sharding=sharding, weak_type=aval.weak_type, vma=aval.vma)

    @property
    def shape(self) -> Shape:
        """The sizes of the axes."""
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        return self.aval.dtype

    @property
    def weak_type(self) -> bool:
        """Whether the dtype gives way to that of another operand, as a Python scalar's does."""
        return self.aval.weak_type

    def update(self, **fields: Any) -> ShapeDtypeStruct:
        """Return the stand-in with another `shape`, `dtype`, `sharding`, `weak_type` or `vma`.

        >>> from calque_core import ShapeDtypeStruct
        >>> ShapeDtypeStruct((3,), "float32").update(shape=())
        ShapeDtypeStruct(shape=(), dtype=float32)
        """
        names = ("shape", "dtype", "sharding", "weak_type", "vma")
        old = {name: getattr(self, name) for name in names}
        return ShapeDtypeStruct(**(old | fields))

    @property
    def vma(self) -> AxisNames:
        """The axes of a mesh along which the value may vary."""
        return self.aval.vma

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"{self!r}{where()} has no length: it stands for a scalar. Use its size or ndim.")
        return self.shape[0]

    def __bool__(self) -> bool:
        return True  # whatever its length: it is no container

    def __repr__(self) -> str:
        vma = f", vma={{{', '.join(sorted(map(repr, self.vma)))}}}" if self.vma else ""
        weak = ", weak_type=True" if self.weak_type else ""
        place = "" if self.sharding is None else f", sharding={self.sharding!r}"
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{place}{weak}{vma})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShapeDtypeStruct):
            return NotImplemented
        return self.aval == other.aval and self.sharding == other.sharding

    def __hash__(self) -> int:
        return hash((self.aval, self.sharding))


_aval_functions[ShapeDtypeStruct] = attrgetter("aval")


def stand_in_of(aval: Any) -> Any:
    """Return the stand-in for an array of a type; one's own type stands for its values itself.

    >>> from calque_core import typeof
    >>> from calque_core.engine import stand_in_of
    >>> stand_in_of(typeof(1.0))
    ShapeDtypeStruct(shape=(), dtype=float64, weak_type=True)
    """
    if type(aval) is not ShapedArray:
        return aval
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type, vma=aval.vma)


def as_stand_in(x: Any) -> Any:
    """Return the stand-in for an object that has a shape and a dtype; an array or any other value unchanged.

    >>> from types import SimpleNamespace
    >>> from calque_core.engine import as_stand_in
    >>> as_stand_in(SimpleNamespace(shape=(3,), dtype="float32"))
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    >>> as_stand_in(1.0)
    1.0
    """
    if isinstance(x, (AbstractValue, np.ndarray, np.generic)) or is_array_like(x):
        return x
    try:
        return ShapeDtypeStruct(x.shape, x.dtype)
    except (AttributeError, TypeError):  # such as the dtype of another library
        return x
