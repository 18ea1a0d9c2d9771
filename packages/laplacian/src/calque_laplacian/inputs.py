"""The inputs of a Laplacian: the elements of the chosen arguments, and their weights.

Read next: `forward.py`, which runs the function on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from calque_core import lax, typeof
from calque_core.extend import check_arrays, is_float
from calque_core.lax import reshape, zeros_like
from calque_laplacian.sparsity import dense
from calque_laplacian.triple import Triple, Value
from calque_pytree import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path


class Inputs(NamedTuple):
    """The chosen arguments of one call: their positions, and the leaves and the structure of the tuple of them."""

    positions: tuple[int, ...]
    is_single: bool
    leaves: list[Value]
    tree: PyTreeDef

    @property
    def size(self) -> int:
        """The number of inputs."""
        return sum(typeof(leaf).size for leaf in self.leaves)

    def triples(self, is_sparse: bool) -> list[Triple]:
        """Return the leaves as triples; the Jacobians of all leaves together are the identity.

        A sparse Jacobian has one row: each element depends on itself alone.
        """
        start, triples = 0, []
        for leaf in self.leaves:
            aval = typeof(leaf)
            rows = np.arange(start, start + aval.size).reshape(1, *aval.shape)
            x = Triple(leaf, np.ones(rows.shape, aval.dtype), zeros_like(leaf), rows)
            triples.append(x if is_sparse and self.size >= 2 else dense(x, self.size))
            start += aval.size
        return triples

    def put(self, args: Sequence[Any], leaves: Sequence[Value]) -> list[Any]:
        """Return the arguments of the call with other leaves in place of the inputs."""
        values = list(args)
        for position, value in zip(self.positions, self.tree.unflatten(leaves)):
            values[position] = value
        return values

    def arrange(self, leaves: Sequence[Value]) -> Any:
        """Return a value for each leaf, in the structure of the argument, or in a tuple of structures for several."""
        values = self.tree.unflatten(leaves)
        return values[0] if self.is_single else values


def chosen_inputs(caller: str, argnums: int | Sequence[int], args: Sequence[Any]) -> Inputs:
    """Return the inputs of a call.

    Raises: TypeError if a leaf is not of real floats; ValueError if `argnums` is out of range, or repeats a position.
    """
    numbers = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    if not all(isinstance(i, (int, np.integer)) for i in numbers):
        raise TypeError(f"{caller} got argnums={argnums!r}. Give an int, or a tuple of ints.")
    if not all(-len(args) <= int(i) < len(args) for i in numbers):
        raise ValueError(
            f"{caller} got argnums={argnums}, but the call passes {len(args)} positional arguments. Name positions "
            "among these, and pass the inputs by position."
        )
    positions = tuple([int(i) % len(args) for i in numbers])
    if len(set(positions)) != len(positions):
        raise ValueError(f"{caller} got argnums={argnums}, which names an argument twice. Name each argument once.")
    leaves, tree = tree_flatten(tuple([args[i] for i in positions]))
    names = [f"args[{i}]{keystr(path)}" for i in positions for path, _ in tree_flatten_with_path(args[i])[0]]
    check_arrays(leaves, lambda: names, caller)
    for name, leaf in zip(names, leaves):
        check_real(caller, name, leaf)
    return Inputs(positions, numbers is not argnums, leaves, tree)


def check_real(caller: str, name: str, leaf: Value) -> None:
    """Check that an input is an array of real floats.  Raises: TypeError."""
    aval = typeof(leaf).strip_weak_type()
    if aval.kind == "c":
        raise TypeError(
            f"{caller}: {name} is complex, {aval}, and a Laplacian sums over real inputs. Pass the real and the "
            "imaginary part as two arguments, and join them inside of the function."
        )
    if not is_float(aval.dtype):
        raise TypeError(
            f"{caller}: {name} is of type {aval}, which has no derivative. Pass floating numbers, or choose other "
            "arguments with argnums."
        )


def weights_of(caller: str, weights: Any, inputs: Inputs) -> Value:
    """Return the weights as None, a vector [n], or a symmetric matrix [n, n].

    Raises: ValueError if they do not fit the inputs.
    """
    if weights is None:
        return None
    n = inputs.size
    if is_array(weights, (n, n)):
        return lax.mul(0.5, lax.add(weights, lax.transpose(weights, (1, 0))))
    form = inputs.tree.unflatten(inputs.leaves)
    form_tree = tree_flatten(form[0] if inputs.is_single else form)[1]
    given, tree = tree_flatten(weights)
    if is_array(weights, ()):
        given, tree = given * len(inputs.leaves), form_tree
    shapes = [typeof(leaf).shape for leaf in inputs.leaves]
    if tree != form_tree or any(typeof(w).shape not in ((), shape) for w, shape in zip(given, shapes)):
        types = ", ".join(str(typeof(w)) for w in given)
        raise ValueError(
            f"{caller}: the weights, ({types}), do not fit the inputs, of the shapes {shapes}. Give a number, numbers "
            f"or arrays in the structure and the shapes of the inputs, or a matrix of the shape ({n}, {n})."
        )
    whole = [w if shape == typeof(w).shape else lax.full(shape, w) for w, shape in zip(given, shapes)]
    return lax.concatenate([reshape(w, (prod(shape),)) for w, shape in zip(whole, shapes)], 0)


def is_array(weights: Any, shape: tuple[int, ...]) -> bool:
    """Tell whether the weights are one array of a shape."""
    given, _ = tree_flatten(weights)
    return len(given) == 1 and given[0] is weights and typeof(weights).shape == shape
