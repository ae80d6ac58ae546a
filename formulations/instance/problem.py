"""The instance: a forest, the errors of its nodes, and what predictions cost.

    minimise  sum_h error_h z_h  +  lam * [ (1/N) sum_m c_m sum_i omega_i w_{m,i} + (1/N) sum_h a_h |S_h| y_h ]   (OBJ)

z_h = 1 where h is a leaf after pruning, y_h = 1 where it is still a split, w_{m,i} = 1 where example i pays item m in some
tree. error_h = e_h / (T W_t). The bracket is *the cost*: per example of the cost sample, in the unit of the prices, evaluation
included. lam is error per unit of cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.arguments import checked
from formulations.instance.cost_items import CostItems, EvaluationCost
from formulations.instance.ensemble import Ensemble, Forest
from formulations.instance.node_errors import NodeErrors
from formulations.instance.numbers import Numbers, engine_numbers, exact_numbers, real_gains
from formulations.instance.reduction import Groups, Ties, reduced_errors, reduced_numbers, reduced_usage
from formulations.instance.usage import ForestUsage, Usage
from formulations.shown import Card, Shown


@dataclass(frozen=True, eq=False)
class Core:
    """What engines see of an instance: a forest without thresholds, what its splits charge, and numbers.

    A user's `PruningProblem` is one, and so is its reduction, in which a split may have any number of children.
    """

    usage: ForestUsage  # trees, prices and cost sample: what any set of kept splits costs
    # e_h of every node and W_t of every tree, each >= 0. Gains may be negative all the same: on data that a tree was not grown
    # on, the children of a split can be wrong more often than the split itself.
    errors: NodeErrors
    numbers: Numbers  # gains, prices and weights for engines, see `formulations.instance.numbers`

    @cached_property
    def exact_numbers(self) -> Numbers:
        """The numbers as they were given, in integers: what is stated of an answer comes from these."""
        return self.numbers if self.numbers.exact else exact_numbers(self.usage, self.errors)

    @cached_property
    def roots_error(self) -> Fraction:
        """The error of the forest of single leaves."""
        return self.errors.of_all_roots(self.ensemble)

    @cached_property
    def largest_error(self) -> float:
        """What the error of no pruning exceeds, the size of what floats round: all roots' error and all losses."""
        gain = self.numbers.gain
        return float(self.roots_error) - float(gain[gain < 0].sum() * self.numbers.gain_unit)

    @cached_property
    def node_error(self) -> NDArray[np.float64]:
        """error_h of every node, shape (n,), in the units of (OBJ)."""
        return self.errors.per_node(self.ensemble)

    @cached_property
    def gain(self) -> NDArray[np.float64]:
        """g_h = error_h - sum of its children's errors at splits, 0 at leaves; may be negative. Shape (n,)."""
        return self.numbers.gain * float(self.numbers.gain_unit)

    @cached_property
    def gain_lost(self) -> NDArray[np.float64]:
        """What floating point may have lost of each gain: 2^-50 of the errors that it is a difference of; shape (n,)."""
        return 2.0**-50 * (2.0 * self.node_error - self.gain)

    @cached_property
    def n_usage_arcs(self) -> int:
        """Number of usage arcs of the whole instance, the size of its network."""
        return int(self.usage.arcs_per_node.sum())

    def purchase_price(self) -> NDArray[Any]:
        """The price of every purchase in the engines' numbers; numbered as `UsageArcs`. Shape (M N + M,)."""
        own = self.numbers
        return self.usage.by_purchase(own.price, own.weight, own.price * own.weight.sum())

    @property
    def ensemble(self) -> Forest:
        """The trees."""
        return self.usage.ensemble

    @property
    def costs(self) -> CostItems:
        """Items, prices, and what each feature needs."""
        return self.usage.costs


@dataclass(frozen=True, eq=False)
class PruningProblem(Core, Shown):
    """The choice of the splits of a forest to keep, see (OBJ).

    Build it with `PruningProblem.build`, or from a fitted forest with `prunemodels.problem_from_forest`.

    Parameters
    ----------
    usage
        trees, prices and cost sample: what any set of kept splits costs.
    errors, numbers
        as of `Core`.

    Examples
    --------
    >>> from prunemodels.example import problem
    >>> problem
    PruningProblem(Ensemble(8 trees, 84 splits, 10 features, classification), 150 cost rows, 3,800 usage arcs)
    >>> problem.usage.n_rows, problem.n_usage_arcs, problem.costs.names[:2]
    (150, 3800, ('radius', 'texture'))
    """

    usage: Usage

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
            for prices, weights and errors so far apart that no float holds their ratios.
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
            for prices, weights and errors so far apart that no float holds their ratios.
        """
        return cls(usage, errors, engine_numbers(usage, errors))

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
            groups = Groups.of_splits(self.usage, self.errors, self.numbers, ties)
            usage, errors = reduced_usage(self.usage, groups), reduced_errors(self.errors, groups)
            numbers = reduced_numbers(self.numbers, groups)
            if not numbers.exact:  # a sum of floats would lose more than the difference of the errors
                numbers = replace(numbers, gain=real_gains(usage.ensemble, errors))
            self._reductions[ties] = Reduced(groups, ReducedCore(usage, errors, numbers, self, groups))
        return self._reductions[ties]

    @cached_property
    def _reductions(self) -> dict[Ties, Reduced]:
        return {}

    @property
    def ensemble(self) -> Ensemble:
        """The trees."""
        return self.usage.ensemble

    @property
    def X(self) -> object:  # noqa: N802
        """The cost sample as it was given."""
        return self.usage.X

    def _card(self) -> Card:
        e, rows = self.ensemble, f"{self.usage.n_rows:,} examples"
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
        return f"PruningProblem({self.ensemble!r}, {self.usage.n_rows:,} cost rows, {self.n_usage_arcs:,} usage arcs)"


@dataclass(frozen=True, eq=False)
class ReducedCore(Core):
    """The core of a reduction, which knows what it is a reduction of."""

    whole: Core
    groups: Groups

    @cached_property
    def exact_numbers(self) -> Numbers:
        """Sums of the exact numbers of the whole instance: the reduction's own errors are sums of floats."""
        return self.numbers if self.numbers.exact else reduced_numbers(self.whole.exact_numbers, self.groups)


@dataclass(frozen=True, eq=False)
class Reduced:
    """An instance of groups of splits, see `formulations.instance.reduction`, and which splits they are."""

    groups: Groups
    core: Core
