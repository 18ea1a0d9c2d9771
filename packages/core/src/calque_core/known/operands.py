"""The operands of a call, and the key of the operation on operands of their types.

One idea: types decide what a rule does, so a key holds a type for each operand and the value of each option.  Operands
are the tracers of a trace.  All arguments of a primitive or of a program are operands; of a function's arguments floats
are, unless it looks at their values, and arrays if it promises to look at no element.  A trace that records equations
has tracers alone as operands: its equations hold numbers.

Read next: `table.py`, which keeps what is made for a key.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from calque_core.context import here
from calque_core.frames.source import mark_wrapper
from calque_core.jaxprs.interpret import JaxprFunction
from calque_core.jaxprs.masks import unmarked
from calque_core.primitives.primitive import Primitive
from calque_core.record import Record
from calque_core.traces.evaluators import canonical_value
from calque_core.traces.trace import Trace, evaluation
from calque_core.traces.tracer import Tracer
from calque_core.types.array_methods import ArrayMethods, decided_by_types
from calque_core.types.avals import NUMPY_SCALARS, is_array_like, own_types, typeof

Value = Any
Function = Callable[..., Value]
Kinds = frozenset[type]
Key = list[Any]

FLOATS = frozenset((float, complex, np.float32, np.float64, np.complex64, np.complex128))
"""The classes of a function's operands beside tracers."""

_ARRAYS = frozenset((np.ndarray,))
_FLOATS_AND_ARRAYS = FLOATS | _ARRAYS
_NUMBERS = frozenset((bool, int, float, complex, *NUMPY_SCALARS))
VALUES = _NUMBERS | _ARRAYS
NO_KINDS: Kinds = frozenset()
_DTYPES = [np.dtype(code) for code in "?bhilqBHILQefd"]
# Complex numbers are left out: two of them may be equal and have different signs of a zero.
_EXACT = frozenset((NoneType, int, bool, float, str, type, *map(type, _DTYPES), *(dtype.type for dtype in _DTYPES)))
_BOUNDS = frozenset((NoneType, int))


class Option:
    """An immutable argument of functions that is compared by identity: two objects never stand for each other.

    >>> from calque_core.known.operands import Option, add_option
    >>> key = []
    >>> add_option(key, Option()), add_option(key, object())
    (True, False)
    """

    __slots__ = ()


class FunctionOfItems(Record):
    """A function of arrays in place of a function of lists of arrays: its arguments are the items of all lists.

    `structure` holds, for each argument of the function, None, or the class of a list and the structures of its items.
    """

    function: Function
    structure: tuple[Any, ...]

    @property
    def __name__(self) -> str:
        return self.function.__name__

    @mark_wrapper
    def __call__(self, *items: Value, **options: Value) -> Value:
        remaining = iter(items)
        return self.function(*[_item(part, remaining) for part in self.structure], **options)


def _item(structure: Any, items: Iterator[Value]) -> Value:
    """Return the next argument, with the next of `items` in its structure."""
    return next(items) if structure is None else structure[0]([_item(part, items) for part in structure[1:]])


def is_whole(operation: Any) -> bool:
    """Tell whether all arguments of an operation are operands: of a primitive or a program, not of a function."""
    return type(operation) is Primitive or type(operation) is JaxprFunction


def kinds_of_operands(trace: Trace, function: Any) -> Kinds:
    """Return the classes of the operands of a function that runs as code, beside tracers."""
    if trace is evaluation:
        return _ARRAYS
    promised = function.function if type(function) is FunctionOfItems else function
    return _FLOATS_AND_ARRAYS if promised in decided_by_types else FLOATS


def operands_to_run(  # noqa: C901  (hot)
    key: Key, trace: Trace, args: Sequence[Value], kinds: Kinds, has_options: bool
) -> list[Value] | None:
    """Return the operands among arguments, append their types to a key, and the values of options.

    A tracer of another trace is an operand, which a parent processes.  None says that the operation has to run: no
    argument is a tracer of `trace`, or an argument is neither an operand nor an option.
    """
    operands: list[Value] = []
    is_wide, is_mine, takes_tracers = here().settings.enable_x64, trace is evaluation, trace.parent is not evaluation
    tracer_type, form, tag = trace.tracer_type, trace.form, trace.tag
    for x in args:
        kind = type(x)
        if kind is tracer_type and (x._trace is trace or (tag is not None and x._trace.tag is tag)):
            key.append(x.aval if form is None else form(x))
            is_mine = True
        elif kind in kinds:
            if kind is np.ndarray:
                if not is_array_like(x):  # of texts, say: an error of the function names it
                    return None
                x = x if x.ndim else x.copy()  # noqa: PLW2901  (no code copies a number, which may be written to)
            if not is_wide and kind is not float:
                x = canonical_value(x)  # noqa: PLW2901
            key.append(type(x))
            if type(x) is np.ndarray:
                key.append(typeof(x))
        elif isinstance(x, Tracer) or (np.ndarray in kinds and isinstance(x, ArrayMethods)):
            if trace is evaluation or not (takes_tracers or not isinstance(x, Tracer)) or kind in own_types:
                return None
            key += kind, typeof(x)
        elif has_options and add_option(key, x):
            continue
        else:
            return None
        operands.append(x)
    return operands if is_mine and operands else None


