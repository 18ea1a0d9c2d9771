"""From jaxprs to programs: lowered, compiled, ready to run on buffers.

One idea: a jaxpr keeps its compiled programs (`Jaxpr.memo`), and they die with it.  A `Program` knows the types of the
arguments and the results of the executable, so that running it is one call.

Read next: `compiler.py`, by which equations of `jit` find their programs; `dispatch.py`, which runs programs in the
fewest steps; `lowering.py`, which makes their code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from calque_core import Jaxpr, dce_jaxpr, eval_context
from calque_core.engine import lower_values
from calque_core.extend import where
from calque_xla_backend.compilation_cache.cache import load_or_compile
from calque_xla_backend.modules.bounds import bounds_of
from calque_xla_backend.modules.module import LoweredModule, lower_jaxpr_to_module
from calque_xla_backend.runtime.array import Array, check_memory, deleted_message, wrap
from calque_xla_backend.runtime.callbacks import entries_of, run_to_end
from calque_xla_backend.runtime.log import log_compilation, log_constants
from calque_xla_backend.runtime.partition import Partition, Place
from calque_xla_backend.runtime.placement import DeviceType, Placement, device_type, placement_of_tiling
from calque_xla_backend.runtime.profiler import phase
from calque_xla_backend.runtime.runtime import Buffer, Executable, XlaRuntimeError, put, tilings

Value = Any
Options = tuple[tuple[str, Any], ...]
Run = Callable[[Sequence[Buffer]], Any]
ArgNames = Callable[[], Sequence[str]]


class LoweredProgram(NamedTuple):
    """A jaxpr, and its module for one platform.

    `main` of the module takes the arguments in the mask `used`, which some result depends on.  XLA may overwrite the
    arguments of the jaxpr whose numbers are in `donated`.
    """

    jaxpr: Jaxpr
    module: LoweredModule
    platform: str
    used: Sequence[bool]
    donated: tuple[int, ...]
    seconds: float  # that lowering took


class Program:
    """A compiled program: `run(buffers)` returns jaxlib's results, and `handlers` make buffers of them.

    `run` takes a buffer for each argument, and reads the buffers of the arguments in the mask `used`.  The results of
    `run_with_token` also hold a token that waits for the end of the program; it is None if the program calls Python.
    """

    __slots__ = (
        "bounds",
        "donated",
        "executable",
        "handlers",
        "in_types",
        "name",
        "out_types",
        "run",
        "run_with_token",
        "used",
    )

    def __init__(self, lowered: LoweredProgram, executable: Executable, place: Place) -> None:
        jaxpr = lowered.jaxpr
        self.name, self.executable, self.bounds = name_of(jaxpr), executable, bounds_of(jaxpr)
        const_types, self.in_types, self.out_types = device_types_of(lowered, executable, place)
        self.handlers = [handler_of(kind, place) for kind in self.out_types]
        self.used, self.donated = lowered.used, lowered.donated
        consts = [to_buffer(const, target) for (const, _), target in zip(lowered.module.const_args, const_types)]
        execute, callbacks = executable.execute_sharded, lowered.module.callbacks
        self.run_with_token: Run | None = None
        if callbacks:
            execute = run_to_end(execute, callbacks, self.name)
        else:
            with_token = partial(execute, with_tokens=True)
            self.run_with_token = _take_jaxpr_arguments(with_token, consts, lowered.used)
        self.run: Run = _take_jaxpr_arguments(execute, consts, lowered.used)

    def __call__(self, args: Sequence[Value], arg_names: ArgNames | None = None) -> list[Array]:
        """Return the results on arrays, NumPy values and scalars, converted to the program's types."""
        return self.on_buffers([to_buffer(x, target) for x, target in zip(args, self.in_types)], args, arg_names)

    def on_buffers(
        self, buffers: Sequence[Buffer], args: Sequence[Value], arg_names: ArgNames | None = None
    ) -> list[Array]:
        """Return the results on the buffers of `args`, whose paths are `arg_names` in messages."""
        try:
            return wrap(self.run(buffers).consume_with_handlers(self.handlers), self.out_types)
        except RuntimeError as error:
            explain(error, self, args, arg_names)
            raise

    def run_one(self, buffers: Sequence[Buffer], args: Sequence[Value]) -> Array:
        """Return the only result on the buffers of `args`; 0.3 us less than a list of it."""
        out = Array()
        try:
            (out._buffer,) = self.run(buffers).consume_with_handlers(self.handlers)
        except RuntimeError as error:
            explain(error, self, args)
            raise
        out._device_type = self.out_types[0]
        return out


