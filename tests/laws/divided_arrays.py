"""Claims about arrays that are divided over devices, in NumPy's functions; `test_divided_arrays.py` runs this file.

Each function whose name begins with `check_` is a claim.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest
from many_devices import report

import calque
import calque.numpy as cnp
from calque import config, lax
from calque.errors import ShapeError
from calque.sharding import NamedSharding
from calque.sharding import PartitionSpec as P

config.cpu_devices(8)
MESH = calque.make_mesh((4, 2), ("x", "y"))
ROWS = NamedSharding(MESH, P("x"))
X = np.arange(16.0).reshape(8, 2)


def divided():
    return calque.device_put(X, ROWS)


def put(x, *entries):
    return calque.device_put(x, NamedSharding(MESH, P(*entries)))


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


# Copies

COPIES = {
    "x.copy()": lambda x: x.copy(),
    "copy.copy(x)": copy.copy,
    "copy.deepcopy(x)": copy.deepcopy,
    "copy(x)": cnp.copy,
    "array(x)": cnp.array,
    "array(x, copy=True)": lambda x: cnp.array(x, copy=True),
    "array(x, ndmin=2)": lambda x: cnp.array(x, ndmin=2),
    "asarray(x, copy=True)": lambda x: cnp.asarray(x, copy=True),
    "asarray(x, device=d, copy=True)": lambda x: cnp.asarray(x, device=x.sharding, copy=True),
    "from_dlpack(x, copy=True)": lambda x: cnp.from_dlpack(x, copy=True),
    "x.astype(x.dtype)": lambda x: x.astype(x.dtype, copy=True),
    "x.flatten()": lambda x: x.reshape(-1).flatten().reshape(x.shape),
    "x.reshape(copy=True)": lambda x: x.reshape(x.shape, copy=True),
    "+x": lambda x: +x,
}
ALIASES = {
    "asarray(x)": cnp.asarray,
    "array(x, copy=None)": lambda x: cnp.array(x, copy=None),
    "x.astype(x.dtype, copy=False)": lambda x: x.astype(x.dtype, copy=False),
}


def check_a_copy_lives_on_when_the_array_is_donated_or_deleted():
    halve = calque.jit(lambda x: x / 2.0, donate_argnums=0)
    for place in (calque.devices()[1], ROWS, NamedSharding(MESH, P())):
        for name, make in COPIES.items():
            for end in (halve, lambda x: x.delete()):
                x = calque.device_put(X, place)
                made = make(x)
                end(x)
                assert x.is_deleted(), name
                assert made.devices() == calque.device_put(X, place).devices(), name
                np.testing.assert_array_equal(made, X, name)
        for name, make in ALIASES.items():
            x = calque.device_put(X, place)
            assert make(x) is x, name


def check_a_copy_of_keys_lives_on():
    for make in (lambda keys: keys.copy(), copy.copy, copy.deepcopy, np.copy, cnp.copy, cnp.array):
        keys = calque.device_put(calque.random.split(calque.random.key(0), 8), ROWS)
        made = make(keys)
        keys.words.delete()
        assert made.sharding == ROWS
        np.testing.assert_array_equal(made.words, calque.random.split(calque.random.key(0), 8).words)
    assert cnp.asarray(made) is made


def check_a_copy_is_no_operation_of_a_trace():
    copies = [make for name, make in COPIES.items() if "device" not in name and "dlpack" not in name]
    jaxpr = calque.make_jaxpr(lambda x: [make(x) for make in copies])(X[0])
    assert {eqn.primitive.name for eqn in jaxpr.eqns} <= {"reshape", "broadcast_in_dim"}  # for ndmin=2


# Convolutions and transforms along divided axes


def check_convolutions_have_the_values_of_one_device():
    rng = np.random.default_rng(2)
    signal, images = rng.normal(size=(1, 1, 8)), rng.normal(size=(8, 4, 8))
    plain, grouped = rng.normal(size=(4, 4, 3)), rng.normal(size=(8, 1, 8))
    same = lambda x, y: lax.conv_general_dilated(x, y, (1,), "SAME", feature_group_count=x.shape[1] // y.shape[1])
    kernel_gradient = lambda x, y: lax.conv_general_dilated(
        x, y, (1,), [(3, 4)], batch_group_count=4, dimension_numbers=("CN0", "IO0", "CN0")
    )
    cases = [
        (same, signal, signal, [((None, None, "y"), (None, None, "y"))]),
        (same, images, plain, [(("x",), ()), ((None, None, "x"), ("x",)), (("y", "x"), ("x", "y"))]),
        (same, images, grouped, [((None, "x"), ()), (("y", "x"), ("x",))]),
        (kernel_gradient, images, rng.normal(size=(8, 8, 8)), [(("x",), ("x",)), (("y", "x"), ("y",))]),
    ]
    for f, x, y, all_entries in cases:
        want = np.asarray(calque.jit(f)(x, y))
        for entries, other_entries in all_entries:
            got = calque.jit(f)(put(x, *entries), put(y, *other_entries))
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-10, atol=1e-12)
    assert calque.jit(same).lower(put(images, "x"), put(plain)).compile().communication() == {}


def check_a_transform_along_a_divided_axis_gathers_it():
    x = np.random.default_rng(3).normal(size=(4, 8, 4)) + 1j
    for entries in ((), ("x",), (None, "x"), (None, None, "x"), ("y", "x"), (None, ("y", "x")), ("x", None, "y")):
        for lengths in ((4,), (8, 4), (4, 8, 4)):
            got = calque.jit(lambda x, lengths=lengths: lax.fft(x, "fft", lengths))(put(x, *entries))
            np.testing.assert_allclose(np.asarray(got), lax.fft(x, "fft", lengths), rtol=1e-10, atol=1e-10)


if __name__ == "__main__":
    claims = globals()
    report(lambda claim: claims[claim]())
