import pytest

from calque_core.calls.static_arguments import StaticArguments, static_arguments, with_static


def chosen(fun, argnums, argnames, option="static"):
    return static_arguments("jit of f", fun, argnums, argnames, option)


# The choice


def test_positions_and_names_are_inferred_from_each_other():
    def f(a, b, /, c, d=1, *, e):
        return a

    assert chosen(f, (0, 2), None) == StaticArguments((0, 2), ("c",))
    assert chosen(f, None, ("d", "e")) == StaticArguments((3,), ("d", "e"))
    assert chosen(f, -1, None) == StaticArguments((3,), ("d",))
    assert chosen(f, 0, "e") == StaticArguments((0,), ("e",))
    assert chosen(f, 2, "d") == StaticArguments((2, 3), ("d", "c"))
    assert chosen(f, 2, "c") == StaticArguments((2,), ("c",))
    assert chosen(f, None, None) == chosen(f, (), ()) == StaticArguments()


def test_positions_are_unchanged_if_the_parameters_are_unknown():
    assert chosen(max, (1, -1), None).positions == (1, -1)
    assert chosen(lambda *xs: xs, (5, -1), None).positions == (5, -1)
    assert chosen(lambda **k: k, None, "any").names == ("any",)


@pytest.mark.parametrize("option", ["static", "donate"])
def test_the_user_s_option_is_named(option):
    words = (
        rf"got {option}_argnums=\(0, 1\), but the function has 1 positional argument\. "
        rf"Count from 0, or choose the argument by {option}_argnames\.$"
    )
    with pytest.raises(ValueError, match=words):
        chosen(lambda x, *, n: x, (0, 1), None, option)


def test_a_function_without_arguments_has_no_static_ones():
    with pytest.raises(ValueError, match=r"static_argnames='n', which is no argument of the function\. It has no arg"):
        chosen(lambda: 1.0, None, "n")


# Calls


def test_negative_positions_of_variadic_functions_count_from_the_end_of_the_call():
    def f(*xs):
        return xs

    statics, (dynamic, named) = chosen(f, -1, None).split((1.0, 2.0, "mode"), {})
    assert (statics, dynamic) == ([(-1, "mode")], (1.0, 2.0, None))
    assert with_static(f, "jit", statics)(*dynamic, **named) == (1.0, 2.0, "mode")


def test_a_function_gets_what_is_split_off_in_the_same_places():
    def f(a, b, c=0, *, d, e):
        return a, b, c, d, e

    static = chosen(f, (0, 2), "d")
    statics, (args, kwargs) = static.split(("x", 1.0, "y"), {"d": "z", "e": 2.0})
    assert (args, kwargs) == ((None, 1.0, None), {"d": None, "e": 2.0})
    assert with_static(f, "jit", statics)(None, 3.0, None, d=None, e=4.0) == ("x", 3.0, "y", "z", 4.0)
    statics, (args, kwargs) = static.split(("x", 1.0), {"e": 2.0, "d": "z"})
    assert with_static(f, "jit", statics)(*args, **kwargs) == ("x", 1.0, 0, "z", 2.0)


def test_a_call_without_static_arguments_runs_the_function_itself():
    f = lambda x, n=1: x
    assert with_static(f, "jit", chosen(f, 1, None).split((1.0,), {})[0]) is f


def one_argument(x):
    return x


def test_arguments_that_do_not_fit_the_function_are_explained():
    with pytest.raises(TypeError, match=r"jit of one_argument .* takes 1 positional argument but 2 were given\. Call"):
        with_static(one_argument, "jit", [(0, 1)])(None, 2.0)