def device_types_of(
    lowered: LoweredProgram, executable: Executable, place: Place
) -> tuple[list[DeviceType], list[DeviceType], list[DeviceType]]:
    """Return the device types of the constants, the arguments and the results of a program."""
    const_avals = [aval for _, aval in lowered.module.const_args]
    in_avals, out_avals = lowered.jaxpr.in_avals, lowered.jaxpr.out_avals
    if isinstance(place, Placement):
        consts, ins, outs = ([device_type(x, place) for x in avals] for avals in (const_avals, in_avals, out_avals))
        return consts, ins, outs
    of_arguments, of_results = tilings(executable)
    consts = _divided(const_avals, of_arguments[: len(const_avals)], (), place)
    places = [*place.arguments] or [None] * len(in_avals)
    ins = [device_type(aval, own_place or place.whole) for aval, own_place in zip(in_avals, places)]
    used = [i for i, is_used in enumerate(lowered.used) if is_used]
    kept = _divided([in_avals[i] for i in used], of_arguments[len(consts) :], [places[i] for i in used], place)
    for i, kind in zip(used, kept):
        ins[i] = kind
    return consts, ins, _divided(out_avals, of_results, place.results, place)


def _divided(
    avals: Sequence[Any], tilings_of_avals: Sequence[Any], places: Sequence[Placement | None], partition: Partition
) -> list[DeviceType]:
    """Return the device types of arrays that XLA divides in some way, at one of `places` where it says the same."""
    places = [*places] or [None] * len(avals)
    # XLA tells none for one device, and for a program without results one: that of an empty tuple.
    tilings_of_avals = [*tilings_of_avals[: len(avals)]] or [None] * len(avals)
    placements = [
        placement_of_tiling(tiling, len(aval.shape), partition.mesh, place)
        for aval, tiling, place in zip(avals, tilings_of_avals, places, strict=True)
    ]
    return [device_type(aval, place) for aval, place in zip(avals, placements)]


def handler_of(kind: DeviceType, place: Place) -> Callable[[Any], Buffer]:
    """Return the function that makes a buffer of the type `kind` from its parts on the devices of a program.

    XLA may divide a result over a mesh of another order of the devices than that of the program.
    """
    if isinstance(place, Placement) or kind.placement.devices == place.devices:
        return kind.handler  # type: ignore[no-any-return]
    number = {place.devices[device]: i for i, device in enumerate(place.whole.local)}
    order = [number[kind.placement.devices[device]] for device in kind.placement.local]
    return lambda parts: kind.handler([parts[i] for i in order])


def to_buffer(x: Value, target: DeviceType) -> Buffer:
    """Return the buffer of an array of the type `target`, weak or not, divided alike; otherwise a converted copy."""
    if type(x) is Array and (x._device_type is target or x._device_type.canonical is target.canonical):
        return x._buffer
    return put(np.asarray(x, target.dtype), target)


def explain(error: RuntimeError, program: Program, args: Sequence[Value], arg_names: ArgNames | None = None) -> None:
    """Add the name of the program to an error of the runtime; `arg_names` are the paths of the arguments.

    Raises: RuntimeError that names the argument, if one was deleted, or is donated and used a second time; MemoryError.
    """
    name = program.name
    for i, x in enumerate(args):
        if type(x) is Array and x.is_deleted():
            path = f"operand {i}" if arg_names is None else arg_names()[i]
            raise RuntimeError(f"{name}{where()}, {path}: {deleted_message(x)}") from error
    if "donate" in str(error) and ("same call" in str(error) or "same buffer" in str(error)):
        raise RuntimeError(
            f"{name}{where()}: {_second_use(program.donated, args, arg_names)}. Pass a copy, or leave the argument out "
            "of donate_argnums."
        ) from None
    check_memory(f"{name}{where()}", error)
    error.add_note(f"This happened in running the compiled program of {name}.")


