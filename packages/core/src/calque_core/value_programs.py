"""Programs inside programs, under a transformation with values of its own: `jit`, branches, loops.

One idea: a program on values is a program on the arrays that they are made of, bound by the same primitive on the
parent.  A `Part` says how one argument or result is made of arrays.  The parts of a carry are joined with what a step
makes of them until a step changes nothing; so are those of branches.  A transformation without arrays runs the
equations inside as part of the program around them, step by step.

A rule of kind "value" is `rule(trace, args, **params)`; it runs under the trace, and returns a list of results.

Read next: `value_trace.py` for the transformations, `table_interpreter.py` for loops run step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple, TypeVar

from calque_core.avals import shaped_array, typeof
from calque_core.context import here
from calque_core.jaxpr import Jaxpr
from calque_core.operands import strong
from calque_core.ops.call import jit_p, run_program
from calque_core.ops.checkpoint import remat_p
from calque_core.ops.control_flow import cond_p, join_constants, unify_results
from calque_core.ops.loops import Body, settled_carry
from calque_core.ops.scan import scan_p, slice_aval
from calque_core.ops.while_loop import while_p
from calque_core.rules import rule_epoch
from calque_core.rules import rules as rule_table
from calque_core.source import where
from calque_core.stage import JitTracer, stage
from calque_core.table_interpreter import scan_by_steps, while_by_steps
from calque_core.trace import current_trace, run_under, tracing
from calque_core.tracer import Tracer, check_lift, known, unknown
from calque_pytree import tree_structure

Value = Any
Array = Any
Made = TypeVar("Made")

rule_table("value")


class Part(NamedTuple):
    """How one argument is made of arrays: their types, the static part, and the type that it has to the user.

    A constant is one array.
    """

    arrays: tuple[Any, ...]
    static: Hashable
    aval: Any
    is_value: bool


Parts = Sequence[Part]
Targets = Sequence[Part | None]  # None leaves a result as it is


class Program(NamedTuple):
    """A program on values as one on arrays, with its constants as leading operands; `parts` are its results."""

    jaxpr: Jaxpr
    consts: list[Array]
    parts: list[Part]


# Between values and arrays


def flattened(trace: Any, xs: Sequence[Value], targets: Targets | None = None) -> tuple[list[Array], list[Part]]:
    """Return the arrays that `xs` are made of, and how; a constant is lifted where its target is a value."""
    arrays: list[Array] = []
    parts = []
    for x, target in zip(xs, targets or [None] * len(xs)):
        if trace.owns(x) or (target is not None and target.is_value):
            own_arrays, static = run_under(trace.parent, _arrays_of, trace, trace.unwrap(x))
            part = Part(tuple(map(typeof, own_arrays)), static, typeof(x), True)
        else:
            if isinstance(x, Tracer):
                check_lift(x, trace)
            own_arrays, part = [x], Part((typeof(x),), None, typeof(x), False)
        arrays += own_arrays
        parts.append(part)
    return arrays, parts


def _arrays_of(trace: Any, value: Value) -> tuple[list[Array], Hashable]:
    arrays, static = trace.to_arrays(value)
    return [strong(x) for x in arrays], static


def restored(trace: Any, parts: Parts, arrays: Sequence[Array]) -> list[Value]:
    """Return the tracers, and the constants, that are made of `arrays`."""
    remaining = iter(arrays)
    xs = []
    for part in parts:
        own_arrays = [next(remaining) for _ in part.arrays]
        if part.is_value:
            value = run_under(trace.parent, trace.from_arrays, part.static, own_arrays)
            xs.append(trace.wrap(value, part.aval))
        else:
            xs += own_arrays
    return xs


def joined(trace: Any, first: Targets, second: Parts) -> list[Part]:
    """Return the parts that stand for both; a value and a constant together are a value.

    Raises: TypeError that names the class if values are made of arrays of different types.
    """
    return [_joined(trace, a, b) for a, b in zip(first, second)]


def _joined(trace: Any, first: Part | None, second: Part) -> Part:
    if first is None or not first.is_value:
        return second
    if not second.is_value:
        return first
    if first.arrays != second.arrays:
        name = type(trace).__name__
        ways = " and ".join(f"({', '.join(map(str, part.arrays))})" for part in (first, second))
        raise TypeError(
            f"{name} makes a value of type {second.aval}{where()} of the arrays {ways}, on two ways through the "
            f"program. Let the number and the types of what {name}.to_arrays returns follow from the type of the value."
        )
    return first._replace(static=trace.join(first.static, second.static))


def until_stable(trace: Any, make: Callable[[Any], tuple[Made, list[Part]]], parts: Any) -> tuple[Made, list[Part]]:
    """Return what `make` makes of parts that it gives back, starting with `parts`.

    Raises: TypeError that names the class if its static parts change without end.
    """
    for _ in range(_MAX_PASSES):
        program, after = make(parts)
        if after == list(parts):
            return program, after
        parts = after
    name = type(trace).__name__
    raise TypeError(
        f"the static parts that {name}.join returns{where()} have changed {_MAX_PASSES} times. Let it return one of "
        "finitely many, and join(a, join(a, b)) equal join(a, b)."
    )


_MAX_PASSES = 100

# Programs on arrays


def on_arrays(trace: Any, jaxpr: Jaxpr, parts: Parts, targets: Targets | None = None) -> Program:
    """Return the program of arrays that `jaxpr` is for arguments made of `parts`; results become their targets."""
    return _made_once(trace, jaxpr, parts, tuple(targets or [None] * len(jaxpr.outvars)))


def deciding(trace: Any, jaxpr: Jaxpr, parts: Parts) -> Program:
    """Return the program of the condition `jaxpr`, whose result is the predicate of a value."""
    return _made_once(trace, jaxpr, parts, None)


def _made_once(trace: Any, jaxpr: Jaxpr, parts: Parts, targets: tuple[Part | None, ...] | None) -> Program:
    """Return the program, from before if this trace, or one with its key, has made it."""
    make = partial(_made, trace, jaxpr, parts, targets)
    key = ("value", tuple(parts), targets, here().settings, here().axis_env, rule_epoch())
    if trace.key is not None:
        return jaxpr.memo((type(trace), trace.key, *key), make)  # type: ignore[no-any-return]
    own_key = (jaxpr, *key)
    if own_key not in trace.programs:
        trace.programs[own_key] = make()
    return trace.programs[own_key]  # type: ignore[no-any-return]


def _made(trace: Any, jaxpr: Jaxpr, parts: Parts, targets: Targets | None) -> Program:
    out_parts: list[Part] = []

    def run(*arrays: Array) -> list[Array]:
        with tracing(trace.over(current_trace())) as inner:
            outs = run_program(jaxpr, restored(inner, parts, arrays))
            if targets is None:
                outs = [run_under(inner.parent, inner.predicate, x.value) if inner.owns(x) else x for x in outs]
            results, out_parts[:] = flattened(inner, outs, targets)
            return results

    avals = [aval for part in parts for aval in part.arrays]
    staged = stage(run, avals, verb=trace.verb or type(trace).__name__, user_fun=trace.fun)
    (program,), consts = join_constants([staged])
    return Program(program, consts, out_parts)


# Calls


def jit_on_values(trace: Any, args: Sequence[Value], *, jaxpr: Jaxpr, **params: Any) -> list[Value]:
    """Bind the program on arrays, with the same compiler; without arrays, run its equations."""
    if not trace.has_arrays:
        return run_program(jaxpr, args)
    arrays, parts = flattened(trace, args)
    program = run_under(trace.parent, on_arrays, trace, jaxpr, parts)
    outs = run_under(trace.parent, jit_p.bind, *program.consts, *arrays, jaxpr=program.jaxpr, **params)
    return restored(trace, program.parts, outs)


def remat_on_values(trace: Any, args: Sequence[Value], *, jaxpr: Jaxpr, **_: Any) -> list[Value]:
    """Run the equations of a checkpointed program: what a derivative around it keeps is for that to say."""
    return run_program(jaxpr, args)


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


jit_p.def_rule("value", jit_on_values)
remat_p.def_rule("value", remat_on_values)
cond_p.def_rule("value", cond_on_values)
scan_p.def_rule("value", scan_on_values)
while_p.def_rule("value", while_on_values)
