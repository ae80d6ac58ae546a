"""GreedyMiser (Xu and others 2012): boosted trees of limited depth that pay for each feature once; lambda, depth and rounds."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from benchmarks.frontier.candidate import Candidate, FunctionMethod, Value
from benchmarks.frontier.choice import winners
from benchmarks.frontier.ladder import climb
from benchmarks.frontier.problem import Problem
from benchmarks.frontier.rivals.cegb import lambda_scale
from benchmarks.frontier.rivals.engines import least_in_leaf
from benchmarks.frontier.rivals.staged import prefixes
from prunemodels.rivals.greedy_miser import GreedyMiserClassifier, GreedyMiserRegressor

RATE = 0.2
MOST_ROUNDS = {True: 900, False: 480}
"""Largest number of rounds on small and on large data."""

LOWEST, HIGHEST = -12, 4
"""Rungs of lambda, two for a factor of ten."""


def rung_of(params: Mapping[str, Value]) -> int:
    """The rung of a candidate's lambda."""
    return round(2 * math.log10(float(params["lam"])))


def fit(problem: Problem, depth: int, rung: int, rounds: int) -> list[Candidate]:
    """The candidates of one model: its first rounds."""
    relative = float(f"{10 ** (rung / 2):.3g}")
    kind = GreedyMiserRegressor if problem.task == "regression" else GreedyMiserClassifier
    start = time.process_time()
    model = kind(
        costs=problem.costs,
        lam=relative * lambda_scale(problem),
        n_estimators=rounds,
        learning_rate=RATE,
        max_depth=depth,
        min_samples_leaf=least_in_leaf(problem),
        random_state=problem.seed,
    ).fit(problem.train.X, problem.train.y)
    seconds = time.process_time() - start
    stages = model.staged_predict if problem.task == "regression" else model.staged_predict_proba
    done = len(model.staged_cost(problem.valid.X[:2]))
    ends = {"lam": "too small to matter"} if rung == LOWEST else {}
    if depth == 1:
        ends["depth"] = "one split a tree is the fewest"
    if not model.staged_cost(problem.valid.X[:50]).any():
        ends |= {"lam": "nothing is bought", "depth": "nothing is bought"}
    exhausted = "no split is worth its price" if done < rounds else ""
    params: dict[str, Value] = {"depth": depth, "lam": relative}
    return prefixes(problem, params, stages, model.staged_cost, done, seconds, ends, exhausted=exhausted)


def limits(problem: Problem) -> tuple[list[int], range, int]:
    """The first depths, rungs of lambda and number of rounds."""
    if problem.is_small:
        return [2, 4], range(-8, 0, 2), 60
    if problem.n_classes > 2:
        return [6], range(-8, -3), 40
    return [4, 8], range(-8, -3), 120


def greedy_miser(problem: Problem, scouted: Sequence[Mapping[str, Value]] | None) -> Iterator[Candidate]:
    """Try all depths and lambdas on the first seed, and its chosen ones on the others."""
    all_depths, rungs, rounds = limits(problem)
    found: list[Candidate] = []
    for depth, rung in sorted({(int(s["depth"]), rung_of(s)) for s in scouted or ()}):
        found += fit(problem, depth, rung, rounds)
    tried: set[int] = set()
    todo = [] if scouted else list(all_depths)
    while todo:
        depth = todo.pop()
        tried.add(depth)
        found += climb(partial(fit, problem, depth, rounds=rounds), list(rungs), LOWEST, HIGHEST, problem.budgets)
        used = {int(w.params["depth"]) for w in winners(found, problem.budgets) if "depth" not in w.ends}
        if not todo and max(tried) in used and max(tried) < 16:
            todo.append(max(tried) + (2 if max(tried) < 8 else 4))
        elif not todo and min(tried) in used and min(tried) > 1:
            todo.append(min(tried) // 2)
    while rounds < MOST_ROUNDS[problem.is_small] and (more := _longer(problem, found, rounds)):
        found, rounds = [*found, *more], 2 * rounds
    yield from found


def _longer(problem: Problem, found: Sequence[Candidate], rounds: int) -> list[Candidate]:
    """Candidates with twice the rounds, for settings that validation chose at the last round."""
    more: list[Candidate] = []
    at_limit = [w for w in winners(found, problem.budgets) if w.params["rounds"] == rounds and "rounds" not in w.ends]
    for depth, rung in sorted({(int(w.params["depth"]), rung_of(w.params)) for w in at_limit}):
        more += fit(problem, depth, rung, 2 * rounds)
    return more


METHODS = [FunctionMethod("GreedyMiser", greedy_miser)]
