"""The doctor: what it prints, and which wrong settings it names.  Most tests run the command, as a user does."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import calque
from calque import doctor

needs_backend = pytest.mark.skipif(
    importlib.util.find_spec("calque_xla_backend") is None, reason="calque-xla-backend is not installed"
)


def run(*options, **environment):
    """Run the command with these environment variables; return its exit status and its output."""
    names = {name: value for name, value in os.environ.items() if not name.startswith(("CALQUE_", "XLA_"))}
    command = [sys.executable, *(options or ("-m", "calque.doctor"))]
    process = subprocess.run(command, env=names | environment, capture_output=True, text=True, check=False)
    assert process.stderr == ""
    return process.returncode, process.stdout.splitlines()


def section(lines, title):
    """Return the lines beneath a title."""
    inside = lines[lines.index(title) + 1 :]
    ends = [i for i, line in enumerate(inside) if not line.startswith("  ")]
    return [line.strip() for line in inside[: ends[0] if ends else None]]


def test_a_healthy_installation_has_status_0_and_shows_versions_devices_and_settings(tmp_path):
    status, lines = run(CALQUE_CACHE=str(tmp_path / "cache"))
    assert (status, lines[-1]) == (0, "nothing is wrong")
    assert section(lines, "settings") == [f"CALQUE_CACHE={tmp_path / 'cache'}"]
    versions = section(lines, "versions")
    assert versions[0].startswith(f"Python {sys.version_info.major}.{sys.version_info.minor}")
    assert f"calque-transforms {calque.__version__}" in versions
    names = {line.split()[0] for line in versions[1:]}
    assert {*doctor.PACKAGES, "numpy", "jaxlib", "ml_dtypes"} <= names
    assert not (tmp_path / "cache").exists()  # the doctor only looks


@needs_backend
def test_devices_and_the_folder_of_programs_are_shown(tmp_path):
    _, lines = run(CALQUE_CACHE=str(tmp_path / "cache"), CALQUE_CACHE_SIZE="500M")
    assert all(re.fullmatch(r".+ \(cpu\)", line) for line in section(lines, "devices"))
    disk = section(lines, "compiled programs on disk")
    assert disk == [str(tmp_path / "cache"), "0 programs of 0.0 MB, at most 524.3 MB"]
    _, lines = run(CALQUE_CACHE="off")
    assert section(lines, "compiled programs on disk") == ["none: CALQUE_CACHE is off"]


WITHOUT_BACKEND = """
import sys
sys.modules["calque_xla_backend"] = None  # as if it were not installed
from calque.doctor import main
sys.exit(main())
"""


def test_without_the_backend_it_says_so_and_nothing_is_wrong():
    status, lines = run("-c", WITHOUT_BACKEND)
    assert (status, lines[-1]) == (0, "nothing is wrong")
    assert section(lines, "devices") == [
        'none, and no jit: calque-xla-backend comes with pip install "calque-transforms[xla]"'
    ]


BROKEN_BACKEND = """
import sys
from importlib.machinery import ModuleSpec
class Broken:
    def find_spec(self, name, path=None, target=None):
        if name == "calque_xla_backend":
            return ModuleSpec(name, self)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        raise ImportError("jaxlib has no attribute 'x'")
