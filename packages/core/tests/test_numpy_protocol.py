"""NumPy's own functions of tracers: which are dispatched, what they are told, and what they refuse."""

import operator
import subprocess
import sys

import numpy as np
import pytest

from calque_core import NumpyRuleError, TracerArrayConversionError, eval_jaxpr, implements, stage, typeof
from calque_core.arrays.numpy_protocol import array_functions
from calque_core.arrays.numpy_reductions import reductions

X = np.array([[1.0, -2.0], [3.0, 0.5]])


def staged(fun, *args):
    return stage(lambda *xs: [fun(*xs)], [typeof(x) for x in args])


def traced(fun, *args):
    jaxpr = staged(fun, *args)
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)[0]


def refused(fun, *args, error=TypeError):
    with pytest.raises(error) as caught:
        staged(fun, *args)
    return str(caught.value)


def assert_same(got, want):
    assert np.asarray(got).dtype == np.asarray(want).dtype
    np.testing.assert_allclose(got, want, rtol=1e-15)


def test_a_function_written_with_plain_numpy_is_traced_unchanged():
    def loss(w, x):
        hidden = np.tanh(np.float64(0.5) * x @ w)
        return np.sum(np.sin(hidden) * np.exp(-hidden)) / np.size(hidden) + np.mean(np.maximum(hidden, 0.0) ** 2)

    assert_same(traced(loss, X, X), loss(X, X))


def test_the_sum_of_a_product_takes_five_equations():
    jaxpr = staged(lambda x: np.sum(np.sin(x) * np.exp(-x)), X)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sin", "neg", "exp", "mul", "reduce_sum"]


@pytest.mark.parametrize("left", [X, np.float64(2), np.float32(2), np.int8(3), [1.0, 2.0], (1.0, 2.0)], ids=repr)
def test_what_numpy_can_convert_may_stand_on_the_left(left):
    assert_same(traced(lambda x: np.subtract(left, x), X), np.subtract(left, X))
    assert_same(traced(lambda x: np.subtract(x, left), X), np.subtract(X, left))


def test_a_numpy_value_on_the_left_of_an_operator_asks_the_tracer():
    for left in (X, np.float64(2), np.int8(3), np.array(2.0)):
        assert_same(traced(lambda x, a=left: a / x, X), left / X)
        assert_same(traced(lambda x, a=left: a < x, X), left < X)
    assert_same(traced(lambda x: X @ x, X), X @ X)


# Options


def test_dtype_says_in_which_dtype_to_compute():
    n = np.array([1, 2])
    assert_same(traced(lambda x: np.add(x, 1, dtype=np.float32), n), np.add(n, 1, dtype=np.float32))
    assert_same(traced(lambda x: np.true_divide(x, 2, dtype="f4"), n), np.true_divide(n, 2, dtype="f4"))
    assert_same(traced(lambda x: np.maximum(x, 2, dtype=np.int64), n), np.maximum(n, 2, dtype=np.int64))
    assert_same(traced(lambda x: np.less(x, 2, dtype=bool), n), np.less(n, 2, dtype=bool))


@pytest.mark.parametrize(("ufunc", "dtype"), [(np.negative, np.int32), (np.isnan, np.float64)], ids=["int", "bool"])
def test_a_dtype_that_does_not_fit_is_refused(ufunc, dtype):
    words = refused(lambda x: ufunc(x, dtype=dtype), X)
    assert words.startswith(f"numpy.{ufunc.__name__} at test_numpy_protocol.py:")
    assert f"of float64[2,2] cannot be computed with dtype={np.dtype(dtype)}." in words
    assert words.endswith("Convert with astype, before or after.")


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (
            {"out": np.zeros((2, 2))},
            "y = numpy.sin(x) in place of out=y, a = calque.numpy.at(a)[i].add(b) in place of a[i] += b.",
        ),
        (
            {"where": X > 0},
            (
                "Select afterwards, and avoid a derivative of infinity where the mask is false: "
                "numpy.where(mask, numpy.log(numpy.where(mask, x, 1)), 0)."
            ),
        ),
        ({"casting": "no"}, "Remove this option."),
        ({"order": "F"}, "Remove this option."),
        ({"subok": False}, "Remove this option."),
    ],
    ids=["out", "where", "casting", "order", "subok"],
)
def test_an_option_that_means_nothing_here_is_refused_by_name(options, advice):
    words = refused(lambda x: np.sin(x, **options), X)
    assert words.startswith("numpy.sin at test_numpy_protocol.py:")
    assert f"{next(iter(options))}= is not supported for a traced array." in words
    assert words.endswith(advice)


