"""Writes the pages of the reference: one page for each public function, class and module, and one for each module.

One idea: the `__all__` of a module says what is public, in groups under comments; the reference has the same names, in
the same groups.  So a new name has a page at once, and nothing here names a function.

Sphinx reads the pages from `docs/reference/`, which git ignores.  Read next: `conf.py`, which calls `write_reference`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from calque_core import Primitive, rule_matrix

FOLDER = Path(__file__).parent / "reference"

# The modules, as a reader looks for them.  A name that several have is explained where it comes first.
MODULES = {
    "calque_autodiff": "Derivatives",
    "calque_autodiff.checkpoint_policies": "What a checkpoint keeps",
    "calque_jet": "Taylor series",
    "calque_batching": "Maps over axes",
    "calque_xla_backend": "Compiled functions, device arrays",
    "calque_xla_backend.ffi": "Kernels",
    "calque_xla_backend.compilation_cache": "Compiled programs on disk",
    "calque_xla_backend.distributed": "Several processes",
    "calque_xla_backend.multihost": "Data of several processes",
    "calque_pytree": "Containers of arrays",
    "calque_core": "Types, primitives, traces, programs",
    "calque_core.lax": "Operations",
    "calque_core.lax.linalg": "Operations of linear algebra",
    "calque_core.config": "Settings",
    "calque_core.debug": "Printing and calls from inside",
    "calque_core.testing": "Checks of primitives and transformations",
    "calque_core.extend": "For authors of packages",
    "calque_core.extend.numpy_functions": "For authors of fronts",
    "calque_numpy": "NumPy's functions",
    "calque_numpy.linalg": "Linear algebra",
    "calque_numpy.fft": "Fourier transforms",
    "calque_numpy.random": "Random numbers",
    "calque_numpy.nn": "Neural networks",
    "calque_numpy.nn.initializers": "First values of parameters",
    "calque_numpy.segments": "Sums over segments",
    "calque_numpy.scipy.linalg": "Linear algebra by scipy's names",
    "calque_numpy.scipy.special": "Special functions by scipy's names",
    "calque.flatten_util": "Trees as vectors",
    "calque": "All under one name",
}
OTHERS = 8  # names of its group that a page links to


class Entry(NamedTuple):
    """A public name, and the page that explains its value."""

    name: str
    value: Any
    page: str  # of the name, or of the same value in a module before


class Group(NamedTuple):
    """Names of a module under one comment of its `__all__`."""

    title: str
    entries: list[Entry]


def write_reference() -> None:
    """Write the pages of all modules into `docs/reference/`; pages of names that are gone vanish."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    pages: dict[int, str] = {}  # by the id of the value: the page that explains it
    modules = {path: groups_of(path, pages) for path in MODULES}
    for path, groups in modules.items():
        write(FOLDER / f"{path}.md", module_page(path, groups))
        for group in groups:
            for entry in group.entries:
                if entry.page == page_of(path, entry.name) and has_page(entry.value):
                    write(FOLDER / f"{entry.page}.rst", name_page(path, entry, group))
    write(FOLDER / "rule_matrix.md", matrix_page())
    write(FOLDER / "index.md", index_page(modules))


