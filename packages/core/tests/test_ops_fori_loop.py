import re

import numpy as np
import pytest

from calque_core import ShapedArray, check_jaxpr, config, eval_jaxpr, lax, make_jaxpr, typeof
from calque_core.lax import fori_loop, scan_p, while_p
from calque_pytree import tree_flatten

HERE = "test_ops_fori_loop.py"


def at(fun):
    return rf"{re.escape(fun.__name__)} \({HERE}:{fun.__code__.co_firstlineno}\)"


def python_for(lower, upper, body_fun, value):
    for i in range(lower, upper):
        value = body_fun(i, value)
    return value


def assert_same(found, expected):
    assert typeof(found).str_short() == typeof(expected).str_short()
    np.testing.assert_array_equal(found, expected)


def check(run, reference, *args):
    """Compare a loop, evaluated and staged, with a Python loop; NumPy arguments make NumPy's types in both."""
    expected, tree = tree_flatten(reference(*args))
    found, found_tree = tree_flatten(run(*args))
    assert tree == found_tree
    for x, y in zip(found, expected, strict=True):
        assert_same(x, y)
    jaxpr = make_jaxpr(run)(*args)
    check_jaxpr(jaxpr)
    staged = eval_jaxpr(jaxpr, jaxpr.consts, *tree_flatten(args)[0])
    for x, y, aval in zip(staged, expected, jaxpr.out_avals, strict=True):
        assert_same(x, y)
        assert typeof(x).str_short() == aval.str_short()


def eqns_of(fun, *args):
    return make_jaxpr(fun)(*args).eqns


@pytest.mark.parametrize(("lower", "upper"), [(0, 0), (0, 1), (0, 5), (3, 7), (-2, 2), (4, 1)])
def test_a_counted_loop_gives_what_a_python_loop_gives(lower, upper):
    def loop(run, lower, upper, x):
        return run(lower, upper, lambda i, x: x * 2 + i, x)

    x = np.int64(1)
    check(lambda x: loop(fori_loop, lower, upper, x), lambda x: loop(python_for, lower, upper, x), x)
    bounds = np.int64(lower), np.int64(upper)
    check(lambda *args: loop(fori_loop, *args), lambda *args: loop(python_for, *args), *bounds, x)


def test_known_bounds_make_a_scan_and_traced_ones_a_while():
    body = lambda i, x: x + i
    assert [e.primitive for e in eqns_of(lambda x: fori_loop(0, 3, body, x), np.int64(0))] == [scan_p]
    assert [e.primitive for e in eqns_of(lambda n: fori_loop(0, n, body, 0), np.int64(3))] == [while_p]
    assert [e.primitive for e in eqns_of(lambda n: fori_loop(n, 3, body, 0), np.int64(0))] == [while_p]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("lower", "upper", "dtype"),
    [
        (0, 3, ("int64", True)),
        (np.int8(0), 3, "int8"),
        (0, np.uint16(3), "uint16"),
        (np.int32(0), np.int64(3), "int64"),
        (np.uint8(0), np.int8(3), "int16"),
        (np.array(1), 3, "int64"),
    ],
)
def test_the_counter_has_the_dtype_of_the_bounds(known, lower, upper, dtype):
    seen = []
    run = lambda lower, upper: fori_loop(lower, upper, lambda i, x: seen.append(i.aval) or x + 1, 0)
    assert (run(lower, upper) if known else make_jaxpr(run)(lower, upper)) is not None
    assert seen == [ShapedArray((), *dtype) if type(dtype) is tuple else ShapedArray((), dtype)]


@pytest.mark.parametrize("disable_jit", [False, True])
def test_a_counter_between_python_integers_leaves_the_dtype_of_a_value_as_range_does(disable_jit):
    decay = lambda i, x: x / (1.0 - 0.9 ** (i + 1)) + i
    expected = np.float32(1.0)
    for i in range(3):
        expected = decay(i, expected)
    with config.disable_jit(disable_jit):
        assert_same(fori_loop(0, 3, decay, np.float32(1.0)), expected)
    program = make_jaxpr(lambda n, x: fori_loop(0, n, decay, x))(3, np.float32(1.0))
    assert_same(eval_jaxpr(program, program.consts, 3, np.float32(1.0))[0], expected)


def test_bounds_of_the_32_bit_regime_are_32_bits_wide():
    with config.enable_x64(False):
        assert fori_loop(0, 3, lambda i, x: i, np.int32(0)).dtype == np.int32


