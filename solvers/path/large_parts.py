"""Parts of a path that are too large for a network: price sharing cuts them until they are small.

Between two optima of the path, an outer and an inner one, lies a part. At the lambda at which both are worth the same, (1) of
`solvers.path.part_sequence`, either some optimum lies between them, which cuts the part in two, or nothing does, and the whole
part goes at that lambda. Price sharing finds the optimum there: what the inner optimum keeps and the outer one prunes is decided
before it begins. It holds no usage arcs but those of its last core, so memory is that of the routing and of one small part at a
time.

Near a lambda at which very many splits go, rounds do not close the gap, and no split is fixed. A cut of all of them takes longer
than everything else, or does not fit into memory. The best pruning that rounds found then counts as the optimum. Whether the path
is optimal after all is for `solvers.path.proof_by_shares` to prove; where it cannot, the parts are divided again, by cuts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import total_cost
from formulations.answers.solution import StopReason
from formulations.errors import BrokenFileError
from formulations.instance.problem import Core
from formulations.stored_arrays import fingerprint
from solvers.closures.cut import Ties
from solvers.closures.integer_objective import IntegerObjective, fitting_objective
from solvers.closures.subproblem import ParametricSubproblem, small_subproblem
from solvers.path.guess import extended
from solvers.path.params import PathParams
from solvers.path.part_files import FoundInPart, PartFiles
from solvers.price_sharing.loop import StopRule, cut_fits_memory, drive, negligible_gain
from solvers.price_sharing.rows import LocalRows, Scores
from solvers.price_sharing.run import Known, Paid, Run


@dataclass(frozen=True, eq=False)
class Optimum:
    """An optimum of the path: its splits, gain and cost in the numbers of the instance, and a bit for each purchase it pays."""

    kept: NDArray[np.bool_]
    gain: Any
    cost: Any
    paid: NDArray[np.uint8]

    @staticmethod
    def of(problem: Core, kept: NDArray[np.bool_]) -> Optimum:
        """From the splits alone, by a pass over all that they use."""
        paid = problem.usage.paid_by(kept)
        cost = total_cost(problem.usage, problem.numbers, kept, paid)
        return Optimum(kept, problem.numbers.gain[kept].sum().item(), cost, np.packbits(paid))

    def worth(self, ratio: Fraction) -> Fraction:
        """In gains, at so many of them for one price."""
        return Fraction(self.gain) - ratio * Fraction(self.cost)

    def unpacked(self, n_purchases: int) -> NDArray[np.bool_]:
        """What it pays; bool, shape (M (N + 1),), a new array."""
        return np.unpackbits(self.paid, count=n_purchases).view(np.bool_)


@dataclass(frozen=True, eq=False)
class SmallPart:
    """A part with its usage arcs, and what the optimum inside it pays, bool of shape (M (N + 1),)."""

    part: ParametricSubproblem
    paid: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Edge:
    """A part that goes at one lambda, `ratio`, and its splits; `gap` says how much more than its ends an optimum may be worth.

    The gap is in gains. Rounds prove it at a lambda of at most `ratio`, against the inner end. As lambda rises to that
    ratio, larger prunings lose more than the inner end does, so the gap holds there too.
    """

    ratio: Fraction
    nodes: NDArray[np.int32]
    gap: Fraction = Fraction(0)


@dataclass(frozen=True, eq=False)
class Division:
    """How parts are divided, and what that took."""

    problem: Core
    ties: Ties
    gap: float  # relative gap at which rounds without progress are given up where a cut does not fit into memory
    files: PartFiles | None  # where to keep what is found, and to read what an earlier run found; None: nowhere
    pool: ThreadPoolExecutor  # of one thread
    params: PathParams = PathParams()
    cuts: bool = False  # never take an end for the optimum where a cut can tell
    around: Any = (
        None  # a cost in the instance's numbers: of the large parts only those are divided between whose ends it lies. None: all
    )
    tick: Callable[[], None] = lambda: None  # called every ten rounds
    edges: list[Edge] = field(default_factory=list)  # all that go at one lambda
    unsure: list[Edge] = field(default_factory=list)  # those whose gap is not closed
    # at most one: the scores that the last part's rounds ended with, from which the next part and the proof of the path start.
    scores: list[Scores] = field(default_factory=list)
    # large parts, their rounds, and the seconds of both, those of earlier runs included.
    stats: dict[str, float] = field(
        default_factory=partial(dict[str, float], large_parts=0.0, parts_with_gap=0.0, rounds=0.0, seconds_of_rounds=0.0)
    )

    @property
    def negligible(self) -> Fraction:
        """What rounding may add to a bound, in gains: far more than a grid's own rounding, far less than an error."""
        return Fraction(float(self.problem.node_error.sum())) * Fraction(1, 2**40)

    def leaves(self, part: LargePart) -> bool:
        """Whether a part stays as it is."""
        return self.around is not None and not part.inner.cost <= self.around < part.outer.cost

    def count(self, found: FoundInPart) -> None:
        """Count a part."""
        self.stats["large_parts"] += 1
        self.stats["rounds"] += found.rounds
        self.stats["seconds_of_rounds"] += found.seconds


