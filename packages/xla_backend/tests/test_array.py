import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

from calque_core import canonicalize_dtype, lax, typeof
from calque_core.config import enable_x64
from calque_core.engine import known_devices
from calque_core.engine.numpy_functions import on_device
from calque_core.types.dtypes import SHORT_DTYPES, float0
from calque_xla_backend import Array, device_put, devices, jit
from calque_xla_backend.runtime.array import array_from_numpy

X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


class Sub(np.ndarray):
    """A subclass of NumPy's arrays."""


def test_it_tells_its_type():
    x = device_put(X)
    assert (x.shape, x.dtype, x.ndim, x.size, len(x), x.nbytes) == ((2, 2), np.float32, 2, 4, 2, 16)
    assert typeof(x) is typeof(X)
    assert x.device.platform == "cpu"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.array([1.0, 2.0], np.float32), "Array([1., 2.], dtype=float32)"),
        (np.int8(3), "Array(3, dtype=int8)"),
        (np.zeros((0, 3)), "Array([], shape=(0, 3), dtype=float64)"),
        (np.eye(2), "Array([[1., 0.],\n       [0., 1.]], dtype=float64)"),
        (True, "Array(True, dtype=bool)"),
    ],
)
def test_repr(value, text):
    assert repr(device_put(value)) == text


def test_str_and_format_are_numpy_s():
    assert str(device_put(X)) == str(X)
    assert f"{device_put(1.25):.1f} {device_put(7):03d}" == "1.2 007"
    with pytest.raises(TypeError, match="format"):
        f"{device_put(X):.1f}"


@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "int8",
        "uint32",
        "float16",
        "float64",
        "complex64",
        *(name for name, row in SHORT_DTYPES.items() if row.kind == "f"),
    ],
)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_round_trip_through_the_device(dtype, shape):
    import ml_dtypes  # noqa: F401, PLC0415  NumPy then knows its names

    value = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    back = np.asarray(device_put(value))
    assert (back.dtype, back.shape) == (value.dtype, value.shape)
    np.testing.assert_array_equal(back, value)


@pytest.mark.parametrize("value", [X.T, X[:, ::-1], X[::2], X.astype(">f4"), X.view(Sub)])
def test_memory_of_any_layout_is_copied_right(value):
    np.testing.assert_array_equal(device_put(value), np.asarray(value))


@pytest.mark.parametrize("kind", ["c8", "c16", "f4", "i8"])
def test_results_for_arrays_in_another_byte_order_are_read(kind):
    swapped = np.arange(37).astype(f">{kind}")  # a type of its own: the types of other tests are known already
    for x in (swapped, swapped.astype(swapped.dtype.newbyteorder("="))):
        doubled = np.asarray(jit(lambda v: v + v)(x))
        np.testing.assert_array_equal(doubled, 2 * x)
        assert doubled.dtype.isbuiltin == 1


def test_numpy_sees_a_read_only_view():
    x = device_put(X)
    view = np.asarray(x)
    assert not view.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1.0
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.flags.writeable = True
    own = np.array(x)
    own[0] = 9.0
    np.testing.assert_array_equal(x, X)


def test_array_protocol_with_dtype_and_copy():
    x = device_put(X)
    assert np.asarray(x, np.float64).dtype == np.float64
    assert np.array(x, copy=True).flags.writeable
    with pytest.raises(ValueError, match="copy"):
        x.__array__(np.float64, copy=False)


def test_a_view_outlives_the_array():
    view = np.asarray(device_put(X) + 1.0)
    np.testing.assert_array_equal(view, X + 1)


def test_python_numbers():
    assert float(device_put(1.5)) == 1.5
    assert int(device_put(2.7)) == 2
    assert complex(device_put(1j)) == 1j
    assert bool(device_put(0.0)) is False
    assert [10, 20][device_put(1)] == 20
    assert (device_put(X).tolist(), device_put(X).item(3)) == (X.tolist(), 4.0)


def test_numbers_of_larger_arrays_are_refused():
    x = device_put(X)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)
    with pytest.raises(TypeError, match="only"):
        float(x)
    with pytest.raises(TypeError, match="integer"):
        range(10)[device_put(1.0)]
    with pytest.raises(TypeError, match="0-d array"):
        len(device_put(1.0))


def test_it_has_no_hash():
    with pytest.raises(TypeError, match="unhashable type: 'Array'"):
        hash(device_put(1.0))


def test_it_cannot_be_changed():
    x = device_put(X)
    with pytest.raises(TypeError):
        x[0] = 1.0
    with pytest.raises(AttributeError):
        x.shape = (4,)
    with pytest.raises(AttributeError):
        x.anything = 1


CLONES = {
    "copy.copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "x.copy": lambda x: x.copy(),
    "astype": lambda x: x.astype(x.dtype),
    "flatten": lambda x: x.reshape(-1).flatten().reshape(2, 2),
    "reshape": lambda x: x.reshape(2, 2, copy=True),
    "positive": lambda x: +x,
}


