"""Complex numbers: their real and imaginary parts, their conjugates, and their construction from real numbers.

One idea: a complex array is a pair of real arrays, and only these four operations tell the two apart: each is linear
over the reals, none of them over the complex numbers.  All other operations on complex numbers are holomorphic, or
made of these.

A real number is its own real part and its own conjugate: the public functions return it, the primitives take complex
numbers only.  Python's and NumPy's `complex` are types; `lax.complex` is this function.
"""

from __future__ import annotations

from builtins import complex as complex_number  # the function below has the name of the class
from typing import Any

import numpy as np

from calque_core.backends import on_device_of
from calque_core.ops.elementwise import scalars
from calque_core.ops.elementwise.convert import convert_element_type
from calque_core.ops.elementwise.declare import FLOAT, as_result, declare, elementwise, insist, undefined_message
from calque_core.ops.elementwise.operands import floating_pair
from calque_core.ops.elementwise.weakness import strong
from calque_core.ops.shapes.create import zeros_like
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import ShapedArray, shaped_array, typeof

Value = Any

_SINGLE = np.dtype("float32")
_COMPLEX = frozenset((complex_number,))


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the parts of complex numbers of dtype `dtype`.

    >>> import numpy as np
    >>> from calque_core.extend import real_dtype
    >>> real_dtype(np.dtype("complex64"))
    dtype('float32')
    """
    return np.finfo(dtype).dtype


def complex_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of complex numbers whose parts have dtype `dtype`.

    >>> import numpy as np
    >>> from calque_core.extend import complex_dtype
    >>> complex_dtype(np.dtype("float32"))
    dtype('complex64')
    """
    return np.result_type(dtype, np.complex64)


# Real and imaginary parts

real_p = Primitive("real", linearity="linear")
imag_p = Primitive("imag", linearity="linear")
real_p.weak_kinds = imag_p.weak_kinds = "c"
real_p.is_elementwise = imag_p.is_elementwise = True


def _part_abstract_eval(primitive: Primitive, x_aval: ShapedArray) -> ShapedArray:
    if x_aval.kind != "c":
        raise TypeError(undefined_message(primitive.name, x_aval))
    return shaped_array(x_aval.shape, real_dtype(x_aval.dtype), x_aval.weak_type)


@real_p.def_abstract_eval(cached=True)
def real_abstract_eval(x_aval: ShapedArray) -> ShapedArray:
    return _part_abstract_eval(real_p, x_aval)


@imag_p.def_abstract_eval(cached=True)
def imag_abstract_eval(x_aval: ShapedArray) -> ShapedArray:
    return _part_abstract_eval(imag_p, x_aval)


real_p.def_impl(lambda x: x.real if type(x) is complex_number else np.asarray(x).real[()], leaf=True)
imag_p.def_impl(lambda x: x.imag if type(x) is complex_number else np.asarray(x).imag[()], leaf=True)


def real(x: Value) -> Value:
    """Return the real part of x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: of the real and imaginary parts; real numbers are returned unchanged.

    >>> import numpy as np
    >>> from calque_core.lax import real
    >>> real(np.array([1 + 2j, 3 - 4j]))
    array([1., 3.])
    """
    return real_p.bind(strong(x)) if typeof(x).kind == "c" else as_result(x)


def imag(x: Value) -> Value:
    """Return the imaginary part of x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: of the real and imaginary parts; real numbers give zeros of their dtype.

    >>> import numpy as np
    >>> from calque_core.lax import imag
    >>> imag(np.array([1 + 2j, 3 - 4j]))
    array([ 2., -4.])
    """
    return imag_p.bind(strong(x)) if typeof(x).kind == "c" else on_device_of((x,), zeros_like(x))


# Conjugates

conj_p = declare(
    "conj", "c", scalars.unary(complex_number.conjugate, np.conjugate, _COMPLEX), weak_kinds="c", linearity="linear"
)


def conj(x: Value) -> Value:
    """Return the complex conjugate of x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; real numbers are returned unchanged.

    >>> from calque_core.lax import conj
    >>> conj(1 + 2j)
    np.complex128(1-2j)
    """
    return conj_p.bind(strong(x)) if typeof(x).kind == "c" else as_result(x)


# Complex numbers from real numbers

complex_p = Primitive("complex", linearity="linear")
complex_p.is_elementwise = True
_type_of_parts = elementwise("complex", "f")


@complex_p.def_abstract_eval(cached=True)
def complex_abstract_eval(x_aval: ShapedArray, y_aval: ShapedArray) -> ShapedArray:
    aval = _type_of_parts(x_aval, y_aval)
    if aval.dtype.itemsize < _SINGLE.itemsize:
        raise TypeError(undefined_message("complex", x_aval))
    return aval.update(dtype=complex_dtype(aval.dtype))


def complex_impl(x: Value, y: Value) -> Value:
    x, y = np.asarray(x), np.asarray(y)
    out = np.empty(x.shape or y.shape, complex_dtype(x.dtype))
    out.real, out.imag = x, y  # x + 1j * y would make NaN of an infinite part
    return out[()]


complex_p.def_impl(complex_impl, leaf=True)


def complex(x: Value, y: Value) -> Value:
    """Return the complex numbers with the real part x and the imaginary part y, elementwise.

    Shapes: broadcast.  Dtype: complex, with parts of the promoted dtype.  Floats narrower than float32 are converted to
    float32, integers and bools to floats.
    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_core.lax import complex
    >>> complex(np.array([1.0, 3.0]), 2.0)
    array([1.+2.j, 3.+2.j])
    """
    x, y = insist("complex", FLOAT, *floating_pair("complex", x, y))
    if typeof(x).dtype.itemsize < _SINGLE.itemsize:
        x, y = convert_element_type(x, _SINGLE), convert_element_type(y, _SINGLE)
    return complex_p.bind(x, y)
