import numpy as np

from calque_batching import vmap
from calque_core import eval_jaxpr, lax, make_jaxpr
from calque_core.lax import jit_p


def jitted(fun, compiler=None):
    """Return a function that binds `jit`, as the backend's `jit` does."""

    def call(*args):
        jaxpr = make_jaxpr(fun)(*args)
        return jit_p.bind(*args, jaxpr=jaxpr, name=fun.__name__, compiler=compiler)

    return call


def affine(x, y):
    return lax.add(lax.mul(x, 2.0), y), lax.sin(y)


def test_a_program_maps_over_every_axis(check_batching):
    check_batching(lambda x, y: jitted(affine)(x, y), [(2,), (2,)], ["float64", "float64"])
    check_batching(lambda x, y: jitted(affine)(x, y), [(2, 4), ()], ["float64", "float64"])


def test_a_result_that_depends_on_no_mapped_operand_stays_unmapped():
    call = jitted(affine)

    mapped, same = vmap(call, in_axes=(0, None), out_axes=[0, None])(np.arange(3.0), 1.0)

    assert mapped.tolist() == [1.0, 3.0, 5.0]
    assert same == np.sin(1.0)


def test_a_batch_is_one_program_with_the_same_name_and_compiler():
    compiled = []

    def compiler(jaxpr, args):
        compiled.append(jaxpr)
        return eval_jaxpr(jaxpr, jaxpr.consts, *args)

    batched = vmap(lambda x: jitted(affine, compiler)(x, 1.0)[0])

    assert batched(np.arange(3.0)).tolist() == [1.0, 3.0, 5.0]
    assert [jaxpr.in_avals[0].shape for jaxpr in compiled] == [(3,)]
    [eqn] = make_jaxpr(batched)(np.arange(3.0)).eqns
    assert (eqn.primitive, eqn.params["name"], eqn.params["compiler"]) == (jit_p, "affine", compiler)


def test_the_batched_program_is_made_once():
    jaxpr = make_jaxpr(affine)(0.0, 0.0)
    call = vmap(lambda x: jit_p.bind(x, 1.0, jaxpr=jaxpr, name="affine", compiler=None))

    first, second = (make_jaxpr(call)(np.arange(3.0)).eqns[0].params["jaxpr"] for _ in range(2))

    assert first is second


def test_a_program_without_mapped_operands_is_left_alone():
    [first, _] = make_jaxpr(vmap(lambda x: lax.add(jitted(affine)(1.0, 2.0)[0], x)))(np.arange(3.0)).eqns

    assert first.primitive is jit_p
    assert first.outvars[0].aval.shape == ()


def test_a_program_that_names_the_axis_is_batched_without_mapped_operands():
    def place():
        return lax.add(lax.axis_index("i"), np.int32(10))

    out = vmap(lambda x: lax.add(jitted(place)()[0], x), axis_name="i")(np.zeros(3, np.int32))

    assert out.tolist() == [10, 11, 12]
