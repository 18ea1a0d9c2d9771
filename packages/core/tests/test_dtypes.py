import itertools

import numpy as np
import pytest

from calque_core import canonicalize_dtype, config, float0, issubdtype, lax, make_jaxpr, promote_types
from calque_core.types.dtypes import SHORT_DTYPES, is_float, scalar_dtype, short_name
from calque_core.types.promotion import weak_promotion

pytestmark = pytest.mark.sampled(keep=0.1)

NAMES = [
    "bool",
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
    "complex64",
    "complex128",
]
NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
SCALARS = {bool: True, int: 1, float: 1.0, complex: 1j}


@pytest.mark.parametrize("name", NAMES)
def test_64_bits_are_kept_by_default_and_halved_when_off(name):
    assert canonicalize_dtype(name) == name
    with config.enable_x64(False):
        assert canonicalize_dtype(name) == NARROW.get(name, name)


def test_extended_precision_is_no_way_around_32_bits():
    with config.enable_x64(False):
        assert canonicalize_dtype(np.longdouble) == np.float32
        assert canonicalize_dtype(np.clongdouble) == np.complex64


def test_a_byte_order_is_not_part_of_a_dtype_here():
    assert canonicalize_dtype(">f8") == np.dtype("f8")
    assert canonicalize_dtype(">f8").isnative


@pytest.mark.parametrize("kind", ["f4", "c8", "i8"])
def test_a_canonical_dtype_is_numpys_own_object(kind):
    others = np.dtype(f">{kind}"), np.dtype(f">{kind}").newbyteorder("="), np.dtype(kind, metadata={"unit": "m"})
    for dtype in others:
        canonical = canonicalize_dtype(dtype)
        assert canonical == np.dtype(kind)
        assert canonical.isbuiltin == 1
        assert canonical.metadata is None


@pytest.mark.parametrize("dtype", [object, str, "S3", "m8[s]", "M8[s]", "V8", [("a", "f8")]])
def test_what_is_no_number_is_refused(dtype):
    with pytest.raises(
        TypeError, match=r" at test_dtypes\.py:\d+ .* is not a dtype that calque computes with\. Use a bool, integer"
    ):
        canonicalize_dtype(dtype)


def test_an_unknown_name_is_refused_in_numpys_words_with_the_place():
    words = r"^the dtype at test_dtypes\.py:\d+ .* is unknown: data type 'float65' not understood\. Use numpy\.float32"
    with pytest.raises(TypeError, match=words):
        canonicalize_dtype("float65")


def test_an_array_is_no_dtype_traced_or_not():
    for trace in (lambda f: f, make_jaxpr):
        with pytest.raises(TypeError, match="is unknown: Cannot construct a dtype from an array"):
            trace(canonicalize_dtype)(np.ones(2))


def test_float0_holds_nothing_and_is_itself():
    assert float0.itemsize == 0
    assert canonicalize_dtype(float0) == float0
    assert short_name(float0) == "float0"
    assert not is_float(float0)
    assert not issubdtype(float0, np.floating)


@pytest.mark.parametrize(
    ("name", "short"),
    [("bool", "bool"), ("int8", "i8"), ("uint16", "u16"), ("float32", "f32"), ("complex128", "c128"), ("int64", "i64")],
)
def test_short_names_are_those_of_jaxprs(name, short):
    assert short_name(np.dtype(name)) == short


def test_a_derivative_is_taken_of_real_and_complex_numbers():
    assert [name for name in NAMES if is_float(np.dtype(name))] == [
        n for n in NAMES if n.startswith(("float", "complex"))
    ]


def test_python_scalars_get_the_default_bits():
    assert [scalar_dtype(kind) for kind in SCALARS] == ["bool", "int64", "float64", "complex128"]
    with config.default_dtype_bits(32):
        assert [scalar_dtype(kind) for kind in SCALARS] == ["bool", "int32", "float32", "complex64"]


@pytest.mark.parametrize(("a", "b"), list(itertools.product(NAMES, NAMES)))
def test_promotion_of_two_dtypes_is_numpys(a, b):
    wide = np.promote_types(a, b)
    assert promote_types(a, b) == wide
    with config.enable_x64(False):
        narrow = np.promote_types(NARROW.get(a, a), NARROW.get(b, b)).name
        assert promote_types(a, b) == NARROW.get(narrow, narrow)


