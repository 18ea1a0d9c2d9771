"""Primals and tangents as users give them: what every function of derivatives asks of its arguments, and says.

Read next: `linear.py` for the symbolic zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from calque_core.calls.api_util import arg_names, check_arrays, describe_value
from calque_core.frames.source import describe_function
from calque_core.ops.convert import narrowed
from calque_core.ops.linear import Zero, zero_of
from calque_core.traces.trace import Trace
from calque_core.types.avals import is_array_like, typeof
from calque_core.types.dtypes import float0
from calque_pytree import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path, tree_structure

Value = Any


def check_sequence(what: str, name: str, values: Any) -> None:
    """Check that `values` is a tuple or a list.

    Raises: TypeError.
    """
    if not isinstance(values, (tuple, list)):
        raise TypeError(f"{what} got {describe_value(values)} as its {name}. Give a tuple or a list: {name}=(x,).")


def flatten_primals(verb: str, fun: Callable[..., Any], primals: Sequence[Any]) -> tuple[list[Value], PyTreeDef]:
    """Return the leaves, in the widths that the settings allow, and the structure of `(primals, {})`.

    Raises: TypeError if a leaf is not an array.
    """
    if type(primals) is not tuple:
        check_sequence(f"{verb} of {describe_function(fun)}", "primals", primals)
    leaves, in_tree = tree_flatten((tuple(primals), {}))
    if not all(map(is_array_like, leaves)):
        check_arrays(leaves, lambda: arg_names(fun, tuple(primals), {}), f"{verb} of {describe_function(fun)}")
    return [*narrowed(leaves)], in_tree


def check_outputs(trace: Trace, outs: Sequence[Value]) -> None:
    """Check that a user's function returned arrays and scalars.

    Raises: TypeError.
    """
    for x in outs:
        if not is_array_like(x):
            raise TypeError(
                f"{trace.describe()}: the function returned {x!r} of type {type(x).__name__}, which is not an array or "
                "a scalar. Return arrays; what else you need goes out with has_aux=True."
            )


def check_same_structure(what: str, name: str, tree: PyTreeDef, given: Any) -> None:
    """Check that the pytree `given` has the structure `tree`.

    Raises: TypeError with both structures.
    """
    found = tree_structure(given)
    if found != tree:
        raise TypeError(
            f"{what}: the {name} have the structure {found}, but {tree} is needed. Give one {name[:-1]} per leaf."
        )


def tangent_leaves(what: str, name: str, avals: Sequence[Any], tree: PyTreeDef, given: Any) -> list[Value]:
    """Return the leaves of the tangents or cotangents `given`, checked against types; `Zero` for integers' ones.

    Python scalars take the dtype that is needed; a traced one stays weak, and `strong` makes derivatives strong where
    they go back to the user.
    Raises: TypeError if structure, shape or dtype differ; the message names the leaf.
    """
    leaves, given_tree = tree_flatten(given)
    if given_tree != tree:
        check_same_structure(what, name, tree, given)
    leaf_name = lambda i: _leaf(name, tree_flatten_with_path(given)[0][i][0])
    return [
        _tangent(what, name, partial(leaf_name, i), aval, leaf)
        for i, (leaf, aval) in enumerate(zip(narrowed(leaves), avals))
    ]


def _tangent(what: str, name: str, leaf_name: Callable[[], str], aval: Any, leaf: Value) -> Value:
    wanted = aval.to_tangent_aval()
    if type(leaf) is Zero:
        return leaf
    if wanted.dtype == float0:
        if getattr(leaf, "dtype", None) == float0 and np.shape(leaf) == wanted.shape:
            return zero_of(wanted)
        raise TypeError(
            f"{what}: {leaf_name()} is {describe_value(leaf)}, but its {_origin(name)} is {aval}, "
            "which has no derivative. Give numpy.zeros(shape, calque_core.float0) for it, or leave it out of the "
            "function."
        )
    if not is_array_like(leaf):
        raise TypeError(
            f"{what}: {leaf_name()} is {describe_value(leaf)}, which is not an array or a scalar. Give {wanted}."
        )
    if type(leaf) in _FITTING.get(wanted.dtype.kind, ()) and wanted.shape == ():
        return wanted.dtype.type(leaf)
    found = typeof(leaf)
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        raise TypeError(
            f"{what}: {leaf_name()} is {found}, but {wanted} is needed. "
            f"Give it the shape and dtype of its {_origin(name)}."
        )
    return leaf


_FITTING: dict[str, tuple[type, ...]] = {"f": (int, float), "c": (int, float, complex)}


def _origin(name: str) -> str:
    return "output" if name == "cotangents" else "primal"


def _leaf(name: str, path: Any) -> str:
    return f"the leaf {keystr(path)} of the {name}" if path else f"the {name[:-1]}"
