"""The reference has a page for every public name, in the groups of its module."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest
from public_api import MODULES as WRITTEN_DOWN

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import reference_pages as reference  # noqa: E402  # the folder of the pages is no package


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    written, before = tmp_path_factory.mktemp("reference"), reference.FOLDER
    reference.FOLDER = written
    yield reference.write_reference() or written
    reference.FOLDER = before


# Other spellings of names that have pages, and modules that a guide describes.
WITHOUT_PAGES = {"calque.testing", "calque.tree", "calque.tree_util"}


def test_every_module_with_public_names_is_in_the_reference():
    assert set(WRITTEN_DOWN) - set(reference.MODULES) == WITHOUT_PAGES


def test_every_public_name_is_listed_once_in_its_module_and_has_a_page(folder):
    missing, repeated = [], []
    for path in reference.MODULES:
        text = (folder / f"{path}.md").read_text(encoding="utf-8")
        for name in getattr(importlib.import_module(path), "__all__", ()):
            count = len(
                re.findall(rf"^\| \[?`{re.escape(name)}`|^Primitives:.*`{re.escape(name)}`", text, re.MULTILINE)
            )
            (missing if count == 0 else repeated).extend([f"{path}.{name}"] * (count != 1))
    assert missing == []
    assert repeated == []


def files_of(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_every_link_of_the_reference_leads_to_a_page(folder):
    pages = {page.relative_to(folder).with_suffix("").as_posix() for page in files_of(folder)}
    links = []
    for page in files_of(folder):
        text = page.read_text(encoding="utf-8")
        targets = re.findall(r"\]\(([^)]+)\.(?:md|rst)\)", text) + re.findall(r":doc:`[^<`]+<([^>]+)>`", text)
        links += [(page.name, (page.parent / target).resolve().relative_to(folder.resolve())) for target in targets]
    broken = [(name, target) for name, target in links if target.as_posix() not in pages]
    assert broken == []
    assert len(pages) > 1000


def test_a_page_names_its_module_its_subject_and_its_neighbours(folder):
    page = (folder / "calque_core.lax" / "cumsum.rst").read_text(encoding="utf-8")
    assert ".. autofunction:: calque_core.lax.cumsum" in page
    assert "Of :doc:`calque_core.lax <../calque_core.lax>`: running reductions." in page
    assert ":doc:`cumprod <../calque_core.lax/cumprod>`" in page


def test_a_name_of_two_modules_has_one_page(folder):
    assert "(calque_autodiff/grad.rst)" in (folder / "calque.md").read_text(encoding="utf-8")
    assert not (folder / "calque" / "grad.rst").exists()


def test_the_matrix_has_every_primitive(folder):
    page = (folder / "rule_matrix.md").read_text(encoding="utf-8")
    assert re.search(r"^sin  +\+ +\+ +\+", page, re.MULTILINE)
    assert re.search(r"^shard_map  +\+", page, re.MULTILINE)
    assert "floor, transpose: " in page
