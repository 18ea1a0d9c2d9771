"""Jacobians, Hessians and their products, against differences."""

import numpy as np
import pytest

import calque
from calque import hessian, hvp, jacfwd, jacobian, jacrev, make_jaxpr
from calque_core import Primitive

X = np.array([0.3, -1.2, 0.7])


def vector_function(x):
    return np.stack([np.sin(x[0]) * x[1], x[1] * x[2] + x[0], np.exp(x[2]), x[0] * x[0]])


def scalar_function(x):
    return np.sin(x[0]) * x[1] * x[2] + np.exp(x[1] * x[2])


def differences(fun, x, step=1e-6):
    columns = []
    for i in range(x.size):
        shift = np.zeros_like(x)
        shift.flat[i] = step
        columns.append((np.asarray(fun(x + shift)) - np.asarray(fun(x - shift))) / (2 * step))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("transform", [jacfwd, jacrev, jacobian])
def test_a_jacobian_agrees_with_differences(transform):
    jacobian_of = transform(vector_function)(X)
    assert jacobian_of.shape == (4, 3)
    np.testing.assert_allclose(jacobian_of, differences(vector_function, X), atol=1e-8)


def test_a_hessian_agrees_with_differences_of_the_gradient():
    found = hessian(scalar_function)(X)
    assert found.shape == (3, 3)
    np.testing.assert_allclose(found, differences(calque.grad(scalar_function), X), atol=1e-7)


def test_both_modes_give_the_same_structure_for_pytrees():
    def fun(params, y):
        return {"a": params["w"] @ y, "b": (np.sum(params["w"]) * params["s"],)}

    params = {"w": np.arange(6.0).reshape(2, 3), "s": np.float64(2.0)}
    forward, reverse = jacfwd(fun)(params, X), jacrev(fun)(params, X)
    assert calque.tree.structure(forward) == calque.tree.structure(reverse)
    assert forward["a"]["w"].shape == (2, 2, 3)
    assert forward["b"][0]["s"].shape == ()
    for left, right in zip(calque.tree.leaves(forward), calque.tree.leaves(reverse)):
        np.testing.assert_allclose(left, right, atol=1e-12)


def test_a_sequence_of_argnums_gives_a_tuple():
    def fun(x, y):
        return x * y

    for transform in (jacfwd, jacrev):
        by_x, by_y = transform(fun, argnums=(0, -1))(X, 2.0)
        np.testing.assert_allclose(by_x, 2.0 * np.eye(3))
        np.testing.assert_allclose(by_y, X)
        (alone,) = transform(fun, argnums=[1])(X, 2.0)
        np.testing.assert_allclose(alone, X)


@pytest.mark.parametrize("transform", [jacfwd, jacrev])
@pytest.mark.parametrize("chunk_size", [None, 2])
def test_arguments_may_be_chosen_by_name_however_they_are_passed(transform, chunk_size):
    def fun(x, y, *, z=1.0):
        return x * y * z

    for call in (lambda f: f(X, 2.0, z=3.0), lambda f: f(X, y=2.0, z=3.0), lambda f: f(x=X, y=2.0, z=3.0)):
        by_y = call(transform(fun, argnames="y", chunk_size=chunk_size))
        np.testing.assert_allclose(by_y, 3.0 * X)
        by_name = call(transform(fun, argnames=["z", "x"], chunk_size=chunk_size))
        assert by_name.keys() == {"x", "z"}
        np.testing.assert_allclose(by_name["x"], 6.0 * np.eye(3))
        np.testing.assert_allclose(by_name["z"], 2.0 * X)
    by_x, by_z = transform(fun, argnums=(0,), argnames="z", chunk_size=chunk_size)(X, 2.0, z=3.0)
    np.testing.assert_allclose(by_x[0], 6.0 * np.eye(3))
    np.testing.assert_allclose(by_z, 2.0 * X)


def test_a_hessian_may_be_by_name():
    def fun(p, scale):
        return scale * np.sum(p["w"] ** 3)

    by_name = hessian(fun, argnames="p")({"w": X}, scale=2.0)
    np.testing.assert_allclose(by_name["w"]["w"], 2.0 * np.diag(6 * X))
    both = hessian(fun, argnames=("p", "scale"))({"w": X}, scale=2.0)
    np.testing.assert_allclose(both["scale"]["p"]["w"], 3 * X**2)


