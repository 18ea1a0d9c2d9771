"""Operations of a linear program that only place elements: two of them in a row are one.

One idea: repeating, permuting or reshaping the result of the same operation is that operation on the first operand.  So
the trace of tangents records the single operation, and the backward pass sums, permutes or reshapes a cotangent once.
The first operation is left without a use unless the program needs its result; the backward pass skips it then.

Read next: `tangent_trace.py`, which records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calque_core import JaxprEqn, Primitive
from calque_core.lax import broadcast_in_dim_p, reshape_p, transpose_p

Params = dict[str, Any]


def broadcast_in_dim_twice(first: Params, second: Params) -> Params:
    """Send each axis of the operand to the place where the second broadcast sends its image."""
    places = second["broadcast_dimensions"]
    dimensions = tuple(places[d] for d in first["broadcast_dimensions"])
    return {"shape": second["shape"], "broadcast_dimensions": dimensions}


def transpose_twice(first: Params, second: Params) -> Params:
    """Compose the permutations."""
    return {"permutation": tuple(first["permutation"][d] for d in second["permutation"])}


def reshape_twice(first: Params, second: Params) -> Params:
    """Keep the last shape."""
    return second


TWICE: dict[Primitive, Callable[[Params, Params], Params]] = {
    broadcast_in_dim_p: broadcast_in_dim_twice,
    transpose_p: transpose_twice,
    reshape_p: reshape_twice,
}


def merged_layout(first: JaxprEqn | None, primitive: Primitive, params: Params) -> Params | None:
    """Return the parameters of the one operation that replaces `first` and `primitive` on its result, or None.

    >>> from calque_core import make_jaxpr
    >>> from calque_core.lax import transpose, transpose_p
    >>> import numpy as np
    >>> (eqn,) = make_jaxpr(lambda x: transpose(x, (1, 2, 0)))(np.zeros((2, 3, 4))).eqns
    >>> merged_layout(eqn, transpose_p, {"permutation": (1, 2, 0)})
    {'permutation': (2, 0, 1)}
    """
    if first is None or first.primitive is not primitive:
        return None
    return TWICE[primitive](first.params, params)


def changes_nothing(params: Params, x_aval: Any, out_aval: Any) -> bool:
    """Tell whether an operation of `TWICE` returns its operand: equal types, and no axis elsewhere.

    >>> from calque_core import ShapedArray
    >>> square = ShapedArray((2, 2), "float64")
    >>> changes_nothing({"new_sizes": (2, 2)}, square, square), changes_nothing({"permutation": (1, 0)}, square, square)
    (True, False)
    """
    in_place = tuple(range(x_aval.ndim))
    axes = params.get("permutation", params.get("broadcast_dimensions", in_place))
    return bool(x_aval == out_aval) and axes == in_place
