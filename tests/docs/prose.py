"""The sentences of pages, READMEs, changelogs and docstrings, without code, in lines that keep their number.

One idea: what is code is replaced by its empty lines, so that a finding has the line of the file.
Read next: `test_spelling.py` and `test_plain_words.py`, which read these sentences.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = ("*.md", "docs/*.md", "docs/gallery/*.md", "packages/*/*.md", "examples/*.md", "benchmarks/*.md")
SOURCES = ("packages/*/src/**/*.py", "docs/*.py", "examples/*.py", "noxfile.py", "conftest.py")

FENCE = re.compile(r"^ *(```+|:::+).*?^ *\1", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"(`+)[^`]+\1")
TARGET = re.compile(r"\]\([^)]*\)|https?://\S+|<!--.*?-->|<[^>\n]*>|^\{[^}]*\}$", re.DOTALL | re.MULTILINE)
DOCTEST = re.compile(r"^ *>>> .*?(?=^ *$|\Z)", re.DOTALL | re.MULTILINE)
MARK = "\N{BLACK SQUARE}"  # stands for code; a word may touch it, as in `f`-like
SHAPE = re.compile(r"\[[^\]\n]*\]")


class Line(NamedTuple):
    """A line of sentences, and its place for a report."""

    place: str
    text: str


@cache
def lines() -> tuple[Line, ...]:
    """Return all lines of sentences that the project has, pages first."""
    pages = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]
    sources = [path for pattern in SOURCES for path in sorted(ROOT.glob(pattern))]
    found = [line for path in pages for line in numbered(path, 1, without(path.read_text(), FENCE, SPAN, TARGET))]
    return (*found, *(line for path in sources for line in docstring_lines(path)))


def docstring_lines(path: Path) -> Iterator[Line]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            constant = node.body[0].value
            yield from numbered(path, constant.lineno, without(constant.value, DOCTEST, SPAN, SHAPE, TARGET))


def without(text: str, *patterns: re.Pattern[str]) -> str:
    """Return `text` with the matches of the patterns replaced by a mark and by their line breaks."""
    for pattern in patterns:
        text = pattern.sub(lambda match: MARK + "\n" * match[0].count("\n"), text)
    return text


def numbered(path: Path, first: int, text: str) -> Iterator[Line]:
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name
    return (Line(f"{name}:{number}", line) for number, line in enumerate(text.splitlines(), first) if line.strip())