@dataclass(frozen=True, eq=False)
class LargePart:
    """What lies between two optima, the inner one within the outer one."""

    outer: Optimum
    inner: Optimum

    @property
    def nodes(self) -> NDArray[np.int32]:
        """The splits, ascending."""
        return np.flatnonzero(self.outer.kept & ~self.inner.kept).astype(np.int32)

    @property
    def ratio(self) -> Fraction:
        """Where both are worth the same, in gains for one price."""
        return Fraction(self.outer.gain - self.inner.gain) / Fraction(self.outer.cost - self.inner.cost)

    def cut(self, how: Division) -> tuple[LargePart, LargePart] | Edge:
        """The outer and the inner part beside the optimum where both ends are worth the same; the edge if an end is that optimum.

        Where that lambda does not fit 61 bits, the optimum is one at the nearest lambda below.
        """
        outer, inner, problem, files = self.outer, self.inner, how.problem, how.files
        key = "" if files is None else fingerprint(outer.kept, inner.kept)
        found = None if files is None else files.load_part(key, inner.kept.size)
        if found is None:
            found, middle = self._find(how, key)
            if files is not None:
                files.save_part(key, found)
        else:
            middle = self._end(found.kept) or Optimum.of(problem, found.kept)
            if (inner.kept & ~found.kept).any() or (found.kept & ~outer.kept).any() or found.bound < middle.worth(found.ratio):
                raise BrokenFileError("checkpoint: what it holds of a part contradicts the part's ends; delete the folder")
        how.count(found)
        is_end = middle is inner or middle is outer
        missed = found.bound - middle.worth(found.ratio)
        if not how.problem.numbers.exact and missed <= how.negligible:  # what rounding may have added to the bound
            missed = Fraction(0)
        if missed or (is_end and found.ratio != self.ratio):
            how.stats["parts_with_gap"] += 1
        # Where no optimum was proven, what was found divides the part only if it lies strictly between the ends.
        if is_end or (missed and not (inner.cost < middle.cost < outer.cost and inner.gain < middle.gain < outer.gain)):
            edge = Edge(self.ratio, self.nodes, found.bound - inner.worth(found.ratio))
            how.unsure.extend([edge] if missed or found.ratio != self.ratio else [])
            return edge
        return LargePart(outer, middle), LargePart(middle, inner)

    def _find(self, how: Division, key: str) -> tuple[FoundInPart, Optimum]:
        """What rounds find in the part, from the state in the files if it is this part's."""
        inner, problem, files, started = self.inner, how.problem, how.files, time.perf_counter()
        if files is not None:
            files.check_writable()
        # a run at the ratio of the part, in which all outside of it is fixed
        objective = fitting_objective(problem, self.ratio * problem.numbers.lam_unit).refined()
        rows = LocalRows(objective, how.pool, how.params.sharing)
        bought = inner.unpacked(problem.usage.n_purchases)
        paid = Paid(bought, _value(objective, inner, bought))
        run = Run(
            rows,
            how.ties,
            how.scores[-1] if how.scores else None,
            known=Known(inner.kept, problem.ensemble.is_split & ~self.outer.kept, paid=paid),
        )
        # it goes on from the state in the files, and writes its own there
        save = None
        if files is not None:
            state = files.load_state(key)
            if state is not None:
                run.go_on(state)

            def save() -> None:
                files.save_state(run.state(), key)

        # rounds until they have an answer; without a cut it may not be the optimum that `ties` asks for
        _drive(run, how, paid.base, save)
        how.scores[:] = [Scores(run.scores().score, how.params.sharing.warm_start_iteration)]
        kept = run.best_kept if run.core is not None else self._extreme(how, objective, run.best_kept)
        found = FoundInPart(
            kept=kept,
            bound=run.bound * objective.unit / problem.numbers.gain_unit,
            ratio=objective.lam / problem.numbers.lam_unit,
            rounds=run.rounds_made,
            seconds=time.perf_counter() - started,
        )
        # gain, cost and purchases of what was found: an end's, or counted again, or those that the run has counted
        end = self._end(kept)
        if end is not None:
            return found, end
        if not np.array_equal(kept, run.best_kept) or not problem.numbers.exact:
            return found, Optimum.of(problem, kept)
        keep = run.best_kept[run.remaining.nodes]
        rows.fix(keep, ~keep)
        assert rows.remaining.paid is not None
        gain = int(problem.numbers.gain[run.best_kept].sum())
        return found, Optimum(run.best_kept, gain, objective.cost(gain, rows.base), np.packbits(rows.remaining.paid))

    def _extreme(self, how: Division, objective: IntegerObjective, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """A pruning with all that gains and costs nothing more, as small or large as `ties` says: see `solvers.path.guess`."""
        problem, gain, parent = how.problem, how.problem.numbers.gain, how.problem.ensemble.parent
        allowed = self.outer.kept & ~kept
        rows = LocalRows(objective, how.pool, how.params.sharing)
        rows.open(allowed, problem.usage.paid_by(kept))
        charged = rows.charges(np.zeros(rows.remaining.nodes.size, dtype=np.float32)) > 0
        allowed[rows.remaining.nodes[charged]] = False
        allowed &= problem.numbers.evaluation == 0
        kept, stays = extended(parent, gain, kept, allowed, how.ties), self.inner.kept
        return kept if how.ties == "largest" else extended(parent, gain, stays, kept & ~stays, how.ties)

    def _end(self, kept: NDArray[np.bool_]) -> Optimum | None:
        """The end that keeps these splits."""
        return next((end for end in (self.inner, self.outer) if np.array_equal(end.kept, kept)), None)


def _value(objective: IntegerObjective, optimum: Optimum, bought: NDArray[np.bool_]) -> int:
    """What an optimum is worth in the integers of one lambda, given what it buys."""
    if objective.problem.numbers.exact:
        return objective.value(optimum.gain, optimum.cost)
    return int(objective.profits()[optimum.kept].sum()) - int(objective.prices()[bought].sum())


def _drive(run: Run, how: Division, ends: int, save: Callable[[], None] | None) -> None:
    """Rounds until the optimum; or until an end of the part is likely to be it; or until neither more rounds nor a cut can help.

    `ends`: what an end of the part is worth.
    """
    params, sharing = how.params, how.params.sharing
    negligible = negligible_gain(run.objective)
    while True:
        goal = StopRule(math.inf, 0.0, run.iteration + sharing.rounds_per_check, sharing.small_core)
        stopped, _ = drive(run, goal, save, progress=False)
        how.tick()
        if stopped is StopReason.CONVERGED:
            return
        # An end is likely to be the optimum: the proof of the path decides, unless a cut is quick or has to.
        gap = (run.bound - run.best_value) / max(run.bound, negligible)
        if not how.cuts and gap <= params.likely and run.best_value <= ends and run.rows.cut_arcs > params.quick_cut:
            return
        # After too many rounds, or where no memory is left, cut the part if its cut fits, and give it up otherwise.
        fits = cut_fits_memory(run.rows)
        if stopped is StopReason.MEMORY_LIMIT or run.iteration >= params.most_rounds:
            if fits:
                run.finish()
            return
        if gap <= max(how.gap, sharing.close) and run.rounds_without_progress >= sharing.idle_rounds_when_close and not fits:
            return


def small_parts(how: Division, outer: NDArray[np.bool_], inner: NDArray[np.bool_], largest: int) -> Iterator[SmallPart | Edge]:
    """What lies between two optima, too large for a network: smaller parts, outermost first, and what goes at one lambda.

    Parts that `Division.around` leaves as they are come as edges, at the lambda at which their ends are worth the same.

    `outer`, `inner`: bool, shape (n,): the inner one is free of charge, and within the outer one. `largest`: usage arcs of a
    part, those that are paid already left out.
    """
    problem = how.problem
    first = LargePart(Optimum.of(problem, outer), Optimum.of(problem, inner))
    todo: list[tuple[LargePart, bool]] = [(first, True)]
    while todo:
        part, is_large = todo.pop()
        if how.leaves(part):
            yield Edge(part.ratio, part.nodes)
            continue
        nodes, paid = part.nodes, part.inner.unpacked(problem.usage.n_purchases)
        found = None if is_large else small_subproblem(problem, nodes, paid, largest)
        if found is not None:
            yield SmallPart(found, paid)
            del found  # before the next one is made
            continue
        divided = part.cut(how)
        if isinstance(divided, Edge):
            yield divided
        else:
            todo += [(half, False) for half in reversed(divided)]
