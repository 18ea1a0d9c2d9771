"""Products of quaternions (x, y, z, w).

Read next: `rotations.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import typeof
from calque_core.engine.numpy_functions import as_dtype
from calque_numpy.joining import stack

Value = Any


def conjugate(quat: Value) -> Value:
    """Return (-x, -y, -z, w).  Shapes: [*s, 4]."""
    return quat * as_dtype(np.array([-1.0, -1.0, -1.0, 1.0]), typeof(quat).dtype)


def product(p: Value, q: Value) -> Value:
    """Return Hamilton's product.  Shapes: [*s, 4], broadcast."""
    px, py, pz, pw = (p[..., i] for i in range(4))
    qx, qy, qz, qw = (q[..., i] for i in range(4))
    return stack(
        [
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
            pw * qw - px * qx - py * qy - pz * qz,
        ],
        -1,
    )
