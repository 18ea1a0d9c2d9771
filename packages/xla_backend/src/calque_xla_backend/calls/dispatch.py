"""Calls of a compiled function: from the user's arguments to XLA and back, in the fewest steps.

One idea: each jitted function has a Python function of its own, generated for its number of arguments, that keeps the
program of the last call.  If all leaves are device arrays with the device types of that call, compared by identity, it
runs the program at once.  Any other call goes through `general`, which looks the program up or compiles it.

Generated code holds templates and integers only; the objects that it uses enter as bound constants.
Read next: `jit.py`, whose `JitFunction` is the general path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from types import CodeType
from typing import Any

from calque_core import evaluation, rule_epoch
from calque_core.extend import DEFAULT_SETTINGS, Settings, active, here, hide_frames, mark_boundary
from calque_pytree import tree_structure
from calque_xla_backend.calls.trace_cache import Call, Traced
from calque_xla_backend.calls.transfer import Inputs, has_plain_types
from calque_xla_backend.compile import Program, explain
from calque_xla_backend.modules.bounds import fit
from calque_xla_backend.runtime.array import Array, wrap
from calque_xla_backend.runtime.interrupts import GENERATED
from calque_xla_backend.runtime.runtime import Buffer

Value = Any
MAX_ARITY = 64


class CompiledCall:
    """A program, and the arguments of the calls that it serves."""

    __slots__ = (
        "bounds",
        "epoch",
        "fit",
        "fit_call",
        "handlers",
        "inputs",
        "is_flat",
        "name",
        "out_types",
        "program",
        "run",
        "device_types",
        "static_keys",
        "unflatten",
    )

    def __init__(self, program: Program, call: Call, traced: Traced) -> None:
        self.program, self.name, self.bounds, self.epoch = program, program.name, program.bounds, rule_epoch()
        self.run, self.handlers, self.out_types = program.run, program.handlers, program.out_types
        self.unflatten: Any = None if traced.out_tree.is_leaf else traced.out_tree.unflatten
        targets, args_tree = program.in_types, call.in_tree.children()[0]
        self.is_flat = args_tree == tree_structure((0,) * args_tree.num_leaves) and not call.dynamic[1]
        self.device_types: Any = tuple(targets) if self.is_flat else targets
        self.fit, self.fit_call = args_tree.fit, call.in_tree.fit
        self.static_keys = call.static_keys
        self.inputs = Inputs(call.leaves, program) if has_plain_types(call.leaves, targets) else None

    def result(self, outs: Sequence[Buffer]) -> Any:
        """Return the result of the function, with `outs` as the buffers of its arrays."""
        if self.unflatten is not None:
            return self.unflatten(wrap(outs, self.out_types))
        x = Array()
        (x._buffer,), (x._device_type,) = outs, self.out_types
        return x

    def attempt(self, static_keys: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Sequence[Buffer] | None:
        """Return the results of the program if the arguments have the types of the first call, else None."""
        if self.inputs is None or self.static_keys != static_keys or self.epoch != rule_epoch():
            return None
        leaves = self.fit_call((args, kwargs)) if kwargs or not self.is_flat else args
        if leaves is None or not self.inputs.fit(leaves):
            return None
        if self.bounds and not fit(self.bounds, leaves):
            return None  # the general path names the argument
        try:
            outs: Sequence[Buffer] = self.run(self.inputs.buffers(leaves)).consume_with_handlers(self.handlers)
        except RuntimeError as error:
            explain(error, self.name, leaves)
            raise
        except OverflowError:
            return None  # a Python integer that does not fit; the general path names it
        return outs


class HostCall:
    """Stands in for a `CompiledCall` after a call with NumPy arguments, and tries its program again."""

    __slots__ = ("compiled",)
    run = None
    epoch = None  # never equal to an epoch: the generated code goes through `general`, outside of its `except`

    def __init__(self, compiled: CompiledCall | None) -> None:
        self.compiled = compiled

    def call(self, general: Callable[..., Any], args: tuple[Value, ...]) -> Any:
        """Return the result of a call with positional arguments only."""
        compiled = self.compiled
        if compiled is not None:
            outs = compiled.attempt((), args, {})
            if outs is not None:
                return compiled.result(outs)
        return general(args, {})


NOT_COMPILED: Any = HostCall(None)


class LastCall:
    """The compiled call that the generated code tries first: that of the last call, for each group of settings."""

    __slots__ = ("by_settings", "compiled")

    def __init__(self) -> None:
        self.compiled: Any = NOT_COMPILED
        self.by_settings: dict[Settings, Any] = {}

    def record(self, compiled: Any) -> None:
        """Let the next call under the settings of this thread try `compiled` first."""
        self.by_settings[here().settings] = compiled
        if here().settings == DEFAULT_SETTINGS:
            self.compiled = compiled

    def clear(self) -> None:
        """Let the next call take the general path."""
        self.compiled = NOT_COMPILED
        self.by_settings = {}


def is_evaluating() -> bool:
    """Tell whether this thread evaluates, with no trace and no named axis, so that programs may run."""
    return here().trace is evaluation and not here().axis_env


def active_call(last_call: LastCall) -> Any:
    """Return the compiled call for this thread, while some thread traces or has settings of its own."""
    return last_call.by_settings.get(here().settings, NOT_COMPILED) if is_evaluating() else NOT_COMPILED


class Missing:
    """The default of every parameter of the generated function."""


MISSING = Missing()

_TEMPLATE = """
def make(last_call, general, active, active_call, rule_epoch, Array, MISSING, NOT_COMPILED, explain, hide_frames):
 def call({parameters}*extra, **kwargs):
  try:
   if extra or kwargs: return general(({arguments}*extra,), kwargs)
   compiled = active_call(last_call) if active else last_call.compiled
   if compiled.run is None: return compiled.call(general, ({arguments}))
   try:
    if compiled.is_flat:
     if ({device_types}) != compiled.device_types: return general(({arguments}), kwargs)
     buffers = ({buffers})
    else:
     leaves = compiled.fit(({arguments}))
     if [x._device_type for x in leaves] != compiled.device_types: return general(({arguments}), kwargs)
     buffers = [x._buffer for x in leaves]
   except (AttributeError, TypeError, ValueError): compiled = NOT_COMPILED
   if compiled.epoch != rule_epoch(): return general(({arguments}), kwargs)
   try: outs = compiled.run(buffers).consume_with_handlers(compiled.handlers)
   except RuntimeError as error:
    explain(error, compiled.name, leaves if not compiled.is_flat else ({arguments}))
    raise
   if compiled.unflatten is None:
    x = Array()
    x._buffer, = outs
    x._device_type, = compiled.out_types
    return x
   arrays = [Array() for _ in outs]
   for x, x._buffer, x._device_type in zip(arrays, outs, compiled.out_types): pass
   return compiled.unflatten(arrays)
  except Exception as error:
   hide_frames(error)
   raise
 return call
"""


@cache
def _code(arity: int) -> CodeType:
    source = _TEMPLATE.format(
        parameters=_repeat("a{}=MISSING, ", arity) + ("/, " if arity else ""),
        arguments=_repeat("a{}, ", arity),
        device_types=_repeat("a{}._device_type, ", arity),
        buffers=_repeat("a{}._buffer, ", arity),
    )
    return compile(source, GENERATED, "exec")


def _repeat(text: str, count: int) -> str:
    return "".join(text.format(i) for i in range(count))


def generate_call(arity: int, last_call: LastCall, general: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of any arguments that is fast for `arity` positional arguments.

    `general(args, kwargs)` handles all other calls; `MISSING` stands for an absent positional argument.
    """
    namespace: dict[str, Any] = {}
    exec(_code(arity), namespace)  # noqa: S102  the text is made of the template above and integers
    call: Callable[..., Any] = namespace["make"](
        last_call, general, active, active_call, rule_epoch, Array, MISSING, NOT_COMPILED, explain, hide_frames
    )
    mark_boundary(call.__code__)
    return call
