"""Sphinx settings.  The pages of the reference are written, and docstrings translated, by modules beside this one."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from reference_pages import write_reference
from reference_text import translate_docstring
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


def run_examples() -> None:
    """Run the programs of the gallery that have changed since they ran, for their pictures and their output."""
    command = Path(__file__).parents[1] / "examples" / "run.py"
    if subprocess.run([sys.executable, command], check=False).returncode:  # noqa: S603, our own file
        raise ExtensionError("The pages of the gallery show what the programs of examples/ draw and print; see above.")


def setup(app: Any) -> None:
    """Run the gallery's programs, write the pages of the reference, and connect the translation to autodoc."""
    run_examples()
    app.connect("autodoc-process-docstring", partial(translate_docstring, write_reference()))
