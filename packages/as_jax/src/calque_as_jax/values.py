"""Arrays as jax has them: the class `Array`, and functions whose results are device arrays.

One idea: calque's functions return NumPy's arrays where nothing is traced and no operand is on a device; here each
function of jax's name passes its results through `to_arrays`.  Tracers and device arrays pass unchanged.

Read next: `dialect/`, the adapters of functions that differ in more than their results.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, Self

import numpy as np

import calque
from calque_as_jax.keys import Key
from calque_core import Tracer, ensure_compile_time_eval, is_tracer, lax, typeof
from calque_numpy.key_arrays import KeyArray, of_each_word
from calque_xla_backend import Array as DeviceArray
from calque_xla_backend import device_put

Value = Any

_ARRAYS = (DeviceArray, Tracer, KeyArray)
_SCALARS = (bool, int, float, complex)


class _ArrayType(type):
    """The type of `jax.Array`: its instances are device arrays, tracers and keys."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _ARRAYS)

    def __subclasscheck__(cls, kind: type) -> bool:
        return cls is kind or issubclass(kind, _ARRAYS)


class Array(metaclass=_ArrayType):
    """`jax.Array`: device arrays, tracers and random keys are instances."""

    __module__ = "jax"

    def __new__(cls) -> Self:
        raise TypeError("jax.Array is made by functions of jax.numpy. Use jnp.asarray(x).")


class NoMesh:
    """The mesh of a type, which has none, and of a program outside of `set_mesh`."""

    empty = True
    size = 0
    axis_sizes: tuple[int, ...] = ()
    shape: ClassVar[dict[str, int]] = {}
    are_all_axes_explicit = are_all_axes_auto = are_all_axes_manual = False
    axis_names: tuple[str, ...] = ()


class NoSharding:
    """The sharding of a type: `out_sharding=jax.typeof(x).sharding` asks for nothing."""

    mesh = NoMesh()
    spec = memory_kind = None
    is_fully_replicated = is_fully_addressable = True


NO_SHARDING = NoSharding()

# Functions whose results are no arrays.
_TELLING_NAMES = (
    "dtype ndim shape size result_type promote_types can_cast issubdtype isdtype iinfo finfo isscalar iscomplexobj "
    "isrealobj broadcast_shapes einsum_path array_repr array_str array2string save savez get_printoptions "
    "set_printoptions printoptions conv_dimension_numbers padtype_to_pads axis_size canonicalize_dtype "
    "get_sharded_matmul vectorize frompyfunc dce_sink reduce_precision_p key_impl at iterable typename "
    "set_string_function"
)
_TELLING = frozenset(_TELLING_NAMES.split())
# Functions whose results are strong, as those of jax.random are; a number that other functions make of numbers is weak.
_STRONG_NAMES = (
    "sum mean prod max min amax amin ptp var std median average nansum nanmean nanprod nanmax nanmin nanvar nanstd "
    "nanmedian percentile quantile nanpercentile nanquantile cumsum cumprod argmax argmin count_nonzero norm trapezoid "
    "convert_element_type astype axis_index logsumexp softmax gelu nan_to_num piecewise polyval multigammaln "
    "ndtri searchsorted digitize"
)
_STRONG = frozenset(_STRONG_NAMES.split())
# Functions of jax.lax that move elements, and so take keys.
_MOVING = frozenset((
    "select", "select_n", "concatenate", "slice", "slice_in_dim", "index_in_dim", "dynamic_slice",
    "dynamic_slice_in_dim", "dynamic_index_in_dim", "dynamic_update_slice", "dynamic_update_slice_in_dim",
    "dynamic_update_index_in_dim", "broadcast", "broadcast_in_dim", "collapse", "rev",
))  # fmt: skip


