"""Batching the operations of `calque_core.ops.reductions.reduce`: the batch axis is not reduced."""

from __future__ import annotations

from calque_core.extend import defreducer
from calque_core.lax import (
    argmax_p,
    argmin_p,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
    reduce_sum_p,
    reduce_xor_p,
)

defreducer(reduce_sum_p, reduce_prod_p, reduce_max_p, reduce_min_p, reduce_and_p, reduce_or_p, reduce_xor_p)
defreducer(argmax_p, argmin_p)
