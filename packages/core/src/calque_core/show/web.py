"""Programs as a page: the HTML that a notebook shows.

One idea: the text is that of `print`, one equation on a row; a program inside it is an element that the reader opens.
All text is escaped.

Read next: `printing.py`, which makes the texts; `graph.py`, the program as a drawing.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.show.layout import Row, flatten_rows
from calque_core.show.naming import Options
from calque_core.show.printing import Block, Line, Param, Printer


def html_page(jaxpr: Jaxpr) -> str:
    """Return a program as HTML, with a closed `<details>` element for each program inside it.

    >>> from calque_core import lax, make_jaxpr
    >>> print(html_page(make_jaxpr(lax.sin)(1.0)))
    <div style="font-family: monospace; white-space: pre">{ lambda ; a:f64[]. let
        b:f64[] = sin a
      in (b,) }</div>
    """
    rows = [" " * row.indent + row.text for row in flatten_rows(_page(Printer(jaxpr, Options())))]
    return f'<div style="font-family: monospace; white-space: pre">{"".join(rows)[:-1]}</div>'


def _page(printer: Printer) -> Iterator[Any]:
    for name, block in printer.definitions:
        yield _details(f"let {name} = ", block, 0)
    yield _program(printer.main, 0)


def _row(indent: int, text: str) -> Row:
    return Row(indent, f"{escape(text)}\n")


def _program(block: Block, indent: int) -> Iterator[Any]:
    """Yield the rows of a program, and generators of rows for the programs inside it."""
    yield _row(indent, block.head)
    for line in block.lines:
        yield _equation(line, indent + 4)
    yield _row(indent + 2, block.tail)


def _equation(line: Line, indent: int) -> Iterator[Any]:
    """Yield the rows of an equation; one without programs has one row."""
    texts = " ".join(f"{name}={value}" for name, value in line.params if isinstance(value, str))
    programs = [(name, value) for name, value in line.params if not isinstance(value, str)]
    yield _row(indent, line.start + (f"[{texts}]" if texts else "") + line.end)
    for name, value in programs:
        yield from _parameter(name, value, indent + 2)


def _parameter(name: str, value: Param, indent: int) -> Iterator[Any]:
    """Yield the rows of a parameter with programs; one of several has its number."""
    if isinstance(value, Block):
        yield _details(f"{name}=", value, indent)
    for number, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, Block):
            yield _details(f"{name}[{number}]=", item, indent)
        else:
            yield _row(indent, f"{name}[{number}]={item}")


def _details(before: str, block: Block, indent: int) -> Iterator[Any]:
    """Yield the element of a program that is shown when the reader opens it; closed, it shows the arguments."""
    yield Row(0, f"<details><summary>{' ' * indent}{escape(before + block.head)} ...</summary>")
    yield _program(block, indent)
    yield Row(0, "</details>")
