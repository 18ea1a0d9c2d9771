"""Programs as plain data, for a file: `jaxpr_to_dict`.

One idea: a table of programs, inner programs first, and a table of rules; a number stands for a variable, a program or
rules.  An equation names its primitive and the module that declares it.

Read next: `values.py`, for parameters and constants; `reading.py`, the way back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from calque_core.frames.source import resolve
from calque_core.jaxprs.arguments import check_is_jaxpr
from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var
from calque_core.jaxprs.walk import nested_jaxprs
from calque_core.ops.calls.custom_closures import CustomRules
from calque_core.saved.rules import closed_rules, write_rules
from calque_core.saved.values import Data, UnwritableError, no_inner, write_type, write_value

FORMAT, VERSION = "calque jaxpr", 1
DEEPEST_RULES = 50  # a rule that makes a function with rules at each call needs further ones without end

_ADVICE = {
    "HostFunction": "A callback is Python code: store the program without it.",
    "Pullback": "Store the function, and differentiate it after it is read.",
    "Mesh": "Its devices belong to this process: trace the program with an AbstractMesh.",
    "XlaCompiler": "Options and devices belong to this process: call jit without them.",
}


def jaxpr_to_dict(jaxpr: Jaxpr) -> dict[str, Any]:
    """Return a program as dicts, lists, strings and numbers, which `json` writes and `jaxpr_from_dict` reads.

    Constants are stored as the bytes of their elements, weak types are kept, and the rules of custom functions are
    stored as programs.  Lines of the user's files are not stored.
    Raises: TypeError for a program that holds Python code or objects of this process: callbacks, rules for batches,
    transpose rules, devices, static objects, traced values; for a function in place of a program.

    >>> import json
    >>> from calque_core import jaxpr_from_dict, jaxpr_to_dict, lax, make_jaxpr
    >>> text = json.dumps(jaxpr_to_dict(make_jaxpr(lambda x: lax.sin(x) * 2.0)(1.0)))
    >>> jaxpr_from_dict(json.loads(text))
    { lambda ; a:f64[]. let b:f64[] = sin a; c:f64[] = mul b 2.0 in (c,) }
    """
    check_is_jaxpr("jaxpr_to_dict(jaxpr)", jaxpr)
    writer = Writer()
    main = writer.program(jaxpr)
    writer.write_pending()
    tables = {"jaxprs": writer.jaxprs, "rules": writer.rules, "constants": writer.constants}
    return {"format": FORMAT, "version": VERSION, "main": main, **tables}


class Writer:
    """The tables of one stored program."""

    def __init__(self) -> None:
        self.jaxprs: list[Data] = []
        self.rules: list[Data] = []
        self.constants: list[Data] = []
        self.numbers: dict[Any, int] = {}  # of programs and constants by id, and of rules by key and types
        self.held: list[Any] = []  # objects whose ids are in `numbers`
        self.pending: list[Any] = []
        self.depth = 0  # of the rules that are being stored, in other rules

    def program(self, jaxpr: Jaxpr) -> int:
        """Return the number of a program; store it, and the programs inside it, at the first call."""
        if id(jaxpr) not in self.numbers:
            for inner in nested_jaxprs(jaxpr):
                if id(inner) not in self.numbers:
                    data = self.jaxpr(inner)
                    self._number(inner, self.jaxprs, data)
        return self.numbers[id(jaxpr)]

    def constant(self, value: Any) -> int:
        """Return the number of a constant; store it at the first call."""
        if id(value) not in self.numbers:
            self._number(value, self.constants, write_value(value, no_inner))
        return self.numbers[id(value)]

    def _number(self, x: Any, table: list[Data], data: Data) -> None:
        self.held.append(x)
        self.numbers[id(x)] = len(table)
        table.append(data)

    def jaxpr(self, jaxpr: Jaxpr) -> Data:
        """Return a program as data, with numbers for the programs inside it."""
        numbers: dict[Var, int] = {}
        types: list[str] = []

        def bind(variables: Sequence[Var]) -> list[int]:
            for v in variables:
                numbers[v] = len(types)
                types.append(self._attempt("the type of a variable", write_type, v.aval))
            return [numbers[v] for v in variables]

        head = {"name": jaxpr.debug_name, "types": types, "constvars": bind(jaxpr.constvars)}
        head["consts"] = [self._attempt("a constant", self.constant, c) for c in jaxpr.consts]
        head["invars"] = bind(jaxpr.invars)
        eqns = []
        for eqn in jaxpr.eqns:
            operands = [self.atom(x, numbers) for x in eqn.invars]
            own = {"primitive": eqn.primitive.name, "family": eqn.primitive.family, "in": operands}
            eqns.append(own | {"params": self.params(eqn), "out": bind(eqn.outvars)})
        return head | {"eqns": eqns, "outvars": [self.atom(x, numbers) for x in jaxpr.outvars]}

    def atom(self, x: Atom, numbers: dict[Var, int]) -> Data:
        """Return the number of a variable, or a literal with its type."""
        if type(x) is Literal:
            data = self._attempt("a literal", write_value, x.val, no_inner)
            return {"literal": data, "type": self._attempt("the type of a literal", write_type, x.aval)}
        return numbers[x]  # type: ignore[index]

    def params(self, eqn: JaxprEqn) -> Data:
        """Return the parameters of an equation by name."""
        place = resolve(eqn.position)
        of = f"of '{eqn.primitive.name}'{f' at {place}' if place else ''}"
        inner = partial(self.inner, eqn)
        return {
            name: self._attempt(f"the parameter {name!r} {of}", write_value, x, inner) for name, x in eqn.params.items()
        }

    def inner(self, eqn: JaxprEqn, x: Any) -> Data:
        """Return the reference to a program or to rules, or None for another value."""
        if type(x) is Jaxpr:
            return {"jaxpr": self.program(x)}
        if type(x) is CustomRules:
            return {"rules": self.rules_of(x, [v.aval for v in eqn.params["jaxpr"].invars])}
        return None

    def rules_of(self, rules: CustomRules, in_avals: Sequence[Any]) -> int:
        """Return the number of rules for operands of these types; they are stored later, as they may use themselves."""
        key = (rules.key, tuple(in_avals))
        if key not in self.numbers:
            after, closed = closed_rules(rules, in_avals)
            self.numbers[key] = len(self.rules)
            self.pending.append((len(self.rules), self.depth + 1, rules.name, after, closed))
            self.rules.append(None)
        return self.numbers[key]

    def write_pending(self) -> None:
        """Store the programs of rules, which may need further rules."""
        for number, depth, name, after, closed in self.pending:  # the list grows
            self.depth = depth
            self.rules[number] = self._attempt("a rule", write_rules, name, after, closed, self.program)
            if depth > DEEPEST_RULES:
                raise TypeError(
                    f"jaxpr_to_dict: the rules of {name} need other rules without end. Let a rule call the function "
                    "that it belongs to, not a new one each time."
                )

    def _attempt(self, place: str, write: Callable[..., Any], value: Any, *args: Any) -> Any:
        """Return `write(value, *args)`.  Raises: TypeError that names the place of a value that cannot be stored."""
        try:
            return write(value, *args)
        except UnwritableError as problem:
            advice = _ADVICE.get(type(value).__name__, "Store the program without it.")
            raise TypeError(f"jaxpr_to_dict: {place} is {problem}, which cannot be stored. {advice}") from None
