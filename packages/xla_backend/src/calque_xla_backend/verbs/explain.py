"""`explain`: why a call of a jitted function would trace or compile.

One idea: ask the caches as the call would, and compare keys where they have no answer; nothing is traced or compiled.

Read next: `calls/differences.py`, which compares keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MethodType
from typing import Any

from calque_core import CapturedConstant, Jaxpr, api_boundary, captured_constants, evaluation, is_tracer
from calque_core.config import reports
from calque_core.engine import here, is_debugging, narrow
from calque_core.extend import describe_function, where
from calque_xla_backend.calls.call import Call, TracedCall
from calque_xla_backend.calls.differences import Difference, differences
from calque_xla_backend.calls.static_keys import explain_comparison
from calque_xla_backend.compiler import XlaCompiler
from calque_xla_backend.runtime.log import constants_text
from calque_xla_backend.runtime.partition import Partition, Place
from calque_xla_backend.runtime.placement import placement
from calque_xla_backend.verbs.jit_function import JitFunction

Value = Any


@dataclass(frozen=True, slots=True)
class Explanation:
    """The work that a call would do beside its run, and the reasons.  It prints as plain sentences.

    `action` is 'nothing', 'trace', 'compile' or 'trace and compile'.  `reasons` are the differences from the nearest
    known call, none for the action 'nothing'; `known_calls` counts the calls to choose from.  `captured_constants` are
    the arrays that the function captured, the largest first, if it was traced for these types.
    """

    function: str
    action: str
    reasons: tuple[Difference, ...]
    known_calls: int
    captured_constants: tuple[CapturedConstant, ...] = ()

    def __str__(self) -> str:
        if self.action == "nothing":
            return f"jit of {self.function}: nothing would be traced or compiled.{self._about_constants()}"
        verbs = {"trace": "traced", "compile": "compiled", "trace and compile": "traced and compiled"}
        known = f" The nearest of {self.known_calls} known calls differs:" if self.known_calls > 1 else ""
        lines = [f"jit of {self.function}: this call would be {verbs[self.action]}.{known}"]
        return "\n  ".join([*lines, *map(str, self.reasons)]) + self._about_constants()

    def _about_constants(self) -> str:
        """Return a line about the constants, if they are as large as the setting says."""
        limit, nbytes = reports().captured_constants_bytes, sum(c.nbytes for c in self.captured_constants)
        if limit is None or not nbytes or nbytes < limit:
            return ""
        return f"\nIt captured {constants_text(self.captured_constants)}."


@api_boundary
def explain(f: Any, /, *args: Value, **kwargs: Value) -> Explanation:
    """Return why the call `f(*args, **kwargs)` of a jitted function would trace or compile, if it would.

    The answer compares the call, argument by argument, with the nearest call that is known.  Arguments may be types,
    as `ShapeDtypeStruct`.  Nothing is traced, compiled or run.
    Raises: TypeError if `f` is not a function that `jit` returned, and for arguments that the call would refuse.

    >>> import numpy as np
    >>> from calque_xla_backend import explain, jit
    >>> double = jit(lambda x: x * 2.0)
    >>> _ = double(np.ones(3))
    >>> print(explain(double, np.ones(3)))  # doctest: +ELLIPSIS
    jit of <lambda> (...): nothing would be traced or compiled.
    >>> print(explain(double, np.ones(4)).reasons[0])
    x has the shape (4,); that call had (3,).
    """
    if isinstance(f, MethodType):
        args = (f.__self__, *args)  # the attributes of a method are those of its function
    function = getattr(f, "jit_function", None)
    if not isinstance(function, JitFunction):
        raise TypeError(f"explain{where()} got {f!r}, which jit did not return. Give the function that jit returned.")
    return _explain(function, args, kwargs)


def _explain(function: JitFunction, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Explanation:
    name = describe_function(function.traced.fun)
    if here().settings.disable_jit:
        return Explanation(name, "nothing", (), 0)
    statics, static_keys, dynamic = function.traced.split(args, kwargs)
    call = function.traced.call(statics, static_keys, dynamic)
    is_bound = here().trace is not evaluation or any(map(is_tracer, call.leaves))
    if is_bound:
        call = call._replace(leaves=[*narrow(call.leaves)])
    avals = function.traced.avals(call)
    cache = function.traced.cache
    try:
        traced = cache.find(call.key(avals))
        if traced is None:
            reasons = differences(function.traced.fun, call, avals, cache.traces)
            action = "trace" if is_bound else "trace and compile"
            return Explanation(name, action, tuple(reasons), len(cache.traces))
    except Exception as error:
        if static_keys:
            explain_comparison("explain", function.traced.fun, static_keys, cache.static_keys(), error)
        raise
    if is_bound:
        return Explanation(name, "nothing", (), len(cache.traces), tuple(captured_constants(traced.jaxpr)))
    return _explain_program(function, name, call, traced)


def _explain_program(function: JitFunction, name: str, call: Call, traced: TracedCall) -> Explanation:
    """Return the explanation of a call whose trace is known: whether its program is."""
    place = function.place(call, traced) or placement()
    constants = tuple(captured_constants(traced.jaxpr))
    donated = () if is_debugging() else function.donated.leaves(call.dynamic[0], call.in_tree)
    if function.compiler.has_program(traced.jaxpr, place, donated):
        return Explanation(name, "nothing", (), len(function.traced.cache.traces), constants)
    programs = _known_programs(traced.jaxpr)
    candidates = [_program_differences((function.compiler, place, donated), other) for other in reversed(programs)]
    if not candidates:
        sentence = "The function was traced for these types, but never compiled."
        candidates = [[Difference("first call", "", "", "", sentence)]]
    nearest = min(candidates, key=len)
    return Explanation(name, "compile", tuple(nearest), len(programs), constants)


Options = tuple[XlaCompiler, Place, tuple[int, ...]]


def _known_programs(jaxpr: Jaxpr) -> list[Options]:
    return [key[:3] for key in jaxpr.memo_keys() if isinstance(key, tuple) and isinstance(key[0], XlaCompiler)]


def _program_differences(now: Options, before: Options) -> list[Difference]:
    compiler, place, donated = now
    compiler_before, place_before, donated_before = before
    differences = []
    if place != place_before:
        texts = _place_text(place), _place_text(place_before)
        differences.append(
            Difference("device", "", *texts, f"The device is {texts[0]}; that program runs on {texts[1]}.")
        )
    if donated != donated_before:
        texts = _numbers(donated), _numbers(donated_before)
        sentence = f"The donated leaves of the arguments are {texts[0]}; in that program {texts[1]}."
        differences.append(Difference("donated", "", *texts, sentence))
    if compiler is not compiler_before:
        texts = compiler.choices() or "the defaults", compiler_before.choices() or "the defaults"
        sentence = f"The options of jit are {texts[0]}; those of that program are {texts[1]}."
        differences.append(Difference("options", "", *texts, sentence))
    return differences


def _place_text(place: Place) -> str:
    if not isinstance(place, Partition):
        return str(place)
    arguments = ", ".join("any" if one is None else str(one.sharding) for one in place.arguments)
    return f"{place} with arguments divided as ({arguments})"


def _numbers(positions: tuple[int, ...]) -> str:
    return ", ".join(map(str, positions)) or "none"
