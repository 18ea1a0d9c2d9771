"""The pages and docstrings use plain words, one form for each: readers have many first languages.

The table says what stands in the place of a word.  British spelling is for sentences; names of the API keep theirs
(`linearize`, `center`), and so do their stems in sentences about them (linearized, initializer, serialize, vectorize).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prose import MARK, SPAN, Line, lines, numbered, without

INSTEAD = {
    "utili[sz]e(?:s|d)?": "use",
    "leverag(?:e|es|ed|ing)": "use",
    "facilitat(?:e|es|ed|ing)": "help, let",
    "in order to": "to",
    "prior to": "before",
    "in terms of": "by, in",
    "due to": "because of",
    "as well as": "and",
    "via": "by, through",
    "thus|hence": "so",
    "furthermore|moreover": "also",
    "whilst|whereas": "while, but",
    "aforementioned|respectively": "the name itself",
    "simply|just|easily|obviously|of course|basically|actually": "nothing: the sentence says the same without it",
    "please": "nothing",
    "very|quite|really": "a number, or nothing",
    "powerful|seamless(?:ly)?|elegant(?:ly)?|blazing(?:ly)?|robust|state-of-the-art": "what it does, with a figure",
    "under the hood|out of the box": "inside; without settings",
    "those that|that which": "a noun",
    "the others|the rest": "a noun: the other operands",
    "e\\.g\\.|i\\.e\\.|etc\\.?|w\\.r\\.t\\.?": "for example; that is; and so on; with respect to",
    "(?:do|does|is|are|was|can|wo|would|should)n't": "the two words",
    "color(?:s|ed)?|behaviors?|neighbor(?:s|ing)?|centers?|grays?|favors?|learnt": "colour, behaviour, "
    "neighbour, centre, grey, favour, learned",
    "(?:optimi|normali|factori|generali|recogni|minimi|maximi|memoi|organi|summari|reali)z(?:e|es|ed|er|ers|ing|ation|"
    "ations)": "the form with s",
    "analyz(?:e|es|ed|ing)|modeling|label(?:ed|ing)|cancel(?:ed|ing)": "analyse, modelling, labelled, cancelled",
}
PLAIN = {re.compile(rf"(?<![\w{MARK}-])(?:{words})(?![\w-])", re.IGNORECASE): word for words, word in INSTEAD.items()}
PLAIN[re.compile("[\u2013\u2014]")] = "a colon, a comma or two sentences"

# Titles of papers, which are quoted as they are.
QUOTED = re.compile('"[^"]{20,}"|matrix factorizations, method')


def not_plain(found: tuple[Line, ...]) -> list[str]:
    return [
        f"{place}: {match[0]!r}; write {word}"
        for place, text in found
        for pattern, word in PLAIN.items()
        for match in pattern.finditer(QUOTED.sub("", text))
    ]


def test_sentences_are_in_plain_words() -> None:
    assert "\n".join(not_plain(lines())) == ""


@pytest.mark.parametrize(
    "text",
    ["We utilise it", "It is, e.g., one", "One \u2014 two", "Just one", "It doesn't", "the optimizer", "the colors"],
)
def test_a_word_that_is_not_plain_is_found(text: str) -> None:
    assert len(not_plain(tuple(numbered(Path("page.md"), 3, text)))) == 1


@pytest.mark.parametrize("text", ["linearized at the root", "an adjustment", "`optimizer` and `center`", "colour"])
def test_plain_words_and_names_pass(text: str) -> None:
    assert not_plain(tuple(numbered(Path("page.md"), 3, without(text, SPAN)))) == []
