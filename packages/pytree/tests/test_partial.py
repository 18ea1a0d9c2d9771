import functools
import inspect
from operator import add, sub

from calque_pytree import Partial, flatten, keystr, leaves, leaves_with_path, map, structure


def test_a_partial_is_called_like_one_of_functools():
    assert Partial(sub, 10)(3) == 7
    assert Partial(dict, a=1)(b=2) == {"a": 1, "b": 2}
    assert isinstance(Partial(sub, 10), functools.partial)


def test_its_arguments_are_children_and_its_function_is_structure():
    values, treedef = flatten(Partial(add, (1, 2), key=3))
    assert values == [1, 2, 3]
    assert treedef == structure(Partial(add, (5, 6), key=7))
    assert treedef != structure(Partial(sub, (1, 2), key=3))
    assert hash(treedef) == hash(structure(Partial(add, (5, 6), key=7)))
    assert [keystr(path) for path, _ in leaves_with_path(Partial(add, 1, key=3))] == [".args[0]", ".keywords['key']"]


def test_it_is_mapped_over():
    assert map(lambda x: 10 * x, Partial(add, 1))(2) == 12


def test_the_arguments_of_an_inner_partial_stay_hidden():
    for inner in (functools.partial(sub, 10), Partial(sub, 10)):
        outer = Partial(inner, 3)
        assert outer() == 7
        assert leaves(outer) == [3]
        assert structure(outer) == structure(Partial(inner, 4))
        assert map(lambda x: x, outer)() == 7
        assert structure(map(lambda x: x, outer)) == structure(outer)


def test_an_inner_partial_is_equal_to_itself_and_prints_as_itself():
    inner = functools.partial(sub, 10)
    one, two = Partial(inner, 3), Partial(inner, 4)
    assert one.func == two.func == inner
    assert hash(one.func) == hash(two.func)
    assert repr(one.func) == repr(inner)
    assert one.func != Partial(functools.partial(sub, 10)).func


def test_its_signature_has_the_unbound_arguments():
    def f(a, b, *, c=0):
        return a + b + c

    assert str(inspect.signature(Partial(f, 1))) == "(b, *, c=0)"
