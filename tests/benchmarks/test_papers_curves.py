"""What is chosen within a budget, what is matched at an error, and what the tables say of it: by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.papers import bp16_criteria, bp16_figure2, bp16_prices, bp16_table1, nws15_table1
from benchmarks.papers.budget_curves import POINT, by_budget, chosen, curve_rows, curves, error_at, figures
from benchmarks.papers.data import Parts
from benchmarks.papers.experiment import Scope
from benchmarks.papers.matched_levels import Level, level_by_validation, level_of, paired, split, targets
from benchmarks.papers.methods import CEGB, INDIVIDUAL, OPTIMAL
from benchmarks.papers.published import NWS15_TABLE_1

Point = tuple[float, float, float, float]


def points(*given: Point, **more: Any) -> pd.DataFrame:
    """Rows of a curve: valid cost, valid error, test cost, test error."""
    rows = [dict(zip(POINT, (float(k), *p), strict=True)) | more for k, p in enumerate(given)]
    return pd.DataFrame(rows)


def test_a_budget_buys_the_least_validation_error() -> None:
    """Of the points within the budget on validation data; test data have no say; of equals the cheaper."""
    at = points((1, 0.3, 1.1, 0.25), (2, 0.2, 2.5, 0.1), (3, 0.2, 2.9, 0.05), (4, 0.25, 3.0, 0.01), (9, 0.1, 9.0, 0.2))
    found = chosen(at, [0.5, 1.0, 3.5, 9.0])
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
    reached = by_budget(frame, {"x": [1, 2]})
    assert len(reached) == 1
    row = reached.iloc[0]
    assert (row["budget"], row["cost"], row["error"], row["repeats"]) == (2, 2.5, pytest.approx(0.3), 2)
    assert row["cost_sd"] == pytest.approx(math.sqrt(0.5))
    assert row["error_sd"] == pytest.approx(math.sqrt(0.02))
    apart = by_budget(frame, {"x": [2]}, by=["lam"])
    assert apart["lam"].tolist() == [0.1, 0.2]


def test_figures_and_tables_of_what_was_reached() -> None:
    """One line a method in order of cost, points that repeat once; the table has a column a budget, and gaps where none fits."""
    frame = pd.concat([points((1, 0.3, 1, 0.3), (5, 0.1, 5, 0.1), data="x", method=m, seed=0) for m in ("m", "n")])
    reached = by_budget(frame, {"x": [1, 2, 5]})
    lines, spread = curves(reached)
    assert [line.method for line in lines] == ["m", "n"]
    assert lines[0].cost.tolist() == [1, 5]
    assert spread["m"].tolist() == [0, 0]
    assert list(figures(reached)) == ["x"]
    drawn = figures(reached)["x"].axes[0].lines  # a staircase for each method, and its points
    assert sorted({line.get_label() for line in drawn if not line.get_label().startswith("_")}) == ["m", "n"]
    table = error_at(reached, {"x": [0.5, 5]})
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
    """The second stage is worse for more, so it is left out, unless everything is wanted."""
    X = np.zeros((4, 1), dtype=np.float32)
    both = Parts(X, np.ones(4), X, np.ones(4), X, np.array([1.0, 0, 0, 0]))
    rows = curve_rows(Stub(), both)
    assert rows == [
        {"parameter": 1.0, "valid_cost": 1.0, "valid_error": 0.5, "test_cost": 1.0, "test_error": 0.25},
        {"parameter": 3.0, "valid_cost": 3.0, "valid_error": 0.25, "test_cost": 3.0, "test_error": 0.5},
    ]
    assert len(curve_rows(Stub(), both, everything=True)) == 3


def shares(method: str, seed: int, curve: dict[float, tuple[float, float]], fold: int | None = None) -> list[dict[str, Any]]:
    """Rows of a path at shares: cost and error; share 0 is the unpruned forest."""
    return [
        {"data": "x", "seed": seed, "method": method, "fold": fold, "share": s, "cost": c, "error": e, "valid_error": e}
        for s, (c, e) in curve.items()
    ]


TOGETHER = {0.0: (10.0, 0.10), 0.2: (2.0, 0.20), 0.5: (5.0, 0.105), 0.6: (6.0, 0.10), 1.0: (10.0, 0.10)}
ALONE = {0.0: (10.0, 0.10), 0.2: (2.0, 0.30), 0.5: (5.0, 0.20), 0.9: (9.0, 0.10), 1.0: (10.0, 0.10)}


def test_levels_are_matched_errors() -> None:
    """Low: no more than the unpruned error; high: MiniBooNE's ratio, 0.0766 / 0.0725, as "x" is none of the paper's."""
    wanted = targets("x", 0.10)
    assert wanted["low"] == pytest.approx(0.10)  # the paper's ratio there is below 1
    assert wanted["high"] == pytest.approx(0.10 * 0.0766 / 0.0725)
    frame = pd.DataFrame(shares(OPTIMAL, 0, TOGETHER) + shares(INDIVIDUAL, 0, ALONE))
    unpruned, by_method = split(frame, "x")
    assert (unpruned["cost"] == 10).all()
    assert level_of(by_method[OPTIMAL], wanted["low"]).cost.tolist() == [6.0]
    assert level_of(by_method[OPTIMAL], wanted["high"]).cost.tolist() == [5.0]
    assert level_of(by_method[INDIVIDUAL], wanted["high"]).cost.tolist() == [9.0]
    assert level_of(by_method[INDIVIDUAL], 0.01).error.tolist() == [0.10]  # never reached: its least error
    assert targets("covtype426k", 1.0)["low"] == pytest.approx(0.1135 / 0.1122)


def test_levels_are_of_means_and_spread_over_runs() -> None:
    """The share is chosen by the mean over repeats; cost and error of all runs at it are kept."""
    other = {s: (c + 2, e + 0.1) for s, (c, e) in TOGETHER.items()}
    frame = pd.DataFrame(shares(OPTIMAL, 0, TOGETHER) + shares(OPTIMAL, 1, other))
    _, by_method = split(frame, "x")
    found = level_of(by_method[OPTIMAL], 0.155)
    assert isinstance(found, Level)
    assert found.cost.tolist() == [5.0, 7.0]
    assert found.error.tolist() == [0.105, pytest.approx(0.205)]


def test_levels_by_validation_are_chosen_in_each_repeat() -> None:
    """Test errors have no say: here they are the opposite of the validation errors."""
    rows = shares(OPTIMAL, 0, TOGETHER)
    for row in rows:
        row["error"] = 1 - row["valid_error"]
    unpruned, by_method = split(pd.DataFrame(rows), "x")
    found = level_by_validation(by_method[OPTIMAL], unpruned, "x")
    assert found["low"].cost.tolist() == [6.0]
    assert found["high"].cost.tolist() == [5.0]
    assert found["high"].error.tolist() == [0.895]


def test_the_paired_count_goes_over_the_whole_curve() -> None:
    """At 21 errors from 0.1 to 0.1057: 6 or 5 against 9 each time, so together is cheaper in all of them."""
    frame = pd.DataFrame(shares(OPTIMAL, 0, TOGETHER) + shares(INDIVIDUAL, 0, ALONE))
    row = paired(frame).iloc[0]
    assert row[["pairs", "ensemble cheaper", "equal", "individual cheaper", "not reached by both"]].tolist() == [21, 21, 0, 0, 0]
    low = 18 / 21  # 0.105 is reached by the last three of the 21 errors
    assert row["mean cost ratio"] == pytest.approx(low * 6 / 9 + (1 - low) * 5 / 9)
    turned = pd.DataFrame(shares(OPTIMAL, 0, ALONE) + shares(INDIVIDUAL, 0, TOGETHER))
    assert paired(turned).iloc[0]["individual cheaper"] == 21
    same = pd.DataFrame(shares(OPTIMAL, 0, ALONE) + shares(INDIVIDUAL, 0, ALONE))
    assert paired(same).iloc[0]["equal"] == 21
    worse = {s: (c, e + (0.5 if s else 0)) for s, (c, e) in ALONE.items()}
    assert paired(pd.DataFrame(shares(OPTIMAL, 0, TOGETHER) + shares(INDIVIDUAL, 0, worse))).iloc[0]["not reached by both"] == 21
    assert paired(pd.DataFrame(shares(OPTIMAL, 0, TOGETHER))).empty


def test_table_1_says_where_individual_pruning_wins() -> None:
    """The verdict below the table follows the count, whichever way it goes; data of the paper have its lines below ours."""
    frame = pd.DataFrame(shares(OPTIMAL, 0, TOGETHER) + shares(INDIVIDUAL, 0, ALONE))
    scope = Scope(("x",), 1)
    good = nws15_table1.present(frame, scope)
    assert "in every repeat, pruning together is cheaper" in good.notes[0]
    bad = nws15_table1.present(pd.DataFrame(shares(OPTIMAL, 0, ALONE) + shares(INDIVIDUAL, 0, TOGETHER)), scope)
    assert "cheaper somewhere on: x" in bad.notes[0]
    table = good.tables["table1"]
    assert table["ens.pru.low"].tolist() == ["6.00", "60.0", "0.1000"]
    assert table["ind.pru.high"].tolist() == ["9.00", "90.0", "0.1000"]
    assert len(good.tables["matched_on_validation"]) == 3
    theirs = nws15_table1.table(frame.assign(data="sonar"))
    assert theirs["ens.pru.low"].tolist()[3:] == ["22.59 ± 3.95", "45.2", "0.1838 ± 0.0722"]
    folded = frame.assign(valid_error=np.nan)
    assert "matched_on_validation" not in nws15_table1.present(folded, scope).tables


def test_nws15_is_compared_figure_by_figure() -> None:
    """Two figures of the unpruned forest, three for each method and level, as the paper has them."""
    frame = pd.DataFrame(shares(OPTIMAL, 0, TOGETHER) + shares(INDIVIDUAL, 0, ALONE)).assign(data="miniboone")
    found = {c.figure: c for c in nws15_table1.compare(frame)}
    assert len(found) == 14
    assert found["MiniBooNE, no pruning: cost"].published == NWS15_TABLE_1["miniboone"].unpruned.cost
    level = found["MiniBooNE, ens.pru.high: % of unpruned cost"]
    assert (level.published, level.ours) == (pytest.approx(43.17, abs=0.01), 50.0)
    assert level.difference == pytest.approx(50 - 43.17, abs=0.01)
    assert math.isnan(level.spread)
    assert nws15_table1.compare(frame.assign(data="x")) == []
    assert {c.why for c in found.values()} == {""}
    assert all("the same data" in c.why for c in nws15_table1.compare(frame.assign(data="sonar")))


def reached(**errors: list[float]) -> pd.DataFrame:
    """Curve rows on MiniBooNE: for each method an error at cost 5, 18 and 40 (budgets of the figure)."""
    frames = [
        points(*((c, e, c, e) for c, e in zip((5.0, 18.0, 40.0), values, strict=True)), data="miniboone", method=name, seed=0)
        for name, values in errors.items()
    ]
    return pd.concat(frames).assign(seconds=1.0, machine="here")


def test_figure_2_says_who_errs_least() -> None:
    """At 5 features CEGB, from 18 on BudgetPrune; the comparison counts budgets of the axis from 5 on, 14 of them."""
    frame = reached(**{OPTIMAL: [0.2, 0.0995, 0.099], CEGB: [0.1, 0.0999, 0.0999]})
    ahead = bp16_figure2.leaders(bp16_figure2.summary(frame))
    assert ahead["least error"].tolist() == [CEGB] * 6 + [OPTIMAL] * 8  # budgets 5, 6, 8, 10, 12, 15 | 18, ...
    assert ahead["CEGB less BudgetPrune, points"].tolist()[0] == pytest.approx(-10)


def test_figure_2_shows_and_compares() -> None:
    """18 features come within 0.1 point of 40 features' error; what CEGB wins is counted and told."""
    frame = reached(**{OPTIMAL: [0.2, 0.0999, 0.099], CEGB: [0.1, 0.11, 0.11]})
    shown = bp16_figure2.present(frame, Scope(("miniboone",), 1))
    assert any("CEGB errs less than BudgetPrune at 6 of 14 budgets" in note for note in shown.notes)
    assert any("MiniBooNE: CEGB errs less than BudgetPrune at 6 of 14 budgets" in note for note in shown.notes)
    assert shown.tables["seconds"]["count"].tolist() == [1, 1]
    found = {c.figure: c for c in bp16_figure2.compare(frame)}
    alike = found["MiniBooNE, BudgetPrune: features at the unpruned forest's error + 0.1 point"]
    assert (alike.published, alike.ours) == (18.0, 18.0)
    assert found["MiniBooNE, BudgetPrune: features of the unpruned forest"].ours == 40.0
    assert found["MiniBooNE: CEGB against BudgetPrune"].ours == "CEGB errs less at 6 of 14 budgets"
    assert found["MiniBooNE: BudgetPrune against all, CEGB among them"].ours == "least error at 8 of 14 budgets"


