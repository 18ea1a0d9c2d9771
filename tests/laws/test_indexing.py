"""5,000 random indices beside NumPy's: reading and updating, evaluated, traced, compiled, mapped, differentiated.

One idea: a group is one shape and 25 indices, each with its integers and arrays as arguments, so that one compilation
serves all.  What NumPy does at the index, by `x[i]`, `x[i] = v` and `np.add.at`, is what is wanted; so are derivatives.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from calque_autodiff import grad, vjp
from calque_batching import vmap
from calque_core import config, eval_jaxpr, lax, make_jaxpr
from calque_numpy import at
from calque_xla_backend import device_put, jit

PER_GROUP = 25
KINDS = {"int": 0.2, "slice": 0.25, "new": 0.1, "ellipsis": 0.07, "mask": 0.08, "array": 0.3}
GROUPS = pytest.mark.parametrize("group", range(200))
pytestmark = pytest.mark.sampled(keep=0.02)


class Case(NamedTuple):
    """An index, of which the items at `places` are arguments, and an update."""

    index: tuple[Any, ...]
    places: list[int]
    value: Any

    @property
    def arguments(self):
        return [np.asarray(self.index[i]) for i in self.places]

    def with_arguments(self, arguments):
        items = list(self.index)
        for place, item in zip(self.places, arguments, strict=True):
            items[place] = item
        return tuple(items)

    def read(self, x, *arguments):
        return at(x)[self.with_arguments(arguments)].get()

    def replaced(self, x, value, *arguments):
        return at(x)[self.with_arguments(arguments)].set(value)

    def added(self, x, value, *arguments):
        return at(x)[self.with_arguments(arguments)].add(value)


def group_of(group):
    """Return an array and the cases of a group."""
    rng = np.random.default_rng(group)
    shape = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 5, rng.integers(0, 5)))
    cases = []
    x = rng.normal(size=shape)
    while len(cases) < PER_GROUP:
        index = random_index(rng, shape)
        try:
            elements = x[index]
        except IndexError:  # as NumPy's: too few elements for a mask, arrays that do not broadcast
            with pytest.raises(IndexError):
                at(x)[index].get()
            continue
        places = [i for i, item in enumerate(index) if isinstance(item, (int, np.ndarray)) and not is_mask(item)]
        cases.append(Case(index, places, rng.normal(size=elements.shape)))
    return x, cases


def is_mask(item):
    return np.asarray(item).dtype == bool


def random_index(rng, shape):
    """Return integers, slices, new axes, an ellipsis, masks and arrays, in bounds, for some of the axes."""
    common = tuple(int(n) for n in rng.integers(1, 4, rng.integers(0, 3))) if rng.random() < 0.95 else (0,)
    items, axis, end = [], 0, int(rng.integers(0, len(shape) + 1))
    while axis < end:
        kind, size = rng.choice(list(KINDS), p=list(KINDS.values())), shape[axis]
        if kind == "new" or (kind == "ellipsis" and not any(item is ... for item in items)):
            items.append(None if kind == "new" else ...)
        elif kind == "slice":
            bounds = [None if rng.random() < 0.4 else int(rng.integers(-6, 7)) for _ in range(2)]
            items.append(slice(*bounds, [None, 1, -1, 2, -2, 3][rng.integers(6)]))
            axis += 1
        elif kind == "mask":
            count = int(rng.integers(0, min(3, len(shape) - axis + 1)))
            items.append(np.asarray(rng.random(shape[axis : axis + count]) < 0.5))
            axis += count
        elif kind == "int" and size:
            items.append(int(rng.integers(-size, size)))
            axis += 1
        elif kind == "array" and size:
            sizes = common[int(rng.integers(0, len(common) + 1)) :]
            items.append(rng.integers(-size, size, [1 if rng.random() < 0.15 else n for n in sizes]))
            axis += 1
        elif not size:
            items.append(slice(None))
            axis += 1
    return tuple(items)


def assigned(x, index, value):
    out = x.copy()
    out[index] = value
    return out


def summed(x, index, value):
    out = x.copy()
    np.add.at(out, index, value)
    return out


def check(got, want, rtol=0.0):
    assert np.shape(got) == np.shape(want)
    np.testing.assert_allclose(np.asarray(got), want, rtol=rtol, atol=rtol)


@GROUPS
def test_every_index_does_what_numpy_s_does(group):
    x, cases = group_of(group)
    for case in cases:
        index, value, arguments = case.index, case.value, case.arguments
        wanted = x[index], assigned(x, index, value), summed(x, index, value)
        programs = case.read, case.replaced, case.added
        for program, operands, want in zip(programs, [(x,), (x, value), (x, value)], wanted, strict=True):
            check(program(*operands, *arguments), want, 1e-12)
            jaxpr = make_jaxpr(program)(*operands, *arguments)
            check(eval_jaxpr(jaxpr, jaxpr.consts, *operands, *arguments)[0], want, 1e-12)
        with config.enable_x64(False):
            assert at(x)[index].get().dtype == np.float32
            check(case.replaced(x, value, *arguments), assigned(x.astype(np.float32), index, value))


@GROUPS
def test_compiled_it_does_the_same(group):
    x, cases = group_of(group)

    def program(x, values, arguments):
        return [
            (case.read(x, *args), case.replaced(x, value, *args), case.added(x, value, *args))
            for case, value, args in zip(cases, values, arguments, strict=True)
        ]

    outs = jit(program)(x, [case.value for case in cases], [case.arguments for case in cases])
    for case, (read, replaced, added) in zip(cases, outs, strict=True):
        check(read, x[case.index])
        check(replaced, assigned(x, case.index, case.value))
        check(added, summed(x, case.index, case.value), 1e-12)


@GROUPS
def test_mapped_it_does_the_same_for_each_element(group):
    x, cases = group_of(group)
    for case in cases:
        if not case.places:
            continue
        others = case.with_arguments([-1 - i for i in case.arguments])  # in bounds as well
        arguments = [np.stack([i, -1 - i]) for i in case.arguments]
        check(
            vmap(case.read, in_axes=(None, *[0] * len(arguments)))(x, *arguments), np.stack([x[case.index], x[others]])
        )
        xs, values = np.stack([x, 2 * x], -1), np.stack([case.value, 3 * case.value])
        in_axes = (-1, 0, *[0] * len(arguments))
        want = [assigned(x, case.index, case.value), assigned(2 * x, others, 3 * case.value)]
        check(vmap(case.replaced, in_axes=in_axes)(xs, values, *arguments), np.stack(want))
        want = [summed(x, case.index, case.value), summed(x, case.index, 3 * case.value)]
        got = vmap(partial(case.added, x), in_axes=(0, *[None] * len(arguments)))(values, *case.arguments)
        check(got, np.stack(want), 1e-12)


@GROUPS
def test_its_derivatives_are_reads_and_sums(group):
    x, cases = group_of(group)
    for case in cases:
        index, value, arguments = case.index, case.value, case.arguments
        out, pull = vjp(lambda x: case.read(x, *arguments), x)  # noqa: B023
        check(pull(np.cos(out))[0], summed(np.zeros_like(x), index, np.cos(out)), 1e-12)
        bars = grad(lambda x, v: np.sum(np.sin(case.added(x, v, *arguments))), argnums=(0, 1))(x, value)  # noqa: B023
        slope = np.cos(summed(x, index, value))
        check(bars[0], slope, 1e-12)
        check(bars[1], slope[index], 1e-12)
        numbers = np.arange(1, value.size + 1).reshape(value.shape)
        last = assigned(np.zeros(x.shape, int), index, numbers)
        bars = grad(lambda x, v: np.sum(np.sin(case.replaced(x, v, *arguments))), argnums=(0, 1))(x, value)  # noqa: B023
        slope = np.cos(assigned(x, index, value))
        check(bars[0], np.where(last == 0, slope, 0.0), 1e-12)
        check(bars[1], np.where(last[index] == numbers, slope[index], 0.0), 1e-12)


def test_a_guarded_branch_that_reads_out_of_bounds_is_not_an_error_under_vmap():
    def next_or_zero(x, i):
        return lax.cond(i < 3, lambda i: at(x)[i + 1].get(), lambda i: 0.0 * x[0], i)

    x = np.arange(4.0)
    np.testing.assert_array_equal(vmap(next_or_zero, in_axes=(None, 0))(x, np.arange(4)), [1.0, 2.0, 3.0, 0.0])
    got = vmap(grad(next_or_zero), in_axes=(None, 0))(x, np.arange(4))
    np.testing.assert_array_equal(got, [*np.eye(4)[1:], np.zeros(4)])


def test_a_mapped_index_is_one_gather_without_counters():
    names = [eqn.primitive.name for eqn in make_jaxpr(vmap(lambda x, i: x[i]))(np.ones((3, 4)), np.zeros(3, int)).eqns]
    assert names.count("gather") == 1
    assert "iota" not in names
    written = make_jaxpr(vmap(lambda x, i: x.at[i].set(1.0)))(np.ones((3, 4)), np.zeros(3, int))
    assert not {"iota", "while", "scan"} & {eqn.primitive.name for eqn in written.eqns}


def test_device_arrays_are_updated_on_their_device():
    x = device_put(np.arange(4.0))
    for index in (1, np.array([0, 3]), device_put(np.array([0, 3])), np.array([True, False, False, True])):
        out = x.at[index].add(1.0)
        assert type(out) is type(x)
        check(out, summed(np.arange(4.0), np.asarray(index), 1.0))
