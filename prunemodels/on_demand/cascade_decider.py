"""Send rows through the stages of a cascade, buying features for one stage after the other.

    row at stage s:   a feature that the stage needs is not known  ->  ask for it, if the price keeps within the cap
                      all are known                                ->  the stage predicts, and the policy stops the row or not (1)
                      one cannot be had                            ->  another fitted stage answers, see `substitutes`; if there
                                                                       is none, the row keeps the answer of stage s - 1
                      the stage refuses the row, or the cap is
                      reached                                      ->  the row keeps the answer of stage s - 1

The policy sees the same values as on full data, so classes and costs are the same. A new state replaces the old one in a single
step, so that Ctrl-C leaves one or the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.instance.tree_loss import TreeLoss
from formulations.stored_arrays import fingerprint
from prunemodels.on_demand.answers import Answer, logger
from prunemodels.on_demand.holdings import Decider, Holdings, account_of, refused_rows
from prunemodels.on_demand.request import NEVER, Request
from prunemodels.on_demand.result import CascadeResult
from prunemodels.on_demand.stage_steps import Place, Reached, SetSteps, StageSteps
from prunemodels.on_demand.steps import LOST, UNKNOWN
from prunemodels.stages.judging import predicted_classes
from prunemodels.stages.policy import ExitPolicy, Visit
from prunemodels.stages.stacking import stack_inputs
from prunemodels.stages.stages import StageOutput

Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RowStates:
    """Where n rows are."""

    place: Place  # their nodes in the trees
    # stage, level: shape (n,): the stage that they are at, and the level that they came with.
    stage: Rows
    level: Rows
    sent: Flags  # shape (n,): rows that the cut of a policy sent on
    answered_by: Rows  # shape (n,): the stage whose answer they have, -1: none; S + k: that of substitute k
    answer: StageOutput  # this answer, NaN where there is none
    # done, early, capped, lost: shape (n,): rows that stopped; those of them that the policy, the cap, or a feature that cannot
    # be had stopped.
    done: Flags
    early: Flags
    capped: Flags
    lost: Flags
    turned: Rows  # shape (n,): the substitute that a row waits for, -1: none

    def changed(self, **values: tuple[Rows, Any]) -> RowStates:
        """The states where some fields have other values for some rows: ``done=(rows, True)``."""
        fresh = {name: getattr(self, name).copy() for name in values}
        for name, (rows, value) in values.items():
            fresh[name][rows] = value
        return replace(self, **fresh)


class CascadeDecider(Decider):
    """Sends rows through the stages of a cascade.

    `steps`, `policy`: what the stages need and predict, and which rows go on.
    """

    def __init__(self, steps: StageSteps, policy: ExitPolicy, held: Holdings) -> None:
        super().__init__(steps.plan, held, steps.orders)
        n, classes = len(held.rows), steps.plan.classes
        self._stages, self._policy = steps, policy
        first, no = policy.start(n), np.zeros(n, dtype=bool)
        K = 1 if classes is None else len(classes)
        answer = StageOutput(np.full((n, K), np.nan), np.zeros(n))
        self._inputs = np.empty((0 if policy.stack is None else policy.last_stage + 1, n, K))
        none, zero = np.full(n, -1, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self._at = RowStates(steps.start(n), zero, first.level, first.sent, none, answer, no, no, no, no, none)
        self.usual = steps.usual

    def result(self, **counts: Any) -> CascadeResult:
        """What is known now; of a walk that was broken off, what was bought, and the answers of the last stages to predict."""
        at, plan = self._guessed(np.flatnonzero(self._at.answered_by < 0)), self.purchases
        answered, substituted = ~np.isnan(at.answer.value[:, 0]), at.answered_by >= len(self._stages.errors)
        return CascadeResult(
            rows=self.held.rows,
            predictions=_predictions(at.answer.value, answered, plan.classes, self._policy.by),
            probabilities=None if plan.classes is None else at.answer.value,
            **account_of(plan, self.held.paid_by, at.place.steps),
            finished=at.done & answered,
            stopped_early=at.early,
            fell_back=at.lost,
            trees_finished=np.where(at.answered_by >= 0, self._stages.n_trees(at.answered_by), 0),
            stage=np.where(substituted, at.stage, at.answered_by),
            capped=at.capped,
            substituted=substituted,
            **counts,
        )

    @property
    def model_print(self) -> str:
        """See `Decider`."""
        plan, policy = self.purchases, self._policy
        return fingerprint(plan.everything, plan.features, plan.item_units, policy.theta, policy.go, self._stages.stages.features)

    def memory(self) -> Any:
        """See `Decider`."""
        return self._at, self._inputs

    def go_on(self, memory: Any) -> None:
        """See `Decider`."""
        self._at, self._inputs = memory

    def _guessed(self, rows: Rows) -> RowStates:
        """For rows without an answer: the first stage's answer by the nodes that they came to, if its nodes have answers."""
        at = self._at
        return self._with_answers(rows, self._alone(0, rows), answered_by=-1) if rows.size and self._stages.guesses else at

    def judged(self, request: Request, given: Answer) -> Answer:
        """Refuses values that have not the type that their column had in training."""
        wrong = {}
        for f, column in enumerate(request.columns.tolist()):
            for i, why in self._stages.misfits(column, np.where(given.had[:, f], given.values[:, f], np.nan)).items():
                wrong[i, f] = why
        return given.refusing(wrong, request)

    def reopen(self, rows: Rows) -> None:
        """Rows that stopped without a value begin again, with all that they have bought."""
        rows = rows[self._at.lost[rows]]
        fresh, at = self._policy.start(len(self.held.rows)), self._at
        start, place = self._stages.start(rows.size), Place(at.place.node.copy(), at.place.steps.copy())
        place.node[rows], place.steps[rows] = start.node, start.steps
        begun = dict.fromkeys(("stage", "sent", "done", "early", "capped", "lost"), (rows, 0))
        begun |= dict.fromkeys(("answered_by", "turned"), (rows, -1))
        self._at = replace(at, place=place).changed(level=(rows, fresh.level[rows]), **begun)
        self.held.done[:] = self._at.done

    def _answers(self, s: int, rows: Rows) -> tuple[Rows, StageOutput | None]:
        """The rows that a stage predicts, and its output. Those that its model refuses stop with the answer that they have.

        `s`: as in `RowStates.answered_by`.

        If the model refuses every one of several rows, its error is raised: then it is no single value that is wrong.
        """
        try:
            return rows, self._alone(s, rows)
        except Exception:  # a user's model may raise anything
            refused = refused_rows(lambda some: self._alone(s, some), rows)
            if len(refused) == rows.size > 1:
                raise
        bad = np.array(sorted(refused), dtype=np.int64)
        for i in bad.tolist():
            stage = int(self._at.stage[i])
            self.held.refused[i, f"stage {stage}"] = f"refuses the row ({refused[i]})"
            logger.warning("stage %d refuses the row %r (%s); the row stops before it", stage, self.held.rows[i], refused[i])
        self._at = self._at.changed(done=(bad, True), lost=(bad, True))
        willing = np.setdiff1d(rows, bad)
        return willing, self._alone(s, willing) if willing.size else None

    def _alone(self, s: int, rows: Rows) -> StageOutput:
        if self._stages.substitutes is not None and s >= len(self._stages.errors):
            return self._stages.substitutes.output(s - len(self._stages.errors), self.held.cells[rows])
        return self._stages.output(s, _of(self._at.place, rows), self.held.cells[rows])

    def _with_answers(self, rows: Rows, output: StageOutput, answered_by: int) -> RowStates:
        answer = StageOutput(self._at.answer.value.copy(), self._at.answer.spread.copy())
        answer.value[rows], answer.spread[rows] = output.value, output.spread
        return replace(self._at, answer=answer).changed(answered_by=(rows, answered_by))

    def look_ahead(self, rows: Rows) -> Flags:
        """(1), stage after stage, until all rows wait or are done."""
        wanted = np.zeros((len(self.held.rows), len(self.purchases.names)), dtype=bool)
        moving = rows[~self._at.done[rows]]
        while moving.size:
            turned = self._at.turned[moving] >= 0
            going = [self._go_round(moving[turned], wanted)]
            moving = moving[~turned]
            stage = self._at.stage[moving]  # a copy: rows that go on are looked at in the next turn
            for s in np.unique(stage).tolist():
                at_stage = moving[stage == s]
                asks, predicts = self._advance(s, at_stage, wanted)
                wanted[at_stage[~asks]] = False
                going += [self._predict(s, at_stage[predicts]), at_stage[self._at.turned[at_stage] >= 0]]
            moving = np.concatenate(going)
        self.held.done[:] = self._at.done  # a pipeline's walk shares the array
        return wanted[rows]

    def choose(self, rows: Rows, wanted: Flags) -> Flags:
        """The cheapest of the wanted features; the stage needs the others too."""
        plan = self.purchases
        price = ((self.held.paid_by[rows] == NEVER) @ (plan.needs * plan.item_units).T).astype(np.float64)
        chosen = np.zeros_like(wanted)
        chosen[np.arange(rows.size), np.argmin(np.where(wanted, price, np.inf), axis=1)] = True
        return chosen

    def _advance(self, s: int, rows: Rows, wanted: Flags) -> tuple[Flags, Flags]:
        """Advance the rows at stage s. Returns which of them ask (for the features in `wanted`), and for which it can predict."""
        at, units = self._at, self.purchases.item_units
        paid = self.held.paid_by[rows] != NEVER
        spent = paid @ units
        over = self._beyond(s, rows, spent)
        self._stages.advance(s, rows[~over], at.place, self.held.cells, self.held.status)
        needed, status = self._stages.needs(s, rows, at.place), self.held.status[rows]
        missing, lost = needed & (status == UNKNOWN), (needed & (status == LOST)).any(axis=1)
        if self.held.cap is not None:
            new = (missing @ self.purchases.needs) & ~paid
            over |= spent + new @ units + at.place.steps[rows] > self.held.cap
        lost &= ~over
        by_nodes = lost & (s == 0) & self._stages.guesses  # its nodes answer, so the other features are still worth buying
        out = lost & ~by_nodes
        stops = over | out
        self._at = at.changed(done=(rows[over], True), capped=(rows[over], True), lost=(rows[lost], True))
        self._turn(rows[out])
        wanted[rows] = missing
        asks = missing.any(axis=1) & ~stops
        return asks, ~asks & ~stops

    def _turn(self, rows: Rows) -> None:
        """Have rows for which a feature is lost turn to a substitute; where there is none they stop."""
        steps, at = self._stages, self._at
        if not isinstance(steps, SetSteps) or not rows.size:
            self._at = at.changed(done=(rows, True))
            return
        stage, status, read = at.stage[rows], self.held.status[rows], np.zeros((rows.size, len(self.purchases.names)), dtype=bool)
        for s in range(int(stage.max())):
            read[stage > s] |= steps.needs(s, rows[stage > s], at.place)
        error = np.append(steps.errors, np.inf)[at.answered_by[rows]]
        pays = steps.pays[stage]
        most = pays if self.held.cap is None else np.minimum(pays, self.held.cap)
        chosen = steps.substitutes.chosen(status, self.held.paid_by[rows] != NEVER, Reached(error, most, read))
        self._at = at.changed(turned=(rows, chosen), done=(rows, chosen < 0))

    def _go_round(self, rows: Rows, wanted: Flags) -> Rows:
        """(1) for rows that have turned to a substitute. Returns those that turn to another one."""
        if not rows.size or self._stages.substitutes is None:
            return rows
        turned, status, S = self._at.turned[rows], self.held.status[rows], len(self._stages.errors)
        needed = self._stages.substitutes.needs[turned]
        lost, missing = (needed & (status == LOST)).any(axis=1), needed & (status == UNKNOWN)
        wanted[rows] = missing & ~lost[:, None]
        ready = ~lost & ~missing.any(axis=1)
        for k in np.unique(turned[ready]).tolist():
            willing, output = self._answers(S + k, rows[ready & (turned == k)])
            if output is not None:
                self._at = self._with_answers(willing, output, S + k).changed(done=(willing, True))
        self._turn(rows[lost])
        return np.asarray(rows[lost & ~self._at.done[rows]])

    def _beyond(self, s: int, rows: Rows, paid: Rows) -> Flags:
        """Rows for which evaluating the splits that can be passed would already cost more than the cap."""
        place = self._at.place
        if self.held.cap is None or not place.node.shape[1]:
            return np.zeros(rows.size, dtype=bool)
        trial = _of(place, rows)
        self._stages.advance(s, np.arange(rows.size), trial, self.held.cells[rows], self.held.status[rows])
        return paid + trial.steps > self.held.cap

    def _predict(self, s: int, rows: Rows) -> Rows:
        """Have stage s predict the rows. Returns the rows that go on."""
        rows, alone = self._answers(s, rows) if rows.size else (rows, None)
        if alone is None:
            return rows
        before = StageOutput(self._at.answer.value[rows], self._at.answer.spread[rows]) if s else None
        past = self._inputs[:s, rows] if s and self._policy.stack is not None else None
        came = Visit(s, np.arange(rows.size), self._at.level[rows], self._at.sent[rows], before, past)
        answer, after = self._policy.step(came, alone)
        if self._policy.stack is not None:
            self._inputs[s, rows] = stack_inputs(alone.value)  # if done again, it writes the same
        at = self._with_answers(rows, answer, s)
        going = rows[after.rows]  # a row that answered without a feature stops at the next stage, which needs it too
        stops = np.ones(rows.size, dtype=bool)
        stops[after.rows] = False
        at = at.changed(done=(rows, stops), early=(rows, stops & (s < len(self._policy.go)) & ~at.lost[rows]))
        self._at = at.changed(stage=(going, s + 1), level=(going, after.level), sent=(going, after.sent))
        return going


def _of(place: Place, rows: Rows) -> Place:
    return Place(place.node[rows], place.steps[rows])


def _predictions(value: NDArray[np.float64], answered: Flags, classes: NDArray[Any] | None, by: TreeLoss) -> NDArray[Any]:
    """Labels, None where there is no answer; or numbers."""
    if classes is None:
        return value[:, 0]
    labels: NDArray[Any] = classes.take(predicted_classes(np.where(answered[:, None], value, 0.0), by), axis=0)
    if not answered.all():
        labels = labels.astype(object)
        labels[~answered] = None
    return labels
