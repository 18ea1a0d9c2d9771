"""`ndarray`, the class of all arrays."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import make_jaxpr


def test_arrays_scalars_and_traced_arrays_are_instances_and_no_other_value_is():
    seen = []
    make_jaxpr(lambda x: seen.append(isinstance(x, cnp.ndarray)) or x)(1.0)
    assert seen == [True]
    assert [isinstance(x, cnp.ndarray) for x in (np.zeros(2), np.float32(1), 1.0, [1.0], None)] == [True, True] + 3 * [
        False
    ]


def test_it_makes_no_arrays():
    with pytest.raises(TypeError, match=r"ndarray makes no arrays.*Use zeros, array or asarray"):
        cnp.ndarray((2, 3))


def test_the_classes_of_dtypes_are_numpys():
    assert cnp.issubdtype(cnp.float32, cnp.floating)
    assert not cnp.issubdtype(cnp.int32, cnp.inexact)
    assert cnp.dtype("int8") == np.int8
