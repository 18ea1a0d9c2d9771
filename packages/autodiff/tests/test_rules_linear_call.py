import numpy as np
import pytest

from calque_autodiff import grad, jvp, linear_call, linear_transpose, linearize, partial_eval_jaxpr, vjp
from calque_autodiff.rules.calls.linear_call import tangent_jaxpr
from calque_core import check_jaxpr, eval_jaxpr, jaxpr_equal, lax, make_jaxpr, stage, typeof
from calque_core.lax import linear_transpose_p


def scaled(r, x):
    return linear_call(lambda r, x: lax.sin(r) * x, lambda r, ct: lax.sin(r) * ct, r, x)


def marked(r, x):
    """Call a linear function whose transpose is not its own, so that it shows where that is used."""
    return linear_call(lambda r, x: r * x, lambda r, ct: 100.0 * ct, r, x)


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_every_law(laws, spaced):
    laws(scaled, spaced((3,)), spaced((3,), seed=1))


def test_every_law_of_a_call_of_trees_that_closes_over_its_arguments(laws, spaced):
    def call(w, x, y):
        def fun(r, args):
            return {"sum": r @ args[0] + y * args[1], "first": args[0] * y}

        def fun_transpose(r, ct):
            return ct["sum"] @ r + ct["first"] * y, ct["sum"] * y

        return linear_call(fun, fun_transpose, w, (x, lax.cos(x)))

    laws(call, spaced((3, 3)), spaced((3,), seed=1), spaced((3,), seed=2))


def test_reverse_mode_calls_the_transpose_that_was_given():
    assert jvp(lambda x: marked(2.0, x), (3.0,), (1.0,)) == (6.0, 2.0)
    assert linear_transpose(lambda x: marked(2.0, x), 3.0)(1.0) == (100.0,)
    assert grad(lambda x: marked(2.0, x))(3.0) == 100.0


def test_twice_transposed_a_call_is_itself():
    transposed = linear_transpose(lambda x: marked(2.0, x), 3.0)

    assert linear_transpose(lambda ct: transposed(ct)[0], 1.0)(1.0) == (2.0,)


def test_the_derivative_along_residuals_is_that_of_the_function():
    assert jvp(lambda r: marked(r, 3.0), (2.0,), (1.0,)) == (6.0, 3.0)
    assert grad(lambda r: marked(r, 3.0))(2.0) == 3.0
    assert grad(lambda r: marked(r, r))(2.0) == 102.0


def test_the_derivative_along_linear_arguments_is_one_call():
    jaxpr = make_jaxpr(lambda x_dot: jvp(lambda x: marked(2.0, x), (3.0,), (x_dot,))[1])(1.0)

    assert names(jaxpr).count("linear_call") == 2
    assert "mul" not in names(jaxpr)


def test_a_call_of_which_nothing_has_a_tangent_is_computed_once():
    jaxpr = make_jaxpr(lambda x: jvp(lambda y: (marked(2.0, x), y), (1.0,), (1.0,)))(3.0)

    assert names(jaxpr).count("linear_call") == 1


def test_integer_residuals_have_no_tangent():
    assert grad(lambda x: linear_call(lambda n, x: x * n, lambda n, ct: ct * n, 3, x))(2.0) == 3.0


def test_what_is_linear_in_a_residual_can_be_transposed_in_it():
    assert linear_transpose(lambda r: scaled_by(r, 3.0), 1.0)(2.0) == (6.0,)
    out, f_lin = linearize(lambda r: scaled_by(r, 3.0), 2.0)
    assert (out, f_lin(1.0)) == (6.0, 3.0)


def scaled_by(r, x):
    return linear_call(lambda r, x: r * x, lambda r, ct: r * ct, r, x)


def test_what_is_linear_in_neither_alone_cannot():
    with pytest.raises(NotImplementedError, match="in operands in which it is not linear"):
        linear_transpose(lambda x: scaled_by(x, x), 1.0)(2.0)


