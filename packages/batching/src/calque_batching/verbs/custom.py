"""Functions with derivative rules of their own, for whole batches.

One idea: the function and each of its rules run under a new trace of the mapped axis, over the current trace.  All
these traces share a tag: a captured tracer of one has its batch axis in each of them.  All results, of the function and
of its rules, have their batch axis in front.

Read next: `rules/custom.py` for the equations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from calque_batching.axes import matchaxis, moveaxis
from calque_batching.batch_trace import AxisData, BatchTrace, BatchTracer
from calque_core import CustomRules, UndefinedPrimal, Zero, current_trace, tracing
from calque_core.extend import entered, here, shaped_array, undefined_of, zero_of
from calque_core.lax import reduce_sum

Value = Any
Values = Sequence[Value]
Rule = Callable[..., Any]  # of the signature that `CustomRules` gives
Dims = Sequence[int | None]
R = TypeVar("R")


class CustomBatch:
    """One call for a whole batch: `dims` are the batch dimensions of the arguments."""

    def __init__(self, axis: AxisData, dims: Dims, tag: object = None) -> None:
        self.axis, self.dims, self.tag = axis, tuple(dims), tag
        self.out_dims: Dims | None = (
            None  # the batch dimensions of the results before they move to the front; None before the function runs
        )

    def rules(self, rules: CustomRules) -> CustomRules:
        """Return the rules for whole batches."""
        return rules.replace(
            key=("batch", self.axis, self.dims, rules.key),
            jvp=None if rules.jvp is None else self.jvp(rules.jvp),
            fwd=None if rules.fwd is None else self.fwd(rules.fwd),
            batch=None,
            transpose=None if rules.transpose is None else self.transpose(rules.transpose),
        )

    def function(self, fun: Callable[..., Values], batch_rule: Rule | None) -> Callable[..., list[Value]]:
        """Return the function for whole batches, by its batching rule if it has one."""

        def by_rule(*args: Value) -> list[Value]:
            assert batch_rule is not None
            in_front = [x if d is None else moveaxis(x, d, 0) for x, d in zip(args, self.dims)]
            outs, is_mapped = batch_rule(self.axis.size, [d is not None for d in self.dims], in_front)
            return [matchaxis(x, 0 if m else None, 0, self.axis.size) for x, m in zip(outs, is_mapped)]

        def by_element(*args: Value) -> list[Value]:
            def run(trace: BatchTrace) -> list[Value]:
                outs = fun(*self.tracers(trace, args, self.dims))
                self.out_dims = trace.split(outs)[1]
                return self.in_front(trace, outs)

            return self.under_trace(run)

        return by_element if batch_rule is None else by_rule

    def jvp(self, rule: Rule) -> Rule:
        """Return a jvp rule for whole batches."""

        def batched(primals: Values, tangents: Values) -> tuple[list[Value], list[Value]]:
            def run(trace: BatchTrace) -> tuple[list[Value], list[Value]]:
                args = self.tracers(trace, primals, self.dims)
                outs, out_dots = rule(args, self.tracers(trace, tangents, self.dims))
                return self.in_front(trace, outs), self.in_front(trace, out_dots)

            return self.under_trace(run)

        return batched

    def fwd(self, rule: Rule) -> Rule:
        """Return the forward half of a vjp rule for whole batches; the backward half keeps the residual dims."""

        def batched(primals: Values, nonzeros: Sequence[bool]) -> tuple[list[Value], list[Value], Rule]:
            def run(trace: BatchTrace) -> tuple[list[Value], list[Value], Rule]:
                outs, residuals, bwd = rule(self.tracers(trace, primals, self.dims), nonzeros)
                whole, dims = trace.split(residuals)
                return self.in_front(trace, outs), whole, self.bwd(bwd, dims)

            return self.under_trace(run)

        return batched

    def bwd(self, rule: Rule, residual_dims: Dims) -> Rule:
        """Return the backward half of a vjp rule for whole batches."""

        def batched(residuals: Values, cts: Values) -> list[Value]:
            def run(trace: BatchTrace) -> list[Value]:
                elements = self.tracers(trace, residuals, residual_dims)
                cts_in = rule(elements, self.tracers(trace, cts, [0] * len(cts)))
                return [self.gathered(trace, ct, d) for ct, d in zip(cts_in, self.dims)]

            return self.under_trace(run)

        return batched

    def transpose(self, rule: Rule) -> Rule:
        """Return a transpose rule for whole batches."""

        def batched(cts: Values, operands: Values) -> list[Value]:
            def run(trace: BatchTrace) -> list[Value]:
                elements = self.tracers(trace, operands, self.dims)
                cts_in = rule(self.tracers(trace, cts, [0] * len(cts)), elements)
                return [self.gathered(trace, ct, d) for ct, d in zip(cts_in, self.dims)]

            return self.under_trace(run)

        return batched

    def under_trace(self, run: Callable[[BatchTrace], R]) -> R:
        """Run a function under a trace of this axis, over the current trace."""
        trace = BatchTrace(current_trace(), self.axis, self.tag)
        axis_env, own = here().axis_env, (self.axis.name, self.axis.size)
        if self.axis.name is not None and own not in axis_env:
            axis_env = (*axis_env, own)
        with tracing(trace), entered(axis_env=axis_env):
            return run(trace)

    def tracers(self, trace: BatchTrace, values: Values, dims: Dims) -> list[Value]:
        """Return one element of each batch; a placeholder of a batch becomes a placeholder of one element."""
        return [
            x if d is None else _placeholder(x, d) if type(x) in _PLACEHOLDERS else BatchTracer(trace, x, d)
            for x, d in zip(values, dims)
        ]

    def in_front(self, trace: BatchTrace, outs: Values) -> list[Value]:
        """Return whole batches with their axis in front."""
        return [self._in_front(trace, x) for x in outs]

    def _in_front(self, trace: BatchTrace, x: Value) -> Value:
        if type(x) is Zero:
            return zero_of(self.batched_aval(x.aval))
        (value,), (dim,) = trace.split([x])
        return matchaxis(value, dim, 0, self.axis.size)

    def batched_aval(self, aval: Any) -> Any:
        """Return the type of a whole batch of results."""
        return shaped_array((self.axis.size, *aval.shape), aval.dtype)

    def gathered(self, trace: BatchTrace, ct: Value, dim: int | None) -> Value:
        """Return the cotangent of an argument; an unmapped argument gets the sum over all elements."""
        if ct is None or type(ct) is Zero:
            return None
        (value,), (source,) = trace.split([ct])
        whole = matchaxis(value, source, 0 if dim is None else dim, self.axis.size)
        return reduce_sum(whole, (0,)) if dim is None else whole


_PLACEHOLDERS = {Zero: zero_of, UndefinedPrimal: undefined_of}


def _placeholder(x: Zero | UndefinedPrimal, dim: int) -> Any:
    """Return the placeholder of one element from the placeholder of a batch."""
    shape = x.aval.shape
    return _PLACEHOLDERS[type(x)](shaped_array((*shape[:dim], *shape[dim + 1 :]), x.aval.dtype))
