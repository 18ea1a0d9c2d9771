"""Code that writes to dead operands computes the bits of the program, and writes to no array of anybody else."""

import random

import numpy as np
import pytest

from calque_core import Primitive, eval_jaxpr, lax, make_jaxpr
from calque_core.engine import StraightLine
from calque_core.known.buffers import Repetition, addition_of, calls_of

X, Y = np.linspace(0.5, 1.5, 12).reshape(3, 4), np.linspace(2.0, -1.0, 12).reshape(3, 4)
ROW, ZERO = np.linspace(-1.0, 1.0, 4), np.float64(0.0)


def as_function(program, private=()):
    code = StraightLine()
    arguments = code.arguments(program.invars)
    return code.function(arguments, f"[{', '.join(code.results(program, private))}]")


def destinations(program, private=()):
    """Return the name of each operation, and whether its result is written to an operand."""
    return [(call.eqn.primitive.name, call.into is not None) for call in calls_of(program, private).calls]


def test_a_result_is_written_to_an_operand_that_is_dead():
    program = make_jaxpr(lambda x: lax.sin(2.0 * x) * 3.0)(X)
    assert destinations(program) == [("mul", False), ("sin", True), ("mul", True)]


def test_an_operand_that_is_used_later_or_returned_is_kept():
    program = make_jaxpr(lambda x: (y := 2.0 * x, z := lax.sin(y), lax.cos(z) * z))(X)
    assert destinations(program) == [("mul", False), ("sin", False), ("cos", False), ("mul", True)]


def test_an_operand_of_another_type_is_kept():
    program = make_jaxpr(lambda x: lax.abs(lax.complex(2.0 * x, 3.0 * x)) + lax.convert_element_type(x > 1.0, float))(X)
    assert destinations(program)[-3:] == [("gt", False), ("convert_element_type", False), ("add", True)]


def test_an_array_with_a_view_is_kept():
    program = make_jaxpr(lambda x: (y := 2.0 * x) + lax.transpose(lax.reshape(y, (4, 3)), (1, 0)))(X)
    assert destinations(program)[-1] == ("add", False)


def test_numbers_are_not_written_to():
    program = make_jaxpr(lambda x: lax.sin(lax.cos(x)))(1.0)
    assert destinations(program) == [("cos", False), ("sin", False)]
    assert as_function(program)(1.0)[0] == np.sin(np.cos(1.0))


def test_an_argument_is_written_to_only_if_it_is_private():
    program = make_jaxpr(lambda x, y: lax.sin(x) * y)(X, Y)
    assert destinations(program) == [("sin", False), ("mul", True)]
    x, y = X.copy(), Y.copy()
    (out,) = as_function(program, program.invars[:1])(x, y)
    np.testing.assert_array_equal(out, np.sin(X) * Y)
    np.testing.assert_array_equal(y, Y)
    assert out is x


def test_a_private_argument_that_is_returned_is_kept():
    program = make_jaxpr(lambda x: (x, lax.neg(x)))(X)
    x = X.copy()
    first, second = as_function(program, program.invars)(x)
    assert first is x
    np.testing.assert_array_equal(first, X)
    np.testing.assert_array_equal(second, -X)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, row: x + lax.broadcast_in_dim(row, (3, 4), (1,)),
        lambda x, row: x * lax.broadcast_in_dim(row[0], (3, 4), ()),
        lambda x, row: lax.max(lax.broadcast_in_dim(row, (3, 4), (1,)), lax.broadcast_in_dim(row[:3], (3, 4), (0,))),
    ],
    ids=["a row", "a number", "a row and a column"],
)
def test_an_operand_of_a_ufunc_is_not_repeated(f):
    program = make_jaxpr(f)(X, ROW)
    repeated = [call for call in calls_of(program).calls if call.eqn.primitive is lax.broadcast_in_dim_p]
    assert repeated
    assert all(np.size(call.function(np.ones(call.eqn.invars[0].aval.shape))) < X.size for call in repeated)
    np.testing.assert_array_equal(as_function(program)(X, ROW)[0], f(X, ROW))


