"""Types of one's own: of values that are several arrays, and count as one operand.

One idea: an `OwnType` names the arrays of a value and their types, makes a value of arrays, and says what its tangents
are and what it becomes with one more axis in front.  A program carries such a value as one variable of one type; a
compiler gets its arrays.

The functions below the class ask a type what a transformation needs to know, whether it is an array's or not.

Read next: `traces/own_tracers.py`, the values under a trace; `ops/calls/own_values.py`, the two operations between a
value and its arrays; `passes/lower_values.py`, which makes programs of arrays alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, ClassVar, Self, TypeVar
from weakref import WeakValueDictionary

from calque_core.frames.source import where
from calque_core.types.avals import (
    AbstractValue,
    ShapedArray,
    _aval_functions,
    is_array_like,
    own_types,
    shaped_array,
    short_repr,
    typeof,
)
from calque_core.types.dtypes import float0, is_float

T = TypeVar("T")
Value = Any


class NoArrayError(TypeError, AttributeError):
    """An attribute of arrays was asked of a type that has none."""


_one_of_each: WeakValueDictionary[Any, Any] = WeakValueDictionary()


class _Interned(type):
    """Makes one object for each type, so that comparing types is comparing identities."""

    def __call__(cls: type[T], *args: Any, **kwargs: Any) -> T:
        made = super().__call__(*args, **kwargs)  # type: ignore[misc]
        try:
            return _one_of_each.setdefault(made, made)  # type: ignore[no-any-return]
        except TypeError as error:
            raise TypeError(
                f"a type {cls.__name__} has no hash: {error}. Decorate the class with @dataclass(frozen=True), and "
                "give it fields with a hash."
            ) from None


class OwnType(AbstractValue, metaclass=_Interned):
    """The type of values that are several arrays: a quantised array, an interval, a number with a unit.

    A subclass is a frozen dataclass with a hash.  It must define `of` and `arrays`; the other methods have defaults.
    `register_aval(MyClass, MyType)` makes values of the class operands.  A type may have a `shape`, but no `dtype`:
    the functions on arrays take no such value.

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from calque_core import OwnType, ShapedArray, register_aval, typeof
    >>> @dataclass(frozen=True)
    ... class Interval:
    ...     low: np.ndarray
    ...     high: np.ndarray
    >>> @dataclass(frozen=True)
    ... class IntervalType(OwnType):
    ...     shape: tuple
    ...     @classmethod
    ...     def of(cls, x):
    ...         return cls(np.shape(x.low))
    ...     def arrays(self):
    ...         return dict.fromkeys(("low", "high"), ShapedArray(self.shape, np.float64))
    >>> register_aval(Interval, IntervalType)
    >>> typeof(Interval(np.zeros(3), np.ones(3)))
    interval[3]
    """

    __slots__ = ("__weakref__",)

    value_class: ClassVar[type]  # which `register_aval` sets
    weak_type: ClassVar[bool] = False

    @classmethod
    def of(cls, value: Value) -> Self:
        """Return the type of a value."""
        raise NotImplementedError(f"{cls.__name__} does not define of. Define it: the type of a value of the class.")

    def arrays(self) -> Mapping[str, ShapedArray]:
        """Return the types of the arrays of a value, by the names of its attributes."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define arrays. Define it: a dict from the names of attributes to the "
            "types of their arrays."
        )

    def make(self, **arrays: Value) -> Value:
        """Return the value of this type with these arrays; by default, its class called with them."""
        return self.value_class(**arrays)

    def to_tangent_aval(self) -> Any:
        """Return the type of tangents: by default this one, whose arrays must then be floats."""
        others = [name for name, aval in self.arrays().items() if not is_float(aval.dtype)]
        if others:
            raise NotImplementedError(
                f"{type(self).__name__} does not define to_tangent_aval, and {others[0]} of {self} is no float. Define "
                "it: the type of tangents, or ShapedArray((), float0) if there are none."
            )
        return self

    def gradient_aval(self, out: Any) -> Any:
        """Return the type of the gradient of a result of type `out`, which has the arrays of a tangent."""
        del out
        return self.to_tangent_aval()

    def with_axis(self, size: int) -> Self:
        """Return the type of `size` values, stacked: each of its arrays has one more axis in front."""
        return self._of_shape("with_axis", (size, *self._sizes("with_axis")))

    def without_axis(self) -> Self:
        """Return the type of one of the values that are stacked in a value of this type."""
        return self._of_shape("without_axis", self._sizes("without_axis")[1:])

    def _sizes(self, method: str) -> tuple[int, ...]:
        if "shape" not in getattr(self, "__dataclass_fields__", ()):
            raise NotImplementedError(
                f"{type(self).__name__} does not define {method}, which vmap and scan need: its default changes the "
                "field shape of a dataclass. Define with_axis and without_axis."
            )
        shape: tuple[int, ...] = self.shape
        return shape

    def _of_shape(self, method: str, shape: tuple[int, ...]) -> Self:
        fields: Any = self.__dataclass_fields__
        return type(self)(**{name: getattr(self, name) for name in fields} | {"shape": shape})

    def varying(self, vma: Collection[Any]) -> Self:
        """Return this type.  Raises: TypeError for axes of a mesh, whose parts of a value only its arrays have."""
        if vma:
            raise TypeError(f"a value of type {self} cannot vary along the axes of a mesh. Pass its arrays.")
        return self

    def strip_weak_type(self) -> Self:
        """Return this type: it is never weak."""
        return self

    def str_short(self) -> str:
        """Return the type as jaxprs print it: the name of the class of values, and the fields."""
        fields = [getattr(self, name) for name in getattr(self, "__dataclass_fields__", ())]
        texts = [str(item) for x in fields for item in (x if isinstance(x, tuple) else (x,))]
        return f"{self.value_class.__name__.lower()}[{','.join(texts)}]"

    __repr__ = AbstractValue.__str__

    def __eq__(self, other: object) -> bool:  # of a class that is no dataclass
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).items()))

    def __getattr__(self, name: str) -> Any:
        """Refuse what types of arrays have, as `dtype`; a subclass may have a field `shape`."""
        if name not in _OF_ARRAYS:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")
        raise NoArrayError(
            f"the {name} of a value of type {self}{where()} was asked for, but it is no array. Use its own operators "
            f"and methods, a primitive for this type, or its arrays: {', '.join(self.arrays())}."
        )


