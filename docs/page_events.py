"""Functions that Sphinx calls for each page: they save work that it would do again for each of 1,400 names.

Read next: `conf.py`, which connects them.
"""

from __future__ import annotations

from typing import Any

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
