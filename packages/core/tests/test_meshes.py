"""Meshes, partition specs, and the shards that they make of an array."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calque_core import AbstractMesh, Mesh, ShapeError
from calque_core import PartitionSpec as P
from calque_core.engine import axis_names_of, check_spec, shard_shape, shard_slices
from calque_core.meshes.shards import full_shape
from calque_pytree import tree_leaves

MESH = AbstractMesh((4, 2), ("x", "y"))


def test_a_spec_compares_by_its_entries_in_canonical_form():
    assert P(["x"], ("y",), ()) == P("x", "y", None)
    assert hash(P(("x", "y"))) == hash(P(["x", "y"]))
    assert P("x") != P("x", None)
    assert P("x") != ("x",)
    assert [*P("x", None)] == ["x", None]
    assert P("x", None)[0] == "x"
    assert repr(P(("x", "y"), None, P.UNCONSTRAINED)) == (
        "PartitionSpec(('x', 'y'), None, PartitionSpec.UNCONSTRAINED)"
    )


def test_a_spec_is_searched_for_entries():
    spec = P("x", None, ("y", "z"), None)
    assert (spec.index("x"), spec.index(None), spec.index(["y", "z"]), spec.index(("x",))) == (0, 1, 2, 0)
    assert (spec.count(None), spec.count("y")) == (2, 0)
    with pytest.raises(ValueError, match="not in tuple"):
        spec.index("y")


def test_a_spec_is_a_leaf_and_a_plain_value():
    spec = P("x", P.UNCONSTRAINED)
    assert tree_leaves({"a": spec}) == [spec]
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert copy.deepcopy(spec) == spec
    with pytest.raises(AttributeError, match=r"cannot be set. Make a new PartitionSpec"):
        spec.entries = ()


@pytest.mark.parametrize(
    ("entries", "error", "message"),
    [
        (("x", "x"), ValueError, r"PartitionSpec\('x', 'x'\) at .* has the mesh axis 'x' twice.*name it once"),
        ((("x", "y"), "y"), ValueError, "the mesh axis 'y' twice"),
        (({},), TypeError, "an entry that is no name of an axis. Give a string or a tuple"),
        ((P("x"),), TypeError, r"got PartitionSpec\('x'\) as an entry. Give its names instead"),
    ],
)
def test_a_wrong_spec_is_refused(entries, error, message):
    with pytest.raises(error, match=message):
        P(*entries)


def test_a_mesh_names_the_axes_of_an_array_of_devices():
    mesh = Mesh([["a", "b"], ["c", "d"]], ("x", "y"))
    assert mesh.shape == {"x": 2, "y": 2}
    assert (mesh.size, mesh.axis_names, mesh.axis_sizes) == (4, ("x", "y"), (2, 2))
    assert mesh.abstract_mesh == AbstractMesh((2, 2), ("x", "y"))
    assert mesh == Mesh(np.array([["a", "b"], ["c", "d"]]), ["x", "y"])
    assert hash(mesh) == hash(Mesh([["a", "b"], ["c", "d"]], ("x", "y")))
    assert mesh != Mesh([["b", "a"], ["c", "d"]], ("x", "y"))
    assert mesh != mesh.abstract_mesh
    assert pickle.loads(pickle.dumps(mesh)) == mesh
    assert Mesh(["a"], "x").axis_names == ("x",)
    with pytest.raises(ValueError, match="read-only"):
        mesh.devices[0, 0] = "z"
    with pytest.raises(AttributeError, match=r"devices of Mesh.* cannot be set. Make a new mesh"):
        mesh.devices = None


def test_an_abstract_mesh_is_a_plain_value():
    assert pickle.loads(pickle.dumps(MESH)) == MESH
    assert MESH.abstract_mesh is MESH
    assert repr(MESH) == "AbstractMesh('x': 4, 'y': 2)"
    with pytest.raises(AttributeError, match=r"size of AbstractMesh.* cannot be set. Make a new mesh"):
        MESH.size = 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Mesh(["a", "b"], ("x", "y")),
            r"Mesh at .* got 1 axes, of sizes \(2,\), and 2 names",
        ),
        (lambda: Mesh(["a", "a"], ("x",)), "got the device 'a' twice. Give each device once"),
        (lambda: AbstractMesh((2, 2), ("x", "x")), "one of them twice. Name each axis differently"),
        (lambda: AbstractMesh((0,), ("x",)), "Each axis needs at least one position"),
    ],
)
def test_a_wrong_mesh_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("sizes", [4, "ab", (2, None), (2.5, 2), None])
def test_sizes_of_a_mesh_that_are_no_integers_are_refused(sizes):
    with pytest.raises(TypeError, match=r"^AbstractMesh at .* got .* as the sizes of axes\. Use a tuple of integers\."):
        AbstractMesh(sizes, ("x", "y"))
    assert AbstractMesh(np.array([2, 4]), ("x", "y")).axis_sizes == (2, 4)


@pytest.mark.parametrize("mesh", [Mesh(["a", "b"], "x"), AbstractMesh((2,), "x")], ids=repr)
def test_a_mesh_as_a_block_names_the_setting(mesh):
    words = r"^with .*Mesh\('x': 2\) at test_meshes.* a mesh has no scope\. Write `with config\.set_mesh\(mesh\):`\.$"
    with pytest.raises(TypeError, match=words), mesh:
        pass


def test_the_first_name_of_an_entry_varies_slowest():
    slices = shard_slices((8,), MESH, P(("y", "x")))
    starts = {position: s[0].start for position, s in zip(np.ndindex(4, 2), slices)}
    assert starts == {(x, y): y * 4 + x for x in range(4) for y in range(2)}


@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    chosen=st.lists(st.integers(0, 3), min_size=0, max_size=3, unique=True),
    parts=st.lists(st.integers(0, 3), min_size=3, max_size=3),
)
def test_shards_cover_the_array_once_for_each_replica(sizes, chosen, parts):
    names = "xyz"[: len(sizes)]
    mesh = AbstractMesh(sizes, tuple(names))
    spec = P(*[names[c] if c < len(names) else None for c in chosen])
    shape = full_shape(tuple(parts[: max(len(spec), 1)]), mesh, spec)
    check_spec("test", shape, mesh, spec)
    count = np.zeros(shape, int)
    for s in shard_slices(shape, mesh, spec):
        assert count[s].shape == shard_shape(shape, mesh, spec)
        count[s] += 1
    parts_cut = np.prod([mesh.shape[n] for n in spec.names], dtype=int)
    assert np.all(count == mesh.size // parts_cut)


def test_the_names_of_each_axis():
    assert axis_names_of(P(None, ("x", "y")), 3) == ((), ("x", "y"), ())


@pytest.mark.parametrize(
    ("shape", "spec", "error", "message"),
    [
        (
            (8,),
            P("z"),
            ValueError,
            r"f at .*: Part.*\('z'\) names the axis 'z', but the mesh has the axes 'x': 4, 'y': 2",
        ),
        ((8,), P("x", "y"), ShapeError, r"has 2 entries, but the shape \(8,\) has 1 axes. Give at most one entry"),
        (
            (8, 3),
            P("x", "y"),
            ShapeError,
            r"axis 1 of the shape \(8, 3\) has size 3, which does not divide into 2",
        ),
        (
            (4,),
            P(("x", "y")),
            ShapeError,
            r"into 8 equal parts, as .* Pad it to a multiple of 8, or leave",
        ),
    ],
)
def test_a_spec_that_does_not_fit_is_refused_with_the_numbers(shape, spec, error, message):
    with pytest.raises(error, match=message):
        check_spec("f", shape, MESH, spec)


def test_a_deep_copy_of_a_mesh_is_the_mesh():
    mesh = Mesh(np.array([object(), object()]), "x")
    assert copy.deepcopy({"mesh": mesh})["mesh"] is mesh
