"""Lines: a linear operation in arrays of every size, as code.

One idea: a cut, a sum or a mean is linear, with positions or nothing as its residuals, and each way is a line of NumPy
in which sizes are all that differs.  So a rule of kind "every_size" gives the lines for arrays of any shape, and data
of another length at each call, such as sentences or batches, cost no other rules.

Read next: `every_size.py`, which makes operations from lines; `rules/reductions/reduce.py`,
`rules/shapes/shape.py` and `rules/indexing/gather.py` have the rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from calque_core import ShapedArray

Value = Any


class Lines(NamedTuple):
    """A function that is linear in its first array, and the transpose, as code.

    `run(x, *others)` is the result, `pull(ct, *others)` a new array, the cotangent of x; `add(total, ct, *others)` adds
    it to an array in place, if that is less.
    """

    out_aval: ShapedArray
    run: Callable[..., Value]
    pull: Callable[..., Value]
    add: Callable[..., None] | None = None


Maker = Callable[..., Lines | None]
"""From the types of the arrays to the lines for them; None if the rules have to run."""
