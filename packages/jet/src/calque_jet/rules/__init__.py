"""Taylor rules, one module per family of primitives, named and ordered as in `calque_core.ops`.

A primitive that core declares linear, bilinear or constant needs none: `derived.py` follows from that.
"""

from calque_jet.rules import (
    adjugates,
    arithmetic,
    bessel,
    callback,
    checkpoint,
    collective,
    compare,
    convert,
    create,
    custom,
    eigen,
    equations,
    exponential,
    factorizations,
    gamma,
    gather,
    incomplete,
    incomplete_beta,
    linear_call,
    linear_solve,
    matrix_functions,
    platform,
    reduce,
    reduce_window,
    reflections,
    root,
    rounding,
    scan,
    scatter,
    select_and_scatter,
    similarity,
    sort,
    special,
    sylvester,
    top_k,
    triangular,
    tridiagonal,
    trigonometric,
    while_loop,
)
from calque_jet.rules import cond as control_flow
from calque_jet.rules import jit as call
