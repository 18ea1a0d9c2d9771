"""Operators of tracers mean what NumPy's mean: values, dtypes, shapes, and who is asked first."""

import operator
import re
from collections import deque

import numpy as np
import pytest

from calque_core import ArrayMethods, config, eval_jaxpr, stage, typeof
from calque_core.engine import entered
from calque_core.engine.numpy_functions import power
from calque_core.errors import ShapeError, TracerBoolConversionError

pytestmark = pytest.mark.sampled(keep=0.1)

DTYPES = "?bhilBHILefdFD"
LEFT = {"b": [True, False, True], "i": [-7, 3, 5], "u": [7, 3, 200], "f": [-1.5, 0.0, 2.25], "c": [1 + 2j, -1j, 0]}
RIGHT = {"b": [True, True, True], "i": [2, -3, 5], "u": [2, 3, 5], "f": [2.0, -0.5, 0.75], "c": [2j, 1 - 1j, 3]}
BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.matmul,
    operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift,
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
]  # fmt: skip
UNARY = [operator.neg, operator.pos, operator.abs, operator.invert]


def traced(fun, *args):
    jaxpr = stage(lambda *xs: [fun(*xs)], [typeof(x) for x in args])
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)[0]


def primitives(fun, *args):
    return [eqn.primitive.name for eqn in stage(lambda *xs: [fun(*xs)], [typeof(x) for x in args]).eqns]


def refused(fun, *args, error=TypeError):
    with pytest.raises(error) as caught:
        traced(fun, *args)
    return str(caught.value)


def assert_same(got, want, ulps=4):
    assert np.asarray(got).dtype == np.asarray(want).dtype
    assert np.shape(got) == np.shape(want)
    eps = np.finfo(want.dtype).eps if np.asarray(want).dtype.kind in "fc" else 0
    np.testing.assert_allclose(got, want, rtol=ulps * eps, atol=0)


def outcome(fun, *args):
    """Return NumPy's result, or None where it refuses."""
    with np.errstate(all="ignore"):
        try:
            return fun(*args)
        except TypeError:
            return None


def array(values, char):
    dtype = np.dtype(char)
    return np.array(values[dtype.kind], dtype)


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
@pytest.mark.parametrize("left", DTYPES)
def test_a_binary_operator_has_the_value_and_the_dtype_of_numpys(op, left):
    for right in DTYPES:
        x, y = array(LEFT, left), array(RIGHT, right)
        want = outcome(op, x, y)
        if want is None:
            refused(op, x, y)
        else:
            assert_same(traced(op, x, y), want)
            assert_same(traced(lambda b, a=x, op=op: op(a, b), y), want)  # an ndarray on the left asks us
            assert_same(traced(lambda a, b=y, op=op: op(a, b), x), want)


@pytest.mark.parametrize("op", [operator.lt, operator.le, operator.gt, operator.ge], ids=lambda op: op.__name__)
def test_complex_numbers_have_an_order_unless_both_are_pythons(op):
    z = np.array([1 + 2j, 1 - 1j, -1, complex(0, np.nan)])
    assert_same(traced(lambda a: op(a, 1 + 0j), z), op(z, 1 + 0j))
    assert_same(traced(lambda a: op(1, a), z), op(1, z))
    assert_same(traced(lambda a: op(a, z[::-1].copy()), z), op(z, z[::-1]))
    assert f"{op.__name__} of ~complex128[] at test_operators.py" in refused(lambda a: op(a, 1.0), 2j)


@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.__name__)
def test_a_unary_operator_has_the_value_and_the_dtype_of_numpys(op):
    for char in DTYPES:
        x = array(LEFT, char)
        want = outcome(op, x)
        if want is None:
            refused(op, x)
        else:
            assert_same(traced(op, x), want)


SCALARS = [2, -3, 0.75, True, np.float32(2), np.float64(-0.5), np.int8(3), np.int64(-2), 1 + 2j]
ARITHMETIC = [operator.add, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.eq]


