"""Shortcuts: from a function and the types of its operands straight to the program: `x + y`, `numpy.sin(x)`.

One idea: a function that also works on tracers cannot ask an array for its values, so the types of its operands decide
what it binds.  The first call on operands of some types watches: if the function binds one primitive, on its operands
in their order, and returns the result, later calls run the program of this primitive at once, without promotion, `bind`
and the key of the operation.  This takes 3 us off 8.

A number has a value that a function may ask for (`x ** 2`), so numbers count only for the functions in `_OF_NUMBERS`,
beside floats: an integer beside integers may need a wider dtype.  No shortcut is taken where a task traces; settings
other than the default are part of the key; a change of a rule drops all of them.

Read next: `evaluate.py`, which keeps the programs of primitives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

import numpy as np

from calque_core import ArrayMethods, Trace, evaluation, hand_down, lax, rule_epoch, tracing
from calque_core.engine import (
    DEFAULT_SETTINGS,
    SCALAR_TYPES,
    KnownOperations,
    active,
    allow_known,
    here,
    mark_wrapper,
    merely_evaluates,
)
from calque_core.engine.numpy_functions import true_divide
from calque_core.extend import register_function_evaluator
from calque_xla_backend.compile import Program, explain
from calque_xla_backend.evaluate import buffer_of_number, keep_their_types, program_of_operation
from calque_xla_backend.runtime.array import Array

Value = Any
Params = dict[str, Any]
Function = Callable[..., Value]

_shortcuts: KnownOperations[Program] = KnownOperations()  # `_watched` makes the entries, at first calls
_known = _shortcuts.known  # None: the function has no shortcut for these types
_UNKNOWN: Any = False


@mark_wrapper
def evaluate_function(function: Function, args: Sequence[Value]) -> Value:
    """Return `function(*args)`, by its shortcut if it has one; at least one of `args` is an `Array`.

    One or two arrays are looked up without loops, which takes 0.8 us less, and their program runs in this frame, not in
    one of its own: 0.2 us less.
    """
    if active:
        if not merely_evaluates():
            return function(*args)
        if here().settings is not DEFAULT_SETTINGS:
            return _evaluate_under_settings(function, args)
    key: Any
    if len(args) == 1:
        (x,) = args
        key, buffers = (function, x._device_type), [x._buffer]
    elif len(args) == 2:
        x, y = args
        if type(x) is not Array or type(y) is not Array:
            return _evaluate_beside_numbers(function, args)
        key, buffers = (function, x._device_type, y._device_type), [x._buffer, y._buffer]
    else:
        return _evaluate_beside_numbers(function, args)
    program = _known.get(key, _UNKNOWN)
    if not program:
        return _watched(function, args, key) if program is _UNKNOWN else function(*args)
    out = Array()
    try:
        (out._buffer,) = program.run(buffers).consume_with_handlers(program.handlers)
    except RuntimeError as error:
        explain(error, program, args)
        raise
    out._device_type = program.out_types[0]
    return out


def _evaluate_beside_numbers(function: Function, args: Sequence[Value]) -> Value:
    """Return `function(*args)`, by its shortcut if it has one: for any number of arrays, and numbers beside them."""
    return _evaluate_with_key((function, *_kinds(args)), function, args)


def _evaluate_under_settings(function: Function, args: Sequence[Value]) -> Value:
    """Return `function(*args)`, by its shortcut under the current settings if it has one."""
    settings = here().settings
    try:
        has_shortcut = allow_known(settings) and keep_their_types(args)
    except (TypeError, OverflowError):  # the function's error says more
        has_shortcut = False
    return _evaluate_with_key((function, settings, *_kinds(args)), function, args) if has_shortcut else function(*args)


def _kinds(args: Sequence[Value]) -> list[Any]:
    return [x._device_type if type(x) is Array else type(x) for x in args]


def _evaluate_with_key(key: Any, function: Function, args: Sequence[Value]) -> Value:
    program = _known.get(key, _UNKNOWN)
    if not program:
        return _watched(function, args, key) if program is _UNKNOWN else function(*args)
    try:
        buffers = [x._buffer if type(x) is Array else buffer_of_number(x, t) for x, t in zip(args, program.in_types)]
    except OverflowError:
        return function(*args)  # its error names the number
    return program.run_one(buffers, args)


def forget_shortcuts() -> None:
    """Drop all shortcuts."""
    _shortcuts.clear()


# The first call


class _Watch(Trace):
    """Evaluates operations, and notes them."""

    verb = "evaluation"

    def __init__(self) -> None:
        super().__init__(evaluation)
        self.operations: list[tuple[Any, Sequence[Value], Params, Sequence[Value]]] = []

    def process_primitive(self, primitive: Any, args: Sequence[Value], params: Params) -> list[Value]:
        outs = hand_down(evaluation, primitive, args, params)
        self.operations.append((primitive, args, params, outs))
        return outs


def _watched(function: Function, args: Sequence[Value], key: Any) -> Value:
    """Return `function(*args)`; keep its shortcut, or that it has none."""
    if not all(type(x) is Array or type(x) in SCALAR_TYPES for x in args):
        return function(*args)  # its key could keep a class of the user alive
    watch, epoch = _Watch(), rule_epoch()
    with tracing(watch):
        out = function(*args)
    _shortcuts.keep(key, _shortcut(function, args, out, watch), epoch)
    return out


def _shortcut(function: Function, args: Sequence[Value], out: Value, watch: _Watch) -> Program | None:
    """Return the program of the only operation of a call, if it computes `out` from `args` in their order."""
    if len(watch.operations) != 1:
        return None
    primitive, operands, params, outs = watch.operations[0]
    if len(outs) != 1 or outs[0] is not out or len(operands) != len(args):
        return None
    program = program_of_operation(primitive, operands, params)
    if program is None or not all(map(partial(_takes, function), args, operands, program.in_types)):
        return None
    return program


def _takes(function: Function, arg: Value, operand: Value, target: Any) -> bool:
    """Tell whether the operation takes the buffer of `arg`, or a number that its function converts at any value."""
    if type(arg) is Array:
        return arg is operand and arg._device_type.canonical is target.canonical
    return function in _OF_NUMBERS and type(operand) is not Array and target.dtype.kind in "fc"


# Operators


def _unary(name: str) -> Function:
    """Return the method of device arrays for an operator of one operand."""
    method: Function = getattr(ArrayMethods, name)

    @mark_wrapper
    def operator(x: Array) -> Value:
        return evaluate_function(method, (x,))

    return wraps(method)(operator)


def _binary(name: str) -> Function:
    """Return the method of device arrays for an operator of two operands."""
    method: Function = getattr(ArrayMethods, name)

    @mark_wrapper
    def operator(x: Array, y: Value) -> Value:
        return evaluate_function(method, (x, y))

    return wraps(method)(operator)


def _reflected(name: str) -> Function:
    """Return the method of device arrays for an operator whose left operand is something else: `2.0 - x`."""
    method: Function = getattr(ArrayMethods, name)

    def in_order(other: Value, array: Value) -> Value:
        return method(array, other)

    @mark_wrapper
    def operator(array: Value, other: Value) -> Value:
        return evaluate_function(in_order, (other, array))

    _OF_NUMBERS.add(in_order)
    return wraps(method)(operator)


_COMMON = ("add", "sub", "mul", "truediv", "eq", "ne", "lt", "le", "gt", "ge")  # whose numbers are promoted, no more
_OTHER = ("floordiv", "mod", "and", "or", "xor", "matmul")
_REFLECTED = ("radd", "rsub", "rmul", "rtruediv")
_OF_NUMBERS: set[Function] = {getattr(ArrayMethods, f"__{name}__") for name in _COMMON}
for _name in ("neg", "abs", "invert"):
    setattr(Array, f"__{_name}__", _unary(f"__{_name}__"))
for _name in (*_COMMON, *_OTHER):
    setattr(Array, f"__{_name}__", _binary(f"__{_name}__"))
for _name in _REFLECTED:
    setattr(Array, f"__{_name}__", _reflected(f"__{_name}__"))


# NumPy's ufuncs, as functions of operands alone

_array_ufunc: Function = ArrayMethods.__array_ufunc__  # type: ignore[attr-defined]
_UFUNCS = {u: partial(_array_ufunc, None, u, "__call__") for u in vars(np).values() if isinstance(u, np.ufunc)}
_OF_NUMBERS.update(
    _UFUNCS[ufunc]
    for ufunc in (
        np.add, np.subtract, np.multiply, np.true_divide, np.maximum, np.minimum, np.arctan2,
        np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    )
)  # fmt: skip


def _evaluate_ufunc(self: Array, ufunc: np.ufunc, method: str, *inputs: Value, **options: Value) -> Value:
    """Apply a ufunc, or one of its methods, to device arrays."""
    function = _UFUNCS.get(ufunc)
    if function is not None and method == "__call__" and not options:
        return evaluate_function(function, inputs)
    return _array_ufunc(self, ufunc, method, *inputs, **options)


Array.__array_ufunc__ = _evaluate_ufunc  # type: ignore[attr-defined]


# The functions of a front

_OF_NUMBERS.update((
    lax.add, lax.sub, lax.mul, true_divide, lax.max, lax.min, lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge,
))  # fmt: skip
register_function_evaluator(Array, evaluate_function)
