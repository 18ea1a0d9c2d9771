"""One table names the short dtypes: no other module of ours does, and each row passes evaluation, lowering and random.

`docs/adding_a_dtype.md` explains the columns; core's own columns are tested in `packages/core/tests`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import calque_core
import calque_numpy as cnp
from calque_core import lax, promote_types
from calque_core.engine import REFUSED_DTYPES, SHORT_DTYPES
from calque_numpy import random
from calque_xla_backend import device_put, from_dlpack, jit
from calque_xla_backend.runtime.dlpack import tensor_of

SOURCES = sorted((Path(__file__).parents[2] / "packages").glob("*/src/**/*.py"))
ROWS = pytest.mark.parametrize("name", SHORT_DTYPES)

# Modules that name short dtypes

PRECISIONS = "the names of precisions of products, which jax has chosen after dtypes"
ALLOWED = {
    "calque_core/types/dtypes.py": "the table",
    "calque_core/__init__.py": "the package whose dtypes are attributes",
    "calque_core/ops/reductions/precision.py": PRECISIONS,
    "calque_core/ops/reductions/dot_algorithms.py": "the algorithms of products, which jax names after dtypes",
    "calque_core/setting_values.py": PRECISIONS,
    "calque_core/config.py": PRECISIONS,
    "calque/doctor.py": "the packages of which the report has a line",
    "calque_as_jax/dialect/dtypes.py": "the dtype that jax.dtypes names",
}


def pattern_of_names() -> re.Pattern[str]:
    """Return the pattern of a short dtype in code, comments and strings: its name, its format, its MLIR class."""
    names = [*SHORT_DTYPES, *REFUSED_DTYPES]
    integers = [name for name in names if "int" in name]
    formats = {name.partition("_")[2] or name for name in names if "float" in name}
    shorts = [row.printed for row in SHORT_DTYPES.values() if row.kind == "f"]
    anywhere = "|".join(sorted({"ml_dtypes", *formats, *shorts}))
    return re.compile(rf"(?i:{anywhere})|\b(?:{'|'.join(integers)})\b", re.ASCII)


NAMES = pattern_of_names()


def lines_that_name(source: str) -> list[str]:
    # `ML_DTYPES` is the constant that other modules ask for the name of the package.
    return [line for line in source.splitlines() if NAMES.search(line.replace("ML_DTYPES", ""))]


def test_no_module_but_the_table_names_a_short_dtype():
    naming = {}
    for path in SOURCES:
        lines = lines_that_name(path.read_text(encoding="utf-8"))
        if lines:
            naming[path.as_posix().partition("/src/")[2]] = lines
    assert len(SOURCES) > 500
    assert {path: lines for path, lines in naming.items() if path not in ALLOWED} == {}, (
        "ask calque_core.engine.SHORT_DTYPES, kind_of, wide_dtype, bit_width, finfo or iinfo instead"
    )
    assert naming.keys() == ALLOWED.keys()


@pytest.mark.parametrize(
    "line",
    ['if dtype.name == "bfloat16":', "ir.Float8E4M3FNType.get", "# integers such as int4", "x.astype(uint4)",
     'MAKERS["f4E2M1FN"]', "import ml_dtypes", "ir.BF16Type", 'np.dtype("float8_e8m0fnu")'],
)  # fmt: skip
def test_a_line_that_names_a_short_dtype_is_found(line):
    assert lines_that_name(f"x = 1\n{line}\n") == [line]


def test_lines_that_name_other_dtypes_are_not_found():
    assert lines_that_name('np.dtype("i4"), np.int64, "float16", hint4, ML_DTYPES, print2, uint32') == []


# Each row in the packages above core


def of(name):
    return np.dtype(getattr(calque_core, name))


@ROWS
def test_each_row_is_an_attribute_of_the_fronts(name):
    assert getattr(cnp, name) is of(name).type
    assert cnp.astype(np.arange(3), name).dtype == of(name)


@ROWS
def test_each_row_is_lowered_to_its_type_and_computes_as_evaluated(name):
    dtype, row = of(name), SHORT_DTYPES[name]
    x = np.array([0, 1, 2, 3]).astype(dtype)

    def function(x):
        return lax.add(lax.mul(x, np.array([1, 2, 1, 1]).astype(dtype)), dtype.type(1))

    assert f"tensor<4x{row.ir_type}>" in jit(function).lower(x).as_text()
    out = jit(function)(x)
    assert out.dtype == dtype
    np.testing.assert_array_equal(np.asarray(out).astype(float), function(x).astype(float))
    narrowed = jit(lambda x: lax.convert_element_type(x, dtype))(x.astype(row.wide))
    np.testing.assert_array_equal(np.asarray(narrowed).astype(float), x.astype(float))


@ROWS
def test_each_code_of_dlpack_is_that_of_jaxlib(name):
    dtype, row = of(name), SHORT_DTYPES[name]
    x = device_put(np.array([0, 1, 2, 3]).astype(dtype))
    if row.dlpack_code is None:
        with pytest.raises(BufferError, match="DLPack has no such dtype"):
            x.__dlpack__()
        return
    tensor = tensor_of(x.__dlpack__())
    assert (tensor.code, tensor.bits) == (row.dlpack_code, row.bits)
    back = from_dlpack(Exported(x))
    assert (back.dtype, np.asarray(back).astype(float).tolist()) == (dtype, [0.0, 1.0, 2.0, 3.0])


class Exported:
    """An array of another library."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **_):
        return self.x.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


