"""Tracers: values under a trace, and their conversions to Python values.

One idea: a tracer looks like an array to the user, but holds only its trace and its type.  `bool` and `__index__` give
the value if the tracer knows it; otherwise they raise an error with the user's line and advice.  A tracer is valid only
under its own trace and under traces above it: `check_lift`.

Read next: `trace.py`, which uses tracers.
"""

from __future__ import annotations

import sys
import weakref
from _thread import get_ident
from operator import attrgetter, index
from typing import Any

import numpy as np

from calque_core.context import here
from calque_core.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)
from calque_core.frames.source import Position, at_place, called_by_scipy, called_function, resolve, where
from calque_core.types.array_methods import ArrayMethods
from calque_core.types.avals import ShapedArray, _aval_functions

Value = Any


class Tracer(ArrayMethods):
    """A value under a trace.  A subclass must define `aval`."""

    __slots__ = ("__weakref__", "_trace", "_viewed")

    _trace: Any  # the Trace of this tracer
    _viewed: tuple[weakref.ref[Tracer], ...]  # tracers whose memory NumPy's array would share; often not set
    aval: Any

    def __init__(self, trace: Any) -> None:
        self._trace = trace

    def __init_subclass__(cls, is_own: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not is_own:
            _aval_functions[cls] = attrgetter("aval")

    @property
    def known_value(self) -> Value:
        """The value that Python control flow may look at, or `unknown`."""
        return unknown

    @property
    def control_flow_advice(self) -> str:
        """A sentence for the error of an `if` on a value that is not known, without its full stop; or ''."""
        return ""

    @property
    def inner_values(self) -> tuple[Value, ...]:
        """The values of the traces below that this tracer wraps."""
        return ()

    @property
    def origin(self) -> Position | None:
        """The position in the user's program that made this value, or the nearest known one."""
        position: Position | None = self._trace.position
        return position

    def __bool__(self) -> bool:
        return bool(_require_known(self, "bool()", TracerBoolConversionError))

    def __int__(self) -> int:
        return int(_require_known(self, "int()", TracerIntegerConversionError))

    def __index__(self) -> int:
        return index(_require_known(self, "an integer", TracerIntegerConversionError, f"{_STAGED}. {_INDEXING}"))

    def __float__(self) -> float:
        scipy_function = called_by_scipy()
        advice = f"{_ALWAYS}. {_FILLING}"
        if scipy_function:
            advice = _scipy_advice(scipy_function, "computes with Python's numbers")
        raise ConcretizationTypeError(_conversion_message(self, "float()", advice))

    def __complex__(self) -> complex:
        raise ConcretizationTypeError(_conversion_message(self, "complex()", _ALWAYS))

    def item(self, *_: int) -> Any:
        """Refuse: a Python number would drop out of the transformation."""
        raise ConcretizationTypeError(_conversion_message(self, "a Python number (.item())", _ALWAYS))

    def tolist(self) -> Any:
        """Refuse: Python numbers would drop out of the transformation."""
        raise ConcretizationTypeError(_conversion_message(self, "a list of Python numbers (.tolist())", _ALWAYS))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        scipy_function = called_by_scipy()
        advice = _scipy_advice(scipy_function) if scipy_function else _array_advice(self, called_function(np), dtype)
        raise TracerArrayConversionError(_conversion_message(self, "a NumPy array", advice))

    def __dlpack__(self, **_: Any) -> Any:
        raise TracerArrayConversionError(_conversion_message(self, "a DLPack capsule", _EXPORT))

    def __dlpack_device__(self) -> Any:
        raise TracerArrayConversionError(_conversion_message(self, "its device for DLPack", _EXPORT))

    def __reduce__(self) -> Any:
        raise UnexpectedTracerError(
            f"a traced value of type {self.aval} cannot be pickled: it exists only inside {self._trace.describe()}. "
            "Return it from the function, and store the result."
        )

    def __copy__(self) -> Tracer:
        return copy_of(self)  # type: ignore[no-any-return]

    def __deepcopy__(self, _: Any) -> Tracer:
        return copy_of(self)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aval!r})"

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        _check_usable(self)
        return str(self) if self.known_value is unknown else format(self.known_value, spec)


def is_tracer(x: object) -> bool:
    """Tell whether `x` stands for a value under some trace.

    >>> from calque_core import is_tracer
    >>> is_tracer(1.0)
    False
    """
    return isinstance(x, Tracer)


unknown = object()


def known(x: Value) -> Value:
    """Return the value that Python control flow may look at: `x`, or the known value of a tracer, or `unknown`."""
    return x.known_value if isinstance(x, Tracer) else x


