"""Every function that answers for an array answers for a traced array, or has a line in a table of refusals.

One idea: the functions are those of `__all__`, so a new one is compared without a line here; a function takes as many
arrays as it has required arguments.
"""

import inspect

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import ConcretizationTypeError, NonConcreteBooleanIndexError, NumpyRuleError, eval_jaxpr, make_jaxpr
from calque_pytree import tree_leaves

pytestmark = pytest.mark.sampled(keep=0.1)

DTYPES = ["bool", "uint8", "int64", "float16", "float32", "complex128"]
SHAPES = [(), (4,), (2, 3), (0, 3)]


def required(name):
    """Return how many arguments a function requires."""
    parameters = inspect.signature(getattr(cnp, name)).parameters.values()
    return sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


FUNCTIONS = sorted(
    name
    for name in cnp.__all__
    if inspect.isfunction(getattr(cnp, name)) and required(name) in (1, 2) and "print" not in name
)
REFUSALS = {
    "the shape of the result depends on values": (
        (NumpyRuleError, NonConcreteBooleanIndexError),
        (
            "argwhere bincount compress extract flatnonzero intersect1d nonzero setdiff1d setxor1d take_along_axis "
            "trim_zeros union1d unique unique_all unique_counts unique_inverse unique_values where"
        ),
    ),
    "an argument is a size, an axis or a position, which must be known": (
        ConcretizationTypeError,
        (
            "arange argpartition array_split bartlett blackman broadcast_to delete diag_indices empty expand_dims eye "
            "full hamming hanning hsplit identity indices kaiser ones pad partition repeat resize split tile tri "
            "tril_indices triu_indices zeros"
        ),
    ),
    "the documentation of the function says so": (
        (TypeError, ValueError),
        (
            "arange from_dlpack geomspace gradient histogram histogram_bin_edges histogramdd median nanmedian polyadd "
            "polysub polyval roll"
        ),
    ),
}
DIFFERENT = {
    "convolve": "a product spreads NaN to all sums",
    "polymul": "leading zeros depend on values; NaN as convolve",
    "polydiv": "leading zeros depend on values",
    "roots": "the order and the number of roots depend on values",
    "empty": "the values mean nothing",
    "empty_like": "as empty",
    "cov": "NumPy returns real numbers for no observations of complex numbers",
    "corrcoef": "as cov",
    "histogramdd": "NumPy's edges for no points are in double precision",
}
NEWER = {  # results of NumPy that are different in older releases; a traced call follows the newest release
    ("ceil", "fix", "floor", "trunc"): ("2.1.0", ("bool", "uint8", "int64"), "NumPy 2.0 rounds integers to floats"),
    ("sinc",): ("2.3.0", ("float16",), "sinc(0) in float16 is NaN in NumPy before 2.3"),
}
NO_ARRAYS = ("iscomplexobj", "isrealobj", "isscalar", "iterable", "ndim", "shape", "size")  # Python's own values


def example(shape, dtype, seed):
    """Return numbers with ties, and with a NaN among four floats."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, shape) - 1.0
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.integers(-1, 2, shape)
    x = np.asarray(np.abs(x) if np.dtype(dtype).kind == "u" else x).astype(dtype)
    if np.dtype(dtype).kind in "fc" and shape == (4,):
        x[2] = np.nan
    return x


def numpys(function, args):
    """Return the leaves of the result for arrays, or None where the function refuses or returns no numbers."""
    try:
        with np.errstate(all="ignore"):
            out = [np.asarray(x) for x in tree_leaves(function(*(x.copy() for x in args)))]
    except Exception:  # noqa: BLE001  any refusal of NumPy's
        return None
    return out if all(x.dtype.kind in "biufc" for x in out) else None


def check(function, args, want):
    with np.errstate(all="ignore"):
        jaxpr = make_jaxpr(function)(*args)
        got = eval_jaxpr(jaxpr, jaxpr.consts, *args)
    assert [(x.shape, x.dtype) for x in got] == [(x.shape, x.dtype) for x in want]
    for mine, numpys in zip(got, want, strict=True):
        eps = np.finfo(numpys.dtype).eps if numpys.dtype.kind in "fc" else 0
        np.testing.assert_allclose(mine, numpys, rtol=64 * eps, atol=64 * eps)


def refusal(function, args, want, allowed):
    """Return the words of an error that is allowed; None if the call has the wanted results."""
    try:
        check(function, args, want)
    except allowed as error:
        return str(error)
    return None


def refusals(name):
    """Return the errors that a traced call may raise."""
    errors = ()
    for classes, names in REFUSALS.values():
        if name in names.split():
            errors += classes if isinstance(classes, tuple) else (classes,)
    return errors


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in DIFFERENT and name not in NO_ARRAYS])
def test_a_traced_call_answers_as_an_eager_one(name, dtype):
    for names, (version, dtypes, reason) in NEWER.items():
        if name in names and dtype in dtypes and np.lib.NumpyVersion(np.__version__) < version:
            pytest.skip(reason)
    function, allowed = getattr(cnp, name), refusals(name)
    for shape in SHAPES:
        args = [example(shape, dtype, seed) for seed in range(required(name))]
        want = numpys(function, args)
        if want is None:
            continue
        words = refusal(function, args, want, allowed)
        assert words is None or " at test_every_function.py:" in words


def test_a_name_in_the_tables_is_a_function():
    listed = [name for _, names in REFUSALS.values() for name in names.split()]
    assert {*listed, *DIFFERENT, *NO_ARRAYS} <= {*FUNCTIONS}
