"""The cache of `jit`: all that is kept of a function, in one object.

One idea: a `JitCache` belongs to one function with one choice of static arguments, is shared by every `jit` of it, and
dies with the function.  A bound method is one function of its object, although Python makes a new one at each access;
its cache dies with the object.  Every key has the settings, the named axes and the rule epoch; `Call.key` makes it.
The program of the last call, which is run without a key, is dropped when a rule is replaced.

A trace that captured tracers of an enclosing trace is valid only inside it: the trace that owns the tracers keeps it.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from calque_core import evaluation, is_tracer, rule_epoch
from calque_core.engine import DEFAULT_SETTINGS, Settings, forget_with_rules, here
from calque_core.extend import JaxprTrace
from calque_xla_backend.calls.call import Key, TracedCall
from calque_xla_backend.calls.compiled import NOT_COMPILED, CompiledCall
from calque_xla_backend.calls.reach import refers_to
from calque_xla_backend.calls.static_keys import StaticKeys
from calque_xla_backend.runtime.placement import DeviceType
from calque_xla_backend.runtime.profiler import is_profiling


class Programs:
    """The compiled calls of a function, for one compiler and one choice of donated arguments."""

    __slots__ = ("by_device_types", "by_types", "last", "recent")

    def __init__(self) -> None:
        self.by_types: dict[Key, CompiledCall] = {}  # beside the traces: a device array stores its device type
        self.recent: dict[Settings, Sequence[CompiledCall]] = {}  # the last calls: they save the key, 3 us and more
        self.last: Any = NOT_COMPILED  # of the default settings: it saves their hash, 0.1 us
        # The calls of the default settings with nothing but device arrays: calls with arrays of two shapes in turn save
        # 8 us of 12.
        self.by_device_types: dict[tuple[DeviceType, ...], CompiledCall] = {}

    def recall(self) -> Sequence[Any]:
        """Return the compiled calls to try first in this thread; none under a trace, named axis or profile."""
        context = here()
        if context.trace is evaluation and not context.axis_env and not is_profiling():
            return self.recent.get(context.settings, _NONE)
        return _NONE

    def record(self, compiled: CompiledCall, epoch: int) -> None:
        """Let the next call under the settings of this thread try `compiled`, of this rule epoch, first."""
        context = here()
        if context.trace is evaluation and not context.axis_env:
            others = [x for x in self.recent.get(context.settings, ()) if x is not compiled]
            self.recent[context.settings] = compiled, *others[: _MOST_RECENT - 1]
            if context.settings == DEFAULT_SETTINGS:
                self.last = compiled
                if compiled.is_direct and compiled.is_flat:
                    self.by_device_types[tuple(compiled.device_types)] = compiled
            if epoch != rule_epoch():  # a rule was replaced meanwhile, by this thread or by another
                self.forget_last()

    def find(self, device_types: tuple[DeviceType, ...]) -> Any:
        """Return the compiled call for device arrays alone, which the next call tries first; or `NOT_COMPILED`."""
        compiled = self.by_device_types.get(device_types, NOT_COMPILED)
        if compiled is not NOT_COMPILED:
            self.last = compiled
            if self.by_device_types.get(device_types) is not compiled:  # another thread has replaced a rule meanwhile
                self.last = NOT_COMPILED
        return compiled

    def forget_last(self) -> None:
        """Let the next call look its program up, under a key with the rule epoch."""
        self.recent.clear()
        self.by_device_types.clear()
        self.last = NOT_COMPILED

    def clear(self) -> None:
        """Drop all programs; the next call takes the general path."""
        self.by_types.clear()
        self.forget_last()


_MOST_RECENT = 3  # calls that are tried: a failed try takes 0.4 us
_NONE = (NOT_COMPILED,)


class JitCache:
    """The traces and the programs of one function with one choice of static arguments."""

    __slots__ = ("__weakref__", "programs", "running", "traces")

    def __init__(self) -> None:
        self.traces: dict[
            Key, TracedCall
        ] = {}  # by avals: shared by calls under a trace and by programs for all devices
        self.programs: dict[Hashable, Programs] = {}  # by compiler and donated arguments
        self.running: set[Hashable] = set()  # the threads that trace now, with the keys of their traces
        _all.add(self)

    def programs_for(self, options: Hashable) -> Programs:
        """Return the one `Programs` with these options."""
        return self.programs.setdefault(options, Programs())

    def find(self, key: Key) -> TracedCall | None:
        """Return the trace under `key` in this cache or in an enclosing trace, or None."""
        traced = self.traces.get(key)
        if traced is None:
            for trace in _enclosing_traces():
                item = trace.memo.get((id(self), key))
                if item is not None:
                    traced = item[0]
                    break
        return traced

    def keep(self, key: Key, traced: TracedCall, fun: Any) -> None:
        """Keep a trace while the function lives; with captured tracers, while their trace is open."""
        owners = {id(x._trace): x._trace for x in traced.captured if is_tracer(x) or x._trace is not evaluation}
        if not owners:
            release_if_held(fun, traced, key, self)
            self.traces[key] = traced
        elif len(owners) == 1:
            owner = owners.popitem()[1]
            if isinstance(owner, JaxprTrace):
                owner.memo[id(self), key] = traced, self, fun  # which keeps the ids unique

    def static_keys(self) -> list[StaticKeys]:
        """Return the keys of the static arguments of earlier calls."""
        keys = [*self.traces, *(key for programs in self.programs.values() for key in programs.by_types)]
        return [key[0] for key in keys]

    def clear(self) -> None:
        """Drop the traces and the programs."""
        self.traces.clear()
        for programs in list(self.programs.values()):
            programs.clear()  # and stays: jitted functions hold it


def _enclosing_traces() -> Iterator[JaxprTrace]:
    """Yield the traces around this call that keep anything: most keep nothing, and a key takes long to hash."""
    trace = here().trace
    while trace is not None:
        if isinstance(trace, JaxprTrace) and trace.memo:
            yield trace
        trace = trace.parent


_all: weakref.WeakSet[JitCache] = weakref.WeakSet()  # for `clear_caches`
# By id: a function may have an `==`.  A callback in a trace that refers to the function keeps it here until `clear`:
# only the function itself could own its caches without that, and then its attributes would show them.
_by_owner: dict[int, tuple[weakref.ref[Any], dict[Hashable, JitCache]]] = {}


def cache_of(fun: Any, static: Hashable) -> JitCache:
    """Return the cache of a function, a method or a partial with these static arguments; a new cache for others.

    The trace of another object can hold the object, if its derivative rules call it: a cache here would never be freed.
    """
    owner, key = _owned(fun, static)
    if owner is None:
        return JitCache()
    number = id(owner)
    entry = _by_owner.get(number)
    if entry is None or entry[0]() is not owner:
        try:
            entry = _by_owner[number] = weakref.ref(owner, lambda dead: _forget(number, dead)), {}
        except TypeError:  # an object with slots
            return JitCache()
    caches = entry[1]
    return caches[key] if key in caches else caches.setdefault(key, JitCache())


def _owned(fun: Any, static: Hashable) -> tuple[Any, Hashable]:
    """Return the object with which the cache of `fun` dies, None for no such object, and its key among the caches."""
    kind = type(fun)
    if kind is MethodType and type(fun.__func__) is FunctionType:
        return fun.__self__, _Method(fun.__func__, static)
    return (fun if isinstance(fun, (FunctionType, partial)) else None), static


class _Method:
    """The key of a method in the caches of its object: the function, weakly, and the static arguments."""

    __slots__ = ("function", "hash", "static")

    def __init__(self, function: FunctionType, static: Hashable) -> None:
        self.function, self.static = weakref.ref(function), static
        self.hash = hash((id(function), static))

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Method):
            return NotImplemented
        function = self.function()
        return function is not None and function is other.function() and self.static == other.static


def release_if_held(fun: Any, traced: TracedCall, key: Key, cache: JitCache) -> None:
    """Let jitted functions alone keep the cache of a method or a partial whose trace refers to its object.

    Later calls of `jit` then trace anew: kept here, the cache would keep the object alive.
    """
    owner, _ = _owned(fun, ())
    entry = None if type(fun) is FunctionType else _by_owner.get(id(owner))
    if entry is None or entry[0]() is not owner:
        return
    if refers_to(traced.jaxpr, (key, traced.in_tree.nodes, traced.out_tree.nodes), owner):
        for name in [name for name, kept in entry[1].items() if kept is cache]:
            entry[1].pop(name, None)


def _forget(number: int, dead: weakref.ref[Any]) -> None:
    entry = _by_owner.get(number)
    if entry is not None and entry[0] is dead:  # another object may have this id by now
        del _by_owner[number]


@forget_with_rules
def _forget_last_calls() -> None:
    """Let no call run the program of the last one; so dispatch need not ask for the rule epoch, 0.06 us of 4."""
    for cache in list(_all):
        for programs in list(cache.programs.values()):
            programs.forget_last()


def clear_all() -> None:
    """Drop the traces and the programs of all functions."""
    for cache in list(_all):
        cache.clear()
