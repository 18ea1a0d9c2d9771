"""Inlining nested programs: the equations of every `jit` replace the equation that holds them.

One idea: inner jaxprs are inlined before their holders, so the equations that replace a call hold no call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, new_jaxpr_eqn
from calque_core.jaxprs.walk import rebuild
from calque_core.ops.jit import jit_p
from calque_core.primitives.conversion import convert_element_type_p
from calque_core.types.avals import ShapedArray


def inline_calls(jaxpr: Jaxpr) -> Jaxpr:
    """Return `jaxpr` with every `jit`, at any depth and in branches too, replaced by the equations inside it.

    The result computes the same, as one program, without the compilers of the `jit`s.

    >>> from calque_core import ShapedArray, inline_calls, stage
    >>> from calque_core.lax import jit_p, sin
    >>> inner = stage(lambda x: [sin(x)], [ShapedArray((), "float64")])
    >>> outer = stage(lambda x: jit_p.bind(x, jaxpr=inner, name="f", compiler=None), inner.in_avals)
    >>> inline_calls(outer)
    { lambda ; a:f64[]. let b:f64[] = sin a in (b,) }
    """
    return rebuild(jaxpr, _inline)


def _inline(jaxpr: Jaxpr) -> Jaxpr:
    """Replace the calls of one jaxpr, whose inner jaxprs hold no call."""
    if not any(eqn.primitive is jit_p for eqn in jaxpr.eqns):
        return jaxpr
    consts = dict(zip(jaxpr.constvars, jaxpr.consts))
    constvars: dict[int, list[Var]] = {}
    atoms: dict[Any, Atom] = {}
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        operands = [atoms.get(v, v) for v in eqn.invars]
        if eqn.primitive is jit_p:
            inner: Jaxpr = eqn.params["jaxpr"]
            inner_consts = constvars.setdefault(id(inner), [Var(v.aval) for v in inner.constvars])
            consts.update(zip(inner_consts, inner.consts))
            atoms.update(zip(eqn.outvars, _append_eqns(inner, (*inner_consts, *operands), eqn.outvars, eqns)))
        else:
            eqns.append(eqn if all(a is b for a, b in zip(operands, eqn.invars)) else eqn.replace(invars=operands))
    outvars = [atoms.get(v, v) for v in jaxpr.outvars]
    return jaxpr.replace(constvars=list(consts), consts=list(consts.values()), eqns=eqns, outvars=outvars)


def _append_eqns(inner: Jaxpr, operands: Sequence[Atom], outvars: Sequence[Var], eqns: list[JaxprEqn]) -> list[Atom]:
    """Append the equations of `inner` on `operands`, with new variables; return the atoms of its results."""
    atoms: dict[Any, Atom] = dict(zip((*inner.constvars, *inner.invars), operands))
    for eqn in inner.eqns:
        new_outvars = [Var(v.aval) for v in eqn.outvars]
        eqns.append(eqn.replace(invars=[atoms.get(v, v) for v in eqn.invars], outvars=new_outvars))
        atoms.update(zip(eqn.outvars, new_outvars))
    return [_result(atoms.get(v, v), outvar, eqns) for v, outvar in zip(inner.outvars, outvars)]


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
