"""NumPy's functions by their names and with their arguments, over calque's primitives.

They take traced arrays, device arrays, NumPy arrays and scalars, and return NumPy's values and dtypes.  This package
also makes NumPy's own functions, such as `numpy.stack(x)`, work on traced arrays, through `__array_function__`.
Core defines the functions that are also methods or operators of arrays; this package defines all others, by subject.

Read next: `creation.py`, then by subject; `random` for random numbers.
"""

import numpy as _np  # noqa: ICN001  (`np` would look like a public name)
from numpy import (
    bool,
    bool_,
    broadcast_shapes,
    cdouble,
    character,
    complex64,
    complex128,
    complexfloating,
    csingle,
    double,
    dtype,
    e,
    euler_gamma,
    flexible,
    float16,
    float32,
    float64,
    floating,
    frombuffer,
    fromfile,
    fromiter,
    fromregex,
    fromstring,
    generic,
    genfromtxt,
    get_printoptions,
    index_exp,
    inexact,
    inf,
    int8,
    int16,
    int32,
    int64,
    int_,
    integer,
    intp,
    iterable,
    load,
    loadtxt,
    nan,
    newaxis,
    number,
    object_,
    pi,
    printoptions,
    s_,
    set_printoptions,
    signedinteger,
    single,
    uint,
    uint8,
    uint16,
    uint32,
    uint64,
    uintp,
    unsignedinteger,
)

from calque_core import finfo, iinfo, isdtype, issubdtype, promote_types
from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import late_names as _late_names
from calque_core.extend.numpy_functions import (
    absolute,
    all,
    any,
    arctan2,
    argmax,
    argmin,
    astype,
    at,
    bitwise_count,
    clip,
    conjugate,
    copy,
    deg2rad,
    divmod,
    dot,
    fabs,
    float_power,
    floor_divide,
    fmax,
    fmin,
    fmod,
    heaviside,
    hypot,
    imag,
    isfinite,
    isinf,
    isnan,
    left_shift,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    matmul,
    max,
    mean,
    min,
    ndim,
    nextafter,
    positive,
    power,
    prod,
    rad2deg,
    ravel,
    real,
    reciprocal,
    remainder,
    reshape,
    right_shift,
    rint,
    round,
    shape,
    sign,
    size,
    square,
    squeeze,
    std,
    sum,
    swapaxes,
    transpose,
    true_divide,
    trunc,
    var,
)
from calque_core.extend.numpy_functions import absolute as abs
from calque_core.extend.numpy_functions import arctan2 as atan2
from calque_core.extend.numpy_functions import conjugate as conj
from calque_core.extend.numpy_functions import deg2rad as radians
from calque_core.extend.numpy_functions import left_shift as bitwise_left_shift
from calque_core.extend.numpy_functions import max as amax
from calque_core.extend.numpy_functions import min as amin
from calque_core.extend.numpy_functions import power as pow
from calque_core.extend.numpy_functions import rad2deg as degrees
from calque_core.extend.numpy_functions import remainder as mod
from calque_core.extend.numpy_functions import right_shift as bitwise_right_shift
from calque_core.extend.numpy_functions import round as around
from calque_core.extend.numpy_functions import transpose as permute_dims
from calque_core.extend.numpy_functions import true_divide as divide
from calque_core.lax import (
    acos,
    acosh,
    add,
    asin,
    asinh,
    atan,
    atanh,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    cbrt,
    ceil,
    cos,
    cosh,
    exp,
    exp2,
    expm1,
    floor,
    log,
    log1p,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)
