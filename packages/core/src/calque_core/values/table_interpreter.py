"""Running a jaxpr by a table of rules: the short way to a transformation.

One idea: a transformation is a table from primitives to functions.  A primitive that holds programs has a rule of kind
"interpret", `rule(run, *args, **params)`, where `run(jaxpr, *args)` interprets a program by the table.  Branches and
loops are those of traces of values, in `value_programs.py`; here each value is an array by itself.

Where a derivative may be asked for, a call of a function with derivative rules stays a call: its function and its
rules are programs, and the table interprets each.

Read next: `interpret.py` for the plain way to run a jaxpr, `kits/rewrite.py` for changing one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from calque_core.calls.api_util import describe_value
from calque_core.context import open_scopes, own_context
from calque_core.frames.scopes import within_scopes
from calque_core.frames.source import add_place, where
from calque_core.jaxprs.arguments import check_is_jaxpr
from calque_core.jaxprs.jaxpr import Jaxpr, JaxprEqn, Literal, has_jaxpr
from calque_core.memory.separate import copy_shared
from calque_core.ops.calls.cond import cond_p
from calque_core.ops.calls.custom import custom_jvp_call_p, custom_vjp_call_p, custom_vmap_call_p
from calque_core.ops.calls.custom_closures import ClosedRules, CustomRules
from calque_core.ops.calls.platform import platform_dependent_p
from calque_core.ops.calls.scan import scan_p
from calque_core.ops.calls.staged_programs import join_constants
from calque_core.ops.calls.while_loop import while_p
from calque_core.ops.meshes.shard_map import shard_map_p
from calque_core.primitives.primitive import Primitive
from calque_core.primitives.rules import missing_rule
from calque_core.staging.stage import stage
from calque_core.traces.trace import current_trace, evaluation, only_evaluates
from calque_core.traces.tracer import Tracer
from calque_core.types.avals import is_array_like, short_repr, typeof
from calque_core.values.value_layouts import Layouts, Program, Targets, constant_layout
from calque_core.values.value_programs import cond_on_values, platform_on_values, scan_on_values, while_on_values
from calque_core.values.value_shards import shard_map_on_values
from calque_core.values.value_trace import ValueTrace

Value = Any
Function = Callable[..., Any]
Run = Callable[..., list[Value]]
OnEqn = Callable[[JaxprEqn, list[Value], list[Value]], object]


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
    Raises: TypeError for arguments in another order, for a function in place of a jaxpr, for a wrong number of
    arguments, and for rules that change the type of a loop's carry;
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
    _check_program(jaxpr, rules)
    if len(args) != len(jaxpr.invars):
        raise TypeError(
            f"interpret got {len(args)} arguments, but the jaxpr has {len(jaxpr.invars)} inputs. Pass one argument for "
            "each input."
        )
    return copy_shared(_run(jaxpr, _Table(rules, default, on_eqn), args), jaxpr.consts, args)


def _check_program(jaxpr: Any, rules: Any) -> None:
    """Check that the first two arguments are a jaxpr and a table of rules.  Raises: TypeError."""
    call = "interpret(jaxpr, rules, *args)"
    check_is_jaxpr(call, jaxpr)
    if not isinstance(rules, Mapping):
        raise TypeError(
            f"interpret got {describe_value(rules)} as its rules{where()}. Write {call}, with a dict from primitives "
            "to functions; {} is the table without rules."
        )
    if type(rules) is dict and not all(isinstance(primitive, Primitive) for primitive in rules):
        key = next(key for key in rules if not isinstance(key, Primitive))
        raise TypeError(
            f"interpret got a rule for {short_repr(key)}{where()}, which is no primitive. Give the primitive: "
            "{lax.sin_p: rule}."
        )


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


# Branches and loops


class _Interpretation(ValueTrace):
    """The values of an equation: each is a constant to this trace, and an array by itself."""

    verb = "interpret"

    def __init__(self, run: Run, args: Sequence[Value] | None) -> None:
        super().__init__(current_trace())
        self._run_program, self.args = run, args  # type: ignore[method-assign]

    @property
    def has_arrays(self) -> bool:
        """Whether inner programs are staged: always without `args`, otherwise if a value is traced."""
        args = self.args
        return args is None or self.parent is not evaluation or any(isinstance(x, Tracer) for x in args)

    def owns(self, x: Value) -> bool:
        return False

    def _array_program(self, jaxpr: Jaxpr, layouts: Layouts, targets: Targets | None) -> Program:
        staged = stage(partial(self._run_program, jaxpr), [layout.aval for layout in layouts], verb="interpret")
        (closed,), consts = join_constants([staged])
        return Program(closed, consts, [*map(constant_layout, closed.out_avals)])


def _interpret_by(rule: Function, run: Run, *args: Value, **params: Any) -> list[Value]:
    """Interpret inner programs now; if a value is traced, stage their interpretations, and bind the primitive."""
    return rule(_Interpretation(run, args), args, **params)  # type: ignore[no-any-return]


cond_p.def_rule("interpret", partial(_interpret_by, cond_on_values))
platform_dependent_p.def_rule("interpret", partial(_interpret_by, platform_on_values))
scan_p.def_rule("interpret", partial(_interpret_by, scan_on_values))
while_p.def_rule("interpret", partial(_interpret_by, while_on_values))


@shard_map_p.def_rule("interpret")
def shard_map_interpret(run: Run, *args: Value, **params: Any) -> list[Value]:
    """Stage the interpretation of the program, and bind a `shard_map` of it."""
    return shard_map_on_values(_Interpretation(run, None), args, **params)


# Functions with derivative rules


def custom_interpret(primitive: Primitive, run: Run, *args: Value, jaxpr: Jaxpr, rules: CustomRules) -> list[Value]:
    """Interpret the function; if a derivative may be asked for, make a call whose rules are interpreted too.

    Raises: NotImplementedError for values that are no arrays, whose derivative rules would be lost.
    """
    trace = current_trace()
    if only_evaluates(trace):
        return run(jaxpr, *args)
    name = f"{primitive.name}_p"
    drop_rules = (
        f"Give the table a rule for {name}; for instance {{{name}: lambda *xs, jaxpr, rules: interpret(jaxpr, table, "
        "*xs)}, which drops them."
    )
    if not all(map(is_array_like, args)):
        raise NotImplementedError(
            f"interpret met a call of {rules.name}{where()} on values that are no arrays, and an outer transformation "
            f"may need the derivative rules of the function. {drop_rules}"
        )
    in_avals = [typeof(x) for x in args]
    closure = (
        "is interpreted by a rule that closes over a value that is being differentiated, but the derivative rules of "
        f"the function cover its arguments only. {drop_rules}"
    )
    closed = ClosedRules(rules, [], in_avals, run)
    adapted = rules.through(closed, (run, tuple(in_avals)), [run], closure)
    return list(trace.process_custom_derivative(primitive, partial(run, jaxpr), args, {"rules": adapted}))


custom_jvp_call_p.def_rule("interpret", partial(custom_interpret, custom_jvp_call_p))
custom_vjp_call_p.def_rule("interpret", partial(custom_interpret, custom_vjp_call_p))
custom_vmap_call_p.def_rule("interpret", lambda run, *args, jaxpr, rules: run(jaxpr, *args))
