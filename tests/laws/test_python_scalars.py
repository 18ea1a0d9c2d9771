"""A traced program has the types that it has eagerly, where Python scalars stay Python scalars.

The cases in which Python and a traced program must differ are those of the table in `docs/dtypes.md`.
"""

import operator
from pathlib import Path

import numpy as np
import pytest

import calque
from calque_core import config, eval_jaxpr, lax, make_jaxpr, typeof

PAGE = Path(__file__).parents[2] / "docs" / "dtypes.md"

SCALARS = {"int": 3, "float": 1.5, "bool": True, "complex": 1.5 + 0.5j}
BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, divmod),
    *(operator.lshift, operator.rshift, operator.and_, operator.or_, operator.xor),
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
]
UNARY = {
    **{f.__name__: f for f in (operator.neg, operator.pos, abs)},
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "conjugate": lambda x: x.conjugate(),
    "x ** 2": lambda x: x**2,
    "x ** -1": lambda x: x**-1,
    "x ** 0.5": lambda x: x**0.5,
    "2.0 ** x": lambda x: 2.0**x,
    "numpy.sin": np.sin,
    "numpy.add": lambda x: np.add(x, 1),
    "a branch": lambda x: lax.cond(True, lambda: x, lambda: x * 2),
    "a loop": lambda x: lax.scan(lambda c, _: (c + x, None), 0, None, length=2)[0],
}

ARRAYS = {"float32": np.ones(2, np.float32), "int8": np.ones(2, np.int8)}

# The first cells of the table, each with the operands of which a traced program knows no type, or another one.
EXCEPTIONS = {
    "an integer to a traced integer power": lambda f, *xs: f is operator.pow and all(map(is_whole, xs)),
    "`numpy.sin(True)` and similar functions": lambda f, *xs: f is np.sin and xs == (True,),
}
# Those of which the type is the same, so that this law has nothing to compare.
VALUES = {
    "integers beyond 64 bits (32 with `enable_x64` off)",
    "an integer result of a branch, a loop or an operation, beside a narrower array",
    "a Python integer compared with uint64",
    "`1 / 0`, `1.0 // 0`, `0.0 ** -1`",
    "`2.0 ** 10000`",
    "`(-8.0) ** (1 / 3)`",
    "`round(x)`",
    "a loop without a step",
    "floats with `enable_x64` off",
}


def is_whole(x):
    return typeof(x).dtype.kind in "ib"


def is_excepted(f, *operands):
    return any(covers(f, *operands) for covers in EXCEPTIONS.values())


def check(f, *args):
    """Compare types, and what a float32 array becomes beside the results: eagerly, traced and compiled."""
    want = f(*args)
    traced = make_jaxpr(f)(*args).out_avals
    for one, aval in zip(want if isinstance(want, tuple) else [want], traced, strict=True):
        assert typeof(one) == aval
    p = np.ones(2, np.float32)

    def beside(p, *xs):
        out = f(*xs)
        return [lax.mul(p, y) for y in (out if isinstance(out, tuple) else [out])]

    assert [typeof(x) for x in beside(p, *args)] == make_jaxpr(beside)(p, *args).out_avals


def is_undefined(f, *args):
    try:
        f(*args)
    except TypeError:
        return True
    return False


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("second", SCALARS)
@pytest.mark.parametrize("first", SCALARS)
def test_operators_of_two_python_scalars_have_the_types_of_pythons(first, second, bits):
    x, y = SCALARS[first], SCALARS[second]
    with config.enable_x64(bits == 64):
        for f in BINARY:
            if not is_undefined(f, x, y):
                check(f, x, y)
                check(lambda y, f=f, x=x: f(x, y), y)
                check(lambda x, f=f, y=y: f(x, y), x)


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("f", UNARY.values(), ids=UNARY)
def test_operators_of_one_python_scalar_have_the_types_of_pythons(f, scalar, bits):
    if is_excepted(f, SCALARS[scalar]):
        return
    with config.enable_x64(bits == 64):
        check(f, SCALARS[scalar])


