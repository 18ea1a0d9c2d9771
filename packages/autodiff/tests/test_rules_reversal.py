from __future__ import annotations

from math import comb

import numpy as np
import pytest

from calque_autodiff.rules.calls.reversal import fewest_turns, run_backwards, split
from calque_core import eval_jaxpr, make_jaxpr


def step(state):
    number, digits = state
    return [number + 1, digits * 3 % 1000]


def undo(state, bars):
    number, digits = state
    (total,) = bars
    return [total * 7 % 10007 + number * digits]


def one_by_one(count, state, bars):
    states = [state]
    for _ in range(count - 1):
        states.append(step(states[-1]))
    for before in reversed(states[:count]):
        bars = undo(before, bars)
    return bars


@pytest.mark.parametrize("places", [1, 2, 3, 6, 16])
def test_states_are_undone_in_order_whatever_the_number_of_places(places):
    state, bars = [np.int64(5), np.int64(2)], [np.int64(1)]
    run = lambda count: run_backwards(count, {"checkpoints": places}, step, undo, state, bars)
    jaxpr = make_jaxpr(run)(np.int64(0))
    for count in (*range(9), 20, 57):
        assert eval_jaxpr(jaxpr, jaxpr.consts, np.int64(count)) == one_by_one(count, state, bars)


def test_without_a_state_nothing_is_kept():
    double = lambda count: run_backwards(
        count, {"checkpoints": 4}, step, lambda _, bars: [2 * bars[0]], [], [np.int64(1)]
    )
    assert double(np.int64(5)) == [32]
    assert "dynamic" not in str(make_jaxpr(double)(np.int64(5)))


@pytest.mark.parametrize("places", [1, 2, 3, 7, 16])
def test_turns_are_the_fewest_that_reach_so_many_steps(places):
    for count in (1, 2, 3, 17, 18, 153, 154, 200):
        turns = int(fewest_turns(np.int64(count), places))
        assert comb(places + turns, turns) >= count
        assert turns == 0 or comb(places + turns - 1, turns - 1) < count


def test_a_split_leaves_both_sides_as_many_steps_as_their_turns_and_places_reach():
    for places in range(1, 9):
        for turns in range(1, 9):
            for count in range(2, comb(places + turns, turns) + 1):
                ahead = int(split(np.int64(count), np.int64(turns), np.int64(places)))
                assert 1 <= ahead <= count - 1
                assert ahead <= comb(places + turns - 1, turns - 1)
                assert count - ahead <= comb(places + turns - 1, turns)


@pytest.mark.parametrize("turns", [0, 1])
def test_a_split_goes_ahead_even_where_turns_have_run_out(turns):
    for places in (1, 2, 5):
        for count in (2, 3, 1000):
            ahead = int(split(np.int64(count), np.int64(turns), np.int64(places)))
            assert 1 <= ahead <= count - 1


def test_a_split_of_many_steps_fits_into_32_bits():
    count, turns, places = np.int32(2**31 - 1), np.int32(25), np.int32(16)
    ahead = split(count, turns, places)
    assert ahead.dtype == np.int32
    assert ahead == split(np.int64(count), np.int64(turns), np.int64(places)) > 0
