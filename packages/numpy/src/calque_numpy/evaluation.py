"""Functions on NumPy's own arrays, computed by NumPy's own functions at their speed.

One idea: outside of traces and under the default settings, a function of this package and NumPy's function of that name
agree on arrays and scalars of NumPy's, so NumPy's function runs.  Every other call, and a call that NumPy refuses, runs
the function of this package, which has traces, settings, device arrays, short dtypes and errors of its own.  A backend
evaluates the functions in `_BY_TYPES` as a whole on its arrays, since types alone decide what they bind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any

import numpy as np

from calque_core import ArrayMethods, NumpyRuleError
from calque_core.engine import (
    DEFAULT_SETTINGS,
    active,
    canonical_value,
    evaluate_by_types,
    function_evaluators,
    has_tracer,
    here,
    import_at_rest,
    mark_wrapper,
    merely_evaluates,
    native_array,
)
from calque_core.engine.numpy_functions import on_host, with_arrays, with_items
from calque_core.extend import elementwise_function, late_function
from calque_pytree import tree_map

Value = Any
Function = Callable[..., Value]

has_keys: Callable[..., bool] = late_function("calque_numpy.key_arrays", "has_keys")
of_keys: Function = late_function("calque_numpy.key_arrays", "of_keys")

_DTYPES = frozenset(map(np.dtype, "?bhilqBHILQefdFD"))
_SCALARS = frozenset((bool, int, float, complex, str, type(None), slice, type, type(Ellipsis))) | {
    dtype.type for dtype in _DTYPES
}
_ndarray = np.ndarray
_IN_PLACE = frozenset(("fill_diagonal", "place", "put", "put_along_axis"))  # NumPy's change their argument
_SEQUENCES = frozenset((list, tuple))
_OF_DTYPES = frozenset(
    ("can_cast", "iscomplexobj", "isdtype", "isrealobj", "issubdtype", "promote_types", "result_type")
)  # NumPy's do not know short dtypes, or dtypes in the place of arrays
_OTHERS = frozenset(("indices", "mask_indices"))  # NumPy's take a dtype of None for float64, and no size of a mask
_REDUCTIONS = ("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "sum", "std", "var")
_BY_TYPES = frozenset((
    *(name for name, ufunc in vars(np).items() if isinstance(ufunc, np.ufunc)),
    *_REDUCTIONS, "dot", "inner", "matrix_transpose", "outer", "tensordot", "transpose", "vdot",
))  # fmt: skip


def evaluated_by_numpy(package: str, name: str, value: Value) -> Value:
    """Return `value` as the name of one of our packages; a function that NumPy has, too, runs NumPy's first.

    The package `calque_numpy.linalg` has the names of `numpy.linalg`.

    >>> from calque_numpy import products
    >>> evaluated_by_numpy("calque_numpy", "vdot", products.vdot).__module__, products.vdot.__module__
    ('calque_numpy', 'calque_numpy.products')
    >>> evaluated_by_numpy("calque_numpy", "unknown", products.vdot) is products.vdot
    True
    """
    theirs = getattr(import_at_rest(package.removeprefix("calque_")), name, None)
    is_kept = theirs is value or isinstance(theirs, type) or name in _IN_PLACE or name in _OF_DTYPES or name in _OTHERS
    return numpy_first(name, _CAREFUL.get(name, theirs), value, package) if callable(theirs) and not is_kept else value


def _round(a: Value, *options: Value, **named: Value) -> Value:
    """Return NumPy's result; refuse numbers whose multiple by a power of ten overflows: NumPy returns NaN or infinity.

    Raises: FloatingPointError.
    """
    if not options and not named:
        return np.round(a)
    with np.errstate(over="raise", invalid="raise"):
        return np.round(a, *options, **named)


_CAREFUL: dict[str, Function] = {"round": _round, "around": _round}  # ours computes what these refuse


def numpy_first(name: str, numpy_function: Function, function: Function, module: str) -> Function:  # noqa: C901  (hot)
    """Return `function` as `name` of `module`; on NumPy's own arrays, outside of traces, `numpy_function` runs.

    It costs 0.2 to 0.4 us beside NumPy's function, where our functions cost 1 to 40.
    """
    is_by_types, evaluator_of = name in _BY_TYPES, function_evaluators.get
    if isinstance(numpy_function, np.ufunc):
        elementwise_function(function)

    @mark_wrapper
    @wraps(function)
    def first(*args: Any, **kwargs: Any) -> Value:  # noqa: C901, PLR0911  (hot)
        if kwargs:
            _as_numpys(kwargs)
        if active and not merely_evaluates():
            return _by_rules(function, numpy_function, args, kwargs)
        if is_by_types and function_evaluators and not kwargs:
            for x in args:
                evaluate = evaluator_of(type(x))
                if evaluate is not None:
                    try:
                        return evaluate(function, args)
                    except TypeError as error:
                        return _after_evaluator(error, function, numpy_function, args)
        is_resting = not active or here().settings is DEFAULT_SETTINGS
        if is_resting and _are_numpys(args) and (not kwargs or _are_numpys(kwargs.values())):
            try:
                out = numpy_function(*args, **kwargs)
            except Exception:  # noqa: BLE001, S110  (the function below has the error's words, or an answer)
                pass
            else:
                if type(out) is not _ndarray or out.dtype in _DTYPES:
                    return out
        elif _has_other_order(args) or _has_other_order(kwargs.values()):
            return first(*_in_own_order(args), **dict(zip(kwargs, _in_own_order(kwargs.values()))))
        elif is_by_types and _are_floats_and_options((*args, *kwargs.values())):
            return evaluate_by_types(function, args, kwargs)
        return _by_rules(function, numpy_function, args, kwargs)

    return _named(first, name, numpy_function, module)


UFUNC_ATTRIBUTES = ("identity", "nargs", "nin", "nout", "ntypes", "signature", "types")


def _as_numpys(options: dict[str, Value]) -> None:
    """Write options of JAX's as NumPy's: a mask of None, which NumPy takes for False, and a list of axes."""
    if options.get("where", True) is None:
        del options["where"]
    if type(options.get("axis")) is list:
        options["axis"] = tuple(options["axis"])


def _named(first: Function, name: str, numpy_function: Function, module: str) -> Function:
    """Return `first` as `name` of `module`; the function of a ufunc with the attributes and methods of NumPy's."""
    first.__module__, first.__name__, first.__qualname__ = module, name, name
    if isinstance(numpy_function, np.ufunc):
        for attribute in UFUNC_ATTRIBUTES:
            setattr(first, attribute, getattr(numpy_function, attribute))
    if isinstance(numpy_function, np.ufunc) and (numpy_function.nin, numpy_function.nout) == (2, 1):
        for method in ("accumulate", "at", "outer", "reduce", "reduceat"):  # NumPy's dispatch on traced arrays
            setattr(first, method, getattr(numpy_function, method))
    return first


