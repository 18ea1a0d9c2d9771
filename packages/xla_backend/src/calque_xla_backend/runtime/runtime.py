"""Everything that touches jaxlib's version-dependent or underscore names, and nothing else.

One idea: the other modules see devices, placements, device types and executables; this module decides how each release
of jaxlib makes them.  An interned `DeviceType` holds the type and the device of an array, which C++ would otherwise
look up on each call; two arrays are interchangeable for a program if their device types are one object.

Read next: `array.py`, the class around a buffer; `dispatch.py`, the fast path of a call.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib import _jax  # type: ignore[attr-defined]
from jaxlib import utils as jaxlib_utils  # type: ignore[attr-defined]
from jaxlib import version as jaxlib_version
from jaxlib import xla_client as xc
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _chlo, _jax_mlir_ext, _stablehlo
from jaxlib.mlir.dialects import sdy  # by this module: with `_sdy` loaded before it, jax would miss names in it

from calque_core import ShapedArray, float0
from calque_core.extend import advance_rule_epoch, here, where
from calque_xla_backend.runtime.clients import (
    Device,
    DeviceClass,
    client,
    devices_of,
    give_up_clients,
    is_own,
    local_devices,
    platform_of,
    refuse_forked,
    started_clients,
)
from calque_xla_backend.runtime.interrupts import forget_interrupts, watch_interrupts

Buffer = Any  # jaxlib's ArrayImpl
Executable = Any  # jaxlib's LoadedExecutable
XlaRuntimeError: type[RuntimeError] = xc.XlaRuntimeError

_RELEASE = tuple(map(int, jaxlib_version.__version__.split(".")[:2]))
_SKIP_CHECKS = () if _RELEASE >= (0, 12) else (True,)  # an argument of array_result_handler that 0.12 removed

if "TF_CPP_MIN_LOG_LEVEL" not in os.environ:
    jaxlib_utils.absl_set_min_log_level(1)  # no INFO lines about the number of devices


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
        self.uses = 0


_dialects = ir.DialectRegistry()
_jax_mlir_ext.register_dialects(_dialects)
_pool = ir.ThreadPool()
_contexts = threading.local()
_USES = 64  # modules per context: a context keeps all its types and attributes, so a limit bounds the memory


def mlir_context() -> MlirContext:
    """Return a context for one module.  A thread uses one context for several modules, which saves 2 ms each."""
    current: MlirContext | None = getattr(_contexts, "current", None)
    if current is None or current.uses >= _USES:
        current = _contexts.current = MlirContext()
    current.uses += 1
    return current


# Devices


_lock = threading.Lock()


def live_buffers() -> list[tuple[Buffer, DeviceType]]:
    """Return every buffer of calque in memory with its device type; none before the first use of a device."""
    buffers = [buffer for client in started_clients() for buffer in client.live_arrays()]
    return [(x, x.aval) for x in buffers if type(x.aval) is DeviceType and not x.is_deleted()]


class Placement:
    """A device, and the objects that stand for it in calls of jaxlib."""

    __slots__ = ("__weakref__", "device", "device_list", "platform", "sharding")

    def __init__(self, device: Device) -> None:
        self.device = device
        self.platform = platform_of(device)
        self.device_list = xc.DeviceList((device,))
        self.sharding = xc.GSPMDSharding(self.device_list, xc.HloSharding.replicate())

    def __repr__(self) -> str:
        return f"Placement({self.device})"


_placements: dict[Device, Placement] = {}


def placement(device: Device | None = None) -> Placement:
    """Return the one placement on `device`, by default that of the setting `default_device`, or the first device.

    Raises: ValueError for a device of another XLA client in this process, such as jax's.
    """
    if device is None:
        default = here().settings.default_device
        device = default if isinstance(default, DeviceClass) else local_devices()[0]
    place = _placements.get(device)
    if place is None:
        if not is_own(device):
            known = ", ".join(map(repr, local_devices()))
            raise ValueError(
                f"the device {device!r}{where()} belongs to another library of this process, such as jax, whose "
                f"devices cannot run programs of calque. Use a device from calque_xla_backend.devices(): {known}."
            )
        with _lock:
            place = _placements.setdefault(device, Placement(device))
    return place


def placement_of(target: Device | str, caller: str) -> Placement:
    """Return the placement on a device, or on the default device of a platform.

    Raises: ValueError, in the name of `caller`, if there is no such platform.
    """
    if not isinstance(target, str):
        return placement(target)
    default = placement()
    return default if default.platform == target else placement(devices_of(target, caller)[0])


# Arrays


class DeviceType:
    """The type and the placement of arrays on a device.  Each pair is one object, so compare by identity.

    jaxlib takes it as the aval: C++ reads only `shape`, `dtype` and `weak_type`; weakness is not its concern.
    An array of a weak type has the same buffer as one of its strong type, `strong`.
    """

    __slots__ = ("aval", "dtype", "handler", "placement", "shape", "strong", "weak_type")

    def __init__(self, aval: ShapedArray, place: Placement, strong: DeviceType | None) -> None:
        self.aval, self.placement, self.strong = aval, place, self if strong is None else strong
        self.shape, self.dtype, self.weak_type = aval.shape, aval.dtype, False
        if aval.dtype == float0:
            self.dtype = np.dtype(bool)
        self.handler = xc.array_result_handler(self, place.sharding, True, *_SKIP_CHECKS)

    def __repr__(self) -> str:
        return f"DeviceType({self.aval!r}, {self.placement.device})"


_device_types: dict[tuple[ShapedArray, Placement], DeviceType] = {}


def device_type(aval: ShapedArray, place: Placement) -> DeviceType:
    """Return the device type of arrays of the type `aval` at `place`."""
    interned = _device_types.get((aval, place))
    if interned is None:
        strong = device_type(aval.strip_weak_type(), place) if aval.weak_type else None
        with _lock:
            interned = _device_types.setdefault((aval, place), DeviceType(aval, place, strong))
    return interned


def put(array: np.ndarray[Any, Any], target: DeviceType) -> Buffer:
    """Copy a NumPy array of the target's dtype to its device; the caller may overwrite the array afterwards."""
    place = target.placement
    return _device_put(
        target, place.sharding, [array], [place.device], True, True, _COPY, True
    )  # committed, force_copy, semantics, enable_x64: jaxlib never narrows a dtype


