"""NumPy's functions on arrays and tracers, as operators, methods and `import numpy` programs call them.

They take NumPy's arguments and give NumPy's dtypes; `calque_numpy` re-exports them under NumPy's names.  The last group
of `__all__` holds the tools for more functions: axes, dtypes and operands as NumPy's functions take them.
"""

from calque_core.arrays.at import at
from calque_core.arrays.devices import on_device
from calque_core.arrays.methods import imag, real
from calque_core.arrays.numpy_arithmetic import (
    absolute,
    as_dtype,
    divmod,
    fabs,
    float_power,
    floor_divide,
    fmod,
    left_shift,
    positive,
    power,
    reciprocal,
    remainder,
    right_shift,
    sign,
    square,
    true_divide,
)
from calque_core.arrays.numpy_moments import mean, std, var
from calque_core.arrays.numpy_products import dot, matmul
from calque_core.arrays.numpy_protocol import implements_by_name, refuse
from calque_core.arrays.numpy_reductions import (
    all,
    any,
    argmax,
    argmin,
    fill_masked,
    keep_axes,
    max,
    min,
    prod,
    reduced_axes,
    sum,
    sum_dtype,
)
from calque_core.arrays.numpy_sequences import KINDS, SCALARS, array_of, with_arrays
from calque_core.arrays.numpy_shapes import (
    astype,
    clip,
    copy,
    ndim,
    ravel,
    reshape,
    round,
    shape,
    size,
    squeeze,
    swapaxes,
    transpose,
)
from calque_core.arrays.numpy_ufuncs import (
    arctan2,
    bitwise_count,
    conjugate,
    deg2rad,
    fmax,
    fmin,
    heaviside,
    hypot,
    isfinite,
    isinf,
    isnan,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    nextafter,
    rad2deg,
    rint,
    trunc,
    truth,
)
from calque_core.ops.axes import Axes, canonical_axes, canonical_axis, integers
from calque_core.ops.broadcast import broadcast_to
from calque_core.ops.create import dtype_argument
from calque_core.ops.declare import as_result
from calque_core.ops.operands import binary, check_dtypes, floating, promoted_dtype
from calque_core.types.promotion import can_cast

__all__ = [
    # Complex numbers
    "at", "imag", "real",
    # Arithmetic
    "absolute", "as_dtype", "divmod", "fabs", "float_power", "floor_divide", "fmod", "left_shift", "positive",
    "power", "reciprocal", "remainder", "right_shift", "sign", "square", "true_divide",
    # Products
    "dot", "matmul",
    # Reductions
    "all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var",
    # Shapes
    "astype", "clip", "copy", "ndim", "ravel", "reshape", "round", "shape", "size", "squeeze", "swapaxes",
    "transpose",
    # Elementwise functions
    "conjugate", "deg2rad", "arctan2", "fmax", "fmin", "heaviside", "hypot", "isfinite", "isinf", "isnan", "log10",
    "log2", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "nextafter", "rad2deg", "rint",
    "trunc", "truth", "bitwise_count",
    # Broadcasting
    "broadcast_to",
    # Arguments of such a function
    "Axes", "reduced_axes", "keep_axes", "fill_masked", "sum_dtype", "implements_by_name",
    "canonical_axes", "canonical_axis", "integers", "refuse", "KINDS", "SCALARS", "array_of", "with_arrays",
    "on_device",
    "dtype_argument", "can_cast", "as_result", "binary", "check_dtypes", "floating", "promoted_dtype",
]  # fmt: skip
