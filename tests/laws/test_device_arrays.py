"""A device array is an array: NumPy, SciPy and the standard library take it wherever they take NumPy's own.

The law: a function of a device array gives what it gives for the array's value.  Functions with a rule give a device
array, indexing too; all others give NumPy's values.
"""

import copy
import io
import json
import math
import pickle
import sys

import numpy as np
import pytest
import scipy.fft
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.special
import scipy.stats

import calque
from calque_xla_backend import Array

VECTOR = np.array([3.0, 1.0, 2.0])
MATRIX = np.array([[2.0, 1.0], [1.0, 3.0]])


def saved(save, *args, **kwargs):
    file = io.BytesIO()
    save(file, *args, **kwargs)
    file.seek(0)
    loaded = np.load(file)
    return loaded if isinstance(loaded, np.ndarray) else dict(loaded)


def updated(x):
    params = {"w": np.ones(3)}
    params["w"] -= 0.1 * x
    return params["w"]


def scattered(x):
    out = np.zeros(3)
    np.add.at(out, [0, 0, 1], x)
    return out


def filled(x):
    out = np.zeros((2, 3))
    out[0] = x
    out[1, 0] = x[1]
    return out


OF_VECTORS = {
    # in place, and options that speak of memory
    "a -= b": updated,
    "add.at": scattered,
    "a[0] = b": filled,
    "out": lambda x: np.add(x, x, out=np.zeros(3)),
    "out of a reduction": lambda x: np.sum(x, out=np.zeros(())),
    "where": lambda x: np.sqrt(x, out=np.zeros(3), where=[True, False, True]),
    "where of a mean": lambda x: np.mean(x, where=np.array([True, False, True])),
    "dtype": lambda x: np.add(x, 1, dtype=np.float32),
    "casting": lambda x: np.add(x, 0.5, dtype=np.int64, casting="unsafe"),
    "copyto": lambda x: np.copyto(y := np.zeros(3), x) or y,
    # methods of ufuncs
    "accumulate": np.add.accumulate,
    "outer": lambda x: np.multiply.outer(x, x),
    "reduceat": lambda x: np.add.reduceat(x, [0, 2]),
    "reduce": np.multiply.reduce,
    # functions
    "median": np.median,
    "percentile": lambda x: np.percentile(x, [25, 50]),
    "quantile": lambda x: np.quantile(x, x / 4),
    "unique": np.unique,
    "histogram": lambda x: np.histogram(x, bins=2),
    "interp": lambda x: np.interp(x, [0.0, 4.0], [1.0, 5.0]),
    "append": lambda x: np.append(x, 4.0),
    "insert": lambda x: np.insert(x, 1, 5.0),
    "delete": lambda x: np.delete(x, 0),
    "bincount": lambda x: np.bincount(x.astype(int)),
    "bins by name": lambda x: np.histogram(x, "auto"),
    "number of bins": lambda x: np.histogram([0.0, 2.0], x.astype(int)[2]),
    "insert at": lambda x: np.insert(np.ones(4), x.astype(int), 5.0),
    "delete at": lambda x: [np.delete(np.arange(4), x.astype(int)), np.delete(np.arange(4), x.astype(int)[0])],
    "axis": lambda x: [np.sum(np.ones((2, 3)), x.astype(int)[1]), np.sum(np.stack([x, x]), x.astype(int)[1])],
    "roots": lambda x: np.roots(np.where(x > 2, 0, x)),
    "ix_": lambda x: np.ones((4, 4))[np.ix_(x.astype(int), [0, 1])],
    "cumsum": np.cumsum,
    "prod": np.prod,
    "gradient": np.gradient,
    "trapezoid": lambda x: np.trapezoid(x, dx=0.5),
    "take": lambda x: np.take(x, [0, 2]),
    "searchsorted": lambda x: np.searchsorted(np.sort(x), 1.5),
    "polyfit": lambda x: np.polyfit(x, 2 * x, 1),
    "nonzero": np.nonzero,
    "where(condition)": lambda x: np.where(x > 1),
    "argwhere": lambda x: np.argwhere(x > 1),
    "isin": lambda x: np.isin(x, [1.0, 2.0]),
    "piecewise": lambda x: np.piecewise(x, [x < 2], [lambda y: -y, lambda y: y]),
    "vectorize": lambda x: np.vectorize(lambda y: y + 1)(x),
    "block": lambda x: np.block([[x, x], [x, x]]),
    "lexsort": lambda x: np.lexsort((x, x)),
    "convolve": lambda x: np.convolve(x, x),
    "einsum of subscripts in lists": lambda x: np.einsum(x, [0], x, [0]),
    "fft": np.fft.fft,
    "polynomial": lambda x: np.polynomial.Polynomial(x)(2.0),
    "masked": lambda x: np.ma.masked_invalid(x).filled(0.0),
    "integers to integers": lambda x: np.power(x.astype(int), np.array([1, 2, 3])),
    # to Python and back
    "array": np.array,
    "asarray with a dtype": lambda x: np.asarray(x, np.float32),
    "array of its items": lambda x: np.array([x[0], x[1]]),
    "mean of its items": lambda x: np.mean([x[0], x[1]]),
    "full": lambda x: np.full(3, x[0]),
    "full_like": lambda x: np.full_like(np.zeros(2), x[0]),
    "linspace": lambda x: np.linspace(0.0, x[0], 3),
    "arange": lambda x: np.arange(x[0]),
    "fromiter": lambda x: np.fromiter(x, float),
    "from_dlpack": lambda x: np.from_dlpack(x) if isinstance(x, Array) else x,
    "choice": lambda x: np.random.default_rng(0).choice(x, 2),
    "permutation": lambda x: np.random.default_rng(0).permutation(x),
    "list": list,
    "sorted": sorted,
    "sum and max of Python": lambda x: (sum(x), max(x)),
    "float int": lambda x: (float(x[0]), int(x[0]), math.sin(x[0]), x[1].item()),
    "range and index": lambda x: (list(range(x[0].astype(int))), [4, 5, 6, 7][x[0].astype(int)]),
    "round format": lambda x: (round(x[0], 1), f"{x[0]:.3f}", f"{x}"),
    "tolist json": lambda x: json.dumps(x.tolist()),
    "in": lambda x: (2.0 in x, 7.0 in x),
    # files and copies
    "save": lambda x: saved(np.save, x),
    "savez": lambda x: saved(np.savez, x, b=x),
    "savez_compressed": lambda x: saved(np.savez_compressed, b=x),
    "savetxt": lambda x: np.savetxt(out := io.StringIO(), x) or out.getvalue(),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "deepcopy": copy.deepcopy,
    # indices
    "a list": lambda x: x[[0, 1]],
    "a mask": lambda x: x[x > 1],
    "an array of indices": lambda x: x[np.argsort(x)],
    # methods
    "flat": lambda x: list(x.flat),
    "argsort": lambda x: x.argsort(),
    "tobytes": lambda x: x.tobytes(),
    "cumsum of itself": lambda x: x.cumsum(),
    "repeat": lambda x: x.repeat(2),
    # lists beside it
    "lists": lambda x: (x * [1, 2, 3], [1.0, 2.0, 3.0] @ x, np.dot([1.0, 2.0, 3.0], x), np.allclose(x, [3, 1, 2])),
    "stack": lambda x: np.stack([x, [1.0, 2.0, 3.0]]),
    "average": lambda x: np.average(x, weights=[1, 2, 3]),
    # SciPy
    "expit": scipy.special.expit,
    "xlogy": lambda x: scipy.special.xlogy(x, x),
    "logsumexp": scipy.special.logsumexp,
    "softmax": scipy.special.softmax,
    "norm.pdf": scipy.stats.norm.pdf,
    "linregress": lambda x: tuple(scipy.stats.linregress(x, x * 2))[:2],
    "interpolate": lambda x: scipy.interpolate.interp1d([0.0, 4.0], [1.0, 5.0])(x),
    "gaussian_filter": lambda x: scipy.ndimage.gaussian_filter(x, 1.0),
    "fftconvolve": lambda x: scipy.signal.fftconvolve(x, x),
    "scipy.fft": scipy.fft.rfft,
    "rosen": scipy.optimize.rosen,
}

