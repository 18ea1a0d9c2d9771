"""Containers that `vmap` maps by functions of their author: `register_vmappable`.

One idea: to `vmap`, a container is one leaf, with an entry of its own in `in_axes` or `out_axes`.  Its author takes it
apart: `to_elt` makes the element, `from_elt` the container of all results, and each hands the arrays inside to `cont`.

Read next: `vmap.py`, which treats other leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import index
from typing import Any, NamedTuple

import numpy as np

from calque_batching.axes import matchaxis
from calque_batching.batch_trace import BatchTrace
from calque_batching.batch_tracer import BatchTracer
from calque_core import lax, typeof
from calque_core.engine import captured_tracers, copy_shared, is_array_like, narrow
from calque_core.extend import check_callable

Value = Any


class Vmappable(NamedTuple):
    """The functions of a container's author, and the class of its entries in `in_axes` and `out_axes`."""

    spec_type: type
    to_elt: Callable[..., Any]
    from_elt: Callable[..., Any]
    make_iota: Callable[[int], Value] | None


vmappables: dict[type, Vmappable] = {}


def register_vmappable(
    data_type: type,
    spec_type: type,
    axis_size_type: type,
    to_elt: Callable[..., Any],
    from_elt: Callable[..., Any],
    make_iota: Callable[[int], Value] | None = None,
) -> None:
    """Let `vmap` map containers of class `data_type` as its author says; objects of `spec_type` say over which axis.

    `to_elt(cont, get_idx, container, spec)` returns one element; `cont(x, axis)` is one element of an array or of a
    container inside, and `get_idx()` is the index of the element, an element of `make_iota(size)`.
    `from_elt(cont, axis_size, element, spec)` returns the container of all results; `cont(axis_size, x, axis)` is the
    array of all results `x`, with the mapped axis at `axis`.
    A container with the entry None is the same for every element.  An entry must be no pytree; the container may be
    one.  Axis sizes are ints, so `axis_size_type` is `int`.
    Raises: TypeError for another class of sizes; ValueError if `data_type` is registered.

    >>> import numpy as np
    >>> from calque_batching import register_vmappable, unregister_vmappable, vmap
    >>> class Columns:
    ...     def __init__(self, table):
    ...         self.table = table
    >>> class Column:
    ...     axis = 1
    >>> register_vmappable(
    ...     Columns, Column, int,
    ...     to_elt=lambda cont, get_idx, x, spec: Columns(cont(x.table, spec.axis)),
    ...     from_elt=lambda cont, size, x, spec: Columns(cont(size, x.table, spec.axis)),
    ... )
    >>> vmap(lambda c: c.table.sum(), in_axes=Column())(Columns(np.ones((2, 3))))
    array([2., 2., 2.])
    >>> unregister_vmappable(Columns)
    """
    for role, cls in (("data_type", data_type), ("spec_type", spec_type)):
        if not isinstance(cls, type):
            raise TypeError(f"register_vmappable got {role}={cls!r}. Give a class.")
    if axis_size_type is not int:
        raise TypeError(f"register_vmappable got axis_size_type={axis_size_type!r}. Give int: axis sizes are ints.")
    for function in (to_elt, from_elt, *(() if make_iota is None else (make_iota,))):
        check_callable(function, "register_vmappable")
    if data_type in vmappables:
        raise ValueError(f"{data_type.__name__} is registered already. Call unregister_vmappable first.")
    vmappables[data_type] = Vmappable(spec_type, to_elt, from_elt, make_iota)


def unregister_vmappable(data_type: type) -> None:
    """Undo `register_vmappable`.

    Raises: ValueError if `data_type` is not registered.

    >>> from calque_batching import register_vmappable, unregister_vmappable
    >>> class Named: ...
    >>> class Over: ...
    >>> register_vmappable(Named, Over, int, lambda cont, get, x, spec: x, lambda cont, size, x, spec: x)
    >>> unregister_vmappable(Named)
    """
    if data_type not in vmappables:
        raise ValueError(f"{getattr(data_type, '__name__', data_type)} is not registered with register_vmappable.")
    del vmappables[data_type]


def is_vmappable(x: Any) -> bool:
    """Tell whether `x` is a container of a registered class."""
    return type(x) in vmappables


def leaf_test() -> Callable[[Any], bool] | None:
    """Return the test for leaves that are containers; None, which is faster, if no class is registered."""
    return is_vmappable if vmappables else None


def spec_types() -> tuple[type, ...]:
    """Return the classes of entries for containers."""
    return tuple(entry.spec_type for entry in vmappables.values())


def check_spec(caller: str, name: str, option: str, container: Any, spec: Any) -> None:
    """Check that `spec`, the entry of the parameter `option` for a container, is None or of the container's class.

    Raises: TypeError.
    """
    spec_type = vmappables[type(container)].spec_type
    if spec is not None and not isinstance(spec, spec_type):
        raise TypeError(
            f"{caller}: {option} has the entry {spec!r} for {name}, a container of class {type(container).__name__}. "
            f"Give an entry of class {spec_type.__name__}, or None."
        )


