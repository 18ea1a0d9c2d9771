"""What a test program is: a function, how to make arguments for it, and how closely its evaluators agree.

One idea: a program is checked as a flat function, from the array leaves of its arguments to those of its result, so
that each law is a few lines.  Examples of one program differ in values only, so they can be stacked into a batch.

Read next: `operations.py` and `composites.py`, the table; `test_laws.py`, the laws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from calque_pytree import tree_flatten, tree_leaves

FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
NUMBERS = (*FLOATS, "int32", "uint8")
INTEGERS = ("int32", "int64", "uint8")


class Program(NamedTuple):
    """A row of the table.

    `makers` gives one function of `(rng, dtype)` per argument.  `ulps` is how far compiled and batched results may be
    from evaluated ones, in units of eps * |value|, or of eps * the largest |value| of the array if `by_array`: a sum in
    another order is accurate to that and no better.  `complex_ulps` is the same for complex arguments.  A program that
    `reorders` differentiates inside, and adds in another order once plans take the place of rules.
    """

    name: str
    fun: Callable[..., Any]
    makers: Sequence[Callable[..., Any]]
    dtypes: Sequence[str] = FLOATS
    ulps: float = 4
    by_array: bool = False
    complex_ulps: float = 16
    reorders: bool = False

    @property
    def widest(self) -> str:
        """The dtype in which derivatives are compared with differences, if there is such a one; or else any."""
        return next((dtype for dtype in ("float64", "complex128") if dtype in self.dtypes), self.dtypes[0])

    def ulps_in(self, dtype: str) -> float:
        """Return how far results may be apart for arguments of this dtype."""
        return self.complex_ulps if np.dtype(dtype).kind == "c" else self.ulps

    def example(self, dtype: str, seed: int = 0) -> Example:
        """Return arguments; other seeds give other values of the same types."""
        rng = np.random.default_rng(seed)
        leaves, tree = tree_flatten(tuple(make(rng, np.dtype(dtype)) for make in self.makers))
        return Example(self, leaves, tree)


class Example(NamedTuple):
    """A program with arguments, flattened."""

    program: Program
    leaves: list[Any]
    tree: Any

    def __call__(self, *leaves: Any) -> list[Any]:
        """Return the leaves of the result on the leaves of the arguments."""
        return tree_leaves(self.program.fun(*self.tree.unflatten(leaves)))

    @property
    def args(self) -> tuple[Any, ...]:
        """The arguments as the program takes them."""
        return self.tree.unflatten(self.leaves)

    @property
    def floating(self) -> list[int]:
        """Which leaves a derivative can be taken of."""
        return [i for i, x in enumerate(self.leaves) if np.asarray(x).dtype.kind in "fc"]


def numbers(shape: tuple[int, ...] = (2, 3), low: float = -2.0, high: float = 2.0) -> Callable[..., Any]:
    """Return a maker of distinct numbers in no order: floats between the bounds, small integers, or bools.

    Of complex numbers, the real part is between the bounds and the imaginary part between -1 and 1.
    """

    def make(rng: np.random.Generator, dtype: np.dtype) -> Any:
        size = int(np.prod(shape))
        if dtype.kind == "b":
            return rng.integers(0, 2, shape).astype(bool)[()]
        if dtype.kind in "iu":
            return (rng.permutation(size).reshape(shape) + rng.integers(1, 4)).astype(dtype)[()]
        if dtype.kind == "c":
            parts = [numbers(shape, *bounds)(rng, np.dtype(np.float64)) for bounds in ((low, high), (-1.0, 1.0))]
            return np.asarray(parts[0] + 1j * parts[1]).astype(dtype)[()]
        places = (rng.permutation(size) + rng.uniform(0.2, 0.8)) / max(size, 1)
        return (low + (high - low) * places).reshape(shape).astype(dtype)[()]

    return make


def always(dtype: str, shape: tuple[int, ...] = (2, 3), low: float = -2.0, high: float = 2.0) -> Callable[..., Any]:
    """Return a maker of numbers of one dtype, whatever the dtype of the others."""
    return lambda rng, _: numbers(shape, low, high)(rng, np.dtype(dtype))


def scalar(value: complex) -> Callable[..., Any]:
    """Return a maker of a Python scalar, which is weakly typed and the same in every example."""
    return lambda rng, dtype: value


def tree_of(**makers: Callable[..., Any]) -> Callable[..., Any]:
    """Return a maker of a dict."""
    return lambda rng, dtype: {name: make(rng, dtype) for name, make in makers.items()}
