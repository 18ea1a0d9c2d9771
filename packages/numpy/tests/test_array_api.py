"""The array API's inspection of the namespace answers for the current settings and the current trace."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import config, make_jaxpr

OF_2_1 = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy 2.0 has no __array_namespace_info__"
)


def info():
    return cnp.__array_namespace_info__()


def test_an_array_names_its_namespace():
    seen = []
    make_jaxpr(lambda x: seen.append(x.__array_namespace__(api_version=cnp.__array_api_version__)) or x)(1.0)
    assert seen == [cnp]
    assert cnp.__array_api_version__ == "2024.12"


@OF_2_1
def test_the_dtypes_are_numpys_under_their_names():
    theirs = np.__array_namespace_info__().dtypes()
    assert info().dtypes() == theirs
    assert all(getattr(cnp, name) == dtype for name, dtype in theirs.items())


KINDS = ["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"]


@OF_2_1
@pytest.mark.parametrize("kind", [*KINDS, ("bool", "integral"), ()], ids=str)
def test_the_dtypes_of_a_kind_are_numpys(kind):
    assert info().dtypes(kind=kind) == np.__array_namespace_info__().dtypes(kind=kind)


def test_dtypes_of_64_bits_are_left_out_where_the_settings_convert_them():
    with config.enable_x64(False):
        assert not {"int64", "uint64", "float64", "complex128"} & set(info().dtypes())
        assert {"int32", "uint32", "float32", "complex64"} <= set(info().dtypes())
        assert {str(dtype) for dtype in info().default_dtypes().values()} == {"float32", "complex64", "int32"}


@OF_2_1
def test_the_default_dtypes_are_numpys():
    assert info().default_dtypes() == np.__array_namespace_info__().default_dtypes()


def test_the_default_dtypes_are_those_of_new_arrays():
    for bits in (32, 64):
        with config.default_dtype_bits(bits):
            defaults = info().default_dtypes()
            assert defaults["real floating"] == cnp.zeros(1).dtype
            assert defaults["integral"] == cnp.arange(1).dtype
            assert defaults["complex floating"] == cnp.asarray(1j).dtype
            assert defaults["indexing"] == np.int64


def test_no_shape_depends_on_values_while_a_function_is_traced():
    seen = []
    make_jaxpr(lambda x: seen.append(info().capabilities()) or x)(1.0)
    assert seen == [{"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}]
    assert info().capabilities() == {"boolean indexing": False, "data-dependent shapes": True, "max dimensions": 64}


def test_the_default_device_is_that_of_numpys_arrays():
    assert info().default_device() == cnp.zeros(1).device == info().devices()[0]


def test_an_unknown_kind_or_device_is_refused():
    with pytest.raises(ValueError, match=r"got the kind 'float'\. Use one of 'bool', 'signed integer'"):
        info().dtypes(kind=("bool", "float"))
    for asked in (info().dtypes, info().default_dtypes):
        with pytest.raises(ValueError, match=r"got device='gpu', which is not a device\. Use one of: 'cpu'"):
            asked(device="gpu")
