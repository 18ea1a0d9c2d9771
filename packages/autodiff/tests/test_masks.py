"""Masks: the lists that they select from, and lists put together from two."""

from calque_autodiff.masks import is_linear, is_nonzero, marked, merged, unmarked
from calque_core import UndefinedPrimal, Zero, typeof

F64 = typeof(1.0).to_tangent_aval()


def test_a_mask_parts_a_list_and_puts_it_together_again():
    mask, items = [True, False, True], ["a", "b", "c"]
    assert (marked(items, mask), unmarked(items, mask)) == (["a", "c"], ["b"])
    assert merged(mask, marked(items, mask), unmarked(items, mask)) == items


def test_places_outside_the_mask_hold_none():
    assert merged([False, True, False], [5]) == [None, 5, None]


def test_placeholders_are_told_by_their_class():
    assert is_nonzero([0.0, Zero(F64)]) == [True, False]
    assert is_linear([0.0, UndefinedPrimal(F64)]) == [False, True]
