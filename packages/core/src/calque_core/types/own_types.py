"""Types of one's own: of values that are several arrays, and count as one operand.

One idea: an `OwnType` names the arrays of a value and their types, makes a value of arrays, and gives the type of its
tangents and its type with one more axis in front.  A program carries such a value as one variable of one type; a
compiler gets its arrays.

Read next: `type_queries.py`, the questions of transformations to a type; `staging/own_tracers.py`, the values under a
trace; `primitives/own_values.py`, the two operations between a value and its arrays; `passes/lower_values.py`, which
makes programs of arrays alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from operator import attrgetter
from typing import Any, ClassVar, Self, TypeVar
from weakref import WeakValueDictionary

from calque_core.errors import NoArrayError
from calque_core.frames.source import where
from calque_core.types.avals import (
    AbstractValue,
    ShapedArray,
    _aval_functions,
    own_types,
)
from calque_core.types.dtypes import is_float

T = TypeVar("T")
Value = Any


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

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__repr__" not in vars(cls):  # that of a dataclass would take its place
            cls.__repr__ = OwnType.__repr__  # type: ignore[method-assign]

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
        """Return this type.  Raises: TypeError for axes of a mesh: only arrays vary along them."""
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
        """Refuse attributes of types of arrays, such as `dtype`; a subclass may have a field `shape`."""
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


def is_own(aval: Any) -> bool:
    """Tell whether a type is one's own, and not an array's.

    >>> from calque_core import typeof
    >>> from calque_core.engine import is_own
    >>> is_own(typeof(1.0))
    False
    """
    return isinstance(aval, OwnType)
