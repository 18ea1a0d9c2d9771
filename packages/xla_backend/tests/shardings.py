"""Claims about arrays over eight devices; `test_sharding.py` runs this file in a process that has them."""

import contextlib
import copy
import io
import pickle
import sys
from math import prod

import ml_dtypes
import numpy as np
import pytest
from claims import report

from calque_core import AbstractMesh, Mesh, ShapeError, config
from calque_core import PartitionSpec as P
from calque_core.engine import axis_names_of
from calque_xla_backend import (
    NamedSharding,
    SingleDeviceSharding,
    device_get,
    device_put,
    devices,
    jit,
    make_array_from_callback,
    make_array_from_single_device_arrays,
    make_mesh,
    visualize_array_sharding,
    visualize_sharding,
)

config.cpu_devices(8)
HERE = r"shardings\.py:\d+"
MESH = make_mesh((4, 2), ("x", "y"))
V = np.arange(32.0).reshape(8, 4)


def over(*entries, mesh=MESH):
    return NamedSharding(mesh, P(*entries))


# Shardings


def check_shardings_compare_by_mesh_and_spec():
    assert over("x") == over("x") != over("y")
    assert hash(over("x")) == hash(over("x"))
    assert over("x").with_spec(P("y")) == over("y")
    assert over("x") != over("x", mesh=make_mesh((2, 4), ("x", "y")))
    assert {over("x"): 1}[over("x")] == 1


def check_a_sharding_tells_what_each_device_holds():
    sharding = over("x", "y")
    assert sharding.shard_shape((8, 4)) == (2, 2)
    assert sharding.device_set == set(devices())
    assert (sharding.num_devices, sharding.is_fully_addressable) == (8, True)
    held = sharding.devices_indices_map((8, 4))
    assert held[devices()[3]] == (slice(2, 4), slice(2, 4))
    assert over(None, "y").devices_indices_map((8, 4))[devices()[0]] == (slice(None), slice(0, 2))
    assert [over(*e).is_fully_replicated for e in ((), (None,), ("x",))] == [True, True, False]
    flat = make_mesh((1, 8), ("x", "y"))
    entries = ["x", ("x", "y"), P.UNCONSTRAINED]
    assert [over(e, mesh=flat).is_fully_replicated for e in entries] == [True, False, False]
    assert SingleDeviceSharding(devices()[1]).devices_indices_map((2,)) == {devices()[1]: (slice(None),)}


def check_equivalent_shardings_are_told_by_what_the_devices_hold():
    flat = make_mesh((8,), "z")
    assert over("x").is_equivalent_to(over("x", None), 2)
    assert over(("x", "y")).is_equivalent_to(over("z", mesh=flat), 2)
    assert not over(("y", "x")).is_equivalent_to(over("z", mesh=flat), 2)
    assert not over().is_equivalent_to(SingleDeviceSharding(devices()[0]), 1)
    one = make_mesh((1,), "x")
    assert over("x", mesh=one).is_equivalent_to(SingleDeviceSharding(devices()[0]), 1)


def check_what_is_no_mesh_or_no_spec_is_refused():
    with pytest.raises(TypeError, match=rf"^NamedSharding at {HERE} .* as its mesh\. Use a Mesh, which has devices"):
        NamedSharding(AbstractMesh((2,), "x"), P("x"))
    with pytest.raises(TypeError, match=r"as its spec\. Use a PartitionSpec"):
        NamedSharding(MESH, "x")
    with pytest.raises(ValueError, match=r"names the axis 'z', but the mesh has the axes 'x': 4, 'y': 2"):
        over("z")


def check_sizes_of_a_mesh_are_integers_from_1():
    assert make_mesh(np.array([2, 4]), ("x", "y")).axis_sizes == (2, 4)
    for sizes in ((2, -1), (0, 2), (-1, -1)):
        with pytest.raises(ValueError, match=rf"^make_mesh at {HERE} .* got axes of sizes \(.*at least one position\."):
            make_mesh(sizes, ("x", "y"))
    for sizes in (4, "ab", (2, None), (2.5, 2)):
        with pytest.raises(TypeError, match=rf"^make_mesh at {HERE} .* got .* as the sizes of axes\. Use a tuple"):
            make_mesh(sizes, ("x", "y"))


