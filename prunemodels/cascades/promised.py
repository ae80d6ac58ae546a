"""The cheapest policy whose error is promised, of the policies of several paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from prunemodels.cascades.exit_path import Choice, Chosen, ExitPath, chosen
from prunemodels.cascades.learning import ExitSample
from prunemodels.cascades.params import PARAMS
from prunemodels.models.labelled_samples import class_numbers
from prunemodels.stages.judging import lost
from prunemodels.stages.params import PARAMS as STAGE_PARAMS
from prunemodels.statements.mean_bounds import BoundMethod, over_groups, repeated
from prunemodels.statements.promises import Draws, Promise, check_enough, last_kept


def from_dearest(paths: Sequence[ExitPath]) -> Iterator[Chosen]:
    """Policies of falling cost: those for rising prices of cost, and where two are far apart, those for budgets between."""
    step = max(path.cost[0] for path in paths) / PARAMS.promised_steps
    last: float | None = None
    for lam in np.unique(np.concatenate([path.cross_fitted.lam for path in paths])).tolist():
        found = chosen(paths, None, lam, "one_se")
        if last is None:
            last = found[1].cost
            yield found
            continue
        apart = last - found[1].cost
        count = int(apart / step * (1 + STAGE_PARAMS.rounding)) if step > 0 else 0
        budgets = [last - apart * k / (count + 1) for k in range(1, count + 1)]
        for policy in (*(chosen(paths, budget, None, "one_se") for budget in budgets), found):
            if policy[1].cost < last * (1 - STAGE_PARAMS.rounding):
                last = policy[1].cost
                yield policy


def promised(
    paths: Sequence[ExitPath],
    rows: Any,
    y: Any,
    max_error: float,
    confidence: float,
    groups: NDArray[np.int64] | None = None,
) -> tuple[ExitPath, Choice, Promise]:
    """The cheapest policy of `from_dearest` whose error is promised, see `prunemodels.statements.promises`.

    `rows`, `y`: examples in random order that neither stages nor policies were learned from. What has no largest loss counts at
    most as the largest of any stage on the rows that the policies were learned from, since a mean without a bound has no test.
    `groups`: shape (N,), of the rows: what is promised is then the mean over groups of the mean loss in each.
    """
    truth = class_numbers(paths[0].stages.classes, y, len(y), "y")
    by, groups = paths[0].by, repeated(groups)
    shares = by.name == "zero_one"
    method: BoundMethod = "exact" if shares and groups is None else "betting"
    n, unit = (len(truth), "examples") if groups is None else (np.unique(groups).size, "groups")
    if shares:
        check_enough(n, max_error, confidence, "X")
    seen = {id(path): sample_on(path, rows, truth) for path in paths}

    def candidates() -> Iterator[tuple[Chosen, Draws]]:
        for path, choice in from_dearest(paths):
            largest = float(path.sample.loss.max()) if np.isinf(by.largest) else by.largest
            losses = np.minimum(seen[id(path)].losses(choice.policy), largest)
            if groups is not None:
                (losses,), _ = over_groups([losses], np.ones(len(losses)), groups)
            yield (path, choice), Draws(losses, largest)

    kept = last_kept(candidates(), max_error, confidence, method)
    if kept.answer is None:
        raise InvalidInputError(
            f"max_error is {max_error:g}, and by {n:,} {unit} no less than {kept.bound:.4g} can be promised with confidence "
            f"{confidence:g}, by the dearest policy; give at least that, more examples, or less confidence"
        )
    return *kept.answer, Promise(float(max_error), confidence, kept.mean, kept.bound, n, kept.tested, unit)


def sample_on(path: ExitPath, rows: Any, truth: Any) -> ExitSample:
    """Other rows at the stages of a path, with the doubts of its policies."""
    _, table, doubt = path.on(rows)
    loss = lost(table.value, truth, path.by)
    return ExitSample(doubt, table.cost, table.once, loss, loss, np.ones(len(truth)), np.ones(len(truth), dtype=bool))
