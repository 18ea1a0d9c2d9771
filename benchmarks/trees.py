"""Rows: flattening and unflattening containers.

One idea: the parameters of a 12-layer transformer are the tree that every training step passes twice.  Models are also
written as dataclasses and as classes with functions of their own, whose calls every library pays.
Read next: `compiled.py`, the calls that pass them.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kits import Kit, kits
from measure import Effort, Samples, race
from programs import transformer_params
from table import row

LIBRARIES = ("calque", "jax", "optree", "torch")


def tree_of_198(leaf: Any) -> Any:
    """Return the transformer's parameters with `leaf` in the place of each array."""
    return replace_leaves(transformer_params(), leaf)


def replace_leaves(tree: Any, leaf: Any) -> Any:
    if isinstance(tree, dict):
        return {key: replace_leaves(child, leaf) for key, child in tree.items()}
    return [replace_leaves(child, leaf) for child in tree] if isinstance(tree, list) else leaf


@row("flatten of a 198-leaf tree", "us", budget=30, jax=12, optree=42, torch=239)
def flatten(effort: Effort) -> Samples:
    tree = tree_of_198(1.0)
    return race(effort, {k.name: lambda f=k.flatten: f(tree) for k in kits(*LIBRARIES)}, per=1, unit=1e-6)


@row("unflatten of a 198-leaf tree", "us", budget=4, jax=6, optree=7, torch=105)
def unflatten(effort: Effort) -> Samples:
    return race(effort, {k.name: unflattening(k) for k in kits(*LIBRARIES)}, per=1, unit=1e-6)


def unflattening(kit: Kit) -> Any:
    leaves, treedef = kit.flatten(tree_of_198(1.0))
    assert len(leaves) == 198
    return lambda: kit.unflatten(leaves, treedef)


@dataclass
class Layer:
    w: float
    b: float


class Pair:
    """A node with functions of its own."""

    def __init__(self, a: float, b: float, label: str) -> None:
        self.a, self.b, self.label = a, b, label


def flatten_pair(pair: Pair) -> tuple[tuple[float, float], str]:
    return (pair.a, pair.b), pair.label


def unflatten_pair(label: str, children: tuple[float, float]) -> Pair:
    return Pair(*children, label)


def layers(number: int) -> list[Layer]:
    return [Layer(1.0, 2.0) for _ in range(number)]


def pairs(number: int) -> list[Pair]:
    return [Pair(1.0, 2.0, "pair") for _ in range(number)]


def race_trees(effort: Effort, tree: Any, use: Callable[[Kit], Callable[[], Any]]) -> Samples:
    """Race the libraries that register a class by the same call."""
    contestants = kits("calque", "jax")
    for kit in contestants:
        register_classes(kit.name)
    return race(effort, {kit.name: use(kit) for kit in contestants}, per=1, unit=1e-6)


@functools.cache
def register_classes(library: str) -> None:
    module = importlib.import_module({"calque": "calque.tree_util", "jax": "jax.tree_util"}[library])
    module.register_dataclass(Layer, ["w", "b"], [])
    module.register_pytree_node(Pair, flatten_pair, unflatten_pair)


def flattening_of(tree: Any) -> Callable[[Kit], Callable[[], Any]]:
    return lambda kit: lambda: kit.flatten(tree)


def unflattening_of(tree: Any) -> Callable[[Kit], Callable[[], Any]]:
    def use(kit: Kit) -> Callable[[], Any]:
        leaves, treedef = kit.flatten(tree)
        return lambda: kit.unflatten(leaves, treedef)

    return use


def mapping_of(tree: Any) -> Callable[[Kit], Callable[[], Any]]:
    return lambda kit: lambda: kit.tree_map(id, tree)


for name, tree in {
    "166 dataclasses": layers(166),
    "166 custom nodes": pairs(166),
    "5,000 dataclasses": layers(5000),
    "5,000 custom nodes": pairs(5000),
}.items():
    for verb, use in {"flatten": flattening_of, "unflatten": unflattening_of, "map": mapping_of}.items():
        row(f"{verb} of {name}", "us")(lambda effort, tree=tree, use=use: race_trees(effort, tree, use(tree)))
