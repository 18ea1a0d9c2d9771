"""The array API's standard 2024.12 in tables: names, signatures, and the dtypes of operands and results.

The tables were written from the standard's text.  A signature has no name for the array parameters' types; `b i f c`
are the kinds bool, integer, real floating and complex floating.
"""

from __future__ import annotations

BOOLS = ("bool",)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = {"b": BOOLS, "i": SIGNED + UNSIGNED, "f": FLOATS, "c": COMPLEX}
ALL_DTYPES = BOOLS + SIGNED + UNSIGNED + FLOATS + COMPLEX
REAL_OF = {"complex64": "float32", "complex128": "float64"}

CONSTANTS = ("e", "inf", "nan", "newaxis", "pi")


def each(names, value):
    return dict.fromkeys(names.split(), value)


# Elementwise functions: the kinds of the operands, and the result: the promoted dtype, bool, or the dtype of the parts
UNARY = {
    "abs": ("ifc", "part"),
    **each("acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p", ("fc", "same")),
    **each("log2 log10 reciprocal sin sinh sqrt tan tanh", ("fc", "same")),
    "bitwise_invert": ("bi", "same"),
    **each("ceil floor trunc", ("if", "same")),
    **each("conj negative positive round sign square", ("ifc", "same")),
    "imag": ("c", "part"),
    "real": ("ifc", "part"),
    **each("isfinite isinf isnan", ("ifc", "bool")),
    "logical_not": ("b", "bool"),
    "signbit": ("f", "bool"),
}
BINARY = {
    **each("add multiply pow subtract", ("ifc", "same")),
    "divide": ("fc", "same"),
    **each("atan2 copysign hypot logaddexp nextafter", ("f", "same")),
    **each("bitwise_and bitwise_or bitwise_xor", ("bi", "same")),
    **each("bitwise_left_shift bitwise_right_shift", ("i", "same")),
    **each("floor_divide maximum minimum remainder", ("if", "same")),
    **each("equal not_equal", ("bifc", "bool")),
    **each("greater greater_equal less less_equal", ("if", "bool")),
    **each("logical_and logical_or logical_xor", ("b", "bool")),
}
OPERATORS = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "//": "floor_divide", "%": "remainder", "**": "pow",
    "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor", "<<": "bitwise_left_shift", ">>": "bitwise_right_shift",
    "==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal",
}  # fmt: skip