def test_an_option_that_says_the_default_is_taken():
    assert_same(traced(lambda x: np.sin(x, casting="same_kind", order="K", subok=True, where=True), X), np.sin(X))


def test_an_ndarray_cannot_receive_a_traced_result():
    for fun in (lambda x: np.add(x, 1.0, out=np.zeros(4)), lambda x: np.sum(x, out=np.zeros(()))):
        assert "out= is not supported" in refused(fun, np.ones(4))


# Methods of ufuncs


@pytest.mark.parametrize("ufunc", list(reductions), ids=lambda u: u.__name__)
@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"axis": None}, {"axis": (0, 1)}, {"keepdims": True}], ids=str)
def test_reduce_is_numpys_along_the_first_axis_by_default(ufunc, options):
    for x in (X, X.astype(np.int32), X > 0):
        assert_same(traced(lambda a, x=x: ufunc.reduce(a, **options), x), ufunc.reduce(x, **options))


def test_an_ndarray_cannot_be_updated_with_traced_values():
    words = refused(lambda x: np.add.at(np.zeros((2, 2)), 0, x), X)
    assert words.startswith("numpy.add.at at test_numpy_protocol.py:")
    assert words.endswith("an ndarray cannot hold traced values. Use calque.numpy.at(x)[index].add(value).")


# Operands


def test_a_list_that_holds_tracers_is_the_array_of_them():
    assert_same(traced(lambda x: np.add(x, [x, 2.0]), 1.0), np.array([2.0, 3.0]))
    assert_same(traced(lambda x: np.multiply([[x, x], (0.0, 1.0)], x), np.float32(3)), np.array([[9.0, 9.0], [0, 3]]))


@pytest.mark.parametrize("other", [None, "two", {}], ids=repr)
def test_what_can_never_be_an_operand_is_refused_by_name(other):
    words = refused(lambda x: np.add(x, other), X)
    assert words.startswith("the other operand at test_numpy_protocol.py:")


def test_an_array_of_strings_is_refused_by_its_dtype():
    words = refused(lambda x: np.add(x, np.array(["a"])), X)
    assert words.startswith("add at test_numpy_protocol.py:")
    assert words.endswith("): an array of dtype <U1 is not an operand. Convert it to a number dtype first.")


