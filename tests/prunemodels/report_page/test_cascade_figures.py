"""The pictures of pages, text and numbers in them, and what a cascade's page is made of."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from markupsafe import Markup
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from prunemodels.cascades.evaluation import evaluate_exit_path
from prunemodels.cascades.forest_exits import cascade_of
from prunemodels.evaluation.evaluate import ItemCost
from prunemodels.plots.curves import ON_DARK, ON_LIGHT, draw_items
from prunemodels.plots.picture import axes_for
from prunemodels.report_page import pictures
from prunemodels.report_page.cascade import gather_cascade, stage_figures
from prunemodels.report_page.evidence import evidence_of_cascade, least_error
from prunemodels.report_page.facts import gather, item_counts, spread
from prunemodels.report_page.page import bdi, first_names, printable, rounded_claim
from prunemodels.report_page.payers import Item, purchases
from prunemodels.stages.judging import lost
from prunemodels.stages.set_stages import BlendedStage, Constant, SetStages
from prunemodels.statements import wording
from prunemodels.statements.mean_bounds import ends_along
from tests.loops import looped
from tests.prunemodels.cascade_cases import KINDS, Kind, case, middle
from tests.prunemodels.cascades.tables import learn_exits, margins, monotone_policies, random_table, tally, walk
from tests.prunemodels.report_page.cascade_cases import ITEMS, ROWS, TRUTH, hand_cascade, hand_path, stages
from tests.prunemodels.report_page.cases import Page, classifier


def test_evidence_by_hand() -> None:
    """57/8 and 3/8 are the policy's own; the dearest optimal policy costs less and errs 1/8, which no policy does better."""
    e = evidence_of_cascade(hand_cascade())
    assert (e.cost, e.error, e.bound, e.row, e.lams, e.holds) == (
        Fraction(57, 8),
        Fraction(3, 8),
        Fraction(1, 8),
        None,
        None,
        True,
    )
    told = [gather_cascade(hand_cascade(), None, None).cells(s)[-1] for s in range(3)]
    assert told == ["0", "1.25", "7.125"]  # 5/8 of 2; and 3/8 of 5, with 4 for all


def test_rows_of_the_path_by_hand() -> None:
    """Prices of error 2/10 for who doubts and 1/6 for who does not: optimal below, between and above."""
    found = [evidence_of_cascade(cascade_of(hand_path()).at_row(k)) for k in range(3)]
    assert [e.row for e in found] == [0, 1, 2]
    assert [e.lams for e in found] == [(0, Fraction(1, 6)), (Fraction(1, 6), Fraction(1, 5)), (Fraction(1, 5), None)]
    assert [(e.cost, e.error) for e in found] == [(2, Fraction(1, 8)), (Fraction(5, 4), Fraction(1, 4)), (0, Fraction(1, 2))]
    assert all(e.bound == e.error for e in found)


@pytest.mark.parametrize("kind", KINDS)
def test_evidence_is_that_of_the_path(kind: Kind) -> None:
    """Of every row: its place, and its exact cost and error, which no policy beats."""
    known = case(kind)
    path = known.path
    for k in range(len(path)):
        cascade = known.cascade.at_row(k)
        e = evidence_of_cascade(cascade)
        assert (e.row, e.cost, e.error) == (k, path.closures.exact_cost[k], path.closures.exact_error[k])
        assert e.holds is True
        assert e.bound == e.error


@looped("seed", range(12))
def test_no_policy_beats_the_bound(seed: int) -> None:
    """Every monotone policy, counted row by row: none errs less than the bound at its own cost; rows of the path reach it."""
    table, truth, weights = random_table(seed, 11)
    weights = np.ones_like(weights)
    learned = learn_exits(table, truth, weights, doubt="margin", n_levels=3)
    path, doubt = learned.path, margins(table.value[:-1])
    loss = lost(table.value, truth)
    for go in monotone_policies(*learned.theta.shape):
        stops = walk(go, learned.theta, doubt)
        cost = tally(table, truth, weights, go, stops)[1]
        error = float(loss[stops, np.arange(table.n_rows)].mean())
        assert float(least_error(path, Fraction(cost).limit_denominator(10**6))) <= error + 1e-9
    for cost, error in zip(path.exact_cost, path.exact_error, strict=True):
        assert least_error(path, cost) == error


