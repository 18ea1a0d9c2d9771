"""Functions defined by an equation: `custom_root`.

One idea: the equation is differentiated, not its solver.  So where values are known, in evaluation and under `jvp` and
`grad`, the solver runs in Python, on values without tangents; elsewhere it is traced.

Read next: `rules/calls/root.py`, the implicit function theorem; `rules/calls/linear_solve.py`, for
`custom_linear_solve`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from calque_autodiff.traces.jvp_trace import JVPTrace
from calque_autodiff.verbs.linearize import linearize
from calque_core import (
    Jaxpr,
    Primitive,
    Trace,
    Tracer,
    Var,
    api_boundary,
    current_trace,
    evaluation,
    hand_down,
    stage,
    tracing,
)
from calque_core.engine import (
    Space,
    check_lift,
    copy_writable,
    join_constants,
    loop_name,
    run_solver,
    space_of,
    trace_in,
)
from calque_core.extend import check_callable
from calque_core.lax import custom_root_p
from calque_pytree import tree_leaves, tree_map

Value = Any
Function = Callable[..., Any]


@api_boundary
def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
    has_aux: bool = False,
) -> Any:
    """Return `solve(f, initial_guess)`, a root x of `f`, differentiated by the implicit function theorem.

    `f` maps the space of the guess, a pytree of floating arrays, to itself.  The derivative of x is with respect to the
    values that `f` closes over: `tangent_solve(g, y)` solves the linear equation `g(x) == y`, where `g` is `f`
    linearized at the root.  For scalars it is `lambda g, y: y / g(1.0)`.  Reverse mode transposes its operations, so an
    iteration in it must call `custom_linear_solve`.  The derivative does not depend on the guess.  With `has_aux`,
    `solve` returns a pair `(x, aux)`, and so does `custom_root`; aux has no derivative.
    `solve` runs in Python, on values, where they are known: in evaluation, and under `jvp`, `linearize`, `vjp` and
    `grad` of evaluation.  Under other transformations it is traced; `f` and `tangent_solve` are traced under all
    transformations.
    Raises: TypeError if the guess is not floating, or a function returns another structure or other types than the
    guess.

    >>> from calque_autodiff import custom_root, grad
    >>> def newton(f, x):
    ...     while abs(f(x)) > 1e-9:
    ...         x = x - f(x) / (2.0 * x)
    ...     return x
    >>> def square_root(a):
    ...     return custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))
    >>> round(float(square_root(4.0)), 9), round(float(grad(square_root)(4.0)), 9)
    (2.0, 0.25)
    """
    for fun in (f, solve, tangent_solve):
        check_callable(fun, "custom_root")
    caller = loop_name("custom_root", f)
    guess, space = space_of(caller, "initial_guess", initial_guess)
    function = space.with_type_check(caller, "f", f)
    checked_solve, checked_f = (
        space.with_type_check(caller, "solve", solve, has_aux),
        space.with_structure_check(caller, "f", f),
    )
    solver = partial(checked_solve, checked_f)
    trace = current_trace()
    if trace is evaluation:
        return run_solver(caller, checked_solve, checked_f, space, guess)
    f_jaxpr, _ = trace_in("custom_root", space, function, f)
    start = guess
    guess, space = space.joined(start, f_jaxpr.out_avals)
    if guess is not start:
        f_jaxpr, _ = trace_in("custom_root", space, function, f)
    tangent_solver = _linearized_solver(space, function, space.with_type_check(caller, "tangent_solve", tangent_solve))
    tangent_jaxpr = stage(tangent_solver, space.avals * 2, verb="custom_root", user_fun=tangent_solve)
    if not knows_values(trace):
        solve_jaxpr, out_tree = trace_in("custom_root", space, solver, solve)
        return out_tree.unflatten(_bind(f_jaxpr, solve_jaxpr, tangent_jaxpr, guess))
    with tracing(ValueTrace(trace)):
        out = tree_map(kept_value, run_solver(caller, checked_solve, checked_f, space, [value_of(x) for x in guess]))
    x, aux = out if has_aux else (out, None)
    x = space.tree.unflatten(_bind(f_jaxpr, _identity(space), tangent_jaxpr, tree_leaves(x)))
    return (x, aux) if has_aux else x


def _linearized_solver(space: Space, function: Function, tangent_solve: Function) -> Callable[..., list[Value]]:
    """Return the solver of the linearized equation, on the leaves of a root and of a right-hand side."""

    def solve(*leaves: Value) -> list[Value]:
        size = space.tree.num_leaves
        x, y = map(space.tree.unflatten, (leaves[:size], leaves[size:]))
        _, g = linearize(function, x)
        return tree_leaves(tangent_solve(g, y))

    return solve


def _bind(f: Jaxpr, solve: Jaxpr, tangent_solve: Jaxpr, guess: Sequence[Value]) -> list[Value]:
    """Bind the equation; the constants of its programs become operands."""
    (f, solve, tangent_solve), consts = join_constants([f, solve, tangent_solve])
    params = {"f": f, "solve": solve, "tangent_solve": tangent_solve, "num_consts": len(consts)}
    return custom_root_p.bind(*consts, *guess, **params)  # type: ignore[no-any-return]


def _identity(space: Space) -> Jaxpr:
    """Return the solver of an equation whose first guess is the root."""
    leaves = [Var(aval) for aval in space.avals]
    return Jaxpr((), leaves, (), leaves)


# Solvers in Python


class ValueTrace(Trace):
    """Computes with the primals of tracers, without their tangents."""

    verb = "the solver of custom_root"
    drops_custom_derivatives = True  # nothing under this trace is differentiated

    def process_primitive(self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        return hand_down(evaluation, primitive, [value_of(x) for x in args], params)


def knows_values(trace: Trace | None) -> bool:
    """Tell whether all values under `trace` are known: it takes derivatives, and nothing else is below it."""
    while isinstance(trace, JVPTrace):
        trace = trace.parent
    return trace is evaluation


def value_of(x: Value) -> Value:
    """Return the number behind a value that may carry tangents.

    Raises: UnexpectedTracerError if its trace has ended.
    """
    if not isinstance(x, Tracer):
        return x
    check_lift(x, current_trace())
    return x.known_value


def kept_value(x: Value) -> Value:
    """Return the number behind a result of a solver, in memory of its own: the solver may use its buffers again."""
    (value,) = copy_writable([value_of(x)])
    return value
