import dataclasses
from dataclasses import dataclass, field

import pytest

from calque_pytree import (
    GetAttrKey,
    Registry,
    flatten,
    keystr,
    leaves,
    leaves_with_path,
    map,
    register_dataclass,
    static,
    structure,
)


@dataclass
class Layer:
    w: object
    b: object
    name: str = "layer"


@register_dataclass
@dataclass(frozen=True)
class Declared:
    w: object
    activation: str = static(default="relu")
    b: object = 0
    rate: float = field(default=0.5, metadata={"static": True})


def test_fields_marked_static_are_structure():
    values, treedef = flatten(Declared(1, b=2))
    assert values == [1, 2]
    assert treedef.node_data() == (Declared, ("relu", 0.5))
    assert treedef.unflatten([3, 4]) == Declared(3, "relu", 4, 0.5)
    assert treedef != structure(Declared(1, "tanh", 2))


def test_static_with_metadata_that_say_otherwise_is_refused():
    with pytest.raises(ValueError, match=r"static got metadata=\{'static': False\}, which marks .* Leave 'static' out"):
        static(metadata={"static": False})
    assert static(metadata={"static": True}).metadata["static"] is True


def test_static_keeps_what_a_field_takes():
    by_default = static(default=3, metadata={"unit": "m"}, repr=False)
    assert by_default.default == 3
    assert dict(by_default.metadata) == {"unit": "m", "static": True}
    assert by_default.repr is False


def test_the_lists_name_the_fields():
    registry = Registry()
    assert register_dataclass(Layer, ["b", "w"], ["name"], registry=registry) is Layer
    assert leaves(Layer(1, 2), registry=registry) == [2, 1]
    assert map(lambda x: 10 * x, Layer(1, 2, "top"), registry=registry) == Layer(10, 20, "top")
    assert [path for path, _ in leaves_with_path(Layer(1, 2), registry=registry)] == [
        (GetAttrKey("b"),),
        (GetAttrKey("w"),),
    ]


def test_it_is_a_decorator_with_arguments_too():
    registry = Registry()

    @register_dataclass(data_fields=["w"], meta_fields=["n"], registry=registry)
    @dataclass
    class Scale:
        w: float
        n: int

    @register_dataclass(registry=registry)
    @dataclass
    class Shift:
        by: float

    assert leaves([Scale(2.0, 3), Shift(1.0)], registry=registry) == [2.0, 1.0]


def test_dropped_fields_get_their_defaults():
    registry = Registry()

    @dataclass
    class Cached:
        w: int
        cache: dict = field(default_factory=dict)

    register_dataclass(Cached, ["w"], [], drop_fields=["cache"], registry=registry)
    assert map(lambda x: x + 1, Cached(1, {"a": 1}), registry=registry) == Cached(2, {})


def test_fields_that_the_constructor_does_not_take_may_be_dropped():
    registry = Registry()

    @register_dataclass(drop_fields=["total"], registry=registry)
    @dataclass
    class Sum:
        w: int
        total: int = field(init=False)

        def __post_init__(self):
            self.total = self.w + 1

    assert map(lambda x: 10 * x, Sum(1), registry=registry).total == 11


@pytest.mark.parametrize("fields", [(), ("w",), ("w", "b"), ("w", "b", "name")])
@pytest.mark.parametrize("swapped", [False, True])
def test_any_number_of_children_and_of_data(fields, swapped):
    others = tuple(f.name for f in dataclasses.fields(Layer) if f.name not in fields)
    data, meta = (others, fields) if swapped else (fields, others)
    registry = Registry()
    register_dataclass(Layer, data, meta, registry=registry)
    layer = Layer(1, 2, "x")
    for _ in range(40):  # through the loop and through compiled code
        values, treedef = flatten((layer, {"a": 3}), registry=registry)
        assert values == [*(getattr(layer, name) for name in data), 3]
        assert treedef.unflatten(values) == (layer, {"a": 3})
        assert treedef.flatten_up_to((layer, {"a": 3})) == values


def test_a_dataclass_without_fields_has_no_children():
    registry = Registry()

    @register_dataclass(registry=registry)
    @dataclass
    class Nothing:
        pass

    for _ in range(40):  # through the loop and through compiled code
        values, treedef = flatten([Nothing(), 1], registry=registry)
        assert values == [1]
        assert treedef.unflatten(values) == [Nothing(), 1]


def test_a_class_that_is_no_dataclass_needs_both_lists():
    class Plain:
        def __init__(self, x, y):
            self.x, self.y = x, y

    with pytest.raises(TypeError, match=r"Plain is not a dataclass, so its fields are not known. Give data_fields and"):
        register_dataclass(Plain)
    registry = Registry()
    register_dataclass(Plain, ["x"], ["y"], registry=registry)
    got = map(lambda x: -x, Plain(1, 2), registry=registry)
    assert (got.x, got.y) == (-1, 2)


def test_a_field_in_no_list_is_refused():
    with pytest.raises(ValueError, match=r"register_dataclass of Layer does not list the fields \['name'\]\. Add them"):
        register_dataclass(Layer, ["w", "b"], [])


def test_a_field_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"got the fields \['z'\], which its constructor does not take\. Name fields"):
        register_dataclass(Layer, ["w", "b", "z"], ["name"])


def test_a_derived_field_that_is_not_dropped_is_refused():
    @dataclass
    class Sum:
        w: int
        total: int = field(init=False)

    with pytest.raises(ValueError, match=r"got the fields \['total'\], which its constructor does not take"):
        register_dataclass(Sum)


def test_a_field_named_twice_is_refused():
    with pytest.raises(ValueError, match=r"register_dataclass of Layer got \['b'\] twice\. Name each field once"):
        register_dataclass(Layer, ["w", "b"], ["name", "b"])


@pytest.mark.parametrize(("present", "missing"), [("data_fields", "meta_fields"), ("meta_fields", "data_fields")])
def test_one_list_without_the_other_is_refused(present, missing):
    with pytest.raises(ValueError, match=f"register_dataclass got {present} but not {missing}. Give both lists, or"):
        register_dataclass(Layer, **{present: ["w"]})


def test_registering_an_instance_or_twice_is_refused():
    with pytest.raises(TypeError, match="Only a class can be registered"):
        register_dataclass(Layer(1, 2))
    with pytest.raises(ValueError, match="Declared is registered as a pytree node already"):
        register_dataclass(Declared)


def test_a_missing_attribute_is_noted_with_the_path():
    registry = Registry()
    register_dataclass(Layer, ["w", "b"], ["name"], registry=registry)
    for _ in range(20):  # until code is made for the structure
        leaves([0, Layer(1, 2)], registry=registry)
    with pytest.raises(AttributeError) as caught:
        leaves([0, object.__new__(Layer)], registry=registry)
    assert caught.value.__notes__ == ["Raised while flattening the Layer at [1]."]


def test_an_error_of_the_constructor_is_noted_with_the_path():
    registry = Registry()

    @register_dataclass(registry=registry)
    @dataclass
    class Positive:
        x: float

        def __post_init__(self):
            if self.x < 0:
                raise ValueError("x must be positive")

    treedef = structure({"a": [Positive(1.0)]}, registry=registry)
    for _ in range(20):  # the last ones through compiled code
        with pytest.raises(ValueError, match="x must be positive") as caught:
            treedef.unflatten([-1.0])
        assert caught.value.__notes__ == ["Raised by the unflatten function of Positive, at ['a'][0]."]


def test_paths_print_attributes():
    assert [keystr(path) for path, _ in leaves_with_path({"m": Declared(1, b=2)})] == ["['m'].w", "['m'].b"]
