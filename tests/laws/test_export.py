"""Exported functions under every transformation: they agree with the functions that they come from."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import calque
import calque.numpy as cnp
from calque import ShapeDtypeStruct, grad, jit, jvp, lax, vmap
from calque.export import ExportError, deserialize, export

X = np.array([0.3, -1.2, 0.7])
W = {"w": np.array([[0.1, 0.2, 0.3], [1.0, -0.5, 0.2]]), "n": np.int32(2)}
KEY = calque.random.key(3)
LARGE = np.linspace(0.0, 1.0, 600).reshape(200, 3)


def loss(params, x):
    hidden = cnp.tanh(params["w"] @ x) * params["n"]
    return cnp.sum(hidden**3) + cnp.sum(cnp.sin(LARGE @ x))


@pytest.fixture(scope="module")
def again():
    return deserialize(export(jit(loss))(W, X).serialize(vjp_order=3))


def test_factorizations_travel():
    program = lambda a: (lax.linalg.cholesky(a), *lax.linalg.eigh(a))
    a = np.eye(3) + 0.1
    for got, want in zip(deserialize(export(jit(program))(a).serialize()).call(a), jit(program)(a), strict=True):
        np.testing.assert_array_equal(got, want)


def check_close(got, want):
    assert calque.tree.structure(got) == calque.tree.structure(want)
    for one, other in zip(calque.tree.leaves(got), calque.tree.leaves(want)):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-12, atol=1e-14)


by_x = lambda fun: lambda x: fun(W, x)
along = lambda fun: lambda x: cnp.sum(grad(fun)(x) * x)

TRANSFORMED = {
    "call": by_x,
    "jit": lambda fun: jit(by_x(fun)),
    "grad": lambda fun: grad(by_x(fun)),
    "grad by a dict": lambda fun: lambda x: grad(fun, allow_int=True)(W, x)["w"],
    "jit of grad": lambda fun: jit(grad(by_x(fun))),
    "grad of jit": lambda fun: grad(jit(by_x(fun))),
    "second order": lambda fun: grad(along(by_x(fun))),
    "third order": lambda fun: jit(grad(along(along(by_x(fun))))),
    "vmap": lambda fun: lambda x: vmap(by_x(fun))(np.stack([x, 2.0 * x])),
    "vmap in the middle": lambda fun: lambda x: vmap(by_x(fun), in_axes=1)(np.stack([x, 2.0 * x], axis=1)),
    "jit of vmap of grad": lambda fun: lambda x: jit(vmap(grad(by_x(fun))))(np.stack([x, 2.0 * x])),
    "grad of vmap": lambda fun: grad(lambda x: cnp.sum(vmap(by_x(fun))(cnp.stack([x, 2.0 * x])))),
    "vmap of no elements": lambda fun: lambda x: vmap(by_x(fun))(np.zeros((0, 3))),
    "scan": lambda fun: lambda x: lax.scan(lambda c, _: (c * 0.5, fun(W, c)), x, None, length=3),
    "cond": lambda fun: lambda x: lax.cond(x[0] > 0, by_x(fun), lambda x: x[0], x),
    "grad of checkpoint": lambda fun: grad(calque.checkpoint(by_x(fun))),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_an_exported_function_agrees_with_the_function_under(name, again):
    check_close(TRANSFORMED[name](again.call)(X), TRANSFORMED[name](loss)(X))


def test_the_orders_of_derivatives_are_those_that_were_serialized(again):
    orders, exported = 0, again
    while exported.has_vjp():
        orders, exported = orders + 1, exported.vjp()
    assert orders == 3
    first = deserialize(again.serialize(vjp_order=1))
    grad(by_x(first.call))(X)
    with pytest.raises(TypeError, match=r"the exported vjp_of_loss at .* has no derivative of this order or mode"):
        grad(along(by_x(first.call)))(X)
    with pytest.raises(
        ExportError, match=r"vjp_of_vjp_of_vjp_of_loss at .* has no derivative\. Serialize it with a high"
    ):
        again.serialize(vjp_order=4)


def test_the_vjp_takes_and_returns_flat_lists(again):
    backward = again.vjp()
    assert [str(aval) for aval in backward.in_avals] == ["int32[]", "float64[2,3]", "float64[3]", "float64[]"]
    by_w, by_x = backward.call([W["n"], W["w"], X], [1.0])
    want = grad(loss, argnums=(0, 1), allow_int=True)(W, X)
    check_close([by_w, by_x], [want[0]["w"], want[1]])


def test_forward_mode_and_missing_derivatives_are_refused(again):
    with pytest.raises(TypeError, match=r"can't apply forward-mode autodiff \(jvp\) to loss \(exported\)"):
        jvp(by_x(again.call), (X,), (X,))
    plain = deserialize(again.serialize())
    with pytest.raises(
        TypeError, match=r"the exported loss at .* has no derivative of this order or mode\. Serialize it"
    ):
        grad(by_x(plain.call))(X)


def test_functions_without_floating_point_arguments_have_an_empty_derivative():
    again = deserialize(export(jit(lambda n: (n + 1, n * 0.5)))(3).serialize(vjp_order=1))
    assert again.vjp().call([3], [1.0]) == []
    assert [float(x) for x in again.call(3)] == [4.0, 1.5]


def test_rules_of_the_function_travel_as_derivatives():
    @calque.custom_vjp
    def clipped(x):
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, ct: (cnp.clip(ct, -1.0, 1.0),))
    again = deserialize(export(jit(lambda x: 5.0 * clipped(x)))(2.0).serialize(vjp_order=1))
    assert grad(again.call)(2.0) == 1.0


def test_a_transformed_function_is_exported():
    step = jit(vmap(grad(loss, argnums=1), in_axes=(None, 0)))
    again = deserialize(export(step)(W, ShapeDtypeStruct((4, 3), np.float64)).serialize())
    xs = np.stack([X, -X, 2.0 * X, 0.0 * X])
    check_close(again.call(W, xs), step(W, xs))


def test_derivatives_run_in_a_process_without_the_function(tmp_path, again):
    path = tmp_path / "loss.calque"
    path.write_bytes(again.serialize(vjp_order=1))
    code = f"""
from pathlib import Path
import numpy as np
from calque_autodiff import grad
from calque_xla_backend import deserialize
again = deserialize(Path({str(path)!r}).read_bytes())
w = {{"w": np.array({W["w"].tolist()}), "n": np.int32(2)}}
print(np.asarray(grad(again.call, argnums=1)(w, np.array({X.tolist()}))).tolist())
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    check_close(np.array(json.loads(run.stdout)), grad(loss, argnums=1)(W, X))


# Random keys


def noisy(key, x):
    first, second = calque.random.split(key)
    return second, x + calque.random.normal(first, x.shape)


def test_a_function_of_random_keys_is_exported():
    data = export(jit(noisy))(KEY, X).serialize()
    check_close(deserialize(data).call(KEY, X), noisy(KEY, X))
    code = "import sys; from calque.export import deserialize as d; print(d(sys.stdin.buffer.read()).in_tree)"
    run = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True)
    assert b"KeyArray" in run.stdout


def test_an_exported_function_of_random_keys_has_derivatives():
    again = deserialize(export(jit(lambda key, x: cnp.sum(noisy(key, x)[1] ** 2)))(KEY, X).serialize(vjp_order=1))
    check_close(grad(lambda x: again.call(KEY, x))(X), grad(lambda x: cnp.sum(noisy(KEY, x)[1] ** 2))(X))
