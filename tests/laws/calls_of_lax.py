"""How the functions of `calque.lax` and `calque.lax.linalg` are called.  Read first: `calls.py`."""

from __future__ import annotations

from functools import partial

import numpy as np
from calls import FM, FN, FV, C, H, M, R, Table, V, W, X, Y, add, is_inexact

from calque import lax

LAX: Table = {}
LAX_LINALG: Table = {}
row = partial(add, LAX)
one = lambda f, x: f(x)
two = lambda f, x, y: f(x, y)
near = {"ulps": 256, "by_array": True, "complex_ulps": 1024}
sums = {"ulps": 16, "by_array": True}
ROWS_OF_GROUPS = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
NOTHING = lambda dtype, size: np.zeros(len(R(dtype, size)), dtype)
images = lambda dtype, size: np.resize(FM(dtype, "many"), (1, 2, 5, 4))
kernels = lambda dtype, size: np.resize(FM(dtype, "many"), (2, 2, 3, 2))

row(
    "neg abs sign square sqrt rsqrt cbrt reciprocal real imag conj floor ceil round is_finite bitwise_not "
    "population_count clz stop_gradient discard optimization_barrier dce_sink",
    one, V,
)  # fmt: skip
row("full_like", lambda f, x: f(x, 2), V, makes=True)
row("zeros_like ones_like", one, V, makes=True)
row("round", lambda f, x: f(x, lax.RoundingMethod.TO_NEAREST_EVEN), V)
row(
    "exp exp2 expm1 log log1p sin cos tan asin acos atan sinh cosh tanh tanh_slope asinh acosh atanh logistic "
    "logistic_slope",
    one, V, ulps=8, complex_ulps=64,
)  # fmt: skip
row("erf erfc erf_inv lgamma digamma bessel_i0e bessel_i1e", one, V, ulps=32)
row("add add_any sub mul max min nextafter eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor", two, X, Y)
row("div rem", two, X, lambda d, s: Y(d, s) if is_inexact(d) else np.where(Y(d, s) == 0, d.type(1), Y(d, s)))
row("atan2 pow complex", two, X, Y, ulps=16, complex_ulps=256)
row("integer_pow", lambda f, x: [f(x, n) for n in (0, 1, 2, 3, 5)], V, complex_ulps=64)
row("integer_pow", lambda f, x: [f(x, n) for n in (-1, -2)], V, complex_ulps=64)
row("zeta polygamma igamma igammac igamma_grad_a random_gamma_grad", two, X, Y, ulps=256)
row("betainc", lambda f, x, y: f(x, y, y), X, Y, ulps=256)
row("reduce_precision", lambda f, x: f(x, 5, 3), V)
row("shift_left shift_right_logical shift_right_arithmetic mulhi", two, X, Y)
row("select_n", lambda f, c, x, y: [f(c, x, y), f(c.astype(np.int32), x, y)], C, V, FV)
row("select", lambda f, c, x, y: f(c, x, y), C, V, FV)
row("clamp", lambda f, x, y: [f(y[:1].reshape(()) if y.size else 0, x, 3), f(0, x, 2)], V, FV)
row("threefry2x32", lambda f, x: f(*[x.astype(np.uint32)] * 4), W)
row("philox4x32", lambda f, x: f([x.astype(np.uint32)] * 2, [x.astype(np.uint32)] * 4), W)
row("rng_bit_generator", lambda f, x: f(np.full(4, x.size, np.uint32), x.shape), W)
row("convert_element_type", lambda f, x: [f(x, d) for d in (np.float32, np.complex64, np.float16)], V)
row("convert_element_type", lambda f, x: [f(x, d) for d in (bool, np.int32)], FV)
row("convert_element_type", lambda f, x: f(x, np.uint8), W)
row("bitcast_convert_type", lambda f, x: f(x, np.uint8 if x.dtype.itemsize == 1 else np.int32), V)
# shapes
row("broadcast_in_dim", lambda f, x: f(x, (2, *x.shape), (1, 2)), M)
row("broadcast", lambda f, x: f(x, (2, 1)), M)
row("expand_dims", lambda f, x: f(x, (0, 2)), M)
row("broadcast_shapes", lambda f, x: f(x.shape, (1,)), V)
row("broadcast_to_rank", lambda f, x: f(x, 4), M)
row("broadcast_like", lambda f, x, y: f(x[0], y), M, M, sizes=("many", "one"))
row("reshape", lambda f, x: f(x, (x.size,)), M)
row("collapse", lambda f, x: f(x, 0, 2), M)
row("transpose", lambda f, x: f(x, (1, 0)), M)
row("rev", lambda f, x: [f(x, (1, 0)), f(x, ())], M)
row("squeeze", lambda f, x: f(x[None], (0,)), M)
row("slice", lambda f, x: f(x, (0, 1), x.shape, (1, 2)), M)
row("slice_in_dim", lambda f, x: f(x, 0, x.shape[1], 2, 1), M)
row("index_in_dim", lambda f, x: f(x, 0, 1, False), M)
row(
    "pad",
    lambda f, x: [f(x, x.dtype.type(1), ((1, 0, 1), (0, 2, 0))), f(x, x.dtype.type(0), ((0, -1, 0), (0, 0, 0)))],
    M,
)
row("PaddingConfig", lambda f, x: f([(1, 0, 1)]), V)
row("concatenate", lambda f, x: f([x, x], 1), M)
row("split", lambda f, x: f(x, [1, x.shape[1] - 1], 1), M)
row("stack", lambda f, x: f([x, x], 1), M)
row("unstack", lambda f, x: f(x, 1), M)
row("tile", lambda f, x: f(x, (2, 1)), M)
row("iota", lambda f, x: f(x.dtype, 3), V, makes=True)
row("broadcasted_iota", lambda f, x: f(x.dtype, (2, 3), 1), V, makes=True)
row("full", lambda f, x: [f((2,), x[0]), f((2,), x[0], np.float32)], FV, sizes=("many", "one"))
row("empty", lambda f, x: f((2,), x.dtype).shape, V)
# reductions and orders
row("reduce_sum reduce_prod", one, FM, **sums)
row("reduce_sum reduce_prod", lambda f, x: [f(x), f(x, (1,)), f(x, (1, 0), keepdims=True)], M, **sums)
row("reduce_max reduce_min reduce_and reduce_or reduce_xor", lambda f, x: [f(x), f(x, (1,)), f(x, (1, 0))], M)
row("argmax argmin", lambda f, x: [f(x, 0), f(x, 1, np.int32)], M)
row("reduce", lambda f, x: f(x, np.zeros((), x.dtype)[()], lax.max, (1,)), FM)
row("cumsum cumprod cumlogsumexp", lambda f, x: [f(x, 1), f(x, 0, True)], FM, ulps=32, by_array=True)
row("cumsum cumprod cummax cummin cumlogsumexp", lambda f, x: [f(x, 1), f(x, 0, True)], M, ulps=32, by_array=True)
row("sort", lambda f, x: [f(x), f(x, 0), *f((x, x[::-1]), 0, num_keys=2)], M)
row("sort_key_val", lambda f, x: f(x, np.arange(x.size).reshape(x.shape), 1), M)
row("top_k approx_max_k approx_min_k", lambda f, x: f(x, 1), M)
# products and windows
row("dot_general", lambda f, x, y: f(x, y, (((1,), (0,)), ((), ()))), FM, FN, **sums)
row("dot", two, FM, FN, **sums)
row("dot", two, M, lambda d, s: np.swapaxes(M(d, s), 0, 1), **sums)
row("batch_matmul", lambda f, x, y: f(x[None], y[None]), FM, FN, **sums)
row("ragged_dot_general", lambda f, x, y: f(x, y[None], np.array([len(x)]), ROWS_OF_GROUPS), FM, FN, **sums)
row("ragged_dot", lambda f, x, y: f(x, y[None], np.array([len(x)])), FM, FN, **sums)
row("fft", lambda f, x: f(x, "fft", (x.shape[1],)), FM, **near)
row(
    "conv_general_dilated conv conv_with_general_padding",
    lambda f, x, k: f(x, k, (1, 2), [(1, 0), (0, 1)], *[(1, 1), (1, 1)] * (f.__name__ == "conv_with_general_padding")),
    images,
    kernels,
    **sums,
)
row(
    "conv_transpose",
    lambda f, x, k: f(x, k, (2, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW")),
    images,
    kernels,
    **sums,
)
row("conv_general_dilated_patches", lambda f, x: f(x, (2, 2), (1, 1), "VALID"), images, **sums)
row(
    "conv_general_dilated_local",
    lambda f, x: f(x, np.ones((2, 4, 4, 3), x.dtype), (1, 1), "VALID", (2, 2)),
    images,
    **sums,
)
row("conv_dimension_numbers", lambda f, x: f((1, 2, 3, 4), (1, 2, 3, 4), None).lhs_spec, V)
row("padtype_to_pads", lambda f, x: f((5,), (2,), (1,), "SAME"), V)
for start in (-np.inf, 0):
    row("reduce_window", lambda f, x, start=start: f(x, start, lax.max, (2,), (1,), "VALID"), FV)
row("reduce_window", lambda f, x: f(x, 0, lax.add, (2,), (1,), "SAME"), FV, **sums)
row("reduce_window", lambda f, x: f(x, np.inf, lax.min, (2,), (1,), "SAME"), V)
row("select_and_gather_add", lambda f, x, y: f(x, y, lax.ge_p, (2,), (1,), [(0, 0)]), FV, FV)
row("select_and_scatter_add", lambda f, x, y: f(y[: max(x.size - 1, 0)], x, lax.ge_p, (2,), (1,), [(0, 0)]), FV, FV)
row(
    "select_and_scatter",
    lambda f, x, y: f(x, lax.ge, (2,), (1,), "VALID", y[: max(x.size - 1, 0)], x.dtype.type(0), lax.add),
    FV,
    FV,
)
# places
row("dynamic_slice", lambda f, x: [f(x, (0, 9), (1, 2)), f(x, (-1, -1), (1, 1))], M)
row("dynamic_update_slice", lambda f, x: [f(x, x[:1], (9, 0)), f(x, x[:1, :1], (-1, -1))], M)
row("dynamic_slice_in_dim", lambda f, x: f(x, 2, 1, 1), M)
row("dynamic_update_slice_in_dim", lambda f, x: f(x, x[:, :1], 2, 1), M)
row("dynamic_index_in_dim", lambda f, x: [f(x, 2, 1), f(x, -1, 1, False)], M)
row("dynamic_update_index_in_dim", lambda f, x: f(x, x[:, :1], 2, 1), M)
row("index_take", lambda f, x: f(x, (np.array([1, 0]),), (1,)), M)
GATHER = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
SCATTER = lax.ScatterDimensionNumbers((1,), (0,), (0,))
AT = np.array([[0], [5], [-1]])
for mode in ("clip", "fill", "promise_in_bounds"):
    row("gather", lambda f, x, mode=mode: f(x, AT[:1] if mode[0] == "p" else AT, GATHER, (1, x.shape[1]), mode=mode), M)
row(
    "scatter scatter_add scatter_sub scatter_mul scatter_min scatter_max",
    lambda f, x: f(x, AT[:2], np.resize(x, (2, x.shape[1])), SCATTER),
    M,
)
row("scatter_apply", lambda f, x: f(x, AT[:2], lambda v: v + v, SCATTER, update_shape=(2, x.shape[1])), FM)
# programs
row("cond", lambda f, x: f(len(x) > 0, lambda v: v, lambda v: -v, x), V)
row("switch", lambda f, x: f(1, [lambda v: v, lambda v: v[::-1]], x), V)
row("while_loop", lambda f, x: f(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1][::-1]), (0, x)), V)
row("fori_loop", lambda f, x: f(0, 3, lambda i, c: c[::-1], x), V)
row("scan", lambda f, x: f(lambda c, v: (v, c), np.zeros((), x.dtype)[()], x), V)
row("map", lambda f, x: f(lambda v: [v, v != v], x), V)
row("associative_scan", lambda f, x: f(lax.max, x), V)
row("platform_dependent", lambda f, x: f(x, default=lambda v: v), V)
row("composite", lambda f, x: f(lambda v: v, name="mine.of")(x), V)

