"""The experiments of BRF15, CEGB17 and CSTC13, on data that scikit-learn ships, on small frames, and on made-up data."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.papers import brf15_bound, brf15_figure3, brf15_table1, cegb17_figure3, cegb17_multiscale, cstc13_synthetic
from benchmarks.papers.__main__ import main
from benchmarks.papers.budget_curves import by_budget
from benchmarks.papers.data import parts
from benchmarks.papers.experiment import Unit
from benchmarks.papers.methods import run_curve
from formulations.errors import InvalidInputError
from tests.benchmarks.test_papers_curves import points

EXPERIMENTS = {e.name: e for e in cegb17_figure3.EXPERIMENTS}


def test_table1_counts_features_and_errors_of_the_first_trees() -> None:
    """Features used and error of the first k trees are those of a forest of k trees, counted example by example."""
    from sklearn.ensemble import RandomForestClassifier

    unit = Unit("brf15_table1", "breast_cancer", 0, "RF (entropy)", dict(brf15_table1.METHODS["RF (entropy)"]), 240)
    rows = {row["trees"]: row for row in brf15_table1.run(unit)}
    assert sorted(rows) == [1, 10, 20, 40]
    p = parts("breast_cancer", 0, 240)
    forest = RandomForestClassifier(40, criterion="entropy", max_features="sqrt", random_state=0).fit(p.X_train, p.y_train)
    for k in (1, 10):
        used, votes = np.zeros(p.X_test.shape, dtype=bool), np.zeros(len(p.X_test))
        for tree in forest.estimators_[:k]:
            nodes = tree.tree_.decision_path(p.X_test).toarray().astype(bool)
            for i, at in enumerate(nodes):
                features = tree.tree_.feature[at]
                used[i, features[features >= 0]] = True
            votes += tree.predict(p.X_test)
        assert rows[k]["features"] == pytest.approx(100 * used.mean())
        assert rows[k]["error"] == pytest.approx(np.mean((votes > k / 2) != p.y_test))  # of equal votes the first class


def test_table1_beside_the_paper() -> None:
    """Each of the paper's entries stands beside the mean and spread of ours."""
    row = {"data": "miniboone", "method": "BudgetRF", "error_mean_vote": 0.1, "seconds": 1.0}
    frame = pd.DataFrame([{**row, "trees": 40, "features": f, "error": e} for f, e in ((80.0, 0.07), (90.0, 0.09))])
    features, error = brf15_table1.compare(frame)
    assert (features.published, features.ours) == (86.78, 85.0)
    assert (error.published, error.ours) == (0.0689, pytest.approx(0.08))
    assert features.values == (80.0, 90.0)
    told = brf15_table1.table(frame)
    assert told["method"].tolist() == ["BudgetRF", "BudgetRF, BRF15"]
    assert told["40 trees"].tolist() == ["85.00 ± 7.07 (0.0800 ± 0.0141)", "86.78 (0.0689)"]


def curve(method: str, given: list[tuple[float, float]], **columns: float) -> pd.DataFrame:
    """Rows of a curve whose validation and test numbers are alike."""
    return points(*(pair + pair for pair in given), data="miniboone", seed=0, method=method, **columns)


@pytest.mark.slow_cases("BudgetRF", "CSTC", "GreedyMiser")
@pytest.mark.parametrize("method", ["BudgetRF", brf15_figure3.PRUNED, "CSTC", "GreedyMiser"])
def test_figure3_every_method_gives_points(method: str) -> None:
    """Each method yields points whose cost is within what all features cost, and whose error is a rate."""
    small = {"n_weak_learners": 8, "weak_depth": 2, "depth": 2}
    settings = {
        "BudgetRF": {"alpha": 4, "n_estimators": 10},
        "GreedyMiser": {"n_estimators": 5, "lam": 0.001},
        "CSTC": {"lam": 0.01, "max_cycles": 2, **small},
    }
    setting = {"protocol": "brf15", **settings.get(method, {})}
    rows = run_curve(Unit("brf15_figure3", "breast_cancer", 0, method, setting, 200))
    assert rows
    for row in rows:
        assert 0 <= float(str(row["test_cost"])) <= 30
        assert 0 <= float(str(row["test_error"])) <= 1


