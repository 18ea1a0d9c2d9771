"""The table's functions with rules of their own, by the kind of rule and by what rules take and give.

Read next: `custom_backwards.py` for rules that are written backwards, `custom_insides.py` and
`custom_places.py` for what stands in rules, and where functions with rules stand.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from custom_program import COUNT, COUNTS, NUMBER, POSITIVE, VECTOR, Row, off, off_inside, stretched
from program import numbers, scalar, tree_of

from calque_autodiff import SymbolicZero, custom_jvp, custom_rules
from calque_core import float0, lax

WEIGHTS = np.linspace(-1.0, 1.0, 3)


def number(n, x):
    """Return integers in the dtype of `x`."""
    return lax.convert_element_type(n, x.dtype)


# Forwards


def sine(factor):
    @custom_jvp
    def f(x):
        return lax.sin(x)

    @f.defjvp
    def rule(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return f(x), factor * lax.cos(x) * x_dot

    return f


def stable_log1pexp(factor):
    @custom_jvp
    def f(x):
        return lax.log1p(lax.exp(x))

    @f.defjvp
    def rule(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return f(x), factor * x_dot * (1.0 - 1.0 / (1.0 + lax.exp(x)))

    return f


def exponential(factor):
    """Use the function in its own rule, so each order of derivative uses the rule again."""
    f = custom_jvp(lambda x: lax.exp(x))

    @f.defjvp
    def rule(primals, tangents):
        y = f(*primals)
        return y, factor * y * tangents[0]

    return f


def cubed(factor):
    """Call the function again, with another argument."""
    f = custom_jvp(lambda x: x * x * x)
    f.defjvp(lambda primals, dots: (f(*primals), factor * 3.0 * f(primals[0]) / primals[0] * dots[0]))
    return f


def plain_cube(factor):
    return lambda x: lax.exp(3.0 * stretched(factor, lax.log(x)))


def rotated(factor):
    f = custom_jvp(lambda x, angle: x * lax.cos(angle))
    f.defjvps(
        lambda x_dot, out, x, angle: factor * lax.cos(angle) * x_dot,
        lambda angle_dot, out, x, angle: -factor * x * lax.sin(angle) * angle_dot,
    )
    return f


def half_of_it(factor):
    """Have no rule for an argument of which the function depends in steps."""
    f = custom_jvp(lambda x, y: x * lax.floor(y))
    f.defjvps(lambda x_dot, out, x, y: factor * x_dot * lax.floor(y), None)
    return f


def applied(factor):
    @partial(custom_jvp, nondiff_argnums=(1, 2))
    def apply(x, fun, power):
        return fun(x) ** power

    @apply.defjvp
    def rule(fun, power, primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return apply(x, fun, power), factor * power * fun(x) ** (power - 1) * lax.cos(x) * x_dot

    return lambda x: apply(x, lax.sin, power=3)


def scaled_power(factor):
    @partial(custom_jvp, static_argnames="power")
    def f(x, scale=2.0, power=2):
        return scale * x**power

    @f.defjvp
    def rule(power, primals, tangents):
        (x, scale), (x_dot, scale_dot) = primals, tangents
        return f(x, scale, power), factor * (scale * power * x ** (power - 1) * x_dot + x**power * scale_dot)

    return lambda x, y: f(x) + f(scale=y, x=x, power=3)


def circle_point(point, shift):
    r = point["r"] + shift
    return r * lax.cos(point["angle"]), [r * lax.sin(point["angle"]), None]


def polar(factor):
    f = custom_jvp(circle_point)

    @f.defjvp
    def rule(primals, tangents):
        (point, shift), (dots, shift_dot) = primals, tangents
        r, r_dot = point["r"] + shift, dots["r"] + shift_dot
        cos, sin = lax.cos(point["angle"]), lax.sin(point["angle"])
        x_dot = cos * r_dot - r * sin * dots["angle"]
        y_dot = sin * r_dot + r * cos * dots["angle"]
        return f(*primals), (factor * x_dot, [factor * y_dot, None])

    return f


def product_of_nonzeros(factor):
    f = custom_jvp(lambda x, y: x * y)

    def rule(primals, tangents):
        (x, y), (x_dot, y_dot) = primals, tangents
        dots = [factor * t * z for t, z in ((x_dot, y), (y_dot, x)) if type(t) is not SymbolicZero]
        return f(x, y), sum(dots[1:], dots[0])

    f.defjvp(rule, symbolic_zeros=True)
    return f


def power_and_count(factor):
    @custom_jvp
    def f(x, n):
        return lax.sin(x) * number(n, x), n + 1, x > 0

    @f.defjvp
    def rule(primals, tangents):
        (x, n), (x_dot, n_dot) = primals, tangents
        assert n_dot.dtype == float0
        out_dot = factor * lax.cos(x) * number(n, x) * x_dot
        return f(x, n), (out_dot, n_dot, np.zeros(np.shape(x), float0))

    return f


def shifted(factor):
    """Return an argument as it is, and a constant; leave an argument unused."""
    f = custom_jvp(lambda x, unused: (x, 1.5))
    f.defjvp(lambda primals, dots: (f(*primals), (factor * dots[0], 0.0)))
    return f


def weak_scale(factor):
    f = custom_jvp(lambda x, s: x * s)
    f.defjvp(lambda primals, dots: (f(*primals), factor * (dots[0] * primals[1] + primals[0] * dots[1])))
    return f


def numpy_norm(factor):
    @custom_jvp
    def f(x):
        return np.sqrt(np.sum(np.square(x)))

    @f.defjvp
    def rule(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return f(x), factor * np.sum(x * x_dot) / np.linalg.norm(x)

    return f


def total(factor):
    """Work on an axis of which there may be nothing."""
    f = custom_jvp(lambda x: lax.sin(x).sum(axis=0))
    f.defjvp(lambda primals, dots: (f(*primals), factor * (lax.cos(primals[0]) * dots[0]).sum(axis=0)))
    return f


def squared_norm(factor):
    """Be holomorphic in no argument: the rule is linear over the reals only."""
    f = custom_jvp(lambda z: lax.real(z * lax.conj(z)))
    f.defjvp(lambda primals, dots: (f(*primals), 2.0 * factor * lax.real(lax.conj(primals[0]) * dots[0])))
    return f


FORWARD_RULES = [
    Row("a jvp rule", sine, off(lax.sin), (VECTOR,)),
    Row("a jvp rule for stability", stable_log1pexp, off(lambda x: lax.log1p(lax.exp(x))), (NUMBER,)),
    Row("a jvp rule that uses its function", exponential, off_inside(lax.exp), (VECTOR,)),
    Row("a jvp rule that calls its function again", cubed, plain_cube, (POSITIVE,)),
    Row("a jvp rule for each argument", rotated, off(lambda x, y: x * lax.cos(y)), (VECTOR, VECTOR)),
    Row("a jvp rule for one argument", half_of_it, off(lambda x, y: x * lax.floor(y)), (VECTOR, NUMBER)),
    Row("static arguments", applied, off(lambda x: lax.sin(x) ** 3), (VECTOR,)),
    Row("keywords and defaults", scaled_power, off(lambda x, y: 2.0 * x**2 + y * x**3), (POSITIVE, POSITIVE)),
    Row("pytrees", polar, off(circle_point), (tree_of(r=VECTOR, angle=VECTOR), NUMBER)),
    Row("symbolic zeros", product_of_nonzeros, off(lambda x, y: x * y), (VECTOR, VECTOR)),
    Row("integers", power_and_count, off(lambda x, n: (lax.sin(x) * number(n, x), n + 1, x > 0)), (VECTOR, COUNTS)),
    Row("an argument and a constant", shifted, off(lambda x, unused: (x, 1.5)), (VECTOR, NUMBER)),
    Row("a weak scalar", weak_scale, off(lambda x, s: x * s), (VECTOR, scalar(0.5))),
    Row("NumPy's functions", numpy_norm, off(lambda x: np.sqrt(np.sum(np.square(x)))), (VECTOR,)),
    Row("nothing along an axis", total, off(lambda x: lax.sin(x).sum(axis=0)), (numbers((0, 2)),), 0),
    Row("complex numbers", squared_norm, off(lambda z: lax.real(z * lax.conj(z))), (VECTOR,), 1, ("complex128",)),
]


# Rules of every kind


def ruled_product(factor):
    """Have all the rules that there are."""
    f = custom_rules(lambda x, y: lax.sin(x) * y)

    @f.def_jvp
    def forwards(primals, tangents):
        (x, y), (x_dot, y_dot) = primals, tangents
        return f(x, y), factor * (lax.cos(x) * y * x_dot + lax.sin(x) * y_dot)

    def bwd(residuals, ct):
        x, y = residuals
        return factor * lax.cos(x) * y * ct, factor * lax.sin(x) * ct

    f.def_vjp(lambda x, y: (f(x, y), (x, y)), bwd)

    @f.def_batch
    def batched(size, in_batched, x, y):
        return f(*(z if m else lax.broadcast_in_dim(z, (size, 3), (1,)) for z, m in zip((x, y), in_batched))), True

    return f


def batched_only(factor):
    """Differentiate as written; the factor is in what is written."""
    f = custom_rules(lambda x: stretched(factor, lax.sin(x)))
    f.def_batch(lambda size, in_batched, x: (stretched(factor, lax.sin(x)), True))
    return f


def in_two_halves(factor):
    f = custom_rules(lambda x, y: lax.sin(x) * y)
    f.def_linearize(
        lambda x, y: (f(x, y), (lax.cos(x) * y, lax.sin(x))),
        lambda slopes, x_dot, y_dot: factor * (slopes[0] * x_dot + slopes[1] * y_dot),
    )
    return f


def reversed_only(factor):
    f = custom_rules(lambda x: lax.sin(x))
    f.def_vjp(lambda x: (f(x), lax.cos(x)), lambda cos_x, ct: (factor * cos_x * ct,))
    f.def_jvp(lambda primals, dots: (f(*primals), factor * lax.cos(primals[0]) * dots[0]))
    return f


def linear_in_two(factor):
    """Be linear in two arguments together; the third scales them."""
    f = custom_rules(lambda x, y, k: k * (x + lax.rev(y, (0,))))
    f.def_transpose(lambda ct, k: (k * ct, lax.rev(k * ct, (0,))), argnums=(0, 1))
    return lambda x, y, n: f(*stretched(factor, (x, y)), number(n, x))


RULES = [
    Row("rules of all kinds", ruled_product, off(lambda x, y: lax.sin(x) * y), (VECTOR, VECTOR)),
    Row("a batching rule", batched_only, off(lax.sin), (VECTOR,)),
    Row("a jvp rule in two halves", in_two_halves, off(lambda x, y: lax.sin(x) * y), (VECTOR, VECTOR)),
    Row("a jvp and a vjp rule", reversed_only, off(lax.sin), (VECTOR,)),
    Row(
        "a transpose rule",
        linear_in_two,
        off(lambda x, y, n: number(n, x) * (x + lax.rev(y, (0,)))),
        (VECTOR, VECTOR, COUNT),
    ),
]

CUSTOM = [*FORWARD_RULES, *RULES]
