"""Taylor rules, one module per family of primitives, named and ordered as in `calque_core.ops`.

A primitive that core declares linear, bilinear or constant needs none: `derived.py` follows from that.
"""

from calque_jet.rules import (
    call,
    checkpoint,
    collective,
    compare,
    control_flow,
    convert,
    create,
    custom,
    elementwise,
    linear_call,
    linear_solve,
    reduce,
    root,
    scan,
    sort,
    special,
    while_loop,
)
