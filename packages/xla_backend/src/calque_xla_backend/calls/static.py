"""Static arguments: constants of a program, instead of inputs.

One idea: a static argument is part of the key of a trace, so it must have a hash, and two values that behave
differently must have different keys even if they are equal for Python: `calque_pytree.static_key` makes such keys.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calque_core.extend import describe_function, plain_index, where
from calque_pytree import PyTreeDef, static_key

Value = Any
Args = tuple[Value, ...]
Kwargs = dict[str, Value]
Parameters = Mapping[str, inspect.Parameter]


@dataclass(frozen=True, slots=True)
class StaticArguments:
    """The static arguments of a function: positions, counted from the front, and names."""

    positions: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    def split(self, fun: Any, args: Args, kwargs: Kwargs) -> tuple[Hashable, tuple[Args, Kwargs]]:
        """Return the keys of the static arguments, and the arguments with each static one replaced by None.

        Raises: TypeError for a static argument without a hash.
        """
        dynamic = list(args)
        key: list[tuple[int | str, Hashable]] = []
        for i in self.positions:
            if -len(dynamic) <= i < len(dynamic):
                key.append((i, _checked_key(fun, i, args[i])))
                dynamic[i] = None
        if kwargs:
            named = [name for name in self.names if name in kwargs]
            key += [(name, _checked_key(fun, name, kwargs[name])) for name in named]
            kwargs = kwargs | dict.fromkeys(named)
        return tuple(key), (tuple(dynamic), kwargs)

    def merge(self, args: Args, kwargs: Kwargs, call: tuple[Args, Kwargs]) -> tuple[Args, Kwargs]:
        """Return `args` and `kwargs` with the static arguments of `call` in their places."""
        call_args, call_kwargs = call
        merged = list(args)
        for i in self.positions:
            if -len(merged) <= i < len(merged):
                merged[i] = call_args[i]
        return tuple(merged), kwargs | {name: call_kwargs[name] for name in self.names if name in call_kwargs}


_PLAIN = frozenset((int, str, bool, type(None)))


def _checked_key(fun: Any, argument: int | str, value: Value) -> Hashable:
    if type(value) in _PLAIN:
        return type(value), value  # equals `static_key(value)` and saves 0.3 us
    try:
        key = static_key(value)
        hash(key)
    except TypeError as error:
        name = argument if isinstance(argument, str) else _parameter_name(fun, argument)
        raise TypeError(
            f"jit of {describe_function(fun)}: the static argument {name} is {value!r} of type {type(value).__name__}, "
            f"which has no hash ({error}). Pass a hashable value, a tuple instead of a list; arrays cannot be static."
        ) from error
    return key


def explain_comparison(fun: Any, static_keys: Any, keys: Iterable[Any], error: Exception) -> None:
    """Raise a clear error if `error` comes from comparing the static arguments of a call with those of earlier calls.

    `keys` are the keys of the earlier calls, which begin with the keys of their static arguments.
    Raises: TypeError that names the argument whose `==` returns neither True nor False.
    """
    earlier_calls = [dict(key[0]) for key in keys]
    for argument, key in static_keys:
        try:
            for earlier in earlier_calls:
                key == earlier.get(argument)  # noqa: B015  only whether it raises matters
        except Exception:  # noqa: BLE001  an `__eq__` may raise anything, and `error` is raised in its place
            name = argument if isinstance(argument, str) else _parameter_name(fun, argument)
            kind = key[0].__name__
            raise TypeError(
                f"jit of {describe_function(fun)}{where()}: two values of the static argument {name}, of type {kind}, "
                f"cannot be compared, because {kind}.__eq__ gives neither True nor False ({error}). Give {kind} an "
                "__eq__ that does, with numpy.array_equal for the arrays in it."
            ) from error


def _parameter_name(fun: Any, position: int) -> str:
    names = list(parameters_of(fun) or ())
    return names[position] if position < len(names) else f"args[{position}]"


def parameters_of(fun: Any) -> Parameters | None:
    """Return the parameters of a function, None if Python does not know them."""
    try:
        return inspect.signature(fun).parameters
    except (TypeError, ValueError):
        return None


def static_arguments(fun: Callable[..., Any], argnums: Any, argnames: Any) -> StaticArguments:
    """Return the static arguments of `fun`; positions imply their names, and names their positions.

    Raises: TypeError if a position is not an int or a name not a string; ValueError if there is no such argument.
    """
    if argnums is None and argnames is None:
        return StaticArguments()
    caller = f"jit of {describe_function(fun)}"
    positions, names = _integers(caller, "static_argnums", argnums), _strings(caller, argnames)
    parameters = parameters_of(fun)
    if parameters is None:
        return StaticArguments(positions, names)
    positions = checked_positions(caller, "static_argnums", positions, parameters)
    _check_names(caller, names, parameters)
    if argnames is None:
        names = _names_of(positions, parameters)
    if argnums is None:
        positions = _positions_of(names, parameters)
    return StaticArguments(positions, names)


def _integers(caller: str, option: str, argnums: Any) -> tuple[int, ...]:
    if argnums is None:
        return ()
    try:
        return tuple(map(plain_index, argnums if isinstance(argnums, (tuple, list, range)) else [argnums]))
    except TypeError:
        raise TypeError(f"{caller} got {option}={argnums!r}. Give an int or a tuple of ints.") from None


def _strings(caller: str, argnames: Any) -> tuple[str, ...]:
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames or ())
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{caller} got static_argnames={argnames!r}. Give a string or a tuple of strings.")
    return names


def _positional(parameters: Parameters) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, parameter in parameters.items() if parameter.kind in kinds]


def _has(parameters: Parameters, kind: Any) -> bool:
    return any(parameter.kind is kind for parameter in parameters.values())


@dataclass(frozen=True, slots=True)
class DonatedArguments:
    """The arguments of a function that XLA may overwrite: positions, and the names by which a call may pass them."""

    positions: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    def leaves(self, args: Args, in_tree: PyTreeDef) -> tuple[int, ...]:
        """Return the numbers of the leaves of `(args, kwargs)` that belong to donated arguments."""
        if not self.positions:
            return ()
        by_position, by_name = in_tree.children()
        node = by_name.node_data()
        assert node is not None, in_tree
        _, keywords = node  # in the order of the leaves
        is_donated = [i in self.positions or i - len(args) in self.positions for i in range(len(args))]
        is_donated += [name in self.names for name in keywords]
        trees = [*by_position.children(), *by_name.children()]
        flags = [donated for donated, tree in zip(is_donated, trees) for _ in range(tree.num_leaves)]
        return tuple(i for i, donated in enumerate(flags) if donated)


def donated_arguments(fun: Callable[..., Any], argnums: Any) -> DonatedArguments:
    """Return the arguments at the positions `argnums`, which a call may also pass by name.

    Raises: as `static_arguments`.
    """
    caller, parameters = f"jit of {describe_function(fun)}", parameters_of(fun)
    positions = _integers(caller, "donate_argnums", argnums)
    if parameters is None:
        return DonatedArguments(positions)
    positions = checked_positions(caller, "donate_argnums", positions, parameters)
    return DonatedArguments(positions, _names_of(positions, parameters))


def checked_positions(caller: str, option: str, positions: Sequence[int], parameters: Parameters) -> tuple[int, ...]:
    """Return positions counted from the front.  Raises: ValueError if the function has no such argument."""
    if _has(parameters, inspect.Parameter.VAR_POSITIONAL):
        return tuple(positions)
    count = len(_positional(parameters))
    for i in positions:
        if not -count <= i < count:
            raise ValueError(
                f"{caller} got {option}={i}, but the function has {count} positional argument{'s' * (count != 1)}. "
                f"Count from 0{', or name the argument with static_argnames' * (option == 'static_argnums')}."
            )
    return tuple(i % count for i in positions)


def _check_names(caller: str, names: Sequence[str], parameters: Parameters) -> None:
    if _has(parameters, inspect.Parameter.VAR_KEYWORD):
        return
    for name in names:
        if name not in parameters:
            known = ", ".join(parameters) or "none"
            raise ValueError(
                f"{caller} got static_argnames={name!r}, which is no argument of the function. It has: {known}."
            )


def _names_of(positions: Sequence[int], parameters: Parameters) -> tuple[str, ...]:
    names = [n for n in _positional(parameters) if parameters[n].kind is not inspect.Parameter.POSITIONAL_ONLY]
    positional = _positional(parameters)
    return tuple(positional[i] for i in positions if 0 <= i < len(positional) and positional[i] in names)


def _positions_of(names: Sequence[str], parameters: Parameters) -> tuple[int, ...]:
    positional = _positional(parameters)
    return tuple(positional.index(name) for name in names if name in positional)
