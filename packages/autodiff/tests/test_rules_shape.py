from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, linear_transpose, vjp
from calque_core import lax

pytestmark = pytest.mark.sampled(keep=0.1)

DTYPES = ["float32", "float64", "complex128"]
ONE_OPERAND = [
    (lambda x: lax.reshape(x, (3, 2)), (2, 3)),
    (lambda x: lax.reshape(x, ()), (1, 1)),
    (lambda x: lax.reshape(x, (0, 5)), (3, 0)),
    (lambda x: lax.transpose(x, (2, 0, 1)), (2, 3, 4)),
    (lambda x: lax.transpose(x, (1, 2, 0)), (2, 0, 4)),
    (lambda x: lax.rev(x, (0, 2)), (2, 1, 3)),
    (lambda x: lax.squeeze(x, (0, 2)), (1, 3, 1)),
    (lambda x: lax.slice(x, (1,), (5,)), (6,)),
    (lambda x: lax.slice(x, (1, 0), (6, 3), (2, 1)), (7, 3)),
    (lambda x: lax.slice(x, (0,), (7,), (3,)), (7,)),
    (lambda x: lax.slice(x, (0,), (6,), (3,)), (8,)),
    (lambda x: lax.slice(x, (2,), (2,), (2,)), (4,)),
    (lambda x: lax.slice(x, (0, 1), (0, 3)), (0, 4)),
]
PADDINGS = [
    ((3,), [(1, 2, 0)]),
    ((3,), [(0, 0, 2)]),
    ((3,), [(2, 1, 1)]),
    ((4,), [(-1, -2, 0)]),
    ((4,), [(-1, 2, 1)]),
    ((4,), [(-2, 0, 2)]),
    ((4,), [(3, -5, 1)]),
    ((0,), [(2, 1, 3)]),
    ((1,), [(0, 0, 4)]),
    ((2, 3), [(1, 0, 0), (0, -1, 1)]),
    ((3,), [(-3, 2, 0)]),
    ((3,), [(-2, 0, 3)]),
    ((), []),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("f", "shape"), ONE_OPERAND, ids=range(len(ONE_OPERAND)))
def test_rearranging_and_cutting_obey_the_laws(f, shape, dtype, spaced, laws):
    laws(f, spaced(shape, dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "config"), PADDINGS, ids=str)
def test_paddings_obey_the_laws_in_both_operands(shape, config, dtype, spaced, laws):
    laws(lambda x, value: lax.pad(x, value, config), spaced(shape, dtype=dtype), spaced((), dtype=dtype))


def test_the_padding_value_gets_infinite_cotangents_only_from_outside():
    ct = np.array([1.0, np.inf, 2.0])
    x_bar, value_bar = vjp(lambda x, v: lax.pad(x, v, [(1, 1, 0)]), np.zeros(1), 0.0)[1](ct)
    assert x_bar.tolist() == [np.inf]
    assert value_bar == 3.0


@pytest.mark.parametrize(("f", "shape"), ONE_OPERAND, ids=range(len(ONE_OPERAND)))
def test_transposing_twice_gives_the_operation_back(f, shape, spaced):
    x = spaced(shape)
    transposed = linear_transpose(f, x)
    twice = linear_transpose(lambda ct: transposed(ct)[0], f(x))
    np.testing.assert_array_equal(twice(x)[0], f(x))


def test_indexing_obeys_the_laws(spaced, laws):
    laws(lambda x: lax.mul(x[::-2], x[1:4]) + x[None, 2, ...] * x[-1], spaced((6,)))


def test_grad_of_one_element_is_one_hot():
    assert grad(lambda x: x[2])(np.arange(4.0)).tolist() == [0.0, 0.0, 1.0, 0.0]
