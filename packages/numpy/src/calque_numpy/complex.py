"""Angles of complex numbers, and telling which numbers lie on the real axis.

`real`, `imag` and `conj` are methods of arrays too, and so core's.  `real_if_close` is not here: the dtype of its
result depends on values, which are not known while tracing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calque_core import implements, lax, typeof
from calque_core.operands import binary, floating

Value = Any


@implements(np.angle)
def angle(z: Value, deg: bool = False) -> Value:
    """Return the angle between the positive real axis and `z`: from -pi to pi, 0 for 0; in degrees with `deg`.

    Dtype: that of the parts; a float for integers.

    >>> import numpy as np
    >>> from calque_numpy import angle
    >>> angle(np.array([1.0, 1j]), deg=True)
    array([ 0., 90.])
    """
    z = floating(binary("angle", z, 0)[0])  # as the integer 0 beside it would have it, for NumPy
    dtype = typeof(z).dtype
    if dtype.kind == "c":
        out = lax.imag(lax.log(lax.select(lax.eq(z, 0), dtype.type(1), z)))
    else:
        out = lax.select(lax.ne(z, z), z, lax.select(lax.lt(z, 0), dtype.type(math.pi), dtype.type(0)))
    return lax.mul(out, 180 / math.pi) if deg else out


@implements(np.iscomplex)
def iscomplex(x: Value) -> Value:
    """Tell which elements have an imaginary part that is not zero.

    >>> import numpy as np
    >>> from calque_numpy import iscomplex
    >>> iscomplex(np.array([1 + 1j, 1 + 0j]))
    array([ True, False])
    """
    return lax.ne(lax.imag(x), 0)


@implements(np.isreal)
def isreal(x: Value) -> Value:
    """Tell which elements have no imaginary part, or one that is zero.

    >>> import numpy as np
    >>> from calque_numpy import isreal
    >>> isreal(np.array([1 + 1j, 1 + 0j]))
    array([False,  True])
    """
    return lax.eq(lax.imag(x), 0)
