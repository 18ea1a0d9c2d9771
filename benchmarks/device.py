"""Rows: single operations on device arrays, without `jit`.

One idea: the arrays are small, so a row shows what the library adds to one run of a program.
Read next: `compiled.py`, programs of many operations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from kits import Kit, in_32_bits, kits
from measure import Effort, Samples, race
from table import row

Value = Any
device_row = partial(row, unit="us", budget=1.0, needs="calque_xla_backend", jax=1.0)


def race_operations(effort: Effort, operation: Callable[[Kit, Value], Value], operand: np.ndarray) -> Samples:
    """Return the times of `operation(kit, x)` on an array on the device."""
    calls = {kit.name: partial(operation, kit, kit.device_put(operand)) for kit in kits("calque", "jax")}
    return race(effort, calls, per=1, unit=1e-6)


VECTOR, MATRIX = np.linspace(0.1, 1.0, 1_000, dtype=np.float32), np.ones((32, 32), np.float32)


@device_row("device arrays: x + x")
def addition(effort: Effort) -> Samples:
    return race_operations(effort, lambda kit, x: x + x, VECTOR)


@device_row("device arrays: x + x, in 32 bits")
def narrow_addition(effort: Effort) -> Samples:
    with in_32_bits():
        return race_operations(effort, lambda kit, x: x + x, VECTOR)


@device_row("device arrays: 2 * x")
def multiple(effort: Effort) -> Samples:
    return race_operations(effort, lambda kit, x: 2 * x, VECTOR)


@device_row("device arrays: numpy.sin(x)")
def sine(effort: Effort) -> Samples:
    return race_operations(effort, lambda kit, x: kit.numpy.sin(x), VECTOR)


@device_row("device arrays: x @ x")
def product(effort: Effort) -> Samples:
    return race_operations(effort, lambda kit, x: x @ x, MATRIX)


@device_row("device arrays: numpy.matmul(x, x)")
def matmul(effort: Effort) -> Samples:
    return race_operations(effort, lambda kit, x: kit.numpy.matmul(x, x), MATRIX)


@device_row("device arrays: x > 0.5")
def comparison(effort: Effort) -> Samples:
    return race_operations(effort, lambda kit, x: x > 0.5, VECTOR)


@device_row("device arrays: x[3]")
def element(effort: Effort) -> Samples:
    return race_operations(effort, lambda kit, x: x[3], VECTOR)


@device_row("device arrays: x[2:7]")
def part(effort: Effort) -> Samples:
    return race_operations(effort, lambda kit, x: x[2:7], VECTOR)


@row("device arrays: 10 operations on 1,000 floats", "us", budget=0.9, needs="calque_xla_backend", jax=1.0)
def chain(effort: Effort) -> Samples:
    def ten(kit: Kit, x: Value) -> Value:
        y = kit.numpy.tanh(kit.numpy.sin(x * 2.0 + x - 1.0) * x + 0.5)
        return -(y / 2.0 + y)

    return race_operations(effort, ten, VECTOR)
