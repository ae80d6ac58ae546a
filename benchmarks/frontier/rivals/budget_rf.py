"""BudgetRF (Nan and others 2015) as BP16 runs it: splits by impurity per price, and early stopping at every threshold.

One forest gives the results of all thresholds (`early_stopping_path`), and its first trees are candidates too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import prunemodels as pm
from benchmarks.frontier.candidate import Candidate, FunctionMethod, Value
from benchmarks.frontier.problem import Problem
from benchmarks.frontier.pruned import sequence_candidates
from benchmarks.frontier.rivals.forests import votes
from benchmarks.frontier.rivals.staged import prefixes
from prunemodels.models.costs import staged_costs
from prunemodels.models.forests.reading import read_forest
from prunemodels.rivals.budget_rf import BudgetRFClassifier
from prunemodels.rivals.budget_rf.options import Impurity

IMPURITIES: tuple[Impurity, ...] = ("pairs", "cost_weighted_entropy")


def budget_rf(problem: Problem, scouted: Sequence[Mapping[str, Value]] | None) -> Iterator[Candidate]:
    """Try both impurities on the first seed, and the chosen ones on the others."""
    plain = problem.imputed
    trees = 40 if problem.is_small else 16
    used = {str(s["impurity"]) for s in scouted} if scouted else set(IMPURITIES)
    for impurity in (known for known in IMPURITIES if known in used):
        start = time.process_time()
        learner = BudgetRFClassifier(
            costs=plain.costs, n_estimators=trees, impurity=impurity, reuse_is_free=True, random_state=plain.seed
        ).fit(plain.train.X, plain.train.y)
        seconds, forest = time.process_time() - start, learner.forest_
        grown = pm.problem_from_forest(forest, plain.valid.X, costs=plain.costs)
        stopped = pm.rivals.early_stopping_path(grown, forest, criterion="entropy")
        params: dict[str, Value] = {"impurity": impurity, "trees": trees}
        ends = {"trees": "as many as were grown"}
        yield from sequence_candidates(plain, forest, stopped, params, seconds, "threshold", ends)
        ensemble = read_forest(forest)
        yield from prefixes(
            plain,
            {"impurity": impurity, "threshold": 0.0},
            partial(votes, forest),
            partial(staged_costs, ensemble, costs=plain.costs),
            trees,
            seconds,
            {"threshold": "trees grown fully"},
            exhausted="as many as were grown",
            counter="trees",
        )


METHODS = [
    FunctionMethod(
        "BudgetRF", budget_rf, refuses=lambda problem: "it knows classes only" if problem.task == "regression" else None
    )
]
