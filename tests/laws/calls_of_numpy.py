"""How the functions of `calque.numpy`, its `linalg` and its `fft` are called.  Read first: `calls.py`."""

from __future__ import annotations

from functools import partial

import numpy as np
from calls import FM, FN, FV, A, C, H, M, N, R, S, Table, V, W, X, Y, add, fixed

NUMPY: Table = {}
LINALG: Table = {}
FFT: Table = {}
row = partial(add, NUMPY)
SHORT = lambda dtype, size: FV(dtype, size)[:3]
TWO_COLUMNS = lambda dtype, size: FN(dtype, size)[:, :2]
PLACES = fixed(np.array([2, 0, 1]))
FEW = fixed(np.array([1, 0, 2, 1]))
one = lambda f, x: f(x)
two = lambda f, x, y: f(x, y)

# types
row("result_type promote_types", lambda f, x: np.zeros(2, f(x.dtype, np.float32)), V, makes=True)
row("can_cast", lambda f, x: f(x.dtype, np.float32), V)
row("issubdtype isdtype", lambda f, x: f(x.dtype, np.float32), V)
row("finfo iinfo", lambda f, x: f(x.dtype).bits, V)
row("iscomplexobj isrealobj iscomplex isreal isscalar", one, V)
row("astype", lambda f, x: [f(x, np.float32), f(x, np.complex64), f(x, np.float16)], V)
row("astype", lambda f, x: [f(x, dtype) for dtype in (bool, np.int8, np.int64)], FV)
row("astype", lambda f, x: f(x, np.uint16), W)
# creation
row("array asarray copy", lambda f, x: [f(x), f([x[:1], x[:1]]) if f.__name__ != "copy" else f(x)], V)
row("zeros ones", lambda f, x: [f(3, x.dtype), f((0, 2), x.dtype)], V, makes=True)
row("empty", lambda f, x: f(3, x.dtype).shape, V)
row("zeros_like ones_like", lambda f, x: [f(x), f(x, shape=(2,)), f(x, np.float32)], V)
row("empty_like", lambda f, x: f(x).shape, V)
row("full", lambda f, x: [f(3, x[:1]), f((2,), x[:1], np.float32)], FV)
row("full_like", lambda f, x: [f(x, 2), f(x, x[:1]), f(x, 1.5, np.float32)], FV)
row("arange", lambda f, x: f(5, dtype=x.dtype), V, makes=True)
row("arange", lambda f, x: f(0, 4, 2, x.dtype), V, makes=True)
row("linspace", lambda f, x: [f(x, 3, 5), f(x, x[::-1], 3, endpoint=False), f(x[:1], 2, 1)], FV)
row("linspace", lambda f, x: f(x, 3, 4, dtype=np.int32), FV)
row("logspace", lambda f, x: f(x, 2, 4), W, ulps=16)
row("geomspace", lambda f, x: f(x, 9, 4), W, ulps=16)
row("eye identity tri", lambda f, x: f(3, dtype=x.dtype), V, makes=True)
row("eye tri", lambda f, x: [f(3, 2, k, x.dtype) for k in (-1, 1, 7)], V, makes=True)
row("meshgrid", lambda f, x, y: [f(x, y), f(x, y, indexing="ij", sparse=True), f(x)], V, PLACES)
row("diag_indices tril_indices triu_indices", lambda f, x: f(3), V, makes=True)
row("diag_indices_from tril_indices_from triu_indices_from", one, R)
row("indices", lambda f, x: f((2, 3), x.dtype), V, makes=True)
row("ix_", lambda f, x, y: f(x, y), V, PLACES)
row("fromfunction", lambda f, x: f(lambda i, j: i * j, (2, 3), dtype=x.dtype), V, makes=True)
row("broadcast_shapes", lambda f, x: f(x.shape, (1,)), V)
row("shape ndim size iterable", one, V)
# elementwise
row(
    "negative positive absolute abs fabs sign square reciprocal sqrt cbrt floor ceil trunc fix rint round around "
    "spacing signbit conj conjugate real imag angle isnan isfinite isinf isneginf isposinf logical_not bitwise_not "
    "bitwise_invert invert bitwise_count nan_to_num deg2rad radians rad2deg degrees",
    one, V,
)  # fmt: skip
row("exp exp2 expm1 log log2 log10 log1p sinc sin cos tan", one, V, ulps=8, complex_ulps=64)
row(
    "asin acos atan arcsin arccos arctan sinh cosh tanh asinh acosh atanh arcsinh arccosh arctanh",
    one, V, ulps=8, complex_ulps=64,
)  # fmt: skip
row("i0", one, V, ulps=16)
row("frexp modf", lambda f, x: tuple(f(x)), V)
row(
    "add subtract multiply divide true_divide floor_divide mod remainder fmod divmod heaviside maximum minimum fmax "
    "fmin nextafter copysign gcd lcm equal not_equal less less_equal greater greater_equal logical_and logical_or "
    "logical_xor bitwise_and bitwise_or bitwise_xor isclose",
    two, X, Y,
)  # fmt: skip
row("logaddexp logaddexp2 hypot arctan2 atan2 float_power", two, X, Y, ulps=16, complex_ulps=256)
row("pow power", two, X, Y, ulps=16, complex_ulps=256)
row("add subtract multiply divide floor_divide remainder power maximum", lambda f, x: [f(x, 2), f(x, 1.5)], V, ulps=16)
row("bitwise_left_shift left_shift bitwise_right_shift right_shift", lambda f, x, n: f(x, n), V, fixed(np.int8(3)))
row("bitwise_left_shift left_shift bitwise_right_shift right_shift", two, X, Y)
row("ldexp", lambda f, x: [f(x, 3), f(x, -2), f(x, np.array([3, -2], np.int32)[:, None])], V)
row("clip", lambda f, x, y: [f(x, 0, 2), f(x, None, 1), f(x, y[:1], 2), f(x, min=1)], V, FV)
row("round around", lambda f, x: [f(x, 1), f(x, -1), f(x, 3)], V)
row("nan_to_num", lambda f, x: f(x, nan=2, posinf=3, neginf=-3), V)
row("angle", lambda f, x: f(x, deg=True), V)
row("allclose array_equal array_equiv", lambda f, x, y: [f(x, x), f(x, y)], V, FV)
row("where", lambda f, c, x, y: [f(c, x, y), f(c, x, 2), f(c, 1, x)], C, V, FV)
row("select", lambda f, c, x, y: [f([c, ~c], [x, y]), f([c], [x], 3)], C, V, FV)
row("piecewise", lambda f, x, c: [f(x, [c], [2, lambda v: v + v]), f(x, [c, ~c], [1, 0])], V, C)
row("choose", lambda f, x, y: f(np.array([[0], [1]]), [x, y]), V, FV)
row("choose", lambda f, n, x: f(n, [x, x, x], mode="clip"), fixed(np.array([[2], [0]])), V)
# shapes
row("reshape", lambda f, x: [f(x, -1), f(x, (2, -1)) if x.size else f(x, (0, 2))], M)
row("ravel transpose permute_dims matrix_transpose squeeze atleast_1d atleast_2d atleast_3d", one, M)
row("swapaxes moveaxis", lambda f, x: f(x, 0, -1), M)
row("rollaxis", lambda f, x: [f(x, 1), f(x, 0, 2)], M)
row("expand_dims", lambda f, x: [f(x, 1), f(x, (0, -1))], M)
row("broadcast_to", lambda f, x: f(x, (2, *x.shape)), M)
row("broadcast_arrays", lambda f, x, y: list(f(x, y)), V, S)
row("repeat", lambda f, x: [f(x, 2), f(x, 3, 0)], M)
row("tile", lambda f, x: [f(x, 2), f(x, (2, 1, 2)), f(x, 0)], M)
row("flip flipud fliplr rot90", one, M)
row("flip", lambda f, x: [f(x, (1, 0)), f(x, ())], M)
row("rot90", lambda f, x: [f(x, 2), f(x, 1, (1, 0)), f(x, -3)], M)
row("roll", lambda f, x: [f(x, 1), f(x, (1, 2), (1, 0)), f(x, -2, 1)], M)
row("concatenate concat stack vstack hstack dstack column_stack", lambda f, x, y: [f((x, y)), f([x])], M, M)
row("concatenate concat", lambda f, x, y: [f((x, y), 1), f((x, y), axis=None), f((x, y), dtype=np.float32)], M, M)
row("stack", lambda f, x, y: [f((x, y), -1), f((x, y), 1, dtype=np.float32)], M, M)
row("hstack vstack", lambda f, x, n: f((x, n)), V, fixed(np.array([1, 2], np.int8)))
row("append", lambda f, x, y: [f(x, y), f(x, y, 0), f(x, 1)], M, M)
row("block", lambda f, x: [f([[x, x], [x, x]]), f([x, x])], M)
row("split array_split", lambda f, x: [f(x, [1, 2]), f(x, 2, 1)], fixed(np.arange(8.0).reshape(2, 4)))
row("array_split", lambda f, x: f(x, 3), V)
row("vsplit hsplit", lambda f, x: f(x, [1]), M)
row("dsplit", lambda f, x: f(x[..., None], [1]), M)
row("unstack", lambda f, x: [f(x), f(x, axis=1)], M)
row("pad", lambda f, x: [f(x, 1), f(x, (1, 2), constant_values=3), f(x, ((0, 1), (2, 0)))], M)
row("pad", lambda f, x: [f(x, (1, 2), mode) for mode in ("edge", "wrap", "reflect", "symmetric", "maximum")], FM)
row("pad", lambda f, x: [f(x, (1, 2), mode) for mode in ("mean", "median", "linear_ramp", "minimum")], FM)
row("resize", lambda f, x: [f(x, 3), f(x, (2, 5))], M)
row("diag diagflat diagonal trace tril triu", lambda f, x: [f(x), f(x, 1), f(x, -1)], M)
row("diag diagflat", one, V)
row("apply_along_axis", lambda f, x: [f(lambda r: r[::-1], 0, x), f(lambda r: r + r, 1, x)], M)
row("apply_over_axes", lambda f, x: f(np.max, x, (1, 0)), FM)
# reductions
row("sum mean std var prod", one, M, ulps=16, by_array=True, complex_ulps=64)
row("sum mean std var prod", lambda f, x: [f(x, 1), f(x, (1, 0), keepdims=True)], FM, ulps=16, by_array=True)
row("sum mean std var prod", lambda f, x: [f(x, 0, dtype=np.float32), f(x, where=x == x)], FM, ulps=16, by_array=True)
row("std var", lambda f, x: f(x, 0, ddof=1), FM, ulps=16, by_array=True)
row(
    "nansum nanmean nanvar nanstd nanprod",
    lambda f, x: [f(x), f(x, 1), f(x, 0, keepdims=True)],
    M,
    ulps=16,
    by_array=True,
)
row("nansum nanmean nanvar nanstd nanprod", lambda f, x: [f(x), f(x, 1)], FM, ulps=16, by_array=True)
row("average", lambda f, x: [f(x), f(x, 1), f(x, 0, keepdims=True)], FM, ulps=16, by_array=True)
row("average", lambda f, x, w: f(x, weights=w, returned=True), FV, W, ulps=16, by_array=True)
row("max amax min amin ptp argmax argmin nanmax nanmin nanargmax nanargmin", lambda f, x: [f(x), f(x, 1)], M)
row("max amax min amin ptp nanmax nanmin", lambda f, x: [f(x, (1, 0), keepdims=True)], M)
row("max amax min amin nanmax nanmin", lambda f, x: [f(x, 0, initial=1), f(x, initial=1, where=x == x)], FM)
row("argmax argmin nanargmax nanargmin", lambda f, x: f(x, 0, keepdims=True), M)
row("any all count_nonzero", lambda f, x: [f(x), f(x, 1), f(x, (1, 0), keepdims=True)], M)
row("median nanmedian", lambda f, x: [f(x), f(x, 1), f(x, (1, 0), keepdims=True)], M)
row("median nanmedian", lambda f, x: [f(x), f(x, 0)], FM)
for operand in (M, FM):
    row("quantile nanquantile", lambda f, x: [f(x, 0.3), f(x, [0.0, 0.5, 1.0], 1)], operand, ulps=16)
    row("percentile nanpercentile", lambda f, x: [f(x, 30), f(x, [0.0, 50.0], 1), f(x, 25, (1, 0))], operand, ulps=16)