@pytest.mark.parametrize("clone", CLONES.values(), ids=CLONES)
def test_copies_are_independent(clone):
    x = device_put(X)
    y = clone(x)
    x.delete()
    assert type(y) is Array
    np.testing.assert_array_equal(y, X)


def test_a_copy_of_a_weak_or_deleted_array():
    weak = jit(lambda: 1.0)()
    assert weak.copy().weak_type
    weak.delete()
    with pytest.raises(RuntimeError, match=r"array of type ~f.* was used after it was deleted or donated"):
        weak.copy()


def test_a_conversion_that_changes_nothing_copies_only_if_it_must():
    x = device_put(X)
    assert x.astype(x.dtype, copy=False) is x
    assert x.reshape(2, 2).unsafe_buffer_pointer() == x.unsafe_buffer_pointer()


@pytest.mark.skipif(np.dtype("longdouble").itemsize == 8, reason="the long float of this machine is float64")
def test_long_floats_are_refused_by_name():
    for dtype in (np.longdouble, np.clongdouble):
        words = r"^device_put at test_array\.py:\d+ .*: x\['a'\] has the dtype .*, which XLA lacks\. Convert it"
        with pytest.raises(TypeError, match=words):
            device_put({"a": np.ones(2, dtype)})
        with pytest.raises(TypeError, match=r"^an array of type .*\[2\] at test_array.* has a dtype that XLA lacks\."):
            jit(lambda x: 1.0)(np.ones(2, dtype))


def test_a_deleted_array_says_so():
    x = device_put(X)
    x.delete()
    assert x.is_deleted()
    assert repr(x) == "Array(deleted, float32[2,2])"
    for use in (np.asarray, lambda x: x.block_until_ready(), lambda x: x + 1.0, jit(lambda x: x), float):
        with pytest.raises(
            RuntimeError, match=r"array of type float32\[2,2\] was used after it was deleted or donated"
        ):
            use(x)


def test_block_until_ready_returns_the_array():
    x = jit(lambda x: x + 1.0)(X)
    assert x.block_until_ready() is x


def test_operators_compute_on_the_device_and_give_arrays():
    x = device_put(X)
    for out, expected in [
        (x + x, X + X),
        (2.0 * x, 2 * X),
        (x - X, X - X),
        (X / x, X / X),
        (x**2, X**2),
        (x @ x, X @ X),
        (-x, -X),
        (x > 2.0, X > 2),
        (np.float32(1.0) + x, 1 + X),
        (np.sin(x), np.sin(X)),
        (np.sum(x, axis=0), X.sum(0)),
        (x.T, X.T),
        (x[0], X[0]),
        (x[:, ::-1], X[:, ::-1]),
        (x.reshape(4), X.reshape(4)),
        (x.mean(), X.mean()),
        (x.astype(np.int32), X.astype(np.int32)),
    ]:
        assert type(out) is Array
        assert out.dtype == expected.dtype
        np.testing.assert_allclose(out, expected, rtol=1e-6)


MATRIX = np.arange(12.0).reshape(3, 4)
INDICES = {
    "a list": [0, 2],
    "a mask": MATRIX > 5,
    "a mask of rows": [True, False, True],
    "an array": np.array([[2, 0], [1, 1]]),
    "all kinds": (slice(1, None), None, [0, 2]),
    "a bool": True,
    "an open mesh": np.ix_([0, 2], [1, 3]),
    "a device array": device_put(np.array([2, 1])),
    "a list of device arrays": [device_put(2), 1],
    "nothing": [],
}


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_an_array_takes_every_index_of_numpy_s_and_gives_an_array(index):
    got = device_put(MATRIX)[index]
    want = MATRIX[np.asarray(index) if type(index) is Array else index]
    assert type(got) is Array
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_an_object_that_is_no_index_is_refused():
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 3"):
        device_put(MATRIX)[[5]]
    with pytest.raises(IndexError, match=r"is 'x' of type str\. Use integers, slices"):
        device_put(MATRIX)["x"]
    np.testing.assert_array_equal(jit(lambda i: device_put(MATRIX)[i])(np.array([0, -1])), MATRIX[[0, -1]])
    with pytest.raises(
        TypeError, match=r"^x\[\.\.\.\] = value at test_array.py.*or change a copy, numpy\.array\(x\)\.$"
    ):
        device_put(MATRIX)[0] = 1.0


def test_other_libraries_read_it_by_dlpack():
    x = device_put(X)
    out = np.from_dlpack(x)
    np.testing.assert_array_equal(out, X)
    assert not out.flags.writeable
    assert x.__dlpack_device__() == (1, 0)


