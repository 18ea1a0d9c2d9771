"""Passes that make a jaxpr smaller and keep its results: dead code, equal equations, constant folding.

One idea: an equation with an effect always stays.  A primitive that holds jaxprs has a rule of kind "dce", which says
which operands the used results need; without a rule an equation is kept or dropped as a whole.

Read next: `inlining.py`, another pass; `kits/rewrite.py`, for passes by a rule of the user's.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

import numpy as np

from calque_core.epoch import rule_epoch
from calque_core.frames.source import describe_function
from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, has_jaxpr
from calque_core.jaxprs.masks import marked
from calque_core.jaxprs.walk import rebuild
from calque_core.known.operands import exact_params
from calque_core.traces.trace import evaluation, hand_down
from calque_core.traces.tracer import Tracer
from calque_core.types.avals import ShapedArray, short_repr, typeof

Value = Any


def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """Return `jaxpr` reduced to the outputs marked in `used_outputs`, and the mask of the inputs that it keeps.

    Unused inputs are dropped too, unless `instantiate` marks them (True keeps all).  Equations with effects stay.
    Raises: ValueError if the length of a mask is wrong.

    >>> from calque_core import ShapedArray, dce_jaxpr, stage
    >>> from calque_core.lax import cos, sin
    >>> jaxpr = stage(lambda x, y: [sin(x), cos(y)], [ShapedArray((), "float64")] * 2)
    >>> dce_jaxpr(jaxpr, [False, True])
    ({ lambda ; a:f64[]. let b:f64[] = cos a in (b,) }, [False, True])
    """
    keep = [instantiate] * len(jaxpr.invars) if isinstance(instantiate, bool) else instantiate
    _check_mask("used_outputs", used_outputs, "outputs", jaxpr.outvars)
    _check_mask("instantiate", keep, "inputs", jaxpr.invars)
    used, required = tuple(map(bool, used_outputs)), tuple(map(bool, keep))
    key = ("dce", used, required, rule_epoch())
    smaller, used_inputs = jaxpr.memo(key, lambda: _dce(jaxpr, used, required))
    return jaxpr if smaller is None else smaller, list(used_inputs)


def _check_mask(name: str, mask: Sequence[bool], noun: str, atoms: Sequence[Atom]) -> None:
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
        smaller_eqn = eqn if is_whole else _dce_eqn(eqn, [v in live for v in eqn.outvars])
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


def _dce_eqn(eqn: JaxprEqn, used_outputs: list[bool]) -> JaxprEqn | None:
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


def merge_equal_equations(jaxpr: Jaxpr) -> Jaxpr:
    """Return `jaxpr` with one equation for equations of one primitive, the same operands and equal parameters.

    Two results of the program stay two: nobody expects them to share memory.  Equations that have effects, hold
    programs or have parameters without a hash are left alone.

    >>> from calque_core import ShapedArray, stage
    >>> from calque_core.extend import merge_equal_equations
    >>> from calque_core.lax import mul, sin
    >>> merge_equal_equations(stage(lambda x: [mul(sin(x), sin(x))], [ShapedArray((), "float64")]))
    { lambda ; a:f64[]. let b:f64[] = sin a; c:f64[] = mul b b in (c,) }
    """
    if len({eqn.primitive for eqn in jaxpr.eqns}) == len(jaxpr.eqns):
        return jaxpr
    results = {v for v in jaxpr.outvars if type(v) is Var}
    first: dict[Any, Sequence[Var]] = {}
    atoms: dict[Any, Var] = {}  # of the results of equations that an earlier one replaces
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        invars = [atoms.get(x, x) for x in eqn.invars]
        key = _key_of_equation(eqn, invars)
        outvars = eqn.outvars if key is None else first.setdefault(key, eqn.outvars)
        if outvars is eqn.outvars or not (results.isdisjoint(outvars) or results.isdisjoint(eqn.outvars)):
            eqns.append(eqn.replace(invars=invars))
            continue
        atoms.update(zip(eqn.outvars, outvars))
        results.update(atoms[v] for v in eqn.outvars if v in results)
    return jaxpr.replace(eqns=eqns, outvars=[atoms.get(v, v) for v in jaxpr.outvars])


def _key_of_equation(eqn: JaxprEqn, invars: Sequence[Atom]) -> Any:
    """Return a key that equal equations share; None for an equation that stays."""
    if not eqn.primitive.is_leaf or eqn.effects:
        return None
    operands = [exact_params({"": x.val}) if type(x) is Literal else x for x in invars]
    key = (eqn.primitive, *operands, *[x.aval for x in invars if type(x) is Literal], exact_params(eqn.params))
    try:
        hash(key)
    except TypeError:  # a parameter has no hash
        return None
    return key


def fold_constants(jaxpr: Jaxpr, max_size: int = 1024) -> Jaxpr:
    """Return `jaxpr` with the results of equations that depend on no argument as constants, in inner jaxprs too.

    An equation stays if it has effects, holds a jaxpr, or has a result of more than `max_size` elements: a constant is
    stored with the program.  It also stays if it cannot be computed (an integer divided by zero, a named axis).

    >>> from calque_core import ShapedArray, fold_constants, stage
    >>> from calque_core.lax import cos, mul
    >>> fold_constants(stage(lambda x: [mul(x, cos(0.0))], [ShapedArray((), "float64")]))
    { lambda ; a:f64[]. let b:f64[] = mul a 1.0 in (b,) }
    """
    # Folding gives no warnings: they belong to the run of the program.  Divisions by zero call a function rather than
    # being ignored, since only then is an integer division by zero an error, and its equation stays.
    with np.errstate(all="ignore", divide="call", call=lambda *_: None):
        return rebuild(jaxpr, lambda inner: _fold(inner, max_size))


def _fold(jaxpr: Jaxpr, max_size: int) -> Jaxpr:
    known = {v: c for v, c in zip(jaxpr.constvars, jaxpr.consts) if not isinstance(c, Tracer)}
    atoms: dict[Any, Atom] = {}
    eqns = []
    for eqn in jaxpr.eqns:
        values = _folded_results(eqn, known, max_size)
        if values is None:
            eqns.append(_substitute(eqn, atoms))
            continue
        known.update(zip(eqn.outvars, values))
        atoms.update((v, Literal(c, v.aval)) for v, c in zip(eqn.outvars, values) if isinstance(c, np.generic))
    if len(eqns) == len(jaxpr.eqns):
        return jaxpr
    return _with_constants(jaxpr, eqns, [atoms.get(v, v) for v in jaxpr.outvars], known)


def _substitute(eqn: JaxprEqn, atoms: dict[Any, Atom]) -> JaxprEqn:
    if not any(v in atoms for v in eqn.invars):
        return eqn
    return eqn.replace(invars=[atoms.get(v, v) for v in eqn.invars])


def _folded_results(eqn: JaxprEqn, known: dict[Var, Value], max_size: int) -> list[Value] | None:
    """Return the results of an equation, or None if it must stay."""
    if any(type(v) is Var and v not in known for v in eqn.invars) or _must_stay(eqn, max_size):
        return None
    args = [v.val if type(v) is Literal else known[v] for v in eqn.invars]  # type: ignore[index]
    try:
        values = hand_down(evaluation, eqn.primitive, args, eqn.params)
    except (ArithmeticError, NameError):
        return None
    # Under settings that differ from the trace's, evaluation may return other types: such an equation stays.
    if any(typeof(c) != v.aval for c, v in zip(values, eqn.outvars)):
        return None
    return [_as_constant(c) for c in values]


def _as_constant(x: Value) -> Value:
    """Return a result as a constant of a program: a NumPy scalar for rank 0, otherwise a read-only copy."""
    if type(x) is not np.ndarray:
        return x
    copy = x.copy()
    copy.flags.writeable = False
    return copy[()] if not copy.ndim else copy


def _must_stay(eqn: JaxprEqn, max_size: int) -> bool:
    is_small = all(type(v.aval) is ShapedArray and v.aval.size <= max_size for v in eqn.outvars)
    return has_jaxpr(eqn.params) or not is_small or bool(eqn.effects)


def _with_constants(jaxpr: Jaxpr, eqns: list[JaxprEqn], outvars: list[Atom], known: dict[Var, Value]) -> Jaxpr:
    """Return `jaxpr` with new equations and outputs, and the constants that they use, its own or from `known`."""
    used = {v for eqn in eqns for v in eqn.invars if type(v) is Var} | {v for v in outvars if type(v) is Var}
    consts = dict(zip(jaxpr.constvars, jaxpr.consts)) | known
    consts = {v: c for v, c in consts.items() if v in used}
    return jaxpr.replace(constvars=list(consts), consts=list(consts.values()), eqns=eqns, outvars=outvars)
