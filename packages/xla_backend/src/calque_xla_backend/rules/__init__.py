"""The lowering rules of core's primitives: one module for each module of `calque_core.ops`, under the same name."""

from calque_xla_backend.rules import (
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
