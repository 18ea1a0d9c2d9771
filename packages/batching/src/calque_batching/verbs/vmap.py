"""`vmap`: a function of one element becomes a function of a batch.

Read next: `mapped_axes.py`, the axes of arguments and results; `batch_trace.py`, the trace that applies the batching
rules.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from operator import index
from typing import Any, Literal, ParamSpec

from calque_batching.batch_trace import AxisData, BatchTrace
from calque_batching.batch_tracer import BatchTracer, element
from calque_batching.verbs.mapped_axes import (
    axes_of_leaves,
    canonical_leaves,
    is_axis,
    known_size,
    mapped_axes,
    moved_results,
    prefix_of_arguments,
)
from calque_batching.verbs.pieces import results_in_pieces
from calque_batching.verbs.vmappable import Containers, leaf_test, spec_types, vmappables
from calque_core import PartitionSpec, api_boundary, current_trace, tracing
from calque_core.engine import (
    FlatFunction,
    FlatPrimals,
    arg_names,
    argument_at,
    check_distinct_references,
    check_free_name,
    copy_shared,
    each_one_value,
    entered,
    here,
    named_after,
    own_types,
    record_call,
    reference_types,
    transform_of,
    with_references,
)
from calque_core.extend import check_callable, describe_function, integer
from calque_pytree import PyTreeDef, keystr, tree_flatten

P = ParamSpec("P")
Value = Any
Axes = Any


@api_boundary
def vmap(  # noqa: PLR0913  two more than jax has
    fun: Callable[P, Any],
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    missing: Literal["error", "loop"] = "error",
    *,
    batch_size: int | None = None,
    spmd_axis_name: Any = None,
) -> Callable[P, Any]:
    """Return a function that maps `fun` over one axis of its arguments, computing all elements at once.

    `in_axes` is an int (from the end if negative), None for an argument that is not mapped, a tuple with an
    entry per positional argument, each of which may be a pytree prefix of its argument, or a dict from argument names
    to axes.  Arguments that are not in the dict, and keyword arguments, are mapped over axis 0.
    An argument that is not mapped may be any value, such as a string or a function: `fun` gets it unchanged.
    Containers of a class given to `register_vmappable` have an entry of their own class in `in_axes` and `out_axes`.
    `out_axes`, an int, None or a pytree prefix of the result, is the position of the axis in the result; None is for
    results that are the same for every element.  `axis_name` names the axis for collectives; `axis_size` is needed if
    no argument is mapped.
    An operation without a batching rule is an error, or with `missing="loop"` runs for one element after the other.
    With `batch_size=k`, pieces of k elements are computed one after the other, which needs the memory of one piece;
    `fun` is then traced as by `scan`, and once more if the last piece is smaller.
    `spmd_axis_name`, a name or a tuple of names, are axes of a mesh that divide the mapped axis in the sharding
    constraints and the `shard_map`s of `fun`, which must not use them themselves.
    Shapes: x [.., n, ..] -> [.., n, ..].
    Raises: ValueError if the mapped axes differ in size, an axis is out of range, `axis_name` is the name of an axis
    of the mesh in `shard_map`, or `batch_size` is not positive or stands beside `axis_name`; TypeError if `in_axes` or
    `out_axes` does not fit; MissingRuleError for an operation without a batching rule.

    >>> import numpy as np
    >>> from calque_batching import vmap
    >>> vmap(lambda x, y: x * y, in_axes=(0, None))(np.arange(3.0), 2.0)
    array([0., 2., 4.])
    """
    check_callable(fun, "vmap")
    caller = f"vmap of {describe_function(fun)}"
    _check_options(caller, in_axes, axis_name, axis_size, missing)
    mesh_axes = _mesh_axes(caller, spmd_axis_name)
    if batch_size is not None:
        _check_batch_size(caller, batch_size, axis_name)

    @transform_of(fun)
    def batched(*args: P.args, **kwargs: P.kwargs) -> Any:
        flat, values, axes, names = _flat_call(caller, fun, in_axes, args, kwargs)
        if reference_types and any(type(x) in reference_types and d is not None for x, d in zip(values, axes)):
            check_distinct_references(caller, values)
            options = {"axis_name": axis_name, "axis_size": axis_size, "missing": missing, "batch_size": batch_size}
            mapped = functools.partial(vmap, spmd_axis_name=spmd_axis_name, **options)
            return _with_mapped_references(mapped, _with_result(flat, fun), values, axes, out_axes)
        leaves = canonical_leaves(caller, values, names, axes)
        dims, size = mapped_axes(caller, leaves, names, axes, axis_size)
        if batch_size is not None and size is not None and size > batch_size and any(d is not None for d in dims):
            _check_arrays_alone(caller, leaves, dims, names)
            piece = vmap(_with_result(flat, fun), tuple(dims), out_axes, missing=missing, spmd_axis_name=spmd_axis_name)
            axes_of_results = functools.partial(_axes_of_results, caller, out_axes)
            return results_in_pieces(piece, leaves, dims, (size, batch_size), axes_of_results)
        if axis_name is not None:
            check_free_name(caller, axis_name)
        trace = BatchTrace(current_trace(), AxisData(axis_name, size or 0, missing, mesh_axes))
        record_call(trace, fun)
        return _batched_results(flat, leaves, dims, Containers(caller, trace, size), out_axes)

    return batched


def _flat_call(
    caller: str, fun: Callable[..., Any], in_axes: Axes, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[FlatFunction, list[Value], Sequence[Any], Callable[[], Any]]:
    """Return the function of leaves, the leaves of its arguments, their axes, and a function that names them."""
    is_leaf = leaf_test()
    names = functools.partial(arg_names, fun, args, kwargs, is_leaf)
    if type(in_axes) is int and not kwargs:  # nearly always; 1 us sooner
        values, in_tree = tree_flatten(args, is_leaf)
        return FlatPrimals(fun, in_tree, "vmap", is_leaf=is_leaf), values, [in_axes] * len(values), names
    values, in_tree = tree_flatten((args, kwargs), is_leaf)
    spec = prefix_of_arguments(caller, fun, in_axes, args, kwargs)
    axes = axes_of_leaves(caller, "in_axes", in_tree, spec, lambda p: f"for {argument_at(fun, args, kwargs, p)}")
    return FlatFunction(fun, in_tree, "vmap", is_leaf=is_leaf), values, axes, names


def _axes_of_results(caller: str, out_axes: Axes, tree: PyTreeDef) -> Sequence[Any]:
    """Return the position of the mapped axis in each leaf of the result, whose structure is `tree`."""
    return axes_of_leaves(caller, "out_axes", tree, out_axes, lambda p: f"for the output{keystr(p)}")


def _batched_results(
    flat: FlatFunction, leaves: Sequence[Value], dims: Sequence[Any], containers: Containers, out_axes: Axes
) -> Any:
    """Return the batched results of `flat` on leaves with the mapped axes `dims`, computed under a trace."""
    trace, caller = containers.trace, containers.caller
    with tracing(trace):
        out_leaves = _results_for_elements(flat, leaves, dims, containers)
        if own_types:
            out_leaves = [*each_one_value(out_leaves)]
        outs, out_dims = trace.split(out_leaves)
        containers.find_differing(outs)
        axes = _axes_of_results(caller, out_axes, flat.out_tree)
        moved = functools.partial(moved_results, caller, flat, outs, out_dims, axes, containers)
        results = moved() if vmappables else None  # functions of their authors may compute with the element
    results = moved() if results is None else results
    # An unmapped result may be an array of the user's, one of `out_leaves`.
    return flat.out_tree.unflatten(copy_shared(results, leaves, out_leaves))


def _results_for_elements(
    flat: FlatFunction, leaves: Sequence[Value], dims: Sequence[Any], containers: Containers
) -> list[Value]:
    """Return the results of the user's function for the elements of the leaves."""
    trace = containers.trace
    make = element if own_types else BatchTracer
    elements = [
        x if d is None else containers.element(x, d) if type(x) in vmappables else make(trace, x, d)
        for x, d in zip(leaves, dims)
    ]
    size = known_size(containers.caller, containers.size)
    if trace.axis.name is None:
        return flat(*elements)
    with entered(axis_env=(*here().axis_env, (trace.axis.name, size))):
        return flat(*elements)


