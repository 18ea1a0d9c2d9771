"""Abstract values: the types of arrays that a trace has not computed.

One idea: `typeof(x)` is one dictionary look-up by class and one call, and there is one object per type, so that
comparing types is comparing identities.

A type is weak if the value is a Python scalar when the same program runs eagerly: Python scalars themselves, and
results of Python's own operators on them alone.  All other operations give strong results, as NumPy's functions do.
"""

from __future__ import annotations

import weakref
from _thread import RLock
from collections.abc import Callable, Collection, Sequence
from functools import cache, lru_cache
from math import prod
from operator import index
from typing import Any, final

import numpy as np

from calque_core.context import DEFAULT_SETTINGS, Settings, here
from calque_core.frames.source import current_call, where
from calque_core.types.dtypes import (
    ML_DTYPES,
    SHORT_DTYPES,
    _canonical,
    _scalar_dtype,
    canonicalize_dtype,
    dtype_name,
    float0,
    is_float,
    is_supported,
    kind_of,
    short_name,
)
from calque_core.types.numbers import is_number, plain_number

Shape = tuple[int, ...]
AxisNames = frozenset[Any]
NO_AXES: AxisNames = frozenset()
_LARGEST_SIZE = np.iinfo(np.intp).max
Value = Any


class AbstractValue:
    """The type of a value: one jaxpr serves all values with equal types.

    `str` gives the spelling of messages (`float32[2,3]`, and `~float32[]` for a weak type), `str_short` the spelling of
    jaxprs (`f32[2,3]`).
    """

    __slots__ = ()
    vma: AxisNames = NO_AXES  # the axes of a mesh along which the value may vary

    def __str__(self) -> str:
        return self.str_short()

    def str_short(self) -> str:
        """Return the type as jaxprs print it."""
        raise NotImplementedError(f"{type(self).__name__} does not define str_short. Define it to print such a value.")

    def to_tangent_aval(self) -> AbstractValue:
        """Return the type of this type's tangents."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define to_tangent_aval. Define it to differentiate such a value."
        )


@final
class ShapedArray(AbstractValue):
    """The type of an array: `shape`, `dtype`, and `weak_type`, True for Python scalars.  It is immutable.

    `vma`, "varying manual axes", are the axes of a mesh along which the value may vary: in `shard_map`, the shards.
    `kind` is the kind of the dtype: "b", "i", "u", "f" or "c" for bools, signed and unsigned integers, floats and
    complex numbers, and "V" for `float0`.
    Raises: ValueError for a negative size; TypeError for a dtype that cannot be computed with.

    >>> import numpy as np
    >>> from calque_core import ShapedArray
    >>> ShapedArray((2, 3), np.float32)
    float32[2,3]
    >>> ShapedArray((), np.float64, weak_type=True)
    ~float64[]
    >>> ShapedArray((4,), np.float32, vma={"i"})
    float32[4]{V:i}
    """

    __slots__ = ("__weakref__", "dtype", "kind", "shape", "vma", "weak_type")

    shape: Shape
    dtype: np.dtype[Any]
    weak_type: bool
    kind: str

    vma: AxisNames

    def __new__(
        cls, shape: Sequence[int], dtype: Any, weak_type: bool = False, vma: Collection[Any] = NO_AXES
    ) -> ShapedArray:
        return _one_type(tuple(map(index, shape)), canonicalize_dtype(dtype), bool(weak_type), frozenset(vma))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name} of the type {self} cannot be set. Make a new type with .update({name}=...).")

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    def update(self, **fields: Any) -> ShapedArray:
        """Return this type with some fields changed.

        >>> import numpy as np
        >>> from calque_core import ShapedArray
        >>> ShapedArray((2,), np.float32).update(shape=(3,))
        float32[3]
        """
        aval = shaped_array(
            fields.get("shape", self.shape), fields.get("dtype", self.dtype), fields.get("weak_type", self.weak_type)
        )
        return aval.varying(fields.get("vma", self.vma))

    def varying(self, vma: Collection[Any]) -> ShapedArray:
        """Return this type for a value that may vary along the mesh axes `vma`, and along no other axis.

        >>> import numpy as np
        >>> from calque_core import ShapedArray
        >>> ShapedArray((2,), np.float32).varying({"x", "y"})
        float32[2]{V:(x,y)}
        """
        return self if vma == self.vma else _one_type(self.shape, self.dtype, self.weak_type, frozenset(vma))

    def strip_weak_type(self) -> ShapedArray:
        """Return the strong version of this type."""
        return _intern(self.shape, self.dtype, False, True).varying(self.vma) if self.weak_type else self

    def to_tangent_aval(self) -> ShapedArray:
        """Return the type of tangents: the strong version of this one; `float0` for integers and bools."""
        return self.strip_weak_type() if is_float(self.dtype) else shaped_array(self.shape, float0).varying(self.vma)

    def str_short(self) -> str:
        """Return the short form: `f32[2,3]`; it does not show whether the type is weak, nor do jaxprs."""
        return f"{short_name(self.dtype)}[{','.join(map(str, self.shape))}]{_axes_text(self.vma)}"

    def __str__(self) -> str:
        sizes = ",".join(map(str, self.shape))
        return f"{'~' * self.weak_type}{dtype_name(self.dtype)}[{sizes}]{_axes_text(self.vma)}"

    __repr__ = __str__

    def __reduce__(self) -> Any:
        return ShapedArray, (self.shape, self.dtype, self.weak_type, self.vma)

    def __copy__(self) -> ShapedArray:
        return self

    def __deepcopy__(self, _: Any) -> ShapedArray:
        return self


def _axes_text(vma: AxisNames) -> str:
    """Return the printed form of varying axes: nothing, "{V:i}" or "{V:(i,j)}"."""
    names = sorted(map(str, vma))
    return f"{{V:{names[0] if len(names) == 1 else '(' + ','.join(names) + ')'}}}" if names else ""


Key = tuple[Shape, np.dtype[Any], bool, AxisNames]
_types: weakref.WeakValueDictionary[Key, ShapedArray] = weakref.WeakValueDictionary()
_types_lock = RLock()  # making an object may collect garbage, and finalizers may call this module


def _one_type(shape: Shape, dtype: np.dtype[Any], weak_type: bool, vma: AxisNames = NO_AXES) -> ShapedArray:
    """Return the unique object of a type: equality is identity, and hashing stays in C for every cache."""
    key = shape, dtype, weak_type, vma
    with _types_lock:
        aval = _types.get(key)
        if aval is None:
            if min(shape, default=0) < 0:
                raise ValueError(f"the shape {shape} has a negative size. Give sizes of zero or more.")
            if max(shape, default=0) > _LARGEST_SIZE:
                raise ValueError(f"the shape {shape} has a size above {_LARGEST_SIZE}. Give smaller sizes.")
            aval = object.__new__(ShapedArray)
            for name, value in zip(("shape", "dtype", "weak_type", "vma", "kind"), (*key, kind_of(dtype))):
                object.__setattr__(aval, name, value)
            _types[key] = aval
    return aval


@lru_cache(maxsize=1 << 15)
def _intern(shape: Shape, dtype: np.dtype[Any], weak_type: bool, enable_x64: bool) -> ShapedArray:
    return _one_type(tuple(map(index, shape)), _canonical(dtype, enable_x64), weak_type)


def shaped_array(shape: Shape, dtype: np.dtype[Any], weak_type: bool = False) -> ShapedArray:
    """Return the `ShapedArray` of a shape and a dtype in canonical form, in 0.2 us; the class takes 2 us.

    >>> import numpy as np
    >>> from calque_core.extend import shaped_array
    >>> shaped_array((2,), np.dtype("f4")) is shaped_array((2,), np.dtype("f4"))
    True
    """
    return _intern(shape, dtype, weak_type, here().settings.enable_x64)


def traced_type(shape: Shape, dtype: np.dtype[Any], weak_type: bool = False) -> ShapedArray:
    """Return the `ShapedArray` of a tracer; its dtype may be wider than the current settings allow.

    >>> import numpy as np
    >>> from calque_core.engine import traced_type
    >>> from calque_core.extend import shaped_array
    >>> traced_type((2,), np.dtype("f4")) is shaped_array((2,), np.dtype("f4"))
    True
    """
    return _intern(shape, dtype, weak_type, True)


_aval_functions: dict[type, Callable[[Any], Any]] = {}


own_types: dict[type, Callable[[Any], Any]] = {}
"""The functions from values of an `OwnType` to their types, by class: such a value is an operand, and no array."""


reference_types: dict[type, Callable[[Any], Any]] = {}
"""The functions from references to their types, by class: programs take them, and no operation does."""


def typeof(x: Value) -> Any:
    """Return the abstract value of an array, a scalar or a tracer.

    Raises: TypeError if `x` is none of these.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> typeof(np.zeros((2, 3))), typeof(1.0)
    (float64[2,3], ~float64[])
    """
    function = _aval_functions.get(type(x))
    return function(x) if function is not None else _typeof_other(x)


get_aval = typeof


def is_array_like(x: object) -> bool:
    """Tell whether `x` can be an operand: an array, a scalar, a tracer.

    >>> from calque_core.engine import is_array_like
    >>> is_array_like(1.0), is_array_like([1.0])
    (True, False)
    """
    if type(x) is np.ndarray:
        return x.dtype.kind in "biufc" or _refusal(x) is None
    if type(x) in _aval_functions or type(x) in own_types:
        return True
    return is_number(x) or (isinstance(x, (np.ndarray, np.generic)) and _refusal(x) is None)


def _typeof_other(x: Value) -> Any:
    if type(x) in own_types:
        return own_types[type(x)](x)
    if type(x) in reference_types:
        return reference_types[type(x)](x)
    if is_number(x):
        return typeof(plain_number(x))
    problem = _refusal(x)
    if problem is not None:
        call = current_call()
        raise TypeError(f"{call}: {problem}" if call else problem)
    return shaped_array(np.shape(x), canonicalize_dtype(x.dtype))


def _refusal(x: Value) -> str | None:
    if isinstance(x, np.ma.MaskedArray):
        return "a masked array is not an operand: its mask would be lost. Pass x.filled(value) instead."
    if isinstance(x, (np.ndarray, np.generic)):
        if not is_supported(x.dtype):
            return f"an array of dtype {x.dtype} is not an operand. {_dtype_advice(x.dtype)}"
        kind: type = type(x)
        if isinstance(x, np.ndarray) and _changes_operators(kind):
            return (
                f"an array of class {kind.__name__} is not an operand: its operators have a meaning of their own, "
                "which would be lost. Pass numpy.asarray(x) instead."
            )
        return None
    hint = ASARRAY if isinstance(x, (list, tuple)) or is_convertible(x) else "Pass an array or a scalar."
    return f"{short_repr(x)} of type {type(x).__name__} is not an array or a scalar. {hint}"


def _dtype_advice(dtype: np.dtype[Any]) -> str:
    """Return the advice for an array of a dtype that is no number."""
    if dtype.type is np.void and dtype.names is None and dtype.itemsize <= 2:
        example = next(iter(SHORT_DTYPES))
        return (
            f"NumPy's files keep the bytes of {example} and of other dtypes of {ML_DTYPES}, and not their names. "
            f"Name the dtype again: x.view({ML_DTYPES}.{example})."
        )
    return "Convert it to a number dtype first."


ASARRAY = "Wrap it in numpy.asarray first."


def is_convertible(x: object) -> bool:
    """Tell whether NumPy would ask `x` for an array; `numpy.asarray(x)` may still fail, with its own message."""
    return hasattr(type(x), "__array__")


_OPERATORS = [name for name, value in vars(np.lib.mixins.NDArrayOperatorsMixin).items() if callable(value)]


@lru_cache(maxsize=1 << 8)
def _changes_operators(kind: type) -> bool:
    """Tell whether a subclass of NumPy's arrays redefines an operator or protocol: matrices, quantities with a unit."""
    names = (*_OPERATORS, "__array_ufunc__", "__array_function__")
    return any(getattr(kind, name) is not getattr(np.ndarray, name) for name in names)


