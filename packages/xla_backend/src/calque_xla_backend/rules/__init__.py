"""The lowering rules of core's primitives: one module for each module of `calque_core.ops`, under the same path.

A primitive that means one of its programs, such as `custom_root`, needs no rule: `lowering.py` lowers the program.

A module is imported when a compiled program first meets one of its primitives.
"""

from calque_core.extend import rules_by_family as _rules_by_family

_rules_by_family(__name__, kinds=("lowering",))
