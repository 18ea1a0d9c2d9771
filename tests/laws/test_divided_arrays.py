"""Arrays over several devices in NumPy's functions: the claims of `divided_arrays.py`, on eight devices."""

import ast
from pathlib import Path

import pytest
from many_devices import outcomes_of

SCRIPT = Path(__file__).with_name("divided_arrays.py")
FUNCTIONS = [node.name for node in ast.parse(SCRIPT.read_text()).body if isinstance(node, ast.FunctionDef)]
CLAIMS = [name for name in FUNCTIONS if name.startswith("check_")]


@pytest.fixture(scope="module")
def outcomes():
    return outcomes_of(SCRIPT, *CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS)
def test_on_eight_devices(claim, outcomes):
    assert outcomes[claim] == "ok", outcomes[claim]