def check_too_few_devices_are_named_with_both_numbers():
    with pytest.raises(
        ValueError, match=r"sizes \(4, 4\); the mesh needs 16 devices, but there are 8: .*config\.cpu_devices\(16\)"
    ):
        make_mesh((4, 4), ("x", "y"))
    assert make_mesh((2,), "x", devices=devices()[6:]).devices.tolist() == devices()[6:]


# device_put


SPECS = [(), ("x",), ("x", "y"), ("y", "x"), (("x", "y"),), (("y", "x"),), (None, "y"), (None, "x"), ("y",)]


def check_arrays_come_back_from_every_division():
    for entries in SPECS:
        x = device_put(V, over(*entries))
        assert x.sharding == over(*entries)
        np.testing.assert_array_equal(np.asarray(x), V)
        for shard in x.addressable_shards:
            np.testing.assert_array_equal(np.asarray(shard.data), V[shard.index])
            assert shard.data.device == shard.device


def check_every_dtype_comes_back():
    names = ["bool", "int8", "uint64", "float16", "float32", "complex64", "complex128"]
    for dtype in [*map(np.dtype, names), np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.int4)]:
        x = np.arange(16).reshape(8, 2).astype(np.int8).__mod__(2).astype(dtype)
        put = device_put(x, over("x"))
        assert put.dtype == dtype
        np.testing.assert_array_equal(np.asarray(put), x)


def check_an_array_moves_between_any_two_shardings():
    other = Mesh(np.array(devices())[::-1].reshape(2, 2, 2), ("a", "b", "c"))
    half = make_mesh((2, 2), ("a", "b"), devices=devices()[4:])
    targets = [over("x"), over("y", "x"), over(), over("c", ("a",), mesh=other), over("b", mesh=half), devices()[3]]
    for first in targets:
        for second in targets:
            x = device_put(device_put(V, first), second)
            assert x.sharding == (second if isinstance(second, NamedSharding) else SingleDeviceSharding(second))
            np.testing.assert_array_equal(np.asarray(x), V)


def check_a_tree_takes_a_prefix_of_shardings():
    put = device_put({"a": (V, 1.0), "b": V}, {"a": over(), "b": over("x")})
    assert [put["a"][0].sharding, put["a"][1].sharding, put["b"].sharding] == [over(), over(), over("x")]
    assert device_put(put["b"], over("x")) is put["b"]


def check_an_uneven_shape_is_refused_with_the_path_and_the_numbers():
    with pytest.raises(
        ValueError,
        match=rf"^device_put of x\['a'\]\[0\], float64\[3,4\], at {HERE} .*: axis 0 of the shape \(3, 4\) has size 3, "
        "which does not divide into 4 equal parts",
    ):
        device_put({"a": [V[:3]]}, over("x"))


def check_a_spec_is_one_over_the_mesh_of_the_settings():
    with config.set_mesh(MESH):
        assert device_put(V, P("x")).sharding == over("x")
        tree = device_put({"a": V, "b": V, "c": 1.0}, {"a": P("y"), "b": over("x"), "c": None})
        assert [x.sharding for x in (tree["a"], tree["b"])] == [over("y"), over("x")]
        with pytest.raises(ShapeError, match=r"size 3, which does not divide into 4 equal parts"):
            device_put(np.ones(3), P("x"))
    with pytest.raises(ValueError, match=rf"^device_put at {HERE} .* got PartitionSpec\('x'\), and no mesh is set\."):
        device_put(V, P("x"))


def check_a_number_of_a_device_that_does_not_exist_is_refused():
    x = device_put(V, over("x"))
    np.testing.assert_array_equal(x.addressable_data(-1), x.addressable_data(7))
    with pytest.raises(IndexError, match=rf"^addressable_data\(8\) at {HERE} .* on cpu:0, .* Use an index below 8\.$"):
        x.addressable_data(8)
    with pytest.raises(IndexError, match=r"has elements on cpu:0 of this process\. Use an index below 1\.$"):
        device_put(V).addressable_data(-2)


def check_an_open_axis_is_refused():
    with pytest.raises(ValueError, match=r"^device_put at .* leaves an axis open\. Use None or a name"):
        device_put(V, over(P.UNCONSTRAINED))


def check_weak_arrays_stay_weak():
    x = device_put(jit(lambda: 2.0)(), over())
    assert repr(x) == "Array(2., dtype=float64, weak_type=True)"


