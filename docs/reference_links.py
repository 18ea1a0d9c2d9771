"""Finds the page that a code span of a docstring means, and which pages mention each other.

One idea: a name means the same as in the source where it stands.  So a bare name is looked for in the module of the
docstring, then in the packages around it, then among Python's own, then in `calque`, then everywhere if it has one
meaning; a word that is a parameter or an attribute of the explained function or class is no name.
Read next: `reference_text.py`, which turns a docstring into a page.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import re
import sys
from collections import defaultdict
from typing import Any, NamedTuple

from reference_names import MODULES, Entry, Group, has_page, page_of
from sphinx.addnodes import pending_xref

import calque

NAME = re.compile(r"[A-Za-z_]\w+(\.[A-Za-z_]\w*)*")  # a single letter is mathematics, `.name` a member
CODE_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")


class Place(NamedTuple):
    """Where a docstring stands: its page, the module of the page, and the words that are its own."""

    page: str
    module: str
    own_words: frozenset[str]


class Links:
    """The pages by name, by module and by value, for the public names of the reference."""

    def __init__(self, modules: dict[str, list[Group]]) -> None:
        self.by_value: dict[int, str] = {id(calque): "calque"}
        self.by_module: dict[str, dict[str, str]] = {}
        self.by_name: dict[str, set[str]] = defaultdict(set)
        self.places: dict[str, Place] = {}
        for path in MODULES:
            self.by_value[id(importlib.import_module(path))] = path
        for path, groups in modules.items():
            entries = [entry for group in groups for entry in group.entries if has_page(entry.value)]
            self.by_module[path] = {entry.name: entry.page for entry in entries}
            for entry in entries:
                self.by_value[id(entry.value)] = entry.page
                self.by_name[entry.name].add(entry.page)
                if entry.page == page_of(path, entry.name):
                    self.places[entry.page] = Place(entry.page, path, own_words(entry))

    def place_of(self, dotted: str) -> Place:
        """Return the place of a public path of a name, a member of a class, or a module: `calque_core.lax.cumsum`."""
        module = max((path for path in MODULES if f"{dotted}.".startswith(f"{path}.")), key=len)
        name = dotted.removeprefix(module).lstrip(".").split(".")[0]
        return self.places.get(page_of(module, name)) or Place(module, module, frozenset())

    def target(self, span: str, place: Place) -> str | None:
        """Return the page that a code span means at a place, or None if it is no name or has several meanings."""
        if not NAME.fullmatch(span) or span in place.own_words:
            return None
        page = self.dotted(span) if "." in span else self.bare(span, place)
        return None if page == place.page else page

    def bare(self, name: str, place: Place) -> str | None:
        """Return the page of a name without a module before it."""
        parts = place.module.split(".")
        around = [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
        near = [self.by_module[path][name] for path in around if name in self.by_module.get(path, {})]
        if near and (not hasattr(builtins, name) or name in self.by_module[place.module]):
            return near[0]
        if hasattr(builtins, name):
            return None
        if name in dir(calque):
            return self.by_value.get(id(getattr(calque, name)))
        return next(iter(self.by_name[name])) if len(self.by_name.get(name, ())) == 1 else None

    def dotted(self, path: str) -> str | None:
        """Return the page of `lax.cumsum`, `calque_core.lax.cumsum`, `ShapedArray.update`; `numpy.` is NumPy itself."""
        first, *names = path.split(".")
        if first in ("numpy", "scipy", "jax"):
            return None
        if first in (module.split(".")[0] for module in MODULES):
            value: Any = importlib.import_module(first)
        elif first in dir(calque) or len(self.by_name.get(first, ())) == 1:
            value = getattr(calque, first) if first in dir(calque) else value_of(next(iter(self.by_name[first])))
        else:
            return None
        for name in names:
            owner, value = value, getattr(value, name, None)
            if inspect.isclass(owner) and value is not None:
                return self.by_value.get(id(owner))
        return self.by_value.get(id(value))

    def of_annotation(self, name: str, place: Place) -> str | None:
        """Return the page of a type that a signature names: the value of that name where the source defines it."""
        source = sys.modules[value_of(place.page).__module__]
        page = self.by_value.get(id(getattr(source, name, None)))
        return None if page == place.page else page

    def mentions(self, place: Place, docstring: str) -> list[str]:
        """Return the pages of names that a docstring mentions, in order, each once."""
        pages = (self.target(span, place) for span in CODE_SPAN.findall(docstring))
        return list(dict.fromkeys(page for page in pages if page and "/" in page))


def link_annotations(links: Links, app: Any, doctree: Any) -> None:
    """Let the types in the signatures of a page lead to their own pages; Sphinx would search all names for each."""
    place = links.places.get(app.env.docname.removeprefix("reference/"))
    for reference in list(doctree.findall(pending_xref)) if place else ():
        if reference["refdomain"] == "py" and not reference.get("refexplicit"):
            page = links.of_annotation(reference["reftarget"], place)
            if page is None or "/" not in page:
                reference.replace_self(reference.children)
            else:
                reference.attributes |= {"reftarget": page.replace("/", "."), "refspecific": False}


def value_of(page: str) -> Any:
    module, name = page.split("/")
    return getattr(importlib.import_module(module), name)


def own_words(entry: Entry) -> frozenset[str]:
    """Return the parameters of a function; the attributes of a class and the parameters of its methods."""
    if not inspect.isclass(entry.value):
        return frozenset({entry.name, *parameters(entry.value)})
    inspect.getmembers(entry.value)  # the methods of arrays are loaded at their first use
    members = [name for name in dir(entry.value) if not name.startswith("__") or name == "__init__"]
    words = {word for name in members for word in parameters(inspect.getattr_static(entry.value, name))}
    return frozenset({entry.name, *members, *words})


def parameters(value: Any) -> list[str]:
    function = getattr(value, "__func__", value)
    try:
        return list(inspect.signature(function).parameters) if callable(function) else []
    except (TypeError, ValueError):  # some classes of C
        return []


def both_ways(mentions: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return for each page the pages that it mentions, then the pages that mention it."""
    related = {page: list(pages) for page, pages in mentions.items()}
    for page, pages in mentions.items():
        for other in pages:
            if page not in related.setdefault(other, []):
                related[other].append(page)
    return related
