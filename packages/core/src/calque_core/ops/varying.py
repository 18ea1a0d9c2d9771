"""Varying axes: the operands of an operation on shards get one set of axes along which they vary.

One idea: in `shard_map`, types say along which axes of the mesh a value may differ among positions.  Where one operand
of an operation varies along an axis and another one does not, `bind` puts a `pvary` on the second, above all
transformations; its transpose sums the cotangents of all positions, so that derivatives are right.

A primitive whose results do not vary along the axes of all operands has a rule of kind "vma", `rule(vmas, **params)`,
from the axes of the operands to those of the results; its operands stay as they are.

Read next: `collective.py`, which has `pvary`; `Primitive` for the types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.context import here
from calque_core.ops.collective import pvary_p
from calque_core.traces.tracer import Tracer
from calque_core.types.avals import NO_AXES, AxisNames, typeof

Value = Any
Params = dict[str, Any]


def varying_operands(primitive: Any, args: Sequence[Value], params: Params) -> tuple[Sequence[Value], Params]:
    """Return the operands with one set of varying axes, and the parameters; a constant stays as it is."""
    if primitive is pvary_p:
        return args, {"axes": _missing(typeof(args[0]).vma, params["axes"])}
    return (jointly_varying(args) if primitive.adapted["vma"] is None else args), params


def jointly_varying(args: Sequence[Value]) -> Sequence[Value]:
    """Return values that all vary along the axes of any of them; a constant stays as it is."""
    vmas = [x.aval.vma if isinstance(x, Tracer) else None for x in args]
    union = NO_AXES.union(*[vma for vma in vmas if vma])
    if all(vma is None or vma == union for vma in vmas):
        return args
    return [x if vma is None or vma == union else as_varying(x, union) for x, vma in zip(args, vmas)]


def as_varying(x: Value, vma: AxisNames) -> Value:
    """Return a value that varies along the axes `vma` too, by its type."""
    axes = _missing(typeof(x).vma, [name for name, _ in here().axis_env if name in vma]) if vma else ()
    return pvary_p.bind(x, axes=axes) if axes else x


def _missing(vma: AxisNames, axes: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([name for name in axes if name not in vma])
