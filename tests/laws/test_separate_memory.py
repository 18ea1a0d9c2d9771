"""Whatever is written to a result of a transformation changes no other array: results, arguments, captured, kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pytest

import calque as C  # noqa: N812
from calque_autodiff import linear_transpose
from calque_core import eval_jaxpr, interpret, jaxpr_as_fun, lax, make_jaxpr
from calque_core.memory.separate import copy_shared
from calque_jet import jet
from calque_pytree import tree_leaves


class Arrays(NamedTuple):
    """The user's arrays of one run: two arguments, a tangent or cotangent of each, and a captured one."""

    x: np.ndarray
    y: np.ndarray
    x_dot: np.ndarray
    y_dot: np.ndarray
    captured: np.ndarray


Program = Callable[..., Any]
Calls = Sequence[Callable[[], Any]]  # each can be repeated, and gives results to write to


def fresh(size: int) -> Arrays:
    rng = np.random.default_rng(0)
    return Arrays(*(rng.standard_normal((size, size)) for _ in Arrays._fields))


PROGRAMS: dict[str, Callable[[np.ndarray], Program]] = {
    "the arguments": lambda c: lambda x, y: (x, y),
    "one argument twice": lambda c: lambda x, y: (x, x),
    "views of an argument": lambda c: lambda x, y: (lax.transpose(x, (1, 0)), x[::-1], np.reshape(x, (-1,)), y[0]),
    "a captured array": lambda c: lambda x, y: (x, c),
    "views of a captured array": lambda c: lambda x, y: (x, c.T, c[::-1], c[1:]),
    "what the derivative keeps": lambda c: lambda x, y: (z := lax.exp(x), lax.transpose(z, (1, 0)), z * y),
    "a computed array twice": lambda c: lambda x, y: (z := x + c, z, lax.transpose(z, (1, 0))),
    "a sum": lambda c: lambda x, y: lax.add(x, y),
    "a derivative beside values": lambda c: lambda x, y: (x * x, x, c * x, x[0]),
    "a chosen array": lambda c: lambda x, y: lax.cond(True, lambda: (x, c), lambda: (y, c)),
    "a custom rule": lambda c: lambda x, y: kept_whole(x, c),
    "a custom derivative": lambda c: lambda x, y: passed_on(x, y),
}


@C.custom_vjp
def kept_whole(x, c):
    return x


kept_whole.defvjp(lambda x, c: (x, (x, c)), lambda kept, ct: kept)


@C.custom_jvp
def passed_on(x, y):
    return x


passed_on.defjvp(lambda primals, tangents: (primals[0], tangents[1]))


def scalar(program: Program) -> Program:
    return lambda *args: sum(lax.reduce_sum(leaf) for leaf in tree_leaves(program(*args)))


def with_aux(program: Program) -> Program:
    return lambda *args: (scalar(program)(*args), program(*args))


def ones_like(tree: Any) -> Any:
    return C.tree.map(np.ones_like, tree)


def of_vjp(f: Program, a: Arrays) -> Calls:
    out, f_vjp = C.vjp(f, a.x, a.y)
    ct = ones_like(out)
    return [lambda: out, lambda: f_vjp(ct)]


def of_linearize(f: Program, a: Arrays) -> Calls:
    out, f_lin = C.linearize(f, a.x, a.y)
    return [lambda: out, lambda: f_lin(a.x_dot, a.y_dot)]


def of_vjp_with_aux(f: Program, a: Arrays) -> Calls:
    out, f_vjp, aux = C.vjp(with_aux(f), a.x, a.y, has_aux=True)
    return [lambda: (out, aux), lambda: f_vjp(1.0)]


def of_program(f: Program, a: Arrays) -> Calls:
    jaxpr = make_jaxpr(f)(a.x, a.y)
    return [
        lambda: eval_jaxpr(jaxpr, jaxpr.consts, a.x, a.y),
        lambda: eval_jaxpr(jaxpr, [a.captured for _ in jaxpr.consts], a.x, a.y),
        lambda: jaxpr_as_fun(jaxpr)(a.x, a.y),
        lambda: interpret(jaxpr, {}, a.x, a.y),
    ]


