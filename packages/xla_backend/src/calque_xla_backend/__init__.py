"""jit: compile calque programs with XLA, through jaxlib.

Read next: `verbs/jit.py`, then `modules/lowering.py` for how to write a lowering rule.
"""

import typing as _typing

import jaxlib as _jaxlib
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import register_internal_folder as _register_internal_folder
from calque_core.engine import late_names as _late_names
from calque_xla_backend import compilation_cache, distributed, ffi, multihost, rules
from calque_xla_backend.artefacts.errors import ExportError
from calque_xla_backend.artefacts.exported import Exported
from calque_xla_backend.artefacts.trees import register_pytree_node_serialization
from calque_xla_backend.calls.differences import Difference
from calque_xla_backend.modules.lowering import (
    LoweringRuleContext,
    broadcast_operands,
    jaxpr_subcomp,
    lower_fun,
    register_lowering,
)
from calque_xla_backend.modules.module import LoweredModule, lower_jaxpr_to_module
from calque_xla_backend.modules.types import aval_to_ir_type, dtype_to_ir_type, ir_constant
from calque_xla_backend.processes.arrays import make_array_from_process_local_data
from calque_xla_backend.processes.devices import local_device_count, local_devices, process_count, process_index
from calque_xla_backend.runtime.array import Array
from calque_xla_backend.runtime.assembly import make_array_from_callback, make_array_from_single_device_arrays
from calque_xla_backend.runtime.clients import DeviceClass as Device
from calque_xla_backend.runtime.communication import Traffic
from calque_xla_backend.runtime.devices import (
    block_until_ready,
    default_backend,
    device_count,
    device_get,
    device_put,
    devices,
    live_arrays,
)
from calque_xla_backend.runtime.exchange import from_dlpack
from calque_xla_backend.runtime.mesh import make_mesh
from calque_xla_backend.runtime.plugins import Plugin, plugins, register_plugin
from calque_xla_backend.runtime.profiler import TraceAnnotation, profile
from calque_xla_backend.runtime.sharding import NamedSharding, Sharding, SingleDeviceSharding
from calque_xla_backend.runtime.shards import Shard
from calque_xla_backend.runtime.visualize import visualize_array_sharding, visualize_sharding
from calque_xla_backend.verbs.constraint import with_sharding_constraint
from calque_xla_backend.verbs.explain import Explanation, explain
from calque_xla_backend.verbs.export import deserialize, export
from calque_xla_backend.verbs.jit import clear_caches, jit
from calque_xla_backend.verbs.pmap import pmap
from calque_xla_backend.verbs.stages import ArgInfo, Compiled, Lowered, Traced

_register_internal_folder(__path__[0])
_register_internal_folder(_jaxlib.__path__[0])

__version__ = "0.1.0"

__all__ = [
    "ArgInfo",
    "Array",
    "Compiled",
    "Device",
    "Difference",
    "Explanation",
    "ExportError",
    "Exported",
    "Lowered",
    "LoweredModule",
    "LoweringRuleContext",
    "NamedSharding",
    "Plugin",
    "Shard",
    "Sharding",
    "SingleDeviceSharding",
    "TraceAnnotation",
    "Traced",
    "Traffic",
    "aval_to_ir_type",
    "block_until_ready",
    "broadcast_operands",
    "clear_caches",
    "compilation_cache",
    "default_backend",
    "deserialize",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "distributed",
    "dtype_to_ir_type",
    "explain",
    "export",
    "ffi",
    "from_dlpack",
    "hlo",
    "ir_constant",
    "jaxpr_subcomp",
    "jit",
    "live_arrays",
    "local_device_count",
    "local_devices",
    "lower_fun",
    "lower_jaxpr_to_module",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "make_mesh",
    "multihost",
    "plugins",
    "pmap",
    "process_count",
    "process_index",
    "profile",
    "register_lowering",
    "register_plugin",
    "register_pytree_node_serialization",
    "visualize_array_sharding",
    "visualize_sharding",
    "with_sharding_constraint",
]

if not _typing.TYPE_CHECKING:  # noqa: TID251  a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, {})
