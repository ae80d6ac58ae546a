"""What is chosen within a budget, and what the figures' claims say of it: by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.papers import bp16_figures, brf15_figure3, budget_curves, cegb17_figure3
from benchmarks.papers.data import Parts
from benchmarks.papers.experiment import Comparison, Experiment
from benchmarks.papers.methods import CEGB, OPTIMAL

Point = tuple[float, float, float, float]


def points(*given: Point, **more: Any) -> pd.DataFrame:
    """Rows of a curve: valid cost, valid error, test cost, test error."""
    rows = [dict(zip(budget_curves.POINT, (float(k), *p), strict=True)) | more for k, p in enumerate(given)]
    return pd.DataFrame(rows)


def test_a_budget_buys_the_least_validation_error() -> None:
    """Of the points within the budget on validation data; test data have no say; of equals the cheaper."""
    at = points((1, 0.3, 1.1, 0.25), (2, 0.2, 2.5, 0.1), (3, 0.2, 2.9, 0.05), (4, 0.25, 3.0, 0.01), (9, 0.1, 9.0, 0.2))
    found = budget_curves.chosen(at, [0.5, 1.0, 3.5, 9.0])
    assert found["budget"].tolist() == [1.0, 3.5, 9.0]
    assert found["parameter"].tolist() == [0.0, 1.0, 4.0]
    assert found["test_cost"].tolist() == [1.1, 2.5, 9.0]


def test_means_are_over_repeats_and_settings_stand_together() -> None:
    """Two settings of a method compete in each repeat; a budget that one repeat cannot meet is left out."""
    frame = pd.concat(
        [
            points((1, 0.3, 1, 0.3), data="x", method="m", seed=0, lam=0.1),
            points((2, 0.2, 2, 0.2), data="x", method="m", seed=0, lam=0.2),
            points((2, 0.4, 3, 0.4), data="x", method="m", seed=1, lam=0.1),
            points((2, 0.5, 9, 0.9), data="x", method="m", seed=1, lam=0.2),
        ]
    )
    reached = budget_curves.by_budget(frame, {"x": [1, 2]})
    assert len(reached) == 1
    row = reached.iloc[0]
    assert (row["budget"], row["cost"], row["error"], row["repeats"]) == (2, 2.5, pytest.approx(0.3), 2)
    assert row["cost_sd"] == pytest.approx(math.sqrt(0.5))
    assert row["error_sd"] == pytest.approx(math.sqrt(0.02))


def test_figures_and_tables_of_what_was_reached() -> None:
    """One line a method in order of cost, points that repeat once; the table has a column a budget, and gaps where none fits."""
    frame = pd.concat([points((1, 0.3, 1, 0.3), (5, 0.1, 5, 0.1), data="x", method=m, seed=0) for m in ("m", "n")])
    reached = budget_curves.by_budget(frame, {"x": [1, 2, 5]})
    lines, spread = budget_curves.curves(reached)
    assert [line.method for line in lines] == ["m", "n"]
    assert lines[0].cost.tolist() == [1, 5]
    assert spread["m"].tolist() == [0, 0]
    assert list(budget_curves.figures(reached)) == ["x"]
    drawn = budget_curves.figures(reached)["x"].axes[0].lines  # a staircase for each method, and its points
    assert sorted({line.get_label() for line in drawn if not line.get_label().startswith("_")}) == ["m", "n"]
    table = budget_curves.error_at(reached, {"x": [0.5, 5]})
    assert table["5"].tolist() == ["10.00", "10.00"]
    assert table["0.5"].tolist() == [None, None]


class Stub:
    """A classifier with stages: after each stage one more of four examples is right, for one more unit."""

    _estimator_type = "classifier"

    def __sklearn_tags__(self) -> Any:
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression().__sklearn_tags__()

    def predict(self, X: Any) -> Any:
        return np.ones(len(X))

    def prediction_cost(self, X: Any) -> Any:
        return np.full(len(X), 3.0)

    def staged_predict(self, X: Any) -> Any:
        for k in (2, 1, 3):
            yield (np.arange(len(X)) < k).astype(float)

    def staged_cost(self, X: Any) -> Any:
        return np.array([1.0, 2.0, 3.0])


def test_rows_of_a_curve_are_those_that_validation_data_would_choose() -> None:
    """The second stage is worse for more, so it is left out; a part may have a loss of its own; the dearest always stays."""
    X = np.zeros((4, 1), dtype=np.float32)
    both = Parts(X, np.ones(4), X, np.ones(4), X, np.array([1.0, 0, 0, 0]))
    rows = budget_curves.curve_rows(Stub(), both)
    assert rows == [
        {"parameter": 1.0, "valid_cost": 1.0, "valid_error": 0.5, "test_cost": 1.0, "test_error": 0.25},
        {"parameter": 3.0, "valid_cost": 3.0, "valid_error": 0.25, "test_cost": 3.0, "test_error": 0.5},
    ]
    best, dearest = budget_curves.curve_rows(
        Stub(), both, losses=(lambda y, found: 1 - float(found[0]), lambda y, found: float(found.sum()))
    )
    assert (best["parameter"], best["valid_error"], best["test_error"]) == (1.0, 0.0, 2.0)
    assert dearest["parameter"] == 3.0


def test_kept_points_are_those_that_tables_need() -> None:
    """Two of five points are the best within some budget, one is the dearest on test data: claims see the same as from all."""
    at = points((1, 0.3, 1, 0.3), (2.5, 0.4, 2.5, 0.4), (2.6, 0.2, 2.6, 0.2), (2.7, 0.35, 3.9, 0.1), (2.8, 0.5, 2.8, 0.5))
    kept = budget_curves.reached_points(at, "miniboone")
    assert sorted(kept["parameter"]) == [0, 2, 3, 4]  # 4 is the dearest on validation data
    for frame in (at, kept):
        budgets = {"miniboone": budget_curves.BUDGETS["miniboone"]}
        seen = budget_curves.by_budget(frame.assign(data="miniboone", seed=0, method="m"), budgets)
        assert seen["error"].tolist() == [0.3] + [0.2] * 16
    assert budget_curves.reached_points(at, "yahoo") is at  # its budgets depend on all costs


def reached(**errors: list[float]) -> pd.DataFrame:
    """Curve rows on MiniBooNE: for each method an error at cost 5, 18 and 40 (budgets of the figure)."""
    frames = [
        points(*((c, e, c, e) for c, e in zip((5.0, 18.0, 40.0), values, strict=True)), data="miniboone", method=name, seed=0)
        for name, values in errors.items()
    ]
    return pd.concat(frames).assign(seconds=1.0, machine="here")


def compared(experiment: Experiment, frame: pd.DataFrame) -> dict[str, Comparison]:
    """The claims by name; each of them also stands in the notes."""
    found = {c.figure: c for c in experiment.compare(frame)}
    notes = experiment.present(frame).notes
    assert len(notes) == len(found)
    assert all(name in note and str(c.ours) in note for (name, c), note in zip(found.items(), notes, strict=True))
    return found


def named(experiments: tuple[Experiment, ...], name: str) -> Experiment:
    return next(e for e in experiments if e.name == name)


def test_a_duel_is_over_the_budgets_that_both_reach() -> None:
    """From 5 features on both are there, at 14 budgets; CEGB is 10 points ahead at the first 6, and even later on."""
    table = budget_curves.by_budget(
        reached(**{OPTIMAL: [0.2, 0.1, 0.1], CEGB: [0.1, 0.11, 0.11]}), {"miniboone": budget_curves.BUDGETS["miniboone"]}
    )
    ahead = budget_curves.duel(table, CEGB, OPTIMAL)
    assert ahead.to_numpy() == pytest.approx([10] * 6 + [0] * 8)
    (told,) = budget_curves.always(table, CEGB, OPTIMAL, "miniboone", "who wins", "always")
    assert (told.ours, told.holds) == ("CEGB errs less at 6 of 14 budgets, by +4.29 points on average", False)
    assert budget_curves.duel(table, CEGB, "nobody").empty
    assert budget_curves.always(table, CEGB, "nobody", "miniboone", "who wins", "always") == []


def test_figure_2_counts_who_errs_least() -> None:
    """18 features come within 0.1 point of 40 features' error; CEGB errs least at 5 to 15 features."""
    experiment = named(bp16_figures.EXPERIMENTS, "bp16_figure2")
    found = compared(experiment, reached(**{OPTIMAL: [0.2, 0.0999, 0.099], CEGB: [0.1, 0.11, 0.11]}))
    alike = found["MiniBooNE, BudgetPrune: features at the unpruned forest's error + 0.1 point"]
    assert (alike.published, alike.ours) == (18.0, 18.0)
    assert found["MiniBooNE, BudgetPrune: features of the unpruned forest"].ours == 40.0
    assert "CEGB errs less at 6 of 14" in str(found["MiniBooNE: CEGB against BudgetPrune"].ours)
    least = found["MiniBooNE: BudgetPrune against all, CEGB among them"]
    assert (least.ours, least.holds) == ("least error at 8 of 14 budgets, BudgetPrune most often", False)


