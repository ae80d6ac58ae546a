"""Parts at their lambda*, as one network, and the flow that its cut starts from."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from solvers.closures.cut import ClosureProblem
from solvers.closures.preflow import Flow
from solvers.closures.preflow.flow import UNLIMITED
from solvers.path.part_sequence import PartSequence


@dataclass(frozen=True, eq=False)
class Networks:
    """Parts at lambda*, (1) of `solvers.path.parts`, each with its own, as one closure problem in integers.

    Parameters
    ----------
    ratios
        lambda* of each part; None where a wrong guess left a part with a gain below 0 or a cost of 0, so that there is none.
    denominator
        int64, shape (p,): of lambda*, which gains are multiplied by.
    """

    parts: PartSequence
    ratios: list[Fraction | None]
    denominator: NDArray[np.int64]
    instance: ClosureProblem

    @staticmethod
    def of(parts: PartSequence) -> Networks:
        """The networks of some parts.

        Raises
        ------
        CapacityOverflowError
            if the products do not fit 62 bits.
        """
        each = zip(parts.gain.tolist(), parts.cost.tolist(), strict=True)
        ratios = [Fraction(gain, cost) if cost > 0 and gain >= 0 else None for gain, cost in each]
        p = np.array([1 if ratio is None else ratio.numerator for ratio in ratios], dtype=np.int64)
        q = np.array([1 if ratio is None else ratio.denominator for ratio in ratios], dtype=np.int64)
        return Networks(parts, ratios, q, parts.at(p, q))

    def start(self) -> Flow | None:
        """What is known of the flow at lambda*, which need not fit."""
        parts, problem = self.parts, self.instance
        if parts.flow is not None and parts.unit is not None:
            factor = parts.of_splits(self.denominator / parts.unit)
            return parts.flow.scaled(factor[problem.tail], factor)
        if parts.score is not None:
            return shared_flow(problem, parts.weights(parts.score))
        return None

    def worth(self, keep: NDArray[np.bool_]) -> NDArray[np.int64]:
        """What a closure is worth in each part; shape (p,)."""
        paid = self.parts.subproblem.used(keep)
        return self.parts.total(np.where(keep, self.instance.profit, 0), np.where(paid, -self.instance.price, 0))


def shared_flow(problem: ClosureProblem, weight: NDArray[np.float64]) -> Flow:
    """A flow to start from: each split pays its share by the weights and hands all else up; it may exceed what it has."""
    share = weight[problem.tail]
    total = np.bincount(problem.head, weights=share, minlength=problem.price.size)
    share *= (problem.price / total)[problem.head]
    return Flow(share.astype(np.int64), np.full(problem.profit.size, UNLIMITED))
