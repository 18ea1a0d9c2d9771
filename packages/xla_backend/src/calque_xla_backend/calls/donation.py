"""Donated arguments: arrays whose memory XLA may use for the results of a program.

One idea: a user donates arguments, and a program takes leaves: `DonatedArguments.leaves` finds the leaves of one call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from calque_core.engine import StaticArguments, static_arguments
from calque_core.extend import describe_function
from calque_pytree import PyTreeDef

Args = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class DonatedArguments:
    """The arguments of a function that XLA may overwrite: positions, and the names by which a call may pass them."""

    positions: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    def leaves(self, args: Args, in_tree: PyTreeDef) -> tuple[int, ...]:
        """Return the numbers of the leaves of `(args, kwargs)` that belong to donated arguments."""
        if not (self.positions or self.names):
            return ()
        by_position, by_name = in_tree.children()
        node = by_name.node_data()
        assert node is not None, in_tree
        _, keywords = node  # in the order of the leaves
        is_donated = [i in self.positions or i - len(args) in self.positions for i in range(len(args))]
        is_donated += [name in self.names for name in keywords]
        trees = [*by_position.children(), *by_name.children()]
        flags = [donated for donated, tree in zip(is_donated, trees) for _ in range(tree.num_leaves)]
        return tuple(i for i, donated in enumerate(flags) if donated)


def donated_arguments(fun: Callable[..., Any], argnums: Any, argnames: Any) -> DonatedArguments:
    """Return the arguments at the positions `argnums` and with the names `argnames`, however a call passes them.

    Raises: as `static_arguments`.
    """
    donated = static_arguments(f"jit of {describe_function(fun)}", fun, argnums, argnames, "donate")
    return DonatedArguments(donated.positions, donated.names)


def check_not_static(caller: str, donated: DonatedArguments, static: StaticArguments) -> None:
    """Check that no donated argument is static.  Raises: ValueError that names one."""
    both = {*donated.names, *donated.positions} & {*static.names, *static.positions}
    if both:
        name = min(both, key=lambda place: (isinstance(place, int), place))
        raise ValueError(
            f"{caller}: the argument {name} is both static and donated, but a static argument has no memory on a "
            "device. Leave it out of one of the two."
        )
