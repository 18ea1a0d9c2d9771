"""Batching `while`: one loop for the batch, until the condition fails, or fails for every element.

One idea: if the condition differs between elements, the values of a finished element are frozen, and its further steps
are discarded.  The discarded steps start again from the element's first state; for an element that never starts, from
the first state of an element that does.  So the body sees only states that satisfy the condition, and no infinity, zero
divisor or NaN derivative arises that is not the program's own.  In a compiled program without derivatives these do no
harm: `guard` starts discarded steps there from the frozen values, if such a step ends and raises nothing.

A value that depends on no mapped value, such as a counter, stays unmapped and is not frozen; its value at the end of
each element is carried beside it.  Discarded steps see later values of it than the element's own steps did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from calque_batching.axes import broadcast
from calque_batching.batch_trace import AxisData, one_by_one
from calque_batching.jaxprs import batch_jaxpr_axes, batch_step, carry_in_front, forwarded_inputs
from calque_batching.rules.calls.check import where_active
from calque_core import Jaxpr, JaxprEqn, Primitive, Var, eval_jaxpr, stage, typeof
from calque_core.engine import (
    align_operands,
    exact_effects,
    has_effects_by_element,
    join_constants,
    lower_avals,
    lowered,
    marked_carries,
    named_axes,
    nested_jaxprs,
    own_types,
    raised,
    without_axis_at,
)
from calque_core.extend import marked, merged, unmarked, where
from calque_core.lax import (
    bitwise_and,
    convert_element_type,
    discard,
    dynamic_index_in_dim,
    guard_p,
    iota,
    jit_p,
    mul,
    reduce_max,
    reduce_or,
    select_n_p,
    while_p,
)

Value = Any
Dims = Sequence[int | None]
Batch = tuple[list[Value], list[int | None]]
Options = dict[str, Any]  # the parameters of a loop that do not concern its programs: batched, checkpoints


class _Values(NamedTuple):
    """Values, or their batch dimensions, by their role in the loop."""

    condition: Sequence[Any]
    body: Sequence[Any]
    carry: Sequence[Any]

    @classmethod
    def of(cls, values: Sequence[Any], num_condition: int, num_body: int) -> _Values:
        """Return the operands of a loop by role."""
        num_consts = num_condition + num_body
        return cls(values[:num_condition], values[num_condition:num_consts], values[num_consts:])


def while_batch(
    axis: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    body_jaxpr: Jaxpr,
    body_nconsts: int,
    cond_jaxpr: Jaxpr,
    cond_nconsts: int,
    **options: Any,
) -> Batch:
    """Loop over the whole batch: as one if the condition is unmapped, otherwise as `batched` says."""
    programs = {"cond_jaxpr": cond_jaxpr, "body_jaxpr": body_jaxpr}
    mixes = axis.name is not None and axis.name in named_axes(programs)
    is_alone = options["batched"] == "map" and not mixes
    if is_alone and _is_condition_mapped(cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts, dims):
        params = {"cond_nconsts": cond_nconsts, "body_nconsts": body_nconsts, **programs, **options}
        outs = one_by_one(while_p, args, dims, params)
        return outs, [0] * len(outs)
    values, bdims = _Values.of(args, cond_nconsts, body_nconsts), _Values.of(dims, cond_nconsts, body_nconsts)
    body, carry_dims = batch_step(body_jaxpr, axis, [*bdims.body, *bdims.carry], len(bdims.carry), body_nconsts)
    cond_dims = [*bdims.condition, *carry_dims]
    condition, (predicate_dim,) = batch_jaxpr_axes(cond_jaxpr, axis, cond_dims)
    values = values._replace(carry=carry_in_front(axis, values.carry, bdims.carry, carry_dims))
    if predicate_dim is None:
        return _bind(condition, body, values, options), carry_dims
    if options["batched"] == "map":
        raise ValueError(_meeting_message(axis))
    _check_effects(cond_jaxpr, body_jaxpr)
    is_changed = [source != body_nconsts + i for i, source in enumerate(forwarded_inputs(body_jaxpr))]
    asks = has_effects_by_element(cond_jaxpr, body_jaxpr)
    if asks:
        step_dims = [0, *bdims.body, *bdims.carry]
        body, carry_dims = batch_step(where_active(body_jaxpr), axis, step_dims, len(bdims.carry), body_nconsts + 1)
        cond_jaxpr, cond_dims = where_active(cond_jaxpr), [0, *cond_dims]
    condition, _ = batch_jaxpr_axes(cond_jaxpr, axis, cond_dims, [True])
    loop = _Loop(axis, condition, body, bdims.body, carry_dims, is_changed, mixes, asks, options)
    with np.errstate(all="ignore"):  # the results of finished elements are discarded
        finals = loop.run(values)
    outs = [final if changed else x for x, final, changed in zip(values.carry, finals, is_changed)]
    return outs, [0 if changed else d for d, changed in zip(carry_dims, is_changed)]


while_p.def_rule("axis_batch", while_batch)


def _bind(condition: Jaxpr, body: Jaxpr, values: _Values, options: Options) -> list[Value]:
    """Bind a loop of programs that may have constants."""
    (condition,), cond_consts = join_constants([condition])
    (body,), body_consts = join_constants([body])
    return while_p.bind(  # type: ignore[no-any-return]
        *cond_consts,
        *values.condition,
        *body_consts,
        *values.body,
        *values.carry,
        body_jaxpr=body,
        body_nconsts=len(body_consts) + len(values.body),
        cond_jaxpr=condition,
        cond_nconsts=len(cond_consts) + len(values.condition),
        **options,
    )


def _is_condition_mapped(condition: Jaxpr, cond_nconsts: int, body: Jaxpr, body_nconsts: int, dims: Dims) -> bool:
    """Tell whether the condition depends on a mapped operand, at some step, without batching the programs."""
    masks = _Values.of([d is not None for d in dims], cond_nconsts, body_nconsts)
    carry = marked_carries(masks.carry, lambda mask: _dependent(body, [*masks.body, *mask]))
    return _dependent(condition, [*masks.condition, *carry])[0]


def _dependent(jaxpr: Jaxpr, is_mapped: Sequence[bool]) -> list[bool]:
    """Return a mask of the results that depend on the arguments in a mask."""
    reached = set(marked(jaxpr.invars, is_mapped))
    for eqn in jaxpr.eqns:
        if any(type(x) is Var and x in reached for x in eqn.invars):
            reached.update(eqn.outvars)
    return [type(x) is Var and x in reached for x in jaxpr.outvars]


def _meeting_message(axis: AxisData) -> str:
    return (
        f"while_loop{where()} got batched='map' and a condition that differs from element to element under vmap, but "
        f"the loop names the axis {axis.name!r} of the vmap. An element that runs alone does not see the others; use "
        "batched='select'."
    )


def _check_effects(*programs: Jaxpr) -> None:
    effects = exact_effects(effect for program in programs for effect in program.effects)
    if effects:
        raise TypeError(
            f"while_loop{where()} got a condition that differs from element to element under vmap, but it has the "
            f"effect {effects[0]}. Finished elements would cause it again. Move the effect out of the loop."
        )


class _Loop(NamedTuple):
    """A loop for a whole batch, whose elements take different numbers of steps.

    `body_dims` and `carry_dims` are the batch dimensions of the constants of the body and of the carry; `is_changed`
    marks the carries that a step changes; `mixes` says that elements interact through a named axis; with `asks`, the
    programs have one more operand in front, the running elements, the only ones that they check.
    """

    axis: AxisData
    condition: Jaxpr
    body: Jaxpr
    body_dims: Dims
    carry_dims: Dims
    is_changed: Sequence[bool]
    mixes: bool
    asks: bool
    options: Options

    @property
    def is_frozen(self) -> list[bool]:
        """Whether each carry is frozen when an element finishes."""
        return [changed and d is not None for d, changed in zip(self.carry_dims, self.is_changed)]

    @property
    def is_shared(self) -> list[bool]:
        """Whether each carry changes but is unmapped."""
        return [changed and d is None for d, changed in zip(self.carry_dims, self.is_changed)]

    def run(self, values: _Values) -> list[Value]:
        """Return the final carry; a carry that a step changes has its batch axis in front."""
        is_running = self.holds(np.ones(self.axis.size, bool), values.condition, values.carry)
        body_consts = self.startable(is_running, values.body, self.body_dims)
        starts = self.startable(is_running, values.carry, self.carry_dims)
        finals = [broadcast(x, self.axis.size, 0) for x in marked(values.carry, self.is_shared)]
        consts, state = [*values.condition, *body_consts, *starts], [is_running, *values.carry, *finals]

        def step(*args: Value) -> list[Value]:
            operands = _Values.of(args, len(values.condition), len(body_consts))
            starts_and_state = operands.carry
            consts = operands._replace(carry=starts_and_state[: len(starts)])
            return self.step(consts, starts_and_state[len(starts) :])

        body = stage(step, [typeof(x) for x in (*consts, *state)], verb="vmap")
        condition = stage(lambda running, *_: [reduce_or(running)], [typeof(x) for x in state], verb="vmap")
        _, *outs = _bind(condition, body, _Values((), consts, state), self.options)
        return merged(self.is_shared, outs[len(starts) :], unmarked(outs, self.is_shared))

    def step(self, consts: _Values, state: Sequence[Value]) -> list[Value]:
        """Return the state after a step: the running elements, the carry, and the final values of shared carries.

        Discarded steps start from the state `consts.carry`.
        """
        count = len(self.carry_dims)
        is_running, before, finals = state[0], state[1 : count + 1], state[count + 1 :]
        inputs = self.body_inputs(is_running, before, consts.carry)
        after = eval_jaxpr(self.body, self.body.consts, *self.asked(is_running), *consts.body, *inputs)
        finals = [_select(is_running, x, old) for x, old in zip(marked(after, self.is_shared), finals)]
        after = self.next_carry(is_running, after, before)
        holds = self.holds(is_running, consts.condition, after)
        return [bitwise_and(is_running, holds), *after, *finals]

    def holds(self, is_running: Value, consts: Sequence[Value], carry: Sequence[Value]) -> Value:
        """Return the condition for each element."""
        (holds,) = eval_jaxpr(self.condition, self.condition.consts, *self.asked(is_running), *consts, *carry)
        return holds

    def asked(self, is_running: Value) -> list[Value]:
        """Return the first operands of the programs."""
        return [is_running] if self.asks else []

    def body_inputs(self, is_running: Value, carry: Sequence[Value], starts: Sequence[Value]) -> Sequence[Value]:
        """Return the input of the body; if elements interact, they see the frozen values of finished elements."""
        if self.mixes:
            return carry
        startable = [x if changed else start for x, start, changed in zip(carry, starts, self.is_changed)]
        return self.next_carry(is_running, startable, starts, guard_p if _is_harmless(self.body) else select_n_p)

    def next_carry(
        self, is_running: Value, carry: Sequence[Value], finished: Sequence[Value], choice: Primitive = select_n_p
    ) -> list[Value]:
        """Return `carry` for running elements, else `finished`; `carry` for all elements if it is not frozen."""
        columns = zip(carry, finished, self.is_frozen)
        return [_select(is_running, x, old, choice=choice) if frozen else x for x, old, frozen in columns]

    def startable(self, is_running: Value, values: Sequence[Value], dims: Dims) -> list[Value]:
        """Return the values; an element that never starts gets the values of an element that starts."""
        if self.axis.size < 2 or self.mixes or all(d is None for d in dims):
            return list(values)
        last = reduce_max(mul(iota(np.uint32, self.axis.size), convert_element_type(is_running, np.uint32)))
        return [x if d is None else _select(is_running, x, _element(x, last, d), d) for x, d in zip(values, dims)]


def _is_harmless(body: Jaxpr) -> bool:
    """Tell whether a compiled step ends, raises nothing and calls nobody, even from values that no element has."""
    # Its own equations first: a loop inside decides, so that a level of nested loops does not visit all inner levels.
    if not all(map(_ends, body.eqns)):
        return False
    return all(_ends(eqn) for jaxpr in nested_jaxprs(body) for eqn in jaxpr.eqns) and not body.effects


def _ends(eqn: JaxprEqn) -> bool:
    primitive = eqn.primitive
    return primitive.is_elementwise or primitive.linearity is not None or primitive is jit_p


def _element(x: Value, i: Value, dim: int) -> Value:
    """Return an element of a batch, as a constant for derivatives."""
    if type(x) in own_types:
        return raised([_element(array, i, dim) for array in lowered(x)], without_axis_at(typeof(x), dim))
    return dynamic_index_in_dim(discard(x), i, dim, keepdims=False)


def _select(is_first: Value, first: Value, second: Value, dim: int = 0, choice: Primitive = select_n_p) -> Value:
    """Return the elements of `first` where `is_first`, else of `second`; an unmapped value is broadcast."""
    if type(first) in own_types:
        pairs = zip(lowered(first), lowered(second))
        arrays = [_select(is_first, x, y, dim, choice) for x, y in pairs]
        aval = max(typeof(first), typeof(second), key=lambda aval: len(lower_avals(aval)[0].shape))
        return raised(arrays, aval)
    full = max(typeof(first).ndim, typeof(second).ndim)
    dims = [dim if typeof(x).ndim == full else None for x in (second, first)]
    operands, _ = align_operands([is_first, second, first], [0, *dims])
    return choice.bind(*operands)
