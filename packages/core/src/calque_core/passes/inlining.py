"""Inlining nested programs: the equations of every `jit` replace the equation that holds them.

One idea: the equations are written to one list, in the order in which they run.  A call is entered and left as a
function call is, so each equation of the result is written once, however deeply its calls are nested.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from calque_core.jaxprs.arguments import check_is_jaxpr
from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params, new_jaxpr_eqn
from calque_core.jaxprs.walk import nested_jaxprs, replace_jaxprs
from calque_core.primitives.conversion import convert_element_type_p
from calque_core.primitives.jit import jit_p
from calque_core.types.avals import ShapedArray


def inline_calls(jaxpr: Jaxpr) -> Jaxpr:
    """Return `jaxpr` with every `jit`, at any depth and in branches too, replaced by the equations inside it.

    The result computes the same, as one program, without the compilers of the `jit`s.
    Raises: TypeError for a function in place of a jaxpr.

    >>> from calque_core import ShapedArray, inline_calls, stage
    >>> from calque_core.lax import jit_p, sin
    >>> inner = stage(lambda x: [sin(x)], [ShapedArray((), "float64")])
    >>> outer = stage(lambda x: jit_p.bind(x, jaxpr=inner, name="f", compiler=None), inner.in_avals)
    >>> inline_calls(outer)
    { lambda ; a:f64[]. let b:f64[] = sin a in (b,) }
    """
    check_is_jaxpr("inline_calls(jaxpr)", jaxpr)
    programs = nested_jaxprs(jaxpr)
    holders = [eqn for program in programs for eqn in program.eqns if eqn.primitive is not jit_p]
    bodies = {id(body) for eqn in holders for body in jaxprs_in_params(eqn.params)}
    inlined: dict[int, Jaxpr] = {}
    for program in programs:  # the body of a loop or a branch comes before the programs that hold it
        if program is jaxpr or id(program) in bodies:
            inlined[id(program)] = _inlined(program, inlined)
    return inlined[id(jaxpr)]


class _Call(NamedTuple):
    """A program while its equations are written: the atoms for its variables, and the results of the call."""

    jaxpr: Jaxpr
    outvars: Sequence[Var]
    atoms: dict[Any, Atom]
    remaining: Iterator[JaxprEqn]


def _inlined(jaxpr: Jaxpr, inlined: dict[int, Jaxpr]) -> Jaxpr:
    """Return `jaxpr` without calls; `inlined` holds the new bodies of its loops and branches."""
    if not any(eqn.primitive is jit_p or replace_jaxprs(eqn, inlined) is not eqn for eqn in jaxpr.eqns):
        return jaxpr
    consts = dict(zip(jaxpr.constvars, jaxpr.consts))
    constvars: dict[int, list[Var]] = {}
    eqns: list[JaxprEqn] = []
    calls = [_Call(jaxpr, (), {}, iter(jaxpr.eqns))]
    while calls:
        call = calls[-1]
        for eqn in call.remaining:
            operands = [call.atoms.get(v, v) for v in eqn.invars]
            if eqn.primitive is jit_p:
                inner: Jaxpr = eqn.params["jaxpr"]
                inner_consts = constvars.setdefault(id(inner), [Var(v.aval) for v in inner.constvars])
                consts.update(zip(inner_consts, inner.consts))
                atoms: dict[Any, Atom] = dict(zip((*inner.constvars, *inner.invars), (*inner_consts, *operands)))
                calls.append(_Call(inner, eqn.outvars, atoms, iter(inner.eqns)))
                break
            outvars = [Var(v.aval) for v in eqn.outvars]
            eqns.append(replace_jaxprs(eqn, inlined).replace(invars=operands, outvars=outvars))
            call.atoms.update(zip(eqn.outvars, outvars))
        else:
            calls.pop()
            outs = [call.atoms.get(v, v) for v in call.jaxpr.outvars]
            if calls:
                calls[-1].atoms.update(zip(call.outvars, [_result(x, v, eqns) for x, v in zip(outs, call.outvars)]))
    return jaxpr.replace(constvars=list(consts), consts=list(consts.values()), eqns=eqns, outvars=outs)


def _result(atom: Atom, outvar: Var, eqns: list[JaxprEqn]) -> Atom:
    """Return the atom for a result of a call; a weak one becomes strong if the call's result is strong."""
    aval = outvar.aval
    if type(aval) is not ShapedArray or not atom.aval.weak_type or aval.weak_type:
        return atom
    if type(atom) is Literal:
        return Literal(aval.dtype.type(atom.val), aval)
    strong = Var(aval)
    eqns.append(new_jaxpr_eqn([atom], [strong], convert_element_type_p, {"new_dtype": aval.dtype, "weak_type": False}))
    return strong
