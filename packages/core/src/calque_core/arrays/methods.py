"""The components of arrays, and the methods whose arguments differ from NumPy's function: `x.reshape(2, 3)`.

Other methods are NumPy's functions themselves: `numpy_shapes.py`, `numpy_reductions.py`, `numpy_products.py`.

Read next: `properties.py`, for `x.shape` and other properties of the type.
"""

# ruff: noqa: N807  (methods are functions here: array_methods.py says why)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calque_core import lax
from calque_core.arrays import numpy_reductions, numpy_shapes
from calque_core.arrays.numpy_protocol import implements
from calque_core.context import here
from calque_core.frames.source import where
from calque_core.ops.elementwise.weakness import number, weak
from calque_core.primitives.primitive import Primitive
from calque_core.traces.tracer import own_array, view_of
from calque_core.types.array_methods import array_method, array_operation, array_property, in_every_size
from calque_core.types.avals import typeof

Value = Any


def _component(function: Callable[[Value], Value], primitive: Primitive, x: Value) -> Value:
    """Return a component of complex numbers, by `function` or, for a weak scalar, by its primitive, weak."""
    aval = typeof(x)
    if not aval.weak_type:
        return function(x)
    return primitive.bind(x) if aval.kind == "c" else weak(function(number(x)))


# Components


@array_property
def T(a: Value) -> Value:
    """Return the array with its axes in reverse order."""
    return view_of(a, lax.transpose(a, range(len(typeof(a).shape))[::-1]))


@array_property
def mT(a: Value) -> Value:
    """Return the array with its last two axes exchanged.  Raises: ValueError if there are fewer."""
    sizes = typeof(a).shape
    if len(sizes) < 2:
        raise ValueError(f"mT of {typeof(a)}{where()}: the array must have at least two axes. Use x.T instead.")
    return numpy_shapes.swapaxes(a, -1, -2)


@implements(np.real)
@array_property
def real(val: Value) -> Value:
    """Return the real parts; a real array is returned unchanged.  For a weak scalar the result is weak."""
    return view_of(val, _component(lax.real, lax.real_p, val))


@implements(np.imag)
@array_property
def imag(val: Value) -> Value:
    """Return the imaginary parts; zeros for a real array.  For a weak scalar the result is weak."""
    return view_of(val, _component(lax.imag, lax.imag_p, val))


# Methods


@array_operation
def conj(self: Value) -> Value:
    """Return the complex conjugates; a real array is returned unchanged."""
    return _component(lax.conj, lax.conj_p, self)


@array_operation
def conjugate(self: Value) -> Value:
    """Return the complex conjugates; a real array is returned unchanged."""
    return _component(lax.conj, lax.conj_p, self)


@array_operation
def reshape(self: Value, *shape: Any, order: str = "C", copy: bool | None = None) -> Value:
    """Return the elements with another shape: `(2, 3)` or `2, 3`."""
    return numpy_shapes.reshape(self, shape[0] if len(shape) == 1 else shape, order, copy=copy)


@array_operation
@in_every_size("code")
def transpose(self: Value, *axes: Any) -> Value:
    """Return the array with its axes in another order: `(1, 0)` or `1, 0`; without arguments, in reverse order."""
    return numpy_shapes.transpose(self, axes[0] if len(axes) == 1 else axes or None)


@array_operation
def flatten(self: Value, order: str = "C") -> Value:
    """Return the elements in row-major order, along one axis."""
    return own_array(self, numpy_shapes.ravel(self, order))


@array_operation
def __round__(self: Value, ndigits: int | None = None) -> Value:
    out = numpy_shapes.round(self, 0 if ndigits is None else ndigits)
    return weak(out) if typeof(self).weak_type else out


@array_method
def __contains__(self: Value, value: Value) -> bool:
    is_equal = self == value  # False beside a string, say
    return is_equal is not False and bool(numpy_reductions.any(is_equal))


@array_method
def sort(self: Value, *args: Any, **options: Any) -> Value:
    """Refuse, since NumPy's method sorts in place; return a sorted array where arrays never change."""
    if here().reports.in_place_operators == "rebind":
        return self.__array_function__(np.sort, (type(self),), (self, *args), options)  # with JAX's options
    raise TypeError(f"x.sort(){where()} would change a traced array or a device array in place. Use numpy.sort(x).")
