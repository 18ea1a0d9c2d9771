import numpy as np
import pytest

from calque_core import (
    AbstractMesh,
    Mesh,
    ShapeError,
    check_jaxpr,
    config,
    dce_jaxpr,
    interpret,
    lax,
    make_jaxpr,
    shard_map,
    smap,
)
from calque_core import PartitionSpec as P

LINE, PLANE = AbstractMesh((4,), ("i",)), AbstractMesh((2, 4), ("x", "y"))
ROWS = P("i")
rng = np.random.default_rng(0)
MATRIX = rng.normal(size=(8, 8)).astype(np.float32)


def divided(f, mesh=LINE, in_specs=ROWS, out_specs=ROWS, **options):
    return shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, **options)


# Shards


def test_the_function_sees_shards_and_the_result_is_joined_from_shards():
    shapes = []

    def f(x, y):
        shapes.append((x.shape, y.shape))
        return x * 2.0, x.T

    double, transposed = divided(f, PLANE, (P("x", "y"), P(None, ("x", "y"))), (P("x", "y"), P("y", "x")))(
        MATRIX, MATRIX
    )

    assert shapes == [((4, 2), (8, 1))]
    np.testing.assert_array_equal(double, MATRIX * 2)
    np.testing.assert_array_equal(transposed, MATRIX.T)
    assert double.dtype == np.float32


def test_a_product_of_divided_matrices_is_the_product():
    product = divided(lambda a, b: lax.psum(a @ b, "y"), PLANE, (P("x", "y"), P("y", None)), P("x"))

    np.testing.assert_allclose(product(MATRIX, MATRIX), MATRIX @ MATRIX, rtol=1e-4)


def test_specs_are_prefixes_of_arguments_and_results():
    f = lambda tree, scale: {"sum": tree["a"] + tree["b"][0] * scale, "none": None}
    tree = {"a": np.arange(4.0), "b": (np.ones(4),)}

    out = divided(f, in_specs=(P("i"), P()), out_specs={"sum": P("i"), "none": None})(tree, 2.0)

    np.testing.assert_array_equal(out["sum"], np.arange(4.0) + 2)
    assert out["none"] is None


def test_values_that_the_function_closes_over_are_the_same_at_all_positions():
    weights = np.arange(3.0)
    f = divided(lambda x: x[:, None] * weights)

    np.testing.assert_array_equal(f(np.arange(4.0)), np.arange(4.0)[:, None] * weights)
    jaxpr = make_jaxpr(lambda x, w: divided(lambda x: x * w)(x))(np.zeros(4), 2.0)
    (eqn,) = jaxpr.eqns
    assert eqn.params["in_specs"] == (P(), P("i"))
    check_jaxpr(jaxpr)


def test_a_result_without_a_name_is_that_of_the_first_position():
    f = divided(lambda x: lax.axis_index("i") + x.sum().astype(np.int32), out_specs=P(), check_vma=False)

    out = f(np.array([5.0, 1.0, 1.0, 1.0]))

    assert out == 5
    assert out.dtype == np.int32


def test_a_function_without_arguments_and_the_form_of_a_decorator():
    @shard_map(mesh=LINE, in_specs=(), out_specs=P("i"))
    def places():
        """Return the places."""
        return lax.axis_index("i")[None]

    np.testing.assert_array_equal(places(), [0, 1, 2, 3])
    assert places.__doc__ == "Return the places."


def test_axes_of_the_compiler_are_whole_for_the_function():
    f = divided(lambda x: (x.sum(0), np.sum(lax.psum(x, "x"))), PLANE, P("x"), (P("x"), P()), axis_names={"x"})
    assert "axis_names=('x',)" in str(make_jaxpr(f)(MATRIX))

    sums, total = f(MATRIX)

    np.testing.assert_allclose(sums, np.concatenate([MATRIX[:4].sum(0), MATRIX[4:].sum(0)]), rtol=1e-5)
    np.testing.assert_allclose(total, MATRIX.sum(), rtol=1e-5)