def test_a_budget_between_two_rows_has_a_bound() -> None:
    """The answer to a budget that no row of the path meets: no row, and a bound at or below its error."""
    known = case("prunings")
    path = known.path
    gaps = [(a, b) for a, b in itertools.pairwise(path.cost.tolist()[::-1]) if b > a]
    found = [evidence_of_cascade(known.cascade.at_cost((a + b) / 2)) for a, b in gaps]
    assert any(e.row is None for e in found)
    for e in found:
        assert e.holds is True
        assert e.bound <= e.error


@pytest.mark.parametrize("kind", KINDS)
def test_figures_of_stages_add_up(kind: Kind) -> None:
    """Who stops adds up to who comes, means by stage to those of the whole; the cost so far ends with the mean cost."""
    known = case(kind)
    policy = known.path.policy(middle(kind))
    seen = evaluate_exit_path(known.cascade, known.X, known.y)
    found = list(stage_figures(seen, policy).fillna(0).itertuples())
    assert sum(f.stop for f in found) == pytest.approx(1)
    assert [f.reach for f in found] == pytest.approx(np.cumsum([f.stop for f in found][::-1])[::-1])
    assert sum(f.stop * f.error for f in found) == pytest.approx(seen.mean_loss(policy))
    assert found[-1].cost_so_far == pytest.approx(seen.mean_cost(policy))
    once = seen.table.once[min(policy.last_stage, len(found) - 1)]
    assert sum(f.reach * f.paid for f in found) + once == pytest.approx(seen.mean_cost(policy))
    assert sum(f.rows for f in found) == len(known.y)
    assert (stage_figures(seen, policy).error.isna() == [f.rows == 0 for f in found]).all()


def test_purchases_by_hand() -> None:
    """Free columns are features without an item; shared items are bought once; what is paid once is marked."""
    age, visit, scan = purchases(stages(), ROWS.columns)
    assert (age.items, age.features, age.model, age.price) == ((), ("age",), ("Column", 1), 0)
    assert (visit.items, visit.features) == ((Item("visit", 2.0, False),), ("pulse", "pressure"))
    assert (scan.items, scan.features) == ((Item("scan", 5.0, False), Item("licence", 4.0, True)), ("scan",))
    assert scan.price == 5
    assert purchases(stages(), None)[1].features == ("x1", "x2")


def test_kinds_of_models() -> None:
    """A constant has no name, a pipeline that of its last step, a mean those of its parts; a stage that reads less than those
    before buys nothing.
    """
    scaled, plain = make_pipeline(StandardScaler(), LogisticRegression()), LogisticRegression()
    models = (Constant(np.array([0.5, 0.5])), scaled, BlendedStage((plain, scaled, DecisionTreeClassifier())))
    read = (np.zeros(0, dtype=np.int64), np.arange(3), np.array([1]))
    found = purchases(SetStages(models, read, ITEMS, np.array([0, 1])), None)
    assert [p.model for p in found] == [
        ("", 0),
        ("LogisticRegression", 3),
        ("mean of 2 LogisticRegression and DecisionTreeClassifier", 1),
    ]
    assert [p.items for p in found] == [(), (Item("visit", 2.0, False),), ()]
    assert found[2].features == ()


