"""Taylor rules, one module per family of primitives, of the same path as in `calque_core.ops`, in the same order.

A primitive that core declares linear, bilinear or constant needs none: `derived.py` follows from that.

A module is imported when a Taylor series first meets one of its primitives.
"""

from calque_core.extend import rules_by_family as _rules_by_family

_rules_by_family(__name__, kinds=("jet",))
