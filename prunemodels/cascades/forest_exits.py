"""Cascades of stages that the user names, or along the optimal path of one forest, without training anything again.

Optimal prunings are nested in lambda, so for every example the purchases of a cheaper pruning are among those of a dearer one:
the path of one forest is a sequence of stages, and going on means walking the same trees deeper. Inside a long edge of the path's
hull, from a pruning A to a dearer one C, the splits that C has and A lacks are added one feature after another, the most frequent
first.                                                                                                                    (1)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing

from formulations.answers.nested_prunings import NestedPrunings
from formulations.answers.pruning import Pruning
from formulations.arguments import Count, Seed, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, Price
from formulations.instance.cost_sample import in_order_of
from formulations.instance.ensemble import Ensemble
from formulations.instance.routing import features_of, n_examples
from prunemodels.cascades.cascade import Cascade, check_affordable
from prunemodels.cascades.exit_path import Doubts, ExitPath, check_learning, chosen, learn_exit_path, weights_to_learn
from prunemodels.cascades.fitted_cascade import CascadeClasses, CascadeNumbers, keep_columns
from prunemodels.cascades.fitting import (
    Judged,
    StagePlan,
    Training,
    check_kinds,
    is_unfitted,
)
from prunemodels.cascades.params import PARAMS
from prunemodels.models.costs import Costs
from prunemodels.models.forests.reading import check_columns
from prunemodels.models.labelled_samples import class_numbers, group_numbers
from prunemodels.points import Rule
from prunemodels.stages.judging import LossWord, Mistakes, judged_by
from prunemodels.stages.set_stages import SetStages, check_named_columns, row_prices
from prunemodels.stages.stages import table_of
from prunemodels.stages.tree_stages import TreeStages, prunings_as_stages, without_gaps


class _Cascade(Cascade):
    """See `CascadeClassifier`."""

    def __init__(
        self,
        stages: Any,
        costs: Costs | None = None,
        *,
        budget: Price | None = None,
        lam: float | None = None,
        max_error: float | None = None,
        confidence: float = 0.95,
        max_cost: Price | None = None,
        mistakes: Mistakes | None = None,
        loss: LossWord = "error",
        choose: Rule = "one_se",
        cv: Any = None,
        validation_fraction: float | None = None,
        stack: bool = True,
        doubt: Doubts = "auto",
        n_levels: int = PARAMS.levels,
        n_jobs: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.stages = stages
        self.costs = costs
        self.budget = budget
        self.lam = lam
        self.max_error = max_error
        self.confidence = confidence
        self.max_cost = max_cost
        self.mistakes = mistakes
        self.loss = loss
        self.choose = choose
        self.cv = cv
        self.validation_fraction = validation_fraction
        self.stack = stack
        self.doubt = doubt
        self.n_levels = n_levels
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.random_state = random_state

    def _chains(self, training: Training, rng: np.random.RandomState) -> list[Judged[SetStages]]:
        items, names = training.items, getattr(self, "feature_names_in_", None)
        plans = read_stages(self.stages, items, self.n_features_in_, names)
        each = row_prices(items)
        bought = np.logical_or.accumulate([items.needs_of(plan.columns).any(axis=0) for plan in plans])
        check_affordable(self.budget, float(items.price[bought[0]].sum()), "the first stage")
        check_affordable(self.max_cost, float(each[bought[0]].sum()), "the first stage", "max_cost")
        check_kinds(plans, is_classifier(self))
        for s, plan in enumerate(plans):
            check_named_columns(plan.estimator, names, f"stage {s}")
        allowed = [plan for plan, has in zip(plans, bought, strict=True) if self._allows(float(each[has].sum()))]
        return [self._judged(replace(training, plans=allowed))]

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
        the largest mean cost of a prediction on the rows that the policy is learned from. At most one of `budget`, `lam` and
        `max_error`.
    lam
        error per unit of cost, see (1).
    max_error, confidence
        the cheapest policy that errs at most so much on new examples, with this confidence. A quarter of the examples, at most
        10,000, are set apart to test that, unless `fit` is given `X_certify`; see `Cascade.at_error`.
    max_cost
        what no row may pay more than, beside the mean budget or in its place. By itself: the least error under that cap.
        Items that are paid once for all rows do not count.
    mistakes
        costs of wrong answers: ``{("ill", "well"): 10}`` for calling the ill well, 1 for pairs that are not named; or a matrix
        C[true, predicted] in the order of the classes. The class of least expected cost is predicted, sets and policies are
        found for it, and every ``error`` is the mean cost of mistakes.
    loss
        ``"error"``, or ``"log_loss"`` where probabilities are what is wanted; every ``error`` is then the mean log loss.
    choose
        the rule if none of them is given: ``"one_se"``, the cheapest policy whose held-out loss is within a standard error of the
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
    checkpoint
        a folder that keeps fitted stages, as of `BudgetCascadeClassifier`.
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

    Parameters and attributes are the same, except that there is no `classes_`.

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
    given = list(features) if isinstance(features, Iterable) and not isinstance(features, str) else [features]
    position = {str(name): f for f, name in enumerate(names if names is not None else [f"x{f}" for f in range(n_features)])}
    if given and all(isinstance(name, str) and name not in position and name in items.names for name in given):
        available = bought | {items.names.index(name) for name in given}
        return np.array([f for f, needed in enumerate(items.needs) if available.issuperset(needed)], dtype=np.int64)
    found = []
    for name in given:
        f = position.get(name, -1) if isinstance(name, str) else _position(name)
        if not 0 <= f < n_features:
            mixed = isinstance(name, str) and name in items.names
            what = "an item beside columns: name columns alone, or items alone" if mixed else "neither a column nor an item"
            raise InvalidInputError(f"stage {s} reads {name!r}, which is {what}; the columns are {list(position)[:10]} ...")
        found.append(f)
    return np.array(sorted(set(found)), dtype=np.int64)


def _position(given: Any) -> int:
    """A column's position as an int; -1 for anything but a whole number, bools included."""
    is_position = isinstance(given, Integral) and given is not True and given is not False
    return int(given) if is_position else -1


