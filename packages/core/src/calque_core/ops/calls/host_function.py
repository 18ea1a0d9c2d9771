"""Python functions that programs call: from arrays to arrays of declared types.

One idea: a `HostFunction` takes and returns flat lists, as an equation does.  It gives the user's function read-only
copies, since a compiled program lends its memory for the time of the call only, and it checks the results, since a
compiled program copies their bytes unseen.

Read next: `callback.py`, whose primitives call these functions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from calque_core.calls.api_util import describe_value, leaf_names
from calque_core.context import Settings, entered
from calque_core.errors import ShapeError
from calque_core.frames.names import name_of, named_after
from calque_core.frames.source import Position, at_place, describe_function
from calque_core.primitives.own_values import lowered, raised
from calque_core.traces.trace import evaluation
from calque_core.types.avals import ShapedArray, is_array_like, own_types, short_repr, typeof
from calque_core.types.dtypes import dtype_name
from calque_pytree import PyTreeDef, tree_flatten

Value = Any
_KINDS = "biufc"  # in the order of Python's conversions; a Python scalar may move to the right


class HostCall(Protocol):
    """A function on the host, from a flat list of arrays to arrays of the types `result_avals`."""

    @property
    def result_avals(self) -> tuple[ShapedArray, ...]: ...

    def __call__(self, *operands: Value) -> list[Value]: ...


@dataclass(frozen=True, slots=True, weakref_slot=True, repr=False)
class HostFunction:
    """A user's function, with the structure of its arguments and the types of its results.

    `statics` are the leaves that are no arrays, with their positions; `out_tree` is None if the result is ignored.
    """

    fun: Callable[..., Any]
    in_tree: PyTreeDef
    statics: tuple[tuple[int, Any], ...]
    out_tree: PyTreeDef | None
    result_avals: tuple[ShapedArray, ...]
    caller: str
    settings: Settings
    position: Position | None = field(compare=False)

    @property
    def __name__(self) -> str:  # the printer shows it
        return name_of(self.fun)

    def __call__(self, *operands: Value) -> list[Value]:
        """Return the results for the leaves that are arrays."""
        try:
            with entered(evaluation, settings=self.settings, axis_env=(), varying_axes=frozenset()), _calling():
                leaves: list[Any] = [_lent(x) for x in operands]
                for i, static in self.statics:
                    leaves.insert(i, static)
                args, kwargs = self.in_tree.unflatten(leaves)
                return self._checked(self.fun(*args, **kwargs))
        except BaseException as error:
            error.add_note(f"This happened in {self.describe()}.")
            raise

    def __repr__(self) -> str:
        return self.describe()

    def describe(self) -> str:
        """Return 'the callback log (train.py:3) of io_callback at train.py:41 (step)'."""
        return f"the callback {describe_function(self.fun)} of {self.caller}{at_place(self.position)}"

    def _checked(self, out: Any) -> list[Value]:
        """Return the leaves of a result in their declared types, as copies.

        Raises: TypeError for another structure or dtype; ShapeError for another shape.
        """
        if self.out_tree is None:
            return []
        leaves, tree = tree_flatten(out)
        if tree != self.out_tree:
            raise TypeError(
                f"{self.describe()} returned {describe_value(out)} with the structure {tree}, but result_shape_dtypes "
                f"has the structure {self.out_tree}. Return the declared structure."
            )
        checked = [_convert(x, aval) for x, aval in zip(leaves, self.result_avals)]
        for i, x in enumerate(checked):
            if x is None:
                self._refuse(out, leaves, i)
        return checked

    def _refuse(self, out: Any, leaves: Sequence[Any], i: int) -> None:
        """Raise the error for a result of another type than `result_avals[i]`."""
        name, declared = leaf_names("result", out)[i], self.result_avals[i]
        message = f"{self.describe()} returned {describe_value(leaves[i])} as its {name}, but result_shape_dtypes "
        if not is_array_like(leaves[i]):
            raise TypeError(f"{message}declares {declared}. Wrap it in numpy.asarray first.")
        if typeof(leaves[i]).shape != declared.shape:
            raise ShapeError(f"{message}declares {declared}. Return an array of the shape {declared.shape}.")
        if typeof(leaves[i]).dtype == declared.dtype:
            raise OverflowError(
                f"{self.describe()} returned {short_repr(leaves[i])} as its {name}, which does not fit {declared}. "
                "Return numbers that fit, or call it with enable_x64 on."
            )
        raise TypeError(
            f"{message}declares {declared}. Convert it, with astype('{dtype_name(declared.dtype)}'), or declare "
            "another dtype."
        )


def with_arrays(
    callback: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """Return a callback and its arguments, where arrays take the place of values of own types, which it makes again."""
    leaves, tree = tree_flatten((args, kwargs))
    if not any(type(x) in own_types for x in leaves):
        return callback, args, kwargs
    avals = [typeof(x) if type(x) in own_types else None for x in leaves]

    @named_after(callback)
    def called(*parts: Any) -> Any:
        values = [p if aval is None else raised(p, aval) for p, aval in zip(parts, avals)]
        own_args, own_kwargs = tree.unflatten(values)
        return callback(*own_args, **own_kwargs)

    return called, tuple(x if aval is None else lowered(x) for x, aval in zip(leaves, avals)), {}


def _lent(x: Value) -> np.ndarray[Any, Any]:
    """Return an operand as a read-only copy in its dtype under the settings."""
    copy = np.array(x, dtype=typeof(x).dtype)
    copy.flags.writeable = False
    return copy


def _convert(x: Value, aval: ShapedArray) -> Value:
    """Return a result as a new value of the type `aval`; None if it has another type, or does not fit.

    A Python scalar takes the declared dtype if no information is lost.  A wide array has a narrow type in 32 bits.
    """
    if not is_array_like(x):
        return None
    x_aval = typeof(x)
    fits = _KINDS.index(x_aval.kind) <= _KINDS.index(aval.kind) if x_aval.weak_type else x_aval.dtype == aval.dtype
    if not fits or x_aval.shape != aval.shape:
        return None
    out = np.array(x, aval.dtype, order="C")
    is_cut = aval.kind in "iu" and not x_aval.weak_type and not np.array_equal(out, x)
    return None if is_cut else out[()]


_thread = threading.local()


@contextmanager
def _calling() -> Iterator[None]:
    """Mark this thread as one that runs a callback."""
    depth = getattr(_thread, "depth", 0)
    _thread.depth = depth + 1
    try:
        yield
    finally:
        _thread.depth = depth


def in_callback() -> bool:
    """Tell whether this thread runs a callback.

    >>> in_callback()
    False
    """
    return bool(getattr(_thread, "depth", 0))
