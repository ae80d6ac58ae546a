"""The results of pruning a boosted ensemble: one pruning, or a trade-off."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.arguments import Count, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.cost_sample import check_weights
from formulations.instance.tree_loss import USUAL_LOSS
from formulations.instance.usage import Usage
from formulations.shown import Card, Shown
from prunemodels.models.boosting.descent import OnRows, state_of
from prunemodels.models.boosting.refitting import STRENGTHS, refitted
from prunemodels.models.labelled_samples import losses_of
from prunemodels.models.libraries.model_forest import ModelForest, pruned_part
from prunemodels.models.libraries.reading import write_model
from prunemodels.models.losses import SampleLoss, loss_of
from prunemodels.statements.by_class import by_class
from prunemodels.statements.change import SampleCost, change_of
from prunemodels.statements.wording import amount, asked_for, count

if TYPE_CHECKING:
    import pandas as pd


NEXT = "Next: .to_model(), .refit(X_train, y_train), pm.evaluate(..., X_test, y_test, costs=costs), pm.OnDemandPredictor(...)"
"""What the card proposes."""


@dataclass(frozen=True, eq=False, repr=False)
class BoostedPruning(Shown):
    """A pruning of an ensemble whose trees add up.

    Parameters
    ----------
    forest
        the model as it was read, except for the values of refitted leaves, and 0 in the last trees where these are dropped.
    usage
        what predictions of its trees cost on the sample.
    kept
        bool, shape (n,): the splits that stay.
    lam
        loss per unit of cost for which it was found.
    loss
        mean loss of the pruned ensemble on the sample, recomputed from its margins.
    cost
        mean cost of a prediction on the sample.
    stationary
        whether it was shown to be optimal for its own majoriser at `lam`; a better pruning may still exist.
    stats
        seconds, pruning problems solved, prunings visited.
    sample
        the loss of the sample's rows, which holds their labels.

    Examples
    --------
    >>> from xgboost import XGBClassifier
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_train, X_valid, costs, y_train, y_valid
    >>> model = XGBClassifier(n_estimators=10, max_depth=2, n_jobs=1).fit(X_train, y_train)
    >>> pruned = pm.prune_boosted(model, X_valid, y_valid, costs=costs, lam=0.01)
    >>> type(pruned.to_model()).__name__, pruned.n_splits
    ('XGBClassifier', 18)
    """

    forest: ModelForest
    usage: Usage
    kept: NDArray[np.bool_]
    lam: float
    loss: float
    cost: float
    stationary: bool
    stats: Mapping[str, float] = field(default_factory=dict)
    sample: SampleLoss | None = None

    @property
    def n_splits(self) -> int:
        """Number of splits kept."""
        return int(self.kept.sum())

    def to_model(self) -> Any:
        """The pruned model, of the class of the given one: it predicts, saves and loads like any model of its library."""
        return write_model(self.forest, self.kept)

    def _model_forest(self) -> ModelForest:
        """The trees without the pruned splits; what takes models, such as `OnDemandPredictor`, takes the pruning by these."""
        return pruned_part(self.forest, self.kept, self.forest.ensemble.n_trees)[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, or numbers, without the library: those of `to_model`, up to the library's float32 sums."""
        return self.forest.predictions(self.forest.margins(self.forest.rows(X), self.kept))

    @checked
    def refit(
        self, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None, strengths: Sequence[float] = STRENGTHS
    ) -> BoostedPruning:
        """The same splits, hence the same cost, with the values of all leaves refitted together: see `refitting`.

        Parameters
        ----------
        X, y
            labelled examples, preferably those that the model was trained on: there are more of them, and the rows that it was
            pruned on are needed to choose the strength.
        sample_weight
            of these examples, >= 0.
        strengths
            > 0: the weight of each leaf's present value, in examples. Each is tried, and so is no refit. The one with the least
            loss on the rows that the model was pruned on is taken, so the loss there never rises.

        Raises
        ------
        InvalidInputError
            for examples and labels that do not fit the model, and strengths that are not above 0.
        """
        if self.sample is None:
            raise InvalidInputError("the pruning does not hold the labels of its sample; refit what prune_boosted answers")
        rows = self.forest.rows(X)
        loss, weight = loss_of(self.forest, y, len(rows)), check_weights(sample_weight, len(rows), "sample_weight", X)
        best = self
        for strength, forest in refitted(self.forest, self.kept, rows, loss, weight, strengths):
            new_loss = state_of(OnRows(forest, self.usage, self.sample), self.kept).loss
            if new_loss < best.loss:
                stats = {**self.stats, "strength": strength}
                best = replace(self, forest=forest, loss=new_loss, stationary=False, stats=stats)
        return best

    def _card(self) -> Card:
        e, source = self.forest.ensemble, self.forest.source
        title = f"BoostedPruning: {type(source).__name__ if source is not None else 'model'} of {count(e.n_trees, 'tree')}"
        size = ("splits", f"{e.n_splits:,}", f"{self.n_splits:,}")
        if self.sample is None or "strength" in self.stats:  # the values before a refit are not known
            rows = (("cost per prediction", amount(self.usage.cost(e.is_split)), amount(self.cost)), size)
            return Card(title, rows, ("", "before", "after"), (f"Mean loss {self.loss:.4g}.", self._bought(), NEXT))
        kept, classes = (e.is_split, self.kept), self.forest.classes
        states = [state_of(OnRows(self.forest, self.usage, self.sample), k) for k in kept]
        said, truth = [self.forest.predictions(state.margins) for state in states], self._truth(self.sample)
        losses = [losses_of(classes, s, truth) for s in said]
        judged = by_class(classes, truth, said, self.usage.weights, 0.95)
        paid = [SampleCost.of(self.usage, k) for k in kept]
        kind = USUAL_LOSS["regression" if classes is None else "classification"]
        seen = change_of((paid[0], paid[1]), (losses[0], losses[1]), self.usage.weights, 0.95, loss=kind, classes=judged)
        trained = ("mean loss of the model", f"{states[0].loss:.4g}", f"{self.loss:.4g}", "")
        told = f"On {count(seen.n, 'example')}, which also chose the pruning, so the error is too low. {seen.verdict}"
        notes = (told, *seen.warnings, self._bought(), NEXT)
        return Card(title, (*seen.rows(), trained, (*size, "")), seen.header, notes, seen.first)

    def _truth(self, sample: SampleLoss) -> NDArray[Any]:
        """The labels, or numbers, of the sample's rows."""
        targets, classes = sample.targets, self.forest.classes
        if classes is None:
            return targets[:, 0]
        return np.asarray(classes[targets[:, 0].astype(np.int64) if targets.shape[1] == 1 else targets.argmax(axis=1)])

    def _bought(self) -> str:
        if self.forest.category_columns:
            return f"{count(self.n_splits, 'split')} of {self.forest.ensemble.n_splits:,} stay."
        counted = self.usage.counting_features()
        before, after = (counted.bill(k) for k in (self.forest.ensemble.is_split, self.kept))
        names = self.forest.ensemble.column_names
        return asked_for(names, (before.payers / before.total).tolist(), (after.payers / after.total).tolist())

    def __repr__(self) -> str:
        return self._card().text()


