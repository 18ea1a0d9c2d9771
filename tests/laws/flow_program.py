"""What a program with branches and loops is: one that takes its control flow as its first argument.

One idea: so it runs on core's operations, under any transformation, and on Python's own (`plain.py`).  Programs are
smooth near their arguments: no small change takes another branch or step.

Read next: `branches.py`, `scans.py` and `loops.py`, the table; `test_loops.py`, the laws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from program import FLOATS, Program, always, numbers

from calque_core import lax

WEIGHTS = np.linspace(-0.5, 0.5, 9).reshape(3, 3).astype(np.float32)
VECTOR, MATRIX, NUMBER = numbers((3,)), numbers((4, 3)), numbers(())
POSITIVE = numbers((), 0.5, 2.0)
COUNT, COUNTS = always("int32", ()), always("int64", (4,))  # a count is 1, 2 or 3; counts are four in a row


class Row(NamedTuple):
    """A program without its control flow."""

    name: str
    fun: Callable[..., Any]
    makers: Sequence[Callable[..., Any]]

    def on(self, flow: Any) -> Program:
        """Return the program that runs on `flow`, which has functions of the names of core's."""
        return Program(self.name, partial(self.fun, flow), self.makers, FLOATS, ulps=32, by_array=True)


def number(n, x):
    """Return an integer in the dtype of `x`."""
    return lax.convert_element_type(n, x.dtype)
