"""The lowering rules of core's primitives: one module for each module of `calque_core.ops`, under the same name.

A primitive that means one of its programs, such as `custom_root`, needs no rule: `lowering.py` lowers the program.

A module is imported when a compiled program first meets one of its primitives.
"""

from calque_core.extend import rules_by_family as _rules_by_family

FAMILIES = (
    "arithmetic", "broadcast", "callback", "checkpoint", "collective", "compare", "complex", "composite", "cond",
    "convert", "convolution", "create", "custom", "dot", "dynamic", "eigen", "exchange", "exponential",
    "factorizations", "ffi", "fft", "gather", "hyperbolic", "jit", "joining", "linear_call", "platform", "reduce",
    "reduce_function", "reduce_window", "reflections", "rounding", "scan", "scatter", "shape", "shard_map", "sharding",
    "similarity", "sort", "special", "top_k", "triangular", "tridiagonal", "trigonometric", "while_loop",
)  # fmt: skip

_rules_by_family(__name__, FAMILIES, kinds=("lowering",))