@dataclass(frozen=True, eq=False)
class BoostedPath:
    """A trade-off of loss and cost.

    Iterating gives the prunings by falling cost: for each lambda and budget the best that was found, without those that another
    of them beats, or equals, in both loss and cost.

    Parameters
    ----------
    found
        the best pruning for each lambda, and within each budget that was asked for; lambda ascending.
    unpruned
        the model as it was.
    visited
        (cost, loss) of all prunings that the search visited.
    front
        those of them that no other one beats in both, by rising cost; their `lam` is NaN.

    Examples
    --------
    >>> from xgboost import XGBClassifier
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_train, X_valid, costs, y_train, y_valid
    >>> model = XGBClassifier(n_estimators=10, max_depth=2, n_jobs=1).fit(X_train, y_train)
    >>> found = pm.other_libraries.boosted_path(model, X_valid, y_valid, costs=costs, lams=4)
    >>> print(found.to_frame()[["cost", "loss"]].round(3).to_string())
         cost   loss
    0  12.773  0.163
    1   7.000  0.186
    2   1.000  0.405
    """

    found: tuple[BoostedPruning, ...]
    unpruned: BoostedPruning
    visited: tuple[tuple[float, float], ...]
    front: tuple[BoostedPruning, ...]

    @cached_property
    def prunings(self) -> tuple[BoostedPruning, ...]:
        """Those that are not beaten, by falling cost and rising loss."""
        return tuple(reversed(_not_beaten(self.found)))

    def __len__(self) -> int:
        return len(self.prunings)

    def __iter__(self) -> Iterator[BoostedPruning]:
        return iter(self.prunings)

    @checked
    def __getitem__(self, k: int) -> BoostedPruning:
        return self.prunings[k]

    @checked
    def at_cost(self, budget: float) -> BoostedPruning:
        """The pruning of lowest loss within the budget among all visited; give `boosted_path` the budget for a better one.

        Raises
        ------
        InvalidInputError
            if the budget is negative or no number.

        Warns
        -----
        RuntimeWarning
            if that is the pruning without splits, which predicts the same for all rows.
        """
        limit = float(exact(budget, "budget"))
        found = [p for p in self.front if p.cost <= limit][-1]
        return warn_if_empty(found, limit, self.visited)

    @checked
    def refit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        strengths: Sequence[float] = STRENGTHS,
        most: Count = 20,
    ) -> BoostedPath:
        """The trade-off of refitted prunings: `BoostedPruning.refit` of all found, and of some along the front.

        A refit changes which pruning is best at a given cost: `at_cost` of the refitted path chooses among refitted ones.

        Parameters
        ----------
        X, y, sample_weight, strengths
            as in `BoostedPruning.refit`.
        most
            how many prunings of the front are refitted, evenly spaced, besides those found.
        """
        given: dict[str, Any] = {"sample_weight": sample_weight, "strengths": strengths}
        found = tuple(p.refit(X, y, **given) for p in self.found)
        places = np.unique(np.linspace(0, len(self.front) - 1, max(0, most)).round()).astype(np.int64)
        along = [self.front[k].refit(X, y, **given) for k in places.tolist()]
        unpruned = self.unpruned.refit(X, y, **given)
        front = _not_beaten([*found, *along, *self.front])
        return BoostedPath(found, unpruned, tuple((p.cost, p.loss) for p in front), tuple(front))

    def to_frame(self) -> pd.DataFrame:
        """One row for each pruning: lam, cost, loss, splits, stationary."""
        import pandas as pd

        columns = ("lam", "cost", "loss", "n_splits", "stationary")
        frame = pd.DataFrame([[getattr(p, c) for c in columns] for p in self.prunings], columns=list(columns))
        return frame.rename(columns={"n_splits": "splits"})

    def __repr__(self) -> str:
        dearest, cheapest = self.prunings[0], self.prunings[-1]
        return f"BoostedPath({len(self)} prunings, cost {cheapest.cost:.6g} to {dearest.cost:.6g})"