class Length:
    """A class that handles NumPy's functions itself."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return f"{ufunc.__name__} of a length"

    def __array_function__(self, func, types, args, kwargs):
        return f"{func.__name__} of a length"


def test_a_class_with_a_protocol_of_its_own_gets_its_chance():
    seen = []
    stage(lambda x: seen.extend([np.add(x, Length()), np.dot(x, Length())]) or [x], [typeof(X)])
    assert seen == ["add of a length", "dot of a length"]


def test_a_class_that_handles_nothing_is_refused_by_numpy():
    assert "__array_ufunc__" in refused(lambda x: np.add(x, object()), X)


NAMED_FOR_VECTORS = {
    "asarray": (np.asarray, r"In place of numpy\.asarray\(x\) write x, or calque\.numpy\.asarray\(x\)\. To write .*"),
    "setitem": (
        lambda x: operator.setitem(np.zeros((3, 2)), 1, x),
        r"To write it into an array, in place of out\[i\] = x write out = calque\.numpy\.at\(out\)\[i\]\.set\(x\)\.",
    ),
    "strides": (
        lambda x: np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)),
        r"Use sliding_window_view, or an array .*",
    ),
    "ndenumerate": (np.ndenumerate, r"Use numpy\.ndindex\(x\.shape\), and x\[i\]\."),
    "vectorize": (np.vectorize(lambda x: x + 1), r"Use calque\.numpy\.vectorize, or call the function with arrays\."),
    "require": (lambda x: np.require(x, float), r"In place of numpy\.require\(x, dtype\) write x\.astype\(dtype\)\."),
    "asmatrix": (np.asmatrix, r"numpy\.asmatrix makes NumPy's matrices\. Use arrays with two axes, and x @ y\."),
    "matrix": (np.matrix, r"numpy\.matrix makes NumPy's matrices\. Use arrays with two axes, and x @ y\."),
    "r_": (lambda x: np.r_[x, 1.0], r"Use numpy\.concatenate and numpy\.column_stack\."),
    "polyder": (np.polynomial.polynomial.polyder, r"Use numpy\.polyder\(c\[::-1\]\)\[::-1\]\."),
    "chebder": (
        np.polynomial.chebyshev.chebder,
        r"numpy\.polynomial\.chebyshev\.chebder makes NumPy's arrays\. Write its formula with operators, .*",
    ),
    "polynomials": (np.polynomial.Polynomial([1.0, 2.0]), r"numpy\.polynomial\.polynomial\.polyval\(x, p\.coef\)\."),
}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize(("fun", "words"), NAMED_FOR_VECTORS.values(), ids=NAMED_FOR_VECTORS)
def test_a_conversion_of_a_vector_names_what_to_write(fun, words):
    with pytest.raises(TracerArrayConversionError, match=rf"float64\[2\] at .*{words}$"):
        staged(fun, np.ones(2))


NAMED = {
    "array": (
        lambda x: np.array([x, x]),
        r"traced values: numpy\.stack\(\[x, y\]\), or calque\.numpy\.array\(\[x, y\]\)\. In place of .*",
    ),
    "exp": (lambda x: np.exp([x]), r"traced values: numpy\.stack\(\[x, y\]\), or calque\.numpy\.array\(\[x, y\]\)\..*"),
    "arange": (
        lambda x: np.arange(0, x),
        r"In place of numpy\.arange\(a, b\) write a \+ numpy\.arange\(n\), with an n that is not traced\.",
    ),
    "mean": (lambda x: np.mean([x, x]), r"traced values: numpy\.mean\(numpy\.stack\(\[x, y\]\)\)\."),
    "norm": (lambda x: np.linalg.norm([x, x]), r"traced values: numpy\.linalg\.norm\(numpy\.stack\(\[x, y\]\)\)\."),
    "stack": (lambda x: np.stack([[x, x], [x, x]]), r"Use calque\.numpy\.array, or numpy\.block\."),
    "full": (lambda x: np.full(3, x), r"numpy\.full ignores the class of its arguments\. Use calque\.numpy\.full\."),
}


@pytest.mark.parametrize(("fun", "words"), NAMED.values(), ids=NAMED)
def test_where_numpy_asks_nobody_the_error_says_what_to_write(fun, words):
    with pytest.raises(TracerArrayConversionError, match=rf"float64\[\] at .*{words}$"):
        staged(fun, 2.0)


def test_a_function_of_an_ndarray_that_would_hold_tracers_names_the_other_one():
    words = refused(lambda x: np.full_like(np.zeros(3), x), 2.0)
    assert "Use calque.numpy.full_like in place of numpy.full_like" in words


@pytest.mark.parametrize("fill", [lambda x: np.zeros(2).__setitem__(0, x), lambda x: np.fromiter([x, x], float)])
def test_an_array_filled_with_tracers_says_which_and_what_to_write(fill):
    with pytest.raises(ValueError, match="setting an array element with a sequence") as caught:
        staged(fill, 2.0)
    note = str(caught.value).split("\n", 1)[1]
    assert note.startswith("float() was asked of a traced value of type ~float64[] at test_numpy_protocol.py:")
    assert "build it from its elements: numpy.stack([x, y]), or calque.numpy.array([x, y]); or" in note
    assert note.endswith("; or in place of out[i] = x write out = calque.numpy.at(out)[i].set(x).")


# Arrays with a value


VALUES = np.array([3.0, 1.0, 2.0])
WITHOUT_RULE = {
    "a function": np.trim_zeros,
    "a function of several arrays": lambda x: np.setdiff1d(x, x[:1]),
    "a function of a list": lambda x: np.setdiff1d([x, x], x[:1]),
    "a function by keyword": lambda x: np.trim_zeros(trim="f", filt=x),
    "an option": lambda x: np.mean(x, out=np.zeros(())),
    "an option of a ufunc": lambda x: np.add(x, 1.5, dtype=np.int64, casting="unsafe"),
    "a ufunc": lambda x: np.frompyfunc(abs, 1, 1)(x).astype(float),
    "a list subscript": lambda x: np.add(x, x, where=[True, False, True], out=np.zeros(3)),
}


@pytest.mark.parametrize("fun", WITHOUT_RULE.values(), ids=WITHOUT_RULE)
def test_without_a_rule_numpy_computes_what_has_a_value(host_array, fun):
    got = fun(host_array(VALUES))
    assert isinstance(got, (np.ndarray, np.generic))
    assert_same(got, fun(VALUES))


def test_with_a_rule_the_class_of_the_operand_is_kept(host_array):
    for fun in (np.sin, np.sum, lambda x: np.add(x, [1.0, 2.0, 3.0]), lambda x: np.dot([1.0, 2.0, 3.0], x)):
        got = fun(host_array(VALUES))
        assert type(got) is host_array
        assert_same(got.elements, fun(VALUES))


@pytest.mark.parametrize("fun", WITHOUT_RULE.values(), ids=WITHOUT_RULE)
def test_a_tracer_beside_it_is_refused_as_ever(fun):
    with pytest.raises(TypeError):
        staged(fun, VALUES)


def test_a_tracer_in_a_list_or_by_keyword_is_seen(host_array):
    x = host_array(VALUES)
    for fun in (
        lambda t: np.setdiff1d([x, t], x),
        lambda t: np.setdiff1d(x, ar2=t),
        lambda t: np.setdiff1d(x, (t, t)),
    ):
        with pytest.raises(NumpyRuleError):
            staged(fun, VALUES)


@pytest.mark.parametrize("convert", [np.atleast_1d, np.atleast_2d, np.atleast_3d, np.copy])
def test_a_conversion_gives_numpy_s_arrays(host_array, convert):
    out = convert(host_array(VALUES))
    assert type(out) is np.ndarray
    np.testing.assert_array_equal(out, convert(VALUES))


def test_a_copy_can_be_written_to(host_array):
    x = host_array(VALUES)
    np.copy(x)[0] = 9.0
    np.testing.assert_array_equal(x.elements, VALUES)


def test_an_ndarray_receives_the_result(host_array):
    total = np.ones(3)
    total -= 0.5 * host_array(VALUES)
    np.testing.assert_array_equal(total, [-0.5, 0.5, 0.0])
    assert np.add(host_array(VALUES), 1.0, out=total) is total
    assert np.sum(host_array(VALUES), out=np.zeros(())) == 6.0
    np.add.at(total, [0, 0], host_array([1.0, 2.0]))
    np.testing.assert_array_equal(total, [7.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "change",
    [
        lambda x: np.add(1.0, 1.0, out=x),
        lambda x: np.copyto(x, 1.0),
        lambda x: np.put(x, 0, 9.0),
        lambda x: np.place(x, np.ones(3, bool), [9.0]),
    ],
    ids=["out", "copyto", "put", "place"],
)
def test_an_array_with_a_value_cannot_be_changed_in_place(host_array, change):
    x = host_array(VALUES)
    with pytest.raises(ValueError, match="read-only") as caught:
        change(x)
    assert "A device array cannot be changed in place. Use the function's result, or change a copy" in str(caught.value)
    np.testing.assert_array_equal(x.elements, VALUES)


def test_at_does_not_write_to_read_only_memory(host_array):
    x = host_array(VALUES)
    with pytest.raises(TypeError, match=r"numpy.add.at at test_.* in place\. Use x\.at\[index\]\.add\(value\)\."):
        np.add.at(x, 0, 1.0)  # NumPy itself would write
    np.testing.assert_array_equal(x.elements, VALUES)


def test_a_traced_constant_with_a_value_is_computed_while_tracing(host_array):
    x = host_array(VALUES)
    assert_same(traced(lambda y: y * np.trim_zeros(x)[2], 2.0), np.float64(4.0))


# What is implemented elsewhere, or nowhere


def test_a_function_that_answers_is_found_by_the_function_it_stands_for(monkeypatch):
    monkeypatch.setitem(array_functions, np.nan_to_num, None)  # so that the entry is as before at the end

    @implements(np.nan_to_num)
    def nan_to_num(x):
        return 2.0 * x

    assert_same(traced(np.nan_to_num, X), 2.0 * X)


def test_a_ufunc_of_another_library_with_a_name_of_numpys_has_no_rule():
    foreign = pytest.importorskip("numpy._core._umath_tests").matmul
    assert foreign.__name__ == "matmul"
    words = refused(lambda x: foreign(x, x), np.eye(2))
    assert words.startswith("numpy.matmul of a traced array at test_numpy_protocol.py:")


def test_a_function_of_a_user_stays_when_the_module_of_ours_is_imported():
    program = """
