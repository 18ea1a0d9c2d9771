"""Derivative rules, one module per family of primitives, of the same path as in `calque_core.ops`, in the same order.

A module is imported when a derivative first meets one of its primitives.
"""

from calque_core import rules as _rule_table
from calque_core.extend import rules_by_family as _rules_by_family

_rules_by_family(__name__, kinds=("jvp", "transpose", "partial_eval", "every_size"))
_rules_by_family(f"{__name__}.linear_call", kinds=("decomposition",), of="calque_core.ops.linear_call")

primitive_jvps = _rule_table("jvp")
primitive_transposes = _rule_table("transpose")
