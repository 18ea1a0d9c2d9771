"""The results of lowering rules, checked: one IR value for each result of the equation, of its type.

A primitive without such a rule is lowered by its decomposition, which the messages name instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir

from calque_core import JaxprEqn
from calque_core.extend import describe_function
from calque_xla_backend.modules.types import aval_to_ir_type


def check_results(eqn: JaxprEqn, outs: Any, types: dict[Any, ir.Type]) -> None:
    """Check that a rule returned one IR value for each result, of the type of the equation."""
    try:
        fits = len(outs) == len(eqn.outvars)
        for out, var in zip(outs, eqn.outvars):
            fits = fits and out.type == (types.get(var.aval) or aval_to_ir_type(var.aval))
    except (TypeError, AttributeError):
        fits = False
    if not fits:
        raise TypeError(_result_message(eqn, outs))


def _result_message(eqn: JaxprEqn, outs: Any) -> str:
    """Return the message for wrong results of a rule."""
    rule, count = f"{_rule(eqn.primitive)} returned", len(eqn.outvars)
    if not isinstance(outs, Sequence):
        return f"{rule} {outs!r}. Return a sequence of IR values."
    if len(outs) != count:
        return f"{rule} {len(outs)} values for {count} result{'s' * (count != 1)}. Return one IR value for each result."
    for i, (out, var) in enumerate(zip(outs, eqn.outvars)):
        if not isinstance(out, ir.Value):
            kind = type(out).__name__
            return f"{rule} {out!r} of type {kind} as result {i}. Return IR values, such as the result of an operation."
        expected_type = aval_to_ir_type(var.aval)
        if out.type != expected_type:
            return (
                f"{rule} {out.type} as result {i}, but abstract evaluation says {var.aval}, that is {expected_type}. "
                "Correct one of the two rules."
            )
    raise AssertionError(outs)


def _rule(primitive: Any) -> str:
    """Return "the lowering rule of 'twice'", or "the decomposition f (train.py:12) of 'twice'", for messages."""
    rules = primitive.rules
    if "decomposition" not in rules or any(kind == "lowering" or kind[0] == "lowering" for kind in rules):
        return f"the lowering rule of '{primitive.name}'"
    return f"the decomposition {describe_function(rules['decomposition'])} of '{primitive.name}'"
