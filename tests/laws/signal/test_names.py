"""The names of the family in the namespaces of operations."""

from __future__ import annotations

import pytest

import calque
import calque_signal
from calque_core import lax


@pytest.mark.parametrize("name", calque_signal.__all__)
def test_a_name_of_lax_is_that_of_the_family(name):
    assert getattr(lax, name) is getattr(calque_signal, name)
    assert getattr(calque.lax, name) is getattr(calque_signal, name)


def test_core_names_the_operations_of_the_family_in_one_list():
    names = {name for text in lax._OPTIONAL["calque_signal"].split(",") for name in text.split()}
    assert names == set(calque_signal.__all__)
    assert names.isdisjoint(lax.__all__)
    assert names <= set(calque.lax.__all__)
