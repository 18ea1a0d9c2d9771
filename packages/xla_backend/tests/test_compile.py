import gc
import weakref

import numpy as np
import pytest

from calque_core import lax, make_jaxpr
from calque_xla_backend import Array, device_put, jit
from calque_xla_backend.compile import compile_jaxpr
from calque_xla_backend.compiler import XlaCompiler, compiler_of
from calque_xla_backend.placing import common_place
from calque_xla_backend.runtime.placement import placement

X = np.array([1.0, 2.0, 3.0])


def test_a_compiler_runs_a_jaxpr_and_is_one_object_for_its_options():
    jaxpr = make_jaxpr(lambda x, y: (lax.sin(x), x + y))(X, X)
    outs = compiler_of(())(jaxpr, [X, device_put(X)])
    assert [type(out) for out in outs] == [Array, Array]
    np.testing.assert_allclose(outs[0], np.sin(X), rtol=1e-14)
    assert compiler_of(()) is compiler_of(())
    assert compiler_of((("xla_cpu_enable_fast_math", False),)) is not compiler_of(())


def test_a_program_is_kept_on_its_jaxpr_and_dies_with_it():
    jaxpr = make_jaxpr(lambda x: lax.sin(x))(X)
    compiler = XlaCompiler()
    program = compiler.program(jaxpr, placement())
    assert compiler.program(jaxpr, placement()) is program
    ref = weakref.ref(jaxpr)
    del jaxpr, program
    gc.collect()
    assert ref() is None


def test_arguments_that_no_result_needs_are_left_out_and_constants_put_in_front():
    big = np.arange(1000.0)
    jaxpr = make_jaxpr(lambda x, y, z: (y + big[0:1], z))(X, X, X)
    program = compile_jaxpr(jaxpr, placement())
    np.testing.assert_array_equal(program([X, X, 2 * X])[0], X)
    np.testing.assert_array_equal(program([X, X, 2 * X])[1], 2 * X)


def test_a_device_array_among_the_constants_is_converted_to_the_type_it_was_traced_with():
    from calque_core.config import enable_x64  # noqa: PLC0415

    constant = device_put(X)
    with enable_x64(False):
        out = jit(lambda x: x + constant)(np.float32(1.0))
    assert out.dtype == np.float32
    np.testing.assert_array_equal(out, X + 1)


def test_all_arrays_decide_the_device():
    assert common_place("f", [1.0, device_put(2.0)]) is placement()
    assert common_place("f", []) is placement()


def test_an_error_of_the_runtime_names_the_program():
    jaxpr = make_jaxpr(lambda x: x + 1.0)(X)
    program = compile_jaxpr(jaxpr.replace(debug_name="my_function"), placement())
    with pytest.raises(RuntimeError) as caught:
        program.on_buffers([], [])
    assert any("running the compiled program of my_function" in note for note in caught.value.__notes__)
