"""The named axes of a program: the names that its collectives use and that no program around them binds.

One idea: by convention a parameter `axis_name` is a name and a parameter `axes` a tuple of names, also in primitives of
other packages; with a parameter `axis_names` the equation binds these axes of its `mesh` for its programs, and with a
`call_jaxpr` the axis `axis_name`.  The positions in the `axes` of ordinary reductions are returned too; no axis has
them as its name.

Read next: `collective.py`, the primitives; `lockstep.py`, the evaluation of a program at many positions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from calque_core.context import AxisEnv
from calque_core.jaxprs.jaxpr import Jaxpr, JaxprEqn, jaxprs_in_params
from calque_core.jaxprs.walk import nested_jaxprs

AxisName = Hashable
Names = frozenset[AxisName]
NO_NAMES: Names = frozenset()


def named_axes(params: Mapping[str, Any]) -> Names:
    """Return the axes that an equation with these parameters, or a program in it, names and does not bind.

    >>> from calque_core.engine import named_axes
    >>> sorted(named_axes({"axes": ("i", "j")}))
    ['i', 'j']
    """
    programs = [_names_in(jaxpr, "named axes", _all_names) for jaxpr in jaxprs_in_params(dict(params))]
    return _own_names(params).union(*programs) - _bound_names(params)


def placed_axes(params: Mapping[str, Any]) -> Names:
    """Return the axes of `named_axes` along which places of positions matter: `pvary` names axes for types alone."""
    programs = [_names_in(jaxpr, "placed axes", _names_of_placed) for jaxpr in jaxprs_in_params(dict(params))]
    return _own_names(params).union(*programs) - _bound_names(params)


def communicated_axes(jaxprs: Iterable[Jaxpr]) -> Names:
    """Return the axes along which the positions of a mesh meet in collectives of these programs.

    A position that asks for its own place meets no other one.
    """
    return NO_NAMES.union(*[_names_in(jaxpr, "communicated axes", _names_of_collective) for jaxpr in jaxprs])


def _names_in(jaxpr: Jaxpr, kind: str, own_names: Callable[[JaxprEqn], Names]) -> Names:
    """Return the axes that the equations of a program name, by `own_names`, and that no program inside it binds."""

    def find() -> Names:
        names: dict[int, Names] = {}
        for inner in nested_jaxprs(jaxpr):  # a program comes after the programs inside it
            names[id(inner)] = NO_NAMES.union(*[free(eqn, names) for eqn in inner.eqns])
        return names[id(jaxpr)]

    def free(eqn: JaxprEqn, names: dict[int, Names]) -> Names:
        programs = [names[id(inner)] for inner in jaxprs_in_params(eqn.params)]
        return own_names(eqn).union(*programs) - _bound_names(eqn.params)

    return jaxpr.memo(kind, find)  # type: ignore[no-any-return]


def _all_names(eqn: JaxprEqn) -> Names:
    return _own_names(eqn.params)


def _names_of_placed(eqn: JaxprEqn) -> Names:
    return _own_names(eqn.params) if eqn.primitive.adapted["lockstep"] is not None else NO_NAMES


def _names_of_collective(eqn: JaxprEqn) -> Names:
    return _names_of_placed(eqn) if eqn.invars else NO_NAMES


def _own_names(params: Mapping[str, Any]) -> Names:
    axes = params.get("axes")
    names = axes if isinstance(axes, tuple) else ()
    return frozenset((*names, params["axis_name"]) if "axis_name" in params else names)


def _bound_names(params: Mapping[str, Any]) -> Names:
    return frozenset([name for name, _ in bound_axes(params)])


def bound_axes(params: Mapping[str, Any]) -> AxisEnv:
    """Return the names and sizes of the axes that an equation with these parameters binds for its programs."""
    names = params.get("axis_names")
    if names is not None:
        return tuple([(name, params["mesh"].shape[name]) for name in names])
    return ((params["axis_name"], params["axis_size"]),) if "call_jaxpr" in params else ()


class BoundAxes(NamedTuple):
    """The axes that equations bind around a program, and the axes of these that types name."""

    axis_env: AxisEnv
    varying_axes: Names


def axes_around(jaxpr: Jaxpr) -> dict[int, BoundAxes]:
    """Return the axes that equations bind around each program in a program, by the id of the program."""
    axes = {id(jaxpr): BoundAxes((), NO_NAMES)}
    for holder in reversed(nested_jaxprs(jaxpr)):
        outer = axes[id(holder)]
        for eqn in holder.eqns:
            own = bound_axes(eqn.params)
            typed = [name for name, _ in own] if eqn.params.get("check_vma") else ()
            bound = BoundAxes((*outer.axis_env, *own), outer.varying_axes.union(typed))
            axes.update((id(inner), bound) for inner in jaxprs_in_params(eqn.params))
    return axes
