"""`jit`: compile a function with XLA.

One idea: a jitted function is a Python callable.  Under a trace, or with a tracer among the arguments, a call becomes
an equation that holds the function's jaxpr; otherwise the compiled program runs.  Both use the same jaxpr.

Where jaxprs and programs are kept, from the first place that a call asks to the last:

    calls/cache.py   JitCache       one for each function and choice of static arguments; dies with the function
        .programs    Programs       one for each compiler and choice of donated arguments
            .last, .by_settings     the last CompiledCall, which recognises the arguments itself
            .by_types               device types  -> CompiledCall
        .traces                     avals         -> TracedCall, the jaxpr that calls under a trace need
    Jaxpr.memo       compile.py     device        -> Program: an equation of jit has its jaxpr alone
    JaxprTrace.memo                 a trace that captured tracers; dies with the trace of these tracers
    evaluate.py      _programs      single operation on device arrays -> Program
    shortcuts.py     _shortcuts     function and device types -> Program of its only operation
    ops/cond.py      _programs      in core: branch or step of a loop -> jaxpr
    compilation_cache/              module without locations -> executable, on disk: where a module would be compiled

Every key has the settings and the rule epoch, save on disk; a key of a function has the named axes too.  `clear_caches`
clears all of these but the memos, which die with their jaxprs and traces, and the files on disk.

Read next: `tracing.py`, which traces once; `dispatch.py`, the fast path to the program.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar, overload

from calque_core import ShapeDtypeStruct, api_boundary, evaluation, is_tracer, typeof
from calque_core.extend import (
    arg_names,
    check_callable,
    describe_function,
    explain_comparison,
    forget_staged_programs,
    here,
    is_debugging,
    narrow,
    parameters_of,
    run_program,
    static_arguments,
)
from calque_core.lax import jit_p
from calque_xla_backend.calls.cache import clear_all
from calque_xla_backend.calls.call import Call, TracedCall
from calque_xla_backend.calls.compiled import CompiledCall
from calque_xla_backend.calls.dispatch import MAX_ARITY, MISSING, generate_call
from calque_xla_backend.calls.donation import DonatedArguments, check_not_static, donated_arguments
from calque_xla_backend.calls.shardings import function_shardings
from calque_xla_backend.calls.signature import signature_of
from calque_xla_backend.calls.tracing import TracedFunction
from calque_xla_backend.compile import XlaCompiler, compiler_of
from calque_xla_backend.evaluate import forget_programs
from calque_xla_backend.modules.bounds import check_fit
from calque_xla_backend.placing import UNDIVIDED
from calque_xla_backend.runtime.array import Array
from calque_xla_backend.runtime.clients import Device, DeviceClass
from calque_xla_backend.runtime.partition import Place
from calque_xla_backend.runtime.placement import placement
from calque_xla_backend.runtime.profiler import phase
from calque_xla_backend.shortcuts import forget_shortcuts
from calque_xla_backend.verbs.stages import Lowered, Origin, Traced

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")
Value = Any


class CacheInfo(NamedTuple):
    """The number of traces of a function, and of its compiled programs; NumPy's and device arrays share a program."""

    traces: int
    programs: int


class Jitted(Protocol[P, R_co]):
    """The type of the function that `jit` returns."""

    __wrapped__: Callable[..., Any]
    trace: Callable[..., Traced]
    lower: Callable[..., Lowered]
    eval_shape: Callable[..., Any]
    clear_cache: Callable[[], None]
    cache_info: Callable[[], CacheInfo]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


