"""Claims about `pmap`; `test_pmap.py` runs this file in a process with eight devices."""

import re

import numpy as np
import pytest
from claims import report

from calque_core import Mesh, config, lax, make_jaxpr
from calque_core import PartitionSpec as P
from calque_xla_backend import NamedSharding, SingleDeviceSharding, device_put, devices, jit, pmap

config.cpu_devices(8)
X = np.arange(1.0, 9.0).reshape(4, 2)
HERE = r"pmaps\.py:\d+"


def normalized(x):
    return x / lax.psum(x, "i")


def equal(got, want):
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12)


# Elements on devices


def check_each_device_has_one_element():
    out = pmap(normalized, "i")(X)
    equal(out, X / X.sum(0))
    assert (out.shape, out.dtype, out.sharding.spec) == ((4, 2), np.float64, P("i"))
    assert [shard.device for shard in out.addressable_shards] == list(devices()[:4])
    assert [shard.data.shape for shard in out.addressable_shards] == [(1, 2)] * 4


def check_results_are_arguments_of_the_next_call_without_a_new_program():
    f = pmap(normalized, "i")
    equal(f(f(X)), X / X.sum(0))
    equal(f(device_put(X)), X / X.sum(0))
    assert f.cache_info().traces == 1


def check_the_devices_can_be_chosen():
    chosen = devices()[4:8]
    out = pmap(normalized, "i", devices=chosen)(X)
    equal(out, X / X.sum(0))
    assert [shard.device for shard in out.addressable_shards] == list(chosen)
    turned = pmap(lambda x: x + lax.axis_index("i"), "i", devices=chosen[::-1])(X)
    equal(turned, X + np.arange(4)[:, None])
    assert [shard.device for shard in turned.addressable_shards] == list(chosen[::-1])


def check_elements_stand_along_any_axis_of_arguments_and_results():
    out, total, same = pmap(
        lambda x, y: (x + y, lax.psum(x, "i"), y), "i", in_axes=(-1, None), out_axes=(1, None, 0)
    )(X.T, 10.0)  # fmt: skip
    equal(out, X.T + 10)
    equal(total, X.sum(0))
    equal(same, np.full(4, 10.0))


def check_trees_and_keywords():
    f = pmap(lambda tree, *, scale: {"sum": tree["a"] + tree["b"][0], "scale": scale}, out_axes={"sum": 1, "scale": 0})
    out = f({"a": X, "b": (2 * X,)}, scale=X[:, 0])
    equal(out["sum"], 3 * X.T)
    equal(out["scale"], X[:, 0])


def check_static_arguments_reach_the_function_unchanged():
    seen = []

    def f(name, x, n):
        seen.append((name, n))
        return x * n

    mapped = pmap(f, static_broadcasted_argnums=(0, 2))
    for _ in range(2):
        equal(mapped("a", X, 3), 3 * X)
    equal(mapped("a", X, 4), 4 * X)
    assert seen == [("a", 3), ("a", 4)]


def check_donated_arguments_are_overwritten():
    f = pmap(lambda x: x + 1.0, donate_argnums=0)
    x = f(X)
    equal(f(x), X + 2)
    assert x.is_deleted()


def check_the_size_of_the_axis_alone():
    equal(pmap(lambda: lax.axis_index("i"), "i", axis_size=5)(), np.arange(5))


def check_one_element_needs_one_device():
    out = pmap(normalized, "i")(X[:1])
    equal(out, np.ones((1, 2)))
    assert isinstance(out.sharding, (NamedSharding, SingleDeviceSharding))


# Programs


def check_under_jit_and_around_it():
    f = pmap(normalized, "i")
    equal(jit(lambda x: f(2 * x) + 1)(X), X / X.sum(0) + 1)
    equal(pmap(jit(normalized), "i")(X), X / X.sum(0))
    equal(jit(lambda x, y: pmap(lambda x: x + y)(x))(X, 5.0), X + 5)


def check_an_array_over_the_devices_stays_where_it_is():
    mesh = Mesh(np.array(devices()[:4]), "i")
    x = device_put(X, NamedSharding(mesh, P("i")))
    out = pmap(normalized, "i")(x)
    equal(out, X / X.sum(0))
    assert out.sharding == x.sharding


def check_nests_with_names_stand_on_one_mesh():
    x = np.arange(24.0).reshape(4, 2, 3)
    f = pmap(pmap(lambda x: x + lax.psum(x, ("i", "j")) + 10 * lax.axis_index("i") + lax.axis_index("j"), "j"), "i")
    want = x + x.sum((0, 1)) + 10 * np.arange(4)[:, None, None] + np.arange(2)[:, None]
    equal(f(x), want)
    assert {s.device for s in f(x).addressable_shards} == set(devices())


