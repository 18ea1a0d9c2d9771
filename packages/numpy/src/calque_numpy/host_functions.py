"""NumPy's functions of text and files, and other functions that need values: NumPy's own function computes.

One idea: values of NumPy's and of device arrays reach NumPy's function; a traced array, which has no value yet, is
refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from calque_core import ArrayMethods, NumpyRuleError, implements, is_tracer, typeof
from calque_core.engine import host_values
from calque_core.extend import where as place
from calque_pytree import tree_leaves

Value = Any
Function = Callable[..., Value]


def _on_values(numpy_function: Function, purpose: str) -> Function:
    """Return a function of NumPy's, for device arrays too; it refuses traced arrays."""
    name = numpy_function.__name__

    def function(*args: Any, **kwargs: Any) -> Value:
        for x in filter(is_tracer, tree_leaves((args, kwargs))):
            raise NumpyRuleError(
                f"{name} of {typeof(x)}{place()}: it {purpose}, which a traced array does not have yet. Return the "
                f"array from the transformed function, and call {name} with the result."
            )
        return numpy_function(*host_values(args), **host_values(kwargs))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Call `numpy.{name}`, which {purpose}, with NumPy's arrays in place of device arrays."
    function.__signature__ = inspect.signature(numpy_function)  # type: ignore[attr-defined]
    return implements(numpy_function)(function)


_TEXT = "makes text of values"
array2string = _on_values(np.array2string, _TEXT)
array_repr = _on_values(np.array_repr, _TEXT)
array_str = _on_values(np.array_str, _TEXT)
base_repr = _on_values(np.base_repr, _TEXT)
binary_repr = _on_values(np.binary_repr, _TEXT)
format_float_positional = _on_values(np.format_float_positional, _TEXT)
format_float_scientific = _on_values(np.format_float_scientific, _TEXT)

_WRITES = "writes values to a file"
save = _on_values(np.save, _WRITES)
savetxt = _on_values(np.savetxt, _WRITES)
savez = _on_values(np.savez, _WRITES)
savez_compressed = _on_values(np.savez_compressed, _WRITES)

_SHAPE = "makes a shape that depends on values"
trim_zeros = _on_values(np.trim_zeros, _SHAPE)


def isscalar(element: Any) -> bool:
    """Return whether a value is a number, a string, or a traced array or device array without axes.

    >>> import numpy as np
    >>> from calque_numpy import isscalar
    >>> isscalar(2.0), isscalar(np.ones(2))
    (True, False)
    """
    return not typeof(element).shape if isinstance(element, ArrayMethods) else bool(np.isscalar(element))
