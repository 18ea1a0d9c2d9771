"""What the derivative functions ask of their arguments, and what they say when they do not get it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core.api_util import arg_names, check_arrays, describe_value
from calque_core.avals import is_array_like, typeof
from calque_core.dtypes import float0, short_name
from calque_core.linear import Zero, zero_of
from calque_core.source import describe_function
from calque_core.trace import Trace
from calque_pytree import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path, tree_structure

Value = Any


def check_sequence(what: str, name: str, values: Any) -> None:
    """Check that `values` is a tuple or a list.

    Raises: TypeError.
    """
    if not isinstance(values, (tuple, list)):
        raise TypeError(f"{what} got {describe_value(values)} as its {name}. Give a tuple or a list: {name}=(x,).")


def check_same_structure(what: str, name: str, tree: PyTreeDef, given: Any) -> None:
    """Check that the pytree `given` has the structure `tree`.

    Raises: TypeError with both structures.
    """
    found = tree_structure(given)
    if found != tree:
        raise TypeError(
            f"{what}: the {name} have the structure {found}, but {tree} is needed. Give one {name[:-1]} per leaf."
        )


def flatten_primals(verb: str, fun: Callable[..., Any], primals: Sequence[Any]) -> tuple[list[Value], PyTreeDef]:
    """Return the leaves and the structure of `(primals, {})`.

    Raises: TypeError if a leaf is not an array.
    """
    check_sequence(f"{verb} of {describe_function(fun)}", "primals", primals)
    leaves, in_tree = tree_flatten((tuple(primals), {}))
    check_arrays(leaves, lambda: arg_names(fun, tuple(primals), {}), f"{verb} of {describe_function(fun)}")
    return leaves, in_tree


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


def tangent_leaves(what: str, name: str, avals: Sequence[Any], tree: PyTreeDef, given: Any) -> list[Value]:
    """Return the leaves of the tangents or cotangents `given`, checked against types; `Zero` for integers' ones.

    Python scalars take the dtype that is needed.
    Raises: TypeError if structure, shape or dtype differ; the message names the leaf.
    """
    check_same_structure(what, name, tree, given)
    pairs, _ = tree_flatten_with_path(given)
    return [_tangent(what, name, path, aval, leaf) for (path, leaf), aval in zip(pairs, avals)]


def _tangent(what: str, name: str, path: Any, aval: Any, leaf: Value) -> Value:
    wanted = aval.to_tangent_aval()
    if type(leaf) is Zero:
        return leaf
    if wanted.dtype == float0:
        if getattr(leaf, "dtype", None) == float0 and np.shape(leaf) == wanted.shape:
            return zero_of(wanted)
        raise TypeError(
            f"{what}: {_leaf(name, path)} is {describe_value(leaf)}, but its primal is {aval.str_short()}, which has "
            "no derivative. Give numpy.zeros(shape, calque_core.float0), or do not differentiate with respect to it."
        )
    if type(leaf) in _FITTING.get(wanted.dtype.kind, ()) and wanted.shape == ():
        return leaf if typeof(leaf).dtype == wanted.dtype else wanted.dtype.type(leaf)
    found = typeof(leaf)
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        raise TypeError(
            f"{what}: {_leaf(name, path)} is {found.str_short()}, but {wanted.str_short()} is needed. "
            "Give it the shape and dtype of its primal."
        )
    return leaf


_FITTING: dict[str, tuple[type, ...]] = {"f": (int, float), "c": (int, float, complex)}


def _leaf(name: str, path: Any) -> str:
    return f"the leaf {keystr(path)} of the {name}" if path else f"the {name[:-1]}"


def check_input(what: str, name: str, aval: Any, *, holomorphic: bool, allow_int: bool) -> None:
    """Check that a gradient with respect to an argument of this type exists.

    Raises: TypeError that names the argument.
    """
    kind = aval.dtype.kind
    if holomorphic and kind != "c":
        raise TypeError(
            f"{what} with holomorphic=True: {name} has dtype {short_name(aval.dtype)}. Give complex arguments, or "
            "leave holomorphic out."
        )
    if kind == "c" and not holomorphic:
        return
    if kind in "iub" and not allow_int:
        raise TypeError(
            f"{what}: {name} has dtype {short_name(aval.dtype)}, which has no derivative. Pass a float, or set "
            "allow_int=True to get a float0 gradient for it."
        )


def check_scalar_output(what: str, out: Any, leaves: Sequence[Value], *, holomorphic: bool) -> None:
    """Check that a function to be differentiated in reverse gave one real scalar (complex if `holomorphic`).

    Raises: TypeError that shows what it gave.
    """
    if len(leaves) != 1 or leaves[0] is not out:
        raise TypeError(
            f"{what} needs a scalar output, but the function returned {describe_value(out)}. Return one scalar."
        )
    aval = typeof(out)
    if aval.shape:
        raise TypeError(
            f"{what} needs a scalar output, but the function returned {aval.str_short()}. Reduce it (sum, mean), or "
            "use vjp or jacrev."
        )
    if holomorphic and aval.dtype.kind != "c":
        raise TypeError(f"{what} with holomorphic=True: the output is {aval.str_short()}. Return a complex scalar.")
    if not holomorphic and aval.dtype.kind not in "fV":
        hint = "Set holomorphic=True if it is" if aval.dtype.kind == "c" else "Return a float"
        raise TypeError(f"{what} needs a real output, but the function returned {aval.str_short()}. {hint}.")
