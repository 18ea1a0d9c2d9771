"""Keys of equations: equations with one key have the same operations in a module, on operands of their own.

One idea: a lowering rule may ask for the primitive, the types, the literals and the parameters of an equation, so these
are the key.  Types and primitives are compared by identity; parameters and literals must look equal to everybody.

Read next: `templates.py`, the operations that are kept by key.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from calque_core import JaxprEqn, Literal
from calque_xla_backend.exact_keys import exact_key

_aval = attrgetter("aval")


def template_key(eqn: JaxprEqn) -> Any:
    """Return the attributes of an equation that its rule may read: primitive, types, literals, parameters.

    The result is None if a parameter has no exact key.
    """
    primitive, invars, outvars, params, _ = eqn
    if len(outvars) == 1 and 1 <= len(invars) <= 2:  # nearly always; this way without `map` takes 0.2 us less
        key: tuple[Any, ...] = primitive, len(invars), invars[0].aval, invars[-1].aval, outvars[0].aval
    else:
        key = primitive, tuple(map(_aval, invars)), tuple(map(_aval, outvars))
    if Literal in map(type, invars):
        key += (*[_literal_value(x) if type(x) is Literal else None for x in invars],)
    if not params:
        return key
    try:
        return (*key, *params, exact_key((*params.values(),)))
    except TypeError:
        return None


def literal_key(x: Literal) -> Any:
    """Return a key of a literal that is equal for equal constants."""
    return x.aval.dtype, _literal_value(x)


def _literal_value(x: Literal) -> Any:
    """Return a key of a literal of a known type: its value, or its bytes, since zeros have a sign."""
    value, aval = x.val, x.aval
    return value if value and aval.kind != "c" else np.asarray(value, aval.dtype).tobytes()
