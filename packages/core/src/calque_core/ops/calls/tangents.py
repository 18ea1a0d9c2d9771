"""The checks of primals, tangents and cotangents that all functions of derivatives share.

Read next: `linear.py` for the symbolic zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from calque_core.calls.api_util import arg_names, check_arrays, describe_value, difference
from calque_core.errors import ShapeError
from calque_core.frames.source import describe_function
from calque_core.ops.calls.linear import Zero, zero_of
from calque_core.ops.elementwise.convert import narrow
from calque_core.traces.trace import Trace
from calque_core.types.avals import ShapedArray, is_array_like, typeof
from calque_core.types.dtypes import float0
from calque_core.types.type_queries import same_type
from calque_pytree import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path, tree_leaves, tree_structure

Value = Any


def check_sequence(caller: str, name: str, values: Any) -> None:
    """Check that `values` is a tuple or a list.

    Raises: TypeError.
    """
    if not isinstance(values, (tuple, list)):
        raise TypeError(f"{caller} got {describe_value(values)} as its {name}. Give a tuple or a list: {name}=(x,).")


def flatten_primals(verb: str, fun: Callable[..., Any], primals: Sequence[Any]) -> tuple[list[Value], PyTreeDef]:
    """Return the leaves, in the widths that the settings allow, and the structure of the tuple of primals.

    Raises: TypeError if a leaf is not an array.
    """
    if type(primals) is not tuple:
        check_sequence(f"{verb} of {describe_function(fun)}", "primals", primals)
    leaves, in_tree = tree_flatten(tuple(primals))
    if not all(map(is_array_like, leaves)):
        check_arrays(leaves, lambda: arg_names(fun, tuple(primals), {}), f"{verb} of {describe_function(fun)}")
    return [*narrow(leaves)], in_tree


def check_outputs(trace: Trace, outs: Sequence[Value]) -> None:
    """Check that a user's function returned arrays and scalars.

    Raises: TypeError.
    """
    for x in outs:
        if not is_array_like(x):
            raise TypeError(
                f"{trace.describe()}: the function returned {x!r} of type {type(x).__name__}, which is not an array or "
                "a scalar. Return arrays; return other values as aux, with has_aux=True."
            )


def check_same_structure(caller: str, name: str, tree: PyTreeDef, tangents: Any) -> None:
    """Check that the pytree `tangents` has the structure `tree`.

    Raises: TypeError with both structures.
    """
    tangents_tree = tree_structure(tangents)
    if tangents_tree != tree:
        raise TypeError(
            f"{caller}: the {name} have the structure {tangents_tree}, but {tree} is needed."
            f"{difference(tangents_tree, tree)} Give one {name[:-1]} per leaf."
        )


def tangent_leaves(caller: str, name: str, avals: Sequence[Any], tree: PyTreeDef, tangents: Any) -> list[Value]:
    """Return the leaves of tangents or cotangents, checked against the types `avals`; a `Zero` for an integer primal.

    A Python scalar takes the dtype of the tangent type.  A weak tracer stays weak; `strong` converts it where
    derivatives go back to the user.
    Raises: TypeError if structure or dtype differ, ShapeError for a shape; the message names the leaf.
    """
    leaves, tangents_tree = tree_flatten(tangents)
    if tangents_tree is not tree and tangents_tree != tree:
        check_same_structure(caller, name, tree, tangents)
    leaves = [*narrow(leaves)]
    for i, (leaf, aval) in enumerate(zip(leaves, avals)):
        if type(aval) is not ShapedArray:
            leaves[i] = _tangent(caller, name, partial(_leaf, name, tangents, i), aval, leaf)
            continue
        shape, dtype = aval.shape, aval.dtype
        if type(leaf) is np.ndarray and leaf.shape == shape and leaf.dtype is dtype and aval.kind in "fc":
            continue  # nearly always, as is the next line; 1 us sooner
        leaves[i] = (
            dtype.type(leaf)
            if not shape and type(leaf) in _FITTING.get(aval.kind, ())
            else _tangent(caller, name, partial(_leaf, name, tangents, i), aval, leaf)
        )
    return leaves


def _tangent(caller: str, name: str, leaf_name: Callable[[], str], primal_aval: Any, leaf: Value) -> Value:
    tangent_aval = primal_aval.to_tangent_aval()
    if type(leaf) is Zero:
        return leaf
    if type(tangent_aval) is ShapedArray and tangent_aval.dtype == float0:
        if getattr(leaf, "dtype", None) == float0 and np.shape(leaf) == tangent_aval.shape:
            return zero_of(tangent_aval)
        raise TypeError(
            f"{caller}: {leaf_name()} is {describe_value(leaf)}, but its {_origin(name)} is {primal_aval}, which has "
            "no derivative. Give numpy.zeros(shape, calque_core.float0) for it, or close over it."
        )
    return _of_type(caller, name, leaf_name, tangent_aval, leaf)


def _of_type(caller: str, name: str, leaf_name: Callable[[], str], aval: Any, leaf: Value) -> Value:
    if not is_array_like(leaf):
        raise TypeError(
            f"{caller}: {leaf_name()} is {describe_value(leaf)}, which is not an array or a scalar. Give {aval}."
        )
    leaf_aval = typeof(leaf)
    if not same_type(leaf_aval, aval):
        advice = f"Give it the shape and dtype of its {_origin(name)}" if type(aval) is ShapedArray else "Convert it"
        same_shape = getattr(leaf_aval, "shape", None) == getattr(aval, "shape", None)
        error = TypeError if same_shape else ShapeError
        raise error(f"{caller}: {leaf_name()} is {leaf_aval}, but {aval} is needed. {advice}.")
    return leaf


_FITTING: dict[str, tuple[type, ...]] = {"f": (int, float), "c": (int, float, complex)}


def integer_leaves(caller: str, name: str, avals: Sequence[Any], tree: PyTreeDef, values: Any) -> list[Value]:
    """Return the leaves of cotangents of a linear function of integers, checked against the types `avals`.

    A Python integer takes the dtype of its type.
    Raises: TypeError as `tangent_leaves`.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.engine import integer_leaves
    >>> from calque_pytree import tree_structure
    >>> integer_leaves("the transpose of f", "cotangents", [typeof(np.int8(1))], tree_structure(0), 2)
    [np.int8(2)]
    """
    check_same_structure(caller, name, tree, values)
    leaves = narrow(tree_leaves(values))
    return [
        aval.dtype.type(x)
        if type(x) is int and not aval.shape
        else _of_type(caller, name, partial(_leaf, name, values, i), aval, x)
        for i, (x, aval) in enumerate(zip(leaves, avals))
    ]


def _origin(name: str) -> str:
    return "output" if name == "cotangents" else "primal"


def _leaf(name: str, tangents: Any, i: int) -> str:
    path = tree_flatten_with_path(tangents)[0][i][0]
    return f"the leaf {keystr(path)} of the {name}" if path else f"the {name[:-1]}"
