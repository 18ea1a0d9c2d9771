"""Each dotted name of ours that a page writes as code, `calque.tree.map` or `calque_core.Primitive`, exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("docs/*.md")), ROOT / "README.md", *sorted(ROOT.glob("packages/*/README.md"))]
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(`+)(.+?)\1")
NAME = re.compile(r"(?<![\w./-])calque(?:_\w+)?(?:\.\w+)+(?![\w/])")


def names_of(text: str) -> set[str]:
    """Return the dotted names in the inline code of a page; files and the command `python -m` are no names."""
    spans = [span for _, span in SPAN.findall(BLOCK.sub("", text))]
    return {name for span in spans if "python -m" not in span for name in NAME.findall(span)}


def value_of(name: str) -> Any:
    """Return the value of a dotted name.  Raises: AttributeError if there is none."""
    path, *rest = name.split(".")
    value = importlib.import_module(path)
    for part in rest:
        path = f"{path}.{part}"
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = importlib.import_module(path)
            except ModuleNotFoundError:
                raise AttributeError(f"{name} has no part {part}") from None
    return value


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_name_of_ours_exists(page: Path) -> None:
    for name in sorted(names_of(page.read_text(encoding="utf-8"))):
        value_of(name)


def test_names_are_found_in_inline_code_alone() -> None:
    text = "`calque.grad(f)`, calque.no, `packages/calque.py`, `python -m calque.doctor`\n```python\ncalque.none\n```\n"
    assert names_of(text) == {"calque.grad"}
    with pytest.raises(AttributeError, match="gard"):
        value_of("calque.gard")
