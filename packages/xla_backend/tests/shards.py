"""Claims about compiled programs for shards; `test_rules_shard_map.py` runs this file in a process with eight devices.

Core's evaluation, which runs the positions of a mesh in lockstep, says what a compiled program must return.
"""

import re

import ml_dtypes
import numpy as np
import pytest
from claims import report

from calque_core import (
    AbstractMesh,
    Mesh,
    ShapeDtypeStruct,
    config,
    debug,
    effects_barrier,
    io_callback,
    lax,
    pure_callback,
    shard_map,
)
from calque_core import PartitionSpec as P
from calque_pytree import tree_leaves
from calque_xla_backend import ExportError, NamedSharding, device_put, devices, export, jit

config.cpu_devices(8)
MESH = AbstractMesh((4, 2), ("i", "j"))
SPEC = P("i", "j")
X = np.arange(64, dtype=np.float32).reshape(8, 8)
SHORT = [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]
PLAIN = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
DTYPES = [*map(np.dtype, PLAIN + SHORT)]


def divided(f, in_specs=SPEC, out_specs=SPEC, mesh=MESH, **options):
    return shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False, **options)


def agrees_with_evaluation(f, *args):
    """Check that the compiled program returns the values and types of evaluation; return jitted `f`."""
    jitted = jit(f)
    got, want = tree_leaves(jitted(*args)), tree_leaves(f(*args))
    assert [(x.shape, x.dtype) for x in got] == [(x.shape, x.dtype) for x in want]
    for one_got, one_want in zip(got, want):
        np.testing.assert_allclose(np.asarray(one_got).astype("c16"), np.asarray(one_want).astype("c16"), rtol=1e-6)
    return jitted


def optimized(jitted, *args):
    return jitted.lower(*args).compile()


# The collectives


def check_collectives_in_every_dtype():
    def every(x):
        moved = (
            lax.all_gather(x, "i", axis=1),
            lax.all_gather_invariant(x, "j", tiled=True),
            lax.ppermute(x, "i", [(0, 1), (1, 3)]),
            lax.ppermute(x, "j", [(0, 1), (1, 0)]),
            lax.all_to_all(x, "j", 0, 1),
        )
        summed = () if x.dtype == bool else (lax.psum(x, "i"), lax.psum(x, ("j", "i")), lax.psum_scatter(x, "j"))
        extreme = lax.pmax(x, ("i", "j")), lax.pmin(x, "j")
        return [value.reshape(-1) for value in (*moved, *summed, *extreme)]

    program = divided(every, out_specs=P(("i", "j")))
    for dtype in DTYPES:
        values = X % 3 + 1j * (X % 5) if dtype.kind == "c" else X % 3
        agrees_with_evaluation(program, values.astype(dtype))


def check_positions_along_one_axis_and_along_several():
    f = divided(lambda x: x + 100 * lax.axis_index("i") + 10 * lax.axis_index("j") + 1000 * lax.axis_index(("j", "i")))
    agrees_with_evaluation(f, X)


def check_exchanges_over_several_axes_are_one_collective():
    both = ("j", "i")

    def f(x):
        gathered = lax.all_gather(x, both, axis=1)
        swapped = lax.all_to_all(gathered, both, 1, 0)
        summed = lax.psum_scatter(gathered * swapped.swapaxes(0, 1), both, scatter_dimension=1)
        return gathered.reshape(-1), swapped.reshape(-1), summed, lax.all_gather(summed, both, tiled=True)

    program = divided(f, out_specs=P(("i", "j")))
    jitted = agrees_with_evaluation(program, X)
    traffic = optimized(jitted, X).communication()
    assert {kind: each.count for kind, each in traffic.items()} == {
        "all-gather": 2, "all-to-all": 1, "reduce-scatter": 1,
    }  # fmt: skip


