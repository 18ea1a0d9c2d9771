"""Modules, buffers and executables as jaxlib makes them: its version-dependent and underscore names.

One idea: the modules outside of this folder see placements, device types and executables; this folder decides how each
release of jaxlib makes them.

Read next: `placement.py`, the types of buffers; `array.py`, the class around a buffer.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from jaxlib import _jax  # type: ignore[attr-defined]
from jaxlib import utils as jaxlib_utils  # type: ignore[attr-defined]
from jaxlib import xla_client as xc
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _chlo, _jax_mlir_ext, _stablehlo
from jaxlib.mlir.dialects import sdy  # by this module: with `_sdy` loaded before it, jax would miss names in it

from calque_core.engine import advance_rule_epoch
from calque_xla_backend.runtime.clients import (
    CPU,
    Device,
    ForkedClient,
    client,
    give_up_clients,
    refuse_forked,
    started_clients,
)
from calque_xla_backend.runtime.dlpack import HOST
from calque_xla_backend.runtime.interrupts import forget_interrupts, watch_interrupts
from calque_xla_backend.runtime.partition import Partition, Place
from calque_xla_backend.runtime.placement import RELEASE, DeviceType, Placement

Buffer = Any  # jaxlib's ArrayImpl
Executable = Any  # jaxlib's LoadedExecutable
XlaRuntimeError: type[RuntimeError] = xc.XlaRuntimeError

if "TF_CPP_MIN_LOG_LEVEL" not in os.environ:
    jaxlib_utils.absl_set_min_log_level(1)  # no INFO lines about the number of devices

# jaxlib notes the frames of the caller at each run of a program, for the messages of jax: 0.5 us a call, and 80 bytes
# that it never frees.  An array without a note cannot be copied once notes are on: they are on from the start or never.
if "jax" not in sys.modules:
    _jax.set_tracebacks_enabled(False)


# MLIR


class MlirContext(ir.Context):
    """An MLIR context with the dialects that a program can use, and a cache of its types."""

    def __init__(self) -> None:
        super(ir.Context, self).__init__()  # jaxlib's own initialiser loads every dialect
        self.append_dialect_registry(_dialects)
        self.load_all_available_dialects()
        self.set_thread_pool(_pool)
        for dialect in (sdy, _chlo, _stablehlo):
            dialect.register_dialect(self)
        self.types: dict[Any, Any] = {}


class _ThreadsContext:
    """The MLIR context that a thread uses for its next modules."""

    def __init__(self) -> None:
        self.context, self.uses = MlirContext(), 0

    def __del__(self) -> None:
        with suppress(AttributeError):  # an interrupt came before there was a context
            self.context.types.clear()  # types keep their context alive, and the garbage collector does not see how


_dialects = ir.DialectRegistry()
_jax_mlir_ext.register_dialects(_dialects)
_pool = ir.ThreadPool()
_contexts = threading.local()
_USES = 64  # modules per context: a context keeps all its types, attributes and templates: a limit bounds the memory


def mlir_context() -> MlirContext:
    """Return a context for one module.  A thread uses one context for several modules, which saves 2 ms each."""
    current: _ThreadsContext | None = getattr(_contexts, "current", None)
    if current is None or current.uses >= _USES:
        current = _contexts.current = _ThreadsContext()
    current.uses += 1
    return current.context


# Arrays


def live_buffers() -> list[tuple[Buffer, DeviceType]]:
    """Return every buffer of calque in memory with its device type; none before the first use of a device."""
    buffers = [buffer for client in started_clients() for buffer in client.live_arrays()]
    return [(x, x.aval) for x in buffers if type(x.aval) is DeviceType and not x.is_deleted()]


def put(array: np.ndarray[Any, Any], target: DeviceType) -> Buffer:
    """Copy a NumPy array of the target's dtype to its devices; the caller may overwrite the array afterwards."""
    place = target.placement
    pieces, devices = _pieces(array, target) if place.is_divided else ([array], place.devices)
    return _device_put(
        target, place.xla_sharding, pieces, devices, True, True, _COPY, True
    )  # committed, force_copy, semantics, enable_x64: jaxlib never narrows a dtype


