"""A program inside a program: the primitive `jit`.

One idea: it is a named jaxpr applied to operands, and means the same as its equations.  The static parameter `compiler`
runs it: `None` interprets it; the backend puts its own object there, and every rule passes it on, so that
`grad(jit(f))` runs compiled.

Other primitives mean one of their programs too: `means` says which, once for all transformations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core.jaxprs.jaxpr import Jaxpr, JaxprEqn, Var
from calque_core.jaxprs.masks import marked
from calque_core.known.programs import run_again
from calque_core.ops.elementwise.weakness import as_declared, strong
from calque_core.ops.meshes.varying import fit_program
from calque_core.passes.dead_code import dce_jaxpr
from calque_core.primitives.jit import jit_p as jit_p  # noqa: PLC0414  who uses it needs its evaluation, too
from calque_core.primitives.primitive import Primitive
from calque_core.types.type_queries import same_types

Value = Any
Run = Callable[[Jaxpr, Sequence[Value]], list[Value]]
Compiler = Run


def run_program(jaxpr: Jaxpr, args: Sequence[Value]) -> list[Value]:
    """Return the results of a program on operands of its types, as weak or as strong as it declares them.

    They need a conversion only if an operand is weak and its argument strong, or the reverse.

    >>> from calque_core import make_jaxpr
    >>> from calque_core.extend import run_program
    >>> run_program(make_jaxpr(lambda x: x * x)(3.0), [4.0])
    [16.0]
    """
    outs = run_again(jaxpr, *args)
    return [as_declared(x, v.aval) for x, v in zip(outs, jaxpr.outvars)]


def run_strongly(jaxpr: Jaxpr, args: Sequence[Value]) -> list[Value]:
    """Return the results of a program on operands of its types, as strong values."""
    return [*map(strong, run_again(jaxpr, *args))]


def means(primitive: Primitive, parameter: str, run: Run | None = None) -> None:
    """Declare that a primitive means the program in one of its parameters, applied to all its operands.

    `run(jaxpr, args)` evaluates it; without `run` the primitive has an evaluation of its own.  `interpret`, a
    `ValueTrace` without a rule and a backend run the program in place of the primitive.

    >>> from calque_core import Primitive, interpret, lax, make_jaxpr
    >>> from calque_core.extend import means, run_program
    >>> apply_p = Primitive("apply", multiple_results=True)
    >>> means(apply_p, "function", run_program)
    >>> _ = apply_p.def_abstract_eval(lambda *avals, function, name: function.out_avals)
    >>> sine = make_jaxpr(lax.sin)(0.0)
    >>> apply_p.bind(0.0, function=sine, name="sine")
    [np.float64(0.0)]
    >>> interpret(make_jaxpr(lambda x: apply_p.bind(x, function=sine, name="sine"))(0.0), {lax.sin_p: lax.cos}, 0.0)
    [np.float64(1.0)]
    """
    has_value_of(primitive, parameter, run)
    primitive.def_rule("interpret", lambda interpreted, *args, **params: interpreted(params[parameter], *args))


def has_value_of(primitive: Primitive, parameter: str, run: Run | None = None) -> None:
    """Declare the program as `means` does, save for `interpret`: for a primitive with derivatives of its own."""
    primitive.def_rule("means", lambda **params: params[parameter])
    primitive.def_rule("vma", lambda vmas, **params: [aval.vma for aval in params[parameter].out_avals])
    primitive.def_rule("fit", lambda args, params: _fitted(parameter, args, params))
    if run is not None:
        primitive.def_impl(lambda *args, **params: run(params[parameter], args))


def _fitted(parameter: str, args: Sequence[Value], params: dict[str, Any]) -> tuple[Sequence[Value], dict[str, Any]]:
    """Make the operands and the program vary along the same axes of a mesh."""
    if len(args) != len(params[parameter].invars):  # operands of several programs
        return args, params
    args, jaxpr = fit_program(args, params[parameter])
    return args, params | {parameter: jaxpr}


means(jit_p, "jaxpr")


@jit_p.def_abstract_eval
def jit_abstract_eval(*avals: Any, jaxpr: Jaxpr, name: str, compiler: Compiler | None) -> list[Any]:
    check_operands(f"jit of {name}", jaxpr, avals)
    return jaxpr.out_avals


@jit_p.def_impl
def jit_impl(*args: Value, jaxpr: Jaxpr, name: str, compiler: Compiler | None) -> list[Value]:
    if compiler is not None:
        return compiler(jaxpr, args)
    return run_program(jaxpr, args)


def check_operands(name: str, jaxpr: Jaxpr, avals: Sequence[Any]) -> None:
    """Check that operands of the types `avals` fit the arguments of `jaxpr`.

    Raises: TypeError.
    """
    in_avals = jaxpr.in_avals
    if not same_types(avals, in_avals):
        operand_types, argument_types = (", ".join(str(a) for a in types) for types in (avals, in_avals))
        raise TypeError(
            f"{name} got operands of types ({operand_types}), but its program takes ({argument_types}). Trace it "
            "again for these types."
        )


@jit_p.def_pp
def jit_pp(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name != "compiler"}


def dce_of_program(program: str, of_operand: str | None = None, of_result: str | None = None) -> Callable[..., Any]:
    """Return the dead code rule of an equation that applies the program in the parameter `program` to its operands.

    It drops the unused results, and the operands that only they need.  The parameters `of_operand` and `of_result`
    have an entry for each operand, and for each result.
    """

    def dce(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
        if not any(used_outputs) and not eqn.effects:
            return [False] * len(eqn.invars), None
        jaxpr, used_inputs = dce_jaxpr(eqn.params[program], used_outputs)
        params = eqn.params | {program: jaxpr}
        for name, used in ((of_operand, used_inputs), (of_result, used_outputs)):
            if name is not None:
                params[name] = tuple(marked(params[name], used))
        invars, outvars = marked(eqn.invars, used_inputs), marked(eqn.outvars, used_outputs)
        return used_inputs, eqn.replace(invars=invars, outvars=outvars, params=params)

    return dce


dce_jit = dce_of_program("jaxpr")
jit_p.def_rule("dce", dce_jit)
jit_p.def_rule("lower_values", lambda count, **params: params)


def one_equation_jaxpr(
    jaxpr: Jaxpr, primitive: Primitive, params: dict[str, Any], in_avals: Sequence[Any], out_avals: Sequence[Any]
) -> Jaxpr:
    """Return a jaxpr of one equation, `primitive[params]`, with the types `in_avals` and `out_avals`."""
    invars, outvars = [Var(a) for a in in_avals], [Var(a) for a in out_avals]
    return Jaxpr((), invars, [JaxprEqn(primitive, invars, outvars, params)], outvars, debug_name=jaxpr.debug_name)
