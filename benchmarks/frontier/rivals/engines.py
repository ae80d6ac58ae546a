"""Boosted trees of three libraries with one signature: columns, number of leaves, early stopping on the validation part."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.frontier.candidate import Predict
from benchmarks.frontier.problem import Problem
from formulations.instance.ensemble import Ensemble

STOPPING_ROUNDS = 30
"""Rounds without a better validation loss after which boosting stops."""


@dataclass(frozen=True, eq=False)
class Boosted:
    """A fitted model of some columns.

    Parameters
    ----------
    predict
        from all columns to probabilities or numbers, with the best number of rounds.
    rounds
        the best number of rounds.
    stopped_early
        whether the validation loss ended the fit, not the limit on rounds.
    gain
        importance of each column by gain; None where the library has none.
    booster
        the library's own model.
    readable
        whether its trees can be read, to compute what each example pays.
    """

    predict: Predict
    rounds: int
    stopped_early: bool
    fit_s: float
    gain: NDArray[np.float64] | None
    booster: Any
    readable: bool


@dataclass(frozen=True)
class Setting:
    """The hyperparameters of a model."""

    leaves: int
    rate: float = 0.1
    rounds: int = 2000


Engine = Callable[[Problem, Sequence[int], Setting], Boosted]


def least_in_leaf(problem: Problem) -> int:
    """The least number of rows in a leaf: 5 for fewer than 1,000 training rows, else 20."""
    return 5 if len(problem.train.X) < 1000 else 20


def two_columns(second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of both classes from that of the second."""
    return np.column_stack([1 - second, second])


def _finished(problem: Problem, raw: NDArray[np.float64]) -> NDArray[np.float64]:
    return two_columns(raw) if problem.n_classes == 2 and raw.ndim == 1 else raw


def lightgbm_engine(problem: Problem, columns: Sequence[int], setting: Setting) -> Boosted:
    """LightGBM, one thread."""
    import lightgbm

    chosen, start = list(columns), time.process_time()
    kind = {0: "regression", 2: "binary"}.get(problem.n_classes, "multiclass")
    settings: dict[str, Any] = {
        "objective": kind,
        **({"num_class": problem.n_classes} if kind == "multiclass" else {}),
        "learning_rate": setting.rate,
        "num_leaves": setting.leaves,
        "min_data_in_leaf": least_in_leaf(problem),
        "num_threads": 1,
        "force_col_wise": True,
        "verbosity": -1,
        "seed": problem.seed,
    }
    data = lightgbm.Dataset(problem.train.X[:, chosen], problem.train.y, params=settings)
    valid = data.create_valid(problem.valid.X[:, chosen], problem.valid.y)
    stop = lightgbm.early_stopping(STOPPING_ROUNDS, verbose=False)
    booster = lightgbm.train(settings, data, setting.rounds, valid_sets=[valid], callbacks=[stop])
    rounds = booster.best_iteration
    seconds = time.process_time() - start

    def predict(X: NDArray[np.float32]) -> NDArray[np.float64]:
        return _finished(problem, np.asarray(booster.predict(X[:, chosen], num_iteration=rounds, num_threads=1)))

    gain = np.asarray(booster.feature_importance("gain", iteration=rounds), dtype=np.float64)
    return Boosted(predict, rounds, booster.current_iteration() < setting.rounds, seconds, gain, booster, True)


def xgboost_engine(problem: Problem, columns: Sequence[int], setting: Setting) -> Boosted:
    """XGBoost with histograms and best-first growth, one thread."""
    import xgboost

    chosen, start = list(columns), time.process_time()
    kind = {0: "reg:squarederror", 2: "binary:logistic"}.get(problem.n_classes, "multi:softprob")
    settings: dict[str, Any] = {
        "objective": kind,
        **({"num_class": problem.n_classes} if kind == "multi:softprob" else {}),
        "eta": setting.rate,
        "max_leaves": setting.leaves,
        "max_depth": 0,
        "grow_policy": "lossguide",
        "tree_method": "hist",
        "nthread": 1,
        "seed": problem.seed,
    }
    train = xgboost.QuantileDMatrix(problem.train.X[:, chosen], problem.train.y, nthread=1)
    valid = xgboost.QuantileDMatrix(problem.valid.X[:, chosen], problem.valid.y, ref=train, nthread=1)
    stop = xgboost.callback.EarlyStopping(rounds=STOPPING_ROUNDS, save_best=True)
    booster = xgboost.train(
        settings, train, num_boost_round=setting.rounds, evals=[(valid, "valid")], callbacks=[stop], verbose_eval=False
    )
    rounds = booster.num_boosted_rounds()
    seconds = time.process_time() - start

    def predict(X: NDArray[np.float32]) -> NDArray[np.float64]:
        return _finished(problem, np.asarray(booster.inplace_predict(X[:, chosen]), dtype=np.float64))

    return Boosted(predict, rounds, rounds < setting.rounds, seconds, None, booster, True)


def hist_engine(problem: Problem, columns: Sequence[int], setting: Setting) -> Boosted:
    """scikit-learn's HistGradientBoosting, one thread."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    chosen, start = list(columns), time.process_time()
    kind = HistGradientBoostingRegressor if problem.task == "regression" else HistGradientBoostingClassifier
    model = kind(
        learning_rate=setting.rate,
        max_leaf_nodes=setting.leaves,
        max_iter=setting.rounds,
        min_samples_leaf=least_in_leaf(problem),
        early_stopping=True,
        n_iter_no_change=STOPPING_ROUNDS,
        random_state=problem.seed,
    )
    with threadpool_limits(1):
        model.fit(problem.train.X[:, chosen], problem.train.y, X_val=problem.valid.X[:, chosen], y_val=problem.valid.y)
    seconds = time.process_time() - start

    def predict(X: NDArray[np.float32]) -> NDArray[np.float64]:
        with threadpool_limits(1):
            predictions = model.predict(X[:, chosen]) if problem.task == "regression" else model.predict_proba(X[:, chosen])
        return np.asarray(predictions, dtype=np.float64)

    return Boosted(predict, int(model.n_iter_), model.n_iter_ < setting.rounds, seconds, None, model, False)


ENGINES: dict[str, Engine] = {"LightGBM": lightgbm_engine, "XGBoost": xgboost_engine, "HistGradientBoosting": hist_engine}
"""Engines by their names in tables."""


def trees_of(model: Boosted, columns: Sequence[int], n_features: int) -> Ensemble | None:
    """The trees of a model over all columns, to compute what each example pays; None if they cannot be read."""
    from dataclasses import replace

    from prunemodels.models.libraries.reading import read_model

    if not model.readable:
        return None
    forest = read_model(model.booster)
    ensemble = forest.ensemble
    feature = np.where(ensemble.is_split, np.asarray(columns, dtype=np.int64)[np.maximum(ensemble.feature, 0)], ensemble.feature)
    return replace(ensemble, feature=feature.astype(ensemble.feature.dtype), n_features=n_features, feature_names=None)
