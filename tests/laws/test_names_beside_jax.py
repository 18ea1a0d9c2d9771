"""Each public name of jax is a name of calque, or the page for users of JAX says that it is absent."""

import importlib
import re
from pathlib import Path

import pytest

import calque

jax = pytest.importorskip("jax", reason="the names of jax are compared with ours")

PAGE = Path(__file__).parents[2] / "docs" / "for_jax_users.md"
MODULES = [
    "", "lax", "random", "nn", "nn.initializers", "tree", "tree_util", "debug", "dtypes", "errors", "sharding",
    "stages", "profiler", "flatten_util", "custom_derivatives", "custom_batching", "ad_checkpoint", "dlpack",
    "export", "ffi", "ops", "test_util", "numpy.linalg", "numpy.fft", "scipy.linalg", "scipy.special",
]  # fmt: skip


def words_of_page():
    spans = re.findall(r"`([^`\n]+)`", PAGE.read_text(encoding="utf-8"))
    return {word for span in spans for word in re.findall(r"\w+", span)}


def module_of(package, path):
    return importlib.import_module(f"{package}.{path}" if path else package)


def has_name(path, name):
    try:
        return hasattr(module_of("calque", path), name)
    except ModuleNotFoundError:
        return False


@pytest.mark.skipif(not jax.__version__.startswith("0.10."), reason="the page has the names of jax 0.10")
@pytest.mark.parametrize("path", MODULES)
def test_each_name_of_jax_is_there_or_on_the_page(path):
    public = [name for name in dir(module_of("jax", path)) if not name.startswith("_") and not name.endswith("_p")]
    is_shape_function = re.compile("conv_.*_(tuple|permutations)|reduce_window_shape_tuple")
    absent = [name for name in public if not has_name(path, name) and not is_shape_function.fullmatch(name)]
    assert [name for name in absent if name not in words_of_page()] == []


def test_a_name_that_the_page_calls_absent_is_absent():
    rows = re.findall(
        r"^\| `(\w+)`(?:: [^|]*)? \| (.*) \|$", PAGE.read_text().split("| module | absent |")[1], re.MULTILINE
    )
    assert len(rows) > 15
    for module, names in rows:
        path = "" if module == "jax" else module
        listed = re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", names))
        assert [name for name in listed if has_name(path, name)] == [], module
    assert calque.numpy.bfloat16
