"""Running a jaxpr by other rules than the primitives' own: the short way to a transformation.

One idea: a transformation is a table from primitives to functions.  A primitive that holds programs says what becomes
of them by a rule of kind "interpret", `rule(run, *args, **params)`, where `run(jaxpr, *args)` interprets a program by
the table; `jit` and `cond` have theirs here.

Read next: `interpret.py` for the plain way to run a jaxpr, `rewrite.py` for changing one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from calque_core.avals import is_array_like, typeof
from calque_core.context import context
from calque_core.jaxpr import Jaxpr, JaxprEqn, Literal
from calque_core.ops.call import jit_p
from calque_core.ops.control_flow import cond_p, join_constants, unify_results
from calque_core.primitive import Primitive
from calque_core.rules import missing_rule
from calque_core.rules import rules as rule_table
from calque_core.stage import stage
from calque_core.trace import Tracer, unknown
from calque_core.walk import has_jaxpr
from calque_pytree import tree_structure

Value = Any
Rule = Callable[..., Any]
Run = Callable[..., list[Value]]

rule_table("interpret")


def interpret(jaxpr: Jaxpr, rules: Mapping[Primitive, Rule], *args: Value, default: Rule | None = None) -> list[Value]:
    """Return the results of `jaxpr` on `args` when its primitives mean what `rules` says.

    `rules[primitive]` is called as `rule(*args, **params)`, on values of any kind, and gives the result (a list for a
    primitive with `multiple_results`).  The programs inside `jit`, `cond` and their like are interpreted too.  All
    other primitives go to `default(primitive, *args, **params)`, and without one to `bind`.
    Raises: TypeError for a wrong number of arguments; MissingRuleError for a primitive that holds programs and neither
    `rules` nor its author says what to do with them.

    >>> from calque_core.avals import ShapedArray
    >>> from calque_core.ops.elementwise import add, mul, mul_p
    >>> jaxpr = stage(lambda x, y: [add(mul(x, y), y)], [ShapedArray((), "float64")] * 2)
    >>> interpret(jaxpr, {mul_p: max}, 2.0, 3.0)
    [np.float64(6.0)]
    """
    if len(args) != len(jaxpr.invars):
        raise TypeError(
            f"interpret got {len(args)} arguments for a jaxpr of {len(jaxpr.invars)}. Pass one for each input."
        )
    env: dict[Any, Value] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*jaxpr.consts, *args)))
    before = context.source
    try:
        for eqn, drops in zip(jaxpr.eqns, jaxpr.last_uses):
            context.source = eqn.position
            outs = _apply(eqn, [x.val if type(x) is Literal else env[x] for x in eqn.invars], rules, default)
            env.update(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs]))
            for v in drops:
                del env[v]
    finally:
        context.source = before
    return [x.val if type(x) is Literal else env[x] for x in jaxpr.outvars]


def _apply(eqn: JaxprEqn, args: list[Value], rules: Mapping[Primitive, Rule], default: Rule | None) -> Any:
    primitive = eqn.primitive
    rule, own_rule = rules.get(primitive), primitive.adapted.get("interpret")
    if rule is not None:
        return rule(*args, **eqn.params)
    if own_rule is not None:
        return own_rule(lambda jaxpr, *xs: interpret(jaxpr, rules, *xs, default=default), *args, **eqn.params)
    if has_jaxpr(eqn.params):
        raise missing_rule(primitive, "interpret")
    return primitive.bind(*args, **eqn.params) if default is None else default(primitive, *args, **eqn.params)


def jit_interpret(run: Run, *args: Value, jaxpr: Jaxpr, **_: Any) -> list[Value]:
    """Interpret the program inside, as part of the one around it."""
    return run(jaxpr, *args)


def cond_interpret(run: Run, index: Value, *args: Value, branches: Sequence[Jaxpr], **params: Any) -> list[Value]:
    """Interpret the branch that is taken; all of them, as branches, while the index is traced."""
    if not is_array_like(index):
        raise TypeError(
            f"interpret met 'cond' with an index of class {type(index).__name__}, which chooses no branch. "
            "Give a rule for cond_p."
        )
    if not isinstance(index, Tracer) or index.known_value is not unknown:
        return run(branches[min(max(int(index), 0), len(branches) - 1)], *args)
    functions = [partial(run, branch) for branch in branches]
    staged = [stage(fun, [typeof(x) for x in args], verb="interpret") for fun in functions]
    out_tree = tree_structure([0] * len(branches[0].outvars))
    joined, consts = join_constants(unify_results(functions, staged, out_tree))
    return cond_p.bind(index, *consts, *args, branches=joined, **params)  # type: ignore[no-any-return]


jit_p.def_rule("interpret", jit_interpret)
cond_p.def_rule("interpret", cond_interpret)
