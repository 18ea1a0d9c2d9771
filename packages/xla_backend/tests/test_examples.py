"""The acceptance examples that core and the backend run, each under its id.

| id | claim |
| --- | --- |
| A-26 | a tracer that escapes from `jit` is refused |
| A-30 | `jit` traces once for equal types |
| A-31 | `jit` of a reduction |
| A-36 | device arrays behave as arrays, and are arguments; derivatives of them are in tests/laws |
| A-74 | `jit` of `cond` |
| J-9 | the text of a jitted function inside another |
| P-06 | `jit` of a new primitive without a type rule |
| P-08, P-09, P-10 | the same without and with a lowering rule |
| P-11 | the same with a static argument |
"""

import re
import threading

import numpy as np
import pytest

import calque_xla_backend as xla_backend
from calque_core import (
    MissingRuleError,
    Primitive,
    ShapedArray,
    UnexpectedTracerError,
    check_jaxpr,
    config,
    eval_context,
    make_jaxpr,
    trace_state_clean,
)
from calque_core.lax import cond, cos, full, reduce_sum, sin
from calque_xla_backend import Array, hlo, jit

J9 = """\
{ lambda ; a:f32[]. let
    b:f32[] = sub a 2.0
    c:f32[1] = jit[
      name=inner
      jaxpr={ lambda ; d:f32[] e:f32[]. let
          f:f32[1] = broadcast_in_dim[broadcast_dimensions=() shape=(1,)] 1.0
          g:f32[1] = mul d f
          h:f32[1] = add e g
        in (h,) }
    ] a b
    i:f32[1] = add a c
  in (i,) }"""


# jit refuses a tracer where it does not belong, and says where it was made.


def test_A_26_a_tracer_of_an_ended_jit_is_refused():
    kept = []

    @jit
    def leak(x):
        kept.append(sin(x))
        return x

    leak(1.0)
    line = leak.__wrapped__.__code__.co_firstlineno
    for use in (lambda: cos(kept[0]), lambda: jit(lambda x: x * kept[0])(1.0), lambda: leak(kept[0])):
        with pytest.raises(UnexpectedTracerError) as caught:
            use()
        assert f"its trace, jit of leak (test_examples.py:{line}), has ended" in str(caught.value)
        assert re.search(rf"It was made at .*test_examples\.py:{line + 2} ", str(caught.value))
    assert trace_state_clean()


def test_A_26_a_tracer_of_a_jit_in_another_thread_is_refused():
    caught = []

    @jit
    def elsewhere(x):
        def work():
            for use in (lambda: sin(x), lambda: jit(lambda y: y)(x)):
                with pytest.raises(UnexpectedTracerError) as error:
                    use()
                caught.append(str(error.value))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return x

    elsewhere(1.0)
    line = elsewhere.__wrapped__.__code__.co_firstlineno
    assert len(caught) == 2
    assert all(f"jit of elsewhere (test_examples.py:{line}) in another thread" in text for text in caught)
    assert all(re.search(r"It was made at .*test_examples\.py:\d+ ", text) for text in caught)


def test_A_26_a_tracer_of_an_open_jit_that_reaches_evaluation_is_refused():
    @jit
    def evaluated(x):
        with eval_context():
            return sin(x)

    with pytest.raises(UnexpectedTracerError) as caught:
        evaluated(1.0)
    line = evaluated.__wrapped__.__code__.co_firstlineno
    expected = f"it belongs to jit of evaluated (test_examples.py:{line}), and evaluation runs outside of it"
    assert expected in str(caught.value)
    assert re.search(r"It was made at .*test_examples\.py:\d+ ", str(caught.value))
    assert trace_state_clean()


# Compilation (A).


def test_A_30_a_function_is_traced_once_for_equal_types(capsys):
    @jit
    def f(x, y):
        print("tracing!")
        return sin(x) * cos(y)

    print(f(3.0, 4.0))
    print(f(4.0, 5.0))
    assert capsys.readouterr().out == "tracing!\n-0.09224219304455371\n-0.21467624978306993\n"


def test_A_30_another_type_is_another_trace(capsys):
    @jit
    def f(x):
        print("tracing!")
        return sin(x)

    for x in (3.0, np.float64(3.0), np.float64(4.0), np.float32(3.0), np.ones(3), np.zeros(3)):
        f(x)
    assert capsys.readouterr().out == "tracing!\n" * 4


def test_A_31_a_reduction():
    assert str(jit(lambda x: reduce_sum(x, axis=0))(np.array([1.0, 2.0, 3.0]))) == "6.0"


