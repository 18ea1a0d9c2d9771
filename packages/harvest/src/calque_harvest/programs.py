"""Harvesting checkpoints, branches and loops: the rules of kind "harvest".

One idea: a loop carries the last value of a name of mode "clobber", and stacks the values of mode "append".  Branches
sow the same names and types, so that either gives a value.

Read next: `harvest_trace.py`, which opens a single program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

from calque_core import Jaxpr, Primitive, Var, Zero, instantiate_zeros, lax, typeof
from calque_core.extend import run_program, shaped_array, where
from calque_core.lax import (
    cond_p,
    custom_jvp_call_p,
    custom_vjp_call_p,
    custom_vmap_call_p,
    platform_dependent_p,
    remat_p,
    scan_p,
    while_p,
)
from calque_harvest.harvest_trace import HarvestTrace, Opened, Planted, harvest_rules, leaves_of, open_call
from calque_harvest.marks import marks
from calque_harvest.sites import sites, sites_of
from calque_harvest.values import Sown

Value = Any
Rule = Callable[..., list[Value]]


# Programs that are computed again, and functions with derivative rules


def harvest_remat(trace: HarvestTrace, *args: Value, **params: Any) -> list[Value]:
    """Open a checkpointed program.  A second computation has no `sow`, but it needs the planted values."""
    if params["differentiated"]:
        for name, site in sites(params["jaxpr"], trace.label).items():
            if name in trace.plants and site.mode == "append":
                raise NotImplementedError(
                    f"the plant {name!r}, of mode 'append', is in a checkpointed program{where()}, which a derivative "
                    "inside the planted function computes again. Differentiate the planted function: grad(plant(f)), "
                    "not plant(grad(f))."
                )
    return open_call(trace, remat_p, args, params)


def harvest_custom(primitive: Primitive, trace: HarvestTrace, *args: Value, jaxpr: Jaxpr, rules: Any) -> list[Value]:
    return trace.process_custom_derivative(primitive, lambda *xs: run_program(jaxpr, xs), args, {"rules": rules})


# Branches


def harvest_cond(trace: HarvestTrace, index: Value, *operands: Value, **params: Any) -> list[Value]:
    return _harvest_branches(trace, cond_p, [index], operands, params)


def harvest_platform(trace: HarvestTrace, *operands: Value, **params: Any) -> list[Value]:
    return _harvest_branches(trace, platform_dependent_p, [], operands, params)


def _harvest_branches(
    trace: HarvestTrace, primitive: Primitive, index: list[Value], operands: Sequence[Value], params: dict[str, Any]
) -> list[Value]:
    """Bind branches that take all planted values, and return what they sow."""
    branches = params["branches"]
    plants = trace.planted(sites_of(primitive, params, trace.label))
    opened = [trace.open(branch, map(Planted.types, plants)) for branch in branches]
    for other in opened[1:]:
        _check_branches(primitive, opened[0].sown, other.sown)
    count = len(branches[0].outvars)
    key = ("branches of harvest", *(program.jaxpr for program in opened[1:]))
    jaxprs = opened[0].jaxpr.memo(key, lambda: _alike(opened, count))
    arrays = [*index, *(x for program in opened for x in program.consts), *leaves_of(plants), *operands]
    outs = trace.down(primitive, arrays, params | {"branches": jaxprs})
    trace.add(opened[0].sown, outs[count:])
    return outs[:count]


def _check_branches(primitive: Primitive, first: Mapping[str, Sown], second: Mapping[str, Sown]) -> None:
    """Check that two branches sow the same.  Raises: ValueError that names what differs, with both places."""
    for name in [*first, *second]:
        pair = [branch.get(name) for branch in (first, second)]
        if any(s is None for s in pair) or len({(s.mode, s.tree, tuple(s.parts[0])) for s in pair if s}) > 1:
            texts = ["nothing" if s is None else f"{', '.join(map(str, s.parts[0]))} ({s.mode}){s.place}" for s in pair]
            raise ValueError(
                f"branches of {primitive.name}{where()} sow different values under the name {name!r}: one sows "
                f"{texts[0]}, another {texts[1]}. Sow the same names, modes and types in all branches, or sow the "
                "result."
            )


def _in_order(program: Opened, count: int, names: Mapping[str, Sown]) -> Jaxpr:
    """Return the program with its sown values in the order of `names`."""
    results = program.jaxpr.outvars
    columns = _by_name(program.sown, results[count:])
    return program.jaxpr.replace(outvars=[*results[:count], *(v for name in names for v in columns[name])])


def _by_name(sown: Mapping[str, Sown], leaves: Sequence[Any]) -> dict[str, list[Any]]:
    remaining = iter(leaves)
    return {name: [next(remaining) for _ in types.parts[0]] for name, types in sown.items()}


def _alike(programs: Sequence[Opened], count: int) -> tuple[Jaxpr, ...]:
    """Return programs that take the constants of all of them first, and return what they sow in one order."""
    consts = [program.jaxpr.invars[: len(program.consts)] for program in programs]
    jaxprs = []
    for i, program in enumerate(programs):
        leading = [v if j == i else Var(v.aval) for j, group in enumerate(consts) for v in group]
        ordered = _in_order(program, count, programs[0].sown)
        jaxprs.append(ordered.replace(invars=[*leading, *ordered.invars[len(consts[i]) :]]))
    return tuple(jaxprs)


# Loops


def harvest_scan(
    trace: HarvestTrace, *args: Value, jaxpr: Jaxpr, num_carry: int, num_consts: int, length: int, **options: Any
) -> list[Value]:
    """Carry the last values, and stack the appended ones, in the order of the results of the loop."""
    found = sites(jaxpr, trace.label)
    _check_modes({name: site for name, site in found.items() if name in trace.plants}, ("clobber", "append"), "scan")
    plants = trace.planted({name: site.times(length) for name, site in found.items()})
    fixed = [plant for plant in plants if found[plant.name].mode == "clobber"]
    rows = [_divided(plant, length, found[plant.name].rows) for plant in plants if found[plant.name].mode == "append"]
    opened = trace.open(jaxpr, [*map(Planted.types, fixed), *map(_first_row, rows)])
    _check_modes(opened.sown, ("clobber", "append"), "scan")
    given, row_leaves, before = [*opened.consts, *leaves_of(fixed)], leaves_of(rows), num_consts + num_carry
    carry_outs, ys_outs, sown_outs = _split(opened.jaxpr.outvars, num_carry, len(jaxpr.outvars) - num_carry)
    last, stacked = _by_mode(opened.sown, _by_name(opened.sown, sown_outs))
    last_outs = [v for column in last.values() for v in column]

    def make() -> Jaxpr:
        given_vars, row_vars, before_vars, x_vars = _split(opened.jaxpr.invars, len(given), len(row_leaves), before)
        return opened.jaxpr.replace(
            invars=[*given_vars, *before_vars, *(Var(v.aval) for v in last_outs), *x_vars, *row_vars],
            outvars=[*carry_outs, *last_outs, *ys_outs, *(v for column in stacked.values() for v in column)],
        )

    step = opened.jaxpr.memo(("step of harvest", num_consts, num_carry), make)
    operands = [*given, *args[:before], *_starts(trace, opened.sown, last), *args[before:], *row_leaves]
    sizes = {"num_carry": num_carry + len(last_outs), "num_consts": len(given) + num_consts, "length": length}
    outs = trace.down(scan_p, operands, {"jaxpr": step, **sizes, **options})
    carry, lasts, ys, stacks = _split(outs, num_carry, len(last_outs), len(ys_outs))
    values = dict(zip(last, _columns(last, lasts))) | dict(zip(stacked, _columns(stacked, map(_flat, stacks))))
    trace.add(opened.sown, [x for name in opened.sown for x in values[name]])
    return [*carry, *ys]


def harvest_while(
    trace: HarvestTrace, *args: Value, body_jaxpr: Jaxpr, body_nconsts: int, cond_jaxpr: Jaxpr, cond_nconsts: int,
    **options: Any,
) -> list[Value]:  # fmt: skip
    """Carry the last values of the names of the body."""
    names = [name for tag, name in marks(cond_jaxpr) if tag == trace.label]
    if names:
        raise ValueError(
            f"the condition of while_loop{where()} sows {names[0]!r}, and its values cannot leave the loop. Sow in the "
            "body."
        )
    found = sites(body_jaxpr, trace.label)
    _check_modes({name: site for name, site in found.items() if name in trace.plants}, ("clobber",), "while_loop")
    plants = trace.planted(found)
    opened = trace.open(body_jaxpr, map(Planted.types, plants))
    _check_modes(opened.sown, ("clobber",), "while_loop")
    count = len(body_jaxpr.outvars)
    columns = _by_name(opened.sown, opened.jaxpr.outvars[count:])
    avals = tuple([v.aval for column in columns.values() for v in column])
    body, condition = (_with_ignored(jaxpr, avals) for jaxpr in (opened.jaxpr, cond_jaxpr))
    given = [*opened.consts, *leaves_of(plants)]
    operands = [*args[:cond_nconsts], *given, *args[cond_nconsts:], *_starts(trace, opened.sown, columns)]
    counts = {"body_nconsts": body_nconsts + len(given), "cond_nconsts": cond_nconsts}
    outs = trace.down(while_p, operands, {"body_jaxpr": body, "cond_jaxpr": condition, **counts, **options})
    trace.add(opened.sown, outs[count:])
    return outs[:count]


def _with_ignored(jaxpr: Jaxpr, avals: tuple[Any, ...]) -> Jaxpr:
    """Return a program with further arguments, which it ignores."""
    make = lambda: jaxpr.replace(invars=[*jaxpr.invars, *map(Var, avals)])
    return jaxpr.memo(("ignored by harvest", avals), make)  # type: ignore[no-any-return]


def _check_modes(found: Mapping[str, Any], allowed: Sequence[str], loop: str) -> None:
    """Check that a loop can keep the values of names.  Raises: ValueError."""
    for name, entry in found.items():
        if entry.mode in allowed:
            continue
        if entry.mode == "append":
            advice = "The number of steps is unknown, so they cannot be stacked. Use mode='clobber', the last value."
        elif "append" in allowed:
            advice = "Use mode='append' to stack the values of all steps, or mode='clobber' to keep the last."
        else:
            advice = "Use mode='clobber', which keeps the last value."
        raise ValueError(
            f"the name {name!r} of mode {entry.mode!r} is sown{getattr(entry, 'place', '')} in the body of "
            f"{loop}{where()}. {advice}"
        )


def _by_mode(sown: Mapping[str, Sown], columns: Mapping[str, list[Any]]) -> tuple[dict[str, list[Any]], ...]:
    """Return the columns of the names that keep the last value, and of the names that keep all."""
    last = {name: column for name, column in columns.items() if sown[name].mode == "clobber"}
    return last, {name: column for name, column in columns.items() if name not in last}


def _split(xs: Sequence[Any], *sizes: int) -> list[Sequence[Any]]:
    """Return the first items, by these sizes, and the other items."""
    ends = [0, *accumulate(sizes)]
    return [*(xs[a:b] for a, b in pairwise(ends)), xs[ends[-1] :]]


def _columns(columns: Mapping[str, list[Any]], leaves: Iterable[Value]) -> list[list[Value]]:
    remaining = iter(leaves)
    return [[next(remaining) for _ in column] for column in columns.values()]


def _starts(trace: HarvestTrace, sown: Mapping[str, Sown], last: Mapping[str, list[Any]]) -> list[Value]:
    """Return the values of names before a loop, which a loop without steps keeps: zeros if there are none yet."""
    starts: list[Value] = []
    for name in last:
        types = sown[name].parts[0]
        old = trace.sown.get(name)
        is_same = old is not None and [typeof(x) for x in old.parts[0]] == types
        starts += old.parts[0] if is_same and old is not None else [instantiate_zeros(Zero(aval)) for aval in types]
    return starts


def _divided(plant: Planted, length: int, rows: int) -> Planted:
    """Return a plant with its rows divided among the steps of a loop.  Shapes: x [length * rows, *s]."""
    return plant._replace(leaves=tuple([lax.reshape(x, (length, rows, *typeof(x).shape[1:])) for x in plant.leaves]))


def _first_row(plant: Planted) -> Planted:
    """Return the types of a plant in one step."""
    return plant._replace(leaves=tuple([shaped_array(typeof(x).shape[1:], typeof(x).dtype) for x in plant.leaves]))


def _flat(x: Value) -> Value:
    """Return stacked rows, one row after the other.  Shapes: x [length, k, *s] -> [length * k, *s]."""
    length, count, *shape = typeof(x).shape
    return lax.reshape(x, (length * count, *shape))


for _primitive, _rule in (
    (remat_p, harvest_remat),
    (cond_p, harvest_cond),
    (platform_dependent_p, harvest_platform),
    (scan_p, harvest_scan),
    (while_p, harvest_while),
):
    harvest_rules[_primitive] = _rule
for _primitive in (custom_jvp_call_p, custom_vjp_call_p, custom_vmap_call_p):
    harvest_rules[_primitive] = partial(harvest_custom, _primitive)
