"""The table of test programs: a value in floats lies in its bounds, to its own rounding, or it is refused by name."""

from __future__ import annotations

import re

import numpy as np
import pytest
from composites import COMPOSITES
from operations import OPERATIONS

from calque_bounds import bounds
from calque_core import MissingRuleError
from calque_pytree import tree_leaves, tree_map
from calque_xla_backend import jit

TABLE = [*(row for rows in OPERATIONS.values() for row in rows), *COMPOSITES]
PROGRAMS = [row for row in TABLE if {"float32", "float64"} <= set(row.dtypes)]
REFUSED = {
    *("argmax", "argmin", "top_k", "sort", "bitcast_convert_type", "nextafter", "complex", "real", "imag", "conj"),
    *("custom_linear_solve", "custom_root", "threefry2x32", "shift_right_arithmetic"),
    *("lgamma", "digamma", "zeta", "polygamma", "igamma", "igammac", "igamma_grad_a", "random_gamma_grad"),
    *("bessel_i0e", "bessel_i1e", "regularized_incomplete_beta", "fft", "conv_general_dilated", "scatter_mul"),
    *("lu", "cholesky", "qr", "geqrf", "eigh", "eig", "svd", "hessenberg", "tridiagonal", "schur", "triangular_solve"),
    *("tridiagonal_solve", "householder_product", "pure_callback", "debug_callback", "check", "dce_sink"),
    *("psum", "pvary", "all_gather_invariant", "sharding_constraint", "shard_map"),
}


def is_float(x):
    return np.asarray(x).dtype.kind == "f"


def moved(args, distance):
    """Return arguments with another number added to the floats."""
    return tree_map(lambda x: x + np.asarray(distance(x), np.asarray(x).dtype) if is_float(x) else x, args)


def check_refusal(error, evaluator):
    """Check that an error names what is refused; a compiled program, and a degree, refuse more."""
    words = str(error).splitlines()[0]
    named = set(re.findall(r"'(\w+)'", words))
    reasons = ["complex"] + ["depends on the interval", "'taylor'"] * (evaluator != "evaluated")
    assert named & REFUSED or any(reason in words for reason in reasons), words


@pytest.mark.sampled(keep=0.004)
@pytest.mark.parametrize("evaluator", ["evaluated", "compiled", "degree 1"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda row: row.name)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_program_lies_in_its_bounds_or_is_refused(program, dtype, evaluator):
    args = program.example(dtype).args
    f = lambda xs: program.fun(*xs)
    bounded = bounds(f, int(evaluator == "degree 1"))
    lower, upper = (moved(args, lambda x, s=s: s * 1e-3) for s in (-1, 1))
    try:
        low, high = (jit(bounded) if evaluator == "compiled" else bounded)(lower, upper)
    except (TypeError, MissingRuleError) as error:
        check_refusal(error, evaluator)
        return
    rng = np.random.default_rng(0)
    for _ in range(3):
        right = f(moved(args, lambda x: rng.uniform(-1e-3, 1e-3, np.shape(x))))
        for a, b, value in zip(*map(tree_leaves, (low, high, right))):
            a, b, value = map(np.asarray, (a, b, value))
            assert a.dtype == b.dtype == value.dtype
            assert a.shape == b.shape == value.shape
            slack = 16 * np.finfo(dtype).eps * np.abs(value.astype(float))
            assert np.all((a.astype(float) - slack <= value) & (value <= b.astype(float) + slack))
