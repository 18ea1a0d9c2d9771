import copy
import pickle

import pytest

from calque_pytree import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey, keystr

PATH = (DictKey("layers"), SequenceKey(3), GetAttrKey("w"), FlattenedIndexKey(0))


def test_a_path_reads_like_python():
    assert keystr(PATH) == "['layers'][3].w[<flat index 0>]"
    assert keystr(()) == ""


def test_a_simple_path_joins_the_bare_names():
    assert keystr(PATH, simple=True, separator="/") == "layers/3/w/0"
    assert keystr((DictKey(("a", 1)),), simple=True) == "('a', 1)"


def test_a_key_of_the_users_own_prints_itself():
    class Slot:
        def __str__(self):
            return "<slot>"

    assert keystr((SequenceKey(0), Slot())) == "[0]<slot>"
    assert keystr((SequenceKey(0), Slot()), simple=True, separator=".") == "0.<slot>"


def test_keys_are_values():
    assert DictKey("a") == DictKey("a") != DictKey("b")
    assert DictKey(0) != SequenceKey(0) != FlattenedIndexKey(0)
    assert len({DictKey("a"), DictKey("a"), GetAttrKey("a")}) == 2
    assert DictKey("a") != "a"


@pytest.mark.parametrize("key", PATH, ids=str)
def test_keys_cannot_be_changed(key):
    with pytest.raises(AttributeError, match=r"cannot be changed\. Make a new " + type(key).__name__):
        setattr(key, key.__match_args__[0], "b")


@pytest.mark.parametrize("key", PATH, ids=str)
def test_keys_survive_copying_and_pickling(key):
    assert copy.deepcopy(key) == key
    assert pickle.loads(pickle.dumps(key)) == key


def test_keys_can_be_matched():
    match PATH:
        case (DictKey(key), SequenceKey(idx), GetAttrKey(name), FlattenedIndexKey(number)):
            assert (key, idx, name, number) == ("layers", 3, "w", 0)
        case _:
            pytest.fail("no match")


@pytest.mark.parametrize(("key", "text"), [(DictKey("a"), "DictKey(key='a')"), (SequenceKey(1), "SequenceKey(idx=1)")])
def test_keys_have_a_repr_that_rebuilds_them(key, text):
    assert repr(key) == text
    assert eval(text) == key
