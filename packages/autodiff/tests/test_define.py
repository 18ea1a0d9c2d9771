from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import (
    UndefinedPrimal,
    Zero,
    check_grads,
    defbilinear,
    defjvp,
    defjvp_all,
    deflinear,
    deftranspose,
    grad,
    instantiate_zeros,
    jvp,
    linear_transpose,
    not_linear,
    primitive_jvps,
    primitive_transposes,
    vjp,
    zero_derivative,
)
from calque_core import MissingRuleError, Primitive, lax, make_jaxpr, typeof


@pytest.fixture
def fma_p():
    """A primitive without any derivative rule: x y + z."""
    fma_p = Primitive("fma")
    fma_p.def_impl(lambda x, y, z: np.add(np.multiply(x, y), z))
    fma_p.def_abstract_eval(lambda x, y, z: x.strip_weak_type())
    return fma_p


def square_add(fma_p):
    return lambda a, b: fma_p.bind(a, a, b)


def test_one_rule_per_operand_is_enough_for_both_modes(fma_p):
    defjvp(fma_p, lambda t, out, x, y, z: t * y, lambda t, out, x, y, z: x * t, lambda t, out, x, y, z: t)
    check_grads(square_add(fma_p), (2.0, 10.0), order=2)


def test_an_operand_without_a_rule_has_a_zero_derivative(fma_p):
    defjvp(fma_p, lambda t, out, x, y, z: t * y, None, None)
    assert vjp(fma_p.bind, 2.0, 3.0, 4.0)[1](1.0) == (3.0, 0.0, 0.0)


def test_a_whole_rule_is_called_once_with_primals_and_tangents(fma_p):
    calls = []

    def value_and_jvp(primals, tangents):
        calls.append((primals, tangents))
        x, y, z = primals
        xt, yt, zt = map(instantiate_zeros, tangents)
        return fma_p.bind(x, y, z), fma_p.bind(xt, y, fma_p.bind(x, yt, zt))

    primitive_jvps[fma_p] = value_and_jvp
    assert jvp(square_add(fma_p), (2.0, 10.0), (1.0, 1.0)) == (14.0, 5.0)
    assert [tuple(map(tuple, call)) for call in calls] == [((2.0, 2.0, 10.0), (1.0, 1.0, 1.0))]


def test_a_transpose_rule_meets_undefined_primals_and_known_values(fma_p):
    calls = []

    def fma_jvp(primals, tangents):
        x, y, z = primals
        xt, yt, zt = map(instantiate_zeros, tangents)
        return fma_p.bind(x, y, z), fma_p.bind(xt, y, fma_p.bind(x, yt, zt))

    def fma_transpose(ct, x, y, z):
        calls.append((ct, *map(type, (x, y, z))))
        if type(x) is UndefinedPrimal:
            return [ct * y, None, ct]
        return [None, x * ct, ct]

    defjvp_all(fma_p, fma_jvp)
    with pytest.raises(
        MissingRuleError, match=r"Transpose rule \(for reverse-mode differentiation\) for 'fma' not implemented"
    ):
        grad(square_add(fma_p))(2.0, 10.0)
    primitive_transposes[fma_p] = fma_transpose
    assert grad(square_add(fma_p))(2.0, 10.0) == 4.0
    assert [call[0] for call in calls] == [1.0, 1.0]
    assert UndefinedPrimal in calls[0]


def test_a_missing_rule_says_who_reads_it_and_how_to_give_it(fma_p):
    with pytest.raises(NotImplementedError, match="Differentiation rule for 'fma' not implemented") as caught:
        jvp(square_add(fma_p), (2.0, 10.0), (1.0, 1.0))
    notes = "\n".join(caught.value.__notes__)
    remedy = "calque_autodiff reads this rule; register one with calque_autodiff.defjvp(fma_p, ...)."
    assert str(caught.value).splitlines()[1:] == [remedy]
    assert "'fma' was bound at test_define.py:" in notes


