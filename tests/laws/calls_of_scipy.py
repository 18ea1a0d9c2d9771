"""How the functions of `calque.scipy` and `calque.nn` are called.

Read first: `calls.py`.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from calls import FM, FN, FV, H, M, R, Table, V, W, X, Y, add

SPECIAL: Table = {}
SCIPY_LINALG: Table = {}
NN: Table = {}
STATS: Table = {}
row = partial(add, SPECIAL)
one = lambda f, x: f(x)
two = lambda f, x, y: f(x, y)
near = {"ulps": 256, "by_array": True, "complex_ulps": 1024}
unit = lambda dtype, size: np.abs(FV(dtype, size)) / 4 if dtype.kind == "f" else FV(dtype, size)

row(
    "expit logit erf erfc erfinv erfcx dawsn wofz ndtr log_ndtr ndtri entr exp1 expi spence gamma gammaln loggamma "
    "gammasgn digamma psi i0 i0e i1 i1e factorial",
    one, V, ulps=32, complex_ulps=1024,
)  # fmt: skip
row("fresnel sici", lambda f, x: list(f(x)), V, ulps=32)
row("logsumexp softmax log_softmax", lambda f, x: [f(x), f(x, 1)], M, ulps=32)
row("logsumexp", lambda f, x, b: [f(x, b=b), f(x, b=b, return_sign=True)], FV, FV, ulps=64, by_array=True)
row("softmax log_softmax", lambda f, x: f(x, (1, 0)), FM, ulps=32)
row("xlogy xlog1py rel_entr kl_div", two, X, Y, ulps=32)
row("beta betaln poch owens_t comb boxcox boxcox1p", two, X, Y, ulps=1024)
row("gammainc gammaincc zeta", two, X, Y, ulps=256)
row("betainc", lambda f, x, y: [f(x, y, 0.3), f(1.5, x, y), f(x, 2.0, y)], X, Y, ulps=256)
row("expn", lambda f, x: [f(n, x) for n in (0, 1, 2)], V, ulps=64)
row("polygamma", lambda f, x: [f(n, x) for n in (0, 1, 2)], V, ulps=256)
row("multigammaln", lambda f, x: f(x, 2), V, ulps=64)
row("bernoulli", lambda f, x: f(4), V, makes=True)
row("bessel_jn", lambda f, x: f(x, v=3), W, ulps=1024, by_array=True)
row("hyp1f1", lambda f, x: f(1.5, 2.5, x), FV, ulps=256)
row("hyp2f1", lambda f, x: f(1.5, 0.5, 2.5, x), unit, ulps=256)
row("sph_harm_y", lambda f, x, y: f(3, 2, x, y), W, W, ulps=256, complex_ulps=1024)

line = partial(add, SCIPY_LINALG)
line("solve", lambda f, x: [f(x, x), f(x, x, assume_a="pos"), f(x, x, True, assume_a="sym")], H, **near)
line("solve_triangular", lambda f, x: [f(x, x), f(x, x, 1, True), f(x, x, "C", unit_diagonal=True)], R, **near)
line("solve_sylvester", lambda f, x: f(x, x, x), R, **near)
line("inv det lu_factor", one, R, **near)
line("lu", lambda f, x: [f(x), f(x, True)], R, **near)
line("lu_solve", lambda f, x: f((x, np.arange(len(x), dtype=np.int32)), x), R, **near)
line("cholesky", lambda f, x: [f(x), f(x, True)], H, **near)
line("cho_factor", lambda f, x: f(x)[0], H, **near)
line("cho_solve", lambda f, x: f((x, True), x), R, **near)
line("qr", lambda f, x: [abs(f(x)[1]), abs(f(x, mode="economic")[1])], FN, **near)
line("qr_multiply", lambda f, x: abs(f(x, x, "left")[1]), R, **near)
line("eigh", lambda f, x: [f(x)[0], f(x, eigvals_only=True)], H, **near)
line("eigh_tridiagonal", lambda f, x: f(x, x[1:], True), FV, **near)
line("svd", lambda f, x: [f(x, compute_uv=False), f(x, False)[1]], FM, **near)
line("polar", lambda f, x: f(x), R, **near)
line("schur", lambda f, x: abs(f(x)[0]).sum(), H, **near)
line("rsf2csf", lambda f, x: abs(f(x, x)[0]).sum(), H, **near)
line("hessenberg", lambda f, x: abs(f(x)), H, **near)
line("expm", one, lambda d, s: R(d, s) / 8 if d.kind in "fc" else R(d, s), **near)
line("expm_frechet", lambda f, x: f(x, x), lambda d, s: R(d, s) / 8 if d.kind in "fc" else R(d, s), **near)
line("sqrtm", one, R, **near)
line("funm", lambda f, x: f(x, np.exp), lambda d, s: H(d, s) / 8 if d.kind in "fc" else H(d, s), **near)
line("toeplitz hankel", lambda f, x: [f(x), f(x[:3], x)], V)
line("circulant fiedler", one, V)
line("companion fiedler_companion", lambda f, x: f(x), FV)
line("leslie", lambda f, x: f(x, x[1:]), V)
line("convolution_matrix", lambda f, x: [f(x, 3, mode) for mode in ("full", "same", "valid")], V)
line("block_diag", lambda f, x: [f(x, x), f(x, x.ravel())], M)
line("hilbert invhilbert pascal invpascal helmert dft", lambda f, x: f(3), V, makes=True)
line("hadamard", lambda f, x: [f(4), f(2, x.dtype)], V, makes=True)

statistic = partial(add, STATS)
statistic("mode", lambda f, x: [*f(x, None), *f(x, 1, keepdims=True)], FM)
statistic("rankdata", lambda f, x: [f(x), f(x, "dense", axis=0), f(x, "max", axis=1), f(x, "ordinal")], M)
statistic(
    "sem", lambda f, x: [f(x, 1), f(x, None, 0, keepdims=True), f(x, nan_policy="omit")], FM, ulps=32, by_array=True
)

net = partial(add, NN)
net(
    "relu relu6 leaky_relu hard_sigmoid hard_silu hard_swish hard_tanh sparse_plus sparse_sigmoid identity sigmoid "
    "tanh softplus log_sigmoid silu swish mish gelu squareplus soft_sign elu celu selu log1mexp",
    one, V, ulps=16, complex_ulps=256,
)  # fmt: skip
net("gelu", lambda f, x: f(x, False), V, ulps=16)
net("elu celu leaky_relu", lambda f, x: f(x, 0.5), V, ulps=16)
net("glu", lambda f, x: f(x), V, ulps=16)
net("softmax log_softmax logsumexp logmeanexp", lambda f, x: [f(x), f(x, 0), f(x, 1)], M, ulps=32, complex_ulps=1024)
net("standardize", lambda f, x: [f(x), f(x, 0, epsilon=0.1)], FM, ulps=64, by_array=True)
net("softmax log_softmax logmeanexp", lambda f, x: f(x, 0, where=x == x), M, ulps=32)
net("one_hot", lambda f, x: [f(x, 4), f(x, 3, dtype=np.int32, axis=0)], FV)
net("dot_product_attention", lambda f, x: f(*[x.reshape(1, -1, 1, x.shape[1])] * 3), FM, **near)
