"""Static arguments: the function gets them as they are, while a transformation traces the other arguments.

One idea: the choice of static arguments is the same for all calls, so `static_arguments` checks it once, where the
transformation is applied.  In a call, `StaticArguments.split` takes the static arguments out, and `with_static` gives
them to the function.

Read next: `make_jaxpr.py`, the simplest module that imports this one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calque_core.calls.api_util import call, check_distinct, parameters_of, tuple_of_ints, tuple_of_names
from calque_core.frames.names import named_after

Value = Any
Args = tuple[Value, ...]
Kwargs = dict[str, Value]
Place = int | str
Statics = Sequence[tuple[Place, Value]]
Parameters = Mapping[str, inspect.Parameter]


@dataclass(frozen=True, slots=True)
class StaticArguments:
    """The static arguments of a function: the positions and the names by which a call may pass them.

    Positions count from the front; negative positions, which only functions of `*args` have, from the end of the call.
    """

    positions: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    def split(self, args: Args, kwargs: Kwargs) -> tuple[Statics, tuple[Args, Kwargs]]:
        """Return the static arguments of a call with their places, and the call with None in these places.

        None is a tree without leaves.

        >>> from calque_core.engine import StaticArguments
        >>> StaticArguments((1,), ("n",)).split((2.0, "fast"), {"n": 3})
        ([(1, 'fast'), ('n', 3)], ((2.0, None), {'n': None}))
        """
        dynamic = list(args)
        statics: list[tuple[Place, Value]] = []
        for i in self.positions:
            if -len(args) <= i < len(args):
                statics.append((i, args[i]))
                dynamic[i] = None
        if kwargs:
            named = [name for name in self.names if name in kwargs]
            statics += [(name, kwargs[name]) for name in named]
            kwargs = kwargs | dict.fromkeys(named)
        return statics, (tuple(dynamic), kwargs)


def with_static(fun: Callable[..., Any], verb: str, statics: Statics) -> Callable[..., Any]:
    """Return `fun` as a function of the arguments that `StaticArguments.split` returns beside `statics`.

    >>> from calque_core.engine import with_static
    >>> with_static(pow, "jit", [(1, 3)])(2, None)
    8
    """
    if not statics:
        return fun

    @named_after(fun)
    def fun_of_dynamic(*args: Value, **kwargs: Value) -> Any:
        merged = list(args)
        for place, value in statics:
            if isinstance(place, str):
                kwargs[place] = value
            else:
                merged[place] = value
        return call(fun, verb, *merged, **kwargs)

    return fun_of_dynamic


# The choice


def static_arguments(caller: str, fun: Any, argnums: Any, argnames: Any, option: str = "static") -> StaticArguments:
    """Return the arguments of `fun` at the positions `argnums` and with the names `argnames`.

    An argument that is chosen by position is also chosen by its name, and the reverse, so that a call may pass it in
    either way.  `option` is the first word of the user's parameters, as in `static_argnums`.
    Raises: TypeError if a position is not an int or a name not a string; ValueError if `fun` has no such argument, or
    `argnums` names one twice.

    >>> from calque_core.engine import static_arguments
    >>> static_arguments("jit of f", lambda x, n: x * n, -1, None)
    StaticArguments(positions=(1,), names=('n',))
    """
    positions = tuple_of_ints(caller, f"{option}_argnums", () if argnums is None else argnums)
    names = tuple_of_names(caller, f"{option}_argnames", argnames)
    parameters = parameters_of(fun) if positions or names else None
    if parameters is None:
        return StaticArguments(positions, names)
    positional = _positional(parameters)
    if not _has(parameters, inspect.Parameter.VAR_POSITIONAL):
        positions = _from_the_front(caller, option, argnums, positions, len(positional))
    if not _has(parameters, inspect.Parameter.VAR_KEYWORD):
        _check_names(caller, option, names, parameters)
    by_keyword = [name for name in positional if parameters[name].kind is not inspect.Parameter.POSITIONAL_ONLY]
    of_positions = [positional[i] for i in positions if 0 <= i < len(positional) and positional[i] in by_keyword]
    of_names = [positional.index(name) for name in names if name in positional]
    return StaticArguments(_without_repeats(positions, of_names), _without_repeats(names, of_positions))


def _positional(parameters: Parameters) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, parameter in parameters.items() if parameter.kind in kinds]


def _has(parameters: Parameters, kind: Any) -> bool:
    return any(parameter.kind is kind for parameter in parameters.values())


def _without_repeats(*parts: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(place for part in parts for place in part))


def _from_the_front(caller: str, option: str, argnums: Any, positions: Sequence[int], count: int) -> tuple[int, ...]:
    """Return positions in `range(count)`.  Raises: ValueError if one is outside, or occurs twice."""
    for i in positions:
        if not -count <= i < count:
            raise ValueError(
                f"{caller} got {option}_argnums={argnums!r}, but the function has {count} positional "
                f"argument{'s' * (count != 1)}. Count from 0, or choose the argument by {option}_argnames."
            )
    positions = tuple(i % count for i in positions)
    check_distinct(caller, f"{option}_argnums", argnums, positions)
    return positions


def _check_names(caller: str, option: str, names: Sequence[str], parameters: Parameters) -> None:
    for name in names:
        if name not in parameters:
            advice = f"Name one of: {', '.join(parameters)}." if parameters else "It has no arguments."
            raise ValueError(f"{caller} got {option}_argnames={name!r}, which is no argument of the function. {advice}")
