"""Functions with derivative rules of their own, for whole batches.

One idea: the function and each of its rules run under a new trace of the mapped axis, over the current trace.  All
these traces share a tag: a captured tracer of one has its batch axis in each of them.  All results, of the function and
of its rules, have their batch axis in front.

Read next: `rules/custom.py` for the equations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from calque_batching.axes import matchaxis, moveaxis
from calque_batching.batch_trace import AxisData, BatchTrace
from calque_batching.batch_tracer import BatchTracer
from calque_core import CustomRules, UndefinedPrimal, Zero, current_trace, tracing
from calque_core.extend import entered, here, shaped_array, undefined_of, zero_of
from calque_core.lax import reduce_sum

Value = Any
Values = Sequence[Value]
Rule = Callable[..., Any]  # of the signature that `CustomRules` gives
Dims = Sequence[int | None]


class CustomBatch:
    """One call for a whole batch: `dims` are the batch dimensions of the arguments.

    `out_dims` are the batch dimensions of the results before they move to the front; None before the function runs.
    """

    def __init__(self, axis: AxisData, dims: Dims, tag: object = None) -> None:
        self.axis, self.dims, self.tag = axis, tuple(dims), tag
        self.out_dims: Dims | None = None

    def rules(self, rules: CustomRules) -> CustomRules:
        """Return the rules for whole batches."""
        return rules.through(self, ("batch", self.axis, self.dims))

    @contextmanager
    def trace(self) -> Iterator[BatchTrace]:
        """Enter a trace of this axis, over the current trace."""
        axis_env, own = here().axis_env, (self.axis.name, self.axis.size)
        if self.axis.name is not None and own not in axis_env:
            axis_env = (*axis_env, own)
        with tracing(BatchTrace(current_trace(), self.axis, self.tag)) as trace, entered(axis_env=axis_env):
            yield trace

    # The function and its rules, on whole batches

    def by_rule(self, rule: Rule, args: Values) -> tuple[list[Value], list[int | None]]:
        """Run a batching rule; return its results and their batch dimensions."""
        in_front = [x if d is None else moveaxis(x, d, 0) for x, d in zip(args, self.dims)]
        outs, is_mapped = rule(self.axis.size, [d is not None for d in self.dims], in_front)
        return list(outs), [0 if m else None for m in is_mapped]

    def whole_by_rule(self, rule: Rule, *args: Value) -> list[Value]:
        """Run a batching rule; return whole batches."""
        return [matchaxis(x, d, 0, self.axis.size) for x, d in zip(*self.by_rule(rule, args))]

    def by_operations(self, fun: Callable[..., Values], args: Values) -> tuple[list[Value], list[int | None]]:
        """Run the function on elements; return the results and their batch dimensions."""
        with self.trace() as trace:
            return trace.split(fun(*elements(trace, args, self.dims)))

    def function(self, fun: Callable[..., Values], *args: Value) -> list[Value]:
        """Run the function on elements."""
        with self.trace() as trace:
            outs = fun(*elements(trace, args, self.dims))
            self.out_dims = trace.split(outs)[1]
            return self.in_front(trace, outs)

    def jvp(self, rule: Rule, primals: Values, tangents: Values) -> tuple[list[Value], list[Value]]:
        with self.trace() as trace:
            outs, out_dots = rule(elements(trace, primals, self.dims), elements(trace, tangents, self.dims))
            return self.in_front(trace, outs), self.in_front(trace, out_dots)

    def fwd(self, rule: Rule, primals: Values, nonzeros: Sequence[bool]) -> tuple[list[Value], list[Value], Rule]:
        """Run the forward half of a vjp rule; the backward half gets the batch dimensions of the residuals."""
        with self.trace() as trace:
            outs, residuals, bwd = rule(elements(trace, primals, self.dims), nonzeros)
            whole, dims = trace.split(residuals)
            return self.in_front(trace, outs), whole, partial(self.bwd, bwd, dims)

    def bwd(self, rule: Rule, dims: Dims, known: Values, cts: Values) -> list[Value]:
        """Run the backward half of a vjp rule on residuals, or a transpose rule on operands."""
        with self.trace() as trace:
            in_cts = rule(elements(trace, known, dims), elements(trace, cts, [0] * len(cts)))
            return [self.argument_cotangent(trace, ct, d) for ct, d in zip(in_cts, self.dims)]

    def transpose(self, rule: Rule, operands: Values, cts: Values) -> list[Value]:
        return self.bwd(rule, self.dims, operands, cts)

    # Whole batches of results and cotangents

    def in_front(self, trace: BatchTrace, outs: Values) -> list[Value]:
        """Return whole batches with their axis in front."""
        return [zero_of(self.batched_aval(x.aval)) if type(x) is Zero else self.whole(trace, x, 0) for x in outs]

    def argument_cotangent(self, trace: BatchTrace, ct: Value, dim: int | None) -> Value:
        """Return the cotangent of an argument; an unmapped argument gets the sum over all elements."""
        if ct is None or type(ct) is Zero:
            return None
        return reduce_sum(self.whole(trace, ct, 0), (0,)) if dim is None else self.whole(trace, ct, dim)

    def whole(self, trace: BatchTrace, x: Value, dim: int) -> Value:
        """Return the whole batch of a value, with its axis at `dim`."""
        (array,), (source,) = trace.split([x])
        return matchaxis(array, source, dim, self.axis.size)

    def batched_aval(self, aval: Any) -> Any:
        """Return the type of a whole batch of results."""
        return shaped_array((self.axis.size, *aval.shape), aval.dtype).varying(aval.vma)


def elements(trace: BatchTrace, values: Values, dims: Dims) -> list[Value]:
    """Return one element of each batch; a placeholder of a batch becomes a placeholder of one element."""
    return [
        x if d is None else _placeholder(x, d) if type(x) in _PLACEHOLDERS else BatchTracer(trace, x, d)
        for x, d in zip(values, dims)
    ]


_PLACEHOLDERS = {Zero: zero_of, UndefinedPrimal: undefined_of}


def _placeholder(x: Zero | UndefinedPrimal, dim: int) -> Any:
    """Return the placeholder of one element from the placeholder of a batch."""
    shape = x.aval.shape
    return _PLACEHOLDERS[type(x)](x.aval.update(shape=(*shape[:dim], *shape[dim + 1 :])).strip_weak_type())
