"""Cascades that choose the features of their stages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.utils import check_random_state
from tqdm import tqdm

from formulations.errors import InvalidInputError
from formulations.fingerprint import fingerprint
from formulations.instance.cost_items import CostItems, Price
from prunemodels.estimators.samples import Sample
from prunemodels.evaluation.choosing import Rule
from prunemodels.exits.cascade import Cascade, CascadeClasses, CascadeNumbers, check_goal
from prunemodels.exits.elimination import ItemSet, Part, eliminate
from prunemodels.exits.exit_path import LEVELS, MOST_STAGES, Doubts
from prunemodels.exits.fitting import (
    StagePlan,
    Training,
    check_both,
    check_kinds,
    classes_of,
    fit_stage,
    is_unfitted,
    without_weight_zero,
)
from prunemodels.exits.raw_tables import cascade_sample
from prunemodels.exits.reach import check_stopped_weight, check_takes_weights
from prunemodels.exits.set_log import SetLog
from prunemodels.exits.stage_columns import check_named_columns
from prunemodels.exits.table_preparation import prepared
from prunemodels.forests.column_prices import column_prices
from prunemodels.forests.costs import Costs

SEARCHED_ROWS = 10_000
"""Largest number of training rows for the models of the search for sets; the stages are fitted on all rows."""


class _BudgetCascade(Cascade):
    """See `BudgetCascadeClassifier`."""

    _default: ClassVar[type]

    def __init__(
        self,
        estimator: Any = None,
        costs: Costs | None = None,
        *,
        budget: Price | None = None,
        lam: float | None = None,
        choose: Rule = "one_se",
        n_stages: int = 16,
        cv: Any = None,
        validation_fraction: float = 0.3,
        refit: bool = True,
        stopped_weight: float | None = None,
        stack: bool = True,
        doubt: Doubts = "auto",
        n_levels: int = LEVELS,
        n_jobs: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.costs = costs
        self.budget = budget
        self.lam = lam
        self.choose = choose
        self.n_stages = n_stages
        self.cv = cv
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.stopped_weight = stopped_weight
        self.stack = stack
        self.doubt = doubt
        self.n_levels = n_levels
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        X_valid: Any = None,
        y_valid: Any = None,
        sample_weight_valid: ArrayLike | None = None,
    ) -> Self:
        """Find nested sets of items, fit a model for each, and learn when to stop.

        Parameters
        ----------
        X, y
            training examples.
        sample_weight
            shape (N,), >= 0.
        X_valid, y_valid, sample_weight_valid
            examples on which sets are compared and from which the policy is learned, in place of parts of X; then all of X is
            used for training.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            for prices, labels and options that are not valid; the text says which, and the remedy.
        """
        check_goal(self.budget, self.lam, self.choose)
        check_stopped_weight(self.stopped_weight)
        check_both(X_valid, y_valid)
        if not 2 <= self.n_stages <= MOST_STAGES:
            raise InvalidInputError(
                f"n_stages is {self.n_stages}; give a number from 2 to {MOST_STAGES:,}, since one stage has no exit"
            )
        rng = check_random_state(self.random_state)
        sample = without_weight_zero(cascade_sample(self, X, y, sample_weight))
        classes = classes_of(sample) if is_classifier(self) else None
        items, _ = column_prices(self.costs, self.n_features_in_, getattr(self, "feature_names_in_", None))
        self._seed = int(rng.randint(np.iinfo(np.int32).max))
        plan = [StagePlan(self._model(), np.arange(1))]
        check_kinds(plan, is_classifier(self))
        check_named_columns(self.estimator, getattr(self, "feature_names_in_", None), "estimator")
        check_takes_weights(self.stopped_weight, plan)
        held_out = self._held_out(sample, X_valid, y_valid, sample_weight_valid, rng)
        parts = [(sample.take(a), sample.take(b)) for a, b in held_out] if isinstance(held_out, list) else [(sample, held_out)]
        plans = self._plans(parts, items, classes, rng)
        return self._fit_stages(Training(plans, sample, held_out, items, classes, self._seed, self.refit, self.n_jobs), rng)

    def _estimators(self) -> list[Any]:
        return [self._model()] if is_unfitted(self._model()) else []

    def _model(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        return self._default() if getattr(self, "numeric_", True) else prepared(self._default(), "boosted")

    def _plans(
        self,
        parts: Sequence[tuple[Sample, Sample]],
        items: CostItems,
        classes: NDArray[Any] | None,
        rng: np.random.RandomState,
    ) -> list[StagePlan]:
        """The stages, the cheapest first, before they are fitted; sets `item_sets_`."""
        parts = [(train.take(rng.permutation(len(train))[:SEARCHED_ROWS]), held_out) for train, held_out in parts]
        priced = int((items.price > 0).sum())
        with tqdm(total=priced, desc="item sets", unit="item", disable=self.verbose <= 0) as bar:

            def advance(dropped: int) -> None:
                bar.update(dropped)

            log = self._log(parts, items)
            with nullcontext() if log is None else log.one_writer():
                found = eliminate([self._part(a, b, classes) for a, b in parts], items, classes, self._seed, advance, log)
        self.item_sets_ = [(tuple(items.names[m] for m in np.flatnonzero(s.items)), s.loss) for s in found]
        chosen_sets = spread_out(found[::-1], items.price, self.n_stages)
        return [StagePlan(self._model() if s.features.size else None, s.features) for s in chosen_sets]

    def _log(self, parts: Sequence[tuple[Sample, Sample]], items: CostItems) -> SetLog | None:
        """The log that stores the search; None without a checkpoint."""
        if self.checkpoint is None:
            return None
        seen = [(sample.X, sample.y, sample.weight) for pair in parts for sample in pair]
        settings = (type(self._model()), self._model().get_params(), self._seed)
        return SetLog(Path(self.checkpoint), fingerprint(seen, items, settings))

    def _part(self, train: Sample, held_out: Sample, classes: NDArray[Any] | None) -> Part:
        truth = np.asarray(held_out.y)
        if classes is not None:
            unseen = np.setdiff1d(truth, classes)
            if unseen.size:
                raise InvalidInputError(
                    f"y_valid has the label {unseen.tolist()[0]!r}, which does not occur in y; leave such rows out"
                )
            truth = np.searchsorted(classes, truth)
        labelled = Sample(held_out.X, truth, held_out.weight)
        return Part(lambda columns: fit_stage(StagePlan(self._model(), columns), train, classes, self._seed, 0), labelled)


class BudgetCascadeClassifier(CascadeClasses, _BudgetCascade):
    """A cascade of models on nested sets of features that it finds; each row stops at a stage that is sure enough.

    Backward elimination by held-out loss per price finds nested sets of items, on at most 10,000 training rows. One model is
    fitted for each set; the first set is what is free. A minimum cut decides which rows stop at which stage, see
    `CascadeClassifier`. Memory holds one model for each stage and S N K numbers, with S stages, K classes, and the N rows that
    the policy is learned from.

    Parameters
    ----------
    estimator
        unfitted classifier with `predict_proba`, cloned for each set. Default: scikit-learn's HistGradientBoostingClassifier.
    costs
        prices: one number, one a column, by name, a table, or `CostItems`, see `prunemodels.forests.costs.cost_items`. Default: 1
        each.
    budget
        the largest mean cost of a prediction on the rows that the policy is learned from. At most one of `budget` and `lam`.
    lam
        error per unit of cost.
    choose
        the rule if neither is given: ``"one_se"``, the cheapest policy whose held-out loss is within a standard error of the
        best, or ``"knee"``, the corner of the curve.
    n_stages
        largest number of sets that become stages; the first and the last set always do.
    cv
        how rows are held out from the models: a number of folds or a splitter. Default: five folds below 5,000 examples, one
        division by `validation_fraction` from there on.
    validation_fraction
        share of the examples that is held out if there is one division.
    refit
        whether the stages are fitted again on all examples after sets and policy are found; after folds they always are.
    stopped_weight
        weight in [0, 1) that rows which stop before a stage have in its training. 0: a stage is trained only on the rows that
        reach it; None: every stage is trained on all rows with equal weight. A stage keeps the model trained in this way only if
        it is better on held-out rows that reach the stage, see `prunemodels.exits.reach`. Fitting the
        stages takes two to three times as long. A weight > 0 needs estimators whose fit takes `sample_weight`.
    stack, doubt, n_levels
        whether stages also use the outputs of earlier ones, how doubt is computed, and its number of levels, see
        `learn_exit_path`.
    n_jobs
        number of stages that are fitted at the same time.
    checkpoint
        a file that stores the search for sets. A fit that was interrupted continues from it if it is called again with the same
        examples and settings. This needs an int as `random_state`. The file stays after the fit.
    random_state
        for divisions and shuffling, and for an estimator that has none of its own.
    verbose
        > 0: a progress bar while sets are found.

    Attributes
    ----------
    item_sets_
        (items, held-out loss) of every set of the search, the largest first.
    stages_, exit_path_, policy_, row_, cost_, held_out_cost_, held_out_error_
        see `Cascade`.
    reweighted_
        bool, shape (S,): the stages whose model was trained with `stopped_weight` and kept.
    classes_, n_features_in_, feature_names_in_
        as in scikit-learn.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_train, costs, y_test, y_train
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> cascade = pm.BudgetCascadeClassifier(model, costs, budget=4, n_stages=3, n_levels=8, cv=3, random_state=0)
    >>> _ = cascade.fit(X_train, y_train)
    >>> print(f"cost {cascade.prediction_cost(X_test).mean():.1f}, error {1 - cascade.score(X_test, y_test):.3f}")
    cost 4.5, error 0.118
    """

    _default = HistGradientBoostingClassifier


class BudgetCascadeRegressor(CascadeNumbers, _BudgetCascade):
    """`BudgetCascadeClassifier` for regression: the error is squared, and doubt is learned.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> import prunemodels as pm
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> cascade = pm.BudgetCascadeRegressor(LinearRegression(), 1, budget=3, n_stages=4, cv=3, random_state=0)
    >>> _ = cascade.fit(X[:300], y[:300])
    >>> print(f"cost {cascade.prediction_cost(X[300:]).mean():.1f}, R2 {cascade.score(X[300:], y[300:]):.2f}")
    cost 3.1, R2 0.44
    """

    _default = HistGradientBoostingRegressor


def spread_out(sets: Sequence[ItemSet], price: NDArray[np.float64], count: int) -> list[ItemSet]:
    """At most `count` of the sets, spaced evenly by the logarithm of their price; the first and the last are among them."""
    if len(sets) <= count:
        return list(sets)
    costs = np.array([float(price[s.items].sum()) for s in sets])
    steps = np.log1p(costs / costs[costs > 0].min())
    chosen: list[int] = []
    for wanted in np.linspace(steps[0], steps[-1], count):
        free = [k for k in range(len(sets)) if k not in chosen]
        chosen.append(min(free, key=lambda k: abs(steps[k] - wanted)))
    chosen[0], chosen[-1] = 0, len(sets) - 1
    return [sets[k] for k in sorted(set(chosen))]
