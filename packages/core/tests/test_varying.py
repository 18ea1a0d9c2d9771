import copy
import pickle

import numpy as np
import pytest

from calque_core import AbstractMesh, ShapedArray, ShapeDtypeStruct, check_jaxpr, eval_shape, lax, make_jaxpr, shard_map
from calque_core import PartitionSpec as P
from calque_core.engine import body_axes, join_constants, nested_jaxprs
from calque_core.errors import JaxprTypeError

LINE, PLANE = AbstractMesh((4,), ("i",)), AbstractMesh((2, 2), ("x", "y"))
ROWS, SAME = P("i"), P()
X = np.arange(4.0)


def divided(f, mesh=LINE, in_specs=ROWS, out_specs=ROWS, **options):
    return shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, **options)


def inside(mesh, *axis_names, check_vma=True):
    return body_axes(mesh=mesh, axis_names=axis_names, check_vma=check_vma)


def body_of(f, *args, **options):
    """Return the checked program of one position."""
    jaxpr = make_jaxpr(divided(f, **options))(*args)
    check_jaxpr(jaxpr)
    return jaxpr.eqns[0].params["jaxpr"]


def types_in(f, *args, **options):
    """Return the types of the values that `f` returns, inside."""
    return [aval.str_short() for aval in body_of(f, *args, **options).out_avals]


# Types


def test_a_type_keeps_its_axes_and_prints_them():
    aval = ShapedArray((2,), np.float32, vma={"i"})

    assert aval is ShapedArray((2,), np.float32).update(vma=frozenset({"i"}))
    assert aval is not ShapedArray((2,), np.float32)
    assert str(aval.update(shape=(3,), dtype=np.dtype("int8"))) == "int8[3]{V:i}"
    assert aval.varying({"j", "i"}).str_short() == "f32[2]{V:(i,j)}"
    assert aval.to_tangent_aval() is aval
    assert str(aval.update(dtype=np.dtype("int8")).to_tangent_aval()) == "float0[2]{V:i}"
    assert repr(ShapedArray((), np.float64, True, {"i"}).strip_weak_type()) == "float64[]{V:i}"
    assert pickle.loads(pickle.dumps(aval)) is copy.deepcopy(aval) is aval


def test_a_stand_in_keeps_the_axes():
    shapes = []
    body_of(lambda x: shapes.append(eval_shape(lambda y: y * 2.0, x)) or x, X)

    assert shapes == [ShapeDtypeStruct((1,), np.float64, vma={"i"})]
    assert repr(shapes[0]) == "ShapeDtypeStruct(shape=(1,), dtype=float64, vma={'i'})"


def test_arguments_vary_along_the_axes_of_their_specs():
    jaxpr = body_of(
        lambda x, y: (x, y), X, X, mesh=PLANE, in_specs=(P(("y", "x")), P("y")), out_specs=(P(("x", "y")), P("y"))
    )

    assert [str(aval) for aval in jaxpr.in_avals] == ["float64[1]{V:(x,y)}", "float64[2]{V:y}"]


def test_without_the_check_no_type_has_axes():
    assert types_in(lambda x: x + lax.axis_index("i"), X, check_vma=False) == ["f64[1]"]


@pytest.mark.parametrize(
    ("f", "types"),
    [
        (lambda x: lax.psum(x, "x"), ["f64[1]{V:y}"]),
        (lambda x: lax.psum(x, ("x", "y")), ["f64[1]"]),
        (lambda x: lax.pmean(x, "y"), ["f64[1]{V:x}"]),
        (lambda x: lax.pmax(x, "y"), ["f64[1]{V:x}"]),
        (lambda x: lax.all_gather(x, "y"), ["f64[2,1]{V:(x,y)}"]),
        (lambda x: lax.all_gather_invariant(x, "y"), ["f64[2,1]{V:x}"]),
        (lambda x: lax.ppermute(x, "y", [(0, 1)]), ["f64[1]{V:(x,y)}"]),
        (lambda x: lax.pvary(1.0, "y"), ["f64[]{V:y}"]),
        (lambda x: (lax.axis_index("x"), lax.axis_size("x")), ["i32[]{V:x}", "i64[]"]),
        (lambda x: (np.zeros(2), x[0]), ["f64[2]", "f64[]{V:(x,y)}"]),
    ],
)
def test_collectives_say_along_which_axes_their_results_vary(f, types):
    with inside(PLANE, "x", "y"):
        jaxpr = make_jaxpr(f)(ShapedArray((1,), np.float64, vma={"x", "y"}))
        check_jaxpr(jaxpr)

    assert [aval.str_short() for aval in jaxpr.out_avals] == types


def test_sums_of_what_does_not_vary_vary_first():
    jaxpr = body_of(lambda x: lax.psum(x, "i"), 2.0, in_specs=SAME, out_specs=SAME)

    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["pvary", "psum"]
    assert divided(lambda x: lax.psum(x, "i"), in_specs=SAME, out_specs=SAME)(2.0) == 8.0