@pytest.mark.parametrize("kind", ["prunings", "numbers"])
def test_purchases_of_trees(kind: Kind) -> None:
    """Split by split: a stage's features are those of its splits that no earlier stage tests, its items what these need."""
    tree_stages = case(kind).path.stages
    e, items, first = tree_stages.ensemble, tree_stages.items, tree_stages.first_stage
    found = purchases(tree_stages, list("abcdefgh"))
    had: set[int] = set()
    paid: set[int] = set()
    for s, new in enumerate(found):
        splits = [h for h in range(e.n_nodes) if e.is_split[h] and first[h] == s]
        tested = {int(e.feature[h]) for h in splits} - had
        needed = {m for f in tested for m in items.needs[f] if items.prices[m] > 0} - paid
        had |= tested
        paid |= needed
        assert (new.splits, set(new.features)) == (len(splits), {"abcdefgh"[f] for f in tested})
        assert {item.name for item in new.items} == {items.names[m] for m in needed}
        assert new.model is None


def test_the_pictures_by_hand() -> None:
    """3/8, 2/8 and 3/8 stop; the visit is bought by the second stage on, scan and licence by the third."""
    facts = gather_cascade(hand_cascade(), ROWS, TRUTH)
    assert facts.on_rows is not None
    layers, bars, items = pictures.stops(facts, facts.on_rows)
    assert re.findall(r"> ?([\d.]+) %, [\d.]+ % wrong<", bars.svg) == ["37.5", "25", "37.5"]
    assert "25.0\u00a0% of the examples stop at stage 1; 37.5\u00a0% of the examples stop at stage 2." in bars.svg
    assert [n for n in re.findall(r">(\w+)</text>", items.svg) if n in ("visit", "scan", "licence")] == [
        "visit",
        "scan",
        "licence",
    ]
    assert "The chosen one costs 7.125" in layers.svg
    shades = facts.on_rows.stops.bought_by_then()[:, facts.on_rows.stops.staircase(9)]
    assert shades.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 1]]


def test_nothing_bought_is_said() -> None:
    """Where everything is free the bars stand alone, and one cost for all policies has no areas."""
    cascade = hand_cascade()
    cascade.stages_ = replace(cascade.stages_, items=pm.CostItems.plain([0, 0, 0, 0]))
    cascade.exit_path_ = replace(cascade.exit_path_, stages=cascade.stages_)
    facts = gather_cascade(cascade, ROWS, TRUTH)
    assert facts.on_rows is not None
    (bars,) = pictures.stops(facts, facts.on_rows)
    assert bars.caption == "Nothing that has a price was bought."


def test_pictures_follow_the_theme_and_name_items_as_tables_do() -> None:
    """No picture of a cascade stays on white: outside of areas, text and lines have the theme's colours; cells are blue as far as
    rows have bought. A discounted item has the name that it has in tables.
    """
    known = case("sets")
    facts = gather_cascade(known.cascade, known.X, known.y)
    assert facts.on_rows is not None
    drawn = [one.svg for one in pictures.stops(facts, facts.on_rows)]
    own = '#[0-9a-f]{6}(?=[;"])'
    text = [re.findall(f'<text[^>]*fill="({own})', svg) for svg in drawn]
    assert {colour for found in text for colour in found} <= {ON_DARK, ON_LIGHT}
    assert all("class=" not in svg and 'fill="white"' not in svg for svg in drawn)
    assert "var(--after)" in drawn[-1]
    ax = axes_for(None, (4, 3))
    stops = facts.on_rows.stops
    draw_items(ax, replace(stops, items=replace(stops.items, names=("shared:A", *stops.items.names[1:]))))
    names = {label.get_text() for label in ax.get_xticklabels()}
    assert "shared:A" not in names
    assert "first of group A" in names


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
    # every colour is a variable of the style sheet, and none has a style or an address of its own
    svg = pictures.tradeoff(facts).svg
    assert set(re.findall(r"var\(--([a-z]+)\)", svg)) <= set(pictures.ROLES.values())
    assert not re.search('#[0-9a-f]{6}"| style=|xlink|http', svg)


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