def of_transpose(f: Program, a: Arrays) -> Calls:
    pull = linear_transpose(lambda x, y: (x + y, lax.transpose(x, (1, 0))), a.x, a.y)
    return [lambda: pull((a.x_dot, a.y_dot))]


def of_loops(f: Program, a: Arrays) -> Calls:
    def step(carry: Any, _: Any) -> Any:
        x, y = carry
        return (y, x), f(x, y)

    swap = lambda state: (state[1], state[0])
    return [
        lambda: C.lax.scan(step, (a.x, a.y), None, length=2),
        lambda: C.lax.scan(lambda carry, x: (carry, (x, a.captured)), a.y, a.x),
        lambda: C.lax.fori_loop(0, 2, lambda i, state: swap(state), (a.x, a.x)),
        lambda: C.lax.while_loop(lambda state: False, swap, (a.x, a.y)),
        lambda: C.lax.map(lambda row: (row, a.captured), a.x),
        lambda: C.lax.associative_scan(lax.add, [a.x[:1], a.y[:1]]),
    ]


def of_branches(f: Program, a: Arrays) -> Calls:
    g = lambda x, y: f(x, y)
    return [
        lambda: C.lax.cond(True, f, g, a.x, a.y),
        lambda: C.lax.switch(1, [f, g], a.x, a.y),
        lambda: C.lax.switch(0, [lambda x, y: (x, x.T)], a.x, a.y),
    ]


def of_rules(f: Program, a: Arrays) -> Calls:
    keep = lambda matvec, b: b
    return [
        lambda: kept_whole(a.x, a.captured),
        lambda: passed_on(a.x, a.y),
        lambda: C.custom_gradient(lambda x: (x, lambda ct: ct))(a.x),
        lambda: C.lax.custom_linear_solve(lambda x: x, a.x, keep),
        lambda: C.custom_root(lambda x: x - a.x, a.x, lambda f, x: x, keep),
        lambda: C.linear_call(lambda res, x: x, lambda res, ct: ct, a.y, a.x),
    ]


TRANSFORMATIONS: dict[str, Callable[[Program, Arrays], Calls]] = {
    "jvp": lambda f, a: [lambda: C.jvp(f, (a.x, a.y), (a.x_dot, a.y_dot))],
    "jvp with aux": lambda f, a: [lambda: C.jvp(with_aux(f), (a.x, a.y), (a.x_dot, a.y_dot), has_aux=True)],
    "vjp": of_vjp,
    "vjp with aux": of_vjp_with_aux,
    "linearize": of_linearize,
    "grad": lambda f, a: [lambda: C.grad(scalar(f), argnums=(0, 1))(a.x, a.y)],
    "value_and_grad": lambda f, a: [lambda: C.value_and_grad(with_aux(f), (0, 1), has_aux=True)(a.x, a.y)],
    "grad of one argument": lambda f, a: [lambda: C.grad(with_aux(f), has_aux=True)(a.x, a.y)],
    "vmap": lambda f, a: [lambda: C.vmap(f)(a.x[None], a.y[None]), lambda: C.vmap(f, (None, 0))(a.x, a.y[None])],
    "vmap without axes": lambda f, a: [lambda: C.vmap(f, (None, None), None, axis_size=1)(a.x, a.y)],
    "checkpoint": lambda f, a: [lambda: C.checkpoint(lambda x, y: f(x, y))(a.x, a.y)],
    "jacobians": lambda f, a: [
        lambda: C.jacfwd(with_aux(f), has_aux=True)(a.x, a.y),
        lambda: C.jacrev(with_aux(f), (0, 1), has_aux=True)(a.x, a.y),
        lambda: C.hvp(scalar(f), (a.x, a.y), (a.x_dot, a.y_dot)),
    ],
    "programs": of_program,
    "branches": of_branches,
    "loops": of_loops,
    "rules": of_rules,
    "linear_transpose": of_transpose,
    "jet": lambda f, a: [lambda: jet(f, (a.x, a.y), ([a.x_dot, a.x], [a.y_dot, a.y]))],
}
WITHOUT_RULE = {("a custom rule", name) for name in ("jvp", "jvp with aux", "linearize", "jacobians", "jet")} | {
    ("a custom derivative", "jet")
}
RUN_BY_PYTHON = {  # a captured array goes out as from any function
    ("a captured array", "checkpoint"), ("views of a captured array", "checkpoint"),
}  # fmt: skip
ON_THEIR_OWN = {"loops", "rules", "linear_transpose"}  # what they run is not the program
CASES = [
    (program, transformation, size)
    for program in PROGRAMS
    for transformation in TRANSFORMATIONS
    for size in ((2, 100) if "captured" in program else (2,))  # a small captured array is copied, a large one held
    if (program, transformation) not in WITHOUT_RULE | RUN_BY_PYTHON
    and (program == "the arguments" or transformation not in ON_THEIR_OWN)
]


