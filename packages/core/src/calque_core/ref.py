"""Mutable arrays: references to an array that a program reads and writes.

One idea: a reference is a box, and its content is an immutable array: a value, or a tracer of the trace that made it.
So under derivatives and batches a write is an assignment in Python, and no rule knows of it.  A trace that records a
program for later records the reads and writes of references from outside; the verb that made the trace then discharges
the program: the content becomes an operand, the last value a result.

Read next: `passes/discharge.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core.backends import on_device_of
from calque_core.context import here
from calque_core.engine.numpy_functions import at
from calque_core.errors import NoArrayError
from calque_core.frames.names import named_after
from calque_core.frames.source import Position, at_place, current_position, where
from calque_core.frames.tracebacks import api_boundary
from calque_core.ops.elementwise.convert import narrow
from calque_core.ops.elementwise.weakness import strong
from calque_core.ops.meshes.varying import as_varying
from calque_core.primitives.references import ref_get_p, ref_set_p
from calque_core.staging.stage import JaxprTrace
from calque_core.traces.evaluators import register_evaluator
from calque_core.traces.trace import Trace, current_trace, hand_down
from calque_core.traces.tracer import Tracer
from calque_core.types.avals import is_array_like, reference_types, short_repr, typeof
from calque_core.types.own_types import is_own
from calque_core.types.references import AbstractRef, used_as_array

Value = Any

__all__ = ["AbstractRef", "Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref", "set", "swap"]


class Ref:
    """A mutable array, which `new_ref` makes: `ref[i]` reads elements, and `ref[i] = x` writes them.

    Reads and writes happen in the order of the program, also under transformations.  The shape and the dtype stay.
    An index is any of NumPy's, and works as for `at(x)[index]`.  A reference is no array: functions on arrays take
    `ref[...]`.
    """

    __slots__ = ("__weakref__", "_content", "_end", "_trace")

    def __init__(self, content: Value, trace: Trace) -> None:
        self._content, self._trace = content, trace
        self._end: tuple[str, Position | None] | None = None

    def __reduce__(self) -> Any:
        return new_ref, (get(self),)

    @property
    def aval(self) -> Any:
        """The type of the array."""
        aval = typeof(self._content)
        return aval.inner_aval if type(aval) is AbstractRef else aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.aval.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the array."""
        return self.aval.dtype  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size  # type: ignore[no-any-return]

    def _refuse_use(self, *args: Any, **kwargs: Any) -> Any:
        raise NoArrayError(used_as_array(typeof(self)))

    # Without these, Python would ask for the length, and NumPy would read one element after the other.
    __bool__ = __array__ = __array_ufunc__ = __array_function__ = _refuse_use
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _refuse_use
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _refuse_use
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __neg__ = __abs__ = __invert__ = _refuse_use
    __lt__ = __le__ = __gt__ = __ge__ = __float__ = __int__ = __index__ = __complex__ = _refuse_use

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"len() of a reference of type {typeof(self)}{where()}, which has no axes. Read ref[...].")
        return self.shape[0]

    def __repr__(self) -> str:
        is_known = self._end is None and not isinstance(self._content, Tracer)
        return f"Ref({self._content!r})" if is_known else f"<reference of type {typeof(self)}>"

    @api_boundary
    def __getitem__(self, index: Any) -> Value:
        return get(self, index)

    @api_boundary
    def __setitem__(self, index: Any, x: Value) -> None:
        set(self, index, x)

    @api_boundary
    def addupdate(self, x: Value, index: Any = ...) -> None:
        """Add `x` to the elements at `index`; an element that it names twice gets both."""
        addupdate(self, index, x)

    def read(self) -> Value:
        """Return the whole array, as the current trace sees it; NumPy's are read-only."""
        holder, _ = self._holder()
        is_owner = holder.main is self._trace.main
        if is_owner and type(typeof(self._content)) is not AbstractRef:
            return self._content
        (x,) = hand_down(holder, ref_get_p, [self._content if is_owner else self], {})
        return x

    def write(self, x: Value) -> None:
        """Replace the whole array by one of its type.

        Raises: ValueError for a value of a transformation inside which the reference was not made.
        """
        holder, inner = self._holder()
        for trace in inner:
            if trace.owns(x):
                raise ValueError(
                    f"{trace.describe()} writes a value that depends on its arguments into a reference from outside, "
                    f"of type {typeof(self)}{where()}. Make the reference inside the function, or return the value and "
                    "write it afterwards."
                )
        is_owner = holder.main is self._trace.main
        if is_owner and type(typeof(self._content)) is not AbstractRef:
            self._content = on_device_of((self._content,), _separate(x))
        else:
            hand_down(holder, ref_set_p, [self._content if is_owner else self, x], {})

    def _holder(self) -> tuple[Trace, list[Trace]]:
        """Return the trace that reads and writes, the owner of the content or a recording trace inside of it.

        The second item lists the transformations inside of this trace.
        Raises: ValueError after the end of the reference, or outside of its trace.
        """
        if self._end is not None:
            function, position = self._end
            raise ValueError(
                f"a reference of type {typeof(self)} was used{where()} after {function}{at_place(position)}. Make a "
                "new reference: new_ref(x)."
            )
        if not here().settings.enable_x64:
            check_bits(self._content, typeof(self))
        inner: list[Trace] = []
        trace: Trace | None = current_trace()
        while trace is not None:
            if trace.main is self._trace.main:
                return trace, inner
            if isinstance(trace, JaxprTrace):
                trace.value_asked()  # code for later calls may not depend on the content
                return trace, inner
            inner.append(trace)
            trace = trace.parent
        raise ValueError(
            f"a reference of type {typeof(self)} was made inside {self._trace.describe()} and used outside of it"
            f"{where()}. Return its value instead: freeze(ref)."
        )

    def _ended_by(self, function: str) -> Value:
        """Return the array; the reference may not be used again.

        Raises: ValueError for a reference from outside of the program that is traced.
        """
        x, (holder, _) = self.read(), self._holder()
        if holder.main is not self._trace.main or type(typeof(self._content)) is AbstractRef:
            raise ValueError(
                f"{function} got a reference from outside of {holder.describe()}{where()}, which would end at the "
                f"trace alone. Read ref[...], and call {function} where the reference was made."
            )
        self._end = function, current_position()
        return x


