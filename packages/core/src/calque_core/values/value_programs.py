"""Programs inside programs, for changed values: `jit`, `checkpoint`, branches, loops.

One idea: a program on values becomes a program on their arrays, which the same primitive binds on the parent.  Without
arrays, the inner equations run as part of the outer program, step by step.  Each primitive has one function here, for
traces of values (rules of kind "value") and for interpretations by a table (rules of kind "interpret").

A rule of kind "value" is `rule(trace, args, **params)`; it runs under the trace, and returns a list of results.

Read next: `value_layouts.py` for the arrays of values, `table_interpreter.py` for interpretation by a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from calque_core.frames.source import where
from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.ops.calls.checkpoint import remat_p
from calque_core.ops.calls.cond import cond_p, unify_results
from calque_core.ops.calls.jit import jit_p, run_program
from calque_core.ops.calls.loops import as_carry, check_carry_type, with_carry_types
from calque_core.ops.calls.own_values import item_of, stacked
from calque_core.ops.calls.platform import Platforms, platform_dependent_p, position_of_platform
from calque_core.ops.calls.scan import scan_p
from calque_core.ops.calls.staged_programs import join_constants
from calque_core.ops.calls.while_loop import while_p
from calque_core.ops.elementwise.weakness import strong
from calque_core.primitives.primitive import Primitive
from calque_core.primitives.rules import rules as rule_table
from calque_core.staging.jit_tracer import JitTracer
from calque_core.traces.trace import run_under
from calque_core.traces.tracer import known, unknown
from calque_core.types.avals import is_array_like, typeof
from calque_core.types.type_queries import leading_size, same_type, with_leading_axis, without_leading_axis
from calque_core.values.value_layouts import (
    Layout,
    Layouts,
    Program,
    Targets,
    constant_layout,
    flatten_values,
    join_layouts,
    unflatten_values,
    until_stable,
)
from calque_pytree import tree_structure

Value = Any
Array = Any
Run = Callable[..., list[Value]]

rule_table("interpret")

# Calls


def call_on_values(
    primitive: Primitive, trace: Any, args: Sequence[Value], *, jaxpr: Jaxpr, **params: Any
) -> list[Value]:
    """Bind a program on arrays, with the same compiler or policy; run its equations if values have no arrays."""
    if not trace.has_arrays:
        return run_program(jaxpr, args)
    arrays, layouts = flatten_values(trace, args)
    program = run_under(trace.parent, trace._array_program, jaxpr, layouts, [None] * len(jaxpr.outvars))
    outs = run_under(trace.parent, primitive.bind, *program.consts, *arrays, jaxpr=program.jaxpr, **params)
    return unflatten_values(trace, program.out_layouts, outs)


# Branches


def cond_on_values(trace: Any, args: Sequence[Value], *, branches: Sequence[Jaxpr], **params: Any) -> list[Value]:
    """Run the chosen branch if the index is known; otherwise bind all branches on arrays."""
    index = _checked(args[0], cond_p, "an index", "does not select a branch")
    if trace.owns(index):
        index = run_under(trace.parent, trace.predicate, index.value)
    if known(index) is not unknown:
        return trace._run_program(branches[min(max(int(known(index)), 0), len(branches) - 1)], *args[1:])  # type: ignore[no-any-return]
    return run_under(trace.parent, _choose, trace, partial(cond_p.bind, index, **params), branches, args[1:])  # type: ignore[no-any-return]


def platform_on_values(
    trace: Any, args: Sequence[Value], *, branches: Sequence[Jaxpr], platforms: Platforms
) -> list[Value]:
    """Bind all branches on arrays; run the branch of evaluation if values have no arrays."""
    if not trace.has_arrays:
        return trace._run_program(branches[position_of_platform(platforms, "cpu")], *args)  # type: ignore[no-any-return]
    bind = partial(platform_dependent_p.bind, platforms=platforms)
    return run_under(trace.parent, _choose, trace, bind, branches, args)  # type: ignore[no-any-return]


def _choose(
    trace: Any, bind: Callable[..., list[Array]], branches: Sequence[Jaxpr], args: Sequence[Value]
) -> list[Value]:
    """Bind the branches on the arrays of values, by `bind(*arrays, branches=branches)`; return the resulting values.

    The branches get common layouts of the results.
    """
    arrays, layouts = flatten_values(trace, args)

    def make(targets: Targets) -> tuple[list[Program], list[Layout]]:
        programs = [trace._array_program(branch, layouts, targets) for branch in branches]
        return programs, reduce(partial(join_layouts, trace), [program.out_layouts for program in programs], targets)  # type: ignore[arg-type]

    programs, out_layouts = until_stable(trace, make, [None] * len(branches[0].outvars))
    jaxprs = [_with_constants(program) for program in programs]
    functions = [partial(trace._run_program, branch) for branch in branches]
    unified = unify_results("cond", functions, jaxprs, tree_structure([0] * len(jaxprs[0].outvars)))
    array_branches, consts = join_constants(unified)
    return unflatten_values(trace, out_layouts, bind(*consts, *arrays, branches=array_branches))


def _with_constants(program: Program) -> Jaxpr:
    """Return the jaxpr with its leading operands turned back into constants, for `join_constants`."""
    count, jaxpr = len(program.consts), program.jaxpr
    if not count:
        return jaxpr
    return jaxpr.replace(constvars=jaxpr.invars[:count], consts=program.consts, invars=jaxpr.invars[count:])


# Loops on arrays

_STEP = "the step, interpreted by these rules,"


def scan_on_values(
    trace: Any, args: Sequence[Value], *, jaxpr: Jaxpr, num_carry: int, num_consts: int, **options: Any
) -> list[Value]:
    """Bind the loop on arrays, with the scanned axis in front; run it step by step if values have no arrays."""
    num_fixed, length = num_consts + num_carry, options["length"]
    consts, init, xs = args[:num_consts], args[num_consts:num_fixed], args[num_fixed:]
    if not trace.has_arrays:
        return _scan_by_steps(
            trace._run_program, jaxpr, consts, init, xs, range(length)[:: -1 if options["reverse"] else 1]
        )
    const_arrays, const_layouts = flatten_values(trace, consts)
    x_arrays, x_layouts = flatten_values(trace, xs)
    slices = [_slice_layout(trace, layout, length) for layout in x_layouts]
    step, carry, arrays = run_under(trace.parent, _step, trace, "scan", jaxpr, init, const_layouts, slices)
    sizes = {"num_carry": len(arrays), "num_consts": len(step.consts) + len(const_arrays)}
    operands = [*step.consts, *const_arrays, *arrays, *x_arrays]
    outs = run_under(trace.parent, scan_p.bind, *operands, jaxpr=step.jaxpr, **sizes, **options)
    ys_layouts = [_stack_layout(layout, length) for layout in step.out_layouts[num_carry:]]
    return unflatten_values(trace, [*carry, *ys_layouts], outs)


def while_on_values(
    trace: Any, args: Sequence[Value], *, body_jaxpr: Jaxpr, body_nconsts: int, cond_jaxpr: Jaxpr, cond_nconsts: int,
    **options: Any,
) -> list[Value]:  # fmt: skip
    """Bind the loop on arrays; run it step by step if values have no arrays, or the predicate is known."""
    num_consts = cond_nconsts + body_nconsts
    cond_consts, body_consts, init = args[:cond_nconsts], args[cond_nconsts:num_consts], args[num_consts:]
    if not trace.has_arrays or _decides_now(trace, cond_jaxpr, [*cond_consts, *init]):
        return _while_by_steps(trace._run_program, cond_jaxpr, cond_consts, body_jaxpr, body_consts, init)
    cond_arrays, cond_layouts = flatten_values(trace, cond_consts)
    body_arrays, body_layouts = flatten_values(trace, body_consts)
    step, carry, arrays = run_under(trace.parent, _step, trace, "while", body_jaxpr, init, body_layouts, [])
    condition = run_under(trace.parent, trace._array_program, cond_jaxpr, [*cond_layouts, *carry], None)
    outs = run_under(
        trace.parent,
        while_p.bind,
        *condition.consts,
        *cond_arrays,
        *step.consts,
        *body_arrays,
        *arrays,
        body_jaxpr=step.jaxpr,
        body_nconsts=len(step.consts) + len(body_arrays),
        cond_jaxpr=condition.jaxpr,
        cond_nconsts=len(condition.consts) + len(cond_arrays),
        **options,
    )
    return unflatten_values(trace, carry, outs)


def _decides_now(trace: Any, cond_jaxpr: Jaxpr, args: Sequence[Value]) -> bool:
    """Tell whether a value with a known predicate decides the loop; `predicate` may also refuse."""
    if not trace.has_predicate or any(isinstance(x, JitTracer) for x in flatten_values(trace, args)[0]):
        return False  # checked first: otherwise the condition would be staged twice
    (condition,) = run_program(cond_jaxpr, args)
    return trace.owns(condition) and known(condition) is not unknown


def _step(
    trace: Any, verb: str, jaxpr: Jaxpr, init: Sequence[Value], const_layouts: Layouts, slice_layouts: Layouts
) -> tuple[Program, list[Layout], list[Array]]:
    """Return the program of a step, the layouts of its carry, and the arrays of the initial carry, `init`.

    Its arguments are constants, the carry, and slices; it returns the carry in its types before the step.
    """
    ys_targets: list[Layout | None] = [None] * (len(jaxpr.outvars) - len(init))
    first_arrays, first_layouts = flatten_values(trace, init)

    def make(carry: list[Layout]) -> tuple[tuple[Program, list[Layout], list[Array]], list[Layout]]:
        layouts = list(map(_as_declared, [*const_layouts, *carry, *slice_layouts], jaxpr.in_avals))
        program = trace._array_program(jaxpr, layouts, [*carry, *ys_targets])
        is_first = carry is first_layouts
        arrays, init_layouts = (first_arrays, carry) if is_first else flatten_values(trace, init, carry)
        joined = join_layouts(trace, join_layouts(trace, carry, program.out_layouts), init_layouts)
        return (program, layouts[len(const_layouts) : len(const_layouts) + len(init)], arrays), joined

    (program, carry, arrays), _ = until_stable(trace, make, first_layouts)
    carry_avals = [aval for layout in carry for aval in layout.avals]
    caller = f"{trace.verb or type(trace).__name__} of {verb}{where()}"
    closed = with_carry_types(caller, _STEP, program.jaxpr, carry_avals)
    return program._replace(jaxpr=closed), carry, arrays


def _as_declared(layout: Layout, aval: Any) -> Layout:
    """Return the layout of an argument; a constant is as weak as its program says, if it has the type `aval` else."""
    return layout if layout.is_value else constant_layout(_beside(aval, layout.aval))


def _slice_layout(trace: Any, layout: Layout, length: int) -> Layout:
    """Return the layout of a slice along the leading axis of all arrays."""
    for aval in layout.avals:
        if layout.is_value and leading_size(aval) != length:
            name = type(trace).__name__
            raise TypeError(
                f"scan{where()} runs over the leading axis of a value of type {layout.aval}, but {name}.to_arrays "
                f"returned an array of type {aval}. Return arrays with the leading axis of the value, or process "
                f"scan_p in {name}.process_primitive."
            )
    return layout._replace(avals=tuple(map(without_leading_axis, layout.avals)), aval=without_leading_axis(layout.aval))


def _stack_layout(layout: Layout, length: int) -> Layout:
    avals = [with_leading_axis(aval, length) for aval in layout.avals]
    return layout._replace(avals=tuple(avals), aval=with_leading_axis(layout.aval, length))


# Loops step by step


def _scan_by_steps(
    run: Run, jaxpr: Jaxpr, consts: Sequence[Value], init: Sequence[Value], xs: Sequence[Value], steps: Sequence[int]
) -> list[Value]:
    """Run one step of a loop after the other, by `run(jaxpr, *args)`, on the slices `steps`."""
    num_carry, carry = len(init), list(init)
    types = _types_of_carry(jaxpr.in_avals[len(consts) : len(consts) + num_carry], carry)
    rows: list[Any] = [None] * len(steps)
    for i in steps:
        outs = run(jaxpr, *consts, *carry, *[item_of(x, i) for x in xs])
        carry, rows[i] = _with_types("scan", types, outs[:num_carry]), outs[num_carry:]
    if not rows:
        return [*carry, *(stacked((), aval) for aval in jaxpr.out_avals[num_carry:])]
    checked = partial(_checked, primitive=scan_p, role="a result", fault="cannot be stacked")
    columns = zip(zip(*rows), jaxpr.out_avals[num_carry:])
    return [*carry, *(stacked([strong(checked(x)) for x in column], aval) for column, aval in columns)]


def _while_by_steps(
    run: Run,
    cond_jaxpr: Jaxpr,
    cond_consts: Sequence[Value],
    body_jaxpr: Jaxpr,
    body_consts: Sequence[Value],
    init: Sequence[Value],
) -> list[Value]:
    """Run condition and body of a loop in turn, by `run(jaxpr, *args)`."""
    carry = list(init)
    types = _types_of_carry(body_jaxpr.in_avals[len(body_consts) :], carry)
    while _checked(run(cond_jaxpr, *cond_consts, *carry)[0], while_p, "a condition", "has no truth value"):
        carry = _with_types("while", types, run(body_jaxpr, *body_consts, *carry))
    return carry


def _beside(declared: Any, aval: Any) -> Any:
    """Return the type of an operand, as weak as the program says where a rule has not changed the type."""
    return declared if same_type(declared, aval) else aval


def _types_of_carry(in_avals: Sequence[Any], carry: Sequence[Value]) -> list[Any]:
    """Return the types of a carry in the steps of a loop; None for a value that is no array."""
    return [_beside(a, typeof(x)) if is_array_like(x) else None for a, x in zip(in_avals, carry)]


def _with_types(verb: str, types: Sequence[Any], carry: Sequence[Value]) -> list[Value]:
    """Return a carry after a step, its weak arrays converted to their types before.

    Raises: TypeError for an array of another type.
    """
    converted = list(carry)
    for i, (aval, x) in enumerate(zip(types, carry)):
        if aval is not None and is_array_like(x):
            check_carry_type(f"interpret of {verb}{where()}", _STEP, f"[{i}]", aval, typeof(x))
            converted[i] = as_carry(x, aval)
    return converted


def _checked(x: Value, primitive: Primitive, role: str, fault: str) -> Value:
    """Return a value that must be an array.  Raises: TypeError that names the primitive, and what it needs of `x`."""
    if not is_array_like(x):
        name = primitive.name
        raise TypeError(
            f"interpret met '{name}' with {role} of class {type(x).__name__}, which {fault}. Give a rule for {name}_p."
        )
    return x


jit_p.def_rule("value", partial(call_on_values, jit_p))
remat_p.def_rule("value", partial(call_on_values, remat_p))
cond_p.def_rule("value", cond_on_values)
platform_dependent_p.def_rule("value", platform_on_values)
scan_p.def_rule("value", scan_on_values)
while_p.def_rule("value", while_on_values)
