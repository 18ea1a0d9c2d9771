"""`grad` and `value_and_grad`: the derivative of a scalar function, in reverse.

Read next: `linearize.py` and `programs/transpose.py`, the two halves of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from calque_autodiff.programs.transpose import backward_linear
from calque_autodiff.verbs.checks import check_input, check_scalar_output
from calque_autodiff.verbs.linear_functions import spread_cotangents
from calque_autodiff.verbs.linearize import linearize_flat
from calque_core import ShapedArray, api_boundary, current_trace, typeof
from calque_core.engine import (
    Captures,
    ChosenArguments,
    FlatChosen,
    arg_names,
    copy_shared,
    function_evaluators,
    is_own,
    lower_avals,
    lowered,
    narrow,
    on_device_of,
    own_types,
    raised,
    transform_of,
)
from calque_core.extend import check_arrays, check_callable, describe_function
from calque_pytree import tree_flatten, tree_leaves

P = ParamSpec("P")
R = TypeVar("R")
Value = Any


@api_boundary
def value_and_grad(
    fun: Callable[P, R],
    argnums: int | Sequence[int] | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    argnames: str | Sequence[str] | None = None,
) -> Callable[P, tuple[R, Any]]:
    """Return a function that computes the value of `fun` and its gradient.

    `argnums` (an int, which may count from the end, or a sequence) chooses positional arguments to differentiate:
    the first, by default; a sequence gives a tuple of gradients.  `argnames` (a name, or a sequence of names, which
    gives a dict of gradients) chooses arguments by name, however they are passed.  With both, the gradient is a pair.
    A gradient has the structure, shapes and dtypes of its argument.  With `has_aux`, `fun` returns a pair, and the
    value is that pair.  `holomorphic` promises that `fun` is, and lets complex arguments have a complex output.
    `allow_int` gives integer arguments `float0` gradients.
    Raises: TypeError if an argument is not floating (complex if `holomorphic`), or the output is not a real scalar;
    ValueError if `argnums` is out of range.

    >>> from calque_autodiff import value_and_grad
    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, np.float64(6.0))
    """
    both = _transform(fun, "value_and_grad", argnums, argnames, has_aux, (holomorphic, allow_int))
    return transform_of(fun)(both)


@api_boundary
def grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    argnames: str | Sequence[str] | None = None,
) -> Callable[P, Any]:
    """Return a function that computes the gradient of the scalar function `fun`.

    `argnums` (an int, which may count from the end, or a sequence) chooses positional arguments to differentiate:
    the first, by default; a sequence gives a tuple of gradients.  `argnames` (a name, or a sequence of names, which
    gives a dict of gradients) chooses arguments by name, however they are passed.  With both, the gradient is a pair.
    A gradient has the structure, shapes and dtypes of its argument.  With `has_aux`, `fun` returns a pair, and the
    result is a pair of the gradient and the second value.  `holomorphic` promises that `fun` is, and lets complex
    arguments have a complex output.  `allow_int` gives integer arguments `float0` gradients.
    Raises: TypeError if an argument is not floating (complex if `holomorphic`), or the output is not a real scalar;
    ValueError if `argnums` is out of range.

    >>> from calque_autodiff import grad
    >>> grad(lambda x: x * x)(3.0)
    np.float64(6.0)
    """
    both = _transform(fun, "grad", argnums, argnames, has_aux, (holomorphic, allow_int))

    @transform_of(fun)
    def gradient(*args: P.args, **kwargs: P.kwargs) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return gradient


def _transform(
    fun: Callable[..., Any],
    verb: str,
    argnums: int | Sequence[int] | None,
    argnames: str | Sequence[str] | None,
    has_aux: bool,
    options: tuple[bool, bool],
) -> Callable[..., tuple[Any, Any]]:
    check_callable(fun, verb)
    chosen = ChosenArguments(fun, f"{verb} of {describe_function(fun)}", argnums, argnames)

    def value_and_gradient(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        places = chosen.find(args, kwargs)
        positions, names, _ = places
        varied = [args[i] for i in positions]
        if names:
            varied += [kwargs[name] for name in names]
        leaves, tree = tree_flatten(tuple(varied))
        leaf_names = functools.partial(_leaf_names, fun, args, kwargs, positions, names)
        primals, avals = _checked_leaves(chosen.caller, leaves, leaf_names, options)
        flat = FlatChosen(fun, tree, verb, has_aux, places, args, kwargs)
        with Captures(current_trace()) as captures:
            outs, tape = linearize_flat(flat, fun, primals, avals, captures=captures, has_steps=True)
            out = flat.out_tree.unflatten(outs)
            check_scalar_output(chosen.caller, out, outs, holomorphic=options[0])
            out_aval = typeof(outs[0])
            seed = out_aval.dtype.type(1) if type(out_aval) is ShapedArray else _seed(out_aval)
            cts = backward_linear(tape, tape.consts, [seed], is_last=True)
            bars = spread_cotangents(chosen.caller, cts, avals)
            if own_types:
                bars = [_as_gradient(bar, aval, out_aval) for bar, aval in zip(bars, avals)]
            separate = copy_shared(bars, primals, tree_leaves(flat.aux) if has_aux else (), captures.held.values())
        if not function_evaluators.keys().isdisjoint(map(type, primals)):
            separate = on_device_of(primals, separate)
        values = tree.unflatten(separate)
        by_name = dict(zip(names, values[len(positions) :])) if names else {}
        gradients = chosen.arrange(places, values[: len(positions)], by_name)
        return ((out, flat.aux) if has_aux else out), gradients

    return value_and_gradient


def _seed(aval: Any) -> Value:
    """Return the cotangent 1 of an output of an own type."""
    tangent_aval = aval.to_tangent_aval()
    return raised([lower_avals(tangent_aval)[0].dtype.type(1)], tangent_aval)


def _as_gradient(bar: Value, aval: Any, out_aval: Any) -> Value:
    """Return the cotangent of an argument in the type of its gradient: a type of one's own may tell the two apart."""
    return raised(lowered(bar), aval.gradient_aval(out_aval)) if is_own(aval) else bar


def _checked_leaves(
    caller: str, leaves: Sequence[Value], names: Callable[[], Sequence[str]], options: tuple[bool, bool]
) -> tuple[Sequence[Value], list[Any]]:
    """Return the leaves of the chosen arguments in the current settings' dtypes, and their strong types.

    Raises: TypeError for a leaf that has no gradient; the message names it as the user would write it.
    """
    check_arrays(leaves, names, caller)
    holomorphic, allow_int = options
    primals = narrow(leaves)
    avals = [typeof(x).strip_weak_type() for x in primals]
    for i, aval in enumerate(avals):
        if type(aval) is not ShapedArray or aval.kind != "f" or holomorphic:
            check_input(caller, names()[i], aval, holomorphic=holomorphic, allow_int=allow_int)
    return primals, avals


def _leaf_names(
    fun: Any, args: Sequence[Any], kwargs: dict[str, Any], positions: Sequence[int], names: Sequence[str]
) -> list[str]:
    """Return the names of the leaves of the chosen arguments of a call, as the user would write them."""
    all_names = arg_names(fun, args, kwargs)
    counts = [len(tree_flatten(x)[0]) for x in (*args, *(kwargs[k] for k in sorted(kwargs)))]
    starts = [sum(counts[:i]) for i in range(len(counts))]
    keywords = sorted(kwargs)
    places = [*positions, *(len(args) + keywords.index(name) for name in names)]
    return [all_names[starts[p] + i] for p in places for i in range(counts[p])]
