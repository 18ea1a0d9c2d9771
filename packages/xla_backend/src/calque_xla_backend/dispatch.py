"""The path of a call of a compiled function: from the user's arguments to XLA and back, in the fewest steps.

One idea: each jitted function has a Python function of its own, generated for its number of arguments, that remembers
the program of the last call.  If all leaves are device arrays and have the signatures of that call, compared by
identity, it runs the program at once.  Everything else goes through `general`, which finds or makes a program.

Generated code holds templates and integers only; what it refers to enters as bound constants.
Read next: `jit.py`, whose `JitFunction` is the general path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from types import CodeType
from typing import Any

from calque_core.context import DEFAULT_SETTINGS, Settings, active, here
from calque_core.rules import rule_epoch
from calque_core.trace import evaluation
from calque_core.tracebacks import hide_frames, mark_boundary
from calque_pytree import tree_structure
from calque_xla_backend.array import Array, wrap
from calque_xla_backend.bounds import fit
from calque_xla_backend.compile import Program, explain
from calque_xla_backend.interrupts import GENERATED
from calque_xla_backend.runtime import Buffer
from calque_xla_backend.trace_cache import Call, Traced
from calque_xla_backend.transfer import Inputs, can_be_known

Value = Any
MAX_ARITY = 64


class Entry:
    """A program, and the calls it is for."""

    __slots__ = (
        "bounds",
        "epoch",
        "fit",
        "fit_call",
        "handlers",
        "inputs",
        "is_flat",
        "name",
        "out_signatures",
        "program",
        "run",
        "signatures",
        "static_part",
        "unflatten",
    )

    def __init__(self, program: Program, call: Call, traced: Traced) -> None:
        self.program, self.name, self.bounds, self.epoch = program, program.name, program.bounds, rule_epoch()
        self.run, self.handlers, self.out_signatures = program.run, program.handlers, program.out_signatures
        self.unflatten: Any = None if traced.out_tree.is_leaf else traced.out_tree.unflatten
        targets, args_tree = program.in_signatures, call.in_tree.children()[0]
        self.is_flat = args_tree == tree_structure((0,) * args_tree.num_leaves) and not call.dynamic[1]
        self.signatures: Any = tuple(targets) if self.is_flat else targets
        self.fit, self.fit_call = args_tree.fit, call.in_tree.fit
        self.static_part = call.static_part
        self.inputs = Inputs(call.leaves, program) if can_be_known(call.leaves, targets) else None

    def result(self, outs: Sequence[Buffer]) -> Any:
        """Return what the function returns, around these buffers."""
        if self.unflatten is not None:
            return self.unflatten(wrap(outs, self.out_signatures))
        x = Array()
        (x._buffer,), (x._signature,) = outs, self.out_signatures
        return x

    def attempt(self, static_part: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Sequence[Buffer] | None:
        """Return the results of the program if a call is like the one that this entry was made for, else None."""
        if self.inputs is None or self.static_part != static_part or self.epoch != rule_epoch():
            return None
        leaves = self.fit_call((args, kwargs)) if kwargs or not self.is_flat else args
        if leaves is None or not self.inputs.fit(leaves):
            return None
        if self.bounds and not fit(self.bounds, leaves):
            return None  # the general path says which
        try:
            outs: Sequence[Buffer] = self.run(self.inputs.buffers(leaves)).consume_with_handlers(self.handlers)
        except RuntimeError as error:
            explain(error, self.name, leaves)
            raise
        except OverflowError:
            return None  # a Python integer that does not fit; the general path says which
        return outs


class HostRoute:
    """In the place of an entry when the last call was not on device arrays alone: tries its program again."""

    __slots__ = ("entry",)
    run = None
    epoch = None  # of no program: the generated code goes through `general`, outside of its `except`

    def __init__(self, entry: Entry | None) -> None:
        self.entry = entry

    def call(self, general: Callable[..., Any], args: tuple[Value, ...]) -> Any:
        """Return the result of a call of positional arguments."""
        entry = self.entry
        if entry is not None:
            outs = entry.attempt(None, args, {})
            if outs is not None:
                return entry.result(outs)
        return general(args, {})


NO_ENTRY: Any = HostRoute(None)


class State:
    """What the generated code remembers: the entry of the last call on device arrays, for each group of settings."""

    __slots__ = ("entries", "entry")

    def __init__(self) -> None:
        self.entry: Any = NO_ENTRY
        self.entries: dict[Settings, Any] = {}

    def remember(self, entry: Any) -> None:
        """Let the next call try `entry` first, under settings like those of this thread."""
        self.entries[here().settings] = entry
        if here().settings == DEFAULT_SETTINGS:
            self.entry = entry

    def forget(self) -> None:
        """Go through the general path at the next call."""
        self.entry = NO_ENTRY
        self.entries = {}


def is_resting() -> bool:
    """Tell whether this thread merely evaluates, so that programs may run."""
    return here().trace is evaluation and not here().axis_env


def active_entry(state: State) -> Any:
    """Return the entry for this thread, while some thread traces or has settings of its own."""
    return state.entries.get(here().settings, NO_ENTRY) if is_resting() else NO_ENTRY


class Missing:
    """The default of every parameter of the generated function."""


MISSING = Missing()

_TEMPLATE = """
def make(state, general, active, active_entry, rule_epoch, Array, MISSING, NO_ENTRY, explain, hide_frames):
 def call({parameters}*rest, **kwargs):
  try:
   if rest or kwargs: return general(({arguments}*rest,), kwargs)
   entry = active_entry(state) if active else state.entry
   if entry.run is None: return entry.call(general, ({arguments}))
   try:
    if entry.is_flat:
     if ({signatures}) != entry.signatures: return general(({arguments}), kwargs)
     buffers = ({buffers})
    else:
     leaves = entry.fit(({arguments}))
     if [x._signature for x in leaves] != entry.signatures: return general(({arguments}), kwargs)
     buffers = [x._buffer for x in leaves]
   except (AttributeError, TypeError, ValueError): entry = NO_ENTRY
   if entry.epoch != rule_epoch(): return general(({arguments}), kwargs)
   try: outs = entry.run(buffers).consume_with_handlers(entry.handlers)
   except RuntimeError as error:
    explain(error, entry.name, leaves if not entry.is_flat else ({arguments}))
    raise
   if entry.unflatten is None:
    x = Array()
    x._buffer, = outs
    x._signature, = entry.out_signatures
    return x
   arrays = [Array() for _ in outs]
   for x, x._buffer, x._signature in zip(arrays, outs, entry.out_signatures): pass
   return entry.unflatten(arrays)
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
        signatures=_repeat("a{}._signature, ", arity),
        buffers=_repeat("a{}._buffer, ", arity),
    )
    return compile(source, GENERATED, "exec")


def _repeat(text: str, count: int) -> str:
    return "".join(text.format(i) for i in range(count))


def generate_call(arity: int, state: State, general: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of any arguments that is fast on `arity` positional ones.

    `general(args, kwargs)` handles what it does not; `MISSING` stands for positional arguments that were not given.
    """
    namespace: dict[str, Any] = {}
    exec(_code(arity), namespace)  # noqa: S102  the text is made of the template above and integers
    call: Callable[..., Any] = namespace["make"](
        state, general, active, active_entry, rule_epoch, Array, MISSING, NO_ENTRY, explain, hide_frames
    )
    mark_boundary(call.__code__)
    return call
