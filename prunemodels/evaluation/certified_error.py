"""The cheapest pruning of a path whose forest errs at most so much in the population, with a stated confidence.

Some rows, the choosing rows, determine the prunings, and other rows, the certifying rows, test them from the dearest on: see
`prunemodels.statements.promises`. The errors that are tested are those of the forest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from formulations.answers.pruning import Pruning
from formulations.errors import InvalidInputError
from formulations.instance.problem import PruningProblem
from formulations.shown import spread
from prunemodels.evaluation.evaluate import PARAMS
from prunemodels.evaluation.held_out import on_other_rows
from prunemodels.models.forests.problems import pruned_copy
from prunemodels.models.forests.reading import ReadForest
from prunemodels.models.labelled_samples import forest_losses
from prunemodels.statements.groups import over_groups, part_of, repeated
from prunemodels.statements.mean_bounds import BoundMethod, unequal
from prunemodels.statements.promises import Draws, Promise, check_enough, check_max_error, last_kept
from solvers import pruning_path


def pruning_for_error(
    problem: PruningProblem,
    forest: ReadForest,
    y: Any,
    max_error: float,
    confidence: float,
    X_certify: Any = None,
    y_certify: Any = None,
    groups: NDArray[np.int64] | None = None,
) -> tuple[Pruning, Promise]:
    """The pruning, and how its error was tested.

    `y`: labels of all rows of ``problem.X``. One half of the cost sample, drawn at random, certifies, unless `X_certify` and
    `y_certify` are given. A loss that has no bound counts at most as the largest that the unpruned forest, or its single leaves,
    have on the choosing rows. `groups`, of the rows of ``problem.X``: no group is in both halves, and what is promised is the
    mean over groups of the mean error in each.
    """
    loss, rng, usage = problem.ensemble.loss, np.random.default_rng(0), problem.usage
    shares = loss.name == "zero_one"
    check_max_error(max_error, loss.measure)
    if unequal(usage.weights) is not None:
        raise InvalidInputError(
            "sample_weight is given with max_error, which is promised for examples of equal weight; leave it out, or draw rows "
            "by their weights"
        )
    labels, X = np.asarray(y), problem.X if hasattr(problem.X, "shape") else np.asarray(problem.X)
    choosing, chosen_y, name = problem, labels[usage.rows], "X_certify"
    if X_certify is None:
        both = _halves(usage.n_rows, rng) if groups is None else part_of(usage.n_rows, 0.5, groups[usage.rows], 0)
        choose, certify = (usage.rows[part] for part in both)
        groups = None if groups is None else repeated(groups[certify])
        choosing, chosen_y, name = on_other_rows(problem, _safe_indexing(X, choose)), labels[choose], "a half of X_valid"
        X_certify, y_certify = _safe_indexing(X, certify), labels[certify]
    n = len(np.asarray(y_certify)) if groups is None else np.unique(groups).size
    order = rng.permutation(n)
    if shares:
        check_enough(n, max_error, confidence, name)
    path = pruning_path(choosing, progress=None)

    def losses(pruning: Pruning, X: Any, y: Any) -> NDArray[np.float64]:
        return forest_losses(pruned_copy(forest, pruning), X, y, loss)

    largest = loss.largest
    if not math.isfinite(largest):
        ends = Pruning.unpruned(choosing), Pruning.all_roots(choosing)
        rows = _safe_indexing(choosing.X, choosing.usage.rows)
        largest = max(float(losses(end, rows, chosen_y).max()) for end in ends)

    def candidates() -> Iterator[tuple[Pruning, Draws]]:
        for k in spread(len(path), PARAMS.promised_rows):
            lost = np.minimum(losses(path[k], X_certify, y_certify), largest)
            if groups is not None:
                (lost,), _ = over_groups([lost], np.ones(len(lost)), groups)
            yield path[k], Draws(lost[order], largest)

    bound: BoundMethod = "exact" if shares and groups is None else "betting"
    kept = last_kept(candidates(), max_error, confidence, bound)
    if kept.answer is None:
        raise InvalidInputError(
            f"max_error is {max_error:g}, and by {n:,} examples no less than {kept.bound:.4g} can be promised with confidence "
            f"{confidence:g}, by the dearest pruning; give at least that, more examples, or less confidence"
        )
    return Pruning(problem, kept.answer.kept), Promise(float(max_error), confidence, kept.mean, kept.bound, n, kept.tested)


def _halves(n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of the choosing and of the certifying rows among n."""
    certify = round(n / 2)
    if min(certify, n - certify) < 2:
        raise InvalidInputError(f"{n} rows leave fewer than 2 rows in one half; give more rows, or X_certify")
    shuffled = rng.permutation(n)
    return np.sort(shuffled[certify:]), np.sort(shuffled[:certify])
