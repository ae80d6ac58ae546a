"""CEGB (Peter and others 2017) by LightGBM's own penalties: lambda, leaves and rounds.

LightGBM's penalties cannot express that features share an item. So the trees grow with the price of each feature alone, and their
examples pay the real items. More rounds than the limit are tried for settings that were chosen at the limit. ``lam`` is in units
of `lambda_scale`, so that all data sets have the same grid.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.frontier.candidate import Candidate, FunctionMethod, Value
from benchmarks.frontier.choice import winners
from benchmarks.frontier.ladder import climb
from benchmarks.frontier.problem import Problem
from benchmarks.frontier.rivals.engines import least_in_leaf
from benchmarks.frontier.rivals.staged import prefixes
from prunemodels.rivals.cegb import CEGBClassifier, CEGBRegressor

RATE = 0.2
RUNGS_PER_DECADE = 3
"""Rungs of lambda for a factor of ten."""

MOST_ROUNDS = {True: 800, False: 400}
"""Largest number of rounds on small and on large data, where 400 rounds of 512 leaves take a minute for each model."""

MEMORY = "cegb-settings"
"""The name by which the chosen settings are remembered."""

LOWEST, HIGHEST = -14, 2
"""Rungs of lambda. At the lowest all features together cost a few thousandths of the loss; at the highest none is worth its
price."""


def rung_of(params: Mapping[str, Value]) -> int:
    """The rung of a candidate's lambda."""
    return round(RUNGS_PER_DECADE * math.log10(float(params["lam"])))


def lambda_scale(problem: Problem) -> float:
    """The unit of lambda: prices differ by orders of magnitude, and so do the losses of regressions."""
    loss = float(problem.train.y.var()) if problem.task == "regression" else 1.0
    return loss * problem.n_features / max(problem.full_price, 1e-12)


@dataclass(frozen=True, eq=False)
class Grown:
    """One model, and the data that its candidates share.

    Parameters
    ----------
    rounds
        number of rounds made.
    exhausted
        the reason if no further rounds are possible, or empty.
    """

    model: CEGBClassifier | CEGBRegressor
    params: Mapping[str, Value]
    ends: Mapping[str, str]
    rounds: int
    exhausted: str
    seconds: float


def grow(problem: Problem, leaves: int, rung: int, rounds: int) -> Grown:
    """Train one model."""
    relative = float(f"{10 ** (rung / RUNGS_PER_DECADE):.3g}")
    kind = CEGBRegressor if problem.task == "regression" else CEGBClassifier
    start = time.process_time()
    model = kind(
        costs=problem.costs,
        training_costs=problem.alone,
        lam=relative * lambda_scale(problem),
        n_estimators=rounds,
        learning_rate=RATE,
        num_leaves=leaves,
        min_child_samples=least_in_leaf(problem),
        n_jobs=1,
        random_state=problem.seed,
    ).fit(problem.train.X, problem.train.y)
    seconds = time.process_time() - start
    ends = {"lam": "too small to matter"} if rung == LOWEST else {}
    if leaves == 2:
        ends["leaves"] = "a tree has two leaves at least"
    if not model.forest_.ensemble.is_split.any():
        ends |= {"lam": "nothing is bought", "leaves": "nothing is bought"}
    exhausted = "no split is worth its price" if model.n_iter_ < rounds else ""
    return Grown(model, {"leaves": leaves, "lam": relative}, ends, model.n_iter_, exhausted, seconds)


def rounds_of(problem: Problem, grown: Grown) -> list[Candidate]:
    """The first rounds of a model as candidates."""
    model = grown.model
    stages = model.staged_predict if problem.task == "regression" else model.staged_predict_proba
    return prefixes(
        problem, grown.params, stages, model.staged_cost, grown.rounds, grown.seconds, grown.ends, exhausted=grown.exhausted
    )


def fit(problem: Problem, leaves: int, rung: int, rounds: int) -> list[Candidate]:
    """The candidates of one model: its first rounds."""
    return rounds_of(problem, grow(problem, leaves, rung, rounds))


def limits(problem: Problem) -> tuple[list[int], range, int]:
    """The first numbers of leaves, rungs of lambda and number of rounds."""
    if problem.is_small:
        return [4, 16], range(-10, -1, 2), 100
    if problem.n_classes > 2:
        return [64], range(-7, -3), 80
    return [64, 256], range(-8, -3), 200


def search(problem: Problem, scouted: Sequence[Mapping[str, Value]] | None) -> list[Candidate]:
    """Try all leaves and lambdas on the first seed, and its chosen ones on the others."""
    all_leaves, rungs, rounds = limits(problem)
    found: list[Candidate] = []
    for leaves, rung in sorted({(int(s["leaves"]), rung_of(s)) for s in scouted or ()}):
        found += fit(problem, leaves, rung, rounds)
    tried: set[int] = set()
    todo = [] if scouted else list(all_leaves)
    while todo:
        leaves = todo.pop()
        tried.add(leaves)
        found += climb(partial(fit, problem, leaves, rounds=rounds), list(rungs), LOWEST, HIGHEST, problem.budgets)
        if not todo:
            used = {int(w.params["leaves"]) for w in winners(found, problem.budgets) if "leaves" not in w.ends}
            todo += _beyond(used, tried)
            rungs = _used_rungs(winners(found, problem.budgets), rungs)
    while rounds < MOST_ROUNDS[problem.is_small] and (more := _longer(problem, found, rounds)):
        found, rounds = [*found, *more], 2 * rounds
    return found


def settings(problem: Problem) -> list[dict[str, Value]]:
    """The parameters that validation chose for CEGB on the first seed; searched for once for each data set."""
    return list(problem.memory.recall(MEMORY, lambda: _chosen(problem, search(problem, None)))["value"])


def _chosen(problem: Problem, found: Sequence[Candidate]) -> list[dict[str, Value]]:
    return [dict(w.params) for w in winners(found, problem.budgets) if w.params]


def cegb(problem: Problem, scouted: Sequence[Mapping[str, Value]] | None) -> Iterator[Candidate]:
    """The rounds of all settings; the chosen settings are kept for `settings`."""
    found = search(problem, scouted)
    if not scouted:
        problem.memory.recall(MEMORY, lambda: _chosen(problem, found))
    yield from found


def _used_rungs(chosen: Sequence[Candidate], rungs: range) -> range:
    """The rungs from the least to the largest that validation chose, where the next ladder starts."""
    used = [rung_of(c.params) for c in chosen if c.params]
    return range(min(used), max(used) + 1) if used else rungs


def _beyond(used: set[int], tried: set[int]) -> list[int]:
    """The next numbers of leaves above or below the tried ones, if validation chose the last one."""
    more = []
    if max(tried) in used and max(tried) < 512:
        more.append(max(tried) * (4 if max(tried) < 64 else 2))
    if min(tried) in used and min(tried) > 2:
        more.append(max(2, min(tried) // 4))
    return more


def _longer(problem: Problem, found: Sequence[Candidate], rounds: int) -> list[Candidate]:
    """Candidates with twice the rounds, for settings that validation chose at the last round."""
    more: list[Candidate] = []
    at_limit = [w for w in winners(found, problem.budgets) if w.params["rounds"] == rounds and "rounds" not in w.ends]
    for leaves, rung in sorted({(int(w.params["leaves"]), rung_of(w.params)) for w in at_limit}):
        more += fit(problem, leaves, rung, 2 * rounds)
    return more


METHODS = [FunctionMethod("CEGB", cegb)]
