import functools
import re
from types import SimpleNamespace

import numpy as np
import pytest

from calque_core import (
    Literal,
    ShapedArray,
    ShapeDtypeStruct,
    config,
    eval_jaxpr,
    eval_shape,
    lax,
    make_jaxpr,
)
from calque_core.errors import UnexpectedTracerError

HERE = "test_make_jaxpr.py"


def place(fun):
    return rf"{re.escape(fun.__name__)} \({HERE}:{fun.__code__.co_firstlineno}\)"


def scaled_sum(params, x, *, scale):
    return {"out": lax.add(params["w"] * x, params["b"]) * scale}


ARGS = {"w": np.arange(3.0), "b": 1.0}, np.float64(2)


@pytest.mark.parametrize("x64", [True, False], ids=["64 bits", "32 bits"])
def test_the_program_of_a_function_gives_the_leaves_of_its_result(x64):
    with config.enable_x64(x64):
        jaxpr = make_jaxpr(scaled_sum)(*ARGS, scale=3.0)
        b, w, x, scale = 1.0, *[np.asarray(v) for v in (ARGS[0]["w"], 2.0)], 3.0
        (got,) = eval_jaxpr(jaxpr, jaxpr.consts, b, w, x, scale)
        want = scaled_sum(*ARGS, scale=3.0)["out"]
    assert np.array_equal(got, want)
    assert len(jaxpr.invars) == 4


def test_types_serve_as_arguments_in_place_of_values():
    want = str(make_jaxpr(lax.sin)(np.ones(3, np.float32)))
    for spec in (ShapedArray((3,), np.float32), ShapeDtypeStruct((3,), np.float32)):
        assert str(make_jaxpr(lax.sin)(spec)) == want
        assert str(make_jaxpr(lambda tree: lax.sin(tree["a"]))({"a": spec})) == want


def test_a_weak_type_serves_as_a_python_scalar():
    jaxpr = make_jaxpr(lambda x: x * np.float32(1))(ShapedArray((), np.float64, weak_type=True))
    assert jaxpr.out_avals == [ShapedArray((), np.float32)]


def test_values_are_not_looked_at():
    jaxpr = make_jaxpr(lambda x: x + 1)(41)
    assert not any(type(v) is Literal and v.val == 41 for eqn in jaxpr.eqns for v in eqn.invars)


@pytest.mark.parametrize(
    ("argnums", "argnames", "args", "kwargs"),
    [
        (1, (), (2.0, 3), {}),
        (-1, (), (2.0, 3), {}),
        ((), "n", (2.0,), {"n": 3}),
        ((), ("n",), (2.0,), {"n": 3}),
        ((), "n", (2.0, 3), {}),
        (1, (), (2.0,), {"n": 3}),
    ],
)
def test_static_arguments_are_passed_as_they_are(argnums, argnames, args, kwargs):
    def power(x, n):
        assert type(n) is int
        for _ in range(n - 1):
            x = x * 2.0
        return x

    jaxpr = make_jaxpr(power, static_argnums=argnums, static_argnames=argnames)(*args, **kwargs)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul", "mul"]
    assert len(jaxpr.invars) == 1


def test_static_arguments_may_be_of_any_kind_and_stand_anywhere():
    def fun(config, x, name):
        return x * config["scale"] if name == "yes" else x

    jaxpr = make_jaxpr(fun, static_argnums=(2, 0))({"scale": 3.0, "note": object()}, 2.0, "yes")
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul"]


def test_a_static_position_and_a_static_name_must_exist():
    def fun(x):
        return x

    message = (
        rf"make_jaxpr of {place(fun)} got static_argnums=1, but the function has 1 positional argument\. Count from 0"
    )
    with pytest.raises(ValueError, match=message):
        make_jaxpr(fun, static_argnums=1)
    with pytest.raises(
        ValueError, match=r"got static_argnames='n', which is no argument of the function\. Name one of: x\."
    ):
        make_jaxpr(fun, static_argnames=("x", "n"))


def test_an_argument_that_is_no_array_is_named_static_ones_beside_it_or_not():
    def fun(n, params, *, mode, extra):
        return params

    message = (
        rf"make_jaxpr of {place(fun)}: params\['name'\] is 'text' of type str, which is not an array or a scalar\. Pass"
    )
    with pytest.raises(TypeError, match=message):
        make_jaxpr(fun, static_argnums=0, static_argnames="mode")(3, {"name": "text"}, mode="m", extra=1.0)
    with pytest.raises(TypeError, match=r"extra is 'text'"):
        make_jaxpr(fun, static_argnums=0, static_argnames="mode")(
            3, {"a": ShapedArray((), "f4")}, mode="m", extra="text"
        )


def test_the_error_for_a_condition_names_the_argument_beside_static_ones():
    def fun(n, x, y):
        return x if y > n else y

    with pytest.raises(TypeError, match=r"it depends on the value of the argument y\."):
        make_jaxpr(fun, static_argnums=0)(3, 1.0, 2.0)


