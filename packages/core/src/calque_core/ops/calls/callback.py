"""Calls from programs to Python: the primitives `pure_callback`, `io_callback` and `debug_callback`.

One idea: the three bind one kind of function, a `HostFunction`, and differ in their effects.  A pure call may be
removed, repeated or moved; a call with an effect happens as often as the program says, and in its order if it is
ordered.

Read next: `host_function.py`; `calque_core/debug.py`, the functions for debugging.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, get_args
from typing import Literal as OneOf

from calque_core.calls.api_util import arg_names, check_arrays, check_callable, describe_value, leaf_names
from calque_core.context import here
from calque_core.frames.source import current_position, describe_function, where
from calque_core.frames.tracebacks import api_boundary
from calque_core.jaxprs.effects import Effect, Effects
from calque_core.ops.calls.host_function import HostCall, HostFunction, in_callback, with_arrays
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import ShapedArray, is_array_like, typeof
from calque_pytree import PyTreeDef, tree_flatten

Value = Any
VmapMethod = OneOf["sequential", "sequential_unrolled", "expand_dims", "broadcast_all"]

debug_effect = Effect("debug", exact=False)
ordered_debug_effect = Effect("debug", ordered=True, exact=False)
io_effect = Effect("io")
ordered_io_effect = Effect("io", ordered=True)

_DERIVATIVE = (
    "calque cannot look into a Python function. Put the call into a function that has a derivative of its own, made "
    "with custom_jvp or custom_vjp"
)
_TAYLOR = "calque cannot look into a Python function"

# Pure calls

pure_callback_p = Primitive("pure_callback", multiple_results=True)


@pure_callback_p.def_impl
def pure_callback_impl(*args: Value, callback: HostCall, vmap_method: VmapMethod | None) -> list[Value]:
    return callback(*args)


@pure_callback_p.def_abstract_eval
def pure_callback_abstract_eval(
    *avals: Any, callback: HostCall, vmap_method: VmapMethod | None
) -> Sequence[ShapedArray]:
    return callback.result_avals


@pure_callback_p.def_pp
def pure_callback_pp(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


@api_boundary
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    vmap_method: VmapMethod | None = None,
    **kwargs: Any,
) -> Any:
    """Return `callback(*args, **kwargs)`, called from the program with NumPy arrays each time the program runs.

    `result_shape_dtypes` is a pytree of `ShapeDtypeStruct`s, or of arrays, that declares the result; a Python scalar in
    the result takes the declared dtype.  The arrays that `callback` gets are read-only copies.  It must be pure: the
    program may call it twice, or not at all if nobody uses the result.  `vmap_method` says how `vmap` calls it:
    "sequential" (once for each element; also "sequential_unrolled"), "expand_dims" (once, for the whole batch, with
    axes of size 1 for arguments that are not mapped) or "broadcast_all" (once, with the batch axis in front of all
    arguments).
    Raises: TypeError for an argument that is no array, and in the call for a result of another structure or dtype;
    ShapeError for another shape; ValueError for another `vmap_method`.

    >>> import numpy as np
    >>> from calque_core import ShapeDtypeStruct, pure_callback
    >>> pure_callback(lambda x: np.sort(x), ShapeDtypeStruct((3,), np.float64), np.array([3.0, 1.0, 2.0]))
    array([1., 2., 3.])
    """
    vmap_method = canonical_vmap_method(f"pure_callback of {describe_function(callback)}", vmap_method)
    function, operands, out_tree = host_function("pure_callback", callback, result_shape_dtypes, args, kwargs)
    return out_tree.unflatten(pure_callback_p.bind(*operands, callback=function, vmap_method=vmap_method))


# Calls with effects

io_callback_p = Primitive("io_callback", multiple_results=True)
io_callback_p.def_rule("effects", lambda *, callback, ordered: _one(ordered_io_effect if ordered else io_effect))


@io_callback_p.def_impl
def io_callback_impl(*args: Value, callback: HostCall, ordered: bool) -> list[Value]:
    return callback(*args)


@io_callback_p.def_abstract_eval
def io_callback_abstract_eval(*avals: Any, callback: HostCall, ordered: bool) -> Sequence[ShapedArray]:
    return callback.result_avals


@api_boundary
def io_callback(
    callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, ordered: bool = False, **kwargs: Any
) -> Any:
    """Return `callback(*args, **kwargs)`, called from the program with NumPy arrays exactly as often as it says.

    Arguments, `result_shape_dtypes` and errors are as for `pure_callback`; None declares that there is no result.
    With `ordered`, the call keeps its place among the other ordered calls of the program.

    >>> import numpy as np
    >>> from calque_core import ShapeDtypeStruct, io_callback
    >>> line = iter([3.0, 4.0])
    >>> io_callback(lambda: next(line), ShapeDtypeStruct((), np.float64), ordered=True)
    np.float64(3.0)
    """
    function, operands, out_tree = host_function("io_callback", callback, result_shape_dtypes, args, kwargs)
    return out_tree.unflatten(io_callback_p.bind(*operands, callback=function, ordered=bool(ordered)))


debug_callback_p = Primitive("debug_callback", multiple_results=True)
debug_callback_p.def_rule(
    "effects", lambda *, callback, ordered: _one(ordered_debug_effect if ordered else debug_effect)
)


debug_callback_p.def_rule("vma", lambda vmas, **_: [])


@debug_callback_p.def_impl
def debug_callback_impl(*args: Value, callback: HostCall, ordered: bool) -> list[Value]:
    return callback(*args)


@debug_callback_p.def_abstract_eval
def debug_callback_abstract_eval(*avals: Any, callback: HostCall, ordered: bool) -> Sequence[ShapedArray]:
    return ()


def bind_debug_callback(
    caller: str, callback: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], ordered: bool
) -> None:
    """Call `callback` from the program and ignore its result; arguments that are no arrays reach it unchanged."""
    check_callable(callback, caller)
    callback, args, kwargs = with_arrays(callback, tuple(args), kwargs)
    leaves, in_tree = tree_flatten((tuple(args), kwargs))
    statics = tuple((i, x) for i, x in enumerate(leaves) if not is_array_like(x))
    function = HostFunction(callback, in_tree, statics, None, (), caller, here().settings, current_position())
    debug_callback_p.bind(*filter(is_array_like, leaves), callback=function, ordered=bool(ordered))


def _one(effect: Effect) -> Effects:
    return frozenset((effect,))


for _primitive in (pure_callback_p, io_callback_p):
    _primitive.def_hole("jvp", _DERIVATIVE)
    _primitive.def_hole("transpose", _DERIVATIVE)
    _primitive.def_hole("jet", _TAYLOR)
debug_callback_p.def_hole("transpose", "the backward pass does not compute the tangents that it would show")

# The functions that the primitives call


def host_function(
    caller: str, callback: Callable[..., Any], result_shape_dtypes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[HostFunction, list[Value], PyTreeDef]:
    """Return a user's function as a `HostFunction`, its operands, and the structure of its result.

    Raises: TypeError for an argument or a declared result that is no array.
    """
    check_callable(callback, caller)
    callback, args, kwargs = with_arrays(callback, args, kwargs)
    operands, in_tree = tree_flatten((args, kwargs))
    check_arrays(operands, lambda: arg_names(callback, args, kwargs), f"{caller} of {describe_function(callback)}")
    result_avals, out_tree = declared_results(caller, result_shape_dtypes)
    settings, position = here().settings, current_position()
    function = HostFunction(callback, in_tree, (), out_tree, result_avals, caller, settings, position)
    return function, operands, out_tree


def declared_results(caller: str, result_shape_dtypes: Any) -> tuple[tuple[ShapedArray, ...], PyTreeDef]:
    """Return the types of the results that a user declares, and their structure.

    Raises: TypeError for a leaf that declares no type.
    """
    declared, out_tree = tree_flatten(result_shape_dtypes)
    avals = tuple(_declared_aval(caller, x, i, result_shape_dtypes) for i, x in enumerate(declared))
    return avals, out_tree


def _declared_aval(caller: str, declared: Any, i: int, tree: Any) -> ShapedArray:
    """Return the type of one result; anything with a shape and a dtype declares one."""
    try:
        return ShapedArray(declared.shape, declared.dtype)
    except AttributeError:
        name = leaf_names("result_shape_dtypes", tree)[i]
        raise TypeError(
            f"{caller}{where()} got {describe_value(declared)} as {name}. Give a ShapeDtypeStruct, or anything with a "
            "shape and a dtype."
        ) from None


def canonical_vmap_method(caller: str, vmap_method: Any) -> VmapMethod | None:
    """Return the word that says how `vmap` makes a call; both sequential ways are one here.

    Raises: ValueError that lists the words.
    """
    if vmap_method not in (None, *get_args(VmapMethod)):
        words = ", ".join(map(repr, get_args(VmapMethod)))
        raise ValueError(f"{caller}{where()} got vmap_method={vmap_method!r}. Use one of {words}.")
    return "sequential" if vmap_method == "sequential_unrolled" else vmap_method


def host_callback(primitive: Primitive, *, vmap_method: VmapMethod | None = None) -> Callable[..., Any]:
    """Return a decomposition by which compiled programs call the NumPy evaluation of a primitive.

    Results must have the types that the type rule says; `vmap_method` is as for `pure_callback`.

    >>> import numpy as np
    >>> from calque_core import Primitive, host_callback
    >>> median_p = Primitive("median")
    >>> _ = median_p.def_impl(lambda x: np.median(x))
    >>> _ = median_p.def_abstract_eval(lambda x: x.update(shape=()))
    >>> _ = median_p.def_rule("decomposition", host_callback(median_p, vmap_method="sequential"))
    >>> median_p.bind(np.array([1.0, 5.0, 2.0]))
    np.float64(2.0)
    """

    def call_impl(*args: Value, **params: Any) -> Any:
        avals = [aval.strip_weak_type() for aval in primitive.abstract(*map(typeof, args), **params)]
        result_avals: Any = avals if primitive.multiple_results else avals[0]
        return pure_callback(partial(primitive.impl, **params), result_avals, *args, vmap_method=vmap_method)

    return call_impl


# Waiting

_runtimes: list[Callable[[], None]] = []


def register_effects_barrier(wait: Callable[[], None]) -> None:
    """Let `effects_barrier` call `wait`, by which a runtime waits for the effects of the programs it runs.

    >>> from calque_core import effects_barrier
    >>> from calque_core.engine import register_effects_barrier
    >>> register_effects_barrier(lambda: None)
    >>> effects_barrier()
    """
    _runtimes.append(wait)


@api_boundary
def effects_barrier() -> None:
    """Wait for the effects of all programs that have started, in any thread.

    Raises: RuntimeError inside a callback, which would wait for its own program.

    >>> from calque_core import effects_barrier
    >>> effects_barrier()
    """
    if in_callback():
        raise RuntimeError(
            f"effects_barrier{where()} was called inside a callback: it would wait for the program that waits for the "
            "callback. Call it after the program."
        )
    for wait in _runtimes:
        wait()