import numpy as np
from calque_core import implements, lax, make_jaxpr
implements(np.mean)(lambda x: lax.neg(x))
implements(np.hypot)(lambda x, y: lax.neg(x))
use = lambda x: (x.std(), x.var(), np.log2(x), np.mean(x), np.hypot(x, x))
names = [eqn.primitive.name for eqn in make_jaxpr(use)(np.ones(3)).eqns]
assert names[-2:] == ["neg", "neg"], names
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


PROGRAM = """
import sys
import numpy as np
from calque_core import make_jaxpr
{setup}
for fun in [{funs}]:
    try:
        print(make_jaxpr(fun)(np.ones(2)))
    except TypeError as error:
        print(error)
    print("end of this call")
"""


def run(*calls, setup):
    """Return what each call of a traced `x` gives, or the words of its error; all are made in one new process."""
    program = PROGRAM.format(setup=setup, funs=", ".join(f"lambda x: {call}" for call in calls))
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return [words.strip() for words in done.stdout.split("end of this call")[:-1]]


def test_without_calque_numpy_the_error_names_the_package():
    names = ["numpy.unwrap", "numpy.linalg.norm", "numpy.fft.fft"]
    calls = [name.replace("numpy", "np", 1) + "(x)" for name in names]
    *functions, ufunc = run(*calls, "np.spacing(x)", setup="sys.modules['calque_numpy'] = None")
    for name, words in zip(names, functions, strict=True):
        assert words.startswith(f"{name} of a traced array at <string>:")
        assert "needs the package calque-numpy. Install it: pip install calque-numpy." in words
        assert words.endswith("call it by calque_core.pure_callback, or define a primitive.")
    assert ufunc.startswith("numpy.spacing of a traced array")


