"""The table's first half: each operation of `calque_core.lax`, one row or more per primitive."""

from __future__ import annotations

from functools import partial

import numpy as np
from custom_program import CALLS
from factors import FACTORS
from host_calls import HOST_CALLS
from implicit import EQUATIONS
from indexed import INDEXED
from program import COMPLEX, FLOATS, INTEGERS, NUMBERS, Program, always, numbers
from rematerialized import REMATERIALIZED
from sharded_operations import SHARDED
from spectra import SPECTRA

from calque_batching import vmap
from calque_core import hoist_tracers, lax, stage, typeof
from calque_xla_backend import jit

BITS = (*INTEGERS, "bool")
FIELD = ("float16", *FLOATS, *COMPLEX)
ARITHMETIC = (*COMPLEX, "float16", *NUMBERS)
ORDERED = ("float16", *NUMBERS, "bool")
COMPARED = (*COMPLEX, *NUMBERS)
ANY = (*COMPLEX, *ORDERED)
POSITIVE = numbers(low=0.3, high=3.0)
X, Y = numbers(), numbers(low=-1.7, high=2.3)
SMALL = numbers(low=-0.8, high=0.8)
SCALAR = numbers((), low=0.4, high=1.9)
MATRIX, CUBE = numbers((3, 4)), numbers((2, 3, 4))
INDEX = ((0, 0, 0), (2, 3, 4))


def unary(name, maker=X, dtypes=FLOATS, ulps=4.0, complex_ulps=16.0):
    return Program(name, getattr(lax, name), (maker,), dtypes, ulps, complex_ulps=complex_ulps)


def binary(name, makers=(X, Y), dtypes=NUMBERS, ulps=2.0, complex_ulps=16.0):
    fun = getattr(lax, name)
    rows = {name: makers, f"{name} of a scalar": (makers[0], SCALAR), f"{name} to a scalar": (SCALAR, makers[1])}
    return [Program(key, fun, pair, dtypes, ulps, complex_ulps=complex_ulps) for key, pair in rows.items()]


def sums(name, fun, makers, dtypes=FLOATS, ulps=16.0):
    return Program(name, fun, makers, dtypes, ulps, by_array=True)


def dot(numbers_):
    return lambda x, y: lax.dot_general(x, y, numbers_)


def convolution(strides, padding, *dilations_and_layout, groups=1, batch_groups=1):
    counts = {"feature_group_count": groups, "batch_group_count": batch_groups}
    return lambda x, k: lax.conv_general_dilated(x, k, strides, padding, *dilations_and_layout, **counts)


def evaluated_call(x):
    """Call a program that names no compiler, so that evaluating it runs its operations."""
    jaxpr, captured = hoist_tracers(stage(lambda y: [lax.mul(lax.sin(y), y), y], [typeof(x)]))
    return lax.jit_p.bind(*captured, x, jaxpr=jaxpr, name="call", compiler=None)


@jit
def compiled_call(x, y):
    return lax.mul(lax.sin(x), y), x


def branch(x, y):
    return lax.cond(lax.gt(lax.reduce_sum(x), 0), lambda a, b: lax.mul(a, b), lambda a, b: lax.sub(a, b), x, y)


def branch_by(predicate, x):
    return lax.cond(predicate, lax.sin, lax.cos, x)


def branch_by_platform(x, y):
    return lax.platform_dependent(x, y, cpu=lambda a, b: lax.mul(lax.sin(a), b), default=lambda a, b: lax.sub(a, b))


@partial(lax.composite, name="laws.scaled_sine")
def scaled_sine(x, y, *, factor=1):
    return lax.mul(lax.sin(x), lax.mul(y, factor)), lax.sub(x, y)


def running_products(start, xs):
    def step(carry, x):
        return lax.mul(carry, lax.cos(x)), lax.sin(carry)

    return lax.scan(step, start, xs)