@mark_wrapper
def _by_rules(
    function: Function, numpy_function: Function, args: tuple[Value, ...], kwargs: Mapping[str, Value]
) -> Value:
    """Return the result of the function of this package; lists are arrays."""
    try:
        if kwargs or not _SEQUENCES.isdisjoint(map(type, args)):
            args, kwargs = with_arrays(function, args, kwargs)
            out = here().trace.process_function(*with_items(function, args), kwargs)
        else:
            out = here().trace.process_function(function, args, kwargs)
    except TypeError as error:
        out = _after_refusal(error, function, numpy_function, args, kwargs)
    return out if here().settings.enable_x64 else _in_32_bits(out)


def _in_32_bits(out: Value) -> Value:
    """Return a result, or each of several, in 32 bits: a function may return an operand, or positions that it knows.

    Evaluation does so by itself; a trace, and NumPy after a refusal, do not.
    """

    def narrow(x: Value) -> Value:
        is_number = isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "iufc"
        return canonical_value(x) if is_number else x

    return tree_map(narrow, out)


@mark_wrapper
def _after_evaluator(error: TypeError, function: Function, numpy_function: Function, args: tuple[Value, ...]) -> Value:
    """Return the result after a backend's evaluator refused: with lists as arrays, or that of `_after_refusal`."""
    if _SEQUENCES.isdisjoint(map(type, args)):
        return _after_refusal(error, function, numpy_function, args, {})
    return _by_rules(function, numpy_function, args, {})


def _after_refusal(
    error: TypeError, function: Function, numpy_function: Function, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> Value:
    """Return the result for keys, and with options of ufuncs; without a rule, that of NumPy for the known values.

    NumPy's ufuncs dispatch to rules that know their options, such as `dtype=`.
    """
    if kwargs and isinstance(numpy_function, np.ufunc) and any(isinstance(x, ArrayMethods) for x in args):
        return numpy_function(*args, **kwargs)
    if has_keys((args, kwargs)):
        return of_keys(numpy_function, args, kwargs)
    is_known = not (_are_numpys((*args, *kwargs.values())) or has_tracer(args) or has_tracer(kwargs))
    if isinstance(error, NumpyRuleError) and is_known:
        return on_host(numpy_function, function, args, kwargs)
    try:
        raise error
    finally:
        del error  # its traceback refers to this frame: a cycle would keep the arrays of all frames


def _has_other_order(args: Iterable[Value]) -> bool:
    """Tell whether an array, in lists or not, has another byte order than the machine: results have the machine's."""
    for x in args:
        if type(x) is _ndarray:
            if not x.dtype.isnative:
                return True
        elif (type(x) is list or type(x) is tuple) and _has_other_order(x):
            return True
    return False


def _in_own_order(args: Iterable[Value]) -> list[Value]:
    return [
        native_array(x) if type(x) is _ndarray else type(x)(_in_own_order(x)) if type(x) in _SEQUENCES else x
        for x in args
    ]


def _are_floats_and_options(args: Iterable[Value]) -> bool:
    """Tell whether types decide a function of `args`: at integers, one such as `power` looks."""
    return all(x.dtype.kind in "fc" if type(x) is _ndarray else type(x) in _SCALARS for x in args)


def _are_numpys(args: Iterable[Value]) -> bool:
    """Tell whether all arguments are arrays and scalars of NumPy's or Python's, in lists or not."""
    for x in args:
        kind = type(x)
        if kind is _ndarray:
            if x.dtype not in _DTYPES:
                return False
        elif kind not in _SCALARS:
            if kind is list or kind is tuple:
                if not _are_numpys(x):
                    return False
            elif not (isinstance(x, np.dtype) and x in _DTYPES):
                return False
    return True
