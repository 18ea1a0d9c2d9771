"""Rows of the table for calls to Python.

Functions of integers, since a call to Python has no derivative; one row has a derivative of its own.
"""

from __future__ import annotations

import numpy as np
from program import COMPLEX, FLOATS, INTEGERS, Program, numbers

from calque_autodiff import custom_jvp
from calque_core import check, debug, io_callback, lax, pure_callback

X, Y = numbers((2, 3)), numbers((3,))


def called_for_each(x, y):
    return pure_callback(np.add, x, x, y, vmap_method="sequential")


def called_once(x, y):
    both = lambda x, y: {"largest": np.maximum(x, y[..., None, :]), "sum": x + y[..., None, ::-1]}
    return pure_callback(both, {"largest": x, "sum": x}, x, y, vmap_method="expand_dims")


def called_with_all_axes(x, y):
    return pure_callback(lambda x, y: x * y[..., None, :], x, x, y, vmap_method="broadcast_all")


def squared(x):
    return pure_callback(np.square, x, x, vmap_method="broadcast_all")


square = custom_jvp(squared)
square.defjvp(lambda primals, tangents: (square(*primals), 2 * primals[0] * tangents[0]))


def seen(x):
    debug.callback(lambda *_, step: None, x, "label", step=1)
    return lax.sin(x)


def checked(x):
    check(abs(x) < 100.0, "{} {} {}", x, np.float32(1.0), "label")
    check(True, "always")
    return lax.sin(x)


HOST_CALLS: dict[str, list[Program]] = {
    "pure_callback": [
        Program("pure_callback", called_for_each, (X, Y), INTEGERS),
        Program("pure_callback of batches", called_once, (X, Y), INTEGERS),
        Program("pure_callback of batches with all axes", called_with_all_axes, (X, Y), INTEGERS),
        Program("pure_callback with a derivative", square, (X,), (*FLOATS, *COMPLEX)),
    ],
    "io_callback": [Program("io_callback", lambda x, y: io_callback(np.subtract, x, x, y), (X, Y), INTEGERS)],
    "debug_callback": [Program("debug_callback", seen, (X,), (*FLOATS, *COMPLEX), 8, complex_ulps=64)],
    "check": [Program("check", checked, (X,), (*FLOATS, *COMPLEX), 8, complex_ulps=64)],
}
