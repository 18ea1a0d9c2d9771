"""Numbers of classes that derive from Python's: members of an enumeration, floats with a unit's name.

One idea: they are operands as Python's own numbers are, weak, and a program keeps the plain number.

Read next: `avals.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_KINDS = (int, float, complex)
_PLAIN = frozenset((bool, *_KINDS))


def is_number(x: object) -> bool:
    """Tell whether `x` is a number of a class that derives from one of Python's.

    >>> from enum import IntEnum
    >>> from calque_core.types.numbers import is_number, plain_number
    >>> first = IntEnum("Order", ["FIRST"]).FIRST
    >>> is_number(first), is_number(1.0), plain_number(first)
    (True, False, 1)
    """
    return isinstance(x, _KINDS) and type(x) not in _PLAIN and not isinstance(x, np.generic)


def plain_number(x: Any) -> int | float | complex:
    """Return such a number as one of Python's own."""
    if isinstance(x, int):
        return int(x)
    return float(x) if isinstance(x, float) else complex(x)
