"""A heuristic inside a hull edge: narrow brackets under other prices from many starts, then ruin and recreate the best pruning.

LP1's relaxation mixes the two ends of an edge, and at the edge's own price ratio perhaps no pruning lies between them. So

    begin      with the better of LP1's rounded optimum and the cheaper end filled greedily
    narrow     from a bracket, descend under several draws of other prices; continue with the most promising end (1)
    ruin       remove a part of the best pruning, also by a descent                                                (2)
    recreate   narrow what is open then, up to the edge's more expensive end                                       (3)

The promise of a bracket is the gain of the mixture of its ends that costs the budget, less a deduction for its width, because a
wide bracket keeps less of its promise. An edge that is too large for a cut is filled item by item instead:

    K(F)  =  the best closure in the edge of the splits that charge items of F alone, at lambda = 0                (3)

K grows with F, and so does its cost. F grows by the item whose price brings most gain, until K(F) exceeds the budget. The last
item is then left to the first trees alone, as many as fit. That takes some passes over the trees and the usage, and no array over
the usage arcs. Nothing is proven here; the bound is the relaxation's.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.nested_rows import row_sums
from formulations.answers.pruning import Pruning, total_cost
from formulations.answers.pruning_path import PruningPath
from formulations.answers.solution import StopReason
from formulations.arguments import Natural, NotNegative, Seconds, Seed, checked
from formulations.errors import CapacityOverflowError, InterruptedSolveError
from formulations.instance.cost_items import Price
from formulations.instance.limit import limit_of_mean_cost
from formulations.instance.problem import Core, PruningProblem
from formulations.memory import too_large
from solvers.automatic import CUT_TIME_MARGIN, predicted_seconds
from solvers.budgets.by_path import gain_of, gap_of, path_of, relaxed_optimum, row_within, solution
from solvers.budgets.descent import Bracket, OtherPrices, descend
from solvers.budgets.effort import Effort
from solvers.budgets.exact.core import KnapsackCore, Scale, filled
from solvers.budgets.rounding import solve_lp1
from solvers.closures.cut import cut_seconds
from solvers.closures.subproblem import OpenPart, open_part
from solvers.closures.tree_pass import best_tree_closures

WIDTH = 0.1
"""The deduction from the promise of a bracket as wide as the edge, as a share of the relaxation's gain."""

DRAWS_PER_BRACKET = 2
"""Draws of other prices in each bracket; the search continues with the best of their ends."""

MOST_FAILED_ROUNDS = 8
"""A bracket is given up after this many rounds of draws that do not divide it."""

FIRST_STARTS = 2
"""The search starts this many times from the whole edge before the first ruin; afterwards one start in FIRST_STARTS + 1 does."""

SMALL_EDGE = 1.0
"""Seconds of a cut by formula up to which an edge is made in any case; a larger one only where a cut of it fits the limit."""

PART_BYTES = 60
"""Bytes that an edge takes for each of its usage arcs while it is made and merged."""

LEAST_OPEN = 64
"""The least number of open splits; if the edge has fewer, neighbouring rows of the path are opened too."""


