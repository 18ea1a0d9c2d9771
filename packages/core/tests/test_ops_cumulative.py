"""Running reductions against their definition: element i is the reduction of the elements up to i."""

import numpy as np
import pytest

from calque_core import eval_jaxpr, lax, make_jaxpr
from calque_core.lax import cumsum_p

X = np.array([[3.0, -1.0, 0.5], [2.0, 4.0, -2.0]])
RUNNING = {
    "cumsum": np.sum,
    "cumprod": np.prod,
    "cummax": np.max,
    "cummin": np.min,
    "cumlogsumexp": lambda x, axis: np.log(np.sum(np.exp(x), axis)),
}


@pytest.mark.parametrize("name", RUNNING)
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("reverse", [False, True])
def test_each_element_reduces_the_elements_before_it(name, axis, reverse):
    x = np.flip(X, axis) if reverse else X
    rows = [RUNNING[name](np.take(x, range(i + 1), axis), axis) for i in range(x.shape[axis])]
    want = np.stack(rows, axis)
    out = getattr(lax, name)(X, axis, reverse=reverse)
    np.testing.assert_allclose(out, np.flip(want, axis) if reverse else want, rtol=1e-15)


@pytest.mark.parametrize("name", RUNNING)
@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_the_decomposition_is_the_operation(name, size):
    x = np.linspace(0.5, 1.5, size)
    rule = getattr(lax, f"{name}_p").rules["decomposition"]
    np.testing.assert_allclose(rule(x, axis=0, reverse=True), getattr(lax, name)(x, 0, reverse=True), rtol=1e-14)


def test_a_running_log_of_sums_keeps_infinities_and_does_not_overflow():
    x = np.array([-np.inf, -np.inf, 1000.0, np.inf, 1.0])
    assert lax.cumlogsumexp(x).tolist() == [-np.inf, -np.inf, 1000.0, np.inf, np.inf]
    jaxpr = make_jaxpr(lambda x: lax.cumlogsumexp_p.rules["decomposition"](x, axis=0, reverse=False))(x)
    assert eval_jaxpr(jaxpr, jaxpr.consts, x)[0].tolist() == [-np.inf, -np.inf, 1000.0, np.inf, np.inf]


def test_half_precision_is_summed_in_single():
    assert lax.cumsum(np.ones(3000, np.float16))[-1] == 3000.0


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "complex64"])
def test_the_dtype_is_kept(dtype):
    assert lax.cumsum(np.ones(3, dtype)).dtype == dtype
    assert make_jaxpr(lax.cumsum)(np.ones(3, dtype)).eqns[0].primitive is cumsum_p


def test_bools_and_complex_numbers_are_refused_where_they_have_no_meaning():
    with pytest.raises(TypeError, match="cumsum"):
        lax.cumsum(np.array([True]))
    with pytest.raises(TypeError, match="cumlogsumexp"):
        lax.cumlogsumexp(np.array([1j]))
    with pytest.raises(ValueError, match=r"cumprod at .*: axis 2 is out of range for ndim 2"):
        lax.cumprod(X, 2)
