"""Batching rules, one module per family of primitives, of the same path as in `calque_core.ops`, in the same order.

A module is imported when a batch first meets one of its primitives.
"""

from calque_core import rules as _rule_table
from calque_core.extend import rules_by_family as _rules_by_family

_rules_by_family(__name__, kinds=("batch", "axis_batch", "where_active"))

primitive_batchers = _rule_table("batch")
