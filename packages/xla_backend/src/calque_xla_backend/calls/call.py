"""One call of a jitted function, and the trace for its types.

Read next: `tracing.py`, which traces; `compiled.py`, which runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from calque_core import Jaxpr
from calque_core.extend import StaticKeys, Statics, settings_key
from calque_pytree import PyTreeDef

Value = Any
Key = tuple[Any, ...]
Arguments = tuple[tuple[Value, ...], dict[str, Value]]


class Call(NamedTuple):
    """A call: its static arguments with their keys, and its dynamic arguments with their leaves."""

    statics: Statics
    static_keys: StaticKeys
    dynamic: Arguments
    leaves: list[Value]
    in_tree: PyTreeDef

    def key(self, types: tuple[Any, ...]) -> Key:
        """Return all that a program depends on, beside the function; `types` are the types of the leaves.

        Its first item is the keys of the static arguments.
        """
        return self.static_keys, self.in_tree.key, types, *settings_key()


class TracedCall(NamedTuple):
    """A traced function: a closed jaxpr, the captured values for its leading arguments, and the structures of a call.

    `in_tree` is the structure of `(args, kwargs)`, with None for static arguments.
    """

    jaxpr: Jaxpr
    captured: Sequence[Value]
    in_tree: PyTreeDef
    out_tree: PyTreeDef
