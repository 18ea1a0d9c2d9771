"""Linear algebra for GPUs: our programs call the kernels that jax's call, with the same types, layouts and parameters.

Both programs are texts, on a machine without a GPU; `test_on_gpu.py` runs ours on one.
"""

import re

import numpy as np
import pytest

from calque import jit
from calque.export import deserialize, export
from calque_core.lax import linalg

jax = pytest.importorskip("jax", reason="jax, which only this module needs, is not installed")

PARTS = {
    "target": r"custom_call @(\w+)\(",
    "parameters": r"backend_config = (\{[^}]*\})",
    "layouts of operands": r"operand_layouts = \[(.*?index>)\]",
    "aliases": r"output_operand_aliases = (.*?\[\]>\])",
    "layouts of results": r"result_layouts = \[(.*?index>)\]",
    "types": r"\} : (\(tensor.*)$",
}
SQUARE, COMPLEX = np.zeros((2, 3, 3)), np.zeros((2, 3, 3), np.complex64)
TALL, TAUS = np.zeros((2, 5, 3)), np.zeros((2, 3))
LARGE = np.zeros((1030, 1026), np.float32)  # jax has another kernel for small matrices
BANDS = [*np.zeros((3, 4)), np.zeros((4, 2))]

CASES = {
    "cholesky": (linalg.cholesky_p.bind, lambda x: jax.lax.linalg.cholesky(x, symmetrize_input=False), [SQUARE]),
    "cholesky of complex": (
        linalg.cholesky_p.bind, lambda x: jax.lax.linalg.cholesky(x, symmetrize_input=False), [COMPLEX],
    ),
    "lu": (linalg.lu, jax.lax.linalg.lu, [TALL]),
    "qr": (lambda x: linalg.qr(x, full_matrices=False), lambda x: jax.lax.linalg.qr(x, full_matrices=False), [TALL]),
    "householder": (linalg.householder_product, jax.lax.linalg.householder_product, [TALL, TAUS]),
    "eigh": (
        lambda x: linalg.eigh_p.bind(x, lower=True),
        lambda x: jax.lax.linalg.eigh(x, symmetrize_input=False, sort_eigenvalues=False), [SQUARE],
    ),
    "eigh of complex": (
        lambda x: linalg.eigh_p.bind(x, lower=True),
        lambda x: jax.lax.linalg.eigh(x, symmetrize_input=False, sort_eigenvalues=False), [COMPLEX],
    ),
    "svd": (
        lambda x: linalg.svd_p.bind(x, full_matrices=False, compute_uv=True),
        lambda x: jax.lax.linalg.svd(x, full_matrices=False), [LARGE],
    ),
    "svd, full": (
        lambda x: linalg.svd_p.bind(x, full_matrices=True, compute_uv=True),
        lambda x: jax.lax.linalg.svd(x, full_matrices=True), [LARGE],
    ),
    "svd, values alone": (
        lambda x: linalg.svd_p.bind(x, full_matrices=False, compute_uv=False),
        lambda x: jax.lax.linalg.svd(x, full_matrices=False, compute_uv=False), [LARGE],
    ),
    "tridiagonal_solve": (linalg.tridiagonal_solve, jax.lax.linalg.tridiagonal_solve, BANDS),
}  # fmt: skip
ONLY_JAX = "cu_lu_pivots_to_permutation"  # ours is a program of other operations


def calls(text):
    """Return the parts of each call of a kernel by name."""
    lines = [line for line in text.splitlines() if "custom_call @" in line and ONLY_JAX not in line]
    return [{name: re.findall(part, line) for name, part in PARTS.items()} for line in lines]


@pytest.mark.parametrize("name", CASES)
def test_a_program_for_cuda_calls_the_kernels_of_jaxs_program(name):
    ours, theirs, args = CASES[name]
    with jax.enable_x64(True):
        expected = jax.jit(theirs).trace(*args).lower(lowering_platforms=("cuda",)).as_text()
    found = calls(jit(ours).trace(*args).lower(platform="cuda").as_text())
    assert found
    assert all(call[name] for call in found for name in PARTS if name != "aliases")
    assert found == calls(expected)


@pytest.mark.parametrize("args", [{"transpose_a": True}, {"conjugate_a": True, "transpose_a": True}, {"lower": True}])
def test_triangular_systems_are_an_operation_of_xlas_own(args):
    usual = {"left_side": True, "lower": False, "transpose_a": False, "conjugate_a": False, "unit_diagonal": False}
    ours = jit(lambda a, b: linalg.triangular_solve_p.bind(a, b, **(usual | args))).trace(COMPLEX, COMPLEX)
    with jax.enable_x64(True):
        theirs = jax.jit(lambda a, b: jax.lax.linalg.triangular_solve(a, b, **(usual | args))).trace(COMPLEX, COMPLEX)
        expected = theirs.lower(lowering_platforms=("cuda",)).as_text()
    texts = [ours.lower(platform="cuda").as_text(), expected]
    (ours_line,), (theirs_line,) = (re.findall(r'"stablehlo\.triangular_solve"\(.*(<\{.*)', text) for text in texts)
    assert ours_line == theirs_line


@pytest.mark.parametrize("name", CASES)
def test_a_program_for_cuda_can_be_exported(name):
    """Reading an exported program checks that it calls known kernels alone."""
    fun, _, args = CASES[name]
    exported = deserialize(export(jit(fun), platforms=("cuda",))(*args).serialize())
    assert exported.platforms == ("cuda",)