def check_exchanges_that_differ_in_the_axis_or_whose_result_is_used_twice_stay():
    def f(x):
        along_j = lax.all_gather(x, "j")
        other_axis = lax.all_gather(lax.all_gather(x, "i", axis=1), "j", axis=0)
        return (lax.all_gather(along_j, "i") + along_j).reshape(-1), other_axis.reshape(-1)

    jitted = agrees_with_evaluation(divided(f, out_specs=P(("i", "j"))), X)
    assert jitted.lower(X).as_text().count('"stablehlo.all_gather"') == 4


def check_a_mean_and_a_broadcast_and_a_shuffle():
    f = divided(lambda x: (lax.pmean(x, "i"), lax.pbroadcast(x, "i", 2), lax.pshuffle(x, "i", [1, 0, 3, 2])))
    agrees_with_evaluation(f, X)


def check_a_permutation_along_both_axes_is_one_operation():
    ring = [(k, (k + 1) % 8) for k in range(8)]

    def f(x):
        return lax.ppermute(x, ("i", "j"), ring), lax.ppermute(x, ("j", "i"), [(0, 3), (5, 1)])

    jitted = agrees_with_evaluation(divided(f), X)
    assert jitted.lower(X).as_text().count("stablehlo.collective_permute") == 2


def check_a_permutation_without_pairs_gives_zeros():
    agrees_with_evaluation(divided(lambda x: lax.ppermute(x, "i", [])), X)


@np.errstate(invalid="ignore")
def check_extremes_keep_nan_and_infinities():
    values = np.array([[3, np.nan], [np.inf, 2], [-np.inf, -1], [1, 0]])
    f = divided(lambda x: [extreme(x, axes) for extreme in (lax.pmax, lax.pmin) for axes in ("i", ("i", "j"))])
    for dtype in ("f2", "f4", "f8", "c8", *SHORT):
        agrees_with_evaluation(f, values.astype(dtype))


def check_sums_of_half_precision_stay_in_half_precision():
    text = jit(divided(lambda x: lax.psum(x, "i"))).lower(X.astype("f2")).as_text()
    assert re.search(r"all_reduce.*\n.*\n.*stablehlo.add %\w+, %\w+ : tensor<f16>", text)


# Meshes


def check_meshes_of_any_order_of_devices_in_one_program():
    turned = Mesh(np.array(devices()).reshape(4, 2)[::-1], ("i", "j"))
    straight = Mesh(np.array(devices()).reshape(4, 2), ("i", "j"))

    def f(x):
        x = divided(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)]) + lax.axis_index("i"), mesh=straight)(x)
        y, z = divided(lambda x: (lax.psum(x, "i") + x, x * lax.axis_index("i")), mesh=turned)(x)
        return divided(lambda y, z: y + z, (SPEC, SPEC), mesh=straight)(y, z)

    jitted = agrees_with_evaluation(f, X)
    assert "device_ids=[6, 7, 4, 5, 2, 3, 0, 1]" in jitted.lower(X).as_text()


def check_results_over_a_mesh_of_another_order_of_the_devices_are_arguments_again():
    turned = Mesh(np.array(devices()).reshape(4, 2)[::-1], ("i", "j"))
    straight = Mesh(np.array(devices()).reshape(4, 2), ("i", "j"))
    f = jit(lambda x: divided(lambda x: x * 2, mesh=turned)(divided(lambda x: x + 1, mesh=straight)(x)))
    y = f(X)
    np.testing.assert_array_equal(np.asarray(y), (X + 1) * 2)
    assert [shard.device for shard in y.addressable_shards] == list(turned.devices.flat)
    np.testing.assert_array_equal(np.asarray(f(y)), ((X + 1) * 2 + 1) * 2)
    np.testing.assert_array_equal(np.asarray(jit(lambda y: y.sum(0))(y)), ((X + 1) * 2).sum(0))


def check_axes_of_any_name():
    mesh = AbstractMesh((2, 2, 2), (0, 'a "b"', "c"))
    names = mesh.axis_names
    agrees_with_evaluation(
        divided(lambda x: lax.psum(x, names[1]) + lax.axis_index(0), P(*names), P(*names), mesh=mesh),
        np.arange(64.0).reshape(4, 4, 4),
    )


