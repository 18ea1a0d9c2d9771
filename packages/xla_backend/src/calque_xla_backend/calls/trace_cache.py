"""Tracing a function once for each set of types: the cache of jaxprs behind `jit`.

One idea: the key of a trace holds everything that the trace depends on: the function, the structure and types of its
arguments, the static arguments, settings, named axes and rules.  So a function is traced once, whether it is called,
differentiated or batched.  The cache is weak in the function.

A trace that captured tracers of an enclosing trace is valid only inside it: the trace that owns the tracers keeps it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple

from calque_core import Jaxpr, hoist_tracers, is_tracer, rule_epoch, stage, typeof
from calque_core.extend import (
    FlatFunction,
    JaxprTrace,
    StaticArguments,
    StaticKeys,
    Statics,
    arg_names,
    check_arrays,
    describe_function,
    here,
    static_keys,
    with_static,
)
from calque_pytree import PyTreeDef, tree_flatten

Value = Any
Arguments = tuple[tuple[Value, ...], dict[str, Value]]


class Call(NamedTuple):
    """A call: its static arguments with their keys, and its dynamic arguments with their leaves."""

    statics: Statics
    static_keys: StaticKeys
    dynamic: Arguments
    leaves: list[Value]
    in_tree: PyTreeDef


class Traced(NamedTuple):
    """A traced function: a closed jaxpr, the captured values for its leading arguments, and the output tree."""

    jaxpr: Jaxpr
    captured: Sequence[Value]
    out_tree: PyTreeDef


class TraceCache:
    """The traces of one function with one choice of static arguments."""

    __slots__ = ("__weakref__", "running", "traces")

    def __init__(self) -> None:
        self.traces: dict[tuple[Any, ...], Traced] = {}
        self.running: set[Hashable] = set()

    def find(self, key: tuple[Any, ...]) -> Traced | None:
        """Return the trace under `key` in this cache or in an enclosing trace, or None."""
        traced = self.traces.get(key)
        if traced is None:
            for trace in _enclosing_traces():
                item = trace.memo.get((id(self), key))
                if item is not None:
                    traced = item[0]
                    break
        return traced

    def keep(self, key: tuple[Any, ...], traced: Traced, fun: Any) -> None:
        """Keep a trace while the function lives; with captured tracers, while their trace is open."""
        owners = {id(x._trace): x._trace for x in traced.captured if is_tracer(x)}
        if not owners:
            self.traces[key] = traced
        elif len(owners) == 1:
            owner = owners.popitem()[1]
            if isinstance(owner, JaxprTrace):
                owner.memo[id(self), key] = traced, self, fun  # which keeps the ids unique


def _enclosing_traces() -> Iterator[JaxprTrace]:
    trace = here().trace
    while trace is not None:
        if isinstance(trace, JaxprTrace):
            yield trace
        trace = trace.parent


_caches: dict[int, tuple[weakref.ref[Any], dict[Hashable, TraceCache]]] = {}


def cache_of(fun: Any, options: Hashable) -> TraceCache:
    """Return the cache of a function, which dies with the function; a new cache for any other callable.

    The trace of an object can hold the object, if its derivative rules call it: a cache here would never be freed.
    """
    if not isinstance(fun, FunctionType):
        return TraceCache()
    entry = _caches.get(id(fun))
    if entry is None or entry[0]() is not fun:
        number = id(fun)
        entry = _caches[number] = weakref.ref(fun, lambda dead: _forget(number, dead)), {}
    return entry[1].setdefault(options, TraceCache())


def _forget(number: int, dead: weakref.ref[Any]) -> None:
    entry = _caches.get(number)
    if entry is not None and entry[0] is dead:  # another function may have this id by now
        del _caches[number]


def forget_traces() -> None:
    """Drop the traces of all functions."""
    for _, caches in list(_caches.values()):
        for cache in list(caches.values()):
            cache.traces.clear()


class TracedFunction:
    """A function with its static arguments, traced once for each set of types."""

    __slots__ = ("cache", "fun", "has_static", "static")

    def __init__(self, fun: Callable[..., Any], static: StaticArguments) -> None:
        self.fun, self.static = fun, static
        self.has_static = bool(static.positions or static.names)
        self.cache = cache_of(fun, static)

    def split(self, args: tuple[Value, ...], kwargs: dict[str, Value]) -> tuple[Statics, StaticKeys, Arguments]:
        """Return the static arguments, their keys, and the dynamic arguments.

        Raises: TypeError for a static argument without a hash.
        """
        if not self.has_static:
            return (), (), (args, kwargs)
        statics, dynamic = self.static.split(args, kwargs)
        return statics, static_keys("jit", self.fun, statics), dynamic

    def call(self, statics: Statics, keys: StaticKeys, dynamic: Arguments) -> Call:
        """Return the call, with its dynamic arguments flattened."""
        leaves, in_tree = tree_flatten(dynamic)
        return Call(statics, keys, dynamic, leaves, in_tree)

    def avals(self, call: Call) -> tuple[Any, ...]:
        """Return the types of the leaves.  Raises: TypeError that names an argument that is not an array."""
        try:
            return tuple(map(typeof, call.leaves))
        except TypeError as error:
            type_error = error
        caller = f"jit of {describe_function(self.fun)}"
        check_arrays(call.leaves, lambda: arg_names(self.fun, *call.dynamic), caller)
        raise type_error

    def trace(self, call: Call) -> Traced:
        """Return the trace for the types of a call; the first call for these types traces the function.

        Raises: RecursionError if the function calls itself with the same types; any error of the function.
        """
        avals = self.avals(call)
        key = call.static_keys, call.in_tree.key, avals, here().settings, here().axis_env, rule_epoch()
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
            traced = self._trace_uncached(call, avals)
        finally:
            self.cache.running.discard(running)
        self.cache.keep(key, traced, self.fun)
        return traced

    def _trace_uncached(self, call: Call, avals: Sequence[Any]) -> Traced:
        flat = FlatFunction(with_static(self.fun, "jit", call.statics), call.in_tree, "jit")
        names = partial(arg_names, self.fun, *call.dynamic)
        try:
            # The method, and not `flat`: in Python 3.12, a call through its type takes a third of C's recursion limit.
            jaxpr = stage(flat.__call__, avals, verb="jit", user_fun=self.fun, arg_names=names)
        except RecursionError as error:
            if not hasattr(error, "__notes__"):
                error.add_note(
                    f"This happened in tracing {describe_function(self.fun)}. Nest less deeply, or raise the limit "
                    "with sys.setrecursionlimit: a level of jit takes 10 frames."
                )
            raise
        closed, captured = hoist_tracers(jaxpr)
        return Traced(closed, captured, flat.out_tree)
