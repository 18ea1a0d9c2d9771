"""Calls of a compiled function: from the user's arguments to XLA and back, in the fewest steps.

One idea: each jitted function has a Python function of its own, generated for its number of arguments, that tries the
program of the last call.  If all leaves are device arrays with the device types of that call, compared by identity, it
runs the program at once; so it does for device arrays alone with the types of any earlier call.  Any other call goes
through `general`, which looks the program up or compiles it.

Generated code holds templates and integers only; the objects that it uses enter as bound constants.

Read next: `verbs/jit_function.py`, the general path.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any

from calque_core.engine import active, hide_frames, mark_boundary
from calque_xla_backend.calls.cache import Programs
from calque_xla_backend.calls.compiled import NOT_COMPILED
from calque_xla_backend.runtime.array import Array
from calque_xla_backend.runtime.interrupts import GENERATED

MAX_ARITY = 64


class Missing:
    """The default of every parameter of the generated function."""


MISSING = Missing()

_TEMPLATE = """
def make(programs, general, active, Array, MISSING, NOT_COMPILED, hide_frames):
 def call({parameters}*extra, **kwargs):
  try:
   if {other}: return general(({arguments}{others}), kwargs)
   compiled = programs.recall()[0] if active else programs.last
   if not compiled.is_direct: return compiled.call(general, ({arguments}))
   try:
    if compiled.is_flat:
     types = [{device_types}]
     if types != compiled.device_types:
      compiled = NOT_COMPILED if active else programs.find(tuple(types))
     buffers = [{buffers}]
    else:
     leaves = compiled.fit(({arguments}))
     if [x._device_type for x in leaves] != compiled.device_types: return general(({arguments}), kwargs)
     buffers = [x._buffer for x in leaves]
   except (AttributeError, TypeError, ValueError): compiled = NOT_COMPILED
   if compiled is NOT_COMPILED: return general(({arguments}), kwargs)
   try: outs = compiled.run(buffers).consume_with_handlers(compiled.handlers)
   except RuntimeError as error:
    compiled.explain(error, leaves if not compiled.is_flat else ({arguments}))
    raise
   if compiled.unflatten is None:
    x = Array()
    x._buffer, = outs
    x._device_type, = compiled.out_types
    return x
   return compiled.unflatten(compiled.wrap(outs))
  except Exception as error:
   hide_frames(error)
   raise
 return call
"""


@cache  # of templates by arity, for all functions: compiling one takes 0.5 ms and more
def _code(arity: int) -> CodeType:
    if not arity:  # any number of arguments, `*extra`
        return _compiled("", "kwargs", "*extra, ", "", "x.{} for x in extra")
    each = _repeat("a{}.{{}}, ", arity)
    parameters = _repeat("a{}=MISSING, ", arity) + "/, "
    return _compiled(parameters, "extra or kwargs", _repeat("a{}, ", arity), "*extra,", each)


def _compiled(parameters: str, other: str, arguments: str, others: str, each: str) -> CodeType:
    source = _TEMPLATE.format(
        parameters=parameters,
        other=other,
        arguments=arguments,
        others=others,
        device_types=each.replace("{}", "_device_type"),
        buffers=each.replace("{}", "_buffer"),
    )
    return compile(source, GENERATED, "exec")


def _repeat(text: str, count: int) -> str:
    return "".join(text.format(i) for i in range(count))


def generate_call(arity: int, programs: Programs, general: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of any arguments that is fast for `arity` positional arguments, or for any number with 0.

    `general(args, kwargs)` handles all other calls; `MISSING` stands for an absent positional argument.
    """
    namespace: dict[str, Any] = {}
    exec(_code(arity), namespace)  # noqa: S102  the text is made of the template above and integers
    make = namespace.pop("make")  # it refers to its namespace: a cycle of references
    call: Callable[..., Any] = make(programs, general, active, Array, MISSING, NOT_COMPILED, hide_frames)
    mark_boundary(call.__code__)
    return call
