"""NumPy's own functions on arrays that are not NumPy's: `np.sin(x)`, `np.sum(x)`, `ndarray * x`.

One idea: NumPy asks the class of its arguments before it computes, so that a function written with plain
`import numpy as np` is traced unchanged.  Two tables hold the implementations that were used so far or that a user
gave, `ufuncs` and `array_functions`.  Core implements the functions that are also methods of arrays, calque_numpy all
other functions; the module of an implementation is imported at its first use.  A function without implementation is an
error for a tracer; without a tracer every value is known, and NumPy computes.

Read next: `numpy_names.py`, the modules by NumPy's names; `numpy_sequences.py`, `numpy_ufuncs.py`, `ufunc_methods.py`.
"""

# ruff: noqa: N807  (methods are functions here: array_methods.py says why)

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from calque_core.arrays.numpy_arithmetic import as_dtype
from calque_core.arrays.numpy_names import function_named, function_names, ufunc_method, ufunc_named, ufunc_names
from calque_core.arrays.numpy_sequences import SEQUENCES, array_of, has_tracer, host_values, with_arrays, with_items
from calque_core.context import here
from calque_core.distributions import install_advice
from calque_core.errors import NumpyRuleError, add_remedy, similar_name
from calque_core.frames.source import mark_wrapper, where
from calque_core.late import import_at_rest
from calque_core.primitives.families import declaring_module
from calque_core.types.array_methods import ArrayMethods, array_method, elementwise_function, types_decide
from calque_core.types.avals import _aval_functions as operand_types
from calque_core.types.avals import _refusal, is_array_like, typeof
from calque_core.types.dtypes import canonicalize_dtype, has_short_dtype
from calque_core.types.promotion import can_cast
from calque_pytree import tree_leaves

Value = Any
Function = Callable[..., Value]
F = TypeVar("F", bound=Function)

ufuncs: dict[np.ufunc, Function] = {}
reductions: dict[np.ufunc, Function] = {}
array_functions: dict[Function, Function] = {}
declared: dict[Any, Function] = {}  # by the bodies of our modules, which may not have ended
_named: dict[tuple[str, str], Function] = {}
_OURS = ("calque_core", "calque_numpy")


def implements(*numpy_functions: Function) -> Callable[[F], F]:
    """Return a decorator: the decorated function implements these functions of NumPy, and has their signature.

    A ufunc's implementation takes the operands alone.  One of a user's replaces ours, loaded or not.
    """

    def register(function: F) -> F:
        is_ours = declaring_module().partition(".")[0] in _OURS
        for each in numpy_functions:
            table = declared if is_ours else _table_of(each)
            table[each] = function
        return function

    return register


def _table_of(function: Any) -> dict[Any, Function]:
    return ufuncs if isinstance(function, np.ufunc) else array_functions


def implements_by_name(module: str, *names: str) -> Callable[[F], F]:
    """Return a decorator: the decorated function implements the ufuncs of these names in a module of SciPy's.

    It is found when a ufunc is applied to a traced array, so that nothing imports SciPy before.

    >>> from calque_core.engine.numpy_functions import implements_by_name
    >>> from calque_core.lax import logistic
    >>> implements_by_name("scipy.special", "expit")(logistic) is logistic
    True
    """

    def register(function: F) -> F:
        _named.update({(module, name): function for name in names})
        return function

    return register


_DEFAULTS: dict[str, Any] = {"order": "K", "casting": "same_kind", "subok": True, "where": True}
_ADVICE = {
    "out": "Use the result instead: a = a + b in place of a += b, y = numpy.sin(x) in place of out=y, "
    "a = calque.numpy.at(a)[i].add(b) in place of a[i] += b",
    "axis": "Move the axis to the end of each operand: numpy.moveaxis(x, axis, -1)",
    "axes": "Move the axes of operands and result with numpy.moveaxis",
    "keepdims": "Use numpy.expand_dims(result, axis)",
    "where": "Select afterwards, and avoid a derivative of infinity where the mask is false: "
    "numpy.where(mask, numpy.log(numpy.where(mask, x, 1)), 0)",
    "function": "write it with the functions of calque_core.lax, "
    "call it by calque_core.pure_callback, or define a primitive",
}


