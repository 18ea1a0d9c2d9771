"""Functions that some releases of NumPy lack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def of_numpy(*names: str) -> list[Callable[..., Any]]:
    """Return the functions of these names that this release of NumPy has: some came with 2.1 and 2.2.

    >>> import numpy as np
    >>> of_numpy("stack", "a_function_of_numpy_9") == [np.stack]
    True
    """
    return [getattr(np, name) for name in names if hasattr(np, name)]