def test_figure3a_says_what_lambda_and_prices_of_one_do() -> None:
    """The cost to come near the error of lambda = 0, for each lambda, with real prices and with prices of 1 in training."""
    free = curve("lambda = 0", [(30, 0.12), (50, 0.1)], lam=0.0)
    near = [curve("lambda = 0.001", [(5, 0.2), (12, 0.104)], lam=0.001)]
    near += [curve("lambda = 0.001, prices 1 in training", [(20, 0.11), (40, 0.105)], lam=0.001)]
    far = [curve(f"lambda = 0.1{ones}", [(1, 0.3)], lam=0.1) for ones in ("", ", prices 1 in training")]
    first, second = (c.ours for c in EXPERIMENTS["cegb17_figure3a"].compare(pd.concat([free, *near, *far])))
    assert first == "lambda = 0.001 pays 12.00, lambda = 0 50.00; not reached with lambda = 0.1"
    assert second == "lambda = 0.001: prices of 1 pay 40.00, real prices 12.00, lambda = 0 50.00"
    first, second = (c.ours for c in EXPERIMENTS["cegb17_figure3a"].compare(pd.concat([free, *far])))
    assert first == second == "not reached by any lambda > 0; lambda = 0 pays 50.00"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cegb17_figure3a", pytest.param("cegb17_figure3b", marks=pytest.mark.slow)])
