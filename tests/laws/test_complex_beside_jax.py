"""Derivatives of complex functions are jax's: the same conventions, to rounding."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import complex_functions
import numpy as np
import pytest

import calque
import calque_numpy

pytestmark = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")

CASES = [name for functions in complex_functions.KINDS.values() for name in functions]


@pytest.fixture(scope="module")
def jaxs(tmp_path_factory):
    """Return jax's answers, computed in a process of their own."""
    path = tmp_path_factory.mktemp("jax") / "answers.npz"
    subprocess.run([sys.executable, "-W", "ignore", complex_functions.__file__, str(path)], check=True)
    with np.load(path) as file:
        return dict(file)


@pytest.fixture(scope="module", params=[np, calque_numpy], ids=["plain numpy", "calque_numpy"])
def ours(request):
    with np.errstate(all="ignore"):
        return complex_functions.answers(calque, request.param)


@pytest.mark.parametrize("name", CASES)
def test_the_answers_are_jaxs(name, ours, jaxs):
    mine = {key: value for key, value in ours.items() if key.startswith(f"{name}: ")}
    assert len(mine) >= 3
    for key, value in mine.items():
        assert (value.dtype, value.shape) == (jaxs[key].dtype, jaxs[key].shape), key
        np.testing.assert_allclose(value, jaxs[key], rtol=1e-12, atol=1e-12, err_msg=key)


def test_the_same_questions_were_asked(ours, jaxs):
    assert set(ours) == set(jaxs)
