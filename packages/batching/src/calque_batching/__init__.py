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

from calque_batching import rules
from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import late_chapters as _late_chapters

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "for users": {
        "calque_batching.verbs.vmap": "vmap",
        "calque_batching.verbs.mapping": "map",
        "calque_batching.custom.custom_vmap": "custom_vmap, sequential_vmap",
        "calque_batching.verbs.vmappable": "register_vmappable, unregister_vmappable",
    },
    "for authors of primitives": {
        "calque_core.extend": "defbatch, defvectorized, defbroadcasting, defreducer",
        "calque_batching.rules": "primitive_batchers",
        "calque_batching.axes": "not_mapped, moveaxis, bdim_at_front, broadcast, matchaxis",
    },
    "for authors of transformations": {
        "calque_batching.batch_trace": "BatchTrace, AxisData",
        "calque_batching.batch_tracer": "BatchTracer",
        "calque_batching.jaxprs": "batch_jaxpr_axes",
    },
}

_register_internal_folder(__path__[0])

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
