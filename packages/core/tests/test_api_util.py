import functools
import re

import numpy as np
import pytest

from calque_core import lax, make_jaxpr, typeof
from calque_core.calls.api_util import (
    FlatFunction,
    arg_names,
    call,
    check_arrays,
    check_callable,
    describe_value,
    difference,
    normalize_argnums,
    split_aux,
)
from calque_pytree import tree_flatten, tree_structure

HERE = "test_api_util.py"


def place(fun):
    return rf"{re.escape(fun.__name__)} \({HERE}:{fun.__code__.co_firstlineno}\)"


def generator(x):
    yield x


async def coroutine(x):
    return x


async def async_generator(x):
    yield x


# Functions


@pytest.mark.parametrize("fun", [len, lambda x: x, functools.partial(max, 1), int, np.sin, "".join])
def test_what_can_be_called_can_be_transformed(fun):
    check_callable(fun, "grad")


@pytest.mark.parametrize("fun", [3, None, "sin", [len]])
def test_what_cannot_be_called_is_refused(fun):
    message = rf"grad got {re.escape(repr(fun))} of type {type(fun).__name__} at {HERE}:\d+ \(.*\)\. Give a function\."
    with pytest.raises(TypeError, match=message):
        check_callable(fun, "grad")


@pytest.mark.parametrize("fun", [generator, coroutine, async_generator])
@pytest.mark.parametrize("wrap", [lambda f: f, functools.partial], ids=["bare", "partial"])
def test_functions_whose_body_runs_later_are_refused_before_they_are_called(fun, wrap):
    message = (
        rf"grad of {place(fun)}: a generator or coroutine runs after the transformation has ended\. Return the values"
    )
    with pytest.raises(TypeError, match=message):
        check_callable(wrap(fun), "grad")


@pytest.mark.parametrize("fun", [generator, async_generator])
def test_functions_that_return_such_a_thing_are_refused_when_they_do(fun):
    def hidden(x):
        return fun(x)

    with pytest.raises(TypeError, match=rf"vmap of {place(hidden)}: a generator or coroutine runs after"):
        call(hidden, "vmap", 1.0)


def test_a_returned_coroutine_is_refused():
    awaitable = coroutine(1.0)
    with pytest.raises(TypeError, match="a generator or coroutine runs after the transformation has ended"):
        call(lambda: awaitable, "vmap")
    awaitable.close()


def test_a_call_passes_everything_on():
    assert call(lambda *args, **kwargs: (args, kwargs), "jit", 1, 2, fun=3, verb=4) == ((1, 2), {"fun": 3, "verb": 4})


# Flat functions


def test_a_flat_function_takes_and_gives_leaves():
    leaves, in_tree = tree_flatten((({"a": 1.0, "b": 2.0},), {"scale": 3.0}))
    flat = FlatFunction(lambda tree, scale: {"sum": (tree["a"] + tree["b"]) * scale, "none": None}, in_tree, "jit")
    assert flat(*leaves) == [9.0]
    assert str(flat.out_tree) == "PyTreeDef({'none': None, 'sum': *})"


def test_auxiliary_output_is_kept_apart():
    _, in_tree = tree_flatten(((1.0,), {}))
    flat = FlatFunction(lambda x: (x, "aux"), in_tree, "grad", has_aux=True)
    assert flat(1.0) == [1.0]
    assert flat.aux == "aux"


@pytest.mark.parametrize(
    ("out", "shown"),
    [
        (1.0, r"~float64\[\]"),
        ((1.0, 2.0, 3.0), "a tuple of length 3"),
        ([1.0], "a list of length 1"),
        ({"out": 1.0, "aux": 2.0}, "a dict of length 2"),
        (None, "None"),
        ("text", "a value of type str"),
    ],
)
def test_auxiliary_output_needs_a_pair(out, shown):
    def fun():
        return out

    message = rf"grad of {place(fun)} with has_aux=True needs a pair \(output, aux\), but .* returned {shown}\. Return"
    with pytest.raises(TypeError, match=message):
        split_aux(out, "grad", fun)


def test_a_value_is_described_by_type_length_or_class():
    assert describe_value(np.ones((2, 3), np.float32)) == "float32[2,3]"
    assert describe_value({"a": 1}) == "a dict of length 1"
    assert describe_value(object()) == "a value of type object"


# Names of arguments


def positional(x, y):
    pass


def variadic(x, *rest, scale=1.0, **more):
    pass


@pytest.mark.parametrize(
    ("fun", "args", "kwargs", "names"),
    [
        (positional, (1.0, 2.0), {}, ["x", "y"]),
        (positional, ({"w": [1.0, 2.0]}, 2.0), {}, ["x['w'][0]", "x['w'][1]", "y"]),
        (positional, (1.0,), {"y": 2.0}, ["x", "y"]),
        (positional, (), {"y": {"b": 1.0}, "x": 2.0}, ["x", "y['b']"]),
        (variadic, (1.0, 2.0, 3.0), {}, ["x", "rest[0]", "rest[1]"]),
        (variadic, (1.0,), {"scale": 2.0, "other": 3.0}, ["x", "other", "scale"]),
        (positional, ((), 1.0), {}, ["y"]),
        (positional, (1.0, 2.0, 3.0), {}, ["args[0]", "args[1]", "args[2]"]),
        (max, (1.0, 2.0), {}, ["args[0]", "args[1]"]),
        (functools.partial(positional, 1.0), (2.0,), {}, ["y"]),
    ],
)
def test_arguments_are_named_as_the_user_would_write_them(fun, args, kwargs, names):
    assert arg_names(fun, args, kwargs) == names
    assert len(names) == len(tree_flatten((args, kwargs))[0])


