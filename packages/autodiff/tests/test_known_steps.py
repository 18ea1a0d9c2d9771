"""Functions as steps: a function whose types were met before is one operation of an eager derivative."""

import numpy as np
import pytest

from calque_autodiff import defjvp, deftranspose, grad, jvp, vjp
from calque_autodiff.known.steps import Step
from calque_autodiff.known.tables import linearizations
from calque_autodiff.traces.jvp_trace import JVPTrace
from calque_core import Primitive, Trace, Tracer, config, current_trace, hand_down, implements, lax, tracing, typeof
from calque_core.engine import JaxprFunction, Known, advance_rule_epoch, resolve
from calque_pytree import tree_flatten

X = np.linspace(0.5, 1.6, 6).reshape(2, 3)


def steps_of(f, *args):
    """Return the entries that the derivative of `f` has once all its functions are known."""
    for _ in range(3):
        _, pullback = vjp(f, *args)
    return pullback.tape.eqns


@pytest.mark.counts
def test_a_function_with_many_equations_is_one_step():
    (step,) = steps_of(lambda x: np.var(x, axis=0), X)
    assert type(step) is Step
    assert len(step.operation.programs().linear.eqns) > 3


def test_the_program_of_a_derivative_by_rules_is_that_by_steps():
    f = lambda x: x.std(axis=0) + x.var()
    advance_rule_epoch()  # forgets the operations that other tests met
    programs = {str(vjp(f, X)[1].program.jaxpr) for _ in range(5)}
    assert len(programs) == 1


@pytest.mark.counts
def test_a_program_of_a_derivative_takes_arrays_without_a_tangent():
    advance_rule_epoch()
    for _ in range(9):
        second = grad(lambda x: np.sum(grad(lambda x: np.sum(np.sin(x * X)))(x)))(X)
        np.testing.assert_allclose(second, -np.sin(X * X) * X**2, rtol=1e-14)
    entries = linearizations.known.items()
    known = [key for key, entry in entries if type(key[0]) is JaxprFunction and type(entry) is Known]
    assert any(np.ndarray in key for key in known)


def test_the_values_of_floats_are_operands():
    f = lambda x, t: np.sum(np.maximum(x * t, t) + t)
    for k in range(3):
        grad(f)(X, 0.1 * k)
    before = len(linearizations.known)
    for k in range(3, 20):
        np.testing.assert_array_equal(grad(f)(X, 0.1 * k), np.where(X * (0.1 * k) >= 0.1 * k, 0.1 * k, 0.0))
    assert len(linearizations.known) == before


def test_a_function_that_looks_at_a_float_has_an_operation_for_each_value():
    for _ in range(4):
        for power in (2.0, 0.5, 3.0, -1.0):
            np.testing.assert_allclose(grad(lambda x, p=power: x**p)(1.7), power * 1.7 ** (power - 1), rtol=1e-14)


def test_a_zero_keeps_its_sign_and_a_nan_is_no_other_number():
    f = lambda x, t: x / t
    for _ in range(4):
        for t, slope in ((0.0, np.inf), (-0.0, -np.inf), (np.nan, np.nan)):
            with np.errstate(divide="ignore"):
                np.testing.assert_equal(grad(f)(2.0, t), slope)


def test_an_index_out_of_bounds_is_refused_at_each_call():
    for _ in range(4):
        assert grad(lambda x: x.ravel()[np.array([5])].sum())(X)[1, 2] == 1.0
    for _ in range(4):
        with pytest.raises(IndexError, match="7"):
            grad(lambda x: x.ravel()[np.array([7])].sum())(X)


def test_a_constant_array_is_read_at_each_call():
    weights = np.ones((2, 3))
    f = lambda x: np.sum(np.multiply(x, weights))
    for k in range(5):
        weights[:] = k
        np.testing.assert_array_equal(grad(f)(X), np.full((2, 3), float(k)))


def test_an_array_that_the_function_writes_to_keeps_its_values_for_the_derivative():
    def f(x):
        buffer = np.full((2, 3), 2.0)
        y = np.maximum(x * buffer, buffer)
        buffer[:] = 100.0
        return np.sum(y)

    for _ in range(5):
        np.testing.assert_array_equal(grad(f)(X), np.where(X > 1.0, 2.0, 0.0))


@pytest.mark.counts
def test_arrays_are_operands_of_functions_that_types_decide():
    f = lambda x, c: np.sum(np.maximum(x, c) * c)
    constants = [np.linspace(-1.0, 1.0 + k, 6).reshape(2, 3) for k in range(12)]
    for c in constants[:3]:
        grad(f)(X, c)
    before = len(linearizations.known)
    for c in constants:
        np.testing.assert_allclose(grad(f)(X, c), (c < X) * c, rtol=1e-14)
    assert len(linearizations.known) == before
    assert len(steps_of(lambda x: f(x, constants[0]), X)) == 3