def check_nests_without_names():
    equal(pmap(pmap(lambda x: x + 1))(np.arange(8.0).reshape(4, 2)), np.arange(8.0).reshape(4, 2) + 1)


def check_j_10_a_captured_scalar_is_an_operand_that_is_not_mapped():
    def func(first, second):
        temp = first + np.sin(second) * 3.0

        def inner(x):
            return np.float32(2) * x + lax.psum(x, axis_name="rows") + second

        return pmap(inner, axis_name="rows")(temp)

    arguments = np.ones((1, 3), np.float32), np.float32(5)
    text = str(make_jaxpr(func)(*arguments))
    for part in ("xla_pmap[", "name=inner", "axis_name=rows", "axis_size=1", "in_axes=(None, 0)", "out_axes=(0,)"):
        assert part in text
    assert "psum[axes=('rows',)]" in text
    assert re.search(r"\] b \w+\n", text)  # the operands: the captured scalar, then the rows
    assert "compiler" not in text
    equal(func(*arguments), 3 * (1 + np.float32(3) * np.sin(np.float32(5))) + 5 + np.zeros((1, 3)))


def check_a_call_traces_and_compiles_once():
    count = []

    def f(x):
        count.append(x)
        return x

    mapped = pmap(f)
    for _ in range(3):
        mapped(X)
    assert len(count) == 1
    assert mapped.cache_info() == (1, 1)


# Errors


def check_too_few_devices_are_named_with_the_counts_and_the_setting():
    with pytest.raises(
        ValueError, match=r"AbstractMesh\('i': 9\), which needs 9 devices, but there are 8: .*cpu_devices\(9\)"
    ):
        pmap(normalized, "i")(np.ones(9))


def check_another_number_of_devices_is_refused():
    with pytest.raises(
        ValueError, match=rf"^pmap of normalized at {HERE}.* got 3 devices for 4 elements .*Give one device"
    ):
        pmap(normalized, "i", devices=devices()[:3])(X)


def check_sizes_that_differ_are_named_by_the_path_of_the_argument():
    with pytest.raises(
        ValueError,
        match=rf"^pmap of <lambda> \({HERE}\): axis 0 of y\['w'\] has size 3, but axis 1 of x has size 2; all mapped "
        "axes must have one size. Use in_axes=None for an argument that each device gets whole",
    ):
        pmap(lambda x, y: x, in_axes=(1, 0))(X, {"w": np.ones(3)})
    with pytest.raises(ValueError, match=r"axis_size=3, but axis 0 of x has size 4\. Leave axis_size out"):
        pmap(lambda x: x, axis_size=3)(X)
    with pytest.raises(ValueError, match=r"no argument is mapped\. Map one with in_axes, or give axis_size"):
        pmap(lambda x: x, in_axes=None)(X)


def check_axes_that_do_not_fit_are_refused():
    cases = [
        (TypeError, r"in_axes has 1 entries for 2 positional arguments\. Give one entry", {"in_axes": (0,)}, (X, X)),
        (TypeError, r"has a list of length 1 for args\[0\]\['w'\], but", {"in_axes": ({"w": [0]},)}, ({"w": X},)),
        (TypeError, r"out_axes has a tuple of length 2 for the output, but", {"out_axes": ([0], 0)}, (X,)),
        (TypeError, r"got in_axes='i'\. Give an int, None, or a tuple", {"in_axes": "i"}, (X,)),
        (TypeError, r"in_axes has the entry 'a' for args\[0\]\. Give an int or None", {"in_axes": ("a",)}, (X,)),
        (ValueError, r"args\[0\] has type float64\[4,2\], which has no axis 2 to map\. Use in_axes=None",
         {"in_axes": 2}, (X,)),
        (ValueError, r"out_axes has the entry 5 for the output, but with the mapped axis the output has 2 axes\. Give",
         {"out_axes": 5}, (X,)),
        (TypeError, r"got axis_name=\('i', 'j'\)\. Give one name", {"axis_name": ("i", "j")}, (X,)),
        (TypeError, r"got axis_size=True\. Give an int of one or more", {"axis_size": True}, (X,)),
        (TypeError, r"got devices=\[0\]\. Give a sequence of devices", {"devices": [0]}, (X,)),
    ]  # fmt: skip
    for kind, words, options, args in cases:
        with pytest.raises(kind, match=rf"^pmap of <lambda> \({HERE}\):? .*{words}"):
            pmap(lambda *args: args[0], **options)(*args)
    with pytest.raises(TypeError, match=r"^pmap got 3 .*Give a function"):
        pmap(3)


if __name__ == "__main__":
    report(globals())
