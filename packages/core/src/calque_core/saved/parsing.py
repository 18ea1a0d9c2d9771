"""Programs from the text that `print` shows: `parse_jaxpr`.

One idea: the text is read from left to right, once.  An equation ends at a semicolon, or where the next one begins; a
literal, whose type the text lacks, gets the first type that the rule of its primitive accepts.

Read next: `words.py`, for parameters; `literals.py`, for types; `show/printing.py`, which writes the text.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Var
from calque_core.jaxprs.named_axes import axes_around
from calque_core.jaxprs.walk import nested_jaxprs
from calque_core.ops.calls.while_loop import CHECKPOINTS
from calque_core.saved.literals import Number, default_literal, typed_operands
from calque_core.saved.named import find_primitive
from calque_core.saved.values import read_type
from calque_core.saved.words import parameter
from calque_core.staging.check import Checker
from calque_core.types.dtypes import SHORT_DTYPES, short_name

_BINDER = re.compile(r"([a-z]+|_):([a-z]\w*)(\[[\d,]*\](?:\{V:[^{}]*\})?)")
_NAME = re.compile(r"(?!in\b|nan\b|inf\b)[a-z]+(?![\w.])")
_LITERAL = re.compile(
    r"(?:True|False|\([-+.\w]+[-+][-+.\w]*j\)|[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)j?)(?![\w.(\[])"
)
_LITERAL_TYPE = re.compile(r":([a-z]\w*)(\[\](?:\{V:[^{}]*\})?)")
_KEY = re.compile(r"(\w+)=")
_END_OF_VALUE = re.compile(r"\s*\]|\s+\w+=(?!=)")
_NUMPY = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32")
_DTYPES = {short_name(np.dtype(name)): name for name in (*_NUMPY, "float64", "complex64", "complex128")} | {
    row.printed: name for name, row in SHORT_DTYPES.items()
}

# Parameters that are not printed where they have their usual value.
_HIDDEN: dict[str, dict[str, Any]] = {
    "jit": {"compiler": None},
    "xla_pmap": {"compiler": None, "devices": None},
    "cond": {"batched": "select"},
    "remat": {"policy": None, "prevent_cse": True, "differentiated": False},
    "while": {"checkpoints": CHECKPOINTS},
    "dot_general": {"precision": None},
    "conv_general_dilated": {"precision": None},
    "custom_linear_solve": {"vecmat": None, "transpose_solve": None},
}
_UNREADABLE = {
    **dict.fromkeys(("custom_jvp_call", "custom_vjp_call", "custom_vmap_call", "custom_vjp_linear"), "rules"),
    **dict.fromkeys(("pure_callback", "io_callback", "debug_callback"), "Python functions"),
    "ffi_call": "the types of results",
    "call_exported": "the bytes of the function",
}


def parse_jaxpr(text: str) -> Any:
    """Return the program that a text describes, as `str` gives it.

    The text says neither which types are weak nor the types of literals: types are strong, and a literal gets the first
    type that the rule of its primitive accepts.  Calls of `jit` have no compiler of their own.
    Raises: ValueError, with line and column, for a text that is no program; for a program with constants, callbacks
    or functions with rules, which the text lacks: `jaxpr_to_dict` stores these.

    >>> from calque_core import parse_jaxpr
    >>> parse_jaxpr("{ lambda ; a:f32[3]. let b:f32[3] = sin a; c:f32[3] = mul b 2.0 in (c,) }")
    { lambda ; a:f32[3]. let b:f32[3] = sin a; c:f32[3] = mul b 2.0 in (c,) }
    """
    if type(text) is not str:
        raise ValueError(f"parse_jaxpr: a value of type {type(text).__name__} is no text. Pass str(jaxpr).")
    parser = Parser(text)
    try:
        return parser.read()
    except RecursionError:
        raise parser.error("programs are nested too deeply. Use jaxpr_to_dict for such a program") from None


class Parser:
    """A text, how much of it has been read, and the programs that it names."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0
        self.shared: dict[str, Jaxpr] = {}
        self.places: dict[JaxprEqn, int] = {}

    def read(self) -> Jaxpr:
        """Return the program, after all checks."""
        while (match := self.take(re.compile(r"let\s+(\w+)\s*=\s*(?=\{)"))) is not None:
            self.shared[match[1]] = self.program().replace(debug_name=match[1])  # so that it prints by this name
            self.expect("in")
        main = self.program()
        if self.take(re.compile(r"\Z")) is None:
            raise self.error("the program has ended, and text follows. Remove it")
        self.check(main)
        return main

    # Places

    def error(self, problem: str, place: int | None = None) -> ValueError:
        """Return the error about a place, with its line and column."""
        place = self.place if place is None else place
        before = self.text[:place]
        line, column = before.count("\n") + 1, place - before.rfind("\n")
        return ValueError(f"parse_jaxpr: line {line}, column {column}: {problem.rstrip('.')}.")

    def skip(self) -> bool:
        """Pass white space; tell whether a line has ended."""
        start = self.place
        while self.place < len(self.text) and self.text[self.place].isspace():
            self.place += 1
        return "\n" in self.text[start : self.place]

    def take(self, pattern: re.Pattern[str]) -> Any:
        """Return the match of a pattern at this place, behind white space, or None."""
        self.skip()
        match = pattern.match(self.text, self.place)
        if match is not None:
            self.place = match.end()
        return match

    def is_at(self, text: str) -> bool:
        """Tell whether a text comes next."""
        self.skip()
        return self.text.startswith(text, self.place)

    def expect(self, text: str) -> None:
        """Pass a text.  Raises: ValueError if another one comes."""
        if not self.is_at(text):
            raise self.error(f"{text!r} is missing here. Write the program as `print` shows it")
        self.place += len(text)

    def column(self) -> int:
        """Return the column of this place."""
        return self.place - self.text.rfind("\n", 0, self.place)

    # Programs

    def program(self) -> Jaxpr:
        """Return the program at this place."""
        self.expect("{")
        self.expect("lambda")
        scope: dict[str, Var] = {}
        if self.binders(scope):
            raise self.error("the text lacks the values of constants. Use jaxpr_to_dict for such a program")
        self.expect(";")
        invars = self.binders(scope)
        self.expect(".")
        self.expect("let")
        eqns = []
        while self.take(re.compile(r"in\b")) is None:
            eqns.append(self.eqn(scope))
        outvars = self.results(scope)
        self.take(re.compile(r":\s*\{[^{}]*\}"))  # the effects
        self.expect("}")
        return Jaxpr((), invars, eqns, outvars)

    def binders(self, scope: dict[str, Var]) -> list[Var]:
        """Return the variables that are bound here."""
        variables = []
        while (match := self.take(_BINDER)) is not None:
            name, dtype, shape = match.groups()
            if name in scope:
                raise self.error(f"the variable {name} is bound twice. Use another name", match.start())
            variables.append(Var(self.type(dtype, shape, match.start(2))))
            if name != "_":
                scope[name] = variables[-1]
        return variables

    def type(self, dtype: str, shape: str, place: int) -> Any:
        """Return a type in its short form."""
        try:
            return read_type(_DTYPES.get(dtype, dtype if dtype == "float0" else "?") + shape)
        except ValueError:
            raise self.error(f"{dtype}{shape} is no type. Write a type like f32[2,3]", place) from None

    def results(self, scope: dict[str, Var]) -> list[Atom]:
        """Return the results of a program."""
        self.expect("(")
        atoms: list[Atom] = []
        while not self.is_at(")"):
            x = self.atom(scope)
            atoms.append(default_literal(x) if type(x) is Number else x)
            if not self.is_at(")"):
                self.expect(",")
        self.expect(")")
        return atoms

    def atom(self, scope: dict[str, Var]) -> Any:
        """Return a variable, a literal, or a number whose type is unknown."""
        match = self.take(_LITERAL)
        if match is not None:
            typed = _LITERAL_TYPE.match(self.text, self.place)
            if typed is None:
                return Number(match[0])
            self.place = typed.end()
            return Number(match[0]).literal(self.type(typed[1], typed[2], typed.start()))
        match = self.take(_NAME)
        if match is None:
            raise self.error("a variable or a number is missing here. Write the program as `print` shows it")
        if match[0] not in scope:
            raise self.error(f"the variable {match[0]} is not bound. Bind it before its use", match.start())
        return scope[match[0]]

    # Equations

    def eqn(self, scope: dict[str, Var]) -> JaxprEqn:
        """Return the equation at this place."""
        self.skip()
        start, column = self.place, self.column()
        own: dict[str, Var] = dict(scope)
        outvars = self.binders(own)
        if outvars:
            self.expect("=")
        match = self.take(re.compile(r"[^\s\[\](){};,=]+"))
        if match is None:
            raise self.error("the name of an operation is missing here. Write the program as `print` shows it")
        params: dict[str, Any] = {}
        try:
            primitive = find_primitive(match[0])
            _check_is_whole(match[0])
            if self.text.startswith("[", self.place):
                self.place += 1
                params = _HIDDEN.get(match[0], {}) | self.params()
            operands = self.operands(scope, column)
            atoms = typed_operands(primitive, operands, params, [v.aval for v in outvars])
        except ValueError as error:
            raise error if str(error).startswith("parse_jaxpr: ") else self.error(str(error), start) from error
        scope.update(own)
        eqn = JaxprEqn(primitive, atoms, outvars, params)
        self.places[eqn] = start
        return eqn

    def operands(self, scope: dict[str, Var], column: int) -> list[Any]:
        """Return the operands of an equation that begins in a column, until the next one."""
        atoms: list[Any] = []
        while True:
            ended = self.skip() and self.column() == column
            if self.take(re.compile(r";")) or ended or re.compile(r"in\b").match(self.text, self.place):
                return atoms
            if _BINDER.match(self.text, self.place):
                return atoms
            atoms.append(self.atom(scope))

    def params(self) -> dict[str, Any]:
        """Return the parameters of an equation, until the bracket."""
        params: dict[str, Any] = {}
        while not self.is_at("]"):
            match = self.take(_KEY)
            if match is None or match[1] in params:
                raise self.error("the name of a parameter is missing here, or stands twice. Write `name=value`")
            params[match[1]] = self.param(match[1])
        self.place += 1
        return params

    def param(self, name: str) -> Any:
        """Return the value of a parameter: a program, a tuple of programs, or another value."""
        if self.is_at("{ lambda") or self.is_at("{lambda"):
            return self.program()
        if self.take(re.compile(r"\((?=\s*\{ ?lambda)")) or self.take_shared():
            return self.programs()
        start = self.place
        text = self.raw()
        if text in self.shared and name != "name":
            return self.shared[text]
        try:
            return parameter(name, text)
        except ValueError as error:
            raise self.error(f"the parameter {name}: {error}", start) from error

    def take_shared(self) -> Any:
        """Pass the parenthesis of a tuple that begins with a program by its name."""
        names = "|".join(map(re.escape, sorted(self.shared, key=len, reverse=True)))
        return self.take(re.compile(rf"\((?=\s*(?:{names})[\s)])")) if names else None

    def programs(self) -> tuple[Any, ...]:
        """Return a tuple of programs, until the parenthesis."""
        programs: list[Any] = []
        while self.take(re.compile(r"\)")) is None:
            match = None if self.is_at("{") else self.take(re.compile(r"[^\s()]+"))
            if match is None:
                programs.append(self.program())
            else:
                word = match[0]
                programs.append(self.shared[word] if word in self.shared else parameter("", word))
        return tuple(programs)

    def raw(self) -> str:
        """Return the text of a parameter, until the next one or the bracket of the equation."""
        start, depth, quote = self.place, 0, ""
        while self.place < len(self.text):
            char = self.text[self.place]
            if quote:
                quote = "" if char == quote and self.text[self.place - 1] != "\\" else quote
            elif depth == 0 and _END_OF_VALUE.match(self.text, self.place):
                return re.sub(r"\s*\n\s*", " ", self.text[start : self.place].strip())
            elif char in "'\"" and self.text[self.place - 1] in "([{ ,=":
                quote = char
            else:
                depth += (char in "([{") - (char in ")]}")
            self.place += 1
        raise self.error("the parameters of the equation do not end. Close the bracket", start)

    def check(self, main: Jaxpr) -> None:
        """Check every equation by the type rule of its primitive.  Raises: ValueError."""
        checker = None
        try:
            axes = axes_around(main)
            for jaxpr in nested_jaxprs(main):
                checker = Checker(main, jaxpr)
                checker.check(axes[id(jaxpr)].axis_env, axes[id(jaxpr)].varying_axes)
        except RecursionError:
            raise
        except Exception as error:
            eqn = None if checker is None else checker.eqn
            raise self.error(str(error), 0 if eqn is None else self.places[eqn]) from error


def _check_is_whole(name: str) -> None:
    """Check that the text of an equation has all of its parameters.  Raises: ValueError."""
    if name in _UNREADABLE:
        raise ValueError(f"the text of '{name}' lacks {_UNREADABLE[name]}. Use jaxpr_to_dict.")
