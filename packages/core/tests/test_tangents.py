import numpy as np
import pytest

from calque_core import ShapeError, Trace, Zero, config, evaluation, float0, lax, typeof
from calque_core.ops.calls.tangents import check_outputs, check_sequence, flatten_primals, tangent_leaves
from calque_pytree import tree_structure


def test_primals_are_flattened_in_the_widths_of_the_settings():
    leaves, tree = flatten_primals("jvp", lax.sin, ({"a": 1.0, "b": np.ones(2)},))
    assert tree == tree_structure(({"a": 0, "b": 0},))
    assert [typeof(x).str_short() for x in leaves] == ["f64[]", "f64[2]"]
    with config.enable_x64(False):
        leaves, _ = flatten_primals("jvp", lax.sin, (np.ones(2),))
    assert leaves[0].dtype == np.float32


def test_what_is_no_sequence_or_no_array_is_refused():
    with pytest.raises(TypeError, match=r"jvp of sin.* got ~float64\[\] as its primals\. Give a tuple or a list"):
        flatten_primals("jvp", lax.sin, 1.0)
    with pytest.raises(TypeError, match="'a' of type str, which is not an array"):
        flatten_primals("jvp", lax.sin, ("a",))
    with pytest.raises(TypeError, match=r"jvp got ~int64\[\] as its tangents\. Give a tuple or a list"):
        check_sequence("jvp", "tangents", 3)


def test_an_output_that_is_no_array_is_refused():
    check_outputs(Trace(evaluation), [1.0, np.ones(2)])
    with pytest.raises(TypeError, match=r"the function returned 'a' of type str, which is not an array or a scalar\."):
        check_outputs(Trace(evaluation), ["a"])


def leaves_of(primal, tangent):
    return tangent_leaves("jvp", "tangents", [typeof(primal)], tree_structure(primal), tangent)


def test_a_tangent_of_another_shape_is_a_shape_error():
    with pytest.raises(ShapeError, match=r"float64\[3\], but float64\[2\] is needed"):
        leaves_of(np.ones(2), np.ones(3))
    with pytest.raises(TypeError, match=r"int64\[2\], but float64\[2\] is needed") as info:
        leaves_of(np.ones(2), np.ones(2, int))
    assert info.type is TypeError


def test_a_python_number_takes_the_dtype_of_its_primal():
    (tangent,) = leaves_of(np.float32(1), 2)
    assert (type(tangent), tangent) == (np.float32, 2)


def test_integers_take_float0_for_zero():
    (tangent,) = leaves_of(np.arange(2), np.zeros(2, float0))
    assert type(tangent) is Zero
    with pytest.raises(TypeError, match=r"the tangent is float64\[2\], but its primal is int64\[2\], which has no"):
        leaves_of(np.arange(2), np.ones(2))


@pytest.mark.parametrize(
    ("tangent", "message"),
    [
        (
            np.ones(3),
            r"the tangent is float64\[3\], but float64\[2\] is needed\. Give it the shape and dtype of",
        ),
        ("a", r"the tangent is a value of type str, which is not an array or a scalar\. Give float64\[2\]"),
        ([1.0], r"the tangents have the structure .*, but .* is needed\. Give one tangent per leaf\."),
    ],
)
def test_a_tangent_that_does_not_fit_is_refused(tangent, message):
    with pytest.raises(TypeError, match=message):
        leaves_of(np.ones(2), tangent)
