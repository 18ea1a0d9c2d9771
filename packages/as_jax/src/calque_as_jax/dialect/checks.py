"""Programs whose checks give values: the number of the first check that failed, and what its message shows.

One idea: each check of a program has references, which are written where the check fails and none has failed before it.
So branches, loops and batches need no rule of their own: they are made again around the programs with references.
Checks that jax makes by itself, of NaN, divisors and indices, are added to the program as checks first.

Read next: `checkify.py`, jax's names; `calque_core/ref.py`, the references.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from calque_core import Jaxpr, Primitive, ShapedArray, check, interpret, lax, stage, typeof
from calque_core import rules as rule_table
from calque_core.engine import Check, has_checks, nested_jaxprs
from calque_core.extend import is_float
from calque_core.ref import Ref, freeze, new_ref

Value = Any
Key = tuple[Check, tuple[tuple[int, ...], ...]]  # a check, and the shapes of its operands


# Whether a program runs outside of `checkify`: true, save where `run_with_checks` reads it.
outside_p = Primitive("outside_of_checkify")
outside_p.def_abstract_eval(lambda: ShapedArray((), bool))
outside_p.def_impl(lambda: np.True_)
outside_p.def_rule("decomposition", lambda: lax.full((), True, np.bool_))


class AutomaticMessage(str):
    """The message of a check that the program did not ask for."""

    __slots__ = ()


class Failure(NamedTuple):
    """The checks of a program, the number of the one that failed first, from 1 on, 0 for none; and their operands."""

    checks: tuple[Check, ...]
    number: Value
    operands: tuple[tuple[Value, ...], ...]


class Slot(NamedTuple):
    """Where a check of a program writes: its number, from 1 on, and a reference for each operand."""

    number: int
    operands: Sequence[Ref]


def run_with_checks(jaxpr: Jaxpr, *args: Value) -> tuple[list[Value], Failure]:
    """Return the results of a program, and which of its checks failed first.  No check raises."""
    eqns = [eqn for program in nested_jaxprs(jaxpr) for eqn in program.eqns if eqn.primitive is lax.check_p]
    slots: dict[Key, Slot] = {}
    for eqn in eqns:
        refs = [new_ref(np.zeros(v.aval.shape, v.aval.dtype)) for v in eqn.invars]
        slots.setdefault(_key(eqn.params["check"], [v.aval for v in eqn.invars]), Slot(len(slots) + 1, refs))
    first = new_ref(np.int32(0))
    outs = interpret(jaxpr, _table(first, slots), *args)
    operands = tuple(tuple(map(freeze, slot.operands)) for slot in slots.values())
    return outs, Failure(tuple(check for check, _ in slots), freeze(first), operands)


def _key(check: Check, avals: Sequence[Any]) -> Key:
    return check, tuple(aval.shape for aval in avals)


def _table(first: Ref, slots: dict[Key, Slot]) -> dict[Any, Callable[..., Any]]:
    """Return the table by which a program writes its failures into references."""
    table: dict[Any, Callable[..., Any]] = {}

    def run(jaxpr: Jaxpr, *args: Value) -> list[Value]:
        return interpret(jaxpr, table, *args)

    table[outside_p] = lambda: np.False_
    table[lax.check_p] = partial(_write, first, slots)
    table[lax.cond_p] = partial(_cond, run)
    table[lax.scan_p] = partial(_scan, run)
    table[lax.while_p] = partial(_while, run)
    for primitive in (lax.custom_jvp_call_p, lax.custom_vjp_call_p):
        table[primitive] = partial(_call_with_rules, primitive, run)
    return table


def _write(first: Ref, slots: dict[Key, Slot], *operands: Value, check: Check) -> list[Value]:
    """Write the operands of a check that fails, unless another has failed before."""
    slot = slots[_key(check, [typeof(x) for x in operands])]
    is_first = lax.bitwise_and(lax.bitwise_not(lax.reduce_and(operands[0])), lax.eq(first[...], 0))
    first[...] = lax.select(is_first, np.int32(slot.number), first[...])
    for ref, x in zip(slot.operands, operands):
        whole = lax.broadcast(is_first, ref.shape)
        ref[...] = lax.select(whole, lax.convert_element_type(x, ref.dtype), ref[...])
    return []


# Branches and loops, around programs with references


def _cond(run: Callable[..., Any], index: Value, *operands: Value, branches: Sequence[Jaxpr], **params: Any) -> Any:
    return lax.switch(index, [partial(run, branch) for branch in branches], *operands, **params)


def _scan(
    run: Callable[..., Any], *args: Value, jaxpr: Jaxpr, num_consts: int, num_carry: int, **params: Any
) -> list[Value]:
    consts, carry, xs = args[:num_consts], args[num_consts : num_consts + num_carry], args[num_consts + num_carry :]

    def step(carry: Sequence[Value], xs: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        outs = run(jaxpr, *consts, *carry, *xs)
        return outs[:num_carry], outs[num_carry:]

    last, stacked = lax.scan(step, [*carry], [*xs], **params)
    return [*last, *stacked]


def _while(
    run: Callable[..., Any],
    *args: Value,
    cond_jaxpr: Jaxpr,
    cond_nconsts: int,
    body_jaxpr: Jaxpr,
    body_nconsts: int,
    **params: Any,
) -> list[Value]:
    """Run the loop with its condition as part of the carry, so that checks of the condition are made once a step."""
    cond_consts, body_consts = args[:cond_nconsts], args[cond_nconsts : cond_nconsts + body_nconsts]

    def holds(carry: Sequence[Value]) -> Value:
        return run(cond_jaxpr, *cond_consts, *carry)[0]

    def step(state: tuple[Value, Sequence[Value]]) -> tuple[Value, list[Value]]:
        carry = run(body_jaxpr, *body_consts, *state[1])
        return holds(carry), carry

    carry = list(args[cond_nconsts + body_nconsts :])
    return list(lax.while_loop(lambda state: state[0], step, (holds(carry), carry), **params)[1])


def _call_with_rules(primitive: Primitive, run: Callable[..., Any], *args: Value, jaxpr: Jaxpr, **params: Any) -> Any:
    """Call a function that has derivative rules without its checks, and make these beside the call."""
    if has_checks(jaxpr):
        run(jaxpr, *map(lax.stop_gradient, args))
    rule: Any = rule_table("interpret")[primitive]
    return rule(_run_without_checks, *args, jaxpr=jaxpr, **params)


def _run_without_checks(jaxpr: Jaxpr, *args: Value) -> list[Value]:
    return interpret(jaxpr, {lax.check_p: lambda *_, check: []}, *args)


# Which checks a program has


def without_checks(jaxpr: Jaxpr) -> Jaxpr:
    """Return a program without its checks."""
    return stage(partial(_run_without_checks, jaxpr), jaxpr.in_avals)


def with_automatic_checks(jaxpr: Jaxpr, kinds: Collection[str]) -> Jaxpr:
    """Return a program with checks of its own: of "nan" results, of "division" by zero and of each "index"."""

    def checked(primitive: Any, *args: Value, **params: Any) -> Any:
        if "index" in kinds and primitive in _INDEX_CHECKS:
            _INDEX_CHECKS[primitive](*args, **params)
        if "division" in kinds and primitive in (lax.div_p, lax.rem_p):
            check(lax.reduce_and(lax.ne(args[1], 0)), AutomaticMessage("division by zero"))
        out = primitive.bind(*args, **params)
        if "nan" in kinds:
            _check_nan(primitive.name, args, out if primitive.multiple_results else [out])
        return out

    return stage(lambda *args: interpret(jaxpr, {}, *args, default=checked), jaxpr.in_avals)


def _check_nan(name: str, args: Sequence[Value], outs: Sequence[Value]) -> None:
    """Check that an operation makes no NaN which none of its operands holds."""
    made, held = ([_has_nan(x) for x in xs if is_float(typeof(x).dtype)] for xs in (outs, args))
    if made:
        holds = lax.bitwise_not(_any(made))
        holds = lax.bitwise_or(holds, _any(held)) if held else holds
        check(holds, AutomaticMessage(f"nan generated by primitive: {name}."))


def _has_nan(x: Value) -> Value:
    return lax.reduce_or(lax.ne(x, x))


def _any(flags: Sequence[Value]) -> Value:
    whole = flags[0]
    for flag in flags[1:]:
        whole = lax.bitwise_or(whole, flag)
    return whole


def _check_index(shape: Sequence[int], sizes: Sequence[int], axis: int, index: Value) -> None:
    """Check that windows of some sizes, which begin at an index of an axis, are inside of an array."""
    fits = lax.bitwise_and(lax.ge(index, 0), lax.le(index, shape[axis] - sizes[axis]))
    check(fits, AutomaticMessage(_OUT_OF_BOUNDS.format(tuple(shape), axis, shape[axis])), index)


_OUT_OF_BOUNDS = (
    "out-of-bounds indexing for array of shape {0}: index {{}} is out of bounds for axis {1} with size {2}. "
)


def _check_rows(shape: Sequence[int], sizes: Sequence[int], axes: Sequence[int], indices: Value) -> None:
    """Check indices of shape [*s, n]: column i has indices along `axes[i]`."""
    for column, axis in enumerate(axes):
        index = lax.index_in_dim(indices, column, typeof(indices).ndim - 1, keepdims=False)
        _check_index(shape, sizes, axis, index)


def _check_gather(x: Value, indices: Value, *, dimension_numbers: Any, slice_sizes: Any, **_: Any) -> None:
    _check_rows(typeof(x).shape, slice_sizes, dimension_numbers.start_index_map, indices)


def _check_scatter(x: Value, indices: Value, updates: Value, *, dimension_numbers: Any, **_: Any) -> None:
    shape, kept = typeof(x).shape, iter(dimension_numbers.update_window_dims)
    left_out = (*dimension_numbers.inserted_window_dims, *dimension_numbers.operand_batching_dims)
    sizes = [1 if axis in left_out else typeof(updates).shape[next(kept)] for axis in range(len(shape))]
    _check_rows(shape, sizes, dimension_numbers.scatter_dims_to_operand_dims, indices)


def _check_slice(x: Value, *indices: Value, slice_sizes: Sequence[int]) -> None:
    for axis, index in enumerate(indices):
        _check_index(typeof(x).shape, slice_sizes, axis, index)


def _check_update(x: Value, update: Value, *indices: Value) -> None:
    _check_slice(x, *indices, slice_sizes=typeof(update).shape)


_INDEX_CHECKS: dict[Any, Callable[..., None]] = {
    lax.gather_p: _check_gather,
    lax.dynamic_slice_p: _check_slice,
    lax.dynamic_update_slice_p: _check_update,
    **dict.fromkeys(
        (lax.scatter_p, lax.scatter_add_p, lax.scatter_mul_p, lax.scatter_min_p, lax.scatter_max_p), _check_scatter
    ),
}
