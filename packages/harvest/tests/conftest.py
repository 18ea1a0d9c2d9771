"""Programs that hold programs, built with core alone; and what holds around every test of the package."""

from functools import partial

import pytest

from calque_core import config, lax, make_jaxpr, trace_state_clean


@pytest.fixture(autouse=True)
def at_rest():
    settings = config.current()
    yield
    assert trace_state_clean()
    assert config.current() == settings


def call(f, *args):
    """Return the result of `f` as one operation, `jit`, that holds its program."""
    return lax.jit_p.bind(*args, jaxpr=make_jaxpr(f)(*args), name="f", compiler=None)[0]


def recompute(f, *args):
    """Return the result of `f` as one operation, `remat`, that holds its program."""
    params = {"policy": None, "prevent_cse": True, "differentiated": False}
    return lax.remat_p.bind(*args, jaxpr=make_jaxpr(f)(*args), **params)[0]


# Functions that run `f`, of one array, inside of a program.
INSIDE = {
    "plain": lambda f, x: f(x),
    "jit": call,
    "checkpoint": recompute,
    "jit of jit": lambda f, x: call(partial(call, f), x),
    "cond": lambda f, x: lax.cond(lax.reduce_sum(x) > -1e9, f, f, x),
    "switch": lambda f, x: lax.switch(1, [f, f, f], x),
    "platform": lambda f, x: lax.platform_dependent(x, cpu=f, default=f),
}


@pytest.fixture
def called():
    return call


@pytest.fixture(params=INSIDE)
def inside(request):
    """Return a function that puts a function of one array inside of a program."""
    return lambda f: partial(INSIDE[request.param], f)
