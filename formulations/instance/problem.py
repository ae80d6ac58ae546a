"""The instance: a forest, the errors of its nodes, and what predictions cost.

    minimise  sum_h error_h z_h  +  lam * [ (1/N) sum_m c_m sum_i omega_i w_{m,i} + (1/N) sum_h a_h |S_h| y_h ]   (OBJ)

z_h = 1 where h is a leaf after pruning, y_h = 1 where it is still a split, w_{m,i} = 1 where example i pays item m in some
tree. error_h = e_h / (T W_t). The bracket is *the cost*: per example of the cost sample, in the unit of the prices, evaluation
included. lam is error per unit of cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.arguments import checked
from formulations.instance.cost_items import CostItems, EvaluationCost
from formulations.instance.ensemble import Ensemble
from formulations.instance.integers import Integers, to_integers
from formulations.instance.node_errors import NodeErrors
from formulations.instance.reduction import Groups, Ties, reduced_errors, reduced_integers, reduced_usage
from formulations.instance.routing import Routing
from formulations.instance.row_blocks import RowBlocks
from formulations.instance.usage import Usage
from formulations.instance.usage_arcs import UsageArcs
from formulations.shown import Card, Shown


@dataclass(frozen=True, eq=False)
class PruningProblem(Shown):
    """The choice of the splits of a forest to keep, see (OBJ).

    Build it with `PruningProblem.build`, or from a fitted forest with `prunemodels.problem_from_forest`.

    Parameters
    ----------
    usage
        trees, prices and cost sample: what any set of kept splits costs. Its main attributes are attributes here too.
    errors
        e_h of every node and W_t of every tree, each >= 0. Gains may be negative all the same: on data that a tree was not grown
        on, the children of a split can be wrong more often than the split itself.
    integers
        the same instance in integers, for exact arithmetic.

    Examples
    --------
    >>> from prunemodels.example import problem
    >>> problem
    PruningProblem(Ensemble(8 trees, 84 splits, 10 features, classification), 150 cost rows, 3,800 usage arcs)
    >>> problem.n_rows, problem.n_usage_arcs, problem.costs.names[:2]
    (150, 3800, ('radius', 'texture'))
    """

    usage: Usage
    errors: NodeErrors
    integers: Integers

    @classmethod
    @checked
    def build(
        cls,
        ensemble: Ensemble,
        errors: NodeErrors,
        X: object,
        costs: CostItems,
        *,
        sample_weight: ArrayLike | None = None,
        evaluation_cost: EvaluationCost = 0,
    ) -> Self:
        """Route the cost sample and set up the instance.

        Parameters
        ----------
        X, sample_weight, evaluation_cost
            as in `Usage.build`.

        Raises
        ------
        InvalidInputError
            for sizes that do not fit each other, and for negative or non-finite numbers.
        CapacityOverflowError
            for prices or weights too far apart for 64-bit integers.
        """
        if ensemble.made is not None:
            ensemble.made.check(X)
        usage = Usage.build(ensemble, costs, X, sample_weight=sample_weight, evaluation_cost=evaluation_cost)
        return cls.of(usage, errors)

    @classmethod
    @checked
    def of(cls, usage: Usage, errors: NodeErrors) -> Self:
        """The instance with this usage and these errors; nothing is routed.

        Raises
        ------
        CapacityOverflowError
            for prices or weights too far apart for 64-bit integers.
        """
        u = usage
        return cls(u, errors, to_integers(u.ensemble, errors, u.costs, u.weights, u.evaluation, u.routing))

    @checked
    def only_tree(self, t: int) -> PruningProblem:
        """The instance of one tree alone: the error is that of this tree, and it shares no purchases with others.

        Raises
        ------
        InvalidInputError
            if there is no tree t.
        """
        return PruningProblem.of(self.usage.only_tree(t), self.errors.only_tree(self.ensemble, t))

    @checked
    def reduced(self, ties: Ties = "smallest") -> Reduced:
        """The instance that engines solve: `formulations.instance.reduction` for optima with these ties; made once."""
        if ties not in self._reductions:
            self._reductions[ties] = Reduced.of(self, ties)
        return self._reductions[ties]

    @cached_property
    def _reductions(self) -> dict[Ties, Reduced]:
        return {}

    @cached_property
    def node_error(self) -> NDArray[np.float64]:
        """error_h of every node, shape (n,), in the units of (OBJ)."""
        return self.errors.per_node(self.ensemble)

    @cached_property
    def gain(self) -> NDArray[np.float64]:
        """g_h = error_h - error_left - error_right at splits, 0 at leaves; may be negative. Shape (n,)."""
        return self.ensemble.gains(self.node_error)

    @cached_property
    def n_usage_arcs(self) -> int:
        """Number of usage arcs of the whole instance, the size of its network."""
        return int(self.usage.arcs_per_node.sum())

    def purchase_price(self) -> NDArray[np.int64]:
        """Integer price of every purchase, in the numbering of `UsageArcs`. Shape (M N + M,)."""
        ints = self.integers
        return self.usage.by_purchase(ints.price, ints.weight, ints.price * ints.weight.sum())

    @checked
    def usage_arcs(self, nodes: NDArray[np.int32] | None = None) -> UsageArcs:
        """Usage arcs of the given splits (default: all), in canonical order."""
        return self.usage.arcs(nodes)

    @property
    def ensemble(self) -> Ensemble:
        """The trees."""
        return self.usage.ensemble

    @property
    def costs(self) -> CostItems:
        """Items, prices, and what each feature needs."""
        return self.usage.costs

    @property
    def X(self) -> object:  # noqa: N802
        """The cost sample as it was given."""
        return self.usage.X

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows of X with positive weight."""
        return self.usage.rows

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights of these rows."""
        return self.usage.weights

    @property
    def evaluation(self) -> tuple[Fraction, ...]:
        """Price of evaluating one split, for each feature."""
        return self.usage.evaluation

    @property
    def routing(self) -> Routing:
        """Which rows reach which node."""
        return self.usage.routing

    @property
    def n_rows(self) -> int:
        """Rows of positive weight in the cost sample."""
        return self.usage.n_rows

    @property
    def n_purchases(self) -> int:
        """Numbers that `UsageArcs.head` can take."""
        return self.usage.n_purchases

    @property
    def splits(self) -> NDArray[np.int32]:
        """The internal nodes, ascending."""
        return self.usage.splits

    @property
    def evaluation_price(self) -> NDArray[np.float64]:
        """What keeping each split adds to the evaluation cost, shape (n,)."""
        return self.usage.evaluation_price

    @property
    def row_blocks(self) -> RowBlocks:
        """The routing, cut into blocks of rows that fit a cache."""
        return self.usage.row_blocks

    def _card(self) -> Card:
        e, rows = self.ensemble, f"{self.n_rows:,} examples"
        prices = sorted(float(price) for price in self.costs.price)
        priced = f"{prices[0]:g}" if prices[0] == prices[-1] else f"{prices[0]:g} to {prices[-1]:g}"
        return Card(
            "PruningProblem: what to keep of a forest",
            (
                ("forest", f"{e.n_trees:,} trees, {e.n_splits:,} splits, {e.task}"),
                ("features", f"{e.n_features:,}, bought as {self.costs.n_items:,} items at {priced}"),
                ("costs measured on", rows),
                ("errors measured", self.errors.source if e.judged_by is None else f"{self.errors.source}, {e.measure}"),
                ("size", f"{self.n_usage_arcs:,} pairs of a split and a purchase that it needs"),
            ),
        )

    def __repr__(self) -> str:
        return f"PruningProblem({self.ensemble!r}, {self.n_rows:,} cost rows, {self.n_usage_arcs:,} usage arcs)"


@dataclass(frozen=True, eq=False)
class Reduced:
    """An instance of groups of splits, see `formulations.instance.reduction`, and which splits they are."""

    groups: Groups
    problem: PruningProblem

    @classmethod
    def of(cls, problem: PruningProblem, ties: Ties) -> Self:
        """The reduction for optima with these ties."""
        groups = Groups.of_splits(problem.usage, problem.errors, problem.integers, ties)
        usage, errors = reduced_usage(problem.usage, groups), reduced_errors(problem.errors, groups)
        return cls(groups, PruningProblem(usage, errors, reduced_integers(problem.integers, groups)))
