"""Cascades of stages that the user names."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, Price
from prunemodels.estimators.samples import Sample, other_sample, training_sample
from prunemodels.evaluation.choosing import Rule
from prunemodels.exits.cascade import Cascade, CascadeClasses, CascadeNumbers, check_goal, keep_columns
from prunemodels.exits.exit_path import LEVELS, Doubts
from prunemodels.exits.fitting import (
    Division,
    StagePlan,
    Training,
    check_both,
    check_kinds,
    classes_of,
    divisions,
    is_unfitted,
    without_weight_zero,
)
from prunemodels.exits.inputs import exit_table
from prunemodels.exits.reach import check_stopped_weight, check_takes_weights
from prunemodels.exits.stages import Stages
from prunemodels.forests.column_prices import column_prices
from prunemodels.forests.costs import Costs


class _Cascade(Cascade):
    """See `CascadeClassifier`."""

    def __init__(
        self,
        stages: Any,
        costs: Costs | None = None,
        *,
        budget: Price | None = None,
        lam: float | None = None,
        choose: Rule = "one_se",
        cv: Any = None,
        validation_fraction: float = 0.3,
        refit: bool = True,
        stopped_weight: float | None = None,
        stack: bool = True,
        doubt: Doubts = "auto",
        n_levels: int = LEVELS,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.stages = stages
        self.costs = costs
        self.budget = budget
        self.lam = lam
        self.choose = choose
        self.cv = cv
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.stopped_weight = stopped_weight
        self.stack = stack
        self.doubt = doubt
        self.n_levels = n_levels
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        X_valid: Any = None,
        y_valid: Any = None,
        sample_weight_valid: ArrayLike | None = None,
    ) -> Self:
        """Fit the stages, and learn when to stop from rows that they were not fitted on.

        Parameters
        ----------
        X, y
            training examples. Where the stages are fitted already they teach the policy alone; no stage must have seen them.
        sample_weight
            shape (N,), >= 0.
        X_valid, y_valid, sample_weight_valid
            examples that teach the policy in place of cross-fitting; then all of X trains the stages.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            for stages, prices, labels and options that do not fit; it says which, and the remedy.
        """
        check_goal(self.budget, self.lam, self.choose)
        check_stopped_weight(self.stopped_weight)
        check_both(X_valid, y_valid)
        rng = check_random_state(self.random_state)
        if isinstance(self.stages, Stages):
            return self._learn(self.stages, X, y, sample_weight, rng)
        sample = without_weight_zero(training_sample(self, X, y, sample_weight))
        self.numeric_ = True
        names = getattr(self, "feature_names_in_", None)
        items, _ = column_prices(self.costs, self.n_features_in_, names)
        classes = classes_of(sample) if is_classifier(self) else None
        plans = read_stages(self.stages, items, self.n_features_in_, names)
        check_kinds(plans, is_classifier(self))
        check_takes_weights(self.stopped_weight, plans)
        seed = int(rng.randint(np.iinfo(np.int32).max))
        held_out: Sample | Sequence[Division]
        if X_valid is not None:
            held_out = without_weight_zero(other_sample(self, X_valid, y_valid, sample_weight_valid, "valid"))
        else:
            held_out = divisions(sample, self.cv, self.validation_fraction, is_classifier(self), rng)
        return self._fit_stages(Training(plans, sample, held_out, items, classes, seed, self.refit, self.n_jobs), rng)

    def _estimators(self) -> list[Any]:
        stages = self.stages if isinstance(self.stages, (list, tuple)) else []
        return [e for stage in stages if isinstance(stage, tuple) for e in stage[:1] if is_unfitted(e)]

    def _learn(self, stages: Stages, X: Any, y: Any, sample_weight: ArrayLike | None, rng: np.random.RandomState) -> Self:
        """The policy alone, for stages that are fitted already."""
        if (stages.task == "classification") != is_classifier(self):
            raise InvalidInputError(f"the stages do {stages.task}, {type(self).__name__} does not; take the other cascade")
        if self.stopped_weight is not None:
            raise InvalidInputError(
                f"stopped_weight is {self.stopped_weight}, and the stages are fitted already, so nothing is trained; give "
                "(estimator, features) pairs in their place, or stopped_weight=None"
            )
        table = exit_table(stages, X)
        keep_columns(self, stages)
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return self._choose(stages, table, Sample(X, np.asarray(y), weight), rng, stages.classes)


class CascadeClassifier(CascadeClasses, _Cascade):
    """Asks cheap models first and dearer ones only about rows that the cheap ones doubt.

        minimise  error + lam * cost      over policies that stop or go on by how much each stage doubts its answer       (1)

    Parameters
    ----------
    stages
        list of (estimator, features) pairs, the cheapest first: unfitted scikit-learn classifiers with `predict_proba`, each with
        the columns that it reads, by name or place (None: all), or with the names of items: then it reads all that these
        items and those of earlier stages allow. A row that comes to a stage has bought the items of that stage and of all earlier
        ones. In place of an estimator None says the class shares. Or fitted `Stages`: prunings, trees or rounds of one model.
    costs
        prices: one number, one a column, by name, a table, or `CostItems`, see `prunemodels.forests.costs.cost_items`. Default: 1
        each. Fitted `Stages` have prices of their own.
    budget
        the largest mean cost of a prediction on the rows that the policy is learned from. At most one of `budget` and `lam`.
    lam
        error per unit of cost, see (1).
    choose
        without either: ``"one_se"``, the cheapest policy that held-out rows cannot tell from the best, or ``"knee"``.
    cv
        how rows are kept apart from the stages so that they can teach the policy: a number of folds or a splitter. Default: five
        folds below 5,000 examples, one division by `validation_fraction` from there on.
    validation_fraction
        share of the examples kept apart where there is one division.
    refit
        whether the stages are fitted once more on all examples when the policy is known.
    stopped_weight
        weight, in the training of a stage, of the rows that stop before it, in [0, 1); 0: a stage is trained on the rows that
        reach it only; None: every stage is trained on all rows alike. A stage keeps the model so trained only where held-out rows
        that reach it lose less by it, by more than a standard error, and err no more, see `prunemodels.exits.reach`. Fitting the
        stages takes two to three times as long. A weight > 0 needs estimators whose fit takes `sample_weight`. Not for
        fitted `Stages`.
    stack, doubt, n_levels
        whether stages weigh what earlier ones said, how they doubt, and in how many levels, see `learn_exit_path`.
    n_jobs
        stages that are fitted at the same time.
    random_state
        of the folds, and of stages that have none of their own.

    Attributes
    ----------
    stages_, exit_path_, policy_, row_, cost_, held_out_cost_, held_out_error_
        see `Cascade`.
    reweighted_
        bool, shape (S,): the stages whose model was trained by `stopped_weight` and kept; absent for fitted `Stages`.
    classes_, n_features_in_, feature_names_in_
        as in scikit-learn.

    Examples
    --------
    >>> stages = [(LogisticRegression(), ["age", "sex"]), (HistGradientBoostingClassifier(), None)]   # doctest: +SKIP
    >>> model = CascadeClassifier(stages, costs, budget=5).fit(X, y)                                  # doctest: +SKIP
    >>> model.predict(X_new), model.prediction_cost(X_new).mean()                                     # doctest: +SKIP
    """


class CascadeRegressor(CascadeNumbers, _Cascade):
    """`CascadeClassifier` for numbers: the error is squared, and doubt is learned."""


def read_stages(stages: Any, items: CostItems, n_features: int, names: Any) -> list[StagePlan]:
    """Pairs of an estimator and its features -> plans.

    Raises
    ------
    InvalidInputError
        for what is no such list, and for features and items that do not exist.
    """
    if not isinstance(stages, Sequence) or isinstance(stages, str) or not len(stages):
        raise InvalidInputError(f"stages is {stages!r}; give a list of (estimator, features) pairs, the cheapest first")
    plans: list[StagePlan] = []
    bought: set[int] = set()
    for s, stage in enumerate(stages):
        if not isinstance(stage, tuple) or len(stage) != 2:
            raise InvalidInputError(f"stage {s} is {stage!r}; give a pair (estimator, features)")
        estimator, features = stage
        if estimator is not None and not is_unfitted(estimator):
            raise InvalidInputError(
                f"stage {s} has the estimator {estimator!r}; give an unfitted scikit-learn estimator, or None"
            )
        columns = (
            _columns(features, items, bought, n_features, names, s) if estimator is not None else np.zeros(0, dtype=np.int64)
        )
        if estimator is not None and not columns.size:
            raise InvalidInputError(
                f"stage {s} is a {type(estimator).__name__} and reads no column; give it some, or None in its place"
            )
        bought.update(m for f in columns.tolist() for m in items.needs[f])
        plans.append(StagePlan(estimator, columns))
    return plans


def _columns(features: Any, items: CostItems, bought: set[int], n_features: int, names: Any, s: int) -> NDArray[np.int64]:
    """The columns that a stage reads."""
    if features is None:
        return np.arange(n_features)
    given = [features] if isinstance(features, str) else list(features)
    place = {str(name): f for f, name in enumerate(names if names is not None else [f"x{f}" for f in range(n_features)])}
    if given and all(isinstance(name, str) and name not in place and name in items.names for name in given):
        has = bought | {items.names.index(name) for name in given}
        return np.array([f for f, needed in enumerate(items.needs) if has.issuperset(needed)], dtype=np.int64)
    found = []
    for name in given:
        f = place.get(name, -1) if isinstance(name, str) else _place(name)
        if not 0 <= f < n_features:
            raise InvalidInputError(
                f"stage {s} reads {name!r}, which is no column and no item; the columns are {list(place)[:10]} ..."
            )
        found.append(f)
    return np.array(sorted(set(found)), dtype=np.int64)


def _place(given: Any) -> int:
    """A whole number; -1 for what is none, yes and no among them."""
    whole = isinstance(given, Integral) and given is not True and given is not False
    return int(given) if whole else -1
