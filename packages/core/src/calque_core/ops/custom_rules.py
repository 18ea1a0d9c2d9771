"""Derivative rules that belong to one function, and the tracers that they hold.

One idea: a rule works on flat lists, so every package can apply it, batch it or add leading operands to it, and
needs no knowledge of its code.  A rule is run on demand: usually it calls the function itself, and if it were traced
together with the function, tracing would never end.

The parameters of an equation must outlive its trace.  Rules that close over tracers are therefore traced when the
equation is made, and the tracers become operands; `close_rules` does this.

Read next: `ops/custom.py` for the equations.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from calque_core.errors import UnexpectedTracerError
from calque_core.frames.source import where
from calque_core.jaxprs.captured import captured_tracers
from calque_core.jaxprs.interpret import eval_jaxpr
from calque_core.jaxprs.jaxpr import Jaxpr, Var
from calque_core.jaxprs.masks import marked, merged
from calque_core.ops.linear import Zero, instantiate_zeros, is_nonzero, split_results, with_integer_zeros
from calque_core.staging.stage import JaxprTrace, hoist_tracers, stage
from calque_core.traces.trace import current_trace
from calque_core.traces.tracer import Tracer
from calque_core.types.dtypes import is_float

Value = Any
Values = Sequence[Value]
JvpRule = Callable[[Values, Values], tuple[list[Value], list[Value]]]
Backward = Callable[[Values, Values], list[Value]]
FwdRule = Callable[[Values, Sequence[bool]], tuple[list[Value], list[Value], Backward]]
TransposeRule = Callable[[Values, Values], list[Value]]
BatchRule = Callable[[int, Sequence[bool], Values], tuple[list[Value], list[bool]]]


class CustomRules:
    """The derivative rules of a function, from its author.  Each rule may be None.

    `jvp(primals, tangents)` returns results and their tangents; a tangent may be a `Zero`.
    `fwd(primals, nonzeros)` returns results, residuals (arrays), and `bwd(residuals, cts)`, which returns a cotangent,
    a `Zero` or None per primal.
    `batch(size, is_mapped, args)` returns the results of a batch, whose axis is in front, and whether each result has
    this axis.
    `transpose(cts, operands)` returns a cotangent or None per operand of a function that is linear in the operands
    which are `UndefinedPrimal`s.
    `functions` are the Python objects behind the rules, which may close over tracers; rules with equal `key` are equal.

    Immutable by convention, and compared by identity.  A frozen dataclass would cost 1 ms at every import.
    """

    __slots__ = ("batch", "functions", "fwd", "jvp", "key", "name", "transpose")

    def __init__(
        self,
        name: str,
        key: Hashable,
        functions: Sequence[Any],
        jvp: JvpRule | None = None,
        fwd: FwdRule | None = None,
        batch: BatchRule | None = None,
        transpose: TransposeRule | None = None,
    ) -> None:
        self.name, self.key, self.functions = name, key, functions
        self.jvp, self.fwd, self.batch, self.transpose = jvp, fwd, batch, transpose

    def replace(self, **fields: Any) -> CustomRules:
        """Return the same rules with other values in some fields."""
        return CustomRules(**{name: getattr(self, name) for name in self.__slots__} | fields)

    @property
    def has_derivative(self) -> bool:
        """Whether the function has a rule for derivatives, in any mode."""
        return self.jvp is not None or self.fwd is not None

    def staged(self, fun: Callable[..., Values], in_avals: Sequence[Any]) -> tuple[Jaxpr, CustomRules, list[Tracer]]:
        """Return the program of `fun`, its rules, and the tracers that both close over.

        The tracers are leading operands of the program.
        """
        jaxpr, captured = hoist_tracers(stage(fun, in_avals, verb="a function with custom rules", user_fun=fun))
        rules, held = close_rules(self, in_avals)
        split = len(captured)
        unused = [Var(x.aval) for x in held]  # only the rules need these tracers
        jaxpr = jaxpr.replace(invars=(*jaxpr.invars[:split], *unused, *jaxpr.invars[split:]))
        return jaxpr, after_consts(rules, split), [*captured, *held]

    def __repr__(self) -> str:
        return f"<rules of {self.name}>"


class LinearCall:
    """One call of a function with a vjp rule, as an equation of a linear program.

    Its operands are `num_residuals` residuals, then `num_primals` primals (all, if the function has a jvp rule,
    otherwise none), then the tangents of the primals in `mask`.  It returns tangents of the types `out_avals`, without
    the tangents of integers.  Immutable by convention, and compared by identity.
    """

    __slots__ = ("bwd", "mask", "num_primals", "num_residuals", "out_avals", "rules")

    def __init__(
        self,
        rules: CustomRules,
        bwd: Backward,
        num_residuals: int,
        num_primals: int,
        mask: Sequence[bool],
        out_avals: Sequence[Any],
    ) -> None:
        self.rules, self.bwd = rules, bwd
        self.num_residuals, self.num_primals = num_residuals, num_primals
        self.mask, self.out_avals = mask, out_avals


def after_consts(rules: CustomRules, count: int) -> CustomRules:
    """Return the rules for operands preceded by `count` values that the function closes over.

    These values have no derivative: the rules differentiate with respect to arguments only.
    """
    if not count:
        return rules
    inner_jvp, inner_fwd, inner_transpose = rules.jvp, rules.fwd, rules.transpose

    def jvp(primals: Values, tangents: Values) -> tuple[list[Value], list[Value]]:
        assert inner_jvp is not None
        check_unperturbed(rules.name, is_nonzero(tangents[:count]))
        return inner_jvp(primals[count:], tangents[count:])

    def fwd(primals: Values, nonzeros: Sequence[bool]) -> tuple[list[Value], list[Value], Backward]:
        assert inner_fwd is not None
        check_unperturbed(rules.name, nonzeros[:count])
        outs, residuals, bwd = inner_fwd(primals[count:], nonzeros[count:])
        return outs, residuals, lambda res, cts: [*[None] * count, *bwd(res, cts)]

    def transpose(cts: Values, operands: Values) -> list[Value]:
        assert inner_transpose is not None
        return [*[None] * count, *inner_transpose(cts, operands[count:])]

    return rules.replace(
        key=("after", count, rules.key),
        jvp=None if inner_jvp is None else jvp,
        fwd=None if inner_fwd is None else fwd,
        batch=None,
        transpose=None if inner_transpose is None else transpose,
    )


def check_unperturbed(name: str, nonzeros: Sequence[bool]) -> None:
    """Check that none of the values that a function with custom rules closes over has a tangent.

    Raises: UnexpectedTracerError.
    """
    if any(nonzeros):
        raise UnexpectedTracerError(closure_message(name))


def closure_message(name: str) -> str:
    """Return the message for a derivative with respect to a closed-over value."""
    return (
        f"{name}{where()} closes over a value that is being differentiated, or takes one as a static argument, but its "
        "derivative rules speak of its other arguments only. Pass the value as an argument that is not static, or "
        "through stop_gradient if it is a constant."
    )


# Rules that close over tracers


def close_rules(rules: CustomRules, in_avals: Sequence[Any]) -> tuple[CustomRules, list[Tracer]]:
    """Return the rules for operands preceded by the tracers that the rules hold, and these tracers.

    Rules without tracers are returned unchanged, and run on demand.
    """
    key = ("closed", rules.key, tuple(in_avals))
    closed = _closed_around(key)
    if closed is None:
        tracers = captured_tracers(rules.functions)
        if not tracers:
            return rules, []
        key_with_tracers = (*key, *map(id, tracers))  # a variable of the closure may have been assigned since
        closed = _closed_around(key_with_tracers) or _close(rules, tracers, in_avals, key, key_with_tracers)
    return closed.rules, closed.tracers


def _close(
    rules: CustomRules, tracers: list[Tracer], in_avals: Sequence[Any], key: Hashable, key_with_tracers: Hashable
) -> ClosedRules:
    """Trace the rules; the memo has them under `key` meanwhile, since a rule calls its function."""
    trace = current_trace()
    memo = trace.memo if isinstance(trace, JaxprTrace) else {}
    closed = memo[key] = memo[key_with_tracers] = ClosedRules(rules, tracers, in_avals)
    try:
        closed.trace_rules()
    finally:
        del memo[key]
    return closed


def _closed_around(key: Hashable) -> ClosedRules | None:
    """Return the rules that the current trace or a parent has closed, or is closing, under this key."""
    trace = current_trace()
    while trace is not None:
        if isinstance(trace, JaxprTrace) and key in trace.memo:
            return trace.memo[key]  # type: ignore[no-any-return]
        trace = trace.parent  # type: ignore[assignment]
    return None


class ClosedRules:
    """Rules as programs: the tracers that they held are leading operands.

    `rules` exists before the programs do, because a rule may call its own function.
    """

    def __init__(self, held: CustomRules, tracers: list[Tracer], in_avals: Sequence[Any]) -> None:
        self.held, self.tracers, self.in_avals = held, tracers, list(in_avals)
        self.programs: dict[str, tuple[Jaxpr, list[int]]] = {}
        self.out_masks: dict[str, list[bool]] = {}
        self.rules = held.replace(
            key=("closed", held.key, tuple(in_avals)),
            functions=(),
            jvp=None if held.jvp is None else self.jvp,
            fwd=None if held.fwd is None else self.fwd,
            batch=None,
        )

    def trace_rules(self) -> None:
        """Trace every rule, for nonzero tangents and cotangents.

        Raises: TypeError for a transpose rule, which is not traced.
        """
        if self.held.transpose is not None:
            raise TypeError(
                f"{self.held.name}{where()} has a transpose rule and closes over a traced value. Pass the value as an "
                "argument."
            )
        if self.held.jvp is not None:
            self.trace_jvp(self.held.jvp)
        if self.held.fwd is not None:
            self.trace_fwd(self.held.fwd)

    def trace_jvp(self, rule: JvpRule) -> None:
        """Trace a jvp rule."""
        count = len(self.in_avals)

        def flat(*values: Value) -> list[Value]:
            outs, out_dots = rule(values[:count], with_integer_zeros(values[count:], self.in_avals))
            self.out_masks["jvp"] = is_nonzero(out_dots)
            return [*outs, *marked(out_dots, self.out_masks["jvp"])]

        self.add("jvp", flat, [*self.in_avals, *_float_avals(self.in_avals)])

    def trace_fwd(self, rule: FwdRule) -> None:
        """Trace both functions of a vjp rule."""
        forward_info: list[Any] = []

        def forward(*primals: Value) -> list[Value]:
            outs, residuals, bwd = rule(primals, [is_float(a.dtype) for a in self.in_avals])
            forward_info[:] = [len(outs), bwd]
            return [*outs, *residuals]

        self.add("fwd", forward, self.in_avals)
        num_outs, bwd = forward_info
        out_avals = self.programs["fwd"][0].out_avals
        outs, residuals = out_avals[:num_outs], out_avals[num_outs:]
        self.num_outs = num_outs

        def backward(*values: Value) -> list[Value]:
            cts = bwd(values[: len(residuals)], with_integer_zeros(values[len(residuals) :], outs))
            self.out_masks["bwd"] = [ct is not None and type(ct) is not Zero for ct in cts]
            return marked(cts, self.out_masks["bwd"])

        self.add("bwd", backward, [*residuals, *_float_avals(outs)])
        self.out_avals = outs

    def add(self, name: str, flat: Callable[..., list[Value]], avals: Sequence[Any]) -> None:
        """Trace one program, and store it with the positions of its leading operands among the tracers."""
        jaxpr, hoisted = hoist_tracers(stage(flat, avals, verb=f"the {name} rule", user_fun=self.held.functions[0]))
        positions = {id(x): i for i, x in enumerate(self.tracers)}
        for x in hoisted:
            if id(x) not in positions:
                raise UnexpectedTracerError(
                    f"the derivative rule of {self.held.name}{where()} uses a traced value of type {x.aval} that is "
                    "not in its closure. Pass it as an argument, or refer to it by a variable of the function around."
                )
        self.programs[name] = jaxpr, [positions[id(x)] for x in hoisted]

    def run(self, name: str, held: Values, args: Values) -> list[Value]:
        """Run one program."""
        jaxpr, operands = self.programs[name]
        return eval_jaxpr(jaxpr, jaxpr.consts, *(held[i] for i in operands), *args)

    def check(self, name: str, nonzeros: Sequence[bool]) -> None:
        """Check that no tracer that a program needs has a tangent."""
        check_unperturbed(self.held.name, [nonzeros[i] for i in self.programs[name][1]])

    def jvp(self, primals: Values, tangents: Values) -> tuple[list[Value], list[Value]]:
        """Apply the jvp rule."""
        count = len(self.tracers)
        self.check("jvp", is_nonzero(tangents[:count]))
        dots = [instantiate_zeros(t) for t in _floats(tangents[count:], self.in_avals)]
        results = self.run("jvp", primals[:count], [*primals[count:], *dots])
        return split_results(results, self.out_masks["jvp"])

    def fwd(self, primals: Values, nonzeros: Sequence[bool]) -> tuple[list[Value], list[Value], Backward]:
        """Apply the fwd function; the tracers that bwd needs are put before its residuals."""
        count = len(self.tracers)
        self.check("fwd", nonzeros[:count])
        self.check("bwd", nonzeros[:count])
        results = self.run("fwd", primals[:count], primals[count:])
        held = [primals[i] for i in self.programs["bwd"][1]]
        return results[: self.num_outs], [*held, *results[self.num_outs :]], self.bwd

    def bwd(self, residuals: Values, cts: Values) -> list[Value]:
        """Apply the bwd function."""
        jaxpr, _ = self.programs["bwd"]
        float_cts = [instantiate_zeros(ct) for ct in _floats(cts, self.out_avals)]
        in_cts = eval_jaxpr(jaxpr, jaxpr.consts, *residuals, *float_cts)
        return [*[None] * len(self.tracers), *merged(self.out_masks["bwd"], in_cts)]


def _float_avals(avals: Sequence[Any]) -> list[Any]:
    return [a.to_tangent_aval() for a in avals if is_float(a.dtype)]


def _floats(values: Values, avals: Sequence[Any]) -> list[Value]:
    return [x for x, a in zip(values, avals) if is_float(a.dtype)]
