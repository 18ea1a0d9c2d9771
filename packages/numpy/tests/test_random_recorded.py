"""Random numbers are those of `jax.random` at equal dtypes: bit by bit; normal numbers to 4 units in the last place.

Formulas of uniform and normal numbers agree as closely as NumPy's and XLA's functions do.  The table of distributions
was made by `tests/laws/record_random.py`; nothing here needs jax.
"""

import json
import zlib
from pathlib import Path

import numpy as np
import pytest

from calque_core import config, eval_jaxpr, make_jaxpr
from calque_numpy import random

pytestmark = pytest.mark.sampled(keep=0.1)

CASES = json.loads((Path(__file__).parent / "recorded_random.json").read_text())["cases"]
EXACT = {"bits", "uniform", "normal", "binomial", "multinomial"}
RTOL = {"float16": 2e-3, "float32": 3e-5, "float64": 1e-12}
CALLS = sorted({case["call"] for case in CASES})


def computed(case, call_recorded):
    """Return the result as it is evaluated, and as its traced program gives it."""
    key = random.PRNGKey(case["seed"])
    if case["call"] == "key":
        return [key]

    def program(k):
        return call_recorded(case, k)

    jaxpr = make_jaxpr(program)(key)
    with np.errstate(all="ignore"):  # of candidates that are not chosen
        return [program(key), *eval_jaxpr(jaxpr, jaxpr.consts, key)]


def assert_recorded(case, got):
    got = np.asarray(got)
    assert (got.dtype.name, list(got.shape)) == (case["dtype"], case["shape"])
    if "crc32" in case:
        assert zlib.crc32(got.tobytes()) == case["crc32"]
        return
    flat = got.ravel()[case["at"]] if "at" in case else got.ravel()
    want = np.array(case["values"], got.dtype)
    if case["call"] not in EXACT and got.dtype.kind == "f":
        rtol = RTOL[got.dtype.name]
        np.testing.assert_allclose(flat, want, rtol, atol=rtol)
    elif case["call"] == "normal":
        np.testing.assert_array_less(np.abs(flat - want), 4.5 * np.spacing(np.abs(want)))
    else:
        np.testing.assert_array_equal(flat, want)


@pytest.mark.parametrize("x64", [True, False])
@pytest.mark.parametrize("call", CALLS)
def test_every_number_is_the_recorded_one(call, x64, call_recorded):
    cases = [case for case in CASES if case["call"] == call and case["x64"] == x64]
    assert cases
    for case in cases:
        with config.enable_x64(x64):
            for got in computed(case, call_recorded):
                assert_recorded(case, got)


@pytest.mark.parametrize("call", ["bits", "uniform", "normal", "randint", "permutation"])
def test_default_dtypes_alone_give_the_numbers_of_32_bits(call):
    """Where 64 bits are kept, but are not the default, numbers without a dtype are those of 32 bits."""
    args = {"randint": ((4,), 0, 9), "permutation": (5,)}.get(call, ((4,),))
    keys = random.PRNGKey(3)
    with config.enable_x64(False):
        want = getattr(random, call)(keys, *args)
    with config.default_dtype_bits(32):
        got = getattr(random, call)(keys, *args)
    assert got.dtype == want.dtype
    assert got.dtype.itemsize == 4
    np.testing.assert_array_equal(got, want)
