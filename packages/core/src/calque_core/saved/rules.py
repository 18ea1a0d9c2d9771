"""The rules of custom functions as programs, so that they can be stored and read.

One idea: a rule is a Python function, and its program for nonzero tangents does the same work.  A rule may call its own
function, whose rules are the same: a table of rules, with programs that refer to it, ends the circle.

Read next: `writing.py`, which owns the table; `ops/calls/custom_closures.py`, the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.jaxprs.masks import marked
from calque_core.ops.calls.custom_closures import (
    ClosedRules,
    CustomRules,
    RuleProgram,
    _AfterConsts,
    _evaluate,
    after_consts,
)
from calque_core.ops.calls.linear import zero_tangent
from calque_core.record import Record
from calque_core.saved.values import Data, UnwritableError, read_type, write_type
from calque_core.staging.stage import stage
from calque_core.types.dtypes import is_float

Value = Any

# From rules to data


def closed_rules(rules: CustomRules, in_avals: Sequence[Any]) -> tuple[int, ClosedRules]:
    """Return rules as programs, and the number of leading operands that they do not get.

    Raises: UnwritableError for rules that are no programs: for batches, and for transposes.
    """
    if rules.batch is not None:
        raise UnwritableError(f"a rule for batches of {rules.name}, which works for every size of a batch")
    if rules.transpose is not None:
        raise UnwritableError(f"a transpose rule of {rules.name}")
    adapter = getattr(getattr(rules.jvp or rules.fwd, "func", None), "__self__", None)
    if type(adapter) is _AfterConsts:
        count, closed = closed_rules(adapter.rules, in_avals[adapter.count :])
        return count + adapter.count, closed
    if type(adapter) is ClosedRules:
        return 0, adapter
    return 0, _holding(rules, in_avals) if rules.num_held else ClosedRules(rules, [], in_avals)


def _holding(rules: CustomRules, in_avals: Sequence[Any]) -> ClosedRules:
    """Return rules as programs that hold their leading operands, which the function closes over.

    For example, the rules of a batch are run on batches of these values.
    Raises: UnwritableError if a rule cannot be traced.
    """
    closed: list[ClosedRules] = []

    def trace(*values: Value) -> list[Value]:
        others = rules.through(_Holding(values), ("held", len(values)))
        closed.append(ClosedRules(others, list(values), in_avals[len(values) :]))
        _trace_rules(rules.name, closed[0])
        return []

    stage(trace, in_avals[: rules.num_held], verb="jaxpr_to_dict")
    return closed[0]


class _Holding:
    """Rules whose leading operands are values that have no derivative."""

    def __init__(self, values: Sequence[Value]) -> None:
        self.values = values

    def jvp(self, rule: Any, primals: Sequence[Value], tangents: Sequence[Value]) -> Any:
        return rule([*self.values, *primals], [*map(zero_tangent, self.values), *tangents])

    def fwd(self, rule: Any, primals: Sequence[Value], nonzeros: Sequence[bool]) -> Any:
        count = len(self.values)
        outs, residuals, bwd = rule([*self.values, *primals], [*[False] * count, *nonzeros])
        return outs, residuals, lambda res, cts: bwd(res, cts)[count:]


def _trace_rules(name: str, closed: ClosedRules) -> None:
    """Trace the rules.  Raises: UnwritableError if one cannot be traced."""
    try:
        closed.trace_rules()
    except Exception as error:
        raise UnwritableError(f"a derivative rule of {name}, which cannot be traced ({error})") from error


def write_rules(name: str, after: int, closed: ClosedRules, program: Callable[[Jaxpr], int]) -> Data:
    """Return rules as data; `program` gives the number of a program.

    Raises: UnwritableError if a rule cannot be traced.
    """
    if not closed.programs:
        _trace_rules(name, closed)
    programs = {kind: _write_program(rule, program) for kind, rule in closed.programs.items()}
    types = [write_type(aval) for aval in closed.in_avals]
    held = len(closed.tracers)
    return {"name": name, "after": after, "held": held, "types": types, "programs": programs} | (
        {"num_outs": closed.num_outs} if "fwd" in programs else {}
    )


def _write_program(rule: RuleProgram, program: Callable[[Jaxpr], int]) -> Data:
    return {
        "jaxpr": program(rule.jaxpr),
        "held": list(rule.positions),
        "tangent_types": [write_type(aval) for aval in rule.tangent_avals],
        "tangents": list(rule.out_mask),
    }


# From data to rules


class Shell(Record):
    """Rules that have been read before their programs."""

    rules: CustomRules
    closed: ClosedRules
    after: int
    data: Data

    @property
    def num_others(self) -> int:
        """The number of operands that are not the function's own arguments."""
        return self.after + len(self.closed.tracers)


_LIMIT = 1 << 20  # so that damaged data ask for no memory
_KINDS = ({"jvp"}, {"fwd", "bwd"}, {"jvp", "fwd", "bwd"})


