import itertools
import operator
import re

import numpy as np
import pytest

from calque_core import ShapeError, check_jaxpr, eval_jaxpr, lax, make_jaxpr, typeof
from calque_core.lax import associative_scan, scan_p

pytestmark = pytest.mark.sampled(keep=0.1)

HERE = "test_ops_mapping.py"
LENGTHS = (0, 1, 2, 3, 4, 7, 8, 13)


def at(fun):
    return rf"{re.escape(fun.__name__)} \({HERE}:{fun.__code__.co_firstlineno}\)"


def staged(fun, *args):
    """Return what the staged function gives."""
    jaxpr = make_jaxpr(fun)(*args)
    check_jaxpr(jaxpr)
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)


# Map


@pytest.mark.parametrize("length", [0, 1, 5])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex128"])
def test_map_stacks_the_results_of_the_slices(dtype, length):
    xs = np.arange(2 * length).reshape(length, 2).astype(dtype)
    fun = lambda x: x[::-1] if dtype == "bool" else x * 2

    out = lax.map(fun, xs)

    assert (out.shape, out.dtype) == (xs.shape, xs.dtype)
    assert out.tolist() == [fun(x).tolist() for x in xs]
    assert staged(lambda xs: lax.map(fun, xs), xs)[0].tolist() == out.tolist()


def test_map_takes_and_gives_trees():
    out = lax.map(lambda x: {"sum": x["a"] + x["b"][0], "none": None}, {"a": np.arange(3), "b": [np.ones(3, int)]})

    assert out["none"] is None
    assert out["sum"].tolist() == [1, 2, 3]


def test_map_is_a_scan_without_a_carry():
    [eqn] = make_jaxpr(lambda xs: lax.map(lax.sin, xs))(np.ones(3)).eqns

    assert (eqn.primitive, eqn.params["num_carry"], eqn.params["length"]) == (scan_p, 0, 3)


def test_map_refuses_what_scan_refuses():
    with pytest.raises(TypeError, match=r"map got 3 of type int at .*\. Give a function\."):
        lax.map(3, np.ones(3))
    with pytest.raises(
        ValueError,
        match=(
            r"axis of xs\[1\] has size 2, but the leading axis of xs\[0\] requires 3 "
            r"steps"
        ),
    ):
        lax.map(lambda x: x[0], (np.ones(3), np.ones(2)))
    with pytest.raises(TypeError, match=r"xs is ~?float64\[\], which has no leading axis\. Close over it instead\."):
        lax.map(lax.sin, 1.0)


# Associative scan


def accumulated(fn, rows, reverse):
    """Return the running combinations of rows by a Python loop; of a reversed one, from the last row on."""
    rows = rows[::-1] if reverse else rows
    out = list(itertools.accumulate(rows, fn))
    return out[::-1] if reverse else out


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", ["int64", "uint8", "float64"])
def test_it_gives_the_running_sums(dtype, length, reverse):
    xs = np.arange(1, length + 1).astype(dtype)

    out = associative_scan(operator.add, xs, reverse)

    assert (out.shape, out.dtype) == (xs.shape, xs.dtype)
    assert out.tolist() == [x.item() for x in accumulated(np.add, list(xs), reverse)]
    assert staged(lambda xs: associative_scan(lax.add, xs, reverse), xs)[0].tolist() == out.tolist()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", LENGTHS)
def test_the_order_of_a_function_that_does_not_commute_is_kept(length, reverse):
    """Affine maps x -> a x + b: the earlier one is applied first; in reverse, the later one."""
    a, b = np.arange(1, length + 1), np.arange(length)[::-1].copy()

    def then(f, g):
        return f[0] * g[0], f[1] * g[0] + g[1]

    out = associative_scan(then, (a, b), reverse=reverse)

    expected = accumulated(then, list(zip(a.tolist(), b.tolist())), reverse)
    assert list(zip(*(x.tolist() for x in out))) == expected


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("reverse", [False, True])
def test_it_runs_along_any_axis(axis, reverse):
    xs = np.arange(24).reshape(2, 3, 4)

    out = associative_scan(lax.max, -xs, reverse, axis)

    expected = np.maximum.accumulate(np.flip(-xs, axis) if reverse else -xs, axis)
    assert out.tolist() == (np.flip(expected, axis) if reverse else expected).tolist()


def test_matrices_are_multiplied_in_order():
    xs = np.array([[[1, i], [0, 1]] for i in range(5)])
    product = lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,))))

    out = associative_scan(product, xs)

    assert out[:, 0, 1].tolist() == [0, 1, 3, 6, 10]


def test_the_number_of_rounds_grows_as_the_logarithm_of_the_length():
    def rounds(length):
        calls = []
        associative_scan(lambda a, b: calls.append(typeof(a).shape) or a + b, np.ones(length))
        return calls

    assert len(rounds(1024)) == 19
    assert len(rounds(4096)) == 23
    assert sum(shape[0] for shape in rounds(1024)) < 2 * 1024


def test_an_empty_tree_of_elements_gives_an_empty_tree():
    assert associative_scan(lambda a, b: a, ()) == ()


def test_sizes_that_differ_are_refused_with_all_types():
    def fn(a, b):
        return a

    expected = (
        rf"associative_scan of {at(fn)} at {HERE}:\d+ .*: the sizes along axis 0 differ: elems\['x'\] float64\[3\], "
        r"elems\['y'\] float64\[2\]\. Give arrays of equal size along it\."
    )
    with pytest.raises(ShapeError, match=expected):
        associative_scan(fn, {"x": np.ones(3), "y": np.ones(2)})


def test_a_function_that_changes_the_structure_is_refused():
    def fn(a, b):
        return [a[0]]

    expected = (
        rf"associative_scan of {at(fn)} at .*: {at(fn)} returned PyTreeDef\(\[\*\]\) for elements of "
        r"PyTreeDef\(\(\*, \*\)\)\. Return the same structure\."
    )
    with pytest.raises(TypeError, match=expected):
        associative_scan(fn, (np.ones(3), np.ones(3)))


def test_a_function_that_changes_the_shape_is_refused():
    def fn(a, b):
        return {"x": lax.reduce_sum(a["x"] + b["x"])}

    expected = (
        rf"associative_scan of {at(fn)} at .*: {at(fn)} returned float64\[\] for slices of elems\['x'\] of type "
        r"float64\[2\]\. Return the same shape\."
    )
    with pytest.raises(ShapeError, match=expected):
        associative_scan(fn, {"x": np.ones(4)})


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: lax.map(lambda x: x, 1.0), TypeError, r"^map of <lambda> .*: xs is ~float64\[\], which has no"),
        (lambda: lax.map(lambda x: x, None), ValueError, r"^map of <lambda> .* got neither inputs nor a length"),
        (lambda: associative_scan(3, np.ones(3)), TypeError, r"associative_scan got 3 of type int"),
        (
            lambda: associative_scan(lax.add, np.ones(3), axis=1),
            ValueError,
            r"\) at test_ops_mapping\.py:\d+ .*: axis 1",
        ),
        (lambda: associative_scan(lax.add, 1.0), ValueError, "axis 0"),
        (lambda: associative_scan(lax.add, ["no"]), TypeError, r"elems\[0\] is 'no' of type str"),
    ],
)
def test_wrong_arguments_are_refused_by_name(call, error, words):
    with pytest.raises(error, match=words):
        call()
