"""Writes the pages of the reference: one page for each public function and class, and one for each module.

One idea: a page says where its name stands, and everything on it follows from the source: the signature, the docstring,
and the names that docstrings mention, which lead from page to page, both ways.

Sphinx reads the pages from `docs/reference/`, which git ignores.  Read next: `conf.py`, which calls `write_reference`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from reference_links import Links, both_ways, value_of
from reference_names import MODULES, Entry, Group, has_page, page_of, paths_by_value, read_modules
from reference_objects import Translate, described, is_error
from reference_text import roles, to_markdown, to_rst

from calque_core import Primitive, rule_matrix

FOLDER = Path(__file__).parent / "reference"
BESIDE = 8  # names of its group that a page links to


def write_reference() -> Links:
    """Write the pages of all modules into `docs/reference/`; pages of names that are gone vanish.

    A page that is as before is not written again, so that Sphinx does not read it again.
    """
    modules = read_modules()
    links, written = Links(modules), set[Path]()
    pages = {**module_pages(modules, links), **name_pages(modules, links)}
    pages |= {"rule_matrix.md": matrix_page(), "index.md": index_page(modules)}
    for name, lines in pages.items():
        written.add(write(FOLDER / name, lines))
    for path in [path for path in FOLDER.rglob("*.*") if path.is_file() and path not in written]:
        path.unlink()
    return links


def write(path: Path, lines: Iterator[str]) -> Path:
    """Write a page if its text is new, and return its path."""
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return path


# Pages of modules


def module_pages(modules: dict[str, list[Group]], links: Links) -> dict[str, Iterator[str]]:
    return {f"{path}.md": module_page(path, groups, links) for path, groups in modules.items()}


def index_page(modules: dict[str, list[Group]]) -> Iterator[str]:
    yield "# Reference"
    yield ""
    yield "Every public function and class has a page, with its shapes and errors, and mostly with an example. They are"
    yield "listed by module and, in a module, by subject."
    yield ""
    yield "| module | holds | names |"
    yield "| --- | --- | --- |"
    for path, groups in modules.items():
        yield f"| [`{path}`]({path}.md) | {MODULES[path]} | {sum(len(group.entries) for group in groups)} |"
    yield ""
    yield "[The rule matrix](rule_matrix.md) says which primitive has a rule for which transformation."
    yield ""
    yield from toctree([*modules, "rule_matrix"])


def matrix_page() -> Iterator[str]:
    """Yield the table of all primitives and kinds of rules, with the reasons of the holes."""
    yield "# The rule matrix"
    yield ""
    yield "`+` is a rule, or a decomposition into operations that have one; `.` is a declared hole, whose reason stands"
    yield "below the table; `-` is a missing rule. `calque_core.rule_matrix()` prints the same."
    yield ""
    yield "```text"
    yield rule_matrix()
    yield "```"


def module_page(path: str, groups: list[Group], links: Links) -> Iterator[str]:
    """Yield the page of a module: its names by subject, each with the first line of its docstring."""
    yield f"# {path}"
    yield ""
    yield f"{MODULES[path]}. {summary(importlib.import_module(path), path, links)}"
    yield ""
    for group in groups:
        title = group.title[:1].upper() + group.title[1:]
        if title:
            yield f"## {title}"
            yield ""
        entries = [e for e in group.entries if not isinstance(e.value, Primitive)]
        primitives = [e.name for e in group.entries if isinstance(e.value, Primitive)]
        if entries:
            yield "| name | |"
            yield "| --- | --- |"
            for entry in entries:
                yield f"| {link(entry)} | {summary(entry.value, entry.page.replace('/', '.'), links)} |"
            yield ""
        if primitives:
            yield "Primitives: " + ", ".join(f"`{name}`" for name in primitives) + "."
            yield ""


def link(entry: Entry) -> str:
    """Return a name as a link to its page, if it has one."""
    if isinstance(entry.value, ModuleType):
        target = entry.value.__name__
        return f"[`{entry.name}`]({target}.md)" if target in MODULES else f"`{entry.name}`"
    return f"[`{entry.name}`]({entry.page}.rst)" if has_page(entry.value) else f"`{entry.name}`"


def summary(value: Any, path: str, links: Links) -> str:
    """Return the first line of the docstring of a function, a class or a module of ours; a constant as its text."""
    if isinstance(value, ModuleType) or has_page(value):
        line = (inspect.getdoc(value) or "").strip().split("\n")[0]
        return to_markdown(line, partial(links.target, place=links.place_of(path)))
    return "NumPy's." if callable(value) else f"`{value!r}`".replace("|", "\\|")


# Pages of names


def name_pages(modules: dict[str, list[Group]], links: Links) -> dict[str, Iterator[str]]:
    """Return the page of each name, by its file: in the folder of the module that is first to have the value."""
    docstrings = {page: inspect.getdoc(value_of(page)) or "" for page in links.places}
    related = both_ways({page: links.mentions(place, docstrings[page]) for page, place in links.places.items()})
    paths = paths_by_value(modules)
    return {
        f"{entry.page}.rst": name_page(
            entry, group, translation(entry.page, links), paths[id(entry.value)], related.get(entry.page, [])
        )
        for path, groups in modules.items()
        for group in groups
        for entry in group.entries
        if has_page(entry.value) and entry.page == page_of(path, entry.name)
    }


def translation(page: str, links: Links) -> Translate:
    """Return the translation of the docstrings of a page."""
    return partial(to_rst, target=partial(links.target, place=links.places[page]))


def name_page(entry: Entry, group: Group, translate: Translate, paths: list[str], related: list[str]) -> Iterator[str]:
    """Yield the page of one name: its signature and docstring, and links to other names.

    The sidebar lists no names, since Sphinx would write the list of all names into the page of each.
    """
    path = entry.page.split("/")[0]
    yield ":orphan:"
    yield ""
    yield entry.name
    yield "=" * len(entry.name)
    yield ""
    yield from described(f"{path}.{entry.name}", entry.value, translate)
    yield ""
    if related:
        yield f"See also: {roles(related)}."
        yield ""
    if is_error(entry.value):
        yield f"`A program that raises it, and one that does not <../../errors.html#{entry.name.lower()}>`__."
        yield ""
    others = [each for each in paths if each != f"{path}.{entry.name}"]
    if others:
        yield "Other paths: " + ", ".join(f"``{each}``" for each in others) + "."
        yield ""
    beside = [e.page for e in neighbours(entry, group) if e.page not in related]
    subject = f", {group.title}" if group.title else ""
    yield f"In :doc:`{path} </reference/{path}>`{subject}{': ' if beside else ''}{roles(beside)}."


def neighbours(entry: Entry, group: Group) -> list[Entry]:
    """Return the names that stand next to one of them in a group, each page once; none if the group has no subject."""
    if not group.title:
        return []
    by_page = {e.page: e for e in group.entries if has_page(e.value)}
    entries = list(by_page.values())
    place = list(by_page).index(entry.page)
    first = max(0, min(place - BESIDE // 2, len(entries) - BESIDE - 1))
    return [e for e in entries[first : first + BESIDE + 1] if e.page != entry.page]


def toctree(pages: list[str]) -> Iterator[str]:
    yield "```{toctree}"
    yield ":hidden:"
    yield ""
    yield from pages
    yield "```"
