"""Programs inside programs, under a transformation with its own values: `jit`, `checkpoint`, branches, loops.

One idea: a program on values becomes a program on their arrays, which the same primitive binds on the parent.  A
transformation without arrays runs the inner equations as part of the outer program, step by step.

A rule of kind "value" is `rule(trace, args, **params)`; it runs under the trace, and returns a list of results.

Read next: `value_layouts.py` for the arrays of values, `table_interpreter.py` for loops that run step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from calque_core.frames.source import where
from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.ops.checkpoint import remat_p
from calque_core.ops.cond import cond_p, join_constants, unify_results
from calque_core.ops.jit import jit_p, run_program
from calque_core.ops.loops import Body, with_carry_types
from calque_core.ops.platform import Platforms, platform_dependent_p, position_of_platform
from calque_core.ops.scan import scan_p, slice_aval
from calque_core.ops.while_loop import while_p
from calque_core.primitives.primitive import Primitive
from calque_core.staging.jit_tracer import JitTracer
from calque_core.traces.trace import run_under
from calque_core.traces.tracer import known, unknown
from calque_core.types.avals import shaped_array, typeof
from calque_core.values.table_interpreter import scan_by_steps, while_by_steps
from calque_core.values.value_layouts import (
    Layout,
    Layouts,
    Program,
    Targets,
    array_program,
    condition_program,
    flatten_values,
    join_layouts,
    unflatten_values,
    until_stable,
)
from calque_pytree import tree_structure

Value = Any
Array = Any

# Calls


def call_on_values(
    primitive: Primitive, trace: Any, args: Sequence[Value], *, jaxpr: Jaxpr, **params: Any
) -> list[Value]:
    """Bind a program on arrays, with the same compiler or policy; run its equations if values have no arrays."""
    if not trace.has_arrays:
        return run_program(jaxpr, args)
    arrays, layouts = flatten_values(trace, args)
    program = run_under(trace.parent, array_program, trace, jaxpr, layouts)
    outs = run_under(trace.parent, primitive.bind, *program.consts, *arrays, jaxpr=program.jaxpr, **params)
    return unflatten_values(trace, program.out_layouts, outs)


# Branches


def cond_on_values(trace: Any, args: Sequence[Value], *, branches: Sequence[Jaxpr], **params: Any) -> list[Value]:
    """Run the chosen branch if the index is known; otherwise bind all branches on arrays."""
    index = args[0]
    if trace.owns(index):
        index = run_under(trace.parent, trace.predicate, index.value)
    if known(index) is not unknown:
        return run_program(branches[min(max(int(known(index)), 0), len(branches) - 1)], args[1:])
    return _choose(trace, partial(cond_p.bind, index, **params), branches, args[1:])


def platform_on_values(
    trace: Any, args: Sequence[Value], *, branches: Sequence[Jaxpr], platforms: Platforms
) -> list[Value]:
    """Bind all branches on arrays; run the branch of evaluation if values have no arrays."""
    if not trace.has_arrays:
        return run_program(branches[position_of_platform(platforms, "cpu")], args)
    return _choose(trace, partial(platform_dependent_p.bind, platforms=platforms), branches, args)


def _choose(
    trace: Any, bind: Callable[..., list[Array]], branches: Sequence[Jaxpr], args: Sequence[Value]
) -> list[Value]:
    """Bind the branches on the arrays of values, by `bind(*arrays, branches=branches)`; return the resulting values."""
    arrays, layouts = flatten_values(trace, args)
    return unflatten_values(trace, *run_under(trace.parent, _choose_arrays, trace, bind, branches, layouts, arrays))


def _choose_arrays(
    trace: Any, bind: Callable[..., list[Array]], branches: Sequence[Jaxpr], layouts: Layouts, arrays: list[Array]
) -> tuple[Layouts, list[Array]]:
    """Bind the branches with common layouts of the results; return these layouts, and the arrays."""

    def make(targets: Targets) -> tuple[list[Program], list[Layout]]:
        programs = [array_program(trace, branch, layouts, targets) for branch in branches]
        return programs, reduce(partial(join_layouts, trace), [program.out_layouts for program in programs], targets)  # type: ignore[arg-type]

    programs, out_layouts = until_stable(trace, make, [None] * len(branches[0].outvars))
    jaxprs = [_with_constants(program) for program in programs]
    functions = [partial(run_program, branch) for branch in branches]
    unified = unify_results("cond", functions, jaxprs, tree_structure([0] * len(jaxprs[0].outvars)))
    array_branches, consts = join_constants(unified)
    return out_layouts, bind(*consts, *arrays, branches=array_branches)


def _with_constants(program: Program) -> Jaxpr:
    """Return the jaxpr with its leading operands turned back into constants, for `join_constants`."""
    count, jaxpr = len(program.consts), program.jaxpr
    return jaxpr.replace(constvars=jaxpr.invars[:count], consts=program.consts, invars=jaxpr.invars[count:])


# Loops

_STEP = "the step, on the arrays of these values,"


def scan_on_values(
    trace: Any, args: Sequence[Value], *, jaxpr: Jaxpr, num_carry: int, num_consts: int, **options: Any
) -> list[Value]:
    """Bind the loop on arrays, with the scanned axis in front; run it step by step if values have no arrays."""
    if not trace.has_arrays:
        return scan_by_steps(run_inline, *args, jaxpr=jaxpr, num_carry=num_carry, num_consts=num_consts, **options)
    num_fixed = num_consts + num_carry
    consts, const_layouts = flatten_values(trace, args[:num_consts])
    xs, xs_layouts = flatten_values(trace, args[num_fixed:])
    slice_layouts = [_slice_layout(trace, layout, options["length"]) for layout in xs_layouts]
    init = args[num_consts:num_fixed]
    step, carry, arrays = run_under(trace.parent, _step, trace, jaxpr, init, const_layouts, slice_layouts)
    program = with_carry_types("scan", _STEP, _body(step), list(map(typeof, arrays)))
    sizes = {"num_carry": len(arrays), "num_consts": len(step.consts) + len(consts)}
    operands = [*step.consts, *consts, *arrays, *xs]
    outs = run_under(trace.parent, scan_p.bind, *operands, jaxpr=program, **sizes, **options)
    ys_layouts = [_stack_layout(layout, options["length"]) for layout in step.out_layouts[num_carry:]]
    return unflatten_values(trace, [*carry, *ys_layouts], outs)


def while_on_values(
    trace: Any, args: Sequence[Value], *, body_jaxpr: Jaxpr, body_nconsts: int, cond_jaxpr: Jaxpr, cond_nconsts: int,
    checkpoints: int,
) -> list[Value]:  # fmt: skip
    """Bind the loop on arrays; run it step by step if values have no arrays, or the predicate is known."""
    num_consts = cond_nconsts + body_nconsts
    if not trace.has_arrays or _decides_now(trace, cond_jaxpr, [*args[:cond_nconsts], *args[num_consts:]]):
        sizes = {"body_nconsts": body_nconsts, "cond_nconsts": cond_nconsts, "checkpoints": checkpoints}
        return while_by_steps(run_inline, *args, body_jaxpr=body_jaxpr, cond_jaxpr=cond_jaxpr, **sizes)
    cond_consts, cond_layouts = flatten_values(trace, args[:cond_nconsts])
    body_consts, body_layouts = flatten_values(trace, args[cond_nconsts:num_consts])
    init = args[num_consts:]
    step, carry, arrays = run_under(trace.parent, _step, trace, body_jaxpr, init, body_layouts, [])
    condition = run_under(trace.parent, condition_program, trace, cond_jaxpr, [*cond_layouts, *carry])
    program = with_carry_types("while", _STEP, _body(step), list(map(typeof, arrays)))
    outs = run_under(
        trace.parent,
        while_p.bind,
        *condition.consts,
        *cond_consts,
        *step.consts,
        *body_consts,
        *arrays,
        body_jaxpr=program,
        body_nconsts=len(step.consts) + len(body_consts),
        checkpoints=checkpoints,
        cond_jaxpr=condition.jaxpr,
        cond_nconsts=len(condition.consts) + len(cond_consts),
    )
    return unflatten_values(trace, carry, outs)


def _decides_now(trace: Any, cond_jaxpr: Jaxpr, args: Sequence[Value]) -> bool:
    """Tell whether a value with a known predicate decides the loop; `predicate` may also refuse."""
    if any(isinstance(x, JitTracer) for x in flatten_values(trace, args)[0]):
        return False  # checked first: otherwise the condition would be staged twice
    (condition,) = run_program(cond_jaxpr, args)
    return trace.owns(condition) and known(condition) is not unknown


def _step(
    trace: Any, jaxpr: Jaxpr, init: Sequence[Value], const_layouts: Layouts, slice_layouts: Layouts
) -> tuple[Program, list[Layout], list[Array]]:
    """Return the program of a step, the layouts of its carry, and the arrays of the initial carry, `init`.

    Its arguments are constants, the carry, and slices.
    """
    ys_targets: list[Layout | None] = [None] * (len(jaxpr.outvars) - len(init))

    def make(carry: list[Layout]) -> tuple[tuple[Program, list[Array]], list[Layout]]:
        program = array_program(trace, jaxpr, [*const_layouts, *carry, *slice_layouts], [*carry, *ys_targets])
        arrays, init_layouts = flatten_values(trace, init, carry)
        return (program, arrays), join_layouts(trace, join_layouts(trace, carry, program.out_layouts), init_layouts)

    (program, arrays), carry = until_stable(trace, make, flatten_values(trace, init)[1])
    return program, carry, arrays


def _body(program: Program) -> Body:
    return Body(program.jaxpr, program.consts, tree_structure([0] * len(program.jaxpr.outvars)))


def _slice_layout(trace: Any, layout: Layout, length: int) -> Layout:
    """Return the layout of a slice along the leading axis of all arrays."""
    for aval in layout.avals:
        if aval.shape[:1] != (length,):
            name = type(trace).__name__
            raise TypeError(
                f"scan{where()} runs over the leading axis of a value of type {layout.aval}, but {name}.to_arrays "
                f"returned an array of type {aval}. Return arrays with the leading axis of the value, or process "
                f"scan_p in {name}.process_primitive."
            )
    return layout._replace(avals=tuple(map(slice_aval, layout.avals)), aval=slice_aval(layout.aval))


def _stack_layout(layout: Layout, length: int) -> Layout:
    avals = [_stacked_type(aval, length) for aval in layout.avals]
    return layout._replace(avals=tuple(avals), aval=_stacked_type(layout.aval, length))


def _stacked_type(aval: Any, length: int) -> Any:
    return shaped_array((length, *aval.shape), aval.dtype).varying(aval.vma)


def run_inline(jaxpr: Jaxpr, *args: Value) -> list[Value]:
    """Run the equations of an inner program as part of the outer program."""
    return run_program(jaxpr, args)


jit_p.def_rule("value", partial(call_on_values, jit_p))
remat_p.def_rule("value", partial(call_on_values, remat_p))
cond_p.def_rule("value", cond_on_values)
platform_dependent_p.def_rule("value", platform_on_values)
scan_p.def_rule("value", scan_on_values)
while_p.def_rule("value", while_on_values)
