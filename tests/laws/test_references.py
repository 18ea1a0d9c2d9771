"""Programs with mutable arrays: each equals the program that returns new arrays, under every transformation.

One idea: a random program is a list of statements, and two interpreters run it: one writes into a reference, with the
loops and branches of `lax`; the other one makes new arrays, with loops of Python and `where`.
"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import calque
from calque import (
    P,
    checkpoint,
    grad,
    hessian,
    jacfwd,
    jit,
    jvp,
    lax,
    linearize,
    make_jaxpr,
    new_ref,
    shard_map,
    vjp,
    vmap,
)
from calque.numpy import at
from calque_core import AbstractMesh, discharge, eval_jaxpr

SIZE = 3


def statements(rng, depth):
    """Return random statements: a name, and numbers or statements."""
    kinds = ["set", "add", "swap", "whole", "read"] + ["scan", "while", "cond", "jit", "checkpoint"] * (depth > 0)
    made = []
    for kind in rng.choice(kinds, size=1 + depth):
        i, j, c = int(rng.integers(SIZE)), int(rng.integers(SIZE)), float(rng.uniform(0.5, 1.5))
        inner = statements(rng, depth - 1) if depth and kind in kinds[5:] else None
        other = statements(rng, depth - 1) if kind == "cond" else None
        made.append((str(kind), i, j, c, inner, other))
    return made


def write(ref, x, program):
    """Run statements on a reference."""
    for kind, i, j, c, inner, other in program:
        step = lambda count: (write(ref, x, inner), count + 1)[1]  # noqa: B023  called at once
        if kind == "set":
            ref[i] = lax.sin(c * x * ref[j])
        elif kind == "add":
            ref.addupdate(c * x, np.array([i, j]))
        elif kind == "swap":
            calque.ref.set(ref, j, calque.ref.swap(ref, i, c))
        elif kind == "whole":
            ref[...] *= lax.cos(c * x)
        elif kind == "read":
            x = x + c * ref[i:].sum()
        elif kind == "scan":
            lax.scan(lambda _, k: (step(0) * 0, k), 0, np.arange(2))  # noqa: B023
        elif kind == "while":
            lax.while_loop(lambda count: count < 2, step, 0)
        elif kind == "cond":
            lax.cond(ref[i] > 0.3, lambda: write(ref, x, inner), lambda: write(ref, x, other))  # noqa: B023
        else:
            {"jit": jit, "checkpoint": checkpoint}[kind](lambda x: write(ref, x, inner))(x)  # noqa: B023


def renew(s, x, program):
    """Return the array after statements, without a reference."""
    for kind, i, j, c, inner, other in program:
        if kind == "set":
            s = at(s)[i].set(lax.sin(c * x * s[j]))
        elif kind == "add":
            s = at(at(s)[i].add(c * x))[j].add(c * x)
        elif kind == "swap":
            s = at(at(s)[i].set(c))[j].set(s[i])
        elif kind == "whole":
            s = s * lax.cos(c * x)
        elif kind == "read":
            x = x + c * s[i:].sum()
        elif kind == "cond":
            s = np.where(s[i] > 0.3, renew(s, x, inner), renew(s, x, other))
        else:
            for _ in range(2 if kind in ("scan", "while") else 1):
                s = renew(s, x, inner)
    return s


def programs_of(seed):
    """Return two functions of a scalar and an array, which make the array after a random program."""
    program = statements(np.random.default_rng(seed), 2)

    def with_reference(x, s):
        ref = new_ref(s)
        write(ref, x, program)
        return calque.freeze(ref)

    return with_reference, lambda x, s: renew(s, x, program)


START = np.array([0.5, -0.7, 1.1])
SEEDS = range(4)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_program_with_a_reference_equals_the_one_that_makes_new_arrays(seed):
    with_reference, pure = programs_of(seed)
    expected = pure(0.3, START)

    np.testing.assert_allclose(with_reference(0.3, START), expected, rtol=1e-12)
    np.testing.assert_allclose(jit(with_reference)(0.3, START), expected, rtol=1e-12)
    xs = np.array([0.3, -0.4])
    mapped = vmap(with_reference, in_axes=(0, None))(xs, START)
    np.testing.assert_allclose(mapped, np.stack([pure(x, START) for x in xs]), rtol=1e-12)
    np.testing.assert_allclose(START, [0.5, -0.7, 1.1])  # a reference has an array of its own


@pytest.mark.parametrize("seed", SEEDS)
def test_the_derivative_of_a_program_with_a_reference_is_that_of_differences(seed):
    with_reference, _ = programs_of(seed)
    f = lambda x: with_reference(x, START)
    h = 1e-6
    difference = (f(0.3 + h) - f(0.3 - h)) / (2 * h)

    np.testing.assert_allclose(jvp(f, (0.3,), (1.0,))[1], difference, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(linearize(f, 0.3)[1](1.0), difference, rtol=1e-6, atol=1e-8)
    weights = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(vjp(f, 0.3)[1](weights)[0], weights @ difference, rtol=1e-6, atol=1e-8)
    derivative = jit(grad(lambda x: np.sum(weights * f(x))))
    np.testing.assert_allclose(derivative(0.3), weights @ difference, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_discharged_program_returns_the_last_array_of_its_argument(seed):
    program = statements(np.random.default_rng(seed), 1)
    run = lambda ref, x: write(ref, x, program)
    staged = make_jaxpr(run)(new_ref(START), 0.3)

    pure = discharge(staged)

    expected = renew(START, 0.3, program)
    (last,) = eval_jaxpr(pure, pure.consts, START, 0.3)
    np.testing.assert_allclose(last, expected, rtol=1e-12)
    assert not pure.effects
    ref = new_ref(START)
    assert eval_jaxpr(staged, staged.consts, ref, 0.3) == []
    np.testing.assert_allclose(ref[...], expected, rtol=1e-12)


def twice(ref, x):
    """Double the elements of a reference, add `x` to the first, and return the first before."""
    before = ref[0]
    ref[...] *= 2.0
    ref[0] += x
    return before


MESH = AbstractMesh((3,), ("i",))
AFTER = [1.3, -1.4, 2.2]
CALLS = {  # of `twice`, which an argument, a captured reference or both give its reference
    "argument of jit": lambda ref: jit(twice)(ref, 0.3),
    "captured by jit": lambda ref: jit(lambda x: twice(ref, x))(0.3),
    "inline": lambda ref: jit(lambda: jit(twice, inline=True)(ref, 0.3))(),
    "argument of cond": lambda ref: lax.cond(ref[0] > 0, twice, lambda ref, x: x, ref, 0.3),
    "branch of switch": lambda ref: jit(lambda i: lax.switch(i, [lambda: 0.0, lambda: twice(ref, 0.3)]))(1),
    "while": lambda ref: lax.while_loop(lambda y: ref[0] == 0.5, lambda y: twice(ref, 0.3), 0.0),
    "scan in jit": lambda ref: jit(lambda: lax.scan(lambda c, x: (c, twice(ref, x)), None, np.array([0.3])))()[1][0],
    "for": lambda ref: lax.fori_loop(0, 1, lambda i, y: twice(ref, 0.3), 0.0),
    "map": lambda ref: lax.map(lambda x: twice(ref, x), np.array([0.3]))[0],
    "checkpoint": lambda ref: checkpoint(twice)(ref, 0.3),
    "checkpoint in jit": lambda ref: jit(checkpoint(twice))(ref, 0.3),
    "platform": lambda ref: lax.platform_dependent(0.3, default=lambda x: twice(ref, x)),
    "unmapped": lambda ref: vmap(twice, in_axes=(None, None), axis_size=1)(ref, 0.3)[0],
    "aux of grad": lambda ref: grad(lambda x: (x, twice(ref, 0.3)), has_aux=True)(1.0)[1],
    "shard_map": lambda ref: shard_map(lambda: twice(ref, 0.3), mesh=MESH, in_specs=(), out_specs=P())(),
    "disable_jit": lambda ref: without_jit(lambda: jit(lambda: lax.cond(True, lambda: twice(ref, 0.3), lambda: 0.0))()),
}  # fmt: skip


def without_jit(f):
    with calque.disable_jit():
        return f()


@pytest.mark.parametrize("call", CALLS)
def test_a_reference_from_outside_is_read_and_written_once(call):
    ref = new_ref(START)

    assert CALLS[call](ref) == 0.5

    np.testing.assert_allclose(ref[...], AFTER, rtol=1e-15)


def counting(x):
    """Add one to a reference from outside, and return a number that depends on it."""
    COUNT[...] += 1.0
    return np.sum(x * x * COUNT[...])


COUNT = new_ref(0.0)
ONCE = {
    "grad": grad(counting), "vmap": vmap(counting), "linearize": lambda x: linearize(counting, x)[0],
    "jit of grad": jit(grad(counting)), "grad of jit": grad(jit(counting)),
    "grad of checkpoint": grad(checkpoint(counting)),
    "hessian": hessian(counting),
    "grad of scan": grad(lambda x: lax.scan(lambda c, _: (c + counting(x), None), 0.0, None, length=1)[0]),
}  # fmt: skip


@pytest.mark.parametrize("transformed", ONCE.values(), ids=ONCE)
def test_a_transformed_function_writes_once_at_each_call(transformed):
    COUNT[...] = 0.0
    for _ in range(3):
        transformed(np.ones(2))
    assert COUNT[...] == 3.0


def test_a_jitted_function_is_traced_once_for_all_references_of_a_type():
    f = jit(twice)
    for _ in range(2):
        f(new_ref(START), 0.3)
    assert f.cache_info().traces == 1

    ref = new_ref(START)
    g = jit(lambda x: twice(ref, x))
    assert (g(0.3), g(0.3), g.cache_info().traces) == (0.5, 1.3, 1)


def test_a_jitted_function_that_captures_a_reference_of_a_trace_is_traced_again_in_the_next():
    def f(x):
        ref = new_ref(x)
        square = jit(lambda: ref[...] * ref[...])
        return square() + square()

    assert [jit(f)(2.0), jit(f)(np.float32(3.0)), grad(f)(2.0), vmap(f)(np.array([1.0, 2.0]))[1]] == [
        8.0,
        18.0,
        8.0,
        8.0,
    ]


def test_vmap_and_shard_map_divide_the_array_of_a_reference():
    def add(ref, x):
        ref[...] += x
        return ref[...]

    xs = np.arange(3.0)
    ref, other = new_ref(np.ones((2, 3))), new_ref(np.ones(3))
    out = vmap(add, in_axes=(1, 0))(ref, xs)
    np.testing.assert_allclose(out, [[1, 1], [2, 2], [3, 3]])
    np.testing.assert_allclose(ref[...], [[1, 2, 3], [1, 2, 3]])
    np.testing.assert_allclose(jit(vmap(add))(other, xs), [1, 2, 3])
    third = new_ref(np.ones(3))
    np.testing.assert_allclose(
        shard_map(add, mesh=MESH, in_specs=(P("i"), P("i")), out_specs=P("i"))(third, xs), [1, 2, 3]
    )
    np.testing.assert_allclose(third[...], [1, 2, 3])


def test_scan_gives_each_step_a_reference_to_its_slice():
    ref = new_ref(np.arange(6.0).reshape(3, 2))

    def step(total, rows):
        row, x = rows
        row[0] += total
        return total + x, row[1]

    assert jit(lambda ref: lax.scan(step, 0.0, (ref, np.ones(3))))(ref)[1].tolist() == [1.0, 3.0, 5.0]
    np.testing.assert_allclose(ref[...], [[0, 1], [3, 3], [6, 5]])
    np.testing.assert_allclose(lax.scan(step, 0.0, (ref, np.ones(3)), reverse=True)[0], 3.0)
    np.testing.assert_allclose(ref[:, 0], [2, 4, 6])


def test_a_reference_made_inside_shard_map_may_vary_among_positions():
    def powers(x):
        ref = new_ref(1.0)
        lax.fori_loop(0, 3, lambda i, c: (ref.__setitem__(..., ref[...] * x[0]), c)[1], 0)
        return ref[...] * np.ones_like(x)

    mapped = shard_map(powers, mesh=MESH, in_specs=(P("i"),), out_specs=P("i"))
    np.testing.assert_allclose(mapped(np.arange(3.0)), [0, 1, 8])


def test_higher_derivatives_flow_through_references():
    def cube(x):
        ref = new_ref(np.zeros(2))
        ref[0] = x * x
        ref[1] = ref[0] * x
        return ref[1]

    assert hessian(cube)(2.0) == 12.0
    assert jacfwd(jit(grad(cube)))(2.0) == 12.0
    assert calque.jet(cube, (2.0,), ((1.0, 0.0),)) == (8.0, [12.0, 12.0])


def test_a_custom_rule_may_read_a_reference_where_nothing_is_staged():
    ref = new_ref(3.0)
    scaled = calque.custom_jvp(lambda x: x * ref[...])
    scaled.defjvp(lambda primals, tangents: (scaled(*primals), tangents[0] * 7.0))

    assert (scaled(2.0), grad(scaled)(2.0)) == (6.0, 7.0)
    words = r"'custom_jvp_call' at .* takes a reference of type Ref\{.*, which it neither reads nor writes. Read the"
    with pytest.raises(TypeError, match=words):
        jit(scaled)(2.0)


def test_a_backward_rule_writes_the_cotangent_into_a_reference():
    @calque.custom_vjp
    def stash(ref, x):
        return x

    def backward(ref, ct):
        ref.addupdate(ct)
        return None, ct

    stash.defvjp(lambda ref, x: (x, ref), backward)
    ref = new_ref(0.0)
    loss = lambda x: stash(ref, x) * 5.0

    assert (stash(ref, 1.0), grad(loss)(2.0), ref[...]) == (1.0, 5.0, 5.0)
    assert (jit(grad(loss))(2.0), ref[...]) == (5.0, 10.0)
    assert (jit(lambda ref, x: grad(lambda x: stash(ref, x) * 5.0)(x))(ref, 2.0), ref[...]) == (5.0, 15.0)
    with pytest.raises(TypeError, match=r"a compiled program takes no reference, Ref.* Pass its array instead"):
        grad(jit(loss))(2.0)


def test_copies_of_a_reference_are_references_of_their_own():
    ref = new_ref(START)
    others = copy.copy(ref), copy.deepcopy(ref), pickle.loads(pickle.dumps(ref))
    ref[0] = 9.0
    assert [other[0] for other in others] == [0.5] * 3


def leaked(transformation):
    """Return a reference that was made inside a transformed function."""
    kept = []
    transformation(lambda x: (kept.append(new_ref(x)), x)[1])
    return kept[0]


STARTED = new_ref(START)
REFUSED = {
    "two arguments": (
        lambda: jit(lambda a, b: a[0] + b[0])(STARTED, STARTED),
        ValueError,
        r"jit of .* got one reference of type Ref\{float64\[3\]\} twice at .*Pass it once",
    ),
    "captured and argument": (
        lambda: jit(lambda a: a[0] + STARTED[0])(STARTED),
        ValueError,
        "as an argument and by closing over it. Pass it once, and use it by this name alone",
    ),
    "scanned twice": (
        lambda: lax.scan(lambda c, x: (c, None), None, (STARTED, STARTED)),
        ValueError,
        "scan of .* got one reference .* twice",
    ),
    "mapped twice": (lambda: vmap(lambda a, b: a[...])(STARTED, STARTED), ValueError, "one reference .* twice"),
    "traced twice": (lambda: make_jaxpr(lambda a, b: a[0])(STARTED, STARTED), ValueError, "one reference .* twice"),
    "returned": (lambda: jit(lambda a: a)(STARTED), TypeError, r" .* of type Ref. .*use its array: ref\[...\]"),
    "chosen by value": (
        lambda: lax.cond(True, lambda: STARTED, lambda: new_ref(START)),
        TypeError,
        r"returned .*Ref.* Close over the reference, or use its array: ref\[...\]",
    ),
    "returned by vmap": (lambda: vmap(new_ref)(START), TypeError, "returned .*Ref"),
    "returned by grad": (lambda: grad(new_ref)(1.0), TypeError, "returned .*Ref"),
    "carry": (
        lambda: lax.scan(lambda c, _: (c, None), STARTED, length=2),
        TypeError,
        r"init is Ref\(.*Close over the reference, or use its array",
    ),
    "while carry": (lambda: lax.while_loop(bool, lambda c: c, STARTED), TypeError, r"init_val is Ref\(.*Close over"),
    "differentiated": (lambda: grad(lambda a: a[0])(STARTED), TypeError, r"is Ref\(.*Close over the reference"),
    "batched write": (
        lambda: vmap(lambda x: STARTED.__setitem__(0, x))(START),
        ValueError,
        "vmap of .* writes a value that depends on its arguments into a reference from outside, .*Make the reference",
    ),
    "differentiated write": (
        lambda: grad(lambda x: (STARTED.__setitem__(0, x), x)[1])(1.0),
        ValueError,
        "grad of .* writes a value that depends on its arguments into a reference from outside",
    ),
    "varying write": (
        lambda: shard_map(
            lambda x: STARTED.__setitem__(0, x[0]), mesh=MESH, in_specs=P("i"), out_specs=P()
        )(START),
        ValueError,
        r"a reference, float64\[3\]\{V:i\}, varies over 'i'",
    ),
    "condition writes": (
        lambda: lax.while_loop(lambda c: twice(STARTED, c) < 9.0, lambda c: c + 1.0, 0.0),
        TypeError,
        "the condition .* writes into a reference. Write in the step",
    ),
    "leaked by jit": (
        lambda: leaked(lambda f: jit(f)(1.0))[...],
        ValueError,
        r"was made inside jit of .* and used outside of it at .*Return its value instead: freeze\(ref\)",
    ),
    "leaked by grad": (lambda: leaked(lambda f: grad(f)(1.0))[...], ValueError, "made inside grad of .* used outside"),
    "frozen from outside": (
        lambda: jit(lambda: calque.freeze(STARTED))(),
        ValueError,
        r"freeze got a reference from outside of jit of .*call freeze where the reference was made",
    ),
    "lowered": (lambda: jit(lambda a: a[0]).lower(STARTED), TypeError, "trace and lower take no references. Pass"),
    "in 32 bits": (
        lambda: in_32_bits(lambda: STARTED[0]),
        TypeError,
        "a reference to an array of float64 was used at .* while enable_x64 is off",
    ),
}  # fmt: skip


def in_32_bits(f):
    with calque.enable_x64(False):
        return f()


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    call, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        call()
    np.testing.assert_array_equal(STARTED[...], START)
