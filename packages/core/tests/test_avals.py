import copy
import pickle
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from calque_core import (
    AbstractValue,
    ShapedArray,
    ShapeDtypeStruct,
    api_boundary,
    config,
    eval_shape,
    float0,
    get_aval,
    lax,
    make_jaxpr,
    register_aval,
    typeof,
)
from calque_core.types.avals import NUMPY_SCALARS, is_array_like, shaped_array, short_repr

# Types


def test_there_is_one_object_per_type():
    aval = ShapedArray((2, 3), np.float32)
    assert aval is ShapedArray([2, np.int64(3)], "float32")
    assert aval is shaped_array((2, 3), np.dtype("f4"))
    assert aval is typeof(np.zeros((2, 3), np.float32))
    assert aval is not ShapedArray((2, 3), np.float32, weak_type=True)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda aval: pickle.loads(pickle.dumps(aval))])
@pytest.mark.parametrize("aval", [ShapedArray((2,), np.int8), ShapedArray((), np.float64, weak_type=True)])
def test_a_copy_of_a_type_is_the_type(again, aval):
    assert again(aval) is aval
    assert again([aval])[0] is aval


def test_eight_threads_that_ask_for_a_new_type_get_one_object():
    barrier = threading.Barrier(8)

    def ask(_):
        barrier.wait()
        return [ShapedArray((size, 977), np.float32) for size in range(200)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))
    for types in zip(*answers):
        assert len({id(aval) for aval in types}) == 1


@pytest.mark.parametrize("name", ["shape", "dtype", "weak_type", "new"])
def test_a_type_cannot_be_changed(name):
    aval = ShapedArray((2,), np.float32)
    with pytest.raises(
        AttributeError, match=rf"{name} of the type float32\[2\] cannot be set\. Make a new type with \.update"
    ):
        setattr(aval, name, ())
    assert aval.shape == (2,)


def test_update_gives_another_type():
    aval = ShapedArray((2,), np.float32, weak_type=True)
    assert aval.update(shape=(3,)) is ShapedArray((3,), np.float32, weak_type=True)
    assert aval.update(dtype=np.dtype("int8"), weak_type=False) is ShapedArray((2,), np.int8)
    assert aval.strip_weak_type() is ShapedArray((2,), np.float32)
    assert aval.strip_weak_type().strip_weak_type() is aval.strip_weak_type()


@pytest.mark.parametrize(
    ("aval", "long", "short"),
    [
        (ShapedArray((), np.float64), "float64[]", "f64[]"),
        (ShapedArray((2, 0), np.uint8), "uint8[2,0]", "u8[2,0]"),
        (ShapedArray((), np.int64, weak_type=True), "~int64[]", "i64[]"),
        (ShapedArray((3,), float0), "float0[3]", "float0[3]"),
    ],
)
def test_types_print_long_and_short(aval, long, short):
    assert repr(aval) == long
    assert aval.str_short() == short


@pytest.mark.parametrize(("shape", "size"), [((), 1), ((0, 3), 0), ((2, 3), 6), ((1 << 40, 1 << 40), 1 << 80)])
def test_the_size_is_exact_however_large(shape, size):
    aval = ShapedArray(shape, np.int8)
    assert (aval.ndim, aval.size) == (len(shape), size)


def test_a_negative_size_is_refused():
    with pytest.raises(ValueError, match=r"the shape \(2, -1\) has a negative size\. Give sizes of zero or more\."):
        ShapedArray((2, -1), np.float32)


def test_a_size_must_be_an_integer():
    with pytest.raises(TypeError, match="integer"):
        ShapedArray((2.0,), np.float32)


@pytest.mark.parametrize("dtype", [object, "S1", "V8", "M8[s]"])
def test_a_dtype_must_be_a_numbers(dtype):
    with pytest.raises(
        TypeError, match=r"is not a dtype that calque computes with\. Use a bool, integer, float or complex"
    ):
        ShapedArray((), dtype)


def test_tangents_have_the_same_type_and_integers_have_empty_ones():
    assert ShapedArray((2,), np.float32).to_tangent_aval() is ShapedArray((2,), np.float32)
    assert ShapedArray((2,), np.complex64).to_tangent_aval() is ShapedArray((2,), np.complex64)
    assert ShapedArray((2,), np.int32).to_tangent_aval() is ShapedArray((2,), float0)
    assert ShapedArray((), bool).to_tangent_aval() is ShapedArray((), float0)