@pytest.mark.parametrize(("name", "kind"), list(itertools.product(NAMES, SCALARS)))
def test_promotion_with_a_python_scalar_is_numpys(name, kind):
    array = np.ones(1, name)
    assert weak_promotion((array.dtype,), (kind,)) == np.add(array, SCALARS[kind]).dtype
    with config.enable_x64(False):
        narrow = np.add(array.astype(NARROW.get(name, name)), SCALARS[kind]).dtype.name
        assert weak_promotion((canonicalize_dtype(name),), (kind,)) == NARROW.get(narrow, narrow)


@pytest.mark.parametrize(("a", "b"), list(itertools.product(SCALARS, SCALARS)))
def test_python_scalars_alone_take_the_highest_kind(a, b):
    highest = max(a, b, key=list(SCALARS).index)
    assert weak_promotion((), (a, b)) == scalar_dtype(highest)


def test_a_scalar_of_a_higher_kind_takes_the_default_bits():
    with config.default_dtype_bits(32):
        assert weak_promotion((np.dtype("int8"),), (float,)) == np.float32
        assert weak_promotion((np.dtype("float64"),), (float,)) == np.float64
        assert weak_promotion((np.dtype("bool"),), (int,)) == np.int32


def test_many_operands_at_once_are_not_promoted_two_by_two():
    dtypes = tuple(map(np.dtype, ("int16", "uint16", "float32")))
    assert weak_promotion(dtypes, ()) == np.result_type(*dtypes)


def test_subtypes_are_numpys():
    assert issubdtype(np.int8, np.integer)
    assert not issubdtype(np.int8, np.floating)


SHORT = sorted(name for name, row in SHORT_DTYPES.items() if row.kind == "f")


def short_dtype(name):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason=f"{name} is defined by ml_dtypes, which comes with jaxlib")
    return np.dtype(getattr(ml_dtypes, name))


@pytest.mark.parametrize("short", SHORT)
@pytest.mark.parametrize("name", [name for name in NAMES if np.dtype(name).kind in "biu"])
def test_short_floats_keep_their_dtype_beside_integers_of_any_width(short, name):
    dtype = short_dtype(short)
    assert promote_types(dtype, name) == promote_types(name, dtype) == dtype
    x, y = np.ones(2, dtype), np.ones(2, name)
    assert lax.add(x, y).dtype == lax.add(y, x).dtype == dtype


@pytest.mark.parametrize(
    ("name", "expected"),
    [("float16", "float32"), *((name, name) for name in ("float32", "float64", "complex64", "complex128"))],
)
def test_bfloat16_is_widened_by_the_floats_that_hold_it(name, expected):
    dtype = short_dtype("bfloat16")
    assert promote_types(dtype, name) == promote_types(name, dtype) == expected
    assert lax.mul(np.ones(2, dtype), np.ones(2, name)).dtype == expected


@pytest.mark.parametrize("short", [name for name in SHORT if name != "bfloat16"])
@pytest.mark.parametrize("other", ["float16", "float32", "complex64", "bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_floats_of_8_bits_meet_no_other_float(short, other):
    if other != short:
        dtype, other_dtype = short_dtype(short), short_dtype(other) if other in SHORT else np.dtype(other)
        for pair in ((dtype, other_dtype), (other_dtype, dtype)):
            with pytest.raises(TypeError, match=r"have no common dtype: .* Convert one of the operands first"):
                promote_types(*pair)
            with pytest.raises(TypeError, match=rf"(?=.*{short})(?=.*{other}).* have no common dtype"):
                lax.add(*[np.ones(2, dtype) for dtype in pair])


@pytest.mark.parametrize("short", SHORT)
def test_python_scalars_beside_short_floats_are_weak(short):
    x = np.ones(2, short_dtype(short))
    assert [lax.mul(x, scalar).dtype for scalar in (True, 2, 0.5)] == [x.dtype] * 3
    if short == "bfloat16":
        assert lax.mul(x, 1j).dtype == np.complex64
    else:
        with pytest.raises(TypeError, match=rf"{short} and complex have no common dtype"):
            lax.mul(x, 1j)
