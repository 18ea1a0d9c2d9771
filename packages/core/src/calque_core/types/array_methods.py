"""The base class of the array classes that are not NumPy's: tracers, device arrays.

Tracers need the class, and its methods call operations, which need tracers.  So the class is empty here, and the
modules of `arrays`, which stand above all operations, add the methods.  The operators are loaded for the first tracer
or device array: whoever defines a class of either imports its base class from `arrays`.  The module of another method
is loaded at its first use.  Type checkers, which do not run programs, read the methods in `array_signatures.py`.

Read next: `arrays/late_methods.py`, the table of methods by module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, final  # noqa: TID251  the signatures are not loaded at run time

from calque_core.context import here
from calque_core.frames.source import mark_wrapper, where
from calque_core.late import import_at_rest

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


if TYPE_CHECKING:
    from calque_core.types.array_signatures import ArraySignatures
else:
    ArraySignatures = object


class ArrayMethods(ArraySignatures):
    """Operators, indexing, NumPy's protocols, and the methods that are one operation."""

    __slots__ = ()
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]  # == is elementwise, so a hash cannot agree with it

    @property
    def weak_type(self) -> bool:
        """Whether the dtype gives way to that of another operand, as a Python scalar's does."""
        aval: Any = self.aval  # type: ignore[attr-defined]
        return aval.weak_type  # type: ignore[no-any-return]


class ArrayOperations(ArrayMethods):
    """The methods of tracers whose trace may know the operations of a method from an earlier call."""

    __slots__ = ()


_defined: dict[tuple[type, str], Any] = {}  # methods of late modules, by class and name


def _give(owner: type, name: str, method: Any) -> None:
    """Give a class a method, or keep it for its stand-in, which puts it in place when its whole module is imported.

    Another thread may ask for the method before, and an interrupt may end the import.
    """
    if isinstance(vars(ArrayMethods).get(name), LateMethod):
        _defined[owner, name] = method
    else:
        setattr(owner, name, method)


decided_by_types: set[Callable[..., Any]] = set()
"""The functions of `types_decide` that are loaded: of operators, ufuncs, products and `where`."""


def types_decide(function: F) -> F:
    """Promise that `function` looks at no element of an argument: types and options decide its operations.

    Arrays among its arguments are operands then, whether they are traced or not, and an eager derivative runs a call
    whose types it has met as known code.  Without the promise a function may look at an array that is not traced, as
    indexing looks at positions.

    >>> from calque_core.extend import types_decide
    >>> from calque_core.engine import decided_by_types
    >>> @types_decide
    ... def doubled(x):
    ...     return x + x
    >>> doubled in decided_by_types
    True
    """
    decided_by_types.add(function)
    return function


def elementwise_function(function: F) -> F:
    """Promise as `types_decide` does, and that operands, broadcast as NumPy does, are computed element by element.

    The operations of `function` are then the same ones for every size, and one piece of code serves arrays of all
    sizes: data of another length at each call costs no run of the rules.

    >>> from calque_core.extend import elementwise_function
    >>> @elementwise_function
    ... def doubled(x):
    ...     return x + x
    """
    in_every_size("elements")(function)
    return types_decide(function)


kinds_in_every_size: dict[Any, Any] = {}
"""The functions and primitives whose operations do not depend on sizes, but for the numbers in them, by kind.

Of "elements", the functions of `elementwise_function`, and of "code", such as `matmul` and `max` over some axes, not
even numbers depend on sizes: the code for one size serves all.  Where numbers do, the kind is a primitive, whose rule
of kind "every_size" gives the code for each size: `slice_p` for indices, `gather_p` for arrays of positions,
`reduce_sum_p` for sums and means.
"""


