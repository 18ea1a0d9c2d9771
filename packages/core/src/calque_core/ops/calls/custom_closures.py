"""Derivative rules that belong to one function, and the tracers that they hold.

One idea: a rule works on flat lists, so every package can apply it, or give it other operands, and needs no knowledge
of its code.  A rule is run on demand: usually it calls the function itself, and if it were traced together with the
function, tracing would never end.

The parameters of an equation must outlive its trace.  Rules that close over tracers are therefore traced when the
equation is made, and the tracers become operands; `close_rules` does this.

Read next: `custom.py` for the equations; `jaxprs/captured.py` for the search for tracers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

from calque_core.errors import UnexpectedTracerError
from calque_core.frames.source import where
from calque_core.jaxprs.captured import Search, captured_tracers, cells_of, search_for_tracers
from calque_core.jaxprs.interpret import eval_jaxpr
from calque_core.jaxprs.jaxpr import Jaxpr, Var, jaxprs_in_params
from calque_core.jaxprs.masks import marked, merged
from calque_core.ops.calls.linear import Zero, instantiate_zeros, is_nonzero, with_integer_zeros, zero_tangent
from calque_core.primitives.rules import settings_key
from calque_core.record import Record
from calque_core.staging.stage import JaxprTrace, hoist_tracers, stage
from calque_core.traces.trace import Trace, current_trace, hand_custom_down, only_evaluates
from calque_core.traces.tracer import Tracer
from calque_core.types.avals import typeof
from calque_core.types.type_queries import has_tangent

Value = Any
Values = Sequence[Value]
Outputs = tuple[list[Value], list[Value]]
JvpRule = Callable[[Values, Values], Outputs]
Backward = Callable[[Values, Values], list[Value]]
ForwardHalf = tuple[list[Value], list[Value], Backward]
FwdRule = Callable[[Values, Sequence[bool]], ForwardHalf]
BatchRule = Callable[[int, Sequence[bool], Values], tuple[list[Value], list[bool]]]


_CLOSURE = (
    "closes over a value that is being differentiated, or takes one as a static argument, but its derivative rules "
    "cover its other arguments only. Pass the value as an argument that is not static, or through stop_gradient if it "
    "is a constant."
)


class CustomRules:
    """The derivative rules of a function, from its author.  Each rule may be None.

    `jvp(primals, tangents)` returns results and their tangents; a tangent may be a `Zero`.
    `fwd(primals, nonzeros)` returns results, residuals (arrays), and `bwd(residuals, cts)`, which returns a cotangent,
    a `Zero` or None per primal.
    `transpose(operands, cts)` does the same for a function that is linear in the operands which are
    `UndefinedPrimal`s.
    `batch(size, is_mapped, args)` returns the results of a batch, whose axis is in front, and whether each result has
    this axis.
    `functions` are the Python objects behind the rules, the function first; they may close over tracers.  Rules with
    equal `key` are equal.  `closure` says, after the name, that the function closes over a value that is being
    differentiated, and what to do; `num_held` is how many leading operands are values that it closes over.

    Immutable by convention, and compared by identity.  A frozen dataclass would cost 1 ms at every import.
    """

    __slots__ = ("batch", "closure", "functions", "fwd", "jvp", "key", "name", "num_held", "transpose")

    def __init__(
        self,
        name: str,
        key: Hashable,
        functions: Sequence[Any],
        jvp: JvpRule | None = None,
        fwd: FwdRule | None = None,
        batch: BatchRule | None = None,
        transpose: Backward | None = None,
    ) -> None:
        self.name, self.key, self.functions, self.closure = name, key, functions, _CLOSURE
        self.jvp, self.fwd, self.batch, self.transpose, self.num_held = jvp, fwd, batch, transpose, 0

    @property
    def has_derivative(self) -> bool:
        """Whether the function has a rule for derivatives, in any mode."""
        return self.jvp is not None or self.fwd is not None

    def through(
        self, adapter: Any, key: Hashable, functions: Sequence[Any] = (), closure: str | None = None
    ) -> CustomRules:
        """Return these rules for other operands; a batching rule is lost.

        The methods `jvp`, `fwd` and `transpose` of the adapter take the rule of that name, then the other operands, and
        run the rule.  `key` tells adapters apart; `functions` are the Python objects behind the adapter.
        """
        adapted = CustomRules(
            self.name,
            (key, self.key),
            (*self.functions, *functions),
            jvp=None if self.jvp is None else partial(adapter.jvp, self.jvp),
            fwd=None if self.fwd is None else partial(adapter.fwd, self.fwd),
            transpose=None if self.transpose is None else partial(adapter.transpose, self.transpose),
        )
        adapted.closure, adapted.num_held = self.closure if closure is None else closure, self.num_held
        return adapted

    def derived(self, key: Hashable, batch: BatchRule) -> CustomRules:
        """Return the rules of the derivative of a function without derivative rules: its rule for batches alone."""
        return CustomRules(self.name, (key, self.key), self.functions, batch=batch)

    def staged(self, fun: Callable[..., Values], in_avals: Sequence[Any]) -> tuple[Jaxpr, CustomRules, list[Tracer]]:
        """Return the program of `fun`, its rules, and the tracers that both close over.

        The tracers are leading operands of the program.
        """
        named = self.functions[0] if self.functions else fun  # `fun` is calque's own, and takes leaves
        jaxpr, captured = hoist_tracers(stage(fun, in_avals, verb="a call", user_fun=named))
        search = search_for_tracers(self.functions, _functions_without_tracers(jaxpr))
        rules, held = _closed(self, in_avals, search)
        split, unused = len(captured), [Var(x.aval) for x in held]  # only the rules need these tracers
        jaxpr = jaxpr.replace(invars=(*jaxpr.invars[:split], *unused, *jaxpr.invars[split:]))
        return jaxpr, after_consts(rules, split), [*captured, *held]

    def __repr__(self) -> str:
        return f"<rules of {self.name}>"


# Calls under a trace that differentiates


def call_by_rules(
    trace: Any, primitive: Any, fun: Callable[..., Values], args: Values, params: dict[str, Any]
) -> list[Value]:
    """Return the results of a function under a trace that differentiates: its method `process_custom_derivative`.

    The rules apply if an argument is a tracer of this trace; otherwise the parent processes the call.  A function
    without derivative rules is differentiated as its operations are.
    Raises: UnexpectedTracerError if the function, or a rule that runs, closes over such a tracer.
    """
    rules: CustomRules = params["rules"]
    if not rules.has_derivative:
        return _differentiate_as_program(trace, primitive, fun, args, rules)
    if any(trace.owns(x) for function in rules.functions[:1] for x in cells_of(function)):
        raise UnexpectedTracerError(closure_message(rules))
    try:
        if any(trace.owns(x) for x in args):
            return trace.process_primitive(primitive, args, params)  # type: ignore[no-any-return]
        return hand_custom_down(trace.parent, primitive, fun, args, params)
    except UnexpectedTracerError as error:
        if any(trace.owns(x) for x in captured_tracers(rules.functions)):
            raise UnexpectedTracerError(closure_message(rules)) from error
        raise


def _differentiate_as_program(
    trace: Any, primitive: Any, fun: Callable[..., Values], args: Values, rules: CustomRules
) -> list[Value]:
    """Return the results of a function without derivative rules under a trace that differentiates.

    If a trace below may map its derivative, the rule for batches must reach it: the function becomes an equation.
    """
    if rules.batch is None or only_evaluates(trace.parent):
        return list(fun(*args))
    jaxpr, rules, captured = rules.staged(fun, [typeof(x) for x in args])
    return trace.process_primitive(primitive, [*captured, *args], {"jaxpr": jaxpr, "rules": rules})  # type: ignore[no-any-return]


# Values that a function closes over


def after_consts(rules: CustomRules, count: int) -> CustomRules:
    """Return the rules for operands preceded by `count` values that the function closes over.

    These values have no derivative: the rules differentiate with respect to arguments only.
    """
    after = rules.through(_AfterConsts(rules, count), ("after", count)) if count else rules
    after.num_held += count
    return after


class _AfterConsts:
    """Rules for operands preceded by constants."""

    def __init__(self, rules: CustomRules, count: int) -> None:
        self.rules, self.count = rules, count

    def jvp(self, rule: JvpRule, primals: Values, tangents: Values) -> Outputs:
        check_unperturbed(self.rules, is_nonzero(tangents[: self.count]))
        return rule(primals[self.count :], tangents[self.count :])

    def fwd(self, rule: FwdRule, primals: Values, nonzeros: Sequence[bool]) -> ForwardHalf:
        check_unperturbed(self.rules, nonzeros[: self.count])
        outs, residuals, bwd = rule(primals[self.count :], nonzeros[self.count :])
        return outs, residuals, lambda res, cts: [*[None] * self.count, *bwd(res, cts)]

    def transpose(self, rule: Backward, operands: Values, cts: Values) -> list[Value]:
        return [*[None] * self.count, *rule(operands[self.count :], cts)]


def check_unperturbed(rules: CustomRules, nonzeros: Sequence[bool]) -> None:
    """Check that none of the values that a function with custom rules closes over has a tangent.

    Raises: UnexpectedTracerError.
    """
    if any(nonzeros):
        raise UnexpectedTracerError(closure_message(rules))


def closure_message(rules: CustomRules) -> str:
    """Return the message for a derivative with respect to a closed-over value."""
    return f"{rules.name}{where()} {rules.closure}"


# Rules that close over tracers


def close_rules(rules: CustomRules, in_avals: Sequence[Any]) -> tuple[CustomRules, list[Tracer]]:
    """Return the rules for operands preceded by the tracers that the rules hold, and these tracers.

    Rules without tracers are returned unchanged, and run on demand.
    """
    return _closed(rules, in_avals, search_for_tracers(rules.functions))


def _closed(rules: CustomRules, in_avals: Sequence[Any], search: Search) -> tuple[CustomRules, list[Tracer]]:
    """Return the rules for operands preceded by the tracers found.  Raises: TypeError for a transpose rule."""
    if not search.tracers:
        return rules, []
    if rules.transpose is not None:
        raise TypeError(
            f"{rules.name}{where()} has a transpose rule and closes over a traced value. Pass the value as an argument."
        )
    key = ("closed", rules.key, tuple(in_avals), *settings_key())
    closing = next((trace.memo[key] for trace in _recording_traces() if key in trace.memo), None)
    closed: ClosedRules = closing or _closed_once(rules, in_avals, search, key)
    return closed.rules, closed.tracers


def _closed_once(rules: CustomRules, in_avals: Sequence[Any], search: Search, key: Hashable) -> ClosedRules:
    """Trace the rules; meanwhile the current trace has them under `key`, since a rule calls its function.

    The outermost recording trace that may hold the tracers keeps the result: it outlives inner traces.  Rules that call
    their function are traced in a nest of functions once for each level; kept inside, they would double at each level.
    """
    recording, trace = _recording_traces([x._trace for x in search.tracers]), current_trace()
    memo = recording[-1].memo if recording else {}
    key_with_objects = (key, *map(id, search.objects))  # a variable of the closure may have been assigned since
    closed, _ = memo.get(key_with_objects, (None, ()))
    if closed is None:
        innermost = trace.memo if isinstance(trace, JaxprTrace) else {}
        closed = innermost[key] = ClosedRules(rules, search.tracers, in_avals)
        try:
            closed.trace_rules()
        finally:
            del innermost[key]
        memo[key_with_objects] = closed, search.objects  # the objects are kept, so that their ids stay their own
    return closed  # type: ignore[no-any-return]


def _recording_traces(owners: Sequence[Any] = ()) -> list[JaxprTrace]:
    """Return the traces that record, from the current one outwards, until one of the `owners`."""
    recording = []
    trace: Trace | None = current_trace()
    while trace is not None:
        if isinstance(trace, JaxprTrace):
            recording.append(trace)
        trace = None if any(trace is owner for owner in owners) else trace.parent
    return recording


def _functions_without_tracers(jaxpr: Jaxpr) -> list[Any]:
    """Return the functions behind the rules in a program; rules that held tracers have become programs.

    An outer function with rules usually holds them, and need not search them again.
    """
    functions: list[Any] = []
    programs, seen = [jaxpr], {id(jaxpr)}
    for program in programs:  # the list grows
        for eqn in program.program_eqns:
            rules = eqn.params.get("rules")
            if type(rules) is CustomRules:
                functions += rules.functions
                continue
            inner = [x for x in jaxprs_in_params(eqn.params) if id(x) not in seen]
            seen.update(map(id, inner))
            programs += inner
    return functions


Evaluate = Callable[..., list[Value]]  # of a program and its operands
_evaluate: Evaluate = lambda jaxpr, *args: eval_jaxpr(jaxpr, jaxpr.consts, *args)


class RuleProgram(Record):
    """A rule as a program of held values, primals, and the tangents of floats.

    `positions` are the positions of its held values among the tracers of all rules; `out_mask` marks the tangents that
    it returns; `evaluate` runs it.
    """

    jaxpr: Jaxpr
    positions: list[int]
    tangent_avals: Sequence[Any]
    out_mask: list[bool]
    evaluate: Evaluate

    def select(self, values: Sequence[Any]) -> list[Any]:
        """Return the values that the program holds, of one value for each tracer."""
        return [values[i] for i in self.positions]

    def run(self, held: Values, primals: Values, tangents: Values) -> Outputs:
        """Return the results, and a tangent or None for each."""
        dots = marked(map(instantiate_zeros, tangents), [has_tangent(a) for a in self.tangent_avals])
        results = self.evaluate(self.jaxpr, *held, *primals, *dots)
        count = len(results) - sum(self.out_mask)
        return results[:count], merged(self.out_mask, results[count:])


class ClosedRules:
    """Rules as programs: the tracers that they held are leading operands.

    `rules` exists before the programs do, because a rule may call its own function.  Rules without tracers are traced
    when they first run.
    """

    def __init__(
        self, held: CustomRules, tracers: list[Tracer], in_avals: Sequence[Any], evaluate: Evaluate = _evaluate
    ) -> None:
        self.evaluate, self.held, self.tracers, self.in_avals = evaluate, held, tracers, list(in_avals)
        self.programs: dict[str, RuleProgram] = {}
        self.rules = held.through(self, ("closed", tuple(in_avals)))
        self.rules.functions, self.rules.num_held = (), len(tracers)  # the tracers that they held are operands

    def program(self, name: str) -> RuleProgram:
        """Return the program of one rule."""
        if not self.programs:
            self.trace_rules()
        return self.programs[name]

    def trace_rules(self) -> None:
        """Trace the rules of both modes, for nonzero tangents and cotangents."""
        if self.held.jvp is not None:
            self.trace("jvp", self.held.jvp, self.in_avals, self.in_avals)
        if self.held.fwd is not None:
            self.trace_fwd(self.held.fwd)

    def trace_fwd(self, rule: FwdRule) -> None:
        """Trace both halves of a vjp rule."""
        halves: list[Any] = []

        def forward(primals: Values, _: Values) -> Outputs:
            halves[:] = rule(primals, [has_tangent(a) for a in self.in_avals])
            return [*halves[0], *halves[1]], []

        self.trace("fwd", forward, self.in_avals, ())
        avals = self.programs["fwd"].jaxpr.out_avals
        self.num_outs, bwd = len(halves[0]), halves[2]
        self.trace("bwd", lambda res, cts: ([], bwd(res, cts)), avals[self.num_outs :], avals[: self.num_outs])

    def trace(self, name: str, rule: JvpRule, avals: Sequence[Any], tangent_avals: Sequence[Any]) -> None:
        """Trace one rule, and store it with the positions of its leading operands among the tracers."""
        out_mask: list[bool] = []

        def flat(*values: Value) -> list[Value]:
            outs, out_dots = rule(values[: len(avals)], with_integer_zeros(values[len(avals) :], tangent_avals))
            out_mask[:] = [t is not None and type(t) is not Zero for t in out_dots]
            return [*outs, *marked(out_dots, out_mask)]

        dot_avals = [a.to_tangent_aval() for a in tangent_avals if has_tangent(a)]
        named = self.held.functions[0] if self.held.functions else rule  # rules that are programs have no functions
        staged = stage(flat, [*avals, *dot_avals], verb=f"the {name} rule", user_fun=named)
        jaxpr, hoisted = hoist_tracers(staged)
        positions = {id(x): i for i, x in enumerate(self.tracers)}
        strange = next((x for x in hoisted if id(x) not in positions), None)
        if strange is not None:
            raise UnexpectedTracerError(
                f"the derivative rule of {self.held.name}{where()} uses a traced value of type {strange.aval} that is "
                "not in its closure. Pass it as an argument, or use it through a variable of the enclosing function."
            )
        held = [positions[id(x)] for x in hoisted]
        self.programs[name] = RuleProgram(jaxpr, held, tangent_avals, out_mask, self.evaluate)

    def jvp(self, rule: JvpRule, primals: Values, tangents: Values) -> Outputs:
        """Run the program of the jvp rule."""
        program, count = self.program("jvp"), len(self.tracers)
        check_unperturbed(self.held, program.select(is_nonzero(tangents[:count])))
        outs, out_dots = program.run(program.select(primals), primals[count:], tangents[count:])
        return outs, [zero_tangent(x) if t is None else t for x, t in zip(outs, out_dots)]

    def fwd(self, rule: FwdRule, primals: Values, nonzeros: Sequence[bool]) -> ForwardHalf:
        """Run the program of the fwd function; the tracers that bwd needs are put before its residuals."""
        forward, backward, count = self.program("fwd"), self.program("bwd"), len(self.tracers)
        check_unperturbed(self.held, [*forward.select(nonzeros), *backward.select(nonzeros)])
        results, _ = forward.run(forward.select(primals), primals[count:], ())
        outs, residuals = results[: self.num_outs], [*backward.select(primals), *results[self.num_outs :]]
        return outs, residuals, lambda res, cts: [*[None] * count, *backward.run((), res, cts)[1]]

    def transpose(self, rule: Backward, operands: Values, cts: Values) -> list[Value]:
        """Run a transpose rule as it is: it is not traced."""
        return rule(operands, cts)
