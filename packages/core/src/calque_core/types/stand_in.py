"""Stand-ins: objects in place of arrays where only their types matter.

Read next: `avals.py`, the types.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from calque_core.types.avals import NO_AXES, AxisNames, Shape, ShapedArray, register_aval


class ShapeDtypeStruct:
    """A stand-in for an array where only its type matters: `make_jaxpr(f)(ShapeDtypeStruct((3,), "float32"))`.

    >>> from calque_core import ShapeDtypeStruct
    >>> ShapeDtypeStruct((3,), "float32")
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """

    __slots__ = ("aval",)

    def __init__(
        self, shape: Sequence[int], dtype: Any, *, weak_type: bool = False, vma: Collection[Any] = NO_AXES
    ) -> None:
        self.aval = ShapedArray(shape, dtype, weak_type, vma=vma)

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

    @property
    def sharding(self) -> None:
        """None: a stand-in is on no device."""
        return

    def update(self, **fields: Any) -> ShapeDtypeStruct:
        """Return the stand-in with another `shape`, `dtype`, `weak_type` or `vma`.

        >>> from calque_core import ShapeDtypeStruct
        >>> ShapeDtypeStruct((3,), "float32").update(shape=())
        ShapeDtypeStruct(shape=(), dtype=float32)
        """
        old: dict[str, Any] = {"shape": self.shape, "dtype": self.dtype, "weak_type": self.weak_type, "vma": self.vma}
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

    def __repr__(self) -> str:
        vma = f", vma={{{', '.join(sorted(map(repr, self.vma)))}}}" if self.vma else ""
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{weak}{vma})"

    def __eq__(self, other: object) -> bool:
        return self.aval == other.aval if isinstance(other, ShapeDtypeStruct) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.aval)


register_aval(ShapeDtypeStruct, attrgetter("aval"))