@pytest.mark.parametrize("f", [lambda p, s: p * (s + 1), lambda p, t: p / (1 - 0.9**t), lambda p, s: p * s**2])
def test_a_compiled_program_keeps_the_dtype_of_its_parameters(f):
    p = np.ones(3, np.float32)
    for s in (2.0, 3):
        assert f(p, s).dtype == calque.jit(f)(p, s).dtype == np.float32
        assert calque.vmap(f, in_axes=(0, None))(p, s).dtype == np.float32


@pytest.mark.parametrize(
    "f", [lambda s: s * s + 1, lambda s: s**2 / 3, lambda s: lax.cond(s > 0, lambda: s, lambda: 0.0)]
)
def test_derivatives_with_respect_to_a_python_scalar_have_a_dtype(f):
    for g in (f, calque.jit(f)):
        assert typeof(calque.grad(g)(2.0)) == typeof(np.float64(1))
        dot = calque.jvp(g, (2.0,), (1.0,))[1]  # of the number that `cond` hands through, the caller's own
        assert typeof(dot).strip_weak_type() == typeof(np.float64(1))
        assert typeof(calque.vjp(g, 2.0)[1](1.0)[0]) == typeof(np.float64(1))


def test_a_derivative_does_not_end_where_python_would_raise():
    with np.errstate(all="ignore"):
        value, _ = calque.value_and_grad(lambda x: 1.0 / (x - x))(2.0)
    assert value == np.inf


def test_the_exceptions_are_the_rows_of_the_page():
    [table] = [part for part in PAGE.read_text().split("\n\n") if part.startswith("| case ")]
    rows = [line.split("|")[1].strip() for line in table.splitlines()]
    assert sorted(rows) == sorted(["case", "---", *EXCEPTIONS, *VALUES])


# An array beside the scalars, under every transformation.

PREDICATES = np.array([True, False])


def same_as_staged(f, p, *xs):
    return make_jaxpr(f)(p, *xs).out_avals


def with_scalars_unmapped(f, p, *xs):
    return calque.vmap(f, in_axes=(0, *[None] * len(xs)))(p, *xs)


def in_a_branch_chosen_for_each(f, p, *xs):
    def one(pred, p, *xs):
        return lax.cond(pred, lambda: f(p, *xs), lambda: f(p, *xs))

    return calque.vmap(one, in_axes=(0, 0, *[None] * len(xs)))(PREDICATES, p, *xs)


def in_a_branch(f, p, *xs):
    return make_jaxpr(lambda pred, *args: lax.cond(pred, f, f, *args))(True, p, *xs).out_avals


def from_carries_of_a_scan(f, p, *xs):
    return lax.scan(lambda c, _: (c, f(p, *c)), xs, None, length=1)[1]


def from_carries_of_a_while_loop(f, p, *xs):
    def body(c):
        return False, c[1], f(p, *c[1])

    return lax.while_loop(lambda c: c[0], body, (True, xs, f(p, *xs)))[2]


def with_a_tangent_of_the_array(f, p, *xs):
    if p.dtype.kind != "f":
        return f(p, *xs)
    return calque.jvp(lambda p: f(p, *xs), (p,), (p,))[0]


def with_a_tangent_of_the_scalar(f, p, *xs):
    if type(xs[-1]) is not float:
        return f(p, *xs)
    return calque.jvp(lambda x: f(p, *xs[:-1], x), (xs[-1],), (1.0,))[0]


WAYS = [
    *(same_as_staged, with_scalars_unmapped, in_a_branch_chosen_for_each, in_a_branch),
    *(from_carries_of_a_scan, from_carries_of_a_while_loop, with_a_tangent_of_the_array, with_a_tangent_of_the_scalar),
]


def programs(f):
    """Yield programs of an array and scalars in which `f` is applied, and the operands that `f` has there."""
    for y in SCALARS.values():
        yield (lambda p, y: f(p, y)), (y,), lambda p, y: (p, y)
        yield (lambda p, y: f(y, p)), (y,), lambda p, y: (y, p)
        for x in SCALARS.values():
            yield (lambda p, x, y: p * f(x, y)), (x, y), lambda p, x, y: (x, y)


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("dtype", ARRAYS)
@pytest.mark.parametrize("f", [*BINARY, operator.pow], ids=lambda f: f.__name__)
def test_an_array_beside_scalars_has_the_dtype_of_python_under_every_transformation(f, dtype, bits):
    if f is divmod:
        return  # a tuple: `//` and `%` are here
    p = ARRAYS[dtype]
    with config.enable_x64(bits == 64):
        for program, scalars, operands in programs(f):
            if is_undefined(program, p, *scalars) or is_excepted(f, *operands(p, *scalars)):
                continue
            want = typeof(program(p, *scalars)).dtype
            for way in WAYS:
                assert typeof_result(way(program, p, *scalars)) == want, (way.__name__, scalars)