# Operands


def test_operands_get_one_set_of_axes_and_constants_none():
    jaxpr = body_of(lambda x, w: x * w * 2.0, X, 3.0, in_specs=(ROWS, SAME))

    assert str(jaxpr) == (
        "{ lambda ; a:f64[1]{V:i} b:f64[]. let\n"
        "    c:f64[]{V:i} = pvary[axes=('i',)] b\n"
        "    d:f64[1]{V:i} = mul a c\n"
        "    e:f64[1]{V:i} = mul d 2.0\n"
        "  in (e,) }"
    )


def test_a_value_that_varies_already_does_not_vary_anew():
    jaxpr = body_of(lambda x: lax.pvary(lax.pvary(x, "i"), "i") + x, X)

    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["add"]


def test_names_of_an_inner_map_are_no_axes_of_types():
    with inside(LINE, "i"), inside(LINE, "i", check_vma=False):
        jaxpr = make_jaxpr(lambda x: (lax.psum(x, "i"), lax.axis_index("i")))(ShapedArray((), np.float64, vma={"i"}))

    assert [aval.str_short() for aval in jaxpr.out_avals] == ["f64[]{V:i}", "i32[]"]


# Programs inside


def test_a_carry_varies_as_the_results_of_its_steps_do():
    def f(x):
        return [y[None] for y in lax.scan(lambda c, t: (c + t * x[0], c), 0.0, np.ones(3))]

    assert types_in(f, X) == ["f64[1]{V:i}", "f64[1,3]{V:i}"]
    carry, ys = divided(f)(X)
    np.testing.assert_array_equal(carry, 3 * X)
    np.testing.assert_array_equal(ys, np.outer(X, [0, 1, 2]))


def test_a_carry_that_starts_as_varying_stays_so():
    f = lambda x: lax.scan(lambda c, t: (np.ones(1), None), x, np.ones(3))[0]

    assert types_in(f, X) == ["f64[1]{V:i}"]


def test_slices_and_results_of_a_scan_keep_their_axes():
    f = lambda x, w: lax.scan(lambda c, t: (c, (t[0], t[1])), 0.0, (x, w))[1]

    x, w = np.arange(8.0), np.ones((2, 3))
    assert types_in(f, x, w, in_specs=(ROWS, SAME), out_specs=(ROWS, SAME)) == ["f64[2]{V:i}", "f64[2,3]"]


def test_a_loop_varies_as_its_condition_does():
    f = lambda x: lax.while_loop(lambda c: c[0] < x[0], lambda c: (c[0] + 1.0, c[1]), (0.0, 5.0))

    assert types_in(lambda x: [y[None] for y in f(x)], X, out_specs=ROWS) == ["f64[1]{V:i}", "f64[1]{V:i}"]
    np.testing.assert_array_equal(divided(lambda x: f(x)[0][None])(X), X)


def test_nested_loops_join_their_carries():
    def f(x):
        inner = lambda c, t: (c + t, None)
        outer = lambda c, t: (lax.scan(inner, c, np.ones(2) * x[0])[0], c)
        return lax.scan(outer, 0.0, np.ones(3))

    total, ys = divided(lambda x: [y[None] for y in f(x)], out_specs=ROWS)(X)
    np.testing.assert_array_equal(total, 6 * X)
    np.testing.assert_array_equal(ys, np.outer(X, [0, 2, 4]))
    body_of(lambda x: [y[None] for y in f(x)], X, out_specs=ROWS)


def test_branches_join_and_vary_as_the_index_does():
    f = lambda x: (
        lax.cond(True, lambda: x, lambda: np.zeros(1)),
        lax.cond(x[0] > 1.0, lambda: 1.0, lambda: 2.0),
        lax.cond(True, lambda: 1.0, lambda: 2.0),
    )

    assert types_in(lambda x: [f(x)[0], f(x)[1][None]], X, out_specs=ROWS) == ["f64[1]{V:i}", "f64[1]{V:i}"]
    assert types_in(lambda x: f(x)[2], X, out_specs=SAME) == ["f64[]"]
    np.testing.assert_array_equal(divided(lambda x: f(x)[1][None])(X), [2.0, 2.0, 1.0, 1.0])


def test_an_operand_of_a_branch_that_positions_choose_varies_before_the_branch():
    f = lambda x, w: lax.cond(x[0] > 1.0, lambda w: w * 2.0, lambda w: w, w)[None]
    jaxpr = body_of(f, X, 3.0, in_specs=(ROWS, SAME))
    (cond_eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive is lax.cond_p]

    assert all(eqn.primitive is not lax.pvary_p for branch in cond_eqn.params["branches"] for eqn in branch.eqns)


