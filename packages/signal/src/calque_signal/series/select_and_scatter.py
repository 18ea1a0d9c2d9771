"""The Taylor rules of reading at winners and adding to winners: linear in the first operand; the winners are fixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Primitive
from calque_jet.series import Result, Series
from calque_signal.ops.select_and_scatter import select_and_gather_add_p, select_and_scatter_add_p

Value = Any


def def_selecting(primitive: Primitive) -> None:
    """Define the rule of an operation that follows the winners of the windows of its second operand."""

    @primitive.def_rule("jet")
    def selecting_jet(primals: Sequence[Value], series: Sequence[Series], **params: Any) -> Result:
        (values, x), (terms, _) = primals, series
        out = primitive.bind(values, x, **params)
        return out, [None if c is None else primitive.bind(c, x, **params) for c in terms]


def_selecting(select_and_gather_add_p)
def_selecting(select_and_scatter_add_p)