def check_axes_of_one_position_need_no_communication():
    mesh = AbstractMesh((1, 8), ("i", "j"))

    def f(x):
        return (
            lax.psum(x, "i"), lax.pmax(x, "i"), lax.all_gather(x, "i", tiled=True), lax.ppermute(x, "i", [(0, 0)]),
            lax.psum_scatter(x, "i", tiled=True), lax.all_to_all(x, "i", 0, 1, tiled=True), x + lax.axis_index("i"),
        )  # fmt: skip

    jitted = agrees_with_evaluation(divided(f, mesh=mesh), X)
    assert optimized(jitted, X).communication() == {}


def check_a_mesh_of_one_position_is_a_program_of_one_device():
    mesh = AbstractMesh((1, 1), ("i", "j"))
    f = divided(lambda x: (lax.psum(x, ("i", "j")), lax.all_gather(x, "i") + lax.axis_index("j")), mesh=mesh)
    jitted = agrees_with_evaluation(f, X)
    assert "manual_computation" not in jitted.lower(X).as_text()


def check_some_axes_by_hand_and_the_others_by_the_compiler():
    f = divided(
        lambda x: (lax.psum(x, "i") @ x.T + 10 * lax.axis_index("i"), lax.ppermute(x, "i", [(1, 0), (0, 1)])),
        P("i"), (P(None, "i"), P("i")), axis_names={"i"},
    )  # fmt: skip
    jitted = agrees_with_evaluation(f, X)
    mesh = Mesh(np.array(devices()).reshape(4, 2), ("i", "j"))
    x = device_put(X, NamedSharding(mesh, P(None, "j")))
    for got, want in zip(jitted(x), f(X)):
        np.testing.assert_allclose(np.asarray(got), want)


def check_a_shard_map_inside_another_over_the_other_axes():
    def outer(x):
        inner = divided(
            lambda y: lax.psum(y, "j") + 100 * lax.axis_index("i") + 10 * lax.axis_index("j"), P(None, "j"),
            P(None, "j"), axis_names={"j"},
        )  # fmt: skip
        return inner(lax.psum(x, "i")) + x

    agrees_with_evaluation(divided(outer, P("i"), P("i"), axis_names={"i"}), X)


def check_a_shard_map_inside_another_needs_the_same_mesh():
    other = AbstractMesh((2, 4), ("k", "l"))
    f = divided(lambda x: divided(lambda y: y, P("k"), P("k"), mesh=other)(x))
    with pytest.raises(ValueError, match=r"shard_map over AbstractMesh\('k': 2, 'l': 4\).* inside one over .*Use one"):
        jit(f).lower(X)


# Programs inside


def check_loops_branches_and_jitted_functions_with_collectives():
    total = jit(lambda x: lax.psum(x, "i") * 2)

    def f(x):
        carry, ys = lax.scan(lambda c, _: (lax.pmean(c, "j") + total(c), lax.psum(c[0], "i")), x, None, length=3)
        either = lax.cond(lax.psum(x.sum(), ("i", "j")) > 0, total, lambda x: lax.pmax(x, "i"), x)
        looped = lax.while_loop(lambda s: lax.pmax(s[0], "i") < 3, lambda s: (s[0] + 1, total(s[1])), (0, x))[1]
        turned = lax.fori_loop(0, 3, lambda _, x: lax.ppermute(x, "i", [(k, (k + 1) % 4) for k in range(4)]), x)
        return carry, ys, either, looped, turned, total(x)

    agrees_with_evaluation(divided(f), X)


