"""The axes and the specs of `shard_map`, checked against its mesh; specs are pytree prefixes of partition specs.

Read next: `shard_map.py`, which uses them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from calque_core.context import entered, here
from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.meshes.mesh import AbstractMesh, AnyMesh, AxisName, Mesh, axes_text
from calque_core.meshes.partition_spec import UNCONSTRAINED, PartitionSpec
from calque_core.types.avals import short_repr
from calque_pytree import broadcast_prefix

Specs = Any  # a pytree of PartitionSpec
AxisNames = tuple[AxisName, ...]


def check_mesh(caller: str, mesh: Any) -> None:
    """Check the argument `mesh`; None means the mesh of the settings."""
    if mesh is not None and not isinstance(mesh, (Mesh, AbstractMesh)):
        raise TypeError(f"{caller} got mesh={short_repr(mesh)}{where()}. Give a Mesh or an AbstractMesh.")


def mesh_of(caller: str, mesh: AnyMesh | None) -> AnyMesh:
    """Return the argument `mesh`, or the mesh of the settings."""
    mesh = here().settings.mesh if mesh is None else mesh
    if mesh is None:
        raise ValueError(
            f"{caller}{where()} got no mesh. Give mesh=, or call it in a block `with config.set_mesh(mesh)`."
        )
    return mesh


def manual_axes(caller: str, mesh: AnyMesh, axis_names: Collection[AxisName] | None) -> AxisNames:
    """Return the argument `axis_names` in the order of the mesh, by default all its axes.

    Raises: ValueError for an axis that the mesh does not have, or that has a meaning here already.
    """
    names = axis_names or mesh.axis_names
    for name in names:
        if name not in mesh.shape:
            raise ValueError(
                f"{caller}{where()}: axis_names has {name!r}, but the mesh has the axes {axes_text(mesh)}. Use these "
                "names."
            )
    for name, _ in here().axis_env:
        if name in names:
            free = [other for other in mesh.axis_names if other not in dict(here().axis_env)]
            raise ValueError(
                f"{caller}{where()}: the axis {name!r} has a meaning here already, from an outer shard_map, vmap or "
                f"pmap. Rename it, or give axis_names with other axes of the mesh: {free}."
            )
    return tuple([name for name in mesh.axis_names if name in names])


def manual_mesh(mesh: AnyMesh, axis_names: AxisNames) -> AbstractMesh:
    """Return the sizes of some axes of a mesh."""
    return AbstractMesh([mesh.shape[name] for name in axis_names], axis_names)


def body_axes(*, mesh: AnyMesh, axis_names: AxisNames, check_vma: bool) -> entered:
    """Return a block in which some axes of a mesh have the meaning that they have in the body of a `shard_map`.

    >>> from calque_core import AbstractMesh, lax
    >>> from calque_core.engine import body_axes
    >>> with body_axes(mesh=AbstractMesh((2, 4), ("x", "y")), axis_names=("y",), check_vma=False):
    ...     lax.axis_size("y")
    4
    """
    context = here()
    axes = [(name, mesh.shape[name]) for name in axis_names]
    varying = context.varying_axes.union(axis_names) if check_vma else context.varying_axes
    return entered(axis_env=(*context.axis_env, *axes), varying_axes=varying)


def flat_specs(caller: str, argument: str, specs: Specs, tree: Any, axis_names: AxisNames) -> list[PartitionSpec]:
    """Return one spec for each leaf of `tree`, from the pytree prefix `specs`, the value of `argument`.

    Raises: ValueError if it is no prefix, or names an axis that is not in `axis_names`; TypeError for other leaves.
    """
    if argument == "in_specs" and isinstance(specs, (tuple, list)):
        specs = tuple(specs)
        if len(specs) != len(tree):
            raise ValueError(
                f"{caller}{where()}: in_specs has {len(specs)} entries for {len(tree)} arguments. Give one entry for "
                "each argument."
            )
    try:
        leaves = broadcast_prefix(specs, tree)
    except ValueError as error:
        message = str(error).replace("the prefix tree", argument)
        raise ValueError(f"{caller}{where()}: {message}") from None
    for spec in leaves:
        _check_spec(f"{caller}{where()}: {argument}", spec, axis_names)
    return leaves


def _check_spec(place: str, spec: Any, axis_names: AxisNames) -> None:
    if type(spec) is not PartitionSpec:
        raise TypeError(f"{place} has {short_repr(spec)} of type {type(spec).__name__}. Give a PartitionSpec.")
    if UNCONSTRAINED in spec.entries:
        raise ValueError(f"{place} has {spec!r}. Say how the axis is divided: by a name, or None.")
    for name in spec.names:
        if name not in axis_names:
            names = ", ".join(map(repr, axis_names))
            raise ValueError(
                f"{place} has {spec!r}, but the axes that the function sees are: {names}. Use these names, or add "
                f"{name!r} to axis_names."
            )


def check_ranks(caller: str, names: Sequence[str], avals: Sequence[Any], specs: Sequence[PartitionSpec]) -> None:
    """Check that no spec has more entries than its result has axes."""
    for name, aval, spec in zip(names, avals, specs):
        if len(spec) > aval.ndim:
            raise ShapeError(
                f"{caller}{where()}: {name} is {aval} at each position, with {aval.ndim} axes, but its spec {spec!r} "
                f"has {len(spec)} entries. Give at most one entry for each axis."
            )


def check_varying(
    caller: str, names: Sequence[str], avals: Sequence[Any], specs: Sequence[PartitionSpec], axis_names: AxisNames
) -> None:
    """Check that no result varies along an axis that its spec does not name; types without such axes pass."""
    for name, aval, spec in zip(names, avals, specs):
        for axis in axis_names:
            if axis in aval.vma and axis not in spec.names:
                raise ValueError(
                    f"{caller}{where()}: {name}, {aval}, varies over {axis!r}, but its spec in out_specs, {spec!r}, "
                    f"does not name {axis!r}. Name it there, or make the values of all positions equal, with psum, "
                    f"pmean, pmax or all_gather_invariant over {axis!r}; or give check_vma=False, if they are equal "
                    "anyway."
                )