def test_the_first_leaf_that_is_no_array_is_named():
    leaves, names = [1.0, "text", None], lambda: ["x", "params['name']", "y"]
    message = (
        r"grad of loss: params\['name'\] is 'text' of type str, which is not an array or a scalar\. Pass arrays, close "
        r"over the value, or register its class as a pytree\."
    )
    with pytest.raises(TypeError, match=message):
        check_arrays(leaves, names, "grad of loss")


def test_an_array_that_is_no_operand_is_named_with_its_own_reason():
    with pytest.raises(TypeError, match=r"^grad of loss: x: an array of dtype object is not an operand\. Convert it"):
        check_arrays([np.array([None])], lambda: ["x"], "grad of loss")
    with pytest.raises(
        TypeError, match=r"^grad of loss: x: a masked array is not an operand: its mask would be lost\."
    ):
        check_arrays([np.ma.array([1.0])], lambda: ["x"], "grad of loss")


def test_a_long_value_is_cut_in_the_message():
    with pytest.raises(TypeError, match=r"x is 'a{56}\.\.\. of type str"):
        check_arrays(["a" * 1000], lambda: ["x"], "grad of loss")


def test_arrays_scalars_and_tracers_pass():
    check_arrays([1, 2.0, True, 1j, np.ones(2), np.float32(1)], list, "grad")
    make_jaxpr(lambda x: check_arrays([x], list, "grad") or x)(1.0)


# Positions of arguments


@pytest.mark.parametrize(
    ("given", "count", "positions"),
    [(0, 1, (0,)), (-1, 3, (2,)), ((2, 0), 3, (2, 0)), ([0, -1], 3, (0, 2)), ((), 3, ()), (np.int64(1), 2, (1,))],
)
def test_positions_are_counted_from_either_end_and_keep_their_order(given, count, positions):
    assert normalize_argnums(given, count, "grad of f") == positions


@pytest.mark.parametrize("given", ["x", 1.0, None, (0, "x"), True, (0, False), np.True_])
def test_positions_are_integers(given):
    message = rf"grad of f got argnums={re.escape(repr(given))}\. Give an int or a tuple of ints\."
    with pytest.raises(TypeError, match=message):
        normalize_argnums(given, 2, "grad of f")


@pytest.mark.parametrize(
    ("count", "there_are"), [(0, "are 0 positional arguments"), (1, "is 1 positional argument"), (2, "are 2")]
)
def test_a_position_must_be_that_of_an_argument(count, there_are):
    with pytest.raises(
        ValueError, match=rf"grad of f got argnums=5, but there {there_are}.*\. Pass the argument by position"
    ):
        normalize_argnums(5, count, "grad of f")


def test_an_argument_is_named_once():
    message = r"grad of f got argnums=\(0, -2\), which names an argument twice\. Name each argument once\."
    with pytest.raises(ValueError, match=message):
        normalize_argnums((0, -2), 2, "grad of f")


def test_a_caller_says_what_the_positions_are_called():
    message = r"jit of f got static_argnums=5, but .*, or choose it by static_argnames\."
    with pytest.raises(ValueError, match=message):
        normalize_argnums(5, 2, "jit of f", "static_argnums")


def test_describing_agrees_with_the_type():
    assert describe_value(1.0) == str(typeof(1.0)) == "~float64[]"
    assert describe_value(lax.sin(1.0)) == "float64[]"


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ({"a": None, "b": 1}, {"a": 1, "b": 1}, " They differ at ['a']: PyTreeDef(None) and PyTreeDef(*)."),
        ([0, [{"a": 1}]], [0, [{"b": 1}]], " They differ at [1][0]: PyTreeDef({'a': *}) and PyTreeDef({'b': *})."),
        ({"x": [1, 2]}, {"x": [1]}, " They differ at ['x']: PyTreeDef([*, *]) and PyTreeDef([*])."),
        ([None, 1], [(), 1], ""),
        (1, (1,), ""),
        ([1, 2], (1, 2), ""),
    ],
)
def test_the_place_where_two_structures_differ_is_named(first, second, text):
    assert difference(tree_structure(first), tree_structure(second)) == text


def test_the_place_in_deep_trees_is_found_in_a_moment():
    first, second = 1, (1, 2)
    for _ in range(20_000):
        first, second = [first], [second]
    assert difference(tree_structure(first), tree_structure(second)).startswith(" They differ at [0][0]")


BIG = {"layers": [{"w": 1.0, "b": 2.0} for _ in range(12)]}


def changed(tree):
    return {"layers": [*tree["layers"][:5], (1.0, 2.0), *tree["layers"][6:]]}


@pytest.mark.parametrize(
    "call",
    [
        lambda: lax.scan(lambda c, _: (changed(c), None), BIG, None, length=2),
        lambda: lax.while_loop(lambda c: False, changed, BIG),
        lambda: lax.cond(True, changed, lambda c: c, BIG),
    ],
)
def test_a_step_or_a_branch_that_changes_a_large_structure_names_the_place(call):
    with pytest.raises(TypeError, match=r" They differ at \['layers'\]\[5\]: PyTreeDef\("):
        call()
