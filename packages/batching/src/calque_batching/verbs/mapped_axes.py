"""The axes of one call of `vmap`: the mapped axis of each argument, and its position in each result.

One idea: arguments and results are flat lists beside flat lists of axes; a message names a leaf by its path, which is
worked out for an error only.

Read next: `vmap.py`, which calls these functions in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from operator import index
from typing import Any

import numpy as np

from calque_batching.axes import matchaxis
from calque_batching.verbs.vmappable import Containers, check_spec, vmappables
from calque_core import typeof
from calque_core.engine import (
    SCALAR_TYPES,
    FlatFunction,
    is_array_like,
    is_own,
    leaf_names,
    lower_avals,
    narrow,
    parameters_of,
)
from calque_core.extend import check_arrays, marked, merged, unmarked
from calque_pytree import KeyPath, PyTreeDef, flatten_axes

Value = Any
Axes = Any
Names = Callable[[], Sequence[str]]
"""The expression for each leaf of the arguments, as a user writes it."""


def is_axis(x: Any) -> bool:
    """Tell whether `x` is an integer, and no bool."""
    return type(x) is int or (isinstance(x, (int, np.integer)) and not isinstance(x, bool))


# Arguments


def prefix_of_arguments(caller: str, fun: Any, in_axes: Axes, args: Sequence[Any], kwargs: dict[str, Any]) -> Axes:
    """Return `in_axes` as a pytree prefix of `(args, kwargs)`."""
    if isinstance(in_axes, dict):
        return _axes_by_name(caller, fun, in_axes, args, kwargs)
    by_position = tuple(in_axes) if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
    if len(by_position) != len(args):
        raise TypeError(
            f"{caller}: in_axes has {len(by_position)} entries for {len(args)} positional arguments. Give one entry "
            "per positional argument; keyword arguments are mapped over axis 0, or over the axes in a dict of names."
        )
    return by_position, dict.fromkeys(kwargs, 0)


def _axes_by_name(
    caller: str, fun: Any, in_axes: dict[str, Axes], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[tuple[Axes, ...], dict[str, Axes]]:
    positional = list(parameters_of(fun) or ())[: len(args)]
    unknown = [name for name in in_axes if name not in positional and name not in kwargs]
    if unknown:
        raise TypeError(
            f"{caller}: in_axes names {unknown[0]!r}, but the call passes no such argument. The arguments are: "
            f"{', '.join([*positional, *kwargs])}."
        )
    return tuple(in_axes.get(name, 0) for name in positional), {name: in_axes.get(name, 0) for name in kwargs}


def axes_of_leaves(caller: str, name: str, tree: PyTreeDef, axes: Axes, place: Callable[[KeyPath], str]) -> list[Any]:
    """Return the entry of each leaf from a pytree prefix of `tree`, the option `name`; `place(path)` is for messages.

    Raises: TypeError if it is no prefix.
    """
    if type(axes) is int:  # the usual case
        return [axes] * tree.num_leaves
    try:
        return flatten_axes(name, tree, axes, place=place)
    except ValueError as error:
        raise TypeError(f"{caller}: {error}") from None


def _shape(aval: Any) -> tuple[int, ...]:
    """Return the shape of an array; of one's own type, the axes that its arrays have in common, in front."""
    if not is_own(aval):
        return aval.shape  # type: ignore[no-any-return]
    shapes = [x.shape for x in lower_avals(aval)]
    return tuple(sizes[0] for sizes in takewhile(lambda sizes: len({*sizes}) == 1, zip(*shapes)))


_NO_ARRAY = "Use in_axes=None for an argument that is not mapped, or register its class as a pytree."


def canonical_leaves(caller: str, leaves: Sequence[Any], names: Names, axes: Sequence[Any]) -> Sequence[Any]:
    """Return the arrays in the current dtypes; containers of registered classes and unmapped values are unchanged.

    Raises: TypeError for any other leaf.
    """
    mapped = [0 if axis is None or type(x) in vmappables else x for x, axis in zip(leaves, axes)]
    check_arrays(mapped, names, caller, _NO_ARRAY)
    if not vmappables:
        return narrow(leaves)
    is_array = [type(x) not in vmappables for x in leaves]
    return merged(is_array, narrow(marked(leaves, is_array)), unmarked(leaves, is_array))


