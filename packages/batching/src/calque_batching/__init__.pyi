# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_batching.verbs.vmap import vmap as vmap
from calque_batching.verbs.mapping import map as map
from calque_batching.custom.custom_vmap import custom_vmap as custom_vmap, sequential_vmap as sequential_vmap
from calque_batching.verbs.vmappable import (
    register_vmappable as register_vmappable, unregister_vmappable as unregister_vmappable,
)
from calque_core.extend import (
    defbatch as defbatch, defvectorized as defvectorized, defbroadcasting as defbroadcasting, defreducer as defreducer,
)
from calque_batching.rules import primitive_batchers as primitive_batchers
from calque_batching.axes import (
    not_mapped as not_mapped, moveaxis as moveaxis, bdim_at_front as bdim_at_front, broadcast as broadcast,
    matchaxis as matchaxis,
)
from calque_batching.batch_trace import BatchTrace as BatchTrace, AxisData as AxisData
from calque_batching.batch_tracer import BatchTracer as BatchTracer
from calque_batching.jaxprs import batch_jaxpr_axes as batch_jaxpr_axes

__version__: str

__all__ = [
    "vmap", "map", "custom_vmap", "sequential_vmap", "register_vmappable", "unregister_vmappable", "defbatch",
    "defvectorized", "defbroadcasting", "defreducer", "primitive_batchers", "not_mapped", "moveaxis", "bdim_at_front",
    "broadcast", "matchaxis", "BatchTrace", "AxisData", "BatchTracer", "batch_jaxpr_axes",
]
