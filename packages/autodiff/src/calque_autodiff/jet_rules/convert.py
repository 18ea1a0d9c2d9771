"""The Taylor rules of conversions: linear between floating dtypes, constant wherever an integer or a bool is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.jet_rules.elementwise import Result
from calque_autodiff.jet_series import Series
from calque_autodiff.rules.convert import convert_element_type_jvp
from calque_core.lax import convert_element_type_p
from calque_core.linear import Zero

Value = Any


@convert_element_type_p.def_rule("jet")
def convert_element_type_jet(primals: Sequence[Value], series: Sequence[Series], **params: Any) -> Result:
    """Convert every coefficient as a tangent."""
    out = convert_element_type_p.bind(*primals, **params)
    converted = [None if c is None else convert_element_type_jvp(c, out, *primals, **params) for c in series[0]]
    return out, [None if type(c) is Zero else c for c in converted]
