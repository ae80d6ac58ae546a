"""The project's own methods as methods of the benchmark; a new one needs a line in `OURS`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from threadpoolctl import threadpool_limits

import prunemodels as pm
from benchmarks.frontier.candidate import Candidate, FunctionMethod, Method, Value, error_and_loss
from benchmarks.frontier.exits import BoostedStage, exit_candidates
from benchmarks.frontier.grown_pruned import grown_pruned
from benchmarks.frontier.grown_pruned import refuses as grown_pruned_refuses
from benchmarks.frontier.ladder import climb
from benchmarks.frontier.problem import Problem
from benchmarks.frontier.pruned import pruning_candidate, sequence_candidates
from benchmarks.frontier.rivals.engines import ENGINES, Setting
from benchmarks.frontier.rivals.forests import LEAF_SIZES, grown, start_rungs
from formulations.errors import InvalidInputError


def _over_leaves(
    problem: Problem, scouted: Sequence[Mapping[str, Value]] | None, fit: Callable[[int], list[Candidate]]
) -> Iterator[Candidate]:
    """The candidates of forests with leaves of at least 1, 2, 4, ... rows."""
    if scouted:
        for rung in sorted({LEAF_SIZES.index(int(params["min_samples_leaf"])) for params in scouted}):
            yield from fit(rung)
    else:
        yield from climb(fit, start_rungs(problem), 0, len(LEAF_SIZES) - 1, problem.budgets)


def _ends(rung: int) -> dict[str, str]:
    return {"min_samples_leaf": "one row is the fewest"} if rung == 0 else {}


def pruning_path(problem: Problem, scouted: Sequence[Mapping[str, Value]] | None) -> Iterator[Candidate]:
    """All optimal prunings of a random forest of 40 trees, for its trees' mean error and the costs of the validation part."""

    def fit(rung: int) -> list[Candidate]:
        forest, seconds = grown(problem, LEAF_SIZES[rung])
        start = time.process_time()
        path = pm.pruning_path(pm.problem_from_forest(forest, problem.valid.X, costs=problem.costs), certificate=False)
        seconds += time.process_time() - start
        params: dict[str, Value] = {"min_samples_leaf": LEAF_SIZES[rung]}
        return list(sequence_candidates(problem, forest, path, params, seconds, "lam", _ends(rung)))

    yield from _over_leaves(problem, scouted, fit)


FOREST_LOSS_SECONDS = 40.0


def forest_loss(problem: Problem, scouted: Sequence[Mapping[str, Value]] | None) -> Iterator[Candidate]:
    """Prunings for the forest's own loss, measured on rows out of bag, at every budget."""

    def fit(rung: int) -> list[Candidate]:
        forest, seconds = grown(problem, LEAF_SIZES[rung])
        start = time.process_time()
        path = pm.ensemble_loss.ensemble_path(
            forest,
            problem.valid.X,
            problem.valid.y,
            costs=problem.costs,
            errors=pm.samples.OutOfBag(problem.train.X, problem.train.y),
            time_limit=5.0 if problem.is_small else FOREST_LOSS_SECONDS,
        )
        seconds += time.process_time() - start
        return [c for c in _answers(problem, forest, path, seconds, rung) if c is not None]

    yield from _over_leaves(problem, scouted, fit)


def _answers(problem: Problem, forest: Any, path: Any, seconds: float, rung: int) -> Iterator[Candidate | None]:
    for budget in problem.budgets:
        try:
            pruning = path.at_cost(budget)
        except InvalidInputError:  # no pruning that was found is that cheap
            yield None
            continue
        params: dict[str, Value] = {"min_samples_leaf": LEAF_SIZES[rung], "budget": budget}
        yield pruning_candidate(problem, forest, pruning, params, seconds, {**_ends(rung), "budget": "the benchmark's own"})


def _refuses_large(problem: Problem) -> str | None:
    return None if problem.is_small else "its search takes minutes a forest"