OF_MATRICES = {
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "solve": lambda a: np.linalg.solve(a, [1.0, 2.0]),
    "solve for a device array": lambda a: np.linalg.solve(a, a[0]),
    "svd": np.linalg.svd,
    "eigh": np.linalg.eigh,
    "qr": np.linalg.qr,
    "cholesky": np.linalg.cholesky,
    "lstsq": lambda a: np.linalg.lstsq(a, a[0])[0],
    "norm of singular values": lambda a: np.linalg.norm(a, 2),
    "apply_along_axis": lambda a: np.apply_along_axis(np.sum, 0, a),
    "cov": np.cov,
    "mixed indices": lambda a: a[1:, None, [0, 1]],
    "an open mesh": lambda a: a[np.ix_([0], [1])],
    "a mask": lambda a: a[a > 1],
    "trace": lambda a: a.trace(),
    "diagonal": lambda a: a.diagonal(),
    "a list on the right": lambda a: a @ [1.0, 2.0],
    "scipy solve": lambda a: scipy.linalg.solve(a, a[0]),
    "scipy expm": scipy.linalg.expm,
    "scipy cho_solve": lambda a: scipy.linalg.cho_solve(scipy.linalg.cho_factor(a), a[0]),
    "scipy lu overwriting": lambda a: scipy.linalg.lu_factor(a, overwrite_a=True),
}


