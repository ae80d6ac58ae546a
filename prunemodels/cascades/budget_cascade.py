"""Cascades that choose the features of their stages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, Price
from prunemodels.cascades.cascade import Cascade, check_affordable
from prunemodels.cascades.chains import Parting, all_sets, best_orders, with_regions
from prunemodels.cascades.elimination import (
    ItemSet,
    SetSearch,
    eliminate,
    grow,
    joined,
    listed,
    price_limits,
    spread_out,
)
from prunemodels.cascades.exit_path import Doubts
from prunemodels.cascades.fitted_cascade import CascadeClasses, CascadeNumbers
from prunemodels.cascades.fitting import (
    HeldOutModels,
    Judged,
    Known,
    Part,
    StagePlan,
    Training,
    chain_of,
    check_kinds,
    is_unfitted,
    judged_fold,
    known,
    progress_bar,
)
from prunemodels.cascades.params import PARAMS
from prunemodels.models.costs import Costs
from prunemodels.models.labelled_samples import Sample, class_numbers
from prunemodels.points import Rule
from prunemodels.stages.judging import LossWord, Mistakes, fitting_loss
from prunemodels.stages.set_stages import SetStages, check_named_columns, row_prices
from prunemodels.stages.table_preparation import is_slow, search_models, stage_models


class _BudgetCascade(Cascade):
    """See `BudgetCascadeClassifier`."""

    def __init__(
        self,
        estimator: Any = None,
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
        n_stages: int = 16,
        cv: Any = None,
        validation_fraction: float | None = None,
        stack: bool = True,
        doubt: Doubts = "auto",
        n_levels: int = PARAMS.levels,
        n_jobs: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.costs = costs
        self.budget = budget
        self.lam = lam
        self.max_error = max_error
        self.confidence = confidence
        self.max_cost = max_cost
        self.mistakes = mistakes
        self.loss = loss
        self.choose = choose
        self.n_stages = n_stages
        self.cv = cv
        self.validation_fraction = validation_fraction
        self.stack = stack
        self.doubt = doubt
        self.n_levels = n_levels
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    def _chains(self, training: Training, rng: np.random.RandomState) -> list[Judged[SetStages]]:
        """Find nested sets of items, and fit a model for each."""
        if not 2 <= self.n_stages <= PARAMS.most_stages:
            raise InvalidInputError(
                f"n_stages is {self.n_stages}; give a number from 2 to {PARAMS.most_stages:,}, since one stage has no exit"
            )
        sample, items, classes, held_out = training.sample, training.items, training.classes, training.held_out
        self._seed = training.seed
        # refuse what no cascade can do before anything is fitted
        prices = [float(items.price[list(needed)].sum()) for needed in items.needs]
        check_affordable(self.budget, min(prices), "the cheapest feature")
        each = row_prices(items)
        check_affordable(self.max_cost, min(float(each[list(m)].sum()) for m in items.needs), "the cheapest feature", "max_cost")
        models = self._models(len(sample))
        check_kinds([StagePlan(model, np.arange(1)) for model in models], is_classifier(self))
        check_named_columns(self.estimator, getattr(self, "feature_names_in_", None), "estimator")
        # sets are compared on few rows, and by quick models if the user named none
        divided = (
            [(sample, held_out)] if isinstance(held_out, Sample) else [(sample.take(a), sample.take(b)) for a, b in held_out]
        )
        shuffled = [rng.permutation(len(train)) for train, _ in divided]
        compared, parts = (_at_most(n, divided, shuffled) for n in (PARAMS.compared_rows, PARAMS.searched_rows))
        by_default = self.estimator is None
        n_classes = 1 if classes is None else len(classes)
        quick = search_models(len(sample), n_classes, numeric=self.numeric_) if by_default else models
        quick = self._ranked(parts, training, quick)
        # few items: every set has a model; many: a search drops and adds items, and may part the rows at a fork
        priced = int((items.price > 0).sum())
        every_set = priced <= PARAMS.few_items and priced < self.n_stages
        fewest = PARAMS.fewest_rows_to_part if self.max_cost is None else PARAMS.fewest_rows_to_part_below_cap
        enough = self.numeric_ and len(divided) == 1 and len(divided[0][0]) >= fewest
        branches = not every_set and enough and not items.paid_once.any()
        if every_set:
            sets, orders, parting = *self._within_cap(*all_sets(items), items), None
        else:
            sets, orders, parting = self._search(parts, training, quick[0], branches)
        # fit a model for each set, and keep the orders of them that promise most
        teams, fitted = self._teams(compared, training, models, sets) if by_default else ([quick] * len(sets), {})
        plans = [
            StagePlan(team[0] if s.features.size else None, s.features, team[1:] if s.features.size else ())
            for s, team in zip(sets, teams, strict=True)
        ]
        whole = {k for k, (train, _) in enumerate(divided) if compared[k][0] is train}
        training = replace(training, plans=plans, known={key: model for key, model in fitted.items() if key[0] in whole})
        judged = self._judged(training)
        if every_set:
            truth, weights = class_numbers(classes, judged.rows.y, len(judged.rows)), judged.rows.weights
            mean = [float(np.average(fitting_loss(value, truth, training.by), weights=weights)) for value in judged.table.value]
            self.item_sets_ = listed([replace(s, loss=one) for s, one in zip(sets, mean, strict=True)], items)
        orders = list({order.tobytes(): order for order in orders}.values())
        if len(orders) > PARAMS.most_chains:
            orders = best_orders(judged, orders, training.by)
        chains = [chain_of(judged, order) for order in orders]
        if parting is not None:
            last = teams[parting.order[-1]][0]
            parted = with_regions(chain_of(judged, parting.order), parting, training, last, quick[0])
            chains += [] if parted is None else [parted]
        return chains

    def _estimators(self) -> list[Any]:
        return [model for model in self._models(0) if is_unfitted(model)]

    def _models(self, n_rows: int) -> tuple[Any, ...]:
        """The models that a stage chooses from."""
        if self.estimator is not None:
            return (self.estimator,)
        return stage_models(n_rows, classifier=isinstance(self, CascadeClasses), numeric=getattr(self, "numeric_", True))

    def _search(
        self, parts: Sequence[Part], training: Training, model: Any, branches: bool
    ) -> tuple[list[ItemSet], list[NDArray[np.int64]], Parting | None]:
        """The sets of items that have a model, and the orders in which they follow each other; sets `item_sets_`.

        With `branches` one of these chains grows up to the fork, and is then joined with the elimination: it is to part. Under a
        cap regions never meet.
        """
        items, classes = training.items, training.classes
        folds = [judged_fold(model, a, b, classes, self._seed) for a, b in parts]
        search = SetSearch(folds, items, classes, training.by, partial(training.kept, ("sets", model, items, training.by)))
        each = row_prices(items)
        # What is too dear for a row would hide others.
        start = np.logical_or.reduce([needed for needed in search.needs if self._allows(float(each[needed].sum()))])
        with progress_bar(int((items.price > 0).sum()), "dropping items", self.verbose) as bar:
            found = eliminate(search, self._seed, bar.update, start)
        grown = [grow(search, found, self._allows, dearest) for dearest in price_limits(items)]
        every = {s.items.tobytes(): s for s in (*found, *(s for some in grown for s in some))}
        self.item_sets_ = listed(every.values(), items)
        within = [s for s in found[::-1] if self._allows(each[s.items].sum())]
        backward = spread_out(within, items.price, self.n_stages)
        sizes = [int((s.items & (items.price > 0)).sum()) for s in found]  # falling
        allowed = sizes[len(found) - len(within)]
        fork = max(1, min(PARAMS.fork, allowed - 1))
        starts = [*grown, grown[0][: fork + 1]] if branches else grown
        both = [[s for s in joined(some, backward) if self._allows(each[s.items].sum())] for some in starts]
        forward = [spread_out(some, items.price, self.n_stages) for some in both]
        sets = {s.items.tobytes(): s for chain in (backward, *forward) for s in chain}
        place = {key: k for k, key in enumerate(sets)}
        orders = [np.array([place[s.items.tobytes()] for s in chain]) for chain in (*forward, backward)]
        if not branches:
            return list(sets.values()), orders, None
        most = min(2 * allowed, sizes[0])  # regions choose among twice as many as they may buy
        largest = [s for s, n in zip(found, sizes, strict=True) if n >= most][-1].items if len(within) < len(found) else None
        return list(sets.values()), orders, Parting(orders[len(grown)], fork, largest)

    def _within_cap(
        self, sets: list[ItemSet], orders: list[NDArray[np.int64]], items: CostItems
    ) -> tuple[list[ItemSet], list[NDArray[np.int64]]]:
        """The sets that no row pays too much for, and the beginnings of the orders that consist of them."""
        each = row_prices(items)
        able = np.array([self._allows(each[s.items].sum()) for s in sets])
        place = np.cumsum(able) - 1
        shorter = {order[able[order]].tobytes(): place[order[able[order]]] for order in orders}
        return [s for s, may in zip(sets, able, strict=True) if may], list(shorter.values())

    def _ranked(self, parts: Sequence[Part], training: Training, models: Sequence[Any]) -> tuple[Any, ...]:
        """The models by held-out loss on all columns, the best first."""
        if len(models) == 1:
            return tuple(models)

        def places() -> Any:
            judged = HeldOutModels(parts, training, np.arange(self.n_features_in_))
            losses = [judged.loss(judged.values(model)) for model in models]
            return np.argsort(losses, kind="stable").tolist()

        return tuple(models[k] for k in training.kept(("ranked", list(models), training.by), "ranked", places))

    def _teams(
        self, parts: Sequence[Part], training: Training, models: Sequence[Any], sets: Sequence[ItemSet]
    ) -> tuple[list[tuple[Any, ...]], dict[Known, Any]]:
        """For each set the kinds of models that its stage chooses from, the best first; and fitted models of these kinds.

        They are compared on a few of the sets: those that lower the held-out loss of their mean. Every set takes the kinds of the
        one of these that is nearest by price. Slow kinds that a set does without are not tried on sets that are part of it.
        """
        place = np.argsort([float(training.items.price[s.items].sum()) for s in sets], kind="stable")
        place = place[[bool(sets[k].features.size) for k in place]]
        tried = np.unique(np.round(np.array(PARAMS.compared_sets) * (len(place) - 1)).astype(int))
        of, teams = ("teams", list(models), training.by), list[list[int]]()
        slow = {m for m, model in enumerate(models) if is_slow(model)}
        seen: list[tuple[set[int], list[int]]] = []  # columns of a set, and its kinds
        fitted: dict[Known, Any] = {}
        for k in tried[::-1]:
            columns = sets[place[k]].features
            spared = {m for larger, team in seen if larger.issuperset(columns.tolist()) for m in slow.difference(team)}
            kinds = {m: model for m, model in enumerate(models) if m not in spared}
            make = partial(self._team, parts, training, kinds, columns, fitted)
            teams.insert(0, training.kept(of, (columns, [*kinds]), make))
            seen.append((set(columns.tolist()), teams[0]))
        nearest = np.abs(np.arange(len(place))[:, None] - tried).argmin(axis=1)
        found: list[tuple[Any, ...]] = [()] * len(sets)
        for k, at in zip(place.tolist(), nearest.tolist(), strict=True):
            found[k] = tuple(models[m] for m in teams[at])
        return found, fitted

    def _team(
        self,
        parts: Sequence[Part],
        training: Training,
        kinds: dict[int, Any],
        columns: NDArray[np.int64],
        fitted: dict[Known, Any],
    ) -> list[int]:
        """The kinds of models whose mean loses least on some columns, the best first; `fitted` gets their models for each part.

        Each lowers the loss, a slow one by more than `CascadeParams.worth`.
        """
        judged = HeldOutModels(parts, training, columns)
        said = {m: judged.values(model) for m, model in kinds.items()}

        def loss(*team: int) -> float:
            dear = 1 + PARAMS.worth * sum(is_slow(kinds[m]) for m in team)
            return dear * judged.loss(np.mean([said[m] for m in team], axis=0))

        team = [min(kinds, key=loss)]
        while others := [m for m in kinds if m not in team]:
            best = min(others, key=lambda m: loss(*team, m))
            if loss(*team, best) >= loss(*team):
                break
            team.append(best)
        fitted |= {known(k, kinds[m], columns): model for m in team for k, model in enumerate(judged.fitted[id(kinds[m])])}
        return team


def _at_most(n: int, divided: Sequence[Part], shuffled: Sequence[NDArray[np.int64]]) -> list[Part]:
    """The divisions with at most so many of their training rows, drawn by lot where there are more."""
    each = zip(divided, shuffled, strict=True)
    return [(train if len(train) <= n else train.take(order[:n]), other) for (train, other), order in each]


class BudgetCascadeClassifier(CascadeClasses, _BudgetCascade):
    """A cascade of models on nested sets of features that it finds; each row stops at a stage that is sure enough.

    Backward elimination by held-out loss per price finds nested sets of items, on at most 10,000 training rows. One model is
    fitted for each set; the first set is what is free. A minimum cut decides which rows stop at which stage, see
    `CascadeClassifier`. Memory holds one model for each stage and S N K numbers, with S stages, K classes, and the N rows that
    the policy is learned from.

    Parameters
    ----------
    estimator
        unfitted classifier with `predict_proba`, cloned for each set. Default: stages take boosted trees, a linear model or,
        below 20,000 examples, a small forest, or the mean of the best of these, by held-out loss; that is chosen for some
        of the sets, which the others follow.
    costs
        prices: one number, one a column, by name, a table, or `CostItems`, see `prunemodels.models.costs.cost_items`. Default: 1
        each.
    budget
        the largest mean cost of a prediction on the rows that the policy is learned from. At most one of `budget`, `lam` and
        `max_error`.
    lam
        error per unit of cost.
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
    n_stages
        largest number of sets that become stages; the first and the last set always do.
    cv
        how rows are held out from the models: a number of folds or a splitter. Default: four folds below 5,000 examples, one
        division by `validation_fraction` from there on. The stages of one fold predict, so that there are rows which they have
        not seen and on which their cost and error are stated.
    validation_fraction
        share of the examples that is held out if there is one division. Default: a quarter, at most 10,000 rows.
    stack, doubt, n_levels
        whether stages also use the outputs of earlier ones, how doubt is computed, and its number of levels, see
        `prunemodels.exit_path`.
    n_jobs
        number of stages that are fitted at the same time.
    checkpoint
        a folder for what was found, the search for sets, the kinds of models and the fitted stages, as pickles: name one that
        only you write to. A fit that was interrupted continues from there if it is called again with the same examples and
        settings, and gives the same object. This needs an int as `random_state`. The folder stays after the fit.
    random_state
        for divisions and shuffling, and for an estimator that has none of its own.
    verbose
        > 0: bars tell what is being done, 0: none do. Default: on a terminal, after three seconds.

    Attributes
    ----------
    item_sets_
        (items, held-out loss) of every set of the search, the dearest first.
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
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> cascade = pm.BudgetCascadeClassifier(model, costs, budget=4, n_stages=3, n_levels=8, cv=3, random_state=0)
    >>> _ = cascade.fit(X_train, y_train)
    >>> print(f"cost {cascade.prediction_cost(X_test).mean():.1f}, error {1 - cascade.score(X_test, y_test):.3f}")
    cost 4.9, error 0.112
    """


class BudgetCascadeRegressor(CascadeNumbers, _BudgetCascade):
    """`BudgetCascadeClassifier` for regression: the error is squared, and doubt is learned.

    Parameters and attributes are the same, except that there is no `classes_`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> import prunemodels as pm
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> cascade = pm.BudgetCascadeRegressor(LinearRegression(), 1, budget=3, n_stages=4, cv=3, random_state=0)
    >>> _ = cascade.fit(X[:300], y[:300])
    >>> print(f"cost {cascade.prediction_cost(X[300:]).mean():.1f}, R2 {cascade.score(X[300:], y[300:]):.2f}")
    cost 3.2, R2 0.43
    """
