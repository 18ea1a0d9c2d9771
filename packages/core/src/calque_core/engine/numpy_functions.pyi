# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_core.arrays.at import at as at
from calque_core.arrays.methods import imag as imag, real as real
from calque_core.arrays.numpy_arithmetic import (
    absolute as absolute, as_dtype as as_dtype, divmod as divmod, fabs as fabs, float_power as float_power,
    floor_divide as floor_divide, fmod as fmod, left_shift as left_shift, positive as positive, power as power,
    reciprocal as reciprocal, remainder as remainder, right_shift as right_shift, sign as sign, square as square,
    true_divide as true_divide, truth as truth,
)
from calque_core.arrays.numpy_products import dot as dot, matmul as matmul
from calque_core.arrays.numpy_reductions import (
    all as all, any as any, argmax as argmax, argmin as argmin, max as max, mean as mean, min as min, prod as prod,
    sum as sum, reduced_axes as reduced_axes, keep_axes as keep_axes, fill_masked as fill_masked,
    sum_dtype as sum_dtype,
)
from calque_core.arrays.numpy_moments import std as std, var as var, deviation_of as deviation_of
from calque_core.arrays.numpy_shapes import (
    astype as astype, clip as clip, copy as copy, ndim as ndim, ravel as ravel, reshape as reshape, round as round,
    shape as shape, size as size, squeeze as squeeze, swapaxes as swapaxes, transpose as transpose,
)
from calque_core.arrays.numpy_ufuncs import (
    conjugate as conjugate, deg2rad as deg2rad, arctan2 as arctan2, fmax as fmax, fmin as fmin, heaviside as heaviside,
    hypot as hypot, isfinite as isfinite, isinf as isinf, isnan as isnan, log10 as log10, log2 as log2,
    logaddexp as logaddexp, logical_and as logical_and, logical_not as logical_not, logical_or as logical_or,
    logical_xor as logical_xor, nextafter as nextafter, rad2deg as rad2deg, rint as rint, trunc as trunc,
    bitwise_count as bitwise_count, float_operands as float_operands,
)
from calque_core.ops.elementwise.ordering import (
    greater as greater, greater_equal as greater_equal, less as less, less_equal as less_equal,
)
from calque_core.ops.shapes.broadcast import broadcast_to as broadcast_to
from calque_core.ops.shapes.axes import (
    Axes as Axes, canonical_axes as canonical_axes, canonical_axis as canonical_axis, integers as integers,
    one_or_several as one_or_several,
)
from calque_core.arrays.numpy_protocol import (
    implements_by_name as implements_by_name, refuse as refuse, on_host as on_host,
)
from calque_core.arrays.numpy_sequences import (
    KINDS as KINDS, SCALARS as SCALARS, array_of as array_of, with_arrays as with_arrays, with_items as with_items,
)
from calque_core.arrays.devices import on_device as on_device, placed_like as placed_like
from calque_core.ops.shapes.create import dtype_argument as dtype_argument
from calque_core.ops.elementwise.convert import wide_integer as wide_integer
from calque_core.types.promotion import can_cast as can_cast, wide_float as wide_float
from calque_core.ops.elementwise.declare import as_result as as_result
from calque_core.ops.elementwise.operands import (
    binary as binary, check_dtypes as check_dtypes, check_operands as check_operands, check_ranks as check_ranks,
    floating as floating, promoted_dtype as promoted_dtype,
)

__all__ = [
    "at", "imag", "real", "absolute", "as_dtype", "divmod", "fabs", "float_power", "floor_divide", "fmod", "left_shift",
    "positive", "power", "reciprocal", "remainder", "right_shift", "sign", "square", "true_divide", "dot", "matmul",
    "all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "sum", "std", "var", "deviation_of", "astype",
    "clip", "copy", "ndim", "ravel", "reshape", "round", "shape", "size", "squeeze", "swapaxes", "transpose",
    "conjugate", "deg2rad", "arctan2", "fmax", "fmin", "heaviside", "hypot", "isfinite", "isinf", "isnan", "log10",
    "log2", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "nextafter", "rad2deg", "rint",
    "trunc", "bitwise_count", "truth", "greater", "greater_equal", "less", "less_equal", "broadcast_to", "Axes",
    "canonical_axes", "canonical_axis", "integers", "one_or_several", "reduced_axes", "keep_axes", "fill_masked",
    "sum_dtype", "implements_by_name", "refuse", "on_host", "KINDS", "SCALARS", "array_of", "with_arrays", "with_items",
    "on_device", "placed_like", "dtype_argument", "wide_integer", "can_cast", "wide_float", "as_result", "binary",
    "check_dtypes", "check_operands", "check_ranks", "floating", "promoted_dtype", "float_operands",
]