class Containers:
    """The containers in one call of `vmap`.

    `size` is the size of the mapped axis, None until an array tells it; `arrays` are the arrays in containers so far.
    """

    def __init__(self, caller: str, trace: BatchTrace, size: int | None) -> None:
        self.caller, self.trace, self.size = caller, trace, size
        self.arrays: list[Value] = []
        self.differing: list[int] = []

    def element(self, x: Any, spec: Any) -> Any:
        """Return one element of a container, or of an array inside of one."""
        if spec is None:
            return x
        entry = vmappables.get(type(x))
        if entry is not None:
            return entry.to_elt(self.element, partial(self.position, entry), x, spec)
        self.check_array(x, spec)
        (array,) = narrow([x])
        shape = typeof(array).shape
        dim = index(spec) % len(shape)
        if self.size is None:
            self.size = shape[dim]
            self.trace.axis = self.trace.axis._replace(size=self.size)
        elif shape[dim] != self.size:
            raise ValueError(
                f"{self.caller}: axis {dim} of an array of type {typeof(x)} in a container has size {shape[dim]}, but "
                f"the mapped axis has size {self.size}; all mapped axes must have one size."
            )
        self.arrays.append(array)
        return BatchTracer(self.trace, array, dim)

    def check_array(self, x: Any, axis: Any) -> None:
        """Check an array that an author's function passes to `cont`, and its axis.  Raises: TypeError or ValueError."""
        if not is_array_like(x):
            raise TypeError(
                f"{self.caller}: a function of register_vmappable passed {x!r} of type {type(x).__name__} to cont. "
                "Pass arrays, and containers of registered classes."
            )
        if isinstance(axis, (bool, np.bool_)) or not hasattr(axis, "__index__"):
            raise TypeError(
                f"{self.caller}: a function of register_vmappable passed the axis {axis!r} to cont. Pass an int or "
                "None."
            )
        ndim = typeof(x).ndim
        if not -ndim <= index(axis) < ndim:
            raise ValueError(
                f"{self.caller}: an array of type {typeof(x)} in a container has no axis {axis} to map. Pass None to "
                "cont for an array that is not mapped."
            )

    def position(self, entry: Vmappable) -> Value:
        """Return the index of the element."""
        if self.size is None:
            raise ValueError(f"{self.caller}: get_idx() needs the size of the axis. Give axis_size.")
        return BatchTracer(self.trace, (entry.make_iota or partial(lax.iota, "int32"))(self.size), 0)

    def find_differing(self, outs: Sequence[Any]) -> None:
        """Find the results that are containers and differ from element to element; the trace must be open."""
        if not vmappables:
            return
        self.differing = [
            i for i, x in enumerate(outs) if is_vmappable(x) and any(map(self.trace.owns, captured_tracers([x])))
        ]

    def result(self, i: int, path: str, x: Any, spec: Any) -> Any:
        """Return all results in a container, which is result `i`; `path` leads to it."""
        if spec is not None:
            return self.whole(path, x, spec)
        if i in self.differing:
            raise ValueError(
                f"{self.caller}: out_axes is None for the output{path}, but it differs from element to element. Give "
                f"it an entry of class {vmappables[type(x)].spec_type.__name__}."
            )
        return x

    def whole(self, path: str, x: Any, spec: Any) -> Any:
        """Return all results in a container, the result at `path` or inside of it."""
        return vmappables[type(x)].from_elt(partial(self._all_results, path), self.size, x, spec)

    def _all_results(self, path: str, axis_size: int, x: Any, axis: Any) -> Any:
        if is_vmappable(x) and axis is not None:
            return self.whole(path, x, axis)
        (array,), (dim,) = self.trace.split([x])
        if axis is None:
            if dim is not None:
                raise ValueError(
                    f"{self.caller}: the axis of an array in the output{path} is None, but the array differs from "
                    "element to element. Pass cont an int."
                )
            return self._separate(array)
        ndim = typeof(array).ndim + (dim is None)
        is_bool = isinstance(axis, (bool, np.bool_))
        if is_bool or not hasattr(axis, "__index__") or not -ndim <= index(axis) < ndim:
            raise ValueError(
                f"{self.caller}: a function of register_vmappable passed the axis {axis!r} to cont for an array in "
                f"the output{path}, which has {ndim} axes with the mapped axis. Pass an int from {-ndim} to "
                f"{ndim - 1}, or None."
            )
        return self._separate(matchaxis(array, dim, index(axis) % ndim, axis_size))

    def _separate(self, array: Value) -> Value:
        """Return an array that shares no memory with the arguments or with other results."""
        (separate,) = copy_shared([array], self.arrays)
        self.arrays.append(separate)
        return separate
