"""Records behave as named tuples do, and say what they lack."""

import copy
import pickle
from typing import NamedTuple

import pytest

from calque_core.record import Record


class Place(Record):
    """A record with a method and a default."""

    name: str
    line: int = 1

    def shifted(self, by):
        return self._replace(line=self.line + by)


class Same(NamedTuple):
    """What `Place` would be."""

    name: str
    line: int = 1


@pytest.mark.parametrize("values", [("a",), ("a", 2)])
def test_a_record_is_the_tuple_that_a_named_tuple_would_be(values):
    record, same = Place(*values), Same(*values)
    assert record == same
    assert hash(record) == hash(same)
    assert (record.name, record.line) == tuple(record) == (same.name, same.line)
    assert repr(record) == repr(same).replace("Same", "Place")
    assert record._asdict() == same._asdict()
    assert (Place._fields, Place._field_defaults) == (Same._fields, Same._field_defaults)


def test_fields_are_given_by_name_and_replaced():
    assert Place(line=3, name="a") == ("a", 3)
    assert Place("a", line=3).shifted(1) == Place("a", 4)
    assert type(Place("a").shifted(1)) is Place


def test_a_record_cannot_be_changed():
    with pytest.raises(AttributeError):
        Place("a").line = 2
    with pytest.raises(AttributeError):
        Place("a").column = 2


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_equals_the_record(copied):
    twin = copied(Place("a", 2))
    assert (type(twin), twin) == (Place, ("a", 2))


def test_a_record_is_matched_by_position():
    match Place("a", 2):
        case Place(name, line):
            assert (name, line) == ("a", 2)


@pytest.mark.parametrize(
    ("values", "named", "given"),
    [
        ((), {}, r"\(\)"),
        (("a", 1, 2), {}, r"\('a', 1, 2\)"),
        (("a",), {"name": "b"}, r"\('a', name='b'\)"),
        (("a",), {"column": 2}, r"\('a', column=2\)"),
    ],
)
def test_values_that_do_not_fit_the_fields_are_refused(values, named, given):
    with pytest.raises(TypeError, match=rf"Place has the fields name, line, but the arguments are {given}\. Pass each"):
        Place(*values, **named)
