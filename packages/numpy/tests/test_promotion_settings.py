"""Functions that bring their operands to one dtype themselves ask `config.numpy_dtype_promotion` too."""

import numpy as np
import pytest

from calque_core import config, make_jaxpr

SINGLE, DOUBLE = np.ones((3, 3), np.float32), np.ones((3, 3))
CALLS = {
    "einsum": lambda x, y: np.einsum("ij,jk", x, y),
    "concatenate": lambda x, y: np.concatenate([x, y]),
    "stack": lambda x, y: np.stack([x, y]),
    "select": lambda x, y: np.select([x > 0, x < 1], [x, y]),
    "average": lambda x, y: np.average(x, weights=y),
    "dot": np.dot,
}


@pytest.mark.parametrize("name", CALLS)
def test_different_dtypes_are_refused_where_promotion_is_strict(name):
    make_jaxpr(CALLS[name])(SINGLE, DOUBLE)
    with config.numpy_dtype_promotion("strict"):
        make_jaxpr(CALLS[name])(SINGLE, SINGLE)
        with pytest.raises(TypeError, match=r"float32\[.* and .*numpy_dtype_promotion is .strict"):
            make_jaxpr(CALLS[name])(SINGLE, DOUBLE)
