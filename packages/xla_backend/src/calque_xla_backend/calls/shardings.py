"""The shardings of the arguments and results of a function, as `jit` takes them.

One idea: a user gives a pytree that is a prefix of the arguments or of the result, and a program takes leaves.  The
trace of the function holds a constraint for each of them, so that a transformed function keeps them; the program of the
function itself takes its arguments, and gives its results, divided in that way.

Read next: `placing.py`, the place of a program; `verbs/constraint.py`, constraints inside a function.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from calque_core import PartitionSpec, typeof
from calque_core.engine import check_spec, describe_value
from calque_core.extend import where
from calque_core.lax import sharding_constraint_p
from calque_pytree import PyTreeDef, flatten_axes, tree_flatten
from calque_xla_backend.calls.call import Call
from calque_xla_backend.placing import Divisions, place_of_argument
from calque_xla_backend.runtime.clients import Device
from calque_xla_backend.runtime.mesh import resolve
from calque_xla_backend.runtime.placement import Placement, placement_of_sharding
from calque_xla_backend.runtime.sharding import SHARDINGS, NamedSharding, SingleDeviceSharding

Value = Any
Tree = Any
ADVICE = "Use a sharding; a PartitionSpec under config.set_mesh; or None, which leaves it to XLA"


@dataclass(frozen=True, slots=True)
class FunctionShardings:
    """The prefixes of shardings of one function; None for both where the user gives none.

    `caller` names the function in messages; `key` is equal for equal prefixes.  Shardings on one device choose the
    `device` of the whole program, and divide nothing.
    """

    caller: str
    arguments: Tree
    results: Tree
    key: Hashable
    device: Device | None = None

    def __bool__(self) -> bool:
        return self.arguments is not None or self.results is not None

    def of_arguments(self, call: Call) -> list[NamedSharding | None]:
        """Return the sharding of each leaf of a call.

        Raises: ValueError for a call with arguments by name, and for a prefix of another structure; as `resolve`.
        """
        kwargs = call.dynamic[1]
        if self.arguments is None:
            return [None] * len(call.leaves)
        if kwargs:
            raise ValueError(
                f"{self.caller}{where()} got the argument {min(kwargs)!r} by name, but in_shardings are for arguments "
                "by position. Pass it by position."
            )
        prefix: Tree = self.arguments
        if isinstance(prefix, (tuple, list)):
            prefix = _with_static(tuple(prefix), call)
        shardings = flatten_axes(f"in_shardings of {self.caller}", call.in_tree.children()[0], prefix)
        return [_over_mesh(one, f"{self.caller} for in_shardings") for one in shardings]

    def of_results(self, out_tree: PyTreeDef) -> list[NamedSharding | None]:
        """Return the sharding of each leaf of the result.  Raises: as `of_arguments`."""
        if self.results is None:
            return [None] * out_tree.num_leaves
        prefix = tuple(self.results) if isinstance(self.results, list) else self.results
        shardings = flatten_axes(f"out_shardings of {self.caller}", out_tree, prefix)
        return [_over_mesh(one, f"{self.caller} for out_shardings") for one in shardings]

    def divisions(self, call: Call, names: Sequence[str], out_tree: PyTreeDef, out_avals: Sequence[Any]) -> Divisions:
        """Return the placements of the leaves of a call, which have `names`, and of those of its result.

        Raises: ValueError for an array that is divided in another way.
        """
        arguments = [
            None if one is None else placement_of_sharding(one, len(typeof(x).shape))
            for one, x in zip(self.of_arguments(call), call.leaves)
        ]
        for name, x, place in zip(names, call.leaves, arguments):
            now = place_of_argument(self.caller, x)
            if place is not None and now is not None:
                self._check_divided(name, now, place)
        results = [
            None if one is None else placement_of_sharding(one, len(aval.shape))
            for one, aval in zip(self.of_results(out_tree), out_avals)
        ]
        return Divisions(tuple(arguments), tuple(results))

    def _check_divided(self, name: str, now: Placement, place: Placement) -> None:
        if now.is_divided and now.canonical is not place.canonical:
            raise ValueError(
                f"{self.caller}{where()}: {name} is divided as {now.sharding}, but in_shardings say {place.sharding}. "
                "Move it with device_put, or leave in_shardings out."
            )


NO_SHARDINGS = FunctionShardings("", None, None, None)


def function_shardings(caller: str, arguments: Tree, results: Tree) -> FunctionShardings:
    """Return the shardings that the user of `jit` gives.

    Raises: TypeError for a leaf that is neither a sharding, nor a spec, nor None; ValueError for two devices, or a
    device beside a mesh.
    """
    if arguments is None and results is None:
        return NO_SHARDINGS
    key: list[Any] = []
    for option, prefix in (("in_shardings", arguments), ("out_shardings", results)):
        leaves, tree = tree_flatten(prefix, none_is_leaf=True)
        for leaf in leaves:
            if not (leaf is None or isinstance(leaf, (*SHARDINGS, PartitionSpec))):
                raise TypeError(f"{caller}{where()} got {describe_value(leaf)} among {option}. {ADVICE}.")
        key.append((tuple(leaves), tree.key))
    device = _only_device(caller, [leaf for leaves, _ in key for leaf in leaves if leaf is not None])
    return FunctionShardings(caller, arguments, results, tuple(key), device)


def _only_device(caller: str, shardings: Sequence[Any]) -> Device | None:
    """Return the device of the shardings on one device, or None without one.

    Raises: ValueError if the shardings name another device, too, or a mesh.
    """
    single = [one for one in shardings if isinstance(one, SingleDeviceSharding)]
    for one in shardings if single else ():
        if one != single[0]:
            raise ValueError(
                f"{caller}{where()} got {single[0]!r} and {one!r}, but a program runs on one device or over one mesh. "
                "Use shardings of one kind, and device_put for the others."
            )
    return single[0].device if single else None


def _over_mesh(sharding: Any, caller: str) -> NamedSharding | None:
    return None if isinstance(sharding, SingleDeviceSharding) else resolve(sharding, caller)


def constrain(
    leaves: Sequence[Value],
    shardings: Sequence[NamedSharding | None],
    caller: str,
    names: Callable[[], Sequence[str]],
) -> list[Any]:
    """Return values with the constraint that XLA divides them in some way; `names()` are their names for messages.

    Raises: ShapeError that names a leaf that does not divide evenly.
    """
    outs = [*leaves]
    for i, (x, sharding) in enumerate(zip(leaves, shardings)):
        if sharding is not None:
            aval = typeof(x)
            check_spec(f"{caller}: {names()[i]}, {aval},", aval.shape, sharding.mesh, sharding.spec)
            if aval.shape:  # a scalar is not divided, and keeps its weak type
                outs[i] = sharding_constraint_p.bind(x, mesh=sharding.mesh, spec=sharding.spec)
    return outs


def _with_static(prefix: tuple[Any, ...], call: Call) -> tuple[Any, ...]:
    """Return a prefix for the dynamic arguments with None in the places of the static arguments of a call."""
    count = len(call.dynamic[0])
    static = {place % count for place, _ in call.statics if isinstance(place, int)}
    if not static or len(prefix) == count:
        return prefix
    items = iter(prefix)
    return tuple([None if i in static else next(items, None) for i in range(count)])
