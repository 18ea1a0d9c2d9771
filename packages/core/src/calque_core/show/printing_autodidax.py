"""Printing jaxprs in the style of the tutorial 'Autodidax': long dtype names, new variable names in each program.

The default style is in `printing.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from calque_core.jaxprs.jaxpr import Jaxpr, JaxprEqn, Var, has_jaxpr, jaxprs_in_params
from calque_core.show.layout import Row
from calque_core.show.naming import Options, Scope, effects_text, fresh_names, param_text, shown_params


def long_type(aval: Any) -> str:
    """Return a type with the full name of its dtype, without the mark of weak types.

    >>> from calque_core.types.avals import ShapedArray
    >>> long_type(ShapedArray((2,), "float32"))
    'float32[2]'
    """
    return str(aval).removeprefix("~")


def autodidax_rows(jaxpr: Jaxpr, options: Options, indent: int = 0) -> Iterator[Any]:
    """Yield the rows of `jaxpr`, and generators of rows for the jaxprs inside it."""
    scope = Scope(jaxpr, fresh_names(), options, drops=False)
    binders = " ".join(_binder(v, scope) for v in (*jaxpr.constvars, *jaxpr.invars))
    yield Row(indent, f"{{ lambda {binders} .")
    if not jaxpr.eqns:
        yield Row(indent + 2, "let ")
    for number, eqn in enumerate(jaxpr.eqns):
        text = _equation(eqn, scope)
        yield Row(indent + 6, text, eqn.position) if number else Row(indent + 2, f"let {text}", eqn.position)
        for inner in jaxprs_in_params(dict(shown_params(eqn))):
            yield autodidax_rows(inner, options, indent + 8)
    outs = ", ".join(map(scope.atom, jaxpr.outvars))
    yield Row(indent + 2, f"in ( {outs} ){effects_text(jaxpr) if options.print_effects else ''} }}")


def _binder(v: Var, scope: Scope) -> str:
    return f"{scope.atom(v)}:{long_type(v.aval)}" if scope.options.print_shapes else scope.atom(v)


def _equation(eqn: JaxprEqn, scope: Scope) -> str:
    """Return an equation without the jaxprs among its parameters, which are printed below it."""
    results = " ".join(_binder(v, scope) for v in eqn.outvars)
    plain = [(name, value) for name, value in shown_params(eqn) if not has_jaxpr({name: value})]
    texts = " ".join(f"{name}={param_text(value)}" for name, value in plain)
    return f"{results} = {eqn.primitive.name}{f' [ {texts} ]' if texts else ''}{scope.operands(eqn)}"
