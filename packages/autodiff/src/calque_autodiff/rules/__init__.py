"""Derivative rules, one module per family of primitives, named and ordered as in `calque_core.ops`."""

from calque_autodiff.rules import (
    broadcast,
    call,
    collective,
    compare,
    control_flow,
    convert,
    create,
    dot,
    elementwise,
    reduce,
    rounding,
    scan,
    shape,
    sort,
    special,
    while_loop,
)
