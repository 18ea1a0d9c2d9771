"""NumPy's functions on arrays and tracers, as operators, methods and `import numpy` programs call them.

They take NumPy's arguments and give NumPy's dtypes; `calque_numpy` re-exports them under NumPy's names.  The last group
of `__all__` holds the tools for more functions: axes, dtypes and operands as NumPy's functions take them.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core.late import late_names as _late_names

# fmt: off
# isort: off
if _TYPE_CHECKING:
    from calque_core.arrays.at import at
    from calque_core.arrays.devices import on_device, placed_like
    from calque_core.arrays.methods import imag, real
    from calque_core.arrays.numpy_arithmetic import (
        absolute, as_dtype, divmod, fabs, float_power, floor_divide, fmod, left_shift, positive, power, reciprocal,
        remainder, right_shift, sign, square, true_divide, truth,
    )
    from calque_core.arrays.numpy_moments import deviation_of, std, var
    from calque_core.arrays.numpy_products import dot, matmul
    from calque_core.arrays.numpy_protocol import implements_by_name, on_host, refuse
    from calque_core.arrays.numpy_reductions import (
        all, any, argmax, argmin, fill_masked, keep_axes, max, mean, min, prod, reduced_axes, sum, sum_dtype,
    )
    from calque_core.arrays.numpy_sequences import KINDS, SCALARS, array_of, with_arrays, with_items
    from calque_core.arrays.numpy_shapes import (
        astype, clip, copy, ndim, ravel, reshape, round, shape, size, squeeze, swapaxes, transpose,
    )
    from calque_core.arrays.numpy_ufuncs import (
        arctan2, bitwise_count, conjugate, deg2rad, float_operands, fmax, fmin, heaviside, hypot, isfinite, isinf,
        isnan, log10, log2, logaddexp, logical_and, logical_not, logical_or, logical_xor, nextafter, rad2deg,
        rint, trunc,
    )
    from calque_core.ops.axes import Axes, canonical_axes, canonical_axis, integers, one_or_several
    from calque_core.ops.broadcast import broadcast_to
    from calque_core.ops.convert import wide_integer
    from calque_core.ops.create import dtype_argument
    from calque_core.ops.declare import as_result
    from calque_core.ops.operands import binary, check_dtypes, check_operands, check_ranks, floating, promoted_dtype
    from calque_core.ops.ordering import greater, greater_equal, less, less_equal
    from calque_core.types.promotion import can_cast
# isort: on
# fmt: on

# Each module is imported when a program first uses one of its names.
_LATE = {
    "calque_core.arrays.at": "at",
    "calque_core.arrays.devices": "on_device, placed_like",
    "calque_core.arrays.methods": "imag, real",
    "calque_core.arrays.numpy_arithmetic": (
        "absolute, as_dtype, divmod, fabs, float_power, floor_divide, fmod, left_shift, positive, power, reciprocal, "
        "remainder, right_shift, sign, square, true_divide, truth"
    ),
    "calque_core.arrays.numpy_moments": "deviation_of, std, var",
    "calque_core.arrays.numpy_products": "dot, matmul",
    "calque_core.arrays.numpy_protocol": "implements_by_name, on_host, refuse",
    "calque_core.arrays.numpy_reductions": (
        "all, any, argmax, argmin, fill_masked, keep_axes, max, mean, min, prod, reduced_axes, sum, sum_dtype"
    ),
    "calque_core.arrays.numpy_sequences": "KINDS, SCALARS, array_of, with_arrays, with_items",
    "calque_core.arrays.numpy_shapes": (
        "astype, clip, copy, ndim, ravel, reshape, round, shape, size, squeeze, swapaxes, transpose"
    ),
    "calque_core.arrays.numpy_ufuncs": (
        "arctan2, bitwise_count, conjugate, deg2rad, float_operands, fmax, fmin, heaviside, hypot, isfinite, isinf, "
        "isnan, log10, log2, logaddexp, logical_and, logical_not, logical_or, logical_xor, nextafter, rad2deg, "
        "rint, trunc"
    ),
    "calque_core.ops.axes": "Axes, canonical_axes, canonical_axis, integers, one_or_several",
    "calque_core.ops.broadcast": "broadcast_to",
    "calque_core.ops.convert": "wide_integer",
    "calque_core.ops.create": "dtype_argument",
    "calque_core.ops.declare": "as_result",
    "calque_core.ops.operands": "binary, check_dtypes, check_operands, check_ranks, floating, promoted_dtype",
    "calque_core.ops.ordering": "greater, greater_equal, less, less_equal",
    "calque_core.types.promotion": "can_cast",
}

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
    "deviation_of",
    # Shapes
    "astype", "clip", "copy", "ndim", "ravel", "reshape", "round", "shape", "size", "squeeze", "swapaxes",
    "transpose",
    # Elementwise functions
    "conjugate", "deg2rad", "arctan2", "fmax", "fmin", "heaviside", "hypot", "isfinite", "isinf", "isnan", "log10",
    "log2", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "nextafter", "rad2deg", "rint",
    "trunc", "truth", "bitwise_count", "greater", "greater_equal", "less", "less_equal",
    # Broadcasting
    "broadcast_to",
    # Arguments of such a function
    "Axes", "reduced_axes", "keep_axes", "fill_masked", "sum_dtype", "implements_by_name",
    "canonical_axes", "canonical_axis", "integers", "one_or_several", "refuse", "KINDS", "SCALARS", "array_of",
    "with_arrays", "with_items", "on_host", "on_device", "placed_like",
    "dtype_argument", "wide_integer", "can_cast", "as_result", "binary", "check_dtypes", "check_operands",
    "check_ranks", "floating", "float_operands", "promoted_dtype",
]  # fmt: skip

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, _LATE)
