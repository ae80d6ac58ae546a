"""`BudgetCascadeClassifier` and `BudgetCascadeRegressor` on small random tables: what they state is what calling them gives.

Labels are words, numbers or truth values, some of one row; prices are shared, free, far apart or paid once; weights may be 0;
cells may be empty. Of each fitted cascade, its `at_cost` and `at_lam`:

    stated    `cost_` and `error_` are what `prediction_cost` and `predict` give on the own rows; none has weight 0      (1)
    budget    is kept                                                                                                   (2)
    asked     on demand: the same answers, stages and costs, also where a walk goes on elsewhere; caps are kept         (3)
    copies    pickled, or saved and loaded, it answers alike; half a checkpoint leads to the cascade of a whole one      (4)
    weights   rows of weight 0 change nothing                                                                           (5)
"""

from __future__ import annotations

import pickle
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import prunemodels as pm
from benchmarks.fuzzing.answers import items, sentences
from formulations.errors import CapacityOverflowError, PruneModelsError

Floats = NDArray[np.float64]

LABELS = (
    np.array(["b", "a", "Ä x", "z"]),
    np.array([3, -1, 10, 0]),
    np.array([2.0, 1.0, -2.0, 7.0]),
    np.array([True, False]),
    np.array(["nan", "1", "inf", "None"], dtype=object),
)

NAMES = ("1", "nan", "x y", "if", "é", "0", "c'")
PRICES, HOW_OFTEN = (0, 1, 2.5, 0.1, 1 / 3, 1e-9, 1e9, 7.27, 3), (0.15, 0.2, 0.1, 0.15, 0.1, 0.05, 0.05, 0.1, 0.1)
ROUNDED = 1e-9  # relative difference of two sums of floats that is none


@dataclass(frozen=True, eq=False)
class Case:
    """A table, the arguments of the cascade and of its `fit`. `own_rows_` are some of the rows X, y, weight: the training rows,
    or those for validation.
    """

    given: dict[str, Any]
    fit: dict[str, Any]
    X: Any
    y: NDArray[Any]
    weight: Floats | None
    classes: bool

    def fitted(self, **changes: Any) -> Any:
        kind = pm.BudgetCascadeClassifier if self.classes else pm.BudgetCascadeRegressor
        return kind(**{**self.given, **changes}).fit(**self.fit)

    @property
    def dearest(self) -> float:
        """The price of all items together."""
        return float(self.given["costs"].price.sum())


def case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    n, n_features, classes = int(rng.choice([12, 25, 40, 70])), int(rng.integers(1, 8)), bool(rng.random() < 0.75)
    X: Any = np.round(rng.normal(size=(n, n_features)), int(rng.integers(0, 3)))
    score = X[:, 0] + X[:, -1] + rng.normal(size=n) * rng.choice([0, 0.5, 2])
    has_gaps = rng.random() < 0.15
    if has_gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    y = _labels(rng, score) if classes else score * float(rng.choice([1, 1e-6, 1e6]))
    weight = rng.choice([0, 1, 2, 0.5, 1e-6, 1e6], size=n, p=[0.3, 0.4, 0.1, 0.1, 0.05, 0.05]) if rng.random() < 0.4 else None
    if rng.random() < 0.5:
        X = pd.DataFrame(X, columns=list(NAMES[:n_features]), index=rng.permutation(n) + 100)
    model: Any = DecisionTreeClassifier(max_depth=3) if classes else DecisionTreeRegressor(max_depth=3)
    if classes and not has_gaps and rng.random() < 0.25:
        model = GaussianNB()
    costs = items(rng, lambda: float(rng.choice(PRICES, p=HOW_OFTEN)), n_features, plain=0.25)
    given = {"estimator": model, "costs": costs, "stack": bool(rng.random() < 0.5), "random_state": seed}
    given |= {"n_stages": int(rng.choice([2, 3, 16])), "n_levels": int(rng.choice([2, 4, 32]))}
    given |= {"doubt": str(rng.choice(["auto", "margin", "learned"]))} if classes else {}
    given |= {"cv": int(rng.integers(2, 5))} if rng.random() < 0.5 else {}
    goal = int(rng.integers(3))
    given |= {"budget": float(costs.price.sum() * rng.random())} if goal == 0 else {}
    given |= {"lam": float(10.0 ** rng.uniform(-9, 3))} if goal == 1 else {}
    if rng.random() < 0.75:
        return Case(given, {"X": X, "y": y, "sample_weight": weight}, X, y, weight, classes)
    half, first = n // 2, X[: n // 2]
    fit = {"X": first, "y": y[:half], "X_valid": X[half:], "y_valid": y[half:]}
    if weight is not None:
        fit |= {"sample_weight": weight[:half], "sample_weight_valid": weight[half:]}
    return Case(given, fit, X[half:], y[half:], None if weight is None else weight[half:], classes)


def _labels(rng: np.random.Generator, score: Floats) -> NDArray[Any]:
    """Two to four classes, or two and a third one of a single row."""
    labels, k = LABELS[int(rng.integers(len(LABELS)))], int(rng.integers(2, 5))
    number = np.digitize(score, np.quantile(score, np.linspace(0, 1, k + 1)[1:-1]))
    if rng.random() < 0.3:
        number = np.append(np.minimum(number[:-1], 1), 2)
    return labels[number % len(labels)]


