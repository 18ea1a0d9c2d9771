"""Functions that are formulas in other operations, and the sums that the formulas consist of.

One idea: NumPy and XLA have no function of equal accuracy, so `declare_formula` makes the formula the decomposition of
its primitive: both evaluators run the same operations, and agree up to the last bits of these.

XLA rewrites (x + a) + b as x + (a + b) for constants, and exp(x) exp(y) as exp(x + y): formulas avoid such pairs.

Read next: `special.py`, `gamma.py`, `bessel.py`, `incomplete.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core.ops.arithmetic import add, mul, sub
from calque_core.ops.convert import convert_element_type
from calque_core.ops.declare import FLOAT, elementwise
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import typeof

Value = Any
Formula = Callable[..., Value]

_SINGLE = np.dtype("float32")


def declare_formula(name: str, formula: Formula) -> Primitive:
    """Return a new elementwise primitive of floats that is `formula` of its operands, in at least single precision.

    Evaluation ignores NumPy's warnings: a formula computes all its branches, and chooses afterwards.
    """
    primitive = Primitive(name)
    primitive.def_abstract_eval(elementwise(name, FLOAT), cached=True)

    def decomposition(*args: Value) -> Value:
        dtype = typeof(args[0]).dtype
        if dtype.itemsize >= _SINGLE.itemsize:
            return formula(*args)
        return convert_element_type(formula(*(convert_element_type(x, _SINGLE) for x in args)), dtype)

    def impl(*args: Value) -> Value:
        with np.errstate(all="ignore"):
            return decomposition(*args)

    primitive.def_rule("decomposition", decomposition)
    primitive.def_impl(impl)
    return primitive


def polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """Return the sum of c_k x**k by Horner's rule."""
    total: Value = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = add(mul(total, x), c)
    return total


def chebyshev(t: Value, coefficients: Sequence[float]) -> Value:
    """Return the sum of c_k T_k(t) for -1 <= t <= 1.

    Source: Clenshaw (1955), A note on the summation of Chebyshev series.
    """
    twice = add(t, t)
    now: Value = coefficients[-1]
    before: Value = 0.0
    for c in coefficients[-2:0:-1]:
        now, before = add(sub(mul(twice, now), before), c), now
    return add(sub(mul(t, now), before), coefficients[0])
