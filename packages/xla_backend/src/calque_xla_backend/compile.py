"""From jaxprs to programs: lowered, compiled, ready to run on buffers.

One idea: a jaxpr keeps its compiled programs (`Jaxpr.memo`), and they die with it.  A `Program` knows the types of the
arguments and the results of the executable, so that running it is one call.

Read next: `dispatch.py`, which runs programs in the fewest steps; `lowering.py`, which makes their code.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from calque_core import Jaxpr, dce_jaxpr, eval_context, rule_epoch
from calque_core.extend import check_program, here, is_debugging, nested_jaxprs, where
from calque_core.lax import jit_p
from calque_pytree import static_key
from calque_xla_backend.compilation_cache.cache import load_or_compile
from calque_xla_backend.modules.bounds import bounds_of, check_fit
from calque_xla_backend.modules.module import LoweredModule, lower_jaxpr_to_module
from calque_xla_backend.runtime.array import Array, deleted_message, wrap
from calque_xla_backend.runtime.callbacks import entries_of, run_to_end
from calque_xla_backend.runtime.clients import Device
from calque_xla_backend.runtime.log import log_compilation, log_constants
from calque_xla_backend.runtime.profiler import phase
from calque_xla_backend.runtime.runtime import (
    Buffer,
    DeviceType,
    Executable,
    Placement,
    XlaRuntimeError,
    device_type,
    placement,
    placement_of,
    put,
)

Value = Any
Options = tuple[tuple[str, Any], ...]


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

    `run` takes a buffer for each argument, and reads the buffers of the arguments in the mask `used`.
    """

    __slots__ = ("bounds", "donated", "executable", "handlers", "in_types", "name", "out_types", "run", "used")

    def __init__(self, lowered: LoweredProgram, executable: Executable, place: Placement) -> None:
        jaxpr = lowered.jaxpr
        self.name, self.executable, self.bounds = name_of(jaxpr), executable, bounds_of(jaxpr)
        self.in_types = [device_type(aval, place) for aval in jaxpr.in_avals]
        self.out_types = [device_type(aval, place) for aval in jaxpr.out_avals]
        self.handlers = [s.handler for s in self.out_types]
        self.used, self.donated = lowered.used, lowered.donated
        consts = [to_buffer(const, device_type(aval, place)) for const, aval in lowered.module.const_args]
        execute, callbacks = executable.execute_sharded, lowered.module.callbacks
        if callbacks:
            execute = run_to_end(execute, callbacks, self.name)
        self.run: Callable[[Sequence[Buffer]], Any] = _take_jaxpr_arguments(execute, consts, lowered.used)

    def __call__(self, args: Sequence[Value]) -> list[Array]:
        """Return the results on arrays, NumPy values and scalars, converted to the program's types."""
        return self.on_buffers([to_buffer(x, target) for x, target in zip(args, self.in_types)], args)

    def on_buffers(self, buffers: Sequence[Buffer], args: Sequence[Value]) -> list[Array]:
        """Return the results on the buffers of `args`."""
        try:
            return wrap(self.run(buffers).consume_with_handlers(self.handlers), self.out_types)
        except RuntimeError as error:
            explain(error, self.name, args)
            raise

    def run_one(self, buffers: Sequence[Buffer], args: Sequence[Value]) -> Array:
        """Return the only result on the buffers of `args`; 0.3 us less than a list of it."""
        try:
            outs = self.run(buffers).consume_with_handlers(self.handlers)
        except RuntimeError as error:
            explain(error, self.name, args)
            raise
        out = Array()
        (out._buffer,), (out._device_type,) = outs, self.out_types
        return out


def to_buffer(x: Value, target: DeviceType) -> Buffer:
    """Return the buffer of an array that has the type `target`, weak or not; of any other value, a converted copy."""
    if type(x) is Array and (x._device_type is target or x._device_type.strong is target.strong):
        return x._buffer
    return put(np.asarray(x, target.dtype), target)


