"""The experiments of BRF15 and CEGB17, on data that scikit-learn ships, on small frames, and on small published files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.papers import (
    brf15_figure3,
    brf15_table1,
    cegb17_figure3,
    cegb17_multiscale,
)
from benchmarks.papers.__main__ import main
from benchmarks.papers.budget_curves import by_budget
from benchmarks.papers.data import parts
from benchmarks.papers.experiment import Unit
from benchmarks.papers.methods import run_curve

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
    assert features.spread == pytest.approx(math.sqrt(50))
    told = brf15_table1.table(frame)
    assert told["method"].tolist() == ["BudgetRF", "BudgetRF, BRF15"]
    assert told["40 trees"].tolist() == ["85.00 ± 7.07 (0.0800 ± 0.0141)", "86.78 (0.0689)"]


def curve_frame(method: str, points: list[tuple[float, float]], **columns: float) -> list[dict[str, object]]:
    """Rows of a curve whose validation and test numbers are alike."""
    return [
        {"data": "miniboone", "seed": 0, "method": method, "parameter": k, **columns}
        | {f"{part}_{what}": v for part in ("valid", "test") for what, v in (("cost", c), ("error", e))}
        for k, (c, e) in enumerate(points, 1)
    ]


@pytest.mark.parametrize("method", ["BudgetRF", brf15_figure3.PRUNED, "CSTC", "ASTC", "GreedyMiser"])
def test_figure3_every_method_gives_points(method: str) -> None:
    """Each method yields points whose cost is within what all features cost, and whose error is a rate."""
    small = {"n_weak_learners": 8, "weak_depth": 2, "depth": 2}
    settings = {
        "BudgetRF": {"alpha": 4, "n_estimators": 10},
        "GreedyMiser": {"n_estimators": 5, "lam": 0.001},
        "CSTC": {"lam": 0.01, "max_cycles": 2, **small},
        "ASTC": {"budget": 5, **small},
    }
    setting = {"protocol": "brf15", **settings.get(method, {})}
    rows = run_curve(Unit("brf15_figure3", "breast_cancer", 0, method, setting, 200))
    assert rows
    for row in rows:
        assert 0 <= float(str(row["test_cost"])) <= 30
        assert 0 <= float(str(row["test_error"])) <= 1


def test_figure3a_says_what_lambda_and_prices_of_one_do() -> None:
    """The cost to come near the error of lambda = 0, for each lambda, with real prices and with prices of 1 in training."""
    rows = curve_frame("lambda = 0", [(30, 0.12), (50, 0.1)], lam=0.0)
    rows += curve_frame("lambda = 0.001", [(5, 0.2), (12, 0.104)], lam=0.001)
    rows += curve_frame("lambda = 0.001, prices 1 in training", [(20, 0.11), (40, 0.105)], lam=0.001)
    rows += curve_frame("lambda = 0.1", [(1, 0.3)], lam=0.1)
    rows += curve_frame("lambda = 0.1, prices 1 in training", [(2, 0.3)], lam=0.1)
    first, second = (c.ours for c in EXPERIMENTS["cegb17_figure3a"].compare(pd.DataFrame(rows)))
    assert first == "lambda = 0.001 pays 12.00, lambda = 0 50.00; not reached with lambda = 0.1"
    assert second == "lambda = 0.001: prices of 1 pay 40.00, real prices 12.00, lambda = 0 50.00"
    first, second = (c.ours for c in EXPERIMENTS["cegb17_figure3a"].compare(pd.DataFrame(rows[:2] + rows[6:])))
    assert first == second == "not reached by any lambda > 0; lambda = 0 pays 50.00"


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
    assert rows["valid_pixel_error"].between(0, 1).all()


def test_multiscale_verdicts() -> None:
    """What each method pays to come within 0.02 of plain boosting's best SEG."""
    rows = []
    for method, points in {
        "boosting": [(10, 0.2), (100, 0.1)],
        "CEGB": [(25, 0.11)],
        cegb17_multiscale.PRUNED: [(5, 0.3)],
    }.items():
        rows += curve_frame(method, points)
    told = cegb17_multiscale.verdicts(by_budget(pd.DataFrame(rows), {"miniboone": cegb17_multiscale.BUDGETS}))
    assert told[0].startswith("SEG of 0.880, 0.02 under the best of plain boosting, costs 100 ")
    assert told[1:] == ["CEGB pays 25, 4.0 times less", f"{cegb17_multiscale.PRUNED} never reaches it"]
    free = curve_frame("boosting", [(10, 1.0)]) + curve_frame(cegb17_multiscale.PRUNED, [(0, 1.0)])
    told = cegb17_multiscale.verdicts(by_budget(pd.DataFrame(free), {"miniboone": cegb17_multiscale.BUDGETS}))
    assert told[2] == f"{cegb17_multiscale.PRUNED} pays 0"
