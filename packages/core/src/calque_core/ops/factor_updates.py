"""Factors of a matrix that changes by the product of a vector with itself, without a new factorisation.

One idea: rotations of the factor's rows against the vector bring the vector to zero, one element a step.

Source: Gill, Golub, Murray & Saunders (1974), Methods for modifying matrix factorizations, method C3.

Read next: `factorizations.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.ops.arithmetic import abs, add, div, mul, square, sub
from calque_core.ops.broadcast import expand_dims
from calque_core.ops.compare import eq, select
from calque_core.ops.complex import real
from calque_core.ops.convert import convert_element_type
from calque_core.ops.dynamic import dynamic_slice_in_dim, dynamic_update_slice_in_dim
from calque_core.ops.exponential import sqrt
from calque_core.ops.matrices import check_square, conjugated, field_operands, on_matrices, upper_triangle
from calque_core.ops.while_loop import fori_loop
from calque_core.primitives.primitive import Primitive, bind_checked
from calque_core.types.avals import ShapedArray, typeof

Value = Any

cholesky_update_p = Primitive("cholesky_update")


@cholesky_update_p.def_abstract_eval(cached=True)
def cholesky_update_abstract_eval(r_aval: ShapedArray, w_aval: ShapedArray) -> ShapedArray:
    check_square("cholesky_update", r_aval)
    if w_aval.dtype != r_aval.dtype:
        raise TypeError(
            f"cholesky_update of {r_aval} and {w_aval}{where()}: the dtypes differ. Convert one of them first."
        )
    if w_aval.shape != r_aval.shape[:-1]:
        raise ShapeError(
            f"cholesky_update of {r_aval} and {w_aval}{where()}: the shapes do not fit. Give a vector with one element "
            "for each row of the matrix."
        )
    return r_aval.strip_weak_type()


def cholesky_update_impl(r: Value, w: Value) -> Value:
    out, row = factor_triangle(r), np.conj(w)
    for k in range(r.shape[-1]):
        first, second = out[..., k, k, None].real, row[..., k, None]
        length = np.hypot(first, np.abs(second))
        cosine, sine = (x / np.where(length == 0, 1, length) for x in (np.where(length == 0, 1, first), second))
        turned = cosine * out[..., k, k:] + np.conj(sine) * row[..., k:]
        row[..., k:] = cosine * row[..., k:] - sine * out[..., k, k:]
        out[..., k, k:] = turned
    return out


cholesky_update_p.def_impl(cholesky_update_impl, leaf=True)


@cholesky_update_p.def_rule("decomposition")
def cholesky_update_decomposition(r: Value, w: Value) -> Value:
    dtype = typeof(r).dtype

    def step(k: Value, state: tuple[Value, Value]) -> tuple[Value, Value]:
        """Rotate row k of the factor against the remaining vector, so that element k of the vector is 0."""
        factor, row = state
        old = dynamic_slice_in_dim(factor, k, 1, -2)
        first, second = (dynamic_slice_in_dim(x, k, 1, -1) for x in (old, row))
        length = sqrt(add(square(real(first)), square(abs(second))))
        is_zero = eq(length, 0)
        divisor = select(is_zero, 1, length)
        cosine = convert_element_type(div(select(is_zero, 1, real(first)), divisor), dtype)
        sine = div(second, convert_element_type(divisor, dtype))
        turned = add(mul(cosine, old), mul(conjugated(sine), row))
        return dynamic_update_slice_in_dim(factor, turned, k, -2), sub(mul(cosine, row), mul(sine, old))

    state = factor_triangle(r), expand_dims(conjugated(w), (-2,))
    size = typeof(r).shape[-1]
    return fori_loop(0, size, step, state)[0] if size else state[0]


def factor_triangle(r: Value) -> Value:
    """Return the upper triangle, with the real part of its diagonal.

    >>> import numpy as np
    >>> from calque_core.extend import factor_triangle
    >>> factor_triangle(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 2.],
           [0., 4.]])
    """
    triangle = upper_triangle(r)
    if typeof(r).kind != "c":
        return triangle
    return select(on_matrices(eq, r), convert_element_type(real(r), typeof(r).dtype), triangle)


def cholesky_update(r_matrix: Value, w_vector: Value) -> Value:
    """Return the upper triangular matrix s with s^H s = r^H r + w w^H, in a time that grows as n^2.

    `r_matrix` is upper triangular with a real diagonal, as the adjoint of a factor of `cholesky` is; other elements and
    imaginary parts of the diagonal are not read.  The diagonal of s is not negative.
    Shapes: r [*s, n, n], w [*s, n] -> [*s, n, n].  Dtype: promoted, one of the four dtypes of LAPACK; integers become
    floats.
    Derivatives: if s is regular; else they are refused in evaluation, and not finite when compiled.
    Raises: TypeError for another dtype; ShapeError if the shapes do not fit.

    >>> import numpy as np
    >>> from calque_core.lax.linalg import cholesky_update
    >>> cholesky_update(np.diag([3.0, 1.0]), np.array([4.0, 0.0]))
    array([[5., 0.],
           [0., 1.]])
    """
    return bind_checked(cholesky_update_p, *field_operands("cholesky_update", r_matrix, w_vector))
