"""Programs of complex numbers as users write them: conjugates and parts, holomorphic functions, steps of descent."""

from __future__ import annotations

import numpy as np
from program import COMPLEX, FLOATS, Program, always, numbers, tree_of

from calque_autodiff import grad, jvp, vjp
from calque_batching import vmap
from calque_core import lax
from calque_xla_backend import jit

VECTOR, MATRIX = numbers((3,)), numbers((3, 4))
FOURIER = np.exp(-2j * np.pi * np.outer(np.arange(4), np.arange(4)) / 4)
MIXER = np.array([[1.0, 1j, -0.5], [0.3 - 1j, 0.2, 1.0], [0.0, 2j, 0.7 + 0.1j]])


def squared_size(z):
    return lax.square(lax.real(z)) + lax.square(lax.imag(z))


def loss(z):
    """Return a real function that is smooth, and holomorphic in neither z nor its conjugate."""
    return lax.reduce_sum(squared_size(lax.sin(z)) + lax.real(z * z * lax.conj(z)))


def descent(z):
    for _ in range(2):
        z = z - 0.1 * lax.conj(grad(loss)(z))
    return z, loss(z)


def holomorphic_newton(z):
    for _ in range(2):
        value, slope = jvp(lambda w: w * w * w - 1.0, (z,), (lax.ones_like(z),))
        z = z - value / slope
    return z


def phase_retrieval(a, z):
    return (squared_size(a @ z) * 0.1 - 1.0).sum() ** 2


def spectrum(x):
    return squared_size(x.astype(FOURIER.dtype) @ FOURIER)


def gates(angles):
    """Turn a state of two levels, by real angles; return the expectation of an observable."""
    up, down = lax.complex(lax.cos(angles[0]), 0.0), lax.complex(0.0, lax.sin(angles[0]))
    up, down = up * lax.exp(1j * angles[1]), down * lax.exp(-1j * angles[2])
    return lax.real(lax.conj(up) * down) + squared_size(up)


def shrunk(params, z):
    """Shrink the modulus and keep the phase, between two complex matrices."""
    hidden = z @ params["w1"]
    size = lax.abs(hidden)
    return (lax.sign(hidden) * lax.log1p(size * size)) @ params["w2"]


def escape(c):
    z = lax.zeros_like(c)
    for _ in range(3):
        is_near = lax.lt(squared_size(z), 4.0)
        z = lax.select(is_near, z * z + c, lax.conj(z))
    return z


def oscillators(z, kicks):
    def step(z, kick):
        z = z * lax.exp(-0.1 + 0.7j) + lax.conj(z) * kick
        return z.astype(kick.dtype), lax.imag(z)

    return lax.scan(step, z, kicks)


def branches(z):
    return lax.cond(
        lax.gt(lax.real(lax.reduce_sum(z)), 0.1),
        lambda z: lax.conj(z) * 2.0,
        lambda z: z * lax.complex(0.0, lax.abs(z)),
        z,
    )


def plain_numpy(z, w):
    turned = np.conj(z) * np.exp(1j * np.angle(w))
    return np.vdot(z, w), np.abs(turned).sum(), np.var(z), turned.real + w.imag, np.linalg.norm(z + 1)


def pulled_inside(z, w):
    out, pull = vjp(lambda a: lax.conj(a) * w + lax.abs(a), z)
    return pull(lax.conj(out))[0]


def mixed(x, z):
    return x * z + lax.real(z) - 1j, lax.complex(x, lax.imag(z)) / (z + 3.0)


def row(name, fun, *makers, dtypes=COMPLEX, reorders=False):
    return Program(name, fun, makers, dtypes, ulps=64, by_array=True, complex_ulps=128, reorders=reorders)


COMPLEX_PROGRAMS: list[Program] = [
    row("conjugate gradient steps", descent, VECTOR, reorders=True),
    row("holomorphic newton", holomorphic_newton, numbers((3,), 0.5, 1.5)),
    row("phase retrieval", phase_retrieval, MATRIX, numbers((4,))),
    row("spectrum", spectrum, MATRIX, dtypes=FLOATS),
    row("gates", gates, VECTOR, dtypes=FLOATS),
    row("shrunk moduli", shrunk, tree_of(w1=MATRIX, w2=numbers((4, 2))), numbers((2, 3))),
    row("escape", escape, numbers((4,), -0.9, 0.4)),
    row("oscillators", oscillators, VECTOR, numbers((4, 3), -0.4, 0.4)),
    row("complex branches", branches, VECTOR),
    row(
        "complex jit inside", lambda z: jit(lambda w: (lax.conj(w) + 2j, lax.real(w) - lax.imag(w)))(lax.sin(z)), VECTOR
    ),
    row(
        "complex vmap inside",
        lambda a: vmap(lambda r: lax.dot(lax.conj(r), r @ MIXER.astype(r.dtype)))(a),
        numbers((2, 3)),
    ),
    row("complex vjp inside", pulled_inside, VECTOR, VECTOR),
    row("plain complex numpy", plain_numpy, numbers((3,), 0.2, 2.0), numbers((3,), 0.3, 1.9)),
    row("real and complex", mixed, VECTOR, always("complex64", (3,)), dtypes=FLOATS),
    row("weak complex scalars", lambda z: (z * 1j + 2.0, 1j / (z + 4.0), (2 - 1j) - z), VECTOR),
]