line = partial(add, LAX_LINALG)
line("solve", lambda f, x: f(x, x), R, **near)
line("triangular_solve", lambda f, x: [f(x, x), f(x, x, left_side=True, lower=True, transpose_a=True)], R, **near)
line("tridiagonal_solve", lambda f, x, o: f(o, x.diagonal(), o, x), R, NOTHING, **near)
line("sylvester_solve", lambda f, x: f(x, x, x), R, **near)
line("inv pinv det slogdet sqrtm polar adjugate", one, R, **near)
line("adjugate_slope", lambda f, x: f(x, x), R, **near)
line("eigh", lambda f, x: f(x)[1], H, **near)
line("eig", lambda f, x: abs(f(x)[0]).sum(), H, **near)
line("svd", lambda f, x: f(x)[1], FM, **near)
line("symmetric_product", lambda f, x: f(x, x), R, **near)
line("hessenberg", lambda f, x: abs(f(x)[0].diagonal()).sum(), H, **near)
line("tridiagonal", lambda f, x: abs(f(x)[1]).sum(), H, **near)
line("schur", lambda f, x: abs(f(x)[0]).sum(), H, **near)
line("cholesky", one, H, **near)
line("lu", one, R, **near)
line("lu_pivots_to_permutation", lambda f, x: f(np.arange(2, dtype=np.int32), 3), V, makes=True)
line("qr", lambda f, x: abs(f(x)[1]), R, **near)
line("cholesky_update", lambda f, x: f(x, x[0] if len(x) else np.ones(0, x.dtype)), R, **near)
line("geqrf", lambda f, x: abs(f(x)[0].diagonal()), R, **near)
line("householder_product", two, R, NOTHING, **near)
line("ormqr", lambda f, x, o: f(x, o, x), R, NOTHING, **near)

EXCLUDED_OF_LAX = {
    name: reason
    for reason, names in {
        "it acts over a named axis, in a mapped program": "all_gather all_gather_invariant all_to_all pbroadcast "
        "ppermute pshuffle psum_scatter pswapaxes psum pmean pmax pmin pargmax pargmin axis_index axis_size pvary",
        "it takes the user's functions, and computes nothing of its own": "custom_linear_solve linear_call",
        "it is a type": "Precisions DotDimensionNumbers",
    }.items()
    for name in names.split()
}
