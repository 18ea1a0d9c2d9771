"""Formulas as code on Python's floats, for a number or a few.

One idea: Python's floats round as NumPy's do, so the numbers are the same, and an operator takes a tenth of the time
that a function of NumPy's takes.  Where NumPy gives an infinity or nan, Python may raise an error: then the formula
runs on arrays.

Read next: `approximate.py`, which declares formulas.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import repeat
from math import prod
from typing import Any

import numpy as np

from calque_core.jaxprs.jaxpr import Atom, Jaxpr, Literal
from calque_core.known.run import function_of
from calque_core.ops.arithmetic import abs_p, add_p, div_p, max_p, min_p, mul_p, neg_p, square_p, sub_p
from calque_core.ops.compare import and_p, eq_p, ge_p, gt_p, le_p, lt_p, ne_p, not_p, or_p, select_n_p
from calque_core.ops.exponential import exp_p, log_p, pow_p, rsqrt_p, sqrt_p
from calque_core.ops.rounding import RoundingMethod, floor_p, round_p
from calque_core.ops.trigonometric import cos_p, sin_p, tan_p
from calque_core.primitives.primitive import Primitive

Value = Any
OfNumbers = Callable[..., float]

_TEXTS: dict[Primitive, str] = {
    add_p: "{0} + {1}",
    sub_p: "{0} - {1}",
    mul_p: "{0} * {1}",
    div_p: "{0} / {1}",
    neg_p: "-{0}",
    abs_p: "abs({0})",
    square_p: "{0} * {0}",
    # nan of either operand, as NumPy
    max_p: "{0} if {0} > {1} or {0} != {0} else {1}",
    min_p: "{0} if {0} < {1} or {0} != {0} else {1}",
    eq_p: "{0} == {1}",
    ne_p: "{0} != {1}",
    lt_p: "{0} < {1}",
    le_p: "{0} <= {1}",
    gt_p: "{0} > {1}",
    ge_p: "{0} >= {1}",
    and_p: "{0} and {1}",
    or_p: "{0} or {1}",
    not_p: "not {0}",
    select_n_p: "{2} if {0} else {1}",
    exp_p: "float(exp({0}))",
    log_p: "float(log({0}))",
    sqrt_p: "sqrt({0})",
    rsqrt_p: "1.0 / sqrt({0})",
    pow_p: "float(power({0}, {1}))",
    sin_p: "float(sin({0}))",
    cos_p: "float(cos({0}))",
    tan_p: "float(tan({0}))",
    floor_p: "float(floor({0}))",
    round_p: "float(round({0}))",
}
_FUNCTIONS = (abs, float, round, math.floor, math.sqrt, np.exp, np.log, np.power, np.sin, np.cos, np.tan)
_NAMES: dict[str, Callable[..., Any]] = {f.__name__: f for f in _FUNCTIONS}
_USED_TWICE = (square_p, max_p, min_p)  # whose texts have an operand twice
_PARAMS: tuple[dict[str, Any], ...] = ({}, {"rounding_method": RoundingMethod.TO_NEAREST_EVEN})
_DTYPES = frozenset((np.dtype(float), np.dtype(bool)))
_LONG = 500  # characters; Python's parser takes 200 brackets, one inside the other


def def_number_code(primitive: Primitive, function: Callable[..., float], operands: int) -> None:
    """Define an operation of Python's floats, which gives the same numbers as the evaluation of a primitive."""
    _NAMES[primitive.name] = function
    _TEXTS[primitive] = f"{primitive.name}({', '.join(f'{{{i}}}' for i in range(operands))})"


def code_of_numbers(program: Jaxpr) -> OfNumbers | None:
    """Return a program that acts on each element alone as a function of Python's floats; None if it has no such code.

    It takes numbers of 64 bits.  A value that is used once is written where it is used, so that a choice computes the
    chosen value alone.

    >>> from calque_core import lax, make_jaxpr
    >>> code_of_numbers(make_jaxpr(lambda x: [lax.exp(2.0 * x)])(1.0))(0.0)
    1.0
    """
    atoms = [x for eqn in program.eqns for x in (*eqn.invars, *eqn.outvars)]
    if not {x.aval.dtype for x in atoms} <= _DTYPES or not {eqn.primitive for eqn in program.eqns} <= _TEXTS.keys():
        return None
    uses = Counter(x for eqn in program.eqns for x in [*eqn.invars] * (2 if eqn.primitive in _USED_TWICE else 1))
    texts: dict[Atom, str] = {v: f"x{i}" for i, v in enumerate(program.invars)}
    lines = [f"def function({', '.join(texts.values())}):"]
    constants: dict[str, Value] = {}

    def text_of(x: Atom) -> str:
        if not isinstance(x, Literal):
            return texts[x]
        name = f"k{len(constants)}"
        constants[name] = x.val.item() if isinstance(x.val, np.generic) else x.val
        return name

    for eqn in program.eqns:
        if eqn.params not in _PARAMS:
            return None
        (result,) = eqn.outvars
        text = _TEXTS[eqn.primitive].format(*map(text_of, eqn.invars))
        if uses[result] == 1 and len(text) < _LONG:
            texts[result] = f"({text})"
        else:
            texts[result] = f"x{len(texts)}"
            lines.append(f" {texts[result]} = {text}")
    lines.append(f" return {text_of(program.outvars[0])}")
    return function_of("\n".join(lines), _NAMES | constants)


def on_numbers(function: OfNumbers, args: Sequence[Value], dtype: np.dtype[Any]) -> Value:
    """Return the results of a function of Python's floats, for each element of arrays of one shape, or of rank 0.

    Raises: ArithmeticError or ValueError, where NumPy gives an infinity or nan.

    >>> import math
    >>> on_numbers(math.erf, [np.array([0.0, np.inf])], np.dtype(float))
    array([0., 1.])
    """
    shape = max([x.shape for x in args], key=len)
    if not shape:
        return dtype.type(function(*map(float, args)))
    numbers = [x.ravel().tolist() if x.shape else repeat(float(x)) for x in args]
    return np.fromiter(map(function, *numbers), dtype, prod(shape)).reshape(shape)