@dataclass(eq=False)
class _BracketSearch:
    """The search for one edge and one budget; gains and costs are counted from the edge's cheaper end, in integers."""

    problem: PruningProblem
    cheaper: NDArray[np.bool_]  # the best breakpoint within the budget, over the groups of the reduction
    # floor, ceiling: prunings within and around it: only splits between them are removed or added.
    floor: NDArray[np.bool_]
    ceiling: NDArray[np.bool_]
    scale: Scale | None  # of the integers; None: they are the instance's own
    room: int  # the budget less the cost of the cheaper end
    goal: float  # the relaxation's gain, at which the search stops
    seed: int
    effort: Effort  # what may be spent

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.prices = OtherPrices(self.problem, self.seed)
        above = self.between(self.ceiling, self.cheaper)
        self.first_bracket = Bracket(self.cheaper, 0, self.room, above)
        self.width = above.total_cost
        below = self.between(self.cheaper, self.floor)
        self.floor_gain, self.floor_room = -below.total_gain, self.room + below.total_cost
        self.best_gain, self.best = 0, self.cheaper
        self.descents = 0

    def between(self, outer: NDArray[np.bool_], inner: NDArray[np.bool_]) -> OpenPart:
        """The part between two nested prunings of groups, in the search's integers."""
        core = self.problem.reduced("smallest").core
        part = open_part(core, outer, inner)
        return part if self.scale is None else self.scale.part(part, core.gain_lost[part.nodes])

    @property
    def over(self) -> bool:
        """Whether the effort is spent or the best pruning is as good as the relaxation."""
        return self.effort.is_over or self.best_gain >= self.goal

    def offer(self, gain: int, kept: NDArray[np.bool_]) -> None:
        """Take note of a pruning within the budget."""
        if gain > self.best_gain:
            self.best_gain, self.best = gain, kept

    def offer_filled(self, bracket: Bracket) -> None:
        """Take note of a bracket's splits, and of the open ones that greedily fit the room that they leave."""
        part = bracket.part
        keep = filled(KnapsackCore.of(part, gained=0, room=bracket.room))
        kept = bracket.kept.copy()
        kept[part.nodes[keep]] = True
        self.offer(bracket.gain + int(part.gain[keep].sum()), kept)

    def run(self, rounds: int) -> int:
        """Make at most so many starts and ruins; returns their number."""
        for k in range(rounds):
            if self.over or not self.effort.allows(self.first_bracket.part.tail.size, self.first_bracket.part.nodes.size):
                return k
            self.narrow(self.first_bracket if k < FIRST_STARTS or k % (FIRST_STARTS + 1) == FIRST_STARTS else self.ruined())
        return rounds

    def narrow(self, bracket: Bracket) -> None:
        """Narrow a bracket by (1)."""
        failed = 0
        while bracket.part.nodes.size and failed < MOST_FAILED_ROUNDS and not self.over:
            ends = [end for end in self._draws(bracket) if end.part.nodes.size < bracket.part.nodes.size]
            if not ends:
                failed += 1
                continue
            failed, bracket = 0, max(ends, key=self._worth)
            if bracket.promise <= self.best_gain:
                return

    def _draws(self, bracket: Bracket) -> list[Bracket]:
        ends = []
        for _ in range(DRAWS_PER_BRACKET):
            if self.over or not self.effort.allows(bracket.part.tail.size, bracket.part.nodes.size):
                break
            work = self.effort.work - self.effort.spent
            self.effort.count_cut(bracket.part)
            end = descend(bracket, self.prices.draw(bracket.part), work)
            self.descents += 1
            self.offer_filled(end)
            ends.append(end)
        return ends

    def _worth(self, bracket: Bracket) -> float:
        return float(bracket.promise - WIDTH * self.goal * bracket.part.total_cost / max(1, self.width))

    def ruined(self) -> Bracket:
        """(2): the bracket of what is left of the best pruning, with all other splits up to the ceiling open."""
        removable = self.between(self.best, self.floor)
        allowed_cost = int(self.random.uniform(0.5, 0.9) * removable.total_cost)
        self.effort.count_cut(removable)
        ruin = descend(Bracket(self.floor, self.floor_gain, allowed_cost, removable), self.prices.draw(removable))
        reopened = self.between(self.ceiling, ruin.kept)
        return Bracket(ruin.kept, ruin.gain, self.floor_room - (allowed_cost - ruin.room), reopened)


