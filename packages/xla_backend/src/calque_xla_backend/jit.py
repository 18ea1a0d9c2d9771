"""`jit`: compile a function with XLA.

One idea: a jitted function is a Python callable.  Where somebody traces, or an argument is traced, a call becomes an
equation that holds the function's jaxpr; only where nobody does, the compiled program runs.  Both use the same trace.

Read next: `trace_cache.py`, which traces once; `dispatch.py`, the fast path to the program.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar, overload

from calque_core.api_util import arg_names, check_callable
from calque_core.avals import ShapeDtypeStruct, typeof
from calque_core.context import Settings, here
from calque_core.debugging import is_debugging
from calque_core.ops.call import jit_p, run_program
from calque_core.ops.convert import narrowed
from calque_core.rules import rule_epoch
from calque_core.source import describe_function
from calque_core.trace import evaluation
from calque_core.tracebacks import api_boundary
from calque_core.tracer import is_tracer
from calque_xla_backend.array import Array
from calque_xla_backend.bounds import check_fit
from calque_xla_backend.compile import XlaCompiler, common_placement, compiler_of
from calque_xla_backend.dispatch import MAX_ARITY, MISSING, Entry, HostRoute, State, generate_call, is_resting
from calque_xla_backend.evaluate import forget_programs
from calque_xla_backend.module import Lowered, lower_jaxpr_to_module
from calque_xla_backend.static import (
    DonatedArguments,
    donated_arguments,
    explain_comparison,
    parameters_of,
    static_arguments,
)
from calque_xla_backend.trace_cache import Call, TracedFunction, forget_traces

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")
Value = Any


class CacheInfo(NamedTuple):
    """How often a function was traced, and for how many kinds of calls a program is ready to run."""

    traces: int
    programs: int


class Jitted(Protocol[P, R_co]):
    """What `jit` returns: the function, compiled."""

    __wrapped__: Callable[..., Any]
    lower: Callable[..., Lowered]
    clear_cache: Callable[[], None]
    cache_info: Callable[[], CacheInfo]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


class JitFunction:
    """The state of one jitted function, and the general path of its calls."""

    __slots__ = ("__weakref__", "compiler", "donated", "inline", "last", "name", "programs", "state", "traced")

    def __init__(self, traced: TracedFunction, compiler: XlaCompiler, donated: DonatedArguments, inline: bool) -> None:
        self.traced, self.compiler, self.donated, self.inline = traced, compiler, donated, inline
        self.name: str = getattr(traced.fun, "__name__", type(traced.fun).__name__)
        self.programs: dict[Hashable, Entry] = {}
        self.last: dict[Settings, Entry] = {}
        self.state = State()

    def general(self, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Any:
        """Return the result, by whatever way is right where the call is made."""
        if args and args[-1] is MISSING:
            args = tuple([x for x in args if x is not MISSING])
        if here().settings.disable_jit:
            return self.traced.fun(*args, **kwargs)
        static_part, dynamic = self.traced.split(args, kwargs)
        try:
            if is_resting():
                entry = self.last.get(here().settings)
                outs = None if entry is None else entry.attempt(static_part, *dynamic)
                if entry is not None and outs is not None:
                    return entry.result(outs)
            call = self.traced.call((args, kwargs), static_part, dynamic)
            if here().trace is evaluation and not any(map(is_tracer, call.leaves)):
                return self._run(call)
            return self._bind(call)
        except Exception as error:
            if static_part:
                explain_comparison(self.traced.fun, static_part, [*self.programs, *self.traced.cache.traces], error)
            raise

    def _run(self, call: Call) -> Any:
        """Run the compiled program, which is made first if there is none for these types."""
        if is_debugging():
            return self._run_checked(call)
        key = call.static_part, call.in_tree.key, self._types(call), here().settings, here().axis_env, rule_epoch()
        entry = self.programs.get(key)
        if entry is None:
            entry = self.programs[key] = self._entry(call)
        if entry.bounds:
            self._check_bounds(entry, call)
        if is_resting():
            self._remember(entry, call)
        return entry.result([x._buffer for x in entry.program(call.leaves)])

    def _check_bounds(self, entry: Entry, call: Call) -> None:
        fun = self.traced.fun
        check_fit(entry.bounds, call.leaves, f"jit of {describe_function(fun)}", lambda: arg_names(fun, *call.dynamic))

    def _run_checked(self, call: Call) -> Any:
        """Run the program by its compiler, which checks the results; nothing is donated, since it may run again."""
        self._check_values(call)
        jaxpr, _, out_tree = self.traced.trace(call)
        return out_tree.unflatten(self.compiler(jaxpr, call.leaves))

    def _remember(self, entry: Entry, call: Call) -> None:
        """Let the next call try this entry first."""
        self.last[here().settings] = entry
        if call.static_part is None and not call.dynamic[1]:
            is_on_device = all(type(x) is Array for x in call.leaves)
            self.state.remember(entry if is_on_device else HostRoute(entry))

    def _types(self, call: Call) -> tuple[Any, ...]:
        try:
            return tuple([x._signature if type(x) is Array else (type(x), typeof(x)) for x in call.leaves])
        except TypeError:
            pass  # and not from here: the error that names the argument is not to drag this one along
        return self.traced.avals(call)

    def _entry(self, call: Call) -> Entry:
        self._check_values(call)
        traced = self.traced.trace(call)
        place = common_placement(call.leaves, f"jit of {self.name}")
        donated = self.donated.leaves(call.dynamic[0], call.in_tree)
        program = self.compiler.program(traced.jaxpr, place, donated)
        return Entry(program, call, traced)

    def _check_values(self, call: Call) -> None:
        if any(isinstance(x, ShapeDtypeStruct) for x in call.leaves):
            raise TypeError(f"jit of {self.name} was called with a type instead of an array. Use lower or eval_shape.")

    def _bind(self, call: Call) -> Any:
        """Return the result under the current trace: one equation, or those of the function itself with `inline`."""
        call = call._replace(leaves=[*narrowed(call.leaves)])
        jaxpr, captured, out_tree = self.traced.trace(call)
        operands = [*captured, *call.leaves]
        if self.inline:
            return out_tree.unflatten(run_program(jaxpr, operands))
        return out_tree.unflatten(jit_p.bind(*operands, jaxpr=jaxpr, name=self.name, compiler=self.compiler))

    def lower(self, *args: Value, **kwargs: Value) -> Lowered:
        """Return the StableHLO module for arguments like these, arrays or their types; `as_text()` prints it."""
        jaxpr = self.traced.trace(self.traced.call((args, kwargs), *self.traced.split(args, kwargs))).jaxpr
        return lower_jaxpr_to_module(jaxpr, name=self.name)

    def clear_cache(self) -> None:
        """Drop the traces and the programs of this function."""
        self.traced.cache.traces.clear()
        self.programs.clear()
        self.last.clear()
        self.state.forget()

    def cache_info(self) -> CacheInfo:
        """Return how many traces and programs are kept."""
        return CacheInfo(len(self.traced.cache.traces), len(self.programs))


_functions: weakref.WeakSet[JitFunction] = weakref.WeakSet()


def clear_caches() -> None:
    """Drop all traces and programs; the next call of each function traces and compiles again."""
    for function in list(_functions):
        function.clear_cache()
    forget_traces()
    forget_programs()


@overload
def jit(
    fun: Callable[P, R],
    *,
    static_argnums: int | Sequence[int] | None = ...,
    static_argnames: str | Iterable[str] | None = ...,
    donate_argnums: int | Sequence[int] | None = ...,
    inline: bool = ...,
    compiler_options: Mapping[str, Any] | None = ...,
) -> Jitted[P, R]: ...


@overload
def jit(
    fun: None = None,
    *,
    static_argnums: int | Sequence[int] | None = ...,
    static_argnames: str | Iterable[str] | None = ...,
    donate_argnums: int | Sequence[int] | None = ...,
    inline: bool = ...,
    compiler_options: Mapping[str, Any] | None = ...,
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...


@api_boundary
def jit(
    fun: Any = None,
    *,
    static_argnums: Any = None,
    static_argnames: Any = None,
    donate_argnums: Any = None,
    inline: bool = False,
    compiler_options: Mapping[str, Any] | None = None,
) -> Any:
    """Return `fun` compiled with XLA: traced and compiled at the first call for each set of types, then run.

    Arguments and results are pytrees of arrays and scalars; results are device arrays.  A result that would be a Python
    scalar without `jit` is a weak device array: it takes the dtype of the array that it meets.  Static arguments, at
    the positions `static_argnums` or with the names `static_argnames`, are passed as they are and must be hashable: for
    each value the function is traced anew.  The arrays in the arguments of `donate_argnums` may be overwritten, and are
    not to be used again.  With `inline`, a call under a trace leaves the function's own operations there, not one that
    holds them.  `compiler_options` are XLA's flags by name.  Without `fun`, a decorator is returned.
    While `config.disable_jit` is on, a call is a call of `fun`.
    Raises: TypeError if `fun` is not a function, or, when called, for an argument or a result that is not an array;
    ValueError if a static argument does not exist.

    >>> from calque_core import lax
    >>> from calque_xla_backend import jit
    >>> jit(lambda x: lax.sin(x) * 2.0)(0.5)
    Array(0.95885108, dtype=float64)
    """
    if fun is None:
        options = {
            "static_argnums": static_argnums,
            "static_argnames": static_argnames,
            "donate_argnums": donate_argnums,
        }
        return functools.partial(jit, **options, inline=inline, compiler_options=compiler_options)
    check_callable(fun, "jit")
    static = static_arguments(fun, static_argnums, static_argnames)
    compiler = compiler_of(tuple(sorted((compiler_options or {}).items())))
    function = JitFunction(TracedFunction(fun, static), compiler, donated_arguments(fun, donate_argnums), inline)
    _functions.add(function)
    arity = 0 if static.positions or static.names else _arity(fun)
    jitted: Any = functools.wraps(fun)(generate_call(arity, function.state, function.general))
    jitted.lower, jitted.clear_cache, jitted.cache_info = function.lower, function.clear_cache, function.cache_info
    return jitted


def _arity(fun: Callable[..., Any]) -> int:
    """Return how many positional arguments a call is likely to have: those without a default."""
    parameters = parameters_of(fun) or {}
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [p for p in parameters.values() if p.kind in kinds]
    required = [p for p in positional if p.default is inspect.Parameter.empty]
    count = len(required or positional)
    return count if count <= MAX_ARITY else 0
