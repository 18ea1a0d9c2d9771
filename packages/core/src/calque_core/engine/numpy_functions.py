"""NumPy's functions on arrays and tracers, as operators, methods and `import numpy` programs call them.

They take NumPy's arguments and give NumPy's dtypes; `calque_numpy` re-exports them under NumPy's names.  The last
chapter holds the tools for more functions: axes, dtypes and operands as NumPy's functions take them.
"""

from calque_core.late import late_chapters as _late_chapters

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "Complex numbers": {
        "calque_core.arrays.at": "at",
        "calque_core.arrays.methods": "imag, real",
    },
    "Arithmetic": {
        "calque_core.arrays.numpy_arithmetic": (
            "absolute, as_dtype, divmod, fabs, float_power, floor_divide, fmod, left_shift, positive, power, "
            "reciprocal, remainder, right_shift, sign, square, true_divide"
        ),
    },
    "Products": {"calque_core.arrays.numpy_products": "dot, matmul"},
    "Reductions": {
        "calque_core.arrays.numpy_reductions": "all, any, argmax, argmin, max, mean, min, prod, sum",
        "calque_core.arrays.numpy_moments": "std, var, deviation_of",
    },
    "Shapes": {
        "calque_core.arrays.numpy_shapes": (
            "astype, clip, copy, ndim, ravel, reshape, round, shape, size, squeeze, swapaxes, transpose"
        ),
    },
    "Elementwise functions": {
        "calque_core.arrays.numpy_ufuncs": (
            "conjugate, deg2rad, arctan2, fmax, fmin, heaviside, hypot, isfinite, isinf, isnan, log10, log2, "
            "logaddexp, logical_and, logical_not, logical_or, logical_xor, nextafter, rad2deg, rint, trunc, "
            "bitwise_count"
        ),
        "calque_core.arrays.numpy_arithmetic": "truth",
        "calque_core.ops.elementwise.ordering": "greater, greater_equal, less, less_equal",
    },
    "Broadcasting": {"calque_core.ops.shapes.broadcast": "broadcast_to"},
    "Arguments of such a function": {
        "calque_core.ops.shapes.axes": "Axes, canonical_axes, canonical_axis, integers, one_or_several",
        "calque_core.arrays.numpy_reductions": "reduced_axes, keep_axes, fill_masked, sum_dtype",
        "calque_core.arrays.numpy_protocol": "implements_by_name, refuse, on_host",
        "calque_core.arrays.numpy_sequences": "KINDS, SCALARS, array_of, with_arrays, with_items",
        "calque_core.arrays.devices": "on_device, placed_like",
        "calque_core.ops.shapes.create": "dtype_argument",
        "calque_core.ops.elementwise.convert": "wide_integer",
        "calque_core.types.promotion": "can_cast, wide_float",
        "calque_core.ops.elementwise.declare": "as_result",
        "calque_core.ops.elementwise.operands": (
            "binary, check_dtypes, check_operands, check_ranks, floating, promoted_dtype"
        ),
        "calque_core.arrays.numpy_ufuncs": "float_operands",
    },
}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