def _with_result(flat: FlatFunction, fun: Any) -> Callable[..., Any]:
    """Return `fun`, whose result `flat` gives as leaves, as a function of leaves."""

    @named_after(fun)
    def of_leaves(*leaves: Value) -> Any:
        outs = flat(*leaves)
        return flat.out_tree.unflatten(outs)

    return of_leaves


def _with_mapped_references(
    mapped: Callable[..., Any], fun: Callable[..., Any], values: Sequence[Value], axes: Sequence[Any], out_axes: Axes
) -> Any:
    """Map `fun` over the arrays of references: its references are elements, and their last arrays are written back."""
    positions = [i for i, (x, d) in enumerate(zip(values, axes)) if type(x) in reference_types and d is not None]
    arrays = [x.read() if i in positions else x for i, x in enumerate(values)]
    axes_of_last = [axes[i] for i in positions]
    out, last = mapped(with_references(fun, positions), tuple(axes), (out_axes, axes_of_last))(*arrays)
    for i, x in zip(positions, last):
        values[i].write(x)
    return out


def _mesh_axes(caller: str, spmd_axis_name: Any) -> tuple[Any, ...]:
    """Return the axes of a mesh that divide the mapped axis: none for None."""
    try:
        return PartitionSpec(spmd_axis_name).names
    except TypeError:
        message = f"{caller} got spmd_axis_name={spmd_axis_name!r}. Give a name, or a tuple of names, of mesh axes."
        raise TypeError(message) from None


