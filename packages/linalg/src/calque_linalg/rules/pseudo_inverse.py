"""The derivative of the pseudo-inverse, for changes of the matrix that keep its rank.

Source: Golub & Pereyra (1973), The differentiation of pseudo-inverses and nonlinear least squares problems whose
variables separate, theorem 4.3.
"""

from __future__ import annotations

from typing import Any

from calque_core.extend import defjvp, defleading, not_linear
from calque_core.lax import add, sub
from calque_linalg.ops.matrices import adjoint, matrix_product
from calque_linalg.ops.pseudo_inverse import pinv_p

Value = Any


def pinv_jvp(x_dot: Value, out: Value, x: Value, rtol: Value) -> Value:
    """Return -P dx P + P P^H dx^H (1 - x P) + (1 - P x) dx^H P^H P, for the pseudo-inverse P.

    The last two terms are 0 for a matrix with as many rows, or columns, as its rank.
    """
    back, out_back = adjoint(x_dot), adjoint(out)
    inner = matrix_product(matrix_product(out, x_dot), out)
    left = matrix_product(out, matrix_product(out_back, back))
    right = matrix_product(matrix_product(back, out_back), out)
    left = sub(left, matrix_product(matrix_product(left, x), out))
    right = sub(right, matrix_product(out, matrix_product(x, right)))
    return sub(add(left, right), inner)


defjvp(pinv_p, pinv_jvp, None)
not_linear(pinv_p)
defleading(pinv_p)
