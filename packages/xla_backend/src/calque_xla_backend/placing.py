"""The place of a program: a device, or the devices of a mesh.

One idea: a program runs where its arrays are, on the devices of the meshes that it names, or on the device that a `jit`
chooses; these must agree.  Arrays on one device go wherever a program over a mesh runs.

Read next: `runtime/partition.py`, the place of a program over a mesh; `compile.py`, which makes programs for a place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from calque_core import AbstractMesh, Jaxpr, JaxprEqn, Mesh, ShapeDtypeStruct, typeof
from calque_core.engine import AnyMesh, check_spec, jaxprs_outside, nested_jaxprs
from calque_core.extend import where
from calque_core.lax import pmap_p
from calque_xla_backend.runtime.array import Array
from calque_xla_backend.runtime.clients import Device
from calque_xla_backend.runtime.devices import place_of
from calque_xla_backend.runtime.mesh import on_first_devices
from calque_xla_backend.runtime.partition import Partition, Place, whole_on
from calque_xla_backend.runtime.placement import Placement, mesh_of, placement, placement_of, text_of
from calque_xla_backend.runtime.sharding import NamedSharding

Value = Any
Target = Device | str | None  # a device, the name of a platform, or neither


class Divisions(NamedTuple):
    """How the user divides the arguments and the results of a program: a placement or None for each."""

    arguments: tuple[Placement | None, ...] = ()
    results: tuple[Placement | None, ...] = ()

    def meshes(self) -> list[Mesh]:
        """Return the meshes of the placements."""
        return [mesh_of(place) for place in (*self.arguments, *self.results) if place is not None]


UNDIVIDED = Divisions()


class Chosen(NamedTuple):
    """The places that a program asks for: the devices of `jit` functions inside, with their names, and its meshes."""

    targets: list[tuple[str, Device | str]]
    meshes: list[AnyMesh]


def choices_in(jaxpr: Jaxpr, target_of: Callable[[JaxprEqn], Target]) -> Chosen:
    """Return the places that the equations of a jaxpr ask for; `target_of(eqn)` is the choice of a `jit` equation.

    The mesh of a `pmap` is that of the `pmap`s inside it too.
    """
    eqns = [eqn for inner in nested_jaxprs(jaxpr) for eqn in inner.eqns if eqn.params]
    outer_eqns = [eqn for inner in jaxprs_outside(jaxpr, [pmap_p]) for eqn in inner.eqns if eqn.params]
    targets = [(eqn.params["name"], target_of(eqn)) for eqn in eqns if "compiler" in eqn.params]
    meshes = [mesh for eqn in outer_eqns for mesh in meshes_of(eqn.primitive, eqn.params)]
    return Chosen([item for item in targets if item[1] is not None], meshes)


def meshes_of(primitive: Any, params: dict[str, Any]) -> list[AnyMesh]:
    """Return the mesh over which an operation divides arrays, in a list, or none.

    It is the parameter `mesh`, or comes from the primitive's rule of the kind "mesh": `(**params) -> mesh or None`.
    """
    rule = primitive.adapted["mesh"]
    mesh = params.get("mesh") if rule is None else rule(**params)
    return [mesh] if isinstance(mesh, (Mesh, AbstractMesh)) else []


def place_of_argument(caller: str, x: Value) -> Placement | None:
    """Return the placement of a device array, or of a stand-in with a sharding; None for any other argument.

    Raises: ValueError for a sharding that is none; ShapeError for one that does not divide the stand-in evenly.
    """
    if type(x) is Array:
        return x._device_type.placement
    if type(x) is not ShapeDtypeStruct or x.sharding is None:
        return None
    subject = f"{caller}: the stand-in of type {x.aval}"
    if isinstance(x.sharding, NamedSharding):
        check_spec(subject, x.shape, x.sharding.mesh, x.sharding.spec)
    return place_of(x.sharding, x.ndim, subject)


def chosen_place(
    caller: str, args: Sequence[Value], chosen: Chosen, target: Target = None, divisions: Divisions = UNDIVIDED
) -> Place | None:
    """Return the place that meshes, `target`, functions inside or arrays decide; None if nothing decides.

    Raises: ValueError that names the devices if they differ; RuntimeError if there is no device of the platform.
    """
    meshes = [*divisions.meshes(), *chosen.meshes]
    if target is None and not chosen.targets:
        mesh = _common_mesh(caller, meshes, args)
        return _one_place(caller, args) if mesh is None else _partition(caller, mesh, args, divisions)
    place = _chosen_device(caller, args, chosen.targets, target)
    if meshes:
        raise ValueError(
            f"{caller}{where()} runs on {place}, which a jit chose, but it holds {meshes[0]!r}. Leave out device= and "
            "backend= where a program has a mesh."
        )
    return place


def common_place(caller: str, args: Sequence[Value], meshes: Sequence[AnyMesh] = ()) -> Place:
    """Return the place of an operation on `args`; the default placement without arrays and meshes.

    Raises: ValueError if they are on different devices.
    """
    if not meshes:  # arrays on one device take 5 us less so
        places = {x._device_type.placement for x in args if type(x) is Array}
        if len(places) == 1:
            (place,) = places
            if not place.is_divided:
                return place
    return chosen_place(caller, args, Chosen([], list(meshes))) or placement()


def _partition(caller: str, mesh: Mesh, args: Sequence[Value], divisions: Divisions) -> Partition:
    """Return the place of a program on the devices of a mesh: arrays over these devices stay as they are."""
    whole = whole_on(mesh)
    arguments: list[Placement | None] = []
    for i, x in enumerate(args):
        place = divisions.arguments[i] if divisions.arguments else None
        held = place_of_argument(caller, x) if place is None else None
        if held is not None and held.devices == whole.devices:
            place = held
        arguments.append(place.canonical if place is not None and place.is_divided else None)
    return Partition(whole, tuple(arguments), divisions.results)


# One device


def _one_place(caller: str, args: Sequence[Value]) -> Placement | None:
    """Return the placement of all arrays among the arguments, or None without arrays: no client need run yet."""
    places = {place for x in args if (place := place_of_argument(caller, x)) is not None}
    if len(places) > 1:
        devices = " and ".join(sorted(map(str, places)))
        raise ValueError(f"{caller} got arrays on {devices}. Move them to one device with device_put.")
    return places.pop() if places else None


def _chosen_device(
    caller: str, args: Sequence[Value], inner: Sequence[tuple[str, Device | str]], target: Target
) -> Place:
    if target is not None:
        place: Place = placement_of(target, caller)
    else:
        mesh = _common_mesh(caller, [], args)
        place = (_one_place(caller, args) if mesh is None else whole_on(mesh)) or placement_of(inner[0][1], caller)
    for name, inner_target in inner:
        inner_place = placement_of(inner_target, f"jit of {name}")
        if inner_place is not place:
            raise ValueError(
                f"{caller}{where()} runs on {place}, but jit of {name}, which it calls, on "
                f"{inner_place}. Use one device for both, or leave device= out of the inner jit."
            )
    return place


# Meshes


def _common_mesh(caller: str, meshes: Sequence[AnyMesh], args: Sequence[Value]) -> Mesh | None:
    """Return a mesh of the devices of all meshes and arrays; None without a mesh and without divided arrays.

    Raises: ValueError that names two that differ.
    """
    held = [(x, place_of_argument(caller, x)) for x in args]
    divided = [(x, place) for x, place in held if place is not None and place.is_divided]
    if not (meshes or divided):
        return None
    holders = [(repr(mesh), mesh) for mesh in meshes]
    holders += [(f"an array of type {typeof(x)}", mesh_of(place)) for x, place in divided]
    text, mesh = next((item for item in holders if type(item[1]) is Mesh), holders[0])
    if type(mesh) is not Mesh:
        mesh = on_first_devices(caller, mesh)
    devices = set(mesh.devices.flat)
    for other_text, other in holders:
        fits = set(other.devices.flat) == devices if type(other) is Mesh else other.size == mesh.size
        if not fits:
            place = text_of(tuple(other.devices.flat)) if type(other) is Mesh else f"{other.size} devices"
            raise ValueError(
                f"{caller}{where()} has {text} on {text_of(tuple(mesh.devices.flat))}, and {other_text} on {place}. "
                "Use one set of devices in a program; device_put moves arrays."
            )
    return mesh