def check_bits(content: Value, aval: AbstractRef) -> None:
    """Check that an array of a reference keeps its dtype under the current settings.

    Raises: TypeError.
    """
    if type(typeof(content)) is not AbstractRef and content.dtype != aval.inner_aval.dtype:
        raise TypeError(
            f"a reference to an array of {content.dtype} was used{where()} while enable_x64 is off, which would "
            "shorten it. Make the reference under this setting."
        )


def _separate(x: Value) -> Value:
    """Return an array whose memory nobody else can write to."""
    if not isinstance(x, np.ndarray):
        return x
    if not x.ndim:
        return x[()]
    x = x.copy() if x.flags.writeable or x.base is not None else x
    x.flags.writeable = False
    return x


def _read_only_copy(x: Value) -> Value:
    return x.copy() if isinstance(x, np.ndarray) else x


@api_boundary
def new_ref(init_val: Value) -> Ref:
    """Return a new reference, whose array starts as a copy of `init_val`.

    Shape and dtype: those of `init_val`; a Python scalar becomes an array without axes.
    Raises: TypeError if it is no array, or of a class of your own.

    >>> import numpy as np
    >>> from calque_core.ref import freeze, new_ref
    >>> ref = new_ref(np.zeros(3))
    >>> ref[1] = 2.0
    >>> ref[1:] += 1.0
    >>> freeze(ref)
    array([0., 3., 1.])
    """
    if not is_array_like(init_val) or is_own(typeof(init_val)):
        raise TypeError(
            f"new_ref got {short_repr(init_val)} of type {type(init_val).__name__}{where()}. Give an array or a scalar."
        )
    x = strong(*narrow([init_val]))
    if here().varying_axes:
        x = as_varying(x, here().varying_axes)  # so that each position may write its own values
    return Ref(_separate(x), current_trace())


@api_boundary
def empty_ref(ty: Any) -> Ref:
    """Return a new reference to an array of the shape and the dtype of `ty`; its elements are zeros.

    >>> from calque_core import ShapeDtypeStruct
    >>> from calque_core.ref import empty_ref
    >>> empty_ref(ShapeDtypeStruct((2,), "float32"))
    Ref(array([0., 0.], dtype=float32))
    """
    return new_ref(np.zeros(ty.shape, ty.dtype))


@api_boundary
def freeze(ref: Ref) -> Value:
    """Return the array of a reference, which ends: any later use of it is refused.

    Raises: TypeError if `ref` is no reference; ValueError if it is from outside of the program that is traced.

    >>> from calque_core.ref import freeze, new_ref
    >>> freeze(new_ref(2.0))
    np.float64(2.0)
    """
    return _read_only_copy(_checked("freeze", ref)._ended_by("freeze"))


