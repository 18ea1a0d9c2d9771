"""`pmap` means what `vmap` means, under every transformation: the claims of `pmapped.py`, on several devices."""

from pathlib import Path

import pytest
from many_devices import outcomes_of
from pmapped import PROGRAMS, TRANSFORMATIONS

SCRIPT = Path(__file__).with_name("pmapped.py")
CLAIMS = [f"{program.__name__}-{name}" for program in PROGRAMS for name in TRANSFORMATIONS]


@pytest.fixture(scope="module")
def outcomes(request):
    """Return the outcomes of the chosen claims, which one process checks on eight devices."""
    chosen = [item.callspec.id for item in request.session.items if item.path == Path(__file__)]
    return outcomes_of(SCRIPT, *chosen)


@pytest.mark.sampled(keep=0.3)
@pytest.mark.parametrize("claim", CLAIMS)
def test_on_devices(claim, outcomes):
    assert outcomes[claim] == "ok", outcomes[claim]
