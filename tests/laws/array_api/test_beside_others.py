"""What programs for the array API meet: array_api_compat finds the namespace, array_api_strict agrees about dtypes.

Both packages are optional: without them these tests are skipped.
"""

import inspect
from importlib import import_module

import numpy as np
import pytest
from arrays import numbers
from forms import expected
from standard import BINARY, FFT, FUNCTIONS, LINALG, NAMED_RESULTS, PAIRS, UNARY, kind_of, pairs_of

import calque_numpy as cnp
from calque_autodiff import grad
from calque_batching import vmap
from calque_core import make_jaxpr
from calque_xla_backend import device_put, jit

X = np.array([[1.0, 2.0], [3.0, 5.0], [4.5, -1.0]])


@pytest.fixture
def compat():
    return pytest.importorskip("array_api_compat", reason="array_api_compat is not installed")


@pytest.fixture
def strict():
    pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    return import_module("array_api_strict")


def standardized(compat, x):
    """Return a number by a program of a library that knows the standard alone."""
    xp = compat.array_namespace(x)
    device = compat.device(x)
    x = xp.asarray(x, dtype=xp.float64, device=device, copy=True)
    x -= xp.mean(x, axis=0, keepdims=True)
    scores = x / xp.std(x, axis=0, correction=1.0, keepdims=True)
    ridge = scores.T @ scores + xp.eye(compat.size(scores) // x.shape[0], device=device)
    weights = xp.linalg.solve(ridge, xp.sum(scores**3, axis=0))
    kept = xp.where(xp.abs(weights) > 1e-9, weights, xp.zeros_like(weights))
    return xp.linalg.vector_norm(kept) + xp.sum(xp.linspace(0, 1, 3, device=device))


def test_a_program_of_the_standard_is_transformed_unchanged(compat):
    def program(x):
        return standardized(compat, x)

    want = program(X)
    for out in (program(device_put(X)), jit(program)(X), jit(program)(device_put(X)), vmap(program)(X[None])[0]):
        np.testing.assert_allclose(out, want, rtol=1e-12)
    slope = grad(program)(X)
    np.testing.assert_allclose(jit(grad(program))(X), slope, rtol=1e-9)
    for index in np.ndindex(X.shape):
        step = np.zeros_like(X)
        step[index] = 1e-6
        assert abs((program(X + step) - program(X - step)) / 2e-6 - slope[index]) < 1e-6


@pytest.mark.parametrize("form", ["a device array", "a traced array"])
def test_array_api_compat_finds_the_namespace_and_the_device(form, compat):
    def check(x, device):
        assert compat.array_namespace(x, x) is cnp
        assert compat.array_namespace(x, api_version="2024.12") is cnp
        assert compat.is_array_api_obj(x)
        assert compat.device(x) is device
        assert compat.size(x) == 6
        assert compat.to_device(x, device) is x

    x = device_put(X)
    if form == "a device array":
        check(x, x.device)
        assert type(compat.to_device(x, "cpu")) is np.ndarray
    else:
        make_jaxpr(lambda a: check(a, None) or a)(X)


def test_a_library_that_wants_another_version_is_refused(compat):
    with pytest.raises(ValueError, match=r"got api_version='2030\.12', but calque_numpy has the array API of 2021\.12"):
        compat.array_namespace(device_put(X), api_version="2030.12")


STRICTS = [("", FUNCTIONS), ("linalg", LINALG), ("fft", FFT)]


@pytest.mark.parametrize(("module", "table"), STRICTS, ids=["", "linalg", "fft"])
def test_array_api_strict_has_the_names_and_parameters_of_our_tables(module, table, strict):
    with strict.ArrayAPIStrictFlags(api_version="2024.12"):
        namespace = getattr(strict, module) if module else strict
        names = {name for name in namespace.__all__ if inspect.isfunction(getattr(namespace, name, None))}
        names = {name for name in names if "flags" not in name}
    if not module:
        assert names - set(table) <= {"broadcast_shapes", "isin"}  # of the next version
        assert set(table) <= names
    for name in sorted(names & set(table)):
        parameters = inspect.signature(getattr(namespace, name)).parameters.values()
        ours = inspect.signature(eval(f"lambda {table[name]}: 0")).parameters.values()
        theirs, mine = ([p.name for p in each if p.kind is not p.POSITIONAL_ONLY] for each in (parameters, ours))
        assert sorted(theirs) == sorted(mine), name


@pytest.mark.sampled(keep=0.3)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_array_api_strict_gives_the_dtypes_that_we_give(name, strict):
    kinds = (UNARY.get(name) or BINARY[name])[0]
    rows = [(one,) for one, other in PAIRS if one == other and kind_of(one) in kinds]
    for row in rows if name in UNARY else pairs_of(kinds):
        operands = [abs(numbers(dtype)) % 3 + 1 if kind_of(dtype) == "i" else numbers(dtype) for dtype in row]
        with np.errstate(all="ignore"):
            theirs = getattr(strict, name)(*map(strict.asarray, operands))
        ours = expected(lambda m, *xs: getattr(m, name)(*xs), *operands)
        seen = make_jaxpr(lambda *xs: getattr(cnp, name)(*xs))(*operands).out_avals[0].dtype
        assert str(theirs.dtype).rpartition(".")[2] == str(ours.dtype) == str(seen), row


@pytest.mark.parametrize("name", NAMED_RESULTS)
def test_results_have_the_names_of_the_standard(name):
    module, _, function = name.rpartition(".")
    f = getattr(getattr(cnp, module) if module else cnp, function)
    x = X @ X.T + np.eye(3)
    seen = [f(x)._fields, f(device_put(x))._fields]
    if not name.startswith("unique"):
        make_jaxpr(lambda x: seen.append(f(x)._fields) or x)(x)
    assert set(seen) == {NAMED_RESULTS[name]}
