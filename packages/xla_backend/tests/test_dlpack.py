"""Exchange of memory by DLPack: `__dlpack__` of a device array and `from_dlpack`, with NumPy and with torch."""

import gc
import importlib.util
import re
import subprocess
import sys
import textwrap

import ml_dtypes
import numpy as np
import pytest
from jaxlib import version as jaxlib_version

from calque_core import config, float0, make_jaxpr
from calque_xla_backend import Array, device_put, devices, from_dlpack, jit
from calque_xla_backend.runtime import dlpack, exchange
from calque_xla_backend.runtime.array import wrap
from calque_xla_backend.runtime.runtime import to_dlpack

MARKS_SHORT = jaxlib_version.__version_info__ >= (0, 12)  # whether capsules of bfloat16 can be marked as read-only
NUMPY_MARKS = np.lib.NumpyVersion(np.__version__) >= "2.1.0"  # whether NumPy's functions use version 1 of DLPack
SHORT = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]


def torch():
    return pytest.importorskip("torch", reason="torch, which only this test needs, is not installed")


class Exported:
    """An array of another library that hands out one capsule."""

    def __init__(self, capsule, device=(1, 0)):
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return self.device


def aligned(count, dtype=np.float64, offset=0):
    """Return an array that begins `offset` elements behind a multiple of 64 bytes."""
    memory = np.zeros(64 * 4 + count * np.dtype(dtype).itemsize + 64 * 8, np.uint8)
    start = -memory.ctypes.data % 64 + offset * np.dtype(dtype).itemsize
    return memory[start : start + count * np.dtype(dtype).itemsize].view(dtype)


# Export


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "uint64", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)], ids=str)
def test_numpy_shares_the_memory_read_only(dtype, shape):
    x = device_put(np.ones(shape, dtype))
    out = np.from_dlpack(x)
    np.testing.assert_array_equal(out, np.ones(shape, dtype))
    assert out.dtype == dtype
    assert not out.flags.writeable
    assert not out.size or (out.ctypes.data == x.unsafe_buffer_pointer()) == NUMPY_MARKS


def test_copies_are_the_consumers_own():
    x = device_put(np.ones(3))
    for options in ({}, {"copy": True}, {"copy": True, "max_version": (1, 0)}, {"max_version": (0, 8)}):
        out = np.from_dlpack(Exported(x.__dlpack__(**options)))
        assert out.ctypes.data != x.unsafe_buffer_pointer()
        np.testing.assert_array_equal(out, [1.0, 1.0, 1.0])


def test_an_export_that_may_not_copy_needs_a_version_that_marks_memory():
    x = device_put(np.ones(3))
    refused = r"float64\[3\] cannot be exported without a copy at .* Use copy=None"
    if NUMPY_MARKS:
        shared = np.from_dlpack(Exported(x.__dlpack__(copy=False, max_version=(1, 0))))
        assert shared.ctypes.data == x.unsafe_buffer_pointer()
    else:
        with pytest.raises(BufferError, match=refused):
            x.__dlpack__(copy=False, max_version=(1, 0))
    with pytest.raises(BufferError, match=refused):
        x.__dlpack__(copy=False)


def test_an_export_outlives_the_array_and_its_deletion():
    for delete in (True, False):
        x = device_put(np.arange(1000.0))
        out, copy = np.from_dlpack(x), np.from_dlpack(Exported(x.__dlpack__()))
        if delete:
            x.delete()
        del x
        gc.collect()
        np.testing.assert_array_equal(out, np.arange(1000.0))
        np.testing.assert_array_equal(copy, np.arange(1000.0))


def test_an_exported_array_may_be_donated():
    x = device_put(np.ones(1000))
    out = np.from_dlpack(x)
    np.testing.assert_array_equal(jit(lambda x: x + 1.0, donate_argnums=0)(x), np.full(1000, 2.0))
    np.testing.assert_array_equal(out, np.ones(1000))


@pytest.mark.parametrize("dtype", SHORT)
def test_dtypes_that_numpy_lacks_are_exported_by_jaxlib(dtype):
    x = device_put(np.arange(4).astype(getattr(ml_dtypes, dtype)))
    for options in ({}, {"copy": True}, {"max_version": (1, 0)}, {"max_version": (1, 0), "copy": True}):
        marked = MARKS_SHORT and "max_version" in options
        assert ("dltensor_versioned" if marked and not options.get("copy") else '"dltensor') in repr(
            x.__dlpack__(**options)
        )
    if MARKS_SHORT:
        assert "versioned" in repr(x.__dlpack__(copy=False, max_version=(1, 0)))
    else:
        with pytest.raises(BufferError, match=rf"{dtype}\[4\] cannot be exported without a copy"):
            x.__dlpack__(copy=False, max_version=(1, 0))