@pytest.mark.parametrize("transform", [jacfwd, jacrev, hessian])
def test_a_name_that_the_call_does_not_pass_is_refused(transform):
    with pytest.raises(ValueError, match=r"jac(fwd|rev) of .* got argnames='w', but the call passes no argument 'w'"):
        transform(lambda x, w=1.0: x * w, argnames="w")(2.0)


@pytest.mark.parametrize("pair", [tuple, list])
def test_aux_is_passed_through(pair):
    def fun(x):
        return pair([x * x, {"norm": np.sum(x), "name": 3}])

    for transform in (jacfwd, jacrev):
        found, aux = transform(fun, has_aux=True)(X)
        np.testing.assert_allclose(found, np.diag(2 * X))
        assert aux["norm"] == np.sum(X)
        assert aux["name"] == 3
    found, aux = hessian(lambda x: pair([np.sum(x**3), x]), has_aux=True)(X)
    np.testing.assert_allclose(found, np.diag(6 * X))
    np.testing.assert_array_equal(aux, X)


def test_hvp_of_one_argument_has_the_structure_of_its_gradient():
    product = hvp(lambda p: np.sum(p["w"] ** 3), ({"w": X},), ({"w": np.ones(3)},))
    np.testing.assert_allclose(product["w"], 6 * X)
    assert hvp(lambda x: x**3, [2.0], [1.0]) == 12.0


def test_hvp_is_the_product_with_the_hessian():
    direction = np.array([1.0, 2.0, -0.5])
    product = hvp(scalar_function, (X,), (direction,))
    np.testing.assert_allclose(product, hessian(scalar_function)(X) @ direction, atol=1e-12)


def test_hvp_of_two_arguments_has_their_structure():
    first, second = hvp(lambda x, p: np.sum(x * x * p["s"]), (X, {"s": 2.0}), (np.ones(3), {"s": 1.0}))
    np.testing.assert_allclose(first, 2 * 2.0 + 2 * X)
    np.testing.assert_allclose(second["s"], np.sum(2 * X))


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_the_jacobian_of_or_in_one_number_has_the_axes_of_that_number(shape):
    of_one = lambda p: np.reshape(np.sum(p["w"] ** 3), shape)
    np.testing.assert_array_equal(jacrev(of_one)({"w": X})["w"], np.reshape(3 * X**2, (*shape, 3)))
    in_one = lambda p: {"y": np.sum(p["w"]) * X}
    np.testing.assert_array_equal(jacfwd(in_one)({"w": np.ones(shape)})["y"]["w"], np.reshape(X, (3, *shape)))
    assert jacfwd(of_one)({"w": X})["w"].shape == (*shape, 3)
    assert jacrev(in_one)({"w": np.ones(shape)})["y"]["w"].shape == (3, *shape)


def test_the_jacobian_of_a_scalar_function_has_as_many_equations_as_its_gradient():
    gradient, rows = (make_jaxpr(transform(scalar_function))(X) for transform in (calque.grad, jacrev))
    assert len(rows.eqns) == len(gradient.eqns)


def tripling_primitive():
    """Return a primitive, x -> 3 x, and the list of the calls of its rules."""
    calls = []
    triple_p = Primitive("triple_by_rules")
    triple_p.def_impl(lambda x: np.multiply(3.0, x), leaf=True)
    triple_p.def_abstract_eval(lambda x: x.strip_weak_type())
    triple_p.def_rule("transpose", lambda ct, x: [calls.append("transpose") or triple_p.bind(ct)])

    def jvp_rule(primals, tangents):
        calls.append("jvp")
        return triple_p.bind(*primals), triple_p.bind(*tangents)

    def batch_rule(args, dims):
        calls.append("batch")
        return triple_p.bind(*args), dims[0]

    triple_p.def_rule("jvp", jvp_rule)
    triple_p.def_rule("batch", batch_rule)
    return triple_p, calls


