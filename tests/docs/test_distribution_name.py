"""The facade is distributed as calque-transforms: nothing of the repository tells a user to install `calque`.

That name belongs to another project on the index, so a command with it would install a stranger's package.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from calque_core.engine import FACADE

ROOT = Path(__file__).parents[2]
# What installs a distribution: a command, with options and other names; a name with an extra; a requirement.
COMMAND = re.compile(
    r"\b(?:pip3?|uv|pipx|poetry|conda) +(?:pip +)?(?:install|add|download)\b[^\n`#.]*?[ '\"]calque(?![-\w./])"
)
EXTRA = re.compile(r"(?<![-\w])calque\[\w")
REQUIREMENT = re.compile(r"(?<![-\w])calque *(?:[<>=!~]=|[<>]) *\d")
ADVICE = "Do not run `pip install calque`"  # the page that warns of it


def texts() -> dict[str, str]:
    """Return the texts of the repository that its users read, by their path."""
    files = [path for ending in ("md", "py", "toml", "txt", "html", "yml") for path in ROOT.rglob(f"*.{ending}")]
    hidden = {".git", ".nox", ".venv", "_build", "node_modules"}
    kept = [path for path in files if not hidden.intersection(path.relative_to(ROOT).parts[:-1])]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in kept if path != Path(__file__)}


def commands_in(text: str) -> list[str]:
    """Return what tells a reader to install the distribution `calque`."""
    text = text.replace(ADVICE, "")
    return [match[0] for pattern in (COMMAND, EXTRA, REQUIREMENT) for match in pattern.finditer(text)]


def test_nothing_says_to_install_the_name_of_another_project():
    found = texts()
    assert {"README.md", "noxfile.py", "packages/calque/pyproject.toml", "docs/names.md"} <= found.keys()
    assert {path: commands for path, text in found.items() if (commands := commands_in(text))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "pip install calque",
        "pip install --find-links dist calque",
        "python -m pip install numpy 'calque'",
        "uv add calque",
        'pip install "calque[xla]"',
        "needs calque>=0.1,<0.2",
        'test = ["calque==0.1"]',
    ],
)
def test_what_would_install_it_is_found(text):
    assert commands_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "pip install calque-transforms",
        "pip install ./packages/calque",
        "import calque",
        'pip install "calque-core>=0.1"',
    ],
)
def test_other_commands_are_not(text):
    assert commands_in(text) == []


def test_the_constant_of_core_is_the_name_of_the_project():
    project = tomllib.loads((ROOT / "packages" / "calque" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == FACADE


def test_the_sources_take_the_name_from_that_constant():
    places = [
        path
        for path, text in texts().items()
        if "/src/" in path and path.endswith(".py") and re.search(rf"[\"']{FACADE}[\"']", text)
    ]
    assert places == ["packages/core/src/calque_core/distributions.py"]
