"""The table of short dtypes: each column of each row against the package that defines the dtype, and a row made up."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import calque_core
from calque_core import canonicalize_dtype, eval_jaxpr, finfo, iinfo, lax, make_jaxpr, promote_types, typeof
from calque_core.engine import bit_width, highest, kind_of, lowest
from calque_core.extend import wide_dtype
from calque_core.types.dtypes import REFUSED_DTYPES, SHORT_DTYPES, short_name

NUMPY_DTYPES = (
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
)
ROWS = pytest.mark.parametrize("name", SHORT_DTYPES)


def of(name):
    pytest.importorskip("ml_dtypes", reason=f"{name} is defined by ml_dtypes, which comes with jaxlib")
    return np.dtype(getattr(calque_core, name))


def all_numbers(name):
    """Return the number of each pattern of bits, NaN excepted."""
    dtype = of(name)
    numbers = np.arange(1 << bit_width(dtype)).astype(f"u{dtype.itemsize}").view(dtype)
    if kind_of(dtype) != "f":
        return np.arange(int(iinfo(dtype).min), int(iinfo(dtype).max) + 1).astype(dtype)
    with np.errstate(invalid="ignore"):  # of NaN
        return numbers[~np.isnan(numbers.astype(np.float64))]


# Columns


@ROWS
def test_kind_and_bits_are_those_of_the_dtype(name):
    dtype, row = of(name), SHORT_DTYPES[name]
    limits = finfo(dtype) if row.kind == "f" else iinfo(dtype)
    assert (kind_of(dtype), typeof(dtype.type(0)).kind) == (row.kind, row.kind)
    assert bit_width(dtype) == row.bits == limits.bits
    assert row.kind in "fiu"
    assert (row.kind == "u") == (row.kind != "f" and limits.min == 0)


@ROWS
def test_the_wider_dtype_is_numpys_and_holds_all_numbers(name):
    dtype, row, numbers = of(name), SHORT_DTYPES[name], all_numbers(name)
    assert wide_dtype(dtype) == np.dtype(row.wide)
    assert wide_dtype(np.dtype(row.wide)) == np.dtype(row.wide)
    wide = numbers.astype(row.wide)
    assert len(set(wide.tolist())) >= len(numbers) - 1  # 0.0 and -0.0 are equal
    np.testing.assert_array_equal(wide, numbers.astype(np.float64))
    assert wide.astype(dtype).tobytes() == numbers.tobytes()


@ROWS
def test_the_numbers_have_zero_and_floats_a_sign(name):
    numbers = all_numbers(name).astype(np.float64).tolist()
    assert {0.0, 1.0} <= {*numbers}
    if SHORT_DTYPES[name].kind == "f":
        assert {-x for x in numbers} == {*numbers}


@ROWS
def test_half_precision_holds_floats_of_8_bits_in_which_reduce_precision_rounds_them(name):
    numbers = all_numbers(name)
    if SHORT_DTYPES[name].kind == "f" and numbers.itemsize == 1:
        np.testing.assert_array_equal(numbers.astype(np.float16), numbers.astype(np.float64))


@ROWS
def test_a_signed_integer_has_an_unsigned_one_of_its_bits(name):
    row = SHORT_DTYPES[name]
    if row.kind == "i":
        assert name == f"int{row.bits}"
        assert (SHORT_DTYPES[f"u{name}"].kind, SHORT_DTYPES[f"u{name}"].bits) == ("u", row.bits)


def test_names_in_programs_are_distinct_and_tell_the_kind():
    printed = [row.printed for row in SHORT_DTYPES.values()] + [short_name(np.dtype(name)) for name in NUMPY_DTYPES]
    assert len(set(printed)) == len(printed)
    for row in SHORT_DTYPES.values():
        assert row.printed.removeprefix("b").startswith(f"{row.kind}{row.bits}")
    ir_types = [row.ir_type for row in SHORT_DTYPES.values()]
    assert len(set(ir_types)) == len(ir_types)


def test_codes_of_dlpack_are_distinct_and_of_whole_bytes():
    kinds = [(row.dlpack_code, row.bits) for row in SHORT_DTYPES.values() if row.dlpack_code is not None]
    kinds += REFUSED_DTYPES.values()
    assert len(set(kinds)) == len(kinds)
    for row in SHORT_DTYPES.values():
        assert (row.dlpack_code is None) == (row.bits < 8)


def test_only_floats_promote_and_are_random():
    assert not [name for name, row in SHORT_DTYPES.items() if row.kind != "f" and (row.promotes or row.is_random)]


def test_type_checkers_know_each_short_dtype():
    stub = Path(calque_core.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    assert set(re.findall(r"^(\w+): type\[Any\]$", stub, re.MULTILINE)) == {*SHORT_DTYPES}


@pytest.mark.parametrize("name", REFUSED_DTYPES)
def test_refused_dtypes_have_no_row(name):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason=f"{name} is defined by ml_dtypes, which comes with jaxlib")
    assert name not in SHORT_DTYPES
    with pytest.raises(TypeError, match=rf"{name}.* is not a dtype that calque computes with"):
        canonicalize_dtype(getattr(ml_dtypes, name))


# What a row brings


@ROWS
def test_programs_print_hold_and_evaluate_numbers_of_the_dtype(name):
    dtype, row = of(name), SHORT_DTYPES[name]
    x, one = np.array([0, 1, 1]).astype(dtype), dtype.type(1)
    jaxpr = make_jaxpr(lambda x: lax.add(lax.mul(x, x), one))(x)
    assert f"a:{row.printed}[3]" in str(jaxpr)
    assert re.search(r"= add b 1\s", str(jaxpr))
    (out,) = eval_jaxpr(jaxpr, jaxpr.consts, x)
    assert (out.dtype, out.tobytes()) == (dtype, np.array([1, 2, 2]).astype(dtype).tobytes())
    total = lax.reduce_sum(x[:2], (0,))
    assert (total.dtype, float(total)) == (dtype, 1.0)
    limits = finfo(dtype) if row.kind == "f" else iinfo(dtype)
    assert float(lowest(dtype)) <= float(limits.min)
    assert float(highest(dtype)) >= float(limits.max)


@ROWS
@pytest.mark.parametrize("other", ["int8", "float16", "float32", *SHORT_DTYPES])
def test_a_dtype_converts_to_every_other(name, other):
    dtype, target = of(name), of(other) if other in SHORT_DTYPES else np.dtype(other)
    out = lax.convert_element_type(np.array([0, 1]).astype(dtype), target)
    assert (out.dtype, out.astype(float).tolist()) == (target, [0.0, 1.0])


@ROWS
def test_a_row_decides_what_the_dtype_promotes_to(name):
    dtype, row = of(name), SHORT_DTYPES[name]
    assert promote_types(dtype, bool) == promote_types(dtype, dtype) == dtype
    if row.kind == "f":
        assert promote_types(dtype, np.int32) == dtype
    if row.promotes:
        assert promote_types(dtype, np.float16) == np.dtype(row.wide)
        assert promote_types(dtype, np.float64) == np.float64
        return
    with pytest.raises(TypeError, match=rf"have no common dtype: .* with x\.astype\('{row.wide}'\)\."):
        promote_types(dtype, row.wide)


# A row made up: dtypes that calque refuses are operands in a process whose table has them

MADE_UP = """
import numpy as np
import calque_core
from calque_core.types.dtypes import SHORT_DTYPES, ShortDtype
SHORT_DTYPES["float6_e2m3fn"] = ShortDtype("f", 6, "f6_e2m3fn", "f6E2M3FN", "float32", None, False, False)
SHORT_DTYPES["int2"] = ShortDtype("i", 2, "i2", "i2", "int8", None, False, False)
SHORT_DTYPES["uint2"] = ShortDtype("u", 2, "u2", "ui2", "int8", None, False, False)
from calque_core import canonicalize_dtype, eval_jaxpr, isdtype, issubdtype, lax, make_jaxpr, promote_types, typeof
from calque_core.engine import bit_width, highest, kind_of, lowest
from calque_core.extend import wide_dtype

