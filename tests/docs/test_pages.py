"""Run every Python block of the READMEs and of the documentation.

The blocks of a page share one namespace, from top to bottom.  A block with prompts is a doctest; one without is run.
A block that begins with a path is a file, which later blocks can import.
"""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from page_projects import importable, is_file, write_files

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


def run_page(page: Path) -> str:
    """Run the blocks of a page; return the text of the first output that differs, or an empty text."""
    text, namespace = page.read_text(), {"__name__": "page"}
    with tempfile.TemporaryDirectory() as folder, importable(Path(folder)):
        write_files(text, Path(folder))
        for block in python_blocks(text):
            if is_file(block.code):
                continue
            try:
                run_block(block, page, namespace)
            except doctest.DocTestFailure as failure:
                return explain(failure)
            except doctest.UnexpectedException as failure:
                raise failure.exc_info[1] from None
    return ""


def needs_a_process(page: Path) -> bool:
    """Tell whether a page begins with what a process does once: the number of devices, the name jax."""
    blocks = python_blocks(page.read_text())
    return bool(blocks) and ("config.cpu_devices(" in blocks[0].code or "import calque_as_jax" in blocks[0].code)


def run_alone(page: Path) -> str:
    """Run a page in a process of its own; return the process's report if it fails, or an empty text."""
    command = [sys.executable, "-W", "error", __file__, str(page)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return process.stderr if process.returncode else ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_do_what_the_page_says(page: Path) -> None:
    report = run_alone(page) if needs_a_process(page) else run_page(page)
    if report:
        pytest.fail(report, pytrace=False)


def test_blocks_are_found_with_their_place() -> None:
    assert python_blocks("a\n```python\nx = 1\n```\n```text\nno\n```\n") == [Block("x = 1\n", 2)]


def test_a_page_that_begins_with_devices_runs_alone_and_can_fail(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\n>>> import calque\n>>> calque.config.cpu_devices(2)\n>>> calque.device_count()\n2\n```\n"
    )
    assert needs_a_process(page)
    assert run_alone(page) == ""
    page.write_text(page.read_text().replace("\n2\n", "\n3\n"))
    assert run_alone(page).endswith("expected\n3\ngot\n2\n\n")


def test_a_wrong_output_on_a_page_fails() -> None:
    with pytest.raises(doctest.DocTestFailure):
        run_block(Block(">>> 1 + 1\n3\n", 0), ROOT / "README.md", {})


if __name__ == "__main__":
    sys.exit(run_page(Path(sys.argv[1])) or 0)
