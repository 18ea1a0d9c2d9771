"""Claims about programs over eight devices; `test_partition.py` runs this file in a process that has them."""

import tempfile
import threading

import ml_dtypes
import numpy as np
import pytest
from claims import report

from calque_core import AbstractMesh, Mesh, ShapeDtypeStruct, ShapeError, config, debug, lax, make_jaxpr, shard_map
from calque_core import PartitionSpec as P
from calque_core.lax import sharding_constraint_p
from calque_xla_backend import (
    NamedSharding,
    SingleDeviceSharding,
    compilation_cache,
    compile,
    device_put,
    devices,
    explain,
    jit,
    make_mesh,
    pmap,
    with_sharding_constraint,
)
from calque_xla_backend.compilation_cache import cache

config.cpu_devices(8)
HERE = r"partitions\.py:\d+"
MESH = make_mesh((4, 2), ("x", "y"))
V = np.arange(32.0).reshape(8, 4)


def over(*entries, mesh=MESH):
    return NamedSharding(mesh, P(*entries))


def put(x, *entries):
    return device_put(x, over(*entries))


class Compilations:
    """Counts the programs that are compiled inside a `with` block."""

    def __enter__(self):
        self.original, self.count = compile.load_or_compile, 0
        compile.load_or_compile = self.counted
        return self

    def counted(self, *args):
        self.count += 1
        return self.original(*args)

    def __exit__(self, *_):
        compile.load_or_compile = self.original


# Programs run where their arrays are


def check_results_carry_their_shardings():
    double, rows, whole, transposed = jit(lambda x: (x * 2.0, x.sum(1), x.sum(), x.T))(put(V, "x", "y"))
    assert [x.sharding for x in (double, rows, whole, transposed)] == [
        over("x", "y"),
        over("x"),
        over(),
        over("y", "x"),
    ]
    np.testing.assert_array_equal(np.asarray(double), 2 * V)
    np.testing.assert_array_equal(np.asarray(rows), V.sum(1))
    assert float(whole) == V.sum()
    np.testing.assert_array_equal(np.asarray(transposed), V.T)


def check_a_division_that_fits_no_axis_of_the_mesh_gets_a_mesh_of_its_own():
    eight = make_mesh((8,), "i")
    x = device_put(np.arange(8.0), over("i", mesh=eight))
    out = jit(lambda x: x.reshape(4, 2))(x)
    assert [tuple(s.index) for s in out.addressable_shards] == list(out.sharding.devices_indices_map((4, 2)).values())
    np.testing.assert_array_equal(np.asarray(out), np.arange(8.0).reshape(4, 2))


def check_arguments_on_the_host_and_on_one_device_go_where_the_program_runs():
    f, x = jit(lambda x, y, n: x + y * n), put(V, "x")
    for y in (V, device_put(V, devices()[5]), put(V, None, "y")):
        for n in (2, 2.0, np.float64(2.0), device_put(2.0)):
            np.testing.assert_array_equal(np.asarray(f(x, y, n)), 3 * V)
    assert f(x, V, 2.0).sharding.device_set == set(devices())


def check_a_program_without_results_takes_divided_arrays():
    seen = []
    for f in (lambda x: debug.callback(seen.append, x), lambda x: None, lambda x: ((), {})):
        assert jit(f)(put(V, "x")) == f(V)
        assert jit(f, in_shardings=over("x"))(V) == f(V)
        assert jit(f).lower(put(V, "x")).compile()(put(V, "x")) == f(V)
        assert jit(shard_map(f, mesh=MESH, in_specs=P("x"), out_specs=P()))(V) == f(V)
        pmap(f)(V)
    assert {x.shape for x in seen} == {(8, 4), (2, 4), (4,)}


