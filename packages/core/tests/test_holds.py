from __future__ import annotations

import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from calque_core import holds as holds_module
from calque_core.holds import Holds, _held, frozen


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


def test_two_holders_give_an_array_back_together():
    x, first, second = np.zeros(3), Holds(), Holds()
    first.add(x)
    second.add(x)
    second.add(x)
    second.release()
    assert not x.flags.writeable
    first.release()
    first.release()
    assert x.flags.writeable


def test_what_was_held_is_forgotten_and_can_be_collected():
    x, holds = np.zeros(3), Holds()
    gone = weakref.ref(x)
    holds.add(x)
    holds.release()
    del x
    assert gone() is None
    assert _held == {}


def test_memory_that_only_a_view_exposes_is_held_too():
    owner, holds = np.zeros(3), Holds()
    view = owner[:2]
    view.flags.writeable = False
    holds.add(view)
    assert holds.covers(view)
    with pytest.raises(ValueError, match="read-only"):
        owner[0] = 1.0
    holds.release()
    assert owner.flags.writeable
    assert not view.flags.writeable


def test_eight_threads_hold_and_release_one_array():
    x, barrier = np.zeros(3), threading.Barrier(8)
    view = x[1:]

    def work(number):
        barrier.wait()
        for _ in range(300):
            holds, mine = Holds(), x if number % 2 else view
            holds.add(mine)
            assert not mine.flags.writeable
            holds.release()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert x.flags.writeable
    assert view.flags.writeable
    assert _held == {}


def test_what_is_no_plain_array_is_kept_as_it_is():
    assert frozen("device array", Holds()) == "device array"


def test_what_is_kept_is_copied_only_if_somebody_can_write_it():
    x, constant, holds = np.zeros(3), np.ones(3), Holds()
    constant.flags.writeable = False
    holds.add(x)
    assert frozen(constant, holds) is constant
    copy = frozen(x, holds)
    assert copy is not x
    assert not copy.flags.writeable
    holds.release()


def test_an_interrupted_release_gives_everything_back_all_the_same(monkeypatch):
    arrays, holds, interrupts = [np.zeros(3) for _ in range(4)], Holds(), [None, KeyboardInterrupt]
    for x in arrays:
        holds.add(x)

    def interrupted(array):
        if interrupts and interrupts.pop(0) is not None:
            raise KeyboardInterrupt
        give_back(array)

    give_back = holds_module._give_back
    monkeypatch.setattr(holds_module, "_give_back", interrupted)
    with pytest.raises(KeyboardInterrupt):
        holds.release()
    assert all(x.flags.writeable for x in arrays)
    assert _held == {}
