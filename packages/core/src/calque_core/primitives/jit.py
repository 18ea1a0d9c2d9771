"""The primitive that applies a program.  Operations use `inline_calls`, so it lives below them.

Read next: `ops/jit.py`, its evaluation and its rules.
"""

from __future__ import annotations

from calque_core.primitives.primitive import Primitive

jit_p = Primitive("jit", multiple_results=True)
jit_p.family = jit_p.adapted.family = "calque_core.ops.jit"  # its rules are beside those of ops/jit.py
jit_p.takes_weak = True
