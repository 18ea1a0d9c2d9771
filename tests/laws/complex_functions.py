"""Functions of complex numbers, for two libraries to agree on: values, gradients, products with and by the Jacobian.

One idea: the functions take the array module that they shall use, and `answers` the package of transformations, so that
the same lines run with jax and with calque.  Run as a script, this is jax's side: it writes its answers to a file.

Left out is where jax is known to be wrong: it gives zero for the derivative of `sign`, and the wrong sign for that of
`arccosh` where the real part is negative.
"""

from __future__ import annotations

import importlib
import sys

import numpy as np

Z = np.array([0.7 - 0.4j, -1.2 + 0.3j, 0.1 + 1.5j])
X = np.array([0.7, -1.2, 0.1])
TANGENT, COTANGENT = np.array([0.3 + 2j, -1j, 1.5 - 0.25j]), np.array([-0.5 + 0.1j, 1 + 1j, 2.0 - 3j])

HOLOMORPHIC = {
    "square": lambda m, z: m.square(z),
    "cube": lambda m, z: z**3,
    "negative power": lambda m, z: z**-2,
    "complex power": lambda m, z: z ** (0.5 - 1j),
    "power of a constant": lambda m, z: (2 + 1j) ** z,
    "quotient": lambda m, z: (z - 1j) / (z + 2),
    "reciprocal": lambda m, z: 1 / z,
    "sqrt": lambda m, z: m.sqrt(z),
    "exp": lambda m, z: m.exp(z),
    "expm1": lambda m, z: m.expm1(z),
    "log": lambda m, z: m.log(z),
    "log1p": lambda m, z: m.log1p(z),
    "log2": lambda m, z: m.log2(z),
    "sin": lambda m, z: m.sin(z),
    "cos": lambda m, z: m.cos(z),
    "tan": lambda m, z: m.tan(z),
    "tanh": lambda m, z: m.tanh(z),
    "arcsin": lambda m, z: m.arcsin(z),
    "arccos": lambda m, z: m.arccos(z),
    "arctan": lambda m, z: m.arctan(z),
    "sinh": lambda m, z: m.sinh(z),
    "cosh": lambda m, z: m.cosh(z),
    "arcsinh": lambda m, z: m.arcsinh(z),
    "arctanh": lambda m, z: m.arctanh(z),
    "exp2": lambda m, z: m.exp2(z),
    "dot": lambda m, z: m.dot(z, z) * z,
    "sums": lambda m, z: m.sum(z) + m.mean(z) * z,
    "matrix": lambda m, z: m.matmul(np.outer(Z, COTANGENT), z),
}
REAL_VALUED = {
    "abs": lambda m, z: m.abs(z),
    "abs at zero": lambda m, z: m.abs(z - z[0]),
    "real": lambda m, z: m.real(z),
    "imag": lambda m, z: m.imag(z),
    "angle": lambda m, z: m.angle(z),
    "squared modulus": lambda m, z: m.real(z * m.conj(z)),
    "real of sin": lambda m, z: m.real(m.sin(z)) * m.imag(z),
    "log of abs": lambda m, z: m.log(m.abs(z)),
    "vdot": lambda m, z: m.real(m.vdot(COTANGENT, z) * z),
    "variance": lambda m, z: m.var(z) * m.real(z),
    "norm": lambda m, z: m.linalg.norm(z) * m.abs(z),
    "choice": lambda m, z: m.where(m.real(z) > 0, m.abs(z), m.imag(z)),
}
GENERAL = {
    "conj": lambda m, z: m.conj(z),
    "conj times itself": lambda m, z: z * m.conj(z),
    "quotient of conj": lambda m, z: m.conj(z) / (z + 3),
    "abs times phase": lambda m, z: m.abs(z) * m.exp(1j * m.real(z)),
    "parts exchanged": lambda m, z: m.imag(z) + 1j * m.real(z),
    "power of abs": lambda m, z: m.abs(z) ** z,
    "elements": lambda m, z: z[::-1] * m.conj(z[0]),
}
OF_REAL = {
    "phase": lambda m, x: m.exp(1j * x),
    "complex coefficients": lambda m, x: x**2 * (1 - 2j) + m.sin(x) * 1j,
    "root of a square": lambda m, x: m.sqrt(x * 1j + 1),
    "modulus of a phase": lambda m, x: m.abs(m.exp((1 + 2j) * x)) + 0j,
}
KINDS = {"holomorphic": HOLOMORPHIC, "real-valued": REAL_VALUED, "general": GENERAL, "of real": OF_REAL}


def answers(transforms, arrays):
    """Return what a package of transformations gives for every function, by 'function: what'."""
    found = {}
    for kind, functions in KINDS.items():
        for name, function in functions.items():
            at = X if kind == "of real" else Z
            for what, value in _answers(transforms, kind, lambda x, f=function: f(arrays, x), at):
                found[f"{name}: {what}"] = np.asarray(value)
    return found


def _answers(transforms, kind, function, at):
    tangent = TANGENT.real if kind == "of real" else TANGENT
    out, out_dot = transforms.jvp(function, (at,), (tangent,))
    _, pull = transforms.vjp(function, at)
    ct = COTANGENT.real if kind == "real-valued" else COTANGENT
    yield from [("value", out), ("jvp", out_dot), ("vjp", pull(ct)[0])]
    if kind in ("holomorphic", "of real"):
        yield "jacfwd", transforms.jacfwd(function, holomorphic=kind == "holomorphic")(at)
    if kind in ("holomorphic", "real-valued"):
        yield "jacrev", transforms.jacrev(function, holomorphic=kind == "holomorphic")(at)
        yield "grad", transforms.grad(lambda x: function(x).sum(), holomorphic=kind == "holomorphic")(at)
    if kind == "real-valued":
        yield (
            "derivative of grad",
            transforms.jvp(transforms.grad(lambda x: function(x).sum()), (at,), (tangent,))[1],
        )


if __name__ == "__main__":
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    np.savez(sys.argv[1], **answers(jax, jax.numpy))
