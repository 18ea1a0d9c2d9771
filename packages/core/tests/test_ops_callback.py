"""Calls to Python in evaluation and staging; compiled calls are tested in calque_xla_backend and in tests/laws."""

import numpy as np
import pytest

from calque_core import (
    Effect,
    Primitive,
    ShapedArray,
    ShapeDtypeStruct,
    ShapeError,
    config,
    dce_jaxpr,
    debug,
    effects_barrier,
    eval_jaxpr,
    host_callback,
    io_callback,
    jaxpr_equal,
    lax,
    make_jaxpr,
    pure_callback,
)
from calque_core.engine import register_effects_barrier
from calque_core.ops.calls import callback as callbacks

F64 = ShapeDtypeStruct((), np.float64)


def halve(x):
    return x / 2


def test_the_function_gets_read_only_copies_and_its_result_is_a_copy():
    got = []

    def keep(x, y):
        got.extend((x, y))
        return x

    x = np.array([1.0, 2.0])
    out = pure_callback(keep, x, x, y=np.float32(3))
    x[0] = 7
    assert [v.tolist() for v in got] == [[1.0, 2.0], 3.0]
    assert [(type(v), v.dtype.name) for v in got] == [(np.ndarray, "float64"), (np.ndarray, "float32")]
    assert not any(v.flags.writeable for v in got)
    out[0] = 5
    assert got[0].tolist() == [1.0, 2.0]


def test_trees_go_in_and_come_out():
    declared = {"sum": F64, "pair": (ShapeDtypeStruct((2,), np.int64), None)}
    out = pure_callback(
        lambda d, *, k: {"sum": d["a"] + k, "pair": (np.array([1, 2]), None)}, declared, {"a": 1.0}, k=2.0
    )
    assert out["sum"] == 3.0
    assert type(out["sum"]) is np.float64
    assert out["pair"][0].tolist() == [1, 2]
    assert out["pair"][1] is None


def test_arguments_have_the_dtypes_of_the_settings():
    dtypes = []
    with config.enable_x64(False):
        out = pure_callback(lambda *xs: dtypes.extend(x.dtype.name for x in xs) or 2.0, F64, 1.0, np.arange(2), True)
    assert dtypes == ["float32", "int32", "bool"]
    assert out.dtype == np.float32


@pytest.mark.parametrize(
    ("value", "dtype"), [(True, "int8"), (3, "uint16"), (3, "float32"), (1.5, "complex64"), (2j, "complex128")]
)
def test_a_python_scalar_takes_the_declared_dtype(value, dtype):
    out = pure_callback(lambda: value, ShapeDtypeStruct((), dtype))
    assert (out, out.dtype.name) == (value, dtype)


@pytest.mark.parametrize(("value", "dtype"), [(1.0, "int32"), (1, "bool"), (1j, "float64"), (np.float32(1), "float64")])
def test_a_result_of_another_dtype_is_refused(value, dtype):
    message = (
        r"the callback <lambda> \(test_ops_callback.py:\d+\) of pure_callback at test_ops_callback.py:\d+ "
        rf"\(test_a_result.*\) returned .*\[\] as its result, but result_shape_dtypes declares {dtype}\[\]. Convert "
        rf"it, with astype\('{dtype}'\), or declare another dtype."
    )
    with pytest.raises(TypeError, match=message):
        pure_callback(lambda: value, ShapeDtypeStruct((), dtype))


def test_a_result_that_is_not_an_array_is_refused():
    message = (
        r"returned a value of type str as its result, but result_.* declares float64\[\]\. Wrap it in numpy\.asarray"
    )
    with pytest.raises(TypeError, match=message):
        pure_callback(lambda: "text", ShapeDtypeStruct((), "float64"))


def test_an_integer_that_does_not_fit_is_refused():
    with pytest.raises(OverflowError) as caught:
        pure_callback(lambda: 300, ShapeDtypeStruct((), "uint8"))
    assert "This happened in the callback <lambda>" in caught.value.__notes__[0]


