"""Named axes: values that the elements of a mapped axis exchange.

One idea: each primitive trades a named axis for an axis of the array, by position: `all_gather` gives every element an
axis with the values of all elements, `psum_scatter` sums and takes such an axis away, `all_to_all` swaps the two axes.
Several names, and axes that are cut or joined (`tiled`), are reshapes around them.

Read next: `collective.py`, the reductions over named axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.ops.elementwise.arithmetic import add
from calque_core.ops.elementwise.declare import NUMBER, as_result, undefined_message
from calque_core.ops.elementwise.weakness import strong
from calque_core.ops.indexing.dynamic import dynamic_index_in_dim
from calque_core.ops.meshes.collective import (
    AxisName,
    AxisNames,
    bound_names,
    pvary,
    refuse_unbound,
    sizes_of_axes,
    typed_axes,
)
from calque_core.ops.meshes.lockstep import Column, Positions, combined, for_all
from calque_core.ops.shapes.axes import canonical_axis, integer
from calque_core.ops.shapes.batch_axes import moveaxis
from calque_core.ops.shapes.create import zeros_like
from calque_core.ops.shapes.joining import stack
from calque_core.ops.shapes.shape import reshape
from calque_core.ops.shapes.slices import index_in_dim
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import ShapedArray, shaped_array, typeof
from calque_pytree import tree_map

Value = Any
Tree = Any
Axes = tuple[AxisName, ...]
Permutation = tuple[tuple[int, int], ...]


def _declare(name: str, combine: Callable[..., Column]) -> Primitive:
    """Declare a primitive; `combine(values, **params)` gives each element its result, from the values of all.

    The result varies along the axis.
    """

    def lockstep(positions: Positions, column: Column, *, axis_name: AxisName, **params: Any) -> Column:
        return combined(positions, (axis_name,), list(map(strong, column)), lambda values: combine(values, **params))

    primitive = Primitive(name, linearity="linear")
    primitive.def_impl(lambda x, *, axis_name, **_: refuse_unbound(name, axis_name), leaf=True)
    primitive.def_rule("lockstep", lockstep)
    primitive.def_rule("vma", lambda vmas, *, axis_name, **_: [vmas[0].union(typed_axes((axis_name,)))])
    return primitive


def _slice(x: Value, place: int, axis: int) -> Value:
    return index_in_dim(x, place, axis, keepdims=False)


# The values of all elements


def _gathered(values: Column, *, axis: int) -> Column:
    return [stack(values, axis)] * len(values)


all_gather_p = _declare("all_gather", _gathered)
all_gather_invariant_p = _declare("all_gather_invariant", _gathered)
all_gather_invariant_p.def_rule(
    "vma", lambda vmas, *, axis_name, **_: [vmas[0].difference(typed_axes((axis_name,)))], override=True
)


@all_gather_p.def_abstract_eval
@all_gather_invariant_p.def_abstract_eval
def all_gather_abstract_eval(x_aval: ShapedArray, *, axis_name: AxisName, axis: int) -> ShapedArray:
    (size,) = sizes_of_axes("all_gather", (axis_name,))
    return shaped_array((*x_aval.shape[:axis], size, *x_aval.shape[axis:]), x_aval.dtype)


def all_gather(x: Tree, axis_name: AxisNames, *, axis: int = 0, tiled: bool = False) -> Tree:
    """Return the values of `x` of all elements of the mapped axis `axis_name`, or of several, along `axis`.

    `x` may be a pytree.  With `tiled`, the values are joined along an axis that `x` has.
    Shapes: x [*a, *b] -> [*a, n, *b]; with `tiled`, x [*a, m, *b] -> [*a, n * m, *b].  Dtype: kept.
    Raises: NameError if the name is not bound; ValueError if the axis is out of range.

    >>> import numpy as np
    >>> from calque_core import AbstractMesh, PartitionSpec as P, lax, shard_map
    >>> mesh = AbstractMesh((2,), ("i",))
    >>> gather = lambda x: lax.all_gather(x, "i", tiled=True)
    >>> shard_map(gather, mesh=mesh, in_specs=P("i"), out_specs=P("i"))(np.array([1.0, 2.0]))
    array([1., 2., 1., 2.])
    """
    return _gather(all_gather_p, x, axis_name, axis, tiled)


def all_gather_invariant(x: Tree, axis_name: AxisNames, *, axis: int = 0, tiled: bool = False) -> Tree:
    """Return the same as `all_gather`, with a type that says that all elements of the mapped axis have one result.

    So a `shard_map` may return it undivided.  The transpose takes the slice of each element, and communicates nothing:
    all elements have one cotangent.
    Shapes, dtype and errors are those of `all_gather`.

    >>> import numpy as np
    >>> from calque_core import AbstractMesh, PartitionSpec as P, lax, shard_map
    >>> mesh = AbstractMesh((2,), ("i",))
    >>> gather = lambda x: lax.all_gather_invariant(x, "i", tiled=True)
    >>> shard_map(gather, mesh=mesh, in_specs=P("i"), out_specs=P())(np.arange(4.0))
    array([0., 1., 2., 3.])
    """
    return _gather(all_gather_invariant_p, x, axis_name, axis, tiled)


def _gather(primitive: Primitive, x: Tree, axis_name: AxisNames, axis: int, tiled: bool) -> Tree:
    caller = primitive.name
    axes = bound_names(caller, axis_name)

    def gather(leaf: Value) -> Value:
        leaf, shape = pvary(leaf, axes), typeof(leaf).shape
        position = canonical_axis(caller, axis, len(shape) + (not tiled))
        for name in reversed(axes):
            leaf = primitive.bind(leaf, axis_name=name, axis=position)
        size = prod(sizes_of_axes(caller, axes))
        joined = (size * shape[position],) if tiled else (size,)
        return reshape(as_result(leaf), (*shape[:position], *joined, *shape[position + tiled :]))

    return tree_map(gather, x)


def pbroadcast(x: Tree, axis_name: AxisNames, source: int) -> Tree:
    """Return the value of `x` of the element at position `source` of the mapped axis, for every element.

    `x` may be a pytree.
    Shapes: x [*s] -> [*s].  Dtype: kept.
    Raises: NameError if the name is not bound; ValueError if there is no such element.
    """
    size = prod(sizes_of_axes("pbroadcast", bound_names("pbroadcast", axis_name)))
    position = integer("pbroadcast", "source", source)
    if not 0 <= position < size:
        raise ValueError(f"pbroadcast{where()}: source is {source}, but there are {size} elements. Give one of them.")
    return tree_map(lambda leaf: dynamic_index_in_dim(all_gather(leaf, axis_name), position, 0, keepdims=False), x)


# Sums, of which each element keeps its own


def _scattered_sum(values: Column, *, axis: int) -> Column:
    (total, *_) = for_all(add)(values)
    return [_slice(total, place, axis) for place in range(len(values))]


psum_scatter_p = _declare("psum_scatter", _scattered_sum)


@psum_scatter_p.def_abstract_eval
def psum_scatter_abstract_eval(x_aval: ShapedArray, *, axis_name: AxisName, axis: int) -> ShapedArray:
    _check_size("psum_scatter", x_aval, axis, sizes_of_axes("psum_scatter", (axis_name,))[0])
    if x_aval.kind not in NUMBER:
        raise TypeError(undefined_message("psum_scatter", x_aval))
    return shaped_array(x_aval.shape[:axis] + x_aval.shape[axis + 1 :], x_aval.dtype)


def _check_size(name: str, x_aval: ShapedArray, axis: int, size: int) -> None:
    if x_aval.shape[axis] != size:
        raise ShapeError(
            f"{name} of {x_aval}{where()}: axis {axis} has size {x_aval.shape[axis]}, but there are {size} elements. "
            "Give an axis of that size, or tiled=True for a multiple of it."
        )


def psum_scatter(x: Tree, axis_name: AxisNames, *, scatter_dimension: int = 0, tiled: bool = False) -> Tree:
    """Return the sum of `x` over the elements of the mapped axis; each element gets its own slice of the sum.

    `x` may be a pytree.  With `tiled`, a slice is a section of the axis `scatter_dimension`.
    Shapes: x [*a, n, *b] -> [*a, *b]; with `tiled`, x [*a, n * m, *b] -> [*a, m, *b].  Dtype: kept.
    Raises: NameError if the name is not bound; ShapeError if the size of the axis does not fit the number of elements;
    TypeError for bools.

    >>> import numpy as np
    >>> from calque_core import AbstractMesh, PartitionSpec as P, lax, shard_map
    >>> mesh = AbstractMesh((2,), ("i",))
    >>> scattered_sum = lambda x: lax.psum_scatter(x, "i", tiled=True)
    >>> shard_map(scattered_sum, mesh=mesh, in_specs=P("i"), out_specs=P("i"))(np.arange(4.0))
    array([2., 4.])
    """
    axes = bound_names("psum_scatter", axis_name)

    def scatter(leaf: Value) -> Value:
        position = canonical_axis("psum_scatter", scatter_dimension, typeof(leaf).ndim)
        leaf = _with_named_sizes("psum_scatter", pvary(leaf, axes), position, axes, tiled)
        for name in axes:
            psum_scatter_p.abstract(typeof(leaf), axis_name=name, axis=position)
            leaf = psum_scatter_p.bind(leaf, axis_name=name, axis=position)
        return as_result(leaf)

    return tree_map(scatter, x)


def _with_named_sizes(name: str, x: Value, axis: int, axes: tuple[AxisName, ...], tiled: bool) -> Value:
    """Return `x` with `axis` cut into one axis for each name, and, with `tiled`, one axis for the elements of each."""
    aval, sizes = typeof(x), sizes_of_axes(name, axes)
    if not tiled:
        _check_size(name, aval, axis, prod(sizes))
        return reshape(x, (*aval.shape[:axis], *sizes, *aval.shape[axis + 1 :]))
    if aval.shape[axis] % prod(sizes):
        raise ShapeError(
            f"{name} of {aval}{where()}: axis {axis} of size {aval.shape[axis]} does not divide among {prod(sizes)} "
            "elements. Give a multiple of that number."
        )
    return reshape(x, (*aval.shape[:axis], *sizes, aval.shape[axis] // prod(sizes), *aval.shape[axis + 1 :]))


# A named axis and an axis of the array, swapped


def _swapped(values: Column, *, axis: int) -> Column:
    return [stack([_slice(x, place, axis) for x in values], axis) for place in range(len(values))]


all_to_all_p = _declare("all_to_all", _swapped)


@all_to_all_p.def_abstract_eval
def all_to_all_abstract_eval(x_aval: ShapedArray, *, axis_name: AxisName, axis: int) -> ShapedArray:
    _check_size("all_to_all", x_aval, axis, sizes_of_axes("all_to_all", (axis_name,))[0])
    return x_aval.strip_weak_type()


def all_to_all(x: Tree, axis_name: AxisNames, split_axis: int, concat_axis: int, *, tiled: bool = False) -> Tree:
    """Return, for element i, the i-th slices of all elements: of `x` along `split_axis`, side by side on `concat_axis`.

    `x` may be a pytree.  With `tiled`, slices are sections of `split_axis`, and are joined along `concat_axis`.
    Shapes: x [n, *s] -> [*a, n, *b], with [*a, *b] = [*s]; with `tiled`, x [n * m, k] -> [m, n * k].  Dtype: kept.
    Raises: NameError if the name is not bound; ShapeError if the size of `split_axis` does not fit the number of
    elements; ValueError if an axis is out of range.

    >>> import numpy as np
    >>> from calque_core import AbstractMesh, PartitionSpec as P, lax, shard_map
    >>> mesh = AbstractMesh((2,), ("i",))
    >>> exchange = lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True)
    >>> shard_map(exchange, mesh=mesh, in_specs=P("i"), out_specs=P("i"))(np.arange(4.0))
    array([0., 2., 1., 3.])
    """
    axes = bound_names("all_to_all", axis_name)
    size = prod(sizes_of_axes("all_to_all", axes))

    def exchange(leaf: Value) -> Value:
        ndim = typeof(leaf).ndim
        split = canonical_axis("all_to_all", split_axis, ndim)
        concat = canonical_axis("all_to_all", concat_axis, ndim)
        leaf = _with_named_sizes("all_to_all", pvary(leaf, axes), split, axes, tiled)
        for position, name in enumerate(axes, split):
            leaf = all_to_all_p.bind(leaf, axis_name=name, axis=position)
        shape = typeof(leaf).shape
        leaf = reshape(leaf, (*shape[:split], size, *shape[split + len(axes) :]))
        leaf = moveaxis(leaf, split, concat)
        if not tiled:
            return as_result(leaf)
        shape = typeof(leaf).shape
        return reshape(leaf, (*shape[:concat], shape[concat] * shape[concat + 1], *shape[concat + 2 :]))

    return tree_map(exchange, x)


def pswapaxes(x: Tree, axis_name: AxisNames, axis: int) -> Tree:
    """Return `x` with the mapped axis `axis_name` and the array's `axis` swapped.

    `x` may be a pytree.
    Shapes: x [*a, n, *b] -> [*a, n, *b], for n elements.  Dtype: kept.
    Raises: NameError if the name is not bound; ShapeError if `axis` has another size.
    """
    return all_to_all(x, axis_name, axis, axis)


# Values sent from element to element


def _sent(values: Column, *, perm: Permutation) -> Column:
    sources = {target: source for source, target in perm}
    return [values[sources[i]] if i in sources else zeros_like(x) for i, x in enumerate(values)]


# Along several axes a permutation is no chain of permutations along each, so one equation names all of them.
ppermute_p = Primitive("ppermute", linearity="linear")


@ppermute_p.def_abstract_eval
def ppermute_abstract_eval(x_aval: ShapedArray, *, axes: Axes, perm: Permutation) -> ShapedArray:
    _check_permutation("ppermute", perm, prod(sizes_of_axes("ppermute", axes)))
    return x_aval.strip_weak_type()


def ppermute_impl(x: Value, *, axes: Axes, perm: Permutation) -> Value:
    refuse_unbound("ppermute", axes[0])


ppermute_p.def_impl(ppermute_impl, leaf=True)


@ppermute_p.def_rule("lockstep")
def ppermute_lockstep(positions: Positions, column: Column, *, axes: Axes, perm: Permutation) -> Column:
    return combined(positions, axes, list(map(strong, column)), lambda values: _sent(values, perm=perm))


@ppermute_p.def_rule("vma")
def ppermute_vma(vmas: Sequence[frozenset[AxisName]], *, axes: Axes, perm: Permutation) -> list[frozenset[AxisName]]:
    return [vmas[0].union(typed_axes(axes))]


def _check_permutation(name: str, perm: Permutation, size: int) -> None:
    sources, targets = [source for source, _ in perm], [target for _, target in perm]
    if len({*sources}) != len(perm) or len({*targets}) != len(perm) or not {*sources, *targets} <= {*range(size)}:
        raise ValueError(
            f"{name}{where()}: perm is {perm}, for {size} elements. Give pairs (source, target) in which no element "
            "occurs twice as a source, or twice as a target."
        )


def ppermute(x: Tree, axis_name: AxisNames, perm: Iterable[tuple[int, int]]) -> Tree:
    """Return the value of `x` that another element of the mapped axis sends; zeros where none does.

    `x` may be a pytree; `perm` has pairs (source, target) of positions.  Along several axes, positions are those of
    `axis_index`: in row-major order.
    Shapes: x [*s] -> [*s].  Dtype: kept.
    Raises: NameError if the name is not bound; ValueError if an element occurs twice as a source or as a target, or
    does not exist.

    >>> import numpy as np
    >>> from calque_core import AbstractMesh, PartitionSpec as P, lax, shard_map
    >>> mesh = AbstractMesh((2,), ("i",))
    >>> to_the_right = lambda x: lax.ppermute(x, "i", [(0, 1)])
    >>> shard_map(to_the_right, mesh=mesh, in_specs=P("i"), out_specs=P("i"))(np.array([1.0, 2.0]))
    array([0., 1.])
    """
    axes = bound_names("ppermute", axis_name)
    pairs = tuple((integer("ppermute", "perm", a), integer("ppermute", "perm", b)) for a, b in perm)

    def send(leaf: Value) -> Value:
        ppermute_p.abstract(typeof(leaf), axes=axes, perm=pairs)
        if not axes:  # one element, which sends to itself or to none
            return as_result(leaf) if pairs else zeros_like(leaf)
        return ppermute_p.bind(pvary(leaf, axes), axes=axes, perm=pairs)

    return tree_map(send, x)


def pshuffle(x: Tree, axis_name: AxisNames, perm: Sequence[int]) -> Tree:
    """Return the value of `x` of the element `perm[i]` of the mapped axis, for element i.

    `x` may be a pytree; `perm` is a permutation of the positions, of several axes in row-major order.
    Shapes: x [*s] -> [*s].  Dtype: kept.
    Raises: NameError if the name is not bound; ValueError if `perm` is no permutation.
    """
    size = prod(sizes_of_axes("pshuffle", bound_names("pshuffle", axis_name)))
    sources = [integer("pshuffle", "perm", source) for source in perm]
    if sorted(sources) != list(range(size)):
        raise ValueError(
            f"pshuffle{where()}: perm is {sources}, for {size} elements. Give each position once, or "
            "use ppermute to send to some elements only."
        )
    return ppermute(x, axis_name, zip(sources, range(size)))
