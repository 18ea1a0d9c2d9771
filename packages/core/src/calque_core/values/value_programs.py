"""Programs inside programs, under a transformation with values of its own: `jit`, `checkpoint`, branches, loops.

One idea: a program on values is a program on the arrays that they are made of, bound by the same primitive on the
parent.  A transformation without arrays runs the equations inside as part of the program around them, step by step.

A rule of kind "value" is `rule(trace, args, **params)`; it runs under the trace, and returns a list of results.

Read next: `value_parts.py` for how values are made of arrays, `table_interpreter.py` for loops run step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

from calque_core.frames.source import where
from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.kits.table_interpreter import scan_by_steps, while_by_steps
from calque_core.ops.checkpoint import remat_p
from calque_core.ops.cond import cond_p, join_constants, unify_results
from calque_core.ops.jit import jit_p, run_program
from calque_core.ops.loops import Body, settled_carry
from calque_core.ops.scan import scan_p, slice_aval
from calque_core.ops.while_loop import while_p
from calque_core.primitives.primitive import Primitive
from calque_core.staging.stage import JitTracer
from calque_core.traces.trace import run_under
from calque_core.traces.tracer import known, unknown
from calque_core.types.avals import shaped_array, typeof
from calque_core.values.value_parts import (
    Part,
    Parts,
    Program,
    Targets,
    deciding,
    flattened,
    joined,
    on_arrays,
    restored,
    until_stable,
)
from calque_pytree import tree_structure

Value = Any
Array = Any

# Calls


def call_on_values(
    primitive: Primitive, trace: Any, args: Sequence[Value], *, jaxpr: Jaxpr, **params: Any
) -> list[Value]:
    """Bind a program on arrays, with the same compiler or policy; without arrays, run its equations."""
    if not trace.has_arrays:
        return run_program(jaxpr, args)
    arrays, parts = flattened(trace, args)
    program = run_under(trace.parent, on_arrays, trace, jaxpr, parts)
    outs = run_under(trace.parent, primitive.bind, *program.consts, *arrays, jaxpr=program.jaxpr, **params)
    return restored(trace, program.parts, outs)


# Branches


def cond_on_values(trace: Any, args: Sequence[Value], *, branches: Sequence[Jaxpr], **params: Any) -> list[Value]:
    """Run the branch that is taken, if that is known; otherwise bind all of them on arrays."""
    index = args[0]
    if trace.owns(index):
        index = run_under(trace.parent, trace.predicate, index.value)
    if known(index) is not unknown:
        return run_program(branches[min(max(int(known(index)), 0), len(branches) - 1)], args[1:])
    arrays, parts = flattened(trace, args[1:])
    return restored(trace, *run_under(trace.parent, _choose, trace, index, branches, parts, arrays, params))


def _choose(
    trace: Any, index: Array, branches: Sequence[Jaxpr], parts: Parts, arrays: list[Array], params: dict[str, Any]
) -> tuple[Parts, list[Array]]:
    """Bind branches whose results are made alike; return these parts, and the arrays."""

    def make(targets: Targets) -> tuple[list[Program], list[Part]]:
        programs = [on_arrays(trace, branch, parts, targets) for branch in branches]
        return programs, reduce(partial(joined, trace), [program.parts for program in programs], targets)  # type: ignore[arg-type]

    programs, out_parts = until_stable(trace, make, [None] * len(branches[0].outvars))
    closed = [_with_constants(program) for program in programs]
    functions = [partial(run_program, branch) for branch in branches]
    alike = unify_results("cond", functions, closed, tree_structure([0] * len(closed[0].outvars)))
    program, consts = join_constants(alike)
    return out_parts, cond_p.bind(index, *consts, *arrays, branches=program, **params)


def _with_constants(program: Program) -> Jaxpr:
    """Return a program whose leading operands are its constants again, for `join_constants`."""
    count, jaxpr = len(program.consts), program.jaxpr
    return jaxpr.replace(constvars=jaxpr.invars[:count], consts=program.consts, invars=jaxpr.invars[count:])


# Loops


def scan_on_values(
    trace: Any, args: Sequence[Value], *, jaxpr: Jaxpr, num_carry: int, num_consts: int, **how: Any
) -> list[Value]:
    """Bind the loop on arrays, which have the scanned axis in front; without arrays, run one step after the other."""
    if not trace.has_arrays:
        return scan_by_steps(run_opened, *args, jaxpr=jaxpr, num_carry=num_carry, num_consts=num_consts, **how)
    num_fixed = num_consts + num_carry
    consts, const_parts = flattened(trace, args[:num_consts])
    xs, xs_parts = flattened(trace, args[num_fixed:])
    slices = [_slice_part(trace, part, how["length"]) for part in xs_parts]
    start = args[num_consts:num_fixed]
    step, carry, arrays = run_under(trace.parent, _step, trace, jaxpr, start, [const_parts, slices])
    program = settled_carry("scan", partial(run_program, jaxpr), _body(step), list(map(typeof, arrays)))
    sizes = {"num_carry": len(arrays), "num_consts": len(step.consts) + len(consts)}
    operands = [*step.consts, *consts, *arrays, *xs]
    outs = run_under(trace.parent, scan_p.bind, *operands, jaxpr=program, **sizes, **how)
    return restored(trace, [*carry, *(_stack_part(part, how["length"]) for part in step.parts[num_carry:])], outs)


def while_on_values(
    trace: Any, args: Sequence[Value], *, body_jaxpr: Jaxpr, body_nconsts: int, cond_jaxpr: Jaxpr, cond_nconsts: int,
    checkpoints: int,
) -> list[Value]:  # fmt: skip
    """Bind the loop on arrays; without arrays, or while the predicate is known, run one step after the other."""
    num_consts = cond_nconsts + body_nconsts
    if not trace.has_arrays or _decides_now(trace, cond_jaxpr, [*args[:cond_nconsts], *args[num_consts:]]):
        sizes = {"body_nconsts": body_nconsts, "cond_nconsts": cond_nconsts, "checkpoints": checkpoints}
        return while_by_steps(run_opened, *args, body_jaxpr=body_jaxpr, cond_jaxpr=cond_jaxpr, **sizes)
    cond_consts, cond_parts = flattened(trace, args[:cond_nconsts])
    body_consts, body_parts = flattened(trace, args[cond_nconsts:num_consts])
    start = args[num_consts:]
    step, carry, arrays = run_under(trace.parent, _step, trace, body_jaxpr, start, [body_parts, []])
    condition = run_under(trace.parent, deciding, trace, cond_jaxpr, [*cond_parts, *carry])
    program = settled_carry("while", partial(run_program, body_jaxpr), _body(step), list(map(typeof, arrays)))
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
    return restored(trace, carry, outs)


def _decides_now(trace: Any, cond_jaxpr: Jaxpr, args: Sequence[Value]) -> bool:
    """Tell whether a value decides the loop, and its predicate is known: it may then say that it decides nothing."""
    if any(isinstance(x, JitTracer) for x in flattened(trace, args)[0]):
        return False  # at once, for the condition would be staged twice
    (condition,) = run_program(cond_jaxpr, args)
    return trace.owns(condition) and known(condition) is not unknown


def _step(
    trace: Any, jaxpr: Jaxpr, start: Sequence[Value], around: Sequence[Parts]
) -> tuple[Program, list[Part], list[Array]]:
    """Return the program of a step, the parts of its carry, and the arrays of the initial carry, `start`.

    `around` are the parts of the arguments before the carry and after it.
    """
    before, behind = around
    others: list[Part | None] = [None] * (len(jaxpr.outvars) - len(start))

    def make(carry: list[Part]) -> tuple[tuple[Program, list[Array]], list[Part]]:
        program = on_arrays(trace, jaxpr, [*before, *carry, *behind], [*carry, *others])
        arrays, started = flattened(trace, start, carry)
        return (program, arrays), joined(trace, joined(trace, carry, program.parts), started)

    (program, arrays), carry = until_stable(trace, make, flattened(trace, start)[1])
    return program, carry, arrays


def _body(program: Program) -> Body:
    return Body(program.jaxpr, program.consts, tree_structure([0] * len(program.jaxpr.outvars)))


def _slice_part(trace: Any, part: Part, length: int) -> Part:
    """Return the part of a slice along the leading axis of all arrays."""
    for aval in part.arrays:
        if aval.shape[:1] != (length,):
            name = type(trace).__name__
            raise TypeError(
                f"scan{where()} runs over the leading axis of a value of type {part.aval}, but {name} makes it of an "
                f"array of type {aval}. Let {name}.to_arrays return arrays with that axis in front, or process scan_p "
                f"in {name}.process_primitive."
            )
    return part._replace(arrays=tuple(map(slice_aval, part.arrays)), aval=slice_aval(part.aval))


def _stack_part(part: Part, length: int) -> Part:
    arrays = [shaped_array((length, *aval.shape), aval.dtype) for aval in part.arrays]
    return part._replace(arrays=tuple(arrays), aval=shaped_array((length, *part.aval.shape), part.aval.dtype))


def run_opened(jaxpr: Jaxpr, *args: Value) -> list[Value]:
    """Run the equations of a program inside as part of the program around it."""
    return run_program(jaxpr, args)


jit_p.def_rule("value", partial(call_on_values, jit_p))
remat_p.def_rule("value", partial(call_on_values, remat_p))
cond_p.def_rule("value", cond_on_values)
scan_p.def_rule("value", scan_on_values)
while_p.def_rule("value", while_on_values)