@pytest.mark.parametrize(
    "derivative",
    [
        hessian,
        lambda f: jacfwd(jacfwd(f)),
        lambda f: jacrev(jacrev(f)),
        lambda f: calque.vmap(hessian(f), axis_size=2, in_axes=None),
        lambda f: calque.grad(lambda x: np.sum(calque.vmap(f)(np.stack([x, x])))),
        lambda f: jacfwd(calque.grad(lambda x: np.sum(calque.vmap(f)(np.stack([x, x]))))),
    ],
)
def test_the_tenth_call_of_a_nested_derivative_runs_no_rule(derivative):
    triple_p, calls = tripling_primitive()
    f = lambda x: np.sum(triple_p.bind(x * np.arange(1.0, 4.0)) * triple_p.bind(np.sin(x)))
    first, *_ = [derivative(f)(X) for _ in range(9)]
    assert calls
    calls.clear()
    np.testing.assert_allclose(derivative(f)(X), first, rtol=1e-14)
    assert not calls


def test_empty_and_scalar_inputs_have_jacobians():
    assert jacrev(lambda x: x * 2.0)(np.zeros(0)).shape == (0, 0)
    assert jacfwd(lambda x: x * 2.0)(np.zeros(0)).shape == (0, 0)
    assert jacfwd(lambda x: x * 3.0)(2.0) == 3.0


@pytest.mark.parametrize("transform", [jacfwd, jacrev])
def test_integer_arguments_are_refused_by_type(transform):
    with pytest.raises(TypeError, match=r"jac(fwd|rev) of .* got ~int64\[\], which has no derivative\. Pass floats\."):
        transform(lambda x: x * 1.0)(3)


def test_an_output_without_derivative_is_refused():
    with pytest.raises(TypeError, match=r"jacrev of .*: an output is bool\[3\]\. Return floating arrays\."):
        jacrev(lambda x: x > 0)(X)


Z = np.array([0.3 - 1j, -1.2 + 0.4j, 0.7 + 0.1j])
STEP = 1e-6


def holomorphic_function(z):
    return np.stack([np.sin(z[0]) * z[1], z[1] / z[2] + z[0], np.exp(z[2])])


def partials(fun, z):
    """Return the derivatives by the real and by the imaginary part of each element, as two Jacobians."""
    along = [differences(lambda t, d=direction: fun(z + d * t), np.zeros(z.shape)) for direction in (1, 1j)]
    return along[0], along[1]


@pytest.mark.parametrize("transform", [jacfwd, jacrev])
def test_the_jacobian_of_a_holomorphic_function_is_complex(transform):
    along_real, along_imaginary = partials(holomorphic_function, Z)
    found = transform(holomorphic_function, holomorphic=True)(Z)
    np.testing.assert_allclose(found, along_real, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(1j * found, along_imaginary, rtol=1e-7, atol=1e-8)


def test_the_hessian_of_a_holomorphic_function_is_the_jacobian_of_its_jacobian():
    gradient = jacrev(lambda z: holomorphic_function(z).sum(), holomorphic=True)
    found = hessian(lambda z: holomorphic_function(z).sum(), holomorphic=True)(Z)
    np.testing.assert_allclose(found, partials(gradient, Z)[0], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found, found.T, rtol=1e-14)


def test_jacfwd_takes_a_real_argument_to_complex_outputs():
    fun = lambda x: np.stack([np.exp(1j * x[0]) * x[1], x[2] + 1j * x[0] * x[1]])
    np.testing.assert_allclose(jacfwd(fun)(X), differences(fun, X), rtol=1e-7, atol=1e-8)


def test_jacrev_takes_complex_arguments_to_real_outputs():
    fun = lambda z: np.stack([np.abs(z[0] * z[1]), np.real(z[2] * z[0]) + np.imag(z[1]) ** 2])
    along_real, along_imaginary = partials(fun, Z)
    np.testing.assert_allclose(jacrev(fun)(Z), along_real - 1j * along_imaginary, rtol=1e-7, atol=1e-8)


def test_the_hessian_along_complex_directions_is_that_of_differences():
    fun = lambda z: np.sum(np.abs(z) ** 2 * np.real(z))
    direction = np.array([1j, 0.5 - 1j, -0.3])
    found = hvp(fun, (Z,), (direction,))
    gradient = calque.grad(fun)
    want = (gradient(Z + STEP * direction) - gradient(Z - STEP * direction)) / (2 * STEP)
    np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-7)


