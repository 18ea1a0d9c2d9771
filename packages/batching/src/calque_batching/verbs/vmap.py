"""`vmap`: a function of one element becomes a function of a batch.

Read next: `batch_trace.py`, the trace that applies the batching rules.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from operator import index
from typing import Any, Literal, ParamSpec

import numpy as np

from calque_batching.axes import matchaxis
from calque_batching.batch_trace import AxisData, BatchTrace
from calque_batching.batch_tracer import BatchTracer
from calque_batching.verbs.vmappable import Containers, check_spec, leaf_test, spec_types, vmappables
from calque_core import api_boundary, current_trace, tracing, typeof
from calque_core.extend import (
    SCALAR_TYPES,
    FlatFunction,
    arg_names,
    check_arrays,
    check_callable,
    check_free_name,
    copy_shared,
    describe_function,
    entered,
    here,
    is_array_like,
    leaf_names,
    marked,
    merged,
    narrow,
    parameters_of,
    record_call,
    unmarked,
)
from calque_pytree import PyTreeDef, flatten_axes, tree_flatten

P = ParamSpec("P")
Value = Any
Axes = Any


@api_boundary
def vmap(
    fun: Callable[P, Any],
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    missing: Literal["error", "loop"] = "error",
) -> Callable[P, Any]:
    """Return a function that maps `fun` over one axis of its arguments, computing all elements at once.

    `in_axes` is an int (from the end if negative), None for an argument that is not mapped, a tuple with an
    entry per positional argument, each of which may be a pytree prefix of its argument, or a dict from argument names
    to axes.  Arguments that are not in the dict, and keyword arguments, are mapped over axis 0.
    Containers of a class given to `register_vmappable` have an entry of their own class in `in_axes` and `out_axes`.
    `out_axes`, an int, None or a pytree prefix of the result, is the position of the axis in the result; None is for
    results that are the same for every element.  `axis_name` names the axis for collectives; `axis_size` is needed if
    no argument is mapped.
    An operation without a batching rule is an error, or with `missing="loop"` runs for one element after the other.
    Shapes: x [.., n, ..] -> [.., n, ..].
    Raises: ValueError if the mapped axes differ in size, an axis is out of range, or `axis_name` is the name of an axis
    of the mesh in `shard_map`; TypeError if `in_axes` or `out_axes` does not fit; MissingRuleError for an operation
    without a batching rule.

    >>> import numpy as np
    >>> from calque_batching import vmap
    >>> vmap(lambda x, y: x * y, in_axes=(0, None))(np.arange(3.0), 2.0)
    array([0., 2., 4.])
    """
    check_callable(fun, "vmap")
    caller = f"vmap of {describe_function(fun)}"
    _check_options(caller, in_axes, axis_name, axis_size, missing)

    @api_boundary
    @functools.wraps(fun)
    def batched(*args: P.args, **kwargs: P.kwargs) -> Any:
        is_leaf = leaf_test()
        leaves, in_tree = tree_flatten((args, kwargs), is_leaf)
        names = functools.partial(arg_names, fun, args, kwargs, is_leaf)
        leaves = _canonical_leaves(caller, leaves, names)
        is_one_axis = type(in_axes) is int and not kwargs
        spec = in_axes if is_one_axis else _prefix(caller, fun, in_axes, args, kwargs)
        dims = _in_dims(caller, leaves, names, _flat_axes(caller, "in_axes", in_tree, spec))
        size = _axis_size(caller, leaves, names, dims, axis_size)
        if axis_name is not None:
            check_free_name(caller, axis_name)
        flat = FlatFunction(fun, in_tree, "vmap", is_leaf=is_leaf)
        trace = BatchTrace(current_trace(), AxisData(axis_name, size or 0, missing))
        record_call(trace, fun)
        containers = Containers(caller, trace, size)
        with tracing(trace):
            elements = [
                x if d is None else containers.element(x, d) if type(x) in vmappables else BatchTracer(trace, x, d)
                for x, d in zip(leaves, dims)
            ]
            size = _known_size(caller, containers.size)
            if axis_name is None:
                out_leaves = flat(*elements)
            else:
                with entered(axis_env=(*here().axis_env, (axis_name, size))):
                    out_leaves = flat(*elements)
            outs, out_dims = trace.split(out_leaves)
            containers.find_differing(outs)
        axes = _flat_axes(caller, "out_axes", flat.out_tree, out_axes)
        results = _moved_results(caller, flat, outs, out_dims, axes, containers)
        # An unmapped result may be an array of the user's, one of `out_leaves`.
        return flat.out_tree.unflatten(copy_shared(results, leaves, out_leaves))

    return batched


def _check_options(caller: str, in_axes: Axes, axis_name: Any, axis_size: Any, missing: Any) -> None:
    if in_axes is not None and not _is_int(in_axes) and not isinstance(in_axes, (tuple, list, dict, *spec_types())):
        raise TypeError(
            f"{caller} got in_axes={in_axes!r}. Give an int, None, a tuple with an entry per argument, or a dict from "
            "argument names to axes."
        )
    if isinstance(axis_name, tuple) or not isinstance(axis_name, Hashable):
        raise TypeError(f"{caller} got axis_name={axis_name!r}. Give one name, for example a string.")
    if axis_size is not None and (not _is_int(axis_size) or index(axis_size) < 0):
        raise TypeError(f"{caller} got axis_size={axis_size!r}. Give an int of zero or more, or leave it out.")
    if missing not in ("error", "loop"):
        raise ValueError(f"{caller} got missing={missing!r}. Give 'error' or 'loop'.")


def _is_int(x: Any) -> bool:
    return type(x) is int or (isinstance(x, (int, np.integer)) and not isinstance(x, bool))


def _prefix(caller: str, fun: Any, in_axes: Axes, args: Sequence[Any], kwargs: dict[str, Any]) -> Axes:
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


def _flat_axes(caller: str, name: str, tree: PyTreeDef, axes: Axes) -> list[Any]:
    if type(axes) is int:  # the usual case
        return [axes] * tree.num_leaves
    try:
        return flatten_axes(name, tree, axes)
    except ValueError as error:
        raise TypeError(f"{caller}: {error}") from None


def _canonical_leaves(caller: str, leaves: Sequence[Any], names: Callable[[], Sequence[str]]) -> list[Any]:
    """Return the arrays in the current dtypes, and containers of registered classes unchanged.

    Raises: TypeError for any other leaf.
    """
    if not vmappables:
        check_arrays(leaves, names, caller)
        return [*narrow(leaves)]
    is_array = [type(x) not in vmappables for x in leaves]
    check_arrays([x if m else 0 for x, m in zip(leaves, is_array)], names, caller)
    return merged(is_array, narrow(marked(leaves, is_array)), unmarked(leaves, is_array))


def _in_dims(
    caller: str, leaves: Sequence[Value], names: Callable[[], Sequence[str]], axes: Sequence[Any]
) -> list[Any]:
    """Return the mapped axis of each leaf as a position counted from the front, or None; of a container, its entry."""
    dims: list[Any] = []
    for i, (x, axis) in enumerate(zip(leaves, axes)):
        if type(x) in vmappables:
            check_spec(caller, names()[i], "in_axes", x, axis)
            dims.append(axis)
            continue
        if axis is not None and not _is_int(axis):
            raise TypeError(f"{caller}: in_axes has the entry {axis!r} for {names()[i]}. Give an int or None.")
        ndim = len(typeof(x).shape)
        if axis is not None and not -ndim <= index(axis) < ndim:
            is_item = type(x) in SCALAR_TYPES and names()[i].endswith("]")
            advice = "numpy.array of a list that is one array; in_axes=None" if is_item else "in_axes=None"
            raise ValueError(
                f"{caller}: {names()[i]} has type {typeof(x)}, which has no axis {axis} to map. Use {advice} for an "
                "argument that is not mapped."
            )
        dims.append(None if axis is None else index(axis) % ndim)
    return dims


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


def _axis_size(
    caller: str,
    leaves: Sequence[Value],
    names: Callable[[], Sequence[str]],
    dims: Sequence[Any],
    axis_size: int | None,
) -> int | None:
    """Return the size of the mapped axis; None if containers alone are mapped, whose arrays are not known yet."""
    sizes = [
        (typeof(x).shape[d], d, i)
        for i, (x, d) in enumerate(zip(leaves, dims))
        if d is not None and type(x) not in vmappables
    ]
    if not sizes:
        if axis_size is not None:
            return index(axis_size)
        return None if any(d is not None for d in dims) else _known_size(caller, None)
    size, d, first = sizes[0]
    for other, other_d, i in sizes:
        if other != size:
            raise ValueError(
                f"{caller}: axis {other_d} of {names()[i]} has size {other}, but axis {d} of {names()[first]} has size "
                f"{size}; all mapped axes must have one size. Use in_axes=None for an argument that is not mapped."
            )
    if axis_size is not None and index(axis_size) != size:
        raise ValueError(
            f"{caller}: axis_size={axis_size}, but axis {d} of {names()[first]} has size {size}. Leave axis_size out."
        )
    return int(size)


def _known_size(caller: str, size: int | None) -> int:
    """Return the size of the mapped axis.  Raises: ValueError if no argument has told it."""
    if size is None:
        raise ValueError(f"{caller}: no argument is mapped. Map one with in_axes, or give axis_size.")
    return size


def _moved_results(
    caller: str,
    flat: FlatFunction,
    outs: Sequence[Value],
    dims: Sequence[int | None],
    axes: Sequence[Any],
    containers: Containers,
) -> list[Value]:
    """Return the results with their batch axes at the positions in `out_axes`."""
    results = []
    for i, (x, dim, axis) in enumerate(zip(outs, dims, axes)):
        if type(x) in vmappables:
            path = _path(flat, outs, i)
            check_spec(caller, f"the output{path}", "out_axes", x, axis)
            results.append(containers.result(i, path, x, axis))
            continue
        if not is_array_like(x):
            raise TypeError(
                f"{caller} returned {x!r} of type {type(x).__name__}{_path(flat, outs, i)}. Return arrays and scalars."
            )
        if axis is None and dim is not None:
            raise ValueError(
                f"{caller}: out_axes is None for the output{_path(flat, outs, i)}, but it differs from element to "
                "element. Give it an axis, or reduce it first."
            )
        ndim = len(typeof(x).shape) + (dim is None)
        if axis is not None and not (_is_int(axis) and -ndim <= index(axis) < ndim):
            raise ValueError(
                f"{caller}: out_axes has the entry {axis!r} for the output{_path(flat, outs, i)}, but with the mapped "
                f"axis the output has {ndim} axes. Give an int from {-ndim} to {ndim - 1}, or None."
            )
        results.append(matchaxis(x, dim, None if axis is None else index(axis) % ndim, containers.trace.axis.size))
    return results


def _path(flat: FlatFunction, outs: Sequence[Value], i: int) -> str:
    """Return the path of a leaf of the result: '' if it is the only one, "['w']", '[1]'."""
    return leaf_names("", flat.out_tree.unflatten(outs), flat.is_leaf)[i]