def test_A_36_results_are_device_arrays_that_look_like_numpy_arrays():
    out = jit(lambda x: sin(x) * 2.0)(np.array([1.0, 2.0], np.float32))
    assert type(out) is Array
    assert (out.dtype, out.shape, out.ndim, out.size) == (np.dtype("float32"), (2,), 1, 2)
    assert type(np.asarray(out)) is np.ndarray
    assert str(out) == str(np.asarray(out))
    assert repr(jit(lambda: full((2,), 1.5))()) == "Array([1.5, 1.5], dtype=float64)"


def test_A_36_infix_operators_on_device_arrays_stay_on_the_device():
    x = jit(lambda: full((2,), 3.0))()
    results = [x + x, x - 1.0, 2.0 * x, x / np.float64(2.0), x**2, -x, x @ x, np.ones(2) + x, abs(-x)]
    assert {type(r) for r in results} == {Array}
    assert [np.asarray(r).tolist() for r in results] == [
        [6.0, 6.0], [2.0, 2.0], [6.0, 6.0], [1.5, 1.5], [9.0, 9.0], [-3.0, -3.0], 18.0, [4.0, 4.0], [3.0, 3.0],
    ]  # fmt: skip
    assert [bool(b) for b in (x == x)] == [True, True]
    assert (float(x[0]), int(x[1]), float(x.sum())) == (3.0, 3, 6.0)


def test_A_36_device_arrays_are_arguments(capsys):
    @jit
    def f(x):
        print("tracing!")
        return sin(x) * 2.0

    once = f(np.array([3.0]))
    assert np.asarray(f(once)).tolist() == np.asarray(f(np.asarray(once))).tolist()
    np.testing.assert_allclose(np.asarray(f(once)), 2.0 * np.sin(2.0 * np.sin([3.0])), rtol=1e-14)
    assert capsys.readouterr().out == "tracing!\n"


def test_A_36_nothing_is_copied_to_the_host(monkeypatch):
    x = jit(lambda: full((2,), 3.0))()

    def refuse(*_):
        raise AssertionError("a copy to the host")

    monkeypatch.setattr("calque_xla_backend.runtime.array.to_numpy", refuse)
    out = jit(lambda x: sin(x) * 2.0)(x)
    results = [out + x, sin(out), jit(lambda x: x)(out)]
    monkeypatch.undo()
    np.testing.assert_allclose(np.asarray(results[0]), [2.0 * np.sin(3.0) + 3.0] * 2, rtol=1e-14)


def test_A_74_cond():
    assert str(jit(lambda: cond(False, lambda: 1, lambda: 2))()) == "2"
    assert str(jit(lambda x: cond(x > 0.0, lambda: x, lambda: -x))(-3.0)) == "3.0"


# J: the text of nested programs


def func12(arg):
    @jit
    def inner(x):
        return x + arg * full((1,), 1.0)  # include a constant in the inner function

    return arg + inner(arg - 2.0)


def test_J_9_a_closed_over_tracer_is_an_explicit_operand_and_a_constant_stays_inside():
    with config.enable_x64(False):
        jaxpr = make_jaxpr(func12)(5.0)
    assert str(jaxpr) == J9
    check_jaxpr(jaxpr)


def test_J_9_the_function_runs():
    assert np.asarray(func12(5.0)).tolist() == [13.0]
    assert np.asarray(jit(func12)(5.0)).tolist() == [13.0]


# P: a new primitive, in both regimes


@pytest.fixture(params=["64 bits", "32 bits"])
def dtype(request):
    """The dtype of Python floats in the regime of the test."""
    if request.param == "64 bits":
        yield np.dtype("float64")
    else:
        with config.enable_x64(False):
            yield np.dtype("float32")


class MultiplyAdd:
    """The primitive `x * y + z` with the rules asked for; `log` has an entry for each call of a rule."""

    def __init__(self, *kinds):
        self.log = []
        self.primitive = Primitive("multiply_add")
        for kind in kinds:
            getattr(self, f"give_{kind}")()

    def square_add(self, a, b):
        return self.primitive.bind(a, a, b)

    def give_impl(self):
        @self.primitive.def_impl
        def multiply_add_impl(x, y, z):
            self.log.append(("impl", x, y, z))
            return np.add(np.multiply(x, y), z)

    def give_abstract_eval(self):
        @self.primitive.def_abstract_eval
        def multiply_add_abstract_eval(x, y, z):
            self.log.append(("abstract_eval", x, y, z))
            return ShapedArray(x.shape, x.dtype)

    def give_lowering(self):
        def multiply_add_lowering(ctx, xc, yc, zc):
            self.log.append(("lowering", xc, yc, str(zc.owner)))
            return [hlo.AddOp(hlo.MulOp(xc, yc), zc).result]

        assert (
            xla_backend.register_lowering(self.primitive, multiply_add_lowering, platform="cpu")
            is multiply_add_lowering
        )

    def bind_note(self):
        line = MultiplyAdd.square_add.__code__.co_firstlineno + 1
        return f"'multiply_add' was bound at test_examples.py:{line} (MultiplyAdd.square_add)."


