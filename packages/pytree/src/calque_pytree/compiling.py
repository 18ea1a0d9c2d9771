"""Code for structures that are used often: its limits, and the functions that make it.

Owns `compile_unflatten`, `compile_fit` and `compile_match`, as late functions. The one idea: their modules are half of
the size of this package, and a program that uses no tree often needs none of them.

Read next: `generated.py` and `descent.py`, which make the code; `treedef.py` and `recent.py`, which ask for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from calque_pytree.build import Nodes
from calque_pytree.kinds import Leaf, Tree
from calque_pytree.late import late_function

MAX_NODES = 4096
"""Compiling takes about 10 us per node that is written out, once: this limits how long it delays one call."""

MAX_TREE = 65536
"""Runs are not looked for in larger trees: that takes about 1 us per node."""

Unflatten: TypeAlias = Callable[[list[Leaf]], Tree]
Fit: TypeAlias = Callable[[Tree], list[Tree] | None]

compile_unflatten: Callable[[Nodes], Unflatten] = late_function("calque_pytree.generated", "compile_unflatten")
compile_fit: Callable[[Nodes], Fit | None] = late_function("calque_pytree.descent", "compile_fit")
compile_match: Callable[[Nodes], Fit | None] = late_function("calque_pytree.descent", "compile_match")
has_plain_nodes: Callable[[Nodes], bool] = late_function("calque_pytree.descent", "has_plain_nodes")
