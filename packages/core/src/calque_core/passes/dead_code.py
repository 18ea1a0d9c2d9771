"""Dead code: equations whose results nobody uses, with the inputs that only they need.

One idea: an equation with an effect always stays.  A primitive that holds jaxprs has a rule of kind "dce", which says
which operands the used results need; without a rule an equation is kept or dropped as a whole.

Read next: `equal_equations.py`, the pass that often leaves dead code.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from operator import is_
from typing import Any

from calque_core.calls.api_util import describe_value
from calque_core.epoch import rule_epoch
from calque_core.frames.source import describe_function, where
from calque_core.jaxprs.arguments import check_is_jaxpr
from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn
from calque_core.jaxprs.masks import marked
from calque_core.types.avals import short_repr


def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """Return `jaxpr` reduced to the outputs marked in `used_outputs`, and the mask of the inputs that it keeps.

    Unused inputs are dropped too, unless `instantiate` marks them (True keeps all).  Equations with effects stay.
    Raises: TypeError for a function in place of a jaxpr, and for one bool in place of `used_outputs`; ValueError if the
    length of a mask is wrong.

    >>> from calque_core import ShapedArray, dce_jaxpr, stage
    >>> from calque_core.lax import cos, sin
    >>> jaxpr = stage(lambda x, y: [sin(x), cos(y)], [ShapedArray((), "float64")] * 2)
    >>> dce_jaxpr(jaxpr, [False, True])
    ({ lambda ; a:f64[]. let b:f64[] = cos a in (b,) }, [False, True])
    """
    check_is_jaxpr("dce_jaxpr(jaxpr, used_outputs)", jaxpr)
    keep = [instantiate] * len(jaxpr.invars) if isinstance(instantiate, bool) else instantiate
    _check_mask("used_outputs", used_outputs, "outputs", jaxpr.outvars)
    _check_mask("instantiate", keep, "inputs", jaxpr.invars)
    used, required = tuple(map(bool, used_outputs)), tuple(map(bool, keep))
    key = ("dce", used, required, rule_epoch())
    smaller, used_inputs = jaxpr.memo(key, lambda: _dce(jaxpr, used, required))
    return jaxpr if smaller is None else smaller, list(used_inputs)


def _check_mask(name: str, mask: Sequence[bool], noun: str, atoms: Sequence[Atom]) -> None:
    if not isinstance(mask, Sized):
        raise TypeError(f"dce_jaxpr got {describe_value(mask)} as {name}{where()}. Give one bool for each {noun[:-1]}.")
    if len(mask) != len(atoms):
        raise ValueError(
            f"{name} has {len(mask)} bools, but the jaxpr has {len(atoms)} {noun}. Give one bool for each."
        )


def _dce(jaxpr: Jaxpr, used_outputs: tuple[bool, ...], required: tuple[bool, ...]) -> tuple[Jaxpr | None, list[bool]]:
    """Return the smaller jaxpr and the used inputs; None for the jaxpr itself, since its memo must not refer to it."""
    outvars = marked(jaxpr.outvars, used_outputs)
    live = set(outvars)  # literals do no harm
    eqns: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        out = eqn.outvars[0] if len(eqn.outvars) == 1 else None
        is_whole = out in live and eqn.primitive.adapted["dce"] is None  # nearly always; 0.5 us sooner
        smaller_eqn = eqn if is_whole else _dce_eqn(eqn, tuple([v in live for v in eqn.outvars]))
        if smaller_eqn is not None:
            eqns.append(smaller_eqn)
            live.update(smaller_eqn.invars)
    used_inputs = [v in live or is_required for v, is_required in zip(jaxpr.invars, required)]
    used_consts = [v in live for v in jaxpr.constvars]
    same_eqns = len(eqns) == len(jaxpr.eqns) and all(map(is_, reversed(eqns), jaxpr.eqns))
    if same_eqns and all(used_outputs) and all(used_inputs) and all(used_consts):
        return None, used_inputs
    smaller = jaxpr.replace(
        constvars=marked(jaxpr.constvars, used_consts),
        consts=marked(jaxpr.consts, used_consts),
        invars=marked(jaxpr.invars, used_inputs),
        eqns=eqns[::-1],
        outvars=outvars,
    )
    return smaller, used_inputs


def _dce_eqn(eqn: JaxprEqn, used_outputs: tuple[bool, ...]) -> JaxprEqn | None:
    """Return the equation with its used operands and results only; None if it is dead."""
    if not any(used_outputs) and not eqn.effects:
        return None
    rule = eqn.primitive.adapted["dce"]
    if rule is None:
        return eqn
    used_inputs, new_eqn = _checked_dce(eqn, rule(used_outputs, eqn))
    if new_eqn is None:
        return None
    same = len(new_eqn.outvars) == len(eqn.outvars) and all(used_inputs) and _same_params(new_eqn.params, eqn.params)
    return eqn if same else new_eqn


def _checked_dce(eqn: JaxprEqn, result: Any) -> tuple[Sequence[bool], JaxprEqn | None]:
    """Return the result of a dce rule.  Raises: TypeError if it is no pair of one flag per operand and an equation."""
    if isinstance(result, (tuple, list)) and len(result) == 2:
        used_inputs, new_eqn = result
        if new_eqn is None or (
            isinstance(used_inputs, (tuple, list)) and len(used_inputs) == len(eqn.invars) and type(new_eqn) is JaxprEqn
        ):
            return used_inputs, new_eqn
    raise TypeError(
        f"the dce rule {describe_function(eqn.primitive.rules['dce'])} of '{eqn.primitive.name}' returned "
        f"{short_repr(result)} for an equation with {len(eqn.invars)} operand{'s' * (len(eqn.invars) != 1)}. Return a "
        "pair: a list of one bool per operand, and an equation or None."
    )


def _same_params(new: dict[str, Any], old: dict[str, Any]) -> bool:
    return new.keys() == old.keys() and all(_is_same(new[name], value) for name, value in old.items())


def _is_same(new: Any, old: Any) -> bool:
    if type(new) is tuple and type(old) is tuple:
        return len(new) == len(old) and all(a is b for a, b in zip(new, old))
    return new is old
