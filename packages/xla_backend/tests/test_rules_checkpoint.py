import numpy as np
import pytest

from calque_core import lax, make_jaxpr
from calque_core.lax import name_p, optimization_barrier, remat_p
from calque_xla_backend import Array, device_put, jit, lower_jaxpr_to_module
from calque_xla_backend.evaluate import _programs


def rematted(fun, **params):
    """Return a function that binds `remat`, as `checkpoint` does."""
    usual = {"policy": None, "prevent_cse": True, "differentiated": False}

    def call(*args):
        return remat_p.bind(*args, jaxpr=make_jaxpr(fun)(*args), **usual | params)

    return call


def two(x, y):
    return lax.sin(x) * y, x


def test_a_program_to_be_computed_again_compiles_to_its_operations():
    args = (np.arange(3.0), 2.0)
    for got, want in zip(jit(rematted(two))(*args), two(*args), strict=True):
        np.testing.assert_allclose(np.asarray(got), want, 1e-15)


@pytest.mark.parametrize(
    ("params", "count"),
    [
        ({}, 0),
        ({"differentiated": True}, 1),
        ({"differentiated": True, "prevent_cse": False}, 0),
    ],
)
def test_only_a_second_computation_stands_behind_a_barrier(params, count):
    text = jit(rematted(two, **params)).lower(np.arange(3.0), 2.0).as_text()
    assert text.count("stablehlo.optimization_barrier") == count


def test_a_second_computation_of_nothing_needs_no_barrier():
    call = rematted(lambda: np.float64(2.0), differentiated=True)
    assert jit(lambda: call())()[0] == 2.0


def test_large_constants_inside_are_arguments_of_the_module():
    table = np.linspace(0.0, 1.0, 1000)
    module = lower_jaxpr_to_module(make_jaxpr(rematted(lambda x: x * table))(np.ones(1000)))
    assert [const.shape for const, _ in module.const_args] == [(1000,)]
    np.testing.assert_array_equal(np.asarray(jit(rematted(lambda x: x * table))(np.ones(1000))[0]), table)


def test_a_barrier_and_a_name_compile_to_a_barrier_and_to_nothing():
    text = jit(lambda x, y: optimization_barrier((x, y))).lower(np.ones(2), 1).as_text()
    assert text.count("stablehlo.optimization_barrier") == 1
    assert [np.asarray(x).tolist() for x in jit(lambda x, y: optimization_barrier((x, y)))(np.ones(2), 1)] == [
        [1, 1],
        1,
    ]
    text = jit(lambda x: name_p.bind(x, name="x")).lower(1.0).as_text()
    assert "stablehlo" not in text
    assert jit(lambda x: name_p.bind(x, name="x"))(2.0) == 2.0


def test_on_device_arrays_they_need_no_program_of_their_own():
    x = device_put(np.arange(3.0))
    lax.sin(x) * x  # compiles the two operations
    before = len(_programs.known)
    for _ in range(3):
        [out, _] = rematted(two)(x, x)
        name = name_p.bind(x, name="x")
        [barred] = optimization_barrier([x])
    assert len(_programs.known) == before
    assert all(type(y) is Array for y in (out, name, barred))
