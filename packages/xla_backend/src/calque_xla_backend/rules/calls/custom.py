"""Lowering of functions with derivative rules of their own: they mean their programs, and need no rule.

Only differentiation reads the rules, and it runs before lowering.  In forward mode, a call with a vjp rule is compiled
as the jvp rule of the function; without a jvp rule, lowering raises a TypeError.
"""

from __future__ import annotations

from calque_core.lax import custom_vjp_linear_p

custom_vjp_linear_p.def_hole("lowering", "it is compiled as the jvp rule of its function, if there is one")
