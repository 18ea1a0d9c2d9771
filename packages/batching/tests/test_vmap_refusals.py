import numpy as np
import pytest

from calque_batching import vmap
from calque_core import lax


def weighted(x, y, *, scale=1.0):
    return lax.mul(lax.add(x, y), scale)


def loss(params, x):
    return lax.add(params["w"], x)


def test_sizes_that_differ_are_refused_with_argument_axis_and_size():
    expected = (
        r"vmap of loss \(test_vmap_refusals.py:\d+\): axis 1 of x has size 3, but axis 0 of params\['w'\] has size 4; "
        "all mapped axes must have one size. Use in_axes=None for an argument that is not mapped."
    )
    with pytest.raises(ValueError, match=expected):
        vmap(loss, in_axes=(0, 1))({"w": np.ones(4)}, np.ones((2, 3)))


def test_the_size_of_a_keyword_argument_is_checked_by_name():
    with pytest.raises(ValueError, match=r"axis 0 of scale has size 3, but axis 0 of x has size 2"):
        vmap(weighted)(np.ones(2), np.ones(2), scale=np.ones(3))


@pytest.mark.parametrize("axes", [({"w": 0, "b": 0}, 0), ({"b": 0}, 0), ((0, 0), 0), ([0], 0)])
def test_in_axes_of_another_structure_are_refused(axes):
    with pytest.raises(
        TypeError, match=r"vmap of loss .*: in_axes has .* Give in_axes the containers of the full tree"
    ):
        vmap(loss, in_axes=axes)({"w": np.ones(4)}, np.ones(4))


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ((0, {"a": 0}, 0), r"in_axes has a dict with the keys \['a'\] for params, but the full tree has a list of"),
        ((0, 0, [0]), r"in_axes has a list of length 1 for rest\[0\], but the full tree has a tuple of length 1 there"),
        (({"a": [0]}, 0, 0), r"in_axes has a list of length 1 for x\['a'\], but the full tree has a leaf there"),
    ],
)
def test_a_structure_that_does_not_fit_is_named_by_argument_and_path(axes, words):
    with pytest.raises(TypeError, match=words):
        vmap(lambda x, params, *rest: x, in_axes=axes)({"a": np.ones(3)}, [np.ones(3)], (np.ones(3),))


def test_a_structure_of_keyword_arguments_and_of_results_is_named_by_path():
    with pytest.raises(TypeError, match=r"in_axes has a list of length 2 for scale\['w'\], but the full tree has"):
        vmap(lambda *, scale: scale, in_axes={"scale": {"w": [0, 0]}})(scale={"w": [np.ones(3)]})
    with pytest.raises(TypeError, match=r"out_axes has a list of length 2 for the output\['y'\], but the full tree"):
        vmap(lambda x: {"y": [x]}, out_axes={"y": [0, 0]})(np.ones(3))


@pytest.mark.parametrize("count", [1, 3])
def test_a_wrong_number_of_entries_is_refused(count):
    with pytest.raises(TypeError, match=rf"in_axes has {count} entries for 2 positional arguments. Give one entry per"):
        vmap(weighted, in_axes=(0,) * count)(np.ones(2), np.ones(2))


@pytest.mark.parametrize("in_axes", [1.5, "x", {0}, np.ones(2), True, False])
def test_in_axes_of_another_kind_are_refused_at_once(in_axes):
    with pytest.raises(TypeError, match=r"vmap of weighted .* got in_axes=.* Give an int, None, a tuple"):
        vmap(weighted, in_axes=in_axes)


def test_an_entry_that_is_no_int_is_refused_with_the_argument():
    with pytest.raises(TypeError, match=r"in_axes has the entry 0.5 for y. Give an int or None"):
        vmap(weighted, in_axes=(0, 0.5))(np.ones(2), np.ones(2))


def test_a_name_that_the_call_does_not_pass_is_refused():
    with pytest.raises(
        TypeError, match=r"in_axes names 'z', but the call passes no such argument. The arguments are: x, y"
    ):
        vmap(weighted, in_axes={"z": 0})(np.ones(2), np.ones(2))


def test_a_dict_for_arguments_without_names_is_refused():
    with pytest.raises(TypeError, match=r"in_axes names 'x', but the call passes no such argument"):
        vmap(lambda *xs: xs[0], in_axes={"x": 0})(np.ones(2))


@pytest.mark.parametrize(("axis", "shape"), [(0, ()), (1, (3,)), (-2, (3,))])
def test_an_axis_that_an_argument_does_not_have_is_refused(axis, shape):
    with pytest.raises(ValueError, match=rf"y has type float64.*, which has no axis {axis} to map. Use in_axes=None"):
        vmap(weighted, in_axes=(0, axis))(np.ones(2), np.ones(shape))