def test_figure_5_counts_what_prices_cost() -> None:
    """CCP loses two points at each budget, BudgetPrune none; both are told."""
    errors = {
        "BudgetPrune (uniform)": [0.2, 0.1, 0.1],
        "CCP (uniform)": [0.2, 0.1, 0.1],
        "BudgetPrune (non-uniform)": [0.2, 0.1, 0.1],
        "CCP (non-uniform)": [0.22, 0.12, 0.12],
    }
    frame = reached(**errors)
    shown = bp16_prices.present(frame, Scope(("miniboone",), 1))
    assert shown.tables["lost_by_prices"]["CCP"].to_numpy() == pytest.approx(2)
    assert "BudgetPrune errs +0.00 points more" in shown.notes[0]
    assert "CCP +2.00; BudgetPrune loses less at 14 of them" in shown.notes[0]
    told = bp16_prices.compare(frame)[0].ours
    assert "mean loss +0.00 points of BudgetPrune (at most 0.1 at 14 of 14 budgets), +2.00 points of CCP" in str(told)
    assert bp16_prices.compare(frame.assign(data="iris")) == []  # the paper's figure is of MiniBooNE


def test_figure_6_counts_the_better_forest() -> None:
    """Pairs wins where little is paid, entropy elsewhere; CCP and what lies between breakpoints are left out of the count."""
    errors = {
        "BudgetPrune (entropy)": [0.2, 0.1, 0.1],
        "BudgetPrune (Pairs)": [0.1, 0.11, 0.11],
        "CCP (Pairs)": [0.01, 0.01, 0.01],
        "BudgetPrune, between breakpoints (Pairs)": [0.01, 0.01, 0.01],
    }
    frame = reached(**errors)
    shown = bp16_criteria.present(frame, Scope(("miniboone",), 1))
    assert shown.tables["best_by_budget"]["least"].value_counts().to_dict() == {"entropy": 8, "Pairs": 6}
    assert shown.tables["unpruned"]["cost"].tolist() == ["40.00", "40.00"]
    assert shown.tables["unpruned"]["error, %"].tolist() == ["10.00", "11.00"]
    assert "entropy at 8, Pairs at 6 of 14 budgets" in shown.notes[0]
    assert "entropy 8, Pairs 6" in str(bp16_criteria.FIGURE_6.compare(frame)[0].ours)