class JitFunction:
    """The options of one jitted function, and the general path of its calls."""

    __slots__ = ("compiler", "donated", "inline", "name", "programs", "traced")

    def __init__(self, traced: TracedFunction, compiler: XlaCompiler, donated: DonatedArguments, inline: bool) -> None:
        self.traced, self.compiler, self.donated, self.inline = traced, compiler, donated, inline
        self.name = traced.name
        self.programs = traced.cache.programs_for((compiler, donated))

    def general(self, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Any:
        """Return the result: run the program under evaluation, bind an equation under a trace."""
        if args and args[-1] is MISSING:
            args = tuple([x for x in args if x is not MISSING])
        if here().settings.disable_jit:
            return self.traced.fun(*args, **kwargs)
        statics, static_keys, dynamic = self.traced.split(args, kwargs)
        try:
            compiled = self.programs.recall()
            outs = compiled.attempt(static_keys, *dynamic)
            if outs is not None:
                return compiled.result(outs)
            call = self.traced.call(statics, static_keys, dynamic)
            if here().trace is evaluation and not any(map(is_tracer, call.leaves)):
                return self._run(call)
            return self._bind(call)
        except Exception as error:
            if static_keys:
                explain_comparison("jit", self.traced.fun, static_keys, self.traced.cache.static_keys(), error)
            raise

    def _run(self, call: Call) -> Any:
        """Run the compiled program; the first call for these types compiles it."""
        if is_debugging():
            return self._run_checked(call)
        key = call.key(self._types(call))
        compiled = self.programs.by_types.get(key)
        if compiled is None:
            compiled = self.programs.by_types[key] = self._compile(call)
        if compiled.bounds:
            self._check_bounds(compiled, call)
        self.programs.record(compiled)
        with phase("run", self.name):
            return compiled.result([x._buffer for x in compiled.program(call.leaves, compiled.paths)])

    def _check_bounds(self, compiled: CompiledCall, call: Call) -> None:
        fun = self.traced.fun
        check_fit(
            compiled.bounds, call.leaves, f"jit of {describe_function(fun)}", lambda: arg_names(fun, *call.dynamic)
        )

    def _run_checked(self, call: Call) -> Any:
        """Run the program by its compiler, which checks the results; it may run it again, so nothing is donated."""
        self._check_values(call)
        traced = self.traced.trace(call)
        return traced.out_tree.unflatten(self.compiler(traced.jaxpr, call.leaves))

    def _types(self, call: Call) -> tuple[Any, ...]:
        try:
            return tuple([x._device_type if type(x) is Array else (type(x), typeof(x)) for x in call.leaves])
        except TypeError:
            pass  # outside of this block, so that the error that names the argument has no second error as its context
        return self.traced.avals(call)

    def _compile(self, call: Call) -> CompiledCall:
        self._check_values(call)
        traced = self.traced.trace(call)
        place = self.place(call, traced) or placement()
        donated = self.donated.leaves(call.dynamic[0], call.in_tree)
        program = self.compiler.program(traced.jaxpr, place, donated)
        return CompiledCall(program, call, traced, self.traced.names)

    def place(self, call: Call, traced: TracedCall) -> Place | None:
        """Return the place of the program of a call; None if nothing decides."""
        divisions, shardings = UNDIVIDED, self.traced.shardings
        if shardings:
            names = arg_names(self.traced.fun, *call.dynamic)
            divisions = shardings.divisions(call, names, traced.out_tree, traced.jaxpr.out_avals)
        return self.compiler.chosen_place(traced.jaxpr, call.leaves, f"jit of {self.name}", divisions)

    def _check_values(self, call: Call) -> None:
        if any(isinstance(x, ShapeDtypeStruct) for x in call.leaves):
            raise TypeError(f"jit of {self.name} was called with a type instead of an array. Use lower or eval_shape.")

    def _bind(self, call: Call) -> Any:
        """Return the result under the current trace: one equation, or with `inline` the function's own equations."""
        call = call._replace(leaves=[*narrow(call.leaves)])
        jaxpr, captured, _, out_tree = self.traced.trace(call)
        operands = [*captured, *call.leaves]
        if self.inline:
            return out_tree.unflatten(run_program(jaxpr, operands))
        return out_tree.unflatten(jit_p.bind(*operands, jaxpr=jaxpr, name=self.name, compiler=self.compiler))

    def trace(self, *args: Value, **kwargs: Value) -> Traced:
        """Return the function traced for arguments of these types: arrays, or `ShapeDtypeStruct`s, in any pytrees."""
        call = self.traced.call(*self.traced.split(args, kwargs))
        traced = self.traced.trace(call)
        signature = signature_of(self.traced.fun, call, traced)
        place = self.place(call, traced)
        donated = self.donated.leaves(call.dynamic[0], call.in_tree)
        return Traced(Origin(traced, signature, self.compiler, here().settings, place, donated))

    def lower(self, *args: Value, **kwargs: Value) -> Lowered:
        """Return the StableHLO module for arguments of these types; `as_text()` prints it, `compile()` compiles it."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Value, **kwargs: Value) -> Any:
        """Return the result for arguments of these types as a pytree of `ShapeDtypeStruct`; a kept trace serves."""
        return self.trace(*args, **kwargs).out_info

    def clear_cache(self) -> None:
        """Drop the traces and the programs of this function."""
        self.traced.cache.clear()

    def cache_info(self) -> CacheInfo:
        """Return the number of traces and of compiled programs."""
        programs = {id(compiled.program) for compiled in self.programs.by_types.values()}
        return CacheInfo(len(self.traced.cache.traces), len(programs))


def clear_caches() -> None:
    """Drop all traces and programs, also of branches and steps; the next call of a function traces and compiles it.

    Programs on disk stay: `compilation_cache.clear_cache` removes them.
    """
    clear_all()
    forget_shortcuts()
    forget_programs()
    forget_staged_programs()


@overload
def jit(
    fun: Callable[P, R],
    *,
    static_argnums: int | Sequence[int] | None = ...,
    static_argnames: str | Iterable[str] | None = ...,
    donate_argnums: int | Sequence[int] | None = ...,
    donate_argnames: str | Iterable[str] | None = ...,
    keep_unused: bool = ...,
    in_shardings: Any = ...,
    out_shardings: Any = ...,
    device: Device | None = ...,
    backend: str | None = ...,
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
    donate_argnames: str | Iterable[str] | None = ...,
    keep_unused: bool = ...,
    in_shardings: Any = ...,
    out_shardings: Any = ...,
    device: Device | None = ...,
    backend: str | None = ...,
    inline: bool = ...,
    compiler_options: Mapping[str, Any] | None = ...,
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...


@api_boundary
def jit(  # noqa: PLR0913 -- JAX's options
    fun: Any = None,
    *,
    static_argnums: Any = None,
    static_argnames: Any = None,
    donate_argnums: Any = None,
    donate_argnames: Any = None,
    keep_unused: bool = False,
    in_shardings: Any = None,
    out_shardings: Any = None,
    device: Device | None = None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: Mapping[str, Any] | None = None,
) -> Any:
    """Return `fun` compiled with XLA: traced and compiled at the first call for each set of types, then run.

    Arguments and results are pytrees of arrays and scalars; results are device arrays.  A result that would be a Python
    scalar without `jit` is a weak device array: in an operation with an array it takes the dtype of that array.  Static
    arguments, at the positions `static_argnums` or with the names `static_argnames`, reach `fun` unchanged and must be
    hashable; each value has a trace of its own.  XLA may overwrite the arrays in the arguments of `donate_argnums` and
    `donate_argnames`; do not use them again.  An argument that no result depends on is not sent to the device, and is
    not donated, unless `keep_unused` is true.  The program runs where its arrays are.  With a `device`, or a platform's
    name as `backend`, it runs there, and arrays on other devices are copied.  `in_shardings` and `out_shardings` are
    pytrees of `NamedSharding`s, of `PartitionSpec`s over the mesh of `config.set_mesh`, and of None, that are prefixes
    of the arguments by position and of the result: the program takes arguments, and gives results, divided so over a
    mesh; None leaves that to XLA.  With `inline`, a call under a trace
    records the function's own equations, not one `jit` equation.  `compiler_options` are XLA's flags by name.  Without
    `fun`, return a decorator.  While `config.disable_jit` is on, a call of the result calls `fun`.
    Raises: TypeError if `fun` is not a function, or, when called, for an argument or a result that is not an array;
    ValueError if a static or donated argument does not exist, if an argument is static and donated, or, when called,
    if arrays or jitted functions inside are on other devices, or no device has the platform; or an array does not
    divide as its sharding says.

    >>> from calque_core import lax
    >>> from calque_xla_backend import jit
    >>> jit(lambda x: lax.sin(x) * 2.0)(0.5)
    Array(0.95885108, dtype=float64)
    """
    if fun is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            keep_unused=keep_unused,
            in_shardings=in_shardings,
            out_shardings=out_shardings,
            device=device,
            backend=backend,
            inline=inline,
            compiler_options=compiler_options,
        )
    check_callable(fun, "jit")
    caller = f"jit of {describe_function(fun)}"
    static = static_arguments(caller, fun, static_argnums, static_argnames)
    target = _target(caller, device, backend, inline)
    compiler = compiler_of(tuple(sorted((compiler_options or {}).items())), target, bool(keep_unused))
    donated = donated_arguments(fun, donate_argnums, donate_argnames)
    check_not_static(caller, donated, static)
    shardings = function_shardings(caller, in_shardings, out_shardings)
    function = JitFunction(TracedFunction(fun, static, shardings), compiler, donated, inline)
    arity = 0 if static.positions or static.names else _arity(fun)
    jitted: Any = functools.wraps(fun)(generate_call(arity, function.programs, function.general))
    for method in (function.trace, function.lower, function.eval_shape):
        setattr(jitted, method.__name__, api_boundary(method))
    jitted.clear_cache, jitted.cache_info = function.clear_cache, function.cache_info
    jitted.jit_function = function  # for `explain`
    return jitted


def _target(caller: str, device: Any, backend: Any, inline: bool) -> Device | str | None:
    """Return the device, or the name of the platform, that the user chose; None without a choice."""
    if device is not None and backend is not None:
        raise ValueError(f"{caller} got device={device!r} and backend={backend!r}. Choose one of the two.")
    if device is not None and not isinstance(device, DeviceClass):
        raise TypeError(f"{caller} got device={device!r}, which is not a device. Use one that devices() lists.")
    if backend is not None and not isinstance(backend, str):
        raise TypeError(f"{caller} got backend={backend!r}. Give the name of a platform, such as 'cpu'.")
    target = backend if device is None else device
    if inline and target is not None:
        raise ValueError(
            f"{caller} got inline=True and {'backend' if device is None else 'device'}={target!r}, but inlined "
            "operations run where the outer program runs. Choose one of the two."
        )
    return target


def _arity(fun: Callable[..., Any]) -> int:
    """Return the likely number of positional arguments of a call: the number of parameters without a default."""
    parameters = parameters_of(fun) or {}
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [p for p in parameters.values() if p.kind in kinds]
    required = [p for p in positional if p.default is inspect.Parameter.empty]
    count = len(required or positional)
    return count if count <= MAX_ARITY else 0
