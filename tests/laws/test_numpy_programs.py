"""Programs of NumPy's users are differentiated, mapped and compiled unchanged.

A derivative is compared with a difference of the plain program along a random direction, a mapped program with a stack,
a compiled one with NumPy, dtypes and shapes exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agreement import assert_close, assert_same
from numpy_programs import PROGRAMS, Plain

from calque import grad, jit, vmap
from calque_pytree import tree_leaves, tree_map

EXAMPLES = range(3)
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.fun.__name__)


def weighted(program: Plain, arg: Any) -> Any:
    """Return a number that every element of the results of a program changes."""
    total = 0.0
    for k, leaf in enumerate(tree_leaves(program.fun(arg))):
        total = total + np.sum(np.cos(np.arange(np.size(leaf)) + k + 1.0).reshape(np.shape(leaf)) * leaf)
    return total


def moved(arg: Any, step: float) -> Any:
    """Return the argument moved along a random direction."""
    rng = np.random.default_rng(1)
    return tree_map(lambda x: x + step * rng.normal(size=np.shape(x)), arg)


def stacked(trees: list[Any]) -> Any:
    return tree_map(lambda *leaves: np.stack(leaves), *trees)


@each_program
def test_a_derivative_is_that_of_a_difference(program):
    step, zero = 1e-5, tree_map(np.zeros_like, program.arg)
    slope = (weighted(program, moved(program.arg, step)) - weighted(program, moved(program.arg, -step))) / (2 * step)
    derivative = grad(lambda arg: weighted(program, arg))
    for _ in range(4):  # by rules, and from the third time on by the code that the rules gave
        gradient = derivative(program.arg)
        along = sum(np.sum(x * v) for x, v in zip(tree_leaves(gradient), tree_leaves(moved(zero, 1.0)), strict=True))
        np.testing.assert_allclose(along, slope, rtol=1e-6, atol=1e-7)


@each_program
def test_a_mapped_program_is_a_stack(program):
    args = [moved(program.arg, 0.01 * i) for i in EXAMPLES]
    first, *_, again = [vmap(program.fun)(stacked(args)) for _ in range(4)]  # the last one runs by plans
    assert_close(first, stacked([program.fun(arg) for arg in args]), 1e-10)
    assert_same(again, first)


@pytest.mark.sampled(keep=0.3)
@each_program
def test_a_mapped_derivative_is_a_stack(program):
    args = [moved(program.arg, 0.01 * i) for i in EXAMPLES]
    derivative = grad(lambda arg: weighted(program, arg))
    assert_close(vmap(derivative)(stacked(args)), stacked([derivative(arg) for arg in args]), 1e-10)


@pytest.mark.sampled(keep=0.2)
@each_program
def test_a_compiled_program_is_numpys(program):
    assert_close(jit(program.fun)(program.arg), program.fun(program.arg), 1e-10)


@pytest.mark.sampled(keep=0.1)
@each_program
@pytest.mark.parametrize("of", [lambda f: grad(jit(f)), lambda f: jit(grad(f))], ids=["grad of jit", "jit of grad"])
def test_a_derivative_of_a_compiled_program_is_that_of_the_plain_one(program, of):
    loss = lambda arg: weighted(program, arg)
    assert_close(of(loss)(program.arg), grad(loss)(program.arg), 1e-10)
