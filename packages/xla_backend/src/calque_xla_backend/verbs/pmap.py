"""`pmap`: a function of one element becomes a program with one element on each device.

One idea: the mapped function is one equation, `xla_pmap`, of a jitted function; that equation means a `shard_map` over
a mesh of its own, so every transformation and the compiler know it already.

Read next: `jit.py`, which runs it; `ops/meshes/pmap.py` in core, the equation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from operator import index
from typing import Any, NamedTuple, ParamSpec

import numpy as np

from calque_core import ShapedArray, api_boundary, hoist_tracers, stage, typeof
from calque_core.engine import (
    FlatFunction,
    StaticArguments,
    arg_names,
    argument_at,
    entered,
    here,
    leaf_names,
    name_of,
    named_after,
    static_arguments,
    with_static,
)
from calque_core.extend import check_callable, describe_function
from calque_core.lax import pmap_p
from calque_pytree import KeyPath, PyTreeDef, flatten_axes, keystr, tree_flatten
from calque_xla_backend.compiler import compiler_of
from calque_xla_backend.runtime.clients import Device, DeviceClass
from calque_xla_backend.verbs.jit import Jitted, jit

P = ParamSpec("P")
Value = Any
Axes = Any
Names = Callable[[], Sequence[str]]


@api_boundary
def pmap(  # noqa: PLR0913 -- JAX's options
    fun: Callable[P, Any],
    axis_name: Hashable = None,
    *,
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    static_broadcasted_argnums: int | Sequence[int] = (),
    devices: Sequence[Device] | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Jitted[P, Any]:
    """Return a function that maps `fun` over one axis of its arguments, with one element on each device.

    `in_axes` is an int (from the end if negative), None for an argument that each device gets whole, or a tuple with an
    entry per positional argument, each of which may be a pytree prefix of its argument; keyword arguments are mapped
    over axis 0.  `out_axes`, an int, None or a pytree prefix of the result, is the position of the axis in the result;
    None is for results that are the same for every element.  `axis_name` names the axis for collectives; `axis_size` is
    needed if no argument is mapped.  Static arguments reach `fun` unchanged and must be hashable.  XLA may overwrite
    the arrays in the arguments of `donate_argnums`.  Element i runs on `devices[i]`, by default on the i-th device;
    inside another `pmap`, each element of the outer axis has its own row of devices.
    Shapes: x [.., n, ..] -> [.., n, ..].
    Raises: TypeError if `fun` is not a function, or `in_axes` or `out_axes` does not fit; ValueError if the mapped axes
    differ in size, an axis is out of range, or there are too few devices.

    >>> import numpy as np
    >>> from calque_core import lax
    >>> from calque_xla_backend import pmap
    >>> pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(np.ones((1, 2)))
    Array([[1., 1.]], dtype=float64)
    """
    check_callable(fun, "pmap")
    caller = f"pmap of {describe_function(fun)}"
    _check_options(caller, axis_name, in_axes, axis_size, devices)
    static = static_arguments(caller, fun, static_broadcasted_argnums, None)
    own_devices = None if devices is None else tuple(devices)
    options = _Mapping(fun, caller, axis_name, in_axes, out_axes, own_devices, axis_size, static)

    @named_after(fun)
    def mapped(*args: Value, **kwargs: Value) -> Any:
        return options.bind(args, kwargs)

    return jit(mapped, static_argnums=static_broadcasted_argnums, donate_argnums=donate_argnums, inline=True)


def _check_options(caller: str, axis_name: Any, in_axes: Axes, axis_size: Any, devices: Any) -> None:
    if isinstance(axis_name, tuple) or not isinstance(axis_name, Hashable):
        raise TypeError(f"{caller} got axis_name={axis_name!r}. Give one name, for example a string.")
    if in_axes is not None and not _is_int(in_axes) and not isinstance(in_axes, (tuple, list)):
        raise TypeError(f"{caller} got in_axes={in_axes!r}. Give an int, None, or a tuple with an entry per argument.")
    if axis_size is not None and (not _is_int(axis_size) or index(axis_size) < 1):
        raise TypeError(f"{caller} got axis_size={axis_size!r}. Give an int of one or more, or leave it out.")
    if devices is not None and not all(isinstance(device, DeviceClass) for device in devices):
        raise TypeError(f"{caller} got devices={devices!r}. Give a sequence of devices that devices() lists.")


def _is_int(x: Any) -> bool:
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)


def _element(aval: ShapedArray, axis: int | None) -> ShapedArray:
    """Return the type of an element along an axis."""
    return aval if axis is None else aval.update(shape=aval.shape[:axis] + aval.shape[axis + 1 :], weak_type=False)


class _Mapping(NamedTuple):
    """A function with the options of its `pmap`."""

    fun: Callable[..., Any]
    caller: str
    axis_name: Hashable
    in_axes: Axes
    out_axes: Axes
    devices: tuple[Device, ...] | None
    axis_size: int | None
    static: StaticArguments

    def bind(self, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Any:
        """Return the result as one equation, `xla_pmap`; the arguments are traced."""
        statics, (args, kwargs) = self.static.split(args, kwargs)
        leaves, in_tree = tree_flatten((args, kwargs))
        names = functools.partial(arg_names, self.fun, args, kwargs)
        dims = self._in_dims(leaves, names, in_tree, args, kwargs)
        size = self._size(leaves, names, dims)
        flat = FlatFunction(with_static(self.fun, "pmap", statics), in_tree, "pmap")
        own_axis = () if self.axis_name is None else ((self.axis_name, size),)
        with entered(axis_env=(*here().axis_env, *own_axis)):
            avals = [_element(typeof(x), axis) for x, axis in zip(leaves, dims)]
            jaxpr = stage(flat.__call__, avals, verb="pmap", user_fun=self.fun, arg_names=names)
        program, captured = hoist_tracers(jaxpr)
        outs = pmap_p.bind(
            *captured,
            *leaves,
            call_jaxpr=program,
            axis_name=self.axis_name,
            axis_size=size,
            in_axes=(*[None] * len(captured), *dims),
            out_axes=self._out_dims(program.out_avals, flat.out_tree),
            name=name_of(self.fun),
            devices=self.devices,
            compiler=compiler_of(),
        )
        return flat.out_tree.unflatten(outs)

    def _in_dims(
        self, leaves: Sequence[Value], names: Names, in_tree: PyTreeDef, args: Sequence[Value], kwargs: dict[str, Value]
    ) -> tuple[int | None, ...]:
        """Return the mapped axis of each leaf, counted from the front, or None."""
        count = len(args)
        entries = self.in_axes if isinstance(self.in_axes, (tuple, list)) else (self.in_axes,) * count
        if len(entries) != count:
            raise TypeError(
                f"{self.caller}: in_axes has {len(entries)} entries for {count} positional arguments. Give one entry "
                "per positional argument; keyword arguments are mapped over axis 0."
            )
        static = {place % count for place in self.static.positions if -count <= place < count}
        prefix = tuple([None if i in static else entry for i, entry in enumerate(entries)])
        place = lambda path: f"for {argument_at(self.fun, args, kwargs, path)}"
        axes = self._flat_axes("in_axes", in_tree, (prefix, dict.fromkeys(kwargs, 0)), place)
        return tuple([self._in_dim(x, axis, i, names) for i, (x, axis) in enumerate(zip(leaves, axes))])

    def _in_dim(self, x: Value, axis: Any, i: int, names: Names) -> int | None:
        if axis is None:
            return None
        if not _is_int(axis):
            raise TypeError(f"{self.caller}: in_axes has the entry {axis!r} for {names()[i]}. Give an int or None.")
        aval = typeof(x)
        if not -aval.ndim <= index(axis) < aval.ndim:
            raise ValueError(
                f"{self.caller}: {names()[i]} has type {aval}, which has no axis {axis} to map. Use in_axes=None for "
                "an argument that each device gets whole."
            )
        return int(index(axis) % aval.ndim)

    def _flat_axes(self, option: str, tree: PyTreeDef, axes: Axes, place: Callable[[KeyPath], str]) -> list[Any]:
        try:
            return flatten_axes(option, tree, axes, place=place)
        except ValueError as error:
            raise TypeError(f"{self.caller}: {error}") from None

    def _size(self, leaves: Sequence[Value], names: Names, dims: Sequence[int | None]) -> int:
        """Return the size of the mapped axis."""
        sizes = [(typeof(x).shape[d], d, i) for i, (x, d) in enumerate(zip(leaves, dims)) if d is not None]
        if not sizes:
            if self.axis_size is None:
                raise ValueError(f"{self.caller}: no argument is mapped. Map one with in_axes, or give axis_size.")
            return index(self.axis_size)
        size, d, first = sizes[0]
        for other, other_d, i in sizes:
            if other != size:
                raise ValueError(
                    f"{self.caller}: axis {other_d} of {names()[i]} has size {other}, but axis {d} of {names()[first]} "
                    f"has size {size}; all mapped axes must have one size. Use in_axes=None for an argument that each "
                    "device gets whole."
                )
        if self.axis_size is not None and index(self.axis_size) != size:
            raise ValueError(
                f"{self.caller}: axis_size={self.axis_size}, but axis {d} of {names()[first]} has size {size}. Leave "
                "axis_size out."
            )
        return int(size)

    def _out_dims(self, avals: Sequence[Any], out_tree: PyTreeDef) -> tuple[int | None, ...]:
        """Return the position of the mapped axis in each result, counted from the front, or None."""
        axes = self._flat_axes("out_axes", out_tree, self.out_axes, lambda path: f"for the output{keystr(path)}")
        dims = []
        for i, (aval, axis) in enumerate(zip(avals, axes)):
            ndim = aval.ndim + 1
            if axis is not None and not (_is_int(axis) and -ndim <= index(axis) < ndim):
                path = leaf_names("", out_tree.unflatten(avals))[i]
                raise ValueError(
                    f"{self.caller}: out_axes has the entry {axis!r} for the output{path}, but with the mapped axis "
                    f"the output has {ndim} axes. Give an int from {-ndim} to {ndim - 1}, or None."
                )
            dims.append(None if axis is None else index(axis) % ndim)
        return tuple(dims)