def _not_beaten(prunings: Sequence[BoostedPruning]) -> list[BoostedPruning]:
    """Those that no other one beats, or equals, in both loss and cost; by rising cost and falling loss."""
    front: list[BoostedPruning] = []
    for pruning in sorted(prunings, key=lambda p: (p.cost, p.loss)):
        if not front or pruning.loss < front[-1].loss:
            front.append(pruning)
    return front


def warn_if_empty(found: BoostedPruning, budget: float, visited: Sequence[tuple[float, float]]) -> BoostedPruning:
    """The answer for a budget; it warns if that is the pruning without splits although the budget is above 0.

    `visited` has (cost, loss) of all prunings that were visited.
    """
    if budget > 0 and not found.kept.any() and found.forest.ensemble.n_splits:
        cheapest = min((cost for cost, _ in visited if cost > 0), default=math.inf)
        why = (
            f"the cheapest pruning with a split costs {cheapest:g}; raise the budget"
            if cheapest > budget
            else "no pruning within it that was visited has a lower loss on these rows; give more rows, or another model"
        )
        message = f"the budget {budget:g} is answered by the pruning without splits, which predicts the same for all rows: {why}"
        warnings.warn(message, RuntimeWarning, stacklevel=4)  # the caller, beyond the check of arguments
    return found
