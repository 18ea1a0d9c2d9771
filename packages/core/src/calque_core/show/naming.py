"""The printed names and texts in a jaxpr: variables, literals, types, parameters, and programs used twice.

One idea: names follow the order of reading, from one alphabet for the whole print, so a name has one meaning.
`DropVar` needs no class: an unused result prints as `_`.

Read next: `printing.py`, which arranges these texts on lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import count, product
from typing import Any, NamedTuple

import numpy as np

from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, has_jaxpr, jaxprs_in_params
from calque_core.jaxprs.walk import nested_jaxprs

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_RESERVED = frozenset(("in", "let", "lambda", "inf", "nan"))  # keywords and numbers are no names


class Options(NamedTuple):
    """The details that a print shows beside names and operations."""

    source_info: bool = False
    name_stack: bool = False
    print_shapes: bool = True
    print_effects: bool = False
    print_literal_types: bool = False


def fresh_names(taken: Collection[str] = ()) -> Iterator[str]:
    """Yield a, b, ..., z, aa, ab, ... without the names in `taken`.

    >>> names = fresh_names({"b"})
    >>> next(names), next(names)
    ('a', 'c')
    """
    for length in count(1):
        for letters in product(_LETTERS, repeat=length):
            name = "".join(letters)
            if name not in taken and name not in _RESERVED:
                yield name


class Scope:
    """The names of the variables of one jaxpr; a variable gets its name at its first use."""

    __slots__ = ("drops", "fresh", "names", "options", "read")

    def __init__(self, jaxpr: Jaxpr, fresh: Iterator[str], options: Options, *, drops: bool) -> None:
        self.fresh, self.options, self.drops = fresh, options, drops
        self.names: dict[Any, str] = {}
        self.read = {v for eqn in jaxpr.eqns for v in eqn.invars} | set(jaxpr.outvars) if drops else set()

    def atom(self, x: Atom) -> str:
        """Return the text of an operand."""
        if type(x) is Literal:
            return f"{x.val}:{x.aval.str_short()}" if self.options.print_literal_types else str(x.val)
        name = self.names.get(x)
        if name is None:
            name = self.names[x] = next(self.fresh)
        return name

    def operands(self, eqn: JaxprEqn) -> str:
        """Return the operands of an equation, each after a space."""
        return "".join([f" {self.atom(x)}" for x in eqn.invars])

    def result(self, v: Var) -> str:
        """Return the name of a result, `_` if it is unused."""
        return "_" if self.drops and v not in self.read else self.atom(v)


def shown_params(eqn: JaxprEqn) -> list[tuple[str, Any]]:
    """Return the parameters that the primitive's rule of kind "pp" shows, sorted, with `name` first."""
    rule = eqn.primitive.adapted["pp"]
    params: dict[str, Any] = eqn.params if rule is None else rule(eqn.params)
    return sorted(params.items(), key=lambda item: (item[0] != "name", item[0]))


def param_text(value: Any) -> str:
    """Return a parameter in one line: dtypes and functions by name, arrays by type.

    >>> param_text((np.dtype("float32"), None, "rows")), param_text("rows")
    ("(float32, None, 'rows')", 'rows')
    """
    return " ".join(value.splitlines()) if isinstance(value, str) else _inner_text(value)


def _inner_text(value: Any) -> str:
    if type(value) in (tuple, list):
        left, right = "()" if type(value) is tuple else "[]"
        comma = "," if type(value) is tuple and len(value) == 1 else ""
        return f"{left}{', '.join(map(_inner_text, value))}{comma}{right}"
    if isinstance(value, np.ndarray):
        return f"array({value.dtype.name}{list(value.shape)})"
    if isinstance(value, np.dtype):
        return value.name
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    return " ".join(repr(value).splitlines())


def effects_text(jaxpr: Jaxpr) -> str:
    """Return the effects of a jaxpr, as printed after its results."""
    return f" : {{ {', '.join(sorted(map(str, jaxpr.effects)))} }}"


def shared_names(root: Jaxpr) -> dict[int, tuple[str, Jaxpr]]:
    """Return a name for every jaxpr inside `root` with more than one holder, by id, inner jaxprs first.

    Such a jaxpr is printed once, before `root`: printed in each holder, a program of n equations could have 2**n lines.
    """
    jaxprs = nested_jaxprs(root)
    uses = Counter(id(inner) for jaxpr in jaxprs for inner in _shown_jaxprs(jaxpr))
    names: dict[int, tuple[str, Jaxpr]] = {}
    taken: set[str] = set()
    for jaxpr in jaxprs:
        if uses[id(jaxpr)] > 1:
            name = _unused_name(jaxpr.debug_name, taken)
            taken.add(name)
            names[id(jaxpr)] = name, jaxpr
    return names


def _shown_jaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    for eqn in jaxpr.eqns:
        if has_jaxpr(eqn.params):
            yield from jaxprs_in_params(dict(shown_params(eqn)))


def _unused_name(debug_name: str, taken: set[str]) -> str:
    stem = "".join(c for c in debug_name if c.isalnum() or c == "_") or "jaxpr"
    stem = stem if stem not in _RESERVED else f"{stem}_"
    return next(name for name in (f"{stem}{n or ''}" for n in count()) if name not in taken)