def in_every_size(kind: Any) -> Callable[[T], T]:
    """Return a decorator that makes the promise of a kind in `kinds_in_every_size`, for a function or a primitive.

    >>> from calque_core.extend import types_decide
    >>> from calque_core.extend import in_every_size
    >>> from calque_core.lax import dot
    >>> @types_decide
    ... @in_every_size("code")
    ... def squared_length(x):
    ...     return dot(x, x)
    """

    def register(operation: T) -> T:
        kinds_in_every_size[operation] = kind
        return operation

    return register


def array_method(function: F) -> F:
    """Make `function` a method of every array-like class, under its own name."""
    _give(ArrayMethods, function.__name__, function)
    return function


def array_operation(function: F) -> F:
    """Make `function` a method as `array_method` does; its operations depend on types and options alone."""
    if "where" in function.__code__.co_varnames:
        return _reducing_operation(function)

    @mark_wrapper
    @wraps(function)
    def of_tracers(*args: Any, **options: Any) -> Any:
        return here().trace.process_function(function, args, options)

    _give(ArrayOperations, function.__name__, of_tracers)
    return array_method(function)


def _reducing_operation(function: F) -> F:
    """Make `function`, which reduces axes under a mask, a method.

    A method takes a list of axes, and with `where=None` has no mask, as in JAX; NumPy's functions refuse the list, and
    take None for False.
    """

    @mark_wrapper
    @wraps(function)
    def of_tracers(*args: Any, **options: Any) -> Any:
        if options or len(args) > 1:  # 0.5 us later without this question
            args, options = _reducing_arguments(args, options)
        return here().trace.process_function(function, args, options)

    @mark_wrapper
    @wraps(function)
    def of_arrays(*args: Any, **options: Any) -> Any:
        if options or len(args) > 1:
            args, options = _reducing_arguments(args, options)
        return function(*args, **options)

    _give(ArrayOperations, function.__name__, of_tracers)
    _give(ArrayMethods, function.__name__, of_arrays)
    return function


def _reducing_arguments(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if options.get("where", True) is None:
        del options["where"]
    if type(options.get("axis")) is list:
        options["axis"] = tuple(options["axis"])
    if len(args) > 1 and type(args[1]) is list:
        args = (args[0], tuple(args[1]), *args[2:])
    return args, options


def array_operator(function: F) -> F:
    """Make `function` a method as `array_operation` does, which keeps the promise of `elementwise_function`."""
    return array_operation(elementwise_function(function))


def array_property(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make `function` a read-only property of every array-like class, under its own name."""
    name = function.__name__

    def refuse(x: Any, value: Any) -> None:
        advice = _IN_PLACE_OF_SETTING.get(name, "Make another array")
        raise AttributeError(
            f"x.{name}{where()} of a traced array or a device array cannot be set: it does not change. {advice}."
        )

    _give(ArrayMethods, name, property(function, refuse))
    return function


_IN_PLACE_OF_SETTING = {
    "shape": "Write x = x.reshape(shape)",
    "dtype": "Write x = x.astype(dtype), or x = x.view(dtype) for the same bytes",
    "real": "Write x = value + 1j * x.imag",
    "imag": "Write x = x.real + 1j * value",
}


@final
class LateMethod:
    """A method or property of every array-like class whose module, which defines it, is imported at its first use."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def load(self) -> None:
        """Import the whole module; put the methods of this name in the place of the stand-in."""
        import_at_rest(self.module)
        for owner in (ArrayOperations, ArrayMethods):
            if (owner, self.name) in _defined:
                setattr(owner, self.name, _defined[owner, self.name])

    def __get__(self, x: Any, owner: type) -> Any:
        self.load()
        is_operation = issubclass(owner, ArrayOperations) and self.name in vars(ArrayOperations)
        return vars(ArrayOperations if is_operation else ArrayMethods)[self.name].__get__(x, owner)

    def __set__(self, x: Any, value: Any) -> None:
        self.load()
        setattr(x, self.name, value)  # which the method or property decides


def late_methods(module: str, names: str) -> None:
    """Give every array-like class the methods of these names; `module` defines them."""
    for name in names.split():
        setattr(ArrayMethods, name, LateMethod(module, name))