# Arrays


def check_an_array_goes_to_a_device_and_to_a_sharding():
    x = device_put(V)
    for place in (over("x"), over(), SingleDeviceSharding(devices()[5])):
        assert x.to_device(place).sharding == place
        np.testing.assert_array_equal(device_put(V, over("y")).to_device(place), V)


def check_an_array_tells_its_shards():
    x = device_put(V, over("x"))
    assert (x.device, x.sharding, x.devices()) == (over("x"), over("x"), set(devices()))
    assert (x.is_fully_addressable, x.is_fully_replicated, x.nbytes) == (True, False, 256)
    assert [shard.replica_id for shard in x.addressable_shards] == [0, 1] * 4
    assert [shard.device for shard in x.global_shards] == devices()
    np.testing.assert_array_equal(np.asarray(x.addressable_data(6)), V[6:])
    one = device_put(V, devices()[2])
    (shard,) = one.addressable_shards
    assert (shard.device, shard.index, shard.replica_id) == (devices()[2], (slice(None), slice(None)), 0)
    assert shard.data is one
    assert one.is_fully_replicated
    assert [(s.device, s.data) for s in one.global_shards] == [(devices()[2], one)]
    assert shard != one.global_shards[0]


def check_an_array_is_read_copied_and_pickled_as_a_whole():
    x = device_put(V, over("x", "y"))
    np.testing.assert_array_equal(device_get({"x": x})["x"], V)
    assert (x.tolist(), float(x[3, 2]), [*map(float, x[0])]) == (V.tolist(), 14.0, [0.0, 1.0, 2.0, 3.0])
    assert repr(x) == repr(device_put(V))
    for copied in (copy.copy(x), copy.deepcopy(x)):
        assert copied.sharding == x.sharding
        np.testing.assert_array_equal(np.asarray(copied), V)
    loaded = pickle.loads(pickle.dumps(x))
    assert loaded.device == devices()[0]
    np.testing.assert_array_equal(np.asarray(loaded), V)
    assert pickle.loads(pickle.dumps(P("x"))) == P("x")


def check_reading_gives_read_only_memory():
    for x in (device_put(V, over("x")), device_put(V, over())):
        assert not np.asarray(x).flags.writeable
        assert np.array(x).flags.writeable


def check_a_deleted_array_is_named():
    x = device_put(V, over("x"))
    x.delete()
    assert x.is_deleted()
    for use in (np.asarray, lambda x: x.addressable_shards, lambda x: x + 1.0):
        with pytest.raises(RuntimeError, match=r"float64\[8,4\] was used after it was deleted"):
            use(x)


def check_an_array_over_devices_has_no_address():
    x = device_put(V, over("x"))
    with pytest.raises(BufferError, match=r"cannot be exported at .*addressable_shards, or put it on one device"):
        x.__dlpack__()
    with pytest.raises(ValueError, match=r"has no one address at .*Ask one of its addressable_shards"):
        x.unsafe_buffer_pointer()


def check_what_is_put_is_a_copy():
    mine = V.copy()
    x = device_put(mine, over("y"))
    mine[:] = 0.0
    np.testing.assert_array_equal(np.asarray(x), V)


def check_jax_is_not_loaded():
    assert "jax" not in sys.modules


# Arrays from their parts


def check_an_array_is_made_of_a_function_of_the_index():
    calls = []

    def part(index):
        calls.append(index)
        return V[index]

    x = make_array_from_callback((8, 4), over("x"), part)
    assert (len(calls), x.sharding) == (4, over("x"))
    np.testing.assert_array_equal(np.asarray(x), V)
    y = make_array_from_callback((8, 4), over(), lambda index: V[index], dtype=np.float32)
    assert (y.dtype, make_array_from_callback((), over(), lambda _: 3).tolist()) == (np.float32, 3)
    assert make_array_from_callback((2,), x.addressable_data(3).sharding, lambda _: np.ones(2)).device == devices()[3]


def check_wrong_parts_are_refused():
    with pytest.raises(
        ValueError, match=r"^make_array_from_callback at .* returned an array of the shape \(8, 4\) for "
    ):
        make_array_from_callback((8, 4), over("x"), lambda _: V)
    with pytest.raises(ValueError, match=r"axis 0 of the shape \(6, 4\) has size 6, which does not divide into 4"):
        make_array_from_callback((6, 4), over("x"), lambda index: V[index])
    with pytest.raises(TypeError, match=r"got a value of type str as its sharding\. Use a NamedSharding"):
        make_array_from_callback((8, 4), "x", lambda index: V[index])


