"""Evaluation of single operations on device arrays.

One idea: an operation is a program of one equation, compiled once for its types and parameters.  On a CPU, core itself
computes operations that only move data, on views of the device's memory: compiling `x[3]` for each index would take
20 ms each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import (
    Jaxpr,
    JaxprEqn,
    Mesh,
    PartitionSpec,
    Primitive,
    Var,
    eval_context,
    evaluation,
    hand_down,
    jaxprs_in_params,
    register_evaluator,
    rule_epoch,
    typeof,
)
from calque_core.engine import (
    DEFAULT_SETTINGS,
    SCALAR_TYPES,
    UNCONSTRAINED,
    AnyMesh,
    KnownOperations,
    here,
    is_array_like,
    is_debugging,
)
from calque_core.extend import missing_rule
from calque_core.lax import (
    broadcast_in_dim_p,
    check_p,
    concatenate_p,
    custom_jvp_call_p,
    custom_vjp_call_p,
    custom_vjp_fwd_p,
    custom_vmap_call_p,
    dce_sink_p,
    debug_callback_p,
    dynamic_slice_p,
    dynamic_update_slice_p,
    gather_p,
    io_callback_p,
    jit_p,
    name_p,
    optimization_barrier_p,
    pure_callback_p,
    raise_p,
    remat_p,
    reshape_p,
    rev_p,
    scatter_p,
    sharding_constraint_p,
    slice_p,
    split_p,
    squeeze_p,
    stack_p,
    tile_p,
    transpose_p,
    unstack_p,
)
from calque_pytree import static_key
from calque_xla_backend.compile import Program, compile_jaxpr, to_buffer
from calque_xla_backend.exact_keys import exact_key
from calque_xla_backend.placing import common_place, meshes_of
from calque_xla_backend.runtime.array import Array, array_from_numpy, wrap
from calque_xla_backend.runtime.devices import device_put
from calque_xla_backend.runtime.partition import Partition, Place
from calque_xla_backend.runtime.placement import DeviceType, device_type
from calque_xla_backend.runtime.runtime import Buffer, put
from calque_xla_backend.runtime.sharding import NamedSharding

Value = Any
Params = dict[str, Any]

DATA_MOVEMENT = frozenset((
    broadcast_in_dim_p, concatenate_p, dynamic_slice_p, dynamic_update_slice_p, gather_p, reshape_p, rev_p, scatter_p,
    slice_p, split_p, squeeze_p, stack_p, tile_p, transpose_p, unstack_p,
))  # fmt: skip
HOST_CALLS = frozenset((pure_callback_p, io_callback_p, debug_callback_p, check_p))
# Evaluated by evaluating their programs, as the identity, or not at all.
TRANSPARENT = frozenset((
    jit_p, remat_p, name_p, optimization_barrier_p, dce_sink_p, custom_jvp_call_p, custom_vjp_call_p,
    custom_vjp_fwd_p, custom_vmap_call_p, raise_p,
))  # fmt: skip


def evaluate_primitive(primitive: Primitive, args: Sequence[Value], params: Params) -> list[Array]:
    """Return the results of a primitive on operands; at least one is an `Array`."""
    key = _quick_key(primitive, args, params)
    program: Program | None = _programs.known.get(key)
    if program is not None:
        buffers = [x._buffer if type(x) is Array else buffer_beside(x, t) for x, t in zip(args, program.in_types)]
        return program.on_buffers(buffers, args)
    if primitive in TRANSPARENT:
        return _implementation(primitive, args, params)
    if primitive is sharding_constraint_p and is_complete(**params):
        return [_as_strong(device_put(args[0], NamedSharding(**params)))]
    place = common_place(primitive.name, args, meshes_of(primitive, params))
    if _runs_on_host(primitive, place) or (is_debugging() and any(jaxprs_in_params(params))):
        # The debugger checks the operations of a loop or a branch, which only evaluation runs one by one.
        outs = hand_down(evaluation, primitive, [np.asarray(x) for x in args], params)
        return [array_from_numpy(x, place.whole if isinstance(place, Partition) else place) for x in outs]
    if not _is_lowered(primitive, place):
        return _implementation(primitive, args, params)
    epoch = rule_epoch()
    program = _program(primitive, args, params, place)
    if key is not None and _takes_buffers(program, args):
        _programs.keep(key, program, epoch)
    return program(args)


def _takes_buffers(program: Program, args: Sequence[Value]) -> bool:
    """Tell whether a program takes arrays as they are; one on one device goes to the devices of a mesh first."""
    pairs = zip(args, program.in_types)
    return all(x._device_type.canonical is kind.canonical for x, kind in pairs if type(x) is Array)


def _quick_key(primitive: Primitive, args: Sequence[Value], params: Params) -> Any:
    """Return a key for arrays and scalars with plain parameters, 1 to 3 us instead of 10; for any other None."""
    kinds: list[Any] = [x._device_type if type(x) is Array else type(x) for x in args]
    if not SCALAR_TYPES.issuperset(kind for kind in kinds if type(kind) is type):
        if not all(
            kind in SCALAR_TYPES or _is_array_of_numbers(x) for x, kind in zip(args, kinds) if type(kind) is type
        ):
            return None
        kinds = [typeof(x) if kind is np.ndarray else kind for x, kind in zip(args, kinds)]
    settings = here().settings
    if settings is not DEFAULT_SETTINGS:
        if not keep_their_types(args):
            return None
        kinds.append(settings)
    if not params:
        return (primitive, *kinds)
    try:
        return (primitive, *kinds, *params, exact_key((*params.values(),)))
    except TypeError:
        return None


def _is_array_of_numbers(x: Value) -> bool:
    return type(x) is np.ndarray and is_array_like(x)


def keep_their_types(args: Sequence[Value]) -> bool:
    """Tell whether each array among operands has the type that it counts as under the current settings.

    Raises: OverflowError for an integer that has no dtype under these settings.
    """
    is_wide_kept = here().settings.enable_x64
    for x in args:
        if type(x) is not Array:
            typeof(x)
        elif not is_wide_kept and typeof(x) != x._device_type.aval:
            return False
    return True


def _as_strong(x: Array) -> Array:
    """Return an array of a weak type as one of the strong type, with the same buffer."""
    kind = x._device_type
    return (
        wrap([x._buffer], [device_type(kind.aval.strip_weak_type(), kind.placement)])[0] if kind.aval.weak_type else x
    )


def is_complete(mesh: AnyMesh, spec: PartitionSpec) -> bool:
    """Tell whether a constraint says where each element is, so that no program need choose."""
    return type(mesh) is Mesh and UNCONSTRAINED not in spec.entries


def buffer_beside(x: Value, target: DeviceType) -> Buffer:
    """Return the buffer of a scalar, or of an array of NumPy's, that stands beside device arrays."""
    return to_buffer(x, target) if type(x) is np.ndarray else buffer_of_number(x, target)


