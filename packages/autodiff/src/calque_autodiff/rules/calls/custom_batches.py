"""The derivatives of rules for batches: the rules of the derivatives of functions that have such a rule.

One idea: a rule for batches is a function of whole batches, so its derivative is the rule for batches of the
derivative.  Forward mode differentiates the rule; the linear half keeps the arguments and differentiates the rule
again; the transpose is the transpose of the rule, with every linear operand mapped, so that each element has a
cotangent of its own.

Read next: `custom.py`, whose equations hold these rules; `ops/calls/custom_closures.py` in core for their signature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.programs.transpose import backward_pass
from calque_autodiff.traces.jvp_trace import JVPTrace, dual
from calque_autodiff.traces.tangent_trace import TangentTrace, captured_by_rules
from calque_core import CustomRules, Jaxpr, current_trace, instantiate_zeros, matchaxis, tracing
from calque_core.engine import undefined_of, with_leading_axis, zero_of
from calque_core.extend import marked, merged, unmarked
from calque_core.lax import custom_vmap_call_p, index_in_dim

Value = Any
Values = Sequence[Value]
Mask = Sequence[bool]
Batch = tuple[list[Value], list[bool]]


class JvpBatch:
    """The rule for batches of the program of a function and its derivative, `jvp_jaxpr(jaxpr, nonzeros)`.

    `rules` are the rules of the function, whose program is `jaxpr`.  Results are the results of the function, then the
    tangents that `out_mask` marks.
    """

    __slots__ = ("jaxpr", "nonzeros", "out_mask", "rules")

    def __init__(self, jaxpr: Jaxpr, rules: CustomRules, nonzeros: Mask, out_mask: Mask) -> None:
        self.jaxpr, self.rules, self.nonzeros, self.out_mask = jaxpr, rules, nonzeros, out_mask

    def function(self, primals: Values) -> list[Value]:
        """Return the results of the function, by a call that an outer trace may map."""
        return custom_vmap_call_p.bind(*primals, jaxpr=self.jaxpr, rules=self.rules)  # type: ignore[no-any-return]

    def rule(self, size: int, is_mapped: Mask, args: Values) -> Batch:
        """Apply the rule for batches of the function."""
        assert self.rules.batch is not None
        return self.rules.batch(size, is_mapped, args)

    def __call__(self, size: int, is_mapped: Mask, operands: Values) -> Batch:
        """Return results and tangents; results do not depend on tangents, and are mapped only if a primal is.

        Without a mapped primal, the rule gives equal elements, and the result is the first one.
        """
        outs, out_dots, out_mapped, mapped = self.differentiated(size, is_mapped, operands)
        count = len(self.nonzeros)
        primals, is_primal_mapped, results_mapped = operands[:count], list(is_mapped[:count]), out_mapped
        if not any(is_primal_mapped):
            outs = [_first(x) if m else x for x, m in zip(outs, out_mapped)] if size else self.function(primals)
            results_mapped = [False] * len(outs)
        elif is_primal_mapped != mapped:
            outs, results_mapped = self.rule(size, is_primal_mapped, primals)
        return [*outs, *out_dots], [*results_mapped, *marked(out_mapped, self.out_mask)]

    def tangents(self, size: int, is_mapped: Mask, operands: Values) -> Batch:
        """Return the tangents alone: the rule for batches of the program that is linear in the tangents."""
        _, out_dots, out_mapped, _ = self.differentiated(size, is_mapped, operands)
        return out_dots, marked(out_mapped, self.out_mask)

    def differentiated(
        self, size: int, is_mapped: Mask, operands: Values
    ) -> tuple[list[Value], list[Value], list[bool], list[bool]]:
        """Differentiate the rule; return results, tangents, and which results and arguments were mapped.

        A primal is mapped if it or its tangent is.
        """
        count = len(self.nonzeros)
        dots_mapped = merged(self.nonzeros, is_mapped[count:], [False] * self.nonzeros.count(False))
        mapped = [a or b for a, b in zip(is_mapped, dots_mapped)]
        primals = [_fit(x, a, b, size) for x, a, b in zip(operands, is_mapped, mapped)]
        dots = merged(self.nonzeros, operands[count:])
        parent = current_trace()
        trace = JVPTrace(parent, parent)
        with tracing(trace):
            tracers = [
                x if t is None else dual(trace, x, _fit(t, a, b, size))
                for x, t, a, b in zip(primals, dots, dots_mapped, mapped)
            ]
            results, out_mapped = self.rule(size, mapped, tracers)
            outs, out_dots = trace.split(results)
        return outs, [instantiate_zeros(t) for t in marked(out_dots, self.out_mask)], list(out_mapped), mapped


class TransposeBatch:
    """The rule for batches of the transpose of a program, `transpose_jaxpr(jaxpr, linear_mask, ct_mask)`.

    Operands are the known operands of the program, then the cotangents that `ct_mask` marks; results are the
    cotangents that `out_mask` marks, each for its own element.
    """

    __slots__ = ("ct_mask", "jaxpr", "linear_mask", "out_mask", "rules")

    def __init__(self, jaxpr: Jaxpr, rules: CustomRules, linear_mask: Mask, ct_mask: Mask, out_mask: Mask) -> None:
        self.jaxpr, self.rules = jaxpr, rules
        self.linear_mask, self.ct_mask, self.out_mask = linear_mask, ct_mask, out_mask

    def __call__(self, size: int, is_mapped: Mask, operands: Values) -> Batch:
        """Record the rule on the linear operands, and transpose the record."""
        assert self.rules.batch is not None
        num_known = self.linear_mask.count(False)
        batches = [with_leading_axis(a, size) for a in marked(self.jaxpr.in_avals, self.linear_mask)]
        trace = TangentTrace(current_trace())
        with tracing(trace), captured_by_rules():
            args = merged(self.linear_mask, map(trace.new_arg, batches), operands[:num_known])
            mapped = merged(self.linear_mask, [True] * len(batches), is_mapped[:num_known])
            outs, out_mapped = self.rules.batch(size, mapped, args)
            program = trace.finish([_fit(x, m, True, size) for x, m in zip(outs, out_mapped)])
        bars = backward_pass(
            program, program.consts, [*map(undefined_of, batches)], self.cotangents(size, is_mapped, operands)
        )
        return [instantiate_zeros(ct) for ct in marked(bars, self.out_mask)], [True] * sum(self.out_mask)

    def cotangents(self, size: int, is_mapped: Mask, operands: Values) -> list[Value]:
        """Return a batch of cotangents for each result; a `Zero` outside of `ct_mask`."""
        num_known = self.linear_mask.count(False)
        cts = [_fit(ct, m, True, size) for ct, m in zip(operands[num_known:], is_mapped[num_known:])]
        zeros = [
            zero_of(with_leading_axis(aval, size))
            for aval in unmarked([a.to_tangent_aval() for a in self.jaxpr.out_avals], self.ct_mask)
        ]
        return merged(self.ct_mask, cts, zeros)


def _fit(x: Value, is_mapped: bool, becomes_mapped: bool, size: int) -> Value:
    """Return `x` with a batch axis in front if it needs one that it has not."""
    return matchaxis(x, None, 0, size) if becomes_mapped and not is_mapped else x


def _first(x: Value) -> Value:
    """Return the first element of a batch."""
    return index_in_dim(x, 0, keepdims=False)