# Signatures
FUNCTIONS = {
    **dict.fromkeys(UNARY, "x, /"),
    **dict.fromkeys(BINARY, "x1, x2, /"),
    "clip": "x, /, min=None, max=None",
    # creation
    "arange": "start, /, stop=None, step=1, *, dtype=None, device=None",
    "asarray": "obj, /, *, dtype=None, device=None, copy=None",
    "empty": "shape, *, dtype=None, device=None",
    "empty_like": "x, /, *, dtype=None, device=None",
    "eye": "n_rows, n_cols=None, /, *, k=0, dtype=None, device=None",
    "from_dlpack": "x, /, *, device=None, copy=None",
    "full": "shape, fill_value, *, dtype=None, device=None",
    "full_like": "x, /, fill_value, *, dtype=None, device=None",
    "linspace": "start, stop, /, num, *, dtype=None, device=None, endpoint=True",
    "meshgrid": "*arrays, indexing='xy'",
    "ones": "shape, *, dtype=None, device=None",
    "ones_like": "x, /, *, dtype=None, device=None",
    "tril": "x, /, *, k=0",
    "triu": "x, /, *, k=0",
    "zeros": "shape, *, dtype=None, device=None",
    "zeros_like": "x, /, *, dtype=None, device=None",
    # dtypes
    "astype": "x, dtype, /, *, copy=True, device=None",
    "can_cast": "from_, to, /",
    "finfo": "type, /",
    "iinfo": "type, /",
    "isdtype": "dtype, kind",
    "result_type": "*arrays_and_dtypes",
    # indexing
    "take": "x, indices, /, *, axis=None",
    "take_along_axis": "x, indices, /, *, axis=-1",
    # inspection
    "__array_namespace_info__": "",
    # products
    "matmul": "x1, x2, /",
    "matrix_transpose": "x, /",
    "tensordot": "x1, x2, /, *, axes=2",
    "vecdot": "x1, x2, /, *, axis=-1",
    # manipulation
    "broadcast_arrays": "*arrays",
    "broadcast_to": "x, /, shape",
    "concat": "arrays, /, *, axis=0",
    "expand_dims": "x, /, *, axis",
    "flip": "x, /, *, axis=None",
    "moveaxis": "x, source, destination, /",
    "permute_dims": "x, /, axes",
    "repeat": "x, repeats, /, *, axis=None",
    "reshape": "x, /, shape, *, copy=None",
    "roll": "x, /, shift, *, axis=None",
    "squeeze": "x, /, axis",
    "stack": "arrays, /, *, axis=0",
    "tile": "x, repetitions, /",
    "unstack": "x, /, *, axis=0",
    # searching
    "argmax": "x, /, *, axis=None, keepdims=False",
    "argmin": "x, /, *, axis=None, keepdims=False",
    "count_nonzero": "x, /, *, axis=None, keepdims=False",
    "nonzero": "x, /",
    "searchsorted": "x1, x2, /, *, side='left', sorter=None",
    "where": "condition, x1, x2, /",
    # sets
    "unique_all": "x, /",
    "unique_counts": "x, /",
    "unique_inverse": "x, /",
    "unique_values": "x, /",
    # sorting
    "argsort": "x, /, *, axis=-1, descending=False, stable=True",
    "sort": "x, /, *, axis=-1, descending=False, stable=True",
    # statistics
    "cumulative_prod": "x, /, *, axis=None, dtype=None, include_initial=False",
    "cumulative_sum": "x, /, *, axis=None, dtype=None, include_initial=False",
    "max": "x, /, *, axis=None, keepdims=False",
    "mean": "x, /, *, axis=None, keepdims=False",
    "min": "x, /, *, axis=None, keepdims=False",
    "prod": "x, /, *, axis=None, dtype=None, keepdims=False",
    "std": "x, /, *, axis=None, correction=0.0, keepdims=False",
    "sum": "x, /, *, axis=None, dtype=None, keepdims=False",
    "var": "x, /, *, axis=None, correction=0.0, keepdims=False",
    # utilities
    "all": "x, /, *, axis=None, keepdims=False",
    "any": "x, /, *, axis=None, keepdims=False",
    "diff": "x, /, *, axis=-1, n=1, prepend=None, append=None",
}
LINALG = {
    "cholesky": "x, /, *, upper=False",
    "cross": "x1, x2, /, *, axis=-1",
    "det": "x, /",
    "diagonal": "x, /, *, offset=0",
    "eigh": "x, /",
    "eigvalsh": "x, /",
    "inv": "x, /",
    "matmul": "x1, x2, /",
    "matrix_norm": "x, /, *, keepdims=False, ord='fro'",
    "matrix_power": "x, n, /",
    "matrix_rank": "x, /, *, rtol=None",
    "matrix_transpose": "x, /",
    "outer": "x1, x2, /",
    "pinv": "x, /, *, rtol=None",
    "qr": "x, /, *, mode='reduced'",
    "slogdet": "x, /",
    "solve": "x1, x2, /",
    "svd": "x, /, *, full_matrices=True",
    "svdvals": "x, /",
    "tensordot": "x1, x2, /, *, axes=2",
    "trace": "x, /, *, offset=0, dtype=None",
    "vecdot": "x1, x2, /, *, axis=-1",
    "vector_norm": "x, /, *, axis=None, keepdims=False, ord=2",
}
FFT = {
    **each("fft hfft ifft ihfft irfft rfft", "x, /, *, n=None, axis=-1, norm='backward'"),
    **each("fftn ifftn irfftn rfftn", "x, /, *, s=None, axes=None, norm='backward'"),
    **each("fftfreq rfftfreq", "n, /, *, d=1.0, dtype=None, device=None"),
    **each("fftshift ifftshift", "x, /, *, axes=None"),
}
ATTRIBUTES = ("dtype", "device", "mT", "ndim", "shape", "size", "T")
METHODS = each(
    "__abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__ __dlpack_device__ __eq__ __float__ "
    "__floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ __le__ __lshift__ __lt__ __matmul__ __mod__ "
    "__mul__ __ne__ __neg__ __or__ __pos__ __pow__ __rshift__ __setitem__ __sub__ __truediv__ __xor__ to_device "
    "__radd__ __rsub__ __rmul__ __rtruediv__ __rfloordiv__ __rpow__ __rmod__ __rmatmul__ __rand__ __ror__ __rxor__ "
    "__rlshift__ __rrshift__",
    None,
)
NAMED_RESULTS = {
    "unique_all": ("values", "indices", "inverse_indices", "counts"),
    "unique_counts": ("values", "counts"),
    "unique_inverse": ("values", "inverse_indices"),
    "linalg.eigh": ("eigenvalues", "eigenvectors"),
    "linalg.qr": ("Q", "R"),
    "linalg.slogdet": ("sign", "logabsdet"),
    "linalg.svd": ("U", "S", "Vh"),
}


def kind_of(dtype: str) -> str:
    return next(kind for kind, names in DTYPES.items() if dtype in names)


def dtypes_of(kinds: str) -> list[str]:
    return [dtype for kind in kinds for dtype in DTYPES[kind]]


def bits_of(dtype: str) -> int:
    return int(dtype.lstrip("abcdefghijklmnopqrstuvwxyz"))


def promoted(one: str, other: str) -> str | None:
    """Return the dtype of an operation on both, or None where the standard leaves it open."""
    if one == other:
        return one
    kinds = {kind_of(one), kind_of(other)}
    if kinds == {"i"}:
        return _promoted_integers(one, other)
    if kinds == {"f", "c"}:
        bits = max(2 * bits_of(x) if kind_of(x) == "f" else bits_of(x) for x in (one, other))
        return f"complex{bits}"
    if kinds in ({"f"}, {"c"}):
        return max(one, other, key=bits_of)
    return None


def _promoted_integers(one: str, other: str) -> str | None:
    if (one in SIGNED) == (other in SIGNED):
        return max(one, other, key=bits_of)
    signed, unsigned = (one, other) if one in SIGNED else (other, one)
    bits = max(bits_of(signed), 2 * bits_of(unsigned))
    return f"int{bits}" if bits <= 64 else None


PAIRS = [(one, other) for one in ALL_DTYPES for other in ALL_DTYPES if promoted(one, other)]


def pairs_of(kinds: str) -> list[tuple[str, str]]:
    return [(one, other) for one, other in PAIRS if kind_of(one) in kinds and kind_of(other) in kinds]