def test_a_consumer_of_the_old_dlpack_gets_a_copy():
    class Old:
        def __dlpack__(self, **_):
            return x.__dlpack__()

        def __dlpack_device__(self):
            return x.__dlpack_device__()

    x = device_put(X)
    out = np.from_dlpack(Old())
    np.testing.assert_array_equal(out, X)
    assert not np.shares_memory(out, np.asarray(x))


def test_numpy_runs_functions_without_a_rule_on_the_host():
    x = device_put(X)
    for out, expected in [
        (np.real_if_close(x), np.real_if_close(X)),
        (x.flat[2], X.flat[2]),
    ]:
        assert type(out) is type(expected)
        assert out.dtype == expected.dtype
        np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_iteration_gives_arrays():
    rows = list(device_put(X))
    assert [type(row) for row in rows] == [Array, Array]
    np.testing.assert_array_equal(rows[1], X[1])


def test_two_regimes():
    x = device_put(np.float64(1.0))
    with enable_x64(False):
        assert device_put(np.float64(1.0)).dtype == np.float32
        assert typeof(x).dtype == np.float32
        assert (x + 1.0).dtype == np.float32
        assert lax.sin(x).dtype == np.float32
    assert typeof(x).dtype == np.float64


def test_float0_arrays_hold_nothing():
    out = jit(lambda x: np.zeros((2,), float0))(1.0)
    assert out.dtype == float0
    assert np.asarray(out).dtype == float0


def test_an_array_is_made_with_the_dtype_of_the_settings():
    assert array_from_numpy(3).dtype == np.int64
    with enable_x64(False):
        assert array_from_numpy(3).dtype == np.int32


def test_bfloat16_is_read_without_importing_jax():
    program = """
import sys
import ml_dtypes
import numpy as np
from calque_xla_backend import device_put, jit

x = np.array([[1.5, -2.0], [0.25, 3.0]], ml_dtypes.bfloat16)
y = np.asarray(jit(lambda x: x + x)(device_put(x)))
assert y.dtype == x.dtype and (y == x + x).all(), y
assert np.asarray(device_put(x[0, 0])) == x[0, 0]
assert not y.flags.writeable
assert "jax" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_export_that_must_not_copy_is_refused_where_dlpack_cannot_mark_memory_as_read_only():
    x = device_put(X)
    with pytest.raises(BufferError, match=r"cannot be exported without a copy .* Use copy=None or max_version\.$"):
        x.__dlpack__(copy=False)


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy 2.0 has no copy= of from_dlpack")
def test_an_export_to_numpy_copies_as_asked():
    x = device_put(X)
    out = np.from_dlpack(x, copy=False)
    assert np.shares_memory(out, np.asarray(x))
    copy = np.from_dlpack(x, copy=True)
    assert not np.shares_memory(copy, np.asarray(x))
    assert copy.flags.writeable or np.lib.NumpyVersion(np.__version__) < "2.2.0"  # older releases mark every result


def test_to_device_moves_between_the_host_and_a_device():
    x = device_put(X)
    assert x.to_device(x.device) is x.to_device(None) is x
    host = x.to_device("cpu")
    assert type(host) is np.ndarray
    np.testing.assert_array_equal(host, X)
    for device in devices():
        assert on_device("f", host, device).device == device
    assert known_devices() == ["cpu", *devices()]
    with pytest.raises(ValueError, match=r"got device='gpu', which is not a device\. Use one of: 'cpu', "):
        x.to_device("gpu")
    with pytest.raises(TypeError, match="got stream=1"):
        x.to_device(x.device, stream=1)


def test_an_array_has_its_type_as_an_attribute():
    x = device_put(X)
    assert x.aval == typeof(X)
    assert not x.weak_type
    assert jit(lambda x: x + 1.0)(2.0).weak_type
    assert jit(lambda x: [x.weak_type, x.aval.weak_type])(X)[0] == 0.0
    with enable_x64(False):
        assert device_put(np.ones(2)).aval.dtype == np.float32


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "bool", "complex64", "bfloat16"])
def test_the_rows_of_an_array_are_arrays_on_its_device(dtype):
    elements = np.arange(6).reshape(3, 2).astype(canonicalize_dtype(dtype))
    x = device_put(elements, devices()[0])
    rows = list(x)
    for row, by_index in zip(rows, [x[0], x[1], x[2]], strict=True):
        assert (type(row), row.dtype, row.shape, row.devices()) == (Array, x.dtype, (2,), x.devices())
        np.testing.assert_array_equal(np.asarray(row), np.asarray(by_index))
    x.delete()
    assert rows[2].tolist() == elements[2].tolist()


def test_a_number_has_no_rows():
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        iter(device_put(1.0))


def test_a_view_of_a_device_array_is_one_on_its_device():
    x = device_put(np.arange(3, dtype=np.float32))
    assert type(x.view(np.int32)) is type(x)
    np.testing.assert_array_equal(x.view(np.uint8), np.arange(3, dtype=np.float32).view(np.uint8))