def test_deleted_arrays_are_refused():
    for value in (np.ones(3), np.ones(3, ml_dtypes.bfloat16)):
        x = device_put(value)
        x.delete()
        with pytest.raises(RuntimeError, match=r"an array of type \w+\[3\] was used after it was deleted or donated\."):
            x.__dlpack__(max_version=(1, 0))


def test_other_devices_streams_and_dtypes_without_a_code_are_refused():
    x = device_put(np.ones(3))
    assert x.__dlpack_device__() == np.ones(3).__dlpack_device__() == (1, 0)
    assert np.from_dlpack(Exported(x.__dlpack__(dl_device=(1, 0)))).tolist() == [1.0] * 3
    with pytest.raises(BufferError, match=r"cannot be exported at .* with dl_device=\(2, 0\) and stream=None"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match=r"with dl_device=None and stream=7: .* Use None for both\."):
        x.__dlpack__(stream=7)
    with pytest.raises(BufferError, match=r"type int4\[3\] cannot be exported at .*: DLPack has no such dtype"):
        device_put(np.arange(3).astype(ml_dtypes.int4)).__dlpack__()
    with pytest.raises(BufferError):
        device_put(np.zeros(3, float0)).__dlpack__()


# Import


@pytest.mark.parametrize("dtype", ["float64", "int32", "bool", "complex128"])
def test_an_array_of_numpys_is_copied(dtype):
    source = aligned(8, dtype)
    source[:] = 1
    x = from_dlpack(source)
    source[:] = 0
    assert (type(x), x.dtype) == (Array, dtype)
    np.testing.assert_array_equal(x, np.ones(8, dtype))


def test_memory_is_shared_on_demand_and_kept_alive():
    source = aligned(1000)
    source[:] = 3.0
    x = from_dlpack(source, copy=False)
    assert x.unsafe_buffer_pointer() == source.ctypes.data
    del source
    gc.collect()
    np.testing.assert_array_equal(jit(lambda x: x + 1.0, donate_argnums=0)(x), np.full(1000, 4.0))


@pytest.mark.parametrize("source", [aligned(8, offset=1), aligned(8)[::2], aligned(6).reshape(2, 3).T], ids=repr)
def test_memory_that_a_device_cannot_share_is_refused_or_copied(source):
    source = source + 0.0 if source.flags.owndata else source
    np.testing.assert_array_equal(from_dlpack(source), source)
    with pytest.raises(BufferError, match=r"^from_dlpack at .*: the array of type float64\[.* cannot be shared"):
        from_dlpack(source, copy=False)


def test_the_settings_decide_about_64_bits():
    with config.enable_x64(False):
        assert from_dlpack(np.ones(3)).dtype == np.float32
        with pytest.raises(BufferError, match=r"cannot be shared, .* 64 bits only while enable_x64 is on"):
            from_dlpack(aligned(8), copy=False)


def test_our_own_array_is_returned_or_copied():
    x = device_put(np.ones(3))
    assert from_dlpack(x) is x is from_dlpack(x, copy=False, device=devices()[0])
    copy = from_dlpack(x, copy=True)
    assert copy.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()


@pytest.mark.parametrize("dtype", SHORT)
def test_dtypes_that_numpy_lacks_are_imported(dtype):
    value = np.arange(12).reshape(3, 4).astype(getattr(ml_dtypes, dtype))
    x = device_put(value)
    out = from_dlpack(Exported(x.__dlpack__()))
    assert out.dtype == value.dtype
    np.testing.assert_array_equal(np.asarray(out, np.float32), np.asarray(value, np.float32))
    assert from_dlpack(Exported(device_put(value[:0]).__dlpack__())).shape == (0, 4)


def test_a_capsule_is_consumed_once():
    for value in (np.ones(2), np.ones(2, ml_dtypes.bfloat16)):
        capsule = device_put(value).__dlpack__()
        assert from_dlpack(Exported(capsule)).shape == (2,)
        if value.dtype.isbuiltin == 1:
            with pytest.raises((BufferError, ValueError)):
                from_dlpack(Exported(capsule))


def test_what_cannot_be_imported_is_refused():
    with pytest.raises(TypeError, match=r"from_dlpack at .*: a list of length 1 has no method __dlpack_device__\."):
        from_dlpack([1.0])
    with pytest.raises(BufferError, match=r"the memory of a device of DLPack's type 2, number 0, which is none of "):
        from_dlpack(Exported(None, (2, 0)))
    with pytest.raises(TypeError, match=r"from_dlpack at .*: a traced value of type ~float64\[\] has no memory"):
        make_jaxpr(lambda x: from_dlpack(x))(1.0)
    with pytest.raises(ValueError, match=r"from_dlpack at .* got 'cpu', which is not a device\. Use one of: CpuDevice"):
        from_dlpack(np.ones(2), device="cpu")


