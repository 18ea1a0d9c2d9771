"""Straight-line code computes what its program computes."""

import numpy as np
import pytest

from calque_core import Primitive, eval_jaxpr, lax, make_jaxpr, rules
from calque_core.engine import StraightLine, is_straight

X = np.linspace(0.5, 1.5, 4)


def as_function(program):
    code = StraightLine()
    return code.function(code.arguments(program.invars), f"[{', '.join(code.results(program))}]")


@pytest.mark.parametrize(
    "f",
    [
        lambda x: lax.sin(x) * x,
        lambda x: lax.reshape(x, (2, 2)),
        lambda x: lax.split(x, (1, 3)),
        lambda x: [x, 2.0],
        lambda x: x * X,
        lambda x: x[1],
        lambda x: x[2:0:-1],
        lambda x: lax.reshape(x[:1], ()),
        lambda x: lax.broadcast_in_dim(x, (3, 4), (1,)),
        lambda x: lax.broadcast_in_dim(2.0, (3, 4), ()) * x,
        lambda x: lax.transpose(lax.reshape(x, (2, 2)), (1, 0)),
        lambda x: lax.reduce_max(lax.reshape(x, (2, 2)), 1),
        lambda x: lax.dot_general(x, x, (((), ()), ((0,), (0,)))),
        lambda x: lax.dot_general(lax.reduce_sum(x), x, (((), ()), ((), ()))),
        lambda x: lax.dot_general(lax.reshape(x, (2, 2)), lax.reshape(x, (2, 2)), (((0,), (1,)), ((), ()))),
    ],
)
def test_the_function_gives_the_results_of_the_program(f):
    program = make_jaxpr(f)(X)
    assert is_straight(program)
    for got, want in zip(as_function(program)(X + 1.0), eval_jaxpr(program, program.consts, X + 1.0), strict=True):
        np.testing.assert_array_equal(got, want)


def test_an_array_that_a_ufunc_repeats_later_is_kept_until_then():
    def f(x):
        row = 2.0 * x
        rows = lax.broadcast_in_dim(row, (3, 4), (1,))
        last = lax.sin(row)
        square = lax.broadcast_in_dim(last, (3, 4), (1,))
        return lax.add(lax.sub(np.ones((3, 4)), rows), square), lax.exp(last)

    (first, second), row = as_function(make_jaxpr(f)(X))(X), 2.0 * X
    np.testing.assert_array_equal(first, np.ones((3, 4)) - row + np.sin(row))
    np.testing.assert_array_equal(second, np.exp(np.sin(row)))


UNARY = [lax.neg, lax.abs, lax.sign, lax.square, lax.bitwise_not]
SECOND = [lambda y: y, lambda y: y[1], lambda y: y[1].item()]


@pytest.mark.parametrize("second", SECOND, ids=["array", "scalar", "Python scalar"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128", "bool", "int8", "uint8", "int64"])
@pytest.mark.parametrize(
    "f",
    [
        *(lax.add, lax.sub, lax.mul, lax.div, lax.max, lax.min, lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge),
        *(lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor, lax.select),
        *UNARY,
    ],
    ids=lambda f: f.__name__,
)
def test_code_of_known_types_has_the_bits_of_evaluation(f, dtype, second):
    x = np.array([3, 1, 0, 5]).astype(dtype)
    y = second(np.array([3, 2, 7, 4]).astype(dtype))
    if f is lax.select:
        args = (x != x[1], x, y)
    else:
        args = (x, y) if f not in UNARY else (x,)
    try:
        want = f(*args)
    except TypeError:
        with pytest.raises(TypeError):
            make_jaxpr(f)(*args)
        return
    got = as_function(make_jaxpr(f)(*args))(*args)[0]
    assert (type(got), got.dtype, got.tobytes()) == (type(want), want.dtype, want.tobytes())


@pytest.mark.parametrize("x", [2.0, 2.0 + 1.0j, np.float32(2.0), True, np.int8(3)])
def test_code_that_repeats_a_number_has_the_bits_of_evaluation(x):
    def f(x):
        return lax.broadcast_in_dim(x, (2, 3), ())

    got, want = as_function(make_jaxpr(f)(x))(x)[0], f(x)
    assert (got.dtype, got.shape, got.tobytes()) == (want.dtype, want.shape, want.tobytes())


def test_a_program_with_an_implementation_that_binds_is_not_straight():
    outer_p = Primitive("outer")
    outer_p.def_impl(lambda x: lax.sin(x))
    outer_p.def_abstract_eval(lambda x: x.strip_weak_type())
    assert not is_straight(make_jaxpr(outer_p.bind)(1.0))


def test_a_new_implementation_is_used_and_not_the_old_one_for_types():
    scale_p = Primitive("scale")
    scale_p.def_abstract_eval(lambda x: x)
    scale_p.def_impl(lambda x: 2.0 * x, leaf=True, for_types=lambda x_aval: lambda x: x + x)
    program = make_jaxpr(scale_p.bind)(X)
    np.testing.assert_array_equal(as_function(program)(X)[0], X + X)
    del rules("impl")[scale_p]
    scale_p.def_impl(lambda x: 3.0 * x, leaf=True)
    np.testing.assert_array_equal(as_function(program)(X)[0], 3.0 * X)


@pytest.mark.parametrize("number", [0.0, -0.0, 1.5, np.nan])
@pytest.mark.parametrize("is_true", [True, False], ids=["where true", "where false"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", ">f8"])
def test_code_of_a_choice_beside_a_number_has_the_bits_of_evaluation(dtype, is_true, number):
    """For many floats beside zero, code clears bits."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(10_000).astype(dtype)
    if x.dtype.kind == "f":
        x[:6] = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0]
    elif np.isnan(number):
        pytest.skip("an integer is no nan")
    x = x[::2]
    which, number = rng.random(len(x)) < 0.5, x.dtype.newbyteorder("=").type(number)
    cases = (x, number) if is_true else (number, x)
    got = as_function(make_jaxpr(lax.select)(which, *cases))(which, *cases)[0]
    want = np.where(which, *cases)
    assert (got.dtype, got.tobytes()) == (want.dtype, want.tobytes())


def test_an_array_that_the_ufunc_repeats_has_no_name_in_the_text_so_that_more_programs_have_the_same():
    texts = []
    for fun, y in ((lambda x, y: lax.add(x, lax.broadcast(y, (2,))), np.ones(3)), (lax.add, np.ones((2, 3)))):
        program, code = make_jaxpr(fun)(np.ones((2, 3)), y), StraightLine()
        arguments = code.arguments(program.invars)
        texts.append((arguments, code.results(program), code.lines))
    assert texts[0] == texts[1] == (["x0", "x1"], ["x2"], ["x2 = k0(x0, x1)"])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numbers_beside_doubles_are_arrays_of_rank_zero_with_the_same_results(dtype):
    x = np.linspace(-2.0, 2.0, 5).astype(dtype)
    program = make_jaxpr(lambda x: [lax.max(2.5 - 3.0 * x, 0.5), x > 0.5])(x)
    code = StraightLine()
    arguments = code.arguments(program.invars)
    results = code.results(program)
    arrays = [k for k in code.constants.values() if isinstance(k, np.ndarray)]
    assert len(arrays) == (3 if dtype == "float64" else 0)
    y, mask = code.function(arguments, f"[{', '.join(results)}]")(x)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y, np.maximum(x.dtype.type(2.5) - x.dtype.type(3.0) * x, x.dtype.type(0.5)))
    np.testing.assert_array_equal(mask, x > 0.5)
