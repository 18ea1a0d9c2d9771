"""The dtypes of `jax.numpy`: `jnp.float32(x)` makes an array, `jnp.float32.dtype` is NumPy's dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

import calque.numpy as cnp
from calque_as_jax.values import to_arrays
from calque_core import canonicalize_dtype
from calque_core.engine import SHORT_DTYPES

_NUMPY_NAMES = "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
_SECOND = {"bool": "bool_", "double": "float64", "single": "float32", "csingle": "complex64", "cdouble": "complex128"}


class ScalarType(type):
    """The type of `jnp.float32` and its like: a call makes an array, and NumPy reads its `dtype`."""

    dtype: np.dtype[Any]

    def __call__(cls, x: Any = 0) -> Any:
        return to_arrays(cnp.asarray(x, canonicalize_dtype(cls.dtype)))

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __eq__(cls, other: object) -> bool:
        return cls is other or cls.dtype.type == other or (isinstance(other, np.dtype) and cls.dtype == other)

    def __ne__(cls, other: object) -> bool:
        return not cls == other

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.dtype.type)


def scalar_type(name: str) -> ScalarType:
    """Return the type for one of NumPy's dtypes.

    >>> scalar_type("float32")(1), scalar_type("float32") == np.float32
    (Array(1., dtype=float32), True)
    """
    return ScalarType(name, (), {"dtype": np.dtype(getattr(cnp, name)), "__module__": "jax.numpy"})


SCALARS = {name: scalar_type(name) for name in (*_NUMPY_NAMES.split(), *SHORT_DTYPES) if hasattr(cnp, name)}
SCALARS |= {name: SCALARS[there] for name, there in _SECOND.items()}
_WIDE = {"int_": "int64", "uint": "uint64", "float_": "float64", "complex_": "complex128"}
__all__ = [*SCALARS, *_WIDE]  # noqa: PLE0604  # strings


def __getattr__(name: str) -> Any:
    """Return a dtype; `int_`, `uint`, `float_` and `complex_` have the bits of the settings at their first use."""
    if name in SCALARS:
        return SCALARS[name]
    if name in _WIDE:
        return SCALARS[canonicalize_dtype(_WIDE[name]).name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
