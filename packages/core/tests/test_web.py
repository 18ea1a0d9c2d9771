"""Programs as HTML: balanced tags, escaped text, an element for each program inside."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from calque_core import lax, make_jaxpr


class Page(HTMLParser):
    """The tags and the text of a page; the tags must close in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def page(program):
    return Page(make_jaxpr(program)(1.0)._repr_html_())


def test_a_straight_program_is_its_print():
    jaxpr = make_jaxpr(lambda x: lax.sin(x) * 2.0)(1.0)
    shown = Page(jaxpr._repr_html_())
    assert shown.tags == ["div"]
    assert shown.text.split() == str(jaxpr).replace(";", " ").replace(" lambda  ", " lambda ; ").split()


@pytest.mark.parametrize("depth", [1, 3])
def test_each_program_inside_is_an_element(depth):
    f = lax.sin
    for n in range(depth):
        f = lambda x, f=f, n=n: lax.cond(x > 0, f, lambda y: y * n, x)
    shown = page(f)
    assert shown.tags.count("details") == shown.tags.count("summary") == 2 * depth
    assert "branches[0]={ lambda ; " in shown.text


def test_texts_are_escaped():
    text = make_jaxpr(lambda x: lax.composite(lambda y: lax.sin(y), name="<b>&")(x))(1.0)._repr_html_()
    assert "&lt;b&gt;&amp;" in text
    assert "<b>" not in text
    assert "<b>&" in Page(text).text


def test_a_program_with_two_holders_is_shown_once():
    inner = make_jaxpr(lax.sin)(1.0)
    call = lambda x: lax.jit_p.bind(x, jaxpr=inner, name="inner", compiler=None)[0]
    shown = page(lambda x: call(call(x)))
    assert shown.tags.count("details") == 1
    assert shown.text.count("jaxpr=sin") == 2
