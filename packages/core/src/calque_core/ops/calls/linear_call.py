"""Linear functions as one equation: `linear_call`, which has a transpose, and `linear_transpose`, which is a transpose.

One idea: the first `num_res` operands are residuals, in which the program need not be linear; values that the functions
close over are residuals too.  The program is jointly linear in the operands after them.  `linear_call` holds a second
program, its transpose, and transposition swaps the two.  `linear_transpose` stands for the transpose of its program:
core binds it, and `calque_autodiff` transposes the program when a rule needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from calque_core.calls.api_util import FlatFunction, check_callable, leaf_names
from calque_core.distributions import install_advice
from calque_core.errors import MissingRuleError
from calque_core.frames.source import where
from calque_core.frames.tracebacks import api_boundary
from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.memory.separate import copy_shared
from calque_core.ops.calls.jit import check_operands, means, run_strongly
from calque_core.ops.calls.loops import loop_name, strong_leaves
from calque_core.ops.calls.spaces import check_floating, space_of
from calque_core.ops.calls.staged_programs import join_constants
from calque_core.ops.elementwise.weakness import strong
from calque_core.ops.meshes.lockstep import Column, Positions, run_in_lockstep
from calque_core.primitives.primitive import Primitive
from calque_core.primitives.rules import settings_key
from calque_core.staging.stage import stage
from calque_core.types.avals import NO_AXES, typeof
from calque_pytree import PyTreeDef, tree_flatten

Value = Any

# A program and its transpose

linear_call_p = Primitive("linear_call", multiple_results=True)
means(linear_call_p, "callee", run_strongly)


@linear_call_p.def_abstract_eval
def linear_call_abstract_eval(*avals: Any, callee: Jaxpr, transpose: Jaxpr, num_res: int) -> list[Any]:
    check_operands("linear_call", callee, avals)
    check_operands("the transpose of linear_call", transpose, [*avals[:num_res], *callee.out_avals])
    return [aval.strip_weak_type() for aval in callee.out_avals]


@api_boundary
def linear_call(
    fun: Callable[[Any, Any], Any], fun_transpose: Callable[[Any, Any], Any], residual_args: Any, linear_args: Any
) -> Any:
    """Return `fun(residual_args, linear_args)`, for `fun` linear in its second argument, with its transpose.

    `fun_transpose(residual_args, ct)` takes a cotangent of the result and returns a cotangent of `linear_args`;
    reverse mode calls it, and does not transpose the operations of `fun`.  Derivatives with respect to residuals are
    the derivatives of `fun`.
    All arguments are pytrees; both functions are traced.
    Raises: TypeError if `linear_args` or the result is not floating, or `fun_transpose` does not return the structure
    and the types of `linear_args`.

    >>> linear_call(lambda r, x: x / r, lambda r, ct: ct / r, 2.0, 3.0)
    np.float64(1.5)
    """
    for function in (fun, fun_transpose):
        check_callable(function, "linear_call")
    caller = loop_name("linear_call", fun)
    res, res_tree = strong_leaves(caller, "residual_args", residual_args)
    linear, space = space_of(caller, "linear_args", linear_args)
    res_avals = [typeof(x) for x in res]

    flat = FlatFunction(fun, _pair(res_tree, space.tree), "linear_call")
    callee = stage(flat, [*res_avals, *space.avals], verb="linear_call", user_fun=fun)
    joined, space = space.joined(linear, callee.out_avals)
    if joined is not linear:  # so that the transpose need not sum the cotangents of all shards
        linear, callee = joined, stage(flat, [*res_avals, *space.avals], verb="linear_call", user_fun=fun)
    out_tree, out_avals = flat.out_tree, [aval.strip_weak_type() for aval in callee.out_avals]
    check_floating(caller, lambda: leaf_names("the result", _values(out_tree)), out_avals)

    flat = FlatFunction(
        space.with_type_check(caller, "fun_transpose", fun_transpose), _pair(res_tree, out_tree), "linear_call"
    )
    transpose = stage(flat, [*res_avals, *out_avals], verb="linear_call", user_fun=fun_transpose)

    (callee, transpose), consts = join_constants([callee, transpose])
    num_res = len(consts) + len(res)
    outs = linear_call_p.bind(*consts, *res, *linear, callee=callee, transpose=transpose, num_res=num_res)
    return out_tree.unflatten(copy_shared(outs, consts, res, linear))


def _pair(first: PyTreeDef, second: PyTreeDef) -> PyTreeDef:
    """Return the structure of the arguments of a function of two values."""
    return tree_flatten(((_values(first), _values(second)), {}))[1]


def _values(tree: PyTreeDef) -> Any:
    """Return a value of this structure."""
    return tree.unflatten([0] * tree.num_leaves)


# The transpose of a program

linear_transpose_p = Primitive("linear_transpose", multiple_results=True)


@linear_transpose_p.def_abstract_eval
def linear_transpose_abstract_eval(*avals: Any, jaxpr: Jaxpr, num_res: int) -> list[Any]:
    linear_avals = jaxpr.in_avals[num_res:]
    check_operands("linear_transpose", jaxpr, [*avals[:num_res], *linear_avals])
    out_avals = [aval.varying(NO_AXES) for aval in jaxpr.out_avals]
    if [a.strip_weak_type() for a in out_avals] != [a.strip_weak_type() for a in avals[num_res:]]:
        out_types, cotangent_types = (", ".join(str(a) for a in types) for types in (out_avals, avals[num_res:]))
        raise TypeError(
            f"linear_transpose got cotangents of types ({cotangent_types}), but the program returns ({out_types}). "
            "Give cotangents of these types."
        )
    return [aval.strip_weak_type() for aval in linear_avals]


@linear_transpose_p.def_rule("vma")
def linear_transpose_vma(vmas: Sequence[Any], *, jaxpr: Jaxpr, num_res: int) -> list[Any]:
    return [aval.vma for aval in jaxpr.in_avals[num_res:]]


@linear_transpose_p.def_rule("lockstep")
def linear_transpose_lockstep(positions: Positions, *columns: Column, jaxpr: Jaxpr, num_res: int) -> list[Column]:
    avals = [*jaxpr.in_avals[:num_res], *jaxpr.out_avals]
    key = ("linear_transpose", num_res, *settings_key())
    run = partial(linear_transpose_impl, jaxpr=jaxpr, num_res=num_res)
    return run_in_lockstep(jaxpr.memo(key, lambda: stage(run, avals)), positions, columns)


@linear_transpose_p.def_impl
def linear_transpose_impl(*args: Value, jaxpr: Jaxpr, num_res: int) -> Sequence[Value]:
    """Run the decomposition, which `calque_autodiff` registers."""
    decomposition = linear_transpose_p.adapted["decomposition"]
    if decomposition is None:
        raise MissingRuleError(
            f"A transposed linear function was evaluated{where()}, but calque_core cannot transpose. Import "
            f"calque_autodiff, which can. {install_advice('calque_autodiff')}",
            primitive="linear_transpose",
            kind="decomposition",
            package="calque_autodiff",
        )
    return [*map(strong, decomposition(*args, jaxpr=jaxpr, num_res=num_res))]
