"""`jax.experimental.hijax`: the names with which a library declares types of its own that change in place.

One idea: flax declares such a type when it is imported, and uses it where `flax_hijax_variable` is set alone; so the
declarations are kept, and their use is refused.
"""

from __future__ import annotations

from typing import Any

import calque_core
from calque_core import AbstractValue, Zero, instantiate_zeros, is_undefined_primal

__all__ = [
    "AbstractValue", "AvalMutableQDD", "AvalQDD", "HiPrimitive", "MutableHiType", "QDD", "Zero", "aval_method",
    "aval_property", "control_flow_allowed_effects", "cur_qdd", "instantiate_zeros", "is_undefined_primal",
    "register_hitype",
]  # fmt: skip


def _refuse(name: str) -> None:
    raise NotImplementedError(
        f"{name} is an operation of a hijax type, and calque has none: its types do not change in place. Leave "
        "flax_hijax_variable unset, or use jax.new_ref."
    )


class HiPrimitive(calque_core.Primitive):
    """An operation on hijax types; binding it is refused."""

    def __init__(self, name: str) -> None:
        super().__init__(name, multiple_results=True)

    def bind(self, *args: Any, **params: Any) -> Any:
        """Raise NotImplementedError."""
        del args, params
        _refuse(self.name)


class MutableHiType:
    """A type of values that change in place."""


class QDD:
    """The part of such a type that changes."""


class AvalQDD:
    """A type beside its part that changes."""

    def __init__(self, aval: Any, qdd: Any) -> None:
        self.aval, self.qdd = aval, qdd


class AvalMutableQDD:
    """A type beside a cell for its part that changes."""

    def __init__(self, aval: Any, mutable_qdd: Any) -> None:
        self.aval, self.mutable_qdd = aval, mutable_qdd


class aval_property:  # jax's name
    """A property of tracers that their type defines."""

    def __init__(self, fget: Any) -> None:
        self.fget = fget


class aval_method:  # jax's name
    """A method of tracers that their type defines."""

    def __init__(self, fun: Any) -> None:
        self.fun = fun


class AllowedEffects:
    """The effects that branches and loops may have; calque's checks do not ask for them."""

    def add_type(self, effect_type: type) -> None:
        """Do nothing."""


control_flow_allowed_effects = AllowedEffects()


def register_hitype(value_type: type, typeof: Any) -> None:
    """Keep nothing: a value of the type is refused where it is used."""


def cur_qdd(x: Any) -> Any:
    """Raise NotImplementedError."""
    _refuse(f"cur_qdd of {type(x).__name__}")
