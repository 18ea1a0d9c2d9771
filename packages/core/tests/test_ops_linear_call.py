"""`linear_call`, and `linear_transpose`, which this package binds and others transpose."""

import re

import numpy as np
import pytest

from calque_core import ShapedArray, check_jaxpr, dce_jaxpr, eval_jaxpr, interpret, lax, make_jaxpr, stage, typeof
from calque_core.lax import linear_call_p, linear_transpose_p
from calque_core.ops.calls.linear_call import linear_call

HERE = "test_ops_linear_call.py"


def scale(r, x):
    return lax.mul(r, x)


def scale_transpose(r, ct):
    return lax.mul(r, ct)


def at(fun):
    return rf"{re.escape(fun.__name__)} \({HERE}:{fun.__code__.co_firstlineno}\)"


def the_eqn(jaxpr, primitive):
    (found,) = [eqn for eqn in jaxpr.eqns if eqn.primitive is primitive]
    return found


# linear_call


def test_a_linear_call_is_its_function_evaluated_and_staged():
    run = lambda r, x: linear_call(scale, scale_transpose, r, x)
    jaxpr = make_jaxpr(run)(2.0, np.arange(3.0))
    check_jaxpr(jaxpr)

    assert run(2.0, np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
    assert eval_jaxpr(jaxpr, jaxpr.consts, 2.0, np.arange(3.0))[0].tolist() == [0.0, 2.0, 4.0]


def test_arguments_and_result_are_trees():
    def fun(r, x):
        return {"out": r["a"] * x[0] + x[1], "same": [x[1]]}

    def fun_transpose(r, ct):
        return ct["out"] * r["a"], ct["out"] + ct["same"][0]

    out = linear_call(fun, fun_transpose, {"a": 2.0}, (3.0, 4.0))

    assert out == {"out": 10.0, "same": [4.0]}


def test_values_that_both_functions_close_over_are_one_residual():
    def run(y, x):
        return linear_call(lambda _, x: x * y, lambda _, ct: ct * y, None, x)

    eqn = the_eqn(make_jaxpr(run)(2.0, 3.0), linear_call_p)

    assert eqn.params["num_res"] == 1
    assert [len(eqn.params[name].invars) for name in ("callee", "transpose")] == [2, 2]
    assert run(2.0, 3.0) == 6.0


def test_residuals_may_be_integers():
    assert linear_call(lambda n, x: x * n, lambda n, ct: ct * n, 3, 2.0) == 6.0


@pytest.mark.parametrize("x", [1, np.arange(3), np.array([True])])
def test_linear_arguments_that_are_not_floating_are_refused(x):
    with pytest.raises(TypeError, match=rf"^linear_call of {at(scale)} at {HERE}.*: linear_args is .*, not of a float"):
        linear_call(scale, scale_transpose, 2.0, x)


def test_a_result_that_is_not_floating_is_refused():
    def compare(r, x):
        return {"is_less": x < r}

    with pytest.raises(TypeError, match=r"the result\['is_less'\] is bool\[\], not of a floating dtype. Convert it"):
        linear_call(compare, scale_transpose, 2.0, 1.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda r, ct: (ct,), "returned the structure .*, but linear_args has the structure"),
        (
            lambda r, ct: ct.sum(),
            r"returned float64\[\] for linear_args, which is float64\[3\]\. Return the shapes and dtypes of",
        ),
        (
            lambda r, ct: lax.convert_element_type(ct, "float32"),
            r"returned float32\[3\] for linear_args, which is float64\[3\]",
        ),
    ],
)
def test_a_transpose_that_does_not_give_cotangents_of_the_arguments_is_refused(wrong, message):
    with pytest.raises(
        TypeError, match=rf"^linear_call of {at(scale)} at {HERE}.*: fun_transpose {at(wrong)} {message}"
    ):
        linear_call(scale, wrong, 2.0, np.ones(3))


def test_what_is_not_a_function_is_refused():
    with pytest.raises(TypeError, match=r"^linear_call got 3 of type int .*Give a function\."):
        linear_call(scale, 3, 1.0, 1.0)


def test_a_call_that_nobody_uses_is_dropped():
    jaxpr = make_jaxpr(lambda r, x: (linear_call(scale, scale_transpose, r, x), r))(2.0, 1.0)

    assert dce_jaxpr(jaxpr, [False, True])[0].eqns == ()


def test_programs_for_other_operands_are_refused_when_bound():
    params = the_eqn(make_jaxpr(lambda r, x: linear_call(scale, scale_transpose, r, x))(2.0, 1.0), linear_call_p).params
    with pytest.raises(
        TypeError,
        match=(
            r"linear_call got operands of types \(float64\[\], float64\[2\]\), but its program takes \(float64\[\], "
            "float64"
        ),
    ):
        stage(
            lambda r, x: linear_call_p.bind(r, x, **params), [ShapedArray((), "float64"), ShapedArray((2,), "float64")]
        )
    wrong = stage(lambda r, x: [r], [ShapedArray((), "float64"), ShapedArray((2,), "float64")])
    with pytest.raises(TypeError, match=r"^the transpose of linear_call got operands"):
        stage(lambda r, x: linear_call_p.bind(r, x, **params | {"transpose": wrong}), [ShapedArray((), "float64")] * 2)


def test_an_interpreter_goes_into_the_program():
    jaxpr = make_jaxpr(lambda r, x: linear_call(scale, scale_transpose, r, x))(2.0, 3.0)

    assert interpret(jaxpr, {lax.mul_p: lambda x, y: x + y}, 2.0, 3.0) == [5.0]


# linear_transpose

PROGRAM = stage(lambda r, x: [r * x, x.sum()], [ShapedArray((3,), "float64")] * 2)
TYPES = [ShapedArray((3,), "float64"), ShapedArray((3,), "float64"), ShapedArray((), "float64")]


def test_a_transpose_has_the_types_of_the_linear_arguments():
    jaxpr = stage(lambda r, *cts: linear_transpose_p.bind(r, *cts, jaxpr=PROGRAM, num_res=1), TYPES)
    check_jaxpr(jaxpr)

    assert [aval.str_short() for aval in jaxpr.out_avals] == ["f64[3]"]


def test_cotangents_of_other_types_than_those_of_the_results_are_refused():
    with pytest.raises(
        TypeError,
        match=r"^linear_transpose got cotangents of types \(float64\[3\]\), "
        r"but the program returns \(float64\[3\], float64\[\]\)",
    ):
        stage(lambda r, ct: linear_transpose_p.bind(r, ct, jaxpr=PROGRAM, num_res=1), TYPES[:2])


def test_without_the_package_that_transposes_evaluation_says_what_to_do(monkeypatch):
    monkeypatch.delitem(linear_transpose_p.adapted, "decomposition", raising=False)
    with pytest.raises(
        NotImplementedError,
        match=rf"evaluated at {HERE}.*Import calque_autodiff, which can\. Install it: pip install calque-autodiff\.$",
    ):
        linear_transpose_p.bind(np.ones(3), np.ones(3), 1.0, jaxpr=PROGRAM, num_res=1)


def test_evaluation_runs_what_that_package_makes_of_it(monkeypatch):
    def decomposition(r, *cts, jaxpr, num_res):
        return [cts[0] * r + cts[1]]

    monkeypatch.setitem(linear_transpose_p.adapted, "decomposition", decomposition)

    (out,) = linear_transpose_p.bind(np.arange(3.0), np.ones(3), 1.0, jaxpr=PROGRAM, num_res=1)

    assert out.tolist() == [1.0, 2.0, 3.0]
    assert typeof(out) == PROGRAM.in_avals[1]
