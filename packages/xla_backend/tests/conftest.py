"""Shared by the tests of lowering rules: a compiled program returns the results of evaluation.

Dtype and shape agree exactly, values to a number of ulps that each test states; 0 means equal, NaN equal to NaN.
An ulp is the spacing of floats relative to the value: eps * |value|, and for complex numbers that of their size.
"""

from __future__ import annotations

import socket
import sys
from fnmatch import fnmatch
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from jaxlib import version as jaxlib_version

import calque_xla_backend as backend
from calque_core import canonicalize_dtype, config
from calque_core.types.avals import typeof
from calque_pytree import tree_leaves

sys.path.insert(0, str(Path(__file__).parent))  # for `claims.py`
# scripts for processes with several devices
collect_ignore = ["two_devices.py", "shards.py", "pmaps.py", "shardings.py", "partitions.py"]
collect_ignore += ["process_claims.py", "process_endings.py"]

# What jaxlib does with a program, and with several devices or processes: one Python of each jaxlib asks for it.
DIVIDED = ["test_rules_*", "test_partition", "test_pmap", "test_processes", "test_sharding", "test_two_devices"]
DIVIDED += ["test_compilation_cache*", "test_export", "test_ffi", "test_flags"]


def pytest_itemcollected(item):
    if item.path.parent == Path(__file__).parent and any(fnmatch(item.path.stem, name) for name in DIVIDED):
        item.add_marker("divided")


DTYPES = {
    "b": ["bool"],
    "i": ["int8", "int16", "int32", "int64"],
    "u": ["uint8", "uint16", "uint32", "uint64"],
    "f": ["float16", "float32", "float64"],
    "c": ["complex64", "complex128"],
}


@pytest.fixture(scope="session")
def free_port():
    """Return the function that gives the number of a port of this machine that nobody uses."""
    return _free_port


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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
def check_compiled(sample):
    """Return the function that checks `fun(*case)` for all cases, compiled together into few programs.

    Where cases are sampled, so are those of the loop inside a test: at least one of each combination of dtypes.
    """
    return lambda fun, cases, ulps=0: _check_compiled(fun, _sample_of_each_type(cases, sample), ulps)


# XLA compiles a kernel for each case in 20 ms, and without optimisation by its older emitter in 3.  Neither is the
# subject: most cases are compiled so; not bools, which the older emitter cannot clamp.  Jaxlib 0.11 and later have one
# emitter, which takes 15 ms without optimisation.
QUICKLY = {"xla_backend_optimization_level": 0}
if jaxlib_version.__version_info__ < (0, 11):
    QUICKLY["xla_cpu_use_fusion_emitters"] = False


@pytest.fixture
def quickly():
    """Return the options with which the compiler takes a quarter of its time, where this jaxlib has any."""
    return QUICKLY


def _sample_of_each_type(cases, sample):
    by_type = {}
    for case in cases:
        by_type.setdefault(_dtypes(case), []).append(case)
    return [case for alike in by_type.values() for case in sample(alike, 0.2)]


def _check_compiled(fun, cases, ulps):
    as_users = _compiled_as_users_do(cases)
    _check_program(fun, [case for i, case in enumerate(cases) if i in as_users], ulps, {})
    _check_program(fun, [case for i, case in enumerate(cases) if i not in as_users], ulps, QUICKLY)


def _compiled_as_users_do(cases):
    """Return the indices of the largest case of each combination of dtypes, which has the special numbers.

    Where dtypes have 32 bits at most there are only bools: the programs are those of 32-bit operands, tested beside 64.
    """
    in_order = sorted(range(len(cases)), key=lambda i: _size(cases[i]))
    largest = {_dtypes(cases[i]): i for i in in_order} if config.current().enable_x64 else {}
    return {*largest.values(), *(i for i in in_order if "bool" in _dtypes(cases[i]))}


def _dtypes(case):
    return tuple(typeof(x).dtype.name for x in case)


def _size(case):
    return max((np.size(x) for x in case), default=0)


def _check_program(fun, cases, ulps, compiler_options):
    def program(*operands):
        values = iter(operands)
        return [fun(*[next(values) for _ in case]) for case in cases]

    operands = [x for case in cases for x in case]
    compiled = backend.jit(program, compiler_options=compiler_options)(*operands)
    with np.errstate(all="ignore"):
        evaluated = program(*operands)
    for case, got, want in zip(cases, compiled, evaluated, strict=True):
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
