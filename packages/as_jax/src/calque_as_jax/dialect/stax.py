"""`jax.example_libraries.stax`: a layer is a pair of functions, `init(key, shape)` and `apply(params, inputs)`.

One idea: `init` gives the shape of the results and the parameters; layers are joined by `serial` and `parallel`.  There
are no convolutions and no pooling here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import calque.nn as cnn
import calque.numpy as cnp
import calque.random as crandom
from calque.nn import initializers
from calque_as_jax.values import to_arrays, with_arrays

__all__ = [
    "Dense", "Dropout", "Elu", "Exp", "FanInConcat", "FanInSum", "FanOut", "Flatten", "Gelu", "Identity", "LeakyRelu",
    "LogSoftmax", "Relu", "Selu", "Sigmoid", "Softmax", "Softplus", "Tanh", "elementwise", "parallel", "serial",
    "shape_dependent",
]  # fmt: skip

Layer = tuple[Callable[..., Any], Callable[..., Any]]


def _without_params(shape: Callable[[Any], Any], apply: Callable[..., Any]) -> Layer:
    return lambda _, input_shape: (shape(input_shape), ()), lambda params, x, **options: to_arrays(apply(x))


def Dense(out_dim: int, W_init: Any = None, b_init: Any = None) -> Layer:
    """Return a layer of a product with a matrix, and a sum with a vector."""
    w_init = W_init or with_arrays(initializers.glorot_normal())
    b_init = b_init or with_arrays(initializers.normal())

    def init(key: Any, input_shape: Any) -> Any:
        w_key, b_key = crandom.split(key)
        params = w_init(w_key, (input_shape[-1], out_dim)), b_init(b_key, (out_dim,))
        return (*input_shape[:-1], out_dim), params

    def apply(params: Any, inputs: Any, **_: Any) -> Any:
        return to_arrays(cnp.dot(inputs, params[0]) + params[1])

    return init, apply


def elementwise(fun: Callable[..., Any], **options: Any) -> Layer:
    """Return a layer of a function of elements.

    >>> import numpy as np
    >>> _, apply = elementwise(np.multiply, x2=2.0)
    >>> elementwise(np.negative)[1]((), np.ones(2))
    Array([-1., -1.], dtype=float32)
    """
    return _without_params(tuple, lambda x: fun(x, **options))


Tanh, Relu, Exp = elementwise(cnp.tanh), elementwise(cnn.relu), elementwise(cnp.exp)
Softplus, Sigmoid, Elu = elementwise(cnn.softplus), elementwise(cnn.sigmoid), elementwise(cnn.elu)
LeakyRelu, Selu, Gelu = elementwise(cnn.leaky_relu), elementwise(cnn.selu), elementwise(cnn.gelu)
LogSoftmax, Softmax = elementwise(cnn.log_softmax, axis=-1), elementwise(cnn.softmax, axis=-1)
Identity = elementwise(lambda x: x)
Flatten = _without_params(
    lambda shape: (shape[0], int(cnp.prod(shape[1:]))), lambda x: cnp.reshape(x, (x.shape[0], -1))
)
FanInSum: Layer = (lambda _, shapes: (shapes[0], ()), lambda params, xs, **options: to_arrays(sum(xs)))


def FanOut(num: int) -> Layer:
    """Return a layer that gives its input `num` times."""
    return lambda _, shape: ([shape] * num, ()), lambda params, x, **options: [x] * num


def FanInConcat(axis: int = -1) -> Layer:
    """Return a layer that joins its inputs along an axis."""

    def init(_: Any, shapes: Any) -> Any:
        place = axis % len(shapes[0])
        size = sum(shape[place] for shape in shapes)
        return (*shapes[0][:place], size, *shapes[0][place + 1 :]), ()

    return init, lambda params, xs, **options: to_arrays(cnp.concatenate(xs, axis))


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Return a layer that keeps elements with the probability `rate`, and scales them, if `mode` is "train"."""

    def apply(params: Any, x: Any, *, rng: Any = None, **_: Any) -> Any:
        if mode != "train":
            return x
        if rng is None:
            raise ValueError("Dropout got no key. Call apply_fun(params, inputs, rng=key).")
        return to_arrays(cnp.where(crandom.bernoulli(rng, rate, x.shape), x / rate, 0))

    return lambda _, shape: (tuple(shape), ()), apply


def serial(*layers: Layer) -> Layer:
    """Return a layer that applies layers one after the other."""
    inits, applies = [init for init, _ in layers], [apply for _, apply in layers]

    def init(key: Any, shape: Any) -> Any:
        params = []
        for each in inits:
            key, own = crandom.split(key)
            shape, own_params = each(own, shape)
            params.append(own_params)
        return shape, params

    def apply(params: Any, x: Any, *, rng: Any = None, **options: Any) -> Any:
        for each, own, key in zip(applies, params, _keys(rng, len(layers)), strict=True):
            x = each(own, x, rng=key, **options)
        return x

    return init, apply


def parallel(*layers: Layer) -> Layer:
    """Return a layer that applies each layer to one of its inputs."""
    inits, applies = [init for init, _ in layers], [apply for _, apply in layers]

    def init(key: Any, shapes: Any) -> Any:
        pairs = [each(*args) for each, *args in zip(inits, _keys(key, len(layers)), shapes, strict=True)]
        return [shape for shape, _ in pairs], [params for _, params in pairs]

    def apply(params: Any, xs: Any, *, rng: Any = None, **options: Any) -> Any:
        keys = _keys(rng, len(layers))
        return [f(own, x, rng=key, **options) for f, own, x, key in zip(applies, params, xs, keys, strict=True)]

    return init, apply


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """Return a layer that `make_layer` makes for the shape of its input."""
    return (
        lambda key, shape: make_layer(shape)[0](key, shape),
        lambda params, x, **options: make_layer(x.shape)[1](params, x, **options),
    )


def _keys(key: Any, number: int) -> Any:
    return [None] * number if key is None else list(crandom.split(key, number))
