"""CSTC and ASTC (Xu and others 2013, Kusner and others 2014): trees of linear classifiers; two classes of small data only.

They have no probabilities: for their log loss every predicted class has the share of training examples that are predicted right.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.frontier.candidate import Candidate, FunctionMethod, Value, measured
from benchmarks.frontier.ladder import climb
from benchmarks.frontier.problem import Problem
from benchmarks.frontier.rivals.cegb import lambda_scale
from benchmarks.frontier.rivals.engines import two_columns
from prunemodels.rivals.cstc import ASTCClassifier, CSTCClassifier

DEPTHS = (1, 2, 3, 4, 5)
"""The deepest tree has 31 classifiers."""


def cstc(problem: Problem, scouted: Sequence[Mapping[str, Value]] | None) -> Iterator[Candidate]:
    """CSTC at rungs of lambda, two for a factor of ten."""
    plain = problem.imputed

    def fit(rung: int) -> list[Candidate]:
        relative = float(f"{10 ** (rung / 2):.3g}")
        model = CSTCClassifier(
            costs=plain.costs, lam=relative * lambda_scale(plain), depth=2, features="identity", random_state=plain.seed
        )
        return [_measured(plain, model, {"lam": relative}, {})]

    if scouted:
        rungs = sorted({round(2 * math.log10(float(s["lam"]))) for s in scouted})
        yield from (c for rung in rungs for c in fit(rung))
    else:
        yield from climb(fit, range(-7, 1), -14, 4, problem.budgets)


def astc(problem: Problem, scouted: Sequence[Mapping[str, Value]] | None) -> Iterator[Candidate]:
    """ASTC at the benchmark's budgets, at all depths."""
    plain = problem.imputed
    for budget in problem.budgets:
        for depth in DEPTHS:
            model = ASTCClassifier(costs=plain.costs, budget=budget, depth=depth, features="identity", random_state=plain.seed)
            ends = {"budget": "the benchmark's own"} | ({"depth": "a single classifier"} if depth == 1 else {})
            yield _measured(plain, model, {"budget": budget, "depth": depth}, ends)


def _measured(
    plain: Problem, model: CSTCClassifier | ASTCClassifier, params: Mapping[str, Value], ends: Mapping[str, str]
) -> Candidate:
    start = time.process_time()
    model.fit(plain.train.X, plain.train.y, X_valid=plain.valid.X, y_valid=plain.valid.y)
    seconds = time.process_time() - start
    paid = [float(model.prediction_cost(part.X).mean()) for part in (plain.valid, plain.test)]
    more = dict(ends)
    if paid[0] == 0:
        more |= {"lam": "nothing is bought"}
    right = float(np.clip(np.mean(model.predict(plain.train.X) == plain.train.y), 0.5, 0.99))

    def predict(X: NDArray[np.float32]) -> NDArray[np.float64]:
        return two_columns(np.where(model.predict(X) == 1, right, 1 - right))

    return measured(plain, params, predict, (paid[0], paid[1]), seconds, more)


def _refuses(problem: Problem) -> str | None:
    if problem.n_classes != 2:
        return "it knows two classes only"
    return None if problem.is_small else "it takes minutes a model"


METHODS = [FunctionMethod("CSTC", cstc, refuses=_refuses), FunctionMethod("ASTC", astc, refuses=_refuses)]
