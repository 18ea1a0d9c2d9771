"""The table's third part: NumPy's functions as programs call them, each checked by all laws.

Families have the order of calque_numpy's modules; a row may hold several functions of one family.
"""

from __future__ import annotations

import numpy as np
from program import FLOATS, Program, always, numbers

VECTOR, MATRIX = numbers((5,)), numbers((3, 4))
POSITIVE = numbers((5,), 0.5, 2.0)


def row(name, fun, *makers, dtypes=FLOATS, ulps=64.0):
    return Program(f"numpy {name}", fun, makers, dtypes, ulps, by_array=True)


FRONT: list[Program] = [
    # elementwise
    row("copysign", lambda x, y: (np.copysign(x, y), np.signbit(x), np.copysign(x, -1.0)), VECTOR, VECTOR),
    row("modf frexp ldexp", lambda x: (*np.modf(x * 1.5), *np.frexp(x), np.ldexp(x, 5)), VECTOR),
    row("logaddexp2", np.logaddexp2, VECTOR, VECTOR),
    row("sinc", lambda x: (np.sinc(x), np.sinc(x / 40)), VECTOR),
    row("i0", np.i0, VECTOR),
    row("gcd lcm", lambda n, m: (np.gcd(n, m), np.lcm(n, m)), *[always("int32", (4,))] * 2),
]
