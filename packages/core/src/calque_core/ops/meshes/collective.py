"""Named axes: reductions over the elements of a mapped axis, and their positions.

One idea: a primitive names an axis, and the transformation that maps that axis, such as batching, gives the name its
meaning.  `here().axis_env` has the bound names and their sizes; of two axes with one name the inner one counts.
Evaluation has no axes but those of the mesh of `shard_map`, whose positions run in lockstep; any other name that
reaches it is unbound.

Read next: `exchange.py`, the values that elements exchange.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import Any, NoReturn

import numpy as np

from calque_core.context import here
from calque_core.frames.source import where
from calque_core.ops.elementwise.arithmetic import add, div, max, min, mul
from calque_core.ops.elementwise.compare import bitwise_or, eq, ne, select
from calque_core.ops.elementwise.convert import convert_element_type
from calque_core.ops.elementwise.declare import ANY, NUMBER, undefined_message
from calque_core.ops.elementwise.operands import floating
from calque_core.ops.elementwise.weakness import strong
from calque_core.ops.meshes.lockstep import Column, Positions, combined, for_all
from calque_core.ops.shapes.broadcast import broadcast_to
from calque_core.ops.shapes.create import full_like
from calque_core.primitives.primitive import Linearity, Primitive
from calque_core.types.avals import ShapedArray, shaped_array, typeof
from calque_core.types.dtypes import scalar_dtype
from calque_pytree import tree_map

Value = Any
Tree = Any
AxisName = Hashable
AxisNames = AxisName | tuple[AxisName, ...]
AxisSet = frozenset[AxisName]


def sizes_of_axes(name: str, axes: tuple[AxisName, ...]) -> list[int]:
    """Return the sizes of named axes.

    Raises: NameError if one is not bound.
    """
    env = dict(here().axis_env)
    for axis in axes:
        if axis not in env:
            refuse_unbound(name, axis)
    return [env[axis] for axis in axes]


def refuse_unbound(name: str, axis: AxisName) -> NoReturn:
    """Raise the NameError of an operation on a named axis that is not bound."""
    bound = ", ".join(repr(known) for known in dict(here().axis_env) if known != axis) or "none"
    raise NameError(
        f"unbound axis name: {axis}. {name}{where()} needs a mapped axis of that name; the bound names are: {bound}. "
        f"Call it in a function under vmap(..., axis_name={axis!r})."
    )


def bound_names(name: str, axis_name: AxisNames) -> tuple[AxisName, ...]:
    """Return the axes that an argument names; all must be bound."""
    axes = axis_name if isinstance(axis_name, tuple) else (axis_name,)
    for axis in axes:
        if not isinstance(axis, Hashable):
            raise TypeError(f"{name}{where()}: axis_name is {axis_name!r}. Give a name or a tuple of names.")
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}{where()}: axis_name is {axis_name!r}, with one axis twice. Name each axis once.")
    sizes_of_axes(name, axes)
    return axes


# Reductions over the elements


def _declare(
    name: str, kinds: str, combine: Callable[[Value, Value], Value], linearity: Linearity | None = None
) -> Primitive:
    primitive = Primitive(name, linearity=linearity)

    @primitive.def_abstract_eval
    def abstract_eval(x_aval: ShapedArray, *, axes: tuple[AxisName, ...]) -> ShapedArray:
        sizes_of_axes(name, axes)
        if x_aval.kind not in kinds:
            raise TypeError(undefined_message(name, x_aval))
        return x_aval.strip_weak_type()

    def lockstep(positions: Positions, column: Column, *, axes: tuple[AxisName, ...]) -> Column:
        return combined(positions, axes, list(map(strong, column)), for_all(combine))

    primitive.def_impl(lambda x, *, axes: refuse_unbound(name, axes[0]), leaf=True)
    primitive.def_rule("lockstep", lockstep)
    primitive.def_rule("vma", lambda vmas, *, axes: [vmas[0].difference(typed_axes(axes))])
    return primitive


psum_p = _declare("psum", NUMBER, add, linearity="linear")
pmax_p = _declare("pmax", ANY, max)
pmin_p = _declare("pmin", ANY, min)


def psum(x: Tree, axis_name: AxisNames) -> Tree:
    """Return the sum of `x` over the elements of the mapped axis `axis_name`, or of several.

    `x` may be a pytree.  A value that is the same for every element is multiplied by their number.
    Shapes: x [*s] -> [*s].  Dtype: kept; bools are summed as integers.
    Raises: NameError if the name is not bound.

    >>> from calque_core.lax import psum
    >>> psum(1.0, "i")
    Traceback (most recent call last):
        ...
    NameError: unbound axis name: i. psum at <doctest ...
    """
    axes = bound_names("psum", axis_name)
    return tree_map(lambda leaf: _bind(psum_p, _countable(leaf), axes), x)


def _bind(primitive: Primitive, x: Value, axes: tuple[AxisName, ...]) -> Value:
    x = pvary(x, axes)
    aval = typeof(x)
    primitive.abstract(aval, axes=axes)
    return primitive.bind(x, axes=axes) if axes else convert_element_type(x, aval.dtype)


def _countable(x: Value) -> Value:
    return convert_element_type(x, scalar_dtype(int)) if typeof(x).kind == "b" else x


def pmean(x: Tree, axis_name: AxisNames) -> Tree:
    """Return the mean of `x` over the elements of the mapped axis `axis_name`, or of several.

    `x` may be a pytree.
    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.
    Raises: NameError if the name is not bound.

    >>> import numpy as np
    >>> from calque_core import AbstractMesh, PartitionSpec as P, lax, shard_map
    >>> mesh = AbstractMesh((2,), ("i",))
    >>> shard_map(lambda x: lax.pmean(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P())(np.array([1.0, 3.0]))
    array([2.])
    """
    size = prod(sizes_of_axes("pmean", bound_names("pmean", axis_name)))
    return tree_map(lambda leaf: div(floating(psum(leaf, axis_name)), size), x)


def pmax(x: Tree, axis_name: AxisNames) -> Tree:
    """Return the greatest `x` of the elements of the mapped axis `axis_name`, or of several.  NaN wins.

    `x` may be a pytree.
    Shapes: x [*s] -> [*s].  Dtype: kept; complex numbers are compared by the real part first.
    Raises: NameError if the name is not bound.

    >>> import numpy as np
    >>> from calque_core import AbstractMesh, PartitionSpec as P, lax, shard_map
    >>> mesh = AbstractMesh((2,), ("i",))
    >>> shard_map(lambda x: lax.pmax(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P())(np.array([1.0, 3.0]))
    array([3.])
    """
    axes = bound_names("pmax", axis_name)
    return tree_map(lambda leaf: _bind(pmax_p, leaf, axes), x)


def pmin(x: Tree, axis_name: AxisNames) -> Tree:
    """Return the least `x` of the elements of the mapped axis `axis_name`, or of several.  NaN wins.

    `x` may be a pytree.
    Shapes: x [*s] -> [*s].  Dtype: kept; complex numbers are compared by the real part first.
    Raises: NameError if the name is not bound.
    """
    axes = bound_names("pmin", axis_name)
    return tree_map(lambda leaf: _bind(pmin_p, leaf, axes), x)


def pargmax(x: Tree, axis_name: AxisNames) -> Tree:
    """Return the first position along the mapped axis `axis_name` with the greatest `x`; NaN wins.

    `x` may be a pytree.  Positions along several axes are counted in row-major order.
    Shapes: x [*s] -> [*s].  Dtype: int32.
    Raises: NameError if the name is not bound.

    >>> import numpy as np
    >>> from calque_core import AbstractMesh, PartitionSpec as P, lax, shard_map
    >>> mesh = AbstractMesh((2,), ("i",))
    >>> shard_map(lambda x: lax.pargmax(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P())(np.array([1.0, 3.0]))
    array([1], dtype=int32)
    """
    axes = bound_names("pargmax", axis_name)
    return tree_map(lambda leaf: _position_of(pmax(leaf, axes), leaf, axes), x)


def pargmin(x: Tree, axis_name: AxisNames) -> Tree:
    """Return the first position along the mapped axis `axis_name` with the least `x`; NaN wins.

    `x` may be a pytree.  Positions along several axes are counted in row-major order.
    Shapes: x [*s] -> [*s].  Dtype: int32.
    Raises: NameError if the name is not bound.
    """
    axes = bound_names("pargmin", axis_name)
    return tree_map(lambda leaf: _position_of(pmin(leaf, axes), leaf, axes), x)


def _position_of(extreme: Value, x: Value, axes: tuple[AxisName, ...]) -> Value:
    """Return the first position whose element is the extreme, or NaN."""
    is_found = bitwise_or(eq(x, extreme), ne(x, x))
    position = broadcast_to(axis_index(axes), typeof(x).shape)
    return pmin(select(is_found, position, full_like(position, np.iinfo(np.int32).max)), axes)


# Positions among the elements

axis_index_p = Primitive("axis_index")


@axis_index_p.def_abstract_eval
def axis_index_abstract_eval(*, axis_name: AxisName) -> ShapedArray:
    sizes_of_axes("axis_index", (axis_name,))
    return shaped_array((), np.dtype("int32"))


def axis_index_impl(*, axis_name: AxisName) -> Value:
    refuse_unbound("axis_index", axis_name)


axis_index_p.def_impl(axis_index_impl, leaf=True)


@axis_index_p.def_rule("vma")
def axis_index_vma(vmas: Sequence[AxisSet], *, axis_name: AxisName) -> list[AxisSet]:
    return [frozenset(typed_axes((axis_name,)))]


@axis_index_p.def_rule("lockstep")
def axis_index_lockstep(positions: Positions, *, axis_name: AxisName) -> Column:
    return list(map(np.int32, positions.along(axis_name)))


def axis_index(axis_name: AxisNames) -> Value:
    """Return the position of this element along the mapped axis `axis_name`; along several, in row-major order.

    Shapes: -> [].  Dtype: int32.
    Raises: NameError if the name is not bound.

    >>> import numpy as np
    >>> from calque_core import AbstractMesh, PartitionSpec as P, lax, shard_map
    >>> mesh = AbstractMesh((2,), ("i",))
    >>> shard_map(lambda x: x + lax.axis_index("i"), mesh=mesh, in_specs=P("i"), out_specs=P("i"))(np.zeros(4))
    array([0., 0., 1., 1.])
    """
    axes = bound_names("axis_index", axis_name)
    position = np.int32(0)
    for axis, size in zip(axes, sizes_of_axes("axis_index", axes)):
        inner = axis_index_p.bind(axis_name=axis)
        position = inner if axis is axes[0] else add(mul(position, np.int32(size)), inner)
    return position


def axis_size(axis_name: AxisNames) -> int:
    """Return the number of elements of the mapped axis `axis_name`, a Python int; of several, the product.

    Raises: NameError if the name is not bound.

    >>> import numpy as np
    >>> from calque_core import AbstractMesh, PartitionSpec as P, lax, shard_map
    >>> mesh = AbstractMesh((2,), ("i",))
    >>> shard_map(lambda x: x / lax.axis_size("i"), mesh=mesh, in_specs=P("i"), out_specs=P("i"))(np.ones(2))
    array([0.5, 0.5])
    """
    return prod(sizes_of_axes("axis_size", bound_names("axis_size", axis_name)))


# Values that are the same for all elements, and may differ from now on

pvary_p = Primitive("pvary", linearity="linear")


@pvary_p.def_abstract_eval
def pvary_abstract_eval(x_aval: ShapedArray, *, axes: tuple[AxisName, ...]) -> ShapedArray:
    sizes_of_axes("pvary", axes)
    return x_aval


def pvary_impl(x: Value, *, axes: tuple[AxisName, ...]) -> Value:
    return x


pvary_p.def_impl(pvary_impl, leaf=True)


@pvary_p.def_rule("vma")
def pvary_vma(vmas: Sequence[AxisSet], *, axes: tuple[AxisName, ...]) -> list[AxisSet]:
    return [vmas[0].union(here().varying_axes.intersection(axes))]


def pvary(x: Tree, axis_name: AxisNames) -> Tree:
    """Return `x` with a type that says that it may vary along the axis `axis_name` of a mesh, or along several.

    `x` may be a pytree.  Operations insert it where they need it; it communicates nothing, and its transpose is `psum`.
    Outside of `shard_map(check_vma=True)`, types do not say along which axes a value varies, and `x` is returned.
    Shapes: x [*s] -> [*s].  Dtype: kept.
    Raises: NameError if the name is not bound.

    >>> import numpy as np
    >>> from calque_core import AbstractMesh, PartitionSpec as P, lax, shard_map
    >>> same = shard_map(lambda x: lax.pvary(x, "i"), mesh=AbstractMesh((2,), ("i",)), in_specs=P(), out_specs=P("i"))
    >>> same(np.array([1.0, 2.0]))
    array([1., 2., 1., 2.])
    """
    axes = typed_axes(bound_names("pvary", axis_name))
    return tree_map(lambda leaf: _varied(leaf, axes), x) if axes else x


def _varied(x: Value, axes: tuple[AxisName, ...]) -> Value:
    missing = tuple([axis for axis in axes if axis not in typeof(x).vma])
    return pvary_p.bind(x, axes=missing) if missing else x


def check_free_name(caller: str, axis_name: AxisName) -> None:
    """Check that types do not name an axis: with two axes of one name, nobody could tell which one a type means.

    Raises: ValueError.
    """
    if axis_name in here().varying_axes:
        raise ValueError(
            f"{caller}{where()}: the axis {axis_name!r} has a meaning here already, from an outer shard_map. Use "
            "another axis_name."
        )


def typed_axes(axes: tuple[AxisName, ...]) -> tuple[AxisName, ...]:
    """Return the axes, of those named, for which types say whether a value varies along them."""
    context = here()
    if not context.varying_axes:
        return ()
    names = [name for name, _ in context.axis_env]
    return tuple([axis for axis in axes if axis in context.varying_axes and names.count(axis) == 1])