def check_a_captured_array_is_a_constant_of_the_program():
    table, host = put(V, "y"), np.arange(1000.0)
    f = jit(lambda x: (x + table, host[:8] + x[:, 0]))
    outs = f(put(V, "x"))
    np.testing.assert_array_equal(np.asarray(outs[0]), 2 * V)
    np.testing.assert_array_equal(np.asarray(outs[1]), np.arange(8.0) + V[:, 0])


def check_the_second_call_compiles_nothing():
    f = jit(lambda x, y: (x @ y, x))
    x, y = put(V, "x"), put(V.T, None, "y")
    f(x, y)
    with Compilations() as compilations:
        for _ in range(3):
            out, x = f(x, y)
        assert compilations.count == 0
    assert f.cache_info() == (1, 1)
    np.testing.assert_array_equal(np.asarray(out), V @ V.T)


def check_another_division_is_another_program_and_another_spelling_is_not():
    f = jit(lambda x: x * 3.0)
    f(put(V, "x"))
    with Compilations() as compilations:
        f(put(V, "x", None))
        f(device_put(V, over(("x",))))
        assert compilations.count == 0
        f(put(V, "y"))
        assert compilations.count == 1
    assert f.cache_info().traces == 1


def check_undivided_arrays_of_all_ranks_share_a_mesh():
    for sizes, names in (((8,), "p"), ((1, 8), ("p", "q"))):
        mesh = make_mesh(sizes, names)
        for ndim in (2, 0, 1, 3):
            entries = (names[0],) if mesh.axis_sizes[0] == 1 and ndim else ()
            x = np.ones((2,) * ndim)
            y = device_put(x, over(*entries, *[None] * (ndim - len(entries)), mesh=mesh))
            for value in (y * 2.0, jit(lambda x: x * 2.0, in_shardings=y.sharding)(x)):
                np.testing.assert_array_equal(np.asarray(value), 2.0 * x)


def check_arrays_over_other_devices_are_refused_with_both():
    half = make_mesh((4,), "x", devices=devices()[4:])
    x, y = put(V, "x"), device_put(V, over("x", mesh=half))
    for f, name in ((jit(lambda x, y: x + y), "jit of <lambda>"), (lambda x, y: x + y, "add")):
        with pytest.raises(
            ValueError,
            match=rf"^{name} at {HERE} .* has an array of type float64\[8,4\] on cpu:0, .*, and an array of type "
            r"float64\[8,4\] on cpu:4, cpu:5, cpu:6 and cpu:7\. Use one set of devices in a program",
        ):
            f(x, y)


def check_a_program_that_holds_a_mesh_runs_on_its_devices():
    half = make_mesh((4,), "i", devices=devices()[4:])
    f = jit(shard_map(lambda x: lax.psum(x, "i"), mesh=half, in_specs=P("i"), out_specs=P()))
    out = f(V)
    assert out.devices() == set(devices()[4:])
    np.testing.assert_array_equal(np.asarray(out), V.reshape(4, 2, 4).sum(0))
    with pytest.raises(ValueError, match=r"has Mesh\('i': 4\) on cpu:4, .*, and an array of type float64"):
        f(put(V, "x"))


def check_a_mesh_without_devices_takes_the_first_ones_or_those_of_the_arrays():
    f = jit(shard_map(lambda x: x + 1.0, mesh=AbstractMesh((4,), "i"), in_specs=P("i"), out_specs=P("i")))
    assert f(V).devices() == set(devices()[:4])
    half = make_mesh((4,), "j", devices=devices()[4:])
    assert f(device_put(V, over("j", mesh=half))).devices() == set(devices()[4:])
    wide = shard_map(lambda x: x + 1.0, mesh=AbstractMesh((16,), "i"), in_specs=P("i"), out_specs=P("i"))
    with pytest.raises(ValueError, match=r"needs 16 devices, but there are 8: .*config\.cpu_devices\(16\)"):
        jit(wide)(np.zeros(16))


