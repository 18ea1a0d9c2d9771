"""The path of a call of a compiled function: from the user's arguments to XLA and back, in the fewest steps.

One idea: each jitted function has a Python function of its own, generated for its number of arguments, that remembers the
program of the last call.  If all leaves are device arrays and have the signatures of that call, compared by identity, it
runs the program at once.  Everything else goes through `general`, which finds or makes a program and lets it be remembered.

Generated code holds templates and integers only; what it refers to enters as bound constants.
Read next: `jit.py`, whose `JitFunction` is the general path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

from calque_core.context import DEFAULT_SETTINGS, Settings, active, context
from calque_core.rules import rule_epoch
from calque_core.trace import evaluation
from calque_pytree import PyTreeDef, tree_structure

from calque_xla_backend.array import Array
from calque_xla_backend.compile import Program, explain

Value = Any
MAX_ARITY = 64


class Entry:
    """A program as the generated code wants it."""

    __slots__ = (
        "epoch", "fit", "handlers", "is_flat", "name", "out_signatures", "program", "run", "signatures", "unflatten",
    )  # fmt: skip

    def __init__(self, program: Program, args_tree: PyTreeDef | None, out_tree: PyTreeDef) -> None:
        self.program, self.name, self.epoch = program, program.name, rule_epoch()
        self.run, self.handlers, self.out_signatures = program.run, program.handlers, program.out_signatures
        self.is_flat = args_tree is None or args_tree == tree_structure((0,) * args_tree.num_leaves)
        signatures = program.in_signatures
        self.signatures: Any = tuple(signatures) if self.is_flat else signatures
        self.fit = None if args_tree is None else args_tree.fit
        self.unflatten: Any = None if out_tree.is_leaf else out_tree.unflatten

    def __call__(self, args: Sequence[Value]) -> Any:
        """Return the result on the leaves of the arguments."""
        outs = self.program(args)
        return outs[0] if self.unflatten is None else self.unflatten(outs)


class _NoEntry:
    """In the place of an entry until there is one: no arguments have its signatures."""

    is_flat, signatures, epoch, fit = True, None, -1, None


NO_ENTRY: Any = _NoEntry()


class State:
    """What the generated code remembers: the entry of the last call on device arrays, for each group of settings."""

    __slots__ = ("entries", "entry")

    def __init__(self) -> None:
        self.entry: Any = NO_ENTRY
        self.entries: dict[Settings, Any] = {}

    def remember(self, entry: Any) -> None:
        """Let the next call try `entry` first, under settings like those of this thread."""
        self.entries[context.settings] = entry
        if context.settings == DEFAULT_SETTINGS:
            self.entry = entry

    def forget(self) -> None:
        """Go through the general path at the next call."""
        self.entry = NO_ENTRY
        self.entries = {}


def active_entry(state: State) -> Any:
    """Return the entry for this thread, while some thread traces or has settings of its own."""
    if context.trace is not evaluation or context.axis_env:
        return NO_ENTRY
    return state.entries.get(context.settings, NO_ENTRY)


class Missing:
    """The default of every parameter of the generated function."""


MISSING = Missing()

_TEMPLATE = """
def make(state, general, active, active_entry, rule_epoch, Array, MISSING, explain):
 def call({parameters}*rest, **kwargs):
  if rest or kwargs: return general(({arguments}*rest,), kwargs)
  entry = active_entry(state) if active else state.entry
  try:
   if entry.is_flat:
    if ({signatures}) != entry.signatures: return general(({arguments}), kwargs)
    buffers = ({buffers})
   else:
    leaves = entry.fit(({arguments}))
    if [x._signature for x in leaves] != entry.signatures: return general(({arguments}), kwargs)
    buffers = [x._buffer for x in leaves]
  except (AttributeError, TypeError, ValueError): return general(({arguments}), kwargs)
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
 return call
"""


@lru_cache(maxsize=None)
def _code(arity: int) -> CodeType:
    names = [f"a{i}" for i in range(arity)]
    each = lambda text: "".join(text.format(name) for name in names)
    parameters = each("{}=MISSING, ") + ("/, " if names else "")
    source = _TEMPLATE.format(
        parameters=parameters,
        arguments=each("{}, "),
        signatures=each("{}._signature, "),
        buffers=each("{}._buffer, "),
    )
    return compile(source, "<generated by calque_xla_backend>", "exec")


def generate_call(arity: int, state: State, general: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of any arguments that is fast on `arity` positional ones.

    `general(args, kwargs)` handles what it does not; `MISSING` stands for positional arguments that were not given.
    """
    namespace: dict[str, Any] = {}
    exec(_code(arity), namespace)  # noqa: S102  the text is made of the template above and integers
    call: Callable[..., Any] = namespace["make"](
        state, general, active, active_entry, rule_epoch, Array, MISSING, explain
    )
    return call
