"""Lists and tuples in place of arrays; they may hold tracers and device arrays.

One idea: a list stands for the array that NumPy would make from it, so it becomes an array before any rule runs.  The
names of the parameters, which are NumPy's, mark the arguments of a function that are arrays.  To a trace, a function of
a list of arrays is a function of its items.

Read next: `numpy_protocol.py`, which converts the arguments of NumPy's functions.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from calque_core import lax
from calque_core.arrays.numpy_arithmetic import as_dtype
from calque_core.errors import ShapeError
from calque_core.frames.source import current_call, where
from calque_core.known.operands import FunctionOfItems
from calque_core.ops.elementwise.declare import as_result
from calque_core.ops.elementwise.weakness import strong
from calque_core.traces.tracer import Tracer
from calque_core.types.array_methods import ArrayMethods
from calque_core.types.avals import short_repr, typeof
from calque_core.types.dtypes import scalar_dtype

Value = Any
Function = Callable[..., Value]

KINDS: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
SCALARS = (bool, int, float, complex)


def leaves(x: Any) -> Iterator[Value]:
    """Return the items of nested lists, tuples and dicts; any other value is its own leaf.

    >>> list(leaves([1, (2, {"three": 3})]))
    [1, 2, 3]
    """
    if isinstance(x, (list, tuple, dict)):
        for item in x.values() if isinstance(x, dict) else x:
            yield from leaves(item)
    else:
        yield x


def has_tracer(x: Any) -> bool:
    """Tell whether nested lists, tuples and dicts hold a tracer.

    >>> from calque_core.engine import has_tracer
    >>> has_tracer([1.0, (2.0,)])
    False
    """
    return any(isinstance(leaf, Tracer) for leaf in leaves(x))


def host_values(x: Any) -> Any:
    """Return nested lists, tuples and dicts with NumPy arrays in place of device arrays."""
    if isinstance(x, ArrayMethods):
        return np.asarray(x)
    if isinstance(x, (list, tuple)):
        return (list if isinstance(x, list) else tuple)(map(host_values, x))
    return {name: host_values(item) for name, item in x.items()} if isinstance(x, dict) else x


# From lists to arrays


def array_of(items: Sequence[Value], caller: str = "", is_converted: bool = False) -> Value:
    """Return nested lists and tuples as an array; errors name the function `caller`, or calque's function in use.

    Shapes: n items of shape [*s] -> [n, *s].  Dtype: promoted from the dtypes of the elements; a Python scalar
    has the default dtype of its kind, or one that holds it if the caller converts the result: `is_converted`.
    Raises: ShapeError if items differ in shape; OverflowError for an integer that does not fit the default dtype.

    >>> from calque_core.engine.numpy_functions import array_of
    >>> array_of([[1, 2], [3, 4]])
    array([[1, 2],
           [3, 4]])
    """
    if not any(isinstance(leaf, ArrayMethods) for leaf in leaves(items)):
        return _numpy_array(items, caller, is_converted)
    rows = [_row(item) for item in items]
    shapes = [typeof(row).shape for row in rows]
    if len(set(shapes)) > 1:
        raise ShapeError(
            f"asarray of a list{where()}: the items have different shapes, "
            f"{', '.join(map(str, dict.fromkeys(shapes)))}. Give items of one shape."
        )
    return lax.stack([strong(row) for row in rows])


def _numpy_array(items: Sequence[Value], caller: str, is_converted: bool) -> Value:
    try:
        out = np.asarray(items)
    except ValueError as error:
        raise ShapeError(
            f"{_subject(caller)}{short_repr(items)} is no array, since its items have different shapes. Give items "
            "of one shape, or one array for each."
        ) from error
    if out.dtype.kind not in KINDS or not all(type(leaf) in SCALARS for leaf in leaves(items)):
        return out
    default = scalar_dtype(KINDS[out.dtype.kind])
    if is_converted or out.dtype.itemsize <= default.itemsize:
        return out
    try:
        return np.asarray(items, default)
    except OverflowError as error:
        raise OverflowError(
            f"{_subject(caller)}an integer of {short_repr(items)} does not fit {default}. Give a dtype that holds "
            "it: numpy.array(items, dtype)."
        ) from error


def _subject(caller: str) -> str:
    """Return the beginning of a message: the function `caller`, or calque's function in use, and its line."""
    call = caller + where() if caller else current_call()
    return call and f"{call}: "