def share(array: np.ndarray[Any, Any], target: DeviceType) -> Buffer:
    """Return a buffer on the memory of a NumPy array of the target's dtype, or on a copy if XLA cannot share it."""
    place = target.placement
    semantics = xc.HostBufferSemantics.ZERO_COPY
    return _device_put(target, place.sharding, [array], [place.device], True, False, semantics, True)


def to_dlpack(buffer: Buffer, max_version: tuple[int, int] | None = None) -> Any:
    """Return a DLPack capsule of the memory of a buffer, marked as read-only if `MARKS_READ_ONLY` and by version 1.

    The capsule is that of a clone: deleting a buffer that is exported itself would end the process.
    """
    options = () if max_version is None or _RELEASE < (0, 12) else (None, max_version)
    return _jax.buffer_to_dlpack_managed_tensor(buffer.clone(), *options)


MARKS_READ_ONLY = _RELEASE >= (0, 12)  # whether capsules of jaxlib's can say that memory is read-only

_device_put = xc.batched_device_put
_COPY = xc.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL


def is_readable(dtype: np.dtype[Any]) -> bool:
    """Tell whether `to_numpy` takes buffers of a dtype.

    Up to 0.11, jaxlib has no buffer protocol for bfloat16 and the other dtypes that NumPy lacks, and its other methods
    import jax where it is installed.
    """
    return dtype.isbuiltin == 1 or _RELEASE >= (0, 12)


def to_numpy(buffer: Buffer, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return the elements of a buffer as a read-only NumPy array, which shares its memory on a CPU; wait for them."""
    if dtype.isbuiltin == 1:
        return np.asarray(memoryview(buffer))
    array: np.ndarray[Any, Any] = buffer._to_np_array_did_copy()[0]
    return array


# Programs


def compile_options(place: Placement, options: Sequence[tuple[str, Any]] = ()) -> Any:
    """Return jaxlib's options for a program of one device; `options` are XLA's flags by name."""
    all_options = xc.CompileOptions()
    all_options.num_replicas = all_options.num_partitions = 1
    all_options.device_assignment = xc.DeviceAssignment.create(np.array([[place.device.id]], np.int32))
    all_options.env_option_overrides = list(options)
    return all_options


def compile_module(
    module: ir.Module, place: Placement, options: Any, entries: Sequence[Callable[..., Any]] = ()
) -> Executable:
    """Return an executable of one device, compiled with the `compile_options`; it calls the functions `entries`.

    Raises: XlaRuntimeError.
    """
    watch_interrupts()
    return client(place.platform).compile_and_load(module, place.device_list, options, list(entries))


def serialize_executable(executable: Executable) -> bytes:
    """Return the bytes from which `load_executable` makes the executable again.

    Raises: XlaRuntimeError if it has parts that only this process has.
    """
    return bytes(executable.client.serialize_executable(executable))


def load_executable(serialized: bytes, place: Placement, options: Any) -> Executable:
    """Return the executable that `serialize_executable` has written, which must be trusted: it is machine code.

    Raises: XlaRuntimeError.
    """
    watch_interrupts()
    return client(place.platform).deserialize_executable(serialized, place.device_list, options)


# Forked processes


def _reset_after_fork() -> None:
    """Replace every object that would wait for a thread of the parent process.

    A new epoch drops all programs, so that each call reaches the client; dispatch itself checks nothing.
    """
    global _lock, _pool, _contexts, _device_put  # noqa: PLW0603  the parent's objects are replaced as a whole
    parent_clients = give_up_clients()
    _parent_objects.extend((_pool, _contexts, *parent_clients))  # kept: to free them is to wait for their threads
    _lock, _pool, _contexts = threading.Lock(), ir.ThreadPool(), threading.local()
    forget_interrupts()
    if parent_clients:
        _device_put = refuse_forked
        advance_rule_epoch()


_parent_objects: list[Any] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
