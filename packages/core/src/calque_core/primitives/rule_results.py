"""Adapters of rules: single results become lists, and wrong results become errors.

One idea: an author's function is wrapped once, at its definition.  The wrapper turns a single result into a list, and
refuses a result of the wrong form, since it can name the primitive and the rule.  It takes less than 0.1 us per result;
our own short forms are not wrapped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core.calls.api_util import describe_value
from calque_core.frames.source import describe_function, where
from calque_core.types.avals import AbstractValue, ShapedArray, is_array_like

Function = Callable[..., Any]
Adapter = Callable[[str, Function], Function]
Value = Any

zeros: set[type] = set()  # `ops/calls/linear.py`, which imports the primitives, adds the class `Zero`


def adapt(name: str, kind: Any, function: Function, multiple_results: bool) -> Function:
    """Return the rule `function` of the primitive `name`, wrapped if its kind has an adapter."""
    adapters = _OF_LISTS if multiple_results else _OF_SINGLE_RESULTS
    adapter = adapters.get(kind)
    return function if adapter is None or getattr(function, "gives_lists", False) else adapter(name, function)


def gives_lists(function: Function) -> Function:
    """Mark a rule of a single-result primitive that takes and returns lists already, like the short forms."""
    function.gives_lists = True  # type: ignore[attr-defined]
    return function


def wrong_result(name: str, kind: str, function: Function, result: Any, advice: str) -> TypeError:
    """Return the error for a rule of the primitive `name` that returned `result`."""
    rule = f"the {kind} rule {describe_function(function)} of '{name}'"
    return TypeError(f"{rule} returned {describe_value(result)}{where()}. {advice}")


# Rules of single results


def _adapt_abstract_eval(name: str, fn: Function) -> Function:
    def adapted(*avals: Any, **params: Any) -> list[Any]:
        aval = fn(*avals, **params)
        if type(aval) is not ShapedArray and not isinstance(aval, AbstractValue):
            raise wrong_result(name, "abstract_eval", fn, aval, "Return the result's type, a ShapedArray.")
        return [aval]

    return adapted


def _adapt_jvp(name: str, fn: Function) -> Function:
    def adapted(primals: Any, tangents: Any, /, **params: Any) -> tuple[list[Any], list[Any]]:
        out, out_dot = _pair(name, "jvp", fn, fn(primals, tangents, **params), "the result and its tangent")
        if not is_array_like(out):
            raise wrong_result(name, "jvp", fn, out, "Return an array as the first of the pair, the result.")
        if type(out_dot) not in zeros and not is_array_like(out_dot):
            raise wrong_result(name, "jvp", fn, out_dot, "Return an array or a Zero as the second, the tangent.")
        return [out], [out_dot]

    return adapted


def _adapt_pair(name: str, fn: Function) -> Function:
    def adapted(primals: Any, series: Any, /, **params: Any) -> tuple[list[Any], list[Any]]:
        out, out_series = _pair(name, "jet", fn, fn(primals, series, **params), "the result and its series")
        return [out], [out_series]

    return adapted


def _adapt_batch(name: str, fn: Function) -> Function:
    def adapted(args: Any, dims: Any, /, **params: Any) -> tuple[list[Any], list[Any]]:
        return _check_batched(name, "batch", fn, fn(args, dims, **params))

    return adapted


def _adapt_axis_batch(name: str, fn: Function) -> Function:
    def adapted(axis: Any, args: Any, dims: Any, /, **params: Any) -> tuple[list[Any], list[Any]]:
        return _check_batched(name, "axis_batch", fn, fn(axis, args, dims, **params))

    return adapted


def _check_batched(name: str, kind: str, fn: Function, result: Any) -> tuple[list[Any], list[Any]]:
    out, dim = _pair(name, kind, fn, result, "the result and its batch axis")
    if not is_array_like(out):
        raise wrong_result(name, kind, fn, out, "Return an array as the first of the pair, the result.")
    if dim is not None and type(dim) is not int:
        dim = _axis(name, kind, fn, dim)
    return [out], [dim]


def _axis(name: str, kind: str, fn: Function, dim: Any) -> int:
    if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)):
        raise wrong_result(name, kind, fn, dim, "Return an int, or None, as the batch axis of a result.")
    return int(dim)


def _adapt_transpose(name: str, fn: Function) -> Function:
    rule = _adapt_transpose_of_lists(name, fn)
    return lambda cts, *operands, **params: rule(cts[0], *operands, **params)


def _adapt_out(kind: str) -> Adapter:
    def adapter(name: str, fn: Function) -> Function:
        def adapted(*args: Any, **params: Any) -> list[Any]:
            out = fn(*args, **params)
            if not is_array_like(out):
                raise wrong_result(name, kind, fn, out, "Return the result, an array.")
            return [out]

        return adapted

    return adapter


_COTANGENT = "Return an array or None as the cotangent of an operand."


def _pair(name: str, kind: str, fn: Function, result: Any, contents: str) -> Any:
    if type(result) is tuple and len(result) == 2:
        return result
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise wrong_result(name, kind, fn, result, f"Return a pair: {contents}.")
    return result


# Rules of several results


def _adapt_abstract_eval_of_lists(name: str, fn: Function) -> Function:
    def adapted(*avals: Any, **params: Any) -> Sequence[Any]:
        out_avals: Sequence[Any] = fn(*avals, **params)
        if not isinstance(out_avals, (list, tuple)) or not all(isinstance(aval, AbstractValue) for aval in out_avals):
            raise wrong_result(name, "abstract_eval", fn, out_avals, "Return a list with one ShapedArray per result.")
        return out_avals

    return adapted


def _adapt_lists(kind: str, contents: str) -> Adapter:
    """Return an adapter for rules that return two lists of one length."""

    def adapter(name: str, fn: Function) -> Function:
        def adapted(*args: Any, **params: Any) -> tuple[Sequence[Any], Sequence[Any]]:
            first, second = _pair(name, kind, fn, fn(*args, **params), f"{contents}, as two lists")
            for x in (first, second):
                if not isinstance(x, (list, tuple)):
                    raise wrong_result(name, kind, fn, x, f"Return two lists: {contents}.")
            if len(first) != len(second):
                advice = f"Return two lists of one length: {contents}. They have {len(first)} and {len(second)} items."
                raise wrong_result(name, kind, fn, (first, second), advice)
            return first, second

        return adapted

    return adapter


def _adapt_transpose_of_lists(name: str, fn: Function) -> Function:
    def adapted(*args: Any, **params: Any) -> Any:
        cts = fn(*args, **params)
        if isinstance(cts, (list, tuple)):  # if not, the caller raises an error with the number of operands
            for ct in cts:
                if ct is not None and type(ct) not in zeros and not is_array_like(ct):
                    raise wrong_result(name, "transpose", fn, ct, _COTANGENT)
        return cts

    return adapted


def _adapt_list(kind: str) -> Adapter:
    def adapter(name: str, fn: Function) -> Function:
        def adapted(*args: Any, **params: Any) -> Sequence[Any]:
            outs: Sequence[Any] = fn(*args, **params)
            if not isinstance(outs, (list, tuple)):
                raise wrong_result(name, kind, fn, outs, "Return a list of the results.")
            return outs

        return adapted

    return adapter


_OF_SINGLE_RESULTS: dict[Any, Adapter] = {
    "abstract_eval": _adapt_abstract_eval,
    "jvp": _adapt_jvp,
    "jet": _adapt_pair,
    "batch": _adapt_batch,
    "axis_batch": _adapt_axis_batch,
    "transpose": _adapt_transpose,
    "partial_eval": _adapt_out("partial_eval"),
    "decomposition": _adapt_out("decomposition"),
}
_OF_LISTS: dict[Any, Adapter] = {
    "abstract_eval": _adapt_abstract_eval_of_lists,
    "jvp": _adapt_lists("jvp", "the results and their tangents"),
    "batch": _adapt_lists("batch", "the results and their batch axes"),
    "axis_batch": _adapt_lists("axis_batch", "the results and their batch axes"),
    "transpose": _adapt_transpose_of_lists,
    "partial_eval": _adapt_list("partial_eval"),
    "decomposition": _adapt_list("decomposition"),
}
