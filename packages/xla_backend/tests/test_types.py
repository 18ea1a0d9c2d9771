import ml_dtypes
import numpy as np
import pytest
from jaxlib.mlir import ir

from calque_core import ShapedArray
from calque_core.engine import SHORT_DTYPES
from calque_core.types.avals import AbstractValue
from calque_xla_backend import aval_to_ir_type, dtype_to_ir_type
from calque_xla_backend.modules.types import dense_attribute
from calque_xla_backend.runtime.runtime import mlir_context


@pytest.fixture(autouse=True)
def in_context():
    context = mlir_context()
    with context, ir.Location.unknown(context):
        yield


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        ("bool", "i1"), ("int8", "i8"), ("int64", "i64"), ("uint8", "ui8"), ("uint32", "ui32"), ("float16", "f16"),
        ("float32", "f32"), ("float64", "f64"), ("complex64", "complex<f32>"), ("complex128", "complex<f64>"),
        (ml_dtypes.bfloat16, "bf16"), (ml_dtypes.float8_e4m3fn, "f8E4M3FN"), (ml_dtypes.float4_e2m1fn, "f4E2M1FN"),
        (ml_dtypes.int4, "i4"), (ml_dtypes.uint4, "ui4"),
    ],
)  # fmt: skip
def test_dtypes(dtype, text):
    assert str(dtype_to_ir_type(dtype)) == text


@pytest.mark.parametrize("name", SHORT_DTYPES)
def test_short_dtypes_have_the_type_of_cores_table(name):
    assert str(dtype_to_ir_type(getattr(ml_dtypes, name))) == SHORT_DTYPES[name].ir_type


def test_avals():
    assert str(aval_to_ir_type(ShapedArray((2, 0), "f4"))) == "tensor<2x0xf32>"
    assert str(aval_to_ir_type(ShapedArray((), "b1", weak_type=True))) == "tensor<i1>"


def test_a_value_without_an_ir_type_is_refused():
    class Token(AbstractValue):
        pass

    with pytest.raises(TypeError, match=r"an aval of class Token has no IR type\. Give a ShapedArray"):
        aval_to_ir_type(Token())
    with pytest.raises(TypeError, match=r"<U1 has no counterpart in XLA"):
        dtype_to_ir_type("U1")
    with pytest.raises(TypeError, match=r"has no counterpart in XLA\. Convert the array to float64 or complex128"):
        dtype_to_ir_type("clongdouble")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.zeros(100_000), "dense<0.000000e+00> : tensor<100000xf64>"),
        (np.array([0.0, -0.0]), "dense<[0.000000e+00, -0.000000e+00]> : tensor<2xf64>"),
        (np.array([True, False]), "dense<[true, false]> : tensor<2xi1>"),
        (np.full(3, np.nan), "dense<0x7FF8000000000000> : tensor<3xf64>"),
        (3, "dense<3> : tensor<i64>"),
    ],
)
def test_equal_elements_are_stored_once_and_signs_are_kept(value, text):
    assert str(dense_attribute(value)) == text