def test_figure3_of_cegb_from_command_to_pictures(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One command trains, tabulates and draws."""
    monkeypatch.setattr(cegb17_figure3, "LAMS", (0.0, 1e-3))
    assert main([name, "--data", "breast_cancer", "--rows", "120", "--out", str(tmp_path)]) == 0
    files = {f.name.removesuffix("_rows120.png") for f in (tmp_path / name).glob("*.png")}
    assert files == {"breast_cancer"}


def test_frames_are_repeatable_and_their_flies_apart() -> None:
    """The seed decides; every fly is a region of its own, so that finding the true pixels scores 1; the dust is none."""
    frame = cegb17_multiscale.make_frame(128, 3)
    np.testing.assert_array_equal(frame.image, cegb17_multiscale.make_frame(128, 3).image)
    assert not np.array_equal(frame.image, cegb17_multiscale.make_frame(128, 4).image)
    assert len(np.unique(frame.fly)) == 1 + 3  # 12 on 256 x 256
    assert cegb17_multiscale.overlaps(frame.fly, frame.fly > 0).tolist() == [1.0, 1.0, 1.0]
    assert frame.image[frame.fly > 0].mean() < frame.image[frame.fly == 0].mean() - 0.15
    with pytest.raises(ValueError, match="multiple of 8"):
        cegb17_multiscale.make_frame(100, 0)


def test_pixels_of_a_block_share_its_features_and_its_price() -> None:
    """Features of scale s are constant on s x s blocks, and the price of a split is one over the block's pixels."""
    frame = cegb17_multiscale.make_frame(64, 0)
    images = frame.features().T.reshape(-1, 64, 64)
    assert len(images) == len(cegb17_multiscale.FEATURES) == len(cegb17_multiscale.SPLIT_PRICES)
    for k, image in enumerate(images):
        scale = cegb17_multiscale.SCALES[k // len(cegb17_multiscale.FILTERS)]
        blocks = image.reshape(64 // scale, scale, 64 // scale, scale)
        assert np.ptp(blocks, axis=(1, 3)).max() == 0
        assert cegb17_multiscale.SPLIT_PRICES[k] == 1 / scale**2
    np.testing.assert_allclose(images[4][:2, :2], frame.image[:2, :2].mean(), rtol=1e-6)  # value_2x2


def test_overlaps_by_hand() -> None:
    """A fly scores the Jaccard index of the region that covers over half of it, else 0; other regions do not count."""
    fly = np.zeros((6, 12), dtype=np.int32)
    fly[0, :4], fly[2, :4], fly[4, :4] = 1, 2, 3
    found = np.zeros((6, 12), dtype=bool)
    found[0, 1:6] = True  # covers 3 of 4 of fly 1, and 2 pixels more: 3 / 6
    found[2, :2] = True  # half of fly 2 is not over half: 0
    found[4, :4], found[5, 8:11] = True, True  # fly 3 exactly: 1; and a region that is no fly
    assert cegb17_multiscale.overlaps(fly, found).tolist() == [0.5, 0.0, 1.0]
    assert cegb17_multiscale.overlaps(fly, np.zeros_like(found)).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.slow_cases("boosting")
@pytest.mark.parametrize("method", ["boosting", "CEGB", cegb17_multiscale.PRUNED])
def test_multiscale_points(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every method gives points with cost and error on validation and test frames; evaluation is all that costs."""
    monkeypatch.setattr(cegb17_multiscale, "FRAMES", {"train": 1, "valid": 1, "test": 1})
    monkeypatch.setattr(cegb17_multiscale, "PRUNINGS", 3)
    setting = {"lam": 1e-3 if method == "CEGB" else 0.0, "side": 64, "rounds": 5, "pixels": 800, "frames": "short"}
    rows = pd.DataFrame(cegb17_multiscale.run(Unit("cegb17_multiscale", "flies", 0, method, setting, 800)))
    if method == cegb17_multiscale.PRUNED:
        assert rows["test_cost"].is_monotonic_decreasing
        assert rows["test_cost"].iloc[-1] == 0  # every tree is its root
        assert rows["test_error"].iloc[-1] == 1  # and finds no fly
    else:
        assert rows["parameter"].tolist() == [1, 2, 3, 5]
        assert rows["test_cost"].is_monotonic_increasing


def test_multiscale_verdicts() -> None:
    """What each method pays to come within 0.02 of plain boosting's best SEG."""

    def told(**curves: list[tuple[float, float]]) -> list[str]:
        frame = pd.concat([curve(name, given) for name, given in curves.items()])
        return cegb17_multiscale.verdicts(by_budget(frame, {"miniboone": cegb17_multiscale.BUDGETS}))

    pruned = cegb17_multiscale.PRUNED
    first, *others = told(boosting=[(10, 0.2), (100, 0.1)], CEGB=[(25, 0.11)], **{pruned: [(5, 0.3)]})
    assert first.startswith("SEG of 0.880, 0.02 under the best of plain boosting, costs 100 ")
    assert others == ["CEGB pays 25, 4.0 times less", f"{pruned} never reaches it"]
    assert told(boosting=[(10, 1.0)], **{pruned: [(0, 1.0)]})[2] == f"{pruned} pays 0"


def test_optimal_costs_by_hand() -> None:
    """The class is x0 and x1: the dear x0, price 5, is asked only where the cheap x1, price 1, is 1; x2 tells nothing. Worst: 6,
    whatever the order. Mean over four pairs of (x0, x1): 1 + 5 / 2 if x1 is first, 5 + 1 / 2 if x0 is.
    """
    X = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    assert brf15_bound.optimal_costs(X, X[:, 0] & X[:, 1], np.array([5.0, 1.0, 0.1])) == (6.0, 3.5)
    # one feature alone, though two of price 1 each would do as well
    y = X[:, 2]
    assert brf15_bound.optimal_costs(X, y, np.array([5.0, 1.0, 0.1])) == (pytest.approx(0.1), pytest.approx(0.1))


def test_instances_can_be_separated() -> None:
    """Rows are distinct and two classes are there; more rows than six binary features tell apart are refused."""
    X, y, prices = brf15_bound.instance(32, np.random.default_rng(0))
    assert len(np.unique(X, axis=0)) == 32
    assert set(y) >= {0, 1}
    assert set(prices) <= set(brf15_bound.PRICES)
    with pytest.raises(InvalidInputError, match="n is 65; give 2 to 64 examples"):
        brf15_bound.instance(65, np.random.default_rng(0))


def test_ratios_stand_beside_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tree is cheaper than the optimum, none beyond the theorem's bound, and all leaves are pure."""
    monkeypatch.setattr(brf15_bound, "INSTANCES", 6)
    rows = [
        {"method": m, "examples": 8, **row}
        for m in brf15_bound.METHODS
        for row in brf15_bound.run(Unit("brf15_bound", "binary", 7, m, {"examples": 8}))
    ]
    brf15_bound.solved.cache_clear()
    frame = pd.DataFrame(rows)
    assert len(frame) == 18
    assert (frame["wrong"] == 0).all()
    assert (frame["max_cost"] >= frame["optimal_max_cost"] - 1e-9).all()
    assert (frame["mean_cost"] >= frame["optimal_mean_cost"] - 1e-9).all()
    told = brf15_bound.table(frame).set_index("splits")
    assert told.loc["pairs, worst outcome", "beyond the bound"] == 0
    assert told.loc["powers (l = 3), worst outcome", "beyond the bound"] == 0
    assert brf15_bound.table(frame.assign(bound=0.9)).set_index("splits").loc["pairs, worst outcome", "beyond the bound"] == 6


def test_a_perfect_tree() -> None:
    """CSTC finds it at this lambda."""
    (tree,) = cstc13_synthetic.run(Unit("cstc13_synthetic", "quadrants", 0, "CSTC", {"lam": 0.035}, 400))
    assert (tree["cost"], tree["perfect"]) == (12, True)


@pytest.mark.slow
def test_the_synthetic_problem_from_command_to_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One command counts the perfect trees."""
    monkeypatch.setattr(cstc13_synthetic, "LAMBDAS", (0.035,))
    arguments = ["cstc13_synthetic", "--repeats", "1", "--rows", "1000", "--out", str(tmp_path)]
    assert main(arguments) == 0
    folder = tmp_path / "cstc13_synthetic"
    table = pd.read_csv(folder / "perfect_trees_rows1000.csv").set_index("lambda")
    assert table.loc[0.035, "perfect"] == "1 of 1"
    assert math.isclose(table.loc[0.035, "cost"], 12)
