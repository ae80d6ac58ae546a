"""The base class of all cascades: what they may be asked for, and how they are fitted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from formulations.arguments import NotNegative, Share, checking
from formulations.errors import InterruptedSolveError, InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.cost_sample import in_order_of
from formulations.instance.ensemble import Task
from formulations.instance.tree_loss import MEASURES, USUAL_LOSS, TreeLoss
from formulations.shown import is_rate
from prunemodels.cascades.elimination import Keep, afresh
from prunemodels.cascades.exit_path import check_learning, chosen, learn_exit_path, weights_to_learn
from prunemodels.cascades.fitted_cascade import FittedCascade, keep_columns
from prunemodels.cascades.fitting import (
    Division,
    Judged,
    Training,
    classes_of,
    divisions,
    in_one_thread_if_small,
    judged_stages,
    progress_bar,
    without_weight_zero,
)
from prunemodels.cascades.kept_stages import KeptStages
from prunemodels.cascades.learning import common_reference
from prunemodels.cascades.params import PARAMS
from prunemodels.cascades.promised import promised
from prunemodels.models.costs import column_prices
from prunemodels.models.labelled_samples import Sample, check_apart, class_numbers, group_numbers, labelled, part_of
from prunemodels.points import Rule
from prunemodels.stages.judging import judged_by
from prunemodels.stages.params import PARAMS as STAGE_PARAMS
from prunemodels.stages.raw_tables import cascade_sample
from prunemodels.stages.set_stages import SetStages
from prunemodels.stages.stages import Stages, table_of
from prunemodels.statements.mean_bounds import unequal
from prunemodels.statements.promises import check_enough, check_max_error


class Cascade(FittedCascade):
    """A fitted sequence of stages with an exit policy: predicts as a scikit-learn estimator.

    Attributes
    ----------
    stages_
        the fitted stages.
    exit_paths_, exit_path_
        all optimal policies of each order in which items can be bought; the one of the policy in use.
    numeric_, column_types_
        whether rows are cast to numbers; for a table that is not cast, the names of its columns' types, else None.
    policy_, row_
        the policy in use, and its row of the path; None if it is the answer to a budget between two rows.
    cost_, error_
        mean cost and error of predictions on rows that the stages were not trained on, as `prediction_cost` and `predict` give
        them; items paid once for all rows are counted in the cost.
    own_rows_
        positions of these rows in X, or in X_valid if that was given; none has the weight 0.
    held_out_cost_, held_out_error_
        cost and error that policies chosen in the same way have on rows that they were not learned from. Sets and models that
        the cascade itself chose were chosen by these rows, too, so with few rows the error is too low.
    unweighted_cost_, unweighted_error_
        `cost_` and `error_` if each of these rows counts once, whatever its `sample_weight`.
    spending_
        how much of a budget is spent, and why not all of it; empty without a budget.
    package_version_
        the version of this package that chose the policy, which saved cascades carry.
    promise_
        the error that was promised, and how it was tested; None without `max_error`.
    """

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        X_valid: Any = None,
        y_valid: Any = None,
        sample_weight_valid: ArrayLike | None = None,
        X_certify: Any = None,
        y_certify: Any = None,
        groups: Any = None,
        groups_valid: Any = None,
        groups_certify: Any = None,
    ) -> Self:
        """Fit the stages, of which a budget cascade finds the sets of items first, and learn when to stop from other rows.

        Parameters
        ----------
        X, y
            training examples. If the stages are fitted already, only the policy is learned from them; then no stage may have been
            trained on them.
        sample_weight
            shape (N,), >= 0: what a row stands for, in cost as in error, so a budget is one of the weighted rows. To make some
            mistakes dearer than others, give `mistakes`.
        X_valid, y_valid, sample_weight_valid
            examples on which sets are compared and from which the policy is learned, in place of parts of X; then all of X is
            used for training.
        X_certify, y_certify
            examples by which `max_error` is tested, in place of a part of X.
        groups, groups_valid, groups_certify
            shape (N,), of X, of X_valid, of X_certify: the group of each example, such as the patient of a visit. No group is on
            two sides of any split or fold. A splitter given as `cv` gets them.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            for stages, prices, labels and options that are not valid; the text says which, and the remedy.
        """
        check_options(self)
        check_pair(X_valid, y_valid, "valid", sample_weight=sample_weight_valid, groups=groups_valid)
        check_pair(X_certify, y_certify, "certify", groups=groups_certify)
        check_apart(groups, groups_valid, ("X", "X_valid"))
        check_apart(groups, groups_certify, ("X", "X_certify"))
        given, certify = group_numbers(groups, X), (X_certify, y_certify, groups_certify)
        rng = check_random_state(self.random_state)
        # stages that are fitted already need no held-out part: all rows judge them
        stages = getattr(self, "stages", None)
        if isinstance(stages, Stages):
            to_fit = {"checkpoint": self.checkpoint, "max_cost": self.max_cost, "X_valid": X_valid}
            if needless := [name for name, option in to_fit.items() if option is not None]:
                raise InvalidInputError(
                    f"{needless[0]} is for stages that the cascade fits, and these are fitted already; leave it out"
                )
            rows = self._for_fitted(stages, X, y, sample_weight)
            rows, apart = set_apart(self, replace(rows, group=given), stages.classes, *certify, rng)
            self.own_rows_ = np.arange(len(rows)) if rows.place is None else rows.place
            judged = Judged(stages, table_of(stages, rows.X), rows, np.zeros(len(rows), dtype=np.int64))
            return self._choose([judged], rng, self._judged_by(stages.classes), apart)
        # others are fitted on the sample, and judged on what is held out of it
        sample = without_weight_zero(replace(cascade_sample(self, X, y, sample_weight), group=given))
        classes = classes_of(sample) if is_classifier(self) else None
        sample, apart = set_apart(self, sample, classes, *certify, rng)
        by = self._judged_by(classes)
        items, _ = column_prices(self.costs, self.n_features_in_, getattr(self, "feature_names_in_", None))
        seed = int(rng.randint(np.iinfo(np.int32).max))
        held_out = self._held_out(sample, X_valid, y_valid, sample_weight_valid, groups_valid, rng)
        kept, opened, then = self._kept(sample, held_out, classes, seed)
        training = Training((), sample, held_out, items, classes, seed, self.n_jobs, by, kept, getattr(self, "verbose", None))
        try:
            with opened, in_one_thread_if_small(len(sample) * self.n_features_in_):
                return self._choose(self._chains(training, rng), rng, by, apart)
        except KeyboardInterrupt as stop:
            raise InterruptedSolveError(f"interrupted while fitting the cascade; {then}") from stop

    def _kept(self, sample: Sample, held_out: Any, classes: Any, seed: int) -> tuple[Keep, AbstractContextManager[None], str]:
        """What keeps fitted stages, the block in which it does, and what is so after an interruption."""
        place = self.checkpoint
        if place is None:
            return afresh, nullcontext(), "nothing was kept; with a checkpoint the same call goes on from there"
        if not isinstance(self.random_state, Integral):
            raise InvalidInputError(
                f"checkpoint is {os.fspath(place)!r}, and random_state is {self.random_state!r}: another call would draw other "
                "rows, and find nothing that it can use; give an int as random_state"
            )
        models = [(type(model), model.get_params()) for model in self._estimators()]
        kept = KeptStages.of_fit(Path(place), sample, held_out, classes, seed, models)
        return kept.result, kept.opened(), f"the same call goes on from {place}"

    def _chains(self, training: Training, rng: np.random.RandomState) -> list[Judged[SetStages]]:
        """Fit the stages; the sequences of them that policies are learned for."""
        raise NotImplementedError

    def _allows(self, cost: float) -> bool:
        """Whether a row may pay so much."""
        return self.max_cost is None or cost <= float(exact(self.max_cost, "max_cost")) * (1 + STAGE_PARAMS.rounding)

    @property
    def _measure(self) -> str:
        """What errors are, before the classes are known."""
        if self.mistakes is not None:
            return MEASURES["misclassification_costs"]
        return MEASURES["log_loss"] if self.loss == "log_loss" else USUAL_LOSS[self._task].measure

    @property
    def _task(self) -> Task:
        return "classification" if is_classifier(self) else "regression"

    def _judged_by(self, classes: NDArray[Any] | None) -> TreeLoss:
        """What predictions are judged by."""
        return judged_by(self._task, classes, self.mistakes, self.loss)

    def _for_fitted(self, stages: Stages, X: Any, y: Any, sample_weight: ArrayLike | None) -> Sample:
        """Stages that the user has fitted, and these rows as the ones from which the policy is learned."""
        if (stages.task == "classification") != is_classifier(self):
            raise InvalidInputError(
                f"the stages are for {stages.task}, {type(self).__name__} is not; use the other cascade class"
            )
        keep_columns(self, stages)
        weight = None if sample_weight is None else in_order_of(X, sample_weight, "sample_weight")
        rows = self._as_trained(X)
        class_numbers(stages.classes, y, rows.shape[0])
        return Sample(rows, np.asarray(y), None if weight is None else np.asarray(weight, dtype=np.float64))

    def _held_out(
        self,
        sample: Sample,
        X_valid: Any,
        y_valid: Any,
        sample_weight_valid: Any,
        groups_valid: Any,
        rng: np.random.RandomState,
    ) -> Sample | list[Division]:
        """The rows that no stage is trained on: those given, else divisions of the sample."""
        if X_valid is not None:
            weight = in_order_of(X_valid, sample_weight_valid, "sample_weight_valid")
            rows = labelled(self, self._as_trained(X_valid), y_valid, weight, "valid")
            rows = without_weight_zero(replace(rows, group=group_numbers(groups_valid, X_valid, "groups_valid")))
            weights_to_learn(rows.weight, len(rows))
            return rows
        return divisions(sample, self.cv, self.validation_fraction, is_classifier(self), rng)

    def _judged(self, training: Training) -> Judged[SetStages]:
        """Fit the stages, and have them predict rows that they were not trained on."""
        if training.classes is not None:
            self.classes_ = training.classes
        judged = judged_stages(training)
        place = judged.rows.place
        self.own_rows_ = np.flatnonzero(judged.fold == 0) if place is None else place[judged.fold == 0]
        return judged

    def _choose(self, parts: Sequence[Judged[Any]], rng: np.random.RandomState, by: TreeLoss, apart: Sample | None) -> Self:
        """Learn all policies of some chains of stages from their outputs for labelled rows, and keep one."""
        seed = int(rng.randint(np.iinfo(np.int32).max))
        options: dict[str, Any] = {
            "stack": self.stack,
            "doubt": self.doubt,
            "n_levels": self.n_levels,
            "random_state": seed,
            "by": by,
        }
        if not is_classifier(self) and len(parts) > 1:
            rows = parts[0].rows
            truth = class_numbers(None, rows.y, len(rows))
            options["reference"] = common_reference([part.table.value for part in parts], truth, rows.weights)
        paths = []
        with progress_bar(len(parts), "learning when to stop", getattr(self, "verbose", None)) as bar:
            for stages, table, rows, fold in parts:
                options |= {"sample_weight": rows.weight, "groups": rows.group}
                paths.append(learn_exit_path(stages, table, rows.y, fold=fold, **options))
                bar.update()
        self.exit_paths_ = tuple(paths)
        if apart is not None:
            assert self.max_error is not None
            return self._keep(*promised(self.exit_paths_, apart.X, apart.y, self.max_error, self.confidence, apart.group))
        best = 0.0 if self.max_cost is not None and self.budget is None else None  # under a cap alone, cost is no matter
        return self._keep(*chosen(self.exit_paths_, self.budget, best if self.lam is None else self.lam, self.choose))


def check_options(cascade: Any) -> None:
    """Refuse a budget together with a lam, and options that `learn_exit_path` would refuse, before any work."""
    check_learning(cascade.doubt, cascade.n_levels, cascade._task)
    _check_goal(cascade.budget, cascade.lam, cascade.max_error, cascade.choose, cascade.confidence, cascade.max_cost)
    n_stages, verbose = getattr(cascade, "n_stages", 2), getattr(cascade, "verbose", None)  # of budget cascades
    _check_kinds(n_stages, cascade.stack, cascade.validation_fraction, cascade.n_jobs, verbose)
    if cascade.max_error is not None:
        check_max_error(cascade.max_error, cascade._measure)


@checking
def _check_kinds(
    n_stages: int, stack: bool, validation_fraction: float | None, n_jobs: int | None, verbose: int | bool | None
) -> None:
    """What is no number, or neither True nor False, is refused by the check of the arguments."""


def check_affordable(limit: Price | None, cheapest: float, what: str, name: str = "budget") -> None:
    """Refuse a limit within which nothing can be bought, before any work.

    `cheapest`: the price of the cheapest way to know anything.
    """
    if limit is not None and exact(limit, name) < exact(cheapest, "cheapest") * (1 - Fraction(STAGE_PARAMS.rounding)):
        raise InvalidInputError(f"{name} is {limit}, and {what} costs {cheapest:g}; give at least that")


def check_pair(X: Any, y: Any, name: str, **others: Any) -> None:
    """Refuse examples without labels, labels without examples, and what is said of examples that are not given."""
    told = {"X": X, "y": y} | others
    given = [kind for kind, values in told.items() if values is not None]
    missing = [kind for kind in ("X", "y") if told[kind] is None]
    if given and missing:
        raise InvalidInputError(
            f"{missing[0]}_{name} is missing: {given[0]}_{name} is given; give X_{name} and y_{name}, or none of them"
        )


@checking
def _check_goal(
    budget: Price | None,
    lam: NotNegative | None,
    max_error: float | None,
    choose: Rule,
    confidence: Share,
    max_cost: Price | None,
) -> None:
    goals = {"budget": budget, "lam": lam, "max_error": max_error}
    given = [f"{name} is {goal}" for name, goal in goals.items() if goal is not None]
    if len(given) > 1:
        raise InvalidInputError(f"{' and '.join(given)}; give one of them, or none")
    for limit, name in ((budget, "budget"), (max_cost, "max_cost")):
        if limit is not None:
            exact(limit, name)


def set_apart(
    cascade: Any,
    sample: Sample,
    classes: NDArray[Any] | None,
    X_certify: Any,
    y_certify: Any,
    groups_certify: Any,
    rng: np.random.RandomState,
) -> tuple[Sample, Sample | None]:
    """The examples to learn from, and those that test `max_error`, in random order; None without it."""
    if cascade.max_error is None:
        if X_certify is not None:
            raise InvalidInputError("X_certify is given without max_error, which it tests; give max_error, or leave it out")
        return sample, None
    if sample.weight is not None and unequal(sample.of_weight().weight) is not None:
        raise InvalidInputError(
            "sample_weight is given with max_error, which is promised for examples of equal weight; leave it out, or draw "
            "rows by their weights"
        )
    if X_certify is not None:
        apart, where = labelled(cascade, cascade._as_trained(X_certify), y_certify, None, "certify"), "X_certify"
        class_numbers(classes, apart.y, len(apart), "y_certify")
        apart = replace(apart, group=group_numbers(groups_certify, X_certify, "groups_certify"))
        apart = apart.take(rng.permutation(len(apart)))
    else:
        # a group goes to one side as a whole
        count = min(round(PARAMS.promised_share * len(sample)), PARAMS.most_held_out)
        if sample.group is None:
            order = rng.permutation(len(sample))
            rest, tested = np.sort(order[count:]), order[:count]
        else:
            seed = int(rng.randint(np.iinfo(np.int32).max))
            rest, tested = part_of(len(sample), count / len(sample), sample.group, seed)
        sample, apart = sample.take(rest), sample.take(rng.permutation(tested) if sample.group is not None else tested)
        where = f"the part of X that is set apart, {PARAMS.promised_share:.0%} of it,"
    if is_rate(cascade._measure):
        there = len(apart) if apart.group is None else np.unique(apart.group).size
        check_enough(there, cascade.max_error, cascade.confidence, where)
    return sample, apart