def test_32_bits_narrow_types_made_and_updated_there():
    wide = ShapedArray((2,), np.float64)
    with config.enable_x64(False):
        assert ShapedArray((2,), np.float64) is ShapedArray((2,), np.float32)
        assert wide.update(shape=(3,)) is ShapedArray((3,), np.float32)
        assert shaped_array((), np.dtype("int64")) is ShapedArray((), np.int32)
    assert wide.dtype == np.float64


@pytest.mark.parametrize("method", ["str_short", "to_tangent_aval"])
def test_a_type_of_ones_own_is_told_what_it_must_define(method):
    class Mine(AbstractValue):
        __slots__ = ()

    with pytest.raises(NotImplementedError, match=rf"Mine does not define {method}\. Define it to "):
        getattr(Mine(), method)()


# Values


@pytest.mark.parametrize(("value", "name"), [(True, "bool"), (1, "int64"), (1.0, "float64"), (1j, "complex128")])
def test_python_scalars_alone_are_weak(value, name):
    assert repr(typeof(value)) == f"~{name}[]"


@pytest.mark.parametrize(("value", "name"), [(True, "bool"), (1, "int32"), (1.0, "float32"), (1j, "complex64")])
def test_python_scalars_follow_the_default_bits(value, name):
    with config.default_dtype_bits(32):
        assert repr(typeof(value)) == f"~{name}[]"
    with config.enable_x64(False):
        assert repr(typeof(value)) == f"~{name}[]"


@pytest.mark.parametrize("kind", NUMPY_SCALARS)
def test_numpys_scalars_and_arrays_are_strong(kind):
    for value in (kind(1), np.ones((), kind), np.ones((2,), kind)):
        assert typeof(value) is ShapedArray(value.shape, value.dtype)
        with config.enable_x64(False):
            assert typeof(value) is ShapedArray(value.shape, value.dtype)


def test_a_foreign_byte_order_has_the_native_type():
    assert typeof(np.ones(2, ">f8")) is ShapedArray((2,), np.float64)
    assert lax.add(np.ones(2, ">f8"), 1.0).dtype.isnative
    assert make_jaxpr(lambda x: x + np.ones(2, ">f8"))(1.0).consts[0].dtype.isnative


def test_subclasses_and_rare_scalars_have_the_type_of_their_array():
    class MyArray(np.ndarray):
        pass

    assert typeof(np.ones((1, 1)).view(MyArray)) is ShapedArray((1, 1), np.float64)
    assert typeof(np.longdouble(1)).dtype == np.longdouble


def test_get_aval_is_typeof():
    assert get_aval is typeof


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1])
def test_python_integers_that_fit_are_integers(value):
    assert typeof(value) is typeof(1)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            2**63,
            "integer 9223372036854775808 does not fit int64. Give it a dtype: numpy.uint64(9223372036854775808).",
        ),
        (-(2**63) - 1, "the Python integer -9223372036854775809 does not fit int64. Use a float."),
        (2**70, "the Python integer 1180591620717411303424 does not fit int64. Use a float."),
        (2**1023, "the Python integer of 1024 bits does not fit int64. Use a float."),
        (2**1024, "the Python integer of 1025 bits does not fit int64. It does not fit a float either: use its"),
        (10**5000, "the Python integer of 16610 bits does not fit int64. It does not fit a float either: use its"),
    ],
    ids=["uint64", "below", "above", "the largest power", "above floats", "far above"],
)
def test_python_integers_that_do_not_fit_are_refused(value, message):
    for use in (typeof, lax.neg, lax.sin, lambda x: lax.add(x, 1), lambda x: lax.add(x, x), make_jaxpr(lambda x: x)):
        with pytest.raises(OverflowError, match=r"integer .* at test_avals\.py:\d+ \(") as caught:
            use(value)
        assert message in re.sub(r" at test_avals\.py:\d+ \([^)]*\)", "", str(caught.value))