METHODS = ["lower", "higher", "nearest", "midpoint", "inverted_cdf", "hazen", "median_unbiased"]
row("quantile nanquantile", lambda f, x: [f(x, 0.4, 0, method=m) for m in METHODS], FM, ulps=16)
# running sums and differences
row("cumsum cumprod nancumsum nancumprod", lambda f, x: [f(x), f(x, 1), f(x, 0)], M, ulps=16, by_array=True)
row("cumsum cumprod nancumsum nancumprod", lambda f, x: [f(x), f(x, 0, np.float32)], FM, ulps=16, by_array=True)
row(
    "cumulative_sum cumulative_prod",
    lambda f, x: [f(x, axis=1), f(x, axis=0, include_initial=True)],
    FM,
    ulps=16,
    by_array=True,
)
row("diff", lambda f, x: [f(x), f(x, 2, 0), f(x, prepend=x[:, :1], append=x[:, :1])], M)
row("ediff1d", lambda f, x: [f(x), f(x, x[:1], x[:2])], V)
row("trapezoid", lambda f, x: [f(x), f(x, dx=0.5), f(x, x), f(x, axis=0)], FM, ulps=16, by_array=True)
row("trapezoid", one, V, ulps=16, by_array=True)
row("gradient", lambda f, x: [f(x, 0.5, 2.0, axis=(1, 0)), f(x, axis=(1, 0), edge_order=2), f(x, axis=-1)], FM, ulps=16)
row("gradient", lambda f, x: [f(x), f(x, 2.0), f(x, edge_order=2)], V, ulps=16)
row("unwrap", lambda f, x: [f(x), f(x * 5), f(x, period=4)], FV, ulps=16, by_array=True)
row("unwrap", one, V, ulps=16, by_array=True)
# products, signals, polynomials
row("dot matmul", two, M, N, ulps=16, by_array=True, complex_ulps=64)
row(
    "dot matmul inner outer vdot tensordot kron vecdot",
    lambda f, x, y: f(x, y, *[1] * (f.__name__ == "tensordot")),
    FV,
    FV,
    ulps=16,
    by_array=True,
)
row("dot matmul kron", two, FM, FN, ulps=16, by_array=True)
row("inner vdot outer vecdot", two, FM, FM, ulps=16, by_array=True)
row("tensordot", lambda f, x, y: [f(x, y, 1), f(x, y, ((0,), (1,))), f(x, y, 0)], FM, FN, ulps=16, by_array=True)
row("matvec", lambda f, x: f(x, x[0] if len(x) else np.ones(4)), FM, ulps=16, by_array=True)
row("vecmat", lambda f, x: f(x[:, 0], x), FM, ulps=16, by_array=True)
row("cross", lambda f, x: f(x, x[::-1]), FN, ulps=16, by_array=True)
row("einsum", lambda f, x, y: [f("ij,jk->ik", x, y), f("ij->j", x), f("ij,ji", x, y)], FM, FN, ulps=16, by_array=True)
row("einsum", lambda f, x: [f("ij->ji", x), f("ij,ij->ij", x, x)], M)
row(
    "convolve correlate",
    lambda f, x: [f(x, x[:3]), f(x, x[:2], "same"), f(x, x[:1], "valid")],
    FV,
    ulps=16,
    by_array=True,
)
row("cov corrcoef", lambda f, x: f(x), FM, ulps=64, by_array=True)
row("cov", lambda f, x: [f(x, ddof=0), f(x, rowvar=False)], FM, ulps=64, by_array=True)
row("bartlett blackman hamming hanning", lambda f, x: [f(n) for n in (0, 1, 5)], V, ulps=16, by_array=True, makes=True)
row("kaiser", lambda f, x: [f(n, 3.0) for n in (0, 1, 5)], V, ulps=16, by_array=True, makes=True)
row("polyval", lambda f, p, x: f(p[:4], x), FV, FV, ulps=16, by_array=True)
row("polyadd polysub", lambda f, p, x: [f(p[:3], x), f(x, p)], V, V)
row("polymul", lambda f, p, x: f(p[:3], x), FV, FV, ulps=16, by_array=True)
row("polyder polyint", lambda f, p: [f(p), f(p, 2)], FV, ulps=16)
row("polyint", lambda f, p: f(p, 1, 3), FV, ulps=16)
row("vander", lambda f, x: [f(x), f(x, 3, increasing=True)], FV, ulps=64, by_array=True)
row("poly", lambda f, x: f(x), SHORT, ulps=64, by_array=True)
row("polydiv", lambda f, x: f(x, x[:2]), SHORT, ulps=256, by_array=True)
row("roots", lambda f, x: f(x), SHORT, ulps=256, by_array=True)
row("polyfit", lambda f, x: f(np.linspace(0, 1, x.size), x, 1), FV, ulps=4096, by_array=True, sizes=("many",))
# orders, places, counts, sets
row("sort argsort", lambda f, x: [f(x), f(x, 0), f(x, None), f(x, stable=True)], M)
row("partition argpartition", lambda f, x: [np.sort(f(x, 0)) if f.__name__ == "partition" else f(x, 0).shape], V)
row("lexsort", lambda f, x: [f((x, x[::-1])), f((x,))], V)
row("lexsort", lambda f, x: f(x, 0), M)
row("sort_complex", one, V)
row("searchsorted", lambda f, x, v: [f(x, v), f(x, v, "right")], A, V)
row("searchsorted", lambda f, x, v: [f(x, v), f(x, 1)], A, FV)
row("digitize", lambda f, x: [f(x, np.array([0, 1, 3])), f(x, np.array([3, 1, 0]), right=True)], V)
row("interp", lambda f, x: f(x, np.array([0.0, 1.0, 3.0]), np.array([1.0, np.inf, -2.0])), V)
row("interp", lambda f, x: f(x, np.array([0.0, 1.0, np.inf]), np.array([1.0, np.nan, -2.0]), 9.0, 8.0), V)
row("interp", lambda f, x: [f(x, np.array([-1.0, 0.0, 2.0]), np.array([1.0, 2, -2.0]), period=3)], FV, ulps=16)
row("bincount", lambda f, x: [f(x.astype(np.uint8) % 4, length=5)], W)
row("histogram histogram_bin_edges", lambda f, x: f(x, np.array([0, 1, 3])), FV)
row("histogram", lambda f, x, w: f(x, 3, (0, 3), weights=w), FV, W, ulps=16)
row("histogram2d", lambda f, x: f(x, x, 2, [(0, 2), (0, 2)]), FV)
row("histogramdd", lambda f, x: f(x, 2, [(0, 2)] * x.shape[1]), TWO_COLUMNS)
row("nonzero flatnonzero argwhere", lambda f, x: f(x, size=4), V)
row("unique", lambda f, x: f(x, True, True, True, size=max(x.size, 1)), V)
row("unique_values unique_all unique_counts unique_inverse", lambda f, x: tuple(f(x, size=max(x.size, 1))), V)
row("isin", lambda f, x, y: [f(x, y), f(x, y[:2], invert=True)], V, FV)
row("intersect1d setdiff1d setxor1d union1d", lambda f, x, y: f(x, y[:4], size=8), V, FV)
row("take", lambda f, x, i: [f(x, i[:0]), f(x, i, mode="clip"), f(x, i, 1, mode="wrap")], M, FEW)
row("take", lambda f, x, i: f(x, i, 1), M, FEW, sizes=("many", "none"))
row("take_along_axis", lambda f, x: f(x, np.zeros((len(x), 1), int), 1), M)
row("compress", lambda f, x: f(np.array([True, False, True]), x, 1), M)
row("extract", lambda f, x: f(np.array([True]), x[:1]), V)
row("delete", lambda f, x: [f(x, 0, 1), f(x, [0], 1)], M)
row("insert", lambda f, x: [f(x, 0, 2), f(x, [0, 0], 3, 0)], V)
row("place", lambda f, x, c: f(x.copy(), c, np.array([1, 2]), inplace=False), V, C)
row("put", lambda f, x: f(x.copy(), [0], [2], inplace=False), V)
row("put_along_axis", lambda f, x: f(x.copy(), np.zeros((len(x), 1), int), 1, 1, inplace=False), M)
row("fill_diagonal", lambda f, x: f(x.copy(), 1, inplace=False), R)
row("at", lambda f, x: [f(x)[0].get(), f(x)[:2].set(1), f(x)[:1].add(1), f(x)[:1].max(2)], V)
row("ravel_multi_index", lambda f, x: f((x[:1].astype(int) % 3, x[:1].astype(int) % 2), (3, 2)), FV)
row("unravel_index", lambda f, x: f(x.astype(np.int32) % 6, (3, 2)), FV)
row("packbits", lambda f, x: [f(x), f(x, bitorder="little")], V)
row("unpackbits", one, V)
row("vectorize", lambda f, x: [f(lambda a: a + a)(x), f(lambda a: a[::-1], signature="(n)->(n)")(x)], M)
row("frompyfunc", lambda f, x: [f(lambda a, b: a + b, 2, 1)(x, x), f(lambda a, b: a + b, 2, 1).accumulate(x)], FM)

