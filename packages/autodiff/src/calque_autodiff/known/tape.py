"""Linear programs as they are recorded, with steps in evaluation.

One idea: running backwards needs no jaxpr, so one is made only where somebody looks at the program: steps become the
equations that the rules give, and residuals become constants.

Read next: `steps.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from calque_autodiff.known.steps import Step
from calque_core import Atom, Jaxpr, JaxprEqn, Literal, Trace, Tracer, Var, evaluation, typeof
from calque_core.engine import copied_where_exposed

Value = Any


class Tape(NamedTuple):
    """A linear program as it was recorded: equations, and steps where it was recorded in evaluation."""

    constvars: Sequence[Var]
    invars: Sequence[Var]
    eqns: list[Any]
    outvars: Sequence[Atom]
    consts: Sequence[Value]
    debug_name: str

    def replace(self, **fields: Any) -> Tape:
        """Return the program with some fields changed."""
        return self._replace(**fields)

    def kept_for_long(self, shared: Sequence[Value]) -> Tape:
        """Return the program with copies of residuals that the user can write to: captured arrays, and `shared`."""
        values = list(self.consts)
        for entry in self.eqns:
            if type(entry) is Step:
                values += entry[3]  # the residuals
        safe = copied_where_exposed(values, shared)
        if safe is values:
            return self
        copies = iter(safe)
        consts = [next(copies) for _ in self.consts]
        eqns = [
            entry._replace(residuals=tuple([next(copies) for _ in entry.residuals])) if type(entry) is Step else entry
            for entry in self.eqns
        ]
        return self._replace(consts=consts, eqns=eqns)

    def jaxpr(self) -> Jaxpr:
        """Return the program as a jaxpr: a step becomes the equations of its operation."""
        if any(type(entry) is Step for entry in self.eqns):
            return _OpenedTape(self).jaxpr()
        return Jaxpr(self.constvars, self.invars, self.eqns, self.outvars, self.consts, debug_name=self.debug_name)


class _OpenedTape:
    """The equations and constants of a tape, while its steps are replaced by equations.

    The constants have the order of their first use, whether a step or an equation uses them.
    """

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.captured: dict[Any, Value] = dict(zip(tape.constvars, tape.consts))
        self.constants: dict[int, tuple[Value, Var]] = {}
        self.atoms: dict[Any, Atom] = {}  # of variables that another one replaces
        self.eqns: list[JaxprEqn] = []

    def jaxpr(self) -> Jaxpr:
        """Return the program without steps."""
        tape = self.tape
        for entry in tape.eqns:
            if type(entry) is Step:
                self.open(entry)
            else:
                self.eqns.append(entry.replace(invars=self.renamed(entry.invars, self.atoms)))
        outvars = self.renamed(tape.outvars, self.atoms)
        consts, constvars = zip(*self.constants.values()) if self.constants else ((), ())
        return Jaxpr(constvars, tape.invars, self.eqns, outvars, consts, debug_name=tape.debug_name)

    def open(self, step: Step) -> None:
        """Append the equations of a step; those of residuals alone, which repeat arrays, are evaluated."""
        linear = step.operation.programs().linear
        num_residuals = len(step.residuals)
        known: dict[Any, Value] = dict(zip(linear.constvars, linear.consts))
        known.update(zip(linear.invars, step.residuals))
        atoms: dict[Any, Atom] = dict(zip(linear.invars[num_residuals:], self.renamed(step.invars, self.atoms)))
        tangents = [v for v in linear.outvars if type(v) is Var]
        outvars = step.outvars if type(step.outvars) is tuple else (step.outvars,)
        own = dict(zip(tangents, outvars))
        for eqn in linear.eqns:
            if not any(x in atoms for x in eqn.invars):
                known.update(zip(eqn.outvars, _values(eqn, known)))
                continue
            atoms.update((x, self.constant(known[x])) for x in eqn.invars if x in known and x not in atoms)
            results = [own.get(v) or Var(v.aval) for v in eqn.outvars]
            atoms.update(zip(eqn.outvars, results))
            invars = self.renamed(eqn.invars, atoms)
            self.eqns.append(JaxprEqn(eqn.primitive, invars, results, eqn.params, step.position))
        self.atoms.update((out, atoms[v]) for v, out in zip(tangents, outvars) if atoms[v] is not out)

    def constant(self, x: Value) -> Atom:
        """Return a literal for a scalar, and one variable per array."""
        aval = typeof(x)
        if not aval.shape and not isinstance(x, Tracer):
            return Literal(x if not hasattr(x, "ndim") or x.ndim else x[()], aval)
        return self.constants.setdefault(id(x), (x, Var(aval)))[1]

    def renamed(self, invars: Sequence[Atom], atoms: dict[Any, Atom]) -> list[Atom]:
        """Return operands, each replaced by the atom that stands for it."""
        return [self.kept(atoms.get(x, x)) for x in invars]

    def kept(self, x: Any) -> Atom:
        """Return an operand; a constant of the tape becomes one of the program."""
        if x not in self.captured:
            return x  # type: ignore[no-any-return]
        value = self.captured[x]
        return self.constants.setdefault(id(value), (value, x))[1]


def _values(eqn: JaxprEqn, known: dict[Any, Value]) -> list[Value]:
    """Return the results of an equation of known operands, in the trace of an operand that is a tracer."""
    args = [x.val if type(x) is Literal else known[x] for x in eqn.invars]
    trace: Trace = next((x._trace for x in args if isinstance(x, Tracer)), evaluation)
    return eqn.primitive.bind_with_trace(trace, args, eqn.params)  # type: ignore[no-any-return]
