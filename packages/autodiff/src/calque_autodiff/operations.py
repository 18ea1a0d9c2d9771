"""Linearized operations: the derivative of a primitive, made from its rules once per types.

One idea: a program of one equation is cut into a known and a linear half, and the linear half is transposed, as for any
program.  Both become Python functions that call the implementations of the primitives one after the other.

Only primitives are taken whose implementations are leaves: such primitives promise that their rules depend on types and
parameters alone.  An error, such as a type that does not fit or a nan that NumPy was told to raise, is left to the
rules, whose messages name the place.
Read next: `traces/steps.py`, which defines the result; `traces/jvp_trace.py`, which uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from types import CodeType
from typing import Any

from calque_autodiff.jaxprs import linearize_jaxpr
from calque_autodiff.traces.steps import LinearizedOperation, Operations, Pull
from calque_autodiff.transpose import transpose_jaxpr
from calque_core import Atom, Jaxpr, JaxprEqn, Literal, Primitive, Var, eval_context, rule_epoch

Value = Any


def linearized_operation(
    primitive: Primitive, avals: Sequence[Any], mask: Sequence[bool], params: dict[str, Any]
) -> LinearizedOperation | None:
    """Return a primitive on operands of these types, those in `mask` with tangents; None if its rules have to run.

    >>> import numpy as np
    >>> from calque_core import lax, typeof
    >>> operation = linearized_operation(lax.sin_p, [typeof(1.0).strip_weak_type()], [True], {})
    >>> operation.run(0.0)
    (np.float64(0.0), (np.float64(1.0),))
    >>> operation.pull.function(np.float64(3.0), np.float64(1.0))
    (np.float64(3.0),)
    """
    try:
        with eval_context():
            return _linearized(primitive, avals, mask, params)
    except Exception:  # noqa: BLE001  the rules raise it again, in their own words
        return None


def _linearized(
    primitive: Primitive, avals: Sequence[Any], mask: Sequence[bool], params: dict[str, Any]
) -> LinearizedOperation | None:
    operands = [Var(aval) for aval in avals]
    outs = [Var(aval) for aval in primitive.abstract(*avals, **params)]
    known, linear, sources = linearize_jaxpr(
        Jaxpr((), operands, [JaxprEqn(primitive, operands, outs, params)], outs), mask
    )
    dot_avals = [None if type(v) is Literal else v.aval for v in linear.outvars]
    if not any(dot_avals) or not _is_straight(known):
        return None
    run = Code()
    primals = run.arguments(known.invars)
    results = run.results(known)
    residuals = [primals[i] if kind == "in" else results[i] for kind, i in sources]
    result = _list_of(results[: len(outs)]) if primitive.multiple_results else results[0]
    arrays = [i for i, (aval, m) in enumerate(zip(avals, mask)) if aval.shape and not m]
    makes_residuals = any(kind == "out" and i >= len(outs) for kind, i in sources)
    kept = {i for kind, i in sources if kind == "in"}
    pull_for = cache(partial(_pull, linear, len(sources)))
    pull = None if primitive.multiple_results else pull_for((True,))
    if pull is not None and pull.function is None:
        return None
    return LinearizedOperation(
        [v.aval for v in outs],
        dot_avals,
        run.function(primals, f"{result}, {_tuple_of(residuals)}"),
        linear,
        pull,
        pull_for,
        [i for i in arrays if makes_residuals or i in kept],
    )


def _pull(linear: Jaxpr, num_residuals: int, has_ct: tuple[bool, ...]) -> Pull:
    """Return the way back through a linear program of residuals and tangents, for results that have a cotangent."""
    is_tangent = [False] * num_residuals + [True] * (len(linear.invars) - num_residuals)
    ct_mask = iter(has_ct)
    mask = [type(v) is not Literal and next(ct_mask) for v in linear.outvars]
    with eval_context():
        transposed, nonzero = transpose_jaxpr(linear, is_tangent, mask)
    if not _is_straight(transposed):
        return Pull(None, transposed, nonzero)
    code = Code()
    names = code.arguments(transposed.invars)
    cts = code.results(transposed)
    function = code.function([*names[num_residuals:], *names[:num_residuals]], _tuple_of(cts))
    return Pull(function, transposed, nonzero)


def _is_straight(program: Jaxpr) -> bool:
    """Tell whether the evaluation of each equation is one call of a function that binds nothing."""
    return all(eqn.primitive.is_leaf for eqn in program.eqns)


class Code:
    """The text of a function, made of templates and numbers; functions and constants are bound by name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[Any, str] = {}
        self.constants: dict[str, Value] = {}

    def arguments(self, variables: Sequence[Var]) -> list[str]:
        """Name the arguments of a program."""
        return [self.names.setdefault(v, f"x{len(self.names)}") for v in variables]

    def results(self, jaxpr: Jaxpr) -> list[str]:
        """Append a line per equation of a program; return the names of its results."""
        for v, const in zip(jaxpr.constvars, jaxpr.consts):
            self.names[v] = self.constant(const)
        for eqn in jaxpr.eqns:
            function = partial(eqn.primitive.impl, **eqn.params) if eqn.params else eqn.primitive.impl
            operands = ", ".join(map(self.name, eqn.invars))
            names = [self.names.setdefault(v, f"x{len(self.names)}") for v in eqn.outvars]
            target = f"({', '.join(names)},)" if eqn.primitive.multiple_results else names[0]
            self.lines.append(f"{target} = {self.constant(function)}({operands})")
        return [self.name(v) for v in jaxpr.outvars]

    def name(self, atom: Atom) -> str:
        """Return the name of an operand."""
        return self.constant(atom.val) if isinstance(atom, Literal) else self.names[atom]

    def constant(self, value: Value) -> str:
        """Return the name of a bound value."""
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        return name

    def function(self, arguments: Sequence[str], results: str) -> Callable[..., Any]:
        """Return the function of these arguments that runs the lines and returns `results`."""
        body = [*self.lines, f"return {results}"]
        text = "\n".join([f"def function({', '.join(arguments)}):", *(f" {line}" for line in body)])
        namespace = dict(self.constants, __builtins__={})
        exec(_compiled(text), namespace)  # noqa: S102  the text is made of the templates of this class and integers
        return namespace.pop("function")  # type: ignore[no-any-return]


def _list_of(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"


def _tuple_of(names: Sequence[str]) -> str:
    return "(" + "".join(f"{name}, " for name in names) + ")"


@lru_cache(maxsize=512)
def _compiled(text: str) -> CodeType:
    return compile(text, "<generated by calque_autodiff>", "exec")


_current: list[Any] = [-1, Operations(linearized_operation)]


def current_operations() -> Operations:
    """Return the operations that the rules of now give: a rule that replaces another one drops them all."""
    if _current[0] != rule_epoch():
        _current[:] = [rule_epoch(), Operations(linearized_operation)]
    return _current[1]  # type: ignore[no-any-return]
