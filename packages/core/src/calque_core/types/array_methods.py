"""The base class of the array classes that are not NumPy's: tracers, device arrays.

Tracers need the class, and its methods call operations, which need tracers.  So the class is empty here, and the
modules of `arrays`, which stand above all operations, add the methods.  They are loaded for the first tracer or device
array: whoever defines a class of either imports its base class from `arrays`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from calque_core.context import active, here
from calque_core.frames.source import mark_wrapper

F = TypeVar("F", bound=Callable[..., Any])


class ArrayMethods:
    """Operators, indexing, NumPy's protocols, and the methods that are one operation."""

    __slots__ = ()
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]  # == is elementwise, so a hash cannot agree with it


class ArrayOperations(ArrayMethods):
    """The methods of tracers whose trace may know the operations of a method from an earlier call."""

    __slots__ = ()


def array_method(function: F) -> F:
    """Make `function` a method of every array-like class, under its own name."""
    setattr(ArrayMethods, function.__name__, function)
    return function


def array_operation(function: F) -> F:
    """Make `function` a method as `array_method` does; its operations depend on types and options alone."""
    setattr(ArrayOperations, function.__name__, by_types(function))
    return array_method(function)


def by_types(function: F) -> F:
    """Return `function` for traces that may know it from earlier calls: types and options decide what it does.

    From the third call with operands of the same types and equal options on, a trace may do what the function did,
    without running it: copy its equations, or call NumPy.  So `function` binds the same operations at each such call,
    reads nothing that changes, and has no effect.

    >>> import numpy as np
    >>> from calque_core import lax, make_jaxpr
    >>> from calque_core.extend import by_types
    >>> @by_types
    ... def mean_of_squares(x):
    ...     return lax.div(lax.reduce_sum(lax.square(x)), x.size)
    >>> len(make_jaxpr(mean_of_squares)(np.ones(3)).eqns)
    3
    """

    @mark_wrapper
    @wraps(function)
    def of_tracers(*args: Any, **options: Any) -> Any:
        return here().trace.process_function(function, args, options) if active else function(*args, **options)

    return of_tracers  # type: ignore[return-value]


def array_property(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make `function` a read-only property of every array-like class, under its own name."""
    setattr(ArrayMethods, function.__name__, property(function))
    return function