def called(f, x):
    """Return `f(x)`, bound as a program of its own."""
    jaxpr = make_jaxpr(f)(x)
    return lax.jit_p.bind(*jaxpr.consts, x, jaxpr=join_constants([jaxpr])[0][0], name="f", compiler=None)[0]


PROGRAMS = {
    "call": lambda x, w: called(lambda y: y * w, x[0]),
    "cond": lambda x, w: lax.cond(w > 1.0, lambda y: y * w, lambda y: y, x[0]),
    "scan": lambda x, w: lax.scan(lambda c, _: (c * w + x[0], w), w, None, length=2)[0],
    "while": lambda x, w: lax.while_loop(lambda c: c < 9.0, lambda c: c * w + x[0], w),
    "shard_map": lambda x, w: divided(lambda y: y * w, PLANE, SAME, SAME, axis_names={"y"})(x[0]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_value_from_outside_of_a_branch_that_positions_choose_varies_before_the_branch(name):
    """So the transpose of the branch has no sum over positions, which would wait without end."""
    f = lambda x, w: lax.cond(x[0] > 0.0, lambda: PROGRAMS[name](x, w), lambda: w)[None]
    options = {"mesh": PLANE, "in_specs": (P("x"), SAME), "out_specs": P("x"), "axis_names": {"x"}}
    values = np.array([0.0, 2.0])
    jaxpr = make_jaxpr(divided(f, **options))(values, 3.0)
    check_jaxpr(jaxpr)
    inner = [eqn for program in nested_jaxprs(jaxpr.eqns[0].params["jaxpr"])[:-1] for eqn in program.eqns]

    assert all(eqn.params["axes"] == () for eqn in inner if eqn.primitive is lax.pvary_p)
    whole = [PROGRAMS[name](values[1:], 3.0) if name not in ("call", "shard_map") else 6.0]
    np.testing.assert_array_equal(divided(f, **options)(values, 3.0), [3.0, *whole])


# Results


def test_a_result_that_varies_along_an_axis_without_a_name_is_refused_with_the_ways_out():
    message = (
        r"shard_map of <lambda> .* at test_varying.py:\d+ .*: the result\[1\], float64\[1\]\{V:i\}, varies over 'i', "
        r"but its spec in out_specs, PartitionSpec\(\), does not name 'i'\. Name it there, or make the values of all "
        r"positions equal, with psum, pmean, pmax or all_gather_invariant over 'i'; or give check_vma=False"
    )
    with pytest.raises(ValueError, match=message):
        divided(lambda x: (x, x), out_specs=(ROWS, SAME))(X)
    with pytest.raises(ValueError, match="varies over 'i'"):
        divided(lambda x: lax.axis_index("i"), out_specs=SAME)(X)


def test_results_that_collectives_made_equal_need_no_name():
    f = lambda x: (lax.pmean(x, "i"), lax.all_gather_invariant(x, "i", tiled=True), np.ones(2))
    mean, whole, ones = divided(f, out_specs=SAME)(X)

    np.testing.assert_array_equal(mean, [1.5])
    np.testing.assert_array_equal(whole, X)
    np.testing.assert_array_equal(ones, [1.0, 1.0])


# Meshes


def test_axes_of_an_outer_program_stay_in_the_types_of_an_inner_one():
    types = []

    def inner(x):
        types.append(str(x.aval))
        return lax.psum(x, "y")

    nested = divided(inner, PLANE, P("y"), SAME, axis_names={"y"})
    outer = divided(lambda x: nested(x) * 2.0, PLANE, P("x"), P("x"), axis_names={"x"})

    np.testing.assert_array_equal(outer(X), [2.0, 10.0])
    assert types == ["float64[1]{V:(x,y)}"]
    check_jaxpr(make_jaxpr(outer)(X))


def test_a_program_for_other_types_is_not_taken_from_the_cache():
    def f(x):
        return x * 1.0

    same = {"in_specs": SAME, "out_specs": SAME}
    step = lambda w: lax.scan(lambda c, t: (f(c), None), w, np.ones(2))[0]
    assert types_in(step, 1.0, **same) == ["f64[]"]
    assert types_in(lambda x: step(x), X) == ["f64[1]{V:i}"]
    assert types_in(lambda x: lax.scan(lambda c, t: (c + lax.axis_index("i"), None), 0, np.ones(2))[0][None], X) == [
        "i32[1]{V:i}"
    ]


def test_the_check_of_a_program_sees_a_type_without_its_axes():
    body = body_of(lambda x: x + 1.0, X)
    eqn = body.eqns[0]
    wrong = type(eqn.outvars[0])(eqn.outvars[0].aval.varying(()))
    broken = body.replace(eqns=[eqn.replace(outvars=[wrong])], outvars=[wrong])
    with (
        inside(LINE, "i"),
        pytest.raises(JaxprTypeError, match=r"gives \(float64\[1\]\{V:i\}\)"),
    ):
        check_jaxpr(broken)
