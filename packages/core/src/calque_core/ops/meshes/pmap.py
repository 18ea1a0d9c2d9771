"""A function mapped over an axis of arrays, one element for each device: the primitive `xla_pmap`.

One idea: it is a `shard_map` over a mesh of its own.  The mapped axis moves to the front, each position takes its slice
away, and the results get the axis back; so no transformation and no backend needs another rule.  A nest of `xla_pmap`s
becomes a nest over one mesh, with an axis for each, the outermost first.

Read next: `shard_map.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from calque_core.context import entered, here
from calque_core.frames.source import where
from calque_core.jaxprs.jaxpr import Jaxpr, JaxprEqn, jaxprs_in_params
from calque_core.jaxprs.walk import replace_jaxprs
from calque_core.known.programs import run_again
from calque_core.meshes.mesh import AbstractMesh, AnyMesh, Mesh
from calque_core.meshes.partition_spec import PartitionSpec
from calque_core.ops.calls.jit import Compiler, check_operands, dce_of_program, jit_p, one_equation_jaxpr
from calque_core.ops.calls.staged_programs import join_constants
from calque_core.ops.meshes.collective import check_free_name
from calque_core.ops.meshes.shard_map import shard_map_p
from calque_core.ops.shapes.batch_axes import moveaxis
from calque_core.ops.shapes.broadcast import expand_dims
from calque_core.ops.shapes.shape import squeeze
from calque_core.primitives.primitive import Primitive
from calque_core.primitives.rules import settings_key
from calque_core.staging.stage import stage
from calque_core.types.avals import ShapedArray, shaped_array, typeof

Value = Any
AxisName = Hashable
Axes = tuple[int | None, ...]
Params = dict[str, Any]

pmap_p = Primitive("xla_pmap", multiple_results=True)


@pmap_p.def_abstract_eval
def pmap_abstract_eval(
    *avals: ShapedArray,
    call_jaxpr: Jaxpr,
    axis_name: AxisName,
    axis_size: int,
    in_axes: Axes,
    out_axes: Axes,
    name: str,
    **_: Any,
) -> list[ShapedArray]:
    check_free_name(f"pmap of {name}", axis_name)
    for aval, axis in zip(avals, in_axes):
        if axis is not None and aval.shape[axis] != axis_size:
            raise TypeError(f"pmap of {name}: axis {axis} of {aval} has another size than {axis_size}. Give that size.")
    check_operands(f"pmap of {name}", call_jaxpr, [_without(aval, axis) for aval, axis in zip(avals, in_axes)])
    return [_with(aval, axis, axis_size) for aval, axis in zip(call_jaxpr.out_avals, out_axes)]


def _without(aval: ShapedArray, axis: int | None) -> ShapedArray:
    return aval if axis is None else aval.update(shape=(*aval.shape[:axis], *aval.shape[axis + 1 :]))


def _with(aval: ShapedArray, axis: int | None, size: int) -> ShapedArray:
    shape = aval.shape if axis is None else (*aval.shape[:axis], size, *aval.shape[axis:])
    return shaped_array(shape, aval.dtype)


@pmap_p.def_pp
def pmap_pp(params: Params) -> Params:
    hidden = {"compiler"} | ({"devices"} if params["devices"] is None else set())
    return {name: value for name, value in params.items() if name not in hidden}


pmap_p.def_rule("dce", dce_of_program("call_jaxpr", "in_axes", "out_axes"))


@pmap_p.def_impl
def pmap_impl(*args: Value, compiler: Compiler | None, **params: Any) -> list[Value]:
    """Run the decomposition; a compiler gets a program of this one equation."""
    if compiler is None:
        return pmap_decomposition(*args, compiler=None, **params)
    return compiler(_program_for_compiler(args, params), args)


def _program_for_compiler(args: Sequence[Value], params: Params) -> Jaxpr:
    """Return a program of one equation; equal equations have one, so that the compiler compiles once."""
    avals, params = tuple(map(typeof, args)), params | {"compiler": None}

    def make() -> Jaxpr:
        return one_equation_jaxpr(jaxpr, pmap_p, params, avals, pmap_p.abstract(*avals, **params))

    jaxpr: Jaxpr = params["call_jaxpr"]
    others = tuple([value for name, value in params.items() if name != "call_jaxpr"])
    return jaxpr.memo(("pmap for a compiler", avals, others), make)  # type: ignore[no-any-return]


# The decomposition


@pmap_p.def_rule("decomposition")
def pmap_decomposition(*args: Value, compiler: Compiler | None, **params: Any) -> list[Value]:
    """Bind a `shard_map` over the mesh of this `pmap` and of the `pmap`s inside it; with a compiler, a `jit` of it."""
    if compiler is not None:
        return jit_p.bind(*args, jaxpr=_program_for_compiler(args, params), name=params["name"], compiler=compiler)  # type: ignore[no-any-return]
    return _over_axis(mesh_of_nest(**params), 0, args, params)


def _over_axis(mesh: AnyMesh, depth: int, args: Sequence[Value], params: Params) -> list[Value]:
    """Bind a `shard_map` over one axis of the mesh of a nest, for the `pmap` at a depth of the nest."""
    name, in_axes, out_axes = _axis_name(params, depth), params["in_axes"], params["out_axes"]
    operands = [x if axis is None else moveaxis(x, axis, 0) for x, axis in zip(args, in_axes)]
    in_specs, out_specs = _specs(name, in_axes), _specs(name, out_axes)
    call_jaxpr: Jaxpr = params["call_jaxpr"]
    key = "pmap", mesh, depth, in_axes, out_axes, *settings_key()
    jaxpr, consts = call_jaxpr.memo(key, lambda: _program(mesh, depth, params))
    outs = shard_map_p.bind(
        *consts,
        *operands,
        jaxpr=jaxpr,
        mesh=mesh,
        in_specs=(*[PartitionSpec()] * len(consts), *in_specs),
        out_specs=out_specs,
        axis_names=(name,),
        check_vma=False,
    )
    return [x if axis is None else moveaxis(x, 0, axis) for x, axis in zip(outs, out_axes)]


def _specs(name: AxisName, axes: Axes) -> tuple[PartitionSpec, ...]:
    return tuple([PartitionSpec() if axis is None else PartitionSpec(name) for axis in axes])


def _program(mesh: AnyMesh, depth: int, params: Params) -> tuple[Jaxpr, list[Value]]:
    """Return the program on shards, which have the mapped axis in front with size 1, and its constants."""
    in_axes, out_axes = params["in_axes"], params["out_axes"]
    with entered(axis_env=(*here().axis_env, *zip(mesh.axis_names, mesh.axis_sizes))):
        jaxpr = _with_mesh(params["call_jaxpr"], mesh, depth + 1)

        def run(*shards: Value) -> list[Value]:
            elements = [x if axis is None else squeeze(x, (0,)) for x, axis in zip(shards, in_axes)]
            outs = run_again(jaxpr, *elements)
            return [x if axis is None else expand_dims(x, (0,)) for x, axis in zip(outs, out_axes)]

        avals = [aval if axis is None else _with(aval, 0, 1) for aval, axis in zip(jaxpr.in_avals, in_axes)]
        (program,), consts = join_constants([stage(run, avals, verb="pmap")])
    return program, consts


# Nests


def _axis_name(params: Params, depth: int) -> AxisName:
    """Return the axis name of the `pmap` at a depth of a nest."""
    return f"pmap {depth}" if params["axis_name"] is None else params["axis_name"]


@pmap_p.def_rule("mesh")
def mesh_of_nest(**params: Any) -> AnyMesh:
    """Return the mesh of a nest: its devices, or sizes and names alone."""
    axes, devices = _axes_of_nest(params, 0), params["devices"]
    if devices is None:
        return AbstractMesh(tuple(axes.values()), tuple(axes))
    if len(devices) != prod(axes.values()):
        sizes = ", ".join(f"{name!r}: {size}" for name, size in axes.items())
        raise ValueError(
            f"pmap of {params['name']}{where()} got {len(devices)} devices for {prod(axes.values())} elements "
            f"({sizes}). Give one device for each element."
        )
    return Mesh(np.array(devices, dtype=object).reshape(tuple(axes.values())), tuple(axes))


def _axes_of_nest(params: Params, depth: int) -> dict[AxisName, int]:
    """Return the names and sizes of the axes of a nest, the outermost first.

    Raises: ValueError if two axes that the mesh needs have one name.
    """
    axes = {_axis_name(params, depth): params["axis_size"]}
    for inner in _pmaps_in(params["call_jaxpr"]):
        for name, size in _axes_of_nest(inner, depth + 1).items():
            if name == _axis_name(params, depth) or axes.get(name, size) != size:
                raise ValueError(
                    f"pmap of {params['name']}{where()}: two axes have the name {name!r} in a nest of pmaps, whose "
                    "devices form one mesh. Give each axis a name of its own."
                )
            axes[name] = size
    return axes


def _pmaps_in(jaxpr: Jaxpr) -> Iterator[Params]:
    """Yield the parameters of the outermost `pmap`s in a program and the programs inside it."""
    for eqn in jaxpr.eqns:
        if eqn.primitive is pmap_p:
            yield eqn.params
        else:
            for inner in jaxprs_in_params(eqn.params):
                yield from _pmaps_in(inner)


def _with_mesh(jaxpr: Jaxpr, mesh: AnyMesh, depth: int) -> Jaxpr:
    """Return a program with its outermost `pmap`s, at this depth of a nest, over an axis of the mesh of the nest."""
    if next(_pmaps_in(jaxpr), None) is None:
        return jaxpr
    return jaxpr.replace(eqns=[_eqn_with_mesh(eqn, mesh, depth) for eqn in jaxpr.eqns])


def _eqn_with_mesh(eqn: JaxprEqn, mesh: AnyMesh, depth: int) -> JaxprEqn:
    if eqn.primitive is not pmap_p:
        return replace_jaxprs(eqn, {id(p): _with_mesh(p, mesh, depth) for p in jaxprs_in_params(eqn.params)})
    params = eqn.params
    program = stage(lambda *args: _over_axis(mesh, depth, args, params), [x.aval for x in eqn.invars], verb="pmap")
    return eqn.replace(primitive=jit_p, params={"jaxpr": program, "name": params["name"], "compiler": None})
