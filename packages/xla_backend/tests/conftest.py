"""What the tests of lowering rules share: a compiled program gives what evaluation gives.

Dtype and shape agree exactly, values to a number of ulps that each test states; 0 means equal, NaN equal to NaN.
An ulp is the spacing of floats relative to the value: eps * |value|, and for complex numbers that of their size.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import calque_xla_backend as backend
from calque_core import canonicalize_dtype, config
from calque_core.avals import typeof
from calque_pytree import tree_leaves

DTYPES = {
    "b": ["bool"],
    "i": ["int8", "int16", "int32", "int64"],
    "u": ["uint8", "uint16", "uint32", "uint64"],
    "f": ["float16", "float32", "float64"],
    "c": ["complex64", "complex128"],
}


@pytest.fixture(params=[True, False], ids=["x64", "x32"])
def regime(request):
    """Run the test with 64-bit dtypes, and with 32 bits at most."""
    with config.enable_x64(request.param):
        yield request.param


@pytest.fixture
def dtypes_of():
    """Return the function that gives the names of the dtypes of some kinds, 'if' say."""
    return _dtypes_of


def _dtypes_of(kinds):
    """Return all of them; where dtypes have 32 bits at most, only those that this changes."""
    names = [dtype for kind in kinds for dtype in DTYPES[kind]]
    is_x64 = config.current().enable_x64
    return [name for name in names if is_x64 or canonicalize_dtype(name) != name]


@pytest.fixture
def check_compiled():
    """Return the function that checks `fun(*case)` for all cases, compiled together into one program."""
    return _check_compiled


def _check_compiled(fun, cases, ulps=0):
    def program(*operands):
        rest = iter(operands)
        return [fun(*[next(rest) for _ in case]) for case in cases]

    operands = [x for case in cases for x in case]
    compiled = backend.jit(program)(*operands)
    with np.errstate(all="ignore"):
        evaluated = program(*operands)
    for case, got, want in zip(cases, compiled, evaluated):
        for one_got, one_want in zip(tree_leaves(got), tree_leaves(want), strict=True):
            _check_equal(case, np.asarray(one_got), np.asarray(one_want, typeof(one_want).dtype), ulps)


def _check_equal(case, got, want, ulps):
    types = ", ".join(f"{np.asarray(x).dtype}{np.shape(x)}" for x in case)
    assert (got.dtype, got.shape) == (want.dtype, want.shape), types
    distance = _ulps_between(got, want)
    if distance.size and not distance.max() <= ulps:
        worst = np.unravel_index(distance.argmax(), distance.shape)
        at_worst = [np.asarray(x)[worst] for x in case if np.shape(x) == distance.shape]
        pytest.fail(f"({types}) at {at_worst}: {got[worst]}, evaluated {want[worst]}, {distance.max()} ulps apart")


def _ulps_between(got, want):
    is_equal = (got == want) | ((got != got) & (want != want))
    if want.dtype.kind not in "fcV":
        return np.where(is_equal, 0, np.inf)
    eps = float(ml_dtypes.finfo(np.real(want).dtype).eps)
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    got, want = got.astype(wide), want.astype(wide)
    with np.errstate(all="ignore"):
        distance = np.abs(got - want) / (eps * np.maximum(np.abs(got), np.abs(want)))
    return np.where(is_equal, 0, np.where(np.isfinite(distance), distance, np.inf))
