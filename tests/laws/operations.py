"""The table's first half: each operation of `calque_core.lax`, one row or more per primitive."""

from __future__ import annotations

import numpy as np
from program import FLOATS, INTEGERS, NUMBERS, Program, always, numbers

from calque_batching import vmap
from calque_core import hoist_tracers, lax, stage, typeof
from calque_xla_backend import jit

BITS = (*INTEGERS, "bool")
ANY = (*NUMBERS, "bool")
POSITIVE = numbers(low=0.3, high=3.0)
X, Y = numbers(), numbers(low=-1.7, high=2.3)
SMALL = numbers(low=-0.8, high=0.8)
SCALAR = numbers((), low=0.4, high=1.9)
MATRIX, CUBE = numbers((3, 4)), numbers((2, 3, 4))
INDEX = ((0, 0, 0), (2, 3, 4))


def unary(name, maker=X, dtypes=FLOATS, ulps=4.0):
    return Program(name, getattr(lax, name), (maker,), dtypes, ulps)


def binary(name, makers=(X, Y), dtypes=NUMBERS, ulps=2.0, fun=None):
    fun = fun or getattr(lax, name)
    return [
        Program(name, fun, makers, dtypes, ulps),
        Program(f"{name} of a scalar", lambda x, y: fun(x, y), (makers[0], SCALAR), dtypes, ulps),
        Program(f"{name} to a scalar", lambda x, y: fun(x, y), (SCALAR, makers[1]), dtypes, ulps),
    ]


def sums(name, fun, makers, dtypes=FLOATS, ulps=16.0):
    return Program(name, fun, makers, dtypes, ulps, by_array=True)


def dot(numbers_):
    return lambda x, y: lax.dot_general(x, y, numbers_)


def evaluated_call(x):
    """Call a program that names no compiler, so that evaluating it runs its operations."""
    jaxpr, captured = hoist_tracers(stage(lambda y: [lax.mul(lax.sin(y), y), y], [typeof(x)]))
    return lax.jit_p.bind(*captured, x, jaxpr=jaxpr, name="call", compiler=None)


@jit
def compiled_call(x, y):
    return lax.mul(lax.sin(x), y), x


def branch(x, y):
    return lax.cond(lax.gt(lax.reduce_sum(x), 0), lambda a, b: lax.mul(a, b), lambda a, b: lax.sub(a, b), x, y)


def running_products(start, xs):
    def step(carry, x):
        return lax.mul(carry, lax.cos(x)), lax.sin(carry)

    return lax.scan(step, start, xs)


def scaled_by_count(n, x):
    """Loop on an integer: a `while` that carries a perturbed number is refused in reverse."""
    count = lax.while_loop(lambda m: m < 9, lambda m: m * 2, n)
    return lax.mul(x, lax.convert_element_type(count, x.dtype))