def _pieces(array: np.ndarray[Any, Any], target: DeviceType) -> tuple[list[np.ndarray[Any, Any]], list[Device]]:
    """Return the elements that each device of this process holds, and these devices.

    Elements for a second device are copied: jaxlib fails if some of the pieces, and not all, share their memory.
    """
    place = target.placement
    devices = [place.devices[i] for i in place.local]
    if place.sharding.is_fully_replicated:
        return [array] * len(devices), devices
    parts = [target.parts[i] for i in place.local]
    is_shared = not array.size  # empty pieces have one address
    pieces = [array[index].copy() if copy or is_shared else array[index] for index, copy in parts]
    return pieces, devices


def share(array: np.ndarray[Any, Any], target: DeviceType) -> Buffer:
    """Return a buffer on the memory of a NumPy array of the target's dtype, or on a copy if XLA cannot share it."""
    place = target.placement
    semantics = xc.HostBufferSemantics.ZERO_COPY
    return _device_put(target, place.xla_sharding, [array], place.devices, True, False, semantics, True)


def lend(array: np.ndarray[Any, Any], target: DeviceType) -> Buffer:
    """Return a buffer on the memory of an aligned NumPy array on the host; its owner may write there between programs.

    It is no array of the user's: `live_buffers` does not list it.
    """
    place = target.placement
    semantics = xc.HostBufferSemantics.ZERO_COPY
    buffer = _device_put(target.aval, place.xla_sharding, [array], place.devices, True, False, semantics, True)
    shared = np.asarray(memoryview(buffer)).__array_interface__
    assert shared["data"][0] == array.__array_interface__["data"][0], (target, array.__array_interface__)
    return buffer


wait_for_all: Callable[[Sequence[Buffer]], None] = xc.batched_block_until_ready
"""Wait until all buffers are computed.  Raises: XlaRuntimeError for a deleted buffer or one of a failed program."""


def wait_for(token: Any) -> None:
    """Wait until a program has ended, by the token that came with its results."""
    try:
        token.block_until_ready()  # under `suppress` it would take 0.3 us more, of a call of 6
    except XlaRuntimeError:
        return  # of a program that failed: whoever reads its results gets the error


def to_dlpack(buffer: Buffer, max_version: tuple[int, int] | None = None) -> Any:
    """Return a DLPack capsule of the memory of a buffer, marked as read-only if `MARKS_READ_ONLY` and by version 1.

    The capsule is that of a clone: deleting a buffer that is exported itself would end the process.
    """
    options = () if max_version is None or RELEASE < (0, 12) else (None, max_version)
    return _jax.buffer_to_dlpack_managed_tensor(buffer.clone(), *options)


def from_dlpack_capsule(capsule: Any, target: DeviceType, stream: int | None) -> Buffer:
    """Return a buffer on the memory of a DLPack capsule, which is on the device of `target`.

    Its elements are there once the work on `stream` is done.
    """
    shared = _jax.dlpack_managed_tensor_to_buffer(capsule, target.placement.devices[0], stream)
    return target.handler([shared])


def copied(buffer: Buffer, target: DeviceType) -> Buffer:
    """Return a copy of a buffer of type `target`, made by its devices."""
    place = target.placement
    devices, shardings = [place.device_list], [place.xla_sharding]
    (copy,) = xc.batched_copy_array_to_devices_with_sharding(
        [buffer], devices, shardings, [xc.ArrayCopySemantics.ALWAYS_COPY]
    )
    return copy


MARKS_READ_ONLY = RELEASE >= (0, 12)  # whether capsules of jaxlib's can say that memory is read-only
NUMPY_MARKS_READ_ONLY = np.lib.NumpyVersion(np.__version__) >= "2.1.0"  # whether capsules of NumPy's can

_device_put = xc.batched_device_put
_COPY = xc.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL


_TO_NUMPY = "_to_np_array_did_copy" if RELEASE >= (0, 12) else "_single_device_array_to_np_array_did_copy"


def is_readable(dtype: np.dtype[Any]) -> bool:
    """Tell whether `to_numpy` takes buffers of a dtype.

    Up to 0.11, jaxlib has no buffer protocol for the dtypes that NumPy lacks, and its other methods
    import jax where it is installed.
    """
    return dtype.isbuiltin == 1 or RELEASE >= (0, 12)


