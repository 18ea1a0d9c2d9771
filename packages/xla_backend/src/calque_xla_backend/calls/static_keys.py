"""The keys of static arguments: a part of the key of each trace and each program.

One idea: two values that behave differently have different keys even if they are equal for Python, so a program that
was traced for one value is never run for another.

Read next: `tracing.py`, which asks for the keys; `calque_core.engine.StaticArguments`, which takes the arguments out.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from inspect import Parameter
from typing import Any

from calque_core.engine import Statics, is_array_like, parameters_of, short_repr
from calque_core.extend import describe_function, where
from calque_pytree import static_key

Value = Any
Place = int | str
StaticKeys = Sequence[tuple[Place, Hashable]]

_PLAIN = frozenset((int, str, bool, type(None)))


def static_keys(verb: str, fun: Any, statics: Statics) -> StaticKeys:
    """Return a key for each static argument, to be part of the key of a program.

    Raises: TypeError for an argument without a hash.

    >>> static_keys("jit", pow, [(1, 3)])
    ((1, (<class 'int'>, 3)),)
    """
    keys: list[tuple[Place, Hashable]] = []
    for place, value in statics:
        kind = type(value)
        # For plain types this is `static_key(value)`; it saves 0.5 us in each call.
        keys.append((place, (kind, value) if kind in _PLAIN else _checked_key(verb, fun, place, value)))
    return tuple(keys)


def _checked_key(verb: str, fun: Any, place: Place, value: Value) -> Hashable:
    try:
        key = static_key(value)
        hash(key)
    except TypeError as error:
        raise TypeError(_no_hash_message(verb, fun, place, value, error)) from error
    return key


def _no_hash_message(verb: str, fun: Any, place: Place, value: Value, error: TypeError) -> str:
    caller, name = f"{verb} of {describe_function(fun)}{where()}", _name(fun, place)
    subject = f"{caller}: the static argument {name} is {short_repr(value)}"
    if is_array_like(value):
        return f"{subject}, an array, which has no hash. Pass a Python value, or do not make the argument static."
    kind = type(value).__name__
    path, part = _part_without_hash(value)
    if path:
        return (
            f"{subject} of type {kind}, which has no hash, because its part {name}{path} is {short_repr(part)} of type "
            f"{type(part).__name__}. Replace that part by a hashable value, a list by a tuple."
        )
    return f"{subject} of type {kind}, which has no hash ({error}). Pass a hashable value, a tuple instead of a list."


def _part_without_hash(value: Value) -> tuple[str, Value]:
    """Return the innermost part of a value that has no hash, and its path in the value."""
    for step, part in _parts(value):
        try:
            hash(part)
        except TypeError:
            path, innermost = _part_without_hash(part)
            return step + path, innermost
    return "", value


def _parts(value: Value) -> list[tuple[str, Value]]:
    """Return the parts of a value on whose hashes its own depends, each with its step in the path."""
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None)
        steps = [f".{name}" for name in names] if names else [f"[{i}]" for i in range(len(value))]
        return list(zip(steps, value))
    if is_dataclass(value) and type(value).__hash__ is not None:
        hashed = [f for f in fields(value) if (f.compare if f.hash is None else f.hash)]
        return [(f".{f.name}", getattr(value, f.name)) for f in hashed]
    return []


def explain_comparison(
    verb: str, fun: Any, keys: StaticKeys, keys_of_programs: Iterable[StaticKeys], error: Exception
) -> None:
    """Raise a clear error if `error` comes from comparing the static arguments of a call with earlier calls.

    Raises: TypeError that names the argument whose `==` returns neither True nor False.
    """
    earlier_calls = [dict(earlier) for earlier in keys_of_programs]
    for place, key in keys:
        try:
            for earlier in earlier_calls:
                key == earlier.get(place)  # noqa: B015  only whether it raises matters
        except Exception:  # noqa: BLE001  an `__eq__` may raise anything, and `error` is raised in its place
            kind = key[0].__name__  # type: ignore[index]  # every key begins with the type of the value
            raise TypeError(
                f"{verb} of {describe_function(fun)}{where()}: two values of the static argument {_name(fun, place)}, "
                f"of type {kind}, cannot be compared, because {kind}.__eq__ gives neither True nor False ({error}). "
                f"Give {kind} an __eq__ that does, with numpy.array_equal for the arrays in it."
            ) from error


def _name(fun: Any, place: Place) -> str:
    """Return the name of the parameter that takes the argument at this place."""
    if isinstance(place, str):
        return place
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    names = [name for name, parameter in (parameters_of(fun) or {}).items() if parameter.kind in kinds]
    return names[place] if 0 <= place < len(names) else f"args[{place}]"