@pytest.mark.parametrize("op", ARITHMETIC, ids=lambda op: op.__name__)
@pytest.mark.parametrize("scalar", SCALARS, ids=repr)
def test_a_scalar_on_either_side_is_promoted_as_numpy_does(op, scalar):
    for char in "bilfd":
        x = array(RIGHT, char)
        for fun in (lambda a: op(a, scalar), lambda a: op(scalar, a)):
            want = outcome(fun, x)
            if want is None:
                refused(fun, x)
            else:
                assert_same(traced(fun, x), want)


SPECIAL = [-np.inf, -2.5, -1.0, -0.5, 0.0, 0.5, 1.0, 0.1, 3.0, 1e300, np.inf, np.nan]


@pytest.mark.parametrize("op", [operator.floordiv, operator.mod, operator.truediv], ids=lambda op: op.__name__)
def test_division_of_floats_is_numpys_at_zeros_infinities_and_where_rounding_bites(op):
    x, y = (np.array(v) for v in zip(*[(a, b) for a in SPECIAL for b in SPECIAL], strict=True))
    with np.errstate(all="ignore"):
        want = op(x, y)
        np.testing.assert_array_equal(traced(op, x, y), want)
        for scalar in (3, -3, 0.1, -0.5, 0.0, np.inf, np.float64(2)):
            np.testing.assert_array_equal(traced(lambda a, s=scalar: op(a, s), x), op(x, scalar))


