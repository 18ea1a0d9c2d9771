"""Each public name of jax, and each option of its functions, is one of calque, or a page says that it is absent."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

import calque

jax = pytest.importorskip("jax", reason="the names of jax are compared with ours")

DOCS = Path(__file__).parents[2] / "docs"
ABSENT = (DOCS / "absent.md").read_text(encoding="utf-8")
PAGES = ABSENT + (DOCS / "for_jax_users.md").read_text(encoding="utf-8")
MODULES = [
    "", "lax", "random", "nn", "nn.initializers", "tree", "tree_util", "debug", "dtypes", "errors", "ref", "sharding",
    "stages", "profiler", "flatten_util", "custom_derivatives", "custom_batching", "ad_checkpoint", "dlpack",
    "export", "ffi", "image", "ops", "test_util", "numpy.linalg", "numpy.fft", "scipy.linalg",
    "scipy.optimize", "scipy.sparse.linalg", "scipy.special", "scipy.stats", "scipy.integrate", "scipy.interpolate",
    "scipy.ndimage", "scipy.cluster.vq", "scipy.signal", "scipy.spatial.transform",
]  # fmt: skip


def words_of(text):
    spans = re.findall(r"`([^`\n]+)`", text)
    return {word for span in spans for word in re.findall(r"\w+", span)}


def module_of(package, path):
    return importlib.import_module(f"{package}.{path}" if path else package)


def has_name(path, name):
    try:
        return hasattr(module_of("calque", path), name)
    except ModuleNotFoundError:
        return False


@pytest.mark.skipif(not jax.__version__.startswith("0.10."), reason="the page has the names of jax 0.10")
@pytest.mark.parametrize("path", [*MODULES, "scipy.fft"])
def test_each_name_of_jax_is_there_or_on_the_page(path):
    public = [name for name in dir(module_of("jax", path)) if not name.startswith("_") and not name.endswith("_p")]
    is_shape_function = re.compile("conv_.*_(tuple|permutations)|reduce_window_shape_tuple")
    absent = [name for name in public if not has_name(path, name) and not is_shape_function.fullmatch(name)]
    assert [name for name in absent if name not in words_of(PAGES)] == []


def test_a_name_that_the_page_calls_absent_is_absent():
    names = ABSENT.split("| module | absent |")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)`(?:: [^|]*)? \| (.*) \|$", names, re.MULTILINE)
    assert len(rows) > 15
    for module, names in rows:
        path = "" if module == "jax" else module
        listed = re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", names))
        assert [name for name in listed if has_name(path, name)] == [], module
    assert calque.numpy.bfloat16


def options_of(function):
    """Return the parameters of a function that a call may leave out, and all of its parameters."""
    parameters = inspect.signature(function).parameters
    named = [p for p in parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return {p.name for p in named if p.kind is p.KEYWORD_ONLY or p.default is not p.empty}, parameters


def absent_options(path):
    """Return the options of jax's functions that ours of the same name lack, with the names of the functions."""
    ours, theirs = module_of("calque", path), module_of("jax", path)
    names = [name for name in dir(theirs) if not name.startswith("_") and has_name(path, name)]
    for name, value, function in ((name, getattr(ours, name), getattr(theirs, name)) for name in names):
        if not callable(function) or inspect.isclass(function) or inspect.isclass(value):
            continue
        try:
            options, (_, parameters) = options_of(function)[0], options_of(value)
        except (TypeError, ValueError):  # no signature
            continue
        if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            yield from ((name, option) for option in sorted(options - parameters.keys()))


@pytest.mark.skipif(not jax.__version__.startswith("0.10."), reason="the page has the names of jax 0.10")
@pytest.mark.parametrize("path", [*MODULES, "numpy", "distributed"])
def test_each_option_of_jax_is_there_or_on_the_page(path):
    listed = words_of(ABSENT.split("## Arguments of JAX")[1])
    assert [(name, option) for name, option in absent_options(path) if option not in listed] == []
