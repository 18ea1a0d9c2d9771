"""Names of `jax.dtypes` that calque has elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_as_jax.dialect.scalars import SCALARS
from calque_core import typeof
from calque_core.engine import bit_width

__all__ = [
    "DType", "ExtendedDType", "TypePromotionError", "bfloat16", "extended", "itemsize_bits", "scalar_type_of",
    "supports_inf", "to_complex_dtype",
]  # fmt: skip

bfloat16 = SCALARS["bfloat16"]
DType = np.dtype


class TypePromotionError(ValueError):
    """Raised by jax where dtypes do not promote; calque raises a TypeError."""


class extended(np.generic):
    """The dtypes that are no numbers: those of random keys."""


class ExtendedDType:
    """A dtype of a library's own, with rules; a value of it is refused, since calque's dtypes are NumPy's."""


def supports_inf(dtype: Any) -> bool:
    """Tell whether a floating dtype has infinity."""
    return bool(np.isinf(np.array(np.inf).astype(dtype)))


def scalar_type_of(x: Any) -> type:
    """Return the Python type of the elements of a value."""
    return {"b": bool, "i": int, "u": int, "c": complex}.get(typeof(x).dtype.kind, float)


def itemsize_bits(dtype: Any) -> int:
    """Return the bits of an element.

    >>> itemsize_bits("int4")
    4
    """
    return bit_width(np.dtype(dtype))


def to_complex_dtype(dtype: Any) -> Any:
    """Return the complex dtype that holds a dtype."""
    return np.result_type(dtype, np.complex64)