# linalg
line = partial(add, LINALG)
near = {"ulps": 256, "by_array": True, "complex_ulps": 1024}
line("eigvalsh", lambda f, x: [f(x), f(x, "U")], H, **near)
line("eigh", lambda f, x: f(x)[0], H, **near)
line("eig", lambda f, x: abs(f(x)[0]).sum(), H, **near)
line("eigvals", lambda f, x: abs(f(x)).sum(), H, **near)
line("svd", lambda f, x: [f(x, compute_uv=False), f(x)[1]], FM, **near)
line("svdvals matrix_rank", one, FM, **near)
line("pinv", one, R, **near)
line("solve", lambda f, x: [f(x, x), f(x, x[0] if len(x) else np.ones(0))], R, **near)
line("inv det cond slogdet", one, R, **near)
line("det slogdet", one, lambda d, s: np.zeros((3, 3), d), **near)
line("tensorsolve", lambda f, x: f(x, x[0] if len(x) else np.ones(0)), R, **near)
line("tensorinv", lambda f, x: f(x, 1), R, **near)
line("cholesky", lambda f, x: [f(x), f(x, upper=True)], H, **near)
line("qr", lambda f, x: [abs(f(x, m)[1]) for m in ("reduced", "complete")], FN, **near)
line("matrix_power", lambda f, x: [f(x, n) for n in (0, 1, 3)], R, **near)
line("matrix_power", lambda f, x: f(x, -2), R, **near)
line("multi_dot", lambda f, x: f([x, x, x]), R, **near)
line("lstsq", lambda f, x: list(f(x, x))[::3], R, **near)
line("norm vector_norm", lambda f, x: [f(x), f(x, ord=1), f(x, ord=np.inf), f(x, ord=0)], V, **near)
line("norm", lambda f, x: [f(x), f(x, 1), f(x, np.inf), f(x, "fro"), f(x, axis=(1, 0)), f(x, axis=0)], FM, **near)
line("norm", lambda f, x: [f(x, 2), f(x, "nuc"), f(x, 1, (1, 0)), f(x, np.inf, (1, 0))], FM, **near)
line("matrix_norm", lambda f, x: [f(x), f(x, ord=1), f(x, ord=2, keepdims=True)], FM, **near)
line("vector_norm", lambda f, x: [f(x, axis=(1, 0)), f(x, axis=1, ord=3)], FM, **near)
line("diagonal trace", lambda f, x: [f(x), f(x, offset=1)], M)
line("matrix_transpose", one, M)
line("outer vecdot", two, FV, FV, ulps=16, by_array=True)
line("cross", lambda f, x: f(x, x[::-1]), FN, ulps=16, by_array=True)
line("matmul tensordot", lambda f, x, y: f(x, y, *[1] * (f.__name__ == "tensordot")), FM, FN, ulps=16, by_array=True)

