"""Varying axes: the operands of an operation on shards get one set of axes along which they vary.

One idea: in `shard_map`, types say along which axes of the mesh a value may differ among positions.  Where one operand
of an operation varies along an axis and another one does not, `bind` puts a `pvary` on the second, above all
transformations; its transpose sums the cotangents of all positions, so that derivatives are right.

A primitive whose results do not vary along the axes of all operands has a rule of kind "vma", `rule(vmas, **params)`,
from the axes of the operands to those of the results.  Its operands stay as they are, or a rule of kind "fit",
`rule(args, params) -> (args, params)`, makes operands and the programs among the parameters fit each other.

Read next: `collective.py`, which has `pvary`; `Primitive` for the types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from calque_core.context import here
from calque_core.jaxprs.interpret import run_jaxpr
from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.ops.meshes.collective import pvary_p
from calque_core.primitives.rules import rules as rule_table
from calque_core.primitives.rules import settings_key
from calque_core.staging.stage import stage
from calque_core.traces.tracer import Tracer
from calque_core.types.avals import NO_AXES, AxisNames, typeof

Value = Any
Params = dict[str, Any]
Fit = Callable[[Sequence[Value], Params], tuple[Sequence[Value], Params]]

rule_table("fit")

# Operands


def varying_operands(primitive: Any, args: Sequence[Value], params: Params) -> tuple[Sequence[Value], Params]:
    """Return the operands with one set of varying axes, and the parameters; a constant stays as it is."""
    if primitive is pvary_p:
        return args, {"axes": _missing(typeof(args[0]).vma, params["axes"])}
    if primitive.adapted["vma"] is None:
        return jointly_varying(args), params
    fit = primitive.adapted["fit"]
    return (args, params) if fit is None else fit(args, params)


def jointly_varying(args: Sequence[Value]) -> Sequence[Value]:
    """Return values that all vary along the axes of any of them; a constant stays as it is."""
    vmas = [x.aval.vma if isinstance(x, Tracer) else None for x in args]
    union = NO_AXES.union(*[vma for vma in vmas if vma])
    if all(vma is None or vma == union for vma in vmas):
        return args
    return [x if vma is None or vma == union else as_varying(x, union) for x, vma in zip(args, vmas)]


def as_varying(x: Value, vma: AxisNames) -> Value:
    """Return a value that varies along the axes `vma` too, by its type."""
    axes = _missing(typeof(x).vma, {name: None for name, _ in here().axis_env if name in vma}) if vma else ()
    return pvary_p.bind(x, axes=axes) if axes else x


def _missing(vma: AxisNames, axes: Iterable[Any]) -> tuple[Any, ...]:
    return tuple([name for name in axes if name not in vma])


# Operands and programs


def fit_program(args: Sequence[Value], jaxpr: Jaxpr) -> tuple[Sequence[Value], Jaxpr]:
    """Return operands and a program on them that vary along the same axes; a constant stays as it is."""
    if fits(args, jaxpr.in_avals):
        return args, jaxpr
    vmas = [aval.vma | typeof(x).vma for x, aval in zip(args, jaxpr.in_avals)]
    return fit_operands(args, vmas), widened(jaxpr, vmas)


def fit_branches(args: Sequence[Value], branches: Sequence[Jaxpr]) -> tuple[Sequence[Value], tuple[Jaxpr, ...]]:
    """Return operands, and branches whose arguments and results vary along the same axes."""
    if all(fits(args, branch.in_avals) for branch in branches):
        return args, tuple(branches)
    vmas = [_union([typeof(x), *avals]) for x, avals in zip(args, zip(*[branch.in_avals for branch in branches]))]
    wide = [widened(branch, vmas) for branch in branches]
    out_vmas = [_union(avals) for avals in zip(*[branch.out_avals for branch in wide])]
    return fit_operands(args, vmas), tuple([widened(branch, vmas, out_vmas) for branch in wide])


def fit_loop(
    args: Sequence[Value], jaxprs: Sequence[Jaxpr], num_carry: Sequence[int]
) -> tuple[Sequence[Value], list[Jaxpr]]:
    """Return operands and programs of a loop that all vary along the axes of any of them; a constant stays as it is.

    `num_carry` are the numbers of the first results of each program that are the next carry.
    """
    vma = _union([*map(typeof, args), *[aval for jaxpr in jaxprs for aval in jaxpr.in_avals]])
    wide = [
        widened(jaxpr, [vma] * len(jaxpr.invars), [vma] * count + [NO_AXES] * (len(jaxpr.outvars) - count))
        for jaxpr, count in zip(jaxprs, num_carry)
    ]
    return fit_operands(args, [vma] * len(args)), wide


def fit_operands(args: Sequence[Value], vmas: Sequence[AxisNames]) -> list[Value]:
    """Return operands of programs whose arguments vary along the axes `vmas`; a constant stays as it is."""
    return [as_varying(x, vma) if isinstance(x, Tracer) else x for x, vma in zip(args, vmas)]


def fits(args: Sequence[Value], avals: Sequence[Any]) -> bool:
    """Tell whether operands vary along the axes of their types `avals`; a constant always fits."""
    return all(not isinstance(x, Tracer) or x.aval.vma == aval.vma for x, aval in zip(args, avals))


def _union(avals: Sequence[Any]) -> AxisNames:
    return NO_AXES.union(*[aval.vma for aval in avals])


def widened(jaxpr: Jaxpr, vmas: Sequence[AxisNames], out_vmas: Sequence[AxisNames] | None = None) -> Jaxpr:
    """Return a program whose arguments vary along the axes `vmas` too, and its results along `out_vmas`.

    Its operations are bound again, on arguments of these types.
    """
    avals = [aval.varying(aval.vma | vma) for aval, vma in zip(jaxpr.in_avals, vmas)]
    out_vmas = [NO_AXES] * len(jaxpr.outvars) if out_vmas is None else out_vmas
    is_wide = all(vma <= aval.vma for vma, aval in zip(out_vmas, jaxpr.out_avals))
    if is_wide and all(a is b for a, b in zip(avals, jaxpr.in_avals)):
        return jaxpr

    def run(*args: Value) -> list[Value]:
        return [as_varying(x, vma) for x, vma in zip(run_jaxpr(jaxpr, jaxpr.consts, *args), out_vmas)]

    key = ("widened", tuple(avals), tuple(out_vmas), *settings_key())
    return jaxpr.memo(key, lambda: stage(run, avals, verb="shard_map"))  # type: ignore[no-any-return]
