"""Dtypes are known while tracing, by NumPy's functions too."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import config, make_jaxpr


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex64"])
def test_the_dtype_functions_of_a_traced_array_are_numpys(dtype):
    x = np.ones(2, dtype)

    def told(m, a):
        assert m.result_type(a, 1.0) == np.result_type(x, 1.0)
        assert m.result_type(a, np.int16, "float32") == np.result_type(x, np.int16, "float32")
        assert m.iscomplexobj(a) is np.iscomplexobj(x)
        assert m.isrealobj(a) is np.isrealobj(x)
        return a

    told(cnp, x)
    for module in (np, cnp):
        make_jaxpr(lambda a, m=module: told(m, a))(x)


def test_dtypes_and_scalar_types_are_complex_or_real():
    for x in (np.complex64, complex, np.dtype("complex128"), [1.0, 1j], 2j):
        assert cnp.iscomplexobj(x)
        assert not cnp.isrealobj(x)
    for x in (np.float32, int, np.dtype("bool"), [1.0, 2.0], 2, None, "complex64"):
        assert cnp.isrealobj(x)
        assert not cnp.iscomplexobj(x)
    make_jaxpr(lambda x: [x] if cnp.iscomplexobj([x, 1j]) else None)(1.0)


def test_the_dtype_of_scalars_follows_the_settings():
    assert cnp.result_type(1.0) == np.float64
    with config.default_dtype_bits(32):
        assert cnp.result_type(1.0, 2) == np.float32


def test_a_value_without_a_dtype_is_refused():
    with pytest.raises(TypeError, match=r"\{\} of type dict is not an array or a scalar"):
        cnp.result_type({})


def test_casts_are_numpys():
    for casting in ("no", "equiv", "safe", "same_kind", "unsafe"):
        for old in "?bHifFD":
            for new in "?Bhlefd":
                want = np.can_cast(old, new, casting)
                assert cnp.can_cast(old, new, casting) is want
                assert cnp.can_cast(np.ones(2, old), new, casting) is want

    def told(x):
        assert np.can_cast(x, np.float64)
        assert not cnp.can_cast(x, np.int64)
        return x

    make_jaxpr(told)(np.ones(2, np.float32))


def test_casts_of_short_dtypes_are_those_of_ml_dtypes():
    pytest.importorskip("ml_dtypes", reason="bfloat16 is defined by ml_dtypes, which comes with jaxlib")
    assert cnp.can_cast(cnp.bfloat16, np.float32)
    assert not cnp.can_cast(np.float32, cnp.bfloat16)
    assert cnp.can_cast(np.float32, cnp.bfloat16, "same_kind")


def test_casts_of_values_and_unknown_castings_are_refused():
    with pytest.raises(
        TypeError, match=r"can_cast.*the first argument is the Python scalar 3. Give a dtype or an array"
    ):
        cnp.can_cast(3, np.int8)
    with pytest.raises(ValueError, match=r"can_cast.*casting is 'x'"):
        cnp.can_cast(np.int8, np.int8, "x")
