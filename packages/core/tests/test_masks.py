"""Masks: the lists that they select from, and lists put together from two."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calque_core.jaxprs.masks import marked, merged, unmarked

masks = st.lists(st.booleans())


@given(masks)
def test_a_mask_parts_a_list_and_puts_it_together_again(mask):
    items = list(range(len(mask)))
    assert merged(mask, marked(items, mask), unmarked(items, mask)) == items


@given(masks)
def test_places_outside_the_mask_hold_none(mask):
    items = list(range(sum(mask)))
    in_places = merged(mask, items)
    assert marked(in_places, mask) == items
    assert unmarked(in_places, mask) == [None] * mask.count(False)


def test_merging_too_few_items_is_an_error():
    with pytest.raises(StopIteration):
        merged([True, True], ["a"])
