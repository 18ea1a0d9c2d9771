"""The functions that answer for NumPy's on tracers and device arrays, by module: `np.hypot(x, y)`, `np.add.reduce(x)`.

One idea: NumPy's name finds a function, as an import statement has it, "sub as subtract"; so a program imports the
modules of the functions that it calls.  Several of NumPy's names are one ufunc: mod is remainder, abs is absolute.

Read next: `numpy_protocol.py`, which calls the functions; `numpy_ufuncs.py`, `numpy_arithmetic.py`.
"""

from __future__ import annotations

from calque_core.late import late_names

UFUNCS = {
    "calque_core.lax": (
        "add, sub as subtract, mul as multiply, neg as negative, sqrt, cbrt, floor, ceil, exp, exp2, expm1, log, "
        "log1p, sin, cos, tan, asin as arcsin, acos as arccos, atan as arctan, sinh, cosh, tanh, asinh as arcsinh, "
        "acosh as arccosh, atanh as arctanh, max as maximum, min as minimum, eq as equal, ne as not_equal, "
        "bitwise_and, bitwise_or, bitwise_xor, bitwise_not as invert"
    ),
    "calque_core.ops.elementwise.ordering": "less, less_equal, greater, greater_equal",
    "calque_core.arrays.numpy_arithmetic": (
        "positive, absolute, fabs, sign, true_divide as divide, floor_divide, remainder, fmod, divmod, power, "
        "float_power, square, reciprocal, left_shift, right_shift"
    ),
    "calque_core.arrays.numpy_ufuncs": (
        "heaviside, trunc, rint, nextafter, log2, log10, logaddexp, hypot, arctan2, deg2rad, deg2rad as radians, "
        "rad2deg, rad2deg as degrees, fmax, fmin, isnan, isfinite, isinf, logical_and, logical_or, logical_xor, "
        "logical_not, bitwise_count, conjugate"
    ),
    "calque_core.arrays.numpy_products": "matmul",
}
METHODS = {"calque_core.arrays.ufunc_methods": "accumulate, outer, reduce, reduceat"}
FUNCTIONS = {
    "calque_core.arrays.methods": "imag, real",
    "calque_core.arrays.numpy_moments": "std, var",
    "calque_core.arrays.numpy_products": "dot",
    "calque_core.arrays.numpy_reductions": (
        "all, any, argmax, argmin, max, max as amax, mean, min, min as amin, prod, sum"
    ),
    "calque_core.arrays.numpy_shapes": (
        "clip, copy, ndim, ravel, reshape, round, round as around, shape, size, squeeze, swapaxes, transpose"
    ),
}

ufunc_named, ufunc_names = late_names("the table of ufuncs", UFUNCS)
ufunc_method, _ = late_names("the table of methods of ufuncs", METHODS)
function_named, function_names = late_names("the table of functions", FUNCTIONS)
