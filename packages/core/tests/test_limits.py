"""The limits, the names and the hierarchy of dtypes."""

import subprocess
import sys

import numpy as np
import pytest

import calque_core
from calque_core import canonicalize_dtype, finfo, float0, iinfo, isdtype, issubdtype, make_jaxpr
from calque_core.engine import bit_width, highest, kind_of, lowest
from calque_core.extend import wide_dtype
from calque_core.types.dtypes import SHORT_DTYPES, short_name

SHORT = sorted(SHORT_DTYPES)
FLOATS = sorted(name for name, row in SHORT_DTYPES.items() if row.kind == "f")


def of(name):
    pytest.importorskip("ml_dtypes", reason=f"{name} is defined by ml_dtypes, which comes with jaxlib")
    return np.dtype(getattr(calque_core, name))


# Limits


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_finfo_is_numpys(dtype):
    assert finfo(dtype) is np.finfo(dtype)
    assert finfo(np.dtype(dtype).type).eps == np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16"])
def test_iinfo_is_numpys(dtype):
    assert (iinfo(dtype).min, iinfo(dtype).max) == (np.iinfo(dtype).min, np.iinfo(dtype).max)


@pytest.mark.parametrize("name", FLOATS)
def test_the_greatest_short_float_has_no_finite_number_above_it(name):
    dtype = of(name)
    with np.errstate(invalid="ignore"):  # of NaN
        patterns = np.arange(1 << bit_width(dtype)).astype(f"u{dtype.itemsize}").view(dtype).astype(np.float64)
    finite = patterns[np.isfinite(patterns)]
    assert (float(finfo(dtype).min), float(finfo(dtype).max)) == (finite.min(), finite.max())
    assert finfo(dtype).bits == bit_width(dtype)


@pytest.mark.parametrize(("name", "least", "most"), [("int4", -8, 7), ("uint4", 0, 15)])
def test_the_limits_of_short_integers(name, least, most):
    dtype = of(name)
    assert (iinfo(dtype).min, iinfo(dtype).max, iinfo(name).bits) == (least, most, 4)
    assert (int(lowest(dtype)), int(highest(dtype))) == (least, most)


def test_the_limits_of_an_array_are_those_of_its_dtype():
    def told(x, n):
        assert (finfo(x).max, iinfo(n).max) == (np.finfo(np.float32).max, 127)
        return x

    told(np.ones(2, np.float32), np.int8(1))
    make_jaxpr(told)(np.ones(2, np.float32), np.int8(1))
    with pytest.raises(TypeError, match=r"finfo of int8: not a floating dtype"):
        finfo(np.zeros(2, np.int8))


def test_limits_of_other_kinds_are_refused():
    with pytest.raises(TypeError, match=r"finfo of int32: not a floating dtype\. Use iinfo for integers"):
        finfo(np.int32)
    with pytest.raises(TypeError, match=r"iinfo of float32: not an integer dtype\. Use finfo for floats"):
        iinfo("float32")


@pytest.mark.parametrize(
    ("name", "bits", "wide"),
    [("bool", 8, "bool"), ("int32", 32, "int32"), ("float16", 16, "float32"), ("bfloat16", 16, "float32"),
     ("float4_e2m1fn", 4, "float32"), ("float8_e5m2", 8, "float32"), ("uint4", 4, "int8"), ("float64", 64, "float64")],
)  # fmt: skip
def test_widths_and_the_dtypes_in_which_many_elements_are_combined(name, bits, wide):
    dtype = of(name) if name in SHORT_DTYPES else np.dtype(name)
    assert (bit_width(dtype), wide_dtype(dtype)) == (bits, wide)


# Kinds


@pytest.mark.parametrize("name", SHORT)
def test_short_dtypes_have_a_kind_and_a_place_in_the_hierarchy(name):
    dtype = of(name)
    kind = "f" if name in FLOATS else name[0]
    assert kind_of(dtype) == kind
    classes = {"f": np.floating, "i": np.signedinteger, "u": np.unsignedinteger}
    for other, scalar_class in classes.items():
        assert issubdtype(dtype, scalar_class) == (kind == other)
    assert issubdtype(dtype, np.number)
    assert issubdtype(dtype, dtype)
    assert not issubdtype(dtype, np.float32)
    assert issubdtype(dtype, np.integer) == (name not in FLOATS)


def test_the_hierarchy_of_numpys_dtypes_is_numpys():
    for dtype in ("bool", "int8", "float32", "complex64", np.int64, np.floating):
        for parent in (np.number, np.integer, np.floating, np.inexact, np.generic, np.float32, "int8"):
            assert issubdtype(dtype, parent) == np.issubdtype(dtype, parent)


def test_isdtype_knows_the_kinds_of_the_array_api():
    assert isdtype(np.float32, "real floating")
    assert isdtype(np.uint8, ("bool", "integral"))
    assert isdtype("complex64", "numeric")
    assert not isdtype(bool, "numeric")
    assert not isdtype(float0, "numeric")
    with pytest.raises(ValueError, match=r"isdtype got the kind 'floating'\. Give a dtype, one of 'bool', "):
        isdtype(np.float32, "floating")


@pytest.mark.parametrize("name", SHORT)
def test_isdtype_knows_short_dtypes(name):
    dtype = of(name)
    kind = {"f": "real floating", "i": "signed integer", "u": "unsigned integer"}[kind_of(dtype)]
    assert isdtype(dtype, kind)
    assert isdtype(dtype, (np.int8, dtype))
    assert not isdtype(dtype, ("bool", "complex floating", np.int8))


# Names


@pytest.mark.parametrize(
    ("name", "short"),
    [("bfloat16", "bf16"), ("float8_e4m3fn", "f8_e4m3fn"), ("float4_e2m1fn", "f4_e2m1fn"), ("int4", "i4"),
     ("uint4", "u4")],
)  # fmt: skip
def test_jaxprs_print_short_dtypes_as_jax_does(name, short):
    assert short_name(of(name)) == short
    assert f"a:{short}[3]" in str(make_jaxpr(lambda x: x)(np.zeros(3, of(name))))


IN_A_FRESH_PROCESS = """
import sys
import calque_core
from calque_core import *
assert "ml_dtypes" not in sys.modules
assert calque_core.canonicalize_dtype("int4").name == "int4"
assert calque_core.int4(3) + calque_core.int4(6) == -7
"""


def test_ml_dtypes_is_imported_when_a_name_of_it_is_used():
    of("int4")
    subprocess.run([sys.executable, "-c", IN_A_FRESH_PROCESS], check=True)


def test_without_ml_dtypes_a_name_of_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(AttributeError, match=r"calque_core\.bfloat16 is .* not installed, .*pip install"):
        _ = calque_core.bfloat16
    with pytest.raises(TypeError, match=r"calque_core\.int4 is a dtype of a package that is not installed"):
        canonicalize_dtype("int4")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"calque_core has no attribute 'float65'"):
        _ = calque_core.float65
    assert not hasattr(calque_core, "int1")
