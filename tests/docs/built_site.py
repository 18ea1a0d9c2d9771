"""The site as `nox -s docs` builds it, read as files: its pages, and of each page the links, anchors and pictures.

One idea: generated pages have one form, attributes in double quotes, so that a regular expression reads all of them in
seconds.  Where no site is built, a run by nox fails, and a run by hand is skipped; both say the command.
Read next: `test_site.py`, which follows the links, and `test_browser.py`, which opens the pages.
"""

from __future__ import annotations

import os
import re
from functools import cache
from html import unescape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import pytest

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
ELSEWHERE = re.compile(r"[a-z]+:|//")  # https:, mailto:, data:
ATTRIBUTE = re.compile(r"""\s(id|href|src)="([^"]*)\"""")
PICTURE = re.compile(r"<img\s[^>]*>")
ALT = re.compile(r"""\salt="\s*[^"\s]""")


class Page(NamedTuple):
    """What one file says about links."""

    path: str  # below the site's folder
    anchors: frozenset[str]
    links: tuple[str, ...]  # pages, files and anchors of this site


def require_site() -> None:
    """Skip a test where no site is built; in nox, which builds it, fail."""
    if (SITE / "index.html").exists():
        return
    report = pytest.fail if "NOX_CURRENT_SESSION" in os.environ else pytest.skip
    report(f"There is no site in {SITE}: build it by `nox -s docs`, which runs these tests too.")


def page_paths(site: Path = SITE) -> list[str]:
    return sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html") if "_static" not in path.parts)


def is_page_of_a_name(path: str) -> bool:
    """Tell whether a page explains one public name, as about 1,400 pages do."""
    return bool(re.fullmatch(r"reference/.+/.+\.html", path))


@cache
def read_page(path: str, site: Path = SITE) -> Page:
    found = ATTRIBUTE.findall((site / path).read_text(encoding="utf-8"))
    links = {unescape(value) for kind, value in found if kind != "id"}
    anchors = frozenset(unescape(value) for kind, value in found if kind == "id")
    return Page(path, anchors, tuple(sorted(link for link in links if not ELSEWHERE.match(link))))


def broken_links(page: Page, site: Path = SITE) -> list[str]:
    """Return the links of a page that lead to no file of the site, or to no anchor of the file."""
    return [link for link in page.links if not is_there(page, link, site)]


def is_there(page: Page, link: str, site: Path) -> bool:
    path, _, anchor = link.partition("#")
    file = (site / page.path).parent / unquote(path.partition("?")[0]) if path else site / page.path
    if not file.is_file():
        return False
    if not anchor or file.suffix != ".html":
        return True
    target = Path(os.path.relpath(file, site)).as_posix()
    return unquote(anchor) in read_page(target, site).anchors


def pictures_without_text(path: str, site: Path = SITE) -> list[str]:
    return [tag for tag in PICTURE.findall((site / path).read_text(encoding="utf-8")) if not ALT.search(tag)]
