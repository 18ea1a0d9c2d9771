"""`checkpoint`: a function whose derivative computes intermediate results again instead of keeping them.

One idea: under a trace, a checkpointed function is one operation that holds the function's program; when it is
linearized, a policy chooses the values that the derivative keeps.  In evaluation, it is the function.

Read next: `rules/calls/checkpoint.py` for that operation's derivatives, `checkpoint_policies.py` for the policies.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, overload

import numpy as np

from calque_autodiff.checkpoint_policies import Policy, check_policy
from calque_core import Jaxpr, api_boundary, stage, trace_state_clean, typeof
from calque_core.engine import (
    FlatFunction,
    add_remedy,
    arg_names,
    array_leaves,
    copy_writable,
    discharge_programs,
    flatten_arrays,
    is_array_like,
    join_constants,
    narrow,
    program_of,
    static_arguments,
    transform_of,
    with_static,
)
from calque_core.extend import JaxprTrace, check_arrays, check_callable, describe_function, where
from calque_core.lax import name_p, remat_p
from calque_pytree import PyTreeDef, tree_flatten

P = ParamSpec("P")
R = TypeVar("R")
Value = Any


@overload
def checkpoint(
    fun: Callable[P, R],
    *,
    prevent_cse: bool = ...,
    policy: Policy | None = ...,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Sequence[str] = ...,
) -> Callable[P, R]: ...


@overload
def checkpoint(
    fun: None = None,
    *,
    prevent_cse: bool = ...,
    policy: Policy | None = ...,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Sequence[str] = ...,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


@api_boundary
def checkpoint(
    fun: Any = None,
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> Any:
    """Return `fun` as a function whose derivative keeps the arguments, and computes other values again.

    `policy` chooses results to keep as well: one of `checkpoint_policies`, or a function of an operation.
    `prevent_cse=False` lets a compiler merge the second computation with the first: right inside a loop, where it
    cannot merge steps anyway.  Static arguments, at the positions `static_argnums` or with the names `static_argnames`,
    are passed unchanged and need no hash.  Without `fun`, a decorator is returned.
    Raises: TypeError if `fun` or `policy` is not a function or, when called, for an argument that is not an array;
    ValueError if a static argument does not exist.

    >>> import numpy as np
    >>> from calque_autodiff import checkpoint, grad
    >>> from calque_core import lax
    >>> grad(checkpoint(lambda x: lax.sin(lax.sin(x))))(0.0)
    np.float64(1.0)
    """
    if fun is None:
        options = {"static_argnums": static_argnums, "static_argnames": static_argnames}
        return functools.partial(checkpoint, prevent_cse=prevent_cse, policy=policy, **options)
    check_callable(fun, "checkpoint")
    caller = f"checkpoint of {describe_function(fun)}"
    if policy is not None:
        check_policy(caller, policy)
    static = static_arguments(caller, fun, static_argnums, static_argnames)
    how = {"policy": policy, "prevent_cse": bool(prevent_cse), "differentiated": False}

    @transform_of(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        statics, dynamic = static.split(args, kwargs)
        leaves, in_tree = tree_flatten(dynamic)
        if not all(map(is_array_like, leaves)):
            leaves, in_tree = flatten_arrays(dynamic)
        names = functools.partial(arg_names, fun, *dynamic)
        _check_leaves(leaves, names, caller)
        call = FlatFunction(with_static(fun, "checkpoint", statics), in_tree, "checkpoint")
        leaves = [*narrow(leaves)]
        if trace_state_clean():
            outs = copy_writable(call(*leaves))
            return call.out_tree.unflatten(outs)
        avals = [typeof(x) for x in leaves]
        make = functools.partial(_stage, call, avals, fun, names)
        # The values of static arguments are not in the key of a function.
        staged, out_tree = make() if statics else program_of("checkpoint", fun, in_tree, avals, make)
        if policy is not None:
            # A policy may be a new object at each call; memos by policy live on this copy, and die with it.
            staged = staged.replace()
        pure = discharge_programs(*join_constants([staged]))
        outs = remat_p.bind(*pure.arrays, *leaves, jaxpr=pure.programs[0], **how)
        return out_tree.unflatten(pure.results(outs))

    return checkpointed


remat = checkpoint


def _check_leaves(leaves: Sequence[Value], names: Callable[[], Sequence[str]], caller: str) -> None:
    try:
        check_arrays(leaves, names, caller)
    except TypeError as error:
        add_remedy(error, "An argument that is no array can be static: name it in static_argnums or static_argnames.")
        raise


class BorrowingTrace(JaxprTrace):
    """Leaves captured arrays uncopied: `checkpoint` binds the constants as operands at once."""

    def captured_const(self, x: np.ndarray[Any, Any]) -> Value:
        """Return a captured array uncopied: the equation holds it as an operand."""
        return x


def _stage(
    call: FlatFunction, avals: Sequence[Any], fun: Any, names: Callable[[], Sequence[str]]
) -> tuple[Jaxpr, PyTreeDef]:
    """Return the program of a function and the structure of its result."""
    jaxpr = stage(call, avals, verb="checkpoint", user_fun=fun, arg_names=names, trace_type=BorrowingTrace)
    return jaxpr, call.out_tree


def checkpoint_name(x: Any, name: str) -> Any:
    """Return `x`, an array or a pytree of arrays, under a name that policies of checkpoints test.

    Shapes and dtypes: kept.
    Raises: TypeError if `name` is not a string, or a leaf of `x` not an array.

    >>> from calque_autodiff import checkpoint_name
    >>> checkpoint_name(2.0, "hidden")
    np.float64(2.0)
    """
    if not isinstance(name, str):
        raise TypeError(
            f"checkpoint_name{where()} got the name {name!r} of type {type(name).__name__}. Give a string, after the "
            "value: checkpoint_name(x, 'hidden')."
        )
    leaves, treedef = array_leaves(f"checkpoint_name{where()}", "x", x)
    return treedef.unflatten([name_p.bind(leaf, name=name) for leaf in leaves])
