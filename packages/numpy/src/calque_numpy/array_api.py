"""The answers to the array API's questions about a namespace: its devices, its dtypes, the capabilities of its arrays.

One idea: the answers are true at the moment.  The settings decide about dtypes, and while a function is traced no
shape depends on values.

Source: Python array API standard 2024.12, section Inspection.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import evaluation, isdtype
from calque_core.engine import here, known_devices, scalar_dtype
from calque_core.engine.numpy_functions import on_device
from calque_core.extend import where

DType = np.dtype[Any]

__array_api_version__ = "2024.12"
_MOST_AXES = 64  # of NumPy's arrays
_NAMES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip
_KINDS = (
    "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric",
)  # fmt: skip


class NamespaceInfo:
    """The answers of `__array_namespace_info__()`."""

    __slots__ = ()

    def capabilities(self) -> dict[str, Any]:
        """Return whether shapes may depend on values, not while a function is traced, and the most axes of an array.

        Reading by a mask works where values are known, but arrays cannot be assigned to; so programs that ask choose
        `where` over assignment by a mask.

        >>> from calque_numpy import __array_namespace_info__
        >>> __array_namespace_info__().capabilities()
        {'boolean indexing': False, 'data-dependent shapes': True, 'max dimensions': 64}
        """
        return {
            "boolean indexing": False,
            "data-dependent shapes": here().trace is evaluation,
            "max dimensions": _MOST_AXES,
        }

    def default_device(self) -> str:
        """Return "cpu", the device of NumPy's arrays.

        >>> from calque_numpy import __array_namespace_info__
        >>> __array_namespace_info__().default_device()
        'cpu'
        """
        return "cpu"

    def devices(self) -> list[Any]:
        """Return "cpu" and, once a backend is loaded, its devices.

        >>> from calque_numpy import __array_namespace_info__
        >>> __array_namespace_info__().devices()[0]
        'cpu'
        """
        return known_devices()

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """Return the dtypes of Python's floats, complex numbers and integers, and of indices, under the settings.

        Raises: ValueError for an unknown device.

        >>> from calque_numpy import __array_namespace_info__
        >>> __array_namespace_info__().default_dtypes()["real floating"]
        dtype('float64')
        """
        on_device("default_dtypes", None, device)
        return {
            "real floating": scalar_dtype(float),
            "complex floating": scalar_dtype(complex),
            "integral": scalar_dtype(int),
            "indexing": np.dtype("int64" if here().settings.enable_x64 else "int32"),
        }

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, DType]:
        """Return the standard's dtypes by name: all that the settings keep, or those of a kind.

        A kind is a name that `isdtype` takes, or a tuple of such names.
        Raises: ValueError for another kind, or an unknown device.

        >>> from calque_numpy import __array_namespace_info__
        >>> list(__array_namespace_info__().dtypes(kind="real floating"))
        ['float32', 'float64']
        """
        on_device("dtypes", None, device)
        kinds = (kind,) if isinstance(kind, str) else kind
        for name in kinds or ():
            if name not in _KINDS:
                raise ValueError(f"dtypes{where()} got the kind {name!r}. Use one of {', '.join(map(repr, _KINDS))}.")
        return {
            name: np.dtype(name)
            for name in _NAMES
            if _is_kept(np.dtype(name)) and (kinds is None or isdtype(name, kinds))
        }


def _is_kept(dtype: DType) -> bool:
    return here().settings.enable_x64 or dtype.itemsize <= (8 if dtype.kind == "c" else 4)


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807  (the standard's name)
    """Return an object that answers for this namespace: `capabilities default_device default_dtypes devices dtypes`.

    >>> from calque_numpy import __array_namespace_info__
    >>> sorted(__array_namespace_info__().dtypes(kind="complex floating"))
    ['complex128', 'complex64']
    """
    return NamespaceInfo()