def test_an_array_of_equal_numbers_that_is_returned_or_reshaped_is_made():
    def f(x):
        whole = lax.broadcast_in_dim(x, (3, 4), ())
        return whole, lax.reshape(lax.broadcast_in_dim(2.0 * x, (3, 4), ()), (12,)), lax.sin(whole)

    for out in as_function(make_jaxpr(f)(2.0))(2.0):
        assert out.size == 12
        assert out.flags.writeable


def test_a_repetition_is_the_evaluation_of_its_operation():
    function = lax.broadcast_in_dim_p.impl_for_types([make_jaxpr(lambda x: x)(ROW).in_avals[0]], ROWS)
    assert type(function) is Repetition
    np.testing.assert_array_equal(function(ROW), np.broadcast_to(ROW, (3, 4)))
    assert function.view(ROW).shape == function.shape == (4,)
    column = lax.broadcast_in_dim_p.impl_for_types([make_jaxpr(lambda x: x)(ROW).in_avals[0]], COLUMNS)
    assert column.view(ROW).shape == column.shape == (4, 1)


ROWS = {"shape": (3, 4), "broadcast_dimensions": (1,)}
COLUMNS = {"shape": (4, 3), "broadcast_dimensions": (0,)}


def test_a_primitive_whose_results_may_be_views_is_no_owner():
    same_p = Primitive("same")
    same_p.def_abstract_eval(lambda x: x)
    same_p.def_impl(lambda x: x, leaf=True)
    program = make_jaxpr(lambda x: (y := 2.0 * x, lax.sin(same_p.bind(y)))[1])(X)
    assert destinations(program) == [("mul", False), ("same", False), ("sin", False)]
    assert same_p.makes_arrays is False


def test_a_ufunc_of_objects_makes_its_own_array():
    slow_sin_p = Primitive("slow_sin")
    slow_sin_p.def_abstract_eval(lambda x: x.strip_weak_type())
    slow_sin_p.def_impl(lambda x: np.frompyfunc(np.sin, 1, 1)(x).astype(float), leaf=True)
    objects_p = Primitive("objects")
    objects_p.def_abstract_eval(lambda x: x.strip_weak_type())
    objects_p.def_impl(np.frompyfunc(np.sin, 1, 1), leaf=True)
    program = make_jaxpr(lambda x: objects_p.bind(slow_sin_p.bind(2.0 * x)))(X)
    assert destinations(program) == [("mul", False), ("slow_sin", False), ("objects", False)]


def test_a_new_implementation_takes_its_promises_back():
    add_one_p = Primitive("add_one")
    add_one_p.def_abstract_eval(lambda x: x)
    add_one_p.def_impl(lambda x: x + 1, leaf=True, makes_arrays=True)
    add_one_p.def_adder(0, lambda aval: lambda total: None)
    assert add_one_p.makes_arrays
    add_one_p.def_rule("impl", lambda x: x, override=True)
    assert not add_one_p.makes_arrays
    assert add_one_p.adder is None


ADDITIONS = {
    "pad": lambda x: lax.pad(2.0 * x, ZERO, [(1, 2, 0), (0, 1, 1)]),
    "pad of a number": lambda x: lax.pad(lax.reshape(x[0, 0], (1, 1)), ZERO, [(1, 2, 0), (0, 1, 0)]),
    "dynamic_update_slice": lambda x: lax.dynamic_update_slice(lax.full((5, 6), 0.0), x, (1, 9)),
    "scatter_add": lambda x: lax.full((5, 4), 0.0).at[np.array([1, 4, 1])].add(x, mode="clip"),
}


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("name", ADDITIONS)
def test_an_addition_adds_the_result_of_its_program_in_place(name, order):
    program = make_jaxpr(ADDITIONS[name])(X)
    program = program.replace(constvars=(), consts=(), invars=[*program.constvars, *program.invars])
    constants = make_jaxpr(ADDITIONS[name])(X).consts
    code = StraightLine()
    names = code.arguments(program.invars)
    assert code.adds(program, "total"), program
    add = code.function(["total", *names], "None")
    (whole,) = eval_jaxpr(program, (), *constants, X)
    total = np.arange(whole.size, dtype=float).reshape(whole.shape).copy(order=order)
    expected = total + whole
    add(total, *constants, X)
    np.testing.assert_allclose(total, expected, rtol=1e-15)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: lax.pad(x, np.float64(1.0), [(1, 2, 0), (0, 0, 0)]),
        lambda x: lax.pad(x, ZERO, [(-1, 2, 0), (0, 0, 0)]),
        lambda x: lax.dynamic_update_slice(2.0 * x, x[:1], (1, 0)),
        lambda x: (lax.pad(x, ZERO, [(1, 2, 0), (0, 0, 0)]), x),
        lambda x: x,
    ],
    ids=["around it are ones", "it cuts", "into no zeros", "two results", "no operation"],
)
def test_another_program_is_no_addition(f):
    assert addition_of(make_jaxpr(f)(X)) is None