def short_repr(x: object) -> str:
    """Return the repr of a user's value in one line, cut to 60 characters, for a message.

    >>> from calque_core.engine import short_repr
    >>> short_repr("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."
    """
    text = repr(x)
    text = " ".join(text.split()) if "\n" in text else text
    return text if len(text) <= 60 else text[:57] + "..."


@cache
def _weak_aval(kind: type, settings: Settings) -> ShapedArray:
    return _one_type((), _scalar_dtype(kind, settings), True)


def _python_scalar(kind: type) -> Callable[[Value], ShapedArray]:
    resting = _weak_aval(kind, DEFAULT_SETTINGS)
    return lambda x: resting if here().settings is DEFAULT_SETTINGS else _weak_aval(kind, here().settings)


def _int_aval(x: int) -> ShapedArray:
    aval = _weak_aval(int, here().settings)
    half = 1 << (8 * aval.dtype.itemsize - 1)
    if not -half <= x < half:
        raise OverflowError(_overflow_message(x, aval.dtype))
    return aval


def _overflow_message(x: int, dtype: np.dtype[Any]) -> str:
    others = (np.int64, np.uint64) if here().settings.enable_x64 else (np.uint32,)
    wider = [t for t in others if np.iinfo(t).min <= x <= np.iinfo(t).max]
    other = "Use a float" if _fits_a_float(x) else "It does not fit a float either: use its logarithm"
    advice = f"Give it a dtype: numpy.{wider[0].__name__}({x})" if wider else other
    text = str(x) if x.bit_length() <= 128 else f"of {x.bit_length()} bits"
    return f"the Python integer {text}{where()} does not fit {dtype}. {advice}."


def _fits_a_float(x: int) -> bool:
    try:
        float(x)
    except OverflowError:
        return False
    return True


def _numpy_scalar(kind: type) -> Callable[[Value], ShapedArray]:
    dtype = np.dtype(kind)
    resting = _intern((), dtype, False, True)
    return lambda x: resting if here().settings is DEFAULT_SETTINGS else shaped_array((), dtype)


def _ndarray_aval(x: np.ndarray[Any, Any]) -> ShapedArray:
    dtype = x.dtype
    if dtype.kind not in "biufc":
        return _typeof_other(x)  # type: ignore[no-any-return]
    return _intern(x.shape, dtype, False, here().settings.enable_x64)


_aval_functions.update(
    {
        bool: _python_scalar(bool),
        int: _int_aval,
        float: _python_scalar(float),
        complex: _python_scalar(complex),
        np.ndarray: _ndarray_aval,
    }
)
NUMPY_SCALARS: tuple[type, ...] = (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64, np.complex64, np.complex128,
)  # fmt: skip
_aval_functions.update({kind: _numpy_scalar(kind) for kind in NUMPY_SCALARS})
NUMPY_AVALS = {kind: _intern((), np.dtype(kind), False, True) for kind in NUMPY_SCALARS}  # under the default settings
