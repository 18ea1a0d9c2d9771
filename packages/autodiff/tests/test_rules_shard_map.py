"""Derivatives of sharded programs: what their equations hold.  The laws of derivatives are tests of all packages."""

import numpy as np
import pytest

from calque_autodiff import deflinear, grad, jvp, linear_call, linear_transpose, linearize, partial_eval_jaxpr, vjp
from calque_core import AbstractMesh, Primitive, check_jaxpr, lax, make_jaxpr, shard_map
from calque_core import PartitionSpec as P
from calque_core.engine import nested_jaxprs
from calque_core.lax import shard_map_p

MESH = AbstractMesh((4,), ("i",))
X = np.linspace(0.1, 0.8, 8)


ROWS, ALL = P("i"), P()


def over(body, in_specs=ROWS, out_specs=ROWS, **options):
    return shard_map(body, mesh=MESH, in_specs=in_specs, out_specs=out_specs, **options)


def calls(fun, *args):
    """Return the equations of `shard_map` in the program of a function."""
    jaxpr = make_jaxpr(fun)(*args)
    check_jaxpr(jaxpr)
    return [eqn for eqn in jaxpr.eqns if eqn.primitive is shard_map_p]


def count(fun, name, *args):
    """Return how often a primitive occurs in the program of a function, inner programs included."""
    return sum(eqn.primitive.name == name for p in nested_jaxprs(make_jaxpr(fun)(*args)) for eqn in p.eqns)


def total(fun):
    return lambda *args: lax.reduce_sum(fun(*args))


@pytest.mark.parametrize("check_vma", [True, False])
def test_the_forward_program_is_one_shard_map_and_so_is_the_backward_one(check_vma):
    forward, backward = calls(grad(total(over(lambda x: lax.sin(x) * x, check_vma=check_vma))), X)
    assert forward.params["mesh"] is backward.params["mesh"] is MESH
    assert forward.params["check_vma"] is backward.params["check_vma"] is check_vma


@pytest.mark.parametrize("check_vma", [True, False])
def test_a_residual_is_divided_as_its_value_is(check_vma):
    forward, backward = calls(grad(total(over(lax.sin, check_vma=check_vma))), X)
    assert forward.params["out_specs"][-1] == ROWS
    assert forward.outvars[-1].aval.shape == (8,)
    assert backward.params["in_specs"] == (ROWS, ROWS)


def test_a_residual_that_does_not_vary_is_stored_once():
    body = lambda w, x: lax.exp(w) * x
    (forward, backward) = calls(grad(total(over(body, (ALL, ROWS))), (0, 1)), 0.5, X)
    assert forward.params["out_specs"] == (ROWS, ALL)
    assert {x for x in backward.invars if x.aval.shape == ()} == {forward.outvars[1]}


def test_a_weight_that_all_shards_share_is_no_residual_of_each():
    """The product needs a weight that varies; what is kept is the weight before `pvary`, which is the operand."""
    product = over(lambda w, x: x * w[0] + w[1], (ALL, ROWS))
    (forward, backward) = calls(grad(total(lambda w, x: product(w, x) ** 2), (0, 1)), np.ones(2), X)
    assert len(forward.outvars) == 2
    assert {x.aval.shape for x in backward.invars} == {(), (8,)}


def test_a_scalar_residual_that_may_vary_gets_an_axis():
    body = lambda w, x: lax.exp(w) * x
    (forward, _) = calls(grad(total(over(body, (ALL, ROWS), check_vma=False)), (0, 1)), 0.5, X)
    assert forward.params["out_specs"] == (ROWS, ROWS)
    assert forward.outvars[-1].aval.shape == (4,)


def test_a_residual_that_is_an_operand_or_a_result_is_not_stored_again():
    forward = calls(lambda x: linearize(over(lambda x: (x * x, lax.exp(x))), x)[0], X)[0]
    assert len(forward.outvars) == 2


def test_a_program_that_is_known_as_a_whole_is_not_run_again():
    (eqn,) = calls(lambda x, y: linearize(lambda y: over(lax.sin)(x) * y, y)[0], X, X)
    assert len(eqn.outvars) == 1


def test_known_results_belong_to_the_known_half():
    jaxpr = make_jaxpr(over(lambda x, y: (lax.sin(x), lax.sin(x) * y)))(X, X)
    split = partial_eval_jaxpr(jaxpr, [True, False])
    assert split.known_outs == [True, False]
    check_jaxpr(split.known)
    check_jaxpr(split.unknown)


