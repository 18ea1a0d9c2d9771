"""Run every Python block of the READMEs and of the documentation.

The blocks of a page share one namespace, from top to bottom.  A block with prompts is a doctest; one without is run.
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
READMES = [ROOT / "README.md", *sorted(ROOT.glob("packages/*/README.md"))]
PAGES = [*READMES, ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class Block(NamedTuple):
    """A fenced block of Python, and the number of lines above it."""

    code: str
    line: int


def python_blocks(text: str) -> list[Block]:
    return [Block(match[1], text.count("\n", 0, match.start(1))) for match in PYTHON_BLOCK.finditer(text)]


def run_block(block: Block, page: Path, namespace: dict) -> None:
    if block.code.lstrip().startswith(">>>"):
        example = doctest.DocTestParser().get_doctest(block.code, namespace, page.name, str(page), block.line)
        doctest.DebugRunner(optionflags=OPTIONS).run(example, clear_globs=False)
        namespace.update(example.globs)
    else:
        # A user's program inherits no `from __future__` of this file.
        exec(compile("\n" * block.line + block.code, str(page), "exec", dont_inherit=True), namespace)


def explain(failure: doctest.DocTestFailure) -> str:
    example, line = failure.example, failure.test.lineno + failure.example.lineno + 1
    return f"{failure.test.filename}:{line}\n{example.source}expected\n{example.want}got\n{failure.got}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_do_what_the_page_says(page: Path) -> None:
    namespace = {"__name__": "page"}
    for block in python_blocks(page.read_text()):
        try:
            run_block(block, page, namespace)
        except doctest.DocTestFailure as failure:
            pytest.fail(explain(failure), pytrace=False)
        except doctest.UnexpectedException as failure:
            raise failure.exc_info[1] from None


def test_blocks_are_found_with_their_place() -> None:
    assert python_blocks("a\n```python\nx = 1\n```\n```text\nno\n```\n") == [Block("x = 1\n", 2)]


def test_a_wrong_output_on_a_page_fails() -> None:
    with pytest.raises(doctest.DocTestFailure):
        run_block(Block(">>> 1 + 1\n3\n", 0), ROOT / "README.md", {})
