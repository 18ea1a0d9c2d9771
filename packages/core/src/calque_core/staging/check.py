"""Checking that a jaxpr is well formed: closed, every variable bound once, typed by the rules of its primitives.

One idea: the type rule runs again for every equation, and its types must equal the declared types; for an evaluated
operation, the types of the values.  The comparison ignores weak types: they belong to Python scalars, and change no
result.

Tests and `enable_checks` run this; production does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from calque_core.calls.api_util import describe_value
from calque_core.context import DEFAULT_SETTINGS, AxisEnv, AxisNames, entered, here
from calque_core.epoch import rule_epoch
from calque_core.errors import JaxprTypeError
from calque_core.frames.source import describe_function, where
from calque_core.jaxprs.arguments import check_is_jaxpr
from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var
from calque_core.jaxprs.named_axes import axes_around
from calque_core.jaxprs.walk import nested_jaxprs
from calque_core.show.naming import Options
from calque_core.show.printing import Printer
from calque_core.show.printing_autodidax import long_type
from calque_core.types.avals import NO_AXES, ShapedArray, is_array_like, typeof


class JaxprType(NamedTuple):
    """The types of the constants and arguments of a program, and of its results.

    >>> from calque_core import JaxprType, ShapedArray
    >>> JaxprType((ShapedArray((), "float64"),), (ShapedArray((2,), "int32"),))
    (float64[]) -> (int32[2])
    """

    in_types: tuple[Any, ...]
    out_types: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"({', '.join(map(long_type, self.in_types))}) -> ({', '.join(map(long_type, self.out_types))})"


def check_jaxpr(jaxpr: Jaxpr) -> JaxprType:
    """Check a jaxpr and its inner jaxprs; return its type.

    Raises: JaxprTypeError if a variable is unbound or bound twice, or if the type of a constant, an operand or a result
    is not the declared one; with the variable and the equation as `jaxpr` prints them, and the user's line; TypeError
    for a function in place of a jaxpr.

    >>> from calque_core import ShapedArray, check_jaxpr, stage
    >>> from calque_core.lax import sin
    >>> check_jaxpr(stage(lambda x: [sin(x)], [ShapedArray((3,), "float64")]))
    (float64[3]) -> (float64[3])
    """
    check_is_jaxpr("check_jaxpr(jaxpr)", jaxpr)
    axes, context = axes_around(jaxpr), here()
    for inner in nested_jaxprs(jaxpr):
        axis_env = (*context.axis_env, *axes[id(inner)].axis_env)
        varying_axes = context.varying_axes | axes[id(inner)].varying_axes
        check = partial(Checker(jaxpr, inner).check, axis_env, varying_axes)
        inner.memo(("checked", axis_env, varying_axes, rule_epoch()), check)
    return JaxprType((*(v.aval for v in jaxpr.constvars), *jaxpr.in_avals), tuple(jaxpr.out_avals))


class Checker:
    """The state while one jaxpr, somewhere inside `root`, is checked."""

    def __init__(self, root: Jaxpr, jaxpr: Jaxpr) -> None:
        self.root, self.jaxpr = root, jaxpr
        self.bound: set[Var] = set()
        self.eqn: JaxprEqn | None = None

    def check(self, axis_env: AxisEnv, varying_axes: AxisNames) -> bool:
        """Check all but the inner jaxprs, under the default settings, so that a value keeps its dtype."""
        with entered(settings=DEFAULT_SETTINGS, axis_env=axis_env, varying_axes=varying_axes):
            self.check_all()
        return True

    def check_all(self) -> None:
        """Check constants, equations and results, in order."""
        self.bind((*self.jaxpr.constvars, *self.jaxpr.invars))
        for v, value in zip(self.jaxpr.constvars, self.jaxpr.consts):
            self.check_value(v, value)
        for eqn in self.jaxpr.eqns:
            self.eqn = eqn
            self.check_operands(eqn.invars)
            self.check_results(eqn)
            self.bind(eqn.outvars)
        self.eqn = None
        self.check_operands(self.jaxpr.outvars)

    def bind(self, outvars: Sequence[Var]) -> None:
        """Record that these variables are bound."""
        for v in outvars:
            if v in self.bound:
                raise self.error(f"the variable {self.name(v)} is bound twice", "Make a new Var for each result")
            self.bound.add(v)

    def check_operands(self, atoms: Sequence[Atom]) -> None:
        """Check that variables are bound, and that literals have their declared types."""
        for x in atoms:
            if type(x) is Literal:
                if isinstance(x.val, np.generic):
                    self.check_value(x, x.val)
            elif x not in self.bound:
                advice = "Bind it by an argument, a constant or an earlier equation"
                raise self.error(f"unbound variable {self.name(x)}", advice)

    def check_value(self, x: Atom, value: Any) -> None:
        """Check the value of a constant or a literal against its declared type."""
        value_type = typeof(value)
        if _strong(value_type) != _strong(x.aval):
            atom = f"the {'literal' if type(x) is Literal else 'constant'} {self.name(x)}"
            problem = f"{atom} is declared {x.aval}, but its value is {value_type}"
            raise self.error(problem, "Convert the value, or declare its type")

    def check_results(self, eqn: JaxprEqn) -> None:
        """Check the declared types of the results against the primitive's type rule."""
        name, rule = eqn.primitive.name, eqn.primitive.abstract
        if rule is None:
            raise self.error(f"'{name}' has no type rule", f"Define one with {name}_p.def_abstract_eval(fn)")
        try:
            avals = rule(*[x.aval for x in eqn.invars], **eqn.params)
        except Exception as refusal:
            problem = f"the type rule of '{name}' refuses the operands: {str(refusal).rstrip('.')}"
            raise self.error(problem, "Pass operands that the rule accepts") from refusal
        declared = [v.aval for v in eqn.outvars]
        if [_strong(a) for a in avals] != [_strong(a) for a in declared]:
            declared_types, rule_types = (", ".join(map(str, types)) for types in (declared, avals))
            problem = f"the results are declared ({declared_types}), but the type rule of '{name}' gives ({rule_types})"
            raise self.error(problem, "Declare the types that the rule gives")

    def name(self, x: Atom) -> str:
        """Return the printed form of a variable or a literal."""
        return Printer(self.root, Options()).scope(self.jaxpr).atom(x)

    def error(self, problem: str, advice: str) -> JaxprTypeError:
        """Return the error, with the equation and its place."""
        place = ""
        if self.eqn is not None:
            info = self.eqn.source_info
            text = Printer(self.root, Options()).equation(self.jaxpr, self.eqn)
            place = f" in `{text}`" + (f", from {info}" if info else "")
        return JaxprTypeError(f"{problem}{place}. {advice}.")