def test_a_linear_primitive_needs_its_transpose_only():
    scale_p = Primitive("scale")
    scale_p.def_impl(lambda x, *, by: np.multiply(x, by))
    scale_p.def_abstract_eval(lambda x, *, by: x.strip_weak_type())
    deflinear(scale_p, lambda ct, x, *, by: [scale_p.bind(ct, by=by)])
    check_grads(lambda x: lax.sin(scale_p.bind(x, by=3.0)), (0.5,), order=2)
    assert linear_transpose(lambda x: scale_p.bind(x, by=3.0), 1.0)(1.0) == (3.0,)


def test_a_bilinear_primitive_needs_its_two_transposes():
    outer_p = Primitive("outer")
    outer_p.def_impl(np.outer)
    outer_p.def_abstract_eval(lambda x, y: x.update(shape=(*x.shape, *y.shape), weak_type=False))
    defbilinear(outer_p, lambda ct, x, y: lax.dot(ct, y), lambda ct, x, y: lax.dot(lax.transpose(ct, (1, 0)), x))
    check_grads(outer_p.bind, (np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])), order=2)
    with pytest.raises(MissingRuleError, match=r"'outer'.* cannot be transposed in operands in which it is not linear"):
        linear_transpose(lambda x: outer_p.bind(x, x), np.ones(2))(np.ones((2, 2)))


def test_a_primitive_with_several_results_takes_lists():
    both_p = Primitive("sin_cos", multiple_results=True)
    both_p.def_impl(lambda x: [np.sin(x), np.cos(x)])
    both_p.def_abstract_eval(lambda x: [x.strip_weak_type()] * 2)

    def both_jvp(primals, tangents):
        sine, cosine = both_p.bind(*primals)
        return [sine, cosine], [tangents[0] * cosine, tangents[0] * -sine]

    defjvp_all(both_p, both_jvp)
    check_grads(lambda x: both_p.bind(x), (0.4,), order=2)


def test_a_primitive_defined_by_others_needs_no_rule():
    triple_p = Primitive("triple")
    triple_p.def_rule("decomposition", lambda x: x * x * x)
    check_grads(triple_p.bind, (0.7,), order=2)
    assert make_jaxpr(triple_p.bind)(1.0).eqns[0].primitive.name == "mul"


def test_a_decomposition_is_not_preferred_to_a_rule():
    triple_p = Primitive("triple")
    triple_p.def_rule("decomposition", lambda x: x * x * x)
    defjvp(triple_p, lambda t, out, x: t * 10.0)
    assert grad(triple_p.bind)(1.0) == 10.0


def test_a_zero_derivative_is_said_out_loud():
    step_p, pair_p = Primitive("step"), Primitive("pair", multiple_results=True)
    step_p.def_impl(np.sign)
    pair_p.def_impl(lambda x: [np.floor(x), np.ceil(x)])
    zero_derivative(step_p, pair_p, reason="they are piecewise constant")
    assert grad(lambda x: step_p.bind(x) + pair_p.bind(x)[0] + x)(0.5) == 1.0
    assert step_p.holes["transpose"] == "its derivative is zero: they are piecewise constant"


def test_holes_are_quoted_by_the_error():
    cube_p = Primitive("cube")
    cube_p.def_impl(lambda x: x**3)
    cube_p.def_abstract_eval(lambda x: x)
    not_linear(cube_p)
    with pytest.raises(MissingRuleError) as caught:
        linear_transpose(cube_p.bind, 1.0)(1.0)
    assert "There is none because it is not linear; only the derivative of a function is transposed." in str(
        caught.value
    )


