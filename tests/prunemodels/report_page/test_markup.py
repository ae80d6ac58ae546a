"""Markup from calls, and numbers in words."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prunemodels.evaluation import wording
from prunemodels.report_page.markup import Html, escape, join, name, table, tag
from tests.loops import looped
from tests.prunemodels.report_page.cases import Page


def test_text_is_escaped_and_markup_is_not() -> None:
    """Text between tags and in quotes cannot leave them; what is markup already stays."""
    assert tag("p", "a < b & c", title='say "hi" <b>') == '<p title="say &quot;hi&quot; &lt;b&gt;">a &lt; b &amp; c</p>'
    assert tag("p", tag("b", "x"), "<") == "<p><b>x</b>&lt;</p>"
    assert join("<", Html("<br>"), None, 3) == "&lt;<br>3"


def test_attributes() -> None:
    """A trailing underscore goes, others are hyphens; None and False leave the attribute out, True has no value."""
    made = tag("p", class_="c", aria_label="l", hidden=True, id=None, open=False, x=0)
    assert made == '<p class="c" aria-label="l" hidden x="0"></p>'
    assert tag("rect", x=1) == '<rect x="1"/>'
    assert tag("rect", tag("title", "t"), x=1) == '<rect x="1"><title>t</title></rect>'
    assert tag("meta", charset="utf-8") == '<meta charset="utf-8">'
    assert tag("td") == "<td></td>"


@pytest.mark.parametrize("text", ["\x00", "\x1b[0m", "\ud800", "\x9f", "\ufffe"])
def test_what_no_document_may_hold_is_replaced(text: str) -> None:
    """Control characters and half surrogates, in text and in attributes: the page can always be written as UTF-8."""
    made = tag("p", text, title=text)
    made.encode()
    assert made.count("\ufffd") == 2
    assert text not in made


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=20), st.text(max_size=20))
def test_a_parser_reads_back_what_was_written(text: str, quoted: str) -> None:
    """Any text, up to characters that may not be."""
    page = Page(tag("p", text, title=quoted))
    assert not page.problems
    [(element, attributes, _)] = page.elements
    assert element == "p"
    assert attributes["title"] == _normal(quoted)
    assert page.text("p") == _normal(text)


def _normal(text: str) -> str:
    from html import unescape

    return unescape(str(escape(text)))


def test_a_name_keeps_its_direction() -> None:
    """Isolated from the text around it."""
    assert name("<x>") == "<bdi>&lt;x&gt;</bdi>"


def test_a_table_names_its_cells() -> None:
    """Caption, column headers, row headers; the region that scrolls has the caption as its name and takes the focus."""
    made = table("C < D", ["h1", "h2"], [["r", 5]], id_="t")
    assert '<div class="scroll" role="region" tabindex="0" aria-labelledby="t-caption">' in made
    assert '<caption id="t-caption"><span>C &lt; D</span></caption>' in made
    assert '<thead><tr><th scope="col">h1</th><th scope="col">h2</th></tr></thead>' in made
    assert '<tr><th scope="row">r</th><td>5</td></tr>' in made


@looped(
    ("call", "text"),
    [
        (lambda: wording.amount(0), "0"),
        (lambda: wording.amount(41.3671), "41.37"),
        (lambda: wording.amount(-0.5), "\u22120.5"),
        (lambda: wording.amount(1234567.8), "1,234,568"),
        (lambda: wording.amount(-1234.4), "\u22121,234"),
        (lambda: wording.error(0.07512, "classification"), "7.51\u00a0%"),
        (lambda: wording.error(0.07512, "regression"), "0.07512"),
        (lambda: wording.change(0.0207, "classification"), "+2.07\u00a0points"),
        (lambda: wording.change(-0.0207, "classification"), "\u22122.07\u00a0points"),
        (lambda: wording.change(0.5, "regression"), "+0.5"),
        (lambda: wording.change(-0.5, "regression"), "\u22120.5"),
        (lambda: wording.change(0.0, "regression"), "0"),
        (lambda: wording.share(0.1234), "12.3\u00a0%"),
        (lambda: wording.share(0.5, 0), "50\u00a0%"),
        (lambda: wording.less(40, 24), "40\u00a0% less"),
        (lambda: wording.less(40, 38), "5.0\u00a0% less"),
        (lambda: wording.less(40, 44), "10\u00a0% more"),
        (lambda: wording.less(40, 40), "the same"),
        (lambda: wording.less(0, 0), "nothing to save"),
        (lambda: wording.count(1, "tree"), "1 tree"),
        (lambda: wording.count(1200, "tree"), "1,200 trees"),
        (lambda: wording.seconds(0.01234), "12.3\u00a0ms"),
        (lambda: wording.seconds(0.0000125), "12.5\u00a0\u00b5s"),
        (lambda: wording.size(1680000), "1.68\u00a0MB"),
        (lambda: wording.size(762_900), "762.9\u00a0kB"),
        (lambda: wording.exactly(Fraction(20)), "20"),
        (lambda: wording.exactly(Fraction(5679, 284)), "5679/284 \u2248 19.996479"),
        (lambda: wording.exactly(Fraction(1, 3**90)), f"\u2248 {float(Fraction(1, 3**90))!r}"),
    ],
)
def test_numbers_in_words(call, text: str) -> None:
    """Enough digits, a true minus sign, units that do not break from their numbers."""
    assert call() == text
