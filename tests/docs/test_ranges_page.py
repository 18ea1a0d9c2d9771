"""Check that the page of ranges shows the exceptions that the law of ranges makes."""

from __future__ import annotations

import runpy
from pathlib import Path

EXCEPTIONS = Path(__file__).parents[1] / "laws" / "ranges_exceptions.py"


def test_the_page_of_ranges_shows_the_exceptions_of_the_law():
    names = runpy.run_path(str(EXCEPTIONS))
    assert names["PAGE"].read_text() == names["page"](), "python tests/laws/ranges_exceptions.py writes the page"
