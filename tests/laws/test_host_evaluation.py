"""Programs for GPUs whose kernels are missing or compute otherwise: the host evaluates, or other operations do.

Programs for `cuda` are texts here; the function that they call runs on the host's processor.
"""

import re

import numpy as np
import pytest

import calque_linalg as linalg
from calque_core import Primitive, evaluation, hand_down, lax, typeof
from calque_linalg.lowerings.tridiagonal import solve_with_more_rows
from calque_xla_backend import device_put, export, jit, register_lowering
from calque_xla_backend.modules.host_calls import HostEvaluation, evaluate_on_host

SQUARE = np.arange(18.0).reshape(2, 3, 3) ** 2 % 7
ON_HOST = {
    "eig": linalg.eig,
    "schur": linalg.schur,
    "hessenberg": linalg.hessenberg,
    "tridiagonal": linalg.tridiagonal,
    "qr": lambda x: linalg.qr(x, pivoting=True),
}


def text_for(platform, fun, *args):
    return jit(fun).trace(*args).lower(platform=platform).as_text()


def targets(text):
    return re.findall(r"custom_call @(\w+)\(", text)


@pytest.mark.parametrize("name", ON_HOST)
def test_the_host_computes_factors_that_have_no_kernel_on_a_gpu(name):
    assert targets(text_for("cuda", ON_HOST[name], SQUARE)) == ["xla_ffi_python_gpu_callback"]
    with pytest.raises(ValueError, match=r"^export of .*: the function calls Python"):
        export(jit(ON_HOST[name]), platforms=("cuda",))(SQUARE)


def test_a_reduction_for_a_gpu_is_a_tree():
    """XLA's kernels for GPUs combine elements in another order, and use the initial value several times."""
    program = lambda x: lax.reduce(x, 2.0, lambda a, b: a * b + a - a, (0,))
    assert ["stablehlo.reduce" in text_for(name, program, np.ones(8)) for name in ("cpu", "cuda")] == [True, False]


@pytest.fixture
def schur_on_host():
    """Return a primitive that means `schur`, and that the host evaluates in compiled programs."""
    primitive = Primitive("schur_on_host", multiple_results=True)
    primitive.def_impl(lambda x, **params: hand_down(evaluation, linalg.schur_p, [x], params), leaf=True)
    primitive.def_abstract_eval(lambda x, **params: linalg.schur_p.abstract(x, **params))
    register_lowering(primitive, evaluate_on_host)
    return primitive


def test_a_program_gets_the_results_of_evaluation(schur_on_host):
    params = {"compute_schur_vectors": True}
    want = schur_on_host.bind(SQUARE, **params)
    got = jit(lambda x: schur_on_host.bind(x, **params))(SQUARE)
    for g, w in zip(got, want, strict=True):
        assert typeof(g) == typeof(w)
        np.testing.assert_array_equal(g, w)


def test_the_evaluation_names_itself_and_gives_arrays_of_the_declared_types():
    evaluate = HostEvaluation(linalg.hessenberg_p, {}, tuple(linalg.hessenberg_p.abstract(typeof(SQUARE))))
    assert repr(evaluate) == "the evaluation of hessenberg on the host"
    outs = evaluate(SQUARE.astype("float32"))
    assert [(out.dtype, out.flags.c_contiguous) for out in outs] == [(np.float64, True)] * 2


def test_a_leaf_without_a_rule_for_the_platform_is_evaluated_on_the_host(monkeypatch):
    """Without a rule for `eig`, NumPy's function met a device array, which bound `eig` again, for ever."""
    import calque_xla_backend.evaluate as module  # noqa: PLC0415  the name `evaluate` would be that of a function

    place = device_put(1.0)._device_type.placement
    monkeypatch.setattr(module, "_is_lowered", lambda primitive, place: False)
    assert not module._runs_on_host(linalg.eig_p, place)

    class Elsewhere:
        platform = "my_chip"

    assert module._runs_on_host(linalg.eig_p, Elsewhere())


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("n", [1, 2])
def test_small_tridiagonal_systems_are_solved_with_more_rows(n, dtype):
    """cuSPARSE takes three rows or more."""
    rng = np.random.default_rng(n)
    dl, d, du, b = [rng.uniform(-1, 1, s).astype(dtype) for s in ((2, n), (2, n), (2, n), (2, n, 3))]
    want = linalg.tridiagonal_solve(dl, d + dtype_of(4, dtype), du, b)
    got = solve_with_more_rows(dl, d + dtype_of(4, dtype), du, b)
    assert typeof(got) == typeof(want)
    np.testing.assert_allclose(got, want, atol=10 * np.finfo(dtype).eps)


def dtype_of(value, dtype):
    return np.asarray(value, dtype)
