"""What LightGBM does with its penalties that we keep users from: each fault is shown, so that we notice when it goes."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pytest
from numpy.typing import NDArray

from prunemodels.rivals.cegb import CEGBRegressor

QUIET = {
    "objective": "regression",
    "learning_rate": 1e-9,  # so that every round sees the same derivatives
    "num_leaves": 2,
    "min_data_in_leaf": 1,
    "min_data_in_bin": 1,
    "verbosity": -1,
    "num_threads": 1,
    "seed": 1,
}
ONE = np.repeat([0.0, 1.0], 50)[:, None]
TARGET = np.repeat([-1.0, 1.0], 50)
PAID = {"cegb_tradeoff": 1.0, "cegb_penalty_feature_lazy": [0.25]}


def data(X: Any, y: Any, **more: Any) -> lightgbm.Dataset:
    return lightgbm.Dataset(X, y, params=QUIET, free_raw_data=False, **more)


def rows_charged(
    parameters: dict[str, Any], rounds: int, start: lightgbm.Booster | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """For each round how many rows paid 0.25 at the root's split, which is what its gain lacks; and how many were there."""
    booster = lightgbm.train({**QUIET, **PAID, **parameters}, data(ONE, TARGET), rounds, init_model=start)
    charged, present = [], []
    for tree in booster.dump_model()["tree_info"]:
        root = tree["tree_structure"]
        a, b = (root[side]["leaf_count"] for side in ("left_child", "right_child"))
        # derivatives are 1 on the left and -1 on the right: a^2 / a + b^2 / b - (a - b)^2 / (a + b)
        charged.append((a + b - (a - b) ** 2 / (a + b) - root["split_gain"]) / 0.25)
        present.append(a + b)
    return np.array(charged), np.array(present)


def test_lazy_penalties_are_paid_once_in_one_training() -> None:
    """Without any of the faults: all 100 rows pay in the first round, none in the others."""
    np.testing.assert_allclose(rows_charged({}, 4)[0], [100, 0, 0, 0], atol=1e-3)


def test_continued_training_forgets_purchases() -> None:
    """Fault: all rows paid in the model that training starts from, and pay again."""
    first = lightgbm.train({**QUIET, **PAID}, data(ONE, TARGET), 1)
    np.testing.assert_allclose(rows_charged({}, 2, first)[0], [100, 100, 0], atol=1e-3)


def test_rows_out_of_the_bag_buy_nothing() -> None:
    """Fault: rows that a tree was not trained on pay later for what they need to be predicted by it."""
    charged, present = rows_charged({"bagging_fraction": 0.8, "bagging_freq": 1}, 2)
    assert charged[0] == pytest.approx(present[0], abs=1e-3)
    assert charged[1] > 5  # all 100 rows pass the first tree's split


def test_small_bags_take_some_rows_for_others() -> None:
    """Fault: up to one half, rows are numbered within the bag: of a second bag only the rows in excess of the first pay."""
    charged, present = rows_charged({"bagging_fraction": 0.5, "bagging_freq": 1}, 4)
    most = np.maximum.accumulate(np.concatenate([[0], present[:-1]]))
    np.testing.assert_allclose(charged, np.maximum(present - most, 0), atol=1e-3)


def test_weights_do_not_count_in_penalties() -> None:
    """Fault: rows of weight 3 pay as rows of weight 1: 100 * 0.25 is missing from the gain 3 * 100."""
    booster = lightgbm.train({**QUIET, **PAID}, data(ONE, TARGET, weight=np.full(100, 3.0)), 1)
    assert booster.dump_model()["tree_info"][0]["tree_structure"]["split_gain"] == pytest.approx(300 - 25)


def test_coupled_penalties_become_rewards_in_other_leaves() -> None:
    """Fault: once feature 1 is bought in a leaf, its split of the other leaf gains 4 too much, and is made at a loss."""
    # on the right feature 1 gains 12.5 * 2^2 = 50, less 4 to buy it and 50 * 0.1 = 5 for evaluation; on the left it gains
    # 12.5 * 0.2^2 = 0.5, less 5 for evaluation: no split. LightGBM makes it, at 0.5 + 4.
    X = np.array([(a, b) for a in (0.0, 1.0) for b in (0.0, 1.0)]).repeat(25, axis=0)
    y = np.array([0.0, 0.2, 9.0, 11.0]).repeat(25)
    costly = {"cegb_tradeoff": 1.0, "cegb_penalty_split": 0.1, "cegb_penalty_feature_coupled": [0.0, 4.0], "num_leaves": 9}
    table = lightgbm.train({**QUIET, **costly}, data(X, y), 1).trees_to_dataframe().dropna(subset="split_gain")
    left = table[(table.split_feature == "Column_1") & (table["count"] == 50)].sort_values("value")
    np.testing.assert_allclose(left.split_gain, [0.5 + 4, 50 - 5 - 4], rtol=1e-4)


def test_a_ridge_hides_splits() -> None:
    """Fault, not of the penalties: a feature that gains nothing in a leaf, for the ridge, is not looked at below it."""
    # x0 says +-10; beside it x2 alone gains next to nothing, less than the ridge takes; once x1 is known it separates all
    X = np.array([(a, b, c) for a in (0.0, 1.0) for b in (0.0, 1.0) for c in (0.0, 1.0)]).repeat(250, axis=0)
    y = np.array([-14, -12, -6, -7.9, 6, 8, 14, 12.1]).repeat(250)
    settings = {"num_leaves": 8, "min_child_samples": 1, "lam": 0, "n_estimators": 1}
    splits = {
        (engine, ridge): CEGBRegressor(engine=engine, reg_lambda=ridge, **settings).fit(X, y).forest_.ensemble.n_splits
        for engine in ("lightgbm", "own")
        for ridge in (0.0, 1.0)
    }
    assert splits == {("lightgbm", 0.0): 7, ("lightgbm", 1.0): 3, ("own", 0.0): 7, ("own", 1.0): 7}
