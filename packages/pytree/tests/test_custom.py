import pytest

from calque_pytree import Registry, leaves, leaves_with_path, map


class A:
    pass


def registry_with(flatten, unflatten=lambda data, children: A(), with_keys=None):
    registry = Registry()
    registry.register_node(A, flatten, unflatten, with_keys)
    return registry


@pytest.mark.parametrize("result", [3, (3,), ((), None, None), None])
def test_a_flatten_function_must_return_a_pair(result):
    with pytest.raises(TypeError, match=r"The flatten function of A returned .*\. Return a pair"):
        leaves([A()], registry=registry_with(lambda a: result))


def test_children_must_be_iterable():
    with pytest.raises(TypeError, match=r"flatten function of A returned \(3, None\). Return a pair \(children, aux"):
        leaves(A(), registry=registry_with(lambda a: (3, None)))


def test_children_may_come_from_a_generator_or_be_none():
    assert leaves(A(), registry=registry_with(lambda a: ((i for i in range(3)), None))) == [0, 1, 2]
    assert leaves(A(), registry=registry_with(lambda a: (None, "data"))) == []


def test_an_error_of_the_flatten_function_names_the_class_and_the_path():
    def flatten(a):
        raise KeyError("boom")

    with pytest.raises(KeyError, match="boom") as caught:
        leaves({"w": [1, A()]}, registry=registry_with(flatten))
    assert caught.value.__notes__ == ["Raised while flattening the A at ['w'][1]."]


def test_an_error_of_the_flatten_function_at_the_root_says_so():
    def flatten(a):
        raise KeyError("boom")

    with pytest.raises(KeyError) as caught:
        leaves(A(), registry=registry_with(flatten))
    assert caught.value.__notes__ == ["Raised while flattening the A at the root of the tree."]


def test_an_error_of_the_unflatten_function_names_the_class_and_the_path():
    def unflatten(data, children):
        raise ValueError("bad unflatten")

    registry = registry_with(lambda a: ((1.0,), None), unflatten)
    with pytest.raises(ValueError, match="bad unflatten") as caught:
        map(lambda x: x, {"w": (0, A())}, registry=registry)
    assert caught.value.__notes__ == ["Raised by the unflatten function of A, at ['w'][1]."]


def test_keyed_children_must_be_pairs():
    registry = registry_with(lambda a: ((1,), None), with_keys=lambda a: ((1,), None))
    with pytest.raises(TypeError, match=r"flatten-with-keys function of A returned 1 as a child\. Return each"):
        leaves_with_path(A(), registry=registry)


def test_an_interrupt_passes_through_untouched():
    def flatten(a):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        leaves(A(), registry=registry_with(flatten))
    assert not hasattr(caught.value, "__notes__")
