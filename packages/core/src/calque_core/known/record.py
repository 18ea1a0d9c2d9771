"""Code that records the equations of a program again.

One idea: to append a known equation takes a variable for its result and nothing else: types, parameters and literals
are known.  So a program becomes a Python function with a few lines for each equation.

Read next: `operation.py`, whose programs are those of functions such as `numpy.mean`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var
from calque_core.known.run import function_of
from calque_core.staging.jit_tracer import NO_PARAMS, JitTracer, new_eqn, new_object

Value = Any


def recorder(program: Jaxpr, num_atoms: int = 0) -> Callable[..., list[Value]]:
    """Return the function of a trace, a position and operands that appends equations like those of `program`.

    The first `num_atoms` operands are atoms, later operands are tracers.  It returns tracers for the results; a result
    that is an operand is its tracer, a result that is a literal is the literal's value.
    """
    code = _Code(program, num_atoms)
    for eqn in program.eqns:
        code.append(eqn)
    return code.function(program.outvars)


class _Code:
    """The text of the function, while it is written: `v0` is a variable, `t0` a tracer, `k0` a bound value."""

    def __init__(self, program: Jaxpr, num_atoms: int) -> None:
        self.bound: dict[str, Value] = {"new": new_eqn, "new_object": new_object, "Var": Var, "tracer": JitTracer}
        self.constants: dict[int, str] = {}
        self.names: dict[Any, str] = {v: f"v{i}" for i, v in enumerate(program.invars)}
        self.tracers: dict[Any, str] = {v: f"t{i}" for i, v in enumerate(program.invars) if i >= num_atoms}
        self.arguments = ["trace", "position", *(self.tracers.get(v, name) for v, name in self.names.items())]
        used = {x for eqn in program.eqns for x in eqn.invars}
        self.lines = [f"{self.names[v]} = {tracer}.variable" for v, tracer in self.tracers.items() if v in used]
        self.lines += ["append = trace.eqns.append"] * bool(program.eqns)

    def constant(self, value: Value) -> str:
        """Return the name of a value, which the function is bound to."""
        name = self.constants.setdefault(id(value), f"k{len(self.constants)}")
        self.bound[name] = value
        return name

    def append(self, eqn: JaxprEqn) -> None:
        """Write the lines that record an equation."""
        operands = ", ".join(self.constant(x) if type(x) is Literal else self.names[x] for x in eqn.invars)
        outs = [self.names.setdefault(v, f"v{len(self.names)}") for v in eqn.outvars]
        primitive, params = self.constant(eqn.primitive), self.constant(eqn.params or NO_PARAMS)
        self.lines += [f"{x} = new_object(Var); {x}.aval = {self.constant(v.aval)}" for x, v in zip(outs, eqn.outvars)]
        self.lines.append(f"append(new(({primitive}, [{operands}], [{', '.join(outs)}], {params}, position)))")

    def result(self, x: Atom) -> str:
        """Return the text of a result."""
        if type(x) is Literal:
            return self.constant(x.val)
        return self.tracers.get(x) or f"tracer(trace, {self.constant(x.aval)}, {self.names[x]}, position)"

    def function(self, outvars: Collection[Atom]) -> Callable[..., list[Value]]:
        """Return the function with these results."""
        results = ", ".join(map(self.result, outvars))
        body = "\n ".join([*self.lines, f"return [{results}]"])
        return function_of(f"def function({', '.join(self.arguments)}):\n {body}", self.bound)
