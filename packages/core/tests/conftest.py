"""What holds around every test of core: it leaves the thread as it found it."""

import pytest

from calque_core import evaluation
from calque_core.context import DEFAULT_SETTINGS, Context, active, context


@pytest.fixture(autouse=True)
def at_rest():
    yield
    assert not active
    assert context.trace is evaluation
    assert context.axis_env == ()
    assert context.settings is DEFAULT_SETTINGS
    assert Context.settings is DEFAULT_SETTINGS
    assert context.source is None