def buffer_of_number(x: Value, target: DeviceType) -> Buffer:
    """Return the buffer of a scalar, sent to the device once: it stands beside many arrays.

    Raises: OverflowError for an integer that has no dtype.
    """
    # Equal numbers of one class are one number, but for zeros, which have a sign, also as a part of a complex number.
    key = type(x), x if x and type(x) not in _COMPLEX else repr(x), target
    buffer = _sent.get(key)
    if buffer is None:
        if len(_sent) >= _MAX_NUMBERS:
            _sent.clear()
        typeof(x)  # refuses integers that no dtype holds
        buffer = _sent[key] = put(np.asarray(x, target.dtype), target)
    return buffer


_sent: dict[Any, Buffer] = {}
_COMPLEX = frozenset((complex, np.complex64, np.complex128))
_MAX_NUMBERS = 256


register_evaluator(Array, evaluate_primitive)


def _implementation(primitive: Primitive, args: Sequence[Value], params: Params) -> list[Value]:
    """Run the implementation, whose NumPy functions work on device arrays."""
    with eval_context():
        out = primitive.impl(*args, **params)
    return out if primitive.multiple_results else [out]


def _runs_on_host(primitive: Primitive, place: Place) -> bool:
    """Tell whether core evaluates the primitive: it moves data, on views of the device's memory, or calls Python.

    So it is where NumPy computes the primitive and another processor does not.
    """
    if primitive in DATA_MOVEMENT:
        return place.platform == "cpu" and not isinstance(place, Partition)
    has_no_program = primitive.is_leaf and place.platform != "cpu" and not _is_lowered(primitive, place)
    return primitive in HOST_CALLS or has_no_program


def _is_lowered(primitive: Primitive, place: Place) -> bool:
    """Tell whether to compile the primitive: it has a lowering rule or a program, or lacks an impl too."""
    key = primitive, place.platform
    if key not in _lowered:
        rules = primitive.rules
        kinds = ("lowering", ("lowering", place.platform), "means", "decomposition")
        if "impl" in rules and not any(kind in rules for kind in kinds):
            return False
        _lowered.add(key)
    return True


_lowered: set[tuple[Primitive, str]] = set()  # primitives that a platform compiles; a rule may be added later


# A single operation has no function and no jaxpr to keep its program.  A program has two keys: one of types, parameters
# and the device, and a quick one.
_programs: KnownOperations[Program] = KnownOperations()


def _program(primitive: Primitive, args: Sequence[Value], params: Params, place: Place) -> Program:
    """Return the program of one operation; it is cached if the parameters are hashable."""
    avals, epoch = tuple(map(typeof, args)), rule_epoch()
    try:
        values = tuple((name, static_key(value)) for name, value in params.items())
        key = primitive, avals, values, place, here().settings
        program: Program | None = _programs.known.get(key)
    except TypeError:  # a parameter has no hash
        return _new_program(primitive, avals, params, place)
    if program is None:
        program = _new_program(primitive, avals, params, place)
        _programs.keep(key, program, epoch)
    return program


def program_of_operation(primitive: Primitive, args: Sequence[Value], params: Params) -> Program | None:
    """Return the program of an operation on device arrays and numbers; None if it is evaluated in another way."""
    place = common_place(primitive.name, args, meshes_of(primitive, params))
    if primitive in TRANSPARENT or _runs_on_host(primitive, place) or not _is_lowered(primitive, place):
        return None
    return _program(primitive, args, params, place)


def forget_programs() -> None:
    """Drop the programs of single operations, and the numbers on devices."""
    _programs.clear()
    _sent.clear()


def _new_program(primitive: Primitive, avals: tuple[Any, ...], params: Params, place: Place) -> Program:
    if primitive.abstract is None:
        raise missing_rule(primitive, "abstract_eval")
    invars = [Var(aval) for aval in avals]
    outvars = [Var(aval) for aval in primitive.abstract(*avals, **params)]
    eqn = JaxprEqn(primitive, invars, outvars, params)
    return compile_jaxpr(Jaxpr((), invars, [eqn], outvars, debug_name=primitive.name), place)