def _check_batch_size(caller: str, batch_size: Any, axis_name: Any) -> None:
    if integer(caller, "batch_size", batch_size) < 1:
        raise ValueError(f"{caller} got batch_size={batch_size}. Give 1 or more.")
    if axis_name is not None:
        raise ValueError(
            f"{caller} got batch_size={batch_size} beside axis_name={axis_name!r}, but a collective over it would "
            "see one piece of it. Leave one of them out."
        )


def _check_arrays_alone(caller: str, leaves: Sequence[Value], dims: Sequence[Any], names: Callable[[], Any]) -> None:
    for i, (x, dim) in enumerate(zip(leaves, dims)):
        if dim is not None and type(x) in vmappables:
            raise TypeError(
                f"{caller}: batch_size divides arrays, but {names()[i]} is a {type(x).__name__}, whose class was given "
                "to register_vmappable. Leave batch_size out, or pass the arrays of the container."
            )


def _check_options(caller: str, in_axes: Axes, axis_name: Any, axis_size: Any, missing: Any) -> None:
    if in_axes is not None and not is_axis(in_axes) and not isinstance(in_axes, (tuple, list, dict, *spec_types())):
        raise TypeError(
            f"{caller} got in_axes={in_axes!r}. Give an int, None, a tuple with an entry per argument, or a dict from "
            "argument names to axes."
        )
    if isinstance(axis_name, tuple) or not isinstance(axis_name, Hashable):
        raise TypeError(f"{caller} got axis_name={axis_name!r}. Give one name, for example a string.")
    if axis_size is not None and (not is_axis(axis_size) or index(axis_size) < 0):
        raise TypeError(f"{caller} got axis_size={axis_size!r}. Give an int of zero or more, or leave it out.")
    if missing not in ("error", "loop"):
        raise ValueError(f"{caller} got missing={missing!r}. Give 'error' or 'loop'.")
