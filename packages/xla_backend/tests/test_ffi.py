import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from calque_core import Primitive, ShapeDtypeStruct, dce_jaxpr, make_jaxpr
from calque_xla_backend import Array, compilation_cache, device_put, ffi, jit, register_lowering
from calque_xla_backend.compilation_cache.key import _targets_in

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
NAMES = ("scale", "attributes", "count", "increment")
X = np.arange(6.0).reshape(2, 3)
SCALAR = ShapeDtypeStruct((), np.float64)


@pytest.fixture(scope="module", autouse=True)
def kernels(tmp_path_factory):
    library = tmp_path_factory.mktemp("kernels") / "kernels.so"
    source = Path(__file__).with_name("ffi_kernels.cc")
    options = ["-std=c++17", "-shared", "-fPIC", "-isystem", ffi.include_dir()]
    subprocess.run([COMPILER, *options, str(source), "-o", str(library)], check=True)
    loaded = ctypes.CDLL(str(library))
    for name in NAMES:
        ffi.register_ffi_target(f"test.{name}", ffi.pycapsule(getattr(loaded, name)))
    return loaded


def scaled(x, by=2.0, target="test.scale"):
    return ffi.ffi_call(target, ShapeDtypeStruct(x.shape, x.dtype))(x, by=by)


@pytest.mark.parametrize("of", [lambda f: f, jit], ids=["evaluated", "compiled"])
@pytest.mark.parametrize("array", [X, device_put(X)], ids=["numpy", "device"])
def test_a_kernel_computes_on_arrays_of_any_kind(of, array):
    out = of(scaled)(array)
    assert type(out) is Array
    np.testing.assert_array_equal(out, 2.0 * X)


def test_operands_are_stored_by_rows():
    np.testing.assert_array_equal(jit(lambda x: scaled(x.T))(X), 2.0 * X.T)


def test_attributes_keep_their_types():
    attributes = {
        "flag": True, "integer": 2**40, "narrow": np.int32(-5), "byte": np.uint8(200), "single": np.float32(0.5),
        "text": "four", "list": np.array([10, 20]),
    }  # fmt: skip
    total = jit(lambda: ffi.ffi_call("test.attributes", SCALAR)(**attributes))()
    assert float(total) == 1 + 2**40 - 5 + 200 + 0.5 + 4 + 30


def test_an_attribute_of_another_width_is_refused_by_the_kernel():
    with pytest.raises(RuntimeError, match=r"expected F64 but got F32") as caught:
        scaled(X, by=np.float32(2))
    assert any("ffi_call" in note for note in caught.value.__notes__)


def test_an_attribute_that_is_no_attribute_is_named():
    words = r"ffi_call of 'test\.scale' at test_ffi\.py:\d+ \(scaled\) got a list of length 1 as the attribute 'by'"
    with pytest.raises(TypeError, match=words):
        scaled(X, by=[2.0])


def test_a_traced_attribute_is_refused():
    with pytest.raises(TypeError, match=r"the attribute 'by'.*traced values are operands"):
        jit(lambda by: scaled(X, by=by))(2.0)


def test_an_error_of_a_kernel_reaches_the_caller_and_the_next_call_works():
    single = X.astype(np.float32)
    for run in (scaled, jit(scaled)):
        with pytest.raises(RuntimeError, match=r"scale takes float64 alone"):
            np.asarray(run(single))
        np.testing.assert_array_equal(run(X), 2.0 * X)


def test_an_unknown_target_is_named_with_the_known_ones():
    words = r"there is no target 'test\.scald' on cpu\. The registered targets are: .*test\.scale.*Register it with"
    with pytest.raises(ValueError, match=words):
        jit(lambda x: scaled(x, target="test.scald"))(X)


def test_a_kernel_of_a_gpu_is_no_target_of_the_processor():
    with pytest.raises(ValueError, match=r"there is no target 'cusolver_potrf_ffi' on cpu"):
        ffi.ffi_call("cusolver_potrf_ffi", SCALAR)(1.0)


