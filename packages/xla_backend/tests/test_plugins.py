"""Plugins: how they are known, and what is said of those that do not start."""

import _ctypes
import shutil
import subprocess
import sys
import textwrap

import pytest

from calque_xla_backend import devices, plugins, register_plugin
from calque_xla_backend.runtime import clients, cuda
from calque_xla_backend.runtime import plugins as plugins_module
from calque_xla_backend.runtime.plugins import VARIABLE, start_plugin, usable_plugins

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
OLD_PLUGIN = """
#include <stddef.h>
static struct { size_t size; void *extensions; struct { size_t size; void *extensions; int major, minor; } version;
                void *functions[200]; } api;
void *GetPjrtApi(void) {
    api.size = sizeof(api); api.version.size = sizeof(api.version); api.version.major = 0; api.version.minor = 1;
    return &api;
}
"""


@pytest.fixture(autouse=True)
def no_plugins(monkeypatch):
    """Forget the plugins of this process and of its environment, before and after a test."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(plugins_module, "_registered", {})
    monkeypatch.setattr(plugins_module, "_problems", {})
    monkeypatch.setattr(plugins_module, "_announced", list)


def library(folder, content=b"\x7fELF, and then nothing"):
    path = folder / "plugin.so"
    path.write_bytes(content)
    return str(path)


def test_a_registered_plugin_is_listed_and_its_platform_is_first(tmp_path):
    path = library(tmp_path)
    register_plugin("chip", path)
    register_plugin("chip", path)  # says the same again
    assert plugins() == [("chip", path, "register_plugin", "")]
    assert clients.platforms() == ["chip", "cpu"]


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        (3, TypeError, r"^register_plugin at test_plugins\.py:\d+ .* got the name 3\. Use a string"),
        ("a:b", ValueError, r"got the name 'a:b'\. Use letters, digits and underscores"),
        ("cpu", ValueError, r"^register_plugin got the name 'cpu', which is the platform of the host's processor"),
    ],
)
def test_a_platform_has_a_name_of_its_own(tmp_path, name, error, words):
    with pytest.raises(error, match=words):
        register_plugin(name, library(tmp_path))
    assert plugins() == []


def test_a_name_has_one_library(tmp_path):
    register_plugin("chip", library(tmp_path))
    (tmp_path / "other").mkdir()
    with pytest.raises(ValueError, match=r"got the name 'chip' again, with another library than \S+plugin\.so\."):
        register_plugin("chip", library(tmp_path / "other"))


def test_a_library_must_exist(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"found no library at '\S+/nowhere\.so'\. Give the path of the plugin"):
        register_plugin("chip", tmp_path / "nowhere.so")


def test_the_environment_names_plugins(monkeypatch):
    monkeypatch.setenv(VARIABLE, "one:/opt/one.so,two:/opt/two.so")
    assert [(p.platform, p.library, p.source) for p in plugins()] == [
        ("one", "/opt/one.so", VARIABLE),
        ("two", "/opt/two.so", VARIABLE),
    ]


@pytest.mark.parametrize("text", ["one", ":path", "one:", "1:path", "one:a,two"])
def test_a_malformed_entry_of_the_environment_is_quoted(monkeypatch, text):
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(ValueError, match=rf"^{VARIABLE} has the entry '{text.split(',')[-1]}'\. Write name:path"):
        plugins()


def test_a_plugin_whose_library_vanished_does_not_start(monkeypatch):
    monkeypatch.setenv(VARIABLE, "lost:/nowhere/lost.so")
    words = rf"the platform 'lost' cannot start at test_plugins.* no library at /nowhere/lost\.so, which {VARIABLE}"
    for _ in range(2):  # the answer is kept
        with pytest.raises(RuntimeError, match=words):
            devices("lost")
    assert "Correct the path." in plugins()[0].problem


def test_a_library_that_is_none_does_not_start(tmp_path):
    register_plugin("broken", library(tmp_path))
    with pytest.raises(RuntimeError, match=r"'broken' cannot start .*plugin\.so cannot be loaded: .*\. Install"):
        devices("broken")


def test_a_library_without_the_interface_is_no_plugin():
    register_plugin("other", _ctypes.__file__)
    with pytest.raises(RuntimeError, match=r"is no plugin of XLA: it has no function GetPjrtApi\. Name another"):
        start_plugin(usable_plugins()["other"])


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
def test_a_plugin_of_another_release_says_so(tmp_path):
    (tmp_path / "old.c").write_text(OLD_PLUGIN)
    path = tmp_path / "old.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", str(tmp_path / "old.c"), "-o", str(path)], check=True)
    register_plugin("old", path)
    with pytest.raises(RuntimeError, match=r"old\.so was made for another release of jaxlib: .*0\.1.* go together\."):
        devices("old")


# Plugins of packages


ANNOUNCED = """
import logging, sys
logging.basicConfig(format="%(message)s")
import numpy as np
from calque_xla_backend import default_backend, devices, jit, plugins
for plugin in plugins():
    print(plugin.platform, plugin.source, bool(plugin.library), plugin.problem)
