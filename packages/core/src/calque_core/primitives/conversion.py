"""The primitive that changes a dtype.  Staging binds it to narrow 64 bits to 32, so it lives below staging.

Read next: `ops/elementwise/convert.py`, its evaluation and its function.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import ShapedArray, shaped_array

convert_element_type_p = Primitive("convert_element_type")  # with `weak_type`, of a scalar: to a Python scalar
convert_element_type_p.is_elementwise = True
# Its rules are beside those of convert.py.
convert_element_type_p.family = convert_element_type_p.adapted.family = "calque_core.ops.elementwise.convert"


@convert_element_type_p.def_abstract_eval(cached=True)
def convert_element_type_abstract_eval(
    x_aval: ShapedArray, *, new_dtype: np.dtype[Any], weak_type: bool
) -> ShapedArray:
    return shaped_array(x_aval.shape, new_dtype, weak_type and not x_aval.shape)
