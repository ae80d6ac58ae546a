"""`Rows` that workers hold: the driver asks them, and adds its own share.

The driver's instance has one row that stands for all of them and reaches nothing, so it has the items that are paid once for all
rows, and no others. A round sends the scores and receives the charges, one number for each open split both times. A check sends
levels, twice, and scores, and receives a sum for each level and charges in integers. What is fixed is sent as two masks, and each
shard notes by itself which purchases are paid. Trees, steps, fixing and the bound are the driver's, see
`solvers.price_sharing.run`.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from solvers.closures.cut import Ties
from solvers.closures.integer_objective import IntegerObjective, at_fitting_ratio
from solvers.price_sharing.checkpoint import problem_fingerprint
from solvers.price_sharing.cluster.gathered_core import solve_gathered_core
from solvers.price_sharing.cluster.shard_answers import ShardOpened
from solvers.price_sharing.cluster.sharded_problem import ShardedProblem
from solvers.price_sharing.core import SolvedCore
from solvers.price_sharing.local_rows import CUT_BYTES_PER_ARC, LocalRows
from solvers.price_sharing.remaining import Remaining

STORE_BYTES_PER_ARC = 24
"""Bytes of the lists for each usage arc that workers send. Ray's store keeps its pages after the lists were read."""


def sharded_objective(problem: ShardedProblem, rate: Fraction) -> IntegerObjective:
    """(OBJ) at one lambda in integers; where errors were rounded, what that can hide is the slack."""
    driver = problem.driver
    return replace(at_fitting_ratio(driver, rate).refined(), slack=driver.integers.error_rounding)


class ShardedRows:
    """The rows of a `ShardedProblem`.

    Parameters
    ----------
    pool
        for the driver's own passes.

    Attributes
    ----------
    driver : LocalRows
        the driver's own instance.
    margin : int
        twice the slack of (OBJ), in integers.
    """

    opened: ShardOpened

    def __init__(self, problem: ShardedProblem, objective: IntegerObjective, pool: ThreadPoolExecutor) -> None:
        self.problem, self.shards, self.objective = problem, problem.shards, objective
        self.driver, self.pool = LocalRows(objective, pool), pool
        self.margin = math.ceil(2 * objective.slack / float(objective.unit))

    @property
    def remaining(self) -> Remaining:
        """The open splits, with the driver's purchases."""
        return self.driver.remaining

    @property
    def base(self) -> int:
        """Integer value of the splits that are fixed in: what they earn at the driver, less what the shards' rows have paid."""
        return self.driver.base - self.opened.paid

    @property
    def n_arcs(self) -> int:
        """Usage arcs of the open splits, at the driver and at all shards."""
        return self.driver.n_arcs + self.opened.n_arcs

    @property
    def cut_arcs(self) -> int:
        """The same: workers send all of them."""
        return self.n_arcs

    @property
    def cut_bytes(self) -> int:
        """Bytes of the driver that a cut of the core takes. Gathering takes 62 an arc, but is over when the cut begins.

        Measured on Ray, on a core of 5.1 million usage arcs: 101 an arc.
        """
        return (CUT_BYTES_PER_ARC + STORE_BYTES_PER_ARC) * self.n_arcs

    def workers_have_memory(self) -> bool:
        """Whether each machine has the memory for the lists that its workers make of their parts of the core."""
        return self.shards.have_memory_for_arcs()

    def fingerprint(self) -> str:
        """The driver's instance and the digest of all shards' rows; it does not depend on how the rows are divided."""
        return problem_fingerprint(self.problem.driver, self.problem.n_rows.sum(), self.shards.row_digest())

    def open(self, is_open: NDArray[np.bool_], paid: NDArray[np.bool_] | None = None, base: int = 0) -> None:
        """Begin anew with these open splits, and nothing fixed: what is paid is the shards' to note."""
        assert paid is None
        assert base == 0
        self.driver.open(is_open)
        self.opened = self.shards.open(self.objective.item_price, is_open)

    def fix(self, kept: NDArray[np.bool_], out: NDArray[np.bool_]) -> None:
        """Fix open splits in or out."""
        self.driver.fix(kept, out)
        self.opened = self.shards.fix(kept, out)

    def charges(self, score: NDArray[np.float32]) -> NDArray[np.float64]:
        """What each open split is charged at these scores, up to rounding."""
        charge = self.driver.charges(score)
        self.shards.add_charges(score, charge)
        return charge

    def integer_charges(self, score: NDArray[np.float32]) -> NDArray[np.int64]:
        """Integers that are at most the charges of some feasible shares: driver and shards each round down by themselves."""
        charge = self.driver.integer_charges(score)
        self.shards.add_integer_charges(score, charge)
        return charge

    def level_bills(self, level: NDArray[np.int32], top: int) -> list[int]:
        """What the purchases cost whose highest user is at each level."""
        own, theirs = self.driver.level_bills(level, top), self.shards.level_bills(level, top)
        return [a + b for a, b in zip(own, theirs, strict=True)]

    def closure_value(self, keep: NDArray[np.bool_]) -> int:
        """Integer value of a closure of the open splits."""
        return self.driver.closure_value(keep) - self.shards.level_bills(keep.astype(np.int32), 1)[1]

    def solve_core(self, ties: Ties) -> SolvedCore:
        """Gather the usage arcs of the open splits, and cut them here."""
        return solve_gathered_core(self.problem, self.remaining, ties)
