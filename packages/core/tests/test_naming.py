from itertools import islice

import numpy as np
import pytest

from calque_core import Jaxpr, JaxprEqn, ShapedArray, Var, lax, make_jaxpr
from calque_core.show.naming import Options, Scope, fresh_names, param_text, shared_names, shown_params

F64 = ShapedArray((), "float64")


def test_names_are_unique_and_leave_out_words_of_the_grammar():
    names = list(islice(fresh_names({"b"}), 20_000))
    assert names[:3] == ["a", "c", "d"]
    assert len(set(names)) == len(names)
    assert not {"b", "in", "let", "nan", "inf", "lambda"} & set(names)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (True, "True"),
        (np.dtype("int8"), "int8"),
        ((1,), "(1,)"),
        ([1, (2, "a")], "[1, (2, 'a')]"),
        ("two\nlines", "two lines"),
        (np.float32, "float32"),
        (np.ones((2, 2), np.int8), "array(int8[2, 2])"),
        ({"a": 1}, "{'a': 1}"),
    ],
)
def test_parameters_fit_on_one_line(value, text):
    assert param_text(value) == text


def test_the_name_stands_first_and_the_rest_is_sorted():
    eqn = JaxprEqn(lax.sin_p, [], [], {"z": 1, "name": "f", "a": 2})
    assert shown_params(eqn) == [("name", "f"), ("a", 2), ("z", 1)]


def test_a_variable_keeps_its_name_in_its_scope():
    x, y = Var(F64), Var(F64)
    scope = Scope(Jaxpr((), [x], [], [x]), fresh_names(), Options(), drops=True)
    assert [scope.atom(x), scope.result(y), scope.atom(x), scope.result(x)] == ["a", "_", "a", "a"]


def test_shared_programs_get_names_of_their_own():
    x = Var(F64)
    sine, other = make_jaxpr(lax.sin)(1.0), make_jaxpr(lax.sin)(1.0)
    nameless = make_jaxpr(lambda y: y * 2.0)(1.0)
    eqns = [JaxprEqn(lax.jit_p, [x], [Var(F64)], {"jaxpr": j, "name": "f"}) for j in (sine, other, nameless) * 2]
    names = [name for name, _ in shared_names(Jaxpr((), [x], eqns, [])).values()]
    assert names == ["sin", "sin1", "lambda_"]
