"""The dtypes of ml_dtypes under transformations and their pairs, and their promotion beside jax's."""

from __future__ import annotations

import importlib.util

import ml_dtypes
import numpy as np
import pytest

import calque_numpy as cnp
from calque_autodiff import grad, jvp, vjp
from calque_batching import vmap
from calque_core import eval_jaxpr, lax, make_jaxpr, promote_types
from calque_core.engine import SHORT_DTYPES
from calque_core.extend import is_float
from calque_xla_backend import jit

pytestmark = pytest.mark.sampled(keep=0.3)

FLOATS = sorted(name for name in SHORT_DTYPES if is_float(np.dtype(getattr(ml_dtypes, name))))
INTEGERS = sorted({*SHORT_DTYPES} - {*FLOATS})
WEIGHTS = [1, -2, 3, 0]


def of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


# Integers of 4 bits


@pytest.mark.parametrize("transform", [lambda f: f, jit, lambda f: jit(jit(f))], ids=["eager", "jit", "jit jit"])
def test_the_gradient_of_a_function_with_constants_of_4_bits(transform):
    weights = np.array(WEIGHTS).astype(ml_dtypes.int4)

    def loss(x):
        return cnp.sum(lax.square(x * lax.convert_element_type(weights, np.float64)))

    x = np.array([1.0, 2.0, 0.5, 4.0])
    np.testing.assert_array_equal(transform(grad(loss))(x), 2 * x * np.square(WEIGHTS))
    np.testing.assert_array_equal(grad(transform(loss))(x), 2 * x * np.square(WEIGHTS))


def quantized(x, w):
    """Return a product with weights of 4 bits, summed in int32, as quantized networks compute it."""
    return lax.dot(x, w, preferred_element_type=np.int32)


@pytest.mark.parametrize("name", INTEGERS)
def test_batches_of_4_bits_are_stacks_of_single_results(name):
    xs = np.random.default_rng(0).integers(0, 8, (5, 3, 4)).astype(of(name))
    w = np.random.default_rng(1).integers(0, 8, (4, 2)).astype(of(name))
    want = np.stack([quantized(x, w) for x in xs])
    for mapped in (vmap(quantized, (0, None)), jit(vmap(quantized, (0, None))), vmap(jit(quantized), (0, None))):
        got = mapped(xs, w)
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got, want)
    programs = [
        lambda x: lax.add(x, x), lambda x: lax.sort(x, 1), lambda x: lax.reduce_sum(x, 0), lambda x: lax.cumsum(x, 1),
        lambda x: lax.bitcast_convert_type(x, np.int8) if x.shape[-1] == 2 else lax.argmax(x, 1), lambda x: x[1, ::2],
    ]  # fmt: skip
    for program in programs:
        got, want = vmap(program)(xs), np.stack([program(x) for x in xs])
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(np.asarray(got).astype(int), want.astype(int))


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_of_4_bits_have_no_tangents(name):
    x = np.arange(4).astype(of(name))
    with pytest.raises(TypeError, match=rf"{name}, which has no derivative"):
        grad(lambda x: cnp.sum(lax.convert_element_type(x, np.float32)))(x)
    out, pullback = vjp(lambda y: lax.mul(y, lax.convert_element_type(x, np.float32)), np.ones(4, np.float32))
    (ct,) = pullback(out)
    np.testing.assert_array_equal(ct, np.square(np.arange(4.0)))


@pytest.mark.parametrize("name", sorted(SHORT_DTYPES))
def test_a_staged_program_prints_its_short_dtypes_and_evaluates_as_written(name):
    x = np.array([1, 2, 3]).astype(of(name))
    jaxpr = make_jaxpr(lambda x: lax.add(lax.mul(x, 2), x))(x)
    (out,) = eval_jaxpr(jaxpr, jaxpr.consts, x)
    assert out.dtype == x.dtype
    assert out.astype(float).tolist() == lax.add(lax.mul(x, 2), x).astype(float).tolist()


# Floats


@pytest.mark.parametrize("name", FLOATS)
def test_derivatives_keep_a_short_float(name):
    x = np.array([0.5, 1.0, 1.5]).astype(of(name))
    for function in (grad(lambda x: cnp.sum(x * x)), jit(grad(lambda x: cnp.sum(x * x)))):
        out = function(x)
        assert out.dtype == x.dtype
        assert np.asarray(out).astype(float).tolist() == [1.0, 2.0, 3.0]
    out, out_dot = jvp(lambda x: x + x, (x,), (x,))
    assert (out.dtype, out_dot.dtype) == (x.dtype, x.dtype)
    each = vmap(grad(lambda x: x * x))(x)
    assert (each.dtype, np.asarray(each).astype(float).tolist()) == (x.dtype, [1.0, 2.0, 3.0])


# Promotion beside jax's


NUMPY = ["bool", "int8", "int64", "uint8", "float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")
@pytest.mark.parametrize("short", sorted(SHORT_DTYPES))
@pytest.mark.parametrize("other", [*NUMPY, *sorted(SHORT_DTYPES), True, 1, 0.5, 1j], ids=str)
def test_short_dtypes_promote_as_in_jax_or_are_refused_as_there(short, other):
    import jax  # noqa: PLC0415 -- optional: the mark says why the test is skipped without it

    def outcome(function):
        try:
            return np.dtype(function())
        except (TypeError, ValueError):  # jax's error of promotion is a ValueError
            return TypeError

    with jax.enable_x64(True):
        if isinstance(other, str):
            theirs = outcome(lambda: jax.numpy.promote_types(of(short), of(other)))
            assert outcome(lambda: promote_types(of(short), of(other))) == theirs
            assert outcome(lambda: promote_types(of(other), of(short))) == theirs
        else:
            theirs = outcome(lambda: jax.numpy.result_type(jax.numpy.ones(2, of(short)), other))
            assert outcome(lambda: lax.mul(np.ones(2, of(short)), other).dtype) == theirs
