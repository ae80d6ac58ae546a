"""A pruning: the splits that are kept.

It is closed under parents, so what remains of each tree is a tree; a node whose parent is kept and that is not kept
itself is a leaf. Error and cost are computed here from the instance, never read back from a solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.numbers import Numbers
from formulations.instance.problem import PruningProblem
from formulations.instance.usage import Bill, ForestUsage
from formulations.shown import Card, Shown, rate


@checked
@dataclass(frozen=True, eq=False)
class Pruning(Shown):
    """The kept splits of a forest.

    Parameters
    ----------
    problem
        the instance that it prunes.
    kept
        bool, shape (n,): whether the node is still a split.

    Raises
    ------
    InvalidInputError
        if a leaf is kept, or a split below one that is not.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import path, problem
    >>> whole = pm.Pruning.unpruned(problem)
    >>> whole
    Pruning(cost=16.4933, error=0.033, 84 splits)
    >>> cheaper = path.at_lam(0.01)
    >>> cheaper
    Pruning(cost=13.4933, error=0.0485, 43 splits)
    >>> bool((cheaper.kept <= whole.kept).all())
    True
    """

    problem: PruningProblem
    kept: NDArray[np.bool_]

    def __post_init__(self) -> None:
        ensemble = self.problem.ensemble
        if self.kept.shape != (ensemble.n_nodes,) or self.kept.dtype != np.bool_:
            raise InvalidInputError(
                f"kept is {self.kept.dtype} of shape {self.kept.shape}; give bool, one for each of {ensemble.n_nodes} nodes"
            )
        bad = np.flatnonzero(self.kept & ~ensemble.is_split)
        if bad.size:
            raise InvalidInputError(f"kept: node {bad[0]} is a leaf, it cannot stay a split")
        above = self.kept[ensemble.parent] | (ensemble.parent < 0)
        bad = np.flatnonzero(self.kept & ~above)
        if bad.size:
            raise InvalidInputError(
                f"kept: node {bad[0]} is kept below node {ensemble.parent[bad[0]]}, which is pruned; keep all its ancestors"
            )

    @classmethod
    @checked
    def unpruned(cls, problem: PruningProblem) -> Self:
        """The forest as it is: every split kept."""
        return cls(problem, problem.ensemble.is_split)

    @classmethod
    @checked
    def all_roots(cls, problem: PruningProblem) -> Self:
        """The forest of single leaves: no split kept."""
        return cls(problem, np.zeros(problem.ensemble.n_nodes, dtype=bool))

    @cached_property
    def is_leaf(self) -> NDArray[np.bool_]:
        """z_h: bool, shape (n,), the leaves of the pruned trees."""
        parent = self.problem.ensemble.parent
        return ~self.kept & (self.kept[parent] | (parent < 0))

    @cached_property
    def _bill(self) -> Bill:
        """What the rows pay."""
        return self.problem.usage.bill(self.kept)

    @cached_property
    def bought(self) -> NDArray[np.bool_]:
        """w_{m,i}: bool, shape (M, N): example i pays item m. Items without a price, or paid once, are left out."""
        n_items = self.problem.costs.n_items
        return self.problem.usage.paid_by(self.kept)[:-n_items].reshape(n_items, -1)

    @property
    def n_splits(self) -> int:
        """Number of splits kept."""
        return int(self.kept.sum())

    @cached_property
    def error(self) -> float:
        """sum_h error_h z_h: the trees' mean error on the error sample, in terms of ``problem.ensemble.measure``."""
        return float(self.problem.node_error[self.is_leaf].sum())

    @property
    def feature_cost(self) -> float:
        """(1/N) sum_m c_m sum_i omega_i w_{m,i}, items paid once at full price: per example, in the unit of the prices."""
        return self._bill.feature_cost

    @property
    def evaluation_cost(self) -> float:
        """(1/N) sum over kept splits of a_f |S_h|: per example, in the unit of the prices."""
        return self._bill.evaluation_cost

    @property
    def cost(self) -> float:
        """Average cost of a prediction, `feature_cost` + `evaluation_cost`; the exact cost rounded once, of whole numbers."""
        if not self.problem.numbers.exact:
            return self.feature_cost + self.evaluation_cost
        return float(self.integer_cost * self.problem.exact_numbers.price_unit)

    @cached_property
    def integer_gain(self) -> int:
        """Sum of the exact gains of the kept splits, in units of ``problem.exact_numbers.gain_unit``."""
        return int(self.problem.exact_numbers.gain[self.kept].sum())

    @cached_property
    def integer_cost(self) -> int:
        """The exact cost in units of ``problem.exact_numbers.price_unit``."""
        usage = self.problem.usage
        return int(total_cost(usage, self.problem.exact_numbers, self.kept, usage.paid_by(self.kept)))

    @property
    def exact_cost(self) -> Fraction:
        """The cost as a fraction, from prices and weights as they were given."""
        return self.integer_cost * self.problem.exact_numbers.price_unit

    @property
    def exact_error(self) -> Fraction:
        """The error as a fraction; equal to `error` up to floating point."""
        return self.problem.roots_error - self.integer_gain * self.problem.exact_numbers.gain_unit

    @checked
    def value(self, lam: float) -> float:
        """(OBJ): error + lam * cost."""
        return self.error + float(lam) * self.cost

    def _card(self) -> Card:
        return Card("Pruning: the splits that are kept", before_and_after(self), ("", "unpruned", "pruned"))

    def __repr__(self) -> str:
        return f"Pruning(cost={self.cost:.6g}, error={self.error:.6g}, {self.n_splits} splits)"


def before_and_after(pruning: Pruning) -> tuple[tuple[str, ...], ...]:
    """Rows of a card: cost, the trees' error and splits of the unpruned forest and of the pruning."""
    measure, both = pruning.problem.ensemble.measure, (Pruning.unpruned(pruning.problem), pruning)
    return (
        ("cost per prediction, cost sample", *(f"{p.cost:.4g}" for p in both)),
        (f"mean error of single trees, {pruning.problem.errors.source}", *(rate(p.error, measure, 2) for p in both)),
        ("splits", *(f"{p.n_splits:,}" for p in both)),
    )


def total_cost(usage: ForestUsage, numbers: Numbers, kept: NDArray[np.bool_], paid: NDArray[np.bool_]) -> Any:
    """The cost of the kept splits in units of ``numbers.price_unit``; `paid` is `ForestUsage.paid_by` of them."""
    price, weight, plain = numbers.price, numbers.weight, float if numbers.gain.dtype == np.float64 else int
    payers = usage.payers(paid, weight)
    per_row = sum((plain(c) * plain(w) for c, w in zip(price, payers, strict=True)), plain(0))
    for_all = plain(price[usage.once(kept)].sum()) * plain(weight.sum())
    return per_row + for_all + plain(numbers.evaluation[kept].sum())
