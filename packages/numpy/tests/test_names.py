"""Each public name is the function that NumPy's own function dispatches to, and agrees with NumPy for every dtype."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import NumpyRuleError, make_jaxpr
from calque_core.arrays.numpy_protocol import declared, implementation

CONSTANTS = ["e", "euler_gamma", "inf", "nan", "newaxis", "pi"]
OURS = {"astype", "at", "copy"}  # functions in later versions of NumPy, with another signature, or of jax
NEW = {  # the functions that are newer than the oldest NumPy we take, by its version
    "2.1.0": {"__array_namespace_info__", "cumulative_prod", "cumulative_sum", "unstack"},
    "2.2.0": {"matvec", "vecmat"},
}
REMOVED = {  # deprecated parameters that NumPy before 2.4 has
    "reshape": {"newshape"},
    "corrcoef": {"bias", "ddof"},
    **{name: {"interpolation"} for name in ("percentile", "quantile", "nanpercentile", "nanquantile")},
}
UFUNCS = [name for name in cnp.__all__ if isinstance(getattr(np, name, None), np.ufunc)]
DISPATCHED = {theirs: function for theirs, function in declared.items() if not isinstance(theirs, np.ufunc)}
FUNCTIONS = [name for name in cnp.__all__ if getattr(np, name, None) in DISPATCHED]


def numpys_parameters(function):
    """Return the parameters of NumPy's function, without those that the newest release does not have."""
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:
        pytest.skip("NumPy's function has no signature to read")
    if "newshape" in parameters and "shape" not in parameters:
        pytest.skip("NumPy 2.0 calls the argument shape of reshape newshape")
    return [p for name, p in parameters.items() if name not in REMOVED.get(function.__name__, ())]


def test_every_name_is_numpys():
    installed = np.lib.NumpyVersion(np.__version__)
    newer = {name for version, names in NEW.items() if installed < version for name in names}
    assert [name for name in cnp.__all__ if not hasattr(np, name) and name not in {*OURS, *newer}] == []


def test_every_ufunc_of_the_table_has_its_name():
    by_name = {name: getattr(cnp, name) for name in UFUNCS}
    numpys = {theirs: function for theirs, function in declared.items() if isinstance(theirs, np.ufunc)}
    numpys = {ufunc: function for ufunc, function in numpys.items() if getattr(np, ufunc.__name__, None) is ufunc}
    for ufunc, function in numpys.items():
        assert by_name[ufunc.__name__].__wrapped__ is function, ufunc
    for name, function in by_name.items():
        assert implementation(getattr(np, name)) is function.__wrapped__, name


def test_every_dispatched_function_is_the_one_of_that_name():
    for name in FUNCTIONS:
        assert DISPATCHED[getattr(np, name)] is inspect.unwrap(getattr(cnp, name)), name
    assert DISPATCHED[np.linalg.norm] is cnp.linalg.norm.__wrapped__


