"""No parameter is accepted and ignored: each value gives NumPy's answer, traced, or is refused.

One idea: the parameters are those in the signatures of the functions that answer for NumPy's, so that a new one without
values here fails.
"""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

import calque_numpy
from calque_core import eval_jaxpr, make_jaxpr
from calque_core.arrays.numpy_protocol import declared
from calque_pytree import tree_flatten, tree_leaves

pytestmark = pytest.mark.sampled(keep=0.1)

X = np.array([[3.0, -1.5, 0.25, np.nan], [2.0, 0.0, 7.5, -4.0], [1.0, 1.0, -0.5, 6.0], [0.5, 8.0, 2.5, -2.0]])
OPERANDS = [
    np.nan_to_num(X),
    np.asfortranarray(np.nan_to_num(X)),
    X,
    X[1:] > 0.5,
    np.int8(4) * X[1:].astype(np.int8),
    (X[1:] + 1j * np.nan_to_num(X[:-1])).astype(np.complex64),
    X[1:].astype(np.float16),
    X[1],
    np.float32(2.5),
]
MASK = np.array([True, False, True, True])
AXES = [0, 1, -1, None, (0, 1), (), True, [0, 1], [0], 5, (0, 0), 1.0]
DTYPES = [None, np.float16, np.float32, np.int64, np.int8, bool, np.complex64, float]
VALUES = {
    "axis": AXES,
    "dtype": DTYPES,
    "out": [np.zeros((4, 4))],
    "keepdims": [True],
    "initial": [2, 1.5, None],
    "where": [MASK, False],
    "ddof": [1, 1.5],
    "options": [{"correction": 1}, {"mean": 0.5}, {"where": MASK}, {"optimize": True}, {"order": "F"}],
    "shape": [(2, 8), -1, (3,), None],
    "order": ["C", "F", "A", "K", "x", "field"],
    "copy": [True, None],
    "device": [None, "cpu", "gpu"],
    "axes": [(1, 0), None, 1, (0, 0), [1, 0], ([0], [1])],
    "subok": [True, False],
    "a_min": [1.0, None],
    "a_max": [1.0, None],
    "bounds": [{"min": 0.5}, {"max": 1.5, "min": None}],
    "decimals": [1, -1, 1.5],
    "ord": [1, 2, 3, 0.5, -1, np.inf, -np.inf, 0, "fro", "nuc", "x", True],
    "deg": [True],
    "num": [3, 1, 0],
    "endpoint": [False],
    "retstep": [True],
    "sparse": [True],
    "indexing": ["ij", "xy", "x"],
    "offset": [1, -2],
    "axisa": [0, -1],
    "axisb": [0, -1],
    "axisc": [0, -1],
    "axis1": [1, -1],
    "axis2": [0, -1],
    "k": [1, -1, 2],
    "optimize": [True, False],
    "casting": ["unsafe", "safe", "no", "same_kind"],
    "x": [2.0],
    "y": [2.0],
    "default": [1.5],
    "nan": [1.5],
    "posinf": [2.5],
    "neginf": [2.5],
    "rtol": [0.5],
    "atol": [3.0],
    "equal_nan": [True],
    "mode": ["constant", "edge", "reflect", "x"],
    "constant_values": [2, 1.5, (1, 2)],
    "kind": ["stable", "quicksort", "mergesort", "x"],
    "stable": [True, False],
    "weights": [np.array([1.0, 2.0, 3.0, 4.0]), 2],
    "returned": [True],
    "n": [2, 0, -1],
    "s": [(2, 5), (-1, 3), (3,), (0, 2), (1, 2, 3), 2],
    "norm": ["backward", "ortho", "forward", "x"],
    "prepend": [1.5, np.ones((4, 1))],
    "append": [1.5, np.ones((4, 1))],
    "base": [2.0],
    "bias": [True],
    "bins": [3, np.array([-1.0, 0.5, 4.0])],
    "correction": [1],
    "discont": [4.0],
    "density": [True],
    "dx": [0.5],
    "edge_order": [1, 2, 3],
    "fweights": [np.array([1, 2, 1, 3])],
    "aweights": [np.array([1.0, 2.0, 0.5, 3.0])],
    "hermitian": [True],
    "include_initial": [True],
    "increasing": [True],
    "invert": [True],
    "assume_unique": [True],
    "left": [-7.0],
    "right": [True, 8.0],
    "m": [2, -1],
    "mean": [0.5],
    "method": ["linear", "hazen", "lower", "x"],
    "minlength": [9],
    "N": [2, 0],
    "overwrite_input": [True],
    "period": [5.0],
    "range": [(-1.0, 3.0)],
    "rowvar": [False],
    "side": ["left", "right", "x"],
    "sorter": [np.array([3, 1, 0, 2])],
    "start": [1, -1],
    "to_begin": [1.5],
    "to_end": [1.5],
    "return_index": [True],
    "return_inverse": [True],
    "return_counts": [True],
    "return_indices": [True],
    "sorted": [True],
    "UPLO": ["L", "U", "x"],
    "upper": [True],
    "rcond": [1e-3],
    "tol": [1e-3],
    "p": [None, 1, -1, 2, np.inf, "fro", "x"],
    "ind": [1, 2, 0],
    "full_matrices": [False],
    "compute_uv": [False],
    "full": [True],
    "cov": [True, "unscaled"],
    "w": [np.array([1.0, 2.0, 3.0, 4.0])],
    "bitorder": ["little", "x"],
    "count": [3, -1, 20],
    "kwargs": [{"constant_values": 2}, {"mode": "mean", "stat_length": 2}, {"mode": "reflect", "reflect_type": "odd"}],
    "writeable": [False],
    "fill_value": [],  # it comes with size=, which is ours alone
}
# Of the array API, of JAX, and of products on accelerators; NumPy has no such parameters.
OURS_ALONE = {
    "descending", "length", "precision", "preferred_element_type", "promote_integers", "size", "strip_zeros",
    "symmetrize_input", "total_repeat_length", "unroll", "wrap_negative_indices",
}  # fmt: skip
# The content is open, the arguments are a function's own, or the result is a text.
ARBITRARY = {np.empty_like, np.apply_along_axis, np.piecewise, np.einsum_path}
REST = {
    np.reshape: lambda x: [(-1,)],
    np.swapaxes: lambda x: [0, -1],
    np.clip: lambda x: [-1.0, 2.0],
    np.full_like: lambda x: [2],
    np.linspace: lambda x: [9.0, 4],
    np.moveaxis: lambda x: [0, -1],
    np.expand_dims: lambda x: [0],
    np.broadcast_to: lambda x: [(2, *np.shape(x))],
    np.array_split: lambda x: [3],
    np.repeat: lambda x: [2],
    np.tile: lambda x: [2],
    np.pad: lambda x: [1],
    np.roll: lambda x: [1],
    **dict.fromkeys((np.split, np.vsplit, np.hsplit, np.dsplit), lambda x: [2]),
    **dict.fromkeys(
        (np.dot, np.outer, np.inner, np.tensordot, np.vdot, np.kron, np.isclose, np.allclose, np.array_equal),
        lambda x: [x],
    ),
    np.lib.stride_tricks.sliding_window_view: lambda x: [(1,) * np.ndim(x)],
    np.insert: lambda x: [1, 2],
    np.histogram2d: lambda x: [x],
    np.cross: lambda x: [np.ones(3)],
    np.can_cast: lambda x: [np.float32],
    np.meshgrid: lambda x: [x],
    np.where: lambda x: [x, x],
}
LISTS = (np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack)


