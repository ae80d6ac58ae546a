"""Scales, ticks and pictures."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import prunemodels as pm
from prunemodels.report_page.chart import Chart, legend, marker, ticks
from prunemodels.report_page.facts import Labels, gather
from prunemodels.report_page.tradeoff_charts import ceiling, held_out_chart, sample_chart, spread
from prunemodels.report_page.tree_charts import depth_chart, icicle, typical_tree
from prunemodels.report_page.usage_chart import usage_chart
from tests.prunemodels.report_page.cases import Page, classifier


@pytest.fixture(scope="module")
def facts():
    case = classifier()
    solution = pm.solve(case.path.problem, budget=3, method="path", path=case.path)
    return gather(
        case.path, case.forest, case.X, case.y, solution, sample_weight=None, confidence=0.95, labels=Labels(unit="\u20ac")
    )


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (10, [0, 2, 4, 6, 8, 10]),
        (41.4, [0, 10, 20, 30, 40]),
        (0.12, [0, 0.025, 0.05, 0.075, 0.1]),
        (1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (3, [0, 1, 2, 3]),
        (0, [0]),
        (float("inf"), [0]),
    ],
)
def test_ticks_are_round(most: float, expected: list[float]) -> None:
    """Multiples of 1, 2, 2.5 or 5 times a power of ten, up to the end and not beyond."""
    assert ticks(most) == expected


@given(st.floats(min_value=1e-9, max_value=1e9))
def test_there_are_a_few_ticks(most: float) -> None:
    """From three to six, whatever the range, none beyond it."""
    places = ticks(most)
    assert 3 <= len(places) <= 6
    assert places[0] == 0
    assert places[-1] <= most * (1 + 1e-9)


def test_scales() -> None:
    """0 is at the lower left corner of the axes, the most at the upper right; a range of nothing does not divide by 0."""
    chart = Chart(50.0, 0.2)
    assert (chart.x(0), chart.y(0)) == (46, 240)
    assert (chart.x(50), chart.y(0.2)) == (386, 26)
    assert Chart(0.0, 0.0).x(0) == 46


def test_lines_leave_out_what_nobody_sees() -> None:
    """A thousand points on a small picture become few; the last one stays."""
    chart = Chart(1.0, 1.0)
    line = chart.line([(k / 10_000, 0.5) for k in range(10_001)], "line")
    steps = re.findall(r"[ML]([\d.]+) ([\d.]+)", line)
    assert len(steps) <= 2 * 340 + 2
    assert steps[0] == ("46.0", "133.0")
    assert steps[-1] == ("386.0", "133.0")


def test_spread_takes_the_ends_and_what_is_between() -> None:
    """Rows evenly over the cost, not over the rows."""
    cost = np.array([10.0, 9.99, 9.98, 9.97, 5.0, 0.0])
    assert spread(cost, 3) == [0, 4, 5]
    assert spread(np.array([1.0]), 5) == [0]


def test_the_ceiling_leaves_out_the_cheapest_only() -> None:
    """The all-roots forest, at 0.5, would flatten the rest, which ends at 0.1; a chosen pruning is never left out."""
    cost, high = np.array([10.0, 5.0, 2.0, 1.0, 0.0]), np.array([0.05, 0.06, 0.1, 0.3, 0.5])
    assert ceiling(cost, high, 0.05) == pytest.approx(0.125)
    assert ceiling(cost, high, 0.2) == pytest.approx(0.32)
    assert ceiling(cost, high, 0.4) == 0.5
    assert ceiling(cost, np.full(5, 0.1), 0.1) == 0.1


def test_markers_differ_by_shape() -> None:
    """A diamond, a ring, a triangle, a dot: none by colour alone; a hint is the title of the mark."""
    shapes = {kind: re.sub(r'class="[^"]*"', "", marker(kind, 10, 10)) for kind in ("dot", "unpruned", "chosen", "relaxed")}
    assert len(set(shapes.values())) == 4
    for kind in shapes:
        assert "<title>a &lt; b</title>" in marker(kind, 10, 10, "a < b")
    assert 'aria-hidden="true"' in legend([(marker("dot", 14, 8), "text")])


def test_the_tradeoff_charts_show_every_mark(facts) -> None:
    """Unpruned, chosen, budget and relaxation, and what they mean in the legend and in the description."""
    shown = sample_chart(facts)
    for class_ in ("unpruned", "chosen", "relaxed", "budget", "line", "chord"):
        assert shown.count(f'class="{class_}"') >= 1, class_
    assert "optimum of the relaxation LP1" in shown
    page = Page(shown)
    assert not page.problems
    assert "Budget 3; the relaxation" in page.text("desc")
    held = held_out_chart(facts)
    for class_ in ("unpruned", "chosen", "line", "band", "whisker", "dot"):
        assert held.count(f'class="{class_}"') >= 1, class_
    assert "cost per prediction, \u20ac" in held


def test_without_a_budget_there_is_no_budget_line(facts) -> None:
    """Nor a relaxation."""
    shown = sample_chart(replace(facts, solution=None))
    assert 'class="budget"' not in shown
    assert 'class="relaxed"' not in shown


def test_a_budget_beyond_the_chart_is_in_the_legend_only(facts) -> None:
    """No line off the picture."""
    problem = facts.path.problem
    slack = pm.solve(problem, budget=1000, method="path", path=facts.path)
    shown = sample_chart(replace(facts, solution=slack))
    assert shown.count('class="budget"') == 1
    assert "the budget, 1,000" in shown


def test_the_bars_of_a_depth(facts) -> None:
    """One bar before at every depth and one after where splits are left, with the numbers as hints."""
    shown = depth_chart(facts)
    before, after = (shape.by_depth for shape in facts.shapes)
    legend_bars = 1
    assert shown.count('class="was-bar"') == (before > 0).sum() + legend_bars
    assert shown.count('class="now-bar"') == (after > 0).sum() + legend_bars
    assert f"depth 0: {before[0]:,} splits before, {after[0]:,} after" in shown


def test_the_icicle_draws_every_wide_split_once(facts) -> None:
    """The root over the whole width; as many boxes as splits, kept and pruned apart."""
    shown = icicle(facts)
    kept, gone = (re.search(rf'd="([^"]*)" class="{c}"', shown).group(1) for c in ("kept", "gone"))
    t = typical_tree(facts)
    ensemble, routing = facts.path.problem.ensemble, facts.path.problem.routing
    splits = np.arange(ensemble.n_nodes)[ensemble.nodes_of(t)][ensemble.is_split[ensemble.nodes_of(t)]]
    reached = (routing.stop - routing.start)[splits] > 0
    assert kept.count("z") == (facts.pruning.kept[splits] & reached).sum()
    assert gone.count("z") == (~facts.pruning.kept[splits] & reached).sum()
    assert kept.startswith("M0.4 1.0h398.2v")  # the root


def test_the_typical_tree_has_the_median_of_the_splits(facts) -> None:
    """As many trees are smaller as larger."""
    splits = facts.shapes[0].splits
    assert splits[typical_tree(facts)] == sorted(splits)[(len(splits) - 1) // 2]


def test_the_bars_of_usage_are_as_long_as_their_shares(facts) -> None:
    """240 units are 100 %."""
    shown = usage_chart(facts)
    widths = [float(w) for w in re.findall(r'width="([\d.]+)" height="18"', shown)]
    expected = [240 * b for pair in zip(facts.usage[0].bins, facts.usage[1].bins, strict=True) for b in pair]
    assert widths == pytest.approx(expected, abs=0.051)