_OF_ARRAYS = frozenset(("shape", "dtype", "kind", "ndim", "size"))


def register_aval(value_type: type, function: Callable[[Any], AbstractValue] | type[OwnType]) -> None:
    """Let values of class `value_type` be operands; `function(value)` gives their abstract value.

    A subclass of `OwnType` in its place makes each value one operand that is several arrays.
    Otherwise a value is one array, and its class needs the attributes `shape` and `dtype`, for batches, and
    `__array__`, for compiled programs, which copy the value; `register_evaluator` says how the class computes.
    Raises: ValueError if the class has one already; TypeError for a type with a field `dtype`.
    """
    if value_type in _aval_functions or value_type in own_types:
        raise ValueError(f"{value_type.__name__} already has an abstract value. Register a class of your own instead.")
    if not (isinstance(function, type) and issubclass(function, OwnType)):
        _aval_functions[value_type] = function
        return
    if not {"dtype", "kind"}.isdisjoint(getattr(function, "__dataclass_fields__", vars(function))):
        raise TypeError(
            f"{function.__name__} has a field dtype or kind, which types of arrays have: functions on arrays would "
            f"take {value_type.__name__} for one. Give the field another name."
        )
    if "value_class" in vars(function):
        raise ValueError(f"{function.__name__} is the type of {function.value_class.__name__}. Make a subclass of it.")
    function.value_class = value_type
    own_types[value_type] = function.of


def register_own_tracer(tracer_type: type) -> None:
    """Let tracers of this class have an own type."""
    own_types[tracer_type] = attrgetter("aval")


# What transformations ask a type


def is_own(aval: Any) -> bool:
    """Tell whether a type is one's own, and not an array's.

    >>> from calque_core import typeof
    >>> is_own(typeof(1.0))
    False
    """
    return isinstance(aval, OwnType)


def same_type(x: Any, y: Any) -> bool:
    """Tell whether two types differ at most in weakness and in the axes of a mesh.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.engine import same_type
    >>> same_type(typeof(1.0), typeof(np.float64(1.0))), same_type(typeof(1), typeof(1.0))
    (True, False)
    """
    if type(x) is ShapedArray and type(y) is ShapedArray:
        return x.shape == y.shape and x.dtype == y.dtype
    return bool(x == y)


def same_types(xs: Sequence[Any], ys: Sequence[Any]) -> bool:
    """Tell whether two lists have the same types, as `same_type` says."""
    return len(xs) == len(ys) and all(map(same_type, xs, ys))


def has_tangent(aval: Any) -> bool:
    """Tell whether values of a type have tangents other than zero.

    >>> from calque_core import typeof
    >>> from calque_core.engine import has_tangent
    >>> has_tangent(typeof(1.0)), has_tangent(typeof(1))
    (True, False)
    """
    if type(aval) is ShapedArray:
        return aval.kind in "fc"
    tangent_aval = aval.to_tangent_aval()
    return not (type(tangent_aval) is ShapedArray and tangent_aval.dtype == float0)


def with_leading_axis(aval: Any, size: int) -> Any:
    """Return the type of `size` values of a type, stacked.

    Raises: TypeError if the arrays of an own type do not all get the axis; NotImplementedError if it has no such rule.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.engine import with_leading_axis
    >>> with_leading_axis(typeof(np.zeros(2)), 3)
    float64[3,2]
    """
    if type(aval) is ShapedArray:
        return shaped_array((size, *aval.shape), aval.dtype).varying(aval.vma)
    return _stacked_type(aval, size)


@lru_cache(maxsize=1 << 10)
def _stacked_type(aval: OwnType, size: int) -> OwnType:
    stacked = aval.with_axis(size)
    _check_axis(aval, stacked, size, f"{aval}.with_axis({size}) is {stacked}")
    return stacked


