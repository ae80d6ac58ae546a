"""CatBoost's own penalties: each feature is charged when a tree first uses it; skipped if CatBoost is not installed."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.frontier.candidate import Candidate, FunctionMethod, Value, measured
from benchmarks.frontier.choice import winners
from benchmarks.frontier.ladder import climb
from benchmarks.frontier.problem import Problem
from benchmarks.frontier.rivals.engines import STOPPING_ROUNDS

LOWEST, HIGHEST = -10, 12
"""Rungs of the penalty, two to a factor of ten."""


def rung_of(params: Mapping[str, Value]) -> int:
    """The rung of a candidate's penalty."""
    return round(2 * math.log10(float(params["penalty"])))


def fit(problem: Problem, depth: int, rung: int) -> list[Candidate]:
    """One model, stopped early."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    relative = float(f"{10 ** (rung / 2):.3g}")
    kind: Any = CatBoostRegressor if problem.task == "regression" else CatBoostClassifier
    prices = problem.alone / problem.alone.mean()
    rounds = 1000 if problem.is_small else 500
    model = kind(
        iterations=rounds,
        learning_rate=0.2,
        depth=depth,
        thread_count=1,
        verbose=0,
        allow_writing_files=False,
        random_seed=problem.seed,
        od_type="Iter",
        od_wait=STOPPING_ROUNDS,
        first_feature_use_penalties=prices.tolist(),
        penalties_coefficient=relative,
    )
    start = time.process_time()
    model.fit(problem.train.X, problem.train.y, eval_set=(problem.valid.X, problem.valid.y))
    seconds = time.process_time() - start
    used = np.flatnonzero(np.asarray(model.get_feature_importance(type="PredictionValuesChange")) > 0)
    trees = int(model.tree_count_)
    ends = {"penalty": "too small to matter"} if rung == LOWEST else {}
    if used.size == 0:
        ends |= {"penalty": "nothing is bought", "depth": "nothing is bought"}
    if trees < rounds:
        ends["rounds"] = "the validation loss rose"
    if depth == 1:
        ends["depth"] = "one split a tree is the fewest"
    params: dict[str, Value] = {"depth": depth, "penalty": relative, "rounds": trees}
    predict = model.predict if problem.task == "regression" else model.predict_proba
    return [measured(problem, params, lambda X: np.asarray(predict(X)), problem.price_of(used), seconds, ends)]


def catboost(problem: Problem, scouted: Sequence[Mapping[str, Value]] | None) -> Iterator[Candidate]:
    """Try all penalties and depths on the first seed, and the chosen ones on the others."""
    if scouted:
        for depth, rung in sorted({(int(s["depth"]), rung_of(s)) for s in scouted}):
            yield from fit(problem, depth, rung)
        return
    found: list[Candidate] = []
    tried: list[int] = []
    todo = [4, 6] if problem.is_small else [8, 6]
    while todo:
        depth = todo.pop(0)
        tried.append(depth)
        found += climb(partial(fit, problem, depth), range(-2, 6), LOWEST, HIGHEST, problem.budgets)
        used = {int(w.params["depth"]) for w in winners(found, problem.budgets) if "depth" not in w.ends}
        if not todo and max(tried) in used and max(tried) < 12:
            todo.append(max(tried) + 2)
        elif not todo and min(tried) in used and min(tried) > 1:
            todo.append(max(1, min(tried) - 2))
    yield from found


def _refuses(problem: Problem) -> str | None:
    if find_spec("catboost") is None:
        return "CatBoost is not installed"
    return None if problem.n_classes <= 3 else "many classes take minutes a model"


METHODS = [FunctionMethod("CatBoost's penalties", catboost, refuses=_refuses)]
