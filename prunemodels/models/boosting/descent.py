"""Pruning a boosted ensemble for one lambda: minimise the majoriser, move there, repeat.

    minimise  loss(pruning) + lam * cost(pruning),                                                                    (1)

where loss is the mean loss of the ensemble's prediction, not of its trees'. One step solves, exactly, the pruning problem whose
error is the majoriser around the current pruning: a sum over the trees that lies above the loss and touches it there. So (1)
never rises. The majoriser is a pessimistic bound where trees' changes cancel, so each step first tries it with a share of the
curvature and takes a candidate only if (1) itself falls; the share grows up to 1. If not even 1 makes (1) fall, the current
pruning is optimal for its own majoriser: it is stationary. (If it is optimal for a smaller share, then also for 1: more curvature
only raises the value of the others.) That is what is proven; there may be better prunings.

Around a current pruning with margins F, let d_t(i) be what another pruning changes in tree t's output for row i, g_i the slope of
the row's loss and h the bound of its curvature (`losses`). With a_t(i) the largest |d_t(i)| that any pruning can bring about, A_i
their sum over the trees of the same output, Cauchy-Schwarz gives (sum_t d_t)^2 <= A_i sum_t d_t^2 / a_t, so, output by output,

    loss_i(F + sum_t d_t)  <=  loss_i(F) + sum_t [ g_i d_t + (c / 2) d_t^2 ],      c = h A_i / a_t(i),                (2)

with equality at the current pruning, d = 0. (With the number of trees in place of A_i / a_t it is the textbook bound.) Completing
the square, g d + (c / 2) d^2 = (c / 2) (d + g / c)^2 - g^2 / 2c. The last term does not depend on the pruning, and each row ends
in one leaf of each tree, so (2), averaged over the rows with weights w_i, is a constant plus the mean over all rows of

    e_u = sum over the rows i that reach u of  w_i (c / 2) (v_u - r_ti)^2,         r_ti = v_now(t, i) - g_i / c:        (3)

summed over the leaves u: weighted squared residuals, as in a regression forest, where each row has its own target in each tree. A
share below 1 multiplies h: then steps are longer, but (2) need not hold.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.solution import Solver
from formulations.compiled import njit
from formulations.errors import SolverFailedError
from formulations.instance.node_errors import ErrorComponent, NodeErrors
from formulations.instance.problem import PruningProblem
from formulations.instance.usage import Usage
from prunemodels.models.libraries.model_forest import ModelForest
from prunemodels.models.losses import SampleLoss
from prunemodels.models.trees import pruned_ends


@dataclass(frozen=True)
class BoostedParams:
    """What a search tries, and how long it goes on."""

    # descents
    smallest_share: float = 1 / 64  # of the curvature: what a descent tries first
    share_growth: float = 4.0  # the factor by which the share grows after a failure, up to 1
    noticeable_fall: float = 1e-12  # a fall counts if it is at least this share of the objective: less is rounding

    # seeds
    most_steps: int = 300  # of an elimination, about: with more items, each step removes several, the best ones
    eliminated_prefixes: int = 8  # from how many prefixes of the rounds, all rounds among them, items are eliminated

    # lambdas
    lambda_range: float = 100.0  # largest over smallest positive lambda of the default grid
    grid_size: int = 12  # lambdas in the grid for one lambda or a budget
    swept_prefixes: int = 4  # how many prefixes of the rounds, all rounds among them, are swept
    passes: int = 3  # descents for each lambda from the pool's best, which other lambdas may improve; none where it is stationary

    # budgets
    bisections: int = 8  # of lambda, after the grid
    part_passes: int = 2  # of descents inside parts around the best pruning within the budget
    part_bisections: int = 4  # of lambda, in each part


DEFAULTS = BoostedParams()


@dataclass(frozen=True, eq=False)
class OnRows:
    """A model's trees, what their predictions of some rows cost, and the loss of these rows."""

    forest: ModelForest
    usage: Usage
    loss: SampleLoss


@dataclass(frozen=True, eq=False)
class State:
    """A pruning, shape (n,), its margins on the rows, shape (N, outputs), and their mean loss with the weights of the rows."""

    kept: NDArray[np.bool_]
    margins: NDArray[np.float64]
    loss: float