def check_a_device_and_a_mesh_in_one_program_are_refused():
    f = shard_map(lambda x: x, mesh=MESH, in_specs=P("x"), out_specs=P("x"))
    with pytest.raises(ValueError, match=r"runs on cpu:1, which a jit chose, but it holds Mesh\('x': 4, 'y': 2\)\. L"):
        jit(f, device=devices()[1])(V)


def check_a_mesh_of_one_device_is_a_mesh():
    one = make_mesh((1,), "x", devices=devices()[3:4])
    x = device_put(V, over("x", mesh=one))
    out = jit(lambda x: x + 1.0)(x)
    assert (x.sharding, out.devices()) == (over("x", mesh=one), {devices()[3]})
    np.testing.assert_array_equal(np.asarray(out), V + 1)


def check_a_device_of_jit_gathers_an_array():
    out = jit(lambda x: x + 1.0, device=devices()[2])(put(V, "x"))
    assert out.sharding == SingleDeviceSharding(devices()[2])


def check_meshes_of_one_set_of_devices_in_two_orders_work_together():
    turned = Mesh(np.array(devices())[::-1].reshape(2, 4), ("a", "b"))
    x, y = put(V, "x"), device_put(V, over("b", mesh=turned))
    np.testing.assert_array_equal(np.asarray(jit(lambda x, y: x + y)(x, y)), 2 * V)


def check_donated_arrays_are_given_up():
    f = jit(lambda x: x + 1.0, donate_argnums=0)
    x = put(np.zeros((64, 64)), "x", "y")
    out = f(x)
    assert (x.is_deleted(), out.sharding) == (True, over("x", "y"))