def test_the_mesh_of_the_settings_stands_in():
    f = divided(lambda x: lax.psum(x, "i"), None, P("i"), P())
    with config.set_mesh(LINE):
        assert f(np.arange(4.0)) == [6.0]
    with pytest.raises(ValueError, match=r"shard_map of <lambda> .* got no mesh\. Give mesh=, or call it in a block"):
        f(np.arange(4.0))


def test_smap_divides_axes_of_arrays_along_one_axis_of_the_mesh_of_the_settings():
    @smap(in_axes=(1, None), out_axes={"rows": 0, "sum": None}, axis_name="j")
    def f(x, y):
        return {"rows": x.sum(1) * y, "sum": lax.psum(x.sum(), "j")}

    x = np.arange(8.0).reshape(2, 4)
    with config.set_mesh(AbstractMesh((3, 2), ("i", "j"))):
        out = f(x, 2.0)
    np.testing.assert_array_equal(out["rows"], [2.0, 18.0, 10.0, 26.0])
    assert out["sum"] == 28.0
    with pytest.raises(
        ValueError, match=r"smap of <lambda> .*: out_axes has -1\. Give an axis of zero or more, or None"
    ):
        smap(lambda x: x, in_axes=0, out_axes=-1, axis_name="j")


def test_positions_of_nan_and_along_two_axes():
    mesh = AbstractMesh((2, 2), ("i", "j"))
    f = divided(lambda x: lax.pargmax(x, ("i", "j")), mesh, P(("i", "j")), P())
    assert f(np.array([1.0, np.nan, 3.0, np.nan])).tolist() == [1]
    assert f(np.array([1.0, 2.0, 7.0, 7.0])).tolist() == [2]


# Collectives, against their meaning on the whole array

X = rng.integers(-9, 9, size=(8, 8)).astype(np.int32)
BLOCKS = X.reshape(4, 2, 8)
COLLECTIVES = {
    "psum": (lambda x: lax.psum(x, "i"), np.tile(BLOCKS.sum(0), (4, 1))),
    "pmax": (lambda x: lax.pmax(x, "i"), np.tile(BLOCKS.max(0), (4, 1))),
    "pmin": (lambda x: lax.pmin(x, "i"), np.tile(BLOCKS.min(0), (4, 1))),
    "pargmax": (lambda x: lax.pargmax(x, "i"), np.tile(BLOCKS.argmax(0), (4, 1)).astype(np.int32)),
    "pargmin": (lambda x: lax.pargmin({"x": x}, "i")["x"], np.tile(BLOCKS.argmin(0), (4, 1)).astype(np.int32)),
    "all_gather": (lambda x: lax.all_gather(x, "i", tiled=True), np.tile(X, (4, 1))),
    "all_gather_invariant": (lambda x: lax.all_gather_invariant(x, "i", tiled=True), np.tile(X, (4, 1))),
    "psum_scatter": (lambda x: lax.psum_scatter(x[0], "i", tiled=True), BLOCKS.sum(0)[0]),
    "all_to_all": (
        lambda x: lax.all_to_all(x, "i", 1, 0, tiled=True),
        np.concatenate([X[:, 2 * i : 2 * i + 2] for i in range(4)]),
    ),
    "ppermute": (
        lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2), (3, 0)]),
        np.concatenate([BLOCKS[3], BLOCKS[0], BLOCKS[1], 0 * BLOCKS[0]]),
    ),
    "pbroadcast": (lambda x: lax.pbroadcast(x, "i", 2), np.tile(BLOCKS[2], (4, 1))),
    "axis_index": (lambda x: x + lax.axis_index("i"), X + np.repeat(np.arange(4, dtype=np.int32), 2)[:, None]),
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_a_collective_meets_the_values_of_all_positions(name):
    f, whole = COLLECTIVES[name]

    out = divided(f, check_vma=False)(X)

    np.testing.assert_array_equal(out, whole)
    assert out.dtype == np.int32


