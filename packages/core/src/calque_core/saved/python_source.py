"""Programs as Python source: `to_python`.

One idea: a program is a function and an equation is a line, which calls the plain function of `lax` where the operands
are those of the primitive, and binds the primitive elsewhere.  A program inside it is a function of its own, which
`switch`, `scan` and `while_loop` trace.

Read next: `expressions.py`, for constants and parameters; `writing.py`, for a form that keeps all details.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from calque_core.frames.source import resolve
from calque_core.jaxprs.arguments import check_is_jaxpr
from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, has_jaxpr
from calque_core.jaxprs.walk import nested_jaxprs
from calque_core.saved.expressions import IMPORTS, Expressions
from calque_core.saved.values import UnwritableError
from calque_core.show.naming import fresh_names
from calque_core.sibling_names import NAMES
from calque_core.traces.tracer import Tracer

MOST_ELEMENTS = 100  # of a constant that the text shows; `consts` has larger ones
_TAKEN = frozenset((*keyword.kwlist, "np", "lax", "core", "consts", "carry", "x", "outs"))

# Functions of `lax` whose one equation is the primitive of their name, for operands of one type.
_PLAIN = frozenset((
    "neg", "abs", "sign", "sqrt", "rsqrt", "cbrt", "exp", "exp2", "expm1", "log", "log1p", "sin", "cos", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "logistic", "erf", "erfc", "floor", "ceil",
    "is_finite", "add", "sub", "mul", "div", "rem", "pow", "atan2", "eq", "ne", "lt", "le", "gt", "ge",
))  # fmt: skip


def to_python(jaxpr: Jaxpr) -> str:
    """Return a program as the text of a Python module, whose function `program` takes its arguments one by one.

    The function returns a tuple of results.  It calls functions and binds primitives of `calque_core.lax` and of the
    packages of families; `cond`, `scan`, `while` and `jit` call functions for the programs inside.  Constants stand in
    the text; of the outermost program, those with more than 100 elements are in the keyword argument `consts`, which
    gets `jaxpr.consts`.  A call of `jit` is a plain call.
    Raises: TypeError, by name, for values without a text: callbacks, functions with rules of their own and other
    equations that hold programs, static objects, traced values; for a function in place of a program.

    >>> import numpy as np
    >>> from calque_core import lax, make_jaxpr, to_python
    >>> print(to_python(make_jaxpr(lambda x: lax.sin(x) * 2.0)(np.ones(3))))
    from calque_core import lax
    <BLANKLINE>
    <BLANKLINE>
    def program(a):
        b = lax.sin(a)
        c = lax.mul(b, 2.0)
        return (c,)
    """
    check_is_jaxpr("to_python(jaxpr)", jaxpr)
    return _Module(jaxpr).text()


class _Module:
    """One text: its expressions, and the names of the functions that it defines."""

    def __init__(self, root: Jaxpr) -> None:
        self.root = root
        self.expressions = Expressions()
        self.functions: dict[int, str] = {}
        self.numbers: Iterator[int] = count()
        self.taken = _TAKEN

    def text(self) -> str:
        """Return the imports and the functions, inner programs first."""
        jaxprs = nested_jaxprs(self.root)
        self.numbers = count(len(jaxprs))
        families = {eqn.primitive.family for jaxpr in jaxprs for eqn in jaxpr.eqns}
        self.taken = _TAKEN | {family.partition(".")[0] for family in families}  # modules that the text may import
        for number, jaxpr in enumerate(jaxprs):
            self.functions[id(jaxpr)] = "program" if jaxpr is self.root else _identifier(jaxpr.debug_name, number)
        functions = ["\n".join(_Function(self, jaxpr).lines()) for jaxpr in jaxprs]
        modules = sorted(self.expressions.modules, key=lambda module: (module != "numpy", module))
        imports = "\n".join(IMPORTS.get(module, f"import {module}") for module in modules)
        return "\n\n\n".join([imports] * bool(modules) + functions) + "\n"

    def attempt(self, place: str, write: Callable[[Any], str], value: Any) -> str:
        """Return `write(value)`.  Raises: TypeError that names the place of a value that is no text."""
        try:
            return write(value)
        except UnwritableError as problem:
            raise TypeError(
                f"to_python: {place} is {problem}, which cannot be written as source. Write the program without it."
            ) from None


class _Function:
    """The source of one program: the names of its variables."""

    def __init__(self, module: _Module, jaxpr: Jaxpr) -> None:
        self.module, self.jaxpr = module, jaxpr
        self.expressions = module.expressions
        self.fresh = fresh_names(module.taken)
        self.names: dict[Var, str] = {}

    def lines(self) -> Iterator[str]:
        """Yield the lines of the function."""
        jaxpr = self.jaxpr
        arguments = [self.bind(v) for v in jaxpr.invars]
        large = [self._is_large(value) for value in jaxpr.consts]
        yield f"def {self.module.functions[id(jaxpr)]}({', '.join(arguments + ['*, consts'] * any(large))}):"
        for number, (v, value) in enumerate(zip(jaxpr.constvars, jaxpr.consts)):
            yield f"    {self.bind(v)} = {f'consts[{number}]' if large[number] else self._constant(value)}"
        for eqn in jaxpr.eqns:
            yield from (f"    {line}" for line in self._equation(eqn))
        yield f"    return {self.tuple(jaxpr.outvars)}"

    def bind(self, v: Var) -> str:
        """Return a new name for a variable."""
        self.names[v] = next(self.fresh)
        return self.names[v]

    def atom(self, x: Atom) -> str:
        """Return an operand or a result."""
        if type(x) is Literal:
            return self.module.attempt("a literal", self.expressions.value, x.val)
        return self.names[x]  # type: ignore[index]

    def list(self, atoms: Sequence[Atom]) -> str:
        """Return operands between commas."""
        return ", ".join(map(self.atom, atoms))

    def tuple(self, atoms: Sequence[Atom]) -> str:
        """Return a tuple of operands or results."""
        return _tuple([*map(self.atom, atoms)])

    def _is_large(self, value: Any) -> bool:
        return self.jaxpr is self.module.root and np.size(value) > MOST_ELEMENTS

    def _constant(self, value: Any) -> str:
        if isinstance(value, Tracer):
            raise TypeError("to_python: a constant is a traced value, which cannot be written. Pass it as an argument.")
        is_number = type(value) in (bool, int, float, complex) or isinstance(value, np.generic)
        return self.module.attempt("a constant", self.expressions.value, value if is_number else np.asarray(value))

    def _equation(self, eqn: JaxprEqn) -> Iterator[str]:
        """Yield the lines of an equation."""
        write = _WITH_PROGRAMS.get(eqn.primitive.name, _refuse) if has_jaxpr(eqn.params) else _operation
        lines = write(self, eqn)
        outs = [self.bind(v) for v in eqn.outvars]
        if not eqn.primitive.multiple_results:
            lines[-1] = f"{outs[0]} = {lines[-1]}"
        elif write is not _scan:
            lines[-1] = f"{_tuple(outs)} = {lines[-1]}"
        else:
            split = eqn.params["num_carry"]
            lines[-1] = f"{_tuple(outs[:split])}, {_tuple(outs[split:])} = {lines[-1]}"
        yield from lines

    def lax(self, name: str) -> str:
        """Return a name of `lax`."""
        return self.expressions.name("calque_core.lax", name)

    def program(self, jaxpr: Jaxpr) -> str:
        """Return the name of the function of a program inside this one."""
        return self.module.functions[id(jaxpr)]

    def params(self, eqn: JaxprEqn, names: Sequence[str]) -> str:
        """Return parameters as keyword arguments, each after a comma."""
        place = resolve(eqn.position)
        of = f"of '{eqn.primitive.name}'{f' at {place}' if place else ''}"
        write = self.expressions.value
        texts = [(name, self.module.attempt(f"the parameter {name!r} {of}", write, eqn.params[name])) for name in names]
        return "".join(f", {name}={text}" for name, text in texts)


def _tuple(texts: Sequence[str]) -> str:
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


def _identifier(name: str, number: int) -> str:
    """Return the name of an inner function, which no variable has."""
    stem = "".join(c for c in name if c.isascii() and (c.isalnum() or c == "_")).lstrip("0123456789") or "inner"
    return f"{stem}_{number}"


def _operation(f: _Function, eqn: JaxprEqn) -> list[str]:
    function = None if eqn.params else _plain_function(f, eqn)
    if function is not None:
        return [f"{function}({f.list(eqn.invars)})"]
    bound = f"{f.module.attempt('an operation', f.expressions.primitive, eqn.primitive)}.bind("
    return [f"{bound}{f'{f.list(eqn.invars)}{f.params(eqn, [*eqn.params])}'.removeprefix(', ')})"]


def _plain_function(f: _Function, eqn: JaxprEqn) -> str | None:
    """Return the function whose one equation is this one, or None; weak operands could add conversions."""
    name, package = eqn.primitive.name, eqn.primitive.family.partition(".")[0]
    variables = [x for x in eqn.invars if type(x) is Var]
    if not variables or any(getattr(v.aval, "weak_type", True) for v in variables):
        return None
    if package == "calque_core":
        return f.lax(name) if name in _PLAIN else None
    is_listed = name in NAMES.get(package, "").split()
    return f.expressions.name(package, name) if is_listed and f"{name}_p" not in NAMES[package].split() else None


def _refuse(f: _Function, eqn: JaxprEqn) -> list[str]:
    place = resolve(eqn.position)
    raise TypeError(
        f"to_python: the equation '{eqn.primitive.name}'{f' at {place}' if place else ''} holds a program, which "
        f"cannot be written as source. Only {', '.join(_WITH_PROGRAMS)} may hold programs; jaxpr_to_dict stores others."
    )


def _call(f: _Function, eqn: JaxprEqn) -> list[str]:
    return [f"{f.program(eqn.params['jaxpr'])}({f.list(eqn.invars)})"]


def _switch(f: _Function, eqn: JaxprEqn) -> list[str]:
    branches = ", ".join(map(f.program, eqn.params["branches"]))
    index, operands = f.atom(eqn.invars[0]), "".join(f", {f.atom(x)}" for x in eqn.invars[1:])
    return [f"{f.lax('switch')}({index}, [{branches}]{operands}{f.params(eqn, ['batched'])})"]


def _while(f: _Function, eqn: JaxprEqn) -> list[str]:
    cond_end = eqn.params["cond_nconsts"]
    body_end = cond_end + eqn.params["body_nconsts"]
    condition = f"{f.program(eqn.params['cond_jaxpr'])}({_before(f, eqn.invars[:cond_end])}*carry)[0]"
    body = f"{f.program(eqn.params['body_jaxpr'])}({_before(f, eqn.invars[cond_end:body_end])}*carry)"
    options = f.params(eqn, ["checkpoints", "batched"])
    carry = f.tuple(eqn.invars[body_end:])
    return [f"{f.lax('while_loop')}(lambda carry: {condition}, lambda carry: {body}, {carry}{options})"]


def _scan(f: _Function, eqn: JaxprEqn) -> list[str]:
    first, number = eqn.params["num_consts"], eqn.params["num_carry"]
    step = f"step_{next(f.module.numbers)}"
    outs = f"{f.program(eqn.params['jaxpr'])}({_before(f, eqn.invars[:first])}*carry, *x)"
    carry, xs = f.tuple(eqn.invars[first : first + number]), f.tuple(eqn.invars[first + number :])
    options = f.params(eqn, ["length", "reverse", "unroll"])
    return [
        f"def {step}(carry, x):",
        f"    outs = {outs}",
        f"    return outs[:{number}], outs[{number}:]",
        f"{f.lax('scan')}({step}, {carry}, {xs}{options})",
    ]


def _before(f: _Function, atoms: Sequence[Atom]) -> str:
    return "".join(f"{f.atom(x)}, " for x in atoms)


_WITH_PROGRAMS: dict[str, Callable[[_Function, JaxprEqn], list[str]]] = {
    "jit": _call,
    "cond": _switch,
    "while": _while,
    "scan": _scan,
}