def test_the_transpose_of_a_checked_sum_does_not_communicate():
    mean = over(lambda x: lax.psum(lax.sin(x), "i"), out_specs=ALL)
    assert count(grad(total(mean)), "psum", X) == 1
    unchecked = over(lambda x: lax.psum(lax.sin(x), "i"), out_specs=ALL, check_vma=False)
    assert count(grad(total(unchecked)), "psum", X) == 2


def test_the_gradient_of_gathered_weights_is_summed_and_scattered():
    gathered = over(lambda w: lax.all_gather(lax.sin(w), "i", tiled=True))
    assert count(grad(total(gathered)), "all_gather", X) == count(grad(total(gathered)), "psum_scatter", X) == 1
    np.testing.assert_allclose(grad(total(gathered))(X), 4 * np.cos(X))


@pytest.mark.parametrize("check_vma", [True, False])
def test_a_replicated_operand_gets_the_sum_of_the_cotangents(check_vma):
    product = over(lambda w, x: w * x, (ALL, ROWS), check_vma=check_vma)
    assert grad(total(product))(2.0, X) == pytest.approx(X.sum())


@pytest.mark.parametrize("check_vma", [True, False])
def test_a_result_that_all_shards_share_counts_once(check_vma):
    """Without the share of each shard, the gradient is too large by the number of shards."""
    square = over(lambda x: x * x, ALL, ALL, check_vma=check_vma)
    np.testing.assert_allclose(grad(total(square))(X), 2 * X)


def test_a_gradient_inside_the_body_is_that_of_the_whole_sum():
    gradient = over(grad(lambda w, x: lax.psum(lax.reduce_sum(lax.sin(w * x)), "i")), (ALL, ROWS), ALL)
    np.testing.assert_allclose(gradient(2.0, X), (X * np.cos(2.0 * X)).sum())


def test_an_unchecked_gradient_inside_the_body_adds_up_the_sums_of_all_shards():
    inside = grad(lambda x: lax.psum(lax.reduce_sum(x * x), "i"))
    np.testing.assert_allclose(over(inside, check_vma=False)(X), 4 * 2 * X)
    np.testing.assert_allclose(over(inside)(X), 2 * X)


def test_linear_transpose_of_a_sharded_program():
    gather = over(lambda x: lax.all_gather(x, "i", tiled=True))
    (bar,) = linear_transpose(gather, X)(np.arange(32.0))
    np.testing.assert_allclose(bar, np.arange(32.0).reshape(4, 8).sum(0))


def test_integer_results_have_no_derivative():
    outs, dots = jvp(
        over(lambda x: (lax.sin(x), lax.axis_index("i") + lax.convert_element_type(x, np.int32))), (X,), (X,)
    )
    assert dots[1].dtype == np.dtype([("float0", "V")]) or dots[1].dtype.itemsize == 0
    assert outs[1].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_an_operand_without_a_tangent_has_none_inside():
    (eqn,) = calls(lambda x, y: jvp(lambda x: over(lambda x, y: x * y)(x, y), (x,), (x,)), X, X)
    assert len(eqn.invars) == 3


def test_the_constraint_of_a_sharding_holds_for_cotangents():
    f = lambda x: lax.sharding_constraint_p.bind(lax.sin(x), mesh=MESH, spec=ROWS)
    assert count(lambda x: vjp(f, x)[1](x), "sharding_constraint", X) == 2


def test_a_cotangent_that_nobody_summed_is_refused():
    odd_p = Primitive("odd")
    odd_p.def_impl(lambda x: x)
    odd_p.def_abstract_eval(lambda x: x.strip_weak_type())
    deflinear(odd_p, lambda ct, x: [ct * lax.convert_element_type(lax.axis_index("i"), np.float64)])
    words = (
        r"^the transpose of shard_map at .*: the cotangent float64\[8\]\{V:i\} of an operand with the spec "
        r"PartitionSpec\(\) varies over 'i', over which the operand does not vary\. .* lax\.psum\(ct, 'i'\)\."
    )
    with pytest.raises(ValueError, match=words):
        grad(total(over(odd_p.bind, ALL, ALL)))(X)


def test_a_linear_function_of_own_values_sums_the_cotangents_of_a_common_operand():
    """Its transpose multiplies by a value of the shard: a cotangent for each shard."""

    def scaled(factor, x):
        return linear_call(lambda r, x: r * x, lambda r, ct: r * ct, factor, x)

    product = over(lambda w, x: scaled(x, w) + scaled(x + 1.0, lax.sin(w)), (ALL, ROWS))
    want = (X + (X + 1.0) * np.cos(0.5)).reshape(4, 2).sum(0)
    np.testing.assert_allclose(grad(total(product))(np.full(2, 0.5), X), want)
