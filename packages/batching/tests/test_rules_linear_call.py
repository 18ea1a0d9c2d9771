import numpy as np
import pytest

from calque_batching import vmap
from calque_core import check_jaxpr, eval_jaxpr, lax, make_jaxpr, stage, typeof
from calque_core.lax import linear_call_p, linear_transpose_p
from calque_core.ops.calls.linear_call import linear_call


def scaled(r, x):
    return linear_call(lambda r, x: r * x, lambda r, ct: r * ct, r, x)


def in_pairs(r, x):
    """Call a linear function of two arguments, of which one is closed over in part."""

    def fun(r, args):
        return r @ args[0] + args[1], args[1]

    def fun_transpose(r, cts):
        return cts[0] @ r, cts[0] + cts[1]

    return linear_call(fun, fun_transpose, r, (x, lax.sin(x)))


def the_eqn(fun, *args):
    jaxpr = make_jaxpr(fun)(*args)
    check_jaxpr(jaxpr)
    (eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive in (linear_call_p, linear_transpose_p)]
    return eqn


def types(avals):
    return [aval.str_short() for aval in avals]


def test_calls_map_over_every_axis(check_batching):
    check_batching(scaled, [(2,), (2,)], ["float64", "float64"])
    check_batching(in_pairs, [(2, 2), (2,)], ["float32", "float32"])


@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (1, 1)])
def test_linear_arguments_and_results_are_mapped_so_that_the_two_programs_fit(in_axes):
    args = [np.ones((4, 4) if axis is not None else 4) for axis in in_axes]

    eqn = the_eqn(vmap(scaled, in_axes), *args)

    callee, transpose = eqn.params["callee"], eqn.params["transpose"]
    assert types(callee.in_avals[1:]) == types(transpose.out_avals) == ["f64[4,4]"]
    assert types(callee.out_avals) == types(transpose.in_avals[1:]) == ["f64[4,4]"]
    assert types(callee.in_avals[:1]) == types(transpose.in_avals[:1]) == [typeof(args[0]).str_short()]


def test_a_call_of_which_nothing_is_mapped_is_not_batched():
    eqn = the_eqn(lambda y: vmap(lambda x: scaled(2.0, 3.0) * x)(y), np.ones(4))

    assert types(eqn.params["callee"].out_avals) == ["f64[]"]


# linear_transpose, which others than this package transpose

PROGRAM = stage(lambda r, x: [r @ x], [typeof(np.ones((3, 2))), typeof(np.ones(2))])


@pytest.mark.parametrize("in_axes", [(0, 0), (None, 0), (0, None), (2, 1)])
def test_the_transpose_of_a_program_maps_to_that_of_the_mapped_program(in_axes):
    shapes = [[*s] for s in ((3, 2), (3,))]
    for shape, axis in zip(shapes, in_axes):
        if axis is not None:
            shape.insert(axis, 5)
    run = vmap(lambda r, ct: linear_transpose_p.bind(r, ct, jaxpr=PROGRAM, num_res=1)[0], in_axes)

    eqn = the_eqn(run, *(np.ones(shape) for shape in shapes))

    batched = eqn.params["jaxpr"]
    assert types(batched.in_avals) == [f"f64[{','.join(map(str, shapes[0]))}]", "f64[5,2]"]
    assert types(batched.out_avals) == ["f64[5,3]"]
    assert types(v.aval for v in eqn.outvars) == ["f64[5,2]"]


def test_the_mapped_program_computes_the_batch(monkeypatch):
    def decomposition(r, ct, *, jaxpr, num_res):
        """Transpose by brute force: apply the program to the unit vectors of the batch."""
        units = np.eye(10).reshape(10, 5, 2)
        return [np.stack([(program(jaxpr, r, unit) * ct).sum() for unit in units]).reshape(5, 2)]

    monkeypatch.setitem(linear_transpose_p.adapted, "decomposition", decomposition)
    rng = np.random.default_rng(0)
    r, ct = rng.normal(size=(5, 3, 2)), rng.normal(size=(5, 3))

    out = vmap(lambda r, ct: linear_transpose_p.bind(r, ct, jaxpr=PROGRAM, num_res=1)[0])(r, ct)

    np.testing.assert_allclose(out, np.stack([c @ m for m, c in zip(r, ct)]))


def program(jaxpr, *args):
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)[0]
