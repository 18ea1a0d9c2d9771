"""Every link of the built site leads to a page and an anchor, every picture has a text, no page names this machine."""

from __future__ import annotations

import pydoc
import re
import sys
from pathlib import Path

import pytest
from built_site import SITE, broken_links, page_paths, pictures_without_text, read_page, require_site

sys.path.insert(0, str(SITE.parents[1]))
sphinx_errors = pytest.importorskip("sphinx.errors", reason="the docs session installs Sphinx")
import conf  # noqa: E402  # the settings of Sphinx are in no package

SIGNATURE = re.compile(r'<dt class="sig.*?</dt>', re.DOTALL)


@pytest.fixture(scope="module", autouse=True)
def site():
    require_site()


def test_every_link_leads_to_a_file_and_an_anchor() -> None:
    broken = [f"{path}: {link}" for path in page_paths() for link in broken_links(read_page(path))]
    assert broken == []


def test_every_picture_has_a_text_in_its_place() -> None:
    assert [f"{path}: {tag}" for path in page_paths() for tag in pictures_without_text(path)] == []


def test_no_page_has_a_path_of_this_machine() -> None:
    places = [str(Path(__file__).parents[2]), sys.prefix, str(Path.home())]
    texts = {path: (SITE / path).read_text(encoding="utf-8") for path in page_paths()}
    assert [(path, place) for path, text in texts.items() for place in places if f"{place}/" in text] == []


def test_a_build_by_nox_takes_no_package_from_outside_of_its_environment(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.delenv("NOX_CURRENT_SESSION", raising=False)
    conf.check_origin()
    monkeypatch.setenv("NOX_CURRENT_SESSION", "docs")
    with pytest.raises(sphinx_errors.ExtensionError, match=r"calque in .*__init__.py, not the installed wheel"):
        conf.check_origin()


def test_a_link_without_page_or_anchor_and_a_picture_without_text_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="one">A</h1><a href="#one"></a><a class="x" href="#two"></a><a href="b.html"></a><a href="c.html"></a>'
        '<a href="folder/d.html#there"></a><a href="folder/d.html#gone"></a><a href="https://example.org/none"></a>'
        '<img src="p.png" alt=""><img src="q.png" alt="a curve">'
    )
    (tmp_path / "b.html").write_text("")
    (tmp_path / "q.png").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "d.html").write_text('<h2 id="there"></h2><a href="../a.html#one"></a>')
    found = {path: broken_links(read_page(path, tmp_path), tmp_path) for path in page_paths(tmp_path)}
    assert found == {"a.html": ["#two", "c.html", "folder/d.html#gone", "p.png"], "b.html": [], "folder/d.html": []}
    assert pictures_without_text("a.html", tmp_path) == ['<img src="p.png" alt="">']


def test_signatures_link_classes_of_ours_alone() -> None:
    texts = [(SITE / path).read_text(encoding="utf-8") for path in page_paths()]
    signatures = "".join(signature for text in texts for signature in SIGNATURE.findall(text))
    linked = set(re.findall(r'class="reference internal" href="[^"]*#([\w.]+)"', signatures))
    assert "calque_core.Jaxpr" in linked
    assert [name for name in linked if not isinstance(pydoc.locate(name), type)] == []
