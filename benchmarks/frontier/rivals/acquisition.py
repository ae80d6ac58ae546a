"""Rows that buy one feature after another as a network says, and every place where they may stop.

The whole walk of each row is followed until it owns everything, or has bought `MOST_PURCHASES` times. After t purchases it has
paid C_t, is predicted p_t, and its next purchase has the score s_t. A rule stops a row at the first t with

    value:       s_t < threshold          (of the value network: value per price)                                (7)
    budget:      C_{t+1} > threshold      (or nothing is left to buy)                                            (8)
    confidence:  entropy of p_t < threshold                                                                      (9)

and at the last t of its walk otherwise. Thresholds are `LEVELS` quantiles of what the validation rows meet; of all stops those
stay that validation chooses at some budget. Settings are tuned one hyperparameter after the other (`candidate.climb_each`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.frontier.candidate import Candidate, Scouted, Value, candidate, climb_each, winners
from benchmarks.frontier.problem import Problem
from benchmarks.frontier.rivals import masked_networks
from benchmarks.frontier.rivals.masked_networks import Network, Rows, Setting, Table, Tensor, torch

MOST_PURCHASES = 30  # of large problems; the curves are flat long before
LEVELS = 60
ROWS_AT_ONCE = 4096
Train = Callable[[Table, Rows, Setting], "Buyer"]


@dataclass(frozen=True)
class Buyer:
    """A predictor, and a score of each feature that a row may buy next: (predictor's outputs, input, owned) -> (N, n_features).
    The feature of the highest score is bought. `stops_by_value` tells whether scores are values to which (7) applies.
    """

    predictor: Network
    scores: Callable[[Tensor, Tensor, Tensor], Tensor]
    stops_by_value: bool


def trained(
    table: Table, rows: Rows, setting: Setting, *, step: Callable[..., Tensor], score: Callable[..., Tensor], stops_by_value: bool
) -> Buyer:
    """A pretrained predictor, and a network of scores that begins with its hidden layers. `step` trains both at what some rows
    own, and returns what they own next; each row keeps that until its next step.
    """
    f = masked_networks.pretrained(table, rows, setting)
    g = masked_networks.with_other_outputs(f, table.problem.n_features)
    optimizers = [torch().optim.Adam(net.parameters(), lr=setting.rate) for net in (f, g)]
    owned = table.bought_at_random(len(rows))
    for which, done in masked_networks.batches(len(rows), optimizers, setting):
        owned[which] = step(table, f, g, optimizers, rows.take(which), owned[which], done)
    f.eval(), g.eval()
    return Buyer(f, partial(score, table, g), stops_by_value)


@dataclass(frozen=True, eq=False)
class Walks:
    """N rows after t = 0, ..., T purchases: what they are predicted, have paid, the next score and what would then be paid. Where
    nothing is left to buy, the next score is -inf and the next cost inf.
    """

    predictions: NDArray[np.float64]
    paid: NDArray[np.float64]
    score: NDArray[np.float64]
    next_paid: NDArray[np.float64]

    def criteria(self, n_classes: int, stops_by_value: bool) -> dict[str, NDArray[np.float64]]:
        """For each rule a number, shape (N, T + 1), that stops a row when it is below the threshold."""
        found = {"budget": -self.next_paid}
        if stops_by_value:
            found["value"] = self.score
        if n_classes:
            p = np.clip(self.predictions, 1e-9, 1)
            found["confidence"] = -(p * np.log(p)).sum(axis=2)
        return found

    def stopped(self, criterion: NDArray[np.float64], threshold: float) -> tuple[NDArray[np.float64], float]:
        """Predictions and the mean cost, where rows stop below a threshold."""
        below = (criterion < threshold) | np.isinf(self.next_paid)
        below[:, -1] = True
        place = np.arange(len(below)), below.argmax(axis=1)
        return self.predictions[place], float(self.paid[place].mean())


def entropy(outputs: Tensor) -> Tensor:
    """The entropy of the classes' probabilities."""
    log = outputs.log_softmax(dim=1)
    return -(log.exp() * log).sum(dim=1)


def walks_of(table: Table, buyer: Buyer, rows: Rows) -> Walks:
    most = len(table.price) if table.problem.is_small else min(len(table.price), MOST_PURCHASES)
    parts = [_walk(table, buyer, rows.take(some), most) for some in torch().arange(len(rows)).split(ROWS_AT_ONCE)]
    return Walks(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _walk(table: Table, buyer: Buyer, rows: Rows, most: int) -> list[NDArray[np.float64]]:
    t, owned, stages = torch(), table.at_start(len(rows)), []
    with t.no_grad():
        for _ in range(most + 1):
            seen = rows.seen(table.mask(owned))
            outputs, price = buyer.predictor(seen), table.next_prices(owned)
            score, feature = buyer.scores(outputs, seen, owned).masked_fill(price == 0, -t.inf).max(dim=1)
            paid = (owned * table.price).sum(dim=1)
            after = t.where(t.isinf(score), t.inf, paid + price.gather(1, feature[:, None])[:, 0])
            stages.append([table.predictions(outputs), *(a.double().numpy() for a in (paid, score, after))])
            owned = t.where(t.isinf(score)[:, None], owned, t.maximum(owned, table.needs[feature]))
    return [np.stack(arrays, axis=1) for arrays in zip(*stages, strict=True)]


def stops(problem: Problem, table: Table, buyer: Buyer, setting: Setting, fit_s: float) -> list[Candidate]:
    """The stopping rules that validation may choose at the problem's budgets."""
    start = time.process_time()
    valid, test = (walks_of(table, buyer, table.rows(part)) for part in (problem.valid, problem.test))
    seconds = (time.process_time() - start) / (len(problem.valid.X) + len(problem.test.X)) * 1000
    found: list[Candidate] = []
    on_test = test.criteria(problem.n_classes, buyer.stops_by_value)
    for rule, on_valid in valid.criteria(problem.n_classes, buyer.stops_by_value).items():
        met = on_valid[np.isfinite(on_valid)]
        if met.size == 0:
            continue
        levels = np.unique(np.quantile(met, np.linspace(0, 1, LEVELS), method="nearest"))
        for threshold in (-np.inf, *levels.tolist(), np.inf):
            said, paid = zip(*(w.stopped(c, threshold) for w, c in ((valid, on_valid), (test, on_test[rule]))), strict=True)
            shown = float(f"{threshold:.4g}") if np.isfinite(threshold) else str(threshold)
            params: dict[str, Value] = {**setting.params, "stop": rule, "threshold": shown}
            ends = {"threshold": "nothing stops earlier, or later", **({"dropout": "none"} if setting.dropout == 0 else {})}
            found.append(candidate(problem, params, said[0], said[1], (paid[0], paid[1]), fit_s, seconds, ends))
    return winners(found, problem.budgets)


GRIDS: dict[str, tuple[float, ...]] = {
    "dropout": (0.0, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8),
    "steps": (125, 250, 500, 1000, 2000, 4000, 8000, 16000, 32000),
    "rate": (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2),
    "width": (8, 16, 32, 64, 128, 256, 512, 1024),
}
"""Rungs of each hyperparameter, in the order in which they are climbed."""

START = {"dropout": 0.2, "steps": 500, "rate": 3e-3, "width": 64}
START_LARGE = {"dropout": 0.1, "steps": 4000, "rate": 1e-3, "width": 256}


def tuned(problem: Problem, scouted: Scouted, train: Train) -> Iterator[Candidate]:
    table = Table(problem)
    rows = table.rows(problem.train)

    def fitted(setting: Setting) -> list[Candidate]:
        start = time.process_time()
        with masked_networks.one_thread(problem.seed):
            buyer = train(table, rows, setting)
            return stops(problem, table, buyer, setting, time.process_time() - start)

    yield from of_settings(problem, scouted, fitted)


def of_settings(problem: Problem, scouted: Scouted, fitted: Callable[[Setting], list[Candidate]]) -> Iterator[Candidate]:
    """The candidates of the scouted settings; without these, of all settings on the climb along `GRIDS`."""

    def of(values: Mapping[str, float]) -> list[Candidate]:
        return fitted(Setting(int(values["width"]), int(values["steps"]), float(values["rate"]), float(values["dropout"])))

    if scouted:
        for values in dict.fromkeys(tuple(float(params[name]) for name in GRIDS) for params in scouted):
            yield from of(dict(zip(GRIDS, values, strict=True)))
        return
    start = {name: GRIDS[name].index(v) for name, v in (START if problem.is_small else START_LARGE).items()}

    def fit(rungs: Mapping[str, int]) -> list[Candidate]:
        return of({name: GRIDS[name][rung] for name, rung in rungs.items()})

    yield from climb_each(fit, start, {name: len(grid) - 1 for name, grid in GRIDS.items()}, problem.budgets)
