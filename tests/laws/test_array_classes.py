"""Classes of arrays that compute otherwise than NumPy's: refused by every transformation, wherever they come in."""

import numpy as np
import pytest

import calque
from calque import lax

EYE = np.eye(2)
MATRIX = np.array([[1.0, 2.0], [3.0, 4.0]]).view(np.matrix)


def square(x):
    return np.sum(x * x)  # the product of matrices, for a matrix


WAYS_IN = {
    "grad": lambda m: calque.grad(square)(m),
    "vjp": lambda m: calque.vjp(square, m),
    "jvp": lambda m: calque.jvp(square, (m,), (EYE,)),
    "linearize": lambda m: calque.linearize(square, m),
    "vmap": lambda m: calque.vmap(square)(m),
    "jit": lambda m: calque.jit(square)(m),
    "make_jaxpr": lambda m: calque.make_jaxpr(square)(m),
    "jacfwd": lambda m: calque.jacfwd(square)(m),
    "checkpoint": lambda m: calque.checkpoint(square)(m),
    "cond": lambda m: lax.cond(True, square, square, m),
    "scan": lambda m: lax.scan(lambda c, x: (c, x), 0.0, m),
    "while_loop": lambda m: lax.while_loop(lambda x: False, lambda x: x, m),
    "device_put": calque.device_put,
    "an operation": lambda m: lax.mul(m, m),
    "captured by grad": lambda m: calque.grad(lambda x: np.sum(x * m))(EYE),
    "captured by jit": lambda m: calque.jit(lambda x: m * x)(EYE),
    "beside a device array": lambda m: m * calque.device_put(EYE),
    "in a ufunc": lambda m: calque.grad(lambda x: np.sum(np.multiply(m, x)))(EYE),
    "in a function": lambda m: calque.grad(lambda x: np.sum(np.dot(m, x)))(EYE),
}


@pytest.mark.parametrize("use", WAYS_IN.values(), ids=WAYS_IN)
def test_a_matrix_is_refused_wherever_it_comes_in(use):
    with pytest.raises(TypeError, match=r"an array of class matrix is not an operand: .* Pass numpy\.asarray\(x\)"):
        use(MATRIX)
    use(np.asarray(MATRIX))


def test_a_warm_jitted_function_refuses_a_matrix_too():
    jitted = calque.jit(square)
    assert (float(jitted(EYE)), float(jitted(EYE))) == (2.0, 2.0)
    with pytest.raises(TypeError, match="an array of class matrix is not an operand"):
        jitted(MATRIX)


def test_tangents_and_cotangents_are_no_matrices():
    for use in (lambda: calque.jvp(square, (EYE,), (MATRIX,)), lambda: calque.vjp(lambda x: x, EYE)[1](MATRIX)):
        with pytest.raises(TypeError, match="of type matrix, which is not an array or a scalar"):
            use()
