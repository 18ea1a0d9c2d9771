# `python tests/docs/public_api.py` writes this file from the names in the module.

from typing import Any

from numpy import (
    e as e, euler_gamma as euler_gamma, inf as inf, nan as nan, newaxis as newaxis, pi as pi, bool as bool,
    bool_ as bool_, int8 as int8, int16 as int16, int32 as int32, int64 as int64, uint8 as uint8, uint16 as uint16,
    uint32 as uint32, uint64 as uint64, float16 as float16, float32 as float32, float64 as float64,
    complex64 as complex64, complex128 as complex128, generic as generic, number as number, integer as integer,
    signedinteger as signedinteger, unsignedinteger as unsignedinteger, inexact as inexact, floating as floating,
    complexfloating as complexfloating, dtype as dtype, broadcast_shapes as broadcast_shapes, s_ as s_,
    index_exp as index_exp, frombuffer as frombuffer, fromfile as fromfile, fromiter as fromiter,
    fromregex as fromregex, fromstring as fromstring, genfromtxt as genfromtxt, load as load, loadtxt as loadtxt,
    get_printoptions as get_printoptions, printoptions as printoptions, set_printoptions as set_printoptions,
    iterable as iterable, flexible as flexible, character as character, object_ as object_, int_ as int_, uint as uint,
    intp as intp, uintp as uintp, single as single, double as double, csingle as csingle, cdouble as cdouble,
)
from calque_numpy.array_types import ndarray as ndarray
from calque_numpy.dtypes import (
    result_type as result_type, iscomplexobj as iscomplexobj, isrealobj as isrealobj, can_cast as can_cast,
)
from calque_core import (
    promote_types as promote_types, issubdtype as issubdtype, isdtype as isdtype, finfo as finfo, iinfo as iinfo,
)
from calque_core.engine.numpy_functions import (
    astype as astype, copy as copy, positive as positive, absolute as abs, absolute as absolute, fabs as fabs,
    sign as sign, true_divide as divide, true_divide as true_divide, floor_divide as floor_divide, remainder as mod,
    remainder as remainder, fmod as fmod, divmod as divmod, power as pow, power as power, float_power as float_power,
    square as square, reciprocal as reciprocal, heaviside as heaviside, trunc as trunc, rint as rint, round as round,
    round as around, clip as clip, fmax as fmax, fmin as fmin, nextafter as nextafter, conjugate as conj,
    conjugate as conjugate, real as real, imag as imag, log2 as log2, log10 as log10, logaddexp as logaddexp,
    hypot as hypot, arctan2 as atan2, arctan2 as arctan2, deg2rad as deg2rad, deg2rad as radians, rad2deg as rad2deg,
    rad2deg as degrees, less as less, less_equal as less_equal, greater as greater, greater_equal as greater_equal,
    isnan as isnan, isfinite as isfinite, isinf as isinf, logical_and as logical_and, logical_or as logical_or,
    logical_xor as logical_xor, logical_not as logical_not, left_shift as bitwise_left_shift,
    right_shift as bitwise_right_shift, left_shift as left_shift, right_shift as right_shift,
    bitwise_count as bitwise_count, at as at, shape as shape, ndim as ndim, size as size, reshape as reshape,
    ravel as ravel, transpose as transpose, transpose as permute_dims, swapaxes as swapaxes, squeeze as squeeze,
    sum as sum, mean as mean, var as var, std as std, max as max, max as amax, min as min, min as amin, any as any,
    all as all, argmax as argmax, argmin as argmin, prod as prod, dot as dot, matmul as matmul,
)
from calque_numpy.array_api import (
    __array_api_version__ as __array_api_version__, __array_namespace_info__ as __array_namespace_info__,
)
from calque_numpy.creation import (
    array as array, asarray as asarray, zeros as zeros, ones as ones, full as full, zeros_like as zeros_like,
    ones_like as ones_like, full_like as full_like, from_dlpack as from_dlpack, empty as empty,
    empty_like as empty_like,
)
from calque_numpy.ranges import (
    arange as arange, linspace as linspace, eye as eye, identity as identity, tri as tri, meshgrid as meshgrid,
    logspace as logspace, geomspace as geomspace,
)
from calque_core.lax import (
    add as add, sub as subtract, mul as multiply, neg as negative, sqrt as sqrt, cbrt as cbrt, floor as floor,
    ceil as ceil, max as maximum, min as minimum, exp as exp, exp2 as exp2, expm1 as expm1, log as log, log1p as log1p,
    sin as sin, cos as cos, tan as tan, asin as asin, acos as acos, atan as atan, asin as arcsin, acos as arccos,
    atan as arctan, sinh as sinh, cosh as cosh, tanh as tanh, asinh as asinh, acosh as acosh, atanh as atanh,
    asinh as arcsinh, acosh as arccosh, atanh as arctanh, eq as equal, ne as not_equal, bitwise_and as bitwise_and,
    bitwise_or as bitwise_or, bitwise_xor as bitwise_xor, bitwise_not as bitwise_not, bitwise_not as bitwise_invert,
    bitwise_not as invert,
)
from calque_numpy.elementwise import (
    fix as fix, spacing as spacing, copysign as copysign, signbit as signbit, frexp as frexp, ldexp as ldexp,
    modf as modf, gcd as gcd, lcm as lcm, logaddexp2 as logaddexp2, sinc as sinc, i0 as i0, isneginf as isneginf,
    isposinf as isposinf,
)
from calque_numpy.complex import angle as angle, iscomplex as iscomplex, isreal as isreal
from calque_numpy.masks import (
    isclose as isclose, allclose as allclose, array_equal as array_equal, where as where, select as select,
    nan_to_num as nan_to_num, array_equiv as array_equiv,
)
from calque_numpy.shapes import (
    matrix_transpose as matrix_transpose, moveaxis as moveaxis, expand_dims as expand_dims, atleast_1d as atleast_1d,
    atleast_2d as atleast_2d, atleast_3d as atleast_3d, broadcast_to as broadcast_to,
    broadcast_arrays as broadcast_arrays, rollaxis as rollaxis,
)
from calque_numpy.rearranging import (
    repeat as repeat, tile as tile, flip as flip, flipud as flipud, fliplr as fliplr, rot90 as rot90, roll as roll,
)
from calque_numpy.padding import pad as pad
from calque_numpy.joining import (
    concatenate as concatenate, concatenate as concat, stack as stack, vstack as vstack, hstack as hstack,
    dstack as dstack, column_stack as column_stack, split as split, array_split as array_split, vsplit as vsplit,
    hsplit as hsplit, dsplit as dsplit, unstack as unstack, block as block,
)
from calque_numpy.statistics import average as average, ptp as ptp, count_nonzero as count_nonzero
from calque_numpy.nan_reductions import (
    nansum as nansum, nanmean as nanmean, nanprod as nanprod, nancumsum as nancumsum, nancumprod as nancumprod,
    nanvar as nanvar, nanstd as nanstd, nanmax as nanmax, nanmin as nanmin, nanargmax as nanargmax,
    nanargmin as nanargmin,
)
from calque_numpy.order_statistics import (
    median as median, percentile as percentile, quantile as quantile, nanmedian as nanmedian,
    nanpercentile as nanpercentile, nanquantile as nanquantile,
)
from calque_numpy.signals import (
    convolve as convolve, correlate as correlate, cov as cov, corrcoef as corrcoef, bartlett as bartlett,
    blackman as blackman, hamming as hamming, hanning as hanning, kaiser as kaiser,
)
from calque_numpy.polynomials import (
    polyval as polyval, polyadd as polyadd, polysub as polysub, polymul as polymul, polyder as polyder,
    polyint as polyint, vander as vander, poly as poly, polydiv as polydiv, roots as roots,
)
from calque_numpy.running import (
    cumsum as cumsum, cumprod as cumprod, cumulative_sum as cumulative_sum, cumulative_prod as cumulative_prod,
    diff as diff, ediff1d as ediff1d, trapezoid as trapezoid, gradient as gradient, unwrap as unwrap,
)
from calque_numpy.matrices import (
    diag as diag, diagflat as diagflat, diagonal as diagonal, trace as trace, tril as tril, triu as triu,
)
from calque_numpy.products import (
    inner as inner, outer as outer, vdot as vdot, tensordot as tensordot, kron as kron, cross as cross,
    matvec as matvec, vecmat as vecmat,
)
from calque_numpy.contractions import einsum as einsum, einsum_path as einsum_path
from calque_numpy import (
    linalg as linalg, fft as fft, image as image, nn as nn, random as random, scipy as scipy, segments as segments,
)
from calque_numpy.sorting import (
    sort as sort, argsort as argsort, partition as partition, argpartition as argpartition, lexsort as lexsort,
    sort_complex as sort_complex,
)
from calque_numpy.searching import (
    searchsorted as searchsorted, digitize as digitize, interp as interp, bincount as bincount,
)
from calque_numpy.histograms import (
    histogram as histogram, histogram_bin_edges as histogram_bin_edges, histogram2d as histogram2d,
    histogramdd as histogramdd,
)
from calque_numpy.places import nonzero as nonzero, flatnonzero as flatnonzero, argwhere as argwhere
from calque_numpy.sets import (
    unique as unique, unique_values as unique_values, unique_all as unique_all, unique_counts as unique_counts,
    unique_inverse as unique_inverse, isin as isin, intersect1d as intersect1d, setdiff1d as setdiff1d,
    setxor1d as setxor1d, union1d as union1d,
)
from calque_numpy.stacks import vecdot as vecdot
from calque_numpy.index_tricks import (
    diag_indices as diag_indices, diag_indices_from as diag_indices_from, fill_diagonal as fill_diagonal,
    indices as indices, ix_ as ix_, mask_indices as mask_indices, mgrid as mgrid, ogrid as ogrid,
    ravel_multi_index as ravel_multi_index, tril_indices as tril_indices, tril_indices_from as tril_indices_from,
    triu_indices as triu_indices, triu_indices_from as triu_indices_from, unravel_index as unravel_index,
)
from calque_numpy.axis_concatenators import r_ as r_, c_ as c_
from calque_numpy.functional import (
    apply_along_axis as apply_along_axis, apply_over_axes as apply_over_axes, piecewise as piecewise,
    fromfunction as fromfunction,
)
from calque_numpy.taking import (
    take as take, take_along_axis as take_along_axis, choose as choose, compress as compress, extract as extract,
    append as append, delete as delete, resize as resize, insert as insert,
)
from calque_numpy.fitting import polyfit as polyfit
from calque_numpy.bits import packbits as packbits, unpackbits as unpackbits
from calque_numpy.putting import place as place, put as put, put_along_axis as put_along_axis
from calque_numpy.host_functions import (
    trim_zeros as trim_zeros, array2string as array2string, array_repr as array_repr, array_str as array_str,
    base_repr as base_repr, binary_repr as binary_repr, format_float_positional as format_float_positional,
    format_float_scientific as format_float_scientific, save as save, savetxt as savetxt, savez as savez,
    savez_compressed as savez_compressed, isscalar as isscalar,
)
from calque_numpy.vectorizing import vectorize as vectorize
from calque_numpy.ufuncs import frompyfunc as frompyfunc, ufunc as ufunc

