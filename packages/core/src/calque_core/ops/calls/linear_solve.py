"""Solutions of linear equations, defined by the equation: the primitive `custom_linear_solve`.

One idea: the derivative of the solution of A x = b follows from the equation, A dx = db - dA x, so no transformation
looks into the user's solver.  The equation holds the operator `matvec`, its transpose `vecmat` (None until a rule
makes it), and the two solvers, as programs of the same operands: `num_consts` values that they close over, then a
vector.

Read next: `root.py`, for nonlinear equations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from calque_core.calls.api_util import FlatFunction, array_leaves, check_callable
from calque_core.frames.names import named_after
from calque_core.frames.source import where
from calque_core.frames.tracebacks import api_boundary
from calque_core.jaxprs.jaxpr import Jaxpr, JaxprEqn
from calque_core.jaxprs.masks import marked
from calque_core.memory.separate import copy_writable
from calque_core.ops.calls.jit import check_operands, means, run_strongly
from calque_core.ops.calls.linear_call import linear_transpose_p
from calque_core.ops.calls.spaces import Space, space_of
from calque_core.ops.calls.staged_programs import join_constants
from calque_core.ops.elementwise.convert import convert_element_type
from calque_core.ops.meshes.varying import as_varying
from calque_core.passes.dead_code import dce_jaxpr
from calque_core.primitives.primitive import Primitive
from calque_core.staging.stage import stage
from calque_core.traces.evaluators import canonical_value
from calque_core.traces.trace import trace_state_clean
from calque_core.types.avals import typeof
from calque_pytree import PyTreeDef, tree_flatten

Value = Any
Function = Callable[..., Any]

custom_linear_solve_p = Primitive("custom_linear_solve", multiple_results=True)
means(custom_linear_solve_p, "solve", run_strongly)


@custom_linear_solve_p.def_abstract_eval
def custom_linear_solve_abstract_eval(
    *avals: Any, matvec: Jaxpr, vecmat: Jaxpr | None, solve: Jaxpr, transpose_solve: Jaxpr | None, num_consts: int
) -> list[Any]:
    programs = {"matvec": matvec, "vecmat": vecmat, "solve": solve, "transpose_solve": transpose_solve}
    for role, jaxpr in programs.items():
        if jaxpr is not None:
            check_endomorphism(f"{role} of custom_linear_solve", jaxpr, avals, avals[num_consts:])
    return [aval.strip_weak_type() for aval in solve.out_avals]


def check_endomorphism(name: str, jaxpr: Jaxpr, avals: Sequence[Any], vector_avals: Sequence[Any]) -> None:
    """Check that a program of operands of the types `avals` gives a vector of the types `vector_avals` first.

    Raises: TypeError with both.
    """
    check_operands(name, jaxpr, avals)
    out_avals = jaxpr.out_avals[: len(vector_avals)]
    if [(a.shape, a.dtype) for a in out_avals] != [(a.shape, a.dtype) for a in vector_avals]:
        out_types, vector_types = (", ".join(str(a) for a in types) for types in (out_avals, vector_avals))
        raise TypeError(
            f"{name} returned ({out_types}) for a vector of types ({vector_types}). Return the types of the vector."
        )


@custom_linear_solve_p.def_pp
def custom_linear_solve_pp(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def dce_solver(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """Drop unused auxiliary results, and the values that no program needs; the solution stays whole."""
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    num_consts = eqn.params["num_consts"]
    size = len(eqn.invars) - num_consts
    programs = {name: program for name, program in eqn.params.items() if type(program) is Jaxpr}
    used_outs = {name: [True] * len(program.outvars) for name, program in programs.items()}
    used_outs["solve"] = [True] * size + list(used_outputs[size:])
    needed = [dce_jaxpr(program, used_outs[name])[1][:num_consts] for name, program in programs.items()]
    used_consts = [any(marks) for marks in zip(*needed)]
    new_params: dict[str, Any] = {"num_consts": sum(used_consts)}
    for name, program in programs.items():
        arguments = [True] * (len(program.invars) - num_consts)
        new_params[name] = dce_jaxpr(program, used_outs[name], instantiate=[*used_consts, *arguments])[0]
    used_inputs = used_consts + [True] * size
    invars, outvars = marked(eqn.invars, used_inputs), marked(eqn.outvars, used_outs["solve"])
    return used_inputs, eqn.replace(invars=invars, outvars=outvars, params=eqn.params | new_params)


custom_linear_solve_p.def_rule("dce", dce_solver)


@api_boundary
def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Return `solve(matvec, b)`, the solution x of the linear equation `matvec(x) == b`, differentiated as such.

    `matvec` is a linear function from the space of `b`, a pytree of floating arrays, to itself.  The derivative follows
    from the equation, and `solve` is never differentiated.  Reverse mode calls `transpose_solve(vecmat, ct)`, which
    solves `vecmat(y) == ct` with the transpose of `matvec`; without one it uses `solve` if `symmetric`, and otherwise
    transposes the operations of `solve`.  With `has_aux`, the solvers return a pair `(x, aux)`, and so does this; aux
    has no derivative.
    In evaluation `solve` runs in Python, with its control flow; under transformations it is traced.
    Raises: TypeError if `b` is not floating, a solver returns another structure or other types than b's, or `matvec`
    returns another structure or other shapes; under a transformation, also for other dtypes of `matvec`.

    >>> from calque_core.lax import custom_linear_solve
    >>> def divide(matvec, b):
    ...     return b / matvec(1.0)
    >>> custom_linear_solve(lambda x: 4.0 * x, 2.0, divide)
    np.float64(0.5)
    """
    for fun in (matvec, solve, *(() if transpose_solve is None else (transpose_solve,))):
        check_callable(fun, "custom_linear_solve")
    caller = f"custom_linear_solve{where()}"
    vector, space = space_of(caller, "b", b)
    checked_solve = space.with_type_check(caller, "solve", solve, has_aux)
    if trace_state_clean():
        return run_solver(caller, checked_solve, space.with_structure_check(caller, "matvec", matvec), space, vector)
    solver = partial(checked_solve, matvec)
    checked_matvec = space.with_type_check(caller, "matvec", matvec)
    matvec_jaxpr, _ = trace_in("custom_linear_solve", space, checked_matvec, matvec)
    leaves, space = space.joined(vector, matvec_jaxpr.out_avals)
    if leaves is not vector:
        matvec_jaxpr, _ = trace_in("custom_linear_solve", space, checked_matvec, matvec)
    solve_jaxpr, out_tree = trace_in("custom_linear_solve", space, solver, solve)
    programs = [matvec_jaxpr, solve_jaxpr]
    if transpose_solve is not None:
        vecmat = matvec if symmetric else partial(_vecmat, matvec_jaxpr, space)
        transposed = partial(space.with_type_check(caller, "transpose_solve", transpose_solve, has_aux), vecmat)
        programs.append(trace_in("custom_linear_solve", space, transposed, transpose_solve)[0])
    joined, consts = join_constants(programs)
    back = joined[-1] if transpose_solve is not None or symmetric else None
    outs = custom_linear_solve_p.bind(
        *consts,
        *leaves,
        matvec=joined[0],
        vecmat=joined[0] if symmetric else None,
        solve=joined[1],
        transpose_solve=back and without_aux(back, len(leaves)),
        num_consts=len(consts),
    )
    return out_tree.unflatten(outs)


