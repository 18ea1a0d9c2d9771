"""The random bits of a key, in unsigned integers of any width.

Read next: `floats.py`, `integers.py`, which make numbers from bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import config
from calque_core.engine import kind_of
from calque_core.engine.numpy_functions import dtype_argument
from calque_core.extend import where
from calque_numpy.random.arguments import check_key, check_shape
from calque_numpy.random.generators import random_bits

Value = Any
DType = Any


def bits(key: Value, shape: Sequence[int] = (), dtype: DType = None) -> Value:
    """Return random bits, each 0 or 1 with equal probability, as unsigned integers.

    Shapes: one key -> shape.  Dtype: `dtype`, or the unsigned integer of the default width.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, or `dtype` is not an unsigned integer dtype.

    >>> import numpy as np
    >>> from calque_numpy.random import bits, key
    >>> bits(key(42), (2,), np.uint8)
    array([162, 217], dtype=uint8)
    """
    key = check_key("bits", key)
    dtype = np.dtype(f"uint{config.current().default_dtype_bits}") if dtype is None else dtype_argument(dtype)
    if kind_of(dtype) != "u":
        raise TypeError(f"bits{where()}: dtype is {dtype}. Use an unsigned integer dtype, such as uint32.")
    return random_bits(key, check_shape("bits", shape), dtype)