def test_smaller_default_bits_refuse_smaller_integers():
    with config.default_dtype_bits(32):
        with pytest.raises(
            OverflowError, match=r"4294967296 at .* does not fit int32\. Give it a dtype: numpy\.int64\(4294967296\)\."
        ):
            typeof(2**32)
        assert lax.add(np.int64(2**32), 1) == 2**32 + 1
    with (
        config.enable_x64(False),
        pytest.raises(OverflowError, match=r"4294967296 at .* does not fit int32\. Use a float\."),
    ):
        typeof(2**32)


class Metres(np.ndarray):
    """An array with a unit, which its products lose."""

    def __mul__(self, other):
        raise TypeError("metres times metres are no metres")


class Logged(np.ndarray):
    """A subclass with NumPy's operators, and something of its own beside them."""

    def mean(self, *args, **kwargs):
        return super().mean(*args, **kwargs)


NO_OPERANDS = {
    "masked": (
        np.ma.array([1.0, 2.0]),
        r"a masked array is not an operand: its mask would be lost\. Pass x\.filled\(value\)",
    ),
    "matrix": (
        np.array([[1.0, 2.0], [3.0, 4.0]]).view(np.matrix),
        r"an array of class matrix is not an operand: its operators have a meaning .*\. Pass numpy\.asarray\(x\)",
    ),
    "a unit": (np.ones(2).view(Metres), r"an array of class Metres is not an operand: its operators have a meaning"),
    "objects": (
        np.array([1, None], object),
        r"an array of dtype object is not an operand\. Convert it to a number dtype",
    ),
    "strings": (np.array(["a"]), r"an array of dtype <U1 is not an operand\. Convert it to a number dtype first\."),
    "times": (np.array([1], "m8[s]"), r"an array of dtype timedelta64\[s\] is not an operand"),
    "records": (np.zeros(2, [("a", "f8")]), r"an array of dtype \[\('a', '<f8'\)\] is not an operand"),
    "bytes": (np.zeros(2, "V8"), r"an array of dtype \|V8 is not an operand\. Convert it to a number dtype first\."),
    "bfloat16 of a file": (
        np.zeros(2, "V2"),
        r"dtype \|V2 is not an operand\. NumPy's files keep the bytes of bfloat16 .*: x\.view\(ml_dtypes\.bfloat16\)",
    ),
    "a list": (
        [1.0, 2.0],
        r"\[1\.0, 2\.0\] of type list is not an array or a scalar\. Wrap it in numpy\.asarray first\.",
    ),
    "a tuple": ((1.0,), r"\(1\.0,\) of type tuple is not an array or a scalar\. Wrap it in numpy\.asarray first\."),
    "None": (None, r"None of type NoneType is not an array or a scalar\. Pass an array or a scalar\."),
    "text": ("a" * 100, r"'aaaa.*\.\.\. of type str is not an array or a scalar\. Pass an array or a scalar\."),
    "a dict": ({"a": 1.0}, r"of type dict is not an array or a scalar\. Pass an array or a scalar\."),
}


@pytest.mark.parametrize(("value", "message"), NO_OPERANDS.values(), ids=NO_OPERANDS)
@pytest.mark.parametrize(
    "use",
    [
        typeof,
        lax.neg,
        lax.sin,
        lax.square,
        lambda x: lax.add(x, x),
        lambda x: lax.mul(1.0, x),
        lambda x: make_jaxpr(lambda: lax.neg(x))(),
        lambda x: make_jaxpr(lambda y: lax.add(y, x))(1.0),
    ],
)
def test_what_is_no_array_is_refused_evaluated_and_staged(use, value, message):
    assert not is_array_like(value)
    with pytest.raises(TypeError, match=message):
        use(value)


@pytest.mark.parametrize("value", [np.array([object()]), np.array(["a"]), np.array(["2020-01-01"], "M8[D]"), None])
@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("sin", lax.sin),
        ("add", lambda x: lax.add(1.0, x)),
        ("concatenate", lambda x: lax.concatenate([x], 0)),
        ("typeof", typeof),
        ("typeof", api_boundary(typeof)),
    ],
)
def test_a_refused_operand_is_reported_with_the_function_and_the_line(value, name, use):
    with pytest.raises(TypeError, match=rf"^{name} at test_avals\.py:\d+ \(.*\): .*is not an"):
        use(value)


