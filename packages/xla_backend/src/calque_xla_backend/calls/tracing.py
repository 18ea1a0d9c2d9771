"""Tracing a function once for each set of types.

One idea: the key of a trace holds all that the trace depends on: the structure and types of the arguments, the static
arguments, settings, named axes and rules.  So a function is traced once, whether it is called, differentiated or
batched.

Read next: `cache.py`, which keeps the traces.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from calque_core import hoist_tracers, stage, typeof
from calque_core.config import reports
from calque_core.engine import (
    FlatFunction,
    StaticArguments,
    Statics,
    arg_names,
    discharge_programs,
    is_reference,
    leaf_names,
    name_of,
    short_repr,
    taking_references,
    with_static,
)
from calque_core.extend import check_arrays, describe_function, where
from calque_pytree import PyTreeDef, tree_flatten
from calque_xla_backend.calls.cache import cache_of
from calque_xla_backend.calls.call import Arguments, Call, TracedCall, by_position, positional_names
from calque_xla_backend.calls.differences import differences
from calque_xla_backend.calls.shardings import NO_SHARDINGS, FunctionShardings, constrain
from calque_xla_backend.calls.static_keys import StaticKeys, static_keys
from calque_xla_backend.runtime.log import log_trace
from calque_xla_backend.runtime.profiler import phase

Value = Any


class TracedFunction:
    """A function with its static arguments, traced once for each set of types."""

    __slots__ = ("cache", "fun", "has_static", "name", "names", "shardings", "static")

    def __init__(
        self, fun: Callable[..., Any], static: StaticArguments, shardings: FunctionShardings = NO_SHARDINGS
    ) -> None:
        self.fun, self.static, self.shardings = fun, static, shardings
        self.name: str = name_of(fun)
        self.has_static = bool(static.positions or static.names)
        self.cache = cache_of(fun, (static, shardings.key) if shardings else static)
        self.names = positional_names(fun)

    def split(self, args: tuple[Value, ...], kwargs: dict[str, Value]) -> tuple[Statics, StaticKeys, Arguments]:
        """Return the static arguments, their keys, and the dynamic arguments, by position as far as possible.

        Raises: TypeError for a static argument without a hash.
        """
        if kwargs:
            args, kwargs = by_position(self.names, args, kwargs)
        if not self.has_static:
            return (), (), (args, kwargs)
        statics, dynamic = self.static.split(args, kwargs)
        return statics, static_keys("jit", self.fun, statics), dynamic

    def call(self, statics: Statics, keys: StaticKeys, dynamic: Arguments) -> Call:
        """Return the call, with its dynamic arguments flattened.

        Raises: TypeError for static data in them that may change while the program is kept.
        """
        leaves, in_tree = tree_flatten(dynamic)
        try:
            kept_tree = in_tree.snapshot()
        except TypeError:
            raise TypeError(data_message(f"jit of {describe_function(self.fun)}{where()}", in_tree)) from None
        return Call(statics, keys, dynamic, leaves, kept_tree)

    def avals(self, call: Call) -> tuple[Any, ...]:
        """Return the types of the leaves.  Raises: TypeError that names an argument that is not an array."""
        try:
            return tuple(map(typeof, call.leaves))
        except TypeError:
            pass  # outside of the `except` block, the next error has no context
        caller = f"jit of {describe_function(self.fun)}"
        check_arrays(call.leaves, lambda: arg_names(self.fun, *call.dynamic), caller)
        return tuple(map(typeof, call.leaves))  # raises again, if each argument is an array

    def trace(self, call: Call) -> TracedCall:
        """Return the trace for the types of a call; the first call for these types traces the function.

        Raises: RecursionError if the function calls itself with the same types; any error of the function.
        """
        avals = self.avals(call)
        key = call.key(avals)
        traced = self.cache.find(key)
        if traced is not None:
            return traced
        running = threading.get_ident(), key
        if running in self.cache.running:
            raise RecursionError(
                f"jit of {describe_function(self.fun)} calls itself with arguments of the same types, so its trace "
                "would never end. Let a static argument decide when to stop."
            )
        self.cache.running.add(running)
        try:
            with phase("trace", self.name) as step:
                traced = self._trace_uncached(call, avals)
        finally:
            self.cache.running.discard(running)
        if reports().log_compiles:
            self._log(call, avals, step.seconds)
        self.cache.keep(key, traced, self.fun)
        return traced

    def _log(self, call: Call, avals: Sequence[Any], seconds: float) -> None:
        reason = str(differences(self.fun, call, avals, self.cache.traces)[0])
        log_trace(describe_function(self.fun), arg_names(self.fun, *call.dynamic), avals, seconds, reason)

    def _trace_uncached(self, call: Call, avals: Sequence[Any]) -> TracedCall:
        in_tree = call.in_tree.snapshot()  # the function may write to its data
        flat = FlatFunction(with_static(self.fun, "jit", call.statics), in_tree, "jit")
        names = partial(arg_names, self.fun, *call.dynamic)
        # The method, and not `flat`: in Python 3.12, a call through its type takes a third of C's recursion limit.
        fun = self._constrained(flat, call, names) if self.shardings else flat.__call__
        takes_references = any(map(is_reference, call.leaves))
        fun = taking_references(fun) if takes_references else fun
        jaxpr = stage(fun, avals, verb="jit", user_fun=self.fun, arg_names=names)
        closed, captured = hoist_tracers(jaxpr)
        if not takes_references and not any(map(is_reference, captured)):
            return TracedCall(closed, captured, call.in_tree, flat.out_tree)
        pure = discharge_programs([closed], [*captured, *call.leaves])
        return TracedCall(pure.programs[0], captured, call.in_tree, flat.out_tree, pure.written)

    def _constrained(
        self, flat: FlatFunction, call: Call, names: Callable[[], Sequence[str]]
    ) -> Callable[..., Sequence[Value]]:
        """Return a function of leaves with the constraints that the shardings of `jit` demand."""
        shardings, caller = self.shardings.of_arguments(call), f"jit of {describe_function(self.fun)}"

        def fun(*leaves: Value) -> Sequence[Value]:
            outs = flat.__call__(*constrain(leaves, shardings, caller, names))
            results = self.shardings.of_results(flat.out_tree)
            return constrain(outs, results, caller, lambda: leaf_names("result", flat.out_tree.unflatten(outs)))

        return fun


def data_message(caller: str, in_tree: PyTreeDef) -> str:
    """Return the message for static data in the arguments that may change while their program is kept."""
    kind, data = in_tree.data_without_hash  # type: ignore[misc]
    return (
        f"{caller}: the static data {short_repr(data)} of {kind.__name__} in the arguments has no hash, so a change of "
        "it would not be seen. Use tuples, lists or dicts of values with a hash, and a field that is not static for an "
        "array."
    )
