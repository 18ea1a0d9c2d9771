import numpy as np

from calque_batching import vmap
from calque_core import lax, make_jaxpr
from calque_core.lax import name_p, optimization_barrier, remat_p


def rematted(fun, **params):
    """Return a function that binds `remat`, as `checkpoint` does."""
    usual = {"policy": None, "prevent_cse": True, "differentiated": False}

    def call(*args):
        return remat_p.bind(*args, jaxpr=make_jaxpr(fun)(*args), **usual | params)

    return call


def affine(x, y):
    return lax.add(lax.mul(x, 2.0), y), lax.sin(y)


def test_a_checkpointed_program_maps_over_every_axis(check_batching):
    check_batching(lambda x, y: rematted(affine)(x, y), [(2,), (2,)], ["float64", "float64"])
    check_batching(lambda x, y: rematted(affine)(x, y), [(2, 4), ()], ["float64", "float64"])


def test_a_result_that_depends_on_no_mapped_operand_stays_unmapped():
    call = rematted(affine)

    mapped, same = vmap(call, in_axes=(0, None), out_axes=[0, None])(np.arange(3.0), 1.0)

    assert mapped.tolist() == [1.0, 3.0, 5.0]
    assert same == np.sin(1.0)


def test_a_batch_is_one_program_with_the_same_policy():
    def policy(primitive, *avals, **params):
        return True

    call = vmap(lambda x: rematted(affine, policy=policy, prevent_cse=False, differentiated=True)(x, 1.0)[0])

    [eqn] = make_jaxpr(call)(np.arange(3.0)).eqns

    params = {name: value for name, value in eqn.params.items() if name != "jaxpr"}
    assert (eqn.primitive, params) == (
        remat_p,
        {"policy": policy, "prevent_cse": False, "differentiated": True},
    )


def test_a_program_that_names_the_axis_is_batched_without_mapped_operands():
    def place():
        return lax.add(lax.axis_index("i"), np.int32(10))

    out = vmap(lambda x: lax.add(rematted(place)()[0], x), axis_name="i")(np.zeros(3, np.int32))

    assert out.tolist() == [10, 11, 12]


def test_a_name_stays_where_it_is(check_batching):
    check_batching(lambda x: name_p.bind(x, name="x"), [(2, 3)], ["float64"])


def test_operands_pass_a_barrier_mapped_or_not(check_batching):
    check_batching(lambda x, y: optimization_barrier((x, y)), [(2, 3), ()], ["float64", "int32"])

    [eqn] = make_jaxpr(vmap(lambda x: optimization_barrier((x, 1.0))[0]))(np.arange(3.0)).eqns

    assert [v.aval.shape for v in eqn.outvars] == [(3,), ()]