EMPTY = "import types; sys.modules['calque_numpy'] = front = types.ModuleType('calque_numpy'); front.__all__ = ()"


def test_a_function_that_nobody_implements_is_named():
    [words] = run("np.unwrap(x)", setup=EMPTY)
    assert words.startswith("numpy.unwrap of a traced array at <string>:")
    assert words.endswith("call it by calque_core.pure_callback, or define a primitive.")


ANSWERS = """
import calque_core
from calque_core import lax
ONE = lax.add(0.5, 0.5)
@calque_core.implements(np.unwrap)
def unwrap(p):
    return lax.mul(p, ONE)
"""


def test_calque_numpy_is_loaded_when_a_function_of_its_is_first_called(tmp_path):
    (tmp_path / "calque_numpy.py").write_text("import numpy as np\n__all__ = ['unwrap']\n" + ANSWERS)
    [jaxpr] = run("np.unwrap(x)", setup=f"sys.path.insert(0, {str(tmp_path)!r})")
    assert "mul" in jaxpr
    assert "add" not in jaxpr  # what the module computes when it is loaded is not traced


def test_an_error_inside_calque_numpy_is_not_mistaken_for_its_absence(tmp_path):
    (tmp_path / "calque_numpy.py").write_text("import no_such_module\n")
    with pytest.raises(subprocess.CalledProcessError) as caught:
        run("np.unwrap(x)", setup=f"sys.path.insert(0, {str(tmp_path)!r})")
    assert "No module named 'no_such_module'" in caught.value.stderr


def test_a_function_without_a_rule_names_what_to_use_instead():
    words = refused(lambda x: np.put(x, 0, 1.0), X)
    assert words.startswith("numpy.put of a traced array at test_numpy_protocol.py:")
    assert words.endswith("has no rule. Use calque.numpy.put(x, indices, values), or x.at[index].set(value).")
    [words] = run(
        "np.unpackbits(x)",
        setup=EMPTY + "; import numpy as np; from calque_core import implements\n"
        "@implements(np.packbits)\ndef packed(x): return x",
    )
    assert "A similar function with a rule is numpy.packbits. Write it" in words


def test_a_function_of_scipy_is_called_scipys():
    special = pytest.importorskip("scipy.special", reason="SciPy is installed with jaxlib, not with core")
    assert refused(lambda x: special.j0(x), X).startswith("scipy.special.j0 of a traced array at test")
