"""The Taylor rules of functions with derivative rules of their own: by their jvp rule, or by their program.

One idea: at every t, the rule computes the derivative of y = f(x(t)) from x'(t); so the rule, run on series, gives the
series of y'.  A function that has only a vjp rule is refused, as jvp refuses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import CustomRules, Jaxpr
from calque_core.extend import no_jvp_rule
from calque_core.lax import custom_jvp_call_p, custom_vjp_call_p, custom_vjp_linear_p
from calque_jet.jaxprs import run_jet
from calque_jet.jet_trace import jet_through_jvp
from calque_jet.series import Series

Value = Any


def custom_jet(
    primals: Sequence[Value], series: Sequence[Series], *, rules: CustomRules, jaxpr: Jaxpr | None = None
) -> tuple[list[Value], list[Series]]:
    """Run the jvp rule on series; a function without derivative rules runs as its program.

    Raises: TypeError if there is only a vjp rule.
    """
    if rules.jvp is not None:
        return jet_through_jvp(rules.jvp, primals, series)
    if rules.fwd is not None:
        raise TypeError(no_jvp_rule(rules.name))
    assert jaxpr is not None, rules
    return run_jet(jaxpr, primals, series)


custom_jvp_call_p.def_rule("jet", custom_jet)
custom_vjp_call_p.def_rule("jet", custom_jet)
custom_vjp_linear_p.def_hole("jet", "the operations of its jvp rule are expanded instead")
