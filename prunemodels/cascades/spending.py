"""The policy that spends a budget, by doubts and by optima that were learned.

A policy that spends a budget lies between two optima, or between two stages, and sends the rows of largest doubt on first.
Neighbouring optima P within Q of the closure differ in whole cells (stage, level), and nothing optimal lies between them. Let R_s
be P, with the decisions of Q at the stages before s: a policy, too. From R_s, the rows that stop at stage s and that Q sends on
follow Q from there, those of largest doubt first, until the budget is spent. So every stage s gives one list of rows from R_s to
Q, and the list of least loss is taken:

    policy(s, theta)  =  R_s, and Q for rows that R_s stops at s with a doubt of at least theta                            (1)
    theta             =  the least one whose mean cost is at most the budget                                               (2)

The same lists exist between "all rows stop at stage s" and "all rows go on to stage t" in the place of P and Q. Each such pair
has one number to learn, so few rows suffice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prunemodels.cascades.learning import ExitSample, LearnedExits
from prunemodels.stages.params import PARAMS
from prunemodels.stages.policy import Cut, ExitPolicy, between, ends_of, levels, stages_reached

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def between_optima(learned: LearnedExits, sample: ExitSample, budget: float) -> ExitPolicy:
    """The policy that spends a budget between two neighbouring optima of a path."""
    own, low, high = sample.own_rows, 0, len(learned.path) - 1  # row `high` is the cheapest
    if _keeps(own, learned.policy(low), budget):
        return learned.policy(low)
    while high - low > 1:
        middle = (low + high) // 2
        if _keeps(own, learned.policy(middle), budget):
            high = middle
        else:
            low = middle
    less, more = learned.policy(high).go, learned.policy(low).go
    starts = ((s, np.concatenate([more[:s], less[s:]])) for s in range(len(less)))
    return _best(learned, sample, budget, less, ((s, go, more) for s, go in starts))


def _keeps(own: ExitSample, policy: ExitPolicy, budget: float) -> bool:
    return own.mean_cost(policy) <= _limit(budget)


def at_first_stage(learned: LearnedExits, sample: ExitSample, budget: float) -> ExitPolicy:
    """The policy of a budget that the first stage uses up: no row goes on."""
    return learned.with_go(_up_to(learned, 0))


def between_stages(learned: LearnedExits, sample: ExitSample, budget: float) -> ExitPolicy:
    """The policy that spends a budget between two stages: all rows come to the first, and those in doubt go on to the second."""
    return _best(learned, sample, budget, _up_to(learned, 0), _pairs_of_stages(learned))


def next_useful(learned: LearnedExits, sample: ExitSample, budget: float, loss: float) -> float:
    """The least cost above a budget at which a policy of `between_stages` has less judged loss than `loss`; inf if none has."""
    found = [np.inf]
    for way in _lists(learned, sample, _pairs_of_stages(learned)):
        found += way.cost[(way.cost > _limit(budget)) & (way.loss < loss * (1 - PARAMS.rounding))].tolist()[:1]
    return min(found)


def _pairs_of_stages(learned: LearnedExits) -> Iterator[tuple[int, Flags, Flags]]:
    S = len(learned.theta) + 1
    return ((s, _up_to(learned, s), _up_to(learned, t)) for s in range(S - 1) for t in range(s + 1, S))


def _up_to(learned: LearnedExits, s: int) -> Flags:
    """All rows come to stage s and stop there."""
    stages, count = learned.theta.shape
    return np.repeat((np.arange(stages) < s)[:, None], count + 1, axis=1)


class _List(NamedTuple):
    """The policies of (1) for one stage, from R_s on: the more rows go on, the dearer."""

    # stage, go, more: see (1).
    stage: int
    go: Flags
    more: Flags
    theta: Floats  # shape (E,), falling; the first is infinite
    # cost, loss: shape (E,): mean cost on the own rows, and mean judged loss on all.
    cost: Floats
    loss: Floats


def _lists(learned: LearnedExits, sample: ExitSample, pairs: Iterator[tuple[int, Flags, Flags]]) -> Iterator[_List]:
    level, weights, place = levels(sample.doubt, learned.theta), sample.weights, np.arange(sample.n_rows)
    own = np.where(sample.own, weights, 0.0) / weights[sample.own].sum()
    by_doubt: dict[int, NDArray[np.int64]] = {}
    for s, go, more in pairs:
        if s not in by_doubt:
            by_doubt[s] = np.argsort(-sample.doubt[s], kind="stable")
        start, last = learned.with_go(go).last_stage, learned.with_go(go | more).last_stage
        stage, then = _reached(go, level), _reached(more, level)
        order = by_doubt[s][((stage == s) & (then > s))[by_doubt[s]]]
        falling = sample.doubt[s, order]
        ends = ends_of(falling)
        price = np.cumsum((sample.cost[then[order], order] - sample.cost[s, order]) * own[order])[ends]
        change = np.cumsum((sample.judged[then[order], order] - sample.judged[s, order]) * weights[order])[ends]
        cost = float(sample.cost[stage, place] @ own) + float(sample.once[start]) + np.append(0.0, price)
        cost[1:] += sample.once[last] - sample.once[start]
        loss = float(sample.judged[stage, place] @ weights) + np.append(0.0, change)
        yield _List(s, go, more, np.append(np.inf, between(falling, ends)), cost, loss / weights.sum())


def _reached(go: Flags, level: NDArray[np.int64]) -> NDArray[np.int64]:
    """`stages_reached`, at once where all levels go alike."""
    alike = bool((go == go[:, :1]).all())
    return np.full(level.shape[1], go[:, 0].sum()) if alike else stages_reached(go, level)


def _best(
    learned: LearnedExits, sample: ExitSample, budget: float, least: Flags, pairs: Iterator[tuple[int, Flags, Flags]]
) -> ExitPolicy:
    """The policy of least loss among (1) with (2) for some (stage, go, more); `least` where none errs less."""
    found = learned.with_go(least)
    best = sample.mean_loss(found, sample.judged)
    for way in _lists(learned, sample, pairs):
        fits = np.flatnonzero(way.cost <= _limit(budget))
        if fits.size and way.loss[fits[-1]] < best * (1 - PARAMS.rounding):
            best, last = float(way.loss[fits[-1]]), int(fits[-1])
            found = learned.with_go(way.go, Cut(way.stage, float(way.theta[last]), way.more) if last else None)
    return found


def _limit(budget: float) -> float:
    return budget * (1 + PARAMS.rounding)
