"""One jitted function: its options, and the calls that the fast path does not serve.

One idea: under a trace, or with a tracer among the arguments, a call becomes an equation that holds the function's
jaxpr; otherwise the compiled program of this jaxpr runs.

Read next: `calls/tracing.py`, which traces once; `calls/cache.py`, which keeps traces and programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from calque_core import Jaxpr, ShapeDtypeStruct, evaluation, is_tracer, rule_epoch, typeof
from calque_core.engine import (
    arg_names,
    as_stand_in,
    each_one_value,
    here,
    is_debugging,
    is_reference,
    lower_values,
    narrow,
    own_types,
)
from calque_core.extend import describe_function, run_program, where
from calque_core.lax import jit_p
from calque_xla_backend.calls.call import Call, TracedCall
from calque_xla_backend.calls.compiled import CompiledCall
from calque_xla_backend.calls.dispatch import MISSING
from calque_xla_backend.calls.donation import DonatedArguments
from calque_xla_backend.calls.own_leaves import own_leaves
from calque_xla_backend.calls.signature import signature_of
from calque_xla_backend.calls.static_keys import explain_comparison
from calque_xla_backend.calls.tracing import TracedFunction
from calque_xla_backend.compiler import XlaCompiler
from calque_xla_backend.modules.bounds import check_fit
from calque_xla_backend.placing import UNDIVIDED
from calque_xla_backend.runtime.array import Array
from calque_xla_backend.runtime.partition import Place
from calque_xla_backend.runtime.placement import placement
from calque_xla_backend.runtime.profiler import phase
from calque_xla_backend.verbs.stages import Lowered, Origin, Traced

Value = Any


class CacheInfo(NamedTuple):
    """The number of traces of a function, and of its compiled programs; NumPy's and device arrays share a program."""

    traces: int
    programs: int


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
            epoch = rule_epoch()
            for number, compiled in enumerate(self.programs.recall()):
                outs = compiled.attempt(static_keys, *dynamic)
                if outs is not None:
                    if number:
                        self.programs.record(compiled, epoch)
                    return compiled.result(outs)
            call = self.traced.call(statics, static_keys, dynamic)
            if own_types:
                call = call._replace(leaves=[*each_one_value(call.leaves)])
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
            return self._run_by_compiler(call, self._trace(call))
        epoch, key = rule_epoch(), call.key(self._types(call))
        compiled = self.programs.by_types.get(key)
        if compiled is None:
            traced = self._trace(call)
            if traced.written is not None:  # references are read before the program, and written after it
                return self._run_by_compiler(call, traced)
            compiled = self.programs.by_types[key] = self._compile(call, traced)
        arrays = compiled.arrays(call.leaves)
        if compiled.bounds:
            self._check_bounds(compiled, call, arrays)
        self.programs.record(compiled, epoch)
        with phase("run", self.name):
            return compiled.result([x._buffer for x in compiled.program(arrays, compiled.paths)])

    def _check_bounds(self, compiled: CompiledCall, call: Call, arrays: Sequence[Value]) -> None:
        def names() -> Sequence[str]:
            of_leaves = arg_names(self.traced.fun, *call.dynamic)
            return of_leaves if compiled.own is None else compiled.own.paths(of_leaves)

        check_fit(compiled.bounds, arrays, f"jit of {describe_function(self.traced.fun)}", names)

    def _trace(self, call: Call) -> TracedCall:
        self._check_values(call)
        return self.traced.trace(call)

    def _run_by_compiler(self, call: Call, traced: TracedCall) -> Any:
        """Run the program by its compiler, which checks results where settings ask.

        It may run the program again, so nothing is donated.
        """
        pure = traced.on(call.leaves, self.traced.fun)
        return traced.out_tree.unflatten(pure.results(self.compiler(traced.jaxpr, pure.arrays)))

    def _types(self, call: Call) -> tuple[Any, ...]:
        try:
            return tuple([x._device_type if type(x) is Array else (type(x), typeof(x)) for x in call.leaves])
        except TypeError:
            pass  # outside of this block, so that the error that names the argument has no second error as its context
        return self.traced.avals(call)

    def _compile(self, call: Call, traced: TracedCall) -> CompiledCall:
        """Return the compiled program, of the arrays of values of own types."""
        place, jaxpr = self.place(call, traced), lower_values(traced.jaxpr)
        donated, own = self.donated.leaves(call.dynamic[0], call.in_tree), own_leaves(traced.jaxpr)
        donated = donated if own is None else own.positions(donated)
        program = self.compiler.program(jaxpr, place or placement(), donated)
        return CompiledCall(program, call, traced, self.traced.names)

    def place(self, call: Call, traced: TracedCall) -> Place | None:
        """Return the place of the program of a call; None if nothing decides."""
        own, caller = own_leaves(traced.jaxpr), f"jit of {self.name}"
        if own is not None:
            return self.compiler.chosen_place(traced.jaxpr, own.arrays(call.leaves) or (), caller)
        divisions, shardings = UNDIVIDED, self.traced.shardings
        if shardings:
            names = arg_names(self.traced.fun, *call.dynamic)
            divisions = shardings.divisions(call, names, traced.out_tree, traced.jaxpr.out_avals)
        return self.compiler.chosen_place(traced.jaxpr, call.leaves, caller, divisions)

    def _check_values(self, call: Call) -> None:
        for i, x in enumerate(call.leaves):
            if isinstance(x, ShapeDtypeStruct):
                fun = self.traced.fun
                raise TypeError(
                    f"jit of {describe_function(fun)}: {arg_names(fun, *call.dynamic)[i]} is {x!r}, a type instead of "
                    "an array. Pass an array, or use lower or eval_shape."
                )

    def _bind(self, call: Call) -> Any:
        """Return the result under the current trace: one equation, or with `inline` the function's own equations."""
        call = call._replace(leaves=[*narrow(call.leaves)])
        traced = self.traced.trace(call)
        if traced.written is None:
            return traced.out_tree.unflatten(self._equation(traced.jaxpr, [*traced.captured, *call.leaves]))
        pure = traced.on(call.leaves, self.traced.fun)
        return traced.out_tree.unflatten(pure.results(self._equation(traced.jaxpr, pure.arrays)))

    def _equation(self, jaxpr: Jaxpr, operands: Sequence[Value]) -> list[Value]:
        if self.inline:
            return run_program(jaxpr, operands)
        return jit_p.bind(*operands, jaxpr=jaxpr, name=self.name, compiler=self.compiler)  # type: ignore[no-any-return]

    def trace(self, *args: Value, **kwargs: Value) -> Traced:
        """Return the function traced for arguments of these types.

        The arguments are arrays, or `ShapeDtypeStruct`s or other objects with a shape and a dtype, in any pytrees.
        """
        call = self.traced.call(*self.traced.split(args, kwargs))
        refused = any(map(is_reference, call.leaves))
        call = call._replace(leaves=[as_stand_in(x) for x in call.leaves])
        traced = self.traced.trace(call)
        if refused or traced.written is not None:
            raise TypeError(
                f"jit of {describe_function(self.traced.fun)}{where()}: trace and lower take no references. Pass "
                "arrays, and make references inside the function."
            )
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