def without_leading_axis(aval: Any) -> Any:
    """Return the type of one slice along the leading axis.

    Raises: as `with_leading_axis`.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.engine import without_leading_axis
    >>> without_leading_axis(typeof(np.zeros((3, 2))))
    float64[2]
    """
    if type(aval) is ShapedArray:
        return shaped_array(aval.shape[1:], aval.dtype).varying(aval.vma)
    return _item_type(aval)


@lru_cache(maxsize=1 << 10)
def _item_type(aval: OwnType) -> OwnType:
    item = aval.without_axis()
    _check_axis(item, aval, leading_size(aval), f"{aval}.without_axis() is {item}")
    return item


def with_axis_at(aval: Any, dim: int, size: int) -> Any:
    """Return a type with one more axis at `dim`; of one's own, among its leading axes.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.engine import with_axis_at
    >>> with_axis_at(typeof(np.zeros((3, 2))), 1, 4)
    float64[3,4,2]
    """
    if not dim:
        return with_leading_axis(aval, size)
    outer = leading_size(aval)
    assert outer is not None, aval
    return with_leading_axis(with_axis_at(without_leading_axis(aval), dim - 1, size), outer)


def without_axis_at(aval: Any, dim: int) -> Any:
    """Return a type without the axis at `dim`; of one's own, one of its leading axes.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.engine import without_axis_at
    >>> without_axis_at(typeof(np.zeros((3, 4, 2))), 1)
    float64[3,2]
    """
    inner = without_leading_axis(aval)
    if not dim:
        return inner
    outer = leading_size(aval)
    assert outer is not None, aval
    return with_leading_axis(without_axis_at(inner, dim - 1), outer)


def leading_size(aval: Any) -> int | None:
    """Return the size of the leading axis; None for a value without axes.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.engine import leading_size
    >>> leading_size(typeof(np.zeros((3, 2)))), leading_size(typeof(1.0))
    (3, None)
    """
    shapes = [aval.shape] if type(aval) is ShapedArray else [x.shape for x in aval.arrays().values()]
    return shapes[0][0] if shapes and all(shapes) else None


def lower_avals(aval: Any) -> list[ShapedArray]:
    """Return the types of the arrays that a value of a type consists of: an array, of itself.

    >>> from calque_core import typeof
    >>> from calque_core.engine import lower_avals
    >>> lower_avals(typeof(1.0))
    [~float64[]]
    """
    return list(aval.arrays().values()) if is_own(aval) else [aval]


def _check_axis(item: Any, stacked: Any, size: int | None, claim: str) -> None:
    """Check that the arrays of `stacked` are those of `item`, each with one more axis in front."""
    shapes = {name: (size, *x.shape) for name, x in item.arrays().items()}
    actual = {name: x.shape for name, x in stacked.arrays().items()}
    for name in shapes.keys() | actual.keys():
        if shapes.get(name) != actual.get(name):
            raise TypeError(
                f"{claim}, whose array {name} has the shape {actual.get(name)} instead of {shapes.get(name)}. A value "
                "is mapped along axis 0 of each of its arrays; use in_axes=None for one that is not stacked."
            )


def tangent_arrays(aval: Any) -> Mapping[str, ShapedArray]:
    """Return the types of the arrays of tangents, by name, where they are tangents of the arrays of the same names.

    Raises: TypeError if tangents are of another kind: only a rule of the author's knows their derivative.
    """
    tangent_aval, own = aval.to_tangent_aval(), aval.arrays()
    dots: Mapping[str, ShapedArray] = tangent_aval.arrays() if is_own(tangent_aval) else {}
    tangents = {name: x.to_tangent_aval() for name, x in own.items() if is_float(x.dtype)}
    if not tangents or tangents.keys() != dots.keys() or not all(same_type(dots[n], x) for n, x in tangents.items()):
        raise TypeError(
            f"the arrays of {aval} have no derivative of their own: its tangents are {tangent_aval}. Write the "
            "operation as a primitive with a jvp rule, and a batch rule for a vmap inside a derivative; or as a "
            "custom_jvp function."
        )
    return dots


# A value and its arrays


def check_arrays_of(aval: Any, avals: Sequence[Any]) -> None:
    """Check that arrays of the types `avals` are those of a value of an own type.  Raises: TypeError."""
    for (name, expected), actual in zip(aval.arrays().items(), avals, strict=True):
        if not same_type(expected, actual):
            raise TypeError(
                f"the array {name} of a value of type {aval}{where()} is {actual}, but {type(aval).__name__}.arrays "
                f"says {expected}. Convert the array, or correct one of the two."
            )


def arrays_of(x: Value) -> list[Value]:
    """Return the arrays of a value of an own class, no tracer.  Raises: TypeError if they are not as its type says."""
    aval = typeof(x)
    arrays = [getattr(x, name) for name in aval.arrays()]
    for name, array in zip(aval.arrays(), arrays):
        if not is_array_like(array):
            raise TypeError(
                f"the array {name} of a value of type {aval}{where()} is {short_repr(array)}. Give it an array."
            )
    check_arrays_of(aval, [*map(typeof, arrays)])
    return arrays
