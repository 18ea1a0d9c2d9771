"""The README's example, continued by what a user writes next with what it returned."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize

import calque

ROOT = Path(__file__).parents[2]
FIRST_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture
def readme():
    """Return the names that the README's example leaves behind."""
    code = FIRST_BLOCK.search((ROOT / "README.md").read_text())[1]
    namespace: dict = {"__name__": "readme"}
    exec(compile(code, "README.md", "exec"), namespace)
    return namespace


def test_the_parameters_are_updated_in_place(readme):
    params, step, x, y = (readme[name] for name in ("params", "step", "x", "y"))
    first, gradient = step(params, x, y)
    for _ in range(20):
        value, gradient = step(params, x, y)
        for name in params:
            params[name] -= 0.05 * gradient[name]  # an ndarray on the left, a device array on the right
    assert all(type(p) is np.ndarray and p.dtype == np.float64 for p in params.values())
    assert float(value) < 0.5 * float(first)


def test_momentum_and_clipping_in_place_train_to_the_same_weights(readme):
    params, step, x, y = (readme[name] for name in ("params", "step", "x", "y"))
    velocity = {name: np.zeros_like(p) for name, p in params.items()}
    apart, speed = dict(params), dict(velocity)
    for name in params:
        params[name] = params[name].copy()
    for _ in range(5):
        _, slope = step(apart, x, y)
        speed = {name: 0.9 * speed[name] + np.clip(np.array(slope[name]), -1.0, 1.0) for name in speed}
        apart = {name: apart[name] - 0.01 * speed[name] for name in apart}
        _, gradient = step(params, x, y)
        for name, p in params.items():
            velocity[name] *= 0.9
            velocity[name] += np.clip(gradient[name], -1.0, 1.0)
            p -= 0.01 * velocity[name]
    for name, p in params.items():
        np.testing.assert_allclose(p, apart[name], rtol=1e-12)


def test_results_are_saved_printed_sorted_and_indexed(readme):
    value, gradient = readme["step"](readme["params"], readme["x"], readme["y"])
    file = io.BytesIO()
    np.savez(file, **gradient)
    file.seek(0)
    np.testing.assert_array_equal(np.load(file)["w"], gradient["w"])
    assert f"{value:.3f}" == f"{float(value):.3f}"
    w = gradient["w"]
    assert w[w > 0].size + w[w <= 0].size == w.size
    np.testing.assert_array_equal(w[[0, 2]], np.asarray(w)[[0, 2]])
    assert np.median(w) == np.median(np.asarray(w))
    assert np.histogram(w, bins=3)[0].sum() == w.size
    assert np.allclose(gradient["b"], gradient["b"].tolist())


def test_scipy_minimises_the_same_loss(readme):
    params, loss, x, y = (readme[name] for name in ("params", "loss", "x", "y"))
    names, shapes = list(params), {name: p.shape for name, p in params.items()}
    ends = np.cumsum([p.size for p in params.values()])[:-1]

    def unflatten(flat):
        return {name: part.reshape(shapes[name]) for name, part in zip(names, np.split(flat, list(ends)))}

    step = calque.jit(calque.value_and_grad(lambda flat: loss(unflatten(flat), x, y)))
    start = np.concatenate([p.ravel() for p in params.values()])
    result = scipy.optimize.minimize(step, start, jac=True, method="L-BFGS-B", options={"maxiter": 30})
    assert result.fun < 0.1 * float(step(start)[0])
