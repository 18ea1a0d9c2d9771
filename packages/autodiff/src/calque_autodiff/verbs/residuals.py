"""Looking at the residuals of a derivative: `saved_residuals`, `print_saved_residuals`.

One idea: linearize under staging.  The constants of the linear program are then variables of the program around it,
whose equations tell their origins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from calque_autodiff.verbs.linearize import linearize_flat
from calque_core import Atom, Jaxpr, JaxprEqn, Var, api_boundary, current_trace, dce_jaxpr, interpret, stage, typeof
from calque_core.engine import Captures, FlatFunction, arg_names
from calque_core.extend import check_arrays, check_callable, describe_function
from calque_core.lax import name_p, scan_p
from calque_pytree import tree_flatten

Value = Any


@api_boundary
def saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[tuple[Any, str]]:
    """Return the values that the derivative of `f` at these arguments keeps: pairs of a type and an origin.

    Arguments come first; numbers written in the program are not counted.
    Raises: TypeError if an argument is not an array.

    >>> from calque_autodiff import saved_residuals
    >>> from calque_core import lax
    >>> saved_residuals(lambda x: lax.exp(3.0 * x), 1.0)[0][0]
    float64[]
    """
    check_callable(f, "saved_residuals")
    leaves, in_tree = tree_flatten((args, kwargs))
    names = arg_names(f, args, kwargs)
    check_arrays(leaves, lambda: names, f"saved_residuals of {describe_function(f)}")
    flat = FlatFunction(f, in_tree, "saved_residuals")

    def residuals(*xs: Value) -> Sequence[Value]:
        with Captures(current_trace()) as captures:
            avals = [typeof(x).strip_weak_type() for x in xs]
            outs, linear = linearize_flat(flat, f, xs, avals, captures=captures)
            return dce_jaxpr(linear.jaxpr(), [True] * len(outs))[0].consts

    staged = stage(residuals, [typeof(x) for x in leaves], verb="saved_residuals", user_fun=f)
    opened = stage(partial(interpret, staged, {}), staged.in_avals, verb="saved_residuals", user_fun=f)
    origins = _origins(opened, [f"from the argument {name}" for name in names])
    arguments = [v for v in opened.invars if v in origins]
    return [(v.aval, origins[v]) for v in dict.fromkeys([*arguments, *opened.outvars]) if type(v) is Var]


@api_boundary
def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print the values that the derivative of `f` at these arguments keeps, a line for each array.

    >>> from calque_autodiff import print_saved_residuals
    >>> print_saved_residuals(lambda x, y: x * y, 2.0, 3.0)
    f64[] from the argument x
    f64[] from the argument y
    """
    for aval, description in saved_residuals(f, *args, **kwargs):
        print(aval.str_short(), description)  # noqa: T201 - printing is its purpose


def _origins(jaxpr: Jaxpr, arguments: Sequence[str]) -> dict[Atom, str]:
    """Return the origin of each result of a program, from the origins of its arguments."""
    origins: dict[Atom, str] = dict(zip(jaxpr.invars, arguments))
    results = set(jaxpr.outvars)
    for eqn in jaxpr.eqns:
        origins.update((v, _made_by(eqn, i)) for i, v in enumerate(eqn.outvars) if v in results)
    return {v: origins.get(v, "from a constant") for v in jaxpr.outvars}


def _made_by(eqn: JaxprEqn, i: int) -> str:
    """Return a description of the equation, also inside the loop `eqn`, that computes result `i`."""
    place = f" at {eqn.source_info}" if eqn.source_info else ""
    if eqn.primitive is name_p:
        return f"named '{eqn.params['name']}'{place}"
    if eqn.primitive is not scan_p or i < eqn.params["num_carry"]:
        return f"output of {eqn.primitive.name}{place}"
    body: Jaxpr = eqn.params["jaxpr"]
    origins = _origins(body, ["carry"] * len(body.invars))
    return f"{origins[body.outvars[i]]}, in each step of the scan{place}"
