"""Rows of the law of ranges: elementwise functions of `lax`, `numpy` and `nn`."""

from __future__ import annotations

import ranges as r
from ranges import Row

from calque_core import lax

ROWS = [
    Row("lax.exp", lax.exp, r.exp, near=(700.0,)),
    Row("lax.log", lax.log, r.log, domain=(0, float("inf")), near=(1.0,)),
    Row("lax.tanh", lax.tanh, r.tanh),
]
