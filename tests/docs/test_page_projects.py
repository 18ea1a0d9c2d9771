"""The package that a page shows is a package: its tests pass with core alone, and beside everything else."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from page_projects import files_of, importable, is_file, write_files

PAGE = Path(__file__).parents[2] / "docs" / "package_on_core.md"
CORE_ALONE = """
import sys
sys.modules |= {name: None for name in (
    "calque", "calque_autodiff", "calque_jet", "calque_batching", "calque_numpy", "calque_xla_backend", "jaxlib")}
"""
RUN_TESTS = """
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-W", "error", "-rs", "tests"]))
"""


def run_tests(folder: Path, before: str = "import sys") -> str:
    """Return the report of the tests of a project, in a process of its own."""
    code = f"{before}\nsys.path.insert(0, 'src')\n{RUN_TESTS}"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_files(PAGE.read_text(), tmp_path)
    return tmp_path


def test_the_tests_of_the_package_pass_with_core_alone(project: Path):
    report = run_tests(project, CORE_ALONE)
    assert "5 passed, 1 skipped" in report
    assert "derivatives and batches need calque" in report


def test_the_tests_of_the_package_pass_beside_all_packages(project: Path):
    assert "6 passed" in run_tests(project)


def test_the_project_asks_for_the_version_of_core_that_there_is():
    project = tomllib.loads(files_of(PAGE.read_text())["pyproject.toml"])["project"]
    ours = tomllib.loads((PAGE.parents[1] / "packages/autodiff/pyproject.toml").read_text())["project"]
    assert set(project["dependencies"]) == set(ours["dependencies"]) - {"calque-pytree>=0.1,<0.2"}
    assert project["requires-python"] == ours["requires-python"]


def test_files_are_found_by_their_first_line(tmp_path: Path):
    blocks = ["python\n# src/one/__init__.py\nx = 1\n", "python\n# a comment\ny = 2\n", "toml\n# a.toml\nz = 3\n"]
    text = "".join(f"```{block}```\n" for block in blocks)
    assert files_of(text) == {"src/one/__init__.py": "x = 1\n", "a.toml": "z = 3\n"}
    assert is_file("# src/one/__init__.py\nx = 1\n")
    assert not is_file("# a comment\ny = 2\n")
    write_files(text, tmp_path)
    with importable(tmp_path):
        assert __import__("one").x == 1
    assert "one" not in sys.modules