dtype = np.dtype(calque_core.float6_e2m3fn)
assert dtype == canonicalize_dtype("float6_e2m3fn")
assert (kind_of(dtype), bit_width(dtype), wide_dtype(dtype)) == ("f", 6, np.float32)
assert isdtype(dtype, "real floating") and issubdtype(dtype, np.floating)
assert (float(lowest(dtype)), float(highest(dtype))) == (-7.5, 7.5)
assert promote_types(dtype, "int64") == dtype
try:
    promote_types(dtype, "float16")
except TypeError as error:
    assert "float6_e2m3fn and float16 have no common dtype" in str(error)
else:
    raise AssertionError
x = np.array([0.5, 1.5, 2.0]).astype(dtype)
jaxpr = make_jaxpr(lambda x: lax.add(lax.mul(x, 2.0), lax.exp(x)))(x)
assert "a:f6_e2m3fn[3]" in str(jaxpr) and "= mul a 2\\n" in str(jaxpr), jaxpr
(out,) = eval_jaxpr(jaxpr, jaxpr.consts, x)
assert (out.dtype, out.tolist()) == (dtype, [2.5, 7.5, 7.5])
assert lax.convert_element_type(x, "int4").astype(int).tolist() == [0, 1, 2]
assert lax.convert_element_type(x, "bfloat16").astype(float).tolist() == [0.5, 1.5, 2.0]
assert float(lax.dot(x, x)) == 6.5 and float(lax.reduce_max(x, (0,))) == 2.0
assert lax.reduce_precision(x, exponent_bits=5, mantissa_bits=1).astype(float).tolist() == [0.5, 1.5, 2.0]

small = np.array([-2, -1, 0, 1]).astype("int2")
assert typeof(small).kind == "i" and make_jaxpr(lax.neg)(small).outvars[0].aval.dtype.name == "int2"
assert lax.add(small, small).astype(int).tolist() == [0, -2, 0, -2]
assert lax.population_count(small).astype(int).tolist() == [1, -2, 0, 1]
assert lax.shift_right_logical(small, 1).astype(int).tolist() == [1, 1, 0, 0]
try:
    make_jaxpr(lambda x: x**2)(small)
except OverflowError as error:
    assert "the Python integer 2 does not fit int2" in str(error)
else:
    raise AssertionError
"""


def test_one_row_makes_a_dtype_an_operand():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="it defines the dtypes")
    if not (hasattr(ml_dtypes, "float6_e2m3fn") and hasattr(ml_dtypes, "int2")):
        pytest.skip("ml_dtypes is older than float6_e2m3fn and int2")
    subprocess.run([sys.executable, "-W", "error", "-c", MADE_UP], check=True)


def test_a_row_without_a_column_is_refused():
    with pytest.raises(TypeError, match=r"ShortDtype has the fields kind, bits, printed, ir_type, wide, "):
        type(SHORT_DTYPES["bfloat16"])("f", 6, "f6_e2m3fn", "f6E2M3FN", "float32")