# Random programs

UNARY = [lax.neg, lax.sin, lax.square, lax.floor, lambda x: lax.integer_pow(x, 3), lambda x: lax.max(x, 0.25)]
BINARY = [lax.add, lax.sub, lax.mul, lax.max, lax.min, lambda x, y: lax.select(x > y, x, y), lax.atan2]
SHAPING = [
    lambda x: lax.transpose(lax.reshape(x, (4, 3)), (1, 0)),
    lambda x: lax.reshape(lax.transpose(x, (1, 0)), (3, 4)),
    lambda x: lax.rev(x, (0,)),
    lambda x: lax.broadcast_in_dim(lax.reduce_sum(x, 0), (3, 4), (1,)),
    lambda x: lax.broadcast_in_dim(lax.reduce_max(x, 1), (3, 4), (0,)),
    lambda x: lax.broadcast_in_dim(lax.reduce_sum(x), (3, 4), ()),
    lambda x: lax.broadcast_in_dim(x[:1], (3, 4), (0, 1)),
    lambda x: lax.pad(x[1:], 0.5, [(1, 0, 0), (0, 0, 0)]),
    lambda x: lax.convert_element_type(x > 0.5, float),
    lambda x: lax.concatenate([x[2:], x[:2]], 0),
    lambda x: lax.cumsum(x, 1),
    lambda x: lax.dot(x, lax.transpose(x, (1, 0)))[:, :1] * x,
]


def random_function(seed):
    """Return a function of two arrays to one to three results, from 12 operations on values of one shape."""
    rng = random.Random(seed)
    steps = [(rng.choice(UNARY + BINARY * 2 + SHAPING), rng.random(), rng.random()) for _ in range(12)]
    picks = [rng.random() for _ in range(rng.randint(1, 3))]

    def f(x, y):
        values = [x, y]
        for operation, first, second in steps:
            args = [values[int(first * len(values))], values[int(second * len(values))]]
            values.append(operation(*args[: 2 if operation in BINARY else 1]))
        return [values[-1 - int(p * 3)] for p in picks]

    return f


@pytest.mark.parametrize("seed", range(200))
def test_code_of_a_random_program_has_its_bits_and_leaves_its_arguments_alone(seed):
    program = make_jaxpr(random_function(seed))(X, Y)
    expected = eval_jaxpr(program, program.consts, X, Y)
    for private in ((), program.invars):
        x, y = X.copy(), Y.copy()
        outs = as_function(program, private)(x, y)
        for out, want in zip(outs, expected, strict=True):
            assert (out.dtype, out.tobytes()) == (want.dtype, want.tobytes())
        if not private:
            assert (x.tobytes(), y.tobytes()) == (X.tobytes(), Y.tobytes())


@pytest.mark.parametrize("seed", range(50))
def test_private_results_of_a_random_program_share_no_memory(seed):
    program = make_jaxpr(random_function(seed))(X, Y)
    code = StraightLine()
    arguments = code.arguments(program.invars)
    outs = code.function(arguments, f"[{', '.join(code.results(program))}]")(X, Y)
    for i, (v, out) in enumerate(zip(program.outvars, outs)):
        if v in code.private and program.outvars.count(v) == 1:
            others = [X, Y, *outs[:i], *outs[i + 1 :]]
            assert not any(np.shares_memory(out, other) for other in others), program