def check_equal(got, want):
    if isinstance(want, dict):
        assert got.keys() == want.keys()
        got, want = list(got.values()), list(want.values())
    if isinstance(want, (list, tuple)):
        for one, other in zip(got, want, strict=True):
            check_equal(one, other)
    elif isinstance(want, (str, bytes)):
        assert got == want
    else:
        assert np.asarray(got).dtype == np.asarray(want).dtype
        np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("fun", OF_VECTORS.values(), ids=OF_VECTORS)
def test_a_function_of_a_device_vector_is_that_of_its_value(fun):
    x = calque.device_put(VECTOR)
    check_equal(fun(x), fun(VECTOR.copy()))
    np.testing.assert_array_equal(x, VECTOR)


@pytest.mark.parametrize("fun", OF_MATRICES.values(), ids=OF_MATRICES)
def test_a_function_of_a_device_matrix_is_that_of_its_value(fun):
    x = calque.device_put(MATRIX)
    check_equal(fun(x), fun(MATRIX.copy()))
    np.testing.assert_array_equal(x, MATRIX)


def test_functions_with_a_rule_and_indices_give_device_arrays():
    x = calque.device_put(VECTOR)
    for out in (np.sin(x), np.sum(x), np.stack([x, x]), np.dot([1.0, 2.0, 3.0], x), x[[0, 1]], x[x > 1], x.repeat(2)):
        assert type(out) is Array
    assert type(np.median(x)) is Array
    assert type(np.setdiff1d(x, [1.0])) is np.ndarray  # a function without a rule


def test_results_without_elements_or_of_constants_are_device_arrays():
    numpy, x, none = calque.numpy, calque.device_put(VECTOR), calque.device_put(np.zeros((0, 4)))
    for out in (numpy.diag(none, 1), np.diag(none, 1), numpy.isreal(x), x.imag, np.searchsorted(none[:, 0], 1.0)):
        assert type(out) is Array
    assert all(type(out) is Array for out in (*numpy.histogram(x, [0.0, 2.0]), *numpy.unique_all(x, size=2)))


def test_derivatives_for_device_arrays_are_device_arrays():
    x = calque.device_put(VECTOR)
    functions = {
        "scan": lambda x: calque.lax.scan(lambda c, v: (c + v * v, None), 0.0, x)[0],
        "linear": lambda x: x.sum(),
        "an index": lambda x: 2.0 * x[0],
        "constant": lambda x: 3.0,
        "sum of squares": lambda x: (x**2).sum(),
    }
    for name, function in functions.items():
        assert type(calque.grad(function)(x)) is Array, name
        assert type(calque.value_and_grad(function)(x)[1]) is Array, name
        assert type(calque.hessian(function)(x)) is Array, name
    assert type(calque.jacrev(lambda x: 2.0 * x)(x)) is type(calque.jacfwd(lambda x: 2.0 * x)(x)) is Array
    assert type(calque.grad(functions["scan"])(VECTOR)) is np.ndarray


def test_a_device_array_is_broadcast_beside_a_value_that_is_no_number():
    x = calque.device_put(VECTOR)  # matplotlib's bar() asks for this
    heights, linewidth, hatch = np.broadcast_arrays(x, None, "/")
    np.testing.assert_array_equal(heights, VECTOR)
    assert linewidth.tolist() == [None] * 3
    assert hatch.tolist() == ["/"] * 3
    with pytest.raises(TypeError, match=r"broadcast_arrays at .*: None is not an array or a scalar\. Leave it out\."):
        calque.jit(lambda x: np.broadcast_arrays(x, None))(VECTOR)


def test_calques_functions_of_values_know_those_of_a_device_array():
    x = calque.jit(lambda x: x)(VECTOR[[0, 1, 0]])
    numpy = calque.numpy
    got = [numpy.unique(x), numpy.nonzero(x - 1.0)[0], numpy.setdiff1d(x, [1.0]), *numpy.unique_all(x)]
    want = [[1.0, 3.0], [0, 2], [3.0], [1.0, 3.0], [1, 0], [1, 0, 1], [1, 2]]
    for mine, numpys in zip(got, want, strict=True):
        np.testing.assert_array_equal(mine, numpys)
    assert numpy.from_dlpack(x) is x