def test_an_object_that_numpy_could_convert_is_refused_with_that_advice_whose_error_is_its_own():
    class Lost:
        def __array__(self, dtype=None, copy=None):
            raise OSError("the disk is gone")

    for use in (lax.sin, lambda x: lax.add(1.0, x), make_jaxpr(lax.sin), lambda x: lax.map(lax.sin, x)):
        with pytest.raises(
            TypeError, match=r"of type Lost.* is not an array or a scalar\. Wrap it in numpy\.asarray first"
        ):
            use(Lost())
    with pytest.raises(OSError, match="the disk is gone"):
        np.asarray(Lost())


@pytest.mark.parametrize("kind", [np.memmap, np.recarray, Logged], ids=lambda kind: kind.__name__)
def test_a_subclass_with_numpys_operators_is_an_array(kind):
    x = np.ndarray.__new__(kind, (2,), np.float64) if kind is np.memmap else np.ones(2).view(kind)
    x[:] = 2.0
    assert typeof(x) is ShapedArray((2,), np.float64)
    assert type(lax.add(x, x)) is np.ndarray
    np.testing.assert_array_equal(lax.mul(x, x), [4.0, 4.0])


def test_float0_is_a_type_and_no_operand():
    nothing = np.zeros(2, float0)
    assert typeof(nothing) is ShapedArray((2,), float0)
    with pytest.raises(TypeError):
        lax.neg(nothing)
    with pytest.raises(TypeError, match=r"neg of float0\[2\].*: not defined for float0\. Convert the operand first\."):
        make_jaxpr(lax.neg)(nothing)


def test_a_long_repr_is_cut():
    assert short_repr("ab") == "'ab'"
    assert len(short_repr(list(range(1000)))) == 60


def test_a_repr_of_several_lines_becomes_one():
    class Table:
        def __repr__(self):
            return "0    1.0\n1    2.0"

    assert short_repr(Table()) == "0 1.0 1 2.0"
    assert short_repr("a  b") == "'a  b'"


# Stand-ins


def test_a_stand_in_has_the_type_it_was_made_of():
    spec = ShapeDtypeStruct((2, 3), "float32")
    assert typeof(spec) is ShapedArray((2, 3), np.float32)
    assert (spec.shape, spec.dtype, spec.ndim, spec.size) == ((2, 3), np.float32, 2, 6)
    assert repr(spec) == "ShapeDtypeStruct(shape=(2, 3), dtype=float32)"
    assert eval_shape(lambda x: x, spec) == spec


def test_stand_ins_compare_and_hash_by_type():
    assert ShapeDtypeStruct((2,), "f4") == ShapeDtypeStruct((2,), "float32")
    assert hash(ShapeDtypeStruct((2,), "f4")) == hash(ShapeDtypeStruct((2,), "float32"))
    assert ShapeDtypeStruct((2,), "f4") != ShapeDtypeStruct((2,), "f8")
    assert ShapeDtypeStruct((2,), "f4") != (2,)


def test_a_stand_in_has_the_length_of_its_array():
    assert len(ShapeDtypeStruct((2, 3), "f4")) == 2
    assert all([ShapeDtypeStruct((0,), "f4"), ShapeDtypeStruct((), "f4")])
    with pytest.raises(TypeError, match=r"ShapeDtypeStruct\(.*\) at test_avals.py:.* has no length: it stands for a"):
        len(ShapeDtypeStruct((), "f4"))


def test_a_stand_in_without_a_dtype_is_refused():
    with pytest.raises(TypeError, match=r"ShapeDtypeStruct at test_avals.py:.*: the dtype is None\. Give a dtype"):
        ShapeDtypeStruct((2,), None)


def test_a_stand_in_is_no_value():
    spec = ShapeDtypeStruct((2,), "float32")
    message = r"ShapeDtypeStruct\(shape=\(2,\), dtype=float32\) is a type and has no elements\. Pass an array"
    with pytest.raises(TypeError, match=message):
        lax.sin(spec)
    with pytest.raises(TypeError, match=message):
        make_jaxpr(lambda x: x * spec)(np.float32(1))


@pytest.mark.parametrize("x", [np.ones((2, 3), np.float32), ShapedArray((2, 3), np.float32)])
def test_a_stand_in_is_made_like_an_array_or_a_type(x):
    assert ShapeDtypeStruct.like(x) == ShapeDtypeStruct((2, 3), "float32")
    assert ShapeDtypeStruct.like(ShapeDtypeStruct.like(x)) == ShapeDtypeStruct.like(x)


