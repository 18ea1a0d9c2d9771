"""A traced program has the types that it has eagerly, where Python scalars stay Python scalars.

The cases in which Python and a traced program must differ are those of the table in `docs/dtypes.md`.
"""

import operator

import numpy as np
import pytest

import calque
from calque_core import config, lax, make_jaxpr, typeof

SCALARS = {"int": 3, "float": 1.5, "bool": True, "complex": 1.5 + 0.5j}
BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, divmod),
    *(operator.lshift, operator.rshift, operator.and_, operator.or_, operator.xor),
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
]
UNARY = {
    **{f.__name__: f for f in (operator.neg, operator.pos, abs)},
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "conjugate": lambda x: x.conjugate(),
    "x ** 2": lambda x: x**2,
    "x ** -1": lambda x: x**-1,
    "x ** 0.5": lambda x: x**0.5,
    "2.0 ** x": lambda x: 2.0**x,
    "numpy.sin": np.sin,
    "numpy.add": lambda x: np.add(x, 1),
    "a branch": lambda x: lax.cond(True, lambda: x, lambda: x * 2),
    "a loop": lambda x: lax.scan(lambda c, _: (c + x, None), 0, None, length=2)[0],
}


def check(f, *args):
    """Compare types, and what a float32 array becomes beside the results: eagerly, traced and compiled."""
    want = f(*args)
    traced = make_jaxpr(f)(*args).out_avals
    for one, aval in zip(want if isinstance(want, tuple) else [want], traced, strict=True):
        assert typeof(one) == aval
    p = np.ones(2, np.float32)

    def beside(p, *xs):
        out = f(*xs)
        return [lax.mul(p, y) for y in (out if isinstance(out, tuple) else [out])]

    assert [typeof(x) for x in beside(p, *args)] == make_jaxpr(beside)(p, *args).out_avals


def is_undefined(f, *args):
    try:
        f(*args)
    except TypeError:
        return True
    return False


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("second", SCALARS)
@pytest.mark.parametrize("first", SCALARS)
def test_operators_of_two_python_scalars_have_the_types_of_pythons(first, second, bits):
    x, y = SCALARS[first], SCALARS[second]
    with config.enable_x64(bits == 64):
        for f in BINARY:
            if not is_undefined(f, x, y):
                check(f, x, y)
                check(lambda y, f=f, x=x: f(x, y), y)
                check(lambda x, f=f, y=y: f(x, y), x)


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("f", UNARY.values(), ids=UNARY)
def test_operators_of_one_python_scalar_have_the_types_of_pythons(f, scalar, bits):
    if f is np.sin and scalar == "bool":
        return  # a row of the table: NumPy gives a float16
    with config.enable_x64(bits == 64):
        check(f, SCALARS[scalar])


@pytest.mark.parametrize("f", [lambda p, s: p * (s + 1), lambda p, t: p / (1 - 0.9**t), lambda p, s: p * s**2])
def test_a_compiled_program_keeps_the_dtype_of_its_parameters(f):
    p = np.ones(3, np.float32)
    for s in (2.0, 3):
        assert f(p, s).dtype == calque.jit(f)(p, s).dtype == np.float32
        assert calque.vmap(f, in_axes=(0, None))(p, s).dtype == np.float32


@pytest.mark.parametrize(
    "f", [lambda s: s * s + 1, lambda s: s**2 / 3, lambda s: lax.cond(s > 0, lambda: s, lambda: 0.0)]
)
def test_derivatives_with_respect_to_a_python_scalar_have_a_dtype(f):
    for g in (f, calque.jit(f)):
        assert typeof(calque.grad(g)(2.0)) == typeof(np.float64(1))
        assert typeof(calque.jvp(g, (2.0,), (1.0,))[1]) == typeof(np.float64(1))
        assert typeof(calque.vjp(g, 2.0)[1](1.0)[0]) == typeof(np.float64(1))


def test_a_derivative_does_not_end_where_python_would_raise():
    with np.errstate(all="ignore"):
        value, _ = calque.value_and_grad(lambda x: 1.0 / (x - x))(2.0)
    assert value == np.inf
