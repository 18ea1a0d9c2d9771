"""Functions that Sphinx calls for each page: they save work that it would do again for each of 1,400 names.

Read next: `conf.py`, which connects them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from docutils import nodes
from reference_names import has_page, read_modules
from sphinx import addnodes

SIDEBARS: dict[str, str] = {}  # by folder


def share_sidebar(_app: Any, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Compute the sidebar of a page that no sidebar lists once per folder, before the theme asks for it.

    Such pages, one for each name of the reference, have one sidebar per folder, with the same relative links; it took
    40 % of the build.
    """
    compute = context.get("toctree")
    if compute and "orphan" in (context.get("meta") or {}):
        folder = page.rpartition("/")[0]
        context["toctree"] = lambda **options: SIDEBARS.get(folder) or SIDEBARS.setdefault(folder, compute(**options))


def keep_types_of_ours(_app: Any, doctree: nodes.document) -> None:
    """Leave only classes of ours as references in signatures: `int` and `Callable` have no page.

    Sphinx would look for each of them among all names, in an eighth of the build, and take `bytes` for a field of that
    name.
    """
    for signature in doctree.findall(addnodes.desc_signature):
        for reference in list(signature.findall(addnodes.pending_xref)):
            if reference["reftarget"].rpartition(".")[2] not in public_classes():
                reference.replace_self(reference.children)


@cache
def public_classes() -> frozenset[str]:
    """Return the names of all classes that have a page."""
    entries = [entry for groups in read_modules().values() for group in groups for entry in group.entries]
    return frozenset(entry.name for entry in entries if isinstance(entry.value, type) and has_page(entry.value))