_ALWAYS = (
    "A Python number would leave the transformation, and its derivative would be lost. Keep it an array: numpy.sqrt(x) "
    "in place of math.sqrt(x)"
)
_STACK = "numpy.stack([x, y]), or calque.numpy.array([x, y])"
_EXPORT = "Its elements are not in memory. Return the array from the transformed function, and export the result"
_SETTING = "in place of out[i] = x write out = calque.numpy.at(out)[i].set(x)"
_FILLING = f"Instead of filling an array, build it from its elements: {_STACK}; or {_SETTING}"
_STAGED = (
    "The value is not known here. Use numpy.where, lax.cond or lax.while_loop, or make the argument that decides it "
    "static (static_argnums)"
)

_CONVERSION = "In place of numpy.asarray(x) write x, or calque.numpy.asarray(x)"
_RANGE = "In place of numpy.arange(a, b) write a + numpy.arange(n), with an n that is not traced"
_WRITING = f"To write it into an array, {_SETTING}"
_INDEXING = "To index an ndarray, use calque.numpy.take(x, i, axis=0), or calque.numpy.at(x)[i].get()"


_HOMES = ("numpy", "numpy.linalg", "numpy.fft")
_OTHER_WAYS = (
    "Use calque.scipy if it has the function, write it with NumPy's functions, or call it by calque.pure_callback"
)
_FORMULA = "Write its formula with operators, numpy.stack and numpy.convolve, or call it by calque.pure_callback"
_INSTEAD = {
    "full": "numpy.full ignores the class of its arguments. Use calque.numpy.full",
    "full_like": "numpy.full_like ignores the class of its arguments. Use calque.numpy.full_like",
    "require": "numpy.require makes NumPy's arrays. In place of numpy.require(x, dtype) write x.astype(dtype)",
    "asmatrix": "numpy.asmatrix makes NumPy's matrices. Use arrays with two axes, and x @ y",
    "matrix": "numpy.matrix makes NumPy's matrices. Use arrays with two axes, and x @ y",
    "bmat": "numpy.bmat makes NumPy's matrices. Use numpy.block, and x @ y",
    "stack": "numpy.stack takes arrays, not lists of lists. Use calque.numpy.array, or numpy.block",
    "as_strided": "numpy.lib.stride_tricks.as_strided needs memory. Use sliding_window_view, or an array of indices",
    "ndenumerate": "numpy.ndenumerate makes NumPy's arrays. Use numpy.ndindex(x.shape), and x[i]",
    "take": "numpy.take ignores the class of its indices. Use calque.numpy.take",
    "vectorize": "numpy.vectorize makes NumPy's arrays. Use calque.numpy.vectorize, or call the function with arrays",
    "MaskedArray": "A masked array hides elements from NumPy alone. Use its elements, m.filled(value), and numpy.where",
    "AxisConcatenator": "numpy.r_ and numpy.c_ make NumPy's arrays. Use numpy.concatenate and numpy.column_stack",
    "ABCPolyBase": "A polynomial object makes NumPy's arrays. Use numpy.polynomial.polynomial.polyval(x, p.coef)",
}
# The coefficients of numpy.polynomial.polynomial increase, those of numpy.polyval and its siblings decrease in degree.
_POLYNOMIALS = {
    "polyadd": "numpy.polyadd(a[::-1], b[::-1])[::-1]",
    "polyder": "numpy.polyder(c[::-1])[::-1]",
    "polydiv": "numpy.polydiv(a[::-1], b[::-1]), and reverse both results",
    "polyfit": "numpy.polyfit(x, y, deg)[::-1]",
    "polyfromroots": "numpy.poly(roots)[::-1]",
    "polyint": "numpy.polyint(c[::-1])[::-1]",
    "polymul": "numpy.polymul(a[::-1], b[::-1])[::-1]",
    "polyroots": "numpy.roots(c[::-1])",
    "polysub": "numpy.polysub(a[::-1], b[::-1])[::-1]",
    "polyval": "numpy.polyval(c[::-1], x)",
    "polyvander": "numpy.vander(x, deg + 1, increasing=True)",
}


def _array_advice(x: Tracer, path: str, dtype: Any) -> str:
    """Return advice for a tracer that a function of NumPy tried to make an array of, of a dtype if it is not None.

    The path of the function is '' if it is unknown: maybe an index, or a scalar class of NumPy's.
    """
    module, _, function = path.rpartition(".")
    if function in _INSTEAD:
        return _INSTEAD[function]
    if module.startswith("numpy.polynomial."):
        instead = _POLYNOMIALS.get(function) if module == "numpy.polynomial.polynomial" else None
        return f"{path} makes NumPy's arrays. {f'Use {instead}' if instead else _FORMULA}"
    home = next((name for name in _HOMES if function and hasattr(sys.modules.get(name), function)), None)
    example = f"{home}.{function}(numpy.stack([x, y]))" if home else _STACK
    if not function and isinstance(x.aval, ShapedArray):
        if dtype is not None:
            scalar = f"numpy.{np.dtype(dtype).name}"
            example += f". In place of {scalar}(x) and of numpy.asarray(x, {scalar}) write x.astype({scalar})"
        else:
            example += f". {_CONVERSION if x.aval.shape else _RANGE}"
        example += f". {_WRITING}" if x.aval.shape else ""
        example += f". {_INDEXING}" if x.aval.kind in "iu" else ""
    return f"A NumPy array would leave the transformation. Make an array of traced values: {example}"