@checked
def best_within(
    problem: PruningProblem,
    budget: Price,
    *,
    time_limit: Seconds = math.inf,
    work: NotNegative = 30.0,
    rounds: Natural = 60,
    seed: Seed = 0,
    path: PruningPath | None = None,
) -> BudgetSolution:
    """A good pruning within the budget: the path's best breakpoint, improved inside the hull edge.

    Parameters
    ----------
    budget
        B >= 0: the largest cost of an average example, in the unit of the prices.
    time_limit
        seconds for the search, not counting the path; 0 gives the best breakpoint.
    work
        the most seconds of cuts by formula, see `solvers.budgets.effort`: a limit that does not depend on the clock.
    rounds
        largest number of starts and ruins.
    seed
        of the drawn prices. The same seed gives the same answer, unless the time limit ends the search.
    path
        `pruning_path(problem)`, if it is known already.

    Returns
    -------
    BudgetSolution
        its error is at most that of the best breakpoint and, where time allows a cut of the edge, of `solve_lp1`'s
        pruning; its bound is the relaxation's.

    Raises
    ------
    InvalidInputError
        for a budget that is negative or not a number.
    InterruptedSolveError
        on Ctrl-C.
    """
    started = time.perf_counter()
    limit = limit_of_mean_cost(problem, budget)
    path = path_of(problem, path)
    relaxation, hidden = relaxed_optimum(path, limit), gap_of(path)
    row, groups, core = row_within(path, limit), problem.reduced("smallest").groups, problem.reduced("smallest").core
    pruning, stopped = path[row], StopReason.CONVERGED
    stats = {"descents": 0.0, "rounds": 0.0, "work": 0.0}
    if row > 0 and not relaxation.is_integral and min(time_limit, work) > 0:
        outer, inner = groups.of_pruning(path[row - 1].kept), groups.of_pruning(pruning.kept)
        open_splits = outer & ~inner
        n_arcs = int(core.usage.arcs_per_node[open_splits].sum())
        seconds = cut_seconds(n_arcs, int(open_splits.sum()))
        if seconds > max(SMALL_EDGE, min(time_limit, work)) or too_large(PART_BYTES * n_arcs):
            found = Pruning(problem, groups.kept(kept_by_items(core, outer, inner, limit)))
            found = found if found.exact_cost <= limit else pruning
            stats["seconds"] = time.perf_counter() - started
            return solution(problem, limit, found, relaxation, stats, stopped=StopReason.ITERATION_LIMIT, hidden=hidden)
        search = _search(path, row, limit, seed, Effort(work, started + time_limit))
        try:
            search.offer_filled(search.first_bracket)
            _offer_rounded(search, path, limit, min(time_limit, work))
            stats["rounds"] = float(search.run(rounds))
        except CapacityOverflowError:
            stopped = StopReason.ITERATION_LIMIT
        except KeyboardInterrupt as stop:
            raise InterruptedSolveError("interrupted while looking inside the hull edge; nothing was changed") from stop
        stats |= {"descents": float(search.descents), "work": search.effort.spent}
        found = Pruning(problem, groups.kept(search.best))
        if problem.numbers.exact or (found.exact_cost <= limit and gain_of(found) > gain_of(pruning)):
            pruning = found
        if search.best_gain < search.goal:
            stopped = StopReason.ITERATION_LIMIT
            if search.effort.is_over:
                stopped = search.effort.reason
    stats["seconds"] = time.perf_counter() - started
    return solution(problem, limit, pruning, relaxation, stats, stopped=stopped, hidden=hidden)