@pytest.mark.sampled(keep=0.2, rows=["transformation"])
@pytest.mark.parametrize(("program", "transformation", "size"), CASES)
def test_writing_to_a_result_changes_nothing_else(program, transformation, size):
    arrays = fresh(size)
    before = [x.copy() for x in arrays]
    f = PROGRAMS[program](arrays.captured)
    calls = TRANSFORMATIONS[transformation](f, arrays)
    wants = [copied(call()) for call in calls]
    for i in range(len(calls)):
        calls = TRANSFORMATIONS[transformation](f, arrays)
        results = [tree_leaves(call()) for call in calls]
        overwrite(results, i)
        assert_equal(arrays, before)
        assert_equal([x for k, xs in enumerate(results) if k != i for x in xs], [*chain(*wants[:i], *wants[i + 1 :])])
        for call, want, old in zip(calls, wants, results, strict=True):
            again = tree_leaves(call())
            for x, y, z in zip(again, want, old, strict=True):
                if x is not z:  # operations met before run as one step, which may add in another order
                    np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-14)


def overwrite(results: list[list[Any]], i: int) -> None:
    """Write to each result of call `i`, one after the other, and look at the ones that follow."""
    for j, result in enumerate(results[i]):
        if isinstance(result, np.ndarray) and result.flags.writeable:
            rest = copied(results[i][j + 1 :])
            result[...] = 1234.5
            assert_equal(results[i][j + 1 :], rest)


def copied(tree: Any) -> list[np.ndarray]:
    return [np.array(x, copy=True) for x in tree_leaves(tree)]


def assert_equal(arrays: Sequence[Any] = (), wants: Sequence[Any] = ()) -> None:
    for x, want in zip(arrays, wants, strict=True):
        np.testing.assert_array_equal(np.asarray(x), want)


def test_in_place_steps_train_to_the_weights_of_copies():
    loss = lambda w: np.sum(w["a"] + w["b"])
    w = {"a": np.zeros(2), "b": np.zeros(2)}
    g = C.grad(loss)(w)
    g["a"] *= 0.5
    np.testing.assert_array_equal(g["b"], np.ones(2))


def test_nothing_is_copied_that_is_nobody_elses():
    sizes = []

    class Counted(np.ndarray):
        def copy(self, order="C"):
            sizes.append(self.size)
            return np.asarray(self).copy(order)

    outs = [np.ones(3).view(Counted), np.ones(2)]
    assert all(a is b for a, b in zip(copy_shared(outs, [np.ones(2)]), outs, strict=True))
    assert copy_shared([outs[0], outs[0]])[1].tolist() == [1.0, 1.0, 1.0]
    assert sizes == [3]


def test_a_result_that_nobody_can_write_is_not_copied():
    x = np.ones(3)
    x.flags.writeable = False
    assert np.shares_memory(C.vjp(lambda y: y, x)[0], x)


def test_a_result_that_the_derivative_keeps_is_copied_once():
    x = np.ones(1000)
    out, f_vjp = C.vjp(lax.exp, x)
    (kept,) = tree_leaves(f_vjp)
    assert out.base is None
    assert not np.shares_memory(out, kept)