def _second_use(donated: Sequence[int], args: Sequence[Value], arg_names: ArgNames | None) -> str:
    """Return the clause about a donated array that a call uses twice, with the paths of both arguments."""
    buffers = [x._buffer if type(x) is Array else None for x in args]
    for i in donated:
        for j, buffer in enumerate(buffers):
            if i != j and buffer is not None and buffer is buffers[i] and arg_names is not None:
                first, second = sorted((i, j))
                return f"{arg_names()[first]} and {arg_names()[second]} are one array, which is donated"
    return "a donated array is used a second time in the same call, as another argument or as a captured array"


def compile_jaxpr(jaxpr: Jaxpr, place: Place) -> Program:
    """Return the program that computes `jaxpr`.  Raises: as `lower_program`."""
    return compile_program(lower_program(jaxpr, place.platform, place), place)


def lower_program(
    jaxpr: Jaxpr,
    platform: str,
    place: Place | None = None,
    donated: tuple[int, ...] = (),
    keep_unused: bool = False,
) -> LoweredProgram:
    """Return the module of `jaxpr`, which does not take arguments that no result depends on, unless it keeps them.

    It is for the devices of `place` if they are several, and else for any device of the platform.

    Raises: MissingRuleError for a primitive without a lowering rule.
    """
    jaxpr, name = lower_values(jaxpr), name_of(jaxpr)
    with phase("lower", name) as step:
        smaller, used = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), instantiate=keep_unused)
        kept = [i for i, is_used in enumerate(used) if is_used]
        with eval_context():
            module = lower_jaxpr_to_module(
                smaller,
                name=name,
                platform=platform,
                donated=[kept.index(i) for i in donated if i in kept],
                partition=_for_arguments(place, kept) if isinstance(place, Partition) else None,
            )
    log_constants(name, smaller, module.constant_bytes)
    return LoweredProgram(jaxpr, module, platform, used, donated, step.seconds)


def _for_arguments(partition: Partition, kept: Sequence[int]) -> Partition:
    """Return the partition of a program that takes only some of the arguments."""
    arguments = tuple([partition.arguments[i] for i in kept]) if partition.arguments else ()
    return replace(partition, arguments=arguments)


def compile_program(lowered: LoweredProgram, place: Place, options: Options = ()) -> Program:
    """Return the program of a lowered jaxpr for a place.  Raises: XlaRuntimeError."""
    name = name_of(lowered.jaxpr)
    try:
        with phase("compile", name) as step:
            host_functions = entries_of(lowered.module.callbacks)
            module, undivided = lowered.module.module, lowered.module.undivided
            executable, is_loaded = load_or_compile(module, place, options, host_functions, undivided)
    except XlaRuntimeError as error:
        error.add_note(f"This happened in compiling {name}.")
        raise
    log_compilation(name, lowered.jaxpr.in_avals, lowered.seconds, step.seconds, is_loaded=is_loaded)
    return Program(lowered, executable, place)


def name_of(jaxpr: Jaxpr) -> str:
    """Return the name of the user's function that `jaxpr` was traced from."""
    return jaxpr.debug_name or "program"


def _take_jaxpr_arguments(
    run: Callable[[Any], Any], consts: list[Buffer], used: Sequence[bool]
) -> Callable[[Any], Any]:
    """Return `run` as a function of the jaxpr's arguments: it adds constants, drops unused arguments."""
    if not all(used):
        kept = [i for i, is_used in enumerate(used) if is_used]
        return lambda buffers: run([*consts, *[buffers[i] for i in kept]])
    return (lambda buffers: run([*consts, *buffers])) if consts else run
