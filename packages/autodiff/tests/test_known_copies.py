"""A function whose derivative is staged again records the equations of its first call, and nothing else changes."""

import numpy as np
import pytest

from calque_autodiff import grad, jvp, linearize, value_and_grad, vjp
from calque_core import Primitive, config, current_trace, jaxpr_as_fun, lax, make_jaxpr, named_scope
from calque_core.testing import check_jaxpr

X = np.linspace(0.5, 1.6, 6).reshape(2, 3)
ROW = np.linspace(0.1, 0.3, 3)
COUNT = 5  # the third call makes the linearized function


def call(function, *args, **options):
    return current_trace().process_function(function, args, options)


def total(x):
    return lax.reduce_sum(x, tuple(range(x.ndim)))


def doubled_below(x):
    """Compare a sine, whose derivative nothing uses."""
    return lax.select(lax.sin(x) > 0.9, x, 2.0 * x)


FUNCTIONS = {
    "a product with itself": lambda x: x * x,
    "a product": lambda x: x * (x + 1.0),
    "a known operand": lambda x: x @ np.ones((3, 2)),
    "a row": lambda x: x + ROW,
    "a mean": lambda x: x.mean(axis=-1, keepdims=True) * x,
    "a quotient": lambda x: (2.0 / x - x / 3) ** 2,
    "views": lambda x: x.reshape(3, 2).T[0] * x[:, 1:].T.ravel()[:3],
    "layouts in a row": lambda x: x.reshape(3, 2).reshape(6).reshape(2, 3),
    "results without tangents": lambda x: x * x.argmax(axis=1, keepdims=True) + (x > 1.0),
    "two results": lambda x: np.divmod(x, 0.3)[1],
    "integers between": lambda x: x.astype("int64").astype("float64") * x,
    "the largest": lambda x: x.max(axis=0) - x.min() + np.maximum(x, 1.0),
    "a derivative without a use": lambda x: call(doubled_below, x),
    "a standard deviation": lambda x: x.std(axis=0) + x.var(),
}


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_every_call_records_the_same_program(f):
    first, *later = [str(make_jaxpr(grad(lambda x: total(f(x) * 2.0)))(X)) for _ in range(COUNT)]
    assert later == [first] * (COUNT - 1)


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_the_recorded_gradient_is_that_of_differences(f):
    def loss(x):
        return total(f(x) * 2.0)

    for _ in range(COUNT):
        program = make_jaxpr(grad(loss))(X)
    gradient = jaxpr_as_fun(program)(X)[0]
    for index in np.ndindex(X.shape):
        step = np.zeros_like(X)
        step[index] = 1e-6
        np.testing.assert_allclose(gradient[index], (loss(X + step) - loss(X - step)) / 2e-6, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_every_jvp_records_the_same_program_which_the_gradient_agrees_with(f):
    def loss(x):
        return total(f(x) * 2.0)

    programs = [make_jaxpr(lambda x, x_dot: jvp(loss, (x,), (x_dot,)))(X, X) for _ in range(COUNT)]
    assert [str(program) for program in programs] == [str(programs[0])] * COUNT
    x_dot = np.cos(X)
    _, slope = jaxpr_as_fun(programs[-1])(X, x_dot)
    np.testing.assert_allclose(slope, np.sum(grad(loss)(X) * x_dot), rtol=1e-12)


def test_a_tangent_that_is_its_primal_has_its_own_equations():
    square_p = Primitive("square_of")
    square_p.def_impl(lambda x: x * x, leaf=True)
    square_p.def_abstract_eval(lambda x: x)

    def rule(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return square_p.bind(x), lax.mul(square_p.bind(x) if x_dot is x else lax.mul(x, x_dot), 2.0)

    square_p.def_rule("jvp", rule)

    def names(same):
        x = np.float64(3.0)
        program = make_jaxpr(lambda x, t: jvp(square_p.bind, (x,), (x if same else t,)))(x, x)
        return [eqn.primitive.name for eqn in program.eqns]

    for _ in range(COUNT):
        assert names(same=True) == ["square_of", "square_of", "mul"]
        assert names(same=False) == ["square_of", "mul", "mul"]


@pytest.mark.counts
def test_a_function_runs_until_its_derivative_is_made():
    count = []

    def counted(x, y):
        count.append(1)
        return lax.mul(lax.sin(x), y)

    for _ in range(COUNT):
        make_jaxpr(grad(lambda x: total(call(counted, x, x) + call(counted, x, 2.0))))(X)
    assert len(count) == 6


def test_operands_without_tangents_are_told_from_those_with():
    def f(x, y):
        return total(call(lax.mul, x, y) + call(lax.mul, y, x) + call(lax.mul, y, y))

    for _ in range(COUNT):
        program = make_jaxpr(lambda x, y: grad(f)(x, y))(X, X + 1.0)
    np.testing.assert_allclose(jaxpr_as_fun(program)(X, X + 1.0)[0], 2.0 * (X + 1.0))


def test_a_derivative_of_a_derivative_is_recorded_too():
    def f(x):
        return total((x * x).sum(axis=0) * x.mean())

    texts = [str(make_jaxpr(grad(lambda x: total(grad(f)(x))))(X)) for _ in range(COUNT)]
    assert texts == texts[:1] * COUNT


def test_an_equation_knows_the_line_and_the_scopes_of_its_own_call():
    def f(x):
        for _ in range(COUNT):
            y = (x * 3.0).sum()
        with named_scope("inside"):
            z = (x * 3.0).sum()
        return y + z

    program = make_jaxpr(value_and_grad(f))(X)
    start = f.__code__.co_firstlineno
    assert {eqn.source_info.line for eqn in program.eqns} == {start + 2, start + 4, start + 5}
    assert {eqn.source_info.name_stack for eqn in program.eqns if eqn.source_info.line == start + 4} == {
        "inside",
        "transpose(inside)",
    }


def test_a_rule_that_is_replaced_drops_the_derivatives():
    p = Primitive("p")
    p.def_abstract_eval(lambda x: x)
    p.def_rule("jvp", lambda primals, tangents: (p.bind(*primals), lax.mul(tangents[0], 2.0)))

    def gradient():
        return [eqn for eqn in make_jaxpr(grad(lambda x: call(p.bind, x)))(1.0).eqns if eqn.primitive is lax.mul_p]

    for _ in range(COUNT):
        assert [x.val for x in gradient()[0].invars] == [1.0, 2.0]
    p.def_rule("jvp", lambda primals, tangents: (p.bind(*primals), lax.mul(tangents[0], 5.0)), override=True)
    assert [x.val for x in gradient()[0].invars] == [1.0, 5.0]


def test_a_rule_that_fails_names_the_line_of_each_call():
    p = Primitive("without_rule")
    p.def_abstract_eval(lambda x: x)
    for _ in range(COUNT):
        with pytest.raises(NotImplementedError, match=r"test_known_copies\.py"):
            make_jaxpr(grad(lambda x: call(p.bind, x)))(1.0)


def test_an_operator_in_place_marks_what_a_copied_view_shares():
    def f(x):
        for _ in range(COUNT):
            y = x * 1.0
            row = y[0]
        row += 1.0
        return total(y)

    with pytest.raises(Exception, match=r"'\+='"):
        make_jaxpr(grad(f))(X)


def test_linearize_and_vjp_under_a_staged_program_are_those_of_the_function():
    def f(x):
        return (x * x).mean(axis=0)

    def both(x):
        out, f_lin = linearize(f, x)
        _, f_vjp = vjp(f, x)
        return out, f_lin(x), f_vjp(out)[0]

    for _ in range(COUNT):
        program = make_jaxpr(both)(X)
    for got, want in zip(jaxpr_as_fun(program)(X), both(X), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)


def test_a_value_of_an_outer_trace_is_captured_by_the_program_inside():
    def step(scale, y, _):
        return vjp(lambda scale, y: (scale * y * y).sum(), scale, y)[1](1.0)[1], None

    def f(scale, y):
        return lax.scan(lambda y, x: step(scale, y, x), y, np.zeros(2))[0]

    for _ in range(COUNT):
        program = make_jaxpr(f)(2.0, ROW)
        check_jaxpr(program)
        np.testing.assert_allclose(jaxpr_as_fun(program)(2.0, ROW)[0], 16.0 * ROW, rtol=1e-14)


def primitive_with_counted_rule(leaf, multiple_results=False):
    """Return a primitive that doubles its operand, and the list of the calls of its derivative rule."""
    p, calls = Primitive("counted", multiple_results=multiple_results), []
    p.def_impl(lambda x, **_: [x + x] if multiple_results else x + x, leaf=leaf)
    p.def_abstract_eval(lambda x, **_: [x] if multiple_results else x)

    def jvp_rule(primals, tangents, **params):
        calls.append(params)
        out, out_dot = p.bind(*primals, **params), lax.add(tangents[0], tangents[0])
        return (out, [out_dot]) if multiple_results else (out, out_dot)

    p.def_rule("jvp", jvp_rule)
    return p, calls


@pytest.mark.counts
@pytest.mark.parametrize("multiple_results", [False, True])
def test_the_rule_of_a_leaf_runs_until_its_derivative_is_made(multiple_results):
    p, calls = primitive_with_counted_rule(leaf=True, multiple_results=multiple_results)
    f = lambda x: p.bind(x)[0] if multiple_results else p.bind(x)
    texts = {str(make_jaxpr(value_and_grad(f))(2.0)) for _ in range(COUNT)}
    assert len(texts) == 1
    assert len(calls) == 3
    assert jaxpr_as_fun(make_jaxpr(value_and_grad(f))(2.0))(2.0) == [4.0, 2.0]


def test_the_rule_of_another_primitive_runs_at_each_call():
    p, calls = primitive_with_counted_rule(leaf=False)
    for _ in range(COUNT):
        make_jaxpr(grad(p.bind))(2.0)
    assert len(calls) == COUNT


@pytest.mark.counts
def test_a_leaf_with_other_parameters_types_or_settings_has_its_own_derivative():
    p, calls = primitive_with_counted_rule(leaf=True)
    for _ in range(COUNT):
        make_jaxpr(grad(lambda x: p.bind(x, axis=0)))(2.0)
        make_jaxpr(grad(lambda x: p.bind(x, axis=1)))(2.0)
        make_jaxpr(grad(lambda x: total(p.bind(x, axis=1))))(X)
    assert len(calls) == 9
    with config.enable_x64(False):
        for _ in range(COUNT):
            make_jaxpr(grad(lambda x: p.bind(x, axis=0)))(2.0)
    assert len(calls) == 12


def test_a_leaf_beside_an_array_or_an_unknown_parameter_runs_its_rule():
    p, calls = primitive_with_counted_rule(leaf=True)
    for _ in range(COUNT):
        make_jaxpr(grad(lambda x: p.bind(x, shift=object())))(2.0)
    assert len(calls) == COUNT
    programs = [make_jaxpr(grad(lambda x: total(lax.mul(x, ROW))))(ROW) for _ in range(COUNT)]
    for program in programs:
        np.testing.assert_array_equal(jaxpr_as_fun(program)(ROW)[0], ROW)
