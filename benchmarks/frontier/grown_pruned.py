"""Boosted trees that are grown with CEGB's penalties, then pruned and refitted by us.

1. CEGB grows its models (`rivals.cegb.grow`: its code, its settings), and offers their first rounds.
2. *Refitted rounds*: the values of all leaves of the first rounds are refitted together on the training part, for ridges that
   fall from the strongest on, until both validation error and loss get worse.
3. *Prunings*: the models that validation chose from 1 and 2 at some budget are pruned, on training rows, to every budget below
   their costs. The pruning taken is the dearest one of the trade-off that is within the budget on the validation part.
4. *Refitted prunings*: as in 2.

All of these are candidates, so validation can always choose what CEGB offers. Nothing is pruned on validation rows, because
thousands of splits would adapt to them, and the error there would be too low to compare with that of other candidates (on
MiniBooNE 6.6 % on validation and 7.7 % on test, where refitted rounds have 7.1 and 7.6 %).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

import prunemodels as pm
from benchmarks.frontier.candidate import Candidate, Value, candidate
from benchmarks.frontier.choice import winners
from benchmarks.frontier.problem import Problem
from benchmarks.frontier.rivals import cegb
from benchmarks.frontier.rivals.engines import two_columns
from formulations.instance.routing import leaves_of
from prunemodels.models.boosting.boosted import usage_of
from prunemodels.models.boosting.majoriser import state_of
from prunemodels.models.boosting.refitting import refitted
from prunemodels.models.boosting.seeds import Part
from prunemodels.models.libraries.model_forest import ModelForest
from prunemodels.models.losses import loss_of

RIDGES = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
"""The weight of each leaf's present value, in rows."""

LAMBDAS = 4
"""Number of lambdas of a trade-off; its descents find the prunings between them. Twice as many take twice the time and change
nothing."""

MOST_WORK = 1_000_000
"""Largest product of rows and trees for a trade-off, which then takes half a minute; larger models are pruned on fewer rows."""

MOST_PRUNED, BUDGETS_BELOW = 5, 4
"""Largest number of models that are pruned, evenly spaced among those that validation chose, and of budgets below its cost for
which each is pruned. With these, a unit on large data takes about eight minutes."""

MOST_ROUNDS, ERROR_FACTOR = {True: 800, False: 100}, 1.15
"""Largest number of rounds that are refitted or pruned, on small and on large data; of longer models the first ones are pruned.
On large data, rounds are refitted only if their present error is at most this factor times the least error at no more cost."""

LEAST_ROUNDS = {True: 100, False: 40}
"""Twice the number of rounds that validation chose for CEGB are grown, and at least this many, on small and on large data."""

SETTING_ENDS = dict.fromkeys(("leaves", "lam"), "chosen for CEGB, between neighbours that are no better")
RIDGE_ENDS = {RIDGES[0]: "no refit lies beyond, and is tried", RIDGES[-1]: "the rows decide all"}


