"""The lowering rules of core's primitives: one module for each module of `calque_core.ops`, under the same name.

A primitive that means one of its programs, such as `custom_root`, needs no rule: `lowering.py` lowers the program.
"""

from calque_xla_backend.rules import (
    arithmetic,
    broadcast,
    callback,
    checkpoint,
    collective,
    compare,
    complex,
    composite,
    convert,
    convolution,
    create,
    custom,
    dot,
    dynamic,
    eigen,
    exchange,
    exponential,
    factorizations,
    fft,
    gather,
    joining,
    linear_call,
    platform,
    reduce,
    reduce_function,
    reduce_window,
    reflections,
    rounding,
    scan,
    scatter,
    shape,
    similarity,
    sort,
    special,
    top_k,
    triangular,
    tridiagonal,
    trigonometric,
    while_loop,
)
from calque_xla_backend.rules import cond as control_flow
from calque_xla_backend.rules import jit as call