OPERATIONS: dict[str, list[Program]] = {
    # arithmetic
    "neg": [unary("neg", dtypes=NUMBERS)],
    "add": binary("add", dtypes=ANY),
    "add_any": [Program("add_any", lax.add_any, (X, Y), NUMBERS)],
    "sub": binary("sub"),
    "mul": binary("mul", dtypes=ANY),
    "div": binary("div", (X, POSITIVE)),
    "rem": binary("rem", (numbers(low=-4, high=4), numbers(low=1.3, high=2.9))),
    "max": binary("max"),
    "min": binary("min"),
    "abs": [unary("abs", dtypes=NUMBERS)],
    "sign": [unary("sign", dtypes=NUMBERS)],
    "square": [unary("square", dtypes=NUMBERS)],
    "sqrt": [unary("sqrt", POSITIVE)],
    "rsqrt": [unary("rsqrt", POSITIVE)],
    "pow": binary("pow", (POSITIVE, Y), FLOATS, 16.0),
    "integer_pow": [
        Program(f"integer_pow {n}", lambda x, n=n: lax.integer_pow(x, n), (POSITIVE,), NUMBERS if n >= 0 else FLOATS, 8)
        for n in (0, 1, 2, 3, -2)
    ],
    # exponentials, trigonometry
    "exp": [unary("exp")],
    "expm1": [unary("expm1")],
    "log": [unary("log", POSITIVE, ulps=8)],
    "log1p": [unary("log1p", numbers(low=-0.7, high=3.0), ulps=8)],
    "sin": [unary("sin")],
    "cos": [unary("cos", ulps=8)],
    "tan": [unary("tan", numbers(low=-1.3, high=1.3))],
    "tanh": [unary("tanh", ulps=8)],
    "logistic": [unary("logistic", ulps=8)],
    "erf_inv": [unary("erf_inv", SMALL, ulps=8)],
    # rounding
    "floor": [unary("floor")],
    "ceil": [unary("ceil")],
    "round": [
        unary("round"),
        Program("round to even", lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), (X,)),
    ],
    "is_finite": [unary("is_finite")],
    # comparison, bits, choice
    **{name: [Program(name, getattr(lax, name), (X, Y), ANY)] for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{name: [Program(name, getattr(lax, f"bitwise_{name}"), (X, Y), BITS)] for name in ("and", "or", "xor")},
    "not": [Program("not", lax.bitwise_not, (X,), BITS)],
    **{
        name: [Program(name, getattr(lax, name), (X, Y), INTEGERS)]
        for name in ("shift_left", "shift_right_logical", "shift_right_arithmetic")
    },
    "select_n": [
        Program("select_n", lax.select_n, (always("bool"), X, Y), ANY),
        Program(
            "select_n of three", lambda w, x, y: lax.select_n(w, x, y, x), (always("int32", (3,)), *[numbers((3,))] * 2)
        ),
        Program("select_n by a scalar", lambda w, x, y: lax.select_n(w, x, y), (always("bool", ()), X, Y), ANY),
    ],
    "clamp": [
        Program("clamp", lambda x: lax.clamp(-0.9, x, 0.7), (X,)),
        Program("clamp between arrays", lambda a, x: lax.clamp(lax.sub(a, 1), x, a), (Y, X)),
    ],
    # types
    "convert_element_type": [
        Program(f"convert_element_type {new}", lambda x, new=new: lax.convert_element_type(x, new), (X,), ANY)
        for new in ("float32", "float64", "int32", "bool")
    ],
    "bitcast_convert_type": [
        Program(
            "bitcast_convert_type",
            lambda x: lax.bitcast_convert_type(lax.convert_element_type(x, np.float32), np.int32),
            (X,),
        )
    ],
    "stop_gradient": [
        # Of a step function, which differences see no derivative of either.
        Program("stop_gradient", lambda x: lax.mul(x, lax.sign(lax.stop_gradient(x))), (X,))
    ],
    # shapes
    "broadcast_in_dim": [
        Program("broadcast_in_dim", lambda x: lax.broadcast_in_dim(x, (2, 4, 3), (0, 2)), (X,), ANY),
        Program("broadcast_in_dim of ones", lambda x: lax.broadcast_in_dim(x, (2, 3), (0, 1)), (numbers((2, 1)),), ANY),
        Program("broadcast", lambda x: lax.broadcast(x, (2, 1)), (numbers(()),), ANY),
    ],
    "reshape": [Program("reshape", lambda x: lax.reshape(x, (3, 1, 2)), (X,), ANY)],
    "transpose": [Program("transpose", lambda x: lax.transpose(x, (2, 0, 1)), (CUBE,), ANY)],
    "rev": [Program("rev", lambda x: lax.rev(x, (0, 2)), (CUBE,), ANY)],
    "squeeze": [Program("squeeze", lambda x: lax.squeeze(x, (0, 2)), (numbers((1, 3, 1)),), ANY)],
    "slice": [Program("slice", lambda x: lax.slice(x, (0, 1, 0), (2, 3, 4), (1, 1, 2)), (CUBE,), ANY)],
    "pad": [
        Program("pad", lambda x, p: lax.pad(x, p, ((1, 0, 2), (0, 2, 1))), (X, numbers(()))),
        Program("pad that cuts", lambda x, p: lax.pad(x, p, ((-1, 1, 0), (2, -1, 1))), (X, numbers(())), NUMBERS),
    ],
    "concatenate": [Program("concatenate", lambda x, y: lax.concatenate([x, y, x], 1), (X, numbers((2, 1))), ANY)],
    "iota": [
        Program(
            "iota",
            lambda x: lax.add(x, lax.convert_element_type(lax.broadcasted_iota(np.int32, (2, 3), 1), x.dtype)),
            (X,),
        )
    ],
    # reductions
    "reduce_sum": [
        sums(f"reduce_sum {axes}", lambda x, axes=axes: lax.reduce_sum(x, axes), (CUBE,), NUMBERS)
        for axes in (None, 1, (0, 2))
    ],
    "reduce_max": [Program("reduce_max", lambda x: lax.reduce_max(x, (0, 2)), (CUBE,), NUMBERS)],
    "reduce_min": [Program("reduce_min", lambda x: lax.reduce_min(x, 1), (CUBE,), NUMBERS)],
    "reduce_and": [Program("reduce_and", lambda x: lax.reduce_and(x, 1), (CUBE,), BITS)],
    "reduce_or": [Program("reduce_or", lambda x: lax.reduce_or(x, (0, 1)), (CUBE,), BITS)],
    "argmax": [Program("argmax", lambda x: lax.argmax(x, 1), (CUBE,), NUMBERS)],
    "argmin": [Program("argmin", lambda x: lax.argmin(x, 0, np.int32), (CUBE,), NUMBERS)],
    # contractions
    "dot_general": [
        sums("matrix product", dot((((1,), (0,)), ((), ()))), (MATRIX, numbers((4, 2))), NUMBERS),
        sums("inner product", dot((((0,), (0,)), ((), ()))), (numbers((3,)), numbers((3,)))),
        sums("outer product", dot((((), ()), ((), ()))), (numbers((3,)), numbers((2,)))),
        sums("batched product", dot((((2,), (1,)), ((0,), (2,)))), (CUBE, numbers((3, 4, 2)))),
        sums(
            "product in wider sums",
            lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=np.float64),
            (MATRIX, numbers((4, 2))),
            ("float32",),
        ),
    ],
    # order
    "sort": [
        Program("sort", lambda x: lax.sort(x, 1), (CUBE,), ANY),
        Program("sort of two", lambda x, y: lax.sort((x, y), 0), (X, Y), NUMBERS),
        Program("sort by two keys", lambda x, y: lax.sort((lax.floor(x), y, x), 1, num_keys=2), (X, Y)),
    ],
    # programs in programs
    "jit": [
        Program("jit without a compiler", evaluated_call, (X,), ulps=8),
        Program("jit", compiled_call, (X, Y), ulps=8),
    ],
    "cond": [
        Program("cond", branch, (numbers((3,)), numbers((3,)))),
        Program("cond by an argument", lambda p, x: lax.cond(p, lax.sin, lax.cos, x), (always("bool", ()), X), ulps=8),
    ],
    # loops, of which `test_loops.py` has more
    "scan": [Program("scan", running_products, (numbers((3,)), numbers((4, 3))), ulps=16)],
    "while": [Program("while", scaled_by_count, (always("int32", ()), X))],
    # named axes, bound by the vmap around them
    "psum": [
        sums("psum", vmap(lambda x: lax.mul(lax.psum(x, "i"), x), axis_name="i"), (numbers((3, 2)),), NUMBERS),
        sums("pmean", vmap(lambda x: lax.sub(x, lax.pmean(x, "i")), axis_name="i"), (numbers((3, 2)),)),
    ],
    "pmax": [Program("pmax", vmap(lambda x: lax.sub(x, lax.pmax(x, "i")), axis_name="i"), (numbers((3, 2)),))],
    "pmin": [Program("pmin", vmap(lambda x: lax.mul(x, lax.pmin(x, "i")), axis_name="i"), (numbers((3, 2)),))],
    "axis_index": [
        Program(
            "axis_index",
            vmap(lambda x: lax.mul(x, lax.convert_element_type(lax.axis_index("i"), x.dtype)), axis_name="i"),
            (numbers((3, 2)),),
        )
    ],
}
