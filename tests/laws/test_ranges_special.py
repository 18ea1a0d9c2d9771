"""Each special function has a row in the law of ranges, or a reason."""

from __future__ import annotations

import numpy as np
import pytest

from calque_numpy.scipy import special

pytest.importorskip("mpmath", reason="mpmath is not installed")
if np.finfo(np.longdouble).maxexp < 16384:
    pytest.skip("right results need long doubles of a wider range than doubles", allow_module_level=True)

import ranges_special


def test_every_special_function_has_a_row_or_a_reason():
    rows = {row.name.split()[0].removeprefix("special.") for row in ranges_special.ROWS if "special." in row.name}
    assert rows | set(ranges_special.WITHOUT_ROW) == set(special.__all__)
    assert not rows & set(ranges_special.WITHOUT_ROW)