def test_a_rule_that_forgets_to_return_is_named(fma_p):
    def forgetful(t, out, *primals):
        t * 2.0

    defjvp(fma_p, None, forgetful, None)
    sine_p = Primitive("sine")
    sine_p.def_impl(np.sin)
    sine_p.def_abstract_eval(lambda x: x.strip_weak_type())
    defjvp(sine_p, forgetful)
    words = r"the jvp rule .*forgetful \(test_define.py:\d+\) of '{}' returned None at .* Return the contribution"
    with pytest.raises(TypeError, match=words.format("fma")):
        jvp(fma_p.bind, (1.0, 2.0, 3.0), (1.0, 1.0, 1.0))
    with pytest.raises(TypeError, match=words.format("sine")):
        jvp(sine_p.bind, (1.0,), (1.0,))


def test_a_second_rule_is_refused_with_both_places(fma_p):
    defjvp(fma_p, None, None, None)
    with pytest.raises(ValueError, match=r"'fma' has a rule for 'jvp' from .*test_define.py.* To replace it, use"):
        defjvp(fma_p, None, None, None)
    deftranspose(fma_p, lambda ct, x, y, z: [None, None, None])
    assert fma_p in primitive_transposes


def test_a_rule_replaced_is_a_rule_used_in_programs_too(called):
    seen_p = Primitive("seen")
    seen_p.def_impl(lambda x: x)
    seen_p.def_abstract_eval(lambda x: x.strip_weak_type())
    defjvp(seen_p, lambda t, out, x: t * 2.0)
    jaxpr = make_jaxpr(called(lambda x: seen_p.bind(x)))(1.0)
    run = lambda x: jaxpr.eqns[0].primitive.bind(x, **jaxpr.eqns[0].params)[0]
    assert grad(run)(1.0) == 2.0
    primitive_jvps[seen_p] = lambda primals, tangents: (primals[0], tangents[0] * 3.0)
    assert grad(run)(1.0) == 3.0


def test_every_operation_has_a_rule_or_says_why_not():
    ours = [getattr(lax, name) for name in lax.__all__ if name.endswith("_p")]
    silent = [
        (p.name, kind)
        for p in ours
        for kind in ("jvp", "transpose")
        if kind not in p.rules and kind not in p.holes and (kind, "decomposition" in p.rules) != ("jvp", True)
    ]
    assert silent == []
    assert len(ours) > 60


def test_zeros_are_placeholders_with_a_type():
    zero = Zero(typeof(np.ones(2)))
    assert repr(zero) == "Zero(float64[2])"
    assert instantiate_zeros(zero).tolist() == [0.0, 0.0]
    assert repr(UndefinedPrimal(typeof(1.0))) == "UndefinedPrimal(~float64[])"


def test_a_rule_for_each_operand_is_demanded():
    pair_p = Primitive("pair")
    pair_p.def_impl(lambda x, y: np.add(x, y))
    defjvp(pair_p, lambda x_dot, out, x: x_dot)
    with pytest.raises(
        TypeError, match=r"'pair' was bound to 2 operands at test_define\.py:\d+ .*defjvp got 1 rules\."
    ):
        jvp(lambda x: pair_p.bind(x, x), (1.0,), (1.0,))


def test_a_joint_rule_gives_the_tangent_where_all_operands_have_one():
    times_p = Primitive("times")
    times_p.def_impl(np.multiply)
    calls = []

    def jointly(tangents, out, x, y):
        calls.append(len(tangents))
        return tangents[0] * y + x * tangents[1]

    defjvp(times_p, lambda t, out, x, y: t * y, lambda t, out, x, y: x * t, jointly=jointly)
    assert jvp(times_p.bind, (2.0, 3.0), (1.0, 10.0)) == (6.0, 23.0)
    assert jvp(lambda x: times_p.bind(x, 3.0), (2.0,), (1.0,)) == (6.0, 3.0)
    assert calls == [2]


def test_a_joint_rule_that_returns_nothing_is_refused():
    times_p = Primitive("times")
    times_p.def_impl(np.multiply)
    defjvp(times_p, None, None, jointly=lambda tangents, out, x, y: None)
    with pytest.raises(TypeError, match=r"the jvp rule .* of 'times' returned None"):
        jvp(times_p.bind, (2.0, 3.0), (1.0, 1.0))
