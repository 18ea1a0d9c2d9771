"""Programs as Python source: what the text is, that it runs, and what is refused."""

from __future__ import annotations

import sys
from inspect import signature
from types import ModuleType

import numpy as np
import pytest

from calque_core import Primitive, check, count_eqns, eval_jaxpr, jaxpr_equal, lax, make_jaxpr, pure_callback, to_python
from calque_core.saved.expressions import Expressions
from calque_core.saved.python_source import _PLAIN
from calque_core.saved.values import UnwritableError


def program_of(text):
    """Return the function of a text."""
    names = {}
    exec(text, names)  # our own text
    return names["program"]


def check_runs(fun, *args):
    """Check that the source of a program gives the results of the program, and the same program when it is traced."""
    jaxpr = make_jaxpr(fun)(*args)
    text = to_python(jaxpr)
    run = program_of(text)
    outs, expected = run(*args), eval_jaxpr(jaxpr, jaxpr.consts, *args)
    assert type(outs) is tuple
    for out, wanted in zip(outs, expected, strict=True):
        np.testing.assert_array_equal(out, wanted, strict=True)
    again = make_jaxpr(run)(*args)
    assert again.out_avals == jaxpr.out_avals
    return text, jaxpr, again


def test_a_straight_program_calls_plain_functions():
    text, jaxpr, again = check_runs(lambda x: lax.reduce_sum(lax.sin(x) * 2.0, (0,)), np.ones(3))
    assert text == (
        "from calque_core import lax\n"
        "\n"
        "\n"
        "def program(a):\n"
        "    b = lax.sin(a)\n"
        "    c = lax.mul(b, 2.0)\n"
        "    d = lax.reduce_sum_p.bind(c, axes=(0,))\n"
        "    return (d,)\n"
    )
    assert str(again) == str(jaxpr)


def test_weak_operands_keep_their_equations():
    _, jaxpr, again = check_runs(lambda x, y: (x * 2.0, x * y, lax.sin(x)), 3.0, np.ones(2))
    assert str(again) == str(jaxpr)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "float64", "complex64", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (0, 2), (2, 3)])
def test_small_constants_stand_in_the_text(dtype, shape):
    pytest.importorskip("ml_dtypes", reason="bfloat16 needs ml_dtypes")
    constant = np.asarray(np.arange(np.prod(shape)).reshape(shape) / 3).astype(np.dtype(dtype))
    check_runs(lambda x: (x, constant), 1.0)


def test_numbers_without_digits_are_written():
    constant = np.array([np.inf, -np.inf, np.nan, -0.0])
    text, _, again = check_runs(lambda x: (x + constant, x + np.inf), np.ones(4, np.float32))
    assert "[np.inf, -np.inf, np.nan, -0.0]" in text
    assert again.consts[0].tobytes() == constant.tobytes()


def test_large_constants_are_an_argument():
    table = np.arange(1000.0)
    jaxpr = make_jaxpr(lambda x: lax.dot(x, table) + np.array(3.0))(np.ones(1000))
    text = to_python(jaxpr)
    assert "def program(a, *, consts):\n    b = consts[0]\n" in text
    assert len(text) < 400
    outs = program_of(text)(np.ones(1000), consts=jaxpr.consts)
    np.testing.assert_array_equal(outs[0], table.sum() + 3.0)


def test_programs_inside_are_functions():
    def step(carry, x):
        loop = lambda c: lax.while_loop(lambda v: v < 9.0, lambda v: v * 2 - x, c)
        return lax.cond(x > 0, lambda c: c + x, loop, carry), x

    def fun(x, xs):
        return lax.scan(step, x, xs, reverse=True), lax.scan(lambda c, _: (c * x, ()), x, length=2)

    text, jaxpr, again = check_runs(fun, np.float64(2.0), np.array([1.0, -1.0, 3.0]))
    assert text.count("lax.scan(") == 2
    assert "reverse=True" in text
    assert count_eqns(again) >= count_eqns(jaxpr)  # `switch` clamps its index


def test_a_call_of_jit_is_a_plain_call():
    inner = make_jaxpr(lax.sin)(1.0)
    call = lambda x: lax.jit_p.bind(x, jaxpr=inner, name="inner", compiler=None)[0]
    text, _, again = check_runs(lambda x: call(call(x)), 1.0)
    assert text.count("def sin_0(a):") == 1
    assert text.count("= sin_0(") == 2
    assert len(again.eqns) == 2


