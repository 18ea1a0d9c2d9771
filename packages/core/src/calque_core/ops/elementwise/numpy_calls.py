"""NumPy's own functions in the place of evaluations, for operands of known types.

One idea: an evaluation looks at its operands before it calls NumPy: are they Python scalars, integers of few bits?
Where the types of the operands are known, straight-line code calls the function of NumPy's at once; this saves 0.1 to
0.3 us per operation.

Read next: `declare.py`, which asks here; `scalars.py` and `formulas.py`, whose evaluations are in these tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calque_core.types.avals import ShapedArray

Function = Callable[..., Any]

on_arrays: dict[Function, Function] = {}
"""By an evaluation, the function with the same results where an operand has axes."""

on_floats: dict[Function, Function] = {}
"""By an evaluation, the function with the same results where the operands are real floats, scalars or arrays."""


def numpy_function(impl: Function) -> Callable[..., Function | None]:
    """Return the function from types of operands to the function that gives the results of `impl` on them sooner.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.lax import mul_p
    >>> for_types, x = numpy_function(mul_p.impl), np.ones(3)
    >>> for_types(typeof(x), typeof(x)), for_types(typeof(2.0), typeof(3.0))
    (<ufunc 'multiply'>, None)
    """

    def for_types(*avals: ShapedArray) -> Function | None:
        function = on_arrays.get(impl, impl) if any(aval.shape for aval in avals) else impl
        function = on_floats.get(function, function) if avals[0].kind == "f" else function
        return None if function is impl else function

    return for_types
