"""NumPy's functions by their names and with their arguments, over calque's primitives.

They take traced arrays, device arrays, NumPy arrays and scalars, and return NumPy's values and dtypes.  This package
also makes NumPy's own functions, such as `numpy.stack(x)`, work on traced arrays, through `__array_function__`.
Core defines the functions that are also methods or operators of arrays; this package defines all other functions.

Read next: `creation.py`, then by subject; `random` for random numbers.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import late_function as _late_function
from calque_core.extend import late_names as _late_names
from calque_numpy.missing import missing_name as _missing_name

# fmt: off
# isort: off
from numpy import (
    bool, bool_, broadcast_shapes, cdouble, character, complex64, complex128, complexfloating, csingle, double,
    dtype, e, euler_gamma, flexible, float16, float32, float64, floating, frombuffer, fromfile, fromiter,
    fromregex, fromstring, generic, genfromtxt, get_printoptions, index_exp, inexact, inf, int8, int16, int32,
    int64, int_, integer, intp, iterable, load, loadtxt, nan, newaxis, number, object_, pi, printoptions, s_,
    set_printoptions, signedinteger, single, uint, uint8, uint16, uint32, uint64, uintp, unsignedinteger,
)

if _TYPE_CHECKING:
    from calque_numpy import fft, linalg, nn, random, scipy, segments
    from calque_core import finfo, iinfo, isdtype, issubdtype, promote_types
    from calque_core.extend.numpy_functions import (
        absolute, absolute as abs, all, any, arctan2, arctan2 as atan2, argmax, argmin, astype, at, bitwise_count, clip,
        conjugate, conjugate as conj, copy, deg2rad, deg2rad as radians, divmod, dot, fabs, float_power, floor_divide,
        fmax, fmin, fmod, greater, greater_equal, heaviside, hypot, imag, isfinite, isinf, isnan, left_shift,
        left_shift as bitwise_left_shift, less, less_equal, log10, log2, logaddexp, logical_and, logical_not,
        logical_or, logical_xor, matmul, max, max as amax, mean, min, min as amin, ndim, nextafter, positive, power,
        power as pow, prod, rad2deg, rad2deg as degrees, ravel, real, reciprocal, remainder, remainder as mod, reshape,
        right_shift, right_shift as bitwise_right_shift, rint, round, round as around, shape, sign, size, square,
        squeeze, std, sum, swapaxes, transpose, transpose as permute_dims, true_divide, true_divide as divide, trunc,
        var,
    )
    from calque_core.lax import (
        acos, acosh, acosh as arccosh, acos as arccos, add, asin, asinh, asinh as arcsinh, asin as arcsin, atan, atanh,
        atanh as arctanh, atan as arctan, bitwise_and, bitwise_not, bitwise_not as bitwise_invert,
        bitwise_not as invert, bitwise_or, bitwise_xor, cbrt, ceil, cos, cosh, eq as equal, exp, exp2, expm1, floor,
        log, log1p, max as maximum, min as minimum, mul as multiply, neg as negative, ne as not_equal, sin, sinh, sqrt,
        sub as subtract, tan, tanh,
    )
    from calque_numpy.array_api import __array_api_version__, __array_namespace_info__
    from calque_numpy.array_types import ndarray
    from calque_numpy.axis_concatenators import c_, r_
    from calque_numpy.bits import packbits, unpackbits
    from calque_numpy.complex import angle, iscomplex, isreal
    from calque_numpy.contractions import einsum, einsum_path
    from calque_numpy.creation import (
        array, asarray, empty, empty_like, from_dlpack, full, full_like, ones, ones_like, zeros, zeros_like,
    )
    from calque_numpy.dtypes import can_cast, iscomplexobj, isrealobj, result_type
    from calque_numpy.elementwise import (
        copysign, fix, frexp, gcd, i0, isneginf, isposinf, lcm, ldexp, logaddexp2, modf, signbit, sinc, spacing,
    )
    from calque_numpy.fitting import polyfit
    from calque_numpy.functional import apply_along_axis, apply_over_axes, fromfunction, piecewise
    from calque_numpy.histograms import histogram, histogram2d, histogram_bin_edges, histogramdd
    from calque_numpy.host_functions import (
        array2string, array_repr, array_str, base_repr, binary_repr, format_float_positional, format_float_scientific,
        isscalar, save, savetxt, savez, savez_compressed, trim_zeros,
    )
    from calque_numpy.index_tricks import (
        diag_indices, diag_indices_from, fill_diagonal, indices, ix_, mask_indices, mgrid, ogrid, ravel_multi_index,
        tril_indices, tril_indices_from, triu_indices, triu_indices_from, unravel_index,
    )
    from calque_numpy.joining import (
        array_split, block, column_stack, concatenate, concatenate as concat, dsplit, dstack, hsplit, hstack, split,
        stack, unstack, vsplit, vstack,
    )
    from calque_numpy.masks import allclose, array_equal, array_equiv, isclose, nan_to_num, select, where
    from calque_numpy.matrices import diag, diagflat, diagonal, trace, tril, triu
    from calque_numpy.nan_reductions import (
        nanargmax, nanargmin, nancumprod, nancumsum, nanmax, nanmean, nanmin, nanprod, nanstd, nansum, nanvar,
    )
    from calque_numpy.order_statistics import median, nanmedian, nanpercentile, nanquantile, percentile, quantile
    from calque_numpy.padding import pad
    from calque_numpy.places import argwhere, flatnonzero, nonzero
    from calque_numpy.polynomials import (
        poly, polyadd, polyder, polydiv, polyint, polymul, polysub, polyval, roots, vander,
    )
    from calque_numpy.products import cross, inner, kron, matvec, outer, tensordot, vdot, vecmat
    from calque_numpy.putting import place, put, put_along_axis
    from calque_numpy.ranges import arange, eye, geomspace, identity, linspace, logspace, meshgrid, tri
    from calque_numpy.rearranging import flip, fliplr, flipud, repeat, roll, rot90, tile
    from calque_numpy.running import (
        cumprod, cumsum, cumulative_prod, cumulative_sum, diff, ediff1d, gradient, trapezoid, unwrap,
    )
    from calque_numpy.searching import bincount, digitize, interp, searchsorted
    from calque_numpy.sets import (
        intersect1d, isin, setdiff1d, setxor1d, union1d, unique, unique_all, unique_counts, unique_inverse,
        unique_values,
    )
    from calque_numpy.shapes import (
        atleast_1d, atleast_2d, atleast_3d, broadcast_arrays, broadcast_to, expand_dims, matrix_transpose, moveaxis,
        rollaxis,
    )
    from calque_numpy.signals import bartlett, blackman, convolve, corrcoef, correlate, cov, hamming, hanning, kaiser
    from calque_numpy.sorting import argpartition, argsort, lexsort, partition, sort, sort_complex
    from calque_numpy.stacks import vecdot
    from calque_numpy.statistics import average, count_nonzero, ptp
    from calque_numpy.taking import append, choose, compress, delete, extract, insert, resize, take, take_along_axis
    from calque_numpy.ufuncs import frompyfunc, ufunc
    from calque_numpy.vectorizing import vectorize
# isort: on
# fmt: on

# Each module is imported when a program first uses one of its names.
_LATE = {
    "calque_numpy": "fft, linalg, nn, random, scipy, segments",
    "calque_core": "finfo, iinfo, isdtype, issubdtype, promote_types",
    "calque_core.extend.numpy_functions": (
        "absolute, absolute as abs, all, any, arctan2, arctan2 as atan2, argmax, argmin, astype, at, bitwise_count, "
        "clip, conjugate, conjugate as conj, copy, deg2rad, deg2rad as radians, divmod, dot, fabs, float_power, "
        "floor_divide, fmax, fmin, fmod, greater, greater_equal, heaviside, hypot, imag, isfinite, isinf, isnan, "
        "left_shift, left_shift as bitwise_left_shift, less, less_equal, log10, log2, logaddexp, logical_and, "
        "logical_not, logical_or, logical_xor, matmul, max, max as amax, mean, min, min as amin, ndim, nextafter, "
        "positive, power, power as pow, prod, rad2deg, rad2deg as degrees, ravel, real, reciprocal, remainder, "
        "remainder as mod, reshape, right_shift, right_shift as bitwise_right_shift, rint, round, round as around, "
        "shape, sign, size, square, squeeze, std, sum, swapaxes, transpose, transpose as permute_dims, true_divide, "
        "true_divide as divide, trunc, var"
    ),
    "calque_core.lax": (
        "acos, acosh, acosh as arccosh, acos as arccos, add, asin, asinh, asinh as arcsinh, asin as arcsin, atan, "
        "atanh, atanh as arctanh, atan as arctan, bitwise_and, bitwise_not, bitwise_not as bitwise_invert, "
        "bitwise_not as invert, bitwise_or, bitwise_xor, cbrt, ceil, cos, cosh, eq as equal, exp, exp2, expm1, floor, "
        "log, log1p, max as maximum, min as minimum, mul as multiply, neg as negative, ne as not_equal, sin, sinh, "
        "sqrt, sub as subtract, tan, tanh"
    ),
    "calque_numpy.array_api": "__array_api_version__, __array_namespace_info__",
    "calque_numpy.array_types": "ndarray",
    "calque_numpy.axis_concatenators": "c_, r_",
    "calque_numpy.bits": "packbits, unpackbits",
    "calque_numpy.complex": "angle, iscomplex, isreal",
    "calque_numpy.contractions": "einsum, einsum_path",
    "calque_numpy.creation": (
        "array, asarray, empty, empty_like, from_dlpack, full, full_like, ones, ones_like, zeros, zeros_like"
    ),
    "calque_numpy.dtypes": "can_cast, iscomplexobj, isrealobj, result_type",
    "calque_numpy.elementwise": (
        "copysign, fix, frexp, gcd, i0, isneginf, isposinf, lcm, ldexp, logaddexp2, modf, signbit, sinc, spacing"
    ),
    "calque_numpy.fitting": "polyfit",
    "calque_numpy.functional": "apply_along_axis, apply_over_axes, fromfunction, piecewise",
    "calque_numpy.histograms": "histogram, histogram2d, histogram_bin_edges, histogramdd",
    "calque_numpy.host_functions": (
        "array2string, array_repr, array_str, base_repr, binary_repr, format_float_positional, "
        "format_float_scientific, isscalar, save, savetxt, savez, savez_compressed, trim_zeros"
    ),
    "calque_numpy.index_tricks": (
        "diag_indices, diag_indices_from, fill_diagonal, indices, ix_, mask_indices, mgrid, ogrid, ravel_multi_index, "
        "tril_indices, tril_indices_from, triu_indices, triu_indices_from, unravel_index"
    ),
    "calque_numpy.joining": (
        "array_split, block, column_stack, concatenate, concatenate as concat, dsplit, dstack, hsplit, hstack, split, "
        "stack, unstack, vsplit, vstack"
    ),
    "calque_numpy.masks": "allclose, array_equal, array_equiv, isclose, nan_to_num, select, where",
    "calque_numpy.matrices": "diag, diagflat, diagonal, trace, tril, triu",
    "calque_numpy.nan_reductions": (
        "nanargmax, nanargmin, nancumprod, nancumsum, nanmax, nanmean, nanmin, nanprod, nanstd, nansum, nanvar"
    ),
    "calque_numpy.order_statistics": "median, nanmedian, nanpercentile, nanquantile, percentile, quantile",
    "calque_numpy.padding": "pad",
    "calque_numpy.places": "argwhere, flatnonzero, nonzero",
    "calque_numpy.polynomials": "poly, polyadd, polyder, polydiv, polyint, polymul, polysub, polyval, roots, vander",
    "calque_numpy.products": "cross, inner, kron, matvec, outer, tensordot, vdot, vecmat",
    "calque_numpy.putting": "place, put, put_along_axis",
    "calque_numpy.ranges": "arange, eye, geomspace, identity, linspace, logspace, meshgrid, tri",
    "calque_numpy.rearranging": "flip, fliplr, flipud, repeat, roll, rot90, tile",
    "calque_numpy.running": (
        "cumprod, cumsum, cumulative_prod, cumulative_sum, diff, ediff1d, gradient, trapezoid, unwrap"
    ),
    "calque_numpy.searching": "bincount, digitize, interp, searchsorted",
    "calque_numpy.sets": (
        "intersect1d, isin, setdiff1d, setxor1d, union1d, unique, unique_all, unique_counts, unique_inverse, "
        "unique_values"
    ),
    "calque_numpy.shapes": (
        "atleast_1d, atleast_2d, atleast_3d, broadcast_arrays, broadcast_to, expand_dims, matrix_transpose, moveaxis, "
        "rollaxis"
    ),
    "calque_numpy.signals": "bartlett, blackman, convolve, corrcoef, correlate, cov, hamming, hanning, kaiser",
    "calque_numpy.sorting": "argpartition, argsort, lexsort, partition, sort, sort_complex",
    "calque_numpy.stacks": "vecdot",
    "calque_numpy.statistics": "average, count_nonzero, ptp",
    "calque_numpy.taking": "append, choose, compress, delete, extract, insert, resize, take, take_along_axis",
    "calque_numpy.ufuncs": "frompyfunc, ufunc",
    "calque_numpy.vectorizing": "vectorize",
}

_register_internal_folder(__path__[0])

__version__ = "0.1.0"

__all__ = [
    # constants and dtypes
    "e", "euler_gamma", "inf", "nan", "newaxis", "pi",
    "bool", "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64", "complex64", "complex128",
    "generic", "number", "integer", "signedinteger", "unsignedinteger", "inexact", "floating", "complexfloating",
    "dtype", "ndarray",
    "result_type", "promote_types", "issubdtype", "isdtype", "finfo", "iinfo", "astype", "iscomplexobj",
    "isrealobj", "can_cast",
    # the array API
    "__array_api_version__", "__array_namespace_info__",
    # creation
    "array", "asarray", "zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "arange", "linspace", "eye",
    "identity", "tri", "meshgrid", "copy", "from_dlpack",
    # arithmetic
    "add", "subtract", "multiply", "negative", "positive", "abs", "absolute", "fabs", "sign", "divide", "true_divide",
    "floor_divide", "mod", "remainder", "fmod", "divmod", "pow", "power", "float_power", "square", "reciprocal", "sqrt",
    "cbrt", "heaviside", "floor", "ceil", "trunc", "fix", "rint", "round", "around", "clip", "maximum", "minimum",
    "fmax", "fmin", "nextafter", "spacing", "copysign", "signbit", "frexp", "ldexp", "modf", "gcd", "lcm",
    "conj", "conjugate", "real", "imag", "angle", "iscomplex", "isreal",
    # exponentials, logarithms, angles
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "logaddexp2", "sinc", "i0",
    "hypot", "sin", "cos", "tan",
    "asin", "acos", "atan", "atan2", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "asinh", "acosh",
    "atanh", "arcsinh", "arccosh", "arctanh", "deg2rad", "radians", "rad2deg", "degrees",
    # comparisons and logic
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan", "isfinite", "isinf", "isneginf",
    "isposinf", "isclose",
    "allclose", "array_equal", "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or",
    "bitwise_xor", "bitwise_not", "bitwise_invert", "bitwise_left_shift",
    "bitwise_right_shift", "invert", "left_shift", "right_shift", "bitwise_count",
    # elements chosen by a condition
    "where", "select", "nan_to_num",
    # elements read and updated at an index
    "at",
    # shapes
    "shape", "ndim", "size", "reshape", "ravel", "transpose", "permute_dims", "matrix_transpose", "swapaxes",
    "moveaxis", "squeeze", "expand_dims", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to", "broadcast_arrays",
    "broadcast_shapes", "repeat", "tile", "pad", "flip", "flipud", "fliplr", "rot90", "roll",
    # joining and splitting
    "concatenate", "concat", "stack", "vstack", "hstack", "dstack", "column_stack", "split", "array_split", "vsplit",
    "hsplit", "dsplit",
    # reductions
    "sum", "mean", "average", "var", "std", "max", "amax", "min", "amin", "ptp", "any", "all", "argmax", "argmin",
    "count_nonzero", "prod",
    # reductions that skip NaN
    "nansum", "nanmean", "nanprod", "nancumsum", "nancumprod", "nanvar", "nanstd", "nanmax", "nanmin", "nanargmax",
    "nanargmin",
    # medians and quantiles
    "median", "percentile", "quantile", "nanmedian", "nanpercentile", "nanquantile",
    # convolutions, covariances, windows, polynomials
    "convolve", "correlate", "cov", "corrcoef", "bartlett", "blackman", "hamming", "hanning", "kaiser", "polyval",
    "polyadd", "polysub", "polymul", "polyder", "polyint", "vander",
    # running sums and differences
    "cumsum", "cumprod", "cumulative_sum", "cumulative_prod", "diff", "ediff1d", "trapezoid", "gradient", "unwrap",
    # matrices and products
    "diag", "diagflat", "diagonal", "trace", "tril", "triu", "dot", "matmul", "inner", "outer", "vdot", "tensordot",
    "kron", "cross", "einsum", "linalg",
    # Fourier transforms
    "fft",
    # sorting
    "sort", "argsort", "partition", "argpartition", "lexsort", "sort_complex",
    # places in sorted arrays, counts
    "searchsorted", "digitize", "interp", "bincount", "histogram", "histogram_bin_edges",
    # places of nonzero elements, distinct elements, sets
    "nonzero", "flatnonzero", "argwhere", "unique", "unique_values", "unique_all", "unique_counts",
    "unique_inverse", "isin", "intersect1d", "setdiff1d", "setxor1d", "union1d",
    # further arrays, products and comparisons
    "empty", "empty_like", "logspace", "geomspace", "rollaxis", "array_equiv", "unstack", "matvec", "vecmat", "vecdot",
    # known indices
    "diag_indices", "diag_indices_from", "fill_diagonal", "indices", "ix_", "mask_indices", "mgrid", "ogrid",
    "r_", "c_", "s_", "index_exp",
    "ravel_multi_index", "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from", "unravel_index",
    # functions that take functions
    "apply_along_axis", "apply_over_axes", "piecewise", "fromfunction",
    # elements at positions
    "take", "take_along_axis", "choose", "compress", "extract", "append", "delete", "resize",
    # polynomials, histograms, blocks and bits
    "poly", "polydiv", "polyfit", "roots", "histogram2d", "histogramdd", "block", "packbits", "unpackbits",
    # elements inserted and replaced
    "insert", "place", "put", "put_along_axis", "trim_zeros",
    # text, files and printing
    "array2string", "array_repr", "array_str", "base_repr", "binary_repr", "format_float_positional",
    "format_float_scientific", "save", "savetxt", "savez", "savez_compressed", "frombuffer", "fromfile", "fromiter",
    "fromregex", "fromstring", "genfromtxt", "load", "loadtxt", "get_printoptions", "printoptions", "set_printoptions",
    # questions
    "isscalar", "iterable", "einsum_path",
    # functions of elements
    "vectorize", "frompyfunc", "ufunc",
    # kinds of dtypes, and other names of dtypes
    "flexible", "character", "object_", "int_", "uint", "intp", "uintp", "single", "double", "csingle",
    "cdouble",
]  # fmt: skip

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(
        __name__,
        _LATE,
        _missing_name(__name__),
        adapt=_late_function("calque_numpy.evaluation", "evaluated_by_numpy"),
    )
