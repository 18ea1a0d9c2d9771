"""Roots of functions, defined by the equation that they solve: the primitive `custom_root`.

One idea: where f(x) = 0, the implicit function theorem gives the derivative of x with respect to the values that f
closes over, so no transformation looks into the user's solver.  The equation holds three programs of the same
`num_consts` values and then their own arguments: `f` of x, `solve` of a first guess, and `tangent_solve` of x and y,
which solves the equation linearized at x for the right-hand side y.

The function `custom_root` is in `calque_autodiff`, which linearizes f.
"""

from __future__ import annotations

from typing import Any

from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.ops.calls.jit import means, run_strongly
from calque_core.ops.calls.linear_solve import check_endomorphism, dce_solver
from calque_core.primitives.primitive import Primitive

Value = Any

custom_root_p = Primitive("custom_root", multiple_results=True)
means(custom_root_p, "solve", run_strongly)


@custom_root_p.def_abstract_eval
def custom_root_abstract_eval(*avals: Any, f: Jaxpr, solve: Jaxpr, tangent_solve: Jaxpr, num_consts: int) -> list[Any]:
    guess = avals[num_consts:]
    check_endomorphism("f of custom_root", f, avals, guess)
    check_endomorphism("solve of custom_root", solve, avals, guess)
    check_endomorphism("tangent_solve of custom_root", tangent_solve, [*avals, *guess], guess)
    return [aval.strip_weak_type() for aval in solve.out_avals]


custom_root_p.def_rule("dce", dce_solver)
