"""Programs in exact arithmetic: a jaxpr runs on arrays of mpmath's numbers, at a precision far beyond that of floats.

One idea: floats are arrays of objects; an operation that moves or adds elements is NumPy's own on objects, and an
elementwise one is a function of mpmath's.  None of the rules of bounds takes part.
"""

from __future__ import annotations

import numpy as np
from mpmath import mp

from calque_core import Literal, lax, make_jaxpr

PRECISION = 300


class UndefinedError(Exception):
    """The program has no value at a point."""


def exactly(f, x):
    """Return f(x) by mpmath, as an array of its numbers.  Raises: UndefinedError."""
    jaxpr = make_jaxpr(f)(x)
    with mp.workprec(PRECISION):
        try:
            [out] = run(jaxpr, [exact_array(x)])
        except (ZeroDivisionError, ValueError) as error:
            raise UndefinedError from error
    if any(not isinstance(value, mp.mpf) for value in np.ravel(out)):
        raise UndefinedError
    return out


def exact_array(x):
    """Return an array of mpmath's numbers for floats; integers and bools stay."""
    x = np.asarray(x)
    if x.dtype.kind != "f":
        return x
    out = np.empty(x.shape, object)
    out.flat = [mp.mpf(float(value)) for value in x.ravel()]
    return out


def run(jaxpr, args):
    """Return the results of a jaxpr."""
    values = dict(zip(jaxpr.invars, args)) | {v: exact_array(c) for v, c in zip(jaxpr.constvars, jaxpr.consts)}
    read = lambda atom: exact_array(atom.val) if isinstance(atom, Literal) else values[atom]
    for eqn in jaxpr.eqns:
        operands = [read(atom) for atom in eqn.invars]
        outs = apply(eqn.primitive, operands, eqn.params)
        values.update(zip(eqn.outvars, outs))
    return [read(atom) for atom in jaxpr.outvars]


def apply(primitive, args, params):
    if primitive is lax.jit_p:
        return run(params["jaxpr"], args)
    if primitive is lax.cond_p:
        return run(params["branches"][int(args[0])], args[1:])
    if primitive is lax.scan_p:
        return scan(args, **params)
    if primitive is lax.convert_element_type_p:
        becomes_float = params["new_dtype"].kind == "f" and args[0].dtype != object
        return [exact_array(args[0].astype(float)) if becomes_float else args[0]]
    if primitive in FUNCTIONS:
        return [np.asarray(np.frompyfunc(FUNCTIONS[primitive], len(args), 1)(*args), object)]
    if primitive is lax.integer_pow_p:
        return [np.asarray(args[0] ** params["y"], object)]
    if primitive in COMPARISONS:
        return [np.asarray(np.frompyfunc(COMPARISONS[primitive], 2, 1)(*args)).astype(bool)]
    outs = primitive.impl(*args, **params)
    return list(map(np.asarray, outs)) if primitive.multiple_results else [np.asarray(outs)]


def scan(args, *, jaxpr, num_carry, num_consts, length, reverse, **_):
    consts, carry, xs = args[:num_consts], args[num_consts : num_consts + num_carry], args[num_consts + num_carry :]
    rows = []
    for i in range(length)[:: -1 if reverse else 1]:
        outs = run(jaxpr, [*consts, *carry, *(x[i] for x in xs)])
        carry, row = outs[:num_carry], outs[num_carry:]
        rows.append(row)
    return [*carry, *map(np.stack, zip(*rows[:: -1 if reverse else 1]))]


def real(f):
    """Return a function of mpmath's that has no value where it is complex or infinite."""

    def checked(*xs):
        value = f(*xs)
        if not isinstance(value, mp.mpf) or not mp.isfinite(value):
            raise UndefinedError
        return value

    return checked


FUNCTIONS = {
    lax.exp_p: mp.exp,
    lax.expm1_p: mp.expm1,
    lax.log_p: real(mp.log),
    lax.log1p_p: real(mp.log1p),
    lax.sqrt_p: real(mp.sqrt),
    lax.rsqrt_p: real(lambda x: 1 / mp.sqrt(x)),
    lax.cbrt_p: lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    lax.sin_p: mp.sin,
    lax.cos_p: mp.cos,
    lax.tan_p: mp.tan,
    lax.atan_p: mp.atan,
    lax.tanh_p: mp.tanh,
    lax.asinh_p: mp.asinh,
    lax.erf_p: mp.erf,
    lax.logistic_p: lambda x: 1 / (1 + mp.exp(-x)),
    lax.atan2_p: mp.atan2,
    lax.add_p: lambda x, y: x + y,
    lax.sub_p: lambda x, y: x - y,
    lax.mul_p: lambda x, y: x * y,
    lax.div_p: lambda x, y: x / y,
    lax.neg_p: lambda x: -x,
    lax.abs_p: abs,
    lax.square_p: lambda x: x * x,
    lax.pow_p: real(mp.power),
    lax.max_p: max,
    lax.min_p: min,
    lax.floor_p: mp.floor,
    lax.sign_p: mp.sign,
}
COMPARISONS = {
    lax.lt_p: lambda x, y: x < y,
    lax.le_p: lambda x, y: x <= y,
    lax.gt_p: lambda x, y: x > y,
    lax.ge_p: lambda x, y: x >= y,
    lax.eq_p: lambda x, y: x == y,
    lax.ne_p: lambda x, y: x != y,
}