def test_a_collective_along_one_axis_keeps_the_positions_along_the_other_apart():
    f = lambda x: (lax.psum(x, "x"), lax.all_gather(x, ("y", "x")), lax.axis_index(("y", "x"))[None])
    values = np.arange(8.0)

    sums, gathered, places = divided(f, PLANE, P(("x", "y")), (P("y"), P(None), P(("y", "x"))), check_vma=False)(values)

    np.testing.assert_array_equal(sums, values.reshape(2, 4).sum(0))
    np.testing.assert_array_equal(gathered.ravel(), values.reshape(2, 4).T.ravel())
    np.testing.assert_array_equal(places, np.arange(8))


@pytest.mark.parametrize("axes", [("x", "y"), ("y", "x")])
def test_a_permutation_along_several_axes_is_one_of_their_positions(axes):
    def f(x):
        moved = lax.ppermute(x, axes, [(k, k + 1) for k in range(7)]), lax.ppermute(x, (), [(0, 0)])
        return *moved, lax.ppermute(x, (), []), lax.pshuffle(x, axes, [3, 0, 1, 2, 7, 6, 5, 4])

    values = np.arange(1.0, 9.0)

    moved, kept, none, turned = divided(f, PLANE, P(axes), P(axes))(values)

    np.testing.assert_array_equal(moved, [0.0, *values[:-1]])
    np.testing.assert_array_equal(kept, values)
    np.testing.assert_array_equal(none, np.zeros(8))
    np.testing.assert_array_equal(turned, values[[3, 0, 1, 2, 7, 6, 5, 4]])


# Refusals


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"in_specs": P("j")},
            ValueError,
            r"in_specs has PartitionSpec\('j'\), but .* function sees are: 'i'\. Use",
        ),
        ({"out_specs": P("j")}, ValueError, r"out_specs has PartitionSpec\('j'\).* or add 'j' to axis_names"),
        ({"mesh": PLANE, "in_specs": P("y"), "axis_names": {"x"}}, ValueError, "add 'y' to axis_names"),
        ({"axis_names": {"j"}}, ValueError, r"axis_names has 'j', but the mesh has the axes 'i': 4\. Use these names"),
        ({"in_specs": (P("i"), P())}, ValueError, "in_specs has 2 entries for 1 arguments"),
        ({"in_specs": "i"}, TypeError, "in_specs has 'i' of type str. Give a PartitionSpec"),
        ({"in_specs": P(P.UNCONSTRAINED)}, ValueError, "Say how the axis is divided"),
        ({"out_specs": (P(), P())}, ValueError, r"at test_ops_shard_map.py:\d+.*: out_specs has"),
        ({"out_specs": P(None, "i")}, ShapeError, r"the result is float64\[2\].* with 1 axes, but .* has 2 entries"),
    ],
)
def test_specs_that_do_not_fit_are_refused(options, error, message):
    with pytest.raises(error, match=rf"shard_map of <lambda> .*{message}"):
        divided(lambda x: x, **options)(np.zeros(8))


def test_a_size_that_does_not_divide_is_refused_with_the_numbers_and_the_argument():
    message = (
        r"shard_map of <lambda> .*: x, float64\[6\], at .*: axis 0 of the shape \(6,\) has size 6, which does not "
    )
    with pytest.raises(ShapeError, match=message + "divide into 4 equal parts"):
        divided(lambda x: x)(np.zeros(6))


def test_what_is_no_function_and_no_mesh_is_refused():
    with pytest.raises(TypeError, match="shard_map"):
        divided(3)
    with pytest.raises(TypeError, match=r"got mesh=\(2,\) at .*\. Give a Mesh or an AbstractMesh"):
        divided(lambda x: x, mesh=(2,))


def test_an_axis_that_has_a_meaning_already_is_refused():
    inner = divided(lambda x: x, PLANE, P("x"), P("x"))
    outer = divided(inner, PLANE, P("x"), P("x"), axis_names={"x"})
    with pytest.raises(ValueError, match=r"the axis 'x' has a meaning here already, .* with other axes .*: \['y'\]"):
        outer(np.zeros(8))


