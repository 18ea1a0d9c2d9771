"""Closures made explicit: the tracers that a function closes over become arguments.

One idea: a rule of a custom derivative gets the derivative of arguments alone.  A function that takes a function, such
as a solver, passes on its closure as arguments, and so has a derivative by the values that its user closed over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calque_core import api_boundary, eval_jaxpr, hoist_tracers, stage, typeof
from calque_core.engine import FlatPrimals, flatten_primals, named_after
from calque_core.extend import check_callable, describe_function, where
from calque_pytree import tree_flatten

Value = Any


@api_boundary
def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list[Value]]:
    """Return `fun` as a function without a closure over tracers, and the list of these tracers, its last arguments.

    The function is traced for arguments of the types of `example_args`, and takes arguments of these types, then the
    tracers: `converted(*args, *tracers)`.  Other values that `fun` closes over stay in it.
    Raises: TypeError if an argument is not an array, or if the function is called with another structure.

    >>> from calque_autodiff import closure_convert, grad
    >>> def scaled(w):
    ...     converted, tracers = closure_convert(lambda x: w * x, 1.0)
    ...     return converted(3.0, *tracers)
    >>> grad(scaled)(2.0)
    np.float64(3.0)
    """
    check_callable(fun, "closure_convert")
    leaves, in_tree = flatten_primals("closure_convert", fun, example_args)
    flat = FlatPrimals(fun, in_tree, "closure_convert")
    jaxpr, tracers = hoist_tracers(stage(flat, [typeof(x) for x in leaves], verb="closure_convert", user_fun=fun))
    out_tree, count, extra, name = flat.out_tree, len(example_args), len(tracers), describe_function(fun)

    @named_after(fun)
    def converted(*args: Any) -> Any:
        own, values = args[: len(args) - extra], args[len(args) - extra :]
        own_leaves, own_tree = tree_flatten(own)
        if len(args) != count + extra or own_tree != in_tree:
            raise TypeError(
                f"closure_convert of {name}{where()} got {len(args)} arguments of the structure "
                f"{tree_flatten(args)[1]}. Give {count} arguments of the structure {in_tree}, then the "
                f"{extra} values of the closure."
            )
        return out_tree.unflatten(eval_jaxpr(jaxpr, jaxpr.consts, *values, *own_leaves))

    del converted.__wrapped__  # type: ignore[attr-defined]  # it closes over the tracers; rules that hold them are traced early
    return converted, tracers
