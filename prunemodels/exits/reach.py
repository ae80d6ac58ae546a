"""Stages that are trained mainly on the rows that reach them.

Once a policy is chosen, a stage predicts only for the rows that reach it. Let w_i be the weight of training row i, t_i the stage
at which the policy stops it, and v the weight of rows that stop earlier ("stopped_weight", 0 <= v < 1). Stage s >= 1 is fitted
again with the weights

    w_{s,i}  =  w_i       if t_i >= s,          v w_i   if t_i < s                                                       (1)

Models are more confident on their own training rows, so t_i is found by stages that were fitted on the half of the rows without
i. The new model of a stage replaces the old one if, on held-out rows that reach the stage by the same policy, its loss is lower
by more than a standard error and its error is not larger. The comparison uses the models' own outputs, before any stacking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from sklearn.utils.validation import has_fit_parameter

from formulations.errors import InvalidInputError
from prunemodels.estimators.samples import Sample
from prunemodels.exits.fitting import Judged, StagePlan, Training, cross_fitted_table, divisions, judged_stages, stages_of
from prunemodels.exits.gain import is_better
from prunemodels.exits.policy import ExitPolicy
from prunemodels.exits.stages import StageTable
from prunemodels.exits.validation import levels_of, stop_stages
from prunemodels.forests.labels import class_numbers

FEWEST = 5
"""A stage keeps its model if fewer held-out rows reach it, or fewer training rows of some class that reaches it."""


def check_stopped_weight(stopped_weight: Any) -> None:
    """Refuse a value that is neither None nor a number in [0, 1)."""
    number = isinstance(stopped_weight, Real) and not isinstance(stopped_weight, bool)
    if stopped_weight is not None and not (number and 0 <= float(stopped_weight) < 1):
        raise InvalidInputError(f"stopped_weight is {stopped_weight!r}; give a number from 0 to below 1, or None")


def check_takes_weights(stopped_weight: float | None, plans: Sequence[StagePlan]) -> None:
    """Refuse estimators whose fit takes no weights if rows that stop get a weight > 0. With weight 0 these rows are left out.

    Raises
    ------
    InvalidInputError
        naming stage and class.
    """
    for s, plan in enumerate(plans):
        if stopped_weight and plan.estimator is not None and not has_fit_parameter(plan.estimator, "sample_weight"):
            raise InvalidInputError(
                f"stopped_weight is {stopped_weight}, and stage {s} is a {type(plan.estimator).__name__}, whose fit takes no "
                "sample_weight; give 0, which leaves out the rows that stop, or None"
            )


def trained_for_reach(
    training: Training, judged: Judged, policy: ExitPolicy, stopped_weight: float, rng: np.random.RandomState
) -> tuple[Judged, NDArray[np.bool_]]:
    """The stages, some of them fitted again by (1), with their outputs for held-out rows; and a bool array, shape (S,), of these.

    Parameters
    ----------
    judged
        stages that were fitted with equal weights, and their own outputs for held-out rows.
    policy
        learned from `judged`.
    """
    stages, table, rows = judged
    stop, valid_stop = training_stops(training, policy, rng), stops(policy, table)
    factors = np.where(stop >= np.arange(table.n_stages)[:, None], 1.0, stopped_weight)
    refitted = [s for s in range(1, table.n_stages) if _can_be_judged(training, stop, valid_stop, factors[s], s)]
    kept = np.zeros(table.n_stages, dtype=bool)
    if not refitted:
        return judged, kept
    fitted, new_table, _ = judged_stages(replace(training, plans=[training.plans[s] for s in refitted]), factors[refitted])
    truth = class_numbers(training.classes, rows.y, len(rows))
    weights = rows.weights
    models, value = list(stages.models), table.value.copy()
    for k, s in enumerate(refitted):
        at = np.flatnonzero(valid_stop >= s)
        if is_better(new_table.value[k, at], table.value[s, at], truth[at], weights[at]):
            kept[s], models[s], value[s] = True, fitted.models[k], new_table.value[k]
    mixed = replace(table, value=value)
    return (stages_of(training.plans, models, training.items, training.classes), mixed, rows), kept


def training_stops(training: Training, policy: ExitPolicy, rng: np.random.RandomState) -> NDArray[np.int64]:
    """t_i of (1), shape (N,): where each training row stops by stages that were fitted on the half without it."""
    sample, classifier = training.sample, training.classes is not None
    rare = classifier and np.unique(np.asarray(sample.y), return_counts=True)[1].min() < 2
    halves = KFold(2, shuffle=True, random_state=rng.randint(np.iinfo(np.int32).max)) if rare else 2
    parts = divisions(sample, halves, 0.5, classifier, rng)
    table, _, _ = cross_fitted_table(training, parts)
    stop = np.empty(len(sample), dtype=np.int64)
    stop[np.concatenate([held_out for _, held_out in parts])] = stops(policy, table)
    return stop


def stops(policy: ExitPolicy, table: StageTable) -> NDArray[np.int64]:
    """Where the rows of a table stop, shape (N,).

    Parameters
    ----------
    table
        with the stages' own outputs.
    """
    stacked = table if policy.stack is None else policy.stack.table(table)
    return stop_stages(policy, levels_of(policy, stacked))


def _can_be_judged(
    training: Training, stop: NDArray[np.int64], valid_stop: NDArray[np.int64], factor: NDArray[np.float64], s: int
) -> bool:
    """Whether some rows stop before stage s, and enough rows reach it to train another model and to judge it."""
    reached = stop >= s
    if reached.all() or not reached.any() or (valid_stop >= s).sum() < FEWEST:
        return False
    all_rows = np.arange(len(training.sample))
    parts = [all_rows] if isinstance(training.held_out, Sample) else [all_rows, *(train for train, _ in training.held_out)]
    return all(_suffice(training, rows, factor[rows] > 0) for rows in parts)


def _suffice(training: Training, rows: NDArray[np.int64], used: NDArray[np.bool_]) -> bool:
    """Whether the used rows suffice for training: at least two classes, and no class reduced to fewer than `FEWEST` rows."""
    y = np.zeros(len(rows)) if training.classes is None else np.asarray(training.sample.y)[rows]
    number = np.unique(y, return_inverse=True)[1]
    before = np.bincount(number)
    after = np.bincount(number[used], minlength=before.size)
    few = (after > 0) & (after < np.minimum(FEWEST, before))
    return int((after > 0).sum()) >= (1 if training.classes is None else 2) and not few.any()
