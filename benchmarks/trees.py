"""Rows: flattening and unflattening containers.

One idea: the parameters of a 12-layer transformer are the tree that every training step passes twice.
Read next: `compiled.py`, the calls that pass them.
"""

from __future__ import annotations

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
