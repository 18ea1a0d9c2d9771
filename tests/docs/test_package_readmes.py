"""A package's README is shown by an index, away from the repository: it must read there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

PACKAGES = sorted((Path(__file__).parents[2] / "packages").iterdir())
LINK = re.compile(r"\]\(([^)]*)\)|^\[[^\]]*\]:\s*(\S+)|(?:href|src)=[\"']([^\"']*)", re.MULTILINE)
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def project(folder):
    return tomllib.loads((folder / "pyproject.toml").read_text())["project"]


def siblings(folder):
    """Return the folders of the packages of ours that a package needs, itself included."""
    folders = {project(other)["name"]: other for other in PACKAGES}
    needed = [folder]
    for each in needed:
        names = [dependency.split(">=")[0] for dependency in project(each)["dependencies"]]
        needed += [folders[name] for name in names if name in folders and folders[name] not in needed]
    return needed


@pytest.fixture(params=PACKAGES, ids=lambda folder: folder.name)
def folder(request):
    return request.param


def test_no_link_works_only_inside_the_repository(folder):
    links = [next(filter(None, groups)) for groups in LINK.findall((folder / "README.md").read_text())]
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def test_it_says_how_to_install_the_package(folder):
    text = (folder / "README.md").read_text()
    assert f"pip install {project(folder)['name']} " in text
    (checkout,) = re.findall(r"^pip install (packages/.*?) +#", text, re.MULTILINE)
    named = (
        set(PACKAGES) if checkout == "packages/*" else {PACKAGES[0].parent.parent / path for path in checkout.split()}
    )
    assert named >= set(siblings(folder))


def test_its_first_example_uses_the_package(folder):
    example = EXAMPLE.search((folder / "README.md").read_text())[1]
    [source] = (folder / "src").glob("*/__init__.py")
    name = source.parent.name
    assert re.search(rf"\b(?:import|from) {name}\b", example)
