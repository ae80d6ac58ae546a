"""Cascades of stages that the user names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, Price
from prunemodels.cascades.cascade import Cascade, CascadeClasses, CascadeNumbers, check_affordable
from prunemodels.cascades.exit_path import Doubts
from prunemodels.cascades.fitting import (
    Judged,
    StagePlan,
    Training,
    check_kinds,
    is_unfitted,
)
from prunemodels.cascades.params import PARAMS
from prunemodels.models.costs import Costs
from prunemodels.points import Rule
from prunemodels.stages.set_stages import SetStages, check_named_columns


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
        validation_fraction: float | None = None,
        stack: bool = True,
        doubt: Doubts = "auto",
        n_levels: int = PARAMS.levels,
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
        self.stack = stack
        self.doubt = doubt
        self.n_levels = n_levels
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _chains(self, training: Training, rng: np.random.RandomState) -> list[Judged[SetStages]]:
        items, names = training.items, getattr(self, "feature_names_in_", None)
        plans = read_stages(self.stages, items, self.n_features_in_, names)
        first = sum(float(items.price[m]) for m in {m for f in plans[0].columns.tolist() for m in items.needs[f]})
        check_affordable(self.budget, first, "the first stage")
        check_kinds(plans, is_classifier(self))
        for s, plan in enumerate(plans):
            check_named_columns(plan.estimator, names, f"stage {s}")
        return [self._judged(replace(training, plans=plans))]

    def _estimators(self) -> list[Any]:
        stages = self.stages if isinstance(self.stages, (list, tuple)) else []
        return [e for stage in stages if isinstance(stage, tuple) for e in stage[:1] if is_unfitted(e)]


class CascadeClassifier(CascadeClasses, _Cascade):
    """Uses cheap models first, and dearer ones only for rows on which the cheap ones are not sure.

        minimise  error + lam * cost      over policies that stop or go on by the doubt of each stage       (1)

    Parameters
    ----------
    stages
        list of (estimator, features) pairs, the cheapest first, or fitted `Stages`.
        Estimators are unfitted scikit-learn classifiers with `predict_proba`; None predicts the class shares. Features are the
        columns that the estimator reads, by name or position (None: all). They can also be names of items; then the estimator
        reads all columns for which the items of this stage and of earlier ones suffice. A row that reaches a stage has bought
        the items of that stage and of all earlier ones.
    costs
        prices: one number, one a column, by name, a table, or `CostItems`, see `prunemodels.models.costs.cost_items`. Default: 1
        each. Fitted `Stages` have prices of their own.
    budget
        the largest mean cost of a prediction on the rows that the policy is learned from. At most one of `budget` and `lam`.
    lam
        error per unit of cost, see (1).
    choose
        the rule if neither is given: ``"one_se"``, the cheapest policy whose held-out loss is within a standard error of the
        best, or ``"knee"``, the corner of the curve.
    cv
        how rows are held out from the stages, so that the policy can be learned from them: a number of folds or a splitter.
        Default: four folds below 5,000 examples, one division by `validation_fraction` from there on. The stages of one fold
        predict, so that there are rows which they have not seen and on which their cost and error are stated.
    validation_fraction
        share of the examples that is held out if there is one division. Default: a quarter, at most 10,000 rows.
    stack, doubt, n_levels
        whether stages also use the outputs of earlier ones, how doubt is computed, and its number of levels, see
        `prunemodels.exit_path`.
    n_jobs
        number of stages that are fitted at the same time.
    random_state
        for the folds, and for stages that have none of their own.

    Attributes
    ----------
    stages_, exit_path_, policy_, row_, cost_, held_out_cost_, held_out_error_
        see `Cascade`.
    classes_, n_features_in_, feature_names_in_
        as in scikit-learn.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_train, costs, y_test, y_train
    >>> linear = make_pipeline(StandardScaler(), LogisticRegression())
    >>> stages = [(linear, ["radius", "texture"]), (linear, None)]  # None: all columns
    >>> cascade = pm.CascadeClassifier(stages, costs, budget=10, cv=3, random_state=0).fit(X_train, y_train)
    >>> print(f"cost {cascade.prediction_cost(X_test).mean():.1f}, error {1 - cascade.score(X_test, y_test):.3f}")
    cost 9.5, error 0.101
    """


class CascadeRegressor(CascadeNumbers, _Cascade):
    """`CascadeClassifier` for regression: the error is squared, and doubt is learned.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> import prunemodels as pm
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> stages = [(LinearRegression(), ["bmi"]), (LinearRegression(), None)]
    >>> cascade = pm.CascadeRegressor(stages, 1, budget=5, cv=3, random_state=0).fit(X[:300], y[:300])
    >>> print(f"cost {cascade.prediction_cost(X[300:]).mean():.1f}, R2 {cascade.score(X[300:], y[300:]):.2f}")
    cost 4.9, R2 0.38
    """


def read_stages(stages: Any, items: CostItems, n_features: int, names: Any) -> list[StagePlan]:
    """Plans of the stages from pairs of an estimator and its features."""
    if not isinstance(stages, Sequence) or isinstance(stages, str) or not len(stages):
        raise InvalidInputError(f"stages is {stages!r}; give a list of (estimator, features) pairs, the cheapest first")
    plans: list[StagePlan] = []
    bought: set[int] = set()
    for s, stage in enumerate(stages):
        if not isinstance(stage, tuple) or len(stage) != 2:
            raise InvalidInputError(f"stage {s} is {stage!r}; give a pair (estimator, features)")
        estimator, features = stage
        columns = np.zeros(0, dtype=np.int64)
        if estimator is not None:
            columns = _columns(features, items, bought, n_features, names, s)
        if estimator is not None and not columns.size:
            raise InvalidInputError(
                f"stage {s} is a {type(estimator).__name__} and reads no column; give it some, or None in place of it"
            )
        bought.update(m for f in columns.tolist() for m in items.needs[f])
        plans.append(StagePlan(estimator, columns))
    return plans


def _columns(features: Any, items: CostItems, bought: set[int], n_features: int, names: Any, s: int) -> NDArray[np.int64]:
    """The columns that a stage reads, as positions."""
    if features is None:
        return np.arange(n_features)
    given = [features] if isinstance(features, str) else list(features)
    position = {str(name): f for f, name in enumerate(names if names is not None else [f"x{f}" for f in range(n_features)])}
    if given and all(isinstance(name, str) and name not in position and name in items.names for name in given):
        available = bought | {items.names.index(name) for name in given}
        return np.array([f for f, needed in enumerate(items.needs) if available.issuperset(needed)], dtype=np.int64)
    found = []
    for name in given:
        f = position.get(name, -1) if isinstance(name, str) else _position(name)
        if not 0 <= f < n_features:
            raise InvalidInputError(
                f"stage {s} reads {name!r}, which is neither a column nor an item; the columns are {list(position)[:10]} ..."
            )
        found.append(f)
    return np.array(sorted(set(found)), dtype=np.int64)


def _position(given: Any) -> int:
    """A column's position as an int; -1 for anything but a whole number, bools included."""
    is_position = isinstance(given, Integral) and given is not True and given is not False
    return int(given) if is_position else -1
