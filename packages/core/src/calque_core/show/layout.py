"""Rows of text: both styles of printing make rows, and `page` turns rows into one text.

One idea: a row has an indentation and a place in the user's program; wrapping and comments come at the end, so that
both styles do without them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import GeneratorType
from typing import Any, NamedTuple

from calque_core.frames.source import Position, resolve

WIDTH = 80
_LEAST_WIDTH = 40  # of a deeply indented row: at WIDTH, each word would stand on its own row


class Row(NamedTuple):
    """A line of a print before it is wrapped."""

    indent: int
    text: str
    position: Position | None = None


def flatten_rows(generator: Iterator[Any]) -> Iterator[Row]:
    """Yield the rows of a generator that yields rows and further such generators, to any depth.

    >>> list(flatten_rows(x for x in (1, (y for y in (2, 3)), 4)))
    [1, 2, 3, 4]
    """
    stack = [generator]
    while stack:
        for item in stack[-1]:
            if isinstance(item, GeneratorType):
                stack.append(item)
                break
            yield item
        else:
            stack.pop()


def page(rows: Iterable[Row], *, wrap: bool, source_info: bool, name_stack: bool) -> str:
    """Return rows as one text, with comments on the rows that have a position.

    `source_info` adds the user's file and line, `name_stack` the names of the open scopes.
    """
    lines: list[str] = []
    comments: dict[int, str] = {}
    for row in rows:
        if row.position is not None and (source_info or name_stack):
            place, names = _place(row.position)
            comments[len(lines)] = ", ".join([place] * source_info + [f"in {names}"] * (name_stack and names != ""))
        lines += _wrap(row) if wrap else [" " * row.indent + row.text]
    column = max((len(lines[i]) for i in comments), default=0)
    for i, comment in comments.items():
        lines[i] = f"{lines[i]:<{column}}  # {comment}" if comment else lines[i]
    return "\n".join(lines)


@lru_cache(maxsize=1024, typed=True)  # a position of the backward pass equals the one of the forward pass
def _place(position: Position) -> tuple[str, str]:
    info = resolve(position)
    return str(info), "" if info is None else info.name_stack


def _wrap(row: Row) -> list[str]:
    """Return the lines of a row; a long row is broken between words."""
    if row.indent + len(row.text) <= WIDTH:
        return [" " * row.indent + row.text]
    return textwrap.wrap(
        row.text,
        max(WIDTH, row.indent + _LEAST_WIDTH),
        initial_indent=" " * row.indent,
        subsequent_indent=" " * (row.indent + 4),
        break_long_words=False,
        break_on_hyphens=False,
    )