def explain(error: RuntimeError, name: str, args: Sequence[Value]) -> None:
    """Add the name of the program to an error of the runtime.

    Raises: RuntimeError that names the argument, if one was deleted, or is donated and used a second time; MemoryError.
    """
    for i, x in enumerate(args):
        if type(x) is Array and x.is_deleted():
            raise RuntimeError(f"{name}, argument {i} of the flattened arguments: {deleted_message(x)}") from error
    if "donate" in str(error) and "same call" in str(error):
        raise RuntimeError(
            f"{name}{where()}: a donated array is used a second time in the same call, as another argument or as a "
            "captured array. Pass a copy, or leave the argument out of donate_argnums."
        ) from None
    if "RESOURCE_EXHAUSTED" in str(error):
        raise MemoryError(
            f"{name}{where()}: the device has not enough memory: {error}. Use smaller arrays, delete() arrays that are "
            "not needed, or donate arguments."
        ) from None
    error.add_note(f"This happened in running the compiled program of {name}.")


def common_placement(args: Sequence[Value], name: str) -> Placement:
    """Return the placement of all arrays among the arguments; the default placement without arrays.

    Raises: ValueError if they are on different devices.
    """
    return placement_of_arrays(args, name) or placement()


def placement_of_arrays(args: Sequence[Value], name: str) -> Placement | None:
    """Return the placement of all arrays among the arguments, or None without arrays: no client need run yet.

    Raises: ValueError if they are on different devices.
    """
    places = {x._device_type.placement for x in args if type(x) is Array}
    if len(places) > 1:
        devices = " and ".join(sorted(str(place.device) for place in places))
        raise ValueError(f"{name} got arrays on {devices}. Move them to one device with device_put.")
    return places.pop() if places else None


class XlaCompiler:
    """Runs jaxprs with XLA: the `compiler` of the equations of `jit`.  Compared by identity.

    `options` are XLA's flags by name; `target` is the device, or the platform's name, on which programs run, and None
    leaves that to their arrays.  With `keep_unused`, programs take arguments that they do not read.
    """

    __slots__ = ("keep_unused", "options", "target")

    def __init__(self, options: Options = (), target: Device | str | None = None, keep_unused: bool = False) -> None:
        self.options, self.target, self.keep_unused = options, target, keep_unused

    def __call__(self, jaxpr: Jaxpr, args: Sequence[Value]) -> list[Array]:
        """Return the results of `jaxpr` on arrays, NumPy values and scalars."""
        caller = f"jit of {jaxpr.debug_name}"
        program = self.program(jaxpr, self.placement(jaxpr, args, caller))
        if program.bounds:
            check_fit(program.bounds, args, caller + where(), lambda: [f"{i} of the program" for i in range(len(args))])
        outs = program(args)
        if is_debugging():
            check_program(name_of(jaxpr), jaxpr, args, outs)
        return outs

    def placement(self, jaxpr: Jaxpr, args: Sequence[Value], caller: str) -> Placement:
        """Return the placement of a program, the default one if nothing decides.  Raises: as `chosen_placement`."""
        return self.chosen_placement(jaxpr, args, caller) or placement()

    def chosen_placement(self, jaxpr: Jaxpr, args: Sequence[Value], caller: str) -> Placement | None:
        """Return the placement that `target`, the arrays or the jitted functions inside a program decide, or None.

        Raises: ValueError that names the devices if they differ, or if there is no device of the platform.
        """
        inner = jaxpr.memo("devices", lambda: _inner_targets(jaxpr))
        if self.target is None and not inner:
            return placement_of_arrays(args, caller)
        if self.target is not None:
            place = placement_of(self.target, caller)
        else:
            place = placement_of_arrays(args, caller) or placement_of(inner[0][1], caller)
        for name, target in inner:
            inner_place = placement_of(target, f"jit of {name}")
            if inner_place is not place:
                raise ValueError(
                    f"{caller}{where()} runs on {place.device}, but jit of {name}, which it calls, on "
                    f"{inner_place.device}. Use one device for both, or leave device= out of the inner jit."
                )
        return place

    def program(self, jaxpr: Jaxpr, place: Placement, donated: tuple[int, ...] = ()) -> Program:
        """Return the program of a jaxpr for one device, compiled at the first call.

        The jaxpr keeps it: an equation of `jit`, as derivatives make them, has no function with a cache.
        """
        return self._kept(
            jaxpr, place, donated, lambda: lower_program(jaxpr, place.platform, donated, self.keep_unused)
        )

    def has_program(self, jaxpr: Jaxpr, place: Placement, donated: tuple[int, ...]) -> bool:
        """Tell whether the next `program` of a jaxpr would compile nothing."""
        return self._key(place, donated) in jaxpr.memo_keys()

    def program_of(self, lowered: LoweredProgram, place: Placement) -> Program:
        """Return the program of a lowered jaxpr: the one that `program` returns for this jaxpr."""
        return self._kept(lowered.jaxpr, place, lowered.donated, lambda: lowered)

    def _kept(
        self, jaxpr: Jaxpr, place: Placement, donated: tuple[int, ...], lower: Callable[[], LoweredProgram]
    ) -> Program:
        return jaxpr.memo(self._key(place, donated), lambda: compile_program(lower(), place, self.options))  # type: ignore[no-any-return]

    def _key(self, place: Placement, donated: tuple[int, ...]) -> tuple[Any, ...]:
        return self, place, donated, here().settings, rule_epoch()

    def __repr__(self) -> str:
        return f"XlaCompiler({self.choices()})"

    def choices(self) -> str:
        """Return the options of `jit` that differ from the defaults, as text."""
        choices = {"compiler_options": dict(self.options), "device": self.target, "keep_unused": self.keep_unused}
        return ", ".join(f"{name}={value}" for name, value in choices.items() if value)


