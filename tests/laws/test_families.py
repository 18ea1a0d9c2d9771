"""`calque_core.lax` has the names of the families that are installed, packages that core does not need."""

import pytest

import calque_linalg
from calque import lax as facade
from calque_core import lax


def test_linear_algebra_of_lax_is_the_familys_module():
    assert lax.linalg is calque_linalg
    assert [facade.linalg.__all__, facade.linalg.cholesky] == [calque_linalg.__all__, calque_linalg.cholesky]


@pytest.mark.parametrize("name", ["linalg", "conv_general_dilated", "fft", "digamma", "igamma_p"])
def test_lax_lists_the_names_of_families(name):
    assert name in dir(lax)
    assert {"sin", "scan"} < set(dir(lax))


def test_a_misspelt_name_of_a_family_is_recognized():
    with pytest.raises(AttributeError, match=r"has no attribute 'digama'\. Did you mean 'digamma'\?"):
        lax.digama