# Programs inside


def test_nested_functions_over_other_axes_of_the_mesh():
    inner = divided(lambda x: lax.psum(x, ("x", "y")), PLANE, P("y"), P(), axis_names={"y"}, check_vma=False)
    outer = divided(inner, PLANE, P("x"), P(), axis_names={"x"}, check_vma=False)

    assert outer(np.arange(8.0)) == [28.0]


def test_a_mesh_of_devices_serves_too():
    mesh = Mesh(np.array(["a", "b"]), "i")
    np.testing.assert_array_equal(divided(lambda x: lax.psum(x, "i"), mesh, P("i"), P())(np.arange(4.0)), [2.0, 4.0])


# Dead code


def test_unused_results_go_with_the_operands_and_specs_that_only_they_need():
    f = divided(lambda x, y, z: (x + 1.0, y * z), in_specs=(ROWS, P(None, "i"), P()), out_specs=(ROWS, P(None, "i")))
    jaxpr = make_jaxpr(f)(MATRIX, MATRIX, np.float32(2.0))
    for used, in_specs, out_specs, names in (
        ([True, False], (ROWS,), (ROWS,), ["add"]),
        ([False, True], (P(None, "i"), P()), (P(None, "i"),), ["pvary", "mul"]),
    ):
        smaller, _ = dce_jaxpr(jaxpr, used)
        check_jaxpr(smaller)
        (eqn,) = smaller.eqns
        assert (eqn.params["in_specs"], eqn.params["out_specs"]) == (in_specs, out_specs)
        assert [inner.primitive.name for inner in eqn.params["jaxpr"].eqns] == names
    assert not dce_jaxpr(jaxpr, [False, False])[0].eqns


def test_a_table_of_rules_holds_for_the_program_of_the_positions():
    jaxpr = make_jaxpr(divided(lambda x: lax.psum(lax.sin(x), "i"), out_specs=P()))(np.arange(4.0))

    np.testing.assert_allclose(interpret(jaxpr, {lax.sin_p: lax.cos}, np.arange(4.0)), [[np.cos(np.arange(4.0)).sum()]])


def test_a_keyword_argument_is_refused():
    with pytest.raises(TypeError, match=r"shard_map of <lambda> .* got the keyword argument 'x'\. Pass arguments by"):
        divided(lambda x: x)(x=np.zeros(4))


@pytest.mark.parametrize("x64", [True, False])
def test_dtypes_follow_the_settings(x64):
    f = divided(lambda x: (x * WEIGHTS, lax.axis_index("i")[None]))
    with config.enable_x64(x64):
        outs, avals = f(np.arange(8.0)), make_jaxpr(f)(np.arange(8.0)).out_avals

    assert [x.dtype for x in outs] == [aval.dtype for aval in avals] == [np.float64 if x64 else np.float32, np.int32]


WEIGHTS = np.arange(2.0)


CONTROL_FLOW = {
    "cond": lambda x: lax.cond(x[0] > 1, lambda y: y * 2.0, lambda y: y, x),
    "switch": lambda x: lax.switch(1, [lambda y: y, lambda y: y * 2.0], x),
    "scan": lambda x: lax.scan(lambda c, v: (c + v, c), x, np.ones(3))[0],
    "while_loop": lambda x: lax.while_loop(lambda c: c[0] < 9.0, lambda c: c + 1.0, x),
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: c * 2.0, x),
    "custom_linear_solve": lambda x: lax.custom_linear_solve(lambda v: 2.0 * v, x, lambda _, b: b / 2.0),
}


@pytest.mark.parametrize("name", CONTROL_FLOW)
def test_checks_of_types_take_the_values_of_shards(name):
    function = divided(CONTROL_FLOW[name])
    want = function(np.arange(4.0))
    with config.enable_checks():
        np.testing.assert_array_equal(function(np.arange(4.0)), want)
