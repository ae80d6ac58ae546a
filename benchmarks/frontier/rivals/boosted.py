"""Boosted trees of three libraries with one signature, and LightGBM on all columns with fewer rounds.

An engine takes columns and a number of leaves; the validation part ends its growth.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from threadpoolctl import threadpool_limits

from benchmarks.frontier.candidate import Candidate, Method, Predict, Scouted, checkpoints, climb, prefixes, winners
from benchmarks.frontier.problem import Problem
from formulations.instance.ensemble import Ensemble
from prunemodels.models.costs import staged_costs
from prunemodels.models.libraries.reading import read_model

LEAVES = (2, 3, 5, 8, 15, 31, 63, 127, 255, 511, 1023, 2047)
"""Rungs of the search for leaves. Two leaves are the fewest possible; 2,047 are more than the rows support."""

STOPPING_ROUNDS = 30  # rounds without a better validation loss after which boosting stops


@dataclass(frozen=True, eq=False)
class Boosted:
    """A fitted model of some columns, with the best number of rounds; it predicts from all columns.

    `stopped_early` tells whether the validation loss ended the fit, not the limit on rounds, and `readable` whether the trees of
    the library's own `booster` can be read, to compute what each example pays. `gain` is the importance of each column, or None.
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
    if not model.readable:
        return None
    forest = read_model(model.booster)
    ensemble = forest.ensemble
    feature = np.where(ensemble.is_split, np.asarray(columns, dtype=np.int64)[np.maximum(ensemble.feature, 0)], ensemble.feature)
    return replace(ensemble, feature=feature.astype(ensemble.feature.dtype), n_features=n_features, feature_names=None)


RATES = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
"""Rungs of the learning rate. Half the rate takes twice the rounds, so 0.05 is the least; 1 is the full step."""


def fit(problem: Problem, leaves: int, rate: float) -> list[Candidate]:
    """The candidates of one model: its first rounds."""
    columns = range(problem.n_features)
    model = lightgbm_engine(problem, columns, Setting(leaves, rate, 3000))
    outputs = problem.n_classes if problem.n_classes > 2 else 1
    ensemble = trees_of(model, columns, problem.n_features)
    assert ensemble is not None
    stage = np.arange(ensemble.n_trees) // outputs
    wanted = set(checkpoints(model.rounds))

    def stages(X: NDArray[np.float32]) -> Iterator[NDArray[np.float64]]:
        raw: NDArray[np.float64] | float = 0.0
        predictions, done = np.empty(0), 0
        for k in range(1, model.rounds + 1):
            if k in wanted:
                new = model.booster.predict(X, start_iteration=done, num_iteration=k - done, raw_score=True, num_threads=1)
                raw, done = raw + np.asarray(new), k
                is_flat = problem.task == "regression" or raw.ndim > 1
                predictions = two_columns(expit(raw)) if not is_flat else raw if raw.ndim == 1 else softmax(raw, axis=1)
            yield predictions

    ends: dict[str, str] = {}
    if rate in (RATES[0], RATES[-1]):
        ends["rate"] = "a whole step" if rate == RATES[-1] else "half of it takes twice the time for nothing to be seen"
    if leaves == LEAVES[0]:
        ends["leaves"] = "a tree has two leaves at least"
    exhausted = "the validation loss rose" if model.stopped_early else ""
    return prefixes(
        problem,
        {"leaves": leaves, "rate": rate},
        stages,
        lambda X: staged_costs(ensemble, X, problem.costs, stage=stage)[: model.rounds],
        model.rounds,
        model.fit_s,
        ends,
        exhausted=exhausted,
    )


def fewer_rounds(problem: Problem, scouted: Scouted) -> Iterator[Candidate]:
    """Search leaves at the rate 0.1, then rates with the best leaves, on the first seed; take the chosen ones on the others."""
    if scouted:
        for leaves, rate in sorted({(int(s["leaves"]), float(s["rate"])) for s in scouted}):
            yield from fit(problem, leaves, rate)
        return
    start = range(1, 5) if problem.is_small else range(4, 8)
    found = climb(lambda rung: fit(problem, LEAVES[rung], RATES[1]), start, 0, len(LEAVES) - 1, problem.budgets)
    yield from found
    for leaves in sorted({int(w.params["leaves"]) for w in winners(found, problem.budgets[-2:])}):
        known = [c for c in found if c.params["leaves"] == leaves]  # at the rung 1

        def at_rate(rung: int, leaves: int = leaves, known: list[Candidate] = known) -> list[Candidate]:
            return known if rung == 1 else fit(problem, leaves, RATES[rung])

        yield from climb(at_rate, range(3), 0, len(RATES) - 1, problem.budgets)


METHODS = [Method("LightGBM, fewer rounds", fewer_rounds)]