def exits_along_the_path(problem: Problem, scouted: Sequence[Mapping[str, Value]] | None) -> Iterator[Candidate]:
    """Exit policies along the optimal path of a random forest of 40 trees, learned on the validation part."""

    def fit(rung: int) -> list[Candidate]:
        forest, seconds = grown(problem, LEAF_SIZES[rung])
        start = time.process_time()
        path = pm.pruning_path(pm.problem_from_forest(forest, problem.valid.X, costs=problem.costs), certificate=False)
        exits = pm.exit_path(path, problem.valid.X, problem.valid.y, random_state=problem.seed)
        seconds += time.process_time() - start
        return list(exit_candidates(problem, exits, {"min_samples_leaf": LEAF_SIZES[rung]}, seconds, _ends(rung)))

    yield from _over_leaves(problem, scouted, fit)


def fitted_cascade(problem: Problem, stage: Any, params: Mapping[str, Value], ends: Mapping[str, str]) -> list[Candidate]:
    """A cascade of such models on sets of columns that it finds; sets and exits are learned on the validation part."""
    start = time.process_time()
    kind = pm.BudgetCascadeRegressor if problem.task == "regression" else pm.BudgetCascadeClassifier
    columns = [f"x{f}" for f in range(problem.n_features)]
    train, valid = (pd.DataFrame(part.X, columns=columns) for part in (problem.train, problem.valid))
    model = kind(stage, problem.costs, lam=0, random_state=problem.seed)
    with threadpool_limits(1):
        model.fit(train, problem.train.y, X_valid=valid, y_valid=problem.valid.y)
    seconds = time.process_time() - start
    return list(exit_candidates(problem, model, params, seconds, ends, columns))


def default_cascade(problem: Problem, scouted: Sequence[Mapping[str, Value]] | None) -> Iterator[Candidate]:
    """`BudgetCascade` as it comes: it chooses models, sets and orders itself. One object for all budgets."""
    yield from fitted_cascade(problem, None, {}, {})


CASCADE_LEAVES = (3, 7, 15, 31, 63, 127, 255, 511, 1023)
"""Numbers of leaves of a stage's trees."""


ENGINE = "LightGBM"
"""Of the stages."""


def boosted_cascade(problem: Problem, scouted: Sequence[Mapping[str, Value]] | None) -> Iterator[Candidate]:
    """`BudgetCascade` with boosted trees at every stage; it finds the sets, and learns exits on the validation part."""

    def fit(rung: int) -> list[Candidate]:
        ends = {"leaves": "a tree has two leaves at least"} if rung == 0 else {}
        if not problem.is_small:
            ends = {"leaves": "chosen for a model of all columns, between neighbours that are no better"}
        stage = BoostedStage(ENGINE, CASCADE_LEAVES[rung], problem)
        return fitted_cascade(problem, stage, {"leaves": CASCADE_LEAVES[rung]}, ends)

    if scouted:
        for leaves in sorted({int(params["leaves"]) for params in scouted}):
            yield from fit(CASCADE_LEAVES.index(leaves))
    elif problem.is_small:
        yield from climb(fit, [CASCADE_LEAVES.index(7)], 0, len(CASCADE_LEAVES) - 1, problem.budgets)
    else:
        yield from fit(_leaves_for_all_columns(problem))


def _leaves_for_all_columns(problem: Problem) -> int:
    """The rung of `CASCADE_LEAVES` from which on more leaves no longer lower the validation loss of a model of all columns."""
    rate = 0.2 if problem.n_classes > 3 else 0.1

    def loss(rung: int) -> float:
        model = ENGINES[ENGINE](problem, range(problem.n_features), Setting(CASCADE_LEAVES[rung], rate))
        return error_and_loss(problem, problem.valid.y, model.predict(problem.valid.X))[1]

    def found() -> int:
        rung = CASCADE_LEAVES.index(31)
        least = loss(rung)
        while rung + 1 < len(CASCADE_LEAVES) and (above := loss(rung + 1)) < least:
            rung, least = rung + 1, above
        return rung

    return int(problem.memory.recall(f"cascade-leaves-{ENGINE}", found)["value"])


OURS: list[Method] = [
    FunctionMethod("optimal pruning path", pruning_path, ours=True),
    FunctionMethod("exits along the optimal path", exits_along_the_path, ours=True),
    FunctionMethod("cascade", default_cascade, ours=True),
    FunctionMethod("cascade of LightGBM models", boosted_cascade, ours=True),
    FunctionMethod("pruning for the forest's loss", forest_loss, ours=True, refuses=_refuses_large),
    FunctionMethod("CEGB, pruned and refitted", grown_pruned, ours=True, refuses=grown_pruned_refuses),
]
