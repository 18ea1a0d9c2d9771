"""vmap: map a function over an axis of its arguments without writing the loop.

    >>> import numpy as np
    >>> from calque_batching import vmap
    >>> from calque_core import lax
    >>> vmap(lambda x: lax.reduce_sum(x), in_axes=1)(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([4., 6.])

For users: `vmap`, and `map`, which computes one batch after the other.  For authors of primitives: `defbatch` and its
short forms, or `primitive_batchers`, the table that they fill.  For authors of transformations: `BatchTrace`, and
`batch_jaxpr_axes` for programs.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_batching import rules
from calque_core import register_internal_folder as _register_internal_folder
from calque_core import rules as _rule_table
from calque_core.extend import late_names as _late_names

# fmt: off
# isort: off
if _TYPE_CHECKING:
    from calque_batching.axes import bdim_at_front, broadcast, matchaxis, moveaxis, not_mapped
    from calque_batching.batch_trace import AxisData, BatchTrace
    from calque_batching.batch_tracer import BatchTracer
    from calque_batching.custom.custom_vmap import custom_vmap, sequential_vmap
    from calque_core.extend import defbatch, defbroadcasting, defreducer, defvectorized
    from calque_batching.jaxprs import batch_jaxpr_axes
    from calque_batching.verbs.mapping import map
    from calque_batching.verbs.vmap import vmap
    from calque_batching.verbs.vmappable import register_vmappable, unregister_vmappable
# isort: on
# fmt: on

# Each module is imported when a program first uses one of its names.
_LATE = {
    "calque_batching.axes": "bdim_at_front, broadcast, matchaxis, moveaxis, not_mapped",
    "calque_batching.batch_trace": "AxisData, BatchTrace",
    "calque_batching.batch_tracer": "BatchTracer",
    "calque_batching.custom.custom_vmap": "custom_vmap, sequential_vmap",
    "calque_core.extend": "defbatch, defbroadcasting, defreducer, defvectorized",
    "calque_batching.jaxprs": "batch_jaxpr_axes",
    "calque_batching.verbs.mapping": "map",
    "calque_batching.verbs.vmap": "vmap",
    "calque_batching.verbs.vmappable": "register_vmappable, unregister_vmappable",
}

primitive_batchers = _rule_table("batch")
_register_internal_folder(__path__[0])

__version__ = "0.1.0"

__all__ = [
    # for users
    "vmap", "map", "custom_vmap", "sequential_vmap", "register_vmappable", "unregister_vmappable",
    # for authors of primitives
    "defbatch", "defvectorized", "defbroadcasting", "defreducer", "primitive_batchers",
    "not_mapped", "moveaxis", "bdim_at_front", "broadcast", "matchaxis",
    # for authors of transformations
    "BatchTrace", "BatchTracer", "AxisData", "batch_jaxpr_axes",
]  # fmt: skip

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, _LATE)