SQUARE, TURN = lambda z: z * z, lambda x: x * 1j


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: jacfwd(SQUARE)(1j),
            r"jacfwd of .* got ~complex128\[\]\. Set holomorphic=True if the function is holomorphic; otherwise",
        ),
        (lambda: hessian(np.abs)(1j), r"jacfwd of .* got ~complex128\[\]\. .* use jvp, or jacrev for real outputs\."),
        (
            lambda: jacrev(SQUARE)(1j),
            r"jacrev of .*: an output is ~complex128\[\]\. Set holomorphic=True if the function is",
        ),
        (
            lambda: jacrev(TURN)(1.0),
            r"jacrev of .*: an output is ~complex128\[\]\. .* use vjp, or jacfwd for real arguments\.",
        ),
        (lambda: jacfwd(np.sin, holomorphic=True)(1.0), r"holomorphic=True got ~float64\[\]\. Give complex"),
        (lambda: jacrev(np.sin, holomorphic=True)(1.0), r"holomorphic=True got ~float64\[\]\. Give complex"),
        (lambda: jacfwd(np.abs, holomorphic=True)(1j), r"an output is float64\[\]\. Return complex arrays\."),
        (lambda: jacrev(np.abs, holomorphic=True)(1j), r"an output is float64\[\]\. Return complex arrays\."),
    ],
    ids=range(8),
)
def test_complex_numbers_where_none_fit_are_refused(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match=r"jacfwd got 3 of type int"):
        jacfwd(3)


@pytest.mark.parametrize("transform", [jacfwd, jacrev])
@pytest.mark.parametrize("chunk_size", [1, 2, 3, 8])
def test_chunks_give_the_same_jacobian(transform, chunk_size):
    weights = np.arange(10.0).reshape(2, 5) / 7
    fun = lambda x: {"turned": np.sin(weights @ x), "square": (x * x).sum()}
    x = np.linspace(-1.0, 1.0, 5)
    whole, chunked = transform(fun)(x), transform(fun, chunk_size=chunk_size)(x)
    for name in whole:
        assert chunked[name].shape == whole[name].shape
        np.testing.assert_allclose(chunked[name], whole[name], rtol=1e-14)


def test_a_hessian_in_chunks_holds_no_array_for_all_directions_but_its_result():
    fun = lambda x: np.sum(np.sin(np.outer(x, x)))
    x = np.linspace(0.1, 1.0, 12)
    staged = calque.make_jaxpr(hessian(fun, chunk_size=3))(x)
    assert max(size_of(v.aval) for eqn in staged.eqns for v in eqn.outvars) <= 12 * 12 * 3
    np.testing.assert_allclose(hessian(fun, chunk_size=3)(x), hessian(fun)(x), rtol=1e-13)


def size_of(aval):
    return int(np.prod(aval.shape))


@pytest.mark.parametrize("chunk_size", [0, -1, 2.5])
def test_a_chunk_size_that_is_no_positive_int_is_refused(chunk_size):
    with pytest.raises(ValueError, match=r"jacfwd of .* got chunk_size=.*\. Give an int of 1 or more\."):
        jacfwd(np.sin, chunk_size=chunk_size)(np.ones(3))


@pytest.mark.parametrize("call", [
    lambda f, x: jacfwd(f)(x), lambda f, x: jacrev(f)(x), lambda f, x: hessian(f)(x), lambda f, x: hvp(f, (x,), (x,)),
])  # fmt: skip
def test_a_traceback_shows_the_users_frames_alone(call):
    def broken(x):
        return x + np.ones(7)

    with pytest.raises((TypeError, ValueError)) as caught:
        call(broken, np.ones(3))
    assert {frame.path.name for frame in caught.traceback} == {"test_jacobians.py"}


def test_the_jacobian_of_no_outputs_is_empty():
    x = np.ones(3)
    for transformation in (jacfwd, jacrev):
        assert transformation(lambda x: {"a": (), "b": None})(x) == {"a": (), "b": None}
        assert transformation(lambda x: ((), 2.0), has_aux=True)(x) == ((), 2.0)