def test_the_functions_of_lapack_are_targets_from_the_first_call_on():
    program = """
import numpy as np
from calque_core import ShapeDtypeStruct as S
from calque_xla_backend import ffi
factor = ffi.ffi_call("lapack_dpotrf_ffi", (S((2, 2), float), S((), np.int32)), input_output_aliases={0: 0})
print(np.triu(factor(np.array([[4.0, 2.0], [2.0, 5.0]]), uplo=np.uint8(ord("L")))[0]).tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[[2.0, 1.0], [0.0, 2.0]]", done.stderr


def test_a_name_is_registered_once(kernels):
    ffi.register_ffi_target("test.scale", ffi.pycapsule(kernels.scale))  # the same function again
    with pytest.raises(ValueError, match=r"test_ffi\.py:.* the name 'test\.scale' is another function on cpu"):
        ffi.register_ffi_target("test.scale", ffi.pycapsule(kernels.count))
    with pytest.raises(ValueError, match=r"the name 'lapack_dpotrf_ffi' is jaxlib's on cpu"):
        ffi.register_ffi_target("lapack_dpotrf_ffi", ffi.pycapsule(kernels.count))


def test_a_target_that_is_no_capsule_is_refused(kernels):
    with pytest.raises(TypeError, match=r"which is not a capsule\. Use pycapsule\(library\.function\)"):
        ffi.register_ffi_target("test.other", kernels.scale)


def test_a_call_with_a_side_effect_is_never_removed():
    def used(has_side_effect):
        call = ffi.ffi_call("test.count", ShapeDtypeStruct((), np.int64), has_side_effect=has_side_effect)
        jaxpr, _ = dce_jaxpr(make_jaxpr(lambda x: (call(), x)[1])(1.0), [True])
        return len(jaxpr.eqns)

    assert (used(True), used(False)) == (1, 0)
    count = ffi.ffi_call("test.count", ShapeDtypeStruct((), np.int64), has_side_effect=True)
    counted = jit(lambda x: (count(), x + 1.0)[1])
    before = int(count())
    for _ in range(3):
        counted(1.0).block_until_ready()
    assert int(count()) == before + 4


def test_aliases_share_memory():
    call = ffi.ffi_call("test.increment", ShapeDtypeStruct((3,), np.float64), input_output_aliases={0: 0})
    x = device_put(np.zeros(3))
    np.testing.assert_array_equal(jit(call)(x), np.ones(3))
    np.testing.assert_array_equal(x, np.zeros(3))  # XLA copied the operand, which is not donated


def test_aliases_of_different_types_are_refused():
    call = ffi.ffi_call("test.increment", ShapeDtypeStruct((3,), np.float64), input_output_aliases={0: 0})
    with pytest.raises(ValueError, match=r"has 0: 0, but operand 0 is float64\[4\] and result 0 is float64\[3\]"):
        call(np.zeros(4))
    call = ffi.ffi_call("test.increment", ShapeDtypeStruct((3,), np.float64), input_output_aliases={1: 0})
    with pytest.raises(ValueError, match=r"has 1: 0, but there are 1 operands and 1 results"):
        call(np.zeros(3))


def test_a_primitive_of_ones_own_has_a_kernel():
    doubled_p = Primitive("doubled")
    doubled_p.def_abstract_eval(lambda x, *, by: x)
    register_lowering(doubled_p, ffi.ffi_lowering("test.scale"))
    np.testing.assert_array_equal(jit(lambda x: doubled_p.bind(x, by=2.0))(X), 2.0 * X)


def test_the_program_is_stored_on_disk_only_with_a_digest(kernels):
    ffi.register_ffi_target("test.stored", ffi.pycapsule(kernels.scale))
    text = jit(lambda x: scaled(x, target="test.stored")).lower(X).as_text("stablehlo")
    assert _targets_in(text) is None
    compilation_cache.register_storable_target("test.stored", "digest of kernels.so")
    assert _targets_in(text) == [b"test.stored=digest of kernels.so"]


def test_the_printer_shows_the_target():
    text = str(make_jaxpr(scaled)(X))
    assert "ffi_call[attributes=(('by', 2.0),) target_name=test.scale] a" in " ".join(text.split())
