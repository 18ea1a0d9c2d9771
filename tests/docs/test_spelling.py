"""Every word of the pages and docstrings is in the dictionary or in `words.txt`.

The list has terms of the field, names and British forms.  A word that the test does not know is mended, put into
backticks as code, or added to the list, which is sorted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from prose import MARK, SPAN, Line, lines, numbered, without

spellchecker = pytest.importorskip("spellchecker", reason="the docs session installs pyspellchecker")

LIST = Path(__file__).parent / "words.txt"
OURS = LIST.read_text(encoding="utf-8").split()
# Words of two letters or more; what has capitals inside, digits, a dot or a bracket behind it is a name of code.
WORD = re.compile(rf"(?<![\w{MARK}.\\/@=])(?<!--)[A-Za-z][a-z]+(?:'[a-z]+)?(?![\w(\\/=]|\.\w|'\w)")


def words(found: Iterable[Line]) -> dict[str, str]:
    """Return the words in lower case without a genitive's s, each with the first place that has it."""
    places: dict[str, str] = {}
    for place, text in found:
        for word in WORD.findall(text):
            places.setdefault(word.lower().removesuffix("'s"), place)
    return places


def unknown(places: dict[str, str]) -> set[str]:
    return spellchecker.SpellChecker().unknown(places)


def test_every_word_is_in_the_dictionary_or_in_the_list() -> None:
    places = words(lines())
    assert len(places) > 2500
    assert "\n".join(f"{places[word]}: {word}" for word in sorted(unknown(places) - set(OURS))) == ""


def test_the_list_is_sorted_and_has_no_word_of_the_dictionary() -> None:
    assert sorted(set(OURS)) == OURS
    assert sorted(set(OURS) - unknown(dict.fromkeys(OURS, ""))) == []


def test_a_misspelt_word_is_found_with_its_line_and_code_is_not_read() -> None:
    text = without("The `gradeint`\nof a functoin's value, f(x) in np.float32.", SPAN)
    places = words(numbered(Path("page.md"), 7, text))
    assert {word: places[word] for word in unknown(places)} == {"functoin": "page.md:8"}
