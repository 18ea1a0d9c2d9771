"""Programs of the standard's linear algebra and Fourier transforms, as in `programs.py`.

Factors are compared where the standard determines them, and by their product elsewhere.
"""

from __future__ import annotations

from typing import Any

from arrays import BOX, FULL, MATRICES, MATRIX, ONE, VECTOR
from programs import Program, Value, axes, axes_and_tuples

SQUARE, SQUARES = (3, 3), ((1, 1), (3, 3), (2, 3, 3))
MORE = (*SQUARES, (2, 0, 0))


def regular(m: Any, x: Value) -> Value:
    """Return matrices with eigenvalues far from 0."""
    return x + 12 * m.eye(x.shape[-1], dtype=x.dtype)


def hermitian(m: Any, x: Value) -> Value:
    return regular(m, (x + m.conj(x.mT)) / 2)


def product_of_factors(m: Any, x: Value) -> list[Value]:
    out = []
    for full in (True, False):
        u, s, vh = m.linalg.svd(x, full_matrices=full)
        k = s.shape[-1]
        out += [(u[..., :k] * s[..., None, :]) @ vh[..., :k, :], s, m.zeros(u.shape), m.zeros(vh.shape)]
    return out


def product_of_q_and_r(m: Any, x: Value) -> list[Value]:
    factors = [m.linalg.qr(x, mode=mode) for mode in ("reduced", "complete")]
    return [part for q, r in factors for part in (q @ r, m.zeros(q.shape), m.zeros(r.shape), m.abs(r))]


def rebuilt(m: Any, x: Value) -> list[Value]:
    x = hermitian(m, x)
    values, vectors = m.linalg.eigh(x)
    return [values, m.linalg.eigvalsh(x), (vectors * values[..., None, :]) @ m.conj(vectors.mT)]


def solved(m: Any, x: Value) -> list[Value]:
    a = regular(m, x)
    return [m.linalg.solve(a, x), m.linalg.solve(a, x[..., :0]), m.linalg.solve(a, x[(0,) * (x.ndim - 1)])]


def products(m: Any, x: Value) -> list[Value]:
    matrices = [m.matmul(x, x.mT), m.linalg.matmul(x.mT, x), x @ m.conj(x[..., 0, :])[..., None]]
    vectors = [m.vecdot(x, x + 1), *[m.linalg.vecdot(x, x + 1, axis=axis) for axis in (-2, -1)]]
    tensors = [m.tensordot(x, x, axes=axes) for axes in (0, ([0], [0]))]
    return [*matrices, *vectors, *tensors, m.linalg.tensordot(x, x.T, axes=1)]


def norms(m: Any, x: Value) -> list[Value]:
    orders = (1, 2, 3, 0.5, 0, m.inf, -m.inf, -1)
    f = m.linalg.vector_norm
    return [f(x), *[f(x, axis=a, keepdims=k) for a in axes_and_tuples(x) for k in (False, True) if a != ()]] + [
        f(x, ord=order) for order in orders
    ]


def matrix_norms(m: Any, x: Value) -> list[Value]:
    orders = ("fro", "nuc", 1, -1, 2, -2, m.inf, -m.inf)
    return [m.linalg.matrix_norm(x, ord=order, keepdims=k) for order in orders for k in (False, True)]


def diagonals(m: Any, x: Value) -> list[Value]:
    return [f(x, offset=k) for f in (m.linalg.diagonal, m.linalg.trace) for k in (0, 1, -1, 9)]


def powers(m: Any, x: Value) -> list[Value]:
    return [m.linalg.matrix_power(regular(m, x), n) for n in (0, 1, 3, -2)]


def ranks(m: Any, x: Value) -> list[Value]:
    return [m.linalg.matrix_rank(x), m.linalg.matrix_rank(x @ x.mT, rtol=0.5)]


def products_of_batches(m: Any, x: Value) -> list[Value]:
    return [x @ x.mT, x[:1] @ x.mT, m.vecdot(x, x, axis=0)]


def triangular(m: Any, x: Value) -> list[Value]:
    return [m.linalg.cholesky(hermitian(m, x)), m.linalg.cholesky(hermitian(m, x), upper=True)]


