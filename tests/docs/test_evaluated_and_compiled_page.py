"""Check that the page of evaluated and compiled functions shows the exceptions that their law makes."""

from __future__ import annotations

import runpy
from pathlib import Path

EXCEPTIONS = Path(__file__).parents[1] / "laws" / "other_answers.py"


def test_the_page_of_evaluated_and_compiled_functions_shows_the_exceptions_of_their_law():
    names = runpy.run_path(str(EXCEPTIONS))
    assert names["PAGE"].read_text() == names["page"](), "python tests/laws/other_answers.py writes the page"