def test_division_by_a_static_number_needs_one_comparison():
    x = np.array([5, -5])
    assert primitives(lambda a: a % 3, x) == ["rem", "lt", "add", "select_n"]
    assert primitives(lambda a: a // -3, x) == ["rem", "div", "gt", "sub", "select_n"]
    assert primitives(lambda a: a // np.uint8(3), np.uint8(7)) == ["div"]


def test_divmod_gives_both():
    x = np.array([-7, 7])
    assert_same(traced(lambda a: divmod(a, 3)[0], x), x // 3)
    assert_same(traced(lambda a: divmod(7, a)[1], x), 7 % x)


@pytest.mark.parametrize("exponent", [2, 0, 3, 2.0, 0.5, 1.5, np.int64(2), np.float32(2), np.float64(3)], ids=repr)
def test_a_power_has_the_value_and_the_dtype_of_numpys(exponent):
    for char in "bilBfdD":  # not bool: NumPy gives int8 for the exponent 2 alone
        x = np.abs(array(RIGHT, char)) if char != "D" else array(LEFT, char)
        # NumPy before 2.3 ignores the dtype of a scalar in the operator, and not in the function.
        has_dtype = isinstance(exponent, np.generic) and np.lib.NumpyVersion(np.__version__) < "2.3.0"
        want = np.power(x, exponent) if has_dtype else x**exponent
        assert_same(traced(lambda a: a**exponent, x), want, ulps=8)


def test_a_static_integer_power_is_integer_pow_and_a_half_is_the_square_root():
    x = np.array([1.0, 2.0])
    assert primitives(lambda a: a**3, x) == ["integer_pow"]
    assert primitives(lambda a: a**2.0, x) == ["integer_pow"]
    assert primitives(lambda a: a**0.5, x) == ["sqrt"]
    assert primitives(lambda a: a**1.5, x) == ["pow"]
    assert_same(traced(lambda a: 2**a, x), 2**x)


def test_an_integer_has_no_negative_integer_power():
    words = refused(lambda a: a**-2, np.array([2]), error=ValueError)
    assert words.startswith("power of int64[1] and -2 at test_operators.py:")
    assert words.endswith("an integer to a negative power is no integer. Convert the array to float first.")


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "uint64"])
@pytest.mark.parametrize("shapes", [((), ()), ((6,), (6,)), ((), (6,)), ((0,), (1,)), ((3, 1), (2, 1, 4))], ids=str)
def test_integers_to_an_array_of_integers_wrap_around_as_in_numpy(dtype, shapes):
    x, y = (np.random.default_rng(0).integers(0, high, shape) for high, shape in zip((200, 90), shapes))
    x, y = np.asarray(x).astype(dtype), np.asarray(y).astype(dtype)
    with np.errstate(over="ignore"):
        want = np.power(x, y)
        assert_same(traced(operator.pow, x, y), want)
        with entered():
            assert_same(power(x, y), want)
    for exponents in (y, np.int16(3), 3):
        assert_same(traced(lambda a, n=exponents: a**n, x), x**exponents)


def test_a_known_array_of_exponents_has_no_negative_element():
    for fun in (lambda a: a ** np.array([2, -3]), lambda a: power(np.array([2]), np.array([[-3, 2]]))):
        words = refused(fun, np.array([2]), error=ValueError)
        assert re.search(
            r"^power of int64\[1\] and -3 at test_op.*: an integer to a negative power is no integer\.", words
        )


def test_a_traced_negative_exponent_gives_the_truncated_inverse():
    x = np.array([2, 1, -1, -1, 0, -5])
    assert traced(operator.pow, x, np.array([-1, -2, -3, -4, -1, -1])).tolist() == [0, 1, -1, 1, 0, 0]


def test_the_power_of_two_traced_python_integers_is_refused():
    words = refused(operator.pow, 2, 3)
    assert "the power of two Python integers is an int or a float by the sign of the exponent" in words
    assert "numpy.int64(2) ** x, which gives an integer, or a float; or make the exponent static." in words
    for base, result in ((np.int64(2), np.int64(8)), (2.0, 8.0)):
        out = traced(operator.pow, base, 3)
        assert (out, np.asarray(out).dtype) == (result, np.asarray(result).dtype)


# Who is asked


class Celsius:
    """A class that knows what to do with an array, and is unknown to it."""

    def __rmul__(self, other):
        return "mine"

    def __eq__(self, other):
        return "mine too"

    __hash__ = None


def test_a_class_with_operators_of_its_own_gets_its_chance():
    asked = []
    stage(lambda x: asked.extend([x * Celsius(), x == Celsius()]) or [x], [typeof(1.0)])
    assert asked == ["mine", "mine too"]


def test_an_object_that_knows_nothing_is_refused_by_python():
    assert "unsupported operand type(s) for +: 'JitTracer' and 'object'" in refused(lambda x: x + object(), 1.0)
    assert "unsupported operand type(s) for -: 'NoneType' and 'JitTracer'" in refused(lambda x: None - x, 1.0)


@pytest.mark.parametrize("other", ["two", {"a": 1}, {1}, b"two"], ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.pow, operator.lt, operator.matmul])
def test_what_can_never_be_an_operand_is_refused_by_name(op, other):
    for fun in (lambda x: op(x, other), lambda x: op(other, x)):
        words = refused(fun, np.ones(2))
        assert words.startswith("the other operand at test_operators.py:")
        assert f"of type {type(other).__name__} is not an array or a scalar." in words


@pytest.mark.parametrize("other", [[1.0, 2.0], (1, 2), range(1, 3), [np.float32(1), 2]], ids=repr)
@pytest.mark.parametrize(
    "op", [operator.add, operator.mul, operator.truediv, operator.eq, operator.lt, operator.matmul]
)
def test_a_list_is_the_array_that_numpy_makes_of_it(op, other):
    for x in (np.array([4.0, 5.0], np.float32), np.array([4, 5], np.int8)):
        for fun in (lambda x: op(x, other), lambda x: op(other, x)):
            got, want = traced(fun, x), fun(x)
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("op", [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne])
@pytest.mark.parametrize("number", [300, -300, 2**40, 3])
def test_a_comparison_with_a_python_integer_is_exact(op, number):
    for x in (np.array([1, 3, 100], np.int8), np.array([1, 3, 100], np.uint8)):
        for fun in (lambda x: op(x, number), lambda x: op(number, x)):
            np.testing.assert_array_equal(traced(fun, x), fun(x))


