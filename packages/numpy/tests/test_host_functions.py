"""Functions of text and files are NumPy's on values, and refuse traced arrays."""

import io

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import NumpyRuleError, make_jaxpr

X = np.array([0.0, 1.5, 0.0])
NAMES = ["array2string", "array_repr", "array_str", "trim_zeros"]


@pytest.mark.parametrize("name", NAMES)
def test_functions_of_values_are_numpys_and_refuse_traced_arrays(name):
    np.testing.assert_array_equal(getattr(cnp, name)(X), getattr(np, name)(X))
    for module in (np, cnp):
        with pytest.raises(NumpyRuleError, match=rf"{name} of float64\[3\].*which a traced array does not have yet"):
            make_jaxpr(lambda x, m=module: getattr(m, name)(x))(X)


def test_files_are_numpys():
    file = io.BytesIO()
    cnp.savez(file, x=X)
    file.seek(0)
    np.testing.assert_array_equal(cnp.load(file)["x"], X)
    with pytest.raises(NumpyRuleError, match=r"savez of float64\[3\].*it writes values to a file"):
        make_jaxpr(lambda x: cnp.savez(file, x=x))(X)


def test_scalars_have_no_axes():
    def told(x):
        assert not cnp.isscalar(x)
        assert cnp.isscalar(x[0])
        assert cnp.iterable(x)
        assert not cnp.iterable(x[0])
        return x

    make_jaxpr(told)(X)
    for value in (1, 2.0, "text", np.float32(3)):
        assert cnp.isscalar(value)
    assert not cnp.isscalar([1])
    assert not cnp.isscalar(np.array(1.0))