def check_a_jitted_function_has_a_form_for_each_mesh():
    total = jit(lambda x: lax.psum(x, "i") * 2)
    ordinary = jit(lambda x: x * 3)

    def f(x):
        y = divided(lambda x: total(ordinary(x)), P("i"), P("i"))(x)
        z = divided(lambda x: total(ordinary(x)), P("i"), P("i"), mesh=AbstractMesh((8,), "i"))(ordinary(x))
        return y + z

    agrees_with_evaluation(f, X)


def check_large_constants_are_arguments_of_the_program():
    table = np.arange(4000.0)
    scaled = jit(lambda x: x * lax.sin(table)[:8])
    f = divided(lambda x: scaled(x) + table[3], P("i"), P("i"))
    jitted = agrees_with_evaluation(f, X)
    assert len(jitted.lower(X).as_text()) < 4000


def check_a_shard_map_in_a_loop_and_in_a_branch():
    step = divided(lambda x: lax.psum(x, "j") * 0.1 + x)

    def f(x):
        looped = lax.fori_loop(0, 3, lambda _, x: step(x), x)
        return lax.cond(x[0, 0] > 1, step, lambda x: x, looped), lax.scan(lambda c, _: (step(c), None), x, None, 2)[0]

    agrees_with_evaluation(f, X)


def check_programs_nested_deeply_need_no_recursion():
    f = lambda x: lax.psum(x, "i") * 0.25
    for _ in range(60):
        f = jit(lambda x, f=f: f(x) + 0.0)
    agrees_with_evaluation(divided(f), X)


def check_an_ordered_effect_inside_is_refused():
    f = divided(lambda x: io_callback(np.sin, x, x, ordered=True))
    with pytest.raises(TypeError, match=r"shard_map of .* has an ordered effect.*Use an effect without order"):
        jit(f).lower(X)


def check_a_program_over_a_mesh_is_not_exported():
    words = r"export of f at .*shards\.py:\d+.* runs on the devices of Mesh.*, and .* on one device\. Export"

    def f(x):
        return divided(lambda x: lax.psum(x, "i"))(x)

    with pytest.raises(ExportError, match=words):
        export(jit(f))(X)


# Functions of the host


def recording(calls):
    def record(x):
        calls.append(np.array(x))
        return np.asarray(x) * 2

    return lambda x: pure_callback(record, ShapeDtypeStruct(x.shape, x.dtype), x)


def check_each_device_calls_a_function_of_the_host_on_its_shard():
    calls = []
    np.testing.assert_array_equal(jit(divided(recording(calls)))(X), 2 * X)
    assert [x.shape for x in calls] == [(2, 4)] * 8
    assert sorted(x[0, 0] for x in calls) == sorted(X[::2, ::4].reshape(-1))


def check_the_first_device_calls_a_function_of_the_host_outside_on_whole_arrays():
    calls, effects = [], []

    def f(x):
        x = divided(lambda x: x + 1)(x)
        debug.callback(lambda x: effects.append(np.array(x)), x)
        io_callback(lambda x: effects.append(np.array(x)), None, x, ordered=True)
        return recording(calls)(x)

    np.testing.assert_array_equal(jit(f)(X), 2 * (X + 1))
    effects_barrier()
    for x in (*calls, *effects):
        np.testing.assert_array_equal(x, X + 1)
    assert (len(calls), len(effects)) == (1, 2)


def check_a_function_of_the_host_in_a_partly_divided_program_is_refused():
    with pytest.raises(TypeError, match=r"record .*is called in a shard_map over 'i' of .*Leave axis_names out"):
        jit(divided(recording([]), P("i"), P("i"), axis_names={"i"})).lower(X)


# Communication


def check_communication_is_counted():
    compiled = optimized(jit(divided(lambda x: (lax.psum(x, "i"), lax.psum_scatter(x, "j")), out_specs=P("i"))), X)
    assert {kind: (each.count, each.bytes) for kind, each in compiled.communication().items()} == {
        "all-reduce": (1, 32),
        "reduce-scatter": (1, 32),
    }
    assert optimized(jit(lambda x: x + 1), X).communication() == {}


if __name__ == "__main__":
    report(globals())
