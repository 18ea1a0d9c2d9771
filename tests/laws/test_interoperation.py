"""Other libraries take our arrays by protocol; each is tested where it is installed."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import calque

X = np.arange(12.0).reshape(3, 4)
SCRIPT = Path(__file__).parent / "scipy_functions.py"


def traced(fun, *args):
    """Return what `fun` computes eagerly on device arrays, compiled, and mapped over one more axis."""
    devices = [calque.device_put(x) for x in args]
    mapped = calque.vmap(fun)(*[x[None] for x in args])
    return [fun(*devices), calque.jit(fun)(*args), np.asarray(mapped)[0]]


def test_einops_computes_by_the_namespace_of_its_argument():
    einops = pytest.importorskip("einops.array_api", reason="einops is not installed")
    for out in traced(lambda x: einops.rearrange(x, "a (b c) -> (a b) c", c=2), X):
        np.testing.assert_array_equal(out, X.reshape(6, 2))
    for out in traced(lambda x: einops.reduce(x, "a b -> b", "mean"), X):
        np.testing.assert_array_equal(out, X.mean(0))
    for out in traced(lambda x: einops.repeat(x, "a b -> a b k", k=2), X):
        np.testing.assert_array_equal(out, np.stack([X, X], -1))
    gradient = calque.grad(lambda x: np.sum(einops.reduce(x, "a b -> a", "sum") ** 2))(X)
    np.testing.assert_array_equal(gradient, np.repeat(2 * X.sum(1)[:, None], 4, 1))
    assert type(einops.asnumpy(calque.device_put(X))) is np.ndarray


def test_opt_einsum_contracts_traced_arrays():
    opt_einsum = pytest.importorskip("opt_einsum", reason="opt_einsum is not installed")
    weights = np.linspace(0.0, 1.0, 9).reshape(3, 3)
    for out in traced(lambda x: opt_einsum.contract("ab,cb,ac->b", x, x, weights), X):
        np.testing.assert_allclose(out, np.einsum("ab,cb,ac->b", X, X, weights))
    expression = opt_einsum.contract_expression("ab,bc,cd->ad", (3, 4), (4, 3), (3, 3))
    np.testing.assert_allclose(calque.jit(lambda x: expression(x, x.T, weights))(X), X @ X.T @ weights)


def test_jaxtyping_checks_shapes_of_all_our_arrays():
    jaxtyping = pytest.importorskip("jaxtyping", reason="jaxtyping is not installed")
    matrix = jaxtyping.Float[calque.numpy.ndarray, "n d"]
    vector = jaxtyping.Float[calque.numpy.ndarray, "n"]
    whole = jaxtyping.Int[calque.numpy.ndarray, "..."]
    seen = []

    def look(x):
        seen.append((isinstance(x, matrix), isinstance(x, vector), isinstance(x, whole)))
        return x

    for transform in (lambda f: f, calque.jit, lambda f: calque.vmap(f, axis_size=2, in_axes=None)):
        transform(look)(X)
    calque.grad(lambda x: np.sum(look(x)))(X)
    look(calque.device_put(X))
    assert seen == [(True, False, False)] * 5


def test_array_api_compat_knows_our_arrays():
    compat = pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")
    seen = []
    calque.jit(lambda x: seen.append((compat.array_namespace(x), compat.is_array_api_obj(x), compat.size(x))) or x)(X)
    assert [(xp.__name__, *others) for xp, *others in seen] == [("calque_numpy", True, 12)]
    x = calque.device_put(X)
    assert compat.array_namespace(x).__name__ == "calque_numpy"
    assert compat.to_device(x, compat.device(x)).shape == (3, 4)


def test_scipy_computes_with_our_arrays_by_their_namespace():
    pytest.importorskip("scipy", reason="scipy is not installed")
    environment = os.environ | {"SCIPY_ARRAY_API": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == 19
    assert [each for each in results if not all(each.values())] == []


def test_scikit_learn_dispatches_by_namespace():
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    program = """
import numpy as np, sklearn, calque
from sklearn.decomposition import PCA
from sklearn.metrics import mean_squared_error
x = np.random.default_rng(0).normal(size=(40, 5))
with sklearn.config_context(array_api_dispatch=True):
    out = PCA(2, svd_solver="full").fit(calque.device_put(x)).explained_variance_
    error = mean_squared_error(calque.device_put(x[:, 0]), calque.device_put(x[:, 1]))
assert type(out) is calque.Array
np.testing.assert_allclose(out, PCA(2, svd_solver="full").fit(x).explained_variance_)
np.testing.assert_allclose(error, np.mean((x[:, 0] - x[:, 1]) ** 2))
"""
    environment = os.environ | {"SCIPY_ARRAY_API": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_ipython_shows_our_values():
    pretty = pytest.importorskip("IPython.lib.pretty", reason="IPython is not installed").pretty
    assert pretty(calque.device_put(X[0])) == "Array([0., 1., 2., 3.], dtype=float64)"
    assert pretty(calque.make_jaxpr(np.sin)(1.0)) == "{ lambda ; a:f64[]. let b:f64[] = sin a in (b,) }"


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), np.from_dlpack])
def test_a_device_array_is_copied_by_pythons_and_numpys_protocols(clone):
    np.testing.assert_array_equal(clone(calque.device_put(X)), X)


def test_torch_and_our_arrays_exchange_memory():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    np.testing.assert_array_equal(torch.from_dlpack(calque.device_put(X)).numpy(), X)
    tensor = torch.arange(4.0)
    array = calque.numpy.from_dlpack(tensor)
    assert array.dtype == np.float32
    np.testing.assert_array_equal(calque.grad(lambda x: np.sum(x**2))(array), 2 * tensor.numpy())
    np.testing.assert_allclose(calque.jit(np.sin)(array), np.sin(array), rtol=1e-6)