def test_every_dispatched_function_is_public():
    modules = (cnp, cnp.linalg, cnp.fft)
    public = [inspect.unwrap(getattr(module, name)) for module in modules for name in module.__all__]
    elsewhere = {"sliding_window_view"}  # in numpy.lib.stride_tricks
    assert {f.__name__ for f in DISPATCHED.values() if f not in public} == elsewhere


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_numpys_parameters(name):
    """NumPy passes arguments on as they were written: a name or a position that differs would be a wrong call."""
    expected = numpys_parameters(getattr(np, name))
    mine = inspect.signature(getattr(cnp, name)).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in mine.values())
    positional = [p for p in expected if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    ours = [p for p in mine.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for theirs, own in zip(positional, ours):
        assert theirs.kind is theirs.POSITIONAL_ONLY or theirs.name == own.name
    named = [p for p in expected if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    missing = [p.name for p in named if p.name not in mine]
    assert takes_any or set(missing) <= {"device", "like"}


# What a traced array does not have: subclasses, an order in memory for some functions, other libraries' arrays.
NUMPYS_ALONE = {"like", "subok", "ndmax"}
IN_ROWS = {"eye", "tri", "identity"}
MODULES = {np: cnp, np.linalg: cnp.linalg, np.fft: cnp.fft}


def public_functions():
    for theirs, ours in MODULES.items():
        for name in ours.__all__:
            function, numpys = getattr(ours, name), getattr(theirs, name, None)
            is_function = callable(numpys) and not isinstance(numpys, (type, np.ufunc)) and numpys is not function
            if is_function and name not in ("issubdtype", *IN_ROWS):  # whose arguments NumPy calls arg1 and arg2
                yield pytest.param(function, numpys, id=f"{theirs.__name__}.{name}")


@pytest.mark.parametrize(("function", "numpys"), [*public_functions()])
def test_a_function_has_numpys_parameters_in_numpys_order(function, numpys):
    expected = numpys_parameters(numpys)
    mine = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in mine.values()):
        return  # it reads the options of NumPy's
    positional = [p for p in mine.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    takes_any = any(p.kind is p.VAR_POSITIONAL for p in mine.values())
    ours = iter(positional)
    for parameter in expected:
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            own = next(ours, None)
            assert own is not None, parameter.name
            assert own.name == parameter.name
            if isinstance(parameter.default, (bool, int, float, str, tuple)):
                assert own.default == parameter.default, parameter.name
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            assert takes_any or next(ours, None) is not None, parameter.name
        elif parameter.kind is parameter.KEYWORD_ONLY:
            assert parameter.name in {*mine, *NUMPYS_ALONE}


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_constant_is_numpys(name):
    assert getattr(cnp, name) is getattr(np, name)


@pytest.mark.parametrize("name", [name for name in UFUNCS if getattr(np, name).signature is None])
@np.errstate(invalid="ignore", divide="ignore")  # some have no value at 2 and 3, or at 1
def test_an_elementwise_function_is_numpys_on_numpy_values(name):
    """Core's tests have every dtype and the edges, traced; here it is that evaluation gives NumPy's dtypes too."""
    ufunc, function = getattr(np, name), getattr(cnp, name)
    for char in "?bBilfd":
        x = np.array([1, 2, 3]).astype(char)
        args = (np.eye(3, dtype=char), x) if ufunc is np.matmul else (x, x)[: ufunc.nin]
        try:
            want = ufunc(*args)
        except TypeError:
            with pytest.raises(TypeError):
                function(*args)
            continue
        if name in ("power", "pow") and x.dtype.kind in "biu":
            continue  # refused: integers to the power of an array of integers
        got = function(*args)
        for mine, numpys in zip(*([y] if not isinstance(y, tuple) else y for y in (got, want)), strict=True):
            assert type(mine) is type(numpys)
            assert mine.dtype == numpys.dtype
            np.testing.assert_allclose(mine, numpys, rtol=1e-3 if mine.dtype == np.float16 else 1e-6)


def test_reductions_of_numpy_values_are_numpys(agree, numbers):
    for dtype in ("bool", "int8", "uint8", "int64", "float32", "float64"):
        x = numbers((2, 3), dtype)
        agree(lambda m, a: [m.sum(a, 0), m.max(a), m.min(a, 1), m.argmax(a, 1), m.argmin(a), m.any(a), m.all(a, 0)], x)
        agree(lambda m, a: [m.mean(a, 0), m.std(a), m.var(a, 1, ddof=1)], x, ulps=8)


def test_the_modules_of_the_package_need_no_import_of_their_own():
    code = (
        "import sys, calque_numpy as cnp\n"
        "assert not {'calque_numpy.random', 'calque_numpy.nn', 'calque_numpy.scipy'} & set(sys.modules)\n"
        "cnp.random.key, cnp.nn.relu, cnp.segments.segment_sum, cnp.scipy\n"
        "assert 'random' in dir(cnp)\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


WITHOUT_RULE = {
    "putmask": (
        lambda x: np.putmask(x, x > 0, x),
        r"It changes an array in place; use x\.at\[index\]\.set or calque_n",
    ),
    "real_if_close": (np.real_if_close, r"It has a dtype that depends on values; use calque_numpy\.real\."),
    "min_scalar_type": (np.min_scalar_type, r"It is NumPy's own inspection of types; use x\.dtype, or calque_numpy"),
    "common_type": (np.common_type, r"It is NumPy's own inspection of types; use x\.dtype, or calque_numpy"),
    "shares_memory": (lambda x: np.shares_memory(x, x), r"traced values have none; use NumPy's on the transformed fu"),
    "place": (lambda x: np.place(x, x > 0, 1.0), r"Use calque\.numpy\.place\(x, mask, values\)\."),
    "put_along_axis": (
        lambda x: np.put_along_axis(x, np.array([0]), 1.0, 0),
        r"Use calque\.numpy\.put_along_axis\(x, indices, values, axis\)\.",
    ),
    "emath.sqrt": (np.emath.sqrt, r"Its dtype depends on values\. Use numpy\.sqrt\(x\.astype\(complex\)\)\."),
    "emath.power": (lambda x: np.emath.power(x, 0.5), r"Use numpy\.power\(x\.astype\(complex\), y\)\."),
    "emath.logn": (lambda x: np.emath.logn(2, x), r"Use numpy\.log\(x\.astype\(complex\)\) / numpy\.log\(n\)\."),
}


@pytest.mark.parametrize("name", WITHOUT_RULE)
def test_a_function_of_numpys_without_a_rule_says_why_and_what_to_use(name):
    fun, words = WITHOUT_RULE[name]
    with pytest.raises(NumpyRuleError, match=rf"^numpy\.{name} of a traced array at .* has no rule\. .*{words}"):
        make_jaxpr(fun)(np.ones(2))


def test_options_of_axes_of_a_ufunc_name_the_function_that_moves_them():
    with pytest.raises(NumpyRuleError, match=r"numpy\.vecdot at .*: axis= is not .*numpy\.moveaxis\(x, axis, -1\)\."):
        make_jaxpr(lambda x: np.vecdot(x, x, axis=0))(np.ones((2, 3)))
