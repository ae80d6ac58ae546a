"""A forest and how it was pruned: the result of one call, which shows itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import Count, Share, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.limit import Limit
from formulations.instance.problem import PruningProblem
from formulations.shown import Card, Shown, is_rate
from prunemodels.evaluation.evaluate import PARAMS
from prunemodels.evaluation.held_out import held_out_change, hold_out, on_other_rows
from prunemodels.evaluation.path import PathEvaluation, evaluate_path
from prunemodels.models.labelled_samples import group_numbers
from prunemodels.models.tree_model import HoldsModel, HowPruned
from prunemodels.points import SAME_POINT
from prunemodels.solving import solve
from prunemodels.statements.change import HeldOutChange, small_increase
from prunemodels.statements.promises import Promise
from prunemodels.statements.wording import amount, asked_for, count, error, transferable
from solvers.path.pruning_path import pruning_path

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from prunemodels.on_demand.predictor import OnDemandPredictor

SHARES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1)
"""Budgets that `PrunedForest.plot` draws, as shares of what the unpruned forest costs."""

NEXT = "Next: .plot(), .plot_purchases(), .evaluate(X_test, y_test), .report(file, X_test, y_test), .estimator"
"""What the card proposes."""

QUICK = 1_000_000_000
"""Splits times examples up to which the path and its errors take a second or two."""


@dataclass(frozen=True, eq=False, repr=False)
class PrunedForest(Shown, HoldsModel):
    """A forest and how it was pruned. ``print(result)`` says what it costs and how often it errs, before and after.

    Parameters
    ----------
    estimator
        the pruned forest, a scikit-learn forest.
    pruning
        which splits it keeps.
    known_path
        all optimal prunings, where the choice needed them; else None.
    row
        the row of `path` that `pruning` is; None if there were limits, and for the unpruned forest.
    solution
        the solution for a budget, or for limits, with bound, gap and relaxation; None without.
    evaluation
        the path on the validation examples, if the choice used their labels; else None.
    forest
        the forest before pruning.
    labels
        the labels of the validation examples; None if they were not given.
    held_out
        whether these labels had no part in the pruning: neither in the errors that were minimised, nor in the choice.
    in_training
        how many of the validation examples the forest was trained on; None where that is not known.
    groups
        the groups of the validation examples as numbers, which intervals count; None: each example stands for itself.
    cut
        from which fraction on the second of two classes is predicted, see `prunemodels.evaluation.vote`; None: the likelier one.
    promise
        the error that was promised, and how it was tested; None without `max_error`.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_valid, costs, forest, y_test, y_valid
    >>> result = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=10)
    >>> result.estimator
    RandomForestClassifier(max_depth=4, n_estimators=8, random_state=0)
    >>> round(result.cost, 2)
    10.0
    >>> result.evaluate(X_test, y_test).error_after.n
    169
    """

    estimator: Any
    pruning: Pruning
    known_path: PruningPath | None
    row: int | None
    solution: LimitedSolution | None
    evaluation: PathEvaluation | None
    forest: Any = None
    labels: Any = None
    held_out: bool = True
    in_training: int | None = 0
    promise: Promise | None = None
    groups: NDArray[np.int64] | None = None
    cut: float | None = None

    @property
    def problem(self) -> PruningProblem:
        """The instance."""
        return self.pruning.problem

    @cached_property
    def path(self) -> PruningPath:
        """All optimal prunings; computed when it is first asked for, where the budget's answer did not need them."""
        return pruning_path(self.problem) if self.known_path is None else self.known_path

    @property
    def cost(self) -> float:
        """Mean cost of an example of the cost sample, in the unit of the prices."""
        return self.pruning.cost

    @cached_property
    def feature_usage(self) -> NDArray[np.float64]:
        """Share of the cost sample that acquires each feature, or each raw column of a pipeline, in their order."""
        return feature_usage(self.pruning)

    @cached_property
    def validation(self) -> HeldOutChange | None:
        """Cost and error on the validation examples, before and after; None without their labels.

        Cost and uses are those that were limited. Errors are held-out errors unless the labels were used to choose or to prune.
        """
        return None if self.labels is None else self._change(self.problem, self.labels, 0.95, self._limits, self.groups)

    @checked
    def evaluate(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        confidence: Share = 0.95,
        limits: Sequence[Limit] | None = None,
        groups: Any = None,
    ) -> HeldOutChange:
        """Cost, use of limits and error on examples that played no part in training, pruning or choosing, with intervals.

        Parameters
        ----------
        X, y
            examples and their labels.
        sample_weight
            shape (N,), >= 0: a row stands for that many, in cost as in error.
        confidence
            of the intervals.
        limits
            whose use is told. Default: those that the pruning keeps to, without those of a mask of the cost sample's rows, which
            says nothing of others: give these with a mask of X.
        groups
            shape (N,): the group of each example, such as the patient of a visit; intervals then count groups.

        Returns
        -------
        HeldOutChange
            prints itself; ``verdict`` says in a sentence by how much the error may have risen.

        Raises
        ------
        InvalidInputError
            for examples or labels that do not fit the forest.
        """
        told = transferable(self._limits) if limits is None else limits
        return self._change(on_other_rows(self.problem, X, sample_weight), y, confidence, told, group_numbers(groups, X))

    @checked
    def plot(
        self,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        budgets: Sequence[Price] | None = None,
        unit: str = "",
        ax: Any = None,
    ) -> Figure:
        """Draw held-out error against cost for prunings within a range of budgets, this pruning and the unpruned forest.

        Parameters
        ----------
        X, y, sample_weight
            examples, labels and weights that played no part in training, pruning or choosing. Default: the validation examples.
        budgets
            the largest mean costs of an example of the cost sample. Default: `SHARES` of what the unpruned forest costs.
        unit
            of the prices, such as "dollars".
        ax
            axes to draw on; default: a figure of its own.

        Raises
        ------
        InvalidInputError
            without labels, and for examples that do not fit the forest.
        """
        from prunemodels.plots import plot_tradeoff

        if X is None:
            if self.labels is None:
                raise InvalidInputError("y is missing, and the forest was pruned without labels: give X and y, held-out examples")
            X, y, sample_weight = self.problem.X, self.labels, self.problem.usage.every_weight
        elif y is None:
            raise InvalidInputError("X is given without y; give the labels of X too")
        whole = Pruning.unpruned(self.problem)
        wanted = [share * whole.cost for share in SHARES] if budgets is None else [float(exact(b, "budgets")) for b in budgets]
        every = [self.pruning, whole, *(self._within(budget, PARAMS.tradeoff_work / len(wanted)) for budget in wanted)]
        seen = [hold_out(pruning, self._before(), X, y, sample_weight=sample_weight) for pruning in every]
        return plot_tradeoff(self.path, held_out=seen, chosen=seen[0], unit=unit, ax=ax)

    def _within(self, budget: float, work: float) -> Pruning:
        """The best breakpoint if it spends nearly all of the budget; else the best pruning that a search finds."""
        found = self.path[self.path.row_at_cost(budget)]
        if found.cost >= PARAMS.spent * min(budget, float(self.path.cost[0])):
            return found
        return solve(self.problem, budget=budget, path=self.path, work=work).pruning

    def purchases(self) -> pd.DataFrame:
        """Which share of the cost sample asks for each feature before and after pruning, and what each costs alone.

        Returns
        -------
        DataFrame
            one row a feature, or a raw column of a pipeline, those on which the unpruned forest spends most first; columns
            ``price`` (of the feature alone, shared items included), ``before``, ``after``.
        """
        import pandas as pd

        costs, before = self.problem.costs, feature_usage(Pruning.unpruned(self.problem))
        price = [float(costs.price[list(items)].sum()) for items in costs.by_column]
        names = pd.Index(self.problem.ensemble.column_names, name="feature")
        table = pd.DataFrame({"price": price, "before": before, "after": self.feature_usage}, index=names)
        order = np.lexsort((-table["before"], -table["price"] * table["before"]))
        return table.iloc[order]

    @checked
    def plot_purchases(self, *, most: Count = 30, unit: str = "", ax: Any = None) -> Figure:
        """Draw `purchases`, see `prunemodels.plots.plot_purchases`."""
        from prunemodels.plots import plot_purchases

        return plot_purchases(self.purchases(), most=most, unit=unit, ax=ax)

    @checked
    def report(self, file: str | Path, X: Any, y: Any, **options: Any) -> Path:
        """Write a page on this pruning, judged on held-out examples; see `prunemodels.write_report` for the options."""
        from prunemodels.report_page import write_report

        return write_report(file, self, X, y, **options)

    @checked
    def on_demand(self, acquire: Any, **options: Any) -> OnDemandPredictor:
        """Predict while asking for features one after the other, at this problem's prices; see `OnDemandPredictor`."""
        from prunemodels.on_demand.predictor import OnDemandPredictor

        evaluation = list(self.problem.usage.evaluation)
        return OnDemandPredictor(self.estimator, self.problem.costs, acquire, evaluation_cost=evaluation, **options)

    def _fitted_model(self) -> Any:
        return self.estimator

    def _how_pruned(self) -> HowPruned:
        return HowPruned(self.path, self._before(), self.pruning if self.solution is None else self.solution, self.cut)

    def _before(self) -> Any:
        if self.forest is None:
            raise InvalidInputError("the result holds no forest before pruning; make it with prune_forest")
        return self.forest

    @property
    def _limits(self) -> tuple[Limit, ...]:
        """The limits besides a budget, whose use the cost is."""
        given = () if self.solution is None else self.solution.limits
        return tuple(limit for limit in given if not limit.is_plain)

    def _change(
        self, problem: PruningProblem, y: Any, confidence: float, limits: Sequence[Limit], groups: Any = None
    ) -> HeldOutChange:
        return held_out_change(problem, self.pruning.kept, self._before(), y, confidence, limits, groups=groups, cut=self.cut)

    def _card(self) -> Card:
        before = Pruning.unpruned(self.problem)
        title = f"PrunedForest: {type(self.estimator).__name__} of {count(self.problem.ensemble.n_trees, 'tree')}"
        seen = self.validation
        size = ("splits", f"{before.n_splits:,}", f"{self.pruning.n_splits:,}")
        if seen is None:
            costs = ("cost per prediction", amount(before.cost), amount(self.cost))
            return Card(title, (costs, size), ("", "before", "after"), self._notes(None))
        return Card(title, (*seen.rows(), (*size, "")), seen.header, self._notes(seen), seen.first)

    def _notes(self, seen: HeldOutChange | None) -> tuple[str, ...]:
        """Sentences on the examples, the limits, the error and what is bought."""
        notes: list[str] = []
        if seen is None:
            notes.append(
                f"Costs: mean of {count(self.problem.usage.n_rows, 'example')}, without labels; evaluate(X, y) gives errors."
            )
        else:
            notes.append(f"On {count(seen.n, 'example')}{self._how_apart}. {seen.verdict}")
            notes += seen.warnings
            notes += self._worth(seen)
        if self.solution is not None:
            notes.append(self.solution.in_words())
        if self.cut is not None:
            second = self.problem.ensemble.classes
            assert second is not None
            notes.append(
                f"The vote is cut anew: “{second[1]}” from a fraction of {self.cut:.3g} on, since that errs less on examples "
                "that the cut was not chosen by."
            )
        if self.promise is not None:
            notes.append(self.promise.in_words(self.problem.ensemble.measure))
        return (*notes, self._bought(), NEXT)

    @property
    def _how_apart(self) -> str:
        """A clause on how far the validation examples are new to the forest, as far as that is known."""
        if not self.held_out:
            return ", which also chose the pruning, so the error is too low"
        if self.in_training:
            return f", on {self.in_training:,} of which the forest was trained, so the error is too low"
        return "" if self.in_training is None else ", held out from the training"

    def _worth(self, seen: HeldOutChange) -> list[str]:
        """Say where an answer that costs nothing errs as little, and what may keep more of the forest where the error rose."""
        constant = self._one_answer()
        if constant is not None and seen.error_after.mean >= constant * (1 - SAME_POINT):
            known = f"One answer for everybody, which costs nothing, errs {error(constant, seen.measure)}"
            if seen.error_before.mean >= constant:
                return [f"{known}: on these examples the unpruned forest is of no use, either."]
            return [f"{known}: pruned to this cost the forest is of no use. {self._instead()}"]
        if seen.far_worse:
            return [self._instead()]
        return []

    def _one_answer(self) -> float | None:
        """The error of the best answer that is the same for all validation examples; None for losses of a user's own."""
        problem, rows = self.problem, self.problem.usage.rows
        if problem.ensemble.judged_by is not None:
            return None
        y, share = np.asarray(self.labels)[rows], problem.usage.weights / problem.usage.weights.sum()
        if problem.ensemble.task == "regression":
            numbers = y.astype(np.float64)
            return float(share @ (numbers - share @ numbers) ** 2)
        return 1.0 - float(np.bincount(np.unique(y, return_inverse=True)[1], weights=share).max())

    def _instead(self) -> str:
        """What may keep more of the forest at such a cost, and, of instances that take a second, which budget is enough."""
        told = (
            "What may do better at this cost: exits (pm.exit_path), predictions on demand that stop early "
            "(.on_demand(acquire, early_stopping=True)), or training anew (pm.BudgetCascade*)."
        )
        problem = self.problem
        if self.labels is None or int(problem.ensemble.is_split.sum()) * problem.usage.n_rows > QUICK:
            return told
        seen = evaluate_path(self.path, problem.X, self.labels, sample_weight=problem.usage.every_weight)
        most = seen.unpruned_error + small_increase(problem.ensemble.measure, seen.unpruned_error)
        near = seen.cost[seen.error <= most].min(initial=seen.unpruned_cost)
        within_what = "a point" if is_rate(problem.ensemble.measure) else "1 %"
        return f"{told} An error within {within_what} of the whole forest's costs {amount(float(near))}."

    def _bought(self) -> str:
        """Which features are asked for, and how often."""
        table = self.purchases()
        return asked_for(table.index.tolist(), table["before"].tolist(), table["after"].tolist())

    def __repr__(self) -> str:
        return self._card().text()


def feature_usage(pruning: Pruning) -> NDArray[np.float64]:
    """Share of the cost sample's weight that meets a kept split on each feature, or one made from each raw column."""
    bill = pruning.problem.usage.counting_features().bill(pruning.kept)
    return bill.payers / bill.total
