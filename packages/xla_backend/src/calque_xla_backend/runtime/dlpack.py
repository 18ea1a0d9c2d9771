"""The memory of arrays of other libraries, by DLPack.

One idea: NumPy imports the dtypes that it has.  Short floats, which it lacks, are read here from the structure
that a capsule holds, as unsigned integers of their size; the view keeps the capsule, and the capsule its memory.
Source: the header dlpack.h of DLPack 1.1.

Memory of GPUs is not read: jaxlib makes buffers of their capsules.

Read next: `exchange.py`, which makes arrays of the views.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from calque_core.engine import ML_DTYPES, REFUSED_DTYPES, SHORT_DTYPES, short_dtype

HOST = (1, 0)  # DLPack's name of the host's memory
_KINDS = {"cuda": 2, "rocm": 10}  # DLPack's names of the platforms that have memory of their own


def memory_of(device: Any, platform: str) -> tuple[int, int]:
    """Return DLPack's name of the memory of a device; that of another plugin is reached from the host."""
    return (_KINDS[platform], device.local_hardware_id) if platform in _KINDS else HOST


def platform_of_memory(kind: int) -> str | None:
    """Return the platform that a kind of memory belongs to."""
    return next((platform for platform, number in _KINDS.items() if number == kind), None)


class Tensor(ctypes.Structure):
    """`DLTensor`, with which the structure of a capsule of the name "dltensor" begins."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),  # in elements; null for C order
        ("byte_offset", ctypes.c_uint64),
    )


_SHORT_NAMES: dict[tuple[int | None, int], str] = {
    **{(row.dlpack_code, row.bits): name for name, row in SHORT_DTYPES.items()},
    **{kind: name for name, kind in REFUSED_DTYPES.items()},
}  # by DLPack's code and bits
_CODES = {0: "i", 1: "u", 2: "f", 5: "c"}  # of NumPy's dtypes
_BOOL = (6, 8)

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def tensor_of(capsule: Any) -> Tensor:
    """Return the structure in a capsule, valid while the capsule lives.

    Raises: ValueError if the capsule was consumed before.
    """
    return Tensor.from_address(_pointer_of(capsule, b"dltensor"))


def address_of(capsule: Any) -> int:
    """Return the address of the first element."""
    tensor = tensor_of(capsule)
    return int(tensor.data or 0) + int(tensor.byte_offset)


def dtype_of(tensor: Tensor) -> np.dtype[Any] | None:
    """Return the dtype of the elements, None for one that neither NumPy nor the package of short dtypes has."""
    kind = tensor.code, tensor.bits
    if tensor.lanes != 1:
        return None
    if kind in _SHORT_NAMES:
        return np.dtype(short_dtype(_SHORT_NAMES[kind], ML_DTYPES))
    name = "bool" if kind == _BOOL else f"{_CODES.get(tensor.code)}{tensor.bits // 8}"
    try:
        return np.dtype(name)
    except TypeError:
        return None


def is_by_rows(tensor: Tensor) -> bool:
    """Tell whether the elements lie in C order, without gaps."""
    if not tensor.strides:
        return True
    shape, step = tensor.shape[: tensor.ndim], 1
    if 0 in shape:
        return True
    for size, stride in zip(reversed(shape), reversed(tensor.strides[: tensor.ndim])):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


class _Memory:
    """The memory of a capsule, in the form in which NumPy takes memory."""

    __slots__ = ("__array_interface__", "capsule")

    def __init__(self, capsule: Any, tensor: Tensor, itemsize: int) -> None:
        self.capsule = capsule
        strides = [itemsize * tensor.strides[i] for i in range(tensor.ndim)] if tensor.strides else None
        self.__array_interface__ = {
            "version": 3,
            "typestr": f"|u{itemsize}" if itemsize == 1 else f"<u{itemsize}",
            "data": (address_of(capsule), True),  # read-only
            "shape": tuple(tensor.shape[: tensor.ndim]),
            "strides": None if strides is None else tuple(strides),
        }


def host_view(x: Any) -> np.ndarray[Any, Any]:
    """Return the elements of an array of another library, in the host's memory, as a NumPy array that shares them.

    Raises: BufferError for a dtype that `dtype_of` does not know; any error of the library's own.
    """
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError) as error:
        capsule = x.__dlpack__()
        tensor = tensor_of(capsule)
        dtype = dtype_of(tensor)
        if dtype is None or dtype.isbuiltin == 1:
            raise BufferError(str(error)) from None
        return np.asarray(_Memory(capsule, tensor, dtype.itemsize)).view(dtype)
