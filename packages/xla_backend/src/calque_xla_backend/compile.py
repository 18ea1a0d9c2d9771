"""From jaxprs to programs: lowered, compiled, ready to run on buffers.

One idea: a jaxpr keeps its compiled programs (`Jaxpr.memo`), and they die with it.  A `Program` knows the types of the
arguments and the results of the executable, so that running it is one call.

Read next: `dispatch.py`, which runs programs in the fewest steps; `lowering.py`, which makes their code.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from calque_core import Jaxpr, dce_jaxpr, eval_context, rule_epoch
from calque_core.extend import check_program, here, is_debugging, where
from calque_pytree import static_key
from calque_xla_backend.modules.bounds import bounds_of, check_fit
from calque_xla_backend.modules.module import lower_jaxpr_to_module
from calque_xla_backend.runtime.array import Array, deleted_message, wrap
from calque_xla_backend.runtime.runtime import (
    Buffer,
    DeviceType,
    Placement,
    XlaRuntimeError,
    compile_module,
    device_type,
    placement,
    put,
)

Value = Any
Options = tuple[tuple[str, Any], ...]


class Program:
    """A compiled program: `run(buffers)` returns jaxlib's results, and `handlers` make buffers of them.

    `run` takes a buffer for each argument, and reads the buffers of the arguments in the mask `used`.
    """

    __slots__ = ("bounds", "donated", "handlers", "in_types", "name", "out_types", "run", "used")

    def __init__(
        self,
        jaxpr: Jaxpr,
        run: Callable[[Sequence[Buffer]], Any],
        used: Sequence[bool],
        place: Placement,
        donated: tuple[int, ...],
    ) -> None:
        self.name, self.run, self.bounds = name_of(jaxpr), run, bounds_of(jaxpr)
        self.in_types = [device_type(aval, place) for aval in jaxpr.in_avals]
        self.out_types = [device_type(aval, place) for aval in jaxpr.out_avals]
        self.handlers = [s.handler for s in self.out_types]
        self.used, self.donated = used, donated

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


def to_buffer(x: Value, target: DeviceType) -> Buffer:
    """Return the buffer of an array that has the type `target`, weak or not; of any other value, a converted copy."""
    if type(x) is Array and (x._device_type is target or x._device_type.strong is target.strong):
        return x._buffer
    return put(np.asarray(x, target.dtype), target)


def explain(error: RuntimeError, name: str, args: Sequence[Value]) -> None:
    """Add the name of the program to an error of the runtime.

    Raises: RuntimeError that names the argument, if one was deleted, or is donated and used a second time.
    """
    for i, x in enumerate(args):
        if type(x) is Array and x.is_deleted():
            raise RuntimeError(f"{name}, argument {i} of the flattened arguments: {deleted_message(x)}") from error
    if "donate" in str(error) and "same call" in str(error):
        raise RuntimeError(
            f"{name}{where()}: a donated array is used a second time in the same call, as another argument or as a "
            "captured array. Pass a copy, or leave the argument out of donate_argnums."
        ) from None
    error.add_note(f"This happened in running the compiled program of {name}.")


def common_placement(args: Sequence[Value], name: str) -> Placement:
    """Return the placement of all arrays among the arguments; the default placement without arrays.

    Raises: ValueError if they are on different devices.
    """
    places = {x._device_type.placement for x in args if type(x) is Array}
    if len(places) > 1:
        devices = " and ".join(sorted(str(place.device) for place in places))
        raise ValueError(f"{name} got arrays on {devices}. Move them to one device with device_put.")
    return places.pop() if places else placement()


class XlaCompiler:
    """Runs jaxprs with XLA: the `compiler` of the equations of `jit`.  Compared by identity.

    `options` are XLA's flags by name.
    """

    __slots__ = ("options",)

    def __init__(self, options: Options = ()) -> None:
        self.options = options

    def __call__(self, jaxpr: Jaxpr, args: Sequence[Value]) -> list[Array]:
        """Return the results of `jaxpr` on arrays, NumPy values and scalars."""
        caller = f"jit of {jaxpr.debug_name}"
        program = self.program(jaxpr, common_placement(args, caller))
        if program.bounds:
            check_fit(program.bounds, args, caller + where(), lambda: [f"{i} of the program" for i in range(len(args))])
        outs = program(args)
        if is_debugging():
            check_program(name_of(jaxpr), jaxpr, args, outs)
        return outs

    def program(self, jaxpr: Jaxpr, place: Placement, donated: tuple[int, ...] = ()) -> Program:
        """Return the program of a jaxpr for one device, compiled at the first call.

        The jaxpr keeps it: an equation of `jit`, as derivatives make them, has no function with a cache.
        """
        key = (self, place, donated, here().settings, rule_epoch())
        return jaxpr.memo(key, lambda: compile_jaxpr(jaxpr, place, self.options, donated))  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"XlaCompiler({dict(self.options) or ''})"


_compilers: dict[Hashable, XlaCompiler] = {}  # keys of programs hold compilers: equal options must be one object


def compiler_of(options: Options) -> XlaCompiler:
    """Return the one compiler with these options."""
    return _compilers.setdefault(static_key(options), XlaCompiler(options))


def compile_jaxpr(jaxpr: Jaxpr, place: Placement, options: Options = (), donated: tuple[int, ...] = ()) -> Program:
    """Return the program that computes `jaxpr`; the executable does not take arguments that no result depends on.

    Raises: MissingRuleError for a primitive without a lowering rule.
    """
    name = name_of(jaxpr)
    smaller, used = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))
    kept = [i for i, is_used in enumerate(used) if is_used]
    with eval_context():
        lowered = lower_jaxpr_to_module(
            smaller, name=name, platform=place.platform, donated=[kept.index(i) for i in donated if i in kept]
        )
    try:
        executable = compile_module(lowered.module, place, options)
    except XlaRuntimeError as error:
        error.add_note(f"This happened in compiling {name}.")
        raise
    consts = [to_buffer(const, device_type(aval, place)) for const, aval in lowered.const_args]
    run = _take_jaxpr_arguments(executable.execute_sharded, consts, kept, len(used))
    return Program(jaxpr, run, used, place, donated)


def name_of(jaxpr: Jaxpr) -> str:
    """Return the name of the user's function that `jaxpr` was traced from."""
    return jaxpr.debug_name or "program"


def _take_jaxpr_arguments(
    run: Callable[[Any], Any], consts: list[Buffer], kept: list[int], count: int
) -> Callable[[Any], Any]:
    """Return `run` as a function of the jaxpr's arguments: it adds constants, drops unused arguments."""
    if len(kept) < count:
        return lambda buffers: run([*consts, *[buffers[i] for i in kept]])
    return (lambda buffers: run([*consts, *buffers])) if consts else run
