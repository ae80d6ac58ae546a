"""Text in a page, and numbers in words."""

from __future__ import annotations

from fractions import Fraction

import pytest
from markupsafe import Markup

from prunemodels.report_page.page import bdi, first_names, printable, rounded_claim
from prunemodels.statements import wording
from tests.loops import looped


def test_names_are_escaped_and_isolated() -> None:
    """Markup in a name is text; of many names the first are shown, with how many more there are."""
    assert bdi("<x>") == "<bdi>&lt;x&gt;</bdi>"
    assert first_names(["<a>", "b"]) == "<bdi>&lt;a&gt;</bdi>, <bdi>b</bdi>"
    assert first_names(list("abcdefgh")).endswith("<bdi>f</bdi> and 2 more")
    assert [len(first_names("abcdef", most).split(", ")) for most in (6, 5, 4)] == [6, 6, 4]
    assert rounded_claim("gap 0.123456789 of 12") == "Gap 0.123457 of 12"


@pytest.mark.parametrize("text", ["\x00", "\x1b[0m", "\ud800", "\x9f", "\ufffe"])
def test_what_no_document_may_hold_is_replaced(text: str) -> None:
    """Control characters and half surrogates, in text and in markup: the page can always be written as UTF-8."""
    for made in (printable(text), printable(Markup("<p>") + text)):
        made.encode()
        assert made.count("\ufffd") == 1
        assert text not in made


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
        (lambda: wording.exactly(Fraction(20)), "20"),
        (lambda: wording.exactly(Fraction(5679, 284)), "5679/284 \u2248 19.996479"),
        (lambda: wording.exactly(Fraction(1, 3**90)), f"\u2248 {float(Fraction(1, 3**90))!r}"),
    ],
)
def test_numbers_in_words(call, text: str) -> None:
    """Enough digits, a true minus sign, units that do not break from their numbers."""
    assert call() == text