from calque_core.lax import acos as arccos
from calque_core.lax import acosh as arccosh
from calque_core.lax import asin as arcsin
from calque_core.lax import asinh as arcsinh
from calque_core.lax import atan as arctan
from calque_core.lax import atanh as arctanh
from calque_core.lax import bitwise_not as bitwise_invert
from calque_core.lax import bitwise_not as bitwise_not
from calque_core.lax import bitwise_not as invert
from calque_core.lax import eq as equal
from calque_core.lax import ge as greater_equal
from calque_core.lax import gt as greater
from calque_core.lax import le as less_equal
from calque_core.lax import lt as less
from calque_core.lax import max as maximum
from calque_core.lax import min as minimum
from calque_core.lax import mul as multiply
from calque_core.lax import ne as not_equal
from calque_core.lax import neg as negative
from calque_core.lax import sub as subtract
from calque_numpy import fft, linalg
from calque_numpy.array_api import __array_api_version__, __array_namespace_info__
from calque_numpy.array_types import ndarray
from calque_numpy.axis_concatenators import c_, r_
from calque_numpy.bits import packbits, unpackbits
from calque_numpy.complex import angle, iscomplex, isreal
from calque_numpy.contractions import einsum, einsum_path
from calque_numpy.creation import (
    array,
    asarray,
    empty,
    empty_like,
    from_dlpack,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from calque_numpy.dtypes import can_cast, iscomplexobj, isrealobj, result_type
from calque_numpy.elementwise import (
    copysign,
    frexp,
    gcd,
    i0,
    isneginf,
    isposinf,
    lcm,
    ldexp,
    logaddexp2,
    modf,
    signbit,
    sinc,
    spacing,
)
from calque_numpy.evaluation import evaluated_by_numpy as _evaluated_by_numpy
from calque_numpy.fitting import polyfit
from calque_numpy.functional import (
    apply_along_axis,
    apply_over_axes,
    fromfunction,
    piecewise,
)
from calque_numpy.histograms import histogram, histogram2d, histogram_bin_edges, histogramdd
from calque_numpy.host_functions import (
    array2string,
    array_repr,
    array_str,
    base_repr,
    binary_repr,
    format_float_positional,
    format_float_scientific,
    isscalar,
    save,
    savetxt,
    savez,
    savez_compressed,
    trim_zeros,
)
from calque_numpy.index_tricks import (
    diag_indices,
    diag_indices_from,
    fill_diagonal,
    indices,
    ix_,
    mask_indices,
    mgrid,
    ogrid,
    ravel_multi_index,
    tril_indices,
    tril_indices_from,
    triu_indices,
    triu_indices_from,
    unravel_index,
)
from calque_numpy.joining import (
    array_split,
    block,
    column_stack,
    concatenate,
    dsplit,
    dstack,
    hsplit,
    hstack,
    split,
    stack,
    unstack,
    vsplit,
    vstack,
)
from calque_numpy.joining import concatenate as concat
from calque_numpy.masks import (
    allclose,
    array_equal,
    array_equiv,
    isclose,
    nan_to_num,
    select,
    where,
)
from calque_numpy.matrices import diag, diagflat, diagonal, trace, tril, triu
from calque_numpy.missing import missing_name as _missing_name
from calque_numpy.nan_reductions import (
    nanargmax,
    nanargmin,
    nancumprod,
    nancumsum,
    nanmax,
    nanmean,
    nanmin,
    nanprod,
    nanstd,
    nansum,
    nanvar,
)
from calque_numpy.order_statistics import (
    median,
    nanmedian,
    nanpercentile,
    nanquantile,
    percentile,
    quantile,
)
from calque_numpy.padding import pad
from calque_numpy.polynomials import poly, polyadd, polyder, polydiv, polyint, polymul, polysub, polyval, roots, vander
from calque_numpy.products import (
    cross,
    inner,
    kron,
    matvec,
    outer,
    tensordot,
    vdot,
    vecmat,
)
from calque_numpy.putting import place, put, put_along_axis
from calque_numpy.ranges import (
    arange,
    eye,
    geomspace,
    identity,
    linspace,
    logspace,
    meshgrid,
    tri,
)
from calque_numpy.rearranging import flip, fliplr, flipud, repeat, roll, rot90, tile
from calque_numpy.running import (
    cumprod,
    cumsum,
    cumulative_prod,
    cumulative_sum,
    diff,
    ediff1d,
    gradient,
    trapezoid,
    unwrap,
)
from calque_numpy.searching import bincount, digitize, interp, searchsorted
from calque_numpy.sets import (
    argwhere,
    flatnonzero,
    intersect1d,
    isin,
    nonzero,
    setdiff1d,
    setxor1d,
    union1d,
    unique,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from calque_numpy.shapes import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    broadcast_to,
    expand_dims,
    matrix_transpose,
    moveaxis,
    rollaxis,
)
from calque_numpy.signals import bartlett, blackman, convolve, corrcoef, correlate, cov, hamming, hanning, kaiser
from calque_numpy.sorting import argpartition, argsort, lexsort, partition, sort, sort_complex
from calque_numpy.stacks import (
    vecdot,
)
from calque_numpy.statistics import average, count_nonzero, ptp
from calque_numpy.taking import append, choose, compress, delete, extract, insert, resize, take, take_along_axis
from calque_numpy.ufuncs import frompyfunc, ufunc
from calque_numpy.vectorizing import vectorize

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
    "cbrt", "heaviside", "floor", "ceil", "trunc", "rint", "round", "around", "clip", "maximum", "minimum", "fmax",
    "fmin", "nextafter", "spacing", "copysign", "signbit", "frexp", "ldexp", "modf", "gcd", "lcm",
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

globals().update(_evaluated_by_numpy(_np, globals()))
__getattr__, __dir__ = _late_names(
    __name__, {__name__: "nn, random, scipy, segments"}, _missing_name(__name__, __all__)
)