@pytest.mark.parametrize(("known", "recorded"), [([True, False], ["linear_call"]), ([False, True], ["mul"])])
def test_partial_evaluation_records_the_call_only_if_its_residuals_are_known(known, recorded):
    jaxpr = make_jaxpr(scaled_by)(np.float64(2.0), np.float64(3.0))
    parts = partial_eval_jaxpr(jaxpr, known)

    assert [name for name in names(parts.unknown) if name != "convert_element_type"] == recorded
    args = [2.0, 3.0]
    residuals = eval_jaxpr(parts.known, (), *(x for x, k in zip(args, known) if k))
    assert eval_jaxpr(parts.unknown, (), *residuals, *(x for x, k in zip(args, known) if not k)) == [6.0]


def test_the_tangent_program_computes_no_value_that_it_does_not_need():
    jaxpr = make_jaxpr(lambda x, y: (lax.sin(x) * y, y))(1.0, 2.0)

    program, out_mask = tangent_jaxpr(jaxpr, [False, True])

    assert out_mask == [True, True]
    assert names(program) == ["sin", "mul"]
    assert tangent_jaxpr(jaxpr, [True, False])[1] == [True, False]


# linear_transpose

PROGRAM = stage(lambda x, v: [lax.sin(x) * v, v.sum()], [typeof(np.ones(3))] * 2)


def transposed(x, ct, s):
    return linear_transpose_p.bind(x, ct, s, jaxpr=PROGRAM, num_res=1)[0]


def test_every_law_of_a_transpose(laws, spaced):
    laws(transposed, spaced((3,)), spaced((3,), seed=1), np.float64(0.7))


def test_a_transpose_is_adjoint_to_its_program(spaced):
    x, v, ct = spaced((3,)), spaced((3,), seed=1), spaced((3,), seed=2)
    first, second = eval_jaxpr(PROGRAM, (), x, v)

    np.testing.assert_allclose(first @ ct + second * 0.5, transposed(x, ct, 0.5) @ v)


def test_transposing_a_transpose_gives_the_operations_of_the_program():
    x = np.arange(3.0)
    jaxpr = make_jaxpr(lambda v: linear_transpose(lambda ct, s: transposed(x, ct, s), x, 1.0)(v))(x)
    check_jaxpr(jaxpr)

    assert "linear_transpose" not in names(jaxpr)
    assert "sin" in names(jaxpr)


def test_a_transpose_is_not_transposed_in_its_residuals():
    with pytest.raises(NotImplementedError, match=r"'linear_transpose'.* cannot be transposed in .* not linear"):
        linear_transpose(lambda x: transposed(x, x, 1.0), np.ones(3))(np.ones(3))


@pytest.mark.parametrize("known", [[True, False, False], [False, True, True], [True, True, False]])
def test_partial_evaluation_goes_into_the_transposed_program(known):
    args = [np.arange(3.0), np.ones(3), 0.5]
    parts = partial_eval_jaxpr(make_jaxpr(transposed)(*args), known)

    residuals = eval_jaxpr(parts.known, (), *(x for x, k in zip(args, known) if k))
    assert "linear_transpose" not in names(parts.unknown)
    (out,) = eval_jaxpr(parts.unknown, (), *residuals, *(x for x, k in zip(args, known) if not k))
    np.testing.assert_allclose(out, transposed(*args))


def test_a_transpose_stays_one_equation_until_somebody_asks():
    jaxpr = make_jaxpr(transposed)(np.ones(3), np.ones(3), 1.0)

    assert names(jaxpr) == ["linear_transpose"]
    assert jaxpr_equal(jaxpr.eqns[0].params["jaxpr"], PROGRAM)


def test_vjp_and_linearize_of_a_call_agree(spaced):
    r, x, ct = spaced((3,)), spaced((3,), seed=1), spaced((3,), seed=2)
    _, f_lin = linearize(scaled, r, x)
    _, f_vjp = vjp(scaled, r, x)
    r_bar, x_bar = f_vjp(ct)

    np.testing.assert_allclose(f_lin(r, x) @ ct, r_bar @ r + x_bar @ x)