def run_solver(caller: str, solver: Function, function: Function, space: Space, leaves: Sequence[Value]) -> Any:
    """Return the result of a solver of `function`, which checks its own, that runs in Python on the values `leaves`.

    A function that the solver does not call is called once, so that it is checked in every case.
    Raises: TypeError if a result is not an array.
    """
    was_called = False

    @named_after(function)
    def called(*args: Any) -> Any:
        nonlocal was_called
        was_called = True
        return function(*args)

    def vector() -> Any:
        return space.tree.unflatten([canonical_value(x) for x in leaves])

    out = solver(called, vector())
    if not was_called:
        function(vector())
    outs, out_tree = array_leaves(caller, "the result", out)
    return out_tree.unflatten(copy_writable([canonical_value(x) for x in outs]))


def trace_in(verb: str, space: Space, fun: Function, user_fun: Function) -> tuple[Jaxpr, PyTreeDef]:
    """Return the program of a function of one vector, and the structure of its result."""
    flat = FlatFunction(fun, space.in_tree, verb)
    return stage(flat, space.avals, verb=verb, user_fun=user_fun), flat.out_tree


def _vecmat(matvec: Jaxpr, space: Space, ct: Any) -> Any:
    """Return the transpose of `matvec` applied to `ct`, as an equation of `linear_transpose`."""
    leaves, tree = tree_flatten(ct)
    if tree != space.tree:
        raise TypeError(
            f"vecmat got the structure {tree}{where()}, but b has the structure {space.tree}. Give it a vector like b."
        )
    weak = [typeof(x).weak_type for x in leaves]
    converted = [convert_element_type(x, a.dtype) if w else x for x, a, w in zip(leaves, space.avals, weak)]
    operands = [as_varying(x, aval.vma) for x, aval in zip(converted, space.avals)]
    (program,), consts = join_constants([matvec])
    return tree.unflatten(linear_transpose_p.bind(*consts, *operands, jaxpr=program, num_res=len(consts)))


def without_aux(solve: Jaxpr, size: int) -> Jaxpr:
    """Return a solver that returns the solution only, a vector of `size` leaves."""
    used = [i < size for i in range(len(solve.outvars))]
    return dce_jaxpr(solve, used, instantiate=True)[0]