def check_an_array_is_made_of_arrays_on_single_devices():
    x = device_put(V, over("x", "y"))
    parts = [shard.data for shard in x.addressable_shards]
    y = make_array_from_single_device_arrays((8, 4), over("x", "y"), parts[::-1])
    np.testing.assert_array_equal(np.asarray(y), V)
    assert jit(lambda y: y + 1.0)(y).sharding == over("x", "y")
    with pytest.raises(ValueError, match=r"got 7 arrays for 8 devices, none on cpu:7\. Give one array for each"):
        make_array_from_single_device_arrays((8, 4), over("x", "y"), parts[:7])
    with pytest.raises(
        ValueError, match=r"type float64\[2,2\] on cpu:0, but the shards have type float64\[2,4\]\. Give"
    ):
        make_array_from_single_device_arrays((8, 4), over("x"), parts)
    with pytest.raises(TypeError, match=r"as arrays\[0\]\. Give arrays on one device each"):
        make_array_from_single_device_arrays((8, 4), over("x"), [x])


# Text


def check_shardings_are_shown_as_tables():
    def shown(show, *args):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            show(*args)
        return out.getvalue().splitlines()

    assert shown(visualize_sharding, (8, 4), over("x", "y"))[:4] == [
        "┌───────┬───────┐",
        "│ CPU 0 │ CPU 1 │",
        "├───────┼───────┤",
        "│ CPU 2 │ CPU 3 │",
    ]
    assert shown(visualize_sharding, (8,), over("y"))[1] == "│ CPU 0,2,4,6 │ CPU 1,3,5,7 │"
    assert shown(visualize_array_sharding, device_put(V, over(None, "x")))[1].count("│") == 5
    with pytest.raises(ValueError, match=r"got the shape \(2, 2, 2\) of 3 axes\. Use 1 or 2 axes"):
        visualize_sharding((2, 2, 2), over())
    with pytest.raises(TypeError, match=r"^visualize_array_sharding at .*\. Use a device array"):
        visualize_array_sharding(V)


# Random meshes and specs


def check_500_random_meshes_and_specs_give_the_elements_back():
    rng = np.random.default_rng(2026)
    for _ in range(500):
        x, first, second = random_case(rng)
        put = device_put(x, first)
        assert put.sharding == first
        for shard in put.addressable_shards[:2]:
            np.testing.assert_array_equal(np.asarray(shard.data), x[shard.index])
        np.testing.assert_array_equal(np.asarray(put), x)
        np.testing.assert_array_equal(np.asarray(device_put(put, second)), x)


def random_case(rng):
    """Return an array, and two shardings over random meshes that divide it evenly."""
    ndim = int(rng.integers(0, 4))
    shardings = [random_sharding(rng, ndim) for _ in range(2)]
    counts = [[prod(s.mesh.shape[n] for n in names) for names in axis_names_of(s.spec, ndim)] for s in shardings]
    shape = [int(np.lcm(a, b) * rng.integers(0, 3)) for a, b in zip(*counts)]
    dtype = rng.choice(["f4", "f8", "i1", "u2", "c8", "?"])
    return rng.integers(0, 2, shape).astype(dtype), *shardings


def random_sharding(rng, ndim):
    """Return a sharding of arrays of `ndim` axes over some of the devices in some order."""
    sizes = rng.choice(np.array([1, 2, 4]), int(rng.integers(1, 4)))
    while sizes.prod() > len(devices()):
        sizes[sizes.argmax()] //= 2
    names = [f"m{i}" for i in range(len(sizes))]
    order = rng.permutation(len(devices()))[: sizes.prod()]
    mesh = Mesh(np.array(devices(), object)[order].reshape(sizes), names)
    entries = [[] for _ in range(ndim)]
    for name in rng.permutation(names):
        place = int(rng.integers(0, ndim + 1))
        if place < ndim:
            entries[place].append(str(name))
    return NamedSharding(mesh, P(*map(tuple, entries)))


if __name__ == "__main__":
    report(globals())