def test_a_result_of_another_shape_is_refused_with_its_path():
    with pytest.raises(ShapeError, match=r"returned float64\[3\] as its result\['w'\]\[1\], .* declares float64\[\]. "):
        pure_callback(lambda: {"w": [1.0, np.ones(3)]}, {"w": [F64, F64]})


def test_a_result_that_is_no_array_is_refused():
    with pytest.raises(TypeError, match=r"returned a value of type str as its result, but"):
        pure_callback(lambda: "text", F64)


def test_a_result_of_another_structure_is_refused():
    with pytest.raises(TypeError, match=r"returned a tuple of length 2 with the structure .* Return the declared str"):
        pure_callback(lambda: (1.0, 2.0), F64)
    with pytest.raises(TypeError, match=r"io_callback .* returned ~float64\[\] with the structure"):
        io_callback(lambda: 1.0, None)


def test_wrong_arguments_are_named():
    with pytest.raises(TypeError, match=r"pure_callback of halve \(.*\): x\['a'\] is 'b' of type str"):
        pure_callback(halve, F64, {"a": "b"})
    with pytest.raises(TypeError, match=r"got ~float64\[\] as result_shape_dtypes\['a'\]. Give a ShapeDtypeStruct"):
        io_callback(halve, {"a": 1.0}, 1.0)
    with pytest.raises(
        ValueError, match=r"got vmap_method='each'. Use one of 'sequential', 'sequential_unrolled', 'expand_"
    ):
        pure_callback(halve, F64, 1.0, vmap_method="each")
    with pytest.raises(TypeError, match=r"pure_callback got 3 of type int at"):
        pure_callback(3, F64)


def test_an_exception_is_the_users_own_with_both_places():
    class MineError(Exception):
        pass

    def fail(x):
        raise MineError("no")

    with pytest.raises(MineError, match="no") as caught:
        io_callback(fail, None, 1.0)
    line = fail.__code__.co_firstlineno
    function = "test_an_exception_is_the_users_own_with_both_places"
    assert caught.value.__notes__[0] == (
        f"This happened in the callback fail (test_ops_callback.py:{line}) of io_callback at "
        f"test_ops_callback.py:{line + 4} ({function})."
    )
    assert pure_callback(halve, F64, 1.0) == 0.5


def test_a_callback_may_compute_with_calque_and_have_callbacks_of_its_own():
    inner = lambda x: lax.add(pure_callback(halve, F64, x), lax.sin(0.0))
    jaxpr = make_jaxpr(lambda x: pure_callback(inner, F64, x))(3.0)
    assert eval_jaxpr(jaxpr, (), 3.0) == [1.5]


def test_the_program_holds_one_equation_and_prints_the_function():
    jaxpr = make_jaxpr(lambda x: pure_callback(halve, F64, x, vmap_method="sequential"))(1.0)
    assert "b:f64[] = pure_callback[callback=halve vmap_method=sequential] a" in str(jaxpr)
    jaxpr = make_jaxpr(lambda x: io_callback(halve, F64, x, ordered=True))(1.0)
    assert "b:f64[] = io_callback[callback=halve ordered=True] a" in str(jaxpr)
    jaxpr = make_jaxpr(lambda x: debug.callback(halve, x))(1.0)
    assert "debug_callback[callback=halve ordered=False] a" in str(jaxpr)


def test_programs_traced_twice_are_equal():
    def program(x):
        debug.print("{}", x)
        return pure_callback(halve, F64, io_callback(halve, F64, x))

    first, second = make_jaxpr(program)(1.0), make_jaxpr(program)(1.0)
    assert jaxpr_equal(first, second)
    assert not jaxpr_equal(first, make_jaxpr(lambda x: pure_callback(halve, F64, io_callback(len, F64, x)))(1.0))


