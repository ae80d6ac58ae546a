"""Exit policies: which row stops at which stage; and levels of doubt, the groups of rows among which a policy is chosen.

For each of J prices of cost lambda_1 < ... < lambda_J, backwards from the last stage S - 1 (dynamic programming over thresholds
on the doubt d_s, on all rows),

    V_{S-1,j}(i) = loss_{S-1,i},
    theta_{s,j}  = the threshold of least  sum_i w_i [ V_{s+1,j}(i) + lambda_j inc_s(i)  if d_s(i) >= theta, else loss_s(i) ]  (1)
    V_{s,j}(i)   = the bracket of (1) at theta_{s,j}

inc_s(i) = cost_{s+1,i} - cost_{s,i}. Thresholds are made to rise with j. The *level* of row i at stage s is

    level_s(i) = min over t <= s of  #{ j : d_t(i) >= theta_{t,j} }                                                    (2)

So at the j-th price a row would go on from s exactly if level_s(i) >= j; levels never rise from stage to stage. The rows of equal
level at a stage are one decision of the policy. A threshold of -infinity comes first, so that a policy can send all rows on.

A row that has come to stage s with level l goes on exactly if ``go[s, l]``. A policy obeys

    go[s, l]  implies  go[s, l + 1]     a row with more doubt goes on, too                                               (3)
    go[s, l]  implies  go[s - 1, l]     rows of a level go on only from stages that they reach                           (4)

So by (3) and (4) a row of level l at stage s has come there, and goes on, exactly if go[s, l]. What a decision saves and costs is
a sum over the rows of that level, whatever else is decided.

A policy that spends a budget lies between two such policies, go and more, go <= more. At one stage it also sends on the rows of
largest doubt among those that only `more` sends on; from there they follow `more` (`Cut`).

Stages with a policy, and what is known of the columns of rows, are a `StagedModel`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from formulations.errors import InvalidInputError
from formulations.instance.routing import n_examples
from formulations.instance.tree_loss import TreeLoss
from prunemodels.stages.doubt import Doubt
from prunemodels.stages.judging import WRONG
from prunemodels.stages.params import PARAMS
from prunemodels.stages.stacking import Stack, stack_inputs
from prunemodels.stages.stages import StageOutput, Stages

Floats = NDArray[np.float64]


def prices_of_cost(loss: Floats, cost: Floats, weights: Floats, doubt: Floats, count: int) -> Floats:
    """lambda: 0, then geometrically up to a price at which not even the most doubtful twentieth of the rows goes on anywhere.

    `loss`, `cost`: shape (S, N). `doubt`: shape (S - 1, N).
    """
    top, rounding = 0.0, PARAMS.rounding * float(weights.sum() * cost.max(initial=0.0))
    for s in range(len(doubt)):
        order = np.argsort(-doubt[s], kind="stable")
        total = np.cumsum(weights[order])
        first = int(np.searchsorted(total, 0.05 * total[-1]))
        for t in range(s + 1, len(loss)):
            saved = np.cumsum((weights * (loss[s] - loss[t]))[order])[first:]
            paid = np.cumsum((weights * (cost[t] - cost[s]))[order])[first:]
            ratio = np.divide(saved, paid, out=np.zeros_like(saved), where=paid > rounding)
            top = max(top, float(ratio.max(initial=0.0)))
    if top == 0.0:
        return np.zeros(1)
    return np.concatenate([[0.0], np.geomspace(top, PARAMS.smallest_price * top, count - 1)[::-1]])


def thresholds(loss: Floats, cost: Floats, weights: Floats, doubt: Floats, lams: Floats) -> Floats:
    """Theta of (1), shape (S - 1, J), rising with j; infinity where no row should go on."""
    return _backwards(loss, cost, weights, doubt, lams)[0]


def least_objective(loss: Floats, cost: Floats, weights: Floats, doubt: Floats, lams: Floats) -> Floats:
    """Mean loss + lambda_j cost by the thresholds of (1), shape (J,)."""
    share = weights / weights.sum()
    return np.asarray(share @ _backwards(loss, cost, weights, doubt, lams)[1] + lams * float(share @ cost[0]))


def _backwards(loss: Floats, cost: Floats, weights: Floats, doubt: Floats, lams: Floats) -> tuple[Floats, Floats]:
    """Theta of (1), and V_0 for every row and price."""
    found = np.full((len(doubt), lams.size), np.inf)
    equal = PARAMS.rounding * (weights @ loss.max(axis=0) + lams * (weights @ cost[-1]))
    value = np.repeat(loss[-1][:, None], lams.size, axis=1)
    for s in range(len(doubt) - 1, -1, -1):
        going_on = value + lams * (cost[s + 1] - cost[s])[:, None]
        saved = (loss[s][:, None] - going_on) * weights[:, None]
        order = np.argsort(-doubt[s], kind="stable")
        ends = _some_ends(doubt[s][order])
        totals = np.concatenate([np.zeros((1, lams.size)), np.cumsum(saved[order], axis=0)[ends]])
        best = (totals >= totals.max(axis=0) - equal).argmax(axis=0)  # the first of equals: fewest rows go on
        cuts = np.append(np.inf, between(doubt[s][order], ends))
        found[s] = np.maximum.accumulate(cuts[best])
        value = np.where(doubt[s][:, None] >= found[s], going_on, loss[s][:, None])
    return found, value


def ends_of(falling: Floats) -> NDArray[np.int64]:
    """Places after which a threshold may be: the last rows of equal doubts."""
    return np.flatnonzero(np.append(falling[:-1] != falling[1:], True)) if falling.size else np.zeros(0, dtype=np.int64)


def _some_ends(falling: Floats) -> NDArray[np.int64]:
    """Those of `ends_of` near quantiles."""
    n, last = falling.size, ends_of(falling)
    count = min(PARAMS.most_thresholds, max(1, n // PARAMS.fewest_rows_between))
    wanted = np.unique(np.linspace(0, n, count + 1).astype(np.int64)[1:] - 1)
    return np.unique(last[np.searchsorted(last, wanted)])


def between(falling: Floats, ends: NDArray[np.int64]) -> Floats:
    """The threshold half-way between the doubt at an end and the next one; -infinity after the last."""
    after = np.append(falling, -np.inf)[ends + 1]
    middle = (falling[ends] + after) / 2
    return np.where(middle > after, middle, np.where(np.isfinite(after), falling[ends], -np.inf))


def next_level(level: NDArray[np.int64], doubt: Floats, theta: Floats) -> NDArray[np.int64]:
    """(2): the levels at a stage from those at the stage before.

    `theta`: shape (J,): the stage's thresholds, rising.
    """
    return np.asarray(np.minimum(level, np.searchsorted(theta, doubt, side="right")), dtype=np.int64)


def levels(doubt: Floats, theta: Floats) -> NDArray[np.int64]:
    """(2) for every row and every stage but the last, shape (S - 1, N)."""
    level = np.full(doubt.shape[1], theta.shape[1])
    found = np.empty(doubt.shape, dtype=np.int64)
    for s in range(len(doubt)):
        level = next_level(level, doubt[s], theta[s])
        found[s] = level
    return found


@dataclass(frozen=True, eq=False)
class Decision:
    """Where some rows stopped, and with which output."""

    stage: NDArray[np.int64]  # shape (N,): the stage at which each row stopped
    value: NDArray[np.float64]  # shape (N, K): that stage's output for it


@dataclass(frozen=True, eq=False)
class Cut:
    """Where the money ends between two policies."""

    stage: int  # at this stage rows that the policy stops and `more` sends on go on after all, if
    doubt: float  # their doubt is at least this
    more: NDArray[np.bool_]  # shape (S - 1, J + 1): what such rows follow from there


@dataclass(frozen=True, eq=False)
class ExitPolicy:
    """One policy for a sequence of stages."""

    doubt: Doubt  # how doubts are computed
    theta: NDArray[np.float64]  # shape (S - 1, J): thresholds of the levels
    go: NDArray[np.bool_]  # shape (S - 1, J + 1): whether the rows of a level go on from a stage
    stack: Stack | None = None  # how stages use the outputs of earlier ones; None: each predicts by itself
    cut: Cut | None = None  # which rows go on beyond `go`; None: none
    by: TreeLoss = WRONG  # what predictions are judged by: of probabilities, it says which class is predicted

    @property
    def last_stage(self) -> int:
        """The last stage that any row can come to."""
        going = np.flatnonzero((self.go if self.cut is None else self.go | self.cut.more).any(axis=1))
        return int(going[-1]) + 1 if going.size else 0

    def __repr__(self) -> str:
        stages, levels = self.theta.shape
        cut = "" if self.cut is None else f", rows of most doubt go on from stage {self.cut.stage}"
        return f"ExitPolicy({stages + 1} stages, {levels} levels of doubt, up to stage {self.last_stage}{cut})"

    def start(self, n_rows: int) -> Visit:
        """All rows, at the first stage."""
        level = np.full(n_rows, self.theta.shape[1])
        return Visit(0, np.arange(n_rows), level, np.zeros(n_rows, dtype=bool), None, None)

    def step(self, visit: Visit, alone: StageOutput) -> tuple[StageOutput, Visit]:
        """The output of the stage of `visit`, and the visit of the rows that go on from there, which may have no rows.

        `alone`: the output of the stage's model alone; `stack` then combines it with those of earlier stages.
        """
        s, past = visit.stage, None
        output = alone
        if self.stack is not None and self.stack.stacked[s:].any():
            mine = stack_inputs(alone.value)[None]
            past = mine if visit.past is None else np.concatenate([visit.past, mine])
            output = self.stack.output(s, alone, past)
        if s >= len(self.go):
            return output, Visit(s + 1, visit.rows[:0], visit.level[:0], visit.sent[:0], None, None)
        doubt = self.doubt(s, output, visit.before)
        level, sent = next_level(visit.level, doubt, self.theta[s]), visit.sent
        goes = self.go[s, level]
        if self.cut is not None:
            if s == self.cut.stage:
                sent = ~goes & (doubt >= self.cut.doubt)
            goes = np.where(sent, self.cut.more[s, level], goes)
        if goes.all():
            return output, Visit(s + 1, visit.rows, level, sent, output, past)
        going = np.flatnonzero(goes)
        before = StageOutput(output.value[going], output.spread[going])
        after = None if past is None else past[:, going]
        return output, Visit(s + 1, visit.rows[going], level[going], sent[going], before, after)

    def stop_stages(self, doubt: NDArray[np.float64]) -> NDArray[np.int64]:
        """Where rows of given doubts stop, shape (N,).

        `doubt`: shape (S - 1, N), at every stage but the last, see `doubts_of`.
        """
        level = levels(doubt, self.theta)
        stage = stages_reached(self.go, level)
        if self.cut is None or not level.size:
            return stage
        s = self.cut.stage
        return np.where((stage == s) & (doubt[s] >= self.cut.doubt), stages_reached(self.cut.more, level), stage)


@dataclass(frozen=True, eq=False)
class Visit:
    """Rows that have come to a stage: their places, their levels, and the output of the stage before."""

    stage: int
    rows: NDArray[np.int64]
    level: NDArray[np.int64]
    sent: NDArray[np.bool_]  # shape (rows,): rows that a `Cut` sent on
    before: StageOutput | None
    # shape (stage, rows, K): the `stack_inputs` of every stage before; None before the first stage, and where no stage from this
    # one on combines them.
    past: NDArray[np.float64] | None


def stages_reached(go: NDArray[np.bool_], level: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of stages from which rows of given levels go on, shape (N,), by (3) and (4).

    `level`: shape (S - 1, N).
    """
    return np.asarray(np.take_along_axis(go, level, axis=1).sum(axis=0), dtype=np.int64)