_compilers: dict[Hashable, XlaCompiler] = {}  # keys of programs hold compilers: equal options must be one object


def compiler_of(options: Options = (), target: Device | str | None = None, keep_unused: bool = False) -> XlaCompiler:
    """Return the one compiler with these options."""
    return _compilers.setdefault((static_key(options), target, keep_unused), XlaCompiler(options, target, keep_unused))


def _inner_targets(jaxpr: Jaxpr) -> list[tuple[str, Device | str]]:
    """Return the names of the jitted functions inside a jaxpr that have a device or a platform, and these."""
    eqns = [eqn for inner in nested_jaxprs(jaxpr) for eqn in inner.eqns if eqn.primitive is jit_p]
    compilers = [(eqn.params["name"], eqn.params["compiler"]) for eqn in eqns]
    return [(name, x.target) for name, x in compilers if isinstance(x, XlaCompiler) and x.target is not None]


def compile_jaxpr(jaxpr: Jaxpr, place: Placement) -> Program:
    """Return the program that computes `jaxpr`.  Raises: as `lower_program`."""
    return compile_program(lower_program(jaxpr, place.platform), place)


def lower_program(
    jaxpr: Jaxpr, platform: str, donated: tuple[int, ...] = (), keep_unused: bool = False
) -> LoweredProgram:
    """Return the module of `jaxpr`, which does not take arguments that no result depends on, unless it keeps them.

    Raises: MissingRuleError for a primitive without a lowering rule.
    """
    name = name_of(jaxpr)
    with phase("lower", name) as step:
        smaller, used = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), instantiate=keep_unused)
        kept = [i for i, is_used in enumerate(used) if is_used]
        with eval_context():
            module = lower_jaxpr_to_module(
                smaller, name=name, platform=platform, donated=[kept.index(i) for i in donated if i in kept]
            )
    log_constants(name, smaller, module.constant_bytes)
    return LoweredProgram(jaxpr, module, platform, used, donated, step.seconds)


def compile_program(lowered: LoweredProgram, place: Placement, options: Options = ()) -> Program:
    """Return the program of a lowered jaxpr for a device.  Raises: XlaRuntimeError."""
    name = name_of(lowered.jaxpr)
    try:
        with phase("compile", name) as step:
            host_functions = entries_of(lowered.module.callbacks)
            executable, is_loaded = load_or_compile(lowered.module.module, place, options, host_functions)
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
