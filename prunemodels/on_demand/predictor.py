"""Predict with a forest or a cascade while buying features."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.arguments import Count, Range, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from prunemodels.models.costs import Costs
from prunemodels.models.tree_model import TreeModel
from prunemodels.on_demand.answers import Cells, read, refusal
from prunemodels.on_demand.beginning import forest_walks, staged_walks
from prunemodels.on_demand.deciding import Options
from prunemodels.on_demand.request import UNAVAILABLE, Acquire, Request, TableLookup
from prunemodels.on_demand.result import OnDemandResult
from prunemodels.on_demand.transport import Asking, Start
from prunemodels.on_demand.walk import Walk
from prunemodels.stages.policy import HasStages


class OnDemandPredictor:
    """Walks the trees of a model, or the stages of a cascade, and asks for features when it needs them, in batches.

    In every round, one request serves all rows that wait for the same items. Each row pays an item at most once and asks for a
    feature at most once, and nothing is asked for that the walk does not need. Classes, numbers and costs are those of the model
    on full data.

    Parameters
    ----------
    model
        a fitted forest, pruned or not, see `read_forest`, or an `Ensemble`; a boosted model, see `read_model`; one of these at
        the end of a fitted `Pipeline`, whose raw columns are then the features, or in a `CalibratedClassifierCV`,
        `FixedThresholdClassifier`, `TunedThresholdClassifierCV` or `FrozenEstimator`; or a fitted cascade, such as
        `CascadeClassifier`, `BudgetCascadeRegressor`, or what `exit_path` returns.
    costs
        prices of a forest's features, or of a pipeline's raw columns, see `prunemodels.models.costs.cost_items`. Default:
        those that the forest was pruned with. A cascade knows its own prices, and other ones are refused.
    acquire
        serves a `Request`: ``acquire(request)`` returns the values of ``request.features`` for ``request.rows``, in one of the
        forms of `prunemodels.on_demand.answers.read`; or it is an async function that does, for the methods that are awaited.
        None where the caller makes the requests, see ``Walk.next_requests``.
    evaluation_cost
        a >= 0: price of evaluating one split for one row; one number, or one for each feature. For forests, as `costs`.
    early_stopping
        classification: a row stops as soon as the remaining trees cannot change its class, in the library's own floating-point
        sums. So the classes are those of the whole model; probabilities are not. Rows then ask for one feature at a time, in
        more rounds: for the one with the largest sum, over the trees that wait for it, of the distance between a tree's possible
        answers, per square root of the feature's price.
    tolerance
        a row stops as soon as its number (regression), or the probability of each class, is certain to be within this distance
        of the whole model's. With `early_stopping` too, its class must be certain as well.
    threshold
        two classes: the second one is predicted where its probability is at least this; default: the likelier one.
    max_rows
        most rows of a request; larger ones are split.
    max_cost
        the most that a row may pay; items paid once for all rows do not count. In a forest, a feature that a row cannot pay
        counts as one that cannot be had: its tree answers with the value of the node that the row has reached. A row that cannot
        pay for all that it waits for buys one feature at a time. In a cascade, a row whose next purchase would exceed
        the cap stops with the answer of the last stage that has predicted; what it bought on the way to the next stage is paid.
    ask_again
        how often a value is asked for again that an answer leaves out (a row or a column that a table, a mapping or labelled
        records do not have), or that is no value of its column: a word among numbers, an infinite number, what a step of a
        pipeline refuses. What is still none then counts as `UNAVAILABLE`; see ``refused`` of the result.
    absent
        what follows if it still does not come. ``"error"``: an `AcquisitionFailedError` names rows and features; what came is
        kept and paid, and its walk goes on with the rest. ``"unavailable"``: the value counts as `UNAVAILABLE`.

    Notes
    -----
    Values of boosted models are compared as their library does: with doubles in LightGBM and HistGradientBoosting*, and with what
    these libraries take for missing or for zero. Sums are in the library's floating-point type and order, so classes are its own.
    Margins of LightGBM and scikit-learn are equal to the last bit, probabilities to within rounding.

    A cascade over models of nested sets makes one request for each stage, for all rows that come to it; a cascade along the trees
    of one model asks split by split. A row for which a feature cannot be had stops at the last stage that could predict. See
    `CascadeResult`.

    Raises
    ------
    InvalidInputError, UnsupportedModelError, NotFittedForestError, CapacityOverflowError
        each says which argument, which value, and what to do.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, costs, forest
    >>> predictor = pm.OnDemandPredictor(forest, costs, pm.on_demand.from_table(X_test), early_stopping=True)
    >>> result = predictor.run(X_test.index)
    >>> print(result)
    OnDemandResult(169 rows, mean cost 12.6805, 39 requests, 166 stopped early)
    """

    @checked
    def __init__(
        self,
        model: Any,
        costs: Costs | None = None,
        acquire: Acquire | None = None,
        *,
        evaluation_cost: Price | Sequence[Price] | NDArray[np.float64] = 0,
        early_stopping: bool = False,
        tolerance: Annotated[float, Range(0, math.inf, open_above=True)] | None = None,
        threshold: Annotated[float, Range(0, 1)] | None = None,
        max_rows: Count | None = None,
        max_cost: Price | None = None,
        ask_again: Annotated[int, Range(0)] = 0,
        absent: Literal["error", "unavailable"] = "error",
    ) -> None:
        self.acquire: Acquire | None = acquire
        cap = None if max_cost is None else exact(max_cost, "max_cost")
        self._asking = Asking(max_rows, ask_again, absent, cap)
        self._probabilities_open = not isinstance(model, HasStages) and early_stopping and tolerance is None
        if isinstance(model, HasStages):
            _refuse_choices(model, early_stopping, tolerance, threshold)
            served = acquire.names if isinstance(acquire, TableLookup) else None
            self._plan, self._decider = staged_walks(model.staged_model(), costs, evaluation_cost, served)
        else:
            options = partial(_options, early=early_stopping, tolerance=tolerance)
            like = acquire.cells if isinstance(acquire, TableLookup) else None
            self._plan, self._decider = forest_walks(model, costs, evaluation_cost, threshold, options, like)
        if isinstance(acquire, TableLookup):
            acquire.check(self._plan.names, self._plan.everything, arrays=not self._plan.arrays_hold_codes)

    @property
    def classes_(self) -> NDArray[Any]:
        """Classes, of classifiers."""
        if self._plan.classes is None:
            raise AttributeError("a regression forest has no classes")
        return self._plan.classes

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that the model reads; no others are ever asked for."""
        return self._plan.names

    def start(self, rows: Any, *, known: Any = None) -> Walk:
        """A walk that has not asked for anything yet. Keep it where a run may be cancelled or fail: it can go on.

        Parameters
        ----------
        rows
            labels of the rows to predict, without repeats: a pandas index, a list, or a number n for 0 to n - 1.
        known
            values that are at hand, and cost nothing: a mapping from feature names to columns, or a table, a pandas one with
            labels of rows as its index. Rows that it leaves out, and cells that are masked in a ``numpy.ma`` array, are not
            known. Two kinds of cells say that a value is never to be bought: NaN is a measured missing value, with which the
            model predicts; `UNAVAILABLE` is one that cannot be had.

        Raises
        ------
        InvalidInputError
            for labels that repeat, features that the forest does not have, and values that are not finite numbers or NaN.
        """
        return self._begun(rows, known)

    def _begun(self, rows: Any, known: Any, lost: NDArray[np.bool_] | bool = False, bought: bool = False) -> Walk:
        """A walk; see `Start` for `lost` and `bought`."""
        labels = _labels(rows)
        values, lost = self._known(known, labels), lost | self._not_to_be_had(known, labels)
        return Walk(self._plan, self._decider, Start(self.acquire, labels, values, self._asking, lost, bought))

    @checked
    def resume(self, walk: Walk) -> Walk:
        """Give a walk that was pickled its model and `acquire` again: it goes on from where it was.

        A pickled walk has a few kilobytes a row, without the model. The model may come from a file.

        Raises
        ------
        InvalidInputError
            for a walk that began with another model or other prices, and for one that was not pickled.

        Examples
        --------
        >>> import pickle
        >>> import prunemodels as pm
        >>> from prunemodels.example import X_test, costs, forest
        >>> predictor = pm.OnDemandPredictor(forest, costs)
        >>> walk = predictor.start(X_test.index[:1])
        >>> requests = walk.next_requests()
        >>> again = predictor.resume(pickle.loads(pickle.dumps(walk)))
        >>> for request in requests:
        ...     again.take(request, X_test.loc[request.rows, list(request.features)])
        ...
        """
        walk.go_on(self._plan, self._decider, self.acquire)
        return walk

    @checked
    def run(self, rows: Any, *, known: Any = None, max_total_cost: Price | None = None) -> OnDemandResult:
        """Predictions with their costs and purchases; arguments as `start` and ``Walk.run``.

        Raises
        ------
        InvalidInputError, AcquisitionFailedError, InterruptedAcquisitionError
            as `start` and `Walk.run`.
        """
        return self.start(rows, known=known).run(max_total_cost=max_total_cost)

    @checked
    async def run_async(
        self, rows: Any, *, known: Any = None, limit: Count | None = None, max_total_cost: Price | None = None
    ) -> OnDemandResult:
        """As `run`, all requests of a round in flight together, or at most `limit`; the same result."""
        return await self.start(rows, known=known).run_async(limit, max_total_cost=max_total_cost)

    @checked
    def next_features(self, X: Any, known: Any) -> NDArray[np.int64]:
        """The feature to buy next for each row, given what was bought so far; see ``Walk.next_features``.

        Parameters
        ----------
        X
            values, shape (n, n_features), in the order of the model's features or as a table with their names; unknown ones do
            not matter.
        known
            bool, shape (n, n_features): what was bought. What it shares with other features is paid, and counts in `max_cost`.

        Returns
        -------
        array
            int64, shape (n,): a feature's place among the model's, -1: the row needs nothing more.

        Raises
        ------
        InvalidInputError
            for other shapes, and values that are not finite numbers or NaN.

        Examples
        --------
        >>> import prunemodels as pm
        >>> import numpy as np
        >>> from prunemodels.example import X_test, costs, forest
        >>> predictor = pm.OnDemandPredictor(forest, costs, early_stopping=True)
        >>> known = np.zeros(X_test[:3].shape, dtype=bool)
        >>> known[1:, 6] = True
        >>> predictor.next_features(X_test[:3], known)
        array([6, 0, 0])
        """
        return self._partly_known(X, known).next_features()

    def predict(self, rows: Any, *, known: Any = None) -> NDArray[Any]:
        """Classes, or numbers (regression), shape (n,).

        Raises
        ------
        InvalidInputError
            for rows of a cascade that no stage could predict.
        """
        return _complete(self.run(rows, known=known)).predictions

    @checked
    async def predict_async(self, rows: Any, *, known: Any = None, limit: Count | None = None) -> NDArray[Any]:
        """As `predict`, see `run_async`."""
        return _complete(await self.run_async(rows, known=known, limit=limit)).predictions

    def predict_proba(self, rows: Any, *, known: Any = None) -> NDArray[np.float64]:
        """Class fractions, shape (n, K).

        Raises
        ------
        InvalidInputError
            with early stopping, which does not determine them.
        """
        if self._probabilities_open:
            raise InvalidInputError(
                "early stopping leaves probabilities open; set early_stopping=False or a tolerance, or take "
                "run(rows).probabilities, which are guesses where stopped_early is true"
            )
        probabilities = _complete(self.run(rows, known=known)).probabilities if self._plan.classes is not None else None
        if probabilities is None:
            raise InvalidInputError("a regression forest has no probabilities; use predict")
        return probabilities

    def _partly_known(self, X: Any, known: Any, asked: Any = None) -> Walk:
        """A walk whose rows have bought the known features, and have paid what these need.

        `asked`, bool of shape (n, n_features): what was asked for; of that, what is not known cannot be had. None: what is known.
        """
        names = self._plan.everything
        mask, by_name = np.asarray(known), hasattr(X, "columns")
        if mask.dtype != bool or mask.shape != (len(X), len(names)) or (not by_name and np.shape(X) != mask.shape):
            raise InvalidInputError(
                f"known is {mask.dtype} of shape {mask.shape}, X has shape {np.shape(X)}; give both shape (n, {len(names)}), "
                "and bool for known"
            )
        if not by_name and self._plan.arrays_hold_codes:
            raise InvalidInputError("X is an array, and the model was trained on a table with categories; give a table")
        table = {str(name): X[name] for name in X.columns} if by_name else dict(zip(names, np.asarray(X).T, strict=True))
        given = {}
        for name in self.features:
            if name not in table:
                raise InvalidInputError(f"X has no column {name!r}; give a table with the columns of the model")
            given[name] = np.ma.array(np.asarray(table[name]), mask=~mask[:, names.index(name)])
        lost = np.zeros_like(mask) if asked is None else np.asarray(asked, dtype=bool) & ~mask
        return self._begun(len(mask), given, lost[:, self._plan.features], bought=True)

    def _not_to_be_had(self, known: Any, labels: pd.Index[Any]) -> NDArray[np.bool_]:
        """Which cells of `known` are `UNAVAILABLE`, shape (n, F)."""
        lost = np.zeros((len(labels), len(self._plan.names)), dtype=bool)
        for f, name in enumerate(self._plan.names if known is not None else ()):
            if name not in known:
                continue
            column = known[name]
            if isinstance(column, pd.Series):
                column = column.reindex(labels)
            cells = np.asarray(column, dtype=object)
            lost[:, f] = [cell is UNAVAILABLE for cell in np.broadcast_to(cells, len(labels))]
        return lost

    def _known(self, known: Any, labels: pd.Index[Any]) -> Cells:
        """The known values of the features that are tested."""
        plan, columns = self._plan, dict[str, Any]()
        if known is None:
            return plan.nothing_known(len(labels))
        if not isinstance(known, Mapping) and not hasattr(known, "columns"):
            raise InvalidInputError(f"known is {type(known).__name__}; give a mapping from feature names to columns, or a table")
        for key in known if isinstance(known, Mapping) else known.columns:
            if str(key) not in plan.everything:
                raise InvalidInputError(
                    f"known has {str(key)!r}, the model has no such feature; it reads {', '.join(plan.names[:6])}"
                )
            if str(key) in plan.names:
                columns[str(key)] = known[key]
        if not columns:
            return plan.nothing_known(len(labels))
        everyone = Request((), plan.names, labels, Fraction(0), np.arange(len(labels)), plan.features, 0)
        try:
            given = read(columns, everyone, plan.dtype, plan.columns)
            for (i, f), why in given.wrong.items():
                raise InvalidInputError(refusal(plan.names[f], labels[i], why))
        except InvalidInputError as error:
            raise InvalidInputError(f"known: {error}") from error
        return given.values, given.had


