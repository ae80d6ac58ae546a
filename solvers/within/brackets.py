"""A heuristic inside a hull edge: narrow brackets under other prices from many starts, then ruin and recreate the best pruning.

A descent goes to a budget by cuts: it divides the open splits by a best closure at given prices, and keeps the side
with the budget.

    lambda  =  gain of the part / its cost at these prices                                                           (1)

At this lambda the part as a whole has value 0, and a best closure with a positive value divides it. If the *true* cost of the
closure fits the budget, the closure is taken and the rest stays open; otherwise only the closure stays open. So the budget always
lies between the cost of the splits taken and their cost together with all open splits. This is a bracket.

At the true prices a cut takes all of a hull edge or nothing of it. At others, drawn by item, by region of the data, or both,

    p'_{m,i}  =  p_{m,i} exp(s_m + t r_i)                                                                            (2)

the edge falls into many pieces, each of which some items or some region of the data make worth keeping. Here s_m is normal, and
r_i in [-1/2, 1/2] is the rank of row i along a random direction in a few features that the part's splits use. Costs are always
counted at the true prices.

LP1's relaxation mixes the two ends of an edge, and at the edge's own price ratio perhaps no pruning lies between them. So

    begin      with the better of LP1's rounded optimum and the cheaper end filled greedily
    narrow     from a bracket, descend under several draws of other prices; continue with the most promising end (3)
    ruin       remove a part of the best pruning, also by a descent                                                (4)
    recreate   narrow what is open then, up to the edge's more expensive end                                       (5)

The promise of a bracket is the gain of the mixture of its ends that costs the budget, less a deduction for its width, because a
wide bracket keeps less of its promise. An edge that is too large for a cut is filled item by item instead
(`edge.kept_by_items`). Nothing is proven here; the bound is the relaxation's.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.limited_solution import LP1Relaxation
from formulations.answers.nested_rows import row_sums
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.answers.solution import StopReason
from formulations.errors import CapacityOverflowError
from formulations.instance.problem import PruningProblem
from formulations.instance.routing import features_of
from formulations.memory import too_large
from solvers.closures.cut import best_closure, cut_seconds
from solvers.closures.subproblem import OpenPart, open_part
from solvers.price_sharing.params import SharingParams
from solvers.within.by_path import relaxed_optimum, rounded, row_within
from solvers.within.core import Effort, KnapsackCore
from solvers.within.edge import filled, kept_by_items
from solvers.within.windows import BestPruning, Scale


@dataclass(frozen=True, eq=False)
class Bracket:
    """A closure that fits the budget, and the splits that may still be added to it."""

    kept: NDArray[np.bool_]  # bool, shape (n,): over the forest's nodes
    # gain, room: in integers: the gain of the kept splits, and what they leave of the budget.
    gain: int
    room: int
    part: OpenPart  # the open splits. With all of them the cost exceeds the budget, unless there are none

    @property
    def promise(self) -> float:
        """The gain of the mixture of the bracket's two ends that costs exactly the budget."""
        cost = self.part.total_cost
        share = 1.0 if cost <= self.room else self.room / cost
        return self.gain + share * float(self.part.total_gain)


def descend(bracket: Bracket, price: NDArray[np.float64], work: float = math.inf) -> Bracket:
    """Narrow a bracket, at the given prices of its part's purchases, until no cut divides it or the work is spent."""
    kept, gain, room, part = bracket.kept.copy(), bracket.gain, bracket.room, bracket.part
    while part.nodes.size:
        if part.total_cost <= room:
            closure = np.ones(part.nodes.size, dtype=bool)
        else:
            work -= cut_seconds(part.tail.size, part.nodes.size)
            divided = None if work < 0 else _divide(part, price)
            if divided is None:
                break
            closure = divided
        used = part.used(closure)
        cost = part.cost_with(closure, used)
        fits = cost <= room
        if fits:
            kept[part.nodes[closure]] = True
            gain, room = gain + int(part.gain[closure].sum()), room - cost
        part, purchases = part.divided(closure, used, inner=not fits)
        price = price[purchases]
    return Bracket(kept, gain, room, part)


def _divide(part: OpenPart, price: NDArray[np.float64]) -> NDArray[np.bool_] | None:
    """A best closure at (1); None if it is empty or the whole part."""
    total = part.total_gain
    cost = float(price.sum()) + float(part.evaluation.sum())
    if total <= 0 or cost <= 0:
        return None
    # gains are scaled so that their absolute values sum to 2^44; drawn prices need no exact integers
    scale, lam = 2.0**44 / max(1.0, float(np.abs(part.gain).sum())), total / cost
    profit = np.round(scale * (part.gain - lam * part.evaluation)).astype(np.int64)
    paid = np.maximum(1, np.round(scale * lam * price)).astype(np.int64)
    closure = best_closure(part.closure_problem(profit, paid))
    # a value this small may be the effect of rounding alone
    if closure.value <= part.nodes.size + paid.size or closure.keep.all():
        return None
    return closure.keep


