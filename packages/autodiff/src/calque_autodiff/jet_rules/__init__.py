"""Taylor rules, one module per family of primitives, named and ordered as in `calque_core.ops`.

A family without a module has rules that follow from what its primitives are: linear, bilinear or constant.
"""

from calque_autodiff.jet_rules import (
    call,
    checkpoint,
    collective,
    compare,
    control_flow,
    convert,
    create,
    custom,
    dynamic,
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