def mapped_axes(
    caller: str, leaves: Sequence[Value], names: Names, axes: Sequence[Any], axis_size: int | None
) -> tuple[list[Any], int | None]:
    """Return the mapped axis of each leaf as a position or None, for a container its entry; and the size of the axes.

    The size is None if containers alone are mapped, whose arrays are not known yet.
    Raises: TypeError for an entry that is no axis; ValueError for an axis that a leaf lacks, for sizes that differ, and
    if nothing tells the size.
    """
    dims: list[Any] = []
    size, first = None, -1
    for i, (x, axis) in enumerate(zip(leaves, axes)):
        if type(x) in vmappables:
            check_spec(caller, names()[i], "in_axes", x, axis)
            dims.append(axis)
            continue
        if axis is None:
            dims.append(None)
            continue
        shape = x.shape if type(x) is np.ndarray else _shape(typeof(x))  # 0.2 us sooner
        dim = axis if type(axis) is int and 0 <= axis < len(shape) else _position(caller, x, axis, names, i)
        dims.append(dim)
        if size is None:
            size, first = int(shape[dim]), i
        elif shape[dim] != size:
            raise ValueError(
                f"{caller}: axis {dim} of {names()[i]} has size {shape[dim]}, but axis {dims[first]} of "
                f"{names()[first]} has size {size}; all mapped axes must have one size. Use in_axes=None for an "
                "argument that is not mapped."
            )
    if axis_size is not None:
        if size is not None and index(axis_size) != size:
            raise ValueError(
                f"{caller}: axis_size={axis_size}, but axis {dims[first]} of {names()[first]} has size {size}. Leave "
                "axis_size out."
            )
        size = index(axis_size)
    if size is None and all(d is None for d in dims):
        known_size(caller, size)
    return dims, size


def _position(caller: str, x: Value, axis: Any, names: Names, i: int) -> int:
    """Return an axis of leaf `i` as a position, counted from the front."""
    if not is_axis(axis):
        raise TypeError(f"{caller}: in_axes has the entry {axis!r} for {names()[i]}. Give an int or None.")
    ndim = len(_shape(typeof(x)))
    if not -ndim <= index(axis) < ndim:
        is_item = type(x) in SCALAR_TYPES and names()[i].endswith("]")
        advice = "numpy.array of a list that is one array; in_axes=None" if is_item else "in_axes=None"
        raise ValueError(
            f"{caller}: {names()[i]} has type {typeof(x)}, which has no axis {axis} to map. Use {advice} for an "
            "argument that is not mapped."
        )
    return index(axis) % ndim


def known_size(caller: str, size: int | None) -> int:
    """Return the size of the mapped axis.  Raises: ValueError if no argument has told it."""
    if size is None:
        raise ValueError(f"{caller}: no argument is mapped. Map one with in_axes, or give axis_size.")
    return size


# Results


def moved_results(
    caller: str,
    flat: FlatFunction,
    outs: Sequence[Value],
    dims: Sequence[int | None],
    axes: Sequence[Any],
    containers: Containers,
) -> list[Value]:
    """Return the results with their batch axes, which are at `dims`, at the positions in `axes`.

    Raises: TypeError for a result that is no array; ValueError for an entry of `axes` that does not fit its result.
    """
    results = []
    for i, (x, dim, axis) in enumerate(zip(outs, dims, axes)):
        if dim is not None and dim == axis and type(axis) is int:  # the usual case
            results.append(x)
        elif type(x) in vmappables:
            path = _path(flat, outs, i)
            check_spec(caller, f"the output{path}", "out_axes", x, axis)
            results.append(containers.result(i, path, x, axis))
        else:
            _check_result(caller, flat, outs, i, dim, axis)
            ndim = len(_shape(typeof(x))) + (dim is None)
            out_dim = None if axis is None else index(axis) % ndim
            results.append(matchaxis(x, dim, out_dim, containers.trace.axis.size))
    return results


def _check_result(caller: str, flat: FlatFunction, outs: Sequence[Value], i: int, dim: int | None, axis: Any) -> None:
    """Check that result `i` is an array, and that it may have its batch axis at `axis`."""
    x = outs[i]
    if not is_array_like(x):
        raise TypeError(
            f"{caller} returned {x!r} of type {type(x).__name__}{_path(flat, outs, i)}. Return arrays and scalars."
        )
    if axis is None and dim is not None:
        raise ValueError(
            f"{caller}: out_axes is None for the output{_path(flat, outs, i)}, but it differs from element to "
            "element. Give it an axis, or reduce it first."
        )
    ndim = len(_shape(typeof(x))) + (dim is None)
    if axis is not None and not (is_axis(axis) and -ndim <= index(axis) < ndim):
        raise ValueError(
            f"{caller}: out_axes has the entry {axis!r} for the output{_path(flat, outs, i)}, but with the mapped "
            f"axis the output has {ndim} axes. Give an int from {-ndim} to {ndim - 1}, or None."
        )


def _path(flat: FlatFunction, outs: Sequence[Value], i: int) -> str:
    """Return the path of a leaf of the result: '' if it is the only one, "['w']", '[1]'."""
    return leaf_names("", flat.out_tree.unflatten(outs), flat.is_leaf)[i]
