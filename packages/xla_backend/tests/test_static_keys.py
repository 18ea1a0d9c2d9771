import numpy as np
import pytest

from calque_xla_backend.calls.static_keys import explain_comparison, static_keys


def keys(fun, *statics):
    return static_keys("jit", fun, list(enumerate(statics)))


def test_keys_are_equal_for_values_that_cannot_be_told_apart():
    f = lambda *xs: xs
    for value in (1, "a", True, None, 0.0, (1, 2)):
        assert keys(f, value) == keys(f, value)
    different = [keys(f, value) for value in (0, False, 0.0, -0.0, None, "0", (0,))]
    assert len(set(different)) == len(different)


@pytest.mark.parametrize(("place", "name"), [(0, "x"), (1, r"args\[1\]"), (-1, r"args\[-1\]"), ("n", "n")])
def test_a_value_without_a_hash_is_named_as_in_the_function(place, name):
    def f(x, *xs, n=1):
        return x

    words = (
        rf"^jit of f \(test_static_keys\.py:\d+\) at test_static_keys\.py:\d+ \(.*\): the static argument "
        rf"{name} is \[1\] of type list, which has no hash \(.*\)\. Pass a hashable value, a tuple instead of a list\.$"
    )
    with pytest.raises(TypeError, match=words):
        static_keys("jit", f, [(place, [1])])


def test_an_array_has_no_key():
    words = r"argument x is array\(\[1\., 1\.\]\), an array, which has no hash\. Pass a Python value, or do not make"
    with pytest.raises(TypeError, match=words):
        keys(lambda x: x, np.ones(2))


class NeverEqual:
    def __hash__(self):
        return 0

    def __eq__(self, other):
        raise ZeroDivisionError("no comparison")


def test_an_error_of_a_comparison_is_explained_and_another_error_is_not():
    f = lambda x, n: x
    bad, earlier, other = keys(f, 1, NeverEqual()), keys(f, 1, NeverEqual()), keys(f, 1, "a")
    error = ZeroDivisionError("no comparison")
    words = (
        r"^jit of <lambda> \(.*\) at test_static_keys\.py:\d+ \(.*\): two values of the static argument n, of "
        r"type NeverEqual, cannot be compared, because NeverEqual\.__eq__ gives neither True nor False \(no comp"
    )
    with pytest.raises(TypeError, match=words) as caught:
        explain_comparison("jit", f, bad, [other, earlier], error)
    assert caught.value.__cause__ is error
    explain_comparison("jit", f, other, [other], error)