def test_effects_are_in_the_program_and_of_those_around_it():
    def program(x):
        debug.callback(print, x)
        io_callback(print, None, x, ordered=True)
        return lax.cond(True, lambda x: (debug.callback(print, x, ordered=True), x)[1], lambda x: x, x)

    effects = make_jaxpr(program)(1.0).effects
    assert effects == {
        Effect("debug", exact=False),
        Effect("io", ordered=True),
        Effect("debug", ordered=True, exact=False),
    }
    assert make_jaxpr(lambda x: pure_callback(halve, F64, x))(1.0).effects == frozenset()


def test_dead_code_is_removed_if_it_has_no_effect():
    def program(x):
        pure_callback(halve, F64, lax.cos(x))
        io_callback(halve, F64, lax.sin(x))
        debug.callback(halve, x)
        return x

    smaller, _ = dce_jaxpr(make_jaxpr(program)(1.0), [True])
    assert [eqn.primitive.name for eqn in smaller.eqns] == ["sin", "io_callback", "debug_callback"]


def test_loops_and_branches_call_in_order():
    calls = []
    log = lambda x: calls.append(int(x))

    def program(n):
        lax.scan(lambda c, i: (c, io_callback(log, None, i, ordered=True)), 0.0, np.arange(3))
        lax.while_loop(lambda c: c < n, lambda c: (debug.callback(log, c), c + 1)[1], 3)
        return lax.cond(n > 5, lambda: debug.callback(log, n), lambda: None)

    program(6)
    assert calls == [*range(6), 6]
    jaxpr = make_jaxpr(program)(6)
    assert calls == [*range(6), 6]
    eval_jaxpr(jaxpr, jaxpr.consts, 6)
    assert calls == 2 * [*range(6), 6]


def test_a_primitive_with_an_evaluation_alone_decomposes_into_a_call():
    spread_p = Primitive("spread", multiple_results=True)
    spread_p.def_impl(lambda x, *, by: [np.multiply(x, by), np.size(x)])
    spread_p.def_abstract_eval(lambda x, *, by: [x, ShapedArray((), np.int64)])
    spread_p.def_rule("decomposition", host_callback(spread_p))
    x = np.arange(3.0)
    assert [v.tolist() for v in spread_p.rules["decomposition"](x, by=2)] == [[0.0, 2.0, 4.0], 3]
    assert spread_p.bind(x, by=2)[1] == 3


def test_the_barrier_asks_each_runtime(monkeypatch):
    waits = []
    monkeypatch.setattr(callbacks, "_runtimes", [])
    register_effects_barrier(lambda: waits.append(1))
    effects_barrier()
    assert waits == [1]


def test_a_callback_must_not_wait_for_its_own_program():
    with pytest.raises(RuntimeError, match=r"effects_barrier at .* was called inside a callback: it would wait for"):
        io_callback(effects_barrier, None)
    effects_barrier()


def test_named_axes_and_settings_of_the_program_do_not_reach_the_callback_by_accident():
    seen = []
    with config.enable_x64(False):
        jaxpr = make_jaxpr(lambda x: io_callback(lambda x: seen.append(config.current().enable_x64), None, x))(1.0)
    eval_jaxpr(jaxpr, (), np.float32(1.0))
    assert seen == [False]


@pytest.mark.parametrize("value", [np.int64(2**40), np.array([1, -(2**40)]), np.uint64(2**40)])
@pytest.mark.parametrize("call", [pure_callback, io_callback])
def test_integers_that_do_not_fit_32_bits_are_refused(value, call):
    words = (
        r"the callback <lambda> .* returned .*1099511627776.* as its result, which does not fit u?int32\[.*\]\. Return"
    )
    with config.enable_x64(False), pytest.raises(OverflowError, match=words):
        call(lambda: value, ShapeDtypeStruct(np.shape(value), value.dtype))
    with config.enable_x64(False):
        assert call(lambda: np.int64(-7), ShapeDtypeStruct((), np.int64)) == -7
