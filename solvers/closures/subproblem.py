"""What is left to decide of an instance: some splits, and the purchases that they need and that nobody has paid yet.

    maximise  sum_h profit_h y_h - sum_j price_j w_j        y_h <= y_parent(h),   y_u <= w_j for every usage arc (u, j)     (1)

All engines that cut come to such a problem by the same steps: choose splits, take their usage arcs, leave out those to purchases
that are free or paid, and number what remains from 0. `solvers.closures.cut` does the last step. The profits and prices are
those of an `IntegerObjective`, or of any lambda = p / q: with integer gains, evaluation prices and prices

    profit_h = q gain_h - p evaluation_h          price_j becomes p price_j                                                (2)

At lambda* = (sum of gains) / (sum of evaluation prices and prices) all splits together are worth 0.                       (3)

The splits between two nested prunings are such a problem, with the purchases that the inner one has not paid: an `OpenPart`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from formulations.instance.problem import Core
from formulations.instance.usage_arcs import merge_purchases
from solvers.closures.cut import ClosureProblem, Subproblem, check_products, compact, subproblem
from solvers.closures.integer_objective import IntegerPrices


@dataclass(frozen=True, eq=False)
class ParametricSubproblem(Subproblem):
    """A subproblem for every lambda (2)."""

    # gain, evaluation: shape (k,), as in ``problem.numbers``: int64, or float64 where the numbers are real.
    gain: NDArray[Any]
    evaluation: NDArray[Any]
    price: NDArray[Any]  # of the same type, shape (j,): > 0

    def arrays(self) -> dict[str, Any]:
        """All arrays by name, for a subclass that has more of them."""
        return {field.name: getattr(self, field.name) for field in fields(ParametricSubproblem)}

    @property
    def exact(self) -> bool:
        """Whether gains and prices are integers."""
        return self.gain.dtype == np.int64

    @property
    def total_cost(self) -> Any:
        """Of all splits together."""
        return self.price.sum().item() + self.evaluation.sum().item()

    @property
    def total_gain(self) -> Any:
        """Of all splits together."""
        return self.gain.sum().item()

    def cost_of(self, keep: NDArray[np.bool_]) -> Any:
        """Of some splits alone; bool, shape (k,)."""
        return self.cost_with(keep, self.used(keep))

    def cost_with(self, keep: NDArray[np.bool_], used: NDArray[np.bool_]) -> Any:
        """The same where `used(keep)` is known already."""
        return self.price[used].sum().item() + self.evaluation[keep].sum().item()

    def largest_product(self, lam: Fraction) -> float:
        """The larger of all gains and all costs in the integers of lambda; below `INT64_SAFE` where `at` can take it."""
        return max(float(np.abs(self.gain).sum()) * lam.denominator, float(self.total_cost) * lam.numerator)

    def at(self, lam: Fraction) -> ClosureProblem:
        """(1) at lambda, by (2)."""
        p, q = lam.numerator, lam.denominator
        check_products(self.largest_product(lam))
        return self.closure_problem(self.gain * q - self.evaluation * p, self.price * p)

    def restricted(self, stays: NDArray[np.bool_], arcs: NDArray[np.bool_]) -> tuple[Self, NDArray[np.int32]]:
        """Some splits, closed under usage, and some of their arcs; and the places of the purchases that these arcs lead to."""
        place = np.cumsum(stays, dtype=np.int32) - np.int32(1)
        above = self.parent[stays]
        parent = np.where((above >= 0) & stays[above], place[above], np.int32(-1))
        still, head = compact(self.head[arcs], self.purchases.size)
        part = replace(
            self, nodes=self.nodes[stays], parent=parent, tail=place[self.tail[arcs]], head=head, purchases=self.purchases[still],
            gain=self.gain[stays], evaluation=self.evaluation[stays], price=self.price[still],
        )  # fmt: skip
        return part, still

    def merged(self) -> tuple[Self, NDArray[np.int32], NDArray[np.int64]]:
        """The same with one purchase for all that have the same users; see `formulations.instance.usage_arcs`.

        Returns
        -------
        Self, NDArray, NDArray
            the subproblem; int32, shape (j,): the merged purchase that each purchase has become; int64: the arcs that stay.
        """
        merged = merge_purchases(self.tail, self.head, self.price)
        groups, head = compact(self.head[merged.arc], self.purchases.size)
        place = np.empty(self.purchases.size, dtype=np.int32)
        place[groups] = np.arange(groups.size, dtype=np.int32)
        fewer = replace(self, tail=self.tail[merged.arc], head=head, purchases=self.purchases[groups], price=merged.price[groups])
        return fewer, place[merged.representative], merged.arc


def parametric_subproblem(problem: Core, nodes: NDArray[np.int32], paid: NDArray[np.bool_] | None = None) -> ParametricSubproblem:
    """Some splits with the purchases that cost something, in the numbers of the instance.

    `nodes`: int32, shape (k,): the splits, ascending. `paid`: bool, shape (M (N + 1),): purchases that are paid already; None:
    none is.
    """
    found = small_subproblem(problem, nodes, paid)
    assert found is not None
    return found


def small_subproblem(
    problem: Core, nodes: NDArray[np.int32], paid: NDArray[np.bool_] | None, most: float = math.inf
) -> ParametricSubproblem | None:
    """`parametric_subproblem`, but None if more than `most` usage arcs lead to purchases that cost something and are not paid.

    Usage arcs are made some four million at a time, so those that are paid take no memory.
    """
    ints = problem.numbers
    prices = IntegerPrices(problem.usage, ints.price, ints.weight, None)
    tails, heads, count = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int32)], 0
    some_are_free = (ints.price == 0).any() or (ints.weight == 0).any()
    # the nodes in groups of about four million arcs
    arcs_before = np.cumsum(problem.usage.arcs_per_node[nodes]) // 4_000_000
    for some in np.split(nodes, np.flatnonzero(np.diff(arcs_before)) + 1):
        arcs = problem.usage.arcs(some)
        to_pay = np.ones(arcs.head.size, dtype=bool) if paid is None else ~paid[arcs.head]
        if some_are_free:
            to_pay &= prices.prices(arcs.head) > 0
        count += int(np.count_nonzero(to_pay))
        if count > most:
            return None
        tails.append(arcs.tail[to_pay])
        heads.append(arcs.head[to_pay])
    found = subproblem(problem.ensemble.parent, nodes, np.concatenate(tails), np.concatenate(heads), problem.usage.n_purchases)
    return ParametricSubproblem(
        found.nodes,
        found.parent,
        found.tail,
        found.head,
        found.purchases,
        ints.gain[nodes],
        ints.evaluation[nodes],
        prices.prices(found.purchases),
    )


@dataclass(frozen=True, eq=False)
class OpenPart(ParametricSubproblem):
    """A subproblem with merged purchases that knows the forest's purchases behind each, so that it can have other prices."""

    # members, group: int32: the purchases of the forest, and the merged purchase that each belongs to.
    members: NDArray[np.int32]
    group: NDArray[np.int32]

    def divided(self, keep: NDArray[np.bool_], used: NDArray[np.bool_], *, inner: bool) -> tuple[OpenPart, NDArray[np.int32]]:
        """The closure itself (inner), or what is left after the closure was taken and paid; and the purchases it still has.

        `keep`, `used`: the closure, and the purchases that it needs: `used(keep)`.
        """
        stays, arcs = (keep, keep[self.tail]) if inner else (~keep, ~used[self.head])
        part, purchases = self.restricted(stays, arcs)
        place = np.full(self.price.size, -1, dtype=np.int32)
        place[purchases] = np.arange(purchases.size, dtype=np.int32)
        group = place[self.group]
        present = group >= 0
        return replace(part, members=self.members[present], group=group[present]), purchases


def open_part(problem: Core, outer: NDArray[np.bool_], inner: NDArray[np.bool_]) -> OpenPart:
    """The part between two nested prunings; both bool, shape (n,), closed under parents, inner within outer.

    The inner pruning together with a closure of the part is a pruning between the two.
    """
    nodes = np.flatnonzero(outer & ~inner).astype(np.int32)
    part = parametric_subproblem(problem, nodes, problem.usage.paid_by(inner))
    merged, group, _ = part.merged()
    return OpenPart(**merged.arrays(), members=part.purchases, group=group)