def operands_to_record(key: Key, trace: Trace, args: Sequence[Value]) -> list[Value] | None:
    """Return the tracers among arguments, append their types to a key, and the values of all other arguments.

    They are tracers of `trace`, or of its parent if this records for it, each once: rules may give `x * x` other
    equations than `x * y`.  None says that the operation has to run, as for many arguments, each compared with all
    operands before it.
    """
    operands: list[Value] = []
    if len(args) > _MOST_ARGUMENTS:
        return None
    parent = None if trace.recording is type(trace) else trace.parent
    is_mine = False
    for x in args:
        if isinstance(x, Tracer):
            if own_types and type(x) in own_types:
                return None
            if operands and _is_repeated(key, operands, x):
                continue
            if x._trace is trace:
                key.append(x.aval)
                is_mine = True
            elif parent is not None and x._trace is parent:
                key += Tracer, x.aval
            else:
                return None
            operands.append(x)
        elif not add_option(key, x):
            return None
    return operands if is_mine else None


_MOST_ARGUMENTS = 64


def _is_repeated(key: Key, operands: Sequence[Value], x: Tracer) -> bool:
    """Tell whether a tracer is among `operands`; if so, its position goes to the key."""
    for i, known in enumerate(operands):
        if known is x:
            key.append(i)
            return True
    return False


class TypedCall(NamedTuple):
    """An operation on operands of known types, from which a known operation is made, without a value of an operand.

    `places` has the position of each argument among the operands, None for another argument, whose value is in
    `others`.  `is_mine` marks the operands that are tracers of the transformation, `is_number` the numbers.
    """

    operation: Any
    options: Mapping[str, Value]
    avals: Sequence[Any]
    is_mine: Sequence[bool]
    is_number: Sequence[bool]
    places: Sequence[int | None]
    others: Sequence[Value]

    def arguments(self, operands: Sequence[Value]) -> list[Value]:
        """Return the arguments of a call on these operands."""
        others = iter(self.others)
        return [next(others) if i is None else operands[i] for i in self.places]


class Call(NamedTuple):
    """A call of an operation under a trace, and its operands: among the arguments, tracers and values of `kinds`."""

    trace: Any
    operation: Any
    args: Sequence[Value]
    options: Mapping[str, Value]
    operands: Sequence[Value]
    kinds: Kinds

    def typed(self) -> TypedCall:
        """Return the operation on operands of the types of this call."""
        return self._typed(self.operands, self.kinds)

    def typed_without_floats(self) -> TypedCall:
        """Return the same operation with floats as arguments that are no operands."""
        return self._typed([x for x in self.operands if type(x) not in FLOATS], self.kinds - FLOATS)

    def _typed(self, operands: Sequence[Value], kinds: Kinds) -> TypedCall:
        trace, base = self.trace, ArrayMethods if np.ndarray in kinds else Tracer  # the class of device arrays, too
        is_operand = [type(x) in kinds or isinstance(x, base) for x in self.args]
        if trace.recording is None:
            numbers = iter(range(len(operands)))
            places = [next(numbers) if m else None for m in is_operand]
        else:
            known = {id(x): i for i, x in enumerate(operands)}
            places = [known[id(x)] if m else None for x, m in zip(self.args, is_operand)]
        return TypedCall(
            self.operation,
            self.options,
            list(map(typeof, operands)),
            [trace.owns(x) for x in operands],
            [type(x) in _NUMBERS for x in operands],
            places,
            unmarked(self.args, is_operand),
        )


# Options


def add_options(key: Key, options: Mapping[str, Value]) -> bool:
    """Append keyword arguments to a key; return False if only the function knows their meaning."""
    for name, x in options.items():
        key.append(name)
        if not add_option(key, x):
            return False
    return True


def add_option(key: Key, x: Value) -> bool:
    """Append an argument that is no operand to a key; return False if only the function knows its meaning."""
    kind = type(x)
    if kind in _EXACT:
        key += kind, x or str(x)  # 0.0 equals -0.0, their texts differ
        return True
    if kind is slice:
        key += kind, x.start, x.stop, x.step
        return _BOUNDS.issuperset((type(x.start), type(x.stop), type(x.step)))
    if kind is tuple:
        key += kind, len(x)
        return all([add_option(key, item) for item in x])  # noqa: C419  (a list: half of the time)
    if x is Ellipsis or isinstance(x, Option):
        key.append(x)
        return True
    return False


def exact_params(params: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the parameters of an operation as a part of a key, which differs where one could tell them apart.

    >>> from calque_core.engine import exact_params
    >>> exact_params({"k": 1}) == exact_params({"k": True}), exact_params({"k": 0.0}) == exact_params({"k": -0.0})
    (False, False)
    """
    if len(params) == 1:
        (item,) = params.items()
        if type(item[1]) is int:  # an axis, say; 0.4 us sooner
            return item
    values = tuple(params.values())
    try:
        exact = marshal.dumps(values, 2)  # 0.1 us for numbers, texts and tuples; later versions count references
        if _BUFFER not in exact and hash(values):  # a list has bytes, too, but no hash: it may change
            return *params, exact
    except (TypeError, ValueError):  # no hash, or a value that `marshal` does not write
        pass
    return *params, values, _told_apart(values)


_BUFFER = ord("s")  # marks the bytes of a buffer, such as a scalar of NumPy's, whose class `marshal` does not write


def _told_apart(x: Any) -> Any:
    """Return the classes of the items of a tuple, nested to any depth, and the texts of floats: 0.0 equals -0.0."""
    if type(x) is tuple:
        return tuple(map(_told_apart, x))
    return (type(x), repr(x)) if isinstance(x, (float, complex, np.generic)) else type(x)


def texts_of_floats(operands: Sequence[Value]) -> list[str]:
    """Return the floats among operands as texts, options of a function that looks at them."""
    return [repr(x) for x in operands if type(x) in FLOATS]
