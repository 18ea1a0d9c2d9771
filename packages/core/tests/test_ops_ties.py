import numpy as np
import pytest

from calque_core import lax
from calque_core.ops.elementwise.ties import share


@pytest.mark.parametrize(("x", "want"), [(1.0, 0.0), (2.0, 0.5), (3.0, 1.0), (np.nan, 0.0)])
def test_the_share_of_an_operand_is_1_0_or_a_half_at_a_tie_and_0_beside_nan(x, want):
    assert share(lax.ge(x, 2.0), lax.gt(x, 2.0), lax.max(x, 2.0)) == want


def test_a_share_has_the_dtype_of_the_result():
    out = np.float32(2)
    assert share(lax.ge(out, out), lax.gt(out, out), out).dtype == np.float32