def _offer_rounded(search: _BracketSearch, path: PruningPath, budget: Fraction, limit: float) -> None:
    """Offer LP1's rounded optimum, unless its cut may take most of the limit."""
    part = search.first_bracket.part
    seconds, _ = predicted_seconds(part.tail.size, part.nodes.size)
    if CUT_TIME_MARGIN * seconds > limit:
        return
    pruning = solve_lp1(path.problem, budget, path=path).pruning
    if pruning.exact_cost <= budget:
        more = pruning.integer_gain - path[row_within(path, budget)].integer_gain
        if search.scale is not None:
            more = int(more * path.problem.exact_numbers.gain_unit // search.scale.gain_unit)
        search.offer(more, path.problem.reduced("smallest").groups.of_pruning(pruning.kept))


def _search(path: PruningPath, row: int, budget: Fraction, seed: int, effort: Effort) -> _BracketSearch:
    """The search in the edge above a row; an edge with few splits is widened on both sides."""
    problem = path.problem
    reduced, numbers, exact = problem.reduced("smallest"), problem.numbers, problem.exact_numbers
    groups, cheaper = reduced.groups, path[row]
    size = row_sums(len(path), path.rows_kept[groups.payer[groups.is_group]], np.ones(int(groups.is_group.sum()), dtype=np.int64))
    up = next((k for k in range(row - 1, -1, -1) if size[k] - size[row] >= LEAST_OPEN), 0)
    down = next((k for k in range(row, len(path)) if size[row] - size[k] >= LEAST_OPEN), len(path) - 1)
    floor, inner, ceiling = (groups.of_pruning(path[k].kept) for k in (down, row, up))
    scale = None if numbers.exact else Scale.of(open_part(reduced.core, ceiling, floor))
    gain_unit, price_unit = (exact if scale is None else scale).gain_unit, (exact if scale is None else scale).price_unit
    room_left = int((budget - cheaper.exact_cost) // price_unit)
    share = min(Fraction(1), (budget - cheaper.exact_cost) / (path.exact_cost[row - 1] - path.exact_cost[row]))
    if numbers.exact:  # of the budget only whole units can be spent
        share = min(Fraction(1), Fraction(room_left, path.integer_cost[row - 1] - path.integer_cost[row]))
    goal = math.floor(share * (path.exact_error[row] - path.exact_error[row - 1]) / gain_unit)
    return _BracketSearch(problem, inner, floor, ceiling, scale, room_left, goal, seed, effort)


def kept_by_items(core: Core, outer: NDArray[np.bool_], inner: NDArray[np.bool_], budget: Fraction) -> NDArray[np.bool_]:
    """A pruning between two nested ones within a budget, as the inner one is; bool, shape (n,)."""
    usage, numbers, ensemble = core.usage, core.numbers, core.ensemble
    most = budget / numbers.price_unit
    charged = np.repeat(np.arange(ensemble.n_nodes), np.diff(usage.charges.start))
    asks = (usage.arcs_per_node[charged] > 0) & outer[charged] & ~inner[charged]
    split, item = charged[asks], usage.charges.item[asks]
    missing = np.bincount(split, minlength=ensemble.n_nodes)

    def of_item(m: int) -> NDArray[np.int64]:
        """Whether each split charges an item."""
        return np.bincount(split[item == m], minlength=ensemble.n_nodes)

    def between(missing: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(3)."""
        return inner | best_tree_closures(ensemble.parent, numbers.gain, inner | (outer & (missing == 0)))[0]

    def fits(kept: NDArray[np.bool_]) -> bool:
        return bool(total_cost(usage, numbers, kept) <= most)

    found, left = inner, np.unique(item).tolist()
    while left:
        gain = {m: numbers.gain[between(missing - of_item(m))].sum().item() for m in left}
        before = numbers.gain[found].sum().item()
        best = max(left, key=lambda m: (gain[m] - before) / numbers.price[m].item())
        missing = missing - of_item(best)
        kept = between(missing)
        if not fits(kept):
            return _in_first_trees(found, kept, ensemble.tree_of, fits)
        found = kept
        left.remove(best)
    return found


def _in_first_trees(
    found: NDArray[np.bool_], kept: NDArray[np.bool_], tree_of: NDArray[np.int32], fits: Callable[[NDArray[np.bool_]], bool]
) -> NDArray[np.bool_]:
    """The larger of two nested prunings in as many trees as fit, the first ones, and the smaller one in the others."""
    low, high = 0, int(tree_of[-1]) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(np.where(tree_of < middle, kept, found)) else (low, middle)
    return np.where(tree_of < low, kept, found)
