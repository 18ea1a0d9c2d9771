"""Batching functions with rules of their own: their programs and derivative rules run on whole batches.

One idea: the function and each of its rules run under a new trace of the mapped axis, over the current trace.  All
these traces share a tag: a captured tracer of one has its batch axis in each of them.  All results, of the function and
of its rules, have their batch axis in front.  A function with a rule for batches is the result of this rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from calque_batching.axes import matchaxis, moveaxis
from calque_batching.batch_trace import AxisData, BatchTrace
from calque_batching.batch_tracer import element
from calque_batching.jaxprs import batch_jaxpr_axes
from calque_core import (
    CustomRules,
    Jaxpr,
    Primitive,
    UndefinedPrimal,
    Zero,
    current_trace,
    jaxpr_as_fun,
    tracing,
    typeof,
)
from calque_core.engine import (
    Pullback,
    entered,
    here,
    is_own,
    lowered,
    named_axes,
    raised,
    undefined_of,
    with_leading_axis,
    without_axis_at,
    zero_of,
)
from calque_core.lax import (
    custom_jvp_call_p,
    custom_vjp_call_p,
    custom_vjp_fwd_p,
    custom_vjp_linear_p,
    custom_vmap_call_p,
    reduce_sum,
    squeeze,
)
from calque_core.lax import slice as slice_of

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
        return self.in_front(*self.by_rule(rule, args))

    def by_operations(self, fun: Callable[..., Values], args: Values) -> tuple[list[Value], list[int | None]]:
        """Run the function on elements; return the results and their batch dimensions."""
        with self.trace() as trace:
            return trace.split(fun(*elements(trace, args, self.dims)))

    def function(self, fun: Callable[..., Values], *args: Value) -> list[Value]:
        """Run the function on elements; return whole batches."""
        outs, self.out_dims = self.by_operations(fun, args)
        return self.in_front(outs, self.out_dims)

    def jvp(self, rule: Rule, primals: Values, tangents: Values) -> tuple[list[Value], list[Value]]:
        with self.trace() as trace:
            outs, out_dots = rule(elements(trace, primals, self.dims), elements(trace, tangents, self.dims))
            return self.whole(trace, outs), self.whole(trace, out_dots)

    def fwd(self, rule: Rule, primals: Values, nonzeros: Sequence[bool]) -> tuple[list[Value], list[Value], Rule]:
        """Run the forward half of a vjp rule; the backward half gets the batch dimensions of the residuals."""
        with self.trace() as trace:
            outs, residuals, bwd = rule(elements(trace, primals, self.dims), nonzeros)
            whole, dims = trace.split(residuals)
            return self.whole(trace, outs), whole, partial(self.bwd, bwd, dims)

    def bwd(self, rule: Rule, dims: Dims, known: Values, cts: Values) -> list[Value]:
        """Run the backward half of a vjp rule on residuals, or a transpose rule on operands."""
        with self.trace() as trace:
            in_cts = rule(elements(trace, known, dims), elements(trace, cts, [0] * len(cts)))
            return [self.argument_cotangent(trace, ct, d) for ct, d in zip(in_cts, self.dims)]

    def transpose(self, rule: Rule, operands: Values, cts: Values) -> list[Value]:
        return self.bwd(rule, self.dims, operands, cts)

    # Whole batches of results and cotangents

    def in_front(self, outs: Values, dims: Dims) -> list[Value]:
        """Return whole batches with their axis in front."""
        return [matchaxis(x, d, 0, self.axis.size) for x, d in zip(outs, dims)]

    def whole(self, trace: BatchTrace, outs: Values) -> list[Value]:
        """Return whole batches of elements, with their axis in front; a `Zero` stays one."""
        return [zero_of(self.batched_aval(x.aval)) if type(x) is Zero else self.placed(trace, x, 0) for x in outs]

    def argument_cotangent(self, trace: BatchTrace, ct: Value, dim: int | None) -> Value:
        """Return the cotangent of an argument; an unmapped argument gets the sum over all elements."""
        if ct is None or type(ct) is Zero:
            return None
        return _sum_of_elements(self.placed(trace, ct, 0)) if dim is None else self.placed(trace, ct, dim)

    def placed(self, trace: BatchTrace, x: Value, dim: int) -> Value:
        """Return the whole batch of a value, with its axis at `dim`."""
        (array,), (source,) = trace.split([x])
        return matchaxis(array, source, dim, self.axis.size)

    def batched_aval(self, aval: Any) -> Any:
        """Return the type of a whole batch of results."""
        return with_leading_axis(aval, self.axis.size)


def _sum_of_elements(x: Value) -> Value:
    """Return the sum over the leading axis, the batch axis."""
    if is_own(typeof(x)):
        return raised([*map(_sum_of_elements, lowered(x))], without_axis_at(typeof(x), 0))
    return reduce_sum(x, (0,))


def elements(trace: BatchTrace, values: Values, dims: Dims) -> list[Value]:
    """Return one element of each batch; a placeholder of a batch becomes a placeholder of one element."""
    return [
        x if d is None else _placeholder(x, d) if type(x) in _PLACEHOLDERS else element(trace, x, d)
        for x, d in zip(values, dims)
    ]


_PLACEHOLDERS = {Zero: zero_of, UndefinedPrimal: undefined_of}


def _placeholder(x: Zero | UndefinedPrimal, dim: int) -> Any:
    """Return the placeholder of one element from the placeholder of a batch."""
    if is_own(x.aval):
        return _PLACEHOLDERS[type(x)](without_axis_at(x.aval, dim))
    shape = x.aval.shape
    return _PLACEHOLDERS[type(x)](x.aval.update(shape=(*shape[:dim], *shape[dim + 1 :])).strip_weak_type())


# The rules of the equations


def custom_batch(
    primitive: Primitive, axis: AxisData, args: Values, dims: Dims, *, rules: CustomRules, **program: Any
) -> tuple[list[Value], list[int | None]]:
    """Batch one of the three primitives: its function is a program, `jaxpr`, or during a call `fun`.

    `fun` comes with the `tag` of the trace whose tracers the function may close over.  A result that a collective makes
    equal for all elements has no batch axis; derivative rules see it with one, as for every result, because their
    cotangents have one.
    """
    call = CustomBatch(axis, dims, program.get("tag"))
    fun = program["fun"] if "fun" in program else jaxpr_as_fun(program["jaxpr"])
    batch_rule = rules.batch if any(d is not None for d in dims) else None
    if not rules.has_derivative:
        return call.by_operations(fun, args) if batch_rule is None else call.by_rule(batch_rule, args)
    whole = partial(call.function, fun) if batch_rule is None else partial(call.whole_by_rule, batch_rule)
    outs = current_trace().process_custom_derivative(primitive, whole, args, {"rules": call.rules(rules)})
    if batch_rule is not None or axis.name is None or not axis.size:
        return outs, [0] * len(outs)
    out_dims = call.out_dims if "fun" in program else _dims_of_program(program["jaxpr"], axis, dims)
    is_reduced = [False] * len(outs) if out_dims is None else [dim is None for dim in out_dims]
    return [_first(x) if r else x for x, r in zip(outs, is_reduced)], [None if r else 0 for r in is_reduced]


def _dims_of_program(jaxpr: Jaxpr, axis: AxisData, dims: Dims) -> Dims | None:
    """Return the batch dimensions of the results if a collective may remove the batch axis, else None."""
    return batch_jaxpr_axes(jaxpr, axis, dims)[1] if axis.name in named_axes({"jaxpr": jaxpr}) else None


def _first(x: Value) -> Value:
    """Return the first of equal elements."""
    if is_own(typeof(x)):
        return raised([*map(_first, lowered(x))], without_axis_at(typeof(x), 0))
    shape = typeof(x).shape
    return squeeze(slice_of(x, (0,) * len(shape), (1, *shape[1:])), (0,))


for _primitive in (custom_jvp_call_p, custom_vjp_call_p, custom_vmap_call_p):
    _primitive.def_rule("axis_batch", partial(custom_batch, _primitive))


@custom_vjp_linear_p.def_rule("axis_batch")
def custom_vjp_linear_batch(
    axis: AxisData, args: Sequence[Value], dims: Dims, *, pullback: Pullback
) -> tuple[list[Value], list[int | None]]:
    """Run on whole batches; all results have the batch axis in front."""
    call = CustomBatch(axis, dims)
    batched = pullback._replace(
        fun=partial(call.function, pullback.fun),
        transpose=partial(call.transpose, pullback.transpose),
        out_avals=tuple(map(call.batched_aval, pullback.out_avals)),
    )
    outs = custom_vjp_linear_p.bind(*args, pullback=batched)
    return outs, [0] * len(outs)


@custom_vjp_fwd_p.def_rule("axis_batch")
def custom_vjp_fwd_batch(
    axis: AxisData, args: Sequence[Value], dims: Dims, *, fwd: Jaxpr, fun: Jaxpr, **params: Any
) -> tuple[list[Value], list[int | None]]:
    """Batch both programs; all results of the function have the batch axis in front."""
    is_out = [i < len(fun.outvars) for i in range(len(fwd.outvars))]
    batched_fwd, out_dims = batch_jaxpr_axes(fwd, axis, dims, is_out)
    batched_fun, _ = batch_jaxpr_axes(fun, axis, dims, [True] * len(fun.outvars))
    return custom_vjp_fwd_p.bind(*args, fwd=batched_fwd, fun=batched_fun, **params), out_dims
