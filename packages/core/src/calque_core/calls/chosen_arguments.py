"""The arguments that a derivative is taken with respect to: chosen by position, by name, or both.

One idea: the choice of arguments is the same for all calls; `Places` says for one call whether it passes each of them
by position or by keyword.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core.calls.api_util import FlatFunction, call, normalize_argnums, parameters_of, tuple_of_names
from calque_core.record import Record
from calque_pytree import PyTreeDef


class Places(Record):
    """The places of the chosen arguments in one call.

    `positions` are the positions of `argnums`, then of the names that the call passes by position; `keywords` are the
    names that it passes by keyword.  `of_names` holds the position or the keyword of each name.
    """

    positions: list[int]
    keywords: list[str]
    of_names: list[int | str]


_FIRST = Places([0], [], [])


class ChosenArguments:
    """The arguments that the user chose, and the form of their derivatives; the same for all calls."""

    def __init__(self, fun: Any, caller: str, argnums: Any, argnames: Any) -> None:
        self.fun, self.caller, self.argnames = fun, caller, argnames
        self.argnums = 0 if argnums is None and argnames is None else argnums
        self.names = tuple_of_names(caller, "argnames", argnames) if argnames is not None else ()
        self.by_count: dict[int, Places] = {}  # without names, the places depend on the number of arguments alone

    def find(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Places:
        """Return the places of the chosen arguments.  Raises: ValueError if one is not passed, or chosen twice."""
        if not self.names:
            places = self.by_count.get(len(args))
            if places is not None:
                return places
            if type(self.argnums) is int and self.argnums == 0 and args:  # nearly always; 3 us sooner
                return _FIRST
        numbered = normalize_argnums(self.argnums, len(args), self.caller) if self.argnums is not None else ()
        of_names = [name if name in kwargs else self._position(name, len(args)) for name in self.names]
        positions = [*numbered, *(place for place in of_names if isinstance(place, int))]
        if len(set(positions)) != len(positions):
            raise ValueError(
                f"{self.caller} got argnums={self.argnums!r} and argnames={self.argnames!r}, which name an argument "
                "twice. Name each argument once."
            )
        places = Places(positions, [place for place in of_names if isinstance(place, str)], of_names)
        if not self.names:
            self.by_count[len(args)] = places
        return places

    def _position(self, name: str, count: int) -> int:
        parameters = list(parameters_of(self.fun) or ())
        if name not in parameters[:count]:
            raise ValueError(
                f"{self.caller} got argnames={self.argnames!r}, but the call passes no argument {name!r}. Pass it, or "
                f"name one of: {', '.join(parameters) or 'the keywords of the call'}."
            )
        return parameters.index(name)

    def arrange(self, places: Places, by_position: Sequence[Any], by_name: dict[str, Any]) -> Any:
        """Return values for the chosen arguments, such as gradients, in the form of `argnums` and `argnames`."""
        if self.argnames is None:
            return tuple(by_position) if isinstance(self.argnums, (tuple, list)) else by_position[0]
        values: dict[Any, Any] = dict(zip(places.positions, by_position)) | by_name
        named: Any = {name: values[place] for name, place in zip(self.names, places.of_names)}
        count = len(places.positions) + len(places.keywords) - len(places.of_names)
        numbered = tuple(by_position[:count])
        if isinstance(self.argnames, str):
            named = named[self.argnames]
        first: Any = numbered if isinstance(self.argnums, (tuple, list)) else numbered[0] if numbered else None
        return named if self.argnums is None else (first, named)

    def put(self, places: Places, form: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
        """Return the arguments of a call, with `form`, as `arrange` returns it, in place of the chosen arguments."""
        first, named = form if None not in (self.argnums, self.argnames) else (form, form)
        values: dict[Any, Any] = {}
        if self.argnums is not None:
            numbered = first if isinstance(self.argnums, (tuple, list)) else (first,)
            values.update(zip(places.positions, numbered))
        if self.argnames is not None:
            named = {self.argnames: named} if isinstance(self.argnames, str) else named
            values.update((place, named[name]) for name, place in zip(self.names, places.of_names))
        keywords = {place: x for place, x in values.items() if isinstance(place, str)}
        return [values.get(i, x) for i, x in enumerate(args)], kwargs | keywords


class FlatChosen(FlatFunction):
    """A user's function of the leaves of its chosen arguments, in one call; its other arguments are fixed.

    `in_tree` is the structure of the tuple of the chosen arguments: at the positions, then of the keywords.

    >>> from calque_core.engine import ChosenArguments, FlatChosen
    >>> from calque_pytree import tree_flatten
    >>> places = ChosenArguments(pow, "grad of pow", 1, None).find((2.0, 3.0), {})
    >>> FlatChosen(pow, tree_flatten((3.0,))[1], "grad", False, places, (2.0, 3.0), {})(5.0)
    [32.0]
    """

    __slots__ = ("args", "kwargs", "places")

    def __init__(
        self,
        fun: Callable[..., Any],
        in_tree: PyTreeDef,
        verb: str,
        has_aux: bool,
        places: Places,
        args: Sequence[Any],
        kwargs: dict[str, Any],
    ) -> None:
        FlatFunction.__init__(self, fun, in_tree, verb, has_aux)  # `super()` takes 0.1 us more
        self.places, self.args, self.kwargs = places, args, kwargs

    def __call__(self, *leaves: Any) -> list[Any]:
        positions, keywords, _ = self.places
        values, args, kwargs = self.in_tree.unflatten(leaves), list(self.args), self.kwargs
        for i, x in zip(positions, values):
            args[i] = x
        if keywords:
            kwargs = kwargs | dict(zip(keywords, values[len(positions) :]))
        return self.flat_results(call(self.fun, self.verb, *args, **kwargs))