print(default_backend(), jit(lambda x: x + 1.0)(1.0), devices()[0].platform)
print(bool(plugins()[0].problem), [name for name in sys.modules if name.startswith("announced")])
"""


def announce(folder, name, library_name):
    """Write an installed package `announced.<name>` with an entry point; its code may not run."""
    package = folder / "announced" / name
    package.mkdir(parents=True)
    for parent in (folder / "announced", package):
        (parent / "__init__.py").write_text("raise ImportError('plugins start without their code')")
    if library_name:
        (package / library_name).write_bytes(b"no library")
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[jax_plugins]\n{name} = announced.{name}\n")


def test_installed_plugins_are_known_without_running_their_code_and_the_processor_is_used_if_none_starts(tmp_path):
    announce(tmp_path, "xla_cuda13", "xla_cuda_plugin.so")
    announce(tmp_path, "exotic", None)
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n" + textwrap.dedent(ANNOUNCED)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    *known, used, after = sorted(done.stdout.splitlines(), key=lambda line: line.startswith(("cpu", "True")))
    problem = (
        "the package exotic 1.0 has no library that calque knows, and its Python code needs jax. Name its library: "
    )
    first = f"exotic exotic 1.0 False {problem}register_plugin('exotic', path)."
    assert sorted(known) == ["cuda xla_cuda13 1.0 True ", first]
    assert used == "cpu 2.0 cpu"
    assert after.endswith(" []")  # no module of theirs was imported
    (warning,) = done.stderr.splitlines()  # the driver is missing, or the library is no library
    assert warning.startswith("the platform 'cuda' cannot start")
    assert warning.endswith("Programs run on the host's processor.")


# The GPU's companions, played by this machine's libraries


def test_a_missing_driver_is_named(monkeypatch):
    monkeypatch.setattr(cuda, "_DRIVER", "libdriver_that_is_not_here.so.1")
    with pytest.raises(RuntimeError, match=r"^NVIDIA's driver is missing: libdriver_that_is_not_here\.so\.1 cannot be"):
        cuda.load_cuda("13")


def test_missing_libraries_are_named(monkeypatch):
    monkeypatch.setattr(cuda, "_DRIVER", _ctypes.__file__)
    monkeypatch.setattr(cuda, "_load_library", lambda name, generation: name not in ("cudnn", "nccl", "cublas"))
    words = r"^cuBLAS, cuDNN cannot be loaded\. Install NVIDIA's libraries: pip install 'jax-cuda13-plugin\[with-"
    with pytest.raises(RuntimeError, match=words):
        cuda.load_cuda("13")


def test_libraries_of_packages_are_those_of_one_release(tmp_path, monkeypatch):
    for folder, name in (("cu13", "libcublas.so.13"), ("cu12", "libcublas.so.12"), ("cudnn", "libcudnn.so.9")):
        (tmp_path / "nvidia" / folder / "lib").mkdir(parents=True)
        (tmp_path / "nvidia" / folder / "lib" / name).touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    names = lambda library: [path.name for path in cuda._paths_of(library, "13") if tmp_path in path.parents]
    assert names("cublas") == ["libcublas.so.13"]  # of other folders, too, where another library brings them
    assert names("cudnn") == ["libcudnn.so.9"]


def test_kernels_must_be_of_jaxlibs_release(monkeypatch):
    release = cuda.jaxlib_version.__version__
    words = f"the package jax-cuda99-plugin is not installed; it must be jax-cuda99-plugin=={release}."
    assert cuda._kernels_problem("jax-cuda99-plugin") == words
    monkeypatch.setattr(cuda, "version", lambda name: "0.1")
    assert cuda._kernels_problem("jax-cuda13-plugin") == (
        f"jax-cuda13-plugin 0.1 goes with jaxlib 0.1, but jaxlib is {release}."
    )
    monkeypatch.setattr(cuda, "version", lambda name: release)
    assert cuda._kernels_problem("jax-cuda13-plugin") == ""