def decide(policy: ExitPolicy, stages: Stages, X: Any) -> Decision:
    """Send the rows of X through the stages; a stage sees only the rows that come to it."""
    n = n_examples(X)
    visit, stage, value = policy.start(n), np.zeros(n, dtype=np.int64), None
    while visit.rows.size:
        alone = stages.output(visit.stage, X if visit.rows.size == n else _safe_indexing(X, visit.rows))
        output, after = policy.step(visit, alone)
        value = output.value.copy() if value is None else value
        stage[visit.rows], value[visit.rows] = visit.stage, output.value
        visit = after
    if value is None:
        raise InvalidInputError("X is empty: at least one example is needed")
    return Decision(stage, value)


@dataclass(frozen=True, eq=False)
class Chain:
    """A sequence of fitted stages; a cascade may have several, and its policy is one of one of them."""

    stages: Stages
    stack: Stack | None  # how stages use the outputs of earlier ones
    error: NDArray[np.float64]  # shape (S,): the held-out error of each stage, if all rows stop there


@dataclass(frozen=True, eq=False)
class StagedModel:
    """A fitted cascade, as walks on demand see it."""

    stages: Stages
    policy: ExitPolicy
    names: Sequence[Any] | None  # of the columns; None where the model was trained without
    types: Sequence[str] | None  # the types of the columns of a table that is not cast to numbers; None: rows are numbers
    numeric: bool  # whether rows are cast to float32
    chains: tuple[Chain, ...] = ()  # that of the policy, and the others; empty if nothing is known of held-out rows
    # shape (S,): what held-out rows that come to a stage pay on average by the policy; 0 where none comes.
    pays: NDArray[np.float64] | None = None


@runtime_checkable
class HasStages(Protocol):
    """A model that predicts along stages, such as a fitted cascade."""

    def staged_model(self) -> StagedModel:
        """Its stages with their policy; raises NotFittedError before it was fitted."""
        ...
