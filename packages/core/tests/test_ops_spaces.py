import re

import numpy as np
import pytest

from calque_core import float0, make_jaxpr, typeof
from calque_core.ops.spaces import check_floating, space_of

PAIR = {"u": np.zeros((2, 3)), "v": (1.0, np.float32(2.0))}


def operator(x):
    return x


def test_the_space_of_a_value_has_its_structure_and_its_types():
    leaves, space = space_of("solve", "b", PAIR)

    assert space.tree.unflatten(leaves)["u"] is PAIR["u"]
    assert [aval.str_short() for aval in space.avals] == ["f64[2,3]", "f64[]", "f32[]"]
    assert space.in_tree.unflatten(leaves) == ((space.tree.unflatten(leaves),), {})


def test_python_scalars_of_a_space_get_a_dtype_of_their_own():
    leaves, space = space_of("solve", "b", [1.0, 2j])

    assert [type(x) for x in leaves] == [np.float64, np.complex128]
    assert not any(aval.weak_type for aval in space.avals)
    make_jaxpr(lambda x: [assert_strong(*space_of("solve", "b", x)), x][1])(1.0)


def assert_strong(leaves, space):
    assert not typeof(leaves[0]).weak_type
    assert not space.avals[0].weak_type


@pytest.mark.parametrize("b", [3, np.array([1, 2]), True, np.zeros(2, float0)])
def test_a_value_that_is_not_floating_spans_no_space(b):
    with pytest.raises(
        TypeError, match=r"^solve: b\['x'\] is .*\[2?\], not of a floating dtype. Convert it to a floating dtype.$"
    ):
        space_of("solve", "b", {"a": 1.0, "x": b})


def test_what_is_no_array_spans_no_space():
    with pytest.raises(TypeError, match=r"^solve: b\[1\] is 'two' of type str, which is not an array or a scalar"):
        space_of("solve", "b", [1.0, "two"])


def test_types_are_named_by_the_caller_where_they_are_not_floating():
    avals = [typeof(1.0), typeof(np.int32(1))]
    with pytest.raises(
        TypeError, match=r"^call: second is int32\[\], not of a floating dtype. Convert it to a floating dtype.$"
    ):
        check_floating("call", lambda: ["first", "second"], avals)


def test_what_lies_in_a_space_passes_and_python_scalars_do():
    _, space = space_of("solve", "b", PAIR)

    space.check("f", {"u": np.ones((2, 3)), "v": (2.0, np.float32(0.0))})


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([1.0], r"^f returned the structure .*, but b has the structure .*\. Return the structure of b\.$"),
        (
            {"u": np.ones((3, 2)), "v": (2.0, np.float32(0.0))},
            r"^f returned float64\[3,2\] for b\['u'\], which is float64\[2,3\]\. Return the shapes and dtypes of b\.$",
        ),
        (
            {"u": np.ones((2, 3)), "v": (2.0, 1.0)},
            r"^f returned ~float64\[\] for b\['v'\]\[1\], which is float32\[\]\.",
        ),
        ({"u": "nothing", "v": (2.0, 1.0)}, r"^f returned a value of type str for b\['u'\], which is float64\[2,3\]\."),
    ],
)
def test_what_does_not_is_refused_with_both_types(returned, message):
    _, space = space_of("solve", "b", PAIR)

    with pytest.raises(TypeError, match=message):
        space.check("f", returned)


def test_a_mapped_function_is_checked_and_named():
    _, space = space_of("solve", "b", np.zeros(2))
    line = operator.__code__.co_firstlineno

    checked = space.with_type_check("solve", "matvec", operator)

    assert checked.__name__ == "operator"
    assert checked(1.0 + np.zeros(2)).tolist() == [1.0, 1.0]
    where = re.escape(f"operator (test_ops_spaces.py:{line})")
    with pytest.raises(TypeError, match=rf"^solve: matvec {where} returned float64\[3\] for b, which is float64\[2\]"):
        checked(np.zeros(3))


def test_of_a_pair_with_aux_the_first_is_checked():
    _, space = space_of("solve", "b", 1.0)

    assert space.with_type_check("solve", "solve", lambda x: (x, "aux"), has_aux=True)(2.0) == (2.0, "aux")
    with pytest.raises(TypeError, match=r"returned float64\[1\] for b, which is float64\[\]"):
        space.with_type_check("solve", "solve", lambda x: (np.ones(1), x), has_aux=True)(2.0)
    with pytest.raises(TypeError, match=r"with has_aux=True needs a pair \(output, aux\), but the function returned"):
        space.with_type_check("solve", "solve", operator, has_aux=True)(2.0)


def test_a_generator_maps_no_space():
    _, space = space_of("solve", "b", 1.0)

    def steps(x):
        yield x

    with pytest.raises(TypeError, match="a generator or coroutine runs after the transformation has ended"):
        space.with_type_check("solve", "solve", lambda x: steps(x))(1.0)