def refuse(name: str, **options: Any) -> None:
    """Refuse options of a NumPy function that apply only to arrays in memory, unless they have the default.

    Raises: NumpyRuleError that names the option and an alternative.
    """
    for option, value in options.items():
        if value is not None and not (isinstance(value, (str, bool)) and value == _DEFAULTS.get(option)):
            advice = _ADVICE.get(option, "Remove this option")
            raise NumpyRuleError(f"{name}{where()}: {option}= is not supported for a traced array. {advice}.")


def on_host(function: Function, ours: Function | None, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    """Let NumPy compute with the values of device arrays; with a short dtype, our function, if there is one.

    NumPy's functions do not sort the NaN of such a dtype last.

    >>> import numpy as np
    >>> from calque_core.engine.numpy_functions import on_host
    >>> on_host(np.unique, None, (np.array([2, 1, 2]),), {})
    array([1, 2])
    """
    args, kwargs = host_values(tuple(args)), host_values(dict(kwargs))
    if ours is not None and any(map(has_short_dtype, tree_leaves((args, kwargs)))):
        return ours(*args, **kwargs)
    try:
        return function(*args, **kwargs)
    except ValueError as error:
        if "read-only" in str(error):
            add_remedy(error, _UNCHANGEABLE)
        raise


_UNCHANGEABLE = (
    "A device array cannot be changed in place. Use the function's result, or change a copy: numpy.array(x)."
)


# Ufuncs

_NO_OPTIONS: dict[str, Any] = {}


@array_method
@mark_wrapper
def __array_ufunc__(self: Value, ufunc: np.ufunc, method: str, *inputs: Value, **kwargs: Any) -> Value:
    try:
        if method != "__call__":
            return _method(ufunc, method, inputs, kwargs)
        function = implementation(ufunc)
        for x in inputs:
            if type(x) not in operand_types:
                inputs = tuple(map(_operand, inputs))
                if any(x is NotImplemented for x in inputs):
                    return NotImplemented
                break
        operands = _with_options(ufunc, inputs, kwargs) if kwargs else inputs
        return here().trace.process_function(function, operands, _NO_OPTIONS)
    except NumpyRuleError:
        if has_tracer(inputs) or has_tracer(kwargs):
            raise
        return on_host(getattr(ufunc, method), None, inputs, kwargs)


def _operand(x: Value) -> Value:
    """Return `x` if it can be an operand, a list as an array, and NotImplemented for an unknown class."""
    if is_array_like(x):
        return x
    if isinstance(x, (list, tuple)):
        return array_of(x)
    if isinstance(x, (np.ndarray, np.generic)) or x is None or type(x) in (str, bytes, dict, set):
        raise unusable(x)
    return NotImplemented


def unusable(x: Value) -> TypeError:
    """Return the error for a value that was used beside an array, but cannot be an operand."""
    return TypeError(f"the other operand{where()} cannot be used: {_refusal(x)}")


def _with_options(ufunc: np.ufunc, operands: Sequence[Value], options: dict[str, Any]) -> Sequence[Value]:
    """Return the operands, converted to the option `dtype`; refuse other options."""
    dtype = options.get("dtype")
    refuse(f"numpy.{ufunc.__name__}", where=options.get("where"))  # its advice replaces `out`, too
    refuse(f"numpy.{ufunc.__name__}", **{name: value for name, value in options.items() if name != "dtype"})
    return operands if dtype is None else [_cast(ufunc, x, canonicalize_dtype(dtype)) for x in operands]


def _cast(ufunc: np.ufunc, x: Value, dtype: np.dtype[Any]) -> Value:
    aval = typeof(x)
    gives_bools = all(loop.endswith("->?") for loop in ufunc.types if "O" not in loop)
    if gives_bools and dtype.kind == "b":
        return x
    if gives_bools or not can_cast(aval.dtype, dtype, "same_kind"):
        raise TypeError(
            f"numpy.{ufunc.__name__}{where()} of {aval} cannot be computed with dtype={dtype}. "
            "Convert with astype, before or after."
        )
    return as_dtype(x, dtype)


def _method(ufunc: np.ufunc, method: str, inputs: tuple[Value, ...], options: dict[str, Any]) -> Value:
    """Apply a method of `ufunc`; refuse `at`, which would write to the read-only memory of a device array."""
    if method != "at":
        return ufunc_method(method)(ufunc, *inputs, **options)
    name = f"numpy.{ufunc.__name__}.at{where()}"
    update = _UPDATES.get(ufunc, f"apply(numpy.{ufunc.__name__})" if ufunc.nin == 1 else "set(value)")
    if isinstance(inputs[0], ArrayMethods):
        raise TypeError(f"{name} would change a traced array or a device array in place. Use x.at[index].{update}.")
    raise NumpyRuleError(f"{name}: an ndarray cannot hold traced values. Use calque.numpy.at(x)[index].{update}.")


def implementation(ufunc: np.ufunc) -> Function:
    """Return the implementation of a ufunc.

    Raises: NumpyRuleError without one.
    """
    return ufuncs.get(ufunc) or _load(ufunc)


_UPDATES: dict[np.ufunc, str] = {
    np.add: "add(value)",
    np.subtract: "subtract(value)",
    np.multiply: "multiply(value)",
    np.divide: "divide(value)",
    np.power: "power(value)",
    np.minimum: "min(value)",
    np.maximum: "max(value)",
}

# Other functions

# Their callers need NumPy's own arrays: SciPy passes the result to compiled code, a user writes to a copy.
_CONVERSIONS = frozenset((np.atleast_1d, np.atleast_2d, np.atleast_3d, np.copy))


@array_method
@mark_wrapper
def __array_function__(self: Value, func: Any, types: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Value:
    for kind in types:
        if kind not in operand_types and not issubclass(kind, (ArrayMethods, np.ndarray)):
            return NotImplemented
    if func in _CONVERSIONS and not (has_tracer(args) or has_tracer(kwargs)):
        return on_host(func, None, args, kwargs)
    function = None
    try:
        function = array_functions.get(func) or _load(func)
        if not kwargs and SEQUENCES.isdisjoint(map(type, args)):  # often; 0.4 us sooner
            return here().trace.process_function(function, args, kwargs)
        args, kwargs = with_arrays(function, args, kwargs)
        return here().trace.process_function(*with_items(function, args), kwargs)
    except NumpyRuleError:
        if has_tracer(args) or has_tracer(kwargs):
            raise
        return on_host(func, function, args, kwargs)


def _load(function: Any) -> Function:
    """Return the implementation of a NumPy or SciPy function that was not used before; import its module.

    Raises: NumpyRuleError if neither core nor calque_numpy implements it, or if calque_numpy is not installed.
    """
    function_of_core = _of_core(function)
    if function_of_core is not None and isinstance(function, np.ufunc):
        (elementwise_function if function.signature is None else types_decide)(function_of_core)
    return _table_of(function).setdefault(function, function_of_core or _of_front(function))


def _of_core(function: Any) -> Function | None:
    """Return core's implementation of a function of NumPy's; a ufunc of another library may have the same name."""
    name = function.__name__
    if getattr(np, name, None) is not function:
        return None
    named, names = (ufunc_named, ufunc_names) if isinstance(function, np.ufunc) else (function_named, function_names)
    return named(name) if name in names() else None


def _of_front(function: Any) -> Function:
    """Return the implementation in calque_numpy.

    Raises: NumpyRuleError if there is none, or if calque_numpy is not installed.
    """
    module = _module_of(function)
    name = f"{module}.{function.__name__}"
    try:
        import_at_rest("calque_numpy")  # its absence has this name, also for a module of it
        front = import_at_rest(_FRONTS.get(module, "calque_numpy"))
        public = _HIDDEN.get(function.__name__, function.__name__)
        if public in front.__all__:
            getattr(front, public)  # imports the module that declares the implementation
    except ModuleNotFoundError as error:
        if error.name != "calque_numpy":
            raise
        if function.__name__ not in _INSTEAD:
            raise NumpyRuleError(
                f"{name} of a traced array{where()} needs the package calque-numpy. "
                f"{install_advice('calque_numpy')} Or {_ADVICE['function']}."
            ) from None
    implementation = _named.get((module, function.__name__)) or declared.get(function)
    if implementation is None:
        raise NumpyRuleError(f"{name} of a traced array{where()} has no rule. {_instead(function, module)}.")
    return implementation


_FRONTS = {
    "numpy": "calque_numpy",
    "numpy.fft": "calque_numpy.fft",
    "numpy.lib.stride_tricks": "calque_numpy.rearranging",
    "numpy.linalg": "calque_numpy.linalg",
    "scipy.special": "calque_numpy.scipy.special",
}
# scipy.special.zeta is a function around ufuncs that its module does not show.
_HIDDEN = {"_zeta": "zeta", "_riemann_zeta": "zeta"}
_HOLDERS = {
    "numpy": "numpy",
    "numpy.lib.scimath": "numpy.emath",
    "scipy.special": "scipy.special",
    "scipy.special._ufuncs": "scipy.special",
}


def _module_of(function: Any) -> str:
    """Return the module in which a user finds a function of NumPy or SciPy; a ufunc does not know it."""
    for holder, module in _HOLDERS.items():
        if getattr(sys.modules.get(holder), function.__name__, None) is function:
            return module
    return getattr(function, "__module__", None) or "numpy"


_INSTEAD = {
    "fill_diagonal": "numpy.where(numpy.eye(n, dtype=bool), value, x)",
    "put": "calque.numpy.put(x, indices, values), or x.at[index].set(value)",
    "place": "calque.numpy.place(x, mask, values)",
    "put_along_axis": "calque.numpy.put_along_axis(x, indices, values, axis)",
    "copyto": "calque.numpy.full_like in place of numpy.full_like, and numpy.where(mask, values, x) in place of "
    "numpy.copyto: an ndarray cannot hold traced values",
}


def _instead(function: Any, module: str) -> str:
    """Return advice for a function without a rule: an alternative, a reason, or a function of a similar name."""
    if function.__name__ in _INSTEAD:
        return f"Use {_INSTEAD[function.__name__]}"
    reasons = getattr(sys.modules.get("calque_numpy.missing"), "MISSING", {}) if module == "numpy" else {}
    if function.__name__ in reasons:
        return f"It {reasons[function.__name__]}"
    if function.__name__.endswith(" (vectorized)"):  # of numpy.frompyfunc
        return "It calls a Python function with elements. Use calque.numpy.frompyfunc, or call it with arrays"
    if module == "numpy.emath":
        formulas = {"logn": "log(x.astype(complex)) / numpy.log(n)", "power": "power(x.astype(complex), y)"}
        formula = formulas.get(function.__name__, f"{function.__name__}(x.astype(complex))")
        return f"Its dtype depends on values. Use numpy.{formula}"
    is_ufunc = isinstance(function, np.ufunc)
    owners = dict.fromkeys(ufunc_names() if is_ufunc else function_names(), "numpy")
    alike = [known for known in {**declared, **_table_of(function)} if isinstance(known, np.ufunc) is is_ufunc]
    owners |= {known.__name__: _module_of(known) for known in alike}
    owners |= {name: owner for owner in ("numpy", module) for name in _alike(function, owner)}
    similar = similar_name(function.__name__, owners, cutoff=0.75)
    nearest = f"A similar function with a rule is {owners[similar]}.{similar}. " if similar else ""
    return f"{nearest}{_ADVICE['function'].capitalize()}"


def _alike(function: Any, module: str) -> list[str]:
    """Return the names of the further functions in a module of NumPy's, all ufuncs or none, that calque_numpy has."""
    names: Iterable[str] = getattr(sys.modules.get(_FRONTS.get(module, "")), "__all__", ())
    theirs = {name: getattr(sys.modules[module], name, None) for name in names}
    return [name for name, each in theirs.items() if type(each) is type(function) and each is not function]
