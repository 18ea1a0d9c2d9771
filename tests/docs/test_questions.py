"""A newcomer's ten questions: each is answered within two clicks of the first page.

One idea: a click is a link in the text of a page.  The sidebar and the search do not count, and neither does what the
first page includes from the README.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

DOCS = Path(__file__).parents[2] / "docs"
FIRST = "index.md"
CLICKS = 2
LINK = re.compile(r"\]\((\w+\.md)(?:#[\w-]+)?\)|^:link: (\w+)$", re.MULTILINE)  # the second is that of a card
BLOCK = re.compile(r"^```(?!\{grid)(.*?)^```", re.MULTILINE | re.DOTALL)  # code, and the table of contents


class Question(NamedTuple):
    """A question, the page that answers it, and words without which it would be no answer."""

    text: str
    page: str
    words: tuple[str, ...]


QUESTIONS = [
    Question(
        "How do I install it without a compiler?",
        "quickstart.md",
        (
            "works without the\ncompiler",
            "python -m pip install ./packages/{pytree,core,autodiff,jet,batching,linalg,special,signal,numpy,calque}",
        ),
    ),
    Question("How do I differentiate by a keyword argument?", "differentiation.md", ('grad(f, argnames="scale")',)),
    Question(
        "Why is my jit slow?",
        "reading_a_profile.md",
        ("## Why is it compiled again?", "calque.explain(", "calque.profile(", "cost_analysis()"),
    ),
    Question(
        "How do I print inside of a compiled function?",
        "debugging.md",
        ("## Print inside", 'calque.debug.print("x = {:.3f}, y = {:.3f}", x, y)'),
    ),
    Question(
        "What dtype is this?",
        "dtypes.md",
        ("`x.dtype` is known everywhere", "calque.typeof(single)", "scalars are *weak*"),
    ),
    Question(
        "How do I write a primitive of my own?",
        "your_own_primitive.md",
        ('Primitive("hypot")', "def_impl", "def_abstract_eval", 'def_rule("decomposition")'),
    ),
    Question("Where is jnp.linalg.solve?", "numpy_functions.md", ("| `linalg.solve` |",)),
    Question("Is the API stable?", "stability.md", ("may change anything that this page does not promise",)),
    Question("How do I index by an array under jit?", "indexing.md", ("jit(lambda x, i: x[i])", "at(words)[i].get()")),
    Question("How does grad work inside?", "tour.md", ("`grad` runs the linear program backwards", "transpose rule")),
]


def links(page: str, folder: Path = DOCS) -> set[str]:
    """Return the pages to which the text of a page links."""
    text = BLOCK.sub("", (folder / page).read_text(encoding="utf-8"))
    return {path or f"{card}.md" for path, card in LINK.findall(text)}


def within(clicks: int, folder: Path = DOCS) -> dict[str, list[str]]:
    """Return the pages within some clicks of the first page, each with the shortest way to it."""
    ways, last = {FIRST: [FIRST]}, [FIRST]
    for _ in range(clicks):
        last = [
            p for page in last for p in sorted(links(page, folder)) if ways.setdefault(p, [*ways[page], p])[-2] == page
        ]
    return ways


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_a_question_of_the_first_days_is_answered_within_two_clicks(question: Question) -> None:
    way = within(CLICKS).get(question.page)
    assert way is not None, f"{question.page} is more than {CLICKS} clicks from {FIRST}"
    text = (DOCS / question.page).read_text(encoding="utf-8")
    assert [words for words in question.words if words not in text] == []


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_the_page_of_questions_leads_to_the_answer(question: Question) -> None:
    sections = (DOCS / "questions.md").read_text(encoding="utf-8").split("\n## ")
    (answer,) = [section for section in sections if section.startswith(f"{question.text}\n")]
    assert f"]({question.page}" in answer


def test_only_links_in_the_text_are_clicks(tmp_path: Path) -> None:
    (tmp_path / FIRST).write_text("[a](one.md)\n```{toctree}\ntwo\n```\n```python\n'[b](two.md)'\n```\n")
    (tmp_path / "one.md").write_text("[c](three.md#part)")
    (tmp_path / "three.md").write_text("[d](four.md)")
    assert within(2, tmp_path) == {
        FIRST: [FIRST],
        "one.md": [FIRST, "one.md"],
        "three.md": [FIRST, "one.md", "three.md"],
    }