def test_a_list_of_tracers_is_an_operand():
    np.testing.assert_array_equal(traced(lambda x: x * [x[0], 1.0], np.array([3.0, 4.0])), [9.0, 4.0])
    np.testing.assert_array_equal(traced(lambda x: (x[1], (x[0])) - x, np.array([3.0, 4.0])), [1.0, -1.0])


def test_lists_of_another_length_do_not_fit():
    assert "mul of float64[2] and float64[3]" in refused(lambda x: x * [1.0, 2.0, 3.0], np.ones(2), error=ShapeError)
    assert "have different shapes, (2,), ()." in refused(lambda x: x * [x, 1.0], np.ones(2), error=ShapeError)


@pytest.mark.parametrize(
    ("op", "other", "scalar"),
    [(operator.mul, [0.0], 3), (operator.mul, (0.0, 1.0), np.int64(3)), (operator.add, [1.0], 2.0)],
    ids=["repeated", "repeated by a NumPy integer", "no operation"],
)
def test_beside_a_scalar_a_list_is_python_s(op, other, scalar):
    for fun in (lambda x: op(x, other), lambda x: op(other, x)):
        words = refused(fun, scalar)
        assert words.startswith(
            f"a traced scalar of type {typeof(scalar)} cannot be combined with a {type(other).__name__} at test_oper"
        )
        assert words.endswith("Convert it to an array with numpy.asarray; to repeat it, make the number static.")


def test_beside_a_numpy_scalar_a_list_is_an_array():
    np.testing.assert_array_equal(traced(lambda x: x * [1.0, 2.0], np.float64(3)), [3.0, 6.0])


def test_a_masked_array_is_refused_whichever_side_it_is_on():
    masked = np.ma.masked_array([1.0, 2.0], [True, False])
    words = refused(lambda x: x + masked, np.ones(2))
    assert words.startswith("the other operand at test_operators.py:")
    assert "a masked array is not an operand" in words
    words = refused(lambda x: masked + x, np.ones(2))
    assert "was asked of a traced value of type float64[2] at test_operators.py:" in words
    assert words.endswith("Use its elements, m.filled(value), and numpy.where.")


