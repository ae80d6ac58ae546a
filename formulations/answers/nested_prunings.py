"""Nested prunings of one forest: each row prunes what the rows before it pruned, and more.

    h is a split in row k   exactly where   k < rows_kept_h,     rows_kept_h >= rows_kept of its children                (1)

One number for each split describes the family; one pass over the usage arcs gives cost, error and size of all rows. A family is
nested if a larger parameter only prunes more: lambda (`PruningPath`), a complexity price, an impurity, features taken away.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from formulations.answers.nested_rows import NestedRows, row_sums
from formulations.answers.pruning import Pruning
from formulations.arguments import checked
from formulations.errors import InvalidInputError, UnspentBudgetWarning
from formulations.instance.problem import Core, PruningProblem
from formulations.instance.routing import Amount
from formulations.shown import Card, Shown, rate, spread

if TYPE_CHECKING:
    import pandas as pd


SHOWN_ROWS = 12
"""Most rows of a path that its card shows."""


class NestedPrunings(NestedRows, Shown):
    """Rows of prunings, the largest first. Iterating gives the prunings, ``rows[k]`` that of row k; costs never rise with k.

    Attributes
    ----------
    problem
        the instance.
    rows_kept
        int32, shape (n,): in how many rows, from the first on, a node is a split: (1); 0 at leaves.
    parameter
        float64, shape (rows,): the number that each row belongs to.
    parameter_name, method
        what that number is, and how the prunings were found: for legends and tables.
    """

    problem: PruningProblem
    parameter_name: str
    method: str

    @cached_property
    def rows_kept(self) -> NDArray[np.int32]:
        """In how many rows a node is a split: (1)."""
        raise NotImplementedError

    @cached_property
    def parameter(self) -> NDArray[np.float64]:
        """The number that each row belongs to."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Pruning]:
        return (self[k] for k in range(len(self)))

    @checked
    def __getitem__(self, k: int) -> Pruning:
        """The pruning of row k (negative k count from the end)."""
        return Pruning(self.problem, self.rows_kept > self.place(k))

    @cached_property
    def purchase_rows(self) -> NDArray[np.int32]:
        """In how many rows, from the first on, a purchase is paid, for every purchase."""
        p = self.problem
        return np.maximum(p.usage.highest_user(p.usage.splits, self.rows_kept), 0)

    @property
    def units(self) -> tuple[Fraction, Fraction]:
        """Of an integer gain and an integer price."""
        exact = self.problem.exact_numbers
        return exact.gain_unit, exact.price_unit

    @cached_property
    def integer_cost(self) -> tuple[int, ...]:
        """Cost of each row in units of ``problem.exact_numbers.price_unit``."""
        return exact_costs(self.problem, self.rows_kept, len(self), self.purchase_rows)

    @cached_property
    def integer_gain(self) -> tuple[int, ...]:
        """Sum of the kept splits' gains of each row in units of ``problem.exact_numbers.gain_unit``."""
        return tuple(map(int, sums_in_rows(self, self.problem.exact_numbers.gain)))

    @cached_property
    def of_nothing(self) -> tuple[Fraction, Fraction]:
        """Error and cost of the forest of single leaves."""
        return self.problem.roots_error, Fraction(0)

    @cached_property
    def error(self) -> NDArray[np.float64]:
        """Error of each row: the trees' mean error on the error sample."""
        return np.array([float(e) for e in self.exact_error])

    @cached_property
    def n_splits(self) -> NDArray[np.int64]:
        """Splits kept in each row."""
        return sums_in_rows(self, np.ones(self.rows_kept.size, dtype=np.int64))

    def to_frame(self) -> pd.DataFrame:
        """One row for each pruning: its parameter, cost, error, splits."""
        return super().to_frame().assign(splits=self.n_splits)

    @checked
    def row_at_cost(self, budget: float) -> int:
        """The row of least error whose cost is at most the budget; compared as exact fractions."""
        return self._least_error_from(super().row_at_cost(budget))

    def _least_error_from(self, first: int) -> int:
        """The row of least error from a row on; the largest of equals."""
        return first + int(np.argmin(self.error[first:]))

    @checked
    def at_cost(self, budget: float) -> Pruning:
        """The pruning of least error among the rows whose cost on the cost sample is <= budget.

        The rows may lie far apart, and a pruning that is none of them may be better: for a budget take
        ``pm.prune_forest(..., budget=budget)`` or ``pm.solve(problem, budget=budget)``, which look between the rows too.

        Raises
        ------
        InvalidInputError
            if the budget is negative or NaN, or below every row's cost.

        Warns
        -----
        UnspentBudgetWarning
            where the row spends less than half of the budget, and a dearer row exists.
        """
        row = self.row_at_cost(budget)
        self._warn_if_little(row, budget)
        return self[row]

    @checked
    def spends_little(self, row: int, budget: float) -> bool:
        """Whether a row spends less than half of a budget, although a dearer row exists."""
        return bool(self.cost[row] < 0.5 * float(budget) and (self.cost > float(budget)).any())

    def _warn_if_little(self, row: int, budget: float) -> None:
        """Warn where a row spends little of a budget, with both neighbours and the remedy."""
        if not self.spends_little(row, budget):
            return
        dearer = np.flatnonzero(self.cost > float(budget))
        warnings.warn(
            f"of the budget of {float(budget):g} only {self.cost[row]:.4g} is spent: the path has no pruning between cost "
            f"{self.cost[row]:.4g} (error {self.error[row]:.4g}) and {self.cost[dearer[-1]]:.4g} (error "
            f"{self.error[dearer[-1]]:.4g}); pm.solve(path.problem, budget={float(budget):g}) looks for a better one in between",
            UnspentBudgetWarning,
            stacklevel=4,  # the caller, beyond the check of arguments
        )

    def _card(self) -> Card:
        rows, measure = spread(len(self), SHOWN_ROWS), self.problem.ensemble.measure
        left_out = f", {len(rows)} of them shown" if len(rows) < len(self) else ""
        return Card(
            f"{type(self).__name__}: {len(self):,} {self.method} prunings{left_out}",
            tuple(
                (f"{self.parameter[k]:.4g}", f"{self.cost[k]:.4g}", rate(self.error[k], measure, 2), f"{self.n_splits[k]:,}")
                for k in rows
            ),
            (self.parameter_name, "cost per prediction", "mean error of single trees", "splits"),
            (
                f"Costs: mean of the cost sample. Errors: {self.problem.errors.source}; a forest's own error differs.",
                *self._proven(),
            ),
        )

    def _proven(self) -> tuple[str, ...]:
        """What a card says of a proof, a sentence or none."""
        return ()

    @checked
    def at_error(self, max_error: float) -> Pruning:
        """The cheapest row whose error is <= max_error.

        Raises
        ------
        InvalidInputError
            if no row has so small an error, or the number is NaN.
        """
        good = np.flatnonzero(self.error <= max_error)
        if not good.size:
            raise InvalidInputError(
                f"max_error is {max_error}, the least error of any pruning is {self.error.min():g}; give at least that"
            )
        return self[int(good[-1])]


