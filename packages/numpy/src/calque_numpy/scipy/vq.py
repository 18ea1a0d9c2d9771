"""Vectors quantized by a code book.

Read next: `stats.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import ShapeError, lax, typeof
from calque_core.engine.numpy_functions import argmin, array_of, as_dtype
from calque_core.engine.numpy_functions import min as least
from calque_core.engine.numpy_functions import sum as total
from calque_core.extend import where as place
from calque_numpy.scipy.floats import float_dtype

Value = Any


def vq(obs: Value, code_book: Value, check_finite: bool = True) -> tuple[Value, Value]:
    """Return for each observation the index of the nearest code, the first of several, and the distance from it.

    Shapes: obs [m, n], code_book [k, n] -> [m] and [m]; numbers [m] have codes [k].  Dtypes: int32, and promoted;
    float64 for integers.  `check_finite` is SciPy's, and has no effect: an observation with NaN has the distance NaN.
    Raises: ShapeError for other shapes; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.scipy.vq import vq
    >>> vq(np.array([0.5, 2.5]), np.array([0.0, 3.0]))
    (array([0, 1], dtype=int32), array([0.5, 0.5]))
    """
    arrays = [array_of(x) if isinstance(x, (list, tuple)) else x for x in (obs, code_book)]
    obs, code_book = (as_dtype(x, float_dtype("vq", *arrays)) for x in arrays)
    shapes = typeof(obs).shape, typeof(code_book).shape
    if len(shapes[0]) not in (1, 2) or len(shapes[1]) != len(shapes[0]) or shapes[0][1:] != shapes[1][1:]:
        raise ShapeError(
            f"vq of {typeof(obs)} and {typeof(code_book)}{place()}: rows must be vectors of one length. "
            "Give observations and codes as rows."
        )
    gaps = lax.expand_dims(obs, (1,)) - lax.expand_dims(code_book, (0,))
    squares = gaps * gaps if len(shapes[0]) == 1 else total(gaps * gaps, -1)
    return as_dtype(argmin(squares, 1), np.dtype("int32")), lax.sqrt(least(squares, 1))
