"""Sphinx settings.  The modules beside this file write the pages of the reference."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from page_events import share_sidebar
from reference_links import link_annotations
from reference_names import MODULES
from reference_pages import write_reference
from sphinx.errors import ExtensionError

project = "calque"
author = "The calque developers"
project_copyright = author
version = release = "0.1"

extensions = ["myst_parser", "sphinx_copybutton"]
exclude_patterns = ["_build"]
myst_heading_anchors = 2
myst_enable_extensions = ["attrs_block"]  # `{.doors}` above a list gives it a class of a file of html_css_files

# The theme.  Readers find pages and code; the pages' own sources would double the size of the site.
html_theme = "furo"
html_title = "calque"
html_logo = html_favicon = "_static/calque.svg"
html_static_path = ["_static"]
html_css_files = ["calque.css", "gallery.css"]
html_copy_source = False
html_use_index = False  # the reference lists names by subject
pygments_dark_style = "github-dark"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#14598a", "color-brand-content": "#14609a"},
    "dark_css_variables": {"color-brand-primary": "#6bb3e6", "color-brand-content": "#7bbcec"},
}
maximum_signature_line_length = 88  # a longer signature has one parameter a line

# The copy button takes the lines with prompts, without the prompts; from a block that has none, all lines.
copybutton_prompt_text = r">>> |\.\.\. ?|\$ "
copybutton_prompt_is_regexp = True


def check_origin() -> None:
    """Refuse packages from outside of the environment in a build by nox: pages describe the wheels that users install.

    Raises: ExtensionError with the place of the first such package.
    """
    for name in sorted({path.partition(".")[0] for path in MODULES}):
        place = importlib.import_module(name).__file__ or ""
        if "NOX_CURRENT_SESSION" in os.environ and not Path(place).is_relative_to(sys.prefix):
            raise ExtensionError(f"The pages would describe {name} in {place}, not the installed wheel.")


def run_examples() -> None:
    """Run the programs of the gallery that have changed since they ran, for their pictures and their output."""
    command = Path(__file__).parents[1] / "examples" / "run.py"
    if subprocess.run([sys.executable, command], check=False).returncode:  # noqa: S603, our own file
        raise ExtensionError("The pages of the gallery show what the programs of examples/ draw and print; see above.")


def setup(app: Any) -> None:
    """Run the gallery's programs, write the pages of the reference, and connect this file to Sphinx."""
    check_origin()
    run_examples()
    app.connect("doctree-read", partial(link_annotations, write_reference()))
    app.connect("html-page-context", share_sidebar, priority=400)  # the theme's own function has 500
