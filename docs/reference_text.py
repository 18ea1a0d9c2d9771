"""Translates docstrings, which are plain text with `code` in backticks, for the pages of the reference.

One idea: text is taken literally; only code spans and the names of error classes can become links, and `Links` says
which of them do.
Read next: `reference_objects.py`, which puts the docstring below its signature.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable

from reference_links import value_of

CODE = re.compile(r"(`+[^`]+`+)")
LABEL = re.compile(r"([A-Z]\w*(?: \w+)?:) ")
ERROR = re.compile(r"\b([A-Z]\w+Error)\b")
Target = Callable[[str], str | None]


def to_rst(docstring: str, target: Target) -> list[str]:
    """Return a docstring's lines as reStructuredText: examples as they are, everything else as text without markup."""
    paragraphs = re.split(r"\n\s*\n", docstring)
    return [line for paragraph in paragraphs for line in (*paragraph_to_rst(paragraph.split("\n"), target), "")]


def paragraph_to_rst(lines: list[str], target: Target) -> list[str]:
    """Return an example unchanged, and text as a line block in which each label (Shapes:, Raises:) opens a line."""
    if lines[0].lstrip().startswith(">>>"):
        indent = len(lines[0]) - len(lines[0].lstrip())
        return [line[indent:] for line in lines]
    block: list[str] = []
    for line in map(str.strip, lines):
        if block and not LABEL.match(line):
            block[-1] += " " + line
        else:
            block.append(line)
    return [f"| {labelled(line, target)}" for line in block]


def labelled(line: str, target: Target) -> str:
    """Return a line of text with the label that opens it in bold."""
    label = LABEL.match(line)
    return f"**{label[1]}** {escape(line[label.end() :], target)}" if label else escape(line, target)


def escape(text: str, target: Target) -> str:
    """Return `text` with its code spans as links or literals, and every other markup character taken literally."""
    parts = CODE.split(text)
    parts[::2] = [plain(part, target) for part in parts[::2]]
    parts[1::2] = [code(part.strip("`"), target(part.strip("`"))) for part in parts[1::2]]
    return "".join(parts)


def plain(text: str, target: Target) -> str:
    """Return text without code spans, in which the name of an error class of ours is a link."""
    parts = ERROR.split(text)
    parts[::2] = [re.sub(r"([\\*|_`])", r"\\\1", part) for part in parts[::2]]
    parts[1::2] = [code(part, page) if (page := target(part)) else part for part in parts[1::2]]
    return "".join(parts)


def code(text: str, page: str | None) -> str:
    """Return a code span: a link to the explanation of a name, or to the page of a module, or a literal."""
    if page is None:
        return f"\\ ``{text}``\\ "
    return f"\\ {role(text, page)}\\ "


def role(text: str, page: str) -> str:
    """Return the link to a page of the reference under a text, in code."""
    if "/" not in page:
        return f":doc:`{text} </reference/{page}>`"
    kind = "class" if inspect.isclass(value_of(page)) else "func"
    return f":py:{kind}:`{text} <{page.replace('/', '.')}>`"


def to_markdown(text: str, target: Target) -> str:
    """Return one line of a docstring for a table of a page in Markdown, its names as links."""
    parts = CODE.split(text)
    parts[1::2] = [f"[{part}]({file_of(page)})" if (page := target(part.strip("`"))) else part for part in parts[1::2]]
    return "".join(parts).replace("|", "\\|")


def file_of(page: str) -> str:
    """Return the file of a page, in the folder of the reference."""
    return f"{page}.rst" if "/" in page else f"{page}.md"


def roles(pages: Iterable[str]) -> str:
    """Return links to pages of names, separated by commas."""
    return ", ".join(role(page.split("/")[1], page) for page in pages)
