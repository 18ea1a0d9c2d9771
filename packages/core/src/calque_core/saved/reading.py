"""Programs from plain data: `jaxpr_from_dict`.

One idea: nothing that is read is run.  Each entry is checked where it stands, and an error names its path,
`jaxprs[2].eqns[3].params['axes']`; at the end, the type rules check each equation.

Read next: `writing.py`, which says what the entries are; `values.py`, for parameters and constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from calque_core.context import here
from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var
from calque_core.jaxprs.named_axes import axes_around
from calque_core.jaxprs.walk import nested_jaxprs
from calque_core.saved.named import find_primitive
from calque_core.saved.rules import Shell, check_rules, read_rule_program, read_shell
from calque_core.saved.values import Data, no_inner, read_type, read_value
from calque_core.saved.writing import FORMAT, VERSION
from calque_core.staging.check import Checker

_FIELDS = ("name", "types", "constvars", "consts", "invars", "eqns", "outvars")
_EQN_FIELDS = ("primitive", "family", "in", "params", "out")


def jaxpr_from_dict(data: Any) -> Any:
    """Return the program that `jaxpr_to_dict` has written.

    Nothing of the data is run as code.  A package of calque that declares a primitive of the program is imported, and
    so is another package that requires `calque-core`; any other module must have been imported before.
    Raises: ValueError for data that is damaged, of another version, or of a primitive that is unknown; it names the
    place, as in `jaxprs[0].eqns[3].params['axes']`.

    >>> from calque_core import jaxpr_from_dict, jaxpr_to_dict, lax, make_jaxpr
    >>> data = jaxpr_to_dict(make_jaxpr(lax.sin)(1.0))
    >>> data["jaxprs"][0]["eqns"][0] |= {"primitive": "sinus", "family": "sums"}
    >>> jaxpr_from_dict(data)
    Traceback (most recent call last):
    ...
    ValueError: jaxpr_from_dict: jaxprs[0].eqns[0]: the primitive 'sinus' of the module sums is unknown. Import sums ...
    """
    try:
        return Reader(data).read()
    except RecursionError:
        raise ValueError("jaxpr_from_dict: the data is nested too deeply. Read it from the file again.") from None


def attempt(path: str, read: Callable[..., Any], *args: Any) -> Any:
    """Return `read(*args)`.  Raises: ValueError that begins with the path."""
    try:
        return read(*args)
    except RecursionError:
        raise
    except Exception as error:
        if str(error).startswith("jaxpr_from_dict: "):
            raise
        raise ValueError(f"jaxpr_from_dict: {path}: {error or type(error).__name__}") from error


def fail(path: str, problem: str) -> ValueError:
    """Return the error about the data at a path."""
    return ValueError(f"jaxpr_from_dict: {path}: {problem}")


def list_at(data: Data, path: str) -> list[Data]:
    """Return data that must be a list."""
    if type(data) is not list:
        raise fail(path, "this is no list. Write one.")
    return data


def fields_at(data: Data, names: Sequence[str], path: str) -> dict[str, Data]:
    """Return data that must be a dict with these keys."""
    if type(data) is not dict or set(data) != set(names):
        raise fail(path, f"this is no dict with the keys {', '.join(names)}. Write each of them.")
    return data


def number_at(data: Data, size: int, path: str) -> int:
    """Return data that must be an integer from 0 to `size - 1`."""
    if type(data) is not int or not 0 <= data < size:
        raise fail(path, f"this is no number below {size}. Refer to an earlier entry.")
    return data


class Reader:
    """The tables of one program that is read."""

    def __init__(self, data: Data) -> None:
        if type(data) is not dict or data.get("format") != FORMAT:
            raise ValueError(
                f"jaxpr_from_dict: format: this is no dict of the format {FORMAT!r}. Pass a stored program."
            )
        if data.get("version") != VERSION or type(data["version"]) is not int:
            raise fail(
                "version", f"this release reads version {VERSION}. Read the program with the release that wrote it."
            )
        tables = ("jaxprs", "rules", "constants")
        self.data = fields_at(data, ("format", "version", "main", *tables), "the program")
        for name in tables:
            list_at(data[name], name)
        self.jaxprs: list[Jaxpr] = []
        self.shells: list[Shell] = []
        self.constants: list[Any] = []
        self.uses: list[tuple[str, Shell, Jaxpr]] = []

    def read(self) -> Jaxpr:
        """Return the program, after all checks."""
        for i, each in enumerate(self.data["constants"]):
            path = f"constants[{i}]"
            self.constants.append(attempt(path, read_value, each, no_inner))
        for i, each in enumerate(self.data["rules"]):
            self.shells.append(attempt(f"rules[{i}]", read_shell, each))
        for i, each in enumerate(self.data["jaxprs"]):
            self.jaxprs.append(self.jaxpr(fields_at(each, _FIELDS, f"jaxprs[{i}]"), f"jaxprs[{i}]"))
        main = self.jaxprs[number_at(self.data["main"], len(self.jaxprs), "main")]
        self.read_rules()
        self.check(main)
        return main

    def read_rules(self) -> None:
        """Give the rules their programs, and check that each fits its function."""
        for i, shell in enumerate(self.shells):
            for kind, each in shell.data["programs"].items():
                path = f"rules[{i}].programs[{kind!r}]"
                rule = attempt(path, read_rule_program, each, partial(self.program, path))
                shell.closed.programs[kind] = rule
        for path, shell, jaxpr in self.uses:
            attempt(path, check_rules, shell, jaxpr)

    def program(self, path: str, number: Data) -> Jaxpr:
        """Return the program of a number that has been read."""
        return self.jaxprs[number_at(number, len(self.jaxprs), path)]

    def inner(self, path: str, data: Data) -> Any:
        """Return the program or the rules that data refers to, or None for another value."""
        if "jaxpr" in data:
            return self.program(path, data["jaxpr"])
        if "rules" in data:
            return self.shells[number_at(data["rules"], len(self.shells), path)].rules
        return None

    def jaxpr(self, data: Data, path: str) -> Jaxpr:
        """Return one program; programs inside it have been read."""
        if type(data["name"]) is not str:
            raise fail(f"{path}.name", "this is no string. Write the name of the function.")
        types = list_at(data["types"], f"{path}.types")
        avals = [attempt(f"{path}.types[{i}]", read_type, text) for i, text in enumerate(types)]
        scope = Variables([*map(Var, avals)])
        constvars = scope.bind(data["constvars"], f"{path}.constvars")
        numbers = list_at(data["consts"], f"{path}.consts")
        consts = [self.constants[number_at(n, len(self.constants), f"{path}.consts")] for n in numbers]
        if len(consts) != len(constvars):
            raise fail(f"{path}.consts", f"there are {len(consts)} constants and {len(constvars)} variables for them.")
        invars = scope.bind(data["invars"], f"{path}.invars")
        eqns = [
            self.eqn(fields_at(each, _EQN_FIELDS, f"{path}.eqns[{i}]"), scope, f"{path}.eqns[{i}]")
            for i, each in enumerate(list_at(data["eqns"], f"{path}.eqns"))
        ]
        outvars = scope.atoms(data["outvars"], f"{path}.outvars")
        return Jaxpr(constvars, invars, eqns, outvars, consts, debug_name=data["name"])

    def eqn(self, data: Data, scope: Variables, path: str) -> JaxprEqn:
        """Return one equation."""
        primitive = attempt(path, find_primitive, data["primitive"], data["family"])
        operands = scope.atoms(data["in"], f"{path}.in")
        if type(data["params"]) is not dict or not all(type(name) is str for name in data["params"]):
            raise fail(f"{path}.params", "this is no dict of parameters by name. Write one.")
        params = {name: self.param(x, f"{path}.params[{name!r}]") for name, x in data["params"].items()}
        if "rules" in params:
            self.note_rules(data["params"]["rules"], params, path)
        return JaxprEqn(primitive, operands, scope.bind(data["out"], f"{path}.out"), params)

    def param(self, data: Data, path: str) -> Any:
        """Return a parameter."""
        return attempt(path, read_value, data, partial(self.inner, path))

    def note_rules(self, data: Data, params: dict[str, Any], path: str) -> None:
        """Keep a call of a function with rules, to check it when the rules have their programs."""
        if type(data) is not dict or type(data.get("rules")) is not int or type(params.get("jaxpr")) is not Jaxpr:
            raise fail(f"{path}.params['rules']", "these are no rules of a function. Refer to rules.")
        self.uses.append((f"{path}.params['rules']", self.shells[data["rules"]], params["jaxpr"]))

    def check(self, main: Jaxpr) -> None:
        """Check the program, and the programs of rules, by the type rules of their primitives."""
        for root in (main, *(rule.jaxpr for shell in self.shells for rule in shell.closed.programs.values())):
            path = f"jaxprs[{self._index(root)}]"
            axes = attempt(path, axes_around, root)
            for jaxpr in nested_jaxprs(root):
                self._check_one(root, jaxpr, axes[id(jaxpr)])
            attempt(path, getattr, root, "effects")

    def _check_one(self, root: Jaxpr, jaxpr: Jaxpr, axes: Any) -> None:
        checker, context = Checker(root, jaxpr), here()
        names = (*context.axis_env, *axes.axis_env), context.varying_axes | axes.varying_axes
        try:
            checker.check(*names)
        except RecursionError:
            raise
        except Exception as error:
            raise fail(f"jaxprs[{self._index(jaxpr)}]{_eqn_path(jaxpr, checker.eqn)}", str(error)) from error

    def _index(self, jaxpr: Jaxpr) -> int:
        return next(i for i, x in enumerate(self.jaxprs) if x is jaxpr)


def _eqn_path(jaxpr: Jaxpr, eqn: JaxprEqn | None) -> str:
    return "" if eqn is None else f".eqns[{jaxpr.eqns.index(eqn)}]"


class Variables:
    """The variables of one program by number, and which of them are bound."""

    def __init__(self, variables: list[Var]) -> None:
        self.variables = variables
        self.bound: set[int] = set()

    def bind(self, data: Data, path: str) -> list[Var]:
        """Return variables that are bound here."""
        numbers = [number_at(n, len(self.variables), path) for n in list_at(data, path)]
        for n in numbers:
            if n in self.bound:
                raise fail(path, f"the variable {n} is bound twice. Use a new number for each result.")
            self.bound.add(n)
        return [self.variables[n] for n in numbers]

    def atoms(self, data: Data, path: str) -> list[Atom]:
        """Return operands: bound variables and literals."""
        return [self.atom(each, f"{path}[{i}]") for i, each in enumerate(list_at(data, path))]

    def atom(self, data: Data, path: str) -> Atom:
        """Return one operand."""
        if type(data) is dict:
            return self.literal(fields_at(data, ("literal", "type"), path), path)
        number = number_at(data, len(self.variables), path)
        if number not in self.bound:
            raise fail(path, f"the variable {number} is not bound. Bind it by an argument or an earlier equation.")
        return self.variables[number]

    def literal(self, data: Data, path: str) -> Literal:
        """Return a literal whose value has the type."""
        aval = attempt(f"{path}.type", read_type, data["type"])
        value = attempt(f"{path}.literal", read_value, data["literal"], no_inner)
        if type(value) not in (bool, int, float, complex) and not isinstance(value, np.generic):
            raise fail(f"{path}.literal", "this is no number. Write a number or a scalar.")
        if aval.shape or (isinstance(value, np.generic) and value.dtype != aval.dtype):
            raise fail(f"{path}.type", f"{aval} is not the type of the literal. Write the scalar's own type.")
        return Literal(value, aval)
