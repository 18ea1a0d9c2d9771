"""A nan is found with its pass under every way to run a gradient."""

import numpy as np
import pytest
from composites import COMPOSITES
from operations import OPERATIONS
from transformations import TRANSFORMATIONS, batch_of, is_mapped

from calque_autodiff import grad, vjp
from calque_batching import vmap
from calque_core import config, lax
from calque_xla_backend import device_put, jit


@pytest.fixture(autouse=True)
def quiet_numpy():
    with np.errstate(all="ignore"):
        yield


def hidden(x):
    return lax.mul(lax.sqrt(x), 0.0)


PLACE = f"at test_debugging.py:{hidden.__code__.co_firstlineno + 1} (hidden)"


def pulled(x):
    return vjp(hidden, x)[1](1.0)


WAYS = {
    "grad": grad(hidden),
    "jit of grad": jit(grad(hidden)),
    "grad of jit": grad(jit(hidden)),
    "jit of grad of jit": jit(grad(jit(hidden))),
    "vjp": pulled,
    "jit of vjp": jit(pulled),
    "vmap of grad": lambda x: vmap(grad(hidden))(np.stack([x, x + 1])),
    "jit of vmap of grad": lambda x: jit(vmap(grad(hidden)))(np.stack([x, x + 1])),
    "on a device": lambda x: grad(hidden)(device_put(x)),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_backward_pass_and_the_line_are_named(way):
    with config.debug_nans(), pytest.raises(FloatingPointError) as caught:
        WAYS[way](np.float64(0.0))
    assert "mul of 0.0 and inf" in str(caught.value)
    assert f"in the backward pass of the operation {PLACE}" in str(caught.value)


@pytest.mark.parametrize("way", WAYS)
def test_the_forward_pass_and_the_line_are_named(way):
    with config.debug_infs(), pytest.raises(FloatingPointError) as caught:
        WAYS[way](np.float64(0.0))
    assert "div of 0.5 and 0.0" in str(caught.value)
    assert f"{PLACE}, in the forward pass" in str(caught.value)


@pytest.mark.parametrize("way", WAYS)
def test_a_good_number_passes(way):
    with config.debug_nans(), config.debug_infs():
        WAYS[way](np.float64(1.0))


@pytest.mark.parametrize("way", WAYS)
def test_without_the_settings_the_nan_is_returned(way):
    assert np.isnan(np.ravel(WAYS[way](np.float64(0.0)))[0])


PROGRAMS = [*(row for rows in OPERATIONS.values() for row in rows), *COMPOSITES]


@pytest.mark.sampled(keep=1.0, rows=["program"])
@pytest.mark.parametrize("program", PROGRAMS, ids=[p.name for p in PROGRAMS])
def test_no_rule_makes_a_nan_or_an_infinity_of_ordinary_numbers(program, sample):
    dtype = "float64" if "float64" in program.dtypes else program.dtypes[0]
    example = program.example(dtype)
    with config.debug_nans(), config.debug_infs():
        for name, transform in sample(list(TRANSFORMATIONS.items()), 0.2):
            transform(example, [is_mapped(x) for x in example.leaves])(*batch_of(program, dtype, int(name == "vmap")))
