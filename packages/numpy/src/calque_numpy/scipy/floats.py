"""The operands of scipy's special functions: floats of one dtype and one shape.

Integers and bools become float64, as in SciPy (float32 in the regime of 32 bits).  Half precision is kept, and computed
in single precision.  Complex numbers are refused, save by functions that say otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from calque_core import lax, typeof
from calque_core.engine import active, evaluate_by_types, here, kind_of, mark_wrapper, merely_evaluates, scalar_dtype
from calque_core.engine.numpy_functions import array_of, as_dtype, broadcast_to, implements_by_name, promoted_dtype
from calque_core.extend import elementwise_function
from calque_core.extend import where as place

Value = Any
F = TypeVar("F", bound=Callable[..., Value])

_SINGLE = np.dtype("float32")


def float_dtype(name: str, *args: Value, takes_complex: bool = False) -> np.dtype[Any]:
    """Return the dtype of the function `name` of these operands.

    Raises: TypeError for complex numbers, unless the function takes them.
    """
    dtype = promoted_dtype(name, *args)
    if dtype.kind == "c" and not takes_complex:
        types = " and ".join(str(typeof(x)) for x in args)
        raise TypeError(f"{name} of {types}{place()}: complex numbers are not supported. Give real numbers.")
    return scalar_dtype(float) if kind_of(dtype) in "biu" else dtype


def complex_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the complex dtype of the precision of a dtype, single precision at least."""
    bits = 8 * dtype.itemsize if dtype.kind == "c" else 16 * max(dtype.itemsize, _SINGLE.itemsize)
    return np.dtype(f"complex{bits}")


def elementwise(*second_names: str, takes_complex: bool = False) -> Callable[[F], F]:
    """Return a decorator for a function of floats of one shape, in at least single precision.

    The function implements SciPy's ufunc of its name, and those of the second names.  A tuple of results is of one
    dtype.
    """

    def decorate(function: F) -> F:
        named = _of_floats(function, takes_complex)
        implements_by_name("scipy.special", function.__name__, *second_names)(named)
        return _known(named)  # type: ignore[return-value]

    return decorate


def of_floats(function: F) -> F:
    """Return a function of floats of one dtype, in at least single precision, whose operands broadcast; as `function`.

    `function` gets numbers as numbers, and its result is broadcast: a parameter that is a number costs one number.
    """
    return _known(_of_floats(function, False, keeps_numbers=True))  # type: ignore[return-value]


def _of_floats(
    function: Callable[..., Value], takes_complex: bool, keeps_numbers: bool = False
) -> Callable[..., Value]:
    """Return the function of operands of any type; it ignores NumPy's warnings: a formula computes all its branches."""
    name = function.__name__

    def of_floats(*args: Value) -> Value:
        args = tuple(array_of(x) if isinstance(x, (list, tuple)) else x for x in args)
        dtype = float_dtype(name, *args, takes_complex=takes_complex)
        shape = lax.broadcast_shapes(*(typeof(x).shape for x in args)) if len(args) > 1 else None
        wide = dtype if dtype.itemsize >= _SINGLE.itemsize else _SINGLE
        operands = [as_dtype(x, wide) for x in args]
        if shape is not None:
            operands = [x if keeps_numbers and not typeof(x).shape else broadcast_to(x, shape) for x in operands]
        with np.errstate(all="ignore"):
            out = function(*operands)
            out = broadcast_to(out, shape) if keeps_numbers and shape is not None else out
            return tuple(as_dtype(x, dtype) for x in out) if type(out) is tuple else as_dtype(out, dtype)

    of_floats.__code__ = of_floats.__code__.replace(co_name=name)  # messages name the code that the user calls
    return elementwise_function(wraps(function)(of_floats))


def _known(named: Callable[..., Value]) -> Callable[..., Value]:
    """Return the function, computed by its known operations where nothing is traced."""

    @mark_wrapper
    @wraps(named)
    def known(*args: Value) -> Value:
        if active and not merely_evaluates():  # as for SciPy's function: the trace may know its operations
            return here().trace.process_function(named, args, {})
        with np.errstate(all="ignore"):
            return evaluate_by_types(named, args, {})

    return known