def read_shell(data: Data) -> Shell:
    """Return rules without their programs, which may refer to the rules.  Raises: ValueError."""
    fields = ("name", "after", "held", "types", "programs")
    if type(data) is not dict or not set(fields) <= set(data) or type(data["programs"]) is not dict:
        raise ValueError(f"rules have the fields {', '.join(fields)}. Write each of them.")
    kinds = set(data["programs"])
    if kinds not in _KINDS or type(data["name"]) is not str or type(data["types"]) is not list:
        raise ValueError("the rules of a function are of other kinds. Write jvp, or fwd and bwd, or all three.")
    after, held, count = (read_count(data.get(name, 0)) for name in ("after", "held", "num_outs"))
    rules = CustomRules(data["name"], object(), ())
    closed = ClosedRules(rules, [None] * held, [read_type(text) for text in data["types"]])  # type: ignore[list-item]
    closed.num_outs = count
    rules.jvp = partial(closed.jvp, None) if "jvp" in kinds else None  # type: ignore[arg-type]
    rules.fwd = partial(closed.fwd, None) if "fwd" in kinds else None  # type: ignore[arg-type]
    return Shell(after_consts(rules, after), closed, after, data)


def read_count(x: Data) -> int:
    """Return a count.  Raises: ValueError."""
    if type(x) is not int or not 0 <= x < _LIMIT:
        raise ValueError(f"{x!r} is not a count. Write an integer from 0 to {_LIMIT - 1}.")
    return x


def read_rule_program(data: Data, program: Callable[[Data], Jaxpr]) -> RuleProgram:
    """Return the program of a rule.  Raises: ValueError."""
    fields = {"jaxpr", "held", "tangent_types", "tangents"}
    if type(data) is not dict or set(data) != fields or not all(type(data[f]) is list for f in fields - {"jaxpr"}):
        raise ValueError(f"the program of a rule has the fields {', '.join(sorted(fields))}. Write each of them.")
    if not all(type(m) is bool for m in data["tangents"]):
        raise ValueError("tangents is not a list of bools. Write, for each result, whether it has a tangent.")
    positions = [read_count(i) for i in data["held"]]
    types = [read_type(text) for text in data["tangent_types"]]
    return RuleProgram(program(data["jaxpr"]), positions, types, data["tangents"], _evaluate)


def check_rules(shell: Shell, jaxpr: Jaxpr) -> None:
    """Check that rules fit the program of their function.  Raises: ValueError."""
    closed, programs = shell.closed, shell.closed.programs
    in_avals, out_avals = jaxpr.in_avals[shell.num_others :], jaxpr.out_avals
    _check_equal("the function", closed.in_avals, in_avals)
    held = jaxpr.in_avals[shell.after : shell.num_others]
    if "jvp" in programs:
        _check_program("jvp", programs["jvp"], held, in_avals, in_avals, out_avals, out_avals)
    if "fwd" in programs:
        outs = programs["fwd"].jaxpr.out_avals
        residuals = outs[len(out_avals) :]
        if closed.num_outs != len(out_avals):
            raise ValueError(f"fwd has {closed.num_outs} results, and the function {len(out_avals)}. Write one number.")
        _check_program("fwd", programs["fwd"], held, in_avals, [], outs, [])
        _check_equal("fwd", outs[: len(out_avals)], out_avals)
        _check_program("bwd", programs["bwd"], held, residuals, out_avals, [], in_avals)


def _check_program(
    kind: str,
    rule: RuleProgram,
    held: Sequence[Any],
    avals: Sequence[Any],
    tangent_avals: Sequence[Any],
    out_avals: Sequence[Any],
    of_tangents: Sequence[Any],
) -> None:
    """Check one rule: the types of its operands, of its results, and of the tangents among them."""
    if len(rule.out_mask) != len(of_tangents) or any(i >= len(held) for i in rule.positions):
        raise ValueError(f"the marks of the {kind} rule do not fit the function. Write one for each result.")
    _check_equal(kind, rule.tangent_avals, tangent_avals)
    dots = [aval.to_tangent_aval() for aval in tangent_avals if is_float(aval.dtype)]
    _check_equal(kind, rule.jaxpr.in_avals, [*(held[i] for i in rule.positions), *avals, *dots])
    out_dots = [aval.to_tangent_aval() for aval in marked(of_tangents, rule.out_mask)]
    _check_equal(kind, rule.jaxpr.out_avals, [*out_avals, *out_dots])


def _check_equal(kind: str, avals: Sequence[Any], others: Sequence[Any]) -> None:
    if [a.strip_weak_type() for a in avals] != [a.strip_weak_type() for a in others]:
        types, other_types = (", ".join(map(str, of)) for of in (avals, others))
        raise ValueError(f"{kind} has the types ({types}) in place of ({other_types}). Write the function's types.")