@api_boundary
def free_ref(ref: Ref) -> None:
    """Drop the array of a reference, which ends: any later use of it is refused.

    Raises: as `freeze`.

    >>> from calque_core.ref import free_ref, new_ref
    >>> free_ref(new_ref(2.0))
    """
    _checked("free_ref", ref)._ended_by("free_ref")


@api_boundary
def get(ref: Ref, idx: Any = ...) -> Value:
    """Return the elements of a reference at an index, `ref[idx]`; the whole array without one.

    Shape: as NumPy's `x[idx]`.  Dtype: the array's.
    Raises: TypeError if `ref` is no reference; IndexError for a known index out of bounds.

    >>> from calque_core.ref import get, new_ref
    >>> get(new_ref(2.0))
    np.float64(2.0)
    """
    x = _checked("get", ref).read()
    return _read_only_copy(x if _is_whole(idx) else at(x)[idx].get())


@api_boundary
def set(ref: Ref, idx: Any, value: Value) -> None:
    """Write the elements of a reference at an index, `ref[idx] = value`.

    Shape: `value` broadcasts to `ref[idx]`.  Dtype: converted to the array's.
    Raises: TypeError if `ref` is no reference, or its dtype cannot hold `value`; ShapeError if the shapes do not fit.

    >>> from calque_core.ref import new_ref, set
    >>> ref = new_ref(1.0)
    >>> set(ref, ..., 3.0)
    >>> ref
    Ref(np.float64(3.0))
    """
    ref = _checked("set", ref)
    before = np.broadcast_to(np.zeros((), ref.dtype), ref.shape) if _is_whole(idx) else ref.read()
    ref.write(at(before)[_index(idx)].set(value))


@api_boundary
def swap(ref: Ref, idx: Any, value: Value) -> Value:
    """Write the elements of a reference at an index, and return the elements before.

    Raises: as `set`.

    >>> from calque_core.ref import new_ref, swap
    >>> swap(new_ref(1.0), ..., 3.0)
    np.float64(1.0)
    """
    before = get(ref, idx)
    set(ref, idx, value)
    return before


@api_boundary
def addupdate(ref: Ref, idx: Any, x: Value) -> None:
    """Add `x` to the elements of a reference at an index; an element that it names twice gets both.

    Raises: as `set`.

    >>> import numpy as np
    >>> from calque_core.ref import addupdate, new_ref
    >>> ref = new_ref(np.zeros(2))
    >>> addupdate(ref, np.array([0, 0]), 1.0)
    >>> ref[...]
    array([2., 0.])
    """
    ref = _checked("addupdate", ref)
    ref.write(at(ref.read())[_index(idx)].add(x))


def _is_whole(index: Any) -> bool:
    return index is None or index is ... or (type(index) is tuple and not index)


def _index(index: Any) -> Any:
    return ... if index is None else index


def _checked(function: str, ref: Any) -> Ref:
    if not isinstance(ref, Ref):
        raise TypeError(f"{function} got {short_repr(ref)} of type {type(ref).__name__}{where()}. Give a reference.")
    return ref


def taking_references(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of tracers, which passes a tracer of a reference to `fun` as a reference."""

    def call(*leaves: Value) -> Any:
        trace = current_trace()
        return fun(*[Ref(x, trace) if type(typeof(x)) is AbstractRef else x for x in leaves])

    return call


def with_references(fun: Callable[..., Any], positions: Sequence[int]) -> Callable[..., Any]:
    """Return a function that gives `fun` references to its arguments at `positions`.

    It returns a pair: the result of `fun`, and the last arrays of the references.
    """

    @named_after(fun)
    def call(*args: Value) -> tuple[Any, list[Value]]:
        trace, passed = current_trace(), list(args)
        for i in positions:
            passed[i] = Ref(args[i], trace)
        out = fun(*passed)
        return out, [passed[i].read() for i in positions]

    return call


def _evaluate(primitive: Any, args: Any, params: dict[str, Any]) -> list[Value]:
    """Evaluate a read or a write of a program that holds references; refuse operations on arrays."""
    if primitive is ref_get_p:
        return [ref_get_p.impl(*args)]
    if primitive is ref_set_p:
        return ref_set_p.impl(*args)  # type: ignore[no-any-return]
    ref = next(x for x in args if type(x) is Ref)
    raise TypeError(f"{primitive.name}{where()} got a reference of type {typeof(ref)}. Read it first: ref[...].")


reference_types[Ref] = lambda ref: AbstractRef(ref.aval)
register_evaluator(Ref, _evaluate)
