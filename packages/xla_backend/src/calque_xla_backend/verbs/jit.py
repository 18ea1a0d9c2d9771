"""`jit`: compile a function with XLA.

One idea: a jitted function is a Python callable.  Under a trace, or with a tracer among the arguments, a call becomes
an equation that holds the function's jaxpr; otherwise the compiled program runs.  Both use the same jaxpr.

Where jaxprs and programs are kept, from the first place that a call asks to the last:

    calls/cache.py   JitCache       one for each function and choice of static arguments; dies with the function
        .programs    Programs       one for each compiler and choice of donated arguments
            .last, .recent          the last CompiledCalls; each recognises its arguments
            .by_device_types        device types of arguments that are device arrays alone -> CompiledCall
            .by_types               device types  -> CompiledCall
        .traces                     avals         -> TracedCall, the jaxpr that calls under a trace need
    Jaxpr.memo       compiler.py    device        -> Program: an equation of jit has its jaxpr alone
    JaxprTrace.memo                 a trace that captured tracers; dies with the trace of these tracers
    evaluate.py      _programs      single operation on device arrays -> Program
    shortcuts.py     _shortcuts     function and device types -> Program of its only operation
    ops/calls/cond.py      _programs      in core: branch or step of a loop -> jaxpr
    compilation_cache/              module without locations -> executable, on disk: where a module would be compiled

Every key has the settings and the rule epoch, save on disk; a key of a function has the named axes too.  `clear_caches`
clears all of these but the memos, which die with their jaxprs and traces, and the files on disk.

Read next: `jit_function.py`, the general path of a call; `dispatch.py`, the fast path to the program.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from calque_core import api_boundary
from calque_core.engine import forget_staged_programs, named_after, parameters_of, static_arguments
from calque_core.extend import check_callable, describe_function, where
from calque_xla_backend.calls.cache import clear_all
from calque_xla_backend.calls.dispatch import MAX_ARITY, generate_call
from calque_xla_backend.calls.donation import check_not_static, donated_arguments
from calque_xla_backend.calls.shardings import FunctionShardings, function_shardings
from calque_xla_backend.calls.tracing import TracedFunction
from calque_xla_backend.compiler import compiler_of, options_of
from calque_xla_backend.evaluate import forget_programs
from calque_xla_backend.runtime.clients import Device, DeviceClass
from calque_xla_backend.shortcuts import forget_shortcuts
from calque_xla_backend.verbs.jit_function import CacheInfo, JitFunction
from calque_xla_backend.verbs.stages import Lowered, Traced

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")
S = TypeVar("S")
Q = ParamSpec("Q")
Value = Any


class Jitted(Protocol[P, R_co]):
    """The type of the function that `jit` returns; as an attribute of an object, it is a method."""

    __wrapped__: Callable[..., Any]
    trace: Callable[..., Traced]
    lower: Callable[..., Lowered]
    eval_shape: Callable[..., Any]
    clear_cache: Callable[[], None]
    cache_info: Callable[[], CacheInfo]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Jitted[P, R_co]: ...

    @overload
    def __get__(self: Callable[Concatenate[S, Q], R], instance: S, owner: type | None = None) -> Callable[Q, R]: ...


def clear_caches() -> None:
    """Drop all traces and programs, also of branches and steps; the next call of a function traces and compiles it.

    Programs on disk stay: `compilation_cache.clear_cache` removes them.

    >>> from calque_xla_backend import clear_caches, jit
    >>> f = jit(lambda x: x + 1.0)
    >>> _ = f(1.0)
    >>> clear_caches()
    >>> f.cache_info()
    CacheInfo(traces=0, programs=0)
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
    mesh; None leaves that to XLA.  A `SingleDeviceSharding` among them is a choice of its device for the program.  With
    `inline`, a call under a trace records the function's own equations, not one `jit` equation.  `compiler_options` are
    XLA's flags by name.  Without `fun`, return a decorator.  While `config.disable_jit` is on, a call of the result
    calls `fun`.
    Raises: TypeError if `fun` is not a function or `compiler_options` are not names with scalars, or, when called, for
    an argument or a result that is not an array; ValueError if a static or donated argument does not exist, if an
    argument is static and donated, or, when called, if arrays or jitted functions inside are on other devices, or an
    array does not divide as its sharding says; RuntimeError, when called, if no device has the platform.

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
    shardings = function_shardings(caller, in_shardings, out_shardings)
    target = _target(caller, _device_of(caller, device, backend, shardings), backend, inline)
    compiler = compiler_of(options_of(caller, compiler_options or {}), target, bool(keep_unused))
    donated = donated_arguments(fun, donate_argnums, donate_argnames)
    check_not_static(caller, donated, static)
    return _callable(JitFunction(TracedFunction(fun, static, shardings), compiler, donated, inline))


def _callable(function: JitFunction) -> Any:
    """Return the function that users call: code for its number of arguments, and the methods of `function`."""
    fun = function.traced.fun
    arity = 0 if function.traced.has_static else _arity(fun)
    jitted: Any = named_after(fun)(generate_call(arity, function.programs, function.general))
    for method in (function.trace, function.lower, function.eval_shape):
        setattr(jitted, method.__name__, api_boundary(method))
    jitted.clear_cache, jitted.cache_info = function.clear_cache, function.cache_info
    jitted.jit_function = function  # for `explain`
    return jitted


def _device_of(caller: str, device: Any, backend: Any, shardings: FunctionShardings) -> Any:
    """Return the device that the user chose: as `device`, or by shardings on it."""
    if shardings.device is None or (device is None and backend is None):
        return shardings.device or device
    raise ValueError(
        f"{caller}{where()} got {'backend' if device is None else 'device'}={device or backend!r}, and shardings on "
        f"{shardings.device!r}. Use one of the two."
    )


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