def typeof_result(x):
    return x[0].dtype if isinstance(x, list) else typeof(x).dtype


SMOOTH = [
    *(operator.add, operator.sub, operator.mul, operator.truediv),
    *(lambda x, y: x**2 * y, lambda x, y: (x * (y + 1)) / 2),
]


@pytest.mark.sampled(keep=0.1, rows=["f"])
@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("scalar", [1.5, 1.5 + 0.5j])
@pytest.mark.parametrize("f", SMOOTH)
def test_derivatives_with_respect_to_a_scalar_have_its_dtype(f, scalar, bits):
    holomorphic = type(scalar) is complex
    with config.enable_x64(bits == 64):
        want = typeof(scalar).dtype
        for y in SCALARS.values():
            if type(y) is complex and not holomorphic:
                continue
            for g in (f, calque.jit(f)):
                one = type(scalar)(1)
                out, tangent = calque.jvp(lambda x, g=g, y=y: g(x, y), (scalar,), (one,))
                assert typeof(tangent).dtype == typeof(out).dtype == want
                assert typeof(calque.grad(g, holomorphic=holomorphic)(scalar, y)).dtype == want
                assert typeof(calque.vjp(lambda x, g=g, y=y: g(x, y), scalar)[1](one)[0]).dtype == want
        for p in (np.ones(2, np.float32), np.ones(2, np.int8)):
            out, tangent = calque.jvp(lambda x, p=p: f(p, x), (scalar,), (type(scalar)(1),))
            assert typeof(out).dtype == typeof(tangent).dtype == typeof(f(p, scalar)).dtype


# Rules of a user's, which see the scalar itself

SETTINGS = {
    "default": {"enable_checks": False},
    "checks": {"enable_checks": True},
    "rules alone": {"known_operations": False},
    "32 bits": {"enable_x64": False},
}
BY_RULES = {
    "called": lambda f, x: f(x),
    "jvp": lambda f, x: calque.jvp(f, (x,), (x,)),
    "grad": lambda f, x: calque.grad(lambda x: f(x).sum())(x),
    "linearize": lambda f, x: calque.linearize(f, x)[1](x),
    "jvp of linearize": lambda f, x: calque.jvp(calque.linearize(f, x)[1], (x,), (x,)),
    "vmap of linearize": lambda f, x: calque.vmap(lambda x: calque.linearize(f, x)[1](x))(x),
    "checkpoint": lambda f, x: calque.grad(lambda x: calque.checkpoint(f)(x).sum())(x),
    "evaluated program": lambda f, x: eval_jaxpr(make_jaxpr(lambda x: calque.jvp(f, (x,), (x,)))(x), (), x),
}


def scaled_by_rules(kind):
    """Return x times a Python scalar, as a function with a rule of its own that computes with both."""
    if kind == "custom_jvp":
        f = calque.custom_jvp(lambda x, s=2.0: x * s)
        f.defjvp(lambda primals, tangents: (primals[0] * primals[1], tangents[0] * primals[1]))
        return f
    f = calque.custom_vjp(lambda x, s=2.0: x * s)
    f.defvjp(lambda x, s: (x * s, (x, s)), lambda kept, ct: (kept[1] * ct, (kept[0] * ct).sum()), jvp="fwd")
    return f


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("transform", BY_RULES)
@pytest.mark.parametrize("kind", ["custom_jvp", "custom_vjp"])
def test_rules_get_a_python_scalar_under_every_setting(kind, transform, setting):
    ((name, value),) = SETTINGS[setting].items()
    with getattr(config, name)(value):
        out = BY_RULES[transform](scaled_by_rules(kind), np.ones(3, np.float16))
    for x in out if isinstance(out, (tuple, list)) else [out]:
        assert x.dtype == np.float16
        assert x.tolist() == [2.0] * 3
