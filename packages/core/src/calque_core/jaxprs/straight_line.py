"""Operations as straight-line code, for transformations of values that are known.

One idea: a rule gives the same operations whenever its operands have the same types.  So a transformation traces the
rule once per types, and turns the program into a Python function that calls the implementations of the primitives one
after the other.  `Plans` remembers these functions, or whatever else an operation needs.

Only primitives are taken whose implementations are leaves: such primitives promise that their rules depend on types and
parameters alone.
Read next: `operations.py` of autodiff and `plans.py` of batching, which make such functions from rules.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any, Generic, TypeVar

from calque_core.epoch import forget_with_rules, rule_epoch
from calque_core.jaxprs.jaxpr import Atom, Jaxpr, Literal, Var

Value = Any
T = TypeVar("T")


class Plans(Generic[T]):
    """The plans of the operations that were met so far: `make(*facts)` gives the plan of an operation, or None.

    A key is a list of the primitive, of its operands' types, and of its parameters.  A rule that replaces another one
    drops all plans.

    >>> from calque_core.extend import Plans
    >>> plans = Plans(lambda text: text.upper())
    >>> [plans.find(["sin"], "sin") for _ in range(3)]
    [None, None, 'SIN']
    """

    __slots__ = ("__weakref__", "known", "make")

    def __init__(self, make: Callable[..., T | None]) -> None:
        self.known: dict[Any, Any] = {}
        self.make = make
        _all.add(self)

    def find(self, key: list[Any], *facts: Any) -> T | None:
        """Return the plan of a key, made at the third meeting; None if the rules have to run."""
        try:
            entry = self.known.get(tuple(key), 0)  # a plan, None, or the number of meetings
        except TypeError:  # parameters that cannot be hashed
            return None
        return entry if type(entry) is not int else self._meet(key, facts, entry)

    def _meet(self, key: list[Any], facts: Sequence[Any], count: int) -> T | None:
        if len(self.known) >= _LIMIT:  # an option that is another number at each call must not cost the plans
            self.known = {k: entry for k, entry in self.known.items() if type(entry) is not int}
            if len(self.known) > _LIMIT // 2:
                self.known.clear()
        if count < _MEETINGS:
            self.known[tuple(key)] = count + 1
            return None
        epoch = rule_epoch()
        plan = self.known[tuple(key)] = self.make(*facts)
        if rule_epoch() != epoch:  # in another thread
            self.known.pop(tuple(key), None)
        return plan


_MEETINGS = 2  # making a plan takes as long as 100 runs of the rules
_LIMIT = 4096
_all: weakref.WeakSet[Plans[Any]] = weakref.WeakSet()


@forget_with_rules
def _forget_plans() -> None:
    for plans in list(_all):
        plans.known.clear()


def is_straight(program: Jaxpr) -> bool:
    """Tell whether the evaluation of each equation is one call of a function that binds nothing.

    >>> from calque_core import make_jaxpr
    >>> from calque_core.extend import is_straight
    >>> is_straight(make_jaxpr(lambda x: 2.0 * x)(1.0))
    True
    """
    return all(eqn.primitive.is_leaf for eqn in program.eqns)


class StraightLine:
    """The text of a function, made of templates and numbers; functions and constants are bound by name.

    >>> from calque_core import make_jaxpr
    >>> from calque_core.extend import StraightLine
    >>> program, code = make_jaxpr(lambda x: 2.0 * x)(1.0), StraightLine()
    >>> arguments = code.arguments(program.invars)
    >>> code.function(arguments, *code.results(program))(3.0)
    6.0
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[Any, str] = {}
        self.constants: dict[str, Value] = {}

    def arguments(self, variables: Sequence[Var]) -> list[str]:
        """Name the arguments of a program."""
        return [self.names.setdefault(v, f"x{len(self.names)}") for v in variables]

    def results(self, jaxpr: Jaxpr) -> list[str]:
        """Append a line per equation of a program; return the names of its results."""
        for v, const in zip(jaxpr.constvars, jaxpr.consts):
            self.names[v] = self.constant(const)
        for eqn in jaxpr.eqns:
            function = eqn.primitive.impl_for_types([v.aval for v in eqn.invars], eqn.params)
            operands = ", ".join(map(self.name, eqn.invars))
            names = [self.names.setdefault(v, f"x{len(self.names)}") for v in eqn.outvars]
            target = f"({', '.join(names)},)" if eqn.primitive.multiple_results else names[0]
            self.lines.append(f"{target} = {self.constant(function)}({operands})")
        return [self.name(v) for v in jaxpr.outvars]

    def name(self, atom: Atom) -> str:
        """Return the name of an operand."""
        return self.constant(atom.val) if isinstance(atom, Literal) else self.names[atom]

    def constant(self, value: Value) -> str:
        """Return the name of a bound value."""
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        return name

    def function(self, arguments: Sequence[str], results: str) -> Callable[..., Any]:
        """Return the function of these arguments that runs the lines and returns `results`."""
        body = [*self.lines, f"return {results}"]
        text = "\n".join([f"def function({', '.join(arguments)}):", *(f" {line}" for line in body)])
        return function_of(text, self.constants)


def function_of(text: str, constants: Mapping[str, Value]) -> Callable[..., Any]:
    """Return the function named `function` that a text defines; the text holds templates of ours and integers only."""
    namespace = dict(constants, __builtins__={})
    exec(_compiled(text), namespace)  # noqa: S102
    return namespace.pop("function")  # type: ignore[no-any-return]


@lru_cache(maxsize=512)
def _compiled(text: str) -> CodeType:
    return compile(text, "<generated by calque_core>", "exec")