def test_a_stand_in_like_a_scalar_or_a_tracer_has_its_type():
    seen = []
    make_jaxpr(lambda x: seen.append(ShapeDtypeStruct.like(x)))(np.zeros(2, np.int32))
    assert seen == [ShapeDtypeStruct((2,), "int32")]
    assert ShapeDtypeStruct.like(1.0) == ShapeDtypeStruct((), "float64", weak_type=True)


def test_a_stand_in_like_a_stand_in_keeps_its_sharding_and_axes():
    spec = ShapeDtypeStruct((2,), "float32", sharding="divided", vma={"i"})
    assert ShapeDtypeStruct.like(spec) == spec


def test_a_stand_in_like_no_array_is_refused():
    with pytest.raises(TypeError, match=r"'a' of type str is not an array or a scalar\. Pass"):
        ShapeDtypeStruct.like("a")


# Foreign classes


class Doubled:
    """A foreign array class: the number it holds, twice."""

    def __init__(self, half):
        self.half = half


register_aval(Doubled, lambda x: ShapedArray((), np.float64))


def test_a_registered_class_is_an_operand_of_traces():
    assert typeof(Doubled(1.0)) is ShapedArray((), np.float64)
    assert is_array_like(Doubled(1.0))
    x = Doubled(1.0)
    jaxpr = make_jaxpr(lambda y: y * x)(2.0)
    assert jaxpr.consts == (x,)
    assert str(make_jaxpr(lax.sin)(x)) == "{ lambda ; a:f64[]. let b:f64[] = sin a in (b,) }"


def test_a_registered_class_without_evaluator_is_refused_by_evaluation():
    message = (
        r"an operand of class Doubled cannot be evaluated\. Give the class an evaluator, with "
        r"calque_core\.register_evaluator\(Doubled, evaluator\)\."
    )
    with pytest.raises(TypeError, match=message):
        lax.sin(Doubled(1.0))


@pytest.mark.parametrize("cls", [Doubled, np.ndarray, float, np.float32, ShapeDtypeStruct])
def test_a_class_has_one_abstract_value(cls):
    message = rf"{cls.__name__} already has an abstract value\. Register a class of your own instead\."
    with pytest.raises(ValueError, match=message):
        register_aval(cls, lambda x: None)


def test_a_stand_in_has_the_attributes_of_a_type_and_is_on_no_device():
    spec = ShapeDtypeStruct((2,), "float32", weak_type=True)
    assert (spec.weak_type, spec.sharding, typeof(spec).weak_type) == (True, None, True)
    assert repr(spec) == "ShapeDtypeStruct(shape=(2,), dtype=float32, weak_type=True)"
    assert spec != ShapeDtypeStruct((2,), "float32")


def test_update_gives_a_stand_in_of_another_type():
    spec = ShapeDtypeStruct((2,), "float32", vma={"i"})
    assert spec.update(shape=(), weak_type=True) == ShapeDtypeStruct((), "float32", weak_type=True, vma={"i"})
    assert spec.update(dtype=np.int32, vma=()) == ShapeDtypeStruct((2,), "int32")
    with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
        spec.update(size=3)


def test_a_stand_in_keeps_the_sharding_that_it_is_given():
    spec = ShapeDtypeStruct((2,), "float32", sharding="rows")
    assert repr(spec) == "ShapeDtypeStruct(shape=(2,), dtype=float32, sharding='rows')"
    assert (spec.update(shape=(4,)).sharding, spec.update(sharding=None).sharding) == ("rows", None)
    assert spec != ShapeDtypeStruct((2,), "float32")
    assert {spec: 1}[ShapeDtypeStruct((2,), "float32", sharding="rows")] == 1


def test_the_text_of_a_weak_type_has_a_mark_and_its_short_form_has_none():
    aval = ShapedArray((), np.float32, weak_type=True)
    assert (str(aval), f"{aval}", repr(aval), aval.str_short()) == ("~float32[]", "~float32[]", "~float32[]", "f32[]")
    assert str(aval.strip_weak_type()) == f"{aval.strip_weak_type()}" == "float32[]"
