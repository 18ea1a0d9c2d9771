import pytest

from calque_xla_backend.calls.static import DonatedArguments, StaticArguments, donated_arguments, static_arguments


def test_positions_and_names_are_inferred_from_each_other():
    def f(a, b, /, c, d=1, *, e):
        return a

    assert static_arguments(f, (0, 2), None) == StaticArguments((0, 2), ("c",))
    assert static_arguments(f, None, ("d", "e")) == StaticArguments((3,), ("d", "e"))
    assert static_arguments(f, -1, None) == StaticArguments((3,), ("d",))
    assert static_arguments(f, 0, "e") == StaticArguments((0,), ("e",))
    assert static_arguments(f, None, None) == StaticArguments()


def test_positions_are_unchanged_if_the_parameters_are_unknown():
    assert static_arguments(max, (1, -1), None).positions == (1, -1)
    assert static_arguments(lambda *xs: xs, (5, -1), None).positions == (5, -1)
    assert static_arguments(lambda **k: k, None, "any").names == ("any",)


def test_negative_positions_of_variadic_functions_count_from_the_end_of_the_call():
    def f(*xs):
        return xs

    key, (dynamic, _) = static_arguments(f, -1, None).split(f, (1.0, 2.0, "mode"), {})
    assert dynamic == (1.0, 2.0, None)
    assert key == ((-1, (str, "mode")),)


def test_splitting_and_merging_are_inverse():
    def f(a, b, c, *, d, e):
        return a

    static = static_arguments(f, (0, 2), "d")
    args, kwargs = ("x", 1.0, "y"), {"d": "z", "e": 2.0}
    _, (dynamic, named) = static.split(f, args, kwargs)
    assert (dynamic, named) == ((None, 1.0, None), {"d": None, "e": 2.0})
    assert static.merge(dynamic, named, (args, kwargs)) == (args, kwargs)


def test_donated_positions_are_checked():
    assert donated_arguments(lambda x, y, /: x, (0, -1)) == DonatedArguments((0, 1))
    assert donated_arguments(lambda x, y: x, (0, -1)) == DonatedArguments((0, 1), ("x", "y"))
    assert donated_arguments(lambda x: x, None) == DonatedArguments()
    assert donated_arguments(max, -1) == DonatedArguments((-1,))
    with pytest.raises(ValueError, match=r"donate_argnums=2, but the function has 1 positional argument\. Count"):
        donated_arguments(lambda x: x, 2)
