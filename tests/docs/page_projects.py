"""The files that a page of the documentation shows: blocks whose first line is their path, `# src/stencil/cost.py`.

One idea: a page that shows a package is tested as that package.  `test_pages.py` imports the modules where the page
does, and a test of the page runs the tests that it shows.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILE_BLOCK = re.compile(r"^```(?:python|toml)\n# (\S+/\S+\.py|\S+\.toml)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def files_of(text: str) -> dict[str, str]:
    """Return the files that a page shows, by their path."""
    return {match[1]: match[2] for match in FILE_BLOCK.finditer(text)}


def is_file(code: str) -> bool:
    """Tell whether the code of a block is a file."""
    return bool(FILE_BLOCK.match(f"```python\n{code}```"))


def write_files(text: str, folder: Path) -> None:
    """Write the files that a page shows into a folder."""
    for path, code in files_of(text).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(code)


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Let a block import the modules in `folder/src`, and forget them at the end."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder / "src"))
    try:
        yield
    finally:
        sys.path.remove(str(folder / "src"))
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
                del sys.modules[name]
