"""The Taylor rules of functions with derivative rules of their own: by their jvp rule.

One idea: the derivative of y = f(x(t)) is what the rule says of x'(t), at every t; so the rule, run on series, gives
that of y'.  A function that has only a vjp rule is refused, as jvp refuses it.
"""

from __future__ import annotations

from calque_autodiff.jet_define import through_jvp
from calque_core.lax import custom_jvp_call_p, custom_vjp_call_p, custom_vjp_linear_p

custom_jvp_call_p.def_rule("jet", through_jvp(custom_jvp_call_p))
custom_vjp_call_p.def_rule("jet", through_jvp(custom_vjp_call_p))
custom_vjp_linear_p.def_hole("jet", "what its jvp rule makes of it is expanded in its place")
