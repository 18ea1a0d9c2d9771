"""Declaring elementwise primitives, with their checks.

One idea: operands have one dtype, and equal shapes or rank 0; the result has the shape of the largest.  `declare` makes
a primitive from a NumPy function; `insist` and `ordered_operands` keep evaluation as strict as the type
rule where NumPy is not.

A primitive that is a Python operator has `weak_kinds`: the kinds of dtypes for which weak operands give a weak result.
Its evaluation returns a Python scalar for Python scalars of these kinds (`scalars.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core.context import here
from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.ops.numpy_calls import numpy_function
from calque_core.ops.operands import binary, floating, floating_pair, promote
from calque_core.ops.weakness import strong
from calque_core.primitives.conversion import convert_element_type_p
from calque_core.primitives.primitive import Linearity, Primitive
from calque_core.types.avals import Shape, ShapedArray, shaped_array, typeof
from calque_core.types.dtypes import dtype_name, is_float

Value = Any

_SCALAR: Shape = ()

REAL_OR_COMPLEX, FLOAT, NUMBER, SIGNED, REAL = "fc", "f", "iufc", "ifc", "iuf"
INTEGER, BITS, ORDERED, ANY = "iu", "iub", "biuf", "biufc"


def elementwise(
    name: str, kinds: str, result_dtype: np.dtype[Any] | None = None, weak_kinds: str = ""
) -> Callable[..., ShapedArray]:
    """Return the type rule of an elementwise operation on dtypes whose kind is in `kinds`."""

    def abstract_eval(*avals: ShapedArray) -> ShapedArray:
        dtype, kind, shape = avals[0].dtype, avals[0].kind, _SCALAR
        is_weak = kind in weak_kinds
        for aval in avals:
            is_weak = is_weak and aval.weak_type
            if aval.dtype != dtype:
                types = " and ".join(str(a) for a in avals)
                raise TypeError(f"{name} of {types}{where()}: the dtypes differ. Convert one of the operands first.")
            if aval.shape and shape and aval.shape != shape:
                types = " and ".join(str(a) for a in avals)
                raise ShapeError(
                    f"{name} of {types}{where()}: the shapes differ. Broadcast the operands to one shape or rank 0."
                )
            shape = aval.shape or shape
        if kind not in kinds:
            raise TypeError(undefined_message(name, avals[0]))
        return shaped_array(shape, dtype if result_dtype is None else result_dtype, is_weak)

    return abstract_eval


def undefined_message(name: str, aval: ShapedArray) -> str:
    """Return the message for an operation that does not exist for the dtype of `aval`.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.extend import undefined_message
    >>> undefined_message("blur", typeof(np.array([True]))).partition(": ")[2]
    'not defined for bool. Convert the operand first.'
    """
    dtype = dtype_name(aval.dtype)
    return f"{name} of {aval}{where()}: not defined for {dtype}. Convert the operand first."


def insist(name: str, kinds: str, *args: Value) -> tuple[Value, ...]:
    """Return operands of one dtype, whose kind must be in `kinds`; for functions where NumPy takes more kinds."""
    aval = typeof(args[0])
    if aval.kind not in kinds:
        raise TypeError(undefined_message(name, aval))
    return args


def ordered_operands(name: str, x: Value, y: Value) -> tuple[Value, Value]:
    """Return two promoted operands, which must not be complex: NumPy's comparisons of these are in `ordering.py`."""
    x, y = binary(name, x, y)
    if type(x) is not float and typeof(x).kind == "c":
        raise TypeError(undefined_message(name, typeof(x)))
    return x, y


def fitting(name: str, *args: Value) -> Sequence[Value]:
    """Return operands promoted to one dtype and to equal shapes or rank 0."""
    avals = [typeof(x) for x in args]
    dtype, shape = avals[0].dtype, _SCALAR
    for aval in avals:
        if aval.dtype is not dtype or (aval.shape and shape and aval.shape != shape):
            return promote(name, args)
        shape = aval.shape or shape
    return args


def real_operands(name: str, *args: Value) -> tuple[Value, ...]:
    """Return the operands of the function `name` of real numbers: floats of one dtype, of equal shapes or rank 0.

    Integers and bools become floats.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_core.extend import real_operands
    >>> real_operands("hypotenuse", np.float32(3.0), 4)
    (np.float32(3.0), np.float32(4.0))
    """
    if len(args) > 2:
        args = tuple(fitting(name, *args))
    operands = floating_pair(name, *args) if len(args) == 2 else tuple(map(floating, args))
    return insist(name, FLOAT, *operands)


def as_result(x: Value) -> Value:
    """Return `x` as the result of an operation that changes no element: strong, in its dtype under the settings."""
    aval = typeof(x)
    if aval.weak_type:
        return strong(x)
    if x.dtype == aval.dtype or (here().settings.enable_x64 and x.dtype.isnative):
        return x
    return convert_element_type_p.bind(x, new_dtype=aval.dtype, weak_type=False)


def declare(
    name: str,
    kinds: str,
    impl: Callable[..., Value],
    result_dtype: np.dtype[Any] | None = None,
    *,
    weak_kinds: str = "",
    linearity: Linearity | None = None,
) -> Primitive:
    """Return a new elementwise primitive with its type rule and its NumPy evaluation.

    `weak_kinds` are the kinds of dtypes for which weak operands give a weak result.  An operation on integers, or with
    a result that is no float, is constant.
    """
    has_float_result = result_dtype is None or is_float(result_dtype)
    if not has_float_result or not set(kinds) & set(REAL_OR_COMPLEX):
        linearity = "constant"
    primitive = Primitive(name, linearity=linearity)
    primitive.is_elementwise = True
    primitive.weak_kinds = weak_kinds
    primitive.def_abstract_eval(elementwise(name, kinds, result_dtype, weak_kinds), cached=True)
    primitive.def_impl(impl, leaf=True, for_types=numpy_function(impl))
    return primitive