def scaled_by_count(n, x):
    """Loop on an integer: a `while` that carries a perturbed number is refused in reverse."""
    count = lax.while_loop(lambda m: m < 9, lambda m: m * 2, n)
    return lax.mul(x, lax.convert_element_type(count, x.dtype))


def scaled_sum(y, x):
    return lax.reduce(x, 0, lambda a, b: a + b + a * b * y, (1,))


def composed_lines(x, y):
    """Compose the functions t -> x t + y, one for each row."""
    return lax.reduce((x, y), (1, 0), lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (0,))


def pooling(function, padding, strides=None, base_dilation=None):
    def pool(x):
        lowest = 0 if x.dtype == np.uint8 else -9
        init = {lax.add: 0, lax.max: lowest, lax.min: 9}[function]
        return lax.reduce_window(x, init, function, (1, 2, 2), strides, padding, base_dilation, (1, 1, 2))

    return pool


def window_products(x):
    return lax.reduce_window(x, 1, lambda a, b: a * b, (2, 1, 3), None, "SAME")


def follow(operation, values, x):
    return operation(values, x, lax.ge_p, (2, 3), None, "SAME")


def scattered_products(x, source):
    return lax.select_and_scatter(x, lambda a, b: a >= b, (2, 1), None, "VALID", source, 1, lambda a, b: a * b)