# fft
turn = partial(add, FFT)
turn("fft ifft", lambda f, x: [f(x), f(x, 5), f(x, axis=0), f(x, norm="ortho")], FM, **near)
turn("rfft ihfft", lambda f, x: [f(x), f(x, 5), f(x, axis=0), f(x, norm="forward")], FM, **near)
turn("irfft hfft", lambda f, x: [f(x, 5), f(x, 4, 0)], FM, **near)
turn(
    "fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn",
    lambda f, x: [f(x), f(x, axes=(1, 0)), f(x, (2, 3), (0, 1))],
    FM,
    **near,
)
turn("fftn ifftn fft2 ifft2", lambda f, x: f(x, axes=()), FM, **near)
turn("fftfreq rfftfreq", lambda f, x: [f(5), f(4, 0.5)], V, makes=True)
turn("fftshift ifftshift", lambda f, x: [f(x), f(x, 1), f(x, (1, 0)), f(x, axes=())], M)

EXCLUDED = {
    name: reason
    for reason, names in {
        "it makes text": "array2string array_repr array_str base_repr binary_repr format_float_positional "
        "format_float_scientific get_printoptions printoptions set_printoptions",
        "it reads or writes files, text or foreign memory": "save savetxt savez savez_compressed frombuffer fromfile "
        "fromiter fromregex fromstring genfromtxt load loadtxt from_dlpack",
        "it gives a text": "einsum_path __array_namespace_info__",
        "the shape of its result depends on values": "trim_zeros mask_indices",
    }.items()
    for name in names.split()
}
