"""Claims about arrays that are divided over devices, in NumPy's functions; `test_divided_arrays.py` runs this file.

Each function whose name begins with `check_` is a claim.
"""

from __future__ import annotations

import numpy as np
import pytest
from many_devices import report

import calque
import calque.numpy as cnp
from calque import config
from calque.errors import ShapeError
from calque.sharding import NamedSharding
from calque.sharding import PartitionSpec as P

config.cpu_devices(8)
MESH = calque.make_mesh((4, 2), ("x", "y"))
ROWS = NamedSharding(MESH, P("x"))
X = np.arange(16.0).reshape(8, 2)


def divided():
    return calque.device_put(X, ROWS)


# Arrays that functions make


def check_arrays_like_a_divided_one_are_divided_alike():
    for xp in (np, cnp):
        for make, value in ((xp.zeros_like, 0.0), (xp.ones_like, 1.0), (xp.empty_like, 0.0)):
            for options in ({}, {"shape": (8, 2)}, {"dtype": np.int32}):
                out = make(divided(), **options)
                assert out.sharding == ROWS
                assert out.dtype == options.get("dtype", np.float64)
                np.testing.assert_array_equal(out, np.full((8, 2), value))
        assert xp.full_like(divided(), X).sharding == ROWS


def check_arrays_like_a_divided_one_of_another_shape_are_on_the_default_device():
    for shape in (3, (8,), ()):
        out = np.zeros_like(divided(), shape=shape)
        assert (out.device, out.shape) == (calque.devices()[0], np.zeros(shape).shape)


def check_functions_that_make_arrays_take_a_sharding():
    last = calque.device_put(1.0, calque.devices()[7]).sharding
    for sharding in (ROWS, last):
        for out in (
            cnp.zeros(8, device=sharding), cnp.ones(8, device=sharding), cnp.full(8, 2.0, device=sharding),
            cnp.empty(8, device=sharding), cnp.arange(8, device=sharding), cnp.linspace(0, 1, 8, device=sharding),
            cnp.eye(8, device=sharding), cnp.asarray([1.0] * 8, device=sharding), cnp.fft.fftfreq(8, device=sharding),
            cnp.zeros_like(X, device=sharding), divided().to_device(sharding), divided().astype(int, device=sharding),
        ):  # fmt: skip
            assert out.sharding == sharding
    with pytest.raises(ShapeError, match=r"size 3, which does not divide into 4 equal parts"):
        cnp.zeros(3, device=ROWS)


if __name__ == "__main__":
    claims = globals()
    report(lambda claim: claims[claim]())
