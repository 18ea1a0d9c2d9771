"""The attributes of NumPy's arrays that no other module defines: `x.argsort()`, `x.flat`, `x.tobytes()`.

One idea: a method that is a function of NumPy calls the implementation of that function, which has JAX's options beside
NumPy's arguments.  Any other attribute is about memory: a device array has the attribute of its value on the host; a
tracer has the few that mean something without memory, and no other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np

from calque_core.arrays.late_methods import LATE
from calque_core.arrays.numpy_shapes import ravel
from calque_core.arrays.views import view
from calque_core.frames.source import mark_wrapper, where
from calque_core.traces.tracer import is_tracer
from calque_core.types.array_methods import ArrayMethods, array_method
from calque_core.types.avals import typeof

Value = Any

FUNCTIONS = (
    np.argpartition,
    np.argsort,
    np.choose,
    np.cumprod,
    np.cumsum,
    np.diagonal,
    np.nonzero,
    np.repeat,
    np.searchsorted,
    np.take,
    np.trace,
)
CHANGES = {
    "fill": "Use numpy.full_like(x, value)",
    "partition": "Use numpy.partition(x, kth)",
    "put": "Use x.at[index].set(values)",
    "resize": "Use x.reshape(shape)",
    "setfield": "Use numpy.where(mask, values, x)",
    "setflags": "Such an array is always read-only. Remove the call",
}
_OF_TRACERS: dict[str, Callable[[Value], Any]] = {"flat": ravel}


def _method_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method that is a function of NumPy."""

    @mark_wrapper
    @wraps(function)
    def method(self: Value, *args: Any, **options: Any) -> Any:
        return self.__array_function__(function, (type(self),), (self, *args), options)

    return method


@mark_wrapper
def compress(self: Value, condition: Value, axis: int | None = None, out: None = None, **options: Any) -> Any:
    """Return the slices along `axis` where a condition is true; JAX's options are `size` and `fill_value`."""
    return self.__array_function__(np.compress, (type(self),), (condition, self, axis, out), options)


def _attribute(name: str) -> property:
    """Return the property for an attribute of NumPy's arrays."""

    def attribute(self: Value) -> Any:
        if name in CHANGES:
            raise AttributeError(
                f"x.{name}{where()} would change a traced array or a device array in place. {CHANGES[name]}."
            )
        if name == "view":  # a device array's is one on its device
            return partial(view, self)
        if is_tracer(self):
            if name in _OF_TRACERS:
                return _OF_TRACERS[name](self)
            raise AttributeError(
                f"x.{name}{where()}: a traced array of type {typeof(self)} does not have this attribute, because its "
                "elements are not in memory. Return the array from the transformed function, and read the attribute of "
                "the result."
            )
        return getattr(np.asarray(self), name)

    return property(attribute)


for _function in FUNCTIONS:
    array_method(_method_of(_function))
array_method(compress)
for _name in set(LATE["missing_methods"].split()) - {"compress", *(function.__name__ for function in FUNCTIONS)}:
    setattr(ArrayMethods, _name, _attribute(_name))