@checked
@dataclass(frozen=True, eq=False)
class PruningSequence(NestedPrunings):
    """Nested prunings by any method, one number for each split.

    Parameters
    ----------
    rows_kept
        int32, shape (n,): see (1); never more than the parent's.
    parameter
        one number for each row.
    parameter_name, method
        what the number is, and how the prunings were found.

    Raises
    ------
    InvalidInputError
        if a child is kept in more rows than its parent, or a number is out of range.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> sequence = pm.rivals.greedy_feature_path(problem)
    >>> sequence
    PruningSequence(greedy feature pruning, 11 rows, cost 0 to 16.49, error 0.033 to 0.467)
    >>> sequence.at_cost(12)
    Pruning(cost=11.7667, error=0.082, 20 splits)
    """

    problem: PruningProblem
    rows_kept: NDArray[np.int32] = field()  # a field, not the property of the class above
    parameter: NDArray[np.float64] = field()
    parameter_name: str
    method: str

    def __post_init__(self) -> None:
        ensemble, kept = self.problem.ensemble, np.asarray(self.rows_kept)
        if kept.shape != (ensemble.n_nodes,) or kept.dtype != np.int32:
            raise InvalidInputError(
                f"rows_kept is {kept.dtype} of shape {kept.shape}; give int32, one for each of {ensemble.n_nodes} nodes"
            )
        if not len(self.parameter) or ((kept < 0) | (kept > len(self.parameter))).any():
            raise InvalidInputError(
                f"rows_kept goes from {kept.min()} to {kept.max()}, there are {len(self.parameter)} rows; give 0 to that number"
            )
        above = np.where(ensemble.parent < 0, len(self.parameter), kept[ensemble.parent])
        bad = np.flatnonzero((kept > above) | (~ensemble.is_split & (kept > 0)))
        if bad.size:
            raise InvalidInputError(
                f"rows_kept: node {bad[0]} is a split in {kept[bad[0]]} rows, its parent in {above[bad[0]]}; "
                "a split needs its parent, and a leaf is none"
            )

    def __repr__(self) -> str:
        return f"PruningSequence({self.method}, {len(self)} rows, {self.ends})"


