"""Batching calls to Python: one call of a function for the whole batch.

One idea: `ForEach` calls the user's function once for each element, on the host.  A pure function that takes whole
batches is called once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calque_batching.axes import matchaxis, moveaxis
from calque_core import Primitive, ShapedArray
from calque_core.engine import HostCall, HostFunction, batch_size, name_of
from calque_core.extend import defbatch, describe_function, shaped_array, where
from calque_core.lax import debug_callback_p, expand_dims, io_callback_p, pure_callback_p

Value = Any
Dims = Sequence[int | None]
Batch = tuple[list[Value], list[int | None]]


@dataclass(frozen=True, slots=True, weakref_slot=True, repr=False)
class ForEach:
    """A function called once for each element of a batch, in order; mapped operands have the batch axis in front."""

    function: HostCall
    is_mapped: tuple[bool, ...]
    size: int

    @property
    def __name__(self) -> str:
        return name_of(self.function, "")

    def __repr__(self) -> str:
        return repr(self.function)

    @property
    def result_avals(self) -> tuple[ShapedArray, ...]:
        """The types of the stacked results."""
        return tuple(shaped_array((self.size, *aval.shape), aval.dtype) for aval in self.function.result_avals)

    def __call__(self, *operands: Value) -> list[Value]:
        """Return the results of all elements, stacked."""
        results = [np.empty(aval.shape, aval.dtype) for aval in self.result_avals]
        for i in range(self.size):
            outs = self.function(*[x[i] if mapped else x for x, mapped in zip(operands, self.is_mapped)])
            for result, out in zip(results, outs):
                result[i] = out
        return results


def _for_each(callback: HostCall, args: Sequence[Value], dims: Dims) -> tuple[ForEach, list[Value]]:
    """Return a call for each element, and its operands with the batch axis in front."""
    operands = [x if d is None else moveaxis(x, d, 0) for x, d in zip(args, dims)]
    return ForEach(callback, tuple(d is not None for d in dims), batch_size(args, dims)), operands


def _leading(function: HostCall) -> list[int | None]:
    return [0] * len(function.result_avals)


def whole_operands(caller: str, args: Sequence[Value], dims: Dims, vmap_method: str | None) -> list[Value]:
    """Return the operands of one call for the whole batch, with the batch axis in front.

    Raises: TypeError if the user has not said how to call the function.
    """
    if vmap_method is None:
        raise TypeError(
            f"{caller}{where()} has no vmap_method, so vmap cannot tell how to call it for a batch. Use "
            "vmap_method='sequential' for a call for each element, or 'expand_dims' or 'broadcast_all' for one call "
            "with the batch axis in front."
        )
    if vmap_method == "broadcast_all":
        size = batch_size(args, dims)
        return [matchaxis(x, d, 0, size) for x, d in zip(args, dims)]
    return [expand_dims(x, (0,)) if d is None else moveaxis(x, d, 0) for x, d in zip(args, dims)]


def pure_callback_batch(args: Sequence[Value], dims: Dims, *, callback: HostCall, vmap_method: str | None) -> Batch:
    """Call the function once for each element, or once on arrays with a batch axis in front.

    Raises: TypeError if the user has not said which.
    """
    if vmap_method == "sequential":
        for_each, operands = _for_each(callback, args, dims)
        return pure_callback_p.bind(*operands, callback=for_each, vmap_method=vmap_method), _leading(for_each)
    assert isinstance(callback, HostFunction), callback
    operands = whole_operands(f"pure_callback of {describe_function(callback.fun)}", args, dims, vmap_method)
    size = batch_size(args, dims)
    result_avals = tuple(shaped_array((size, *aval.shape), aval.dtype) for aval in callback.result_avals)
    whole = replace(callback, result_avals=result_avals)
    return pure_callback_p.bind(*operands, callback=whole, vmap_method=vmap_method), _leading(whole)


defbatch(pure_callback_p, pure_callback_batch)


def _def_effectful(primitive: Primitive, caller: str) -> None:
    def batch(args: Sequence[Value], dims: Dims, *, callback: HostCall, ordered: bool) -> Batch:
        """Call the function once for each element."""
        if ordered:
            raise TypeError(
                f"{caller}{where()} is ordered, but the elements of vmap have no order among the calls of the program. "
                "Use ordered=False, or lax.map or lax.scan in place of vmap."
            )
        for_each, operands = _for_each(callback, args, dims)
        return primitive.bind(*operands, callback=for_each, ordered=False), _leading(for_each)

    defbatch(primitive, batch)


_def_effectful(io_callback_p, "io_callback")
_def_effectful(debug_callback_p, "a debug callback")