# torch


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "bool", "complex64", "bfloat16"])
def test_torch_and_device_arrays_exchange_values(dtype):
    library = torch()
    tensor = library.arange(6).reshape(2, 3).to(getattr(library, dtype))
    x = from_dlpack(tensor)
    assert x.dtype.name == dtype
    np.testing.assert_array_equal(np.asarray(x, np.complex64), tensor.to(library.complex64).numpy())
    back = library.from_dlpack(x)
    assert back.dtype == tensor.dtype
    assert bool((back == tensor).all())


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_a_tensor_is_copied_and_shared_on_demand(dtype):
    library = torch()
    tensor = library.ones(1024, dtype=getattr(library, dtype))
    copied, shared = from_dlpack(tensor), from_dlpack(tensor, copy=False)
    assert shared.unsafe_buffer_pointer() == tensor.data_ptr() != copied.unsafe_buffer_pointer()
    del tensor
    gc.collect()
    assert float(shared[1023]) == float(copied[1023]) == 1.0
    transposed = library.arange(6, dtype=getattr(library, dtype)).reshape(2, 3).T
    np.testing.assert_array_equal(np.asarray(from_dlpack(transposed), np.float64), np.arange(6.0).reshape(2, 3).T)


def test_a_tensor_that_needs_a_gradient_is_refused_by_torch():
    tensor = torch().ones(3, requires_grad=True)
    with pytest.raises((BufferError, RuntimeError), match=re.compile("require", re.IGNORECASE)):
        from_dlpack(tensor)


# jax


def test_neither_exchange_nor_addresses_import_jax():
    program = """
        import sys
        import ml_dtypes, numpy as np
        from calque_xla_backend import device_put, from_dlpack, live_arrays
        for value in (np.ones(64), np.ones(64, ml_dtypes.bfloat16)):
            x = device_put(value)
            x.unsafe_buffer_pointer(), x.is_ready(), x.on_device_size_in_bytes, live_arrays()
            class Other:
                __dlpack__ = lambda self, **options: x.__dlpack__()
                __dlpack_device__ = lambda self: (1, 0)
            from_dlpack(Other())
        print("jax" in sys.modules)
    """
    assert importlib.util.find_spec("jaxlib")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_a_capsule_becomes_a_buffer_as_that_of_a_gpu_does():
    x = device_put(np.arange(6, dtype=np.int32).reshape(2, 3))
    for is_copied in (False, True):
        buffers, types = exchange._capsule_on("import", to_dlpack(x._buffer), x.device, None, is_copied=is_copied)
        (got,) = wrap(buffers, types)
        assert (got.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()) is not is_copied
        assert got._device_type is x._device_type
        np.testing.assert_array_equal(got, x)


@pytest.mark.parametrize(
    ("shape", "order", "is_by_rows"),
    [((2, 3), "C", True), ((2, 3), "F", False), ((1, 3), "F", True), ((0, 3), "F", True), ((), "C", True)],
)
def test_elements_in_the_order_of_c_are_told_from_others(shape, order, is_by_rows):
    capsule = np.ones(shape, order=order).__dlpack__()
    assert dlpack.is_by_rows(dlpack.tensor_of(capsule)) is is_by_rows


def test_memory_of_a_gpu_in_another_order_or_of_another_dtype_is_refused():
    device = device_put(1.0).device
    columns = np.asfortranarray(np.ones((2, 3)))
    with pytest.raises(
        BufferError, match=r"^import: the array of shape \(2, 3\) is not in C order in the memory of the"
    ):
        exchange._capsule_on("import", columns.__dlpack__(), device, None, is_copied=False)
    capsule = np.ones(3).__dlpack__()
    dlpack.tensor_of(capsule).code = 3  # a pointer
    with pytest.raises(
        BufferError, match=r"^import: the array has a dtype of 64 bits, of DLPack's code 3, which neither"
    ):
        exchange._capsule_on("import", capsule, device, None, is_copied=False)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "complex64", "complex128"])
def test_the_dtype_of_a_capsule_is_known(dtype):
    assert dlpack.dtype_of(dlpack.tensor_of(np.ones(2, dtype).__dlpack__())) == np.dtype(dtype)


def test_memory_of_a_gpu_has_a_name_in_dlpack():
    class Gpu:
        local_hardware_id = 3

    assert [dlpack.memory_of(Gpu(), name) for name in ("cuda", "rocm", "my_chip")] == [(2, 3), (10, 3), (1, 0)]
    assert [dlpack.platform_of_memory(kind) for kind in (2, 10, 7)] == ["cuda", "rocm", None]
    assert not hasattr(device_put(1.0), "__cuda_array_interface__")
