"""Taylor rules, one module per family of primitives, named and ordered as in `calque_core.ops`.

A primitive that core declares linear, bilinear or constant needs none: `derived.py` follows from that.

A module is imported when a Taylor series first meets one of its primitives.
"""

from calque_core.extend import rules_by_family as _rules_by_family

FAMILIES = (
    "adjugates", "arithmetic", "bessel", "callback", "checkpoint", "collective", "compare", "cond", "convert", "create",
    "custom", "eigen", "equations", "exponential", "factorizations", "gamma", "gather", "hyperbolic", "incomplete",
    "incomplete_beta", "jit", "linear_call", "linear_solve", "matrix_functions", "platform", "reduce", "reduce_window",
    "reflections", "root", "rounding", "scan", "scatter", "select_and_scatter", "shard_map", "similarity", "sort",
    "special", "sylvester", "top_k", "triangular", "tridiagonal", "trigonometric", "while_loop",
)  # fmt: skip

_rules_by_family(__name__, FAMILIES, kinds=("jet",))