def test_a_call_that_maps_nothing_is_refused():
    with pytest.raises(ValueError, match=r"no argument is mapped. Map one with in_axes, or give axis_size"):
        vmap(lax.sin, in_axes=None)(1.0)
    with pytest.raises(ValueError, match=r"no argument is mapped"):
        vmap(lambda: 1.0)()


def test_axis_size_that_disagrees_is_refused():
    with pytest.raises(ValueError, match=r"axis_size=5, but axis 0 of x has size 3. Leave axis_size out"):
        vmap(lambda x: x, axis_size=5)(np.ones(3))


@pytest.mark.parametrize("size", [-1, 2.0, "3"])
def test_axis_size_that_is_no_size_is_refused(size):
    with pytest.raises(TypeError, match=r"got axis_size=.* Give an int of zero or more"):
        vmap(lax.sin, axis_size=size)


@pytest.mark.parametrize("name", [["i"], ("i", "j")])
def test_axis_name_that_is_no_single_name_is_refused(name):
    with pytest.raises(TypeError, match=r"got axis_name=.* Give one name, for example a string"):
        vmap(lax.sin, axis_name=name)


@pytest.mark.parametrize("axis", [True, False])
def test_a_bool_is_no_axis_and_no_size(axis):
    with pytest.raises(TypeError, match=rf"in_axes has the entry {axis} for y. Give an int or None"):
        vmap(weighted, in_axes=(0, axis))(np.ones(2), np.ones(2))
    with pytest.raises(TypeError, match=rf"got axis_size={axis}. Give an int of zero or more"):
        vmap(weighted, axis_size=axis)


@pytest.mark.parametrize("out_axes", [3, -2, "x", 0.5, True, False])
def test_out_axes_that_the_result_does_not_have_are_refused(out_axes):
    expected = (
        rf"out_axes has the entry {out_axes!r} for the output\['a'\], but with the mapped axis the output has 1 axes"
    )
    with pytest.raises(ValueError, match=expected):
        vmap(lambda x: {"a": x}, out_axes=out_axes)(np.ones(3))


def test_out_axes_of_another_structure_are_refused():
    with pytest.raises(TypeError, match=r"vmap of .*: out_axes has a tuple of length 2"):
        vmap(lambda x: (x, x, x), out_axes=(0, 0))(np.ones(3))


def test_out_axes_none_for_a_mapped_result_is_refused():
    expected = (
        r"out_axes is None for the output\[1\], but it differs from element to element. Give it an axis, or reduce"
    )
    with pytest.raises(ValueError, match=expected):
        vmap(lambda x: (1.0, x), out_axes=None)(np.ones(3))


def test_an_argument_that_is_no_array_is_refused_by_name():
    expected = r"vmap of .*: s is 'a' of type str, which is not an array or a scalar. Use in_axes=None for an argument"
    for in_axes in (0, (None, 0), {"x": None}):
        with pytest.raises(TypeError, match=expected):
            vmap(lambda x, s: x, in_axes)(np.ones(3), "a")


def test_a_result_that_is_no_array_is_refused_with_its_place():
    with pytest.raises(TypeError, match=r"vmap of .* returned 'a' of type str\['name'\]. Return arrays and scalars"):
        vmap(lambda x: {"name": "a", "x": x})(np.ones(3))


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match=r"vmap got 3 of type int"):
        vmap(3)


def test_a_generator_is_refused():
    def rows(x):
        yield x

    with pytest.raises(TypeError, match=r"a generator or coroutine runs after the transformation has ended"):
        vmap(rows)
    with pytest.raises(TypeError, match=r"a generator or coroutine runs after the transformation has ended"):
        vmap(lambda x: rows(x))(np.ones(3))


def test_a_traceback_shows_the_users_frames_alone():
    def broken(x):
        return x + np.ones(7)

    for call in (lambda: vmap(broken)(np.ones((2, 3))), lambda: vmap(broken)(1.0), lambda: vmap(3)):
        with pytest.raises((TypeError, ValueError)) as caught:
            call()
        assert {frame.path.name for frame in caught.traceback} == {"test_vmap_refusals.py"}


def test_numbers_in_a_list_are_leaves_and_the_error_says_how_to_make_an_array():
    with pytest.raises(
        ValueError, match=r"x\[0\] has type .*float64\[\], which has no axis 0 .* Use numpy.array of a list that"
    ):
        vmap(lambda x: x)([1.0, 2.0])
