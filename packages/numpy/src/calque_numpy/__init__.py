"""NumPy's functions by their names and with their arguments, over calque's primitives.

They take traced arrays, device arrays, NumPy arrays and scalars, and return NumPy's values and dtypes.  This package
also makes NumPy's own functions, such as `numpy.stack(x)`, work on traced arrays, through `__array_function__`.
Core defines the functions that are also methods or operators of arrays; this package defines all other functions.

Read next: `creation.py`, then by subject; `random` for random numbers.
"""

from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import late_chapters as _late_chapters
from calque_numpy.missing import missing_name as _missing_name
from calque_numpy.missing import ours_or_numpys as _ours_or_numpys

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "constants and dtypes": {
        "numpy": (
            "e, euler_gamma, inf, nan, newaxis, pi, bool, bool_, int8, int16, int32, int64, uint8, uint16, uint32, "
            "uint64, float16, float32, float64, complex64, complex128, generic, number, integer, signedinteger, "
            "unsignedinteger, inexact, floating, complexfloating, dtype"
        ),
        "calque_numpy.array_types": "ndarray",
        "calque_numpy.dtypes": "result_type, iscomplexobj, isrealobj, can_cast",
        "calque_core": "promote_types, issubdtype, isdtype, finfo, iinfo",
        "calque_core.engine.numpy_functions": "astype",
    },
    "the array API": {"calque_numpy.array_api": "__array_api_version__, __array_namespace_info__"},
    "creation": {
        "calque_numpy.creation": "array, asarray, zeros, ones, full, zeros_like, ones_like, full_like, from_dlpack",
        "calque_numpy.ranges": "arange, linspace, eye, identity, tri, meshgrid",
        "calque_core.engine.numpy_functions": "copy",
    },
    "arithmetic": {
        "calque_core.lax": (
            "add, sub as subtract, mul as multiply, neg as negative, sqrt, cbrt, floor, ceil, max as maximum, "
            "min as minimum"
        ),
        "calque_core.engine.numpy_functions": (
            "positive, absolute as abs, absolute, fabs, sign, true_divide as divide, true_divide, floor_divide, "
            "remainder as mod, remainder, fmod, divmod, power as pow, power, float_power, square, reciprocal, "
            "heaviside, trunc, rint, round, round as around, clip, fmax, fmin, nextafter, conjugate as conj, "
            "conjugate, real, imag"
        ),
        "calque_numpy.elementwise": "fix, spacing, copysign, signbit, frexp, ldexp, modf, gcd, lcm",
        "calque_numpy.complex": "angle, iscomplex, isreal",
    },
    "exponentials, logarithms, angles": {
        "calque_core.lax": (
            "exp, exp2, expm1, log, log1p, sin, cos, tan, asin, acos, atan, asin as arcsin, acos as arccos, "
            "atan as arctan, sinh, cosh, tanh, asinh, acosh, atanh, asinh as arcsinh, acosh as arccosh, "
            "atanh as arctanh"
        ),
        "calque_core.engine.numpy_functions": (
            "log2, log10, logaddexp, hypot, arctan2 as atan2, arctan2, deg2rad, deg2rad as radians, rad2deg, "
            "rad2deg as degrees"
        ),
        "calque_numpy.elementwise": "logaddexp2, sinc, i0",
    },
    "comparisons and logic": {
        "calque_core.lax": (
            "eq as equal, ne as not_equal, bitwise_and, bitwise_or, bitwise_xor, bitwise_not, "
            "bitwise_not as bitwise_invert, bitwise_not as invert"
        ),
        "calque_core.engine.numpy_functions": (
            "less, less_equal, greater, greater_equal, isnan, isfinite, isinf, logical_and, logical_or, logical_xor, "
            "logical_not, left_shift as bitwise_left_shift, right_shift as bitwise_right_shift, left_shift, "
            "right_shift, bitwise_count"
        ),
        "calque_numpy.elementwise": "isneginf, isposinf",
        "calque_numpy.masks": "isclose, allclose, array_equal",
    },
    "elements chosen by a condition": {"calque_numpy.masks": "where, select, nan_to_num"},
    "elements read and updated at an index": {"calque_core.engine.numpy_functions": "at"},
    "shapes": {
        "calque_core.engine.numpy_functions": (
            "shape, ndim, size, reshape, ravel, transpose, transpose as permute_dims, swapaxes, squeeze"
        ),
        "calque_numpy.shapes": (
            "matrix_transpose, moveaxis, expand_dims, atleast_1d, atleast_2d, atleast_3d, broadcast_to, "
            "broadcast_arrays"
        ),
        "numpy": "broadcast_shapes",
        "calque_numpy.rearranging": "repeat, tile, flip, flipud, fliplr, rot90, roll",
        "calque_numpy.padding": "pad",
    },
    "joining and splitting": {
        "calque_numpy.joining": (
            "concatenate, concatenate as concat, stack, vstack, hstack, dstack, column_stack, split, array_split, "
            "vsplit, hsplit, dsplit"
        ),
    },
    "reductions": {
        "calque_core.engine.numpy_functions": (
            "sum, mean, var, std, max, max as amax, min, min as amin, any, all, argmax, argmin, prod"
        ),
        "calque_numpy.statistics": "average, ptp, count_nonzero",
    },
    "reductions that skip NaN": {
        "calque_numpy.nan_reductions": (
            "nansum, nanmean, nanprod, nancumsum, nancumprod, nanvar, nanstd, nanmax, nanmin, nanargmax, nanargmin"
        ),
    },
    "medians and quantiles": {
        "calque_numpy.order_statistics": "median, percentile, quantile, nanmedian, nanpercentile, nanquantile",
    },
    "convolutions, covariances, windows, polynomials": {
        "calque_numpy.signals": "convolve, correlate, cov, corrcoef, bartlett, blackman, hamming, hanning, kaiser",
        "calque_numpy.polynomials": "polyval, polyadd, polysub, polymul, polyder, polyint, vander",
    },
    "running sums and differences": {
        "calque_numpy.running": (
            "cumsum, cumprod, cumulative_sum, cumulative_prod, diff, ediff1d, trapezoid, gradient, unwrap"
        ),
    },
    "matrices and products": {
        "calque_numpy.matrices": "diag, diagflat, diagonal, trace, tril, triu",
        "calque_core.engine.numpy_functions": "dot, matmul",
        "calque_numpy.products": "inner, outer, vdot, tensordot, kron, cross",
        "calque_numpy.contractions": "einsum",
        "calque_numpy": "linalg",
    },
    "Fourier transforms": {"calque_numpy": "fft"},
    "sorting": {"calque_numpy.sorting": "sort, argsort, partition, argpartition, lexsort, sort_complex"},
    "places in sorted arrays, counts": {
        "calque_numpy.searching": "searchsorted, digitize, interp, bincount",
        "calque_numpy.histograms": "histogram, histogram_bin_edges",
    },
    "places of nonzero elements, distinct elements, sets": {
        "calque_numpy.places": "nonzero, flatnonzero, argwhere",
        "calque_numpy.sets": (
            "unique, unique_values, unique_all, unique_counts, unique_inverse, isin, intersect1d, setdiff1d, setxor1d, "
            "union1d"
        ),
    },
    "further arrays, products and comparisons": {
        "calque_numpy.creation": "empty, empty_like",
        "calque_numpy.ranges": "logspace, geomspace",
        "calque_numpy.shapes": "rollaxis",
        "calque_numpy.masks": "array_equiv",
        "calque_numpy.joining": "unstack",
        "calque_numpy.products": "matvec, vecmat",
        "calque_numpy.stacks": "vecdot",
    },
    "known indices": {
        "calque_numpy.index_tricks": (
            "diag_indices, diag_indices_from, fill_diagonal, indices, ix_, mask_indices, mgrid, ogrid, "
            "ravel_multi_index, tril_indices, tril_indices_from, triu_indices, triu_indices_from, unravel_index"
        ),
        "calque_numpy.axis_concatenators": "r_, c_",
        "numpy": "s_, index_exp",
    },
    "functions that take functions": {
        "calque_numpy.functional": "apply_along_axis, apply_over_axes, piecewise, fromfunction",
    },
    "elements at positions": {
        "calque_numpy.taking": "take, take_along_axis, choose, compress, extract, append, delete, resize",
    },
    "polynomials, histograms, blocks and bits": {
        "calque_numpy.polynomials": "poly, polydiv, roots",
        "calque_numpy.fitting": "polyfit",
        "calque_numpy.histograms": "histogram2d, histogramdd",
        "calque_numpy.joining": "block",
        "calque_numpy.bits": "packbits, unpackbits",
    },
    "elements inserted and replaced": {
        "calque_numpy.taking": "insert",
        "calque_numpy.putting": "place, put, put_along_axis",
        "calque_numpy.host_functions": "trim_zeros",
    },
    "text, files and printing": {
        "calque_numpy.host_functions": (
            "array2string, array_repr, array_str, base_repr, binary_repr, format_float_positional, "
            "format_float_scientific, save, savetxt, savez, savez_compressed"
        ),
        "numpy": (
            "frombuffer, fromfile, fromiter, fromregex, fromstring, genfromtxt, load, loadtxt, get_printoptions, "
            "printoptions, set_printoptions"
        ),
    },
    "questions": {
        "calque_numpy.host_functions": "isscalar",
        "numpy": "iterable",
        "calque_numpy.contractions": "einsum_path",
    },
    "functions of elements": {
        "calque_numpy.vectorizing": "vectorize",
        "calque_numpy.ufuncs": "frompyfunc, ufunc",
    },
    "kinds of dtypes, and other names of dtypes": {
        "numpy": "flexible, character, object_, int_, uint, intp, uintp, single, double, csingle, cdouble",
    },
}

_UNLISTED = {  # names outside __all__
    "calque_numpy": "image, nn, random, scipy, segments",
}

_register_internal_folder(__path__[0])

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = _late_chapters(
    __name__,
    _CHAPTERS,
    _missing_name(__name__),
    unlisted=_UNLISTED,
    adapt=_ours_or_numpys,
)