__version__: str
bfloat16: type[Any]
float4_e2m1fn: type[Any]
float8_e3m4: type[Any]
float8_e4m3: type[Any]
float8_e4m3b11fnuz: type[Any]
float8_e4m3fn: type[Any]
float8_e4m3fnuz: type[Any]
float8_e5m2: type[Any]
float8_e5m2fnuz: type[Any]
int4: type[Any]
uint4: type[Any]

__all__ = [
    "e", "euler_gamma", "inf", "nan", "newaxis", "pi", "bool", "bool_", "int8", "int16", "int32", "int64", "uint8",
    "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128", "generic", "number",
    "integer", "signedinteger", "unsignedinteger", "inexact", "floating", "complexfloating", "dtype", "ndarray",
    "result_type", "iscomplexobj", "isrealobj", "can_cast", "promote_types", "issubdtype", "isdtype", "finfo", "iinfo",
    "astype", "__array_api_version__", "__array_namespace_info__", "array", "asarray", "zeros", "ones", "full",
    "zeros_like", "ones_like", "full_like", "from_dlpack", "arange", "linspace", "eye", "identity", "tri", "meshgrid",
    "copy", "add", "subtract", "multiply", "negative", "sqrt", "cbrt", "floor", "ceil", "maximum", "minimum",
    "positive", "abs", "absolute", "fabs", "sign", "divide", "true_divide", "floor_divide", "mod", "remainder", "fmod",
    "divmod", "pow", "power", "float_power", "square", "reciprocal", "heaviside", "trunc", "rint", "round", "around",
    "clip", "fmax", "fmin", "nextafter", "conj", "conjugate", "real", "imag", "fix", "spacing", "copysign", "signbit",
    "frexp", "ldexp", "modf", "gcd", "lcm", "angle", "iscomplex", "isreal", "exp", "exp2", "expm1", "log", "log1p",
    "sin", "cos", "tan", "asin", "acos", "atan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "asinh", "acosh",
    "atanh", "arcsinh", "arccosh", "arctanh", "log2", "log10", "logaddexp", "hypot", "atan2", "arctan2", "deg2rad",
    "radians", "rad2deg", "degrees", "logaddexp2", "sinc", "i0", "equal", "not_equal", "bitwise_and", "bitwise_or",
    "bitwise_xor", "bitwise_not", "bitwise_invert", "invert", "less", "less_equal", "greater", "greater_equal", "isnan",
    "isfinite", "isinf", "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_left_shift",
    "bitwise_right_shift", "left_shift", "right_shift", "bitwise_count", "isneginf", "isposinf", "isclose", "allclose",
    "array_equal", "where", "select", "nan_to_num", "at", "shape", "ndim", "size", "reshape", "ravel", "transpose",
    "permute_dims", "swapaxes", "squeeze", "matrix_transpose", "moveaxis", "expand_dims", "atleast_1d", "atleast_2d",
    "atleast_3d", "broadcast_to", "broadcast_arrays", "broadcast_shapes", "repeat", "tile", "flip", "flipud", "fliplr",
    "rot90", "roll", "pad", "concatenate", "concat", "stack", "vstack", "hstack", "dstack", "column_stack", "split",
    "array_split", "vsplit", "hsplit", "dsplit", "sum", "mean", "var", "std", "max", "amax", "min", "amin", "any",
    "all", "argmax", "argmin", "prod", "average", "ptp", "count_nonzero", "nansum", "nanmean", "nanprod", "nancumsum",
    "nancumprod", "nanvar", "nanstd", "nanmax", "nanmin", "nanargmax", "nanargmin", "median", "percentile", "quantile",
    "nanmedian", "nanpercentile", "nanquantile", "convolve", "correlate", "cov", "corrcoef", "bartlett", "blackman",
    "hamming", "hanning", "kaiser", "polyval", "polyadd", "polysub", "polymul", "polyder", "polyint", "vander",
    "cumsum", "cumprod", "cumulative_sum", "cumulative_prod", "diff", "ediff1d", "trapezoid", "gradient", "unwrap",
    "diag", "diagflat", "diagonal", "trace", "tril", "triu", "dot", "matmul", "inner", "outer", "vdot", "tensordot",
    "kron", "cross", "einsum", "linalg", "fft", "sort", "argsort", "partition", "argpartition", "lexsort",
    "sort_complex", "searchsorted", "digitize", "interp", "bincount", "histogram", "histogram_bin_edges", "nonzero",
    "flatnonzero", "argwhere", "unique", "unique_values", "unique_all", "unique_counts", "unique_inverse", "isin",
    "intersect1d", "setdiff1d", "setxor1d", "union1d", "empty", "empty_like", "logspace", "geomspace", "rollaxis",
    "array_equiv", "unstack", "matvec", "vecmat", "vecdot", "diag_indices", "diag_indices_from", "fill_diagonal",
    "indices", "ix_", "mask_indices", "mgrid", "ogrid", "ravel_multi_index", "tril_indices", "tril_indices_from",
    "triu_indices", "triu_indices_from", "unravel_index", "r_", "c_", "s_", "index_exp", "apply_along_axis",
    "apply_over_axes", "piecewise", "fromfunction", "take", "take_along_axis", "choose", "compress", "extract",
    "append", "delete", "resize", "poly", "polydiv", "roots", "polyfit", "histogram2d", "histogramdd", "block",
    "packbits", "unpackbits", "insert", "place", "put", "put_along_axis", "trim_zeros", "array2string", "array_repr",
    "array_str", "base_repr", "binary_repr", "format_float_positional", "format_float_scientific", "save", "savetxt",
    "savez", "savez_compressed", "frombuffer", "fromfile", "fromiter", "fromregex", "fromstring", "genfromtxt", "load",
    "loadtxt", "get_printoptions", "printoptions", "set_printoptions", "isscalar", "iterable", "einsum_path",
    "vectorize", "frompyfunc", "ufunc", "flexible", "character", "object_", "int_", "uint", "intp", "uintp", "single",
    "double", "csingle", "cdouble",
]
