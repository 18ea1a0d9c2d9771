import re
from pathlib import Path

import pytest

from calque_core import engine, extend

PAGE = (Path(__file__).parents[2] / "docs" / "extend.md").read_text(encoding="utf-8")
CODE = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))


@pytest.mark.parametrize("name", extend.__all__)
def test_the_page_of_the_floor_has_each_name_in_use(name):
    assert re.search(rf"\bextend\.{name}\b", CODE)


@pytest.mark.parametrize("name", extend.__all__)
def test_each_name_of_the_floor_has_an_example_of_its_own(name):
    assert name == "Shape" or ">>> " in getattr(extend, name).__doc__  # Shape is a type of Python's


def test_the_floor_stays_a_page_and_shares_no_name_with_the_engine():
    assert len(extend.__all__) <= 50
    assert not set(extend.__all__) & set(engine.__all__)
