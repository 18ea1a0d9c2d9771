"""Tracers of values of an own type.

One idea: a tracer of such a value has the operators and methods of the value's class, called with the tracer in place
of the value.  So each pair of a class of tracers and a class of values has a class of its own, and the tracers of
arrays are what they were: nothing here runs for them.

An attribute is one of the value's arrays, of its type, or of its class, in this order.
"""

from __future__ import annotations

from functools import cache
from types import MemberDescriptorType
from typing import Any

from calque_core.primitives.own_values import array_of
from calque_core.types.array_methods import ArrayMethods, ArrayOperations
from calque_core.types.own_types import OwnType, register_own_tracer

Value = Any

# Special methods by their names without underscores; the first have a reflected form and one in place, too.
_OPERATORS = ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow")
_BITS = ("lshift", "rshift", "and", "or", "xor")
_BINARY = [f"__{side}{name}__" for name in (*_OPERATORS, *_BITS) for side in ("", "r", "i")]
_COMPARISONS = [f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge")]
_UNARY = ("neg", "pos", "abs", "invert", "round", "trunc", "floor", "ceil", "call", "enter", "exit")
_OF_CONTAINERS = ("getitem", "len", "iter", "contains", "reversed")
_OF_NUMPY = ("array_namespace", "array_function", "array_priority")
_OTHERS = [f"__{name}__" for name in (*_UNARY, *_OF_CONTAINERS, *_OF_NUMPY)]
_NAMES_OF_ARRAYS = (*ArrayMethods.__mro__, ArrayOperations)


class OwnTracer:
    """The attributes of a tracer of an own type, before those of its class of tracers."""

    __slots__ = ()
    _tracer_names: frozenset[str] = frozenset()

    def __getattribute__(self, name: str) -> Any:
        if name[:1] == "_":
            try:
                return object.__getattribute__(self, name)
            except AttributeError:
                return _attribute(self, name)
        is_internal = name in object.__getattribute__(self, "_tracer_names")
        return object.__getattribute__(self, name) if is_internal else _attribute(self, name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The class of the value, so that `isinstance(x, MyClass)` holds for a tracer, too."""
        return object.__getattribute__(self, "aval").value_class  # type: ignore[no-any-return]


def _attribute(x: Any, name: str) -> Any:
    """Return an array of the value, an attribute of its type, or of its class."""
    aval: OwnType = object.__getattribute__(x, "aval")
    if name in aval.arrays():
        return array_of(x, name)
    if _is_data(type(aval), name):
        return getattr(aval, name)
    for base in aval.value_class.__mro__:
        if name in vars(base):
            found = vars(base)[name]
            get = getattr(type(found), "__get__", None)
            if type(found) is MemberDescriptorType:  # a slot, which a tracer has not
                break
            return found if get is None else get(found, x, aval.value_class)
    raise AttributeError(
        f"a traced value of type {aval} has no attribute {name!r}: it is none of its arrays "
        f"({', '.join(aval.arrays())}), of its type {type(aval).__name__} or of its class "
        f"{aval.value_class.__name__}. Add it to one of them."
    )


@cache
def _is_data(kind: type[OwnType], name: str) -> bool:
    """Tell whether a name is that of a field or a property of an own type, defined by its author."""
    if name in getattr(kind, "__dataclass_fields__", ()):
        return True
    for base in kind.__mro__:
        if base is OwnType:
            return False
        if name in vars(base):
            return isinstance(vars(base)[name], property)
    return False


@cache
def _own_class(tracer_class: type, value_class: type) -> type:
    internal = {
        name
        for base in tracer_class.__mro__
        if base not in _NAMES_OF_ARRAYS
        for name in vars(base)
        if name[:1] != "_" and name not in ("item", "tolist")
    }
    body: dict[str, Any] = {"__slots__": ("_arrays",), "_tracer_names": frozenset(internal), "__hash__": None}
    for name in _BINARY:
        body[name] = _defined(value_class, name, _not_defined)
    for name in _COMPARISONS:
        body[name] = _defined(value_class, name, getattr(object, name))
    for name in _OTHERS:
        found = _defined(value_class, name)
        if found is not None:
            body[name] = found
        elif _defined(tracer_class, name) is not None:
            body[name] = _refusing(value_class, name)
    body["__array_ufunc__"] = getattr(value_class, "__array_ufunc__", None)  # None lets its operators decide
    made = type(f"{value_class.__name__}{tracer_class.__name__}", (OwnTracer, tracer_class), body, is_own=True)
    register_own_tracer(made)
    return made


def _defined(value_class: type, name: str, default: Any = None) -> Any:
    """Return a special method of a class; not that of every object, nor one of the class of the class."""
    return next((vars(base)[name] for base in value_class.__mro__[:-1] if name in vars(base)), default)


def _not_defined(self: Value, other: Value, *_: Value) -> Value:
    return NotImplemented


def _refusing(value_class: type, name: str) -> Any:
    def refuse(self: Value, *args: Value, **_: Value) -> Value:
        raise TypeError(
            f"{name} of a traced value of type {object.__getattribute__(self, 'aval')}: {value_class.__name__} does "
            "not define it. Define it, or use the arrays of the value."
        )

    return refuse


def own_tracer_class(tracer_class: type, aval: OwnType) -> Any:
    """Return the class of tracers of an own type, a subclass of `tracer_class`.

    Raises: TypeError if an array or an attribute has the name of an attribute of tracers.
    """
    made = _own_class(tracer_class, aval.value_class)
    _check_names(made, type(aval), tuple(aval.arrays()))
    return made


@cache
def _check_names(made: Any, kind: type[OwnType], arrays: tuple[str, ...]) -> None:
    names = {*arrays, *getattr(kind, "__dataclass_fields__", ()), *dir(kind.value_class)}
    taken = sorted(names & made._tracer_names)
    if taken:
        raise TypeError(
            f"{kind.value_class.__name__} has an attribute {taken[0]!r}, as every traced value has: the two cannot be "
            "told apart. Give it another name."
        )