def test_votes_are_counted_both_ways() -> None:
    """The mean errs less at one budget, the majority at another; the unpruned forest is no budget."""
    rows = [
        {"data": "x", "seed": s, "method": bp16_table1.VOTES, "share": share, "cost": 1.0, "mean": m, "majority": j}
        for s in (0, 1)
        for share, m, j in ((0.0, 0.1, 0.9), (0.5, 0.1, 0.2), (0.6, 0.3, 0.2), (1.0, 0.1, 0.1))
    ]
    usage = [
        {"data": "x", "seed": 0, "method": bp16_table1.USAGE, "forest": "unpruned", "none": 0.5, "few": 0.25, "more": 0.25}
        | {"cost": 5.0, "error": 0.1}
    ]
    frame = pd.DataFrame(rows + usage)
    shown = bp16_table1.present(frame, Scope(("x",), 2))
    assert "the mean errs less at 1, the majority at 1 of 3 budgets" in shown.notes[0]
    assert shown.files["votes"]["majority less mean, points"].to_numpy() == pytest.approx([80, 10, -10, 0])
    assert shown.tables["table1"].iloc[0].tolist() == ["x", "unpruned", "50.0 %", "25.0 %", "25.0 %", "5.0", "10.00"]
    assert bp16_table1.compare(frame)[-1].ours == "less error at 1 of 3 budgets"
    mini = bp16_table1.compare(frame.assign(data="miniboone"))
    assert [(c.figure, c.published, c.ours) for c in mini[:5]] == [
        ("MiniBooNE, unpruned: share that no tree uses", 0.073, 0.5),
        ("MiniBooNE, unpruned: share that 1 to 7 trees use", 0.917, 0.25),
        ("MiniBooNE, unpruned: share that more trees use", 0.01, 0.25),
        ("MiniBooNE, unpruned: cost", 42.0, 5.0),
        ("MiniBooNE, unpruned: error", 0.066, 0.1),
    ]
    assert not bp16_table1.compare(frame)[-1].holds  # "consistently less error" needs all budgets