class OtherPrices:
    """Draws prices (2) for one instance.

    `strengths`: the values of t. The standard deviation of s_m is 0.5 t if items alone are drawn, 0.3 t if regions are drawn too.
    """

    def __init__(self, problem: PruningProblem, strengths: tuple[float, ...], seed: int) -> None:
        self.strengths = strengths
        self.problem, self.core = problem, problem.reduced("smallest").core
        self.random = np.random.default_rng(seed)
        self._price = problem.purchase_price()
        self._rows = features_of(problem.ensemble, problem.X)[problem.usage.rows]
        self._ranks: dict[int, NDArray[np.float64]] = {}

    def draw(self, part: OpenPart) -> NDArray[np.float64]:
        """Other prices of a part's purchases, float64, shape (j,)."""
        strength = float(self.random.choice(self.strengths))
        kind = int(self.random.integers(3))
        n, m = self.problem.usage.n_rows, self.problem.costs.n_items
        once = part.members >= m * n
        item = np.where(once, part.members - m * n, part.members // n)
        log = np.zeros(part.members.size)
        if kind != 1:
            spread = strength * (0.5 if kind == 0 else 0.3)
            log += self.random.normal(scale=spread, size=m)[item]
        if kind != 0:
            log += np.where(once, 0.0, strength * self._region(part)[part.members % n])
        price = self._price[part.members] * np.exp(log)
        total: NDArray[np.float64] = np.bincount(part.group, weights=price, minlength=part.price.size).astype(np.float64)
        return total

    def _region(self, part: OpenPart) -> NDArray[np.float64]:
        """r_i: ranks along a random direction; a feature's chance is in proportion to its usage arcs in the part."""
        feature = self.core.ensemble.feature[part.nodes[part.tail]]
        asked = np.bincount(feature, minlength=self.problem.ensemble.n_features).astype(np.float64)
        if not asked.any():
            return np.zeros(self.problem.usage.n_rows)
        count = min(int(self.random.integers(1, 4)), int((asked > 0).sum()))
        chosen = self.random.choice(asked.size, count, replace=False, p=asked / asked.sum())
        return _ranked(sum((self.random.normal() * self._rank(int(f)) for f in chosen), np.zeros(self.problem.usage.n_rows)))

    def _rank(self, feature: int) -> NDArray[np.float64]:
        if feature not in self._ranks:
            self._ranks[feature] = _ranked(self._rows[:, feature])
        return self._ranks[feature]


def _ranked(x: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Ranks from -1/2 to 1/2; equal values have the same rank, missing values the highest."""
    _, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts + 1) / 2
    ranks: NDArray[np.float64] = middle[place] / max(1, x.size - 1) - 0.5
    return ranks


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
    effort: Effort  # what may be spent

    def __post_init__(self) -> None:
        self.params = self.effort.params
        self.random = np.random.default_rng(self.params.seed)
        self.prices = OtherPrices(self.problem, self.params.price_strengths, self.params.seed)
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
        keep = filled(KnapsackCore(**part.arrays(), gained=0, room=bracket.room), self.params.filling_rounds)
        kept = bracket.kept.copy()
        kept[part.nodes[keep]] = True
        self.offer(bracket.gain + int(part.gain[keep].sum()), kept)

    def run(self) -> None:
        """Start from the whole edge, or from what a ruin leaves, until the effort is spent."""
        starts = self.params.first_starts
        for k in range(self.params.edge_starts):
            if self.over or not self.effort.allows(self.first_bracket.part):
                return
            self.narrow(self.first_bracket if k < starts or k % (starts + 1) == starts else self.ruined())

    def narrow(self, bracket: Bracket) -> None:
        """Narrow a bracket by (3)."""
        failed = 0
        while bracket.part.nodes.size and failed < self.params.most_failed_rounds and not self.over:
            ends = [end for end in self._draws(bracket) if end.part.nodes.size < bracket.part.nodes.size]
            if not ends:
                failed += 1
                continue
            failed, bracket = 0, max(ends, key=self._worth)
            if bracket.promise <= self.best_gain:
                return

    def _draws(self, bracket: Bracket) -> list[Bracket]:
        ends = []
        for _ in range(self.params.draws):
            if self.over or not self.effort.allows(bracket.part):
                break
            work = self.effort.work - self.effort.spent
            self.effort.count_cut(bracket.part)
            end = descend(bracket, self.prices.draw(bracket.part), work)
            self.descents += 1
            self.offer_filled(end)
            ends.append(end)
        return ends

    def _worth(self, bracket: Bracket) -> float:
        return float(bracket.promise - self.params.width_weight * self.goal * bracket.part.total_cost / max(1, self.width))

    def ruined(self) -> Bracket:
        """(4): the bracket of what is left of the best pruning, with all other splits up to the ceiling open."""
        removable = self.between(self.best, self.floor)
        allowed_cost = int(self.random.uniform(0.5, 0.9) * removable.total_cost)
        self.effort.count_cut(removable)
        ruin = descend(Bracket(self.floor, self.floor_gain, allowed_cost, removable), self.prices.draw(removable))
        reopened = self.between(self.ceiling, ruin.kept)
        return Bracket(ruin.kept, ruin.gain, self.floor_room - (allowed_cost - ruin.room), reopened)


def improve(path: PruningPath, best: BestPruning, relaxation: LP1Relaxation, effort: Effort, share: float) -> StopReason:
    """Look inside the hull edge around the budget for a better pruning; returns why that ended.

    `share`: of the work and the seconds that the effort allows; what is left after it is for others.
    """
    params = effort.params
    budget, problem = best.rows.rows[0].at_most, path.problem
    row, reduced = row_within(path, budget), problem.reduced("smallest")
    groups, core = reduced.groups, reduced.core
    # the share of what is left
    now = time.perf_counter()
    most, seconds = effort.work - effort.spent, effort.deadline - now
    if share < 1:
        most, seconds = (
            min(share * effort.work, most, params.edge_work),
            min(share * seconds, params.edge_work) if seconds < math.inf else seconds,
        )
    if row == 0 or relaxation.is_integral or min(most, seconds) <= 0:
        return StopReason.CONVERGED if min(most, seconds) > 0 else effort.reason
    # the edge: what is open between its two prunings; if that is too large, items are taken greedily
    outer, inner = groups.of_pruning(path[row - 1].kept), groups.of_pruning(path[row].kept)
    open_splits = outer & ~inner
    n_arcs = int(core.usage.arcs_per_node[open_splits].sum())
    if cut_seconds(n_arcs, int(open_splits.sum())) > max(params.small_edge, min(seconds, most)) or too_large(
        params.edge_bytes * n_arcs
    ):
        best.offer_pruning(Pruning(problem, groups.kept(kept_by_items(core, outer, inner, budget))))
        return StopReason.ITERATION_LIMIT
    # search the edge, and keep the best pruning whatever stops it
    mine = Effort(most, now + seconds, params=params)
    search = _search(path, row, budget, mine)
    stopped = StopReason.CONVERGED
    try:
        search.offer_filled(search.first_bracket)
        _offer_rounded(search, path, budget, min(seconds, most))
        search.run()
    except CapacityOverflowError:
        stopped = StopReason.ITERATION_LIMIT
    finally:
        effort.spent += mine.spent
        best.offer_pruning(Pruning(problem, groups.kept(search.best)))
    if search.best_gain < search.goal:
        stopped = mine.reason if mine.is_over else StopReason.ITERATION_LIMIT
    return stopped


def _offer_rounded(search: _BracketSearch, path: PruningPath, budget: Fraction, limit: float) -> None:
    """Offer LP1's rounded optimum, unless its cut may take most of the limit."""
    part = search.first_bracket.part
    seconds = cut_seconds(part.tail.size, part.nodes.size)
    if SharingParams.cut_time_margin * seconds > limit:
        return
    pruning = rounded(relaxed_optimum(path, budget)).pruning
    if pruning.exact_cost <= budget:
        more = pruning.integer_gain - path[row_within(path, budget)].integer_gain
        if search.scale is not None:
            more = int(more * path.problem.exact_numbers.gain_unit // search.scale.gain_unit)
        search.offer(more, path.problem.reduced("smallest").groups.of_pruning(pruning.kept))


def _search(path: PruningPath, row: int, budget: Fraction, effort: Effort) -> _BracketSearch:
    """The search in the edge above a row; an edge with few splits is widened on both sides."""
    problem = path.problem
    reduced, numbers, exact = problem.reduced("smallest"), problem.numbers, problem.exact_numbers
    groups, cheaper = reduced.groups, path[row]
    size = row_sums(len(path), path.rows_kept[groups.payer[groups.is_group]], np.ones(int(groups.is_group.sum()), dtype=np.int64))
    least = effort.params.least_open
    up = next((k for k in range(row - 1, -1, -1) if size[k] - size[row] >= least), 0)
    down = next((k for k in range(row, len(path)) if size[row] - size[k] >= least), len(path) - 1)
    floor, inner, ceiling = (groups.of_pruning(path[k].kept) for k in (down, row, up))
    scale = None if numbers.exact else Scale.of(open_part(reduced.core, ceiling, floor))
    gain_unit, price_unit = (exact if scale is None else scale).gain_unit, (exact if scale is None else scale).price_unit
    room_left = int((budget - cheaper.exact_cost) // price_unit)
    share = min(Fraction(1), (budget - cheaper.exact_cost) / (path.exact_cost[row - 1] - path.exact_cost[row]))
    if numbers.exact:  # of the budget only whole units can be spent
        share = min(Fraction(1), Fraction(room_left, path.integer_cost[row - 1] - path.integer_cost[row]))
    goal = math.floor(share * (path.exact_error[row] - path.exact_error[row - 1]) / gain_unit)
    return _BracketSearch(problem, inner, floor, ceiling, scale, room_left, goal, effort)
