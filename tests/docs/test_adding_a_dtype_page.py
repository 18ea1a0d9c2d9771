"""The pages on short dtypes say what the table says: each column, each row, and the files that test them."""

from __future__ import annotations

import re
from pathlib import Path

from calque_core.engine import REFUSED_DTYPES, SHORT_DTYPES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adding_a_dtype.md").read_text(encoding="utf-8")
DTYPES = (ROOT / "docs" / "dtypes.md").read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    return text.split(f"\n## {title}\n")[1].split("\n## ", maxsplit=1)[0]


def test_the_page_explains_each_column_in_the_order_of_the_row() -> None:
    columns = re.findall(r"^\| `(\w+)` \|", section(PAGE, "The columns"), re.MULTILINE)
    assert columns == list(SHORT_DTYPES["bfloat16"]._fields)


def test_the_files_that_test_a_row_exist_and_take_their_cases_from_the_table() -> None:
    table = re.findall(r"^\| (`.*?) \|", section(PAGE, "What tests it"), re.MULTILINE)
    assert len(table) >= 5
    for cell in table:
        first, *others = re.findall(r"`(\S+\.py)`", cell)
        paths = [ROOT / first, *((ROOT / first).parent / name for name in others)]
        assert [path for path in paths if "SHORT_DTYPES" not in path.read_text(encoding="utf-8")] == []


def test_the_page_of_dtypes_has_each_short_dtype_and_how_it_prints() -> None:
    part = section(DTYPES, "Short dtypes")
    rows = [line for line in part.splitlines() if line.startswith("| `")]
    for name, row in SHORT_DTYPES.items():
        (line,) = [line for line in rows if f"`{name}`" in line and line.split("|")[2].strip().startswith("`")]
        assert f"`{row.printed}`" in line or "..." in line, name
    assert all(f"`{name}`" in part for name in REFUSED_DTYPES)
