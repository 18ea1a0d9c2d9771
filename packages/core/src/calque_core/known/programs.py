"""Programs that run again and again, as straight-line code.

One idea: an interpreter takes longer for an equation than NumPy for a small array, and a loop runs the program of its
step many times.  So a program that ran some times becomes a Python function, for arguments of its own types.  A
function that is traced anew gives an equal program, which finds the code of the first one.  An error is left to the
interpreter, which names the place.

Read next: `run.py`, which writes the code; `ops/calls/scan.py`, whose step runs so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from calque_core.context import Settings, allow_known, here, merely_evaluates
from calque_core.epoch import rule_epoch
from calque_core.jaxprs.interpret import run_jaxpr
from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params
from calque_core.known.operands import exact_params
from calque_core.known.run import StraightLine, has_narrow_scalars
from calque_core.known.table import KnownOperations, run_code
from calque_core.record import Record
from calque_core.traces.evaluators import are_canonical, plain_types
from calque_core.types.avals import ShapedArray, typeof
from calque_core.types.dtypes import canonicalize_dtype

Value = Any
Code = Callable[..., Sequence[Value]]


class _History:
    """How often a program ran, the key of its code, and its code by settings and rule epoch."""

    __slots__ = ("codes", "key", "runs")

    def __init__(self) -> None:
        self.runs = 0
        self.key: Any = None
        self.codes: dict[Any, Code | None] = {}


def run_again(jaxpr: Jaxpr, *args: Value) -> list[Value]:
    """Return the results of `run_jaxpr` on a program with its own constants: for programs that run many times.

    >>> import numpy as np
    >>> from calque_core import make_jaxpr
    >>> program = make_jaxpr(lambda x: 2.0 * x)(np.ones(2))
    >>> outs = [run_again(program, np.array([1.0, 2.0])) for _ in range(100)]
    >>> outs[0], outs[-1]
    ([array([2., 4.])], [array([2., 4.])])
    """
    history = jaxpr.memo("history", _History)
    history.runs += 1
    if history.runs > 1 and merely_evaluates():
        outs = outs_of_code(jaxpr, args, history)
        if outs is not None:
            return list(outs)
        parts = jaxpr.memo("parts", lambda: _parts_of(jaxpr)) if history.runs > _SOME_RUNS else ()
        if parts and plain_types.keys() >= set(map(type, args)):
            return _run_parts(jaxpr, parts, args)
    return run_jaxpr(jaxpr, jaxpr.consts, *args)


class _Part(Record):
    """Neighbouring equations of a program, as a program, and the variables that no later part needs."""

    program: Jaxpr
    dead: Sequence[Var]


def _parts_of(jaxpr: Jaxpr) -> Sequence[_Part]:
    """Return the parts of a program that calls the user's functions: equations with code of their own, and the calls.

    Code that fails runs again, and a call must not.  Without such a call, or without longer code, there are no parts.
    """
    is_code = [not eqn.effects and _runs_on_numpy(eqn) for eqn in jaxpr.eqns]
    groups = [[i for i, _ in group] for _, group in groupby(enumerate(is_code), key=lambda pair: pair[1])]
    if all(is_code) or not any(is_code[group[0]] and len(group) >= _LONG for group in groups):
        return ()
    last: dict[Any, int] = {x: i for i, eqn in enumerate(jaxpr.eqns) for x in eqn.invars if type(x) is Var}
    last.update((x, len(jaxpr.eqns)) for x in jaxpr.outvars if type(x) is Var)
    parts = []
    for group in groups:
        eqns, end = jaxpr.eqns[group[0] : group[-1] + 1], group[-1]
        made = [v for eqn in eqns for v in eqn.outvars]
        invars = [x for x in dict.fromkeys(x for eqn in eqns for x in eqn.invars if type(x) is Var) if x not in made]
        outvars = [v for v in made if last.get(v, -1) > end]
        dead = [v for v in invars if last[v] <= end]
        parts.append(_Part(Jaxpr((), invars, eqns, outvars), dead))
    return parts


_LONG = 2  # equations


def _run_parts(jaxpr: Jaxpr, parts: Sequence[_Part], args: Sequence[Value]) -> list[Value]:
    env: dict[Any, Value] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*jaxpr.consts, *args)))
    for part in parts:
        outs = run_again(part.program, *[env[v] for v in part.program.invars])
        env.update(zip(part.program.outvars, outs))
        for v in part.dead:
            del env[v]
    return [x.val if type(x) is Literal else env[x] for x in jaxpr.outvars]


def outs_of_code(jaxpr: Jaxpr, args: Sequence[Value], history: _History) -> Sequence[Value] | None:
    """Return the results of a program in evaluation, by its code; None if it has to be interpreted."""
    values = (*jaxpr.consts, *args)
    if not plain_types.keys() >= set(map(type, values)):
        return None
    settings = here().settings
    if not allow_known(settings) or not are_canonical(values):
        return None
    state = settings, rule_epoch()
    code = history.codes[state] if state in history.codes else _found(jaxpr, history, state)
    if code is None:
        return None
    for x, v in zip(args, jaxpr.invars):
        if typeof(x) != v.aval:
            return None
    interpret = partial(run_jaxpr, jaxpr, jaxpr.consts, *args)
    return run_code(jaxpr.debug_name or "jaxpr", code, values, interpret)


def _found(jaxpr: Jaxpr, history: _History, state: tuple[Settings, int]) -> Code | None:
    """Return the code of an equal program, or new code after some runs; keep it in the history of this program."""
    if history.key is None:
        history.key = key_of(jaxpr)
        try:
            hash(history.key)
        except TypeError:  # a parameter has no hash: equal programs do not share code
            history.key = history
    code = programs.find([history.key], jaxpr)
    if code is not None or history.runs > _SOME_RUNS:  # the table has met the program at least as often
        history.codes[state] = code
    return code


_SOME_RUNS = 16  # to make code takes as long as some of them


def code_of(jaxpr: Jaxpr) -> Code | None:
    """Return a program as a function of its constants and arguments, of its types; None if it has no such code.

    It runs in evaluation, so that it may call the implementations of loops and branches, too.
    """
    if not 0 < len(jaxpr.eqns) <= _MOST_EQUATIONS or jaxpr.effects:
        return None
    variables = [*jaxpr.constvars, *jaxpr.invars, *(v for eqn in jaxpr.eqns for v in eqn.outvars)]
    if any(map(_is_weak_float, variables)) or not all(map(_is_canonical, variables)):
        return None
    if not all(map(_runs_on_numpy, jaxpr.eqns)) or any(map(has_narrow_scalars, jaxpr.eqns)):
        return None
    code = StraightLine()
    arguments = code.arguments([*jaxpr.constvars, *jaxpr.invars])
    whole = jaxpr.replace(constvars=(), consts=(), invars=[*jaxpr.constvars, *jaxpr.invars])
    return code.function(arguments, f"[{', '.join(code.results(whole))}]")


programs = KnownOperations(code_of, meetings=_SOME_RUNS - 1)  # the first run asks for none


control_flow: set[Any] = set()
"""The primitives whose evaluation runs the programs in their parameters, and does nothing else."""


def _runs_on_numpy(eqn: JaxprEqn) -> bool:
    """Tell whether evaluation of an equation calls NumPy's functions alone, in loops and branches, too."""
    if eqn.primitive.is_leaf:
        return True
    programs = jaxprs_in_params(eqn.params) if eqn.primitive in control_flow else ()
    return eqn.primitive in control_flow and all(
        _runs_on_numpy(inner) for program in programs for inner in program.eqns
    )