@checked
def exit_path(
    path: NestedPrunings,
    X: Any,
    y: Any,
    *,
    n_stages: Count = 20,
    sample_weight: ArrayLike | None = None,
    mistakes: Mistakes | None = None,
    loss: LossWord = "error",
    groups: Any = None,
    stack: bool = True,
    doubt: Doubts = "auto",
    n_levels: Count = PARAMS.levels,
    random_state: Seed | np.random.RandomState | None = None,
) -> Cascade:
    """All optimal policies that predict with a pruned forest first, and walk its trees deeper where it is in doubt.

        minimise  error + lam * cost      over policies that stop or go on by how much each stage doubts its answer       (1)

    Parameters
    ----------
    path
        nested prunings of the forest, mostly `pruning_path(problem)`; its problem has the prices.
    X, y
        labelled examples that the forest was not trained on, preferably not those that the path was computed from. For the path
        of a pipeline rows of raw columns, as ``pipeline.predict`` takes them; a stage pays for the raw columns that its splits
        are made from.
    n_stages
        number of prunings that become stages, spread over the cost, densely where it is low; long gaps of the path add stages.
    sample_weight
        shape (N,), >= 0: a row stands for that many, in cost as in error.
    mistakes, loss
        what predictions are judged by, see `CascadeClassifier`. Default: the misclassification costs by which the path's trees
        are judged, if there are any; else the error.
    groups
        shape (N,): the group of each example, such as the patient of a visit; no group is on two sides of any fold.
    stack
        whether a stage also uses the outputs of earlier stages, where that lowers the loss, see `prunemodels.stages.stacking`. It
        costs nothing: a row has paid for them already.
    doubt
        ``"margin"``, ``"learned"``, see `prunemodels.stages.doubt`, or ``"auto"``: the better one on rows that it was not learned
        from. Regression has only ``"learned"``.
    n_levels
        number of levels of doubt at a stage.
    random_state
        of the folds and the trees of a learned doubt.

    Returns
    -------
    CascadeClassifier or CascadeRegressor
        fitted, with the policy that the rule ``"one_se"`` chooses, see `CascadeClassifier`; ``at_cost(budget)``, ``at_lam(lam)``
        and ``at_row(k)`` are the same stages with another policy, and ``exit_path_`` has all of them.

    Raises
    ------
    InvalidInputError
        for labels, weights, columns or options that do not fit.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_valid, path, y_test, y_valid
    >>> exits = pm.exit_path(path, X_valid, y_valid, n_stages=3, n_levels=8, random_state=0)
    >>> model = exits.at_cost(12)
    >>> print(f"cost {model.prediction_cost(X_test).mean():.2f}, error {1 - model.score(X_test, y_test):.3f}")
    cost 10.75, error 0.059
    """
    ensemble = path.problem.ensemble
    check_learning(doubt, n_levels, ensemble.task)
    if not 2 <= n_stages <= PARAMS.most_stages:
        raise InvalidInputError(f"n_stages is {n_stages}; give a number from 2 to {PARAMS.most_stages:,}, one stage has no exit")
    sample_weight = in_order_of(X, sample_weight, "sample_weight")
    _check(ensemble, X, y, sample_weight)
    stages = path_stages(path, n_stages)
    given = mistakes is None and loss == "error" and bool(ensemble.loss.costs)
    by = ensemble.loss if given else judged_by(ensemble.task, ensemble.classes, mistakes, loss)
    options: dict[str, Any] = {"stack": stack, "doubt": doubt, "n_levels": n_levels, "random_state": random_state, "by": by}
    options |= {"sample_weight": sample_weight, "groups": group_numbers(groups, X)}
    return cascade_of(learn_exit_path(stages, table_of(stages, X), y, **options))