def _complete(result: OnDemandResult) -> OnDemandResult:
    """The result, if every row has a prediction."""
    silent = np.flatnonzero(~result.finished)
    if silent.size:
        raise InvalidInputError(
            f"row {result.rows[silent[0]]!r} has no prediction ({silent.size} of {len(result.rows)} rows): what its first stage "
            "reads could not be had, or costs more than max_cost; give the cascade a first stage that reads nothing, (None, []), "
            "or take run(rows), which says None there"
        )
    return result


def _labels(rows: Any) -> pd.Index[Any]:
    """The rows' labels as an index."""
    if isinstance(rows, (int, np.integer)) and not isinstance(rows, bool):
        labels: pd.Index[Any] = pd.RangeIndex(int(rows))
    elif isinstance(rows, (str, Mapping)) or getattr(rows, "ndim", 1) != 1 or not hasattr(rows, "__iter__"):
        raise InvalidInputError(f"rows is {type(rows).__name__}; give the rows' labels, such as table.index, or their number")
    else:
        labels = rows if isinstance(rows, pd.Index) else pd.Index(list(rows))
    if len(labels) == 0:
        raise InvalidInputError("rows is empty: at least one row is needed")
    if not labels.is_unique:
        raise InvalidInputError(f"rows has {labels[labels.duplicated()].tolist()[0]!r} twice; give each label once")
    return labels


def _options(model: TreeModel, early: bool, tolerance: float | None) -> Options:
    """Check when to stop."""
    numbers = model.task == "regression"
    if early and numbers and tolerance is None:
        raise InvalidInputError("early_stopping: a number changes with every tree; give tolerance")
    return Options(early and not numbers, tolerance)


def _refuse_choices(model: Any, early_stopping: bool, tolerance: float | None, threshold: float | None) -> None:
    """Refuse options that are for forests."""
    given = {"early_stopping": early_stopping, "tolerance": tolerance is not None, "threshold": threshold is not None}
    for name, was in given.items():
        if was:
            raise InvalidInputError(
                f"{name} is for forests; the policy of a {type(model).__name__} says when a row stops, see its at_cost and at_lam"
            )