def to_array(x: Value) -> Value:
    """Return NumPy's array or scalar, or a Python number, as a device array; anything else as it is.

    >>> to_array(2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    if isinstance(x, (np.ndarray, np.generic)):
        return device_put(x) if x.dtype.kind in "biufcV" and x.dtype.fields is None else x
    if type(x) in _SCALARS:
        return weak_array(x)
    return Key(to_array(x.words), x.impl) if isinstance(x, KeyArray) and not is_tracer(x) else x


def weak_array(x: Value) -> Value:
    """Return a Python number as a weak device array."""
    with ensure_compile_time_eval():
        return as_weak(device_put(x)) if type(x) is not bool else device_put(np.bool_(x))


def as_weak(x: Value) -> Value:
    """Return an array or a tracer with a weak type."""
    return lax.convert_element_type_p.bind(x, new_dtype=typeof(x).dtype, weak_type=True)


def to_arrays(x: Value) -> Value:
    """Return the result of a function with its NumPy arrays and Python numbers as device arrays, in tuples too.

    >>> to_arrays((1, None))
    (Array(1, dtype=int32, weak_type=True), None)
    """
    kind = type(x)
    if kind is DeviceArray:
        return x
    if kind is tuple:
        return tuple([each if type(each) is bool else to_arrays(each) for each in x])  # cho_factor's `lower` is a bool
    if kind is list:
        return [to_arrays(each) for each in x]
    if kind is KeyArray:
        return Key(to_array(x.words), x.impl)
    if isinstance(x, tuple) and hasattr(kind, "_fields"):
        return kind(*map(to_arrays, x))
    return to_array(x)


def tree_to_arrays(tree: Value) -> Value:
    """Return a pytree with NumPy's arrays and Python numbers as device arrays.

    >>> tree_to_arrays({"x": np.int32(1)})
    {'x': Array(1, dtype=int32)}
    """
    return calque.tree_util.tree_map(to_array, tree)


def converted(name: str, value: Value, path: str = "jax.numpy") -> Value:
    """Return a function of calque's under jax's name in a module of jax: its results are device arrays.

    It is pickled by that name.  Classes and values pass.

    >>> converted("sin", np.sin)(np.float32(0))
    Array(0., dtype=float32)
    """
    if inspect.isclass(value) or not callable(value) or name in _TELLING or name.endswith("_p"):
        return value
    keeps_weak = path != "jax.random" and name not in _STRONG
    function = with_keys(value) if name in _MOVING else on_device(value) if path.endswith("linalg") else value
    call = with_arrays(function, keeps_weak=keeps_weak)
    call.__module__, call.__qualname__ = path, name
    return call


def on_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of linear algebra on device arrays: for a singular matrix it gives NaN, where NumPy raises."""

    def call(*args: Value, **options: Any) -> Value:
        return function(*[to_arrays(x) if isinstance(x, (np.ndarray, tuple, list)) else x for x in args], **options)

    return _named(call, function)


def with_keys(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that moves elements, of numbers and of keys."""

    def call(*args: Value, **options: Any) -> Value:
        return of_each_word(function, *args, **options) if any(map(_is_keys, args)) else function(*args, **options)

    return _named(call, function)


def _is_keys(x: Value) -> bool:
    return isinstance(x, KeyArray) or (type(x) in (list, tuple) and len(x) > 0 and isinstance(x[0], KeyArray))


def with_arrays(function: Callable[..., Any], *, keeps_weak: bool = False) -> Callable[..., Any]:
    """Return `function` with results that are device arrays; options that are None and calque lacks are left out."""
    reduces = getattr(function, "__name__", "") in _REDUCING

    def call(*args: Value, **options: Any) -> Value:
        args = tuple([x.__jax_array__() if hasattr(type(x), "__jax_array__") else x for x in args])
        if reduces and len(args) > 1 and type(args[1]) is list:
            args = (args[0], tuple(args[1]), *args[2:])
        if options:
            options = {name: x for name, x in options.items() if not _asks_for_nothing(name, x)}
            if type(options.get("axis")) is list:
                options["axis"] = tuple(options["axis"])
        with np.errstate(all="ignore"):  # XLA, which computes in jax, warns of no number
            out = to_arrays(function(*args, **options))
        return as_weak(out) if keeps_weak and _is_weak_call(args, options, out) else out

    return _named(call, function)


_REDUCING_NAMES = "all amax amin any max mean median min nanmean nansum prod ptp std sum var"
_REDUCING = frozenset(_REDUCING_NAMES.split())
_LEFT_OUT = frozenset(("where", "out_sharding", "sharding", "out", "accuracy", "device", "axis_index_groups"))


def _asks_for_nothing(name: str, x: Value) -> bool:
    return (x is None and name in _LEFT_OUT) or type(x) is NoSharding


def _named(call: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    try:
        return wraps(function)(call)
    except (AttributeError, TypeError):  # a callable without a name
        return call


def _is_weak_call(args: tuple[Value, ...], options: dict[str, Any], out: Value) -> bool:
    """Tell whether a strong number comes of operands whose highest kind is that of weak ones alone, as in jax."""
    is_number = isinstance(out, _ARRAYS) and getattr(out, "shape", None) == ()
    if "dtype" in options or not is_number or getattr(out, "weak_type", True):
        return False
    if typeof(out).kind not in "iufc" or any(map(_is_dtype, args)):
        return False
    avals = [typeof(x) for x in args if type(x) in _SCALARS or hasattr(x, "dtype")]
    highest = max((_LEVELS[aval.kind] for aval in avals), default=0)
    return highest > 0 and all(aval.weak_type for aval in avals if _LEVELS[aval.kind] == highest)


_LEVELS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3, "V": 4}


def _is_dtype(x: Value) -> bool:
    return isinstance(x, (type, np.dtype)) or (type(x) is str and x in np.sctypeDict)
