"""Each special function has a row in the law of ranges, or a reason."""

from __future__ import annotations

import re

import numpy as np
import pytest

from calque_numpy.scipy import special

pytest.importorskip("mpmath", reason="mpmath is not installed")
if np.finfo(np.longdouble).maxexp < 16384:
    pytest.skip("right results need long doubles of a wider range than doubles", allow_module_level=True)

import ranges_parameters
import ranges_special


def test_every_special_function_has_a_row_or_a_reason():
    names = [row.name for row in [*ranges_special.ROWS, *ranges_parameters.ROWS]]
    rows = {match[1] for name in names if (match := re.match(r"special\.(\w+)", name))}
    assert rows | set(ranges_special.WITHOUT_ROW) == set(special.__all__)
    assert not rows & set(ranges_special.WITHOUT_ROW)
