"""A function of arrays that is staged again records the equations of its first call, and nothing else changes."""

import operator

import numpy as np
import pytest

from calque_core import Jaxpr, Primitive, config, current_trace, lax, make_jaxpr, named_scope
from calque_core.engine.numpy_functions import mean
from calque_core.extend import by_types

X = np.linspace(0.5, 1.5, 6).reshape(2, 3)
ROW = np.ones(3, np.float32)
COUNT = 5  # the third call makes the expansion


def expand(function, args, options=None):
    return current_trace().process_function(function, args, options or {})


def texts(f, *args):
    """Return the text of the program of each call, the first ones recorded by the function itself."""
    return [str(make_jaxpr(f)(*args)) for _ in range(COUNT)]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: 2.0 * x,
        lambda x: x + ROW,
        lambda x: x.mean(axis=-1, keepdims=True),
        lambda x: x / 3,
        lambda x: (x[0], x[:, 1:], x[..., None], x[-1, ::-1]),
        lambda x: divmod(x, 0.3),
        lambda x: x.reshape(3, -1) @ x[:, 0].reshape(2, 1).T.reshape(2),
        lambda x: (np.sum(x, 0), np.maximum(x, 0.0), np.maximum(x, -0.0), np.power(x, 2), np.power(x, 2.0)),
        lambda x: (x > 1) | (x < 0),
        lambda x: (x.astype(np.float32), x.astype("int8"), x.astype(np.dtype("f2"))),
        lambda x: np.reshape(x, (3, 2), order="F"),
        lambda x: (x * True, x * 1, x * 1.0, x * np.float32(1), x * np.int8(1)),
    ],
)
def test_every_call_records_the_same_program(f):
    first, *later = texts(f, X)
    assert later == [first] * (COUNT - 1)


def calls_of(function, *args, **options):
    """Return how often `function` runs while a program calls it several times."""
    count = []

    def counted(*args, **options):
        count.append(1)
        return function(*args, **options)

    make_jaxpr(lambda *xs: [expand(counted, xs, options) for _ in range(10)])(*args)
    return len(count)


def test_a_function_runs_until_its_expansion_is_made():
    assert calls_of(lax.sin, X) == 3


def test_operands_that_are_all_constant_leave_the_function_to_itself():
    assert calls_of(lambda x: lax.sin(1.0), X) == 3
    count = []
    make_jaxpr(lambda x: [expand(lambda: count.append(1) or lax.sin(1.0), ()) for _ in range(10)])(X)
    assert len(count) == 10


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + np.ones((2, 3)),  # captures an array
        lambda x: lax.cond(True, lax.sin, lax.cos, x),  # holds programs
        lambda x: x,  # records nothing
        lambda x: (lax.sin(x), 1.0),
        lambda x: [out := lax.sin(x), out],
        lambda x: lax.sin(x).shape,
        lambda x: {"a": lax.sin(x)},
    ],
)
def test_a_function_whose_equations_cannot_be_copied_runs_at_each_call(function):
    count = []

    def program(x):
        results.extend([expand(counted, (x,)) for _ in range(10)])
        return x

    def counted(x):
        count.append(1)
        return function(x)

    results = []
    make_jaxpr(program)(X)
    assert len(count) == 11  # one of them looks for an expansion
    assert all(type(out) is type(results[0]) for out in results)


def test_options_that_are_equal_but_not_the_same_are_told_apart():
    def scaled(x, factor):
        kinds.append((type(factor), str(factor)))
        return lax.mul(x, np.float64(factor))

    factors = [1, True, 1.0, np.float32(1), 0.0, -0.0, 0, False, np.float64(1)]
    kinds = []
    for _ in range(2 * COUNT):
        program = make_jaxpr(lambda x: [expand(scaled, (x, factor)) for factor in factors])(X)
    assert [str(eqn.invars[1].val) for eqn in program.eqns] == [str(np.float64(f)) for f in factors]
    assert len(set(kinds)) == len(factors)
    assert len(kinds) == 3 * len(factors)


def test_tuples_of_equal_items_of_other_classes_are_told_apart():
    def first_of(x, shape):
        seen.append(shape)
        return lax.reshape(x, (6,)) if type(shape[0]) is int else lax.neg(x)

    seen = []
    for _ in range(COUNT):
        program = make_jaxpr(lambda x: [expand(first_of, (x, (1, 2))), expand(first_of, (x, (True, 2)))])(X)
    assert [eqn.primitive.name for eqn in program.eqns] == ["reshape", "neg"]
    assert len(seen) == 6


