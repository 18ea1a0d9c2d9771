"""`x += y` in a function that is transformed: NumPy's answer, or a refusal."""

from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import checkpoint, custom_jvp, grad, jvp, linearize, value_and_grad, vjp
from calque_batching import vmap
from calque_core import UnexpectedTracerError, lax, make_jaxpr
from calque_jet import jet
from calque_xla_backend import device_put, jit

X = np.array([1.0, 2.0, 3.0])
TRANSFORMATIONS = {
    "jit": lambda f: jit(f)(X),
    "grad": lambda f: grad(f)(X),
    "value_and_grad": lambda f: value_and_grad(f)(X),
    "jvp": lambda f: jvp(f, (X,), (X,)),
    "vjp": lambda f: vjp(f, X),
    "linearize": lambda f: linearize(f, X),
    "vmap": lambda f: vmap(f)(X[None]),
    "make_jaxpr": lambda f: make_jaxpr(f)(X),
    "jet": lambda f: jet(f, (X,), ([X],)),
    "grad of jit": lambda f: grad(jit(f))(X),
    "jit of grad": lambda f: jit(grad(f))(X),
    "vmap of grad": lambda f: vmap(grad(f))(X[None]),
    "grad of checkpoint": lambda f: grad(checkpoint(f))(X),
    "a branch": lambda f: lax.cond(True, f, f, X),
    "a loop": lambda f: lax.map(f, X[None]),
}


def alias(x):
    y = x
    y += 1.0
    return np.sum(x * y)


def row(x):
    m = np.reshape(x, (1, 3))
    r = m[0]
    r *= 2.0
    return np.sum(m * 1.0)


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("f", [alias, row])
def test_a_use_of_what_was_overwritten_is_refused(transformation, f):
    with pytest.raises(UnexpectedTracerError, match=r"test_in_place\.py:\d+ \(.*\) changed its array in place"):
        TRANSFORMATIONS[transformation](f)


def halved(x):
    total = x * x
    total += x
    total *= 0.5
    x -= total
    return np.sum(x)


def halved_copy(x):
    total = x.copy()
    total *= x
    total += x
    total *= 0.5
    return np.sum(x - total)


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("f", [halved, halved_copy])
def test_a_sum_in_place_is_the_sum(transformation, f):
    def plain(x):
        return np.sum(x - (x * x + x) * 0.5)

    def leaves(tree):
        return [tree] if not isinstance(tree, (tuple, list)) else [y for x in tree for y in leaves(x)]

    got, want = (leaves(TRANSFORMATIONS[transformation](fun)) for fun in (f, plain))
    for x, y in zip(got, want, strict=True):
        if hasattr(x, "dtype"):
            np.testing.assert_allclose(np.asarray(x), np.asarray(y))


def test_a_function_with_a_rule_may_overwrite_what_it_makes():
    @custom_jvp
    def f(x):
        y = x * 1.0
        y += x
        return y

    @f.defjvp
    def f_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        t = t * 1.0
        t += t
        return f(x), t

    np.testing.assert_array_equal(grad(lambda x: np.sum(f(x)))(X), np.full(3, 2.0))


def test_a_device_array_is_rebound():
    x = device_put(X)
    y = x
    y += 1.0
    np.testing.assert_array_equal(np.asarray(x), X)
    np.testing.assert_array_equal(np.asarray(y), X + 1.0)
