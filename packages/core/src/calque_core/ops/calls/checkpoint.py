"""Programs that are computed again in place of stored residuals: `remat`, `name`, `optimization_barrier`, `dce_sink`.

One idea: `remat` is a program applied to operands, and means the same as its equations.  Its derivative keeps the
results that the static parameter `policy` chooses, by default none, and computes the other values again.  The program
that does so is `differentiated`: a barrier keeps a compiler from merging it with the first computation.  A policy finds
a value by its `name`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core.calls.api_util import array_leaves
from calque_core.frames.source import where
from calque_core.jaxprs.effects import Effect
from calque_core.jaxprs.jaxpr import Jaxpr, JaxprEqn
from calque_core.jaxprs.masks import marked
from calque_core.ops.calls.jit import check_operands, dce_jit, means, run_program
from calque_core.ops.elementwise.weakness import strong
from calque_core.primitives.primitive import Primitive, bind_checked

Value = Any
Policy = Callable[..., bool]

# Programs

remat_p = Primitive("remat", multiple_results=True)
remat_p.takes_weak = True
means(remat_p, "jaxpr", run_program)


@remat_p.def_abstract_eval
def remat_abstract_eval(*avals: Any, jaxpr: Jaxpr, **_: Any) -> list[Any]:
    check_operands(f"checkpoint of {jaxpr.debug_name or 'a program'}", jaxpr, avals)
    return jaxpr.out_avals


@remat_p.def_pp
def remat_pp(params: dict[str, Any]) -> dict[str, Any]:
    usual = {"policy": None, "prevent_cse": True, "differentiated": False}
    return {name: value for name, value in params.items() if name == "jaxpr" or value is not usual[name]}


remat_p.def_rule("dce", dce_jit)
remat_p.def_rule("lower_values", lambda count, **params: params)

# Names

name_p = Primitive("name")
name_p.is_elementwise = True


@name_p.def_abstract_eval
def name_abstract_eval(x_aval: Any, *, name: str) -> Any:
    return x_aval.strip_weak_type()


def name_impl(x: Value, *, name: str) -> Value:
    return strong(x)


name_p.def_impl(name_impl, leaf=True)


# Barriers

optimization_barrier_p = Primitive("optimization_barrier", multiple_results=True)


@optimization_barrier_p.def_abstract_eval
def optimization_barrier_abstract_eval(*avals: Any) -> list[Any]:
    return [aval.strip_weak_type() for aval in avals]


optimization_barrier_p.def_rule("vma", list)
optimization_barrier_p.def_rule("lower_values", lambda count, **params: params)
optimization_barrier_p.def_impl(lambda *args: [*map(strong, args)], leaf=True)


def dce_optimization_barrier(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """Drop the operands of unused results."""
    used = list(used_outputs)
    if not any(used):
        return used, None
    return used, eqn.replace(invars=marked(eqn.invars, used), outvars=marked(eqn.outvars, used))


optimization_barrier_p.def_rule("dce", dce_optimization_barrier)


def optimization_barrier(operand: Any) -> Any:
    """Return `operand`, a pytree of arrays, unchanged; a compiler must compute all of it before it uses any of it.

    Operations on the result are neither merged with operations on `operand` nor moved before them.
    Shapes and dtypes: kept.
    Raises: TypeError if a leaf is not an array.

    >>> from calque_core.lax import optimization_barrier
    >>> optimization_barrier({"x": 2.0})
    {'x': np.float64(2.0)}
    """
    leaves, treedef = array_leaves(f"optimization_barrier{where()}", "operand", operand)
    return treedef.unflatten(bind_checked(optimization_barrier_p, *leaves) if leaves else leaves)


# Values that nobody uses

dce_sink_p = Primitive("dce_sink", multiple_results=True, effects=frozenset((Effect("dce_sink", exact=False),)))
dce_sink_p.def_abstract_eval(lambda *avals: [])
dce_sink_p.def_rule("vma", lambda vmas: [])
dce_sink_p.def_impl(lambda *args: [], leaf=True)


def dce_sink(val: Any) -> None:
    """Use `val`, a pytree of arrays, so that removing dead code from a program keeps the operations that compute it.

    A compiler may still remove them.  Derivatives keep the value, not its tangents.
    Raises: TypeError if a leaf is not an array.

    >>> from calque_core import dce_jaxpr, make_jaxpr
    >>> from calque_core.lax import cos, dce_sink, sin
    >>> def watched(x):
    ...     dce_sink(cos(x))
    ...     return sin(x)
    >>> [eqn.primitive for eqn in dce_jaxpr(make_jaxpr(watched)(0.5), [True])[0].eqns]
    [cos, dce_sink, sin]
    """
    leaves, _ = array_leaves(f"dce_sink{where()}", "val", val)
    if leaves:
        bind_checked(dce_sink_p, *leaves)