_MOST_EQUATIONS = 1_000  # the code of more takes a large part of a second


def _is_weak_float(v: Var) -> bool:
    """Tell whether evaluation may give a Python float for a variable, where code gives a scalar of NumPy's."""
    return bool(getattr(v.aval, "weak_type", False) and v.aval.kind == "f")


def _is_canonical(v: Var) -> bool:
    """Tell whether a variable has the dtype that the settings give it; otherwise evaluation converts it."""
    if here().settings.enable_x64 or type(v.aval) is not ShapedArray:
        return True
    return canonicalize_dtype(v.aval.dtype) == v.aval.dtype


def key_of(jaxpr: Jaxpr) -> tuple[Any, ...]:
    """Return a key that is equal for programs with equal code.

    >>> from calque_core import lax, make_jaxpr
    >>> sine, another, cosine = (make_jaxpr(lambda x, f=f: f(x) * 2.0)(1.0) for f in (lax.sin, lax.sin, lax.cos))
    >>> key_of(sine) == key_of(another), key_of(sine) == key_of(cosine)
    (True, False)
    """
    arguments = (*jaxpr.constvars, *jaxpr.invars)
    numbers: dict[Any, int] = {v: i for i, v in enumerate(arguments)}

    def name(x: Atom) -> Any:
        return (type(x.val), repr(x.val), x.aval) if type(x) is Literal else numbers[x]

    parts: list[Any] = [len(arguments), *(v.aval for v in arguments)]
    for eqn in jaxpr.eqns:
        parts += eqn.primitive, exact_params(eqn.params), tuple(map(name, eqn.invars))
        for v in eqn.outvars:
            numbers[v] = len(numbers)
    return *parts, *map(name, jaxpr.outvars)
