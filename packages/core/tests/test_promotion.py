"""Promotion of the dtypes that ml_dtypes defines; `test_dtypes.py` has NumPy's."""

import numpy as np
import pytest

from calque_core import lax, promote_types, result_type
from calque_core.types.dtypes import SHORT_DTYPES
from calque_core.types.promotion import can_cast

ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes defines the dtypes, and comes with jaxlib")
pytestmark = pytest.mark.sampled(keep=0.2)

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64", "complex64", "complex128"]
SHORT = sorted(SHORT_DTYPES)
INTEGERS = sorted(name for name, row in SHORT_DTYPES.items() if row.kind != "f")
NARROW = [name for name in SHORT if name != "bfloat16"]


def of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


@pytest.mark.parametrize("short", INTEGERS)
@pytest.mark.parametrize("other", [*INTEGERS, *FLOATS, *SHORT])
def test_short_integers_meet_no_other_number(short, other):
    if other == short:
        assert promote_types(of(short), of(short)) == short
        return
    for pair in ((short, other), (other, short)):
        with pytest.raises(TypeError, match=rf"{short} and {other} have no common dtype|{other} and {short} have no"):
            promote_types(*map(of, pair))
        with pytest.raises(TypeError, match=r"Convert one of the operands first, for example with x\.astype"):
            lax.add(*[np.ones(2, of(name)) for name in pair])


@pytest.mark.parametrize("short", SHORT)
def test_bools_take_the_dtype_of_the_other_operand(short):
    assert promote_types(of(short), bool) == promote_types(bool, of(short)) == short
    assert lax.mul(np.ones(2, of(short)), True).dtype == short


@pytest.mark.parametrize(("short", "scalar"), [(name, x) for name in SHORT for x in (True, 3, 0.5, 1j)])
def test_python_scalars_are_weak_beside_short_dtypes_or_refused(short, scalar):
    x = np.ones(2, of(short))
    is_refused = (type(scalar) is complex and short != "bfloat16") or (type(scalar) is float and short in INTEGERS)
    if not is_refused:
        expected = np.complex64 if type(scalar) is complex else of(short)
        assert lax.mul(x, scalar).dtype == result_type(x, scalar) == expected
        return
    with pytest.raises(TypeError, match=rf"{short} and {type(scalar).__name__} have no common dtype"):
        lax.mul(x, scalar)


@pytest.mark.parametrize("scalar", [-9, 8, 100])
def test_python_integers_that_do_not_fit_are_refused(scalar):
    with pytest.raises(OverflowError, match=rf"the Python integer {scalar} does not fit int4 at "):
        lax.add(np.ones(2, of("int4")), scalar)
    with pytest.raises(OverflowError, match=r"does not fit"):
        lax.full((2,), scalar, of("int4"))
    assert lax.lt(np.ones(2, of("int4")), scalar).tolist() == [scalar > 1] * 2  # comparisons are exact


@pytest.mark.parametrize("old", [*NARROW[:3], "int4", "uint4"])
@pytest.mark.parametrize("new", ["int4", "int8", "float16", "float32"])
def test_casts_within_and_to_higher_kinds_are_of_the_same_kind(old, new):
    old_order, new_order = ("ui".find(kind) if (kind := name[0]) in "ui" else 2 for name in (old, new))
    assert can_cast(of(old), of(new), "same_kind") == (old_order <= new_order)
    assert can_cast(of(old), of(new), "unsafe")
    assert can_cast(of(old), of(new), "no") == (old == new)
