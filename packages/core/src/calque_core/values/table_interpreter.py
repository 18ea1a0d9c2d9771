"""Running a jaxpr by a table of rules: the short way to a transformation.

One idea: a transformation is a table from primitives to functions.  A primitive that holds programs has a rule of kind
"interpret", `rule(run, *args, **params)`, where `run(jaxpr, *args)` interprets a program by the table; this module has
the rules of `jit`, `cond`, `scan` and `while`.

Read next: `interpret.py` for the plain way to run a jaxpr, `rewrite.py` for changing one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from calque_core.context import open_scopes, own_context
from calque_core.frames.scopes import within_scopes
from calque_core.frames.source import add_place, where
from calque_core.jaxprs.jaxpr import Jaxpr, JaxprEqn, Literal, has_jaxpr
from calque_core.memory.separate import copy_shared
from calque_core.ops.cond import cond_p, join_constants, unify_results
from calque_core.ops.joining import stack
from calque_core.ops.loops import Body, as_carry, check_carry_type, with_carry_types
from calque_core.ops.platform import Platforms, platform_dependent_p, position_of_platform
from calque_core.ops.scan import scan_p
from calque_core.ops.weakness import strong
from calque_core.ops.while_loop import while_p
from calque_core.primitives.primitive import Primitive
from calque_core.primitives.rules import missing_rule
from calque_core.primitives.rules import rules as rule_table
from calque_core.staging.stage import stage
from calque_core.traces.trace import current_trace, evaluation
from calque_core.traces.tracer import Tracer, unknown
from calque_core.types.avals import is_array_like, shaped_array, typeof
from calque_core.values import table_custom  # noqa: F401  (defines rules of kind "interpret")
from calque_pytree import tree_structure

Value = Any
Function = Callable[..., Any]
Run = Callable[..., list[Value]]
OnEqn = Callable[[JaxprEqn, list[Value], list[Value]], object]

rule_table("interpret")


def interpret(
    jaxpr: Jaxpr,
    rules: Mapping[Primitive, Function],
    *args: Value,
    default: Function | None = None,
    on_eqn: OnEqn | None = None,
) -> list[Value]:
    """Return the results of `jaxpr` on `args`, with the rules of `rules` in place of its primitives.

    `rules[primitive]` is called as `rule(*args, **params)`, on values of any kind, and returns the result (a list for a
    primitive with `multiple_results`).  The programs inside `jit`, `cond` and loops are interpreted too.  All other
    primitives go to `default(primitive, *args, **params)`, and without a default to `bind`.  Where a derivative may be
    asked for, a function with a derivative rule stays one, and the table interprets its rule too.

    `on_eqn(eqn, args, outs)` is called after every equation, also in inner programs, with the lists of its values.  A
    traced loop is one equation for all its steps, with tracers as values.
    Raises: TypeError for a wrong number of arguments, and for rules that change the type of a loop's carry;
    MissingRuleError for a primitive that holds programs and has no rule, in `rules` or of kind "interpret";
    NotImplementedError where a derivative rule would be lost.

    >>> from calque_core import ShapedArray, interpret, stage
    >>> from calque_core.lax import add, mul, mul_p
    >>> jaxpr = stage(lambda x, y: [add(mul(x, y), y)], [ShapedArray((), "float64")] * 2)
    >>> interpret(jaxpr, {mul_p: max}, 2.0, 3.0)
    [6.0]
    >>> interpret(jaxpr, {}, 2.0, 3.0, on_eqn=lambda eqn, args, outs: print(eqn.primitive, args, outs))
    mul [2.0, 3.0] [6.0]
    add [6.0, 3.0] [9.0]
    [9.0]
    """
    if len(args) != len(jaxpr.invars):
        raise TypeError(
            f"interpret got {len(args)} arguments, but the jaxpr has {len(jaxpr.invars)} inputs. Pass one argument for "
            "each input."
        )
    return copy_shared(_run(jaxpr, _Table(rules, default, on_eqn), args), jaxpr.consts, args)


class _Table(NamedTuple):
    rules: Mapping[Primitive, Function]
    default: Function | None
    on_eqn: OnEqn | None

    def run(self, jaxpr: Jaxpr, *args: Value) -> list[Value]:
        """Return the results of a program; methods of one table are equal, as the keys of derivative rules must be."""
        return _run(jaxpr, self, args)


def _run(jaxpr: Jaxpr, table: _Table, args: Sequence[Value]) -> list[Value]:
    env: dict[Any, Value] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*jaxpr.consts, *args)))
    context = own_context()
    before, scopes = context.source, open_scopes(context)
    try:
        for eqn, drops in zip(jaxpr.eqns, jaxpr.last_uses):
            context.source = within_scopes(eqn.position, scopes) if scopes else eqn.position
            values = [x.val if type(x) is Literal else env[x] for x in eqn.invars]
            out = _apply(eqn, values, table)
            outs = list(out) if eqn.primitive.multiple_results else [out]
            if table.on_eqn is not None:
                table.on_eqn(eqn, values, outs)
            env.update(zip(eqn.outvars, outs))
            for v in drops:
                del env[v]
    except Exception as error:
        add_place(error, eqn.primitive.name, context.source)
        raise
    finally:
        context.source = before
    return [x.val if type(x) is Literal else env[x] for x in jaxpr.outvars]


def _apply(eqn: JaxprEqn, args: list[Value], table: _Table) -> Any:
    primitive = eqn.primitive
    rule, own_rule = table.rules.get(primitive), primitive.adapted["interpret"]
    if rule is not None:
        return rule(*args, **eqn.params)
    if own_rule is not None:
        return own_rule(table.run, *args, **eqn.params)
    if has_jaxpr(eqn.params):
        raise missing_rule(primitive, "interpret")
    if table.default is None:
        return primitive.bind(*args, **eqn.params)
    return table.default(primitive, *args, **eqn.params)


def cond_interpret(run: Run, index: Value, *args: Value, branches: Sequence[Jaxpr], **params: Any) -> list[Value]:
    """Interpret the chosen branch; if the index is traced, stage all branches and bind a `cond`."""
    if not is_array_like(index):
        raise TypeError(
            f"interpret met 'cond' with an index of class {type(index).__name__}, which does not select a branch. Give "
            "a rule for cond_p."
        )
    if not isinstance(index, Tracer) or index.known_value is not unknown:
        return run(branches[min(max(int(index), 0), len(branches) - 1)], *args)
    new_branches, consts = _interpreted_branches(run, args, branches)
    return cond_p.bind(index, *consts, *args, branches=new_branches, **params)  # type: ignore[no-any-return]


def platform_interpret(run: Run, *args: Value, branches: Sequence[Jaxpr], platforms: Platforms) -> list[Value]:
    """Interpret the branch of evaluation; if a value is traced, stage all branches."""
    if not _is_traced(args):
        return run(branches[position_of_platform(platforms, "cpu")], *args)
    new_branches, consts = _interpreted_branches(run, args, branches)
    return platform_dependent_p.bind(*consts, *args, branches=new_branches, platforms=platforms)  # type: ignore[no-any-return]


def _interpreted_branches(
    run: Run, args: Sequence[Value], branches: Sequence[Jaxpr]
) -> tuple[tuple[Jaxpr, ...], list[Value]]:
    """Return the staged interpretations of branches, and their common constants."""
    functions = [partial(run, branch) for branch in branches]
    staged = [stage(fun, [typeof(x) for x in args], verb="interpret") for fun in functions]
    out_tree = tree_structure([0] * len(branches[0].outvars))
    return join_constants(unify_results("cond", functions, staged, out_tree))


def scan_interpret(
    run: Run, *args: Value, jaxpr: Jaxpr, length: int, num_carry: int, num_consts: int, reverse: bool, unroll: int
) -> list[Value]:
    """Interpret one step after the other; if a value is traced, stage the step and bind a `scan`."""
    if not _is_traced(args):
        steps = {"length": length, "num_carry": num_carry, "num_consts": num_consts}
        return scan_by_steps(run, *args, jaxpr=jaxpr, reverse=reverse, unroll=unroll, **steps)
    num_fixed = num_consts + num_carry
    slices = [shaped_array(typeof(x).shape[1:], typeof(x).dtype) for x in args[num_fixed:]]
    avals = _avals_beside(jaxpr, [*map(typeof, args[:num_fixed]), *slices])
    step = _stage_interpretation(run, jaxpr, avals)
    program = with_carry_types(f"interpret of scan{where()}", _STEP, step, avals[num_consts:num_fixed])
    sizes = {"length": length, "num_carry": num_carry, "num_consts": len(step.consts) + num_consts}
    return scan_p.bind(*step.consts, *args, jaxpr=program, reverse=reverse, unroll=unroll, **sizes)  # type: ignore[no-any-return]


def scan_by_steps(
    run: Run, *args: Value, jaxpr: Jaxpr, length: int, num_carry: int, num_consts: int, reverse: bool, unroll: int
) -> list[Value]:
    """Run one step of a loop after the other, by `run(jaxpr, *args)`."""
    num_fixed = num_consts + num_carry
    consts, carry, xs = list(args[:num_consts]), list(args[num_consts:num_fixed]), args[num_fixed:]
    types = _types_of_carry(jaxpr.in_avals[num_consts:num_fixed], carry)
    rows = []
    for i in range(length)[:: -1 if reverse else 1]:
        outs = run(jaxpr, *consts, *carry, *[x[i] for x in xs])
        carry, ys = _with_types("scan", types, outs[:num_carry]), outs[num_carry:]
        rows.append(ys)
    if not rows:
        return [*carry, *(np.zeros((0, *aval.shape), aval.dtype) for aval in jaxpr.out_avals[num_carry:])]
    return [*carry, *(_stack_rows(column) for column in zip(*(rows[::-1] if reverse else rows)))]


def while_interpret(
    run: Run, *args: Value, body_jaxpr: Jaxpr, body_nconsts: int, checkpoints: int, cond_jaxpr: Jaxpr, cond_nconsts: int
) -> list[Value]:
    """Interpret condition and body in turn; if a value is traced, stage both and bind a `while`."""
    if not _is_traced(args):
        sizes = {"body_nconsts": body_nconsts, "cond_nconsts": cond_nconsts, "checkpoints": checkpoints}
        return while_by_steps(run, *args, body_jaxpr=body_jaxpr, cond_jaxpr=cond_jaxpr, **sizes)
    num_consts = cond_nconsts + body_nconsts
    cond_consts, body_consts, carry = args[:cond_nconsts], args[cond_nconsts:num_consts], list(args[num_consts:])
    avals = _avals_beside(body_jaxpr, [typeof(x) for x in (*body_consts, *carry)])
    body = _stage_interpretation(run, body_jaxpr, avals)
    carry_avals = avals[body_nconsts:]
    condition = _stage_interpretation(run, cond_jaxpr, [*map(typeof, cond_consts), *carry_avals])
    return while_p.bind(  # type: ignore[no-any-return]
        *condition.consts,
        *cond_consts,
        *body.consts,
        *body_consts,
        *carry,
        body_jaxpr=with_carry_types(f"interpret of while{where()}", _STEP, body, carry_avals),
        body_nconsts=len(body.consts) + body_nconsts,
        checkpoints=checkpoints,
        cond_jaxpr=condition.jaxpr,
        cond_nconsts=len(condition.consts) + cond_nconsts,
    )


def while_by_steps(
    run: Run, *args: Value, body_jaxpr: Jaxpr, body_nconsts: int, checkpoints: int, cond_jaxpr: Jaxpr, cond_nconsts: int
) -> list[Value]:
    """Run condition and body of a loop in turn, by `run(jaxpr, *args)`."""
    num_consts = cond_nconsts + body_nconsts
    cond_consts, body_consts, carry = args[:cond_nconsts], args[cond_nconsts:num_consts], list(args[num_consts:])
    types = _types_of_carry(body_jaxpr.in_avals[body_nconsts:], carry)
    while _holds(run(cond_jaxpr, *cond_consts, *carry)[0]):
        carry = _with_types("while", types, run(body_jaxpr, *body_consts, *carry))
    return carry


def _is_traced(args: Sequence[Value]) -> bool:
    return current_trace() is not evaluation or any(isinstance(x, Tracer) for x in args)


_STEP = "the step, interpreted by these rules,"


def _avals_beside(jaxpr: Jaxpr, avals: Sequence[Any]) -> list[Any]:
    """Return the types of operands, as weak as the program says where a rule has not changed the type."""
    return list(map(_aval_beside, jaxpr.in_avals, avals))


def _aval_beside(a: Any, b: Any) -> Any:
    return a if a.shape == b.shape and a.dtype == b.dtype else b


def _types_of_carry(in_avals: Sequence[Any], carry: Sequence[Value]) -> list[Any]:
    """Return the types of a carry in the steps of a loop; None for a value that is no array."""
    return [_aval_beside(a, typeof(x)) if is_array_like(x) else None for a, x in zip(in_avals, carry)]


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


def _stage_interpretation(run: Run, jaxpr: Jaxpr, avals: Sequence[Any]) -> Body:
    """Return the staged interpretation of a program on operands of these types, with constants as leading arguments."""
    staged = stage(partial(run, jaxpr), avals, verb="interpret")
    (program,), consts = join_constants([staged])
    return Body(program, consts, tree_structure([0] * len(program.outvars)))


def _stack_rows(rows: Sequence[Value]) -> Value:
    for x in rows:
        if not is_array_like(x):
            raise TypeError(
                f"interpret met 'scan' with a result of class {type(x).__name__}, which cannot be stacked. "
                "Give a rule for scan_p."
            )
    return stack([strong(x) for x in rows])


def _holds(condition: Value) -> bool:
    if not is_array_like(condition):
        raise TypeError(
            f"interpret met 'while' with a condition of class {type(condition).__name__}, which has no truth value. "
            "Give a rule for while_p."
        )
    return bool(condition)


cond_p.def_rule("interpret", cond_interpret)
platform_dependent_p.def_rule("interpret", platform_interpret)
scan_p.def_rule("interpret", scan_interpret)
while_p.def_rule("interpret", while_interpret)