def test_an_equation_knows_the_line_and_the_scopes_of_its_own_call():
    def program(x):
        for _ in range(COUNT):
            y = x.mean()
        with named_scope("inside"):
            z = x.mean()
        return y, z

    jaxpr = make_jaxpr(program)(X)
    lines = {eqn.source_info.line for eqn in jaxpr.eqns}
    start = program.__code__.co_firstlineno
    assert lines == {start + 2, start + 4}
    assert [len(eqn.position) for eqn in jaxpr.eqns[-2:]] == [3, 3]


def test_a_rule_that_is_replaced_drops_the_expansions():
    p = Primitive("p")
    p.def_abstract_eval(lambda x: x)
    f = lambda x: p.bind(x)
    for _ in range(COUNT):
        assert make_jaxpr(lambda x: expand(f, (x,)))(1.0).out_avals[0].weak_type
    p.def_rule("abstract_eval", lambda x: x.strip_weak_type(), override=True)
    assert not make_jaxpr(lambda x: expand(f, (x,)))(1.0).out_avals[0].weak_type


def test_other_settings_leave_the_function_to_itself():
    f = lambda x: x * 2.5 + 1
    texts(f, X)
    with config.enable_x64(False):
        assert [v.aval.dtype for v in make_jaxpr(f)(X).outvars] == [np.float32]
    assert [v.aval.dtype for v in make_jaxpr(f)(X).outvars] == [np.float64]


def test_where_axes_have_names_the_function_runs_at_each_call():
    def scaled(x):
        count.append(1)
        return lax.mul(x, float(lax.axis_size("i")))

    count = []
    for size in (2, 3, 4, 5):
        program = make_jaxpr(lambda x: expand(scaled, (x,)), axis_env=[("i", size)])(X)
        assert program.eqns[0].invars[1].val == size
    assert len(count) == 4


def test_an_operator_in_place_marks_what_a_copied_view_shares():
    def program(x):
        for _ in range(COUNT):
            y = x * 1.0
            row = y[0]
        row += 1.0
        return y

    with pytest.raises(Exception, match=r"'\+='"):
        make_jaxpr(program)(X)


def test_an_error_names_the_line_of_each_call():
    for _ in range(COUNT):
        with pytest.raises(ValueError, match=r"test_known_operation\.py"):
            make_jaxpr(lambda x: x @ np.ones(7))(X)


def test_a_tracer_of_another_trace_is_a_constant_as_before():
    def outer(x):
        return [make_jaxpr(lambda y: operator.add(x, y))(x).eqns[0].primitive.name for _ in range(COUNT)] and x + x

    assert isinstance(make_jaxpr(outer)(X), Jaxpr)


def test_numpys_functions_are_expanded():
    for _ in range(COUNT):
        program = make_jaxpr(lambda x: np.mean(x, axis=-1, keepdims=True))(X)
    assert str(program) == str(make_jaxpr(lambda x: mean(x, axis=-1, keepdims=True))(X))


def test_a_function_by_types_runs_until_its_equations_are_known():
    calls = []

    @by_types
    def mean_of_squares(x, power=2):
        calls.append(power)
        return lax.div(lax.reduce_sum(lax.integer_pow(x, power)), x.size)

    programs = {str(make_jaxpr(mean_of_squares)(np.ones(3))) for _ in range(6)}
    assert len(programs) == 1
    assert calls == [2] * 3  # the third run is the one that is copied
    assert mean_of_squares(np.full(3, 2.0)) == 4.0
    assert mean_of_squares(np.full(3, 2.0), power=3) == 8.0
    assert calls == [2] * 4 + [3]
    assert mean_of_squares.__name__ == "mean_of_squares"


def test_a_function_that_raises_runs_once_at_each_call_without_code():
    runs = []

    def impatient(x):
        runs.append("run")
        raise ValueError("always")

    for count in (1, 2):
        with pytest.raises(ValueError, match="always"):
            make_jaxpr(lambda x: expand(impatient, (x,)))(1.0)
        assert len(runs) == count