LINALG = [
    Program(
        "cholesky", "fc", lambda m, x: [m.linalg.cholesky(hermitian(m, x), upper=u) for u in (False, True)], MORE, 64
    ),
    Program("cross", "ifc", lambda m, x: [m.linalg.cross(x, x[::-1]), m.linalg.cross(x, x[:1])], ((2, 3), (4, 2, 3))),
    Program("cross along the first axis", "ifc", lambda m, x: m.linalg.cross(x, x[:, ::-1], axis=0), ((3, 2),)),
    Program("det slogdet", "fc", lambda m, x: [m.linalg.det(x), *m.linalg.slogdet(regular(m, x))], MORE, 64),
    Program("diagonal trace", "ifc", diagonals, MATRICES, 16),
    Program("trace in a dtype", "if", lambda m, x: m.linalg.trace(x, dtype=m.float32), MATRICES, 16),
    Program("eigh eigvalsh", "fc", rebuilt, MORE, 64),
    Program("inv", "fc", lambda m, x: m.linalg.inv(regular(m, x)), MORE, 64),
    Program("products", "ifc", products, (MATRIX, SQUARE, (3, 0)), 16),
    Program("products of batches", "ifc", products_of_batches, (BOX, (2, 3, 0)), 16),
    Program("matrix_norm", "fc", matrix_norms, (MATRIX, BOX, SQUARE), 64),
    Program("matrix_power", "fc", powers, SQUARES, 256),
    Program("matrix_rank", "fc", ranks, (MATRIX, BOX, SQUARE)),
    Program("outer", "ifc", lambda m, x: m.linalg.outer(x, x[:2]), (ONE, VECTOR)),
    Program("pinv", "fc", lambda m, x: [m.linalg.pinv(x, rtol=1e-3)], (MATRIX, BOX), 256),
    Program("qr", "fc", product_of_q_and_r, (MATRIX, (4, 3), BOX, SQUARE), 64),
    Program("solve", "fc", solved, SQUARES, 64),
    Program("svd", "fc", product_of_factors, (MATRIX, (4, 3), BOX), 64),
    Program("svdvals", "fc", lambda m, x: m.linalg.svdvals(x), (MATRIX, BOX), 64),
    Program("vector_norm", "fc", norms, (ONE, VECTOR, MATRIX), 16),
]


def transforms(name: str) -> Any:
    def run(m: Any, x: Value) -> list[Value]:
        f = getattr(m.fft, name)
        norms = [f(x, norm=norm) for norm in ("backward", "ortho", "forward")]
        return [f(x), *norms, *[f(x, axis=a) for a in axes(x)], f(x, n=3), f(x, n=8)]

    return run


def transforms_of_axes(name: str) -> Any:
    def run(m: Any, x: Value) -> list[Value]:
        f = getattr(m.fft, name)
        sizes = [f(x, s=(2,) * x.ndim, axes=tuple(range(x.ndim))), f(x, s=(5,), axes=(-1,))]
        return [f(x), *[f(x, norm=norm) for norm in ("ortho", "forward")], f(x, axes=(-1,)), *sizes]

    return run


def shifted(m: Any, x: Value) -> list[Value]:
    return [f(x, axes=axis) for f in (m.fft.fftshift, m.fft.ifftshift) for axis in (None, *axes(x))]


COLUMNS = ((2,), VECTOR, MATRIX, (2, 2, 3))
FFT = [
    *[Program(f"fft.{name}", "c", transforms(name), COLUMNS, 64) for name in ("fft", "ifft", "hfft", "irfft")],
    *[Program(f"fft.{name} of real numbers", "f", transforms(name), COLUMNS, 64) for name in ("fft", "rfft", "ihfft")],
    *[Program(f"fft.{name}", "c", transforms_of_axes(name), COLUMNS, 64) for name in ("fftn", "ifftn", "irfftn")],
    Program("fft.rfftn", "f", transforms_of_axes("rfftn"), COLUMNS, 64),
    Program("fft.fftshift", "fc", shifted, FULL[1:]),
]
EXTENSIONS = {program.name: program for program in (*LINALG, *FFT)}