def test_where_no_budget_comes_near_the_whole_forest_its_own_cost_counts() -> None:
    """No point within a budget up to 50 errs as little as the whole forest does at 60."""
    rows = points((5, 0.3, 5, 0.3), (60, 0.1, 60, 0.1), data="miniboone", method=OPTIMAL, seed=0)
    assert bp16_figures.alike_at(rows) == (60.0, 60.0)


def test_figure_5_counts_what_prices_cost() -> None:
    """CCP loses two points at each budget, BudgetPrune none: the sentence holds."""
    frame = reached(
        **{
            "BudgetPrune (uniform)": [0.2, 0.1, 0.1],
            "CCP (uniform)": [0.2, 0.1, 0.1],
            "BudgetPrune (non-uniform)": [0.2, 0.1, 0.1],
            "CCP (non-uniform)": [0.22, 0.12, 0.12],
        }
    )
    (told,) = compared(named(bp16_figures.EXPERIMENTS, "bp16_prices"), frame).values()
    assert "+0.00 points of BudgetPrune (at most 0.1 at 14 of 14 budgets), +2.00 points of CCP" in str(told.ours)
    assert told.holds


def test_figure_6_counts_the_better_forest() -> None:
    """Pairs wins where little is paid, entropy elsewhere; CCP is left out. Entropy is no dearer, so the sentence fails."""
    frame = reached(
        **{"BudgetPrune (entropy)": [0.2, 0.1, 0.1], "BudgetPrune (Pairs)": [0.1, 0.11, 0.11], "CCP (Pairs)": [0.01, 0.01, 0.01]}
    )
    (told,) = compared(named(bp16_figures.EXPERIMENTS, "bp16_criteria"), frame).values()
    starts = "unpruned entropy: cost 40.00, 10.00 %; Pairs: cost 40.00, 11.00 %"
    assert told.ours == f"{starts}; budgets of least error after pruning: entropy 8, Pairs 6"
    assert told.holds is False
    assert bp16_figures.unpruned(frame)["test_error"].tolist() == [0.1, 0.11]


