"""Kernels: compiled functions of the user's that programs call by name.

One idea: `register_ffi_target` gives XLA a function for a name, and `ffi_call` of core calls it; `ffi_lowering` makes a
lowering rule of it, for a primitive of the user's with rules of its own.  The headers for a kernel are jaxlib's, in
`include_dir()`.

Read next: `rules/calls/ffi.py`, which lowers calls.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jaxlib
import numpy as np
from jaxlib.mlir import ir

from calque_core import ffi_call
from calque_core.engine import ArrayAttribute
from calque_core.extend import where
from calque_core.lax import ffi_call_p
from calque_xla_backend.evaluate import evaluate_primitive
from calque_xla_backend.modules.custom_calls import by_rows, custom_call
from calque_xla_backend.modules.lowering import LoweringRuleContext
from calque_xla_backend.modules.types import IrValue, aval_to_ir_type
from calque_xla_backend.runtime.array import Array
from calque_xla_backend.runtime.targets import check_target, register_target

__all__ = ["ffi_call", "ffi_lowering", "include_dir", "pycapsule", "register_ffi_target"]

_CAPSULE_NAME = b"xla._CUSTOM_CALL_TARGET"  # a capsule refers to its name, so the name must live on


def include_dir() -> str:
    """Return the folder of XLA's C++ headers, for the compiler's options `-I` or `-isystem`.

    A kernel compiled with the headers of one release of jaxlib works with this release and later ones.

    >>> from pathlib import Path
    >>> from calque_xla_backend import ffi
    >>> (Path(ffi.include_dir()) / "xla/ffi/api/ffi.h").exists()
    True
    """
    return str(Path(jaxlib.__file__).parent / "include")


def pycapsule(function: Any) -> Any:
    """Return a function of a library that `ctypes` has loaded as a capsule, which `register_ffi_target` takes.

    >>> import ctypes
    >>> from calque_xla_backend import ffi
    >>> type(ffi.pycapsule(ctypes.pythonapi.Py_GetVersion)).__name__
    'PyCapsule'
    """
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
        ("PyCapsule_New", ctypes.pythonapi)
    )
    return make(ctypes.cast(function, ctypes.c_void_p), _CAPSULE_NAME, None)


def register_ffi_target(name: str, function: Any, *, platform: str = "cpu") -> None:
    """Let programs for `platform` call `function` as the target `name`, for the life of the process.

    `function` is a capsule with the address of a handler of XLA's typed FFI, as `XLA_FFI_DEFINE_HANDLER_SYMBOL` makes
    them, or a dict of capsules by stage ("instantiate", "prepare", "initialize", "execute").  The library must stay
    loaded.
    Raises: TypeError for anything else; ValueError if the name has another function.

    >>> import ctypes
    >>> from calque_xla_backend import ffi
    >>> def register(path):
    ...     library = ctypes.CDLL(path)
    ...     ffi.register_ffi_target("my_norm", ffi.pycapsule(library.my_norm))
    """
    for capsule in function.values() if isinstance(function, dict) else [function]:
        if type(capsule).__name__ != "PyCapsule":
            raise TypeError(
                f"register_ffi_target of {name!r}{where()} got {capsule!r} of type {type(capsule).__name__}, which is "
                "not a capsule. Use pycapsule(library.function), with a library that ctypes has loaded."
            )
    register_target(name, function, platform)


@ffi_call_p.def_impl
def ffi_call_impl(*args: Any, **params: Any) -> list[Array]:
    return evaluate_primitive(ffi_call_p, args, params)


def ffi_lowering(
    target_name: str, *, has_side_effect: bool = False, input_output_aliases: Mapping[int, int] | None = None
) -> Callable[..., Sequence[IrValue]]:
    """Return a lowering rule that calls the target `target_name` with the parameters of the equation as attributes.

    With it a primitive of yours has a kernel, and derivative and batching rules like any other.

    >>> from calque_core import Primitive
    >>> from calque_xla_backend import ffi, register_lowering
    >>> norm_p = Primitive("norm")
    >>> rule = register_lowering(norm_p, ffi.ffi_lowering("my_norm"), platform="cpu")
    """

    def rule(ctx: LoweringRuleContext, *values: IrValue, **attributes: Any) -> Sequence[IrValue]:
        check_target(target_name, ctx.platform)
        return custom_call(
            target_name,
            [aval_to_ir_type(aval) for aval in ctx.avals_out],
            values,
            layouts=([by_rows(aval.ndim) for aval in ctx.avals_in], [by_rows(aval.ndim) for aval in ctx.avals_out]),
            attributes={name: _attribute(value) for name, value in attributes.items()},
            aliases=input_output_aliases,
            has_side_effect=has_side_effect,
        )

    return rule


def _attribute(value: Any) -> ir.Attribute:
    """Return an attribute of a call: integers and floats of Python's have 64 bits, NumPy's their own."""
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if isinstance(value, (bool, np.bool_)):
        return ir.BoolAttr.get(bool(value))
    if isinstance(value, ArrayAttribute):
        return _array_attribute(value)
    scalar = np.asarray(value)[()]
    if scalar.dtype.kind == "f":
        return ir.FloatAttr.get(_FLOATS[scalar.dtype.itemsize](), float(scalar))
    signed = ir.IntegerType.get_signless if scalar.dtype.kind == "i" else ir.IntegerType.get_unsigned
    return ir.IntegerAttr.get(signed(8 * scalar.dtype.itemsize), int(scalar))


def _array_attribute(value: ArrayAttribute) -> ir.Attribute:
    elements: Any = np.array(value.elements, value.dtype)
    dense: ir.Attribute = ir.DenseElementsAttr.get(elements)
    return dense


_FLOATS: dict[int, Callable[[], ir.Type]] = {2: ir.F16Type.get, 4: ir.F32Type.get, 8: ir.F64Type.get}
