"""Named axes: reductions over the elements of a mapped axis, and their positions.

One idea: a primitive names an axis, and the transformation that maps that axis, such as batching, gives the name its
meaning.  `here().axis_env` has the bound names and their sizes; of two axes with one name the inner one counts.
Evaluation has no axes: a name that reaches it is unbound.

Read next: `exchange.py`, the values that elements exchange.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import prod
from typing import Any, NoReturn

import numpy as np

from calque_core.context import here
from calque_core.frames.source import where
from calque_core.jaxprs.jaxpr import Jaxpr, jaxprs_in_params
from calque_core.jaxprs.walk import nested_jaxprs
from calque_core.ops.arithmetic import add, div, mul
from calque_core.ops.convert import convert_element_type
from calque_core.ops.declare import NUMBER, ORDERED, undefined_message
from calque_core.ops.operands import floating
from calque_core.primitives.primitive import Linearity, Primitive
from calque_core.types.avals import ShapedArray, shaped_array, typeof
from calque_core.types.dtypes import scalar_dtype
from calque_pytree import tree_map

Value = Any
Tree = Any
AxisName = Hashable
AxisNames = AxisName | tuple[AxisName, ...]


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


def _declare(name: str, kinds: str, linearity: Linearity | None = None) -> Primitive:
    primitive = Primitive(name, linearity=linearity)

    @primitive.def_abstract_eval
    def abstract_eval(x_aval: ShapedArray, *, axes: tuple[AxisName, ...]) -> ShapedArray:
        sizes_of_axes(name, axes)
        if x_aval.kind not in kinds:
            raise TypeError(undefined_message(name, x_aval))
        return x_aval.strip_weak_type()

    primitive.def_impl(lambda x, *, axes: refuse_unbound(name, axes[0]), leaf=True)
    return primitive


psum_p = _declare("psum", NUMBER, linearity="linear")
pmax_p = _declare("pmax", ORDERED)
pmin_p = _declare("pmin", ORDERED)


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
    """
    size = prod(sizes_of_axes("pmean", bound_names("pmean", axis_name)))
    return tree_map(lambda leaf: div(floating(psum(leaf, axis_name)), size), x)


def pmax(x: Tree, axis_name: AxisNames) -> Tree:
    """Return the greatest `x` of the elements of the mapped axis `axis_name`, or of several.  NaN wins.

    `x` may be a pytree.
    Shapes: x [*s] -> [*s].  Dtype: kept.
    Raises: NameError if the name is not bound; TypeError for complex numbers.
    """
    axes = bound_names("pmax", axis_name)
    return tree_map(lambda leaf: _bind(pmax_p, leaf, axes), x)


def pmin(x: Tree, axis_name: AxisNames) -> Tree:
    """Return the least `x` of the elements of the mapped axis `axis_name`, or of several.  NaN wins.

    `x` may be a pytree.
    Shapes: x [*s] -> [*s].  Dtype: kept.
    Raises: NameError if the name is not bound; TypeError for complex numbers.
    """
    axes = bound_names("pmin", axis_name)
    return tree_map(lambda leaf: _bind(pmin_p, leaf, axes), x)


# Positions among the elements

axis_index_p = Primitive("axis_index")


@axis_index_p.def_abstract_eval
def axis_index_abstract_eval(*, axis_name: AxisName) -> ShapedArray:
    sizes_of_axes("axis_index", (axis_name,))
    return shaped_array((), np.dtype("int32"))


def axis_index_impl(*, axis_name: AxisName) -> Value:
    refuse_unbound("axis_index", axis_name)


axis_index_p.def_impl(axis_index_impl, leaf=True)


def axis_index(axis_name: AxisNames) -> Value:
    """Return the position of this element along the mapped axis `axis_name`; along several, in row-major order.

    Shapes: -> [].  Dtype: int32.
    Raises: NameError if the name is not bound.
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
    """
    return prod(sizes_of_axes("axis_size", bound_names("axis_size", axis_name)))


# The names in a program


def named_axes(params: Mapping[str, Any]) -> frozenset[AxisName]:
    """Return the axes that an equation with these parameters, or a program in it, names.

    By convention a parameter `axis_name` is a name and a parameter `axes` a tuple of names, also in primitives of other
    packages.  The positions in the `axes` of ordinary reductions are returned too; no axis has them as its name.

    >>> from calque_core.extend import named_axes
    >>> sorted(named_axes({"axes": ("i", "j")}))
    ['i', 'j']
    """
    names = set(_own_names(params))
    for jaxpr in jaxprs_in_params(dict(params)):
        names |= _names_in(jaxpr)
    return frozenset(names)


def _names_in(jaxpr: Jaxpr) -> frozenset[AxisName]:
    def find() -> frozenset[AxisName]:
        return frozenset(n for inner in nested_jaxprs(jaxpr) for eqn in inner.eqns for n in _own_names(eqn.params))

    return jaxpr.memo("named axes", find)  # type: ignore[no-any-return]


def _own_names(params: Mapping[str, Any]) -> tuple[AxisName, ...]:
    axes = params.get("axes")
    names = axes if isinstance(axes, tuple) else ()
    return (*names, params["axis_name"]) if "axis_name" in params else names