def write(path: Path, lines: Iterator[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def page_of(path: str, name: str) -> str:
    """Return the page of a name, in a folder of its module."""
    return f"{path}/{name}"


def has_page(value: Any) -> bool:
    """Tell whether a value has a page: functions and classes of ours; NumPy explains its own, tables show constants."""
    is_definition = callable(value) and not isinstance(value, Primitive)
    return is_definition and str(getattr(value, "__module__", "")).startswith("calque")


# What is public, in groups


def groups_of(path: str, pages: dict[int, str]) -> list[Group]:
    """Return the public names of a module in the groups of its `__all__`."""
    module = importlib.import_module(path)
    groups = []
    for title, names in titled_names(module):
        values = [(name, getattr(module, name)) for name in names]
        groups.append(
            Group(title, [Entry(name, x, pages.setdefault(id(x), page_of(path, name))) for name, x in values])
        )
    return groups


def titled_names(module: ModuleType) -> list[tuple[str, list[str]]]:
    """Return the names in `__all__` with the comment above them; one group without a title if there is no comment."""
    if not hasattr(module, "__all__"):
        own = [name for name, x in vars(module).items() if getattr(x, "__module__", None) == module.__name__]
        return [("", [name for name in own if not name.startswith("_")])]
    source = inspect.getsource(module)
    node = next(n for n in ast.parse(source).body if isinstance(n, ast.Assign) and is_all(n))
    names = {(element.lineno, element.value) for element in node.value.elts}  # type: ignore[attr-defined]
    lines = source.splitlines()
    titles = {i: text.strip()[2:] for i, text in enumerate(lines, 1) if text.strip().startswith("# ")}
    titles = {i: text for i, text in titles.items() if node.lineno <= i <= (node.end_lineno or 0)}
    groups: dict[str, list[str]] = {}
    for line, name in sorted(names):
        above = [i for i in titles if i <= line]
        groups.setdefault(titles[above[-1]] if above else "", []).append(name)
    return list(groups.items())


def is_all(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets)


# Pages


def index_page(modules: dict[str, list[Group]]) -> Iterator[str]:
    yield "# Reference"
    yield ""
    yield "Every public function and class has a page, with its shapes, its errors and an example. They are listed by"
    yield "module and, in a module, by subject."
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


def module_page(path: str, groups: list[Group]) -> Iterator[str]:
    """Yield the page of a module: its names by subject, each with the first line of its docstring."""
    yield f"# {path}"
    yield ""
    yield f"{MODULES[path]}. {summary(importlib.import_module(path))}"
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
                yield f"| {link(entry, path)} | {cell(summary(entry.value))} |"
            yield ""
        if primitives:
            yield "Primitives: " + ", ".join(f"`{name}`" for name in primitives) + "."
            yield ""


def name_page(path: str, entry: Entry, group: Group) -> Iterator[str]:
    """Yield the page of one name: what autodoc says, and links to its neighbours.

    It is in autodoc's own markup: each block of it in a page of Markdown is a document, with all of Sphinx's settings.
    The sidebar lists no names, since Sphinx would write the list of all names into the page of each.
    """
    kind = "autoclass" if inspect.isclass(entry.value) else "autofunction"
    yield ":orphan:"
    yield ""
    yield entry.name
    yield "=" * len(entry.name)
    yield ""
    yield f".. {kind}:: {path}.{entry.name}"
    if kind == "autoclass":
        yield "   :members:"
    yield ""
    subject = f": {group.title}" if group.title else ""
    yield f"Of :doc:`{path} <../{path}>`{subject}."
    others = [e for e in neighbours(entry, group) if has_page(e.value)]
    if others:
        yield ""
        yield "Related: " + ", ".join(f":doc:`{e.name} <../{e.page}>`" for e in others) + "."


def neighbours(entry: Entry, group: Group) -> list[Entry]:
    """Return the names of a group that stand next to one of them, in their order."""
    place = group.entries.index(entry)
    first = max(0, min(place - OTHERS // 2, len(group.entries) - OTHERS - 1))
    return [e for e in group.entries[first : first + OTHERS + 1] if e is not entry]


def link(entry: Entry, path: str) -> str:
    if isinstance(entry.value, ModuleType):
        target = entry.value.__name__
        return f"[`{entry.name}`]({target}.md)" if target in MODULES else f"`{entry.name}`"
    return f"[`{entry.name}`]({entry.page}.rst)" if has_page(entry.value) else f"`{entry.name}`"


def summary(value: Any) -> str:
    """Return the first line of the docstring of a function, a class or a module of ours; a constant as its text."""
    if isinstance(value, ModuleType) or has_page(value):
        return (inspect.getdoc(value) or "").strip().split("\n")[0]
    return "NumPy's." if callable(value) else f"`{value!r}`"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def toctree(pages: list[str]) -> Iterator[str]:
    yield "```{toctree}"
    yield ":hidden:"
    yield ""
    yield from pages
    yield "```"
