"""What holds around every test of the package: `jax` is calque, and the thread is left as it was found."""

import pytest

import calque_as_jax
from calque_core import config, trace_state_clean


@pytest.fixture(autouse=True)
def at_rest():
    calque_as_jax.install()
    settings = config.current()
    yield
    assert trace_state_clean()
    assert config.current() == settings
