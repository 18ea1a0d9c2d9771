"""Derivative rules, one module per family of primitives, named and ordered as in `calque_core.ops`.

A module is imported when a derivative first meets one of its primitives.
"""

from calque_core.extend import rules_by_family as _rules_by_family

FAMILIES = (
    "adjugates", "arithmetic", "bessel", "broadcast", "callback", "checkpoint", "collective", "compare", "complex",
    "composite", "cond", "convert", "convolution", "create", "cumulative", "custom", "determinants", "dot", "dynamic",
    "eigen", "equations", "exchange", "exponential", "factor_updates", "factorizations", "fft", "gamma", "gather",
    "hyperbolic", "incomplete", "incomplete_beta", "jit", "joining", "linear_call", "linear_solve", "matrix_functions",
    "platform", "pmap", "pseudo_inverse", "reduce", "reduce_function", "reduce_window", "reflections", "root",
    "rounding", "scan", "scatter", "select_and_scatter", "shape", "shard_map", "sharding", "similarity", "sort",
    "special", "sylvester", "threefry", "top_k", "triangular", "tridiagonal", "trigonometric", "while_loop",
)  # fmt: skip

_rules_by_family(__name__, FAMILIES, kinds=("jvp", "transpose", "partial_eval", "every_size"))
_rules_by_family(__name__, ("linear_call",), kinds=("decomposition",))