def test_names_of_the_text_are_no_variables():
    def fun(y):
        values = [y]
        while len(values) < 800:  # past the names x, as, if, in, is, or, np
            values += [lax.sin(values[-1])]
        return [lax.scan(lambda c, z, v=v: (c * v, z + v), y, np.ones(2)) for v in values[15:30]]

    check_runs(fun, np.float64(0.5))


def test_the_module_of_an_operation_is_no_variable(monkeypatch):
    triple_p = Primitive("triple")
    triple_p.def_abstract_eval(lambda x: x)
    triple_p.def_impl(lambda x: x * 3.0)
    triple_p.family = "b"
    module = ModuleType("b")
    module.triple_p = triple_p
    monkeypatch.setitem(sys.modules, "b", module)
    text, _, _ = check_runs(lambda x: triple_p.bind(triple_p.bind(x)), 1.0)
    assert text.startswith("import b\n")
    assert "    c = b.triple_p.bind(a)\n    d = b.triple_p.bind(c)\n" in text


@pytest.mark.parametrize("name", sorted(_PLAIN))
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int32"])
def test_a_plain_function_is_its_one_equation(name, dtype):
    x, number, primitive = np.ones(3, dtype), np.dtype(dtype).type(2), getattr(lax, f"{name}_p")
    programs = [
        lambda x: primitive.bind(x, x),
        lambda x: primitive.bind(x, number),
        lambda x: primitive.bind(number, x),
    ]
    if list(signature(getattr(lax, name)).parameters)[1:2] != ["y"]:
        programs = [primitive.bind]
    for program in programs:
        try:
            jaxpr = make_jaxpr(program)(x)
        except TypeError:  # there is no such operation of this dtype
            assert dtype in ("complex64", "int32")
            continue
        text = to_python(jaxpr)
        assert f"lax.{name}(" in text
        assert jaxpr_equal(make_jaxpr(program_of(text))(x), jaxpr)


def test_a_function_named_as_a_step_hides_none():
    def step_1(c, x):
        return c + x, c

    fun = lambda xs: (lax.scan(step_1, 0.0, xs), lax.scan(lambda c, x: (c, x), np.float32(1), xs))
    check_runs(fun, np.ones(3))


def test_programs_nest_deeply():
    jaxpr = make_jaxpr(lax.sin)(1.0)
    for _ in range(3000):
        jaxpr = make_jaxpr(lambda x, inner=jaxpr: lax.jit_p.bind(x, jaxpr=inner, name="f", compiler=None)[0])(1.0)
    assert to_python(jaxpr).count("def ") == 3001


REFUSED = [
    (lambda x: pure_callback(np.sin, x, x), r"the parameter 'callback' of 'pure_callback' at .* is an object of class"),
    (lambda x: lax.composite(lax.sin, name="s")(x), r"the equation 'composite' at .* holds a program"),
    (lambda x: (check(x > 0, "no"), x)[1], r"the parameter 'check' of 'check' at .* is an object of class Check"),
    (lambda x: hidden_p.bind(x), r"an operation is the primitive 'hidden' without a public name hidden_p"),
]
hidden_p = Primitive("hidden")
hidden_p.def_abstract_eval(lambda x: x)
hidden_p.family = "__main__"


@pytest.mark.parametrize(("fun", "words"), REFUSED)
def test_what_is_no_source_is_refused_by_name(fun, words):
    jaxpr = make_jaxpr(fun)(np.float64(1.0))
    with pytest.raises(TypeError, match=f"to_python: {words}.* cannot be written as source"):
        to_python(jaxpr)


def test_a_traced_constant_and_a_function_are_refused():
    def fun(x):
        with pytest.raises(TypeError, match=r"a constant is a traced value, .* Pass it as an argument"):
            to_python(make_jaxpr(lambda y: x * y)(1.0))
        return x

    make_jaxpr(fun)(1.0)
    with pytest.raises(TypeError, match=r"to_python got the function .* Trace it first"):
        to_python(lax.sin)


def test_values_of_unknown_classes_are_refused():
    with pytest.raises(UnwritableError, match="an object of class object"):
        Expressions().value((1, object()))