def exact_costs(
    core: Core, rows_kept: NDArray[np.int32], n_rows: int, purchase_rows: NDArray[np.int32] | None = None
) -> tuple[int, ...]:
    """Cost of each row in units of ``core.exact_numbers.price_unit``.

    `rows_kept`: int32, shape (n,): see (1). `purchase_rows`: in how many rows a purchase is paid, for every purchase, if that is
    known.
    """
    exact = core.exact_numbers
    if purchase_rows is None:
        purchase_rows = np.maximum(core.usage.highest_user(core.usage.splits, rows_kept), 0)
    total = row_sums(n_rows, rows_kept[core.usage.splits], exact.evaluation[core.usage.splits])
    if core.numbers.exact:
        return tuple(map(int, row_sums(n_rows, purchase_rows, core.purchase_price()) + total))
    # item by item: an array of long integers for all purchases would be too large
    n_items, whole = core.costs.n_items, int(exact.weight.sum())
    by_item, once = purchase_rows[:-n_items].reshape(n_items, -1), purchase_rows[-n_items:]
    for m, price in enumerate(exact.price.tolist()):
        if price and core.costs.paid_once[m]:
            total[: once[m]] += price * whole
        elif price:
            total += price * row_sums(n_rows, by_item[m], exact.weight)
    return tuple(map(int, total))


def sums_in_rows(
    rows: NestedPrunings, of_splits: NDArray[Amount], of_purchases: NDArray[Amount] | None = None
) -> NDArray[Amount]:
    """For every row the sum over its splits of amounts of shape (n,), and over the purchases that they need, if given."""
    splits = rows.problem.usage.splits
    kept = row_sums(len(rows), rows.rows_kept[splits], of_splits[splits])
    return kept if of_purchases is None else row_sums(len(rows), rows.purchase_rows, of_purchases) + kept


def level_sets(problem: PruningProblem, y: NDArray[np.float64]) -> PruningSequence:
    """All level sets { h : y_h >= theta }, theta > 0, of numbers that never rise on the way down a tree; the last row is empty.

    `y`: float64, shape (n,); what stands at leaves does not matter.
    """
    values, rank = np.unique(np.maximum(y[problem.usage.splits], 0.0), return_inverse=True)
    positive = values[values > 0]
    level = np.zeros(problem.ensemble.n_nodes, dtype=np.int32)
    level[problem.usage.splits] = rank + (positive.size + 1 - values.size)
    return PruningSequence(problem, level, np.append(positive, np.inf), "theta", "level set")
