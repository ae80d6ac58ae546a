"""What a cascade's page is made of: stages, purchases, evidence, the rows by where they stop, and its pictures."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import prunemodels as pm
from prunemodels.cascades.evaluation import evaluate_exit_path, stops_of
from prunemodels.cascades.forest_exits import cascade_of
from prunemodels.plots.curves import ON_DARK, ON_LIGHT, draw_items
from prunemodels.plots.picture import axes_for
from prunemodels.report_page import pictures
from prunemodels.report_page.cascade import gather_cascade, stage_figures
from prunemodels.report_page.evidence import evidence_of_cascade, least_error
from prunemodels.report_page.payers import Item, purchases
from prunemodels.stages.judging import lost
from prunemodels.stages.set_stages import Constant, SetStages
from tests.loops import looped
from tests.prunemodels.cascade_cases import KINDS, Kind, case, middle
from tests.prunemodels.cascades.tables import learn_exits, margins, monotone_policies, random_table, tally, walk
from tests.prunemodels.report_page.cascade_cases import ITEMS, ROWS, TRUTH, facts_of, hand_cascade, hand_path, stages


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
    told = [facts_of(hand_cascade()).cells(s)[-1] for s in range(3)]
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


def test_weights_weigh_the_stages() -> None:
    """Of the hand-made rows 2 (stops at 0, wrong) counts six times: 8/13 stop there, 6/8 of them are wrong."""
    weights = np.where(np.arange(8) == 2, 6.0, 1.0)
    cascade = hand_cascade()
    seen = evaluate_exit_path(cascade, ROWS, TRUTH, sample_weight=weights)
    first, second, third = stage_figures(seen, cascade.policy_).itertuples()
    assert (first.stop, first.error, first.rows) == (pytest.approx(8 / 13), pytest.approx(6 / 8), 3)
    assert third.cost_so_far == pytest.approx((2 * 2 + 3 * 7) / 13 + 4)
    assert second.paid == 2
    stops = stops_of(cascade, ROWS, TRUTH, sample_weight=weights)
    np.testing.assert_allclose(stops.share(), [8 / 13, 2 / 13, 3 / 13])
    np.testing.assert_allclose(stops.error(), [6 / 8, 1 / 2, 1 / 3])
    np.testing.assert_allclose(stops.by_policy()[1], [8 / 13, 5 / 13, 0])


def test_purchases_by_hand() -> None:
    """Free columns are features without an item; shared items are bought once; what is paid once is marked."""
    age, visit, scan = purchases(stages(), ROWS.columns)
    assert (age.items, age.features, age.model, age.price) == ((), ("age",), ("Column", 1), 0)
    assert (visit.items, visit.features) == ((Item("visit", 2.0, False),), ("pulse", "pressure"))
    assert (scan.items, scan.features) == ((Item("scan", 5.0, False), Item("licence", 4.0, True)), ("scan",))
    assert scan.price == 5
    assert purchases(stages(), None)[1].features == ("x1", "x2")


def test_kinds_of_models() -> None:
    """A constant has no name, a pipeline that of its last step; a stage that reads less than those before buys nothing."""
    models = (Constant(np.array([0.5, 0.5])), make_pipeline(StandardScaler(), LogisticRegression()), LogisticRegression())
    read = (np.zeros(0, dtype=np.int64), np.arange(3), np.array([1]))
    found = purchases(SetStages(models, read, ITEMS, np.array([0, 1])), None)
    assert [p.model for p in found] == [("", 0), ("LogisticRegression", 3), ("LogisticRegression", 1)]
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
    facts = facts_of(hand_cascade(), ROWS, TRUTH)
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
    facts = facts_of(cascade, ROWS, TRUTH)
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
