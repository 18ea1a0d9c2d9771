"""The Schur form by QR iterations, in NumPy: the evaluation of `schur`, which NumPy lacks.

One idea: a sweep applies two shifts at once, by reflections of three rows that push a bulge down the Hessenberg form;
so real matrices need no complex numbers.  The matrix converges to blocks of sizes 1 and 2 on the diagonal.

Source: Golub & Van Loan, Matrix Computations (2013), sections 7.4 and 7.5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Value = Any

_SWEEPS = 60  # for each eigenvalue; two or three are usual


def reflector(x: Value) -> tuple[Value, Value, Value]:
    """Return v, tau and beta: (I - tau v v^H)^H x is beta times the first unit vector, v[0] is 1, and beta is real.

    Shapes: x [*s, n] -> v [*s, n], tau [*s], beta [*s].  As in LAPACK (larfg), tau is 0 if x has this form already.

    >>> import numpy as np
    >>> from calque_linalg.ops.qr_iteration import reflector
    >>> [part.tolist() for part in reflector(np.array([3.0, 4.0]))]
    [[1.0, 0.5], 1.6, -5.0]
    """
    first = x[..., 0]
    is_done = (np.linalg.norm(x[..., 1:], axis=-1) == 0) & (first.imag == 0)
    beta = np.where(is_done, first.real, -np.copysign(np.linalg.norm(x, axis=-1), first.real)).astype(x.dtype)
    divisor = np.where(is_done, 1, beta)
    tau = np.where(is_done, 0, (beta - first) / divisor)
    v = x / np.where(is_done, 1, first - beta)[..., None]
    v[..., 0] = 1
    v[..., 1:] = np.where(is_done[..., None], 0, v[..., 1:])
    return v, tau, beta[()]


def reflect_rows(x: Value, v: Value, tau: Value) -> None:
    """Multiply x in place by (I - tau v v^H)^H from the left."""
    v = v[..., None]
    x -= np.conj(tau)[..., None, None] * v * (np.conj(np.swapaxes(v, -1, -2)) @ x)


def reflect_columns(x: Value, v: Value, tau: Value) -> None:
    """Multiply x in place by I - tau v v^H from the right."""
    v = v[..., None]
    x -= tau[..., None, None] * (x @ v) * np.conj(np.swapaxes(v, -1, -2))


def schur_of_hessenberg(h: Value, z: Value) -> None:
    """Bring one Hessenberg matrix to the Schur form in place, and multiply the orthogonal matrix z by the same steps.

    Raises: LinAlgError if it does not converge.
    """
    if not np.isfinite(h).all():
        raise np.linalg.LinAlgError("QR iterations do not converge")
    high, sweeps = len(h) - 1, 0
    while high > 0:
        low = _block_start(h, high)
        if low < high - 1:
            if sweeps == _SWEEPS:
                raise np.linalg.LinAlgError("QR iterations did not converge")
            _sweep(h, z, low, high, _shifts(h, high, sweeps))
            sweeps += 1
            continue
        if low == high - 1:
            _split(h, z, low)
        high, sweeps = low - 1, 0


def _block_start(h: Value, high: int) -> int:
    """Return the first row of the block that ends with row `high`, and clear the small element before it."""
    for k in range(high, 0, -1):
        size = abs(h[k - 1, k - 1]) + abs(h[k, k]) or np.linalg.norm(h)
        if abs(h[k, k - 1]) <= np.finfo(h.dtype).eps * size:
            h[k, k - 1] = 0
            return k
    return 0


def _shifts(h: Value, high: int, sweeps: int) -> tuple[Value, Value]:
    """Return the sum and the product of two shifts: the eigenvalues of the last block of size 2.

    Each tenth sweep takes other shifts, because a sweep with these may repeat the matrix.
    """
    if sweeps % 10 == 9:
        size = abs(h[high, high - 1]) + abs(h[high - 1, high - 2])
        return 1.5 * size, size**2
    (a, b), (c, d) = h[high - 1 : high + 1, high - 1 : high + 1]
    return a + d, a * d - b * c


def _sweep(h: Value, z: Value, low: int, high: int, shifts: tuple[Value, Value]) -> None:
    total, product = shifts
    (a, b), (c, d) = h[low : low + 2, low : low + 2]
    column = np.array([a * a + b * c - total * a + product, c * (a + d - total), c * h[low + 2, low + 1]], h.dtype)
    for k in range(low, high):
        rows = slice(k, min(k + 3, high + 1))
        v, tau, _ = reflector(column)
        reflect_rows(h[rows, max(k - 1, low) :], v, tau)
        reflect_columns(h[: min(k + 4, high + 1), rows], v, tau)
        reflect_columns(z[:, rows], v, tau)
        if k > low:
            h[k + 1 : rows.stop, k - 1] = 0
        column = h[k + 1 : min(k + 4, high + 1), k].copy()


def _split(h: Value, z: Value, k: int) -> None:
    """Make the block of rows k and k + 1 triangular; if its eigenvalues are not of its dtype, its diagonal equal."""
    (a, b), (c, d) = h[k : k + 2, k : k + 2]
    half = (a - d) / 2
    square = half * half + b * c
    if h.dtype.kind == "f" and square < 0:
        angle = np.arctan2(d - a, b + c) / 2
        first, second = np.cos(angle), np.sin(angle)
    else:
        root = np.sqrt(square)
        shift = half + root if abs(half + root) >= abs(half - root) else half - root
        length = np.hypot(abs(shift), abs(c))  # (shift, c) is an eigenvector, of the value d + shift
        first, second = shift / length, c / length
    rotation = np.array([[first, -np.conj(second)], [second, np.conj(first)]], h.dtype)
    rows = slice(k, k + 2)
    h[rows, k:] = rotation.conj().T @ h[rows, k:]
    h[: k + 2, rows] = h[: k + 2, rows] @ rotation
    z[:, rows] = z[:, rows] @ rotation
    if h.dtype.kind == "c" or square >= 0:
        h[k + 1, k] = 0