@pytest.mark.parametrize("name", ["lower", "upper"])
@pytest.mark.parametrize(
    ("bound", "described"),
    [
        (1.0, r"~float64\[\]"),
        (True, r"~bool\[\]"),
        (np.arange(2), r"int64\[2\]"),
        ("3", "a value of type str"),
        (None, "None"),
    ],
)
def test_a_bound_that_is_no_integer_scalar_is_refused_by_name(name, bound, described):
    def body(i, x):
        return x

    lower, upper = (bound, 3) if name == "lower" else (0, bound)
    expected = (
        rf"fori_loop of {at(body)} at {HERE}:\d+ .* got {described} as its bound '{name}'\. Give an integer scalar\."
    )
    with pytest.raises(TypeError, match=expected):
        fori_loop(lower, upper, body, 0.0)


def test_bounds_that_no_integer_dtype_holds_are_refused():
    expected = r"got bounds of types uint64\[\] and int64\[\], but no integer dtype holds both\. Convert one of them\."
    with pytest.raises(TypeError, match=expected):
        fori_loop(np.uint64(0), np.int64(3), lambda i, x: x, 0)


@pytest.mark.parametrize("bound", [300, -1])
def test_a_bound_that_the_dtype_of_the_other_cannot_hold_is_refused(bound):
    expected = rf"fori_loop of .* got the bound {bound}, which does not fit uint8, the dtype of the other bound"
    with pytest.raises(ValueError, match=expected):
        fori_loop(np.uint8(0), bound, lambda i, x: x, 0)
    with pytest.raises(ValueError, match=expected):
        make_jaxpr(lambda lower: fori_loop(lower, bound, lambda i, x: x, 0))(np.uint8(0))


def test_the_body_of_a_counting_loop_takes_two_arguments():
    one = lambda x: x
    expected = rf"fori_loop of {at(one)} at {HERE}:\d+ .* takes 1 positional argument but 2 were given\. Call it as"
    for run in (lambda n: fori_loop(0, 3, one, 0.0), lambda n: fori_loop(0, n, one, 0.0)):
        with pytest.raises(TypeError, match=expected):
            make_jaxpr(run)(3)


@pytest.mark.parametrize(("unroll", "steps"), [(None, 1), (2, 2), (0, 4), (True, 4)])
def test_a_counted_loop_takes_the_unroll_of_scan(unroll, steps):
    jaxpr = make_jaxpr(lambda x: fori_loop(0, 4, lambda i, x: x * 2.0, x, unroll=unroll))(1.0)
    (eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive is scan_p]
    assert eqn.params["unroll"] == steps


def test_unroll_beside_a_traced_bound_is_refused():
    words = r"fori_loop of <lambda> .* got unroll=2 beside a traced bound, .* Give integers as bounds"
    with pytest.raises(ValueError, match=words):
        make_jaxpr(lambda n: fori_loop(0, n, lambda i, x: x * 2.0, 1.0, unroll=2))(4)


def test_a_counted_loop_names_itself_and_the_value_that_changes_its_type():
    message = (
        r"fori_loop of <lambda> .* at .*: <lambda> .* changes the type of the carry\.value\['a'\] from ~float64\[\] to"
    )
    with pytest.raises(TypeError, match=message):
        fori_loop(0, 3, lambda i, x: {"a": lax.stack([x["a"], x["a"]])}, {"a": 1.0})


@pytest.mark.parametrize("disable_jit", [False, True])
@pytest.mark.parametrize("known", [True, False])
def test_messages_about_a_counting_loop_speak_of_the_users_value_alone(known, disable_jit):
    def count(body, init):
        with config.disable_jit(disable_jit):
            return fori_loop(0, 3, body, init) if known else make_jaxpr(lambda n: fori_loop(0, n, body, init))(3)

    into_list = lambda i, x: [x]
    name = rf"fori_loop of {at(into_list)} at {HERE}:\d+ .*: "
    structures = rf"the carry has the structure PyTreeDef\(\*\), but {at(into_list)} returned PyTreeDef\(\[\*\]\)\."
    with pytest.raises(TypeError, match=name + structures):
        count(into_list, 0.0)
    with pytest.raises(TypeError, match=r"^fori_loop of .*: init(_val)?\.value\['x'\] is 'no' of type str"):
        count(into_list, {"x": "no"})


def test_a_counting_loop_with_a_traced_bound_is_named_where_its_value_changes_the_type():
    run = lambda n: fori_loop(0, n, lambda i, x: {"a": x["a"] > 0}, {"a": np.float64(1.0)})
    with pytest.raises(TypeError, match=r"^fori_loop of .*changes the type of the carry\.value\['a'\] from float64"):
        make_jaxpr(run)(3)


def test_a_body_that_is_no_function_is_refused():
    with pytest.raises(TypeError, match=r"fori_loop got 3 of type int at .*\. Give a function\."):
        fori_loop(0, 3, 3, 0)
