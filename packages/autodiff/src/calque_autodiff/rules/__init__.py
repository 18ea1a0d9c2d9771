"""Derivative rules, one module per family of primitives, named and ordered as in `calque_core.ops`."""

from calque_autodiff.rules import (
    arithmetic,
    bessel,
    broadcast,
    checkpoint,
    collective,
    compare,
    complex,
    convert,
    create,
    custom,
    dot,
    dynamic,
    exponential,
    gamma,
    gather,
    joining,
    linear_call,
    linear_solve,
    reduce,
    root,
    rounding,
    scan,
    scatter,
    shape,
    sort,
    special,
    trigonometric,
    while_loop,
)
from calque_autodiff.rules import cond as control_flow
from calque_autodiff.rules import jit as call