def check_threads_share_one_program():
    f, outs = jit(lambda x: x * 7.0), []
    threads = [threading.Thread(target=lambda: outs.append(np.asarray(f(put(V, "x"))))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(out, 7 * V) for out in outs)
    assert len(outs) == 4


# Single operations


def check_operations_and_indexing_keep_arrays_divided():
    x = put(V, "x", "y")
    assert (x + 1.0).sharding == np.sin(x).sharding == (x * x).sharding == over("x", "y")
    assert x.sum(0).sharding == over("y")
    assert (x @ x.T).devices() == x[2].devices() == x[:, 1:3].devices() == set(devices())
    np.testing.assert_array_equal(np.asarray(x @ x.T), V @ V.T)
    for index in (3, slice(1, 5), (slice(None), 2), np.array([1, 5, 2]), V > 3.0, (Ellipsis, None)):
        np.testing.assert_array_equal(np.asarray(x[index]), V[index])
    assert (x[np.array([0, 2])].devices(), len([*x])) == (set(devices()), 8)


def check_arrays_on_one_device_stand_beside_divided_arrays_at_each_call():
    x, y, weak = put(V, "x"), device_put(V), jit(lambda: 2.0)()
    functions = (np.multiply, np.maximum, lax.max, jit(np.maximum), lambda x, y: x * y)
    for _ in range(3):
        for left, right in ((x, y), (y, x), (x, weak), (weak, x)):
            hosts = np.asarray(left), np.asarray(right)
            for f in functions:
                np.testing.assert_array_equal(np.asarray(f(left, right)), f(*hosts))


def check_an_eager_constraint_moves_an_array():
    x = put(V, "x")
    (out,) = [sharding_constraint_p.bind(x, mesh=MESH, spec=P("y"))]
    assert (out.sharding, with_sharding_constraint(x, over(None, "y")).sharding) == (over("y"), over(None, "y"))
    weak = jit(lambda: 2.0)()
    for result in (with_sharding_constraint(weak, over()), jit(lambda x: with_sharding_constraint(x, over()))(weak)):
        assert repr(result) == "Array(2., dtype=float64)"
    assert with_sharding_constraint({"a": V, "b": x}, {"a": over("x"), "b": None})["b"] is x


def check_every_kind_of_operation_gives_the_values_of_one_device():
    rng = np.random.default_rng(1)
    square = rng.normal(size=(8, 8))
    programs = [
        (lambda x: lax.sort(x, dimension=0), square),
        (lambda x: lax.cumsum(x, axis=0), square),
        (lambda x: lax.rev(x, (0,)), square),
        (lambda x: lax.concatenate([x, x], 0), square),
        (lambda x: lax.fori_loop(0, 3, lambda i, x: x * i + 1.0, x), square),
        (lambda x: lax.cond(x.sum() > 0, lambda x: x + 1.0, lambda x: x - 1.0, x), square),
        (lambda x: lax.scan(lambda c, row: (c + row, c * row), x[0], x)[1], square),
        (lambda x: x[np.array([7, 0, 3])], square),
        (lambda x: lax.dynamic_slice(x, (3, 2), (4, 4)), square),
    ]
    for fun, x in programs:
        for entries in (("x",), (None, "x"), ("x", "y")):
            np.testing.assert_allclose(
                np.asarray(jit(fun)(put(x, *entries))), np.asarray(fun(x)), rtol=1e-12, atol=1e-12
            )


@np.errstate(invalid="ignore")
def check_extremes_over_divided_axes_keep_nan():
    x = V - 9.0
    x[2, 1], x[3, 3], x[5, 0] = np.nan, np.inf, -np.nan
    for dtype in (np.float64, np.float32, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.complex64):
        values = x.astype(dtype)
        for extreme in (np.max, np.min):
            for axis in (0, 1, (0, 1)):
                got, want = extreme(put(values, "x", "y"), axis=axis), extreme(values, axis=axis)
                assert got.dtype == want.dtype
                np.testing.assert_array_equal(np.asarray(got).astype(complex), want.astype(complex))
        rows = np.array([0, 1, 2, 0, 1, 2, 0, 0])
        program = jit(lambda x, rows: (lax.full((3, 4), 1, x.dtype).at[rows].max(x), x.at[rows].min(x)))
        for got, want in zip(program(put(values, "x"), put(rows, "x")), program(values, rows)):
            np.testing.assert_array_equal(np.asarray(got).astype(complex), np.asarray(want).astype(complex))
    assert jit(np.max).lower(put(x, "x", "y")).compile().communication()["all-reduce"].bytes <= 16


def check_reductions_without_a_collective_of_their_own_gather_first():
    def product(x, axes):
        return lax.reduce(x, np.float64(0.0), lambda a, b: a * b + a + b, axes)

    bits, numbers = np.arange(1, 33).reshape(8, 4) | 64, V / 100
    for axes in ((0,), (1,), (0, 1)):
        for reduction in (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_xor):
            got = jit(lambda x, reduction=reduction, axes=axes: reduction.reduce(x, axis=axes))(put(bits, "x", "y"))
            np.testing.assert_array_equal(np.asarray(got), reduction.reduce(bits, axis=axes))
        got = jit(product, static_argnums=1)(put(numbers, "x", "y"), axes)
        np.testing.assert_allclose(np.asarray(got), np.prod(numbers + 1, axis=axes) - 1, rtol=1e-12)
    rows = jit(lambda x: np.bitwise_or.reduce(x, axis=1)).lower(put(bits, "x")).compile()
    assert rows.communication() == {}


def check_settings_hold_for_divided_arrays():
    x = put(V, "x")
    with config.enable_x64(False):
        assert (x * 2.0).dtype == jit(lambda x: x * 2.0)(x).dtype == np.float32
    with config.debug_nans(), np.errstate(all="ignore"), pytest.raises(FloatingPointError, match="log of "):
        jit(lambda x: lax.log(x - 1.0))(x)
    with config.disable_jit():
        assert jit(lambda x: x * 2.0)(x).sharding == over("x")


def check_programs_are_kept_on_disk_for_their_devices_and_divisions():
    turned = Mesh(np.array(devices())[::-1].reshape(4, 2), ("x", "y"))
    seconds, cache.MIN_COMPILE_SECONDS = cache.MIN_COMPILE_SECONDS, 0.0
    with tempfile.TemporaryDirectory() as folder:
        compilation_cache.set_cache_dir(folder)
        try:
            first = jit(lambda x: lax.sin(x @ x.T).sum(0))(put(V, "x"))
            info = compilation_cache.cache_info()
            again = jit(lambda x: lax.sin(x @ x.T).sum(0))(put(V, "x"))
            assert compilation_cache.cache_info().hits == info.hits + 1
            jit(lambda x: lax.sin(x @ x.T).sum(0))(device_put(V, over("x", mesh=turned)))
            jit(lambda x: lax.sin(x @ x.T).sum(0))(put(V, "y"))
            assert compilation_cache.cache_info().hits == info.hits + 1
        finally:
            compilation_cache.set_cache_dir(None)
            cache.MIN_COMPILE_SECONDS = seconds
    assert again.sharding == first.sharding
    np.testing.assert_array_equal(np.asarray(again), np.asarray(first))


# Stand-ins with shardings


def stand_in(*entries, shape=(8, 4)):
    return ShapeDtypeStruct(shape, np.float64, sharding=over(*entries))


def check_a_program_for_stand_ins_is_the_one_for_arrays_with_their_shardings():
    f = jit(lambda w, x: {"out": x @ w["w"], "sum": x.sum()})
    compiled = f.lower({"w": stand_in(shape=(4, 2))}, stand_in("x")).compile()
    assert compiled.input_shardings == (({"w": over()}, over("x")), {})
    assert compiled.output_shardings["out"].is_equivalent_to(over("x"), 2)
    assert compiled.output_shardings["sum"].is_fully_replicated
    w, x = {"w": put(V[:4, :2])}, put(V, "x")
    with Compilations() as compilations:
        for outs in (compiled(w, x), f(w, x)):
            np.testing.assert_array_equal(np.asarray(outs["out"]), V @ V[:4, :2])
            assert outs["out"].sharding == compiled.output_shardings["out"]
        assert compilations.count == 0
    with pytest.raises(ValueError, match=rf"^the compiled .* at {HERE} .*: x is divided as .*'y'\)\), but the program"):
        compiled(w, put(V, "y"))


def check_a_stand_in_on_one_device_chooses_it():
    one = SingleDeviceSharding(devices()[3])
    compiled = jit(lambda x: x + 1.0).lower(ShapeDtypeStruct((2,), np.float64, sharding=one)).compile()
    assert (compiled.input_shardings, compiled.output_shardings) == (((one,), {}), one)
    assert compiled(np.ones(2)).sharding == one


def check_shardings_that_do_not_fit_their_stand_ins_are_refused():
    f = jit(lambda x: x)
    with pytest.raises(
        ShapeError, match=r"^jit of <lambda>: the stand-in of type float64\[6,4\] .*size 6, which does not"
    ):
        f.lower(stand_in("x", shape=(6, 4)))
    with pytest.raises(
        ValueError, match=r"^jit of <lambda>: the stand-in of type float64\[2\] .* got 'x', which is not a"
    ):
        f.lower(ShapeDtypeStruct((2,), np.float64, sharding="x"))
    with pytest.raises(ValueError, match=r"x is divided as .*'y'\)\), but in_shardings say .*'x'\)\)\. Move it"):
        jit(lambda x: x, in_shardings=over("x")).lower(stand_in("y"))


# jit(in_shardings=, out_shardings=)


def check_shardings_of_jit_divide_arguments_and_results():
    f = jit(lambda x, y: {"out": x @ y, "sum": x.sum()}, in_shardings=(over("x"), None), out_shardings=over())
    outs = f(V, V.T)
    assert [outs["out"].sharding, outs["sum"].sharding] == [over(), over()]
    np.testing.assert_array_equal(np.asarray(outs["out"]), V @ V.T)
    text = f.lower(V, V.T).as_text()
    assert '%arg0: tensor<8x4xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}' in text
    assert "-> (tensor<8x8xf64> {sdy.sharding" in text
    with Compilations() as compilations:
        f(put(V, "x"), V.T)
        f(V, V.T)
        assert compilations.count == 0


def check_a_division_other_than_in_shardings_is_refused():
    f = jit(lambda x: x, in_shardings=over("x"))
    with pytest.raises(
        ValueError,
        match=rf"^jit of <lambda> .* at {HERE} .*: x is divided as NamedSharding\(.*'y'\)\), but in_shardings say "
        r"NamedSharding\(.*'x'\)\)\. Move it with device_put",
    ):
        f(put(V, "y"))


def check_specs_need_a_mesh():
    f = jit(lambda x: x * 2.0, in_shardings=P("x"), out_shardings=P(None, "y"))
    with pytest.raises(ValueError, match=r"for in_shardings at .* got PartitionSpec\('x'\), and no mesh is set\. "):
        f(V)
    with config.set_mesh(MESH):
        assert f(V).sharding == over(None, "y")
        assert jit(lambda x: with_sharding_constraint(x + 1.0, P("y")))(V).sharding == over("y")
    with config.set_mesh(make_mesh((2, 4), ("x", "y"))):
        assert f(V).sharding.mesh.axis_sizes == (2, 4)


def check_a_sharding_on_one_device_chooses_the_device():
    last = SingleDeviceSharding(devices()[7])
    f = lambda x: 2.0 * x
    for jitted in (
        jit(f, out_shardings=last), jit(f, in_shardings=last), jit(f, in_shardings=(last,), out_shardings=None),
        jit(f, out_shardings=device_put(1.0, devices()[7]).sharding), jit(f, in_shardings=last, out_shardings=last),
    ):  # fmt: skip
        for x in (V, device_put(V), put(V, "x")):
            out = jitted(x)
            assert out.sharding == last
            np.testing.assert_array_equal(out, 2.0 * V)
        assert jitted.lower(V).compile()(V).sharding == last
        assert jit(lambda x: jitted(x) + 1.0)(V).sharding == last  # noqa: B023
    first = SingleDeviceSharding(devices()[0])
    words = rf"^jit of <lambda> .* at {HERE} .* got SingleDeviceSharding\(.*, but a program runs on one device"
    for shardings in ((last, first), (last, over("x")), (P("x"), last)):
        with pytest.raises(ValueError, match=words):
            jit(f, in_shardings=shardings[:1], out_shardings=shardings[1])
    with pytest.raises(ValueError, match=r"got device=CpuDevice\(id=0\), and shardings on CpuDevice\(id=7\)\. Use one"):
        jit(f, in_shardings=last, device=devices()[0])


def check_wrong_shardings_are_refused_by_name():
    with pytest.raises(TypeError, match=r"^jit of <lambda> .* got a value of type str among in_shardings\. Use"):
        jit(lambda x: x, in_shardings=({"a": "x"},))
    with pytest.raises(ValueError, match=r"^in_shardings of jit of <lambda> .* has a tuple of length 2 at the root"):
        jit(lambda x: x, in_shardings=(over("x"), over("x")))(V)
    with pytest.raises(ValueError, match=r"^out_shardings of jit of <lambda> .* has a dict with the keys \['a'\]"):
        jit(lambda x: x, out_shardings={"a": over("x")})(V)
    with pytest.raises(ValueError, match=r": x\['w'\], float64\[3,4\], at .* axis 0 of the shape \(3, 4\) has size 3"):
        jit(lambda x: x, in_shardings=over("x"))({"w": V[:3]})
    with pytest.raises(ValueError, match=r": result\['r'\], float64\[3,4\], at .* does not divide into 4 equal parts"):
        jit(lambda x: {"r": x[:3]}, out_shardings=over("x"))(V)
    with pytest.raises(ValueError, match=r"got the argument 'a' by name, but in_shardings are for arguments by"):
        jit(lambda *, a: a, in_shardings=over("x"))(a=V)


def check_static_and_donated_arguments_beside_shardings():
    f = jit(lambda n, x: x * n, static_argnums=0, in_shardings=(over("x"),), donate_argnums=1)
    x = put(V, "x")
    assert (f(2, x).sharding, x.is_deleted()) == (over("x"), True)
    assert float(f(3, V)[1, 0]) == 12.0


def check_the_stages_know_the_shardings():
    f = jit(lambda x: x * 2.0, in_shardings=over("x"), out_shardings=over("y"))
    compiled = f.lower(V).compile()
    assert compiled(V).sharding == compiled(put(V, "x")).sharding == over("y")
    assert "all-to-all" in compiled.as_text() or "collective-permute" in compiled.as_text()
    with pytest.raises(ValueError, match=r"^the compiled <lambda> .*: x is divided as .*, but the program takes it"):
        compiled(put(V, None, "x"))


def check_shardings_stay_in_a_traced_call():
    f = jit(lambda x: x * 2.0, in_shardings=over("x"), out_shardings=over("y"))
    jaxpr = str(make_jaxpr(f)(V))
    assert jaxpr.count("sharding_constraint[") == 2
    assert jit(lambda x: f(x) + 1.0)(V).sharding == over("y")
    assert jit(lambda s: f(s * V).sum(), out_shardings=None)(2.0).shape == ()


def check_weak_scalars_stay_weak_under_a_sharding():
    out = jit(lambda x: x, in_shardings=over(), out_shardings=over())(2.0)
    assert repr(out) == "Array(2., dtype=float64, weak_type=True)"


def check_a_constraint_to_one_device_chooses_the_device_of_the_program():
    device = devices()[3]
    there = SingleDeviceSharding(device)
    of_a_tree = jit(lambda x: with_sharding_constraint({"a": 2.0 * x}, there)["a"] / 2.0)
    for out in (with_sharding_constraint(V, there), of_a_tree(V), of_a_tree(device_put(V, device))):
        assert out.devices() == {device}
        np.testing.assert_array_equal(np.asarray(out), V)
    weak = jit(lambda x: with_sharding_constraint(x, there))(2.0)
    assert repr(weak) == "Array(2., dtype=float64, weak_type=True)"
    with pytest.raises(ValueError, match=r"runs on cpu:1, but jit of with_sharding_constraint, .*, on cpu:3"):
        jit(lambda x: with_sharding_constraint(x, there))(device_put(V, devices()[1]))


def check_constraints_name_what_is_wrong():
    with pytest.raises(TypeError, match=r"^with_sharding_constraint at .* got a value of type str for x"):
        with_sharding_constraint({"a": V}, "x")
    with pytest.raises(ValueError, match=r"of x\[0\], float64\[3,4\], at .* axis 0 of the shape \(3, 4\) has size 3"):
        with_sharding_constraint([V[:3]], over("x"))
    with pytest.raises(ValueError, match=r"^with_sharding_constraint at .* and no mesh is set"):
        jit(lambda x: with_sharding_constraint(x, P("x")))(V)
    out = jit(lambda x: with_sharding_constraint(x, over("x", P.UNCONSTRAINED)) + 1.0)(V)
    np.testing.assert_array_equal(np.asarray(out), V + 1)


def check_explain_says_how_the_arrays_are_divided():
    f = jit(lambda x: x + 5.0)
    f(put(V, "x"))
    assert explain(f, put(V, "x")).action == "nothing"
    text = str(explain(f, put(V, "y")))
    assert "with arguments divided as (NamedSharding(mesh=Mesh('x': 4, 'y': 2), spec=PartitionSpec('y')))" in text


if __name__ == "__main__":
    report(globals())
