"""Linear models with an L1 penalty, and CSTC's trees of linear classifiers (Xu and others 2013), for two classes of small data.

With L1, the columns with a weight are paid for. Medians replace missing values.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from benchmarks.frontier.candidate import Candidate, Method, Scouted, Value, climb, measured, searched
from benchmarks.frontier.problem import Problem
from benchmarks.frontier.rivals.boosted import two_columns
from benchmarks.frontier.rivals.priced import lambda_scale
from prunemodels.rivals.cstc import CSTCClassifier

RUNGS = (-16, 16)  # the lowest and the highest rung r; C = 10^(r / 4) / 10
MOST_ROWS = 10_000
"""Largest number of training rows: a model has about 50 weights, and more rows do not change the error's second digit."""


def _model(problem: Problem, strength: float) -> Any:
    if problem.task == "regression":
        return Lasso(alpha=1 / strength, max_iter=5000)
    if problem.n_classes == 2:
        return LogisticRegression(C=strength, l1_ratio=1.0, solver="liblinear", max_iter=200, random_state=problem.seed)
    return LogisticRegression(C=strength, l1_ratio=1.0, solver="saga", max_iter=60, tol=1e-3, random_state=problem.seed)


def l1(problem: Problem, scouted: Scouted) -> Iterator[Candidate]:
    plain = problem.imputed
    # large sets have long tails: with ranks a linear model is better, and liblinear converges
    ranks = QuantileTransformer(output_distribution="normal", random_state=problem.seed)
    scale = (StandardScaler() if problem.is_small else ranks).fit(plain.train.X)
    X, y = scale.transform(plain.train.X)[:MOST_ROWS], plain.train.y[:MOST_ROWS]
    spread = float(np.std(y)) if problem.task == "regression" else 1.0

    def fit(rung: int) -> list[Candidate]:
        strength, start = 10 ** (rung / 4) / 10, time.process_time()
        model = _model(problem, strength / spread * 10 if problem.task == "regression" else strength)
        with warnings.catch_warnings():
            for category in (ConvergenceWarning, FutureWarning, UserWarning):
                warnings.simplefilter("ignore", category)
            model.fit(X, y)
        used = np.flatnonzero((np.atleast_2d(model.coef_) != 0).any(axis=0))
        predict = model.predict if problem.task == "regression" else model.predict_proba
        bought = {0: "nothing", problem.n_features: "everything"}.get(used.size)
        ends = {"C": f"{bought} is bought"} if bought else {}
        params: dict[str, Value] = {"C": float(f"{strength:.3g}")}
        cost, seconds = problem.price_of(used), time.process_time() - start
        return [measured(plain, params, lambda rows: np.asarray(predict(scale.transform(rows))), cost, seconds, ends)]

    yield from climb(fit, range(-8, 5), *RUNGS, problem.budgets)


def cstc(problem: Problem, scouted: Scouted) -> Iterator[Candidate]:
    """CSTC at rungs of lambda, two for a factor of ten. It has no probabilities: for its log loss every predicted class has the
    share of training examples that are predicted right.
    """
    plain = problem.imputed

    def fit(rung: int) -> list[Candidate]:
        relative = float(f"{10 ** (rung / 2):.3g}")
        model = CSTCClassifier(
            costs=plain.costs, lam=relative * lambda_scale(plain), depth=2, features="identity", random_state=plain.seed
        )
        start = time.process_time()
        model.fit(plain.train.X, plain.train.y, X_valid=plain.valid.X, y_valid=plain.valid.y)
        seconds = time.process_time() - start
        paid = [float(model.prediction_cost(part.X).mean()) for part in (plain.valid, plain.test)]
        right = float(np.clip(np.mean(model.predict(plain.train.X) == plain.train.y), 0.5, 0.99))
        ends = {"lam": "nothing is bought"} if paid[0] == 0 else {}

        def predict(X: NDArray[np.float32]) -> NDArray[np.float64]:
            return two_columns(np.where(model.predict(X) == 1, right, 1 - right))

        return [measured(plain, {"lam": relative}, predict, (paid[0], paid[1]), seconds, ends)]

    rungs = (round(2 * math.log10(float(s["lam"]))) for s in scouted or ())
    return searched(fit, rungs, range(-7, 1), range(-14, 5), problem.budgets)


def _refuses(problem: Problem) -> str | None:
    if problem.n_classes != 2:
        return "it knows two classes only"
    return None if problem.is_small else "it takes minutes a model"


METHODS = [Method("L1 linear model", l1), Method("CSTC", cstc, refusal=_refuses)]
