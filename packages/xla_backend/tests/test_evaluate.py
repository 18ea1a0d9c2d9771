import numpy as np
import pytest

from calque_core import Primitive, lax, make_jaxpr
from calque_core.config import enable_x64
from calque_core.ops.calls.jit import jit_p
from calque_xla_backend import Array, device_put, hlo, jit, register_lowering
from calque_xla_backend import evaluate as evaluation
from calque_xla_backend.compilation_cache.cache import load_or_compile

X = np.array([1.0, 2.0, 3.0])


@pytest.fixture
def compilations(monkeypatch):
    """Return the list that grows with each compilation."""
    made = []
    monkeypatch.setattr("calque_xla_backend.compile.load_or_compile", lambda *a: made.append(a) or load_or_compile(*a))
    return made


def test_an_operation_is_compiled_once_for_its_types(compilations):
    x = device_put(X)
    evaluation.forget_programs()
    for _ in range(3):
        assert type(lax.sin(x)) is Array
        lax.mul(x, 2.0)
        lax.mul(x, 3.0)
    assert len(compilations) == 2


def test_numpy_operands_beside_device_arrays_are_transferred():
    out = lax.add(X, device_put(X))
    assert type(out) is Array
    np.testing.assert_array_equal(out, 2 * X)


def test_moving_data_compiles_nothing(compilations):
    x = device_put(np.arange(12.0).reshape(3, 4))
    for i in range(3):
        for j in range(4):
            assert float(x[i, j]) == 4 * i + j
    assert [row.shape for row in x] == [(4,)] * 3
    assert type(x.T) is type(x.reshape(12)) is type(x[::-1]) is Array
    assert compilations == []


def test_moved_data_does_not_alias():
    x = device_put(np.ones(100_000))
    view = x.reshape(10, 10_000)
    x.delete()
    assert view[0, 0] == 1.0


def test_evaluating_jit_runs_the_compiler_of_the_equation():
    jaxpr = make_jaxpr(lambda x: lax.sin(x))(X)
    out = jit_p.bind(device_put(X), jaxpr=jaxpr, name="f", compiler=None)[0]
    np.testing.assert_allclose(out, np.sin(X), rtol=1e-14)


def test_cond_on_device_arrays():
    f = lambda x: lax.cond(x.sum() > 0.0, lambda v: v + 1.0, lambda v: v * 2.0, x)
    np.testing.assert_array_equal(f(device_put(X)), X + 1)
    np.testing.assert_array_equal(f(device_put(-X)), -2 * X)


def test_a_primitive_that_is_not_lowered_runs_its_implementation():
    p = Primitive("fma")
    p.def_impl(lambda x, y, z: np.add(np.multiply(x, y), z))
    p.def_abstract_eval(lambda x, y, z: x)
    x = device_put(X)
    out = p.bind(x, 2.0, X)
    assert type(out) is Array
    np.testing.assert_array_equal(out, 3 * X)
    register_lowering(p, lambda ctx, x, y, z: [hlo.subtract(x, z)])
    np.testing.assert_array_equal(p.bind(x, 2.0, X), np.zeros(3))


def test_a_primitive_without_any_rule_says_so():
    p = Primitive("mystery")
    with pytest.raises(NotImplementedError, match="Abstract evaluation for 'mystery' not implemented"):
        p.bind(device_put(X))
    p.def_abstract_eval(lambda x: x)
    with pytest.raises(NotImplementedError, match="MLIR translation rule for primitive 'mystery' not found"):
        p.bind(device_put(X))


def test_parameters_that_differ_by_type_or_sign_are_different_programs():
    p = Primitive("scaled")
    p.def_abstract_eval(lambda x, by: x)
    from calque_xla_backend import lower_fun  # noqa: PLC0415

    register_lowering(p, lower_fun(lambda x, by: np.copysign(1.0, by) * x if by == 0 else x, multiple_results=False))
    x = device_put(X)
    np.testing.assert_array_equal(p.bind(x, by=0.0), X)
    np.testing.assert_array_equal(p.bind(x, by=-0.0), -X)


def test_parameters_without_a_hash_are_compiled_each_time(compilations):
    p = Primitive("listed")
    p.def_abstract_eval(lambda x, config: x)
    register_lowering(p, lambda ctx, x, config: [x])
    for _ in range(2):
        np.testing.assert_array_equal(p.bind(device_put(X), config=[1, 2]), X)
    assert len(compilations) == 2


def test_replacing_a_rule_takes_effect():
    p = Primitive("replaced")
    p.def_abstract_eval(lambda x: x)
    register_lowering(p, lambda ctx, x: [hlo.negate(x)])
    assert p.bind(device_put(2.0)) == -2.0
    register_lowering(p, lambda ctx, x: [x])
    assert p.bind(device_put(2.0)) == 2.0


def test_results_have_the_dtype_of_the_regime():
    x = device_put(X)
    for _ in range(2):
        assert lax.sin(x).dtype == np.float64
        with enable_x64(False):
            assert lax.sin(x).dtype == np.float32
            assert (x + X).dtype == np.float32
            assert x[0].dtype == np.float32


def test_two_results_and_jit_of_device_arrays_agree():
    x = device_put(np.array([3.0, 1.0, 2.0]))
    np.testing.assert_array_equal(lax.sort(x), X)
    np.testing.assert_array_equal(jit(lax.sort)(x), X)


def test_parameters_that_are_equal_but_differ_in_type_have_programs_of_their_own(compilations):
    p = Primitive("scaled")
    p.def_abstract_eval(lambda x, factor: x)

    def lowering(ctx, x, factor):
        return [hlo.negate(x)] if type(factor) is bool else [x]

    register_lowering(p, lowering)
    x = device_put(X)
    for _ in range(2):
        for factor, sign in ((1, 1), (True, -1), ((1,), 1), ((True,), 1), (((1,), 2), 1), (((True,), 2), 1)):
            np.testing.assert_array_equal(p.bind(x, factor=factor), sign * X)
    assert len(compilations) == 6


def test_a_number_beside_an_array_keeps_its_sign_and_its_type():
    x = device_put(np.array([1.0, 2.0]))
    for _ in range(2):
        assert np.signbit(lax.mul(x, -0.0)).all()
        assert not np.signbit(lax.mul(x, 0.0)).any()
        np.testing.assert_array_equal(x * 1, x * True)
        np.testing.assert_array_equal(x > 1, [False, True])
