"""The space of a value: its structure and the types of its leaves, which a linear operator or a solver must keep.

One idea: the user passes a value under a name, `b` or `initial_guess`, and functions that map its space to itself.
Each result of these functions is checked when they return it, whether they are traced or run.

Read next: `linear_solve.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from calque_core.calls.api_util import call, describe_value, difference, leaf_names, split_aux
from calque_core.frames.names import named_after
from calque_core.frames.source import describe_function
from calque_core.ops.calls.loops import strong_leaves
from calque_core.ops.meshes.varying import as_varying
from calque_core.types.avals import NO_AXES, is_array_like, typeof
from calque_core.types.type_queries import has_tangent, same_type
from calque_pytree import PyTreeDef, tree_flatten, tree_leaves, tree_structure

Value = Any


class Space(NamedTuple):
    """The structure and the types of a value, and its name in messages."""

    name: str
    tree: PyTreeDef
    avals: list[Any]

    @property
    def in_tree(self) -> PyTreeDef:
        """The structure of the arguments of a function of one such value."""
        return tree_flatten(((self.tree.unflatten(self.avals),), {}))[1]

    def check(self, source: str, returned: Any) -> None:
        """Check that `returned`, a result of `source`, lies in this space; a Python scalar has the default dtype.

        Raises: TypeError with both types, and the path of the leaf.
        """
        self.check_structure(source, returned)
        for i, (leaf, aval) in enumerate(zip(tree_leaves(returned), self.avals)):
            leaf_aval = typeof(leaf) if is_array_like(leaf) else None
            if leaf_aval is None or not same_type(leaf_aval, aval):
                raise TypeError(
                    f"{source} returned {describe_value(leaf)} for {leaf_names(self.name, returned)[i]}, which is "
                    f"{aval}. Return the shapes and dtypes of {self.name}."
                )

    def joined(self, leaves: list[Value], results: Sequence[Any]) -> tuple[list[Value], Space]:
        """Return leaves and their space, varying along the axes of a mesh along which values of types `results` vary.

        A function that closes over a value of each shard maps a value that all shards share to one of each shard.
        """
        vma = NO_AXES.union(*[aval.vma for aval in (*self.avals, *results)])
        if all(aval.vma == vma for aval in self.avals):
            return leaves, self
        return [as_varying(x, vma) for x in leaves], self._replace(avals=[aval.varying(vma) for aval in self.avals])

    def check_structure(self, source: str, returned: Any) -> None:
        """Check that `returned`, a result of `source`, has this structure.  Raises: TypeError with both structures."""
        tree = tree_structure(returned)
        if tree != self.tree:
            raise TypeError(
                f"{source} returned the structure {tree}, but {self.name} has the structure {self.tree}."
                f"{difference(tree, self.tree)} Return the structure of {self.name}."
            )

    def with_structure_check(self, caller: str, role: str, fun: Callable[..., Any]) -> Callable[..., Any]:
        """Return `fun`, the user's `role`, with a check of its result's structure, and of its argument's shapes.

        The dtypes may differ, and the shapes need not be those of the space: a solver may multiply matrices.
        """
        source = f"{caller}: {role} {describe_function(fun)}"

        @named_after(fun)
        def checked(*args: Any) -> Any:
            out = fun(*args)
            self.check_structure(source, out)
            for i, (leaf, argument) in enumerate(zip(tree_leaves(out), tree_leaves(args))):
                if not is_array_like(leaf) or typeof(leaf).shape != typeof(argument).shape:
                    raise TypeError(
                        f"{source} returned {describe_value(leaf)} for {leaf_names(self.name, out)[i]}, which is "
                        f"{typeof(argument)}. Return the shapes of the argument."
                    )
            return out

        return checked

    def with_type_check(
        self, caller: str, role: str, fun: Callable[..., Any], has_aux: bool = False
    ) -> Callable[..., Any]:
        """Return `fun`, the user's `role`, with a check of its result, the first of a pair if `has_aux`."""
        source = f"{caller}: {role} {describe_function(fun)}"

        @named_after(fun)  # so that messages name the user's function
        def checked(*args: Any) -> Any:
            out = call(fun, caller, *args)
            self.check(source, split_aux(out, caller, fun)[0] if has_aux else out)
            return out

        return checked


def space_of(caller: str, name: str, value: Any) -> tuple[list[Value], Space]:
    """Return the leaves of the user's `value`, Python scalars made arrays, and their space.

    Raises: TypeError if a leaf is not an array of a floating dtype.
    """
    leaves, tree = strong_leaves(caller, name, value)
    avals = [typeof(x) for x in leaves]
    check_floating(caller, lambda: leaf_names(name, value), avals)
    return leaves, Space(name, tree, avals)


def check_floating(caller: str, names: Callable[[], Sequence[str]], avals: Sequence[Any]) -> None:
    """Check that all types are floating, real or complex.

    Raises: TypeError that names the first value whose dtype is not floating.
    """
    for i, aval in enumerate(avals):
        if not has_tangent(aval):
            raise TypeError(
                f"{caller}: {names()[i]} is {aval}, not of a floating dtype. Convert it to a floating dtype."
            )
