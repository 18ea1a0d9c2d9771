"""The function of two scalars by which a reduction combines elements: its program, and its application to arrays.

One idea: the function is traced on scalars.  A program of one known operation is a reduction with a primitive of its
own; any other program is applied to whole arrays, in one step if all its operations are elementwise, otherwise by a
`scan` over their elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from calque_core.calls.api_util import check_callable
from calque_core.frames.source import describe_function
from calque_core.jaxprs.jaxpr import Jaxpr, Literal
from calque_core.known.programs import run_again
from calque_core.ops.calls.cond import converted_results
from calque_core.ops.calls.jit import jit_p
from calque_core.ops.calls.loops import trace_body
from calque_core.ops.calls.scan import scan
from calque_core.ops.elementwise.arithmetic import add_p, max_p, min_p, mul_p
from calque_core.ops.elementwise.compare import and_p, or_p, xor_p
from calque_core.ops.elementwise.convert import convert_element_type
from calque_core.ops.elementwise.declare import BITS, NUMBER, ORDERED
from calque_core.ops.elementwise.weakness import convert_to, may_take, strong
from calque_core.ops.shapes.broadcast import broadcast_in_dim
from calque_core.ops.shapes.shape import reshape
from calque_core.primitives.primitive import Primitive, results_of
from calque_core.types.avals import Shape, ShapedArray, shaped_array, typeof
from calque_core.types.limits import highest, lowest
from calque_pytree import PyTreeDef, tree_flatten, tree_structure

Value = Any
Values = Sequence[Value]
Avals = Sequence[ShapedArray]
DType = np.dtype[Any]


class Computation(NamedTuple):
    """A traced function of two values of `n` scalars each; the constants are scalars or arrays that it closes over."""

    jaxpr: Jaxpr  # from the constants and twice n scalars to n scalars
    consts: list[Value]


def trace_computation(
    caller: str, fun: Callable[[Any, Any], Any], tree: PyTreeDef, avals: Avals, out_avals: Avals
) -> Computation:
    """Return the program of a function from two trees of scalars of types `avals` to one of types `out_avals`.

    Raises: TypeError if it does not return the same structure and the same types.

    >>> import numpy as np
    >>> from calque_core.engine import operand_leaves, scalars_of, trace_computation
    >>> from calque_core import lax, typeof
    >>> arrays, _, tree = operand_leaves("sum", np.ones(3), 0.0)
    >>> scalars = scalars_of([typeof(x) for x in arrays])
    >>> len(trace_computation("sum", lambda a, b: a + b, tree, scalars, scalars).jaxpr.eqns)
    1
    """
    check_callable(fun, caller)
    values = tree.unflatten([0] * tree.num_leaves)
    body = trace_body(caller, fun, tree_structure(((values, values), {})), [*avals, *avals])
    if body.out_tree != tree:
        raise TypeError(
            f"{caller}: {describe_function(fun)} returned {body.out_tree} for values of {tree}. Return the "
            "same structure."
        )
    for out, aval in zip(body.jaxpr.out_avals, out_avals):
        is_joined = out.weak_type and may_take(out.dtype, aval.dtype)
        if out.shape or (out.dtype != aval.dtype and not is_joined):
            raise TypeError(f"{caller}: {describe_function(fun)} returned {out}. Return a scalar {aval}.")
    return Computation(converted_results(body.jaxpr, out_avals), body.consts)


def operand_leaves(caller: str, operands: Any, init_values: Any) -> tuple[list[Value], list[Value], PyTreeDef]:
    """Return the arrays, and a scalar of the dtype of each; Python scalars take it.

    Raises: TypeError if the structures or the dtypes differ, or a start is no scalar; ValueError if there is no array.

    >>> import numpy as np
    >>> from calque_core.engine import operand_leaves
    >>> operand_leaves("sum", {"a": np.ones(3, np.float32)}, {"a": 0})
    ([array([1., 1., 1.], dtype=float32)], [np.float32(0.0)], PyTreeDef({'a': *}))
    """
    arrays, tree = tree_flatten(operands)
    inits, init_tree = tree_flatten(init_values)
    if tree != init_tree:
        raise TypeError(
            f"{caller}: the operands have the structure {tree}, but the initial values {init_tree}. Give one "
            "initial value per operand."
        )
    if not arrays:
        raise ValueError(f"{caller} got no operands. Give at least one array.")
    return [*map(strong, arrays)], [_init_of(caller, x, init) for x, init in zip(arrays, inits)], tree


def _init_of(caller: str, x: Value, init: Value) -> Value:
    aval, init_aval = typeof(x), typeof(init)
    scalar = shaped_array((), aval.dtype)
    if init_aval.weak_type:
        init = convert_to(_finite(caller, aval, init), scalar)
    if init_aval.shape or typeof(init).dtype != aval.dtype:
        raise TypeError(
            f"{caller}: the initial value is {init_aval} for an operand {aval}. Give a scalar of the same dtype."
        )
    return init


def _finite(caller: str, aval: ShapedArray, init: Value) -> Value:
    """Return a Python float that begins a reduction of integers as one of them: an infinity is their extreme.

    Raises: TypeError for nan and for a fraction.
    """
    if aval.kind not in "iu" or not isinstance(init, float):
        return init
    least, greatest = lowest(aval.dtype), highest(aval.dtype)
    if math.isinf(init):
        return greatest if init > 0 else least
    if not (init.is_integer() and int(least) <= int(init) <= int(greatest)):
        raise TypeError(f"{caller}: the initial value is {init} for an operand {aval}. Give an integer of its range.")
    return init


# Known functions


_NEUTRAL: dict[Primitive, tuple[str, Callable[[DType], Value]]] = {
    add_p: (NUMBER, lambda dtype: dtype.type(0)),
    mul_p: (NUMBER, lambda dtype: dtype.type(1)),
    max_p: (ORDERED, lowest),
    min_p: (ORDERED, highest),
    and_p: (BITS, lambda dtype: ~dtype.type(0)),
    or_p: (BITS, lambda dtype: dtype.type(0)),
    xor_p: (BITS, lambda dtype: dtype.type(0)),
}


def known_operation(jaxpr: Jaxpr) -> Primitive | None:
    """Return the primitive with a neutral element that a program applies to its two arguments, in either order.

    >>> from calque_core import make_jaxpr
    >>> from calque_core.engine import known_operation
    >>> known_operation(make_jaxpr(lambda a, b: b + a)(1.0, 2.0)), known_operation(make_jaxpr(lambda a, b: a)(1.0, 2.0))
    (add, None)
    """
    if len(jaxpr.eqns) != 1 or len(jaxpr.invars) != 2:
        return None
    (eqn,), (var, _) = jaxpr.eqns, jaxpr.invars
    if set(eqn.invars) != set(jaxpr.invars) or list(jaxpr.outvars) != list(eqn.outvars):
        return None
    kinds, _ = _NEUTRAL.get(eqn.primitive, ("", None))
    return eqn.primitive if var.aval.kind in kinds else None


def neutral_element(operation: Primitive, dtype: DType) -> Value:
    """Return the scalar that a known operation combines with any other to the other.

    >>> import numpy as np
    >>> from calque_core.engine import neutral_element
    >>> from calque_core.lax import add_p, min_p
    >>> neutral_element(add_p, np.dtype("int32")), neutral_element(min_p, np.dtype("float64"))
    (np.int32(0), np.float64(inf))
    """
    _, neutral = _NEUTRAL[operation]
    return neutral(dtype)


def from_init(operation: Primitive, init: Value, out: Value) -> Value:
    """Return the result of a known reduction with its initial value, which takes part unless it is neutral.

    >>> import numpy as np
    >>> from calque_core.engine import from_init
    >>> from calque_core.lax import add_p
    >>> from_init(add_p, np.float64(2.0), np.ones(3))
    array([3., 3., 3.])
    """
    is_known = isinstance(init, (np.generic, np.ndarray))
    if is_known and init == neutral_element(operation, init.dtype):
        return out
    return operation.bind(init, out)


# Application to arrays


def on_arrays(jaxpr: Jaxpr, consts: Values) -> Callable[[Values, Values], list[Value]]:
    """Return the function that combines two lists of arrays, of one shape, element by element.

    >>> import numpy as np
    >>> from calque_core import make_jaxpr
    >>> from calque_core.engine import on_arrays
    >>> combine = on_arrays(make_jaxpr(lambda a, b: a + 2.0 * b)(1.0, 1.0), [])
    >>> combine([np.ones(3)], [np.arange(3.0)])
    [array([1., 3., 5.])]
    """
    if is_elementwise(jaxpr) and not any(typeof(c).shape for c in consts):
        types = jaxpr.out_avals
        return lambda xs, ys: [
            _as_array(out, aval, typeof(xs[0]).shape)
            for out, aval in zip(run_elementwise(jaxpr, [*consts, *xs, *ys]), types)
        ]

    def step(_: None, scalars: tuple[Values, Values]) -> tuple[None, list[Value]]:
        return None, [*map(strong, run_again(jaxpr, *consts, *scalars[0], *scalars[1]))]

    def combine(xs: Values, ys: Values) -> list[Value]:
        aval = typeof(xs[0])
        flat_xs, flat_ys = ([reshape(x, (aval.size,)) for x in arrays] for arrays in (xs, ys))
        _, outs = scan(step, None, (flat_xs, flat_ys))
        return [reshape(out, aval.shape) for out in outs]

    return combine


def is_elementwise(jaxpr: Jaxpr) -> bool:
    """Tell whether a program of scalars computes the same of arrays, element by element."""
    return not any(typeof(c).shape for c in jaxpr.consts) and all(
        is_elementwise(eqn.params["jaxpr"]) if eqn.primitive is jit_p else eqn.primitive.is_elementwise
        for eqn in jaxpr.eqns
    )


def run_elementwise(jaxpr: Jaxpr, args: Values) -> list[Value]:
    """Return the results of an elementwise program of scalars on arrays of one shape, or scalars."""
    env: dict[Any, Value] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*jaxpr.consts, *args)))
    read = lambda x: x.val if type(x) is Literal else env[x]
    for eqn in jaxpr.eqns:
        operands = [*map(read, eqn.invars)]
        if eqn.primitive is jit_p:
            outs = run_elementwise(eqn.params["jaxpr"], operands)
        else:
            outs = results_of(eqn.primitive, operands, eqn.params)
        env.update(zip(eqn.outvars, outs))
    return [*map(read, jaxpr.outvars)]


def _as_array(out: Value, aval: ShapedArray, shape: Shape) -> Value:
    """Return a result in the dtype of `aval` and a shape; a result that depends on no array has rank 0."""
    return broadcast_in_dim(convert_element_type(out, aval.dtype), shape, range(typeof(out).ndim))


def scalars_of(avals: Avals) -> list[ShapedArray]:
    """Return the types of one element of each array.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.engine import scalars_of
    >>> scalars_of([typeof(np.ones(3))])
    [float64[]]
    """
    return [shaped_array((), aval.dtype) for aval in avals]
