"""A pruning: the splits that are kept.

It is closed under parents, so what remains of each tree is a tree; a node whose parent is kept and that is not kept
itself is a leaf. Error and cost are computed here from the instance, never read back from a solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.bill import Bill
from formulations.instance.integers import Integers
from formulations.instance.problem import PruningProblem
from formulations.instance.usage import Usage
from formulations.shown import Card, Shown, rate

NEXT = "Next: pm.apply_pruning(pruning, forest), pm.evaluate(..., X_test, y_test, costs=costs), pm.write_report(...)"
"""What a card with a pruning proposes."""


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
    def _bills(self) -> tuple[Bill, int]:
        """What the rows pay, and `integer_cost`, from one pass over the usage."""
        usage, paid = self.problem.usage, self.problem.usage.paid_by(self.kept)
        return usage.bill(self.kept, paid), integer_cost(usage, self.problem.integers, self.kept, paid)

    @property
    def bought(self) -> NDArray[np.bool_]:
        """w_{m,i}: bool, shape (M, N): example i pays item m. Items without a price, or paid once, are left out."""
        n_items = self.problem.costs.n_items
        return self.problem.usage.paid_by(self.kept)[:-n_items].reshape(n_items, -1)

    @property
    def bought_once(self) -> NDArray[np.bool_]:
        """bool, shape (M,): items paid once for all examples that the pruned forest needs."""
        return self.problem.usage.once(self.kept)

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
        return self._bills[0].feature_cost

    @property
    def evaluation_cost(self) -> float:
        """(1/N) sum over kept splits of a_f |S_h|: per example, in the unit of the prices."""
        return self._bills[0].evaluation_cost

    @property
    def cost(self) -> float:
        """Average cost of a prediction, `feature_cost` + `evaluation_cost`; the exact cost rounded once, if prices are exact."""
        if self.problem.integers.cost_rounding == 0:
            return float(self.exact_cost)
        return self.feature_cost + self.evaluation_cost

    @cached_property
    def integer_gain(self) -> int:
        """Sum of the integer gains of the kept splits, in units of ``problem.integers.gain_unit``."""
        return int(self.problem.integers.gain[self.kept].sum())

    @property
    def integer_cost(self) -> int:
        """The cost in units of ``problem.integers.price_unit``."""
        return self._bills[1]

    @property
    def exact_cost(self) -> Fraction:
        """The cost as a fraction; that of the integers: equal to `real_cost` up to ``integers.cost_rounding``."""
        return self.integer_cost * self.problem.integers.price_unit

    @cached_property
    def real_cost(self) -> Fraction:
        """The cost as a fraction, from prices and weights as they were given, even if the instance was rounded."""
        p = self.problem
        if p.integers.cost_rounding == 0:
            return self.exact_cost
        weight = [Fraction(repr(float(w))) for w in p.weights]
        per_row = Fraction(0)
        for price, bought in zip(p.costs.prices, self.bought, strict=True):
            if price:
                per_row += price * sum((weight[i] for i in bought.nonzero()[0].tolist()), Fraction(0))
        for h in self.kept.nonzero()[0].tolist():
            a = p.evaluation[int(p.ensemble.feature[h])]
            if a:
                rows = p.routing.order[p.ensemble.tree_of[h], p.routing.start[h] : p.routing.stop[h]]
                per_row += a * sum((weight[i] for i in rows.tolist()), Fraction(0))
        once = sum((p.costs.prices[m] for m in self.bought_once.nonzero()[0].tolist()), Fraction(0))
        return per_row / sum(weight) + once

    @property
    def exact_error(self) -> Fraction:
        """The error as a fraction; equal to `error` up to floating point, and up to ``integers.error_rounding``."""
        p = self.problem
        return p.errors.of_all_roots(p.ensemble) - self.integer_gain * p.integers.gain_unit

    @checked
    def value(self, lam: float) -> float:
        """(OBJ): error + lam * cost."""
        return self.error + float(lam) * self.cost

    def _card(self) -> Card:
        return Card("Pruning: the splits that are kept", before_and_after(self), ("", "unpruned", "pruned"), (NEXT,))

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


def integer_cost(usage: Usage, integers: Integers, kept: NDArray[np.bool_], paid: NDArray[np.bool_] | None = None) -> int:
    """The cost of the kept splits in units of ``integers.price_unit``; `paid` is `Usage.paid_by` of them, if known already."""
    paid = usage.paid_by(kept) if paid is None else paid
    weight = usage.payers(paid, integers.weight)
    per_row = sum(int(c) * int(w) for c, w in zip(integers.price, weight, strict=True))
    for_all = int(integers.price[usage.once(kept)].sum()) * int(integers.weight.sum())
    return per_row + for_all + int(integers.evaluation[kept].sum())
