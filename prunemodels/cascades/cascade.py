"""The base class of all cascades: predictions with exits, and their costs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import replace
from fractions import Fraction
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from formulations.arguments import NotNegative, Share, checked, checking
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.cost_sample import check_weights, in_order_of
from formulations.instance.ensemble import Task
from formulations.instance.tree_loss import MEASURES, TreeLoss, usual_loss
from formulations.long_steps import interruption_as_error
from formulations.shown import is_rate
from prunemodels.cascades.choosing import chosen, promised
from prunemodels.cascades.exit_path import Choice, ExitPath, check_learning, learn_exit_path, weights_to_learn
from prunemodels.cascades.fewer_columns import without_unused
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
from prunemodels.cascades.learning import ExitSample
from prunemodels.cascades.params import PARAMS
from prunemodels.models.costs import column_prices
from prunemodels.models.labelled_samples import Sample, labelled, rows_to_predict
from prunemodels.points import Rule
from prunemodels.stages.judging import judged_by, predicted_classes
from prunemodels.stages.params import PARAMS as STAGE_PARAMS
from prunemodels.stages.policy import Decision, ExitPolicy, decide
from prunemodels.stages.prices import priced_stages
from prunemodels.stages.raw_tables import cascade_sample, raw_rows, reads_raw_columns
from prunemodels.stages.set_stages import SetStages
from prunemodels.stages.staged_model import Chain, StagedModel
from prunemodels.stages.stages import PricedStages, Stages, table_of
from prunemodels.statements.groups import check_apart, group_numbers, part_of
from prunemodels.statements.mean_bounds import unequal
from prunemodels.statements.promises import Promise, check_enough, check_max_error


def version_of_package() -> str:
    """The version of prunemodels, which has been imported before this module."""
    return str(sys.modules["prunemodels"].__version__)


class Cascade(BaseEstimator):  # type: ignore[misc]
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

    stages_: Stages
    exit_paths_: tuple[ExitPath, ...]
    exit_path_: ExitPath
    policy_: ExitPolicy
    row_: int | None
    numeric_: bool
    column_types_: list[str] | None
    promise_: Promise | None

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
        _check_pair(X_valid, y_valid, "valid")
        _check_pair(X_certify, y_certify, "certify")
        check_apart(groups, groups_valid, ("X", "X_valid"))
        check_apart(groups, groups_certify, ("X", "X_certify"))
        given, certify = group_numbers(groups, X), (X_certify, y_certify, groups_certify)
        rng = check_random_state(self.random_state)
        stages = getattr(self, "stages", None)
        if isinstance(stages, Stages):
            if self.checkpoint is not None:
                raise InvalidInputError(
                    "checkpoint is for stages that the cascade fits, and these are fitted already; leave it out"
                )
            if self.max_cost is not None:
                raise InvalidInputError("max_cost is for stages that the cascade fits; give unfitted ones, or leave it out")
            rows = self._for_fitted(stages, X, y, sample_weight)
            rows, apart = self._set_apart(replace(rows, group=given), *certify, rng)
            self.own_rows_ = np.arange(len(rows)) if rows.place is None else rows.place
            judged = Judged(stages, table_of(stages, rows.X), rows, np.zeros(len(rows), dtype=np.int64))
            return self._choose([judged], rng, self._judged_by(stages.classes), apart)
        sample = without_weight_zero(replace(cascade_sample(self, X, y, sample_weight), group=given))
        sample, apart = self._set_apart(sample, *certify, rng)
        classes = classes_of(sample) if is_classifier(self) else None
        by = self._judged_by(classes)
        items, _ = column_prices(self.costs, self.n_features_in_, getattr(self, "feature_names_in_", None))
        seed = int(rng.randint(np.iinfo(np.int32).max))
        held_out = self._held_out(sample, X_valid, y_valid, sample_weight_valid, groups_valid, rng)
        kept, then = self._kept(sample, held_out, classes, seed)
        training = Training((), sample, held_out, items, classes, seed, self.n_jobs, by, kept, getattr(self, "verbose", None))
        with (
            interruption_as_error("while fitting the cascade", then),
            nullcontext() if kept is None else kept.opened(),
            in_one_thread_if_small(len(sample) * self.n_features_in_),
        ):
            return self._choose(self._chains(training, rng), rng, by, apart)

    def _kept(self, sample: Sample, held_out: Any, classes: Any, seed: int) -> tuple[KeptStages | None, str]:
        """Where fitted stages are kept, and what is so after an interruption."""
        place = self.checkpoint
        if place is None:
            return None, "nothing was kept; with a checkpoint the same call goes on from there"
        if not isinstance(self.random_state, Integral):
            raise InvalidInputError(
                f"checkpoint is {os.fspath(place)!r}, and random_state is {self.random_state!r}: another call would draw other "
                "rows, and find nothing that it can use; give an int as random_state"
            )
        models = [(type(model), model.get_params()) for model in self._estimators()]
        return KeptStages.of(Path(place), sample, held_out, classes, seed, models), f"the same call goes on from {place}"

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
        return MEASURES["log_loss"] if self.loss == "log_loss" else usual_loss(self._task).measure

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
        return Sample(X, np.asarray(y), None if weight is None else np.asarray(weight, dtype=np.float64))

    def _set_apart(
        self, sample: Sample, X_certify: Any, y_certify: Any, groups_certify: Any, rng: np.random.RandomState
    ) -> tuple[Sample, Sample | None]:
        """The examples to learn from, and those that test `max_error`, in random order; None without it."""
        if self.max_error is None:
            if X_certify is not None:
                raise InvalidInputError("X_certify is given without max_error, which it tests; give max_error, or leave it out")
            return sample, None
        if sample.weight is not None and unequal(sample.of_weight().weight) is not None:
            raise InvalidInputError(
                "sample_weight is given with max_error, which is promised for examples of equal weight; leave it out, or draw "
                "rows by their weights"
            )
        if X_certify is not None:
            apart, where = labelled(self, self._as_trained(X_certify), y_certify, None, "certify"), "X_certify"
            apart = replace(apart, group=group_numbers(groups_certify, X_certify, "groups_certify"))
            apart = apart.take(rng.permutation(len(apart)))
        else:
            count = min(round(PARAMS.promised_share * len(sample)), PARAMS.most_held_out)
            if sample.group is None:
                order = rng.permutation(len(sample))
                rest, tested = np.sort(order[count:]), order[:count]
            else:
                seed = int(rng.randint(np.iinfo(np.int32).max))
                rest, tested = part_of(len(sample), count / len(sample), sample.group, seed)
            sample, apart = sample.take(rest), sample.take(rng.permutation(tested) if sample.group is not None else tested)
            where = f"the part of X that is set apart, {PARAMS.promised_share:.0%} of it,"
        if is_rate(self._measure):
            there = len(apart) if apart.group is None else np.unique(apart.group).size
            check_enough(there, self.max_error, self.confidence, where)
        return sample, apart

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

    def _keep(self, path: ExitPath, choice: Choice, promise: Promise | None = None) -> Self:
        """Take a policy of a path for predictions, and store its attributes."""
        self.promise_, self.package_version_ = promise, version_of_package()
        self.stages_, self.exit_path_, self.row_, self.policy_ = path.stages, path, choice.row, choice.policy
        self.cost_, self.error_ = choice.cost, choice.error
        self.held_out_cost_, self.held_out_error_, self.spending_ = choice.held_out_cost, choice.held_out_error, choice.spending
        return self

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

    @checked
    def at_cost(self, budget: Price) -> Self:
        """The same stages with the policy of least error within another budget; nothing is fitted again."""
        check_is_fitted(self, "exit_path_")
        return self._with(*chosen(self.exit_paths_, budget, None, self.choose), budget=budget)

    @checked
    def at_lam(self, lam: float) -> Self:
        """The same stages with the policy that is optimal at another lam."""
        check_is_fitted(self, "exit_path_")
        return self._with(*chosen(self.exit_paths_, None, lam, self.choose), lam=lam)

    @checked
    def at_row(self, k: int) -> Self:
        """The same stages with the policy of row k of `exit_path_`."""
        check_is_fitted(self, "exit_path_")
        return self._with(self.exit_path_, self.exit_path_.choice(k))

    @checked
    def at_error(self, max_error: float, X: Any, y: Any, *, confidence: Share = 0.95, groups: Any = None) -> Self:
        """The same stages with the cheapest policy whose error on new examples is at most that, with a stated confidence.

        Policies are tested from the dearest on, by exact bounds of their share of mistakes, until one fails; see
        `prunemodels.statements.promises`. `promise_` says how it was tested.

        Parameters
        ----------
        max_error
            the largest share of wrong predictions, between 0 and 1; with `mistakes` their largest mean cost; for numbers and log
            loss the largest mean, where one row counts at most as the largest loss of any stage on the rows that policies were
            learned from.
        X, y
            examples, drawn independently from those to come, that neither the stages nor the policies were learned from.
        confidence
            the promise is broken with probability 1 - confidence at most.
        groups
            shape (N,): the group of each example. The mean over groups of the mean error in each is then promised.

        Raises
        ------
        InvalidInputError
            if no policy can be promised to err so little, with the least error that can be; and for too few examples.

        Examples
        --------
        >>> import prunemodels as pm
        >>> from prunemodels.example import X_test, X_valid, path, y_test, y_valid
        >>> exits = pm.exit_path(path, X_valid, y_valid, n_stages=3, n_levels=8, random_state=0)
        >>> model = exits.at_error(0.15, X_test, y_test)
        >>> print(f"cost {model.cost_:.1f}, error at most {model.promise_.upper_bound:.3f}")
        cost 6.5, error at most 0.133
        """
        check_is_fitted(self, "exit_path_")
        check_max_error(max_error, self.exit_path_.by.measure)
        rows = labelled(self, self._as_trained(X), y, None, "certify")
        found = promised(self.exit_paths_, rows.X, rows.y, max_error, confidence, group_numbers(groups, X))
        return self._with(*found, max_error=max_error, confidence=confidence)

    @property
    def unweighted_cost_(self) -> float:
        """`cost_` if each row counts once."""
        return self._each_once.mean_cost(self.policy_)

    @property
    def unweighted_error_(self) -> float:
        """`error_` if each row counts once."""
        return self._each_once.mean_loss(self.policy_)

    @property
    def _each_once(self) -> ExitSample:
        check_is_fitted(self, "exit_path_")
        own = self.exit_path_.sample.own_rows
        return replace(own, weights=np.ones(own.n_rows))

    def _with(self, path: ExitPath, choice: Choice, promise: Promise | None = None, **goal: Any) -> Self:
        other = copy(self)
        other.set_params(**{"budget": None, "lam": None, "max_error": None} | goal)
        return other._keep(path, choice, promise)

    def staged_model(self) -> StagedModel:
        """What a walk on demand needs to know of the fitted cascade."""
        check_is_fitted(self, "exit_path_")
        names, own = getattr(self, "feature_names_in_", None), self.exit_path_
        paths = sorted(self.exit_paths_, key=lambda path: path is not own)
        chains = tuple(Chain(path.stages, path.learned.stack, path.single_error) for path in paths)
        pays = own.sample.own_rows.pay_from(self.policy_) if chains else None
        return StagedModel(self.stages_, self.policy_, names, self.column_types_, self.numeric_, chains, pays)

    def _without_unused(self) -> Any:
        check_is_fitted(self, "exit_path_")
        return without_unused(self)

    def _decide(self, X: Any) -> Decision:
        rows = self._rows(X)
        return decide(self.policy_, self.stages_, rows)

    def _rows(self, X: Any) -> Any:
        """Examples in the form that the stages take."""
        check_is_fitted(self, "exit_path_")
        return self._as_trained(X)

    def _as_trained(self, X: Any) -> Any:
        if self.numeric_:
            return rows_to_predict(self, X)
        if self.column_types_ is not None:
            return raw_rows(self, X)
        if not reads_raw_columns(self):  # else the steps of a pipeline check their rows
            try:
                validate_data(self, X, reset=False, skip_check_array=True)
            except (LookupError, TypeError) as error:  # what has neither a shape nor rows
                raise InvalidInputError(f"X is a {type(X).__name__}; give a table with one row an example") from error
        return X

    @checked
    def purchases(self, X: Any = None, *, sample_weight: ArrayLike | None = None) -> pd.DataFrame:
        """What the policy in use can buy, and in which order; or which share of the rows of X buys what.

        Returns
        -------
        DataFrame
            without rows: one row an item that has a price and that some row can buy, in the order of purchases; columns
            ``stage``, the first one for which it is bought, and ``price``. With rows: one row an item that has a price, those on
            which most is spent first; columns ``price``, and as shares of the rows, by weight, ``by_last_stage``, what would be
            bought by the last stage, and ``bought``.

        Raises
        ------
        InvalidInputError
            for columns and weights that do not fit, and for stages that do not tell what they read.

        Examples
        --------
        >>> import prunemodels as pm
        >>> from prunemodels.example import X_test, X_valid, path, y_valid
        >>> model = pm.exit_path(path, X_valid, y_valid, n_stages=3, n_levels=8, random_state=0).at_cost(6)
        >>> print(model.purchases(X_test).head(2).round(2).rename_axis(None).to_string())
                     price  by_last_stage  bought
        concavity      5.0            1.0    1.00
        compactness    1.0            1.0    0.35
        >>> print(model.purchases().rename_axis(None).to_string())
                     stage  price
        concavity        1    5.0
        compactness      2    1.0
        """
        stages = priced_stages(self.stages_)
        if X is None:
            return self._possible_purchases(stages)
        rows = self._rows(X)
        first, stop = stages.first_bought(rows), decide(self.policy_, self.stages_, rows).stage
        share = check_weights(sample_weight, stop.size, "sample_weight", X)
        share = share / share.sum()
        columns = {
            "price": stages.items.price,
            "by_last_stage": (first < stages.n_stages) @ share,
            "bought": (first <= stop) @ share,
        }
        table = pd.DataFrame(columns, index=pd.Index(stages.items.names, name="item"))[stages.items.price > 0]
        return table.iloc[np.lexsort((-table["by_last_stage"], -table["price"] * table["bought"]))]

    def _possible_purchases(self, stages: PricedStages) -> pd.DataFrame:
        bought = [stages.items.needs_of(stages.features[s]).any(axis=0) for s in range(self.policy_.last_stage + 1)]
        first = np.where(np.any(bought, axis=0), np.argmax(bought, axis=0), stages.n_stages)
        columns = {"stage": first, "price": stages.items.price}
        table = pd.DataFrame(columns, index=pd.Index(stages.items.names, name="item"))
        return table[(table["stage"] < stages.n_stages) & (table["price"] > 0)].sort_values("stage", kind="stable")

    def stop_stages(self, X: Any) -> NDArray[np.int64]:
        """The stage at which each row of X stops, shape (N,)."""
        return self._decide(X).stage

    def prediction_cost(self, X: Any) -> NDArray[np.float64]:
        """What each row of X pays, shape (N,), in the unit of the prices, without items paid once for all rows."""
        rows = self._rows(X)
        return self._paid(rows, decide(self.policy_, self.stages_, rows).stage)

    def _paid(self, rows: Any, stage: NDArray[np.int64]) -> NDArray[np.float64]:
        """What each row pays that stops at such a stage."""
        return np.asarray(self.stages_.costs(rows)[stage, np.arange(len(stage))])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self._estimators()
        tags.input_tags.allow_nan = all(_takes_gaps([estimator]) for estimator in inner)
        tags.input_tags.sparse = all(get_tags(_first_step(estimator)).input_tags.sparse for estimator in inner)
        return tags

    def _estimators(self) -> list[Any]:
        """The unfitted models of the stages; the cascade accepts NaN or sparse input if all of them do."""
        raise NotImplementedError


def _first_step(estimator: Any) -> Any:
    """The estimator that gets the examples first: the first step of a pipeline, an imputer perhaps."""
    if not isinstance(estimator, Pipeline):
        return estimator
    return _first_step(next((step for _, step in estimator.steps if step not in (None, "passthrough")), estimator[-1]))


def _takes_gaps(steps: list[Any]) -> bool:
    """Whether what reads the examples first takes missing values: the first of some steps, or each part of it."""
    first, after = steps[0], steps[1:]
    if isinstance(first, str) or first is None:  # "drop" or "passthrough"
        return first == "drop" or not after or _takes_gaps(after)
    if isinstance(first, Pipeline):
        return _takes_gaps([step for _, step in first.steps] + after)
    if isinstance(first, ColumnTransformer):
        parts = [part for _, part, _ in first.transformers]
        return all(_takes_gaps([part, *after]) for part in [*parts, first.remainder])
    return bool(get_tags(first).input_tags.allow_nan)


class CascadeClasses(ClassifierMixin):  # type: ignore[misc]
    """Methods of cascades that are classifiers."""

    classes_: NDArray[Any]
    policy_: ExitPolicy

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, by the stage at which each row stops, shape (N, n_classes)."""
        return self._decide(X).value  # type: ignore[no-any-return]

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class that is expected to cost least, by the stage at which each row stops; shape (N,).

        It is the most probable one, unless `mistakes` are given.
        """
        return self._said(self.predict_proba(X))

    def _said(self, value: NDArray[np.float64]) -> NDArray[Any]:
        """The answers that probabilities give."""
        return np.asarray(self.classes_[predicted_classes(value, self.policy_.by)])


class CascadeNumbers(RegressorMixin):  # type: ignore[misc]
    """Methods of cascades that are regressors."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The number of the stage at which each row stops, shape (N,)."""
        return self._said(self._decide(X).value)

    def _said(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """The answers that values give."""
        return value[:, 0]


def check_options(cascade: Any) -> None:
    """Refuse a budget together with a lam, and options that `learn_exit_path` would refuse, before any work."""
    check_learning(cascade.doubt, cascade.n_levels, cascade._task)
    _check_goal(cascade.budget, cascade.lam, cascade.max_error, cascade.choose, cascade.confidence, cascade.max_cost)
    if cascade.max_error is not None:
        check_max_error(cascade.max_error, cascade._measure)


def check_affordable(limit: Price | None, cheapest: float, what: str, name: str = "budget") -> None:
    """Refuse a limit within which nothing can be bought, before any work.

    `cheapest`: the price of the cheapest way to know anything.
    """
    if limit is not None and exact(limit, name) < exact(cheapest, "cheapest") * (1 - Fraction(STAGE_PARAMS.rounding)):
        raise InvalidInputError(f"{name} is {limit}, and {what} costs {cheapest:g}; give at least that")


def _check_pair(X: Any, y: Any, name: str) -> None:
    if (X is None) != (y is None):
        missing, given = ("X", "y") if X is None else ("y", "X")
        raise InvalidInputError(f"{missing}_{name} is missing: {given}_{name} is given; give both, or none")


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


def keep_columns(cascade: Cascade, stages: Stages) -> None:
    """Set the attributes for columns and classes that a fitted estimator has, from the stages."""
    cascade.numeric_, cascade.column_types_ = False, None
    if isinstance(stages, PricedStages):
        cascade.n_features_in_, names = stages.n_columns, stages.column_names
        if names is not None:
            cascade.feature_names_in_ = np.array(names, dtype=object)
    if stages.classes is not None:
        cascade.classes_ = stages.classes