def arguments(function, x):
    """Return the arguments that a function cannot do without, beside `x`."""
    if function in LISTS:
        return [[x, x]]
    if function is np.einsum:
        return ["...i->...", x]
    if function is np.polyfit:
        return [np.arange(1.0, 1.0 + np.shape(x)[0]), x, 1] if np.ndim(x) else [x, x, 1]
    if function is np.select:
        return [[x > 1, x > 0], [x, x]]
    return [x, *REST.get(function, lambda x: [])(x)]


def cases():
    for front in (calque_numpy, calque_numpy.linalg, calque_numpy.fft):
        for name in front.__all__:
            getattr(front, name)  # its module declares what answers for NumPy's function
    for function, rule in declared.items():
        if isinstance(function, np.ufunc) or function in ARBITRARY:
            continue
        if rule.__module__ == "calque_numpy.host_functions":  # these are NumPy's
            continue
        for parameter in inspect.signature(rule).parameters.values():
            is_open = parameter.kind is parameter.VAR_KEYWORD
            if (parameter.default is not parameter.empty or is_open) and parameter.name not in OURS_ALONE:
                yield pytest.param(function, parameter.name, id=f"{function.__name__}-{parameter.name}")


def outcome(fun, *args):
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return fun(*args)
    except (TypeError, ValueError) as error:
        return error
    except RuntimeError as error:  # NumPy's error for weights of a covariance
        assert fun is not traced
        return error
    except IndexError as error:  # NumPy's error for some axes
        assert fun is not traced
        return error


def traced(fun, x):
    """Trace `fun`; return its results with the structure that it returned them in."""
    trees = []

    def leaves(x):
        out, tree = tree_flatten(fun(x))
        trees.append(tree)
        return out

    jaxpr = make_jaxpr(leaves)(x)
    return trees[0].unflatten(eval_jaxpr(jaxpr, jaxpr.consts, x))


@pytest.mark.parametrize(("function", "name"), list(cases()))
def test_each_value_of_a_parameter_gives_numpys_answer_or_is_refused(function, name):
    for x in OPERANDS:
        for value in VALUES[name]:
            options = value if isinstance(value, dict) else {name: value}
            if function is np.size and np.ndim(options["axis"]) and np.lib.NumpyVersion(np.__version__) < "2.4.0":
                continue  # NumPy's function takes one axis only

            def call(x, options=options):
                args = arguments(function, x)
                if function is np.argsort and not {"kind", "stable"} & {*options}:
                    options = {**options, "stable": True}  # NumPy's other sorts put equal elements in any order
                kept = args[:-1] if function is np.linspace and name == "num" else args
                return function(*kept, **options)

            # Copies, since NumPy writes to its argument under options such as overwrite_input.
            got, want = outcome(traced, call, x.copy()), outcome(call, x.copy())
            if not isinstance(got, Exception) and "is not finite" not in str(want):  # a refusal of values, not of types
                assert not isinstance(want, Exception), (x.dtype, options, want)
                check_equal(got, want, (x, options))


def check_equal(got, want, about):
    got, want = ([np.asarray(y) for y in tree_leaves(tree)] for tree in (got, want))
    assert [(y.dtype, y.shape) for y in got] == [(y.dtype, y.shape) for y in want], about
    for mine, numpys in zip(got, want, strict=True):
        eps = np.finfo(numpys.dtype).eps if numpys.dtype.kind in "fc" else 0
        if about[0].dtype == np.float16:  # NumPy rounds the scale of a Fourier transform to it, we do not
            eps = max(eps, np.finfo(np.float16).eps)
        np.testing.assert_allclose(mine, numpys, rtol=16 * eps, atol=16 * eps, err_msg=str(about))
