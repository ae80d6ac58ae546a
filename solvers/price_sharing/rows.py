"""What a run of price sharing needs to know of the rows of the cost sample, wherever they are kept; and its scores in a file.

A `Run` holds scores, trees and decisions. Everything that needs a pass over rows goes through `Rows`. Two classes provide it:
`LocalRows`, where all rows are in this process, and `ShardedRows` of `solvers.price_sharing.cluster`, where workers hold them.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import Natural, checked
from formulations.checkpoints import MOST_ROUNDS, Checkpoint
from formulations.errors import InvalidInputError
from formulations.instance.problem import Core
from formulations.instance.usage import Usage
from formulations.shown import Brief
from formulations.stored_arrays import fingerprint, stored_array, whole_number
from solvers.closures.cut import Ties
from solvers.closures.integer_objective import IntegerObjective
from solvers.price_sharing.core import SolvedCore, solve_core
from solvers.price_sharing.params import SharingParams
from solvers.price_sharing.remaining import Remaining, all_open
from solvers.price_sharing.shares import Sharing, paid_at


@checked
@dataclass(frozen=True, eq=False, repr=False)
class Scores(Brief):
    """Where a run has got to, or where one for another lambda may start.

    Parameters
    ----------
    score
        float64, shape (n,): s_h of every node, finite; only differences among the users of a purchase matter.
    iteration
        number of rounds made: the step size goes on from there.

    Raises
    ------
    InvalidInputError
        for scores that are no numbers, or none that a float32 can hold.
    """

    score: NDArray[np.float64]
    iteration: Natural = 0

    def __post_init__(self) -> None:
        numbers = self.score.ndim == 1 and self.score.dtype.kind in "iuf"
        if not numbers or not (np.abs(self.score) <= np.finfo(np.float32).max).all():  # NaN is not either
            raise InvalidInputError("score: give one number for each node that a float32 can hold, without NaN")


def problem_fingerprint(problem: Core, *more: Any) -> str:
    """The fingerprint of an instance and of what else a state depends on. Of the rows it has the routes, not the features."""
    usage = replace(problem.usage, X=None) if isinstance(problem.usage, Usage) else problem.usage
    return fingerprint(Core(usage, problem.errors, problem.numbers), *more)


def save_scores(checkpoint: Checkpoint, scores: Scores) -> None:
    """Write the scores in the place of those that are there."""
    checkpoint.save({"score": scores.score}, iteration=scores.iteration)


def load_scores(checkpoint: Checkpoint) -> Scores | None:
    """The scores in the file; None where there is no file."""
    with checkpoint.stored() as stored:
        if stored is None:
            return None
        score = stored_array(stored.arrays["score"], "score", "f").astype(np.float64)
        return Scores(score, whole_number(stored.figures["iteration"], "iteration", MOST_ROUNDS))


class Rows(Protocol):
    """Rows with some open splits; k of them, numbered by their places in ``remaining.nodes``.

    `open` comes before everything else.
    """

    @property
    def objective(self) -> IntegerObjective:
        """(OBJ) in integers."""
        ...

    @property
    def params(self) -> SharingParams:
        """The tuning numbers of the run."""
        ...

    @property
    def margin(self) -> int:
        """What rounding can change of the worth of a closure, in integers: splits are decided where that cannot matter."""
        ...

    @property
    def remaining(self) -> Remaining:
        """The open splits, with the purchases that this process keeps."""
        ...

    @property
    def base(self) -> int:
        """Integer value of the splits that are fixed in: their profits less all purchases that they need."""
        ...

    @property
    def n_arcs(self) -> int:
        """Usage arcs of the open splits."""
        ...

    @property
    def cut_arcs(self) -> int:
        """The arcs of the lists that `solve_core` makes its network from: after merging, where purchases are merged."""
        ...

    @property
    def cut_bytes(self) -> int:
        """Bytes of this process that `solve_core` takes, about."""
        ...

    def workers_have_memory(self) -> bool:
        """Whether the other processes that `solve_core` asks, if there are any, have the memory that it takes of them."""
        ...

    @property
    def pool(self) -> ThreadPoolExecutor | None:
        """One thread for half of a pass over trees."""
        ...

    def fingerprint(self) -> str:
        """The fingerprint of the instance with all of its rows, wherever they are."""
        ...

    def open(self, is_open: NDArray[np.bool_], paid: NDArray[np.bool_] | None = None, base: int = 0) -> None:
        """Begin anew with these open splits, bool of shape (n,).

        `is_open`: together with the splits that are fixed in they are closed under parents. `paid`, `base`: the purchases that
        splits fixed in beforehand pay, and what these are worth; None: nothing is fixed.
        """
        ...

    def fix(self, kept: NDArray[np.bool_], out: NDArray[np.bool_]) -> None:
        """Fix open splits in or out; bool, shape (k,). What the kept ones need is paid from then on."""
        ...

    def charges(self, score: NDArray[np.float32]) -> NDArray[np.float64]:
        """What each open split is charged at these scores, up to rounding; shape (k,). (1) of `solvers.price_sharing.shares`."""
        ...

    def integer_charges(self, score: NDArray[np.float32]) -> NDArray[np.int64]:
        """Integers, shape (k,), that are at most the charges of some feasible shares, whatever floating point did."""
        ...

    def level_bills(self, level: NDArray[np.int32], top: int) -> list[int]:
        """What the purchases cost whose highest user is at each level, 0 to `top`; nothing at level 0. Levels have shape (k,)."""
        ...

    def closure_value(self, keep: NDArray[np.bool_]) -> int:
        """Integer value of a closure of the open splits, bool of shape (k,), without `base`."""
        ...

    def solve_core(self, score: NDArray[np.float32], ties: Ties) -> SolvedCore:
        """The best closure of the open splits, by a minimum cut that starts from their shares by scores of shape (k,)."""
        ...


class LocalRows(Sharing):
    """All rows of ``objective.problem``.

    `pool`: one thread: passes over many usage arcs are halved between it and the caller's.
    """

    def __init__(self, objective: IntegerObjective, pool: ThreadPoolExecutor, params: SharingParams) -> None:
        self.objective, self.pool, self.params = objective, pool, params
        self.margin = objective.hidden

    @property
    def base(self) -> int:
        """Integer value of the splits that are fixed in."""
        return self.remaining.base

    @property
    def n_arcs(self) -> int:
        """Usage arcs of the open splits."""
        return self.remaining.slices.n_arcs

    @property
    def cut_arcs(self) -> int:
        """Usage arcs of the open splits, those of each class of purchases once where they are merged."""
        return self.n_arcs if self.merged is None else sum(part.place.size for part in self.merged)

    @property
    def cut_bytes(self) -> int:
        """Bytes that a cut of the core takes, and its flow on all usage arcs."""
        if self.merged is None:
            return self.params.cut_bytes_per_arc * self.n_arcs
        return max(self.params.cut_bytes_per_merged_arc * self.cut_arcs, self.params.flow_bytes_per_arc * self.n_arcs)

    def workers_have_memory(self) -> bool:
        """True: there are none."""
        return True

    def fingerprint(self) -> str:
        """The instance's fingerprint."""
        return problem_fingerprint(self.objective.problem)

    def open(self, is_open: NDArray[np.bool_], paid: NDArray[np.bool_] | None = None, base: int = 0) -> None:
        """Begin anew with these open splits, see `Rows.open`; the array `paid` is updated later, not copied."""
        self.take(all_open(self.objective, is_open, paid, base))

    def fix(self, kept: NDArray[np.bool_], out: NDArray[np.bool_]) -> None:
        """Fix open splits in or out."""
        self.take(self.remaining.fixed(kept, out))

    def closure_value(self, keep: NDArray[np.bool_]) -> int:
        """Integer value of a closure of the open splits."""
        return closure_value(self.remaining, keep)

    def solve_core(self, score: NDArray[np.float32], ties: Ties) -> SolvedCore:
        """The best closure of the open splits, by a minimum cut that starts from their shares."""
        return solve_core(self.remaining, self.merged, score, ties)


def closure_value(remaining: Remaining, keep: NDArray[np.bool_]) -> int:
    """The integer value of a closure of the open splits, bool of shape (k,), without `remaining.base`."""
    return int(remaining.profit[keep].sum()) - paid_at(remaining, keep.astype(np.int32), 1)[1]
