"""`calque_core.lax` has the names of the families that are installed, packages that core does not need."""

import calque_linalg
from calque import lax as facade
from calque_core import lax


def test_linear_algebra_of_lax_is_the_familys_module():
    assert lax.linalg is calque_linalg
    assert [facade.linalg.__all__, facade.linalg.cholesky] == [calque_linalg.__all__, calque_linalg.cholesky]
