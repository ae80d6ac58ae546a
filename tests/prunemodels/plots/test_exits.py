"""The picture of a cascade shows its own figures, and its labels do not collide."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PolyCollection

import prunemodels as pm
from prunemodels.exits.stops import stops_of
from prunemodels.plots.exits import plot_exits
from tests.prunemodels.cascades import KINDS, Kind, case, middle


@pytest.mark.parametrize("kind", KINDS)
def test_bars_and_cells_are_the_stops(kind: Kind) -> None:
    """Bars are the shares of the rows by stage, cells the shares that bought an item, the line is the policy's mean cost."""
    known = case(kind)
    cascade = known.path.at_row(middle(kind))
    stops = stops_of(cascade, known.X, known.y)
    policies, bars, items, *_ = plot_exits(cascade, known.X, known.y).axes
    np.testing.assert_allclose([bar.get_width() for bar in bars.patches], stops.share())
    told = [label.get_text() for label in bars.get_yticklabels()]
    assert [int(text.removeprefix("stage ").split(",")[0]) for text in told] == stops.used.tolist()
    assert policies.get_lines()[0].get_xdata()[0] == pytest.approx(pm.evaluate(cascade, known.X, known.y).cost)
    if stops.bought.any():
        drawn = items.collections[0].get_array()
        place = {name: m for m, name in enumerate(stops.items.names)}
        columns = [place[label.get_text()] for label in items.get_xticklabels()]
        np.testing.assert_array_equal(drawn, stops.bought_by_then()[:, columns])
    assert plt.get_fignums() == []


def test_areas_are_the_shares_of_all_policies() -> None:
    """Stacked areas end at the share of the rows that stop by each stage, for every policy, in the order of cost."""
    known = case("sets")
    policies = plot_exits(known.path, known.X).axes[0]
    areas = [c for c in policies.collections if isinstance(c, PolyCollection)]
    cost = np.array([pm.evaluate(known.path.at_row(k), known.X, known.y).cost for k in range(len(known.path))])
    by_stage_0 = [np.mean(known.path.at_row(k).stop_stages(known.X) == 0) for k in range(len(known.path))]
    assert len(areas) == known.path.stages.n_stages
    corners = areas[0].get_paths()[0].vertices
    for x, y in zip(cost, by_stage_0, strict=True):
        assert np.isclose(corners, [x, y]).all(axis=1).any()


def test_a_budget_chooses_the_policy() -> None:
    """With a budget the policy within it is shown, of a path as of a cascade."""
    known = case("prunings")
    budget = float(known.path.cost[middle("prunings")])
    widths = [
        [bar.get_width() for bar in plot_exits(source, known.X, budget=budget).axes[1].patches]
        for source in (known.path, known.cascade, known.path.at_cost(budget))
    ]
    assert widths[0] == widths[1]
    assert len(widths[2]) == len(widths[0])


def test_other_things_are_refused() -> None:
    """What is neither a cascade nor a path is refused by its kind; unions are cached, so either kind may come first."""
    with pytest.raises(
        pm.errors.InvalidInputError, match=r"source is 3; give (an ExitPath or a Cascade|a Cascade or an ExitPath)"
    ):
        plot_exits(3, case("sets").X)  # type: ignore[arg-type]