def state_of(model: OnRows, kept: NDArray[np.bool_]) -> State:
    """Margins and loss of a pruning, in float64."""
    ensemble = model.forest.ensemble
    margins = np.tile(model.forest.base, (model.usage.n_rows, 1))
    add_leaves(model, ensemble.value[pruned_ends(ensemble, kept), 0], margins)
    return State(kept, margins, mean_loss(model, margins))


def mean_loss(model: OnRows, margins: NDArray[np.float64]) -> float:
    """The mean loss of the rows, with their weights, at these margins, shape (N, outputs)."""
    return float(np.average(model.loss.values(margins), weights=model.usage.weights))


def add_leaves(model: OnRows, amount: NDArray[np.float64], into: NDArray[np.float64], trees: range | None = None) -> None:
    """Add each leaf's amount, shape (n,), to the outputs of the rows that reach it, shape (N, outputs); of all trees, or some."""
    e = model.forest.ensemble
    first, last = (0, e.n_nodes) if trees is None else (int(e.tree_start[trees.start]), int(e.tree_start[trees.stop]))
    _add_leaves(first, last, e.left, model.forest.output, model.usage.reached, amount, into)


def majorise(model: OnRows, now: State, share: float = 1.0) -> tuple[PruningProblem, float]:
    """Set up (2) around a pruning, over all prunings of the original trees: pruned splits may come back.

    The problem has the errors (3) and unchanged prices; its error plus the second answer, the loss at the current pruning less
    the sum of w g^2 / 2c, is (2), the mean over the rows. With a share of 1 of the curvature the bound (2) holds.
    """
    ensemble, usage = model.forest.ensemble, model.usage
    value = np.ascontiguousarray(ensemble.value[:, 0])
    present = value[pruned_ends(ensemble, now.kept)]
    e, reach, together = np.zeros(ensemble.n_nodes), np.zeros(ensemble.n_nodes), np.zeros_like(now.margins)
    _farthest(ensemble.left, ensemble.parent, value, present, reach)
    add_leaves(model, reach, together)
    dropped = _add_errors(
        *(ensemble.left, ensemble.parent, model.forest.output, usage.reached),
        *(value, present, reach, together, model.loss.slopes(now.margins), usage.weights),
        share * model.loss.curvature,
        e,
    )
    total = float(usage.weights.sum())
    component = ErrorComponent(ensemble.n_trees * e, np.full(ensemble.n_trees, total), source="majorised loss")
    return PruningProblem.of(usage, NodeErrors((component,))), now.loss - dropped / total


@njit(cache=True)
def _farthest(left, parent, value, present, reach):  # type: ignore[no-untyped-def]
    """The a_t of the rows of each leaf: the largest change that any pruning can bring to its tree's output."""
    for leaf in range(left.shape[0]):
        if left[leaf] >= 0:
            continue
        u = leaf
        while u >= 0:
            reach[leaf] = max(reach[leaf], abs(value[u] - present[leaf]))
            u = parent[u]


@njit(cache=True)
def _add_leaves(first, last, left, output, reached, amount, into):  # type: ignore[no-untyped-def]
    tree_of, order, start, stop = reached
    for h in range(first, last):
        if left[h] < 0:
            t = tree_of[h]
            for k in range(start[h], stop[h]):
                into[order[t, k], output[t]] += amount[h]


@njit(cache=True)
def _add_errors(  # type: ignore[no-untyped-def]
    left, parent, output, reached, value, present, reach, together, slope, weight, curvature, e
):
    """(3), added to e; returns the sum of w g^2 / 2c."""
    tree_of, order, start, stop = reached
    dropped = 0.0
    for h in range(left.shape[0]):
        if left[h] >= 0 or reach[h] == 0.0:  # no pruning of its tree changes the rows of a leaf without reach
            continue
        t = tree_of[h]
        o = output[t]
        for k in range(start[h], stop[h]):
            i = order[t, k]
            c = curvature * together[i, o] / reach[h]
            target = present[h] - slope[i, o] / c
            dropped += weight[i] * slope[i, o] ** 2 / (2.0 * c)
            u = h
            while u >= 0:
                e[u] += weight[i] * c / 2.0 * (value[u] - target) ** 2
                u = parent[u]
    return dropped


@dataclass(frozen=True, eq=False)
class PricedPruning:
    """A pruning with its loss and its cost."""

    kept: NDArray[np.bool_]
    loss: float
    cost: float
    # how many trees count, from the first on: the others add nothing, not even as single leaves. None: all.
    trees: int | None = None

    def value(self, lam: float) -> float:
        """The objective (1)."""
        return self.loss + lam * self.cost


