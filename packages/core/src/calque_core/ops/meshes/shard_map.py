"""A function of the shards of arrays: the primitive `shard_map`.

One idea: the equation holds the program of one position of a mesh, on shards.  `in_specs` say how each operand is cut
into shards, `out_specs` how each result is joined from shards; both name manual axes alone, those in `axis_names`.  The
other axes of the mesh are the compiler's: the program sees arrays that are whole along them.

Read next: `lockstep_shards.py` and `lockstep.py`, the evaluation without devices; `collective.py` and `exchange.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NamedTuple, ParamSpec, TypeVar, overload

from calque_core.calls.api_util import arg_names, check_callable, leaf_names
from calque_core.frames.names import named_after
from calque_core.frames.source import describe_function, where
from calque_core.frames.tracebacks import api_boundary
from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.memory.separate import copy_shared
from calque_core.meshes.mesh import AnyMesh, AxisName
from calque_core.meshes.partition_spec import PartitionSpec
from calque_core.meshes.shards import check_spec, full_shape, shard_shape
from calque_core.ops.calls.jit import check_operands, dce_of_program
from calque_core.ops.calls.staged_programs import detach, join_constants, operand_leaves, stage_once
from calque_core.ops.meshes import lockstep_programs as _lockstep_programs  # noqa: F401  the rules of branches and loops
from calque_core.ops.meshes.lockstep import Column, Positions
from calque_core.ops.meshes.lockstep_shards import run_shards
from calque_core.ops.meshes.shard_specs import (
    AxisNames,
    Specs,
    body_axes,
    check_mesh,
    check_ranks,
    check_varying,
    flat_specs,
    manual_axes,
    manual_mesh,
    mesh_of,
)
from calque_core.ops.meshes.varying import fit_operands, widened
from calque_core.passes.discharge import Discharged, discharge_programs, is_reference, with_references
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import ShapedArray, reference_types, shaped_array, typeof
from calque_core.types.own_types import is_own
from calque_core.types.references import check_distinct_references
from calque_pytree import PyTreeDef, tree_flatten, tree_leaves

P = ParamSpec("P")
R = TypeVar("R")
Value = Any
AxisSet = frozenset[AxisName]

shard_map_p = Primitive("shard_map", multiple_results=True)


@shard_map_p.def_abstract_eval
def shard_map_abstract_eval(
    *avals: ShapedArray,
    jaxpr: Jaxpr,
    mesh: AnyMesh,
    in_specs: Sequence[PartitionSpec],
    out_specs: Sequence[PartitionSpec],
    axis_names: AxisNames,
    check_vma: bool,
) -> list[ShapedArray]:
    for aval, spec in zip(avals, in_specs):
        check_spec(f"shard_map: an operand {aval}", aval.shape, mesh, spec)
    check_out_specs(jaxpr, out_specs, axis_names)
    check_operands("shard_map", jaxpr, [shard_type(aval, mesh, spec) for aval, spec in zip(avals, in_specs)])
    return [
        shaped_array(full_shape(aval.shape, mesh, spec), aval.dtype) for aval, spec in zip(jaxpr.out_avals, out_specs)
    ]


def check_out_specs(jaxpr: Jaxpr, out_specs: Sequence[PartitionSpec], axis_names: AxisNames) -> None:
    """Check that no result varies along an axis that its spec does not name: its shards would be dropped in silence."""
    for number, (aval, spec) in enumerate(zip(jaxpr.out_avals, out_specs)):
        dropped = aval.vma.intersection(axis_names).difference(spec.names)
        if dropped:
            axes = ", ".join(sorted(map(repr, dropped)))
            raise ValueError(
                f"shard_map{where()}: the result {number} of the program, {aval}, varies over {axes}, but its spec "
                f"{spec!r} does not name {axes}. If a derivative rule inside returns the share of one position, let it "
                "return the psum of it."
            )


@shard_map_p.def_rule("vma")
def shard_map_vma(vmas: Sequence[AxisSet], *, jaxpr: Jaxpr, axis_names: AxisNames, **_: Any) -> list[AxisSet]:
    return [aval.vma.difference(axis_names) for aval in jaxpr.out_avals]


@shard_map_p.def_rule("fit")
def fit_shard_map(args: Sequence[Value], params: dict[str, Any]) -> tuple[Sequence[Value], dict[str, Any]]:
    """Make operands and the program vary along the same axes of an outer program."""
    jaxpr: Jaxpr = params["jaxpr"]
    own = [aval.vma.intersection(params["axis_names"]) for aval in jaxpr.in_avals]
    outer = [aval.vma.difference(params["axis_names"]) for aval in jaxpr.in_avals]
    vmas = [vma | typeof(x).vma for x, vma in zip(args, outer)]
    if vmas != outer:
        with body_axes(mesh=params["mesh"], axis_names=params["axis_names"], check_vma=params["check_vma"]):
            jaxpr = widened(jaxpr, [vma | inner for vma, inner in zip(vmas, own)])
    return fit_operands(args, vmas), params | {"jaxpr": jaxpr}


def shard_type(aval: ShapedArray, mesh: AnyMesh, spec: PartitionSpec) -> ShapedArray:
    """Return the type of the shards of an array."""
    return aval.update(shape=shard_shape(aval.shape, mesh, spec))


shard_map_p.def_rule("dce", dce_of_program("jaxpr", "in_specs", "out_specs"))


# Evaluation


@shard_map_p.def_impl
def shard_map_impl(*args: Value, mesh: AnyMesh, axis_names: AxisNames, **params: Any) -> list[Value]:
    check_out_specs(params["jaxpr"], params["out_specs"], axis_names)
    manual = manual_mesh(mesh, axis_names)
    columns = [[x] * manual.size for x in args]
    outs = run_shards(Positions((), ((),)), columns, manual, **params)
    return [column[0] for column in outs]


@shard_map_p.def_rule("lockstep")
def shard_map_lockstep(
    positions: Positions, *columns: Column, mesh: AnyMesh, axis_names: AxisNames, **params: Any
) -> list[Column]:
    """Cut the values of each position into shards, and run the positions of both meshes in lockstep."""
    manual = manual_mesh(mesh, axis_names)
    repeated = [[x for x in column for _ in range(manual.size)] for column in columns]
    return run_shards(positions, repeated, manual, **params)


# The function


@overload
def shard_map(
    f: Callable[P, R],
    /,
    *,
    in_specs: Specs,
    out_specs: Specs,
    mesh: AnyMesh | None = ...,
    axis_names: Collection[AxisName] | None = ...,
    check_vma: bool = ...,
) -> Callable[P, R]: ...


@overload
def shard_map(
    f: None = None,
    /,
    *,
    in_specs: Specs,
    out_specs: Specs,
    mesh: AnyMesh | None = ...,
    axis_names: Collection[AxisName] | None = ...,
    check_vma: bool = ...,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


@api_boundary
def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    in_specs: Specs,
    out_specs: Specs,
    mesh: AnyMesh | None = None,
    axis_names: Collection[AxisName] | None = None,
    check_vma: bool = True,
) -> Callable[..., Any]:
    """Return a function that runs `f` at each position of a mesh, on the shards of its arguments that stand there.

    `in_specs` and `out_specs` are pytree prefixes of the arguments and of the result, with a `PartitionSpec` for each
    array: a mesh axis that it names divides an axis of the array among the positions along it.  Along other mesh axes,
    each position gets the whole argument, and returns the same result.  `f` may communicate along the axes by their
    names: `lax.psum(x, "i")`.  Values that `f` closes over are the same at all positions.

    `axis_names` are the axes that `f` sees, all axes by default; the compiler divides arrays along the other axes.
    Without `mesh`, it is the mesh of `config.set_mesh`.  Without `f`, the result is a decorator.

    With `check_vma`, the types of values in `f` say along which axes they may vary, `f32[3]{V:i}`, and a result that
    may vary along an axis that its spec does not name is refused; without it, the first position counts in silence.
    Shapes: x [n, *s] with the spec P("i") -> [n / k, *s] in `f`, k being the size of "i"; results the other way round.
    Raises: ValueError if a spec names an axis that the mesh or `axis_names` do not have, or an axis has a meaning
    already, or a result varies along an axis that its spec does not name; ShapeError if a size does not divide evenly;
    TypeError if a spec is no `PartitionSpec`.

    >>> import numpy as np
    >>> from calque_core import AbstractMesh, PartitionSpec as P, lax, shard_map
    >>> mesh = AbstractMesh((2,), ("i",))
    >>> total = shard_map(lambda x: lax.psum(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P())
    >>> total(np.arange(6.0))
    array([3., 5., 7.])
    """
    if f is None:
        options = {"in_specs": in_specs, "out_specs": out_specs, "mesh": mesh, "axis_names": axis_names}
        return partial(shard_map, check_vma=check_vma, **options)
    check_callable(f, "shard_map")
    caller = f"shard_map of {describe_function(f)}"
    check_mesh(caller, mesh)
    mapping = _Mapping(f, caller, mesh, in_specs, out_specs, axis_names, bool(check_vma))

    @api_boundary
    @named_after(f)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise TypeError(f"{caller}{where()} got the keyword argument {min(kwargs)!r}. Pass arguments by position.")
        return mapping.bind(args)

    return mapped


class _Mapping(NamedTuple):
    """A function with the options of its `shard_map`."""

    f: Callable[..., Any]
    caller: str
    mesh: AnyMesh | None
    in_specs: Specs
    out_specs: Specs
    axis_names: Collection[AxisName] | None
    check_vma: bool

    def bind(self, args: tuple[Value, ...]) -> Any:
        """Trace the function for shards of the arguments, and return its result as one equation."""
        f, caller = self.f, self.caller
        mesh = mesh_of(caller, self.mesh)
        names = manual_axes(caller, mesh, self.axis_names)
        if reference_types and any(map(is_reference, tree_leaves(args))):
            return self.bind_references(args, names)
        leaves, in_tree = operand_leaves("shard_map", f, args)
        in_specs = flat_specs(caller, "in_specs", self.in_specs, args, names)
        params: dict[str, Any] = {"mesh": mesh, "axis_names": names, "check_vma": self.check_vma}
        avals = _shard_types(f"{caller}: ", arg_names(f, args, {}), leaves, mesh, in_specs)
        if self.check_vma:
            avals = [aval.varying(aval.vma.union(spec.names)) for aval, spec in zip(avals, in_specs)]
        with body_axes(**params):
            program, out_tree = stage_once("shard_map", f, in_tree, avals)
        out_specs = _out_specs(caller, self.out_specs, out_tree, program, names)
        pure = discharge_programs(*join_constants(detach([program])))
        (jaxpr,), consts = pure.programs, pure.arrays
        params["in_specs"] = (*(PartitionSpec() for _ in consts), *in_specs)
        params["out_specs"] = (*_specs_of_references(caller, pure, names), *out_specs)
        outs = shard_map_p.bind(*consts, *leaves, jaxpr=jaxpr, **params)
        return out_tree.unflatten(copy_shared(pure.results(outs), consts, leaves))

    def bind_references(self, args: tuple[Value, ...], names: AxisNames) -> Any:
        """Divide the arrays of references among the arguments by their specs, and write their last arrays back."""
        f, (leaves, tree) = self.f, tree_flatten(args)
        check_distinct_references(self.caller, leaves)
        specs = flat_specs(self.caller, "in_specs", self.in_specs, args, names)
        positions = [i for i, x in enumerate(leaves) if is_reference(x)]
        on_leaves = named_after(f)(lambda *xs: f(*tree.unflatten(xs)))
        arrays = tuple([x.read() if is_reference(x) else x for x in leaves])
        out_specs = self.out_specs, [specs[i] for i in positions]
        mapping = self._replace(f=with_references(on_leaves, positions), in_specs=tuple(specs), out_specs=out_specs)
        out, last = mapping.bind(arrays)
        for i, x in zip(positions, last):
            leaves[i].write(x)
        return out


def _specs_of_references(caller: str, pure: Discharged, axis_names: AxisNames) -> list[PartitionSpec]:
    """Return the specs of the references that a program writes: each position must write the same values."""
    specs = [PartitionSpec()] * len(pure.written)
    check_varying(caller, ["a reference"] * len(specs), pure.programs[0].out_avals[: len(specs)], specs, axis_names)
    return specs


def _shard_types(
    caller: str, names: Sequence[str], leaves: Sequence[Value], mesh: AnyMesh, specs: Sequence[PartitionSpec]
) -> list[ShapedArray]:
    """Return the types of the shards of the arguments.  Raises: ShapeError or TypeError that names the argument."""
    avals = []
    for name, leaf, spec in zip(names, leaves, specs):
        aval = typeof(leaf)
        if is_own(aval):
            raise TypeError(f"{caller}{name} is a value of type {aval}, which has no shards. Pass its arrays.")
        check_spec(f"{caller}{name}, {aval},", aval.shape, mesh, spec)
        avals.append(shard_type(aval, mesh, spec))
    return avals


def _out_specs(
    caller: str, specs: Specs, out_tree: PyTreeDef, jaxpr: Jaxpr, axis_names: AxisNames
) -> tuple[PartitionSpec, ...]:
    """Return one spec for each result of the program."""
    avals = jaxpr.out_avals
    result = out_tree.unflatten(avals)
    flat = flat_specs(caller, "out_specs", specs, result, axis_names)
    names = leaf_names("the result", result)
    check_ranks(caller, names, avals, flat)
    check_varying(caller, names, avals, flat, axis_names)
    return tuple(flat)