def to_numpy(buffer: Buffer, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return the elements of a buffer as a read-only NumPy array, which shares its memory on a CPU; wait for them."""
    is_of_host = buffer.aval.placement.platform == CPU
    if dtype.isbuiltin == 1 and is_of_host:
        return np.asarray(memoryview(buffer))
    if _device_put is refuse_forked and not is_of_host:
        refuse_forked()
    buffer.block_until_ready()  # jaxlib would take memory for the elements of a failed program, and may end the process
    array: np.ndarray[Any, Any] = getattr(buffer, _TO_NUMPY)()[0]
    return array


def host_piece(buffer: Buffer, place: Placement, number: int) -> np.ndarray[Any, Any]:
    """Return the elements on a device of the host's processor as a read-only view; wait for them.

    A capsule is of the first device, so this device becomes the first: 8 us, where a buffer of one device takes 30.
    """
    buffer.block_until_ready()
    if number:
        buffer = _jax.reorder_shards(buffer, place.with_first(number), xc.ArrayCopySemantics.REUSE_INPUT)
    return np.from_dlpack(_Exported(to_dlpack(buffer)))


class _Exported:
    """A capsule in the form in which NumPy takes it."""

    __slots__ = ("capsule",)

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return HOST


# Programs


def compile_options(
    place: Place, options: Sequence[tuple[str, Any]] = (), undivided: tuple[Sequence[bool], Sequence[bool]] = ((), ())
) -> Any:
    """Return jaxlib's options for a program at a place; `options` are XLA's flags by name.

    `undivided` says of the arguments of the module, and of its results, whether XLA may choose how to divide them.
    """
    ids = [device.id for device in place.devices]
    all_options = xc.CompileOptions()
    all_options.num_replicas, all_options.num_partitions = 1, len(ids)
    all_options.device_assignment = xc.DeviceAssignment.create(np.array([ids], np.int32))
    all_options.env_option_overrides = list(options)
    if isinstance(place, Partition):
        build = all_options.executable_build_options
        build.num_replicas, build.num_partitions = 1, len(ids)
        build.use_spmd_partitioning = build.use_shardy_partitioner = True
        build.allow_spmd_sharding_propagation_to_parameters = list(undivided[0])
        build.allow_spmd_sharding_propagation_to_output = list(undivided[1])
    return all_options


def compile_module(
    module: ir.Module, place: Place, options: Any, entries: Sequence[Callable[..., Any]] = ()
) -> Executable:
    """Return an executable for a place, compiled with the `compile_options`; it calls the functions `entries`.

    Raises: XlaRuntimeError.
    """
    watch_interrupts()
    return client(place.platform).compile_and_load(module, place.device_list, options, list(entries))


def serialize_executable(executable: Executable) -> bytes:
    """Return the bytes from which `load_executable` makes the executable again.

    Raises: XlaRuntimeError if it has parts that only this process has.
    """
    return bytes(executable.client.serialize_executable(executable))


def load_executable(serialized: bytes, place: Place, options: Any) -> Executable:
    """Return the executable that `serialize_executable` has written, which must be trusted: it is machine code.

    Raises: XlaRuntimeError.
    """
    watch_interrupts()
    return client(place.platform).deserialize_executable(serialized, place.device_list, options)


def tilings(executable: Executable) -> tuple[list[Any], list[Any]]:
    """Return how a program over several devices divides its arguments and its results, in XLA's terms."""
    shardings = executable.get_parameter_shardings(), executable.get_output_shardings()
    arguments, results = ([xc.HloSharding.from_proto(one) for one in some or ()] for some in shardings)
    return arguments, results


# Forked processes


def _reset_after_fork() -> None:
    """Replace every object that would wait for a thread of the parent process.

    A new epoch drops all programs, so that each call reaches the client; dispatch itself checks nothing.
    """
    global _pool, _contexts, _device_put  # noqa: PLW0603  the parent's objects are replaced as a whole
    parent_clients = give_up_clients()
    # Kept to the end of the process: to free them is to wait for their threads, and the driver of a GPU would end the
    # process that frees its memory.
    _parent_objects.extend((_pool, _contexts, *parent_clients))
    for parent in parent_clients:
        if not (isinstance(parent, ForkedClient) or parent.platform == CPU):
            _parent_objects.extend((*parent.live_arrays(), *parent.live_executables()))
    _keep_to_the_end(_parent_objects)
    _pool, _contexts = ir.ThreadPool(), threading.local()
    forget_interrupts()
    if parent_clients:
        _device_put = refuse_forked
        advance_rule_epoch()


_parent_objects: list[Any] = []
_keep_to_the_end = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
