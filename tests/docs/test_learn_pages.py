"""A page that is read, and not looked up, takes ten minutes, and each page of Learn has an exercise with a solution."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
TABLES = {"numpy_functions.md", "ranges.md"}  # looked up
WORDS = 1650  # about 1,600
TOC = re.compile(r"^```\{toctree\}\n:hidden:\n:caption: Learn\n\n(.*?)^```", re.MULTILINE | re.DOTALL)
LEARN = TOC.findall((DOCS / "index.md").read_text(encoding="utf-8"))[0].split()
ANSWERS = {"questions"}  # short answers, and no lesson


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_a_page_is_read_in_ten_minutes(page: Path) -> None:
    count = len(page.read_text(encoding="utf-8").split())
    assert count <= WORDS or page.name in TABLES, f"{count} words: divide the page, or shorten it"


@pytest.mark.parametrize("name", sorted(set(LEARN) - ANSWERS))
def test_a_page_of_learn_has_an_exercise_whose_solution_runs(name: str) -> None:
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert text.count("\n## Exercise\n") == 1
    exercise = text.split("\n## Exercise\n")[1]
    assert "\n*Solution.* " in exercise
    assert "```python\n" in exercise.split("\n*Solution.* ")[1]
