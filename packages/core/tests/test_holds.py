from __future__ import annotations

import numpy as np
import pytest

from calque_core.holds import Holds, frozen


def test_a_held_array_is_read_only_until_its_release():
    x, holds = np.zeros(3), Holds()
    holds.add(x)
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1.0
    holds.release()
    x[0] = 1.0


@pytest.mark.parametrize("owner_first", [True, False])
def test_a_view_and_its_owner_are_both_given_back(owner_first):
    x = np.zeros(3)
    view, holds = x[1:], Holds()
    for array in (x, view) if owner_first else (view, x):
        holds.add(array)
    holds.release()
    assert x.flags.writeable
    assert view.flags.writeable


def test_a_view_waits_for_an_owner_that_somebody_else_holds():
    x = np.zeros(3)
    view, outer, inner = x[1:], Holds(), Holds()
    outer.add(x)
    for _ in range(2):
        inner.add(view)
        inner.release()
        assert not view.flags.writeable
    outer.release()
    assert x.flags.writeable
    assert view.flags.writeable


def test_a_view_that_is_held_longer_than_its_owner_stays_read_only():
    x = np.zeros(3)
    view, outer, inner = x[1:], Holds(), Holds()
    outer.add(x)
    inner.add(view)
    outer.release()
    assert not x.flags.writeable
    inner.release()
    assert x.flags.writeable
    assert view.flags.writeable


def test_an_array_that_was_read_only_stays_so():
    x, holds = np.zeros(3), Holds()
    x.flags.writeable = False
    holds.add(x)
    holds.release()
    assert not x.flags.writeable


def test_what_is_kept_is_copied_only_if_somebody_can_write_it():
    x, constant, holds = np.zeros(3), np.ones(3), Holds()
    constant.flags.writeable = False
    holds.add(x)
    assert frozen(constant, holds) is constant
    copy = frozen(x, holds)
    assert copy is not x
    assert not copy.flags.writeable
    holds.release()
