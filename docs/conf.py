"""Sphinx settings.  Docstrings of this project are plain text with `code` in backticks; `to_rst` translates them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from reference_pages import write_reference
from sphinx.errors import ExtensionError

project = "calque"
author = "The calque developers"
project_copyright = author
version = release = "0.1"

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
html_static_path = ["_static"]
html_css_files = ["gallery.css"]
html_theme = "furo"
html_title = "calque"
myst_heading_anchors = 2
myst_enable_extensions = ["attrs_block"]  # `{.gallery}` above a list gives it a class of gallery.css

autodoc_default_options = {"members": True, "imported-members": True}
autodoc_typehints_format = "short"
# Several packages have a name of the same spelling (Array); an annotation does not say which one to link to.
suppress_warnings = ["ref.python"]

CODE = re.compile(r"(`+[^`]+`+)")
LABEL = re.compile(r"[A-Z]\w*( \w+)?: ")


def to_rst(lines: list[str]) -> list[str]:
    """Return a docstring's lines as reStructuredText: examples as they are, everything else as text without markup."""
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines))
    return [line for paragraph in paragraphs for line in (*paragraph_to_rst(paragraph.split("\n")), "")]


def paragraph_to_rst(lines: list[str]) -> list[str]:
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
    return [f"| {escape(line)}" for line in block]


def escape(text: str) -> str:
    """Return `text` with its code spans as literals and every other markup character taken literally."""
    parts = CODE.split(text)
    parts[::2] = [re.sub(r"([\\*|_`])", r"\\\1", part) for part in parts[::2]]
    parts[1::2] = [f"\\ ``{part.strip('`')}``\\ " for part in parts[1::2]]
    return "".join(parts)


def translate_docstring(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Translate one docstring in place, as autodoc expects."""
    lines[:] = to_rst(lines)


def run_examples() -> None:
    """Run the programs of the gallery that have changed since they ran, for their pictures and their output."""
    command = Path(__file__).parents[1] / "examples" / "run.py"
    if subprocess.run([sys.executable, command], check=False).returncode:  # noqa: S603, our own file
        raise ExtensionError("The pages of the gallery show what the programs of examples/ draw and print; see above.")


def setup(app: Any) -> None:
    """Run the gallery's programs, write the pages of the reference, and connect the translation to autodoc."""
    run_examples()
    write_reference()
    app.connect("autodoc-process-docstring", translate_docstring)
