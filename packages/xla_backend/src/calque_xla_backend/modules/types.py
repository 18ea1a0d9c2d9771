"""From avals to IR types, from NumPy values to IR constants.

A type is made once per MLIR context: to make one takes 1 us, to look it up 0.1.  NumPy's dtypes have their types here,
short dtypes in core's table `SHORT_DTYPES`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import AbstractValue, ShapedArray, float0, typeof
from calque_core.engine import SHORT_DTYPES, AbstractRef
from calque_core.extend import Shape

IrValue: TypeAlias = "ir.Value[Any]"

_MAKERS: dict[str, Callable[[], ir.Type]] = {
    "bool": lambda: ir.IntegerType.get_signless(1),
    "int8": lambda: ir.IntegerType.get_signless(8),
    "int16": lambda: ir.IntegerType.get_signless(16),
    "int32": lambda: ir.IntegerType.get_signless(32),
    "int64": lambda: ir.IntegerType.get_signless(64),
    "uint8": lambda: ir.IntegerType.get_unsigned(8),
    "uint16": lambda: ir.IntegerType.get_unsigned(16),
    "uint32": lambda: ir.IntegerType.get_unsigned(32),
    "uint64": lambda: ir.IntegerType.get_unsigned(64),
    "float16": ir.F16Type.get,
    "float32": ir.F32Type.get,
    "float64": ir.F64Type.get,
    "complex64": lambda: ir.ComplexType.get(ir.F32Type.get()),
    "complex128": lambda: ir.ComplexType.get(ir.F64Type.get()),
}


def dtype_to_ir_type(dtype: Any) -> ir.Type:
    """Return the IR element type of a dtype, in the current MLIR context.

    Raises: TypeError if XLA has no such type.
    """
    dtype = np.dtype(dtype)
    maker = _MAKERS.get("bool" if dtype == float0 else dtype.name)
    if maker is None:
        if dtype.name in SHORT_DTYPES:
            return ir.Type.parse(SHORT_DTYPES[dtype.name].ir_type)
        remedy = "float64 or complex128, or compute without jit" if dtype.kind in "fc" else "a dtype of numbers first"
        raise TypeError(f"{dtype} has no counterpart in XLA. Convert the array to {remedy}.")
    return maker()


def aval_to_ir_type(aval: Any) -> ir.Type:
    """Return the IR tensor type of an aval, in the current MLIR context.

    Raises: TypeError for an aval that is not a `ShapedArray`.
    """
    types: dict[Any, ir.Type] = ir.Context.current.types
    ir_type = types.get(aval)
    if ir_type is None:
        if not isinstance(aval, ShapedArray):
            kind = f"an aval of class {type(aval).__name__}" if isinstance(aval, AbstractValue) else repr(aval)
            if type(aval) is AbstractRef:
                raise TypeError(
                    f"a compiled program takes no reference, {aval}: a rule of a function or a solver uses one from "
                    "outside. Pass its array instead: ref[...]."
                )
            raise TypeError(f"{kind} has no IR type. Give a ShapedArray.")
        ir_type = types[aval] = ir.RankedTensorType.get(aval.shape, dtype_to_ir_type(aval.dtype))
    return ir_type


def ir_constant(value: Any, dtype: Any = None) -> IrValue:
    """Return a NumPy value or a scalar as a constant of the program, at the current insertion point.

    The settings decide the dtype of a Python scalar; `dtype` converts.

    >>> from calque_core import Primitive, ShapedArray
    >>> from calque_xla_backend import hlo, ir_constant, jit, register_lowering
    >>> increase_p = Primitive("increase")
    >>> _ = increase_p.def_abstract_eval(lambda x: ShapedArray((), "float64"))
    >>> _ = register_lowering(increase_p, lambda ctx, x: [hlo.add(x, ir_constant(1.0))])
    >>> jit(increase_p.bind)(2.0)
    Array(3., dtype=float64)
    """
    return hlo.constant(dense_attribute(value, dtype))


def cached_in_context(key: Any, make: Callable[[], Any]) -> Any:
    """Return `make()`, computed once per MLIR context and key: to make an attribute takes 3 to 5 us."""
    memo: dict[Any, Any] = ir.Context.current.types
    result = memo.get(key)
    if result is None:
        result = memo[key] = make()
    return result


def scalar_constant(value: Any, dtype: np.dtype[Any]) -> IrValue:
    """Return a scalar that many equations need, as a constant of the program at the current insertion point."""
    key = dtype, np.asarray(value, dtype).tobytes()
    return hlo.constant(cached_in_context(key, lambda: dense_attribute(value, dtype)))


def dense_attribute(value: Any, dtype: Any = None) -> ir.DenseElementsAttr:
    """Return a NumPy value or a scalar as an attribute; if all its elements are equal, it stores one of them."""
    aval = typeof(value)
    dtype = aval.dtype if dtype is None else np.dtype(dtype)
    element_type = dtype_to_ir_type(dtype)
    if dtype == float0:
        return _dense(np.zeros(1, bool), element_type, aval.shape)
    array = np.ascontiguousarray(value, dtype).reshape(-1)
    bits = array.view(f"u{dtype.itemsize}") if dtype.kind == "V" else array
    if bits.size > 1 and bits.tobytes() == bits[:1].tobytes() * bits.size:
        bits = bits[:1]
    return _dense(bits, element_type, aval.shape)


def _dense(elements: Any, element_type: ir.Type, shape: Shape) -> ir.DenseElementsAttr:
    """Return an attribute of `shape`; a single element stands for all elements."""
    attribute: ir.DenseElementsAttr = ir.DenseElementsAttr.get(elements, type=element_type, shape=shape)
    return attribute
