"""The trace that applies interval rules.

One idea: a tracer stands for an interval; a rule of kind "bounds" takes intervals and returns one, and runs under the
parent, so that it composes with `vmap` and `jit`.  An operation on floats that are constants rounds, too: it is an
operation on intervals of one number.

Read next: `interval.py` for outward rounding, `rules` for the rules, `enclosure.py` for the public functions.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from calque_bounds import rules as _rules  # noqa: F401  the rules of core's primitives
from calque_bounds.interval import Interval, check_dtype, enclose, known
from calque_bounds.table import EXACT
from calque_core import Primitive, ValueTrace, eval_jaxpr, is_tracer, jaxprs_in_params, lax, rules, typeof
from calque_core.extend import missing_rule

Value = Any
RULES = rules("bounds")


class BoundsTrace(ValueTrace):
    """Its values are intervals, of floats, integers and bools."""

    verb = kind = "bounds"
    key = ()
    drops_custom_derivatives = True  # the derivative of a bound is no bound of the derivative

    def lift(self, x: Value) -> Interval:
        check_dtype(x, "a constant")
        return enclose(x, x)

    def to_arrays(self, value: Interval) -> tuple[list[Value], None]:
        return [value.lower, value.upper], None

    def from_arrays(self, static: Hashable, arrays: Sequence[Value]) -> Interval:
        return Interval(*arrays)

    def predicate(self, value: Interval) -> Value:
        remedy = "Use lax.cond or np.where, which enclose both cases, or a loop of a known number of steps."
        return known(value, "a condition", remedy).lower

    def apply(self, primitive: Primitive, values: Sequence[Value], params: dict[str, Any]) -> Any:
        if primitive not in RULES and primitive.is_elementwise and primitive is not lax.guard_p:
            # A decomposition may be an approximation, as that of a special function.
            raise missing_rule(primitive, "bounds")
        return super().apply(primitive, values, params)

    def process_primitive(self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        if not any(map(self.owns, args)) and self.rounds(primitive, args, params):
            args = [self.wrap(self.unwrap(x), typeof(x)) if typeof(x).kind == "f" else x for x in args]
        if primitive is lax.cond_p and self.owns(args[0]):
            index, branches = self.possible(args[0], params["branches"])
            return all_branches(index, args[1:], branches)
        return super().process_primitive(primitive, args, params)

    def rounds(self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]) -> bool:
        """Tell whether an operation on constants may round, itself or in its programs."""
        if primitive in EXACT or not any(typeof(x).kind == "f" for x in args):
            return False
        return primitive in RULES or any(True for _ in jaxprs_in_params(params))

    def possible(self, index: Value, branches: Sequence[Any]) -> tuple[Value, Sequence[Any]]:
        """Return the branches that the interval of an index allows, if it is known, and an index of these."""
        which = self.unwrap(index)
        if is_tracer(which.lower) or is_tracer(which.upper):
            return index, branches
        first, last = (min(max(int(end), 0), len(branches) - 1) for end in which)
        return self.wrap(Interval(np.int32(0), np.int32(last - first)), typeof(index)), branches[first : last + 1]


def all_branches(index: Value, operands: Sequence[Value], branches: Sequence[Any]) -> list[Value]:
    """Return the results of several branches, chosen by an index that is not known."""
    cases = [eval_jaxpr(branch, branch.consts, *operands) for branch in branches]
    return list(cases[0]) if len(cases) == 1 else [lax.select_n(index, *outs) for outs in zip(*cases)]