def test_six_features_and_similar_performance_in_brf15() -> None:
    """BudgetRF errs 12 % with 5 features, CSTC 11 % with 20: the sentence fails; without CSTC there is none."""
    frame = reached(BudgetRF=[0.12, 0.1, 0.1], CSTC=[0.15, 0.11, 0.11], GreedyMiser=[0.122, 0.102, 0.102])
    found = compared(brf15_figure3.EXPERIMENT, frame)
    six = found["MiniBooNE: six features"]
    assert (six.ours, six.holds) == ("BudgetRF 12.00 % with 6 features; at best CSTC 11.00 %", False)
    assert found["MiniBooNE: GreedyMiser against BudgetRF"].holds  # 0.2 points
    assert "MiniBooNE: six features" not in compared(brf15_figure3.EXPERIMENT, frame[frame["method"] != "CSTC"])


def test_orders_of_growth_are_compared_at_both_prices_of_a_split() -> None:
    """Best-first is ahead everywhere where features cost, and behind everywhere where splits do, too."""
    prices = list(cegb17_figure3.PRICES)
    errors = {"best-first": ([0.1] * 3, [0.2] * 3), "breadth-first": ([0.2] * 3, [0.1] * 3)}
    frame = reached(**{f"{order} ({price})": e for order, both in errors.items() for price, e in zip(prices, both, strict=True)})
    found = list(compared(named(cegb17_figure3.EXPERIMENTS, "cegb17_figure3b"), frame).values())
    assert [c.holds for c in found] == [True, False]
    assert found[0].ours == "best-first errs less at 14 of 14 budgets, by +10.00 points on average"
    assert all(c.other_data for c in found)
