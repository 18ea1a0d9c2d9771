"""The batching rule of a reduction by any function of two scalars.

Read next: `ops/reductions/reduce_function.py`, the reduction of whole axes; `batches.py` for other rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.jaxprs.named_axes import named_axes
from calque_core.kits.batches import align_batch_axes
from calque_core.ops.reductions.reduce_function import split_reduction
from calque_core.primitives.primitive import Primitive

Value = Any
Dims = Sequence[int | None]
Params = dict[str, Any]


def defreduction(primitive: Primitive, move: Callable[[int, Params], tuple[Params, int]]) -> None:
    """Define the batching rule of a reduction by a function of scalars, a primitive with a decomposition.

    `move(bdim, params)` returns the parameters for operands with a batch axis at `bdim`, and its place in the results.
    A function with a mapped constant, or a mapped initial value, has no scalar program for all elements: then the
    operations of the decomposition are batched.

    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from calque_core import Primitive, make_jaxpr, rules
    >>> from calque_core.engine import defreduction
    >>> total_p = Primitive("total", multiple_results=True)
    >>> _ = total_p.def_impl(lambda x, init, *, jaxpr, num_consts, axis: [init + x.sum(axis)])
    >>> defreduction(total_p, lambda bdim, params: ({"axis": params["axis"] + (bdim <= params["axis"])}, 0))
    >>> program, axis = make_jaxpr(lambda a, b: a + b)(1.0, 1.0), SimpleNamespace(name=None, size=2)
    >>> rules("axis_batch")[total_p](axis, (np.ones((2, 3)), 0.0), (0, None), jaxpr=program, num_consts=0, axis=0)
    ([array([3., 3.])], [0])
    """

    @primitive.def_rule("axis_batch")
    def batch(
        axis: Any, args: Sequence[Value], dims: Dims, /, *, jaxpr: Jaxpr, num_consts: int, **params: Any
    ) -> tuple[list[Value], list[int | None]]:
        program: Params = {"jaxpr": jaxpr, "num_consts": num_consts}
        consts, operands, inits = split_reduction(args, num_consts)
        const_dims, operand_dims, init_dims = split_reduction(dims, num_consts)
        is_mapped = any(d is not None for d in (*const_dims, *init_dims))
        if is_mapped or axis.name in named_axes(program):
            tree = primitive.rules["decomposition"]
            outs, out_dims = axis.apply(lambda *values: tree(*values, **program, **params), args, dims)
            return outs, out_dims
        operands, bdim = align_batch_axes(operands, operand_dims)
        moved, out_bdim = move(bdim, params)
        return primitive.bind(*consts, *operands, *inits, **program, **moved), [out_bdim] * len(operands)
