"""NumPy's own functions compute with NumPy's own arrays; every other call runs the functions of this package."""

import contextlib
import gc
import pickle

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import ShapeError, config, eval_jaxpr, make_jaxpr
from calque_core.engine import entered
from calque_numpy.evaluation import numpy_first


@pytest.fixture
def total():
    """Return a function that says which of the two functions behind it ran."""
    return numpy_first("total", lambda x, **options: np.sum(x) and "numpy", lambda x, **options: "calque", __name__)


@pytest.mark.parametrize(
    "x", [1.5, np.float32(2), np.ones(3), [1.0, np.ones(())], ((1, 2), (3, 4)), np.ones(3, np.float16)]
)
def test_numpys_function_computes_with_numpys_values(total, x):
    assert total(x) == "numpy"
    assert total(x, axis=None, dtype=np.float32) == "numpy"
    assert total(x, dtype=np.dtype("int8"), keepdims=False, mode="clip") == "numpy"


@pytest.mark.parametrize(
    "x",
    [
        np.ma.ones(2),
        np.array(["a"]),
        np.ones(2, np.longdouble),
        [np.array([None])],
        range(3),
        {"a": 1.0},
        b"a",
        np.datetime64("2026-11-22"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_other_values_are_not_numpys(total, x):
    assert total(x) == "calque"
    assert total(1.0, key=x) == "calque"


def test_under_other_settings_our_function_runs(total):
    for settings in (config.disable_jit(), config.enable_x64(False)):
        with settings:
            assert total(1.0) == "calque"
    assert total(1.0) == "numpy"


def test_a_trace_in_another_task_changes_nothing(total):
    with entered():
        assert total(1.0) == "numpy"


def test_under_a_trace_our_function_runs():
    assert make_jaxpr(lambda x: cnp.add(2.0, 3.0))(1.0).eqns[0].primitive.name == "add"


def test_a_refusal_names_the_function_that_the_user_called():
    for name in ("sin", "sort", "cumsum"):
        with pytest.raises(TypeError, match=rf"^{name} at test_evaluation\.py:.* of type set is not an array"):
            getattr(cnp, name)({1})


def test_where_numpys_function_refuses_our_function_answers_or_says_why():
    assert cnp.matmul(np.ones((2, 2)), np.ones(2), preferred_element_type=np.float32).dtype == np.float32
    with pytest.raises(TypeError, match=r"matmul of float64\[2\] and float64\[3\].*the sizes 2 and 3 differ"):
        cnp.matmul(np.ones(2), np.ones(3))
    with pytest.raises(TypeError, match="'a' of type str is not an array or a scalar"):
        cnp.sin("a")


def test_results_that_are_no_numbers_are_not_taken_from_numpy():
    with pytest.raises(TypeError):
        cnp.asarray("a")


def test_a_list_is_an_array_with_and_without_a_trace():
    assert cnp.sum([1, 2]) == 3
    jaxpr = make_jaxpr(lambda x: cnp.sum([x, 2.0]))(1.0)
    assert str(jaxpr.out_avals[0]) == "float64[]"
    with config.disable_jit():
        np.testing.assert_array_equal(cnp.maximum([1, 5], [4, 2]), [4, 5])


def test_a_function_keeps_its_name_its_page_and_its_pickle():
    assert cnp.outer.__name__ == "outer"
    assert cnp.absolute.__name__ == "absolute"
    assert cnp.abs.__qualname__ == "abs"
    assert "Shapes: a [n], b [m]" in cnp.outer.__doc__
    assert pickle.loads(pickle.dumps(cnp.outer)) is cnp.outer


def test_functions_that_are_ufuncs_of_numpy_have_the_methods_of_ufuncs():
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(cnp.add.reduce(x), np.add.reduce(x))
    jaxpr = make_jaxpr(lambda x: (cnp.add.reduce(x), cnp.subtract.outer(x, x), cnp.maximum.accumulate(x)))(x)
    outs = eval_jaxpr(jaxpr, jaxpr.consts, x)
    for out, expected in zip(outs, (np.add.reduce(x), np.subtract.outer(x, x), np.maximum.accumulate(x)), strict=True):
        np.testing.assert_array_equal(out, expected)
    assert not hasattr(cnp.sin, "reduce")


def test_functions_that_are_ufuncs_of_numpy_take_the_options_of_ufuncs():
    x = np.array([1.5, 2.5])
    jaxpr = make_jaxpr(lambda x: cnp.add(x, 1, dtype="float32"))(x)
    assert [aval.dtype for aval in jaxpr.out_avals] == [np.float32]
    with pytest.raises(TypeError, match="out="):
        make_jaxpr(lambda x: cnp.add(x, 1, out=np.zeros(2)))(x)


def test_a_ragged_list_is_named_with_the_function_that_got_it():
    with pytest.raises(
        ShapeError, match=r"^sum at test_evaluation\.py:.*: \[\[1\.0, 2\], \[3\.0\]\] is no array, since"
    ):
        cnp.sum([[1.0, 2], [3.0]])


@pytest.mark.parametrize(
    "name", ["all", "any", "max", "mean", "min", "nanmax", "nanmean", "nanmin", "nansum", "prod", "std", "sum", "var"]
)
def test_a_mask_of_none_is_no_mask(name):
    """NumPy takes it for False, so that its functions may not run."""
    function, x = getattr(cnp, name), np.array([[1.0, 2.0], [3.0, 5.0]])
    masked = lambda x: function(x, axis=0, where=None)
    np.testing.assert_allclose(masked(x), getattr(np, name)(x, axis=0))
    np.testing.assert_allclose(eval_jaxpr(make_jaxpr(masked)(x), (), x)[0], getattr(np, name)(x, axis=0))


@pytest.mark.parametrize("name", ["sum", "mean", "max", "any", "std"])
def test_axes_may_be_a_list(name):
    function, x = getattr(cnp, name), np.arange(24.0).reshape(2, 3, 4)
    expected = getattr(np, name)(x, axis=(0, 2))
    np.testing.assert_allclose(function(x, axis=[0, 2]), expected)
    traced = make_jaxpr(lambda x: function(x, axis=[0, 2]))(x)
    np.testing.assert_allclose(eval_jaxpr(traced, (), x)[0], expected)


def test_a_refused_call_leaves_no_cycle_for_the_collector():
    def refused():
        with contextlib.suppress(TypeError):
            cnp.asarray({1})

    refused()
    gc.collect()
    refused()
    assert gc.collect() == 0