def check_evaluation(primitive: Any, args: Sequence[Any], params: dict[str, Any], outs: Any) -> None:
    """Check that the results of an evaluated operation have the types of its type rule, while `enable_checks` is on.

    Raises: TypeError that names the primitive and both rules; the error of the type rule, if it refuses the operands.
    """
    if not here().settings.enable_checks or primitive.abstract is None:
        return
    try:
        avals = primitive.abstract(*map(typeof, args), **params)
    except Exception as refusal:
        refusal.add_note(f"{_rule(primitive, 'abstract_eval')} refuses operands that the evaluation accepts.")
        raise
    types = [_own_type(x) for x in outs] if isinstance(outs, (list, tuple)) else None
    if types is None or list(map(_of_value, types)) != list(map(_of_value, avals)):
        pairs = [(outs, None)] if types is None else zip(outs, types)
        results = ", ".join(str(aval or describe_value(x)) for x, aval in pairs) or "nothing"
        raise TypeError(
            f"{_rule(primitive, 'impl')} gave {results}{where()}, but {_rule(primitive, 'abstract_eval')} says "
            f"{', '.join(map(str, avals)) or 'nothing'}. Correct one of the two."
        )


def _rule(primitive: Any, kind: str) -> str:
    """Return 'the evaluation of 'twice' (twice_impl at train.py:12)', for messages."""
    name = {"impl": "evaluation", "abstract_eval": "type rule"}[kind]
    function = primitive.rules.get(kind)
    return f"the {name} of '{primitive.name}'" + (f" ({describe_function(function)})" if function is not None else "")


def _own_type(x: Any) -> Any:
    """Return the strong type of a result, with its own dtype even under narrowing settings; None if it is no array."""
    if not is_array_like(x):
        return None
    if type(x) in (bool, int, float, complex):
        return _strong(typeof(x))
    with entered(settings=DEFAULT_SETTINGS):
        return _strong(typeof(x))


def _of_value(aval: Any) -> Any:
    """Return the strong type of a value: the mesh axes along which a shard may vary are known to programs alone."""
    return _strong(aval).varying(NO_AXES) if type(aval) is ShapedArray else aval


def _strong(aval: Any) -> Any:
    return aval.strip_weak_type() if type(aval) is ShapedArray else aval
