"""Tracing for users: `make_jaxpr`, `eval_shape`.

Read next: `stage.py`, which does the work.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from operator import index
from typing import Any, ParamSpec

from calque_core.calls.api_util import FlatFunction, arg_names, check_arrays, check_callable
from calque_core.calls.static_arguments import static_arguments, with_static
from calque_core.context import entered, here
from calque_core.frames.source import describe_function
from calque_core.frames.tracebacks import api_boundary, transform_of
from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.late import late_function
from calque_core.staging.stage import stage
from calque_core.types.avals import AbstractValue, reference_types, typeof
from calque_core.types.references import check_distinct_references
from calque_core.types.stand_in import as_stand_in, stand_in_of
from calque_pytree import PyTreeDef, tree_flatten

P = ParamSpec("P")


@api_boundary
def make_jaxpr(
    fun: Callable[P, Any],
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    return_shape: bool = False,
) -> Callable[P, Any]:
    """Return a function that returns the jaxpr of `fun` on its arguments instead of the result.

    Arguments are arrays, scalars, avals, or `ShapeDtypeStruct`s and other objects with a shape and a dtype, in any
    pytrees; static arguments, at the positions
    `static_argnums` or with the names `static_argnames`, are passed unchanged and need no hash.
    `axis_env` has pairs of a name and a size: axes that collectives in `fun` may name, as under `vmap(axis_name=)`.
    With `return_shape`, it returns a pair of the jaxpr and the result as a pytree of `ShapeDtypeStruct`.
    Raises: TypeError if `fun` is not a function or, when called, for an argument or a result that is not an array;
    ValueError if a static argument does not exist, or for a negative size in `axis_env`.

    >>> from calque_core import lax, make_jaxpr
    >>> print(make_jaxpr(lambda x: lax.sin(x) * 2.0)(3.0))
    { lambda ; a:f64[]. let b:f64[] = sin a; c:f64[] = mul b 2.0 in (c,) }
    """
    check_callable(fun, "make_jaxpr")
    caller = f"make_jaxpr of {describe_function(fun)}"
    static = static_arguments(caller, fun, static_argnums, static_argnames)
    named = _named_axes(caller, axis_env or ())

    @transform_of(fun)
    def traced(*args: P.args, **kwargs: P.kwargs) -> Any:
        statics, dynamic = static.split(args, kwargs)
        static_fun = with_static(fun, "make_jaxpr", statics)
        with entered(axis_env=(*here().axis_env, *named)) if named else nullcontext():
            jaxpr, out_tree = _staged("make_jaxpr", fun, static_fun, dynamic)
        return (jaxpr, _stand_ins(jaxpr, out_tree)) if return_shape else jaxpr

    return traced


@api_boundary
def eval_shape(fun: Callable[P, Any], *args: P.args, **kwargs: P.kwargs) -> Any:
    """Return the result of `fun` as a pytree of `ShapeDtypeStruct`, without computing it.

    Arguments are as for `make_jaxpr`: of an object with a shape and a dtype, only these are used.
    Raises: TypeError for an argument or a result that is not an array; the errors of `fun` about types and shapes.

    >>> from calque_core import ShapeDtypeStruct, eval_shape, lax
    >>> eval_shape(lax.sin, ShapeDtypeStruct((2,), "float32"))
    ShapeDtypeStruct(shape=(2,), dtype=float32)
    """
    check_callable(fun, "eval_shape")
    return _stand_ins(*_staged("eval_shape", fun, fun, (args, kwargs)))


def _staged(verb: str, fun: Any, static_fun: Any, arguments: tuple[Any, Any]) -> tuple[Jaxpr, PyTreeDef]:
    """Return the program of `static_fun`, which is `fun` with its static arguments, and the structure of its result."""
    leaves, in_tree = tree_flatten(arguments)
    names = functools.partial(arg_names, fun, *arguments)
    caller = f"{verb} of {describe_function(fun)}"
    if reference_types:
        check_distinct_references(caller, leaves)
        leaves = [typeof(x) if type(x) in reference_types else x for x in leaves]
    leaves = [as_stand_in(x) for x in leaves]
    check_arrays([0 if isinstance(x, AbstractValue) else x for x in leaves], names, caller)
    flat = FlatFunction(static_fun, in_tree, verb)
    avals = [abstract(x) for x in leaves]
    fun_of_leaves = _taking_references(flat) if reference_types else flat
    jaxpr = stage(fun_of_leaves, avals, verb=verb, user_fun=fun, arg_names=names)
    return jaxpr, flat.out_tree


def _stand_ins(jaxpr: Jaxpr, out_tree: PyTreeDef) -> Any:
    return out_tree.unflatten([stand_in_of(aval) for aval in jaxpr.out_avals])


def _named_axes(caller: str, axis_env: Any) -> tuple[tuple[Hashable, int], ...]:
    """Return the argument `axis_env`, pairs of a name and a size."""
    try:
        pairs = tuple((name, index(size)) for name, size in axis_env)
    except (TypeError, ValueError):
        raise TypeError(f"{caller}: axis_env is {axis_env!r}. Give pairs of a name and a size.") from None
    for name, size in pairs:
        if size < 0 or not isinstance(name, Hashable):
            raise ValueError(f"{caller}: axis_env has the axis {name!r} of size {size}. Give a name, and zero or more.")
    return pairs


def abstract(x: Any) -> Any:
    """Return the aval of an argument, which may be an aval itself."""
    return x if isinstance(x, AbstractValue) else typeof(x)


_taking_references = late_function("calque_core.ref", "taking_references")
