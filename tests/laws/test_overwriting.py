"""Arrays that the user overwrites after a call change no result and no pending derivative."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import assert_same

from calque_autodiff import grad, linearize, vjp
from calque_core import eval_jaxpr, lax, make_jaxpr
from calque_xla_backend import device_put, jit


def overwritten(make):
    """Return what `make(x, captured)` gives if both arrays are overwritten before it is used, and if they are not."""
    results = []
    for is_overwritten in (True, False):
        x, captured = np.array([1.0, 2.0]), np.array([3.0, 4.0])
        use = make(x, captured)
        if is_overwritten:
            x[:] = 100.0
            captured[:] = -100.0
        results.append([np.array(y) for y in use()])
    return results


def product(captured):
    return lambda x: lax.mul(lax.sin(lax.mul(x, captured)), x)


def pending_vjp(x, captured):
    out, f_vjp = vjp(product(captured), x)
    return lambda: [out, *f_vjp(np.ones(2)), *f_vjp(np.ones(2))]


def pending_linearize(x, captured):
    out, f_lin = linearize(product(captured), x)
    return lambda: [out, f_lin(np.ones(2))]


def pending_jit(x, captured):
    function = jit(product(captured))
    out = function(x)
    return lambda: [out, function(np.ones(2))]


def pending_jit_identity(x, captured):
    outs = jit(lambda y: (y, captured))(x)
    return lambda: outs


def pending_program(x, captured):
    jaxpr = make_jaxpr(product(captured))(x)
    return lambda: eval_jaxpr(jaxpr, jaxpr.consts, np.ones(2))


def pending_compiled_vjp(x, captured):
    out, f_vjp = vjp(jit(product(captured)), x)
    return lambda: [out, *f_vjp(np.ones(2))]


def pending_device_array(x, captured):
    y, z = device_put(x), device_put(captured)
    return lambda: [y, z]


def pending_view(x, captured):
    _, f_vjp = vjp(lambda y: lax.mul(y, captured[::-1]), x)
    return lambda: f_vjp(np.ones(2))


@pytest.mark.parametrize(
    "make",
    [
        pending_vjp,
        pending_linearize,
        pending_jit,
        pending_jit_identity,
        pending_program,
        pending_compiled_vjp,
        pending_device_array,
        pending_view,
    ],
)
def test_overwriting_an_array_after_a_call_changes_nothing(make):
    got, want = overwritten(make)
    assert_same(got, want)


@pytest.mark.parametrize("transform", [lambda f, x: grad(f)(x), lambda f, x: vjp(f, x), lambda f, x: make_jaxpr(f)(x)])
def test_overwriting_a_large_captured_array_while_it_is_needed_is_refused(transform):
    captured = np.ones(10_000)

    def overwrite(x):
        y = lax.reduce_sum(lax.mul(x, captured))
        captured[0] = 0.0
        return y

    with pytest.raises(ValueError, match="read-only"):
        transform(overwrite, np.ones(10_000))
    captured[0] = 1.0


def test_the_results_of_transformations_can_be_written_to_without_harm():
    x = np.array([1.0, 2.0])
    out, f_vjp = vjp(lax.exp, x)
    want = f_vjp(np.ones(2))[0].copy()
    out[:] = 0.0
    np.testing.assert_array_equal(f_vjp(np.ones(2))[0], want)
