import pytest

from calque_pytree import GetAttrKey, SequenceKey, keystr, structure
from calque_pytree.build import fold, locate, steps_to, subtree_end
from calque_pytree.dataclass import register_dataclass

TREE = {"a": [1, (), (2, 3)], "b": None, "c": 4}


def test_fold_visits_nodes_in_the_order_of_python():
    visited = []

    def combine(position, children):
        visited.append(position)
        return children

    nodes = structure(TREE).nodes
    assert fold(nodes, "wxyz", combine) == (("w", (), ("x", "y")), (), "z")
    assert visited == [3, 4, 1, 7, 0]


@pytest.mark.parametrize(
    ("position", "path"),
    [(0, ""), (1, "['a']"), (2, "['a'][0]"), (3, "['a'][1]"), (5, "['a'][2][0]"), (6, "['a'][2][1]"), (8, "['c']")],
)
def test_locate_gives_the_path_of_a_position(position, path):
    assert keystr(locate(structure(TREE).nodes, position)) == path


def test_locate_names_attributes():
    class Pair:
        def __init__(self, x, y):
            self.x, self.y = x, y

    register_dataclass(Pair, ["x", "y"], [])
    assert locate(structure([Pair(1, 2)]).nodes, 3) == (SequenceKey(0), GetAttrKey("y"))


def test_steps_hold_the_nodes_passed():
    nodes = structure(TREE).nodes
    assert steps_to(nodes, 6) == [(nodes[0], 0), (nodes[1], 2), (nodes[4], 1)]


@pytest.mark.parametrize(("start", "end"), [(0, 9), (1, 7), (2, 3), (3, 4), (4, 7), (7, 8), (8, 9)])
def test_subtree_end_is_the_position_after_it(start, end):
    assert subtree_end(structure(TREE).nodes, start) == end
