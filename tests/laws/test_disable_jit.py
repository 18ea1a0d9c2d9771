"""`config.disable_jit`: jitted functions run as Python functions, under every transformation."""

import numpy as np
import pytest

import calque
from calque import config, grad, jit, lax, vmap
from calque_core import is_tracer


@pytest.fixture
def seen():
    return []


@pytest.fixture
def fun(seen):
    def fun(x):
        seen.append(x)
        return lax.sin(x) * 2.0

    return jit(fun)


def test_a_jitted_function_sees_values(fun, seen):
    expected = np.asarray(fun(np.ones(3)))
    seen.clear()
    with calque.disable_jit():
        first, again = fun(np.ones(3)), fun(np.ones(3))
    assert len(seen) == 2
    assert not any(map(is_tracer, seen))
    np.testing.assert_allclose(first, expected, rtol=1e-15)
    np.testing.assert_array_equal(first, again)


def test_a_function_compiled_before_runs_as_python_and_compiled_again_afterwards(fun, seen):
    x = jit(lambda x: x)(np.ones(3))
    fun(x), fun(x)
    seen.clear()
    with calque.disable_jit():
        fun(x)
    assert seen == [x]
    fun(x)
    assert len(seen) == 1


def test_print_inside_a_jitted_function_prints_numbers(capsys):
    @jit
    def fun(x, y=2.0):
        print(f"{x} {y:.1f}")
        return x if x > 0.5 else -x

    with calque.disable_jit():
        assert fun(0.25, y=3.0) == -0.25
    assert capsys.readouterr().out == "0.25 3.0\n"


def test_python_branches_on_static_arguments_and_pytrees(seen):
    fun = jit(lambda n, p: [seen.append(n), p["w"] * n][1], static_argnums=0)
    with calque.disable_jit():
        assert fun(3, {"w": 2.0}) == 6.0
    assert seen == [3]


@pytest.mark.counts  # an update inside the block of a setting counts after it
def test_update_holds_for_every_thread(fun, seen):
    fun(1.0)
    seen.clear()
    config.update("disable_jit", True)
    try:
        fun(1.0)
    finally:
        config.update("disable_jit", False)
    assert seen == [1.0]
    fun(1.0)
    assert len(seen) == 1


def test_transformations_of_a_jitted_function_are_those_of_the_function(fun):
    x = np.linspace(0.1, 1.0, 4)
    with calque.disable_jit():
        slope, mapped = grad(fun)(0.5), vmap(fun)(x)
        both = vmap(grad(jit(lambda x: fun(x) * x)))(x)
        program = str(calque.make_jaxpr(fun)(1.0))
    np.testing.assert_allclose(slope, grad(fun)(0.5), rtol=1e-15)
    np.testing.assert_allclose(mapped, vmap(fun)(x), rtol=1e-15)
    np.testing.assert_allclose(both, vmap(grad(lambda x: fun(x) * x))(x), rtol=1e-14)
    assert "jit" not in program
    assert "sin" in program


def test_python_sees_the_value_of_a_jitted_function_under_grad():
    @jit
    def fun(x):
        return x**2 if x > 0.0 else -x

    with calque.disable_jit():
        assert (grad(fun)(3.0), grad(fun)(-3.0)) == (6.0, -1.0)


@pytest.mark.parametrize("transform", [lambda f: f, grad, lambda f: vmap(f, in_axes=None, axis_size=2)])
def test_loops_run_by_python_agree_with_traced_ones(transform):
    @jit
    def fun(x):
        y, ys = lax.scan(lambda c, t: (c * x + t, c), x, np.arange(3.0))
        z = lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, lax.cond(s[0] > 1, lax.sin, lax.cos, s[1])), (0, y))
        return z[1] + ys[2] + lax.fori_loop(0, 3, lambda i, s: s * x, x)

    expected = np.asarray(transform(fun)(0.7))
    with calque.disable_jit():
        np.testing.assert_allclose(transform(fun)(0.7), expected, rtol=1e-14)