@dataclass(frozen=True, eq=False)
class Trees:
    """The first rounds of a model, routed for the rows on which they are measured.

    Parameters
    ----------
    predict_s
        seconds to predict 1,000 rows.
    """

    problem: Problem
    valid: Part
    test: Part
    predict_s: float

    @classmethod
    def of(cls, problem: Problem, model: ModelForest, rounds: int) -> Trees:
        """The first rounds of a model."""
        row = model.rows(problem.valid.X[:1])
        loss = loss_of(model, problem.valid.y[:1], 1)
        whole = Part.whole(model, usage_of(model, row, problem.costs), loss)
        first = whole.inside(model.ensemble.is_split, rounds * model.n_outputs).forest
        parts = []
        for some in (problem.valid, problem.test):
            rows = first.rows(some.X)
            parts.append(Part.whole(first, usage_of(first, rows, problem.costs), loss_of(first, some.y, len(rows))))
        start = time.process_time()
        first.margins(first.rows(problem.valid.X))
        seconds = (time.process_time() - start) / len(problem.valid.X) * 1000
        return cls(problem, parts[0], parts[1], seconds)

    @property
    def forest(self) -> ModelForest:
        """The model."""
        return self.valid.forest

    def measured(
        self, forest: ModelForest, kept: NDArray[np.bool_], params: Mapping[str, Value], fit_s: float, ends: Mapping[str, str]
    ) -> Candidate:
        """A pruning as a candidate; `forest` may have other values in the same leaves."""
        valid, test = (
            _predictions(forest, state_of(forest, part.usage, part.loss, kept).margins) for part in (self.valid, self.test)
        )
        paid = self.valid.usage.cost(kept), self.test.usage.cost(kept)
        return candidate(self.problem, params, valid, test, paid, fit_s, self.predict_s, ends)

    def refits(
        self, forest: ModelForest, kept: NDArray[np.bool_], plain: Candidate, name: str = "ridge"
    ) -> Iterator[tuple[Candidate, ModelForest]]:
        """The same splits with all leaves refitted; the ridge falls until validation error and loss both get worse."""
        start, train, last = time.process_time(), self.problem.train, plain
        rows = forest.rows(train.X)
        loss = loss_of(forest, train.y, len(rows))
        for ridge, fitted in refitted(forest, kept, rows, loss, np.ones(len(rows)), RIDGES):
            ends = {**plain.ends, **({name: RIDGE_ENDS[ridge]} if ridge in RIDGE_ENDS else {})}
            seconds = plain.fit_s + time.process_time() - start
            found = self.measured(fitted, kept, {**plain.params, name: ridge}, seconds, ends)
            yield found, fitted
            if found.valid_error >= last.valid_error and found.valid_loss >= last.valid_loss:
                return
            last = found

    def prunings(self, forest: ModelForest, plain: Candidate) -> Iterator[tuple[Candidate, pm.other_libraries.BoostedPruning]]:
        """The model pruned on training rows to budgets below its cost."""
        budgets = [b for b in self.problem.budgets if b < plain.valid_cost][-BUDGETS_BELOW:]
        if not budgets:
            return
        start, train = time.process_time(), self.problem.train
        n = min(len(train.y), max(1, MOST_WORK // forest.ensemble.n_trees))
        some = np.linspace(0, len(train.y) - 1, n).round().astype(np.int64)
        path = pm.other_libraries.boosted_path(
            collapsible(forest, train.X), train.X[some], train.y[some], costs=self.problem.costs, lams=LAMBDAS
        )
        ends = {**plain.ends, "budget": "the benchmark's own"}
        for budget in budgets:
            pruning = self._within(path, budget)
            if pruning is not None:
                seconds = plain.fit_s + time.process_time() - start
                params = {**plain.params, "budget": budget}
                yield self.measured(pruning.forest, pruning.kept, params, seconds, ends), pruning

    def _within(self, path: pm.other_libraries.BoostedPath, budget: float) -> pm.other_libraries.BoostedPruning | None:
        """The dearest pruning of the front that is within the budget on the validation part; None if it has no split."""
        for pruning in reversed(path.front):
            if pruning.cost <= 1.2 * budget and self.valid.usage.cost(pruning.kept) <= budget:
                return pruning if pruning.kept.any() else None
        return None


def _predictions(forest: ModelForest, margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers, or probabilities of the classes."""
    if forest.classes is None:
        return margins[:, 0]
    return np.asarray(softmax(margins, axis=1)) if margins.shape[1] > 1 else two_columns(expit(forest.sharpness * margins[:, 0]))


def collapsible(forest: ModelForest, X: NDArray[np.float32]) -> ModelForest:
    """The model with values at its splits: the means of their present leaves, weighted by training rows."""
    leaves = leaves_of(forest.ensemble, forest.rows(X))
    return forest.with_cover(np.bincount(leaves.ravel(), minlength=forest.ensemble.n_nodes).astype(np.float64))


class GrownPruned:
    """One unit: the candidates found, and the models that they come from."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.small = problem, problem.is_small
        self.found: list[Candidate] = []
        self.grown: dict[tuple[int, int], cegb.Grown] = {}

    def grow(self, settings: Sequence[Mapping[str, Value]]) -> None:
        """Grow CEGB's models of some settings; their first rounds are candidates."""
        rounds: dict[tuple[int, int], int] = {}
        for s in settings:
            key = int(s["leaves"]), cegb.rung_of(s)
            rounds[key] = max(rounds.get(key, LEAST_ROUNDS[self.small]), 2 * int(s["rounds"]))
        most = cegb.MOST_ROUNDS[self.small]
        for key, wanted in sorted(rounds.items()):
            self.grown[key] = cegb.grow(self.problem, *key, min(wanted, most))
            plain = cegb.rounds_of(self.problem, self.grown[key])
            ends = {**SETTING_ENDS, **({"rounds": "twice what was chosen for CEGB"} if wanted < most else {})}
            self.found += [replace(c, ends={**ends, **c.ends}) for c in plain]

    def refit(self) -> None:
        """Add the first rounds with their leaves refitted."""
        for c in [c for c in self.found if self._promising(c)]:
            trees = self._trees(c)
            self.found += [fitted for fitted, _ in trees.refits(trees.forest, trees.forest.ensemble.is_split, c)]

    def _promising(self, c: Candidate) -> bool:
        if not c.valid_cost or int(c.params["rounds"]) > MOST_ROUNDS[self.small]:
            return False
        least = min(other.valid_error for other in self.found if other.valid_cost <= c.valid_cost)
        return self.small or c.valid_error <= ERROR_FACTOR * least

    def _trees(self, c: Candidate) -> Trees:
        model = self.grown[int(c.params["leaves"]), cegb.rung_of(c.params)].model
        return Trees.of(self.problem, model.forest_, int(c.params["rounds"]))

    def prune(self) -> None:
        """Add prunings of some of the models that validation chose so far, unchanged and refitted."""
        chosen = [self._short(w) for w in winners(self.found, self.problem.budgets) if w.valid_cost > self.problem.budgets[0]]
        dear = sorted({id(c): c for c in chosen}.values(), key=lambda c: -c.valid_cost)
        for k in sorted({int(k) for k in np.linspace(0, len(dear), MOST_PRUNED, endpoint=False)}) if dear else []:
            trees, forest, base = self._again(dear[k])
            for c, pruning in trees.prunings(forest, base):
                self.found += [c, *(fitted for fitted, _ in trees.refits(pruning.forest, pruning.kept, c))]

    def _short(self, c: Candidate) -> Candidate:
        """The candidate, or the one of its setting with the most rounds that are allowed."""
        most = MOST_ROUNDS[self.small]
        if int(c.params["rounds"]) <= most:
            return c
        short = [o for o in self.found if {**o.params, "rounds": 0} == {**c.params, "rounds": 0}]
        return max((o for o in short if int(o.params["rounds"]) <= most), key=lambda o: int(o.params["rounds"]))

    def _again(self, base: Candidate) -> tuple[Trees, ModelForest, Candidate]:
        """The model of a candidate, refitted again if it was refitted, and the candidate whose parameters its prunings take."""
        trees = self._trees(base)
        if "ridge" not in base.params:
            return trees, trees.forest, base
        params = {name: value for name, value in base.params.items() if name != "ridge"}
        plain = next(c for c in self.found if c.params == params)
        again = trees.refits(trees.forest, trees.forest.ensemble.is_split, plain, "first_ridge")
        return next((trees, forest, c) for c, forest in again if c.params["first_ridge"] == base.params["ridge"])


def grown_pruned(problem: Problem, scouted: Sequence[Mapping[str, Value]] | None) -> Iterator[Candidate]:
    """All candidates; the settings are those chosen for CEGB on all seeds, so `scouted` is not needed."""
    unit = GrownPruned(problem)
    unit.grow(cegb.settings(problem))
    unit.refit()
    unit.prune()
    yield from unit.found


def refuses(problem: Problem) -> str | None:
    """Refuse several classes on large data: a round has a tree for each class, which leaves too few rows for a trade-off."""
    many = problem.n_classes > 2 and not problem.is_small
    return "a round has a tree a class, too many to prune on more than a few rows" if many else None
