"""Meshes in modules: their symbols, the numbers of their devices, the attributes that divide arrays over them.

One idea: a program over several devices numbers them in one order, and a module declares each mesh once, as an
`sdy.mesh` of these numbers.  A mesh without devices has the numbers in their order.

Read next: `manual.py`, the axes of a mesh over which a program divides its arrays by hand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from calque_core import Mesh, PartitionSpec
from calque_core.engine import UNCONSTRAINED, AnyMesh, axis_names_of
from calque_core.extend import where
from calque_xla_backend.modules.lowering import ModuleContext
from calque_xla_backend.modules.types import IrValue

AxisName = Any
Numbers = np.ndarray[Any, np.dtype[np.int64]]

_PLAIN_NAME, _NUMBERED_NAME = re.compile(r"[A-Za-z_]\w*"), re.compile(r"axis\d+")


def device_numbers(module_context: ModuleContext, mesh: AnyMesh) -> Numbers:
    """Return the number in the program of the device at each position of a mesh.

    The first mesh with devices numbers them, unless the module context already has the devices of the program.
    Raises: ValueError if a device of the mesh is not one of the program, or if the program has more devices.
    """
    if isinstance(mesh, Mesh):
        devices = tuple(mesh.devices.flat)
        if not module_context.devices:
            module_context.devices = devices
        if set(devices) != set(module_context.devices):
            raise ValueError(
                f"a program{where()} has the mesh {mesh!r} on {_listed(devices)}, but it runs on "
                f"{_listed(module_context.devices)}. Use meshes of the same devices in one program."
            )
        number = {device: i for i, device in enumerate(module_context.devices)}
        flat = [number[device] for device in devices]
    else:
        flat = list(range(mesh.size))
    return np.array(flat, np.int64).reshape(mesh.axis_sizes)


def _listed(devices: Sequence[Any]) -> str:
    return ", ".join(map(str, devices))


def mesh_symbol(module_context: ModuleContext, mesh: AnyMesh) -> str:
    """Return the symbol of a mesh in the module; the first use declares it."""
    numbers = device_numbers(module_context, mesh).reshape(-1).tolist()
    names = mesh_axes(mesh)
    axes = [(names[name], size) for name, size in mesh.shape.items()]
    order = [] if numbers == list(range(len(numbers))) else numbers
    return _declared(module_context, "mesh", tuple(axes), tuple(order))


def _declared(
    module_context: ModuleContext, name: str, axes: tuple[tuple[str, int], ...], order: tuple[int, ...]
) -> str:
    """Return the symbol of a mesh of the module: names and sizes of its axes, and its devices if not in their order."""
    symbol = module_context.meshes.get((axes, order))
    if symbol is None:
        start = ir.InsertionPoint.at_block_begin(module_context.module.body)
        attribute = sdy.MeshAttr.get([sdy.MeshAxisAttr.get(axis, size) for axis, size in axes], order)
        op = sdy.MeshOp(name, attribute, ip=start)
        module_context.symbols.insert(op)  # renames it if another mesh has the name
        symbol = module_context.meshes[axes, order] = ir.StringAttr(op.operation.attributes["sym_name"]).value
    return symbol


def mesh_axes(mesh: AnyMesh) -> dict[AxisName, str]:
    """Return the names of the axes in the module, by the names of the user: these may be any strings and objects.

    >>> from calque_core import AbstractMesh
    >>> mesh_axes(AbstractMesh((2, 2, 2), ("data", 7, "a b")))
    {'data': 'data', 7: 'axis1', 'a b': 'axis2'}
    """
    plain = [name for name in mesh.axis_names if isinstance(name, str) and _PLAIN_NAME.fullmatch(name)]
    if any(_NUMBERED_NAME.fullmatch(name) for name in plain):
        plain = []
    return {name: name if name in plain else f"axis{i}" for i, name in enumerate(mesh.axis_names)}


def sharding_attribute(
    module_context: ModuleContext, mesh: AnyMesh, spec: PartitionSpec, ndim: int, *, is_open: bool = False
) -> sdy.TensorShardingAttr:
    """Return the attribute of an array of `ndim` axes that is divided over a mesh as a spec says.

    XLA may divide the axes with the entry UNCONSTRAINED, and with `is_open` each axis, over more axes of the mesh.
    """
    names = mesh_axes(mesh)
    entries = [*spec.entries, *[None] * (ndim - len(spec))]
    dimensions = [
        sdy.DimensionShardingAttr.get(
            [sdy.AxisRefAttr.get(names[name]) for name in divided], is_closed=not is_open and entry is not UNCONSTRAINED
        )
        for divided, entry in zip(axis_names_of(spec, ndim), entries)
    ]
    return sdy.TensorShardingAttr.get(mesh_symbol(module_context, mesh), dimensions)


def on_first_device(module_context: ModuleContext, results: int) -> sdy.TensorShardingPerValueAttr:
    """Return the attribute of an operation that the first device of the program runs alone."""
    symbol = _declared(module_context, "first_device", (), (0,))
    return sdy.TensorShardingPerValueAttr.get([sdy.TensorShardingAttr.get(symbol, [])] * max(1, results))


def on_each_device(module_context: ModuleContext, ranks: Sequence[int]) -> sdy.TensorShardingPerValueAttr:
    """Return the attribute of an operation that each device runs, with results of these ranks."""
    return sdy.TensorShardingPerValueAttr.get([_undivided(module_context, ndim) for ndim in ranks or [0]])


def whole(module_context: ModuleContext, x: IrValue) -> IrValue:
    """Return an array of which each device has all elements; a token is returned as it is."""
    if not isinstance(x.type, ir.RankedTensorType):
        return x
    return sdy.sharding_constraint(x, _undivided(module_context, x.type.rank))


def undivided_along(module_context: ModuleContext, x: IrValue, axes: Sequence[int]) -> IrValue:
    """Return an array that XLA does not divide along `axes`; it may divide the other axes."""
    return sdy.sharding_constraint(x, _undivided(module_context, x.type.rank, axes))


def _undivided(module_context: ModuleContext, ndim: int, axes: Sequence[int] | None = None) -> sdy.TensorShardingAttr:
    """Return the attribute of an array that is not divided along `axes`, by default along no axis."""
    symbol = _declared(module_context, "no_axes", (), ())
    closed = [axes is None or axis in axes for axis in range(ndim)]
    return sdy.TensorShardingAttr.get(symbol, [sdy.DimensionShardingAttr.get([], is_closed=each) for each in closed])
