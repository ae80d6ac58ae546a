"""A cascade that was fitted: predictions with exits, what they cost, and other policies of the same stages."""

from __future__ import annotations

import sys
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from formulations.arguments import Share, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price
from formulations.instance.cost_sample import check_weights
from prunemodels.cascades.exit_path import Choice, ExitPath, chosen
from prunemodels.cascades.fewer_columns import without_unused
from prunemodels.cascades.learning import ExitSample
from prunemodels.cascades.promised import promised
from prunemodels.models.labelled_samples import group_numbers, labelled, rows_to_predict
from prunemodels.stages.judging import predicted_classes
from prunemodels.stages.policy import Chain, Decision, ExitPolicy, StagedModel, decide
from prunemodels.stages.raw_tables import raw_rows, reads_raw_columns
from prunemodels.stages.stages import PricedStages, Stages, priced_stages
from prunemodels.statements.promises import Promise, check_max_error


def version_of_package() -> str:
    """The version of prunemodels, which has been imported before this module."""
    return str(sys.modules["prunemodels"].__version__)


class FittedCascade(BaseEstimator):  # type: ignore[misc]
    """What every cascade can do once it was fitted; its attributes are those of `Cascade`."""

    stages_: Stages
    exit_paths_: tuple[ExitPath, ...]
    exit_path_: ExitPath
    policy_: ExitPolicy
    row_: int | None
    numeric_: bool
    column_types_: list[str] | None
    promise_: Promise | None

    def _keep(self, path: ExitPath, choice: Choice, promise: Promise | None = None) -> Self:
        """Take a policy of a path for predictions, and store its attributes."""
        self.promise_, self.package_version_ = promise, version_of_package()
        self.stages_, self.exit_path_, self.row_, self.policy_ = path.stages, path, choice.row, choice.policy
        self.cost_, self.error_ = choice.cost, choice.error
        self.held_out_cost_, self.held_out_error_, self.spending_ = choice.held_out_cost, choice.held_out_error, choice.spending
        return self

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
        check_is_fitted(self, "exit_path_")
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


def keep_columns(cascade: FittedCascade, stages: Stages) -> None:
    """Set the attributes for columns and classes that a fitted estimator has, from the stages."""
    cascade.stages_ = stages
    cascade.numeric_, cascade.column_types_ = False, None
    if isinstance(stages, PricedStages):
        cascade.n_features_in_, names = stages.n_columns, stages.column_names
        if names is not None:
            cascade.feature_names_in_ = np.array(names, dtype=object)
    if stages.classes is not None:
        cascade.classes_ = stages.classes