def test_the_result_can_be_asked_for_as_types():
    jaxpr, shapes = make_jaxpr(scaled_sum, return_shape=True)(*ARGS, scale=3.0)
    assert shapes == {"out": ShapeDtypeStruct((3,), np.float64)}
    assert [a.shape for a in jaxpr.out_avals] == [(3,)]


def test_eval_shape_gives_types_and_computes_nothing():
    def fun(x, *, repeat):
        return [lax.dot(x, x)] * repeat if False else [lax.dot(x, x), x]

    shapes = eval_shape(fun, ShapeDtypeStruct((1 << 30, 1 << 30), "float32"), repeat=2)
    assert [s.shape for s in shapes] == [(1 << 30, 1 << 30)] * 2


def test_the_shape_of_a_python_number_stays_weak():
    """So that the type of a program in two steps is the type of the whole."""
    doubled = lambda x: x * 2
    weak = ShapeDtypeStruct((), "float64", weak_type=True)
    assert eval_shape(doubled, 1.0) == make_jaxpr(doubled, return_shape=True)(1.0)[1] == weak
    scaled = lambda x: x * np.ones(2, np.float32)
    assert eval_shape(scaled, eval_shape(doubled, 1.0)) == eval_shape(lambda x: scaled(doubled(x)), 1.0)
    assert eval_shape(lax.sin, 1.0) == ShapeDtypeStruct((), "float64")


def test_eval_shape_raises_what_the_function_would():
    with pytest.raises(ValueError, match=r"add of float64\[2\] and float64\[3\] at .*: the shapes do not broadcast"):
        eval_shape(lambda x: lax.add(x, np.ones(3)), np.ones(2))


def test_an_object_with_a_shape_and_a_dtype_serves_as_an_argument():
    like = SimpleNamespace(shape=(2, 3), dtype=np.dtype("float32"))
    assert eval_shape(lambda p, y: p["x"] * y, {"x": like}, y=2.0) == ShapeDtypeStruct((2, 3), "float32")
    assert str(make_jaxpr(lax.sin)(like)) == str(make_jaxpr(lax.sin)(np.ones((2, 3), np.float32)))
    for no_type in (SimpleNamespace(shape=(2,), dtype="of another library"), SimpleNamespace(shape=(2,), dtype=None)):
        with pytest.raises(TypeError, match=r"x is namespace\(.* of type SimpleNamespace, which is not an array"):
            eval_shape(lambda x: x, no_type)


def test_the_errors_of_eval_shape_name_it():
    kept = []
    eval_shape(kept.append, 1.0)
    for call, words in [
        (lambda: eval_shape(scaled_sum, {"w": "a"}, 1.0, scale=1.0), rf"eval_shape of {place(scaled_sum)}: params"),
        (lambda: eval_shape(lambda x: "a", 1.0), r"eval_shape of <lambda> \(.*\) returned 'a' of type str"),
        (lambda: eval_shape(lambda x: x if x > 0 else 1.0, 1.0), r"under eval_shape of <lambda>"),
        (lambda: eval_shape(3, 1.0), r"eval_shape got 3 of type int"),
        (lambda: kept[0] + 1.0, r"eval_shape of .*, has ended"),
    ]:
        with pytest.raises((TypeError, UnexpectedTracerError), match=words):
            call()


def test_the_tracing_function_is_named_as_the_function():
    traced = make_jaxpr(scaled_sum)
    assert traced.__name__ == "scaled_sum"
    assert traced.__wrapped__ is scaled_sum


def test_any_callable_can_be_traced():
    class Model:
        def __call__(self, x):
            return lax.sin(x)

        def step(self, x):
            return lax.sin(x)

    want = str(make_jaxpr(lax.sin)(1.0))
    for fun in (Model(), Model().step, functools.partial(lambda n, x: lax.sin(x), 1), np.sin):
        assert str(make_jaxpr(fun)(1.0)) == want


def test_what_cannot_be_called_is_refused_at_once():
    with pytest.raises(TypeError, match=rf"make_jaxpr got 3 of type int at {HERE}:\d+ \(.*\)\. Give a function\."):
        make_jaxpr(3)


def generator(x):
    yield x


def test_generators_are_refused_at_once_or_when_returned():
    def hidden(x):
        return generator(x)

    with pytest.raises(TypeError, match=rf"make_jaxpr of {place(generator)}: a generator or coroutine runs after the"):
        make_jaxpr(generator)
    with pytest.raises(TypeError, match=rf"make_jaxpr of {place(hidden)}: a generator or coroutine runs after the"):
        make_jaxpr(hidden)(1.0)
    with pytest.raises(TypeError, match=rf"eval_shape of {place(generator)}: a generator"):
        eval_shape(generator, 1.0)


def test_a_function_is_traced_anew_at_each_call():
    calls = []
    traced = make_jaxpr(lambda x: calls.append(1) or x)
    assert traced(1.0) is not traced(1.0)
    assert len(calls) == 2


def test_tracing_a_tracing_function_nests():
    jaxpr = make_jaxpr(lambda x: eval_jaxpr(make_jaxpr(lax.sin)(x), (), x))(1.0)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sin"]