OPERATIONS: dict[str, list[Program]] = {
    # arithmetic
    "neg": [unary("neg", dtypes=ARITHMETIC)],
    "add": binary("add", dtypes=ANY),
    "add_any": [Program("add_any", lax.add_any, (X, Y), ARITHMETIC)],
    "sub": binary("sub", dtypes=ARITHMETIC),
    "mul": binary("mul", dtypes=ANY),
    "div": binary("div", (X, POSITIVE), ARITHMETIC),
    "rem": binary("rem", (numbers(low=-4, high=4), numbers(low=1.3, high=2.9))),
    "max": binary("max", dtypes=COMPARED),
    "min": binary("min", dtypes=COMPARED),
    "abs": [unary("abs", dtypes=ARITHMETIC)],
    "sign": [unary("sign", dtypes=ARITHMETIC)],
    "square": [unary("square", dtypes=ARITHMETIC)],
    "sqrt": [unary("sqrt", POSITIVE, FIELD)],
    "cbrt": [unary("cbrt", POSITIVE, ("float16", *FLOATS))],
    "rsqrt": [unary("rsqrt", POSITIVE, FIELD)],
    "pow": binary("pow", (POSITIVE, Y), FIELD, 16.0, 128.0),
    "integer_pow": [
        Program(f"integer_pow {n}", lambda x, n=n: lax.integer_pow(x, n), (POSITIVE,), dtypes, 8)
        for n, dtypes in ((0, ARITHMETIC), (1, ARITHMETIC), (2, ARITHMETIC), (3, ARITHMETIC), (-2, FIELD))
    ],
    # exponentials, trigonometry
    "exp": [unary("exp", dtypes=FIELD)],
    "exp2": [unary("exp2", dtypes=FIELD, complex_ulps=64)],
    "expm1": [unary("expm1", dtypes=FIELD)],
    "log": [unary("log", POSITIVE, FIELD, 8, 64)],
    "log1p": [unary("log1p", numbers(low=-0.7, high=3.0), FIELD, 8, 64)],
    "sin": [unary("sin", dtypes=FIELD, complex_ulps=64)],
    "cos": [unary("cos", dtypes=FIELD, ulps=8, complex_ulps=64)],
    "tan": [unary("tan", numbers(low=-1.3, high=1.3), FIELD, complex_ulps=64)],
    "tanh": [unary("tanh", dtypes=FIELD, ulps=8, complex_ulps=64)],
    "logistic_slope": [unary("logistic_slope", dtypes=FIELD, ulps=8, complex_ulps=64)],
    "tanh_slope": [unary("tanh_slope", dtypes=FIELD, ulps=8, complex_ulps=64)],
    "asin": [unary("asin", SMALL, FIELD, complex_ulps=64)],
    "acos": [unary("acos", SMALL, FIELD, complex_ulps=64)],
    "atan": [unary("atan", dtypes=FIELD, ulps=8, complex_ulps=64)],
    "atan2": binary("atan2", (X, POSITIVE), ("float16", *FLOATS), 4),
    "sinh": [unary("sinh", dtypes=FIELD, complex_ulps=64)],
    "cosh": [unary("cosh", dtypes=FIELD, complex_ulps=64)],
    "asinh": [unary("asinh", dtypes=FIELD, complex_ulps=64)],
    "acosh": [unary("acosh", numbers(low=1.2, high=3.0), FIELD, complex_ulps=64)],
    "atanh": [unary("atanh", SMALL, FIELD, complex_ulps=64)],
    "logistic": [unary("logistic", dtypes=FIELD, ulps=8, complex_ulps=64)],
    "erf": [unary("erf", dtypes=("float16", *FLOATS))],
    "erfc": [unary("erfc", dtypes=("float16", *FLOATS), ulps=8)],
    "lgamma": [unary("lgamma", POSITIVE, ulps=8)],
    "digamma": [unary("digamma", POSITIVE, ulps=8)],
    "zeta": [Program("zeta", lambda q: lax.zeta(2.5, q), (POSITIVE,), FLOATS, 8)],
    "polygamma": [Program("polygamma", lambda x: lax.polygamma(2.0, x), (POSITIVE,), FLOATS, 16)],
    "bessel_i0e": [unary("bessel_i0e", POSITIVE)],
    "bessel_i1e": [unary("bessel_i1e", POSITIVE)],
    "igamma": [Program("igamma", lambda x: lax.igamma(1.5, x), (POSITIVE,), FLOATS, 32)],
    "igammac": [Program("igammac", lambda x: lax.igammac(1.5, x), (POSITIVE,), FLOATS, 32)],
    "igamma_grad_a": [Program("igamma_grad_a", lambda x: lax.igamma_grad_a(1.5, x), (POSITIVE,), FLOATS, 64)],
    "random_gamma_grad": [
        # Of a step function, as for stop_gradient: it has no derivative of its own.
        Program(
            "random_gamma_grad",
            lambda x: lax.mul(x, lax.random_gamma_grad(1.5, lax.stop_gradient(lax.add(lax.floor(x), 1.0)))),
            (POSITIVE,),
            FLOATS,
            64,
        )
    ],
    "regularized_incomplete_beta": [
        Program("betainc", lambda x: lax.betainc(1.5, 0.7, x), (numbers(low=0.1, high=0.9),), FLOATS, 64)
    ],
    "erf_inv": [unary("erf_inv", SMALL, ulps=8)],
    # rounding
    "floor": [unary("floor")],
    "ceil": [unary("ceil")],
    "round": [
        unary("round"),
        Program("round to even", lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), (X,)),
    ],
    "reduce_precision": [Program("reduce_precision", lambda x: lax.reduce_precision(x, 11, 52), (X,), ulps=0)],
    "nextafter": [Program("nextafter", lax.nextafter, (X, numbers(low=5.0, high=9.0)))],
    "is_finite": [unary("is_finite")],
    # comparison, bits, choice
    **{name: [Program(name, getattr(lax, name), (X, Y), ANY)] for name in ("eq", "ne")},
    **{name: [Program(name, getattr(lax, name), (X, Y), ORDERED)] for name in ("lt", "le", "gt", "ge")},
    **{name: [Program(name, getattr(lax, f"bitwise_{name}"), (X, Y), BITS)] for name in ("and", "or", "xor")},
    "not": [Program("not", lax.bitwise_not, (X,), BITS)],
    **{
        name: [Program(name, getattr(lax, name), (X, Y), INTEGERS)]
        for name in ("shift_left", "shift_right_logical", "shift_right_arithmetic")
    },
    "population_count": [Program("population_count", lax.population_count, (X,), INTEGERS)],
    "clz": [Program("clz", lax.clz, (X,), INTEGERS)],
    "threefry2x32": [
        Program("threefry2x32", lax.threefry2x32, (always("uint32"),) * 4),
        Program(
            "threefry2x32 by one key",
            lambda key, low: lax.threefry2x32(key, key, np.uint32(0), low),
            (always("uint32", ()), always("uint32")),
        ),
    ],
    "philox4x32": [
        Program(
            "philox4x32",
            lambda key, *counter: lax.philox4x32((key, key), counter),
            (always("uint32", ()), *[always("uint32")] * 4),
        ),
    ],
    "select_n": [
        Program("select_n", lax.select_n, (always("bool"), X, Y), ANY),
        Program(
            "select_n of three", lambda w, x, y: lax.select_n(w, x, y, x), (always("int32", (3,)), *[numbers((3,))] * 2)
        ),
        Program(
            "select_n by int64", lambda w, x, y: lax.select_n(w, x, y), (always("int64", (3,)), *[numbers((3,))] * 2)
        ),
        Program("select_n by a scalar", lambda w, x, y: lax.select_n(w, x, y), (always("bool", ()), X, Y), ANY),
    ],
    "guard": [
        Program(
            "guard",
            lambda x, y: lax.select(lax.gt(x, 0), lax.log(lax.guard_p.bind(lax.gt(x, 0), lax.exp(y), x)), y),
            (X, Y),
            ulps=4.0,
        )
    ],
    "clamp": [
        Program("clamp", lambda x: lax.clamp(-0.9, x, 0.7), (X,)),
        Program("clamp between arrays", lambda a, x: lax.clamp(lax.sub(a, 1), x, a), (Y, X), (*COMPLEX, *FLOATS)),
    ],
    # types
    "convert_element_type": [
        Program(f"convert_element_type {new}", lambda x, new=new: lax.convert_element_type(x, new), (X,), ANY)
        for new in ("float32", "float64", "int32", "bool", "complex64", "complex128")
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
    "discard": [
        Program("discard", lambda x: lax.select(lax.eq(x, x), lax.sin(x), lax.discard(lax.exp(x))), (X,), ulps=4.0)
    ],
    # complex numbers
    "real": [Program("real", lax.real, (X,), COMPLEX)],
    "imag": [Program("imag", lambda z: lax.mul(lax.imag(z), lax.real(z)), (X,), COMPLEX)],
    "conj": [Program("conj", lambda z: lax.mul(lax.conj(z), lax.square(z)), (X,), COMPLEX)],
    "complex": binary("complex", dtypes=FLOATS, ulps=0),
    # shapes
    "broadcast_in_dim": [
        Program("broadcast_in_dim", lambda x: lax.broadcast_in_dim(x, (2, 4, 3), (0, 2)), (X,), ANY),
        Program("broadcast_in_dim permuted", lambda x: lax.broadcast_in_dim(x, (3, 4, 2), (2, 0)), (X,), ANY),
        Program("broadcast_in_dim square", lambda x: lax.broadcast_in_dim(x, (2, 2), (1, 0)), (numbers((2, 2)),), ANY),
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
        Program("pad that cuts", lambda x, p: lax.pad(x, p, ((-1, 1, 0), (2, -1, 1))), (X, numbers(())), ARITHMETIC),
    ],
    "concatenate": [Program("concatenate", lambda x, y: lax.concatenate([x, y, x], 1), (X, numbers((2, 1))), ANY)],
    "split": [Program("split", lambda x: lax.split(x, (1, 0, 2), 1), (CUBE,), ANY)],
    "stack": [
        Program("stack", lambda x, y: lax.stack([x, y, x], 0), (X, X), ANY),
        Program("stack of scalars", lambda x, y: lax.stack([x, y]), (numbers(()), numbers(())), ANY),
        Program("stack along the last axis", lambda x, y: lax.stack([x, y], -1), (X, X), ANY),
    ],
    "unstack": [
        Program("unstack", lax.unstack, (CUBE,), ANY),
        Program("unstack of the last axis", lambda x: lax.unstack(x, -1), (X,), ANY),
    ],
    "tile": [Program("tile", lambda x: lax.tile(x, (2, 1, 3)), (CUBE,), ANY)],
    "iota": [
        Program(
            "iota",
            lambda x: lax.add(x, lax.convert_element_type(lax.broadcasted_iota(np.int32, (2, 3), 1), x.dtype)),
            (X,),
        )
    ],
    # reductions
    "reduce_sum": [
        sums(f"reduce_sum {axes}", lambda x, axes=axes: lax.reduce_sum(x, axes), (CUBE,), ARITHMETIC)
        for axes in (None, 1, (0, 2))
    ]
    + [sums("reduce_sum with kept axes", lambda x: lax.reduce_sum(x, (0, 2), keepdims=True), (CUBE,), ARITHMETIC)],
    "reduce_prod": [
        sums(f"reduce_prod {axes}", lambda x, axes=axes: lax.reduce_prod(x, axes), (CUBE,), FIELD)
        for axes in (None, 1, (0, 2))
    ]
    + [sums("reduce_prod with kept axes", lambda x: lax.reduce_prod(x, (0, 2), keepdims=True), (CUBE,), FIELD)],
    "reduce_xor": [Program("reduce_xor", lambda x: lax.reduce_xor(x, (0, 1)), (CUBE,), BITS)],
    **{
        f"cum{name}": [
            sums(f"cum{name}", lambda x, f=function: f(x, 1), (CUBE,), dtypes),
            sums(f"cum{name} in reverse", lambda x, f=function: f(x, 0, reverse=True), (CUBE,), dtypes),
        ]
        for name, function, dtypes in (
            ("sum", lax.cumsum, ARITHMETIC),
            ("prod", lax.cumprod, FIELD),
            ("max", lax.cummax, COMPARED),
            ("min", lax.cummin, COMPARED),
            ("logsumexp", lax.cumlogsumexp, FLOATS),
        )
    },
    "reduce_max": [
        Program("reduce_max", lambda x: lax.reduce_max(x, (0, 2)), (CUBE,), COMPARED),
        Program("reduce_max with kept axes", lambda x: lax.reduce_max(x, (0, 2), keepdims=True), (CUBE,), COMPARED),
    ],
    "reduce_min": [
        Program("reduce_min", lambda x: lax.reduce_min(x, 1), (CUBE,), COMPARED),
        Program("reduce_min with a kept axis", lambda x: lax.reduce_min(x, 1, keepdims=True), (CUBE,), COMPARED),
    ],
    "reduce_and": [
        Program("reduce_and", lambda x: lax.reduce_and(x, 1), (CUBE,), BITS),
        Program("reduce_and with a kept axis", lambda x: lax.reduce_and(x, 1, keepdims=True), (CUBE,), BITS),
    ],
    "reduce_or": [Program("reduce_or", lambda x: lax.reduce_or(x, (0, 1)), (CUBE,), BITS)],
    "reduce": [
        sums("reduce", lambda x: lax.reduce(x, x.dtype.type(2), lambda a, b: a * b + a - a, (0, 2)), (CUBE,), FIELD),
        sums("reduce with a closure", scaled_sum, (SCALAR, CUBE), FIELD),
        sums("reduce of two", composed_lines, (X, Y), FIELD),
    ],
    **{
        f"reduce_window_{name}": [
            sums(f"reduce_window_{name} {padding}", pooling(function, padding, *options), (CUBE,), dtypes)
            for padding, *options in (("VALID",), ("SAME", (1, 2, 1)), (((0, 0), (1, 0), (1, -1)), None, (1, 2, 1)))
        ]
        for name, function, dtypes in (
            ("sum", lax.add, ARITHMETIC),
            ("max", lax.max, ("float16", *NUMBERS)),
            ("min", lax.min, ("float16", *NUMBERS)),
        )
    },
    "reduce_window": [sums("reduce_window of products", window_products, (CUBE,), FIELD)],
    "select_and_gather_add": [
        sums("select_and_gather_add", lambda t, x: follow(lax.select_and_gather_add, t, x), (numbers((4, 5)),) * 2)
    ],
    "select_and_scatter_add": [
        sums("select_and_scatter_add", lambda s, x: follow(lax.select_and_scatter_add, s, x), (numbers((4, 5)),) * 2)
    ],
    "select_and_scatter": [sums("select_and_scatter", scattered_products, (MATRIX, numbers((2, 4))), FLOATS)],
    "argmax": [Program("argmax", lambda x: lax.argmax(x, 1), (CUBE,), COMPARED)],
    "argmin": [Program("argmin", lambda x: lax.argmin(x, 0, np.int32), (CUBE,), COMPARED)],
    # contractions
    "dot_general": [
        sums("matrix product", dot((((1,), (0,)), ((), ()))), (MATRIX, numbers((4, 2))), ARITHMETIC),
        sums("inner product", dot((((0,), (0,)), ((), ()))), (numbers((3,)), numbers((3,))), FIELD),
        sums("outer product", dot((((), ()), ((), ()))), (numbers((3,)), numbers((2,))), FIELD),
        sums("batched product", dot((((2,), (1,)), ((0,), (2,)))), (CUBE, numbers((3, 4, 2))), FIELD),
        sums(
            "product in wider sums",
            lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=np.float64),
            (MATRIX, numbers((4, 2))),
            ("float32",),
        ),
        sums(
            "product by an algorithm",
            lambda x, y: lax.dot(x, y, precision=lax.DotAlgorithmPreset.F64_F64_F64),
            (MATRIX, numbers((4, 2))),
            ("float32",),
        ),
    ],
    # Fourier transforms
    "fft": [
        sums(f"fft {kind} {n}", lambda x, kind=kind, n=n: lax.fft(x, kind, n), (CUBE,), (*dtypes, "float16", "int32"))
        for kind, n, dtypes in (
            ("FFT", (4,), (*COMPLEX, *FLOATS)),
            ("IFFT", (3, 4), (*COMPLEX, *FLOATS)),
            ("RFFT", (2, 3, 4), FLOATS),
            ("IRFFT", (3, 7), (*COMPLEX, *FLOATS)),
        )
    ],
    # linear algebra
    **FACTORS,
    **SPECTRA,
    "conv_general_dilated": [
        sums("convolution", convolution((2, 1), "SAME"), (numbers((2, 2, 3, 3)), numbers((3, 2, 2, 2))), ARITHMETIC),
        sums(
            "convolution with features last",
            convolution((1,), [(1, -1)], (2,), (2,), ("NWC", "WIO", "NWC")),
            (numbers((2, 4, 2)), numbers((2, 2, 3))),
            FIELD,
        ),
        sums("convolution by groups", convolution((1,), "VALID", groups=2), (numbers((1, 4, 3)), numbers((2, 2, 2)))),
        sums(
            "convolution by batch groups",
            convolution((1,), "VALID", batch_groups=2),
            (numbers((2, 2, 3)), numbers((2, 2, 2))),
        ),
    ],
    # positions that are values
    **INDEXED,
    # order
    "sort": [
        Program("sort", lambda x: lax.sort(x, 1), (CUBE,), ANY),
        Program("sort of two", lambda x, y: lax.sort((x, y), 0), (X, Y), ARITHMETIC),
        Program("sort by two keys", lambda x, y: lax.sort((lax.floor(x), y, x), 1, num_keys=2), (X, Y)),
        Program("sort_key_val", lambda x, y: lax.sort_key_val(x, y, 0), (X, Y), ANY),
        Program("approx_min_k", lambda x: lax.approx_min_k(x, 2, 1), (CUBE,), ORDERED),
    ],
    "top_k": [
        Program("top_k", lambda x: lax.top_k(x, 2), (CUBE,), ORDERED),
        Program("top_k of columns", lambda x: lax.top_k(x, 2, axis=0)[0], (MATRIX,), ORDERED),
    ],
    # programs in programs
    "jit": [
        Program("jit without a compiler", evaluated_call, (X,), FIELD, 8, complex_ulps=64),
        Program("jit", compiled_call, (X, Y), ulps=8),
    ],
    "cond": [
        Program("cond", branch, (numbers((3,)), numbers((3,)))),
        Program("cond by an argument", branch_by, (always("bool", ()), X), FIELD, 8, complex_ulps=64),
    ],
    "platform_dependent": [Program("platform_dependent", branch_by_platform, (X, Y), FIELD, 8, complex_ulps=64)],
    "composite": [Program("composite", lambda x, y: scaled_sine(x, y, factor=2), (X, Y), FIELD, 8, complex_ulps=64)],
    # loops, of which `test_loops.py` has more
    "scan": [Program("scan", running_products, (numbers((3,)), numbers((4, 3))), FIELD, 16, complex_ulps=64)],
    "while": [Program("while", scaled_by_count, (always("int32", ()), X), FIELD)],
    # functions with rules of their own, of which `test_custom.py` has more
    **CALLS,
    # linear functions and equations
    **EQUATIONS,
    # what is computed again
    **REMATERIALIZED,
    # calls to Python
    **HOST_CALLS,
    "dce_sink": [Program("dce_sink", lambda x: (lax.dce_sink(lax.cos(x)), lax.sin(x))[1], (X,), FIELD, 8)],
    # programs over a mesh
    **SHARDED,
    # named axes, bound by the vmap around them
    "psum": [
        sums("psum", vmap(lambda x: lax.mul(lax.psum(x, "i"), x), axis_name="i"), (numbers((3, 2)),), ARITHMETIC),
        sums("pmean", vmap(lambda x: lax.sub(x, lax.pmean(x, "i")), axis_name="i"), (numbers((3, 2)),), FIELD),
    ],
    "pmax": [Program("pmax", vmap(lambda x: lax.sub(x, lax.pmax(x, "i")), axis_name="i"), (numbers((3, 2)),), FIELD)],
    "pmin": [Program("pmin", vmap(lambda x: lax.mul(x, lax.pmin(x, "i")), axis_name="i"), (numbers((3, 2)),), FIELD)],
    "all_gather": [
        sums("all_gather", vmap(lambda x: lax.mul(lax.all_gather(x, "i", axis=1), 2), axis_name="i"), (X,), ARITHMETIC)
    ],
    "psum_scatter": [
        sums("psum_scatter", vmap(lambda x: lax.psum_scatter(x, "i"), axis_name="i"), (numbers((3, 3, 2)),), ARITHMETIC)
    ],
    "all_to_all": [
        Program("all_to_all", vmap(lambda x: lax.all_to_all(x, "i", 1, 0), axis_name="i"), (numbers((3, 2, 3)),), ANY)
    ],
    "ppermute": [
        Program("ppermute", vmap(lambda x: lax.ppermute(x, "i", [(0, 2), (2, 1)]), axis_name="i"), (MATRIX,), ANY),
        Program("pshuffle", vmap(lambda x: lax.pshuffle(x, "i", [2, 0, 1]), axis_name="i"), (numbers((3, 2)),), ANY),
    ],
    "axis_index": [
        Program(
            "axis_index",
            vmap(lambda x: lax.mul(x, lax.convert_element_type(lax.axis_index("i"), x.dtype)), axis_name="i"),
            (numbers((3, 2)),),
        )
    ],
}
