"""What `nox -s release` asks of the files around the packages; the session itself builds and installs them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def release(monkeypatch):
    """Give the scripts of the release as modules, by their name."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "release"), *sys.path])
    yield importlib.import_module
    for name in ("checks", "metadata", "uploads", "upgrade"):
        sys.modules.pop(name, None)


def test_versions_changelogs_and_metadata_agree(release):
    assert list(release("checks").faults(dated=False)) == []


def test_a_package_with_another_minor_number_is_named(release):
    faults = list(release("checks").faults_of_versions({"core": "0.2.0", "jet": "0.1.3", "numpy": "0.2.1"}))
    assert faults == [
        "core has 0.2, jet has 0.1, numpy has 0.2: all packages share the minor number. Raise the lower ones."
    ]


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ("## 0.1.0 (2026-11-28)", "jet has version 0.1.1, but its changelog's first entry is of 0.1.0. Add an entry."),
        (
            "## 0.1.1 (unreleased)",
            "jet 0.1.1 is 'unreleased' in its changelog. Write the day of the release, as 2026-11-28.",
        ),
        ("", "jet has version 0.1.1, but its changelog's first entry is of . Add an entry."),
    ],
)
def test_a_changelog_of_another_version_or_without_a_date_is_named(release, entry, fault):
    assert list(release("checks").faults_of_changelog("jet", "0.1.1", f"# Changes\n\n{entry}\n")) == [fault]


def test_a_changelog_with_the_day_of_the_release_passes(release):
    assert list(release("checks").faults_of_changelog("jet", "0.1.1", "## 0.1.1 (2027-01-31)\n")) == []


def test_the_metadata_of_a_package_comes_from_one_place(release):
    metadata = release("metadata")
    text = (ROOT / "packages" / "core" / "pyproject.toml").read_text(encoding="utf-8")
    assert metadata.with_metadata(text, "core") == text
    other = text.replace("The calque developers", "Somebody").replace("example.org", "example.com")
    assert other != text
    assert metadata.with_metadata(other, "core") == text


def test_the_picture_of_the_index_page_needs_a_host(release, monkeypatch):
    metadata = release("metadata")
    empty = "<!-- picture -->\n<!-- end of the picture -->\n"
    assert metadata.with_picture(empty) == empty
    monkeypatch.setitem(metadata.PROJECT, "placeholder", False)
    monkeypatch.setitem(metadata.PROJECT, "host", "https://a.host/calque")
    shown = metadata.with_picture(empty)
    assert "](https://a.host/calque/raw/main/docs/gallery/neural_ode.png)" in shown
    assert metadata.with_picture(shown) == shown


def test_a_package_is_uploaded_after_the_packages_that_it_requires(release):
    needs = release("uploads").requirements()
    assert needs["calque-core"] == {"calque-pytree"}
    assert needs["calque-transforms"] >= {"calque-core", "calque-numpy", "calque-xla-backend"}
    assert not needs["calque-transforms"] & {"calque-sparse", "calque-bounds"}


def test_the_example_package_is_that_of_the_page(release):
    upgrade = release("upgrade")
    text, tag = upgrade.page_of_last_release()
    paths = [path for path, _ in upgrade.FILE.findall(text)]
    assert "pyproject.toml" in paths
    assert "tests/test_stencil.py" in paths
    assert tag == "" or tag.startswith("v")
