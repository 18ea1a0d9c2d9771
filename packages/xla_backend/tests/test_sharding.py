"""Arrays over several devices: the claims of `shardings.py`, in a process with eight devices."""

from pathlib import Path

import pytest
from claims import claims_of, outcomes_of

SCRIPT = Path(__file__).with_name("shardings.py")


@pytest.fixture(scope="module")
def outcomes():
    return outcomes_of(SCRIPT)


@pytest.mark.parametrize("claim", claims_of(SCRIPT))
def test_on_eight_devices(claim, outcomes):
    assert outcomes[claim] == "ok", outcomes[claim]
