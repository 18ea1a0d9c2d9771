"""What holds around every test of the package: it leaves the thread as it found it."""

import sys
from pathlib import Path

import pytest

from calque_core import config, trace_state_clean

sys.path.insert(0, str(Path(__file__).parent))  # the tests share `differences.py`


@pytest.fixture(autouse=True)
def at_rest():
    settings = config.current()
    yield
    assert trace_state_clean()
    assert config.current() == settings