def test_an_error_names_the_function_that_an_array_of_texts_cannot_be_an_operand_of():
    words = []
    for _ in range(5):
        with pytest.raises(TypeError, match=r"^dot at test_known_steps\.py:.*: an array of dtype <U1 is no") as caught:
            grad(lambda x: np.dot(x, np.array(["a", "b", "c"])).sum())(X)
        words.append(str(caught.value))
    assert len(set(words)) == 1


def test_a_users_function_in_the_place_of_a_ufunc_may_look_at_elements():
    ufunc = np.frompyfunc(lambda x, c: x * c, 2, 1)
    implements(ufunc)(lambda x, c: 2.0 * x if c[0] > 0 else 3.0 * x)
    f = lambda x, c: np.sum(ufunc(x, c))
    for sign, slope in [(1.0, 2.0), (-1.0, 3.0)] * 4:
        np.testing.assert_array_equal(grad(f)(X, sign * np.ones(3)), np.full((2, 3), slope))


def test_a_write_to_a_view_is_refused_as_at_the_first_call():
    def f(x):
        y = x[0]
        y += 1.0
        return np.sum(x)

    for _ in range(5):
        with pytest.raises(TypeError, match=r"\+="):
            grad(f)(X)


def test_a_result_shares_no_memory_with_the_argument():
    f = lambda x: (x.reshape(6), x.T)
    for _ in range(5):
        x = X.copy()
        (flat, transposed), pullback = vjp(f, x)
        flat[:] = 0.0
        transposed[:] = 0.0
        np.testing.assert_array_equal(x, X)
        np.testing.assert_array_equal(pullback((np.ones(6), np.ones((3, 2))))[0], np.full((2, 3), 2.0))


def test_a_function_runs_under_settings_of_its_own():
    f = lambda x: np.mean(x, axis=0).sum()
    for _ in range(4):
        grad(f)(X)
    with config.enable_x64(False):
        assert grad(f)(X).dtype == np.float32
    with np.errstate(invalid="ignore"), config.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        grad(lambda x: np.sqrt(x).sum())(np.array([-1.0, 1.0]))


def test_an_error_names_the_rule_and_the_line_of_the_function():
    f = lambda x: np.mean(np.log(x))
    for _ in range(4):
        grad(f)(X)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero") as caught:
        grad(f)(np.array([[1.0, 0.0, 1.0]] * 2))
    assert any("derivative rule of 'log'" in note for note in caught.value.__notes__)


@pytest.mark.counts
def test_steps_keep_the_line_of_the_user():
    def f(x):
        y = np.var(x)
        return y * 2.0

    lines = [resolve(step.position).line for step in steps_of(f, X)]
    assert [line - f.__code__.co_firstlineno for line in lines] == [1, 2]


def test_a_rule_that_replaces_another_one_is_used_at_once():
    triple_p = Primitive("triple")
    triple_p.def_impl(lambda x: np.multiply(3.0, x), leaf=True)
    triple_p.def_abstract_eval(lambda x: x.strip_weak_type())
    defjvp(triple_p, lambda x_dot, out, x: triple_p.bind(x_dot))
    deftranspose(triple_p, lambda ct, x: [triple_p.bind(ct)])
    f = lambda x: current_trace().process_function(triple_p.bind, (x,), {})
    for _ in range(4):
        assert grad(f)(2.0) == 3.0
    triple_p.def_rule("transpose", lambda ct, x: [triple_p.bind(triple_p.bind(ct))], override=True)
    assert grad(f)(2.0) == 9.0


def test_a_second_derivative_goes_through_the_functions_of_the_first():
    f = lambda x: np.mean(np.sin(x)) * np.float64(2.0)
    for _ in range(5):
        gradient, along = jvp(grad(f), (X,), (np.ones_like(X),))
        np.testing.assert_allclose(gradient, np.cos(X) / 3.0, rtol=1e-12)
        np.testing.assert_allclose(along, -np.sin(X) / 3.0, rtol=1e-12)


class Doubling(Trace):
    """Hands all operations to its parent, and counts those on its tracers."""

    def __init__(self, parent):
        super().__init__(parent)
        self.counted = []

    def process_primitive(self, primitive, args, params):
        self.counted.append(primitive.name)
        values = [x.value if self.owns(x) else x for x in args]
        return [Doubled(self, out) for out in hand_down(self.parent, primitive, values, params)]