@pytest.mark.parametrize(
    ("apply", "symbol"),
    [
        (lambda x, texts: x + texts, "+"), (lambda x, texts: x - texts.tolist(), "-"),
        (lambda x, texts: x // texts, "//"), (lambda x, texts: x**texts, "**"), (lambda x, texts: x @ texts, "@"),
        (lambda x, texts: x < texts, "<"), (lambda x, texts: x == texts, "=="), (lambda x, texts: x << texts, "<<"),
        (divmod, "divmod"), (lambda x, texts: x & texts.astype(object), "&"), (operator.iadd, "+="),
    ],
)  # fmt: skip
def test_an_operator_that_refuses_an_array_is_named_as_the_user_wrote_it(apply, symbol):
    texts = np.array(["a", "b"])
    words = refused(lambda x: apply(x, texts), np.ones(2))
    assert re.match(re.escape(symbol) + r" at test_operators.py:\d+ \(.*\): an array of dtype ", words)
    assert words.endswith(" is not an operand. Convert it to a number dtype first.")


def test_comparison_with_none_is_false():
    seen = []
    stage(lambda x: seen.extend([x == None, x != None]) or [x], [typeof(1.0)])  # noqa: E711
    assert seen == [False, True]


@pytest.mark.parametrize("other", ["scale", np.str_("scale"), b"scale", {"a": 1}, {1}, frozenset()], ids=repr)
def test_a_value_that_can_never_be_an_operand_is_equal_to_no_array(other):
    seen = []
    stage(lambda x: seen.extend([x == other, other == x, x != other, x in (other, "auto")]) or [x], [typeof(1.0)])
    assert seen == [False, False, True, False]


def test_membership_in_a_list_asks_for_a_bool():
    with pytest.raises(TracerBoolConversionError):
        stage(lambda x: [x in [2.0, x]], [typeof(1.0)])


def test_a_value_that_is_searched_for_in_a_tracer_asks_for_a_bool():
    with pytest.raises(TracerBoolConversionError):
        stage(lambda x: [2.0 in x], [typeof(np.ones(3))])


def test_a_tracer_has_no_hash_and_says_what_to_use():
    words = refused(lambda x: {x: 1}, np.float32(1))
    assert words.startswith(
        "unhashable type: 'JitTracer': an array of type float32[] was used as a dict key, a set member"
    )
    assert words.endswith("but == is elementwise. Use a Python value.")


def test_shapes_that_do_not_broadcast_are_named():
    words = refused(operator.add, np.ones(2), np.ones(3), error=ShapeError)
    assert words.startswith("add of float64[2] and float64[3] at test_operators.py:")


def test_augmented_assignment_makes_a_new_array():
    def fun(x):
        y = x + 0.0
        y += 1.0
        y *= 2.0
        return y - x

    np.testing.assert_array_equal(traced(fun, np.array([1.0, 2.0])), [3.0, 4.0])


def test_augmented_assignment_to_an_ndarray_is_refused():
    total = np.zeros(2)
    words = refused(lambda x: operator.iadd(total, x), np.ones(2))
    assert words.startswith("numpy.add at test_operators.py:")
    assert "out= is not supported" in words
    assert "a = a + b in place of a += b" in words
    np.testing.assert_array_equal(total, 0.0)


@pytest.mark.parametrize("side", [0, 1])
def test_a_product_with_a_numpy_scalar_or_array_is_one_equation(side):
    for other in (np.float64(2), np.ones(3), 2.0):
        assert primitives(lambda x, o=other: (x * o, o * x)[side], np.ones(3)) == ["mul", "mul"]


def test_operators_keep_to_32_bits_when_told_to():
    with config.enable_x64(False):
        x = np.array([1, 2], np.int32)
        assert traced(lambda a: a / 2, x).dtype == np.float32
        assert traced(lambda a: a / np.float64(2), x).dtype == np.float32
        assert traced(lambda a: a // 2, x).dtype == np.int32
        assert traced(lambda a: a**0.5, x).dtype == np.float32


def test_operators_on_python_scalars_give_python_scalars():
    assert traced(lambda a, x: a * x, 2.0, np.float32(3)).dtype == np.float32
    assert type(traced(lambda a, b: a / b, 1, 2)) is float
    assert traced(lambda p, s: p * (s + 1), np.float32(3), 2.0).dtype == np.float32
    assert traced(lambda p, t: p / (1 - 0.9**t), np.float32(3), 2).dtype == np.float32
    assert traced(lambda p, s: p * s**2, np.float32(3), 2.0).dtype == np.float32
    with config.default_dtype_bits(32):
        assert typeof(traced(lambda a, b: a / b, 1, 2)).dtype == np.float32


REFLECTED = ["add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "and", "or", "xor"]


def test_every_operator_of_the_language_is_there():
    names = [f"__{side}{name}__" for name in [*REFLECTED, "lshift", "rshift"] for side in ("", "r")]
    assert [name for name in names if not hasattr(ArrayMethods, name)] == []


def test_a_deque_is_a_sequence_of_numbers():
    for f in (lambda a: deque([1.0, 2.0]) * a, lambda a: a - deque([1.0, 2.0])):
        assert traced(f, np.ones(2)).tolist() == f(np.ones(2)).tolist()


def test_a_string_is_in_no_array():
    assert traced(lambda x: 2.0 * x if "a" in x else x, np.ones(2)).tolist() == [1.0, 1.0]
