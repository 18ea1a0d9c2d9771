"""The Taylor rules of conversions: linear between floating dtypes, constant from or to an integer or a bool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.extend import is_float
from calque_core.lax import convert_element_type, convert_element_type_p
from calque_jet.series import Result, Series

Value = Any


@convert_element_type_p.def_rule("jet")
def convert_element_type_jet(
    primals: Sequence[Value], series: Sequence[Series], *, new_dtype: Any, weak_type: bool
) -> Result:
    """Convert every coefficient too, unless the result is an integer or a bool."""
    out, is_kept = convert_element_type_p.bind(*primals, new_dtype=new_dtype, weak_type=weak_type), is_float(new_dtype)
    return out, [convert_element_type(c, new_dtype) if is_kept and c is not None else None for c in series[0]]