def _scipy_advice(name: str, work: str = "makes NumPy's arrays of its arguments") -> str:
    """Return advice for a function of SciPy's: calque's of that name, if the front that has it is loaded."""
    module, _, function = name.rpartition(".")
    has_counterpart = function in getattr(sys.modules.get(f"calque_numpy.{module}"), "__all__", ())
    return f"{name} {work}. {f'Use calque.{name}' if has_counterpart else _OTHER_WAYS}"


def _require_known(x: Tracer, target: str, error: type[Exception], advice: str | None = None) -> Any:
    _check_usable(x)
    value = x.known_value
    if value is unknown:
        sentences = [advice or _STAGED, x.control_flow_advice]
        raise error(_conversion_message(x, target, ". ".join(filter(None, sentences))))
    return value


def _check_usable(x: Tracer) -> None:
    """Check that the trace of `x` is open and of this thread, for conversions, which no trace processes."""
    if x._trace.is_closed or x._trace.thread != get_ident():
        raise UnexpectedTracerError(escape_message(x, here().trace))


def _conversion_message(x: Tracer, target: str, advice: str) -> str:
    _check_usable(x)
    depends = getattr(x._trace, "dependence", lambda _: "")(x)
    return (
        f"{target} was asked of a traced value of type {x.aval}{where()}, under {x._trace.describe()}{depends}. "
        f"{advice}."
    )


class Overwritten:
    """Replaces the trace of a tracer after `+=` has changed its array: it is closed, and names the operator."""

    __slots__ = ("position", "symbol", "thread", "trace")

    is_open, is_closed, tag = False, True, None

    def __init__(self, trace: Any, symbol: str, position: Position | None) -> None:
        self.trace, self.symbol, self.position, self.thread = trace, symbol, position, trace.thread

    def describe(self) -> str:
        """Return the name of the trace in messages."""
        return self.trace.describe()  # type: ignore[no-any-return]


def view_of(x: Value, out: Value) -> Value:
    """Return `out`, marked as a view of `x`, as in NumPy: an operator in place on it changes `x` too."""
    if isinstance(out, Tracer) and isinstance(x, Tracer) and out is not x and out.aval.shape:
        out._viewed = (weakref.ref(x), *getattr(x, "_viewed", ()))
    return out


def copy_of(x: Value) -> Value:
    """Return `x` as an array of its own, as NumPy's copies are: an operator in place on either keeps the other.

    A copy of a tracer has no operation: another tracer of the same value, which views no tracer.  An array of another
    class copies its memory, by its `__copy__`.
    """
    if not isinstance(x, Tracer):
        return getattr(x, "__copy__", lambda: x)()  # as copy.copy, whose module takes a millisecond to load
    out = object.__new__(type(x))
    slots = {name for base in type(x).__mro__ for name in getattr(base, "__slots__", ())}
    for name in [*slots - {"__weakref__", "__dict__", "_viewed"}, *getattr(x, "__dict__", ())]:
        if hasattr(x, name):
            setattr(out, name, getattr(x, name))
    return out


def own_array(x: Value, out: Value) -> Value:
    """Return `out`, which an operation made of `x`, as an array of its own: a copy if it is `x` or may be a view."""
    return copy_of(out) if out is x or isinstance(out, Tracer) else out


def escape_message(x: Tracer, seen_by: Any) -> str:
    """Return the message for a tracer used under `seen_by`, where it is not valid."""
    trace = x._trace
    if type(trace) is Overwritten:
        return (
            f"a traced value of type {x.aval}, under {trace.describe()}, was used{where()} after "
            f"'{trace.symbol}'{at_place(trace.position)} changed its array in place. Use the new value; or write x = x "
            f"{trace.symbol[:-1]} y, which keeps the old value."
        )
    if trace.is_closed:
        reason = f"its trace, {trace.describe()}, has ended"
    elif trace.thread != get_ident():
        reason = f"it belongs to {trace.describe()} in another thread"
    else:
        reason = f"it belongs to {trace.describe()}, and {seen_by.describe()} runs outside of it"
    origin = resolve(x.origin)
    made = f" It was made at {origin}." if origin else ""
    return (
        f"an escaped tracer of type {x.aval} was used{where()}: {reason}.{made} "
        "Return values from a transformed function instead of storing them in a global, an attribute, a cache or a "
        "closure."
    )


def check_lift(x: Tracer, into: Any) -> None:
    """Check that `x` may be a constant of the trace `into`: open, of this thread, and below it.

    Raises: UnexpectedTracerError with the place that made `x`.
    """
    trace = x._trace
    if trace.is_open and trace.thread == into.thread:
        below = into.parent
        while below is not None:
            if below is trace or (trace.tag is not None and below.tag is trace.tag):
                return
            below = below.parent
    raise UnexpectedTracerError(escape_message(x, into))
