"""The pictures of a page and their scale, text in it, and numbers in words."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from markupsafe import Markup
from scipy.stats import binomtest

import prunemodels as pm
from prunemodels.evaluation.evaluate import ItemCost
from prunemodels.report_page import pictures
from prunemodels.report_page.facts import gather, item_counts, spread
from prunemodels.report_page.page import bdi, first_names, printable, rounded_claim
from prunemodels.statements import wording
from prunemodels.statements.mean_bounds import ends_along
from tests.loops import looped
from tests.prunemodels.report_page.cases import Page, classifier


@pytest.fixture(scope="module")
def facts():
    case = classifier()
    solution = pm.solve(case.path.problem, budget=3, method="path", path=case.path)
    return gather(case.path, case.forest, case.X, case.y, chosen=solution, unit="\u20ac")


def test_spread_takes_the_ends_and_what_is_between() -> None:
    """Rows evenly over the cost, not over the rows."""
    cost = np.array([10.0, 9.99, 9.98, 9.97, 5.0, 0.0])
    assert spread(cost, 3) == [0, 4, 5]
    assert spread(np.array([1.0]), 5) == [0]


def test_figures_of_items_and_intervals_by_hand() -> None:
    """Of three items asked for one goes, and one is for a twentieth of the examples; Student's quantile of ten degrees: 2.228."""
    shares = [(1.0, 0.0), (1.0, 0.05), (0.5, 0.5), (0.0, 0.0)]
    items = [ItemCost(str(k), (), 2.0, False, b, a, 2 * b, 2 * a) for k, (b, a) in enumerate(shares)]
    assert item_counts([*items, ItemCost("evaluation of splits", (), None, False, None, None, 1.0, 0.0)]) == (3, 1, 1)
    ends = ends_along(np.array([3.0, 0.5]), np.array([0.5, np.nan]), 11, 0.95, shares=False)
    assert ends == pytest.approx(np.array([[3 - 1.114, 0.5], [3 + 1.114, 0.5]]), abs=5e-4)
    exact = [binomtest(k, 30).proportion_ci(0.95, "exact") for k in (0, 3)]
    ends = ends_along(np.array([0, 0.1]), np.array([0.0, 0.05]), 30, 0.95, shares=True)
    assert pytest.approx(np.array([[one.low, one.high] for one in exact])) == ends.T


def test_the_ceiling_leaves_out_the_cheapest_only() -> None:
    """The all-roots forest, at 0.5, would flatten the rest, which ends at 0.1; a chosen pruning is never left out."""
    cost, high = np.array([10.0, 5.0, 2.0, 1.0, 0.0]), np.array([0.05, 0.06, 0.1, 0.3, 0.5])
    assert [pictures.ceiling(cost, high, least) for least in (0.05, 0.2, 0.4)] == pytest.approx([0.125, 0.32, 0.5])
    assert pictures.ceiling(cost, np.full(5, 0.1), 0.1) == 0.1


def test_the_tradeoff_shows_every_mark(facts) -> None:
    """Unpruned and chosen with their figures, for readers who cannot see them too."""
    shown = Page(pictures.tradeoff(facts).svg)
    assert not shown.problems
    h = facts.held_out
    for name, cost in (("Unpruned", h.cost_before), ("The chosen pruning", h.cost_after)):
        assert f"{name}: cost {cost.mean:.4g}" in shown.text("desc")
        assert name[1:] in shown.text("text")
    assert f"{len(facts.path)} prunings" in shown.text("desc")


def test_colours_are_those_of_the_theme(facts) -> None:
    """Every colour of a themed picture is a variable of the style sheet, and none has a style or an address of its own."""
    shown = pictures.tradeoff(facts).svg
    assert set(re.findall(r"var\(--([a-z]+)\)", shown)) <= set(pictures.ROLES.values())
    assert not re.search('#[0-9a-f]{6}"| style=|xlink|http', shown)


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
