"""The arguments of random functions: keys, shapes, dtypes, and the parameters of distributions.

One idea: a function checks all its arguments first, by these functions, and names the argument and its value.

Read next: `threefry.py`, the source of all numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import ShapeError, canonicalize_dtype, config, lax, typeof
from calque_core.engine import SHORT_DTYPES, dtype_name, kind_of, scalar_dtype
from calque_core.engine.numpy_functions import broadcast_to, dtype_argument, integers
from calque_core.extend import where
from calque_core.lax import broadcast_shapes
from calque_numpy.key_arrays import KEY_WORDS, KeyArray
from calque_numpy.random.generators import as_checked
from calque_numpy.random.threefry import Shape

Value = Any
DType = Any

_UINT32 = np.dtype("uint32")
_SINGLE = np.dtype("float32")
_FLOATS: tuple[DType, ...] = (np.dtype("float16"), _SINGLE, np.dtype("float64"))
_SHORT_FLOATS = tuple(name for name, row in SHORT_DTYPES.items() if row.is_random)


def check_key(name: str, key: Value) -> Value:
    """Return the argument `key` of the function `name`, which must be one key, as `generators.py` takes it.

    Shapes: -> [2], the words of a key of threefry; a `KeyArray` of another generator.  Dtype: uint32.
    Raises: TypeError.
    """
    words = key.words if isinstance(key, KeyArray) else key
    try:
        aval = typeof(words)
    except TypeError:
        raise TypeError(
            f"{name}{where()}: the key is a value of type {type(key).__name__}, but one key is uint32[2]. "
            "Make keys with key(seed) and split(key)."
        ) from None
    count = KEY_WORDS[key.impl] if isinstance(key, KeyArray) else 4 if aval.shape == (4,) else 2
    if aval.shape != (count,) or aval.dtype != _UINT32:
        stated = f"shape {key.shape}" if isinstance(key, KeyArray) else f"type {aval}"
        raise TypeError(
            f"{name}{where()}: the key has {stated}, but one key is uint32[{count}]. "
            "Make keys with key(seed) and split(key); map over several with vmap."
        )
    return as_checked(key.impl if isinstance(key, KeyArray) else impl_of_words(name, count), words)


def impl_of_words(name: str, count: int) -> str:
    """Return the generator of bare words, of which one key has `count`: threefry for two, else the default.

    Raises: TypeError where the default generator has two words.
    """
    impl: str = config.current().default_prng_impl if count == 4 else "threefry2x32"
    if KEY_WORDS[impl] != count:
        raise TypeError(
            f"{name}{where()}: a key of four words is of 'rbg' or of 'unsafe_rbg', and the default is {impl!r}. "
            "Name the generator: random.wrap_key_data(words, impl='rbg'), or config.default_prng_impl('rbg')."
        )
    return impl


def check_shape(name: str, shape: Sequence[int]) -> Shape:
    """Return the argument `shape` of the function `name` as a tuple.

    Raises: TypeError if it is not a sequence of integers; ValueError if an integer is negative.
    """
    sizes = integers(name, "shape", shape)
    if any(size < 0 for size in sizes):
        raise ValueError(f"{name}{where()}: the shape {sizes} has a negative size. Give sizes of zero or more.")
    return sizes


def float_argument(name: str, dtype: DType) -> np.dtype[Any]:
    """Return the argument `dtype` of the function `name` as a dtype; the default float for None.

    Raises: TypeError unless it is a float of 16, 32 or 64 bits.
    """
    float_dtype = scalar_dtype(float) if dtype is None else dtype_argument(dtype)
    if not is_random_float(float_dtype):
        raise TypeError(f"{name}{where()}: dtype is {float_dtype}. Use {_choice_of_floats()}.")
    return float_dtype


def is_random_float(dtype: np.dtype[Any]) -> bool:
    """Tell whether random numbers may have a dtype; short floats are known without the package that defines them."""
    return dtype in _FLOATS or dtype_name(dtype) in _SHORT_FLOATS


def _choice_of_floats() -> str:
    *names, last = (*_SHORT_FLOATS, *map(dtype_name, _FLOATS))
    return f"{', '.join(names)} or {last}"


def at_least_single(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return float32 for a float of 16 bits, in which some formulas cannot be computed; other dtypes are kept."""
    return _SINGLE if dtype.itemsize == 2 else dtype


def integer_argument(name: str, dtype: DType) -> np.dtype[Any]:
    """Return the argument `dtype` of the function `name` as a dtype; the default integer for None.

    Raises: TypeError unless it is a dtype of integers.
    """
    integer_dtype = dtype_argument(int if dtype is None else dtype)
    if kind_of(integer_dtype) not in "iu":
        raise TypeError(f"{name}{where()}: dtype is {integer_dtype}. Use an integer dtype.")
    return integer_dtype


def check_fits(name: str, argument: str, x: Value, shape: Shape) -> None:
    """Check that an argument of the function `name` broadcasts to the shape of the result.

    Raises: ShapeError.
    """
    aval = typeof(x)
    if aval.shape and not _fits(aval.shape, shape):
        raise ShapeError(
            f"{name}{where()}: {argument} has type {aval}, which does not broadcast to the shape {shape}. "
            "Give a scalar, or a larger shape."
        )


def _fits(shape: Shape, larger: Shape) -> bool:
    try:
        return broadcast_shapes(shape, larger) == larger
    except ValueError:
        return False


def parameters(name: str, shape: Sequence[int] | None, dtype: np.dtype[Any], **values: Value) -> tuple[Shape, Any]:
    """Return the shape of the result, and the parameters of a distribution in this shape, or of rank 0, and `dtype`.

    Without `shape`, it is the shape to which the parameters broadcast.
    Raises: TypeError if `shape` holds no integers, or a parameter is not real; ShapeError if one does not broadcast.
    """
    for argument, x in values.items():
        check_real(name, argument, x)
    if shape is None:
        shapes = [typeof(x).shape for x in values.values()]
        try:
            sizes = broadcast_shapes(*shapes)
        except ValueError:
            raise ShapeError(
                f"{name}{where()}: the shapes {shapes} of {', '.join(values)} do not broadcast. Make the sizes of each "
                "axis equal, or 1."
            ) from None
    else:
        sizes = check_shape(name, shape)
        for argument, x in values.items():
            check_fits(name, argument, x, sizes)
    return sizes, [_as_parameter(x, sizes, dtype) for x in values.values()]


def _as_parameter(x: Value, shape: Shape, dtype: np.dtype[Any]) -> Value:
    x = lax.convert_element_type(x, dtype)
    return x if typeof(x).shape in ((), shape) else broadcast_to(x, shape)


def check_real(name: str, argument: str, x: Value) -> None:
    """Check that an argument of the function `name` is a real number or an array of them.

    Raises: TypeError.
    """
    if typeof(x).kind not in "biuf":
        raise TypeError(f"{name}{where()}: {argument} has type {typeof(x)}. Give a real number.")


def float_of(x: Value) -> np.dtype[Any]:
    """Return the dtype in which a function computes with a parameter: its own if it is a float, else the default."""
    aval = typeof(x)
    return aval.dtype if is_random_float(aval.dtype) else canonicalize_dtype(scalar_dtype(float))
