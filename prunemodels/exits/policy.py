"""Exit policies: which row stops at which stage.

A row that has come to stage s with level l (`prunemodels.exits.levels`) goes on exactly if ``go[s, l]``. A policy obeys

    go[s, l]  implies  go[s, l + 1]     a row with more doubt goes on, too                                               (1)
    go[s, l]  implies  go[s - 1, l]     rows of a level go on only from stages that they reach                           (2)

A row's level never rises from stage to stage, so by (1) and (2) a row of level l at stage s has come there, and goes on, exactly
if go[s, l]. So what a decision saves and costs is a sum over the rows of that level, whatever else is decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from formulations.errors import InvalidInputError
from formulations.instance.routing import n_examples
from prunemodels.exits.doubt import Doubt
from prunemodels.exits.levels import next_level
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
    """

    doubt: Doubt
    theta: NDArray[np.float64]
    go: NDArray[np.bool_]
    stack: Stack | None = None

    @property
    def last_stage(self) -> int:
        """The last stage that any row can come to."""
        going = np.flatnonzero(self.go.any(axis=1))
        return int(going[-1]) + 1 if going.size else 0

    def start(self, n_rows: int) -> Visit:
        """All rows, at the first stage."""
        level = np.full(n_rows, self.theta.shape[1])
        return Visit(0, np.arange(n_rows), level, None, None)

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
            return output, Visit(s + 1, visit.rows[:0], visit.level[:0], None, None)
        level = next_level(visit.level, self.doubt(s, output, visit.before), self.theta[s])
        going = np.flatnonzero(self.go[s, level])
        before = StageOutput(output.value[going], output.spread[going])
        return output, Visit(s + 1, visit.rows[going], level[going], before, None if past is None else past[:, going])


@dataclass(frozen=True, eq=False)
class Visit:
    """Rows that have come to a stage: their places, their levels, and the output of the stage before.

    Parameters
    ----------
    past
        shape (stage, rows, K): the `stack_inputs` of every stage before; None without a stack, and before the first stage.
    """

    stage: int
    rows: NDArray[np.int64]
    level: NDArray[np.int64]
    before: StageOutput | None
    past: NDArray[np.float64] | None


def visits(policy: ExitPolicy, stages: Stages, X: Any) -> Iterator[tuple[Visit, StageOutput]]:
    """Every stage that some row comes to, with its rows and its output for them."""
    visit = policy.start(n_examples(X))
    while visit.rows.size:
        alone = stages.output(visit.stage, X if visit.stage == 0 else _safe_indexing(X, visit.rows))
        output, after = policy.step(visit, alone)
        yield visit, output
        visit = after


def decide(policy: ExitPolicy, stages: Stages, X: Any) -> Decision:
    """Send the rows of X through the stages; a stage sees only the rows that come to it."""
    stage = np.zeros(n_examples(X), dtype=np.int64)
    value = None
    for visit, output in visits(policy, stages, X):
        value = output.value.copy() if value is None else value
        stage[visit.rows], value[visit.rows] = visit.stage, output.value
    if value is None:
        raise InvalidInputError("X is empty: at least one example is needed")
    return Decision(stage, value)