sys.meta_path.insert(0, Broken())
from calque.doctor import main
sys.exit(main())
"""


def test_a_backend_that_cannot_be_imported_is_wrong():
    status, lines = run("-c", BROKEN_BACKEND)
    assert status == 1
    assert section(lines, "wrong") == ["jaxlib has no attribute 'x'"]


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("CALQUE_CACHE_DIR", "Did you mean CALQUE_CACHE?"),
        ("CALQUE_CAHCE", "Did you mean CALQUE_CACHE?"),
        (
            "CALQUE_XYZ_QWV",
            (
                "The variables are CALQUE_CACHE, CALQUE_CACHE_SIZE, CALQUE_COORDINATOR_ADDRESS, "
                "CALQUE_COORDINATOR_BIND_ADDRESS, CALQUE_NUM_PROCESSES, CALQUE_PROCESS_ID."
            ),
        ),
    ],
)
def test_an_unknown_variable_is_named(name, advice):
    status, lines = run(CALQUE_CACHE="off", **{name: "1"})
    assert status == 1
    assert section(lines, "wrong") == [f"{name} is set, but there is no such variable. {advice}"]


@needs_backend
def test_a_wrong_folder_a_wrong_bound_and_a_wrong_flag_are_named_at_once(tmp_path):
    tmp_path.chmod(0o777)
    status, lines = run(CALQUE_CACHE=str(tmp_path), CALQUE_CACHE_SIZE="many", XLA_FLAGS="--xla_no_such_flag=1")
    tmp_path.chmod(0o700)
    assert status == 1
    flag, size, folder = section(lines, "wrong")
    assert flag.startswith("XLA_FLAGS is '--xla_no_such_flag=1', for which XLA would end the process: Unknown flag")
    assert size == "CALQUE_CACHE_SIZE is 'many'; use a number of bytes, or a number with K, M, G or T."
    assert folder == f"other users may write to {tmp_path} (mode 777); `chmod 700` closes it."


@pytest.fixture
def installed(monkeypatch):
    """Return a function that makes the doctor see these versions, and these requirements of packages."""

    def pretend(versions, requirements):
        monkeypatch.setattr(doctor, "_version", versions.get)
        monkeypatch.setattr(doctor.importlib.metadata, "requires", lambda package: requirements.get(package, []))

    return pretend


def test_packages_of_different_minors_are_named(installed):
    installed({"calque-transforms": "0.1.3", "calque-core": "0.2.0"}, {"calque-transforms": ["calque-core<0.2,>=0.1"]})
    [fault] = doctor._versions().faults
    assert fault == (
        "calque-transforms 0.1.3 needs calque-core<0.2,>=0.1, but calque-core 0.2.0 is installed. Install versions "
        "that go together: pip install --upgrade calque-transforms calque-core."
    )


def test_a_jax_that_needs_another_jaxlib_is_named(installed):
    installed({"jax": "0.10.2", "jaxlib": "0.12.0.1"}, {"jax": ["jaxlib<=0.10.2,>=0.10.2", "opt_einsum"]})
    [fault] = doctor._versions().faults
    assert fault == (
        "jax 0.10.2 needs jaxlib<=0.10.2,>=0.10.2, but jaxlib 0.12.0.1 is installed. Install versions that go "
        "together: pip install --upgrade jax jaxlib."
    )


def test_requirements_that_hold_or_that_belong_to_an_extra_are_no_fault(installed):
    requirements = ["calque-core<0.2,>=0.1", "jaxlib>=9; extra == 'xla'", "numpy", "scipy>=1; python_version < '3'"]
    versions = {"calque-transforms": "0.1.0", "calque-core": "0.1.9", "jaxlib": "0.10.2", "numpy": "2.0"}
    installed(versions, {"calque-transforms": requirements})
    assert doctor._versions().faults == []


@pytest.mark.parametrize(
    ("version", "bound", "is_met"),
    [
        ("0.10.2", ">=0.10", True),
        ("0.9.2", ">=0.10", False),
        ("0.12.0.1", "<0.13", True),
        ("0.13", "<0.13", False),
        ("0.13.0", "<=0.13", True),
        ("2.0.0rc1", ">=2.0", True),
        ("1.0+cpu", "==1.0.0", True),
        ("1.1", "!=1.1", False),
        ("1.2", ">1.1", True),
        ("1.2", "~=5.0", True),
    ],
)
def test_versions_are_compared_as_numbers(version, bound, is_met):
    assert doctor._meets(version, bound) == is_met


def test_the_doctor_knows_every_variable_that_the_sources_read():
    sources = [Path(calque.__file__).parent]
    if backend := importlib.util.find_spec("calque_xla_backend"):
        sources += map(Path, backend.submodule_search_locations)
    texts = [path.read_text(encoding="utf-8") for source in sources for path in source.rglob("*.py")]
    names = {name for text in texts for name in re.findall(r"\"(CALQUE_[A-Z_]+)\"", text)}
    assert names == set(doctor.VARIABLES)


REPLACED = """
import sys
import calque
from calque import doctor
calque.__dict__.clear()  # the facade's own __init__.py is gone: another author's package has written its file there
sys.path.insert(0, {folder!r})
sys.exit(doctor.main())
"""


def test_another_authors_package_in_the_place_of_the_facade_is_wrong(tmp_path):
    info = tmp_path / "calque-0.3.0.dist-info"
    info.mkdir()
    (tmp_path / "calque").mkdir()
    (tmp_path / "calque" / "__init__.py").touch()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: calque\nVersion: 0.3.0\n")
    (info / "RECORD").write_text("calque/__init__.py,,\n")
    status, lines = run("-c", REPLACED.format(folder=str(tmp_path)), CALQUE_CACHE="off")
    assert status == 1
    words = r"The installed package calque 0\.3\.0 is another author's, and has the module calque in place of calque-tr"
    assert re.match(words, section(lines, "wrong")[0])


PLUGINS = """
import sys
from calque_xla_backend import register_plugin
register_plugin("chip", sys.executable)
from calque.doctor import main
sys.exit(main())
"""


@needs_backend
def test_a_plugin_that_does_not_start_is_wrong():
    status, lines = run("-c", PLUGINS, CALQUE_CACHE="off")
    assert status == 1
    reason = r"\S+ cannot be loaded: .*\. Install it again, for this system\."
    (plugin,), (fault,) = section(lines, "plugins"), section(lines, "wrong")
    assert re.fullmatch(f"chip: register_plugin, {reason}", plugin)
    assert re.fullmatch(f"the platform 'chip': {reason}", fault)
    assert all(line.endswith("(cpu)") for line in section(lines, "devices"))


@needs_backend
def test_a_malformed_variable_of_plugins_is_wrong():
    status, lines = run(CALQUE_CACHE="off", PJRT_NAMES_AND_LIBRARY_PATHS="chip")
    assert status == 1
    assert section(lines, "wrong")[0].startswith("PJRT_NAMES_AND_LIBRARY_PATHS has the entry 'chip'. Write name:path")
