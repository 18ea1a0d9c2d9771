"""Attributes of calque's classes that are jax's: they are there while `jax` is calque.

One idea: a table of classes, names and values; `add` sets them at installation, and `remove` deletes them, or sets what
calque's classes had before.

Read next: `dialect/programs.py`, the form of programs in jax.
"""

from __future__ import annotations

from typing import Any

from calque_core import AbstractMesh, Jaxpr, JaxprEqn, Mesh, Primitive, ShapedArray
from calque_core.extend import late_function
from calque_core.lax import Precision

_PROGRAMS = "calque_as_jax.dialect.programs"
_closed = late_function(_PROGRAMS, "ClosedJaxpr")
_core_replace = Jaxpr.replace


def _replaced(program: Jaxpr, *, jaxpr: Any = None, **fields: Any) -> Jaxpr:
    """Return a program with some fields changed; a `jaxpr` has all of them but the constants."""
    if jaxpr is None:
        return _core_replace(program, **fields)
    closed: Jaxpr = _closed(jaxpr, fields.get("consts", program.consts))
    return closed


# The compiler divides arrays along each axis of a mesh as it likes, unless a program says more.
_OF_MESHES = {
    "empty": False,
    "are_all_axes_auto": True,
    "are_all_axes_explicit": False,
    "are_all_axes_manual": False,
    "axis_types": property(late_function("calque_as_jax.dialect.sharding", "axis_types_of")),
}
# A type of calque's holds no sharding, and no operation is a call of a function that it holds beside its parameters.
_ATTRIBUTES: tuple[tuple[type, str, Any], ...] = (
    (ShapedArray, "sharding", None),
    (ShapedArray, "at_least_vspace", late_function("calque_as_jax.dialect.types", "tangent_type")),
    (Precision, "__str__", lambda precision: precision.name),
    *((mesh, name, value) for mesh in (Mesh, AbstractMesh) for name, value in _OF_MESHES.items()),
    (Primitive, "call_primitive", False),
    (Primitive, "map_primitive", False),
    (Primitive, "get_bind_params", late_function(_PROGRAMS, "bind_params")),
    (Primitive, "bind_with_trace", late_function(_PROGRAMS, "bind_with_trace")),
    (Jaxpr, "jaxpr", property(late_function(_PROGRAMS, "opened"))),
    (Jaxpr, "literals", property(lambda program: list(program.consts))),
    (Jaxpr, "debug_info", property(late_function(_PROGRAMS, "debug_info_of"))),
    (Jaxpr, "replace", _replaced),
    (JaxprEqn, "ctx", property(late_function(_PROGRAMS, "EquationContext"))),
)
_before: dict[tuple[type, str], Any] = {}


def add() -> None:
    """Set the attributes of the classes."""
    for owner, name, value in _ATTRIBUTES:
        if name in vars(owner):
            _before[owner, name] = vars(owner)[name]
        setattr(owner, name, value)


def remove() -> None:
    """Remove the attributes, or set what was there before."""
    for owner, name, _ in _ATTRIBUTES:
        delattr(owner, name)
    for (owner, name), value in _before.items():
        setattr(owner, name, value)
    _before.clear()