def findings(seed: int) -> Iterator[str]:
    made = case(seed)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        try:
            model = made.fitted()
        except PruneModelsError:  # refused by name: a label of y_valid alone, a budget below every feature
            return
        except Exception as error:
            yield f"fit: raw {type(error).__name__}: {error}"
            return
        try:
            yield from _wrong(made, model, np.random.default_rng([seed, 1]), Path(folder))
        except CapacityOverflowError:  # on demand: prices too far apart for 64 bits
            return
        except Exception as error:
            yield f"raw {type(error).__name__}: {error}"


def _wrong(made: Case, model: Any, rng: np.random.Generator, folder: Path) -> Iterator[str]:
    least = min(path.cost[-1] for path in model.exit_paths_)
    budgets = [least, least + float(rng.random()) * (made.dearest - least), made.dearest]
    models = [(model, made.given.get("budget"))]
    models += [(model.at_cost(b), b) for b in budgets if b >= least]
    models += [(model.at_lam(lam), None) for lam in (0.0, float(10.0 ** rng.uniform(-6, 3)))]
    for one, budget in models:
        yield from _wrong_statement(made, one, budget)
    for k in {0, int(rng.integers(len(models)))}:
        yield from _wrong_on_demand(made, models[k][0], rng)
    yield from _wrong_copies(made, model, folder)
    if made.weight is not None and not made.weight.all() and made.X is made.fit["X"]:
        kept = np.flatnonzero(made.weight)
        without = replace(made, fit={"X": _taken(made.X, kept), "y": made.y[kept], "sample_weight": made.weight[kept]})
        if not np.array_equal(without.fitted().predict(made.X), model.predict(made.X)):
            yield "weight 0: another cascade than without these rows"


def _taken(X: Any, rows: NDArray[np.int64]) -> Any:
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


def _wrong_statement(made: Case, model: Any, budget: float | None) -> Iterator[str]:
    """(1) and (2)."""
    own = model.own_rows_
    weight = np.ones(own.size) if made.weight is None else made.weight[own]
    if np.unique(own).size < own.size or not (weight > 0).all():
        yield "own_rows_ names a row twice, or one of weight 0"
        return
    rows, y = _taken(made.X, own), made.y[own]
    cost = np.average(model.prediction_cost(rows), weights=weight) + model.stages_.once[model.policy_.last_stage]
    found = model.predict(rows)
    error = np.average(found != y if made.classes else (found - y) ** 2, weights=weight)
    scale = 1.0 if made.classes else float(np.max(y**2))
    yield from sentences(
        *(
            (not np.isclose(stated, called, rtol=ROUNDED, atol=1e-12 * most), f"{name} is {stated!r}, called {called!r}")
            for name, stated, called, most in (("cost_", model.cost_, cost, made.dearest), ("error_", model.error_, error, scale))
        ),
        (budget is not None and model.cost_ > budget * (1 + ROUNDED), f"budget {budget!r}: costs {model.cost_!r}"),
        (made.classes and not np.allclose(model.predict_proba(made.X).sum(axis=1), 1), "probabilities do not add up to 1"),
    )


def _wrong_on_demand(made: Case, model: Any, rng: np.random.Generator) -> Iterator[str]:
    """(3)."""
    table = made.X if isinstance(made.X, pd.DataFrame) else pd.DataFrame(made.X).add_prefix("x")
    buy = pm.on_demand.from_table(table)
    result = pm.OnDemandPredictor(model, acquire=buy).run(table.index)
    whole = (model.predict(made.X), model.stop_stages(made.X))
    most = max(result.exact_cost)
    cap = most * int(rng.integers(60)) / 60
    capped = pm.OnDemandPredictor(model, acquire=buy, max_cost=cap).run(table.index)
    within = np.array([cost <= cap for cost in result.exact_cost])
    predictor = pm.OnDemandPredictor(model, acquire=buy)
    walk = predictor.start(table.index)
    walk.run(max_total_cost=most * len(table) / 3)
    resumed = predictor.resume(pickle.loads(pickle.dumps(walk))).run()
    costs, same = model.prediction_cost(made.X), np.array_equal
    goes_on = same(resumed.predictions, result.predictions) and same(resumed.units, result.units)
    yield from sentences(
        (not all(map(same, (result.predictions, result.stage), whole)), "on demand: other answers or stages"),
        (not np.allclose(result.cost, costs, rtol=ROUNDED, atol=1e-12 * made.dearest), "on demand: other costs"),
        (any(cost > cap for cost in capped.exact_cost), "on demand: above the cap"),
        (not same(capped.predictions[within], result.predictions[within]), "on demand: a cap changes rows that keep it"),
        (not goes_on, "on demand: a walk that went on differs"),
    )


def _wrong_copies(made: Case, model: Any, folder: Path) -> Iterator[str]:
    """(4)."""
    pm.save_cascade(model, folder / "it.skops", force=True)
    kept = folder / "kept"
    copies = {"pickled": pickle.loads(pickle.dumps(model)), "loaded": pm.load_cascade(folder / "it.skops")}
    copies["with a checkpoint"] = made.fitted(checkpoint=str(kept))
    for file in sorted(kept.glob("*.joblib"))[::2]:
        file.unlink()
    copies["from half a checkpoint"] = made.fitted(checkpoint=str(kept))
    for name, other in copies.items():
        for one, two in ((model, other), (model.at_cost(made.dearest), other.at_cost(made.dearest))):
            if one.cost_ != two.cost_ or not np.array_equal(one.predict(made.X), two.predict(made.X)):
                yield f"{name}: another cascade"
