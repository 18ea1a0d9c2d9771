"""The types of the results of a program if weak arguments were strong, derived without a new trace where possible.

One idea: an operation on a weak value and an array records the conversion of the value to the dtype of the array.  If a
strong value of this dtype takes its place, the equations after it stay the same.  Other results of the weak value, such
as the strong result of a function or a conversion by the user, might change: then no types are derived, and the
function must be traced again.

Read next: `ops/calls/loops.py`, which saves traces of nested loops by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Literal
from calque_core.ops.elementwise.operands import promoted_type
from calque_core.primitives.conversion import convert_element_type_p
from calque_core.types.avals import shaped_array
from calque_core.types.own_types import is_own

Types = Sequence[Any]


def derived_types(jaxpr: Jaxpr, in_avals: Types) -> list[Any] | None:
    """Return the types of the results of a program for arguments of types `in_avals`, or None if they are uncertain.

    >>> import numpy as np
    >>> from calque_core import ShapedArray, lax, make_jaxpr
    >>> array = ShapedArray((2,), np.float32)
    >>> strong = [ShapedArray((), np.float32), array]
    >>> derived_types(make_jaxpr(lambda c, x: [c, c + x])(1.0, array), strong)
    [float32[], float32[2]]
    >>> derived_types(make_jaxpr(lambda c, x: lax.sin(c))(1.0, array), strong) is None
    True
    """
    if any(aval.vma != v.aval.vma for v, aval in zip(jaxpr.invars, in_avals)):
        return None
    if any(is_own(x.aval) for eqn in jaxpr.eqns for x in (*eqn.invars, *eqn.outvars)):
        return None
    types: dict[Atom, Any] = {v: aval for v, aval in zip(jaxpr.invars, in_avals) if aval is not v.aval}
    lost_dtypes = {v.aval.dtype for v in types} - {aval.dtype for aval in types.values()}
    for eqn in jaxpr.eqns:
        if any(type(x) is not Literal and x in types for x in eqn.invars):
            aval = _derived_type(eqn, [types.get(x, x.aval) if type(x) is not Literal else x.aval for x in eqn.invars])
            types.update({v: aval for v in eqn.outvars if aval is not v.aval})
    outs = [types.get(v, v.aval) if type(v) is not Literal else v.aval for v in jaxpr.outvars]
    # The function may have read a lost dtype from its weak arguments.
    return (
        None
        if any(aval is None or is_own(aval) or (not aval.weak_type and aval.dtype in lost_dtypes) for aval in outs)
        else outs
    )


def _derived_type(eqn: JaxprEqn, avals: Types) -> Any:
    """Return the type of the result of an equation for operands of types `avals`, or None if it is uncertain."""
    if None in avals or len(eqn.outvars) != 1:
        return None
    out = eqn.outvars[0].aval
    if eqn.primitive is convert_element_type_p:
        return out if not out.weak_type and avals[0].dtype == out.dtype else None
    is_arithmetic = eqn.primitive.weak_kinds and not eqn.params and out.weak_type
    if not is_arithmetic or out.kind == "b" or any(x.aval.dtype != out.dtype for x in eqn.invars):
        return None
    return shaped_array(out.shape, promoted_type(avals)).varying(out.vma)
