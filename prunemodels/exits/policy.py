"""Exit policies: which row stops at which stage.

A row that has come to stage s with level l (`prunemodels.exits.levels`) goes on exactly if ``go[s, l]``. A policy obeys

    go[s, l]  implies  go[s, l + 1]     a row with more doubt goes on, too                                               (1)
    go[s, l]  implies  go[s - 1, l]     rows of a level go on only from stages that they reach                           (2)

A row's level never rises from stage to stage, so by (1) and (2) a row of level l at stage s has come there, and goes on, exactly
if go[s, l]. So what a decision saves and costs is a sum over the rows of that level, whatever else is decided.

A policy that spends a budget lies between two such policies, go and more, go <= more. At one stage it also sends on the rows of
largest doubt among those that only `more` sends on; from there they follow `more` (`Cut`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from formulations.errors import InvalidInputError
from formulations.instance.routing import n_examples
from prunemodels.exits.doubt import Doubt
from prunemodels.exits.levels import levels, next_level
from prunemodels.exits.stacking import Stack, stack_inputs
from prunemodels.exits.stages import StageOutput, Stages


@dataclass(frozen=True, eq=False)
class Decision:
    """Where some rows stopped, and with which output.

    Parameters
    ----------
    stage
        int64, shape (N,): the stage at which each row stopped.
    value
        float64, shape (N, K): that stage's output for it.
    """

    stage: NDArray[np.int64]
    value: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cut:
    """Where the money ends between two policies.

    Parameters
    ----------
    stage
        at this stage rows that the policy stops and `more` sends on go on after all, if
    doubt
        their doubt is at least this.
    more
        bool, shape (S - 1, J + 1): what such rows follow from there.
    """

    stage: int
    doubt: float
    more: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ExitPolicy:
    """One policy for a sequence of stages.

    Parameters
    ----------
    doubt
        how doubts are computed.
    theta
        float64, shape (S - 1, J): thresholds of the levels.
    go
        bool, shape (S - 1, J + 1): whether the rows of a level go on from a stage.
    stack
        how stages use the outputs of earlier ones; None: each predicts by itself.
    cut
        which rows go on beyond `go`; None: none.
    """

    doubt: Doubt
    theta: NDArray[np.float64]
    go: NDArray[np.bool_]
    stack: Stack | None = None
    cut: Cut | None = None

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

        Parameters
        ----------
        alone
            the output of the stage's model alone; `stack` then combines it with those of earlier stages.
        """
        s, past = visit.stage, None
        output = alone
        if self.stack is not None:
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
        going = np.flatnonzero(goes)
        before = StageOutput(output.value[going], output.spread[going])
        after = None if past is None else past[:, going]
        return output, Visit(s + 1, visit.rows[going], level[going], sent[going], before, after)

    def stop_stages(self, doubt: NDArray[np.float64]) -> NDArray[np.int64]:
        """Where rows of given doubts stop, shape (N,).

        Parameters
        ----------
        doubt
            shape (S - 1, N), at every stage but the last, see `doubts_of`.
        """
        level = levels(doubt, self.theta)
        stage = stages_reached(self.go, level)
        if self.cut is None or not level.size:
            return stage
        s = self.cut.stage
        return np.where((stage == s) & (doubt[s] >= self.cut.doubt), stages_reached(self.cut.more, level), stage)


@dataclass(frozen=True, eq=False)
class Visit:
    """Rows that have come to a stage: their places, their levels, and the output of the stage before.

    Parameters
    ----------
    sent
        bool, shape (rows,): rows that a `Cut` sent on.
    past
        shape (stage, rows, K): the `stack_inputs` of every stage before; None without a stack, and before the first stage.
    """

    stage: int
    rows: NDArray[np.int64]
    level: NDArray[np.int64]
    sent: NDArray[np.bool_]
    before: StageOutput | None
    past: NDArray[np.float64] | None


def stages_reached(go: NDArray[np.bool_], level: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of stages from which rows of given levels go on, shape (N,), by (1) and (2).

    Parameters
    ----------
    level
        shape (S - 1, N).
    """
    return np.asarray(np.take_along_axis(go, level, axis=1).sum(axis=0), dtype=np.int64)


def decide(policy: ExitPolicy, stages: Stages, X: Any) -> Decision:
    """Send the rows of X through the stages; a stage sees only the rows that come to it."""
    visit, stage, value = policy.start(n_examples(X)), np.zeros(n_examples(X), dtype=np.int64), None
    while visit.rows.size:
        alone = stages.output(visit.stage, X if visit.stage == 0 else _safe_indexing(X, visit.rows))
        output, after = policy.step(visit, alone)
        value = output.value.copy() if value is None else value
        stage[visit.rows], value[visit.rows] = visit.stage, output.value
        visit = after
    if value is None:
        raise InvalidInputError("X is empty: at least one example is needed")
    return Decision(stage, value)
