"""The types of the arguments of one call, without the values: for programs that are compiled ahead of time.

One idea: a `CallSignature` is made where a function is traced, names each argument as the user writes it, and compares
later arguments with these types.  It holds no arrays.

Read next: `verbs/stages.py`, whose stages share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from calque_core import ShapeDtypeStruct, is_tracer, typeof
from calque_core.engine import arg_names, leaf_names
from calque_core.extend import check_arrays, describe_function, where
from calque_pytree import PyTreeDef, tree_structure
from calque_xla_backend.calls.call import Call, TracedCall, positional_names
from calque_xla_backend.runtime.array import Array
from calque_xla_backend.runtime.partition import Place
from calque_xla_backend.runtime.placement import DeviceType, Placement

Value = Any
MAX_SHOWN = 5  # differences in one message


@dataclass(frozen=True, slots=True)
class CallSignature:
    """The structure and types of the arguments of a function.

    `caller` names the function in messages, and `way_out` is their advice for other arguments.  `in_tree` is the
    structure of `(args, kwargs)` without static arguments; `positions` names the items of `args`, `names` the leaves of
    both.  `parameters` are the names by which a call may pass the items of `args` too.
    """

    caller: str
    way_out: str
    in_tree: PyTreeDef
    positions: tuple[str, ...]
    parameters: tuple[str, ...]
    names: tuple[str, ...]
    avals: tuple[Any, ...]
    statics: tuple[str, ...] = ()

    def check_structure(self, args: tuple[Value, ...], kwargs: dict[str, Value], in_tree: PyTreeDef) -> None:
        """Check that arguments of the structure `in_tree` have the structure of the program's arguments.

        Raises: TypeError that names the arguments that are missing or unknown.
        """
        if in_tree.key == self.in_tree.key:
            return
        keywords = _keys(self.in_tree.children()[1])
        if len(args) != len(self.positions) or sorted(kwargs) != sorted(keywords):
            self._refuse(
                f"it takes {_arguments(self.positions, keywords)}, but the call has "
                f"{_arguments(range(len(args)), list(kwargs))}. {self._static_advice()}Call it as it was lowered."
            )
        pairs = [*zip(self.positions, args), *sorted(kwargs.items())]
        names = [leaf for name, tree in pairs for leaf in leaf_names(name, tree)]
        missing = [f"{name} is missing" for name in self.names if name not in names]
        unknown = [f"{name} is not in the program" for name in names if name not in self.names]
        differences = _shortened([*missing, *unknown]) or f"{in_tree} instead of {self.in_tree}"
        self._refuse(
            f"the arguments have another structure: {differences}. Call it with the structure that it was lowered "
            f"with, or {self.way_out}."
        )

    def check_types(self, leaves: Sequence[Value]) -> None:
        """Check that the leaves have the program's types; a weak type does not matter.

        Raises: TypeError that names each argument of another type.
        """
        check_arrays(leaves, lambda: self.names, self.caller + where())
        wrong = [
            f"{name} is {typeof(x)} instead of {aval}"
            for name, x, aval in zip(self.names, leaves, self.avals)
            if typeof(x).strip_weak_type() != aval.strip_weak_type()
        ]
        if wrong:
            self._refuse(f"{_shortened(wrong)}. Convert the arguments, or {self.way_out}.")
        for name, x in zip(self.names, leaves):
            if isinstance(x, ShapeDtypeStruct):
                self._refuse(f"{name} is a type, {x}. Pass an array.")

    def check_values(self, leaves: Sequence[Value], place: Place) -> None:
        """Check that the leaves are values of the program's types, on no other device than that of `place`.

        Raises: TypeError for other types and for traced values; ValueError for an array on another device.
        """
        if any(map(is_tracer, leaves)):
            self._refuse_tracer(leaves)
        self.check_types(leaves)
        for name, x in zip(self.names, leaves):
            if type(x) is Array and isinstance(place, Placement) and x._device_type.placement is not place:
                raise ValueError(
                    f"{self.caller}{where()}: {name} is on {x._device_type.placement}, but the program runs on "
                    f"{place}. Move it there with device_put."
                )

    def check_divisions(self, leaves: Sequence[Value], targets: Sequence[DeviceType]) -> None:
        """Check that arrays over several devices are divided as the program takes them.

        Raises: ValueError that names an array that is not.
        """
        for name, x, target in zip(self.names, leaves, targets):
            if type(x) is Array and x._device_type.placement.is_divided:
                now, place = x._device_type.placement, target.placement
                if now.canonical is not place.canonical:
                    raise ValueError(
                        f"{self.caller}{where()}: {name} is divided as {now.sharding}, but the program takes it as "
                        f"{place.sharding}. Move it with device_put."
                    )

    def _refuse_tracer(self, leaves: Sequence[Value]) -> NoReturn:
        name, x = next((name, x) for name, x in zip(self.names, leaves) if is_tracer(x))
        self._refuse(
            f"{name} is a traced value of type {typeof(x)}, and a transformation cannot look into a compiled program. "
            "Transform the jitted function instead, then lower and compile the result."
        )

    def _refuse(self, message: str) -> NoReturn:
        raise TypeError(f"{self.caller}{where()}: {message}")

    def _static_advice(self) -> str:
        if not self.statics:
            return ""
        names, verb = ", ".join(self.statics), "is" if len(self.statics) == 1 else "are"
        return f"The value of {names}, which {verb} static, is part of the program; do not pass it again. "


def signature_of(fun: Any, call: Call, traced: TracedCall) -> CallSignature:
    """Return the signature of a call of `fun` with its trace.

    Raises: TypeError if the trace captured a traced value of an enclosing transformation.
    """
    function = describe_function(fun)
    if traced.captured:
        raise TypeError(
            f"jit of {function}{where()}: the function uses a value of type {typeof(traced.captured[0])} that an "
            "enclosing transformation traces, so it has no program of its own. Pass the value as an argument."
        )
    args, kwargs = call.dynamic
    places = [place % len(args) if isinstance(place, int) else place for place, _ in call.statics]
    positions = arg_names(fun, (0,) * len(args), dict.fromkeys(kwargs, ()))
    dynamic_args = tuple([x for i, x in enumerate(args) if i not in places])
    dynamic_kwargs = {name: x for name, x in kwargs.items() if name not in places}
    return CallSignature(
        caller=f"the compiled {function}",
        way_out="call the jitted function, which compiles for each set of types",
        in_tree=tree_structure((dynamic_args, dynamic_kwargs)) if places else call.in_tree,
        parameters=tuple([name for i, name in enumerate(positional_names(fun)[: len(args)]) if i not in places]),
        positions=tuple([name for i, name in enumerate(positions) if i not in places]),
        names=tuple(arg_names(fun, args, kwargs)),
        avals=tuple(traced.jaxpr.in_avals),
        statics=tuple([positions[place] if isinstance(place, int) else place for place in places]),
    )


def _keys(tree: PyTreeDef) -> list[str]:
    """Return the keys of the root, which is a dict."""
    data = tree.node_data()
    assert data is not None, tree
    return list(data[1])


def _arguments(positions: Sequence[object], keywords: Sequence[str]) -> str:
    """Return '2 arguments by position (x, y) and y= by name' for a message."""
    named = f" ({', '.join(map(str, positions))})" if positions and isinstance(positions, tuple) else ""
    by_name = ", ".join(f"{name}=" for name in keywords) or "none"
    return f"{len(positions)} argument{'s' * (len(positions) != 1)} by position{named} and {by_name} by name"


def _shortened(differences: Sequence[str]) -> str:
    more = len(differences) - MAX_SHOWN
    return "; ".join(differences[:MAX_SHOWN]) + (f"; and {more} more" if more > 0 else "")