def test_arrays_are_made_on_the_device_that_is_named_or_on_that_of_the_model():
    x, device = calque.device_put(VECTOR), calque.devices()[0]
    makers = (np.zeros_like, np.ones_like, np.empty_like, lambda a, **to: np.full_like(a, 2.0, **to))
    for make in makers:
        assert make(x).device is device
        assert type(make(x, device="cpu")) is np.ndarray
    for made in (
        calque.numpy.asarray([1, 2], device=device),
        calque.numpy.asarray(1.0, device=device),
        calque.numpy.arange(3, device=device),
        calque.numpy.eye(2, device=device),
        calque.numpy.astype(VECTOR, "float32", device=device),
    ):
        assert type(made) is Array
        assert made.device is device
    zeros, ones = calque.numpy.zeros, calque.numpy.ones
    made = calque.jit(lambda a: zeros(3, device=a.device) + ones(3, device=device) + a)(VECTOR)
    np.testing.assert_array_equal(made, VECTOR + 1)


def test_augmented_assignment_makes_a_new_device_array():
    x = y = calque.device_put(VECTOR)
    y += 1.0
    assert type(y) is Array
    np.testing.assert_array_equal(x, VECTOR)
    np.testing.assert_array_equal(y, VECTOR + 1)


def test_numpy_s_own_checks_take_device_arrays():
    x = calque.device_put(VECTOR)
    np.testing.assert_allclose(x, [3.0, 1.0, 2.0])
    np.testing.assert_array_equal(x, x)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        np.testing.assert_allclose(x, VECTOR + 1)


BY_TYPES = {
    "exp": lambda x: calque.numpy.exp(x),
    "add": lambda x: calque.numpy.add(x, x),
    "add a number": lambda x: calque.numpy.add(2, x),
    "dot": lambda x: calque.numpy.dot(x, x),
    "sum": lambda x: calque.numpy.sum(x),
    "outer": lambda x: calque.numpy.outer(x, x),
    "add a list": lambda x: calque.numpy.add(x, [1.0, 2.0, 3.0]),
    "maximum of an array of NumPy's": lambda x: calque.numpy.maximum(x, VECTOR - 1),
    "power": lambda x: calque.numpy.power(x, 3),
    "sum along an axis": lambda x: calque.numpy.sum(x, 0),
}


@pytest.mark.parametrize("name", BY_TYPES)
def test_functions_give_the_same_from_the_first_call_on(name):
    x = calque.device_put(VECTOR)
    expected = BY_TYPES[name](VECTOR)
    for _ in range(3):
        out = BY_TYPES[name](x)
        assert isinstance(out, Array)
        np.testing.assert_allclose(out, expected, rtol=1e-15)
        assert out.dtype == expected.dtype


@pytest.mark.counts
@pytest.mark.parametrize("name", ["exp", "add", "dot"])
def test_a_later_call_takes_two_frames(name):
    x, frames = calque.device_put(VECTOR), []
    BY_TYPES[name](x)
    sys.setprofile(lambda frame, event, _: frames.append(frame.f_code.co_name) if event == "call" else None)
    try:
        BY_TYPES[name](x)
    finally:
        sys.setprofile(None)
    assert frames == ["<lambda>", "first", "evaluate_function"]


def test_a_function_without_rule_for_its_operands_names_them_each_time():
    x = calque.device_put(VECTOR)
    for _ in range(2):
        with pytest.raises(TypeError, match="'nothing'"):
            calque.numpy.add(x, "nothing")


def test_a_captured_device_array_has_its_value_while_tracing():
    x = calque.device_put(VECTOR)
    for transform in (calque.jit, calque.grad, lambda f: lambda y: calque.vmap(f)(np.full(1, y))[0]):
        out = transform(lambda y: y * np.trim_zeros(x)[2] + x[[0, 1]][1] * y)(2.0)
        np.testing.assert_allclose(out, 3.0 if transform is calque.grad else 6.0)


MISSING_METHODS = {"argsort": (), "repeat": (2,), "trace": (), "diagonal": ()}


@pytest.mark.parametrize("name", MISSING_METHODS)
def test_a_method_that_is_a_function_with_a_rule_works_for_tracers(name):
    fun = calque.jit(lambda x: getattr(x, name)(*MISSING_METHODS[name]))
    np.testing.assert_array_equal(fun(MATRIX), getattr(MATRIX, name)(*MISSING_METHODS[name]))


def test_matplotlib_draws_device_arrays():
    matplotlib = pytest.importorskip(
        "matplotlib", reason="matplotlib is not installed; the protocols it uses are above"
    )
    matplotlib.use("agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    x = calque.device_put(VECTOR)
    figure, axes = plt.subplots()
    (line,) = axes.plot(x, x)
    np.testing.assert_array_equal(line.get_xydata(), np.stack([VECTOR, VECTOR], 1))
    axes.imshow(calque.device_put(MATRIX))
    axes.scatter(x, x, c=x)
    axes.hist(x)
    figure.canvas.draw()
