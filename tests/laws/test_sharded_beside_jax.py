"""Sharded programs beside jax's on devices of its own: results and cotangents, with and without checked types.

Where a derivative is taken inside a body, `check_vma` decides what it is: with it, the gradient of a sum over the
shards is the gradient of the sum; without it, each shard adds up the gradients of all sums.  jax's answer counts.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest
import twin_shards
from twin_shards import TWINS, Library, sharded, value_and_cotangents

from calque_autodiff import grad, vjp
from calque_core import AbstractMesh, PartitionSpec, lax, shard_map

pytestmark = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")
OURS = Library(np, lax, grad, shard_map, PartitionSpec)
SIZE = 4


@pytest.fixture(scope="module")
def theirs():
    """Return what jax makes of each program: nested lists by name and `check_vma`."""
    env = os.environ | {"XLA_FLAGS": f"--xla_force_host_platform_device_count={SIZE}", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, twin_shards.__file__, str(SIZE)],
        capture_output=True, text=True, timeout=300, check=False, env=env,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = map(ast.literal_eval, done.stdout.splitlines())
    return {(name, check_vma): leaves for name, check_vma, leaves in lines}


@pytest.mark.parametrize("check_vma", [True, False], ids=["checked", "unchecked"])
@pytest.mark.parametrize("name", TWINS)
def test_results_and_cotangents_are_those_of_jax(name, check_vma, theirs):
    twin = TWINS[name]
    fun = sharded(twin, OURS, AbstractMesh((SIZE,), ("i",)), check_vma)
    ours = value_and_cotangents(fun, vjp, twin.args)
    for x, peer in zip(ours, theirs[name, check_vma], strict=True):
        np.testing.assert_allclose(x, peer, rtol=1e-12, atol=1e-12)