@pytest.mark.usefixtures("dtype")
def test_P_06_jit_without_a_type_rule_says_what_is_missing():
    f = MultiplyAdd("impl")
    with pytest.raises(NotImplementedError) as caught:
        jit(f.square_add)(2.0, 10.0)
    error = caught.value
    assert str(error).splitlines() == [
        "Abstract evaluation for 'multiply_add' not implemented",
        "calque_core reads this rule; register one with multiply_add_p.def_abstract_eval(fn).",
    ]
    assert error.__notes__[:-1] == [
        f.bind_note(),
        "Rules that 'multiply_add' has: impl.",
    ]
    assert (type(error), error.kind, error.package) == (MissingRuleError, "abstract_eval", "calque_core")
    assert f.log == []
    assert trace_state_clean()


def test_P_08_jit_without_a_lowering_rule_types_once_and_says_what_is_missing(dtype):
    f = MultiplyAdd("impl", "abstract_eval")
    with pytest.raises(NotImplementedError) as caught:
        jit(f.square_add)(2.0, 10.0)
    assert [(kind, *map(repr, avals)) for kind, *avals in f.log] == [("abstract_eval", *(f"~{dtype}[]",) * 3)]
    assert repr(f.primitive.rules["abstract_eval"](*f.log[0][1:])) == f"{dtype}[]"
    error = caught.value
    how = "calque_xla_backend.register_lowering(multiply_add_p, fn, platform='cpu')"
    assert str(error).splitlines() == [
        "MLIR translation rule for primitive 'multiply_add' not found for platform cpu",
        f"calque_xla_backend reads this rule; register one with {how}.",
    ]
    assert error.__notes__[:2] == [
        f.bind_note(),
        "Rules that 'multiply_add' has: abstract_eval, impl.",
    ]
    assert (type(error), error.kind, error.platform) == (MissingRuleError, "lowering", "cpu")
    assert error.package == "calque_xla_backend"


@pytest.mark.usefixtures("dtype")
def test_P_09_a_lowering_rule_is_for_one_platform():
    f = MultiplyAdd("impl", "abstract_eval", "lowering")
    assert set(f.primitive.rules) == {"impl", "abstract_eval", ("lowering", "cpu")}


@pytest.mark.usefixtures("dtype")
def test_P_09_a_lowering_rule_may_be_given_with_core_alone():
    f = MultiplyAdd("impl", "abstract_eval")

    @f.primitive.def_rule("lowering", platform="cpu")
    def multiply_add_lowering(ctx, xc, yc, zc):
        return [hlo.add(hlo.multiply(xc, yc), zc)]

    assert str(jit(f.square_add)(2.0, 10.0)) == "14.0"


def test_P_10_jit_types_once_lowers_once_and_does_not_evaluate(dtype):
    f = MultiplyAdd("impl", "abstract_eval", "lowering")
    jitted = jit(lambda x, y: f.square_add(x, y))
    out = jitted(2.0, 10.0)
    assert (str(out), out.dtype) == ("14.0", dtype)
    assert [kind for kind, *_ in f.log] == ["abstract_eval", "lowering"]
    assert str(jitted(3.0, 20.0)) == "29.0"
    assert len(f.log) == 2


def test_P_11_a_static_argument_is_a_value_and_a_constant_of_the_program(dtype):
    f = MultiplyAdd("impl", "abstract_eval", "lowering")
    seen = []

    def square_add(x, y):
        seen.append((x, y))
        return f.square_add(x, y)

    assert str(jit(square_add, static_argnums=1)(2.0, 10.0)) == "14.0"
    [(x, y)] = seen
    assert (repr(x), repr(y)) == (f"JitTracer(~{dtype}[])", "10.0")
    assert [kind for kind, *_ in f.log] == ["abstract_eval", "lowering"]
    assert "stablehlo.constant" in f.log[1][-1]