def _row(item: Value) -> Value:
    if isinstance(item, (list, tuple, range, deque)):
        return array_of(list(item))
    return as_dtype(item, typeof(item).dtype) if type(item) in SCALARS else as_result(item)


# Arguments of NumPy's functions

_ARRAYS = frozenset((
    "A", "a", "a1", "a2", "a_max", "a_min", "append", "ar", "ar1", "ar2", "args", "arr", "array", "ary", "arys", "b",
    "bins", "c", "condition", "default", "element", "f", "fill_value", "filt", "fp", "initial", "m", "max", "min",
    "nan", "neginf", "operands", "p", "posinf", "prepend", "prototype", "q", "seq_of_zeros", "start", "stop",
    "test_elements", "u", "v", "val", "values", "w", "weights", "where", "x", "x1", "x2", "xi", "xp", "y", "z",
))  # fmt: skip
SEQUENCES = frozenset((list, tuple))
_SEQUENCES_OF_ARRAYS = frozenset(["arrays", "choicelist", "condlist", "tup"])
_OF_LISTS = frozenset((  # functions that read their lists
    "array", "asarray", "block", "einsum", "einsum_path", "from_dlpack", "histogram2d", "histogramdd",
))  # fmt: skip


def with_arrays(
    function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[tuple[Value, ...], Mapping[str, Value]]:
    """Return the arguments of a function with NumPy's signature, with arrays in place of lists."""
    if function.__name__ in _OF_LISTS:
        return args, kwargs
    for position, x in enumerate(args):
        if type(x) in SEQUENCES:
            name = _name(function, position)
            args = (*args[:position], _argument(function, name, x), *args[position + 1 :])
    for name, x in kwargs.items():
        if type(x) in SEQUENCES:
            kwargs = {**kwargs, name: _argument(function, name, x)}
    return args, kwargs


def _argument(function: Function, name: str, x: Value) -> Value:
    if name in _SEQUENCES_OF_ARRAYS:
        return [array_of(item, function.__name__) if type(item) in SEQUENCES else item for item in x]
    return array_of(x, function.__name__) if name in _ARRAYS else x


@cache
def _name(function: Function, position: int) -> str:
    """Return the name of the parameter that takes the argument at `position`, or '' without such a parameter."""
    positional: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            return parameter.name if position >= len(positional) else positional[position]
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            positional.append(parameter.name)
    return positional[position] if position < len(positional) else ""


# Functions of lists

_MOST_ITEMS = 64


def with_items(function: Function, args: Sequence[Value]) -> tuple[Function, Sequence[Value]]:
    """Return a call without lists that hold tracers: a trace then takes each item as an argument.

    A call of many items stays as it is.

    >>> from calque_core.engine.numpy_functions import with_items
    >>> with_items(sum, ([1.0, 2.0],))
    (<built-in function sum>, ([1.0, 2.0],))
    """
    if SEQUENCES.isdisjoint(map(type, args)) or not any(type(x) in SEQUENCES and _holds_tracer(x) for x in args):
        return function, args
    items: list[Value] = []
    structure = tuple([_structure(x, items) for x in args])
    return (FunctionOfItems(function, structure), items) if len(items) <= _MOST_ITEMS else (function, args)


def _structure(x: Value, items: list[Value]) -> Any:
    """Append the items of nested lists, or any other value, to a list; return their structure."""
    if type(x) in SEQUENCES:
        return (type(x), *[_structure(item, items) for item in x])
    items.append(x)
    return None


def _holds_tracer(x: Sequence[Value]) -> bool:
    return any(isinstance(item, Tracer) or (type(item) in SEQUENCES and _holds_tracer(item)) for item in x)