@ROWS
def test_each_row_says_whether_random_numbers_have_the_dtype(name):
    key = random.key(0)
    if SHORT_DTYPES[name].is_random:
        numbers = random.uniform(key, (100,), of(name))
        assert numbers.dtype == of(name)
        assert 0.0 <= numbers.astype(float).min() < 0.1 < 0.9 < numbers.astype(float).max() < 1.0
        np.testing.assert_array_equal(jit(lambda k: random.uniform(k, (100,), of(name)))(key), numbers)
        assert random.normal(key, (3,), of(name)).dtype == of(name)
        return
    with pytest.raises(TypeError, match=rf"dtype is {name}\. Use bfloat16, float16, float32 or float64\."):
        random.uniform(key, (3,), of(name))


@ROWS
def test_each_row_promotes_evaluated_and_compiled_alike(name):
    dtype = of(name)
    x = np.array([0, 1, 2]).astype(dtype)
    for other in (np.float16(1), np.float32(1), np.int32(1), np.True_):
        try:
            want = promote_types(dtype, other.dtype)
        except TypeError as error:
            with pytest.raises(TypeError, match=re.escape(str(error).partition(":")[0])):
                jit(lax.add)(x, other)
            continue
        assert jit(lax.add)(x, other).dtype == lax.add(x, other).dtype == want


# A row made up: a dtype that calque refuses, in a process whose table has it

MADE_UP = """
import numpy as np
from calque_core.types.dtypes import SHORT_DTYPES, ShortDtype
SHORT_DTYPES["float6_e2m3fn"] = ShortDtype("f", 6, "f6_e2m3fn", "f6E2M3FN", "float32", None, False, False)
import calque_numpy as cnp
from calque_autodiff import grad
from calque_batching import vmap
from calque_core import lax
from calque_xla_backend import jit

x = np.array([0.5, 1.5, 2.0]).astype(cnp.float6_e2m3fn)
slope = grad(lambda x: cnp.sum(x * x))(x)
assert (slope.dtype.name, slope.tolist()) == ("float6_e2m3fn", [1.0, 3.0, 4.0])
assert vmap(lambda x: x + 1)(x).tolist() == [1.5, 2.5, 3.0]
assert "tensor<3xf6E2M3FN>" in jit(lambda x: lax.add(x, x)).lower(x).as_text()
"""


def test_one_row_makes_a_dtype_an_operand_of_all_packages():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="it defines the dtypes")
    if not hasattr(ml_dtypes, "float6_e2m3fn"):
        pytest.skip("ml_dtypes is older than float6_e2m3fn")
    subprocess.run([sys.executable, "-W", "error", "-c", MADE_UP], check=True)