@dataclass(frozen=True, eq=False)
class Descent:
    """The start of a descent and every pruning that it accepted; (1) falls from each to the next.

    `stationary` says whether the last one was shown to be optimal for its own majoriser, `solved` how many problems were solved.
    """

    points: tuple[PricedPruning, ...]
    stationary: bool
    solved: int


def descend(
    model: OnRows,
    lam: float,
    start: NDArray[np.bool_],
    *,
    solver: Solver,
    rounds: int,
    deadline: float = math.inf,
    params: BoostedParams = DEFAULTS,
) -> Descent:
    """Lower (1) from the pruning that keeps the splits `start` on, by at most so many steps.

    The deadline, on the clock of ``time.perf_counter``, is checked before each problem is solved.
    """
    state = state_of(model, start)
    points, last_share, solved = [point_of(model, state)], params.smallest_share, 0
    while len(points) <= rounds:
        for share in _shares(last_share, params):
            # a step: the best pruning for the majoriser at this share of the curvature
            if time.perf_counter() > deadline:
                return Descent(tuple(points), False, solved)
            bound, _ = majorise(model, state, share)
            best = _minimiser(solver, bound, lam)
            solved += 1
            current = Pruning(bound, state.kept).value(lam)
            if best.value(lam) >= current - params.noticeable_fall * abs(current):
                return Descent(tuple(points), True, solved)
            # it is taken only if the objective (1) itself falls; else a larger share is tried
            tried = state_of(model, best.kept)
            point, last = point_of(model, tried), points[-1].value(lam)
            if point.value(lam) < last - params.noticeable_fall * abs(last):
                state, last_share = tried, share
                points.append(point)
                break
        else:
            return Descent(tuple(points), True, solved)
    return Descent(tuple(points), False, solved)


def point_of(model: OnRows, state: State) -> PricedPruning:
    """The state's pruning with its cost."""
    return PricedPruning(state.kept, state.loss, model.usage.cost(state.kept))


def _shares(last: float, params: BoostedParams) -> Iterator[float]:
    """The shares of the curvature to try: from one step below the last that was accepted up to 1."""
    share = max(params.smallest_share, last / params.share_growth)
    while share < 1.0:
        yield share
        share *= params.share_growth
    yield 1.0


def _minimiser(solver: Solver, bound: PruningProblem, lam: float) -> Pruning:
    solution = solver(bound, lam)
    if solution.pruning is None:
        raise SolverFailedError(f"the solver ended {solution.stopped} without a pruning; use one that finds the optimum")
    return solution.pruning


class Pool:
    """Points by rising cost and strictly falling loss; of all others `visited` keeps (cost, loss)."""

    def __init__(self) -> None:
        self._cost: list[float] = []
        self._points: list[PricedPruning] = []
        self.visited: list[tuple[float, float]] = []

    @property
    def points(self) -> tuple[PricedPruning, ...]:
        """The points of the pool, by rising cost and falling loss."""
        return tuple(self._points)

    def see(self, cost: float, loss: float) -> bool:
        """Record a visited pruning. Returns whether `add` would keep it: no pruning of the pool is as cheap and as good."""
        self.visited.append((cost, loss))
        k = bisect_right(self._cost, cost)
        return k == 0 or loss < self._points[k - 1].loss

    def add(self, point: PricedPruning) -> None:
        """Add a pruning unless another one beats it, and remove those that it beats."""
        k = bisect_right(self._cost, point.cost)
        if k and self._points[k - 1].loss <= point.loss:
            return
        start = k - 1 if k and self._cost[k - 1] == point.cost else k
        stop = k
        while stop < len(self._points) and self._points[stop].loss >= point.loss:
            stop += 1
        self._points[start:stop] = [point]
        self._cost[start:stop] = [point.cost]

    def best(self, lam: float) -> PricedPruning:
        """The point of least loss + lam * cost, the cheapest of equals."""
        return min(self._points, key=lambda p: (p.value(lam), p.cost))

    def within(self, budget: float) -> PricedPruning:
        """The point of least loss within the budget."""
        k = bisect_right(self._cost, budget)
        return self._points[max(0, k - 1)]

    def above(self, budget: float) -> PricedPruning | None:
        """The cheapest pruning that costs more than the budget."""
        k = bisect_right(self._cost, budget)
        return self._points[k] if k < len(self._points) else None