class Doubled(Tracer):
    __slots__ = ("value",)

    def __init__(self, trace, value):
        self._trace, self.value = trace, value

    @property
    def aval(self):
        return typeof(self.value)


@pytest.mark.counts
def test_a_derivative_inside_a_derivative_has_steps_of_its_own():
    kinds = []

    def f(x):
        y = np.mean(np.sin(x) * x)
        kinds.append([type(entry) for entry in y._trace.tangent_trace.eqns])
        return y

    expected = (2.0 * np.cos(X) - X * np.sin(X)) / 6.0
    for _ in range(7):
        second = grad(lambda x: np.sum(grad(f)(x)))(X)
        np.testing.assert_allclose(second, expected, rtol=1e-12)
    assert kinds[0] != [Step] * 3
    assert kinds[-1] == [Step] * 3


def test_derivatives_of_any_order_are_steps_and_agree_with_differences():
    f = lambda x: np.tanh(x) * x / (1.0 + x**2)
    first, second = grad(f), grad(grad(f))
    third = grad(second)
    for _ in range(8):
        for derivative, below in ((second, first), (third, second)):
            differences = (below(0.7 + 1e-6) - below(0.7 - 1e-6)) / 2e-6
            np.testing.assert_allclose(derivative(0.7), differences, rtol=1e-8)


def with_a_dead_sine(x):
    np.sin(3.0 * x)
    return np.mean(np.sin(x) * x)


@pytest.mark.parametrize("verb", [grad, lambda f: lambda x: jvp(f, (x,), (1.0,))[1]], ids=["grad", "jvp"])
@pytest.mark.parametrize("has_tracer", [True, False])
def test_a_users_trace_sees_each_operation_of_a_derivative_at_each_call(verb, has_tracer):
    def operations():
        trace = Doubling(current_trace())
        with tracing(trace):
            slope = verb(with_a_dead_sine)(Doubled(trace, 0.3) if has_tracer else 0.3)
        np.testing.assert_allclose(slope.value, np.sin(0.3) + 0.3 * np.cos(0.3), rtol=1e-14)
        return trace.counted

    by_rules = operations()
    assert by_rules.count("sin") == by_rules.count("cos") == 2
    assert [operations() for _ in range(5)] == [by_rules] * 5


def test_a_captured_number_that_is_written_later_keeps_its_value():
    def scaled(x):
        factor = np.array(2.0)
        y = x * factor
        factor[...] = 7.0
        return y

    for _ in range(7):
        assert grad(scaled)(1.5) == 2.0
        assert grad(lambda x: grad(lambda y: scaled(y) * y)(x))(1.5) == 4.0
        assert jvp(scaled, (1.5,), (1.0,)) == (3.0, 2.0)


def test_many_derivatives_inside_each_other_have_plans_for_the_outer_three_alone():
    depths = []

    def f(x):
        trace, depth = x._trace, 0
        while trace is not None:
            depth, trace = depth + (isinstance(trace, JVPTrace) and trace.known is not None), trace.parent
        depths.append(depth)
        return np.sin(x) * x

    derivative = f
    for _ in range(5):
        derivative = grad(derivative)
    np.testing.assert_allclose(derivative(0.4), 0.4 * np.cos(0.4) + 5.0 * np.sin(0.4), rtol=1e-12)
    assert depths == [3]


def test_a_nested_derivative_names_the_rule_and_the_line():
    f = lambda x: np.mean(np.log(x))
    second = grad(lambda x: np.sum(grad(f)(x)))
    for _ in range(7):
        second(X)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero") as caught:
        second(np.array([[1.0, 0.0, 1.0]] * 2))
    assert any("derivative rule of 'log'" in note for note in caught.value.__notes__)


def test_a_pullback_inside_a_derivative_is_a_pytree_of_its_tracers():
    def through_leaves(x):
        _, pullback = vjp(lambda y: np.sum(np.sin(y) * y), x)
        leaves, treedef = tree_flatten(pullback)
        return np.sum(treedef.unflatten([leaf * 1.0 for leaf in leaves])(1.0)[0])

    expected = 2.0 * np.cos(X) - X * np.sin(X)
    for _ in range(7):
        np.testing.assert_allclose(grad(through_leaves)(X), expected, rtol=1e-12)


def test_lax_functions_beside_numpys():
    for _ in range(4):
        np.testing.assert_allclose(grad(lambda x: lax.sin(np.mean(x)))(X), np.full((2, 3), np.cos(X.mean()) / 6))