def cascade_of(path: ExitPath) -> Cascade:
    """The fitted estimator of all policies of a path, with the one that the rule ``"one_se"`` chooses."""
    stages, by = path.stages, path.by
    goal: dict[str, Any] = {"mistakes": by.matrix if by.costs else None, "loss": "log_loss" if by.name == "log_loss" else "error"}
    cascade = (CascadeRegressor if stages.task == "regression" else CascadeClassifier)(stages, **goal)
    keep_columns(cascade, stages)
    cascade.exit_paths_ = (path,)
    return cascade._keep(*chosen(cascade.exit_paths_, None, None, cascade.choose))


def _check(ensemble: Ensemble, X: Any, y: Any, sample_weight: ArrayLike | None) -> None:
    """Refuse trees, rows and labels that do not fit before any pruning is computed."""
    n = n_examples(X)
    class_numbers(ensemble.classes, y, n)
    weights_to_learn(sample_weight, n)
    check_columns(X, ensemble.names_to_check)
    features_of(ensemble, _safe_indexing(X, np.arange(min(n, PARAMS.tried_rows))))


def path_stages(path: NestedPrunings, n_stages: int) -> TreeStages:
    """At least 2 prunings of a path, spread over its cost, long gaps filled by (1); the last is the unpruned forest."""
    unpruned = Pruning.unpruned(path.problem)
    cost = path.cost
    wanted = cost[-1] + (cost[0] - cost[-1]) * np.linspace(0, 1, n_stages) ** 2  # most savings are made early
    rows = sorted({int(np.argmin(np.abs(cost - c))) for c in wanted}, reverse=True)
    closures = [path.rows_kept > k for k in rows]
    costs = [float(cost[k]) for k in rows]
    if unpruned.cost > costs[-1] or unpruned.n_splits > int(closures[-1].sum()):
        closures.append(unpruned.kept)
        costs.append(unpruned.cost)
    return prunings_as_stages(path, without_gaps(path.problem, closures, PARAMS.longest_gap * unpruned.cost))
