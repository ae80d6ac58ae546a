"""Cascades where a missed positive costs ten false alarms, against ten lines of LightGBM that are chosen for the same measure.

    python -m benchmarks.mistakes [--data adult credit caravan] [--splits 5] [--together]

Every purchase costs 1; columns that code one word are one purchase. The test parts of the splits share no rows. Of the others
`TRAIN` rows are for training and `VALID` for validation, which every method gets. A method says of each test row how likely it is
positive, and whether it counts as positive; three measures judge it, each by a mean over rows but the last:

    mistakes      10 [positive, not so called] + [negative, called positive]
    log loss      - log of the probability of the true class
    1 - AUC       the share of pairs of a positive and a negative row that are in the wrong order

With `--together` cascades get the rows of both parts as one table, and hold rows out as they do by themselves.

The methods are the cascade as it comes with `mistakes=`, with `loss="log_loss"`, and with neither; then

    one set       LightGBM on the k most important purchases, and from which probability on a row is positive
    two stages    the same; the rows nearest to that probability go on to a second set, so many that validation pays the budget

For each budget and measure validation chooses k, the two sets and the probability among all that pay at most the budget there;
every set has the number of leaves and of rounds that validation prefers. Intervals are of the cascade less the other, paired,
95 %: the wider one of Student's over the splits, and of the normal one over all test rows.
"""

from __future__ import annotations

import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logit
from scipy.stats import rankdata
from sklearn.model_selection import StratifiedKFold, train_test_split
from threadpoolctl import threadpool_limits

import prunemodels as pm
from benchmarks.data.packaged import packaged_file
from benchmarks.frontier.candidate import LEAST_PROBABILITY
from benchmarks.frontier.problem import Part, Problem
from benchmarks.frontier.rivals.boosted import LEAVES, Boosted, Setting, lightgbm_engine
from benchmarks.frontier.tables import paired
from benchmarks.measuring import command_line, markdown

MISSED = 10.0  # what a missed positive costs, in false alarms
TRAIN, VALID, TEST = 9000, 3000, 8000
BUDGETS = (1.0, 1.5, 2.5, 4.0, 7.0)
CUTS = tuple(1 / (1 + np.exp(-np.linspace(-5, 2, 22))))  # probabilities from which on a row is positive
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Source:
    """A file, its column of labels and the label of positives, columns to drop, and the words that several columns code."""

    file: Callable[[], Path]
    label: str
    positive: object
    drop: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


ADULT = ("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country")

SOURCES = {
    "adult": Source(partial(packaged_file, "adult"), "salary_>50K", 1, ("salary_<=50K",), ADULT),
    "credit": Source(
        partial(packaged_file, "UCI_Credit_Card"), "default-payment-next-month", 1, ("ID",), ("EDUCATION", "MARRIAGE")
    ),
    "caravan": Source(partial(packaged_file, "Caravan"), "Purchase", "Yes"),
}


def load(name: str) -> tuple[pd.DataFrame, NDArray[np.int64], pm.CostItems]:
    """Columns, labels with 1 for the rare class, and purchases."""
    source = SOURCES[name]
    table = pd.read_csv(source.file()).drop(columns=list(source.drop))
    y = (table.pop(source.label) == source.positive).to_numpy(np.int64)
    word = [c.split("_")[0] if c.split("_")[0] in source.words else c for c in table.columns]
    return table.astype(np.float64), y, pm.CostItems.grouped(word, dict.fromkeys(word, 1))


def problems(name: str, splits: int) -> Iterator[Problem]:
    """The splits, one after another."""
    X, y, items = load(name)
    values = X.to_numpy(np.float32)
    for seed, (rest, test) in enumerate(StratifiedKFold(splits, shuffle=True, random_state=0).split(values, y)):
        valid_rows = min(VALID, len(rest) // 4)
        train_rows = min(TRAIN, len(rest) - valid_rows)
        train, other = train_test_split(rest, train_size=train_rows, stratify=y[rest], random_state=seed)
        valid, _ = train_test_split(other, train_size=min(valid_rows, len(other) - 2), stratify=y[other], random_state=seed)
        parts = [Part(values[rows], y[rows]) for rows in (train, valid, test[:TEST])]
        yield Problem(name, seed, "classification", 2, parts[0], parts[1], parts[2], items, BUDGETS)


@dataclass(frozen=True)
class Answer:
    """What a method says of rows within a budget: how likely each is positive, whether it counts so, and what is paid."""

    chance: Numbers
    positive: NDArray[np.bool_]
    paid: float


def mistakes(y: NDArray[np.int64], answer: Answer) -> Numbers:
    return np.where(y == 1, MISSED * ~answer.positive, answer.positive)


def log_loss(y: NDArray[np.int64], answer: Answer) -> Numbers:
    return -np.log(np.clip(np.where(y == 1, answer.chance, 1 - answer.chance), LEAST_PROBABILITY, 1))


def wrong_pairs(y: NDArray[np.int64], answer: Answer) -> Numbers:
    n = int(y.sum())
    return np.array([1 - (rankdata(answer.chance)[y == 1].mean() - (n + 1) / 2) / (len(y) - n)])


MEASURES: dict[str, Callable[[NDArray[np.int64], Answer], Numbers]] = {
    "mistakes": mistakes,
    "log loss": log_loss,
    "1 - AUC": wrong_pairs,
}

CASCADES: dict[str, Mapping[str, object]] = {
    "cascade, mistakes": {"mistakes": {(1, 0): MISSED}},
    "cascade, log loss": {"loss": "log_loss"},
    "cascade, error": {},
}
OURS = {"mistakes": "cascade, mistakes", "log loss": "cascade, log loss", "1 - AUC": "cascade, log loss"}


def cascade_answers(problem: Problem, options: Mapping[str, object], *, together: bool = False) -> list[Answer]:
    """The cascade as it comes, one object for all budgets."""
    train, valid, test = (part.table for part in (problem.train, problem.valid, problem.test))
    model = pm.BudgetCascadeClassifier(costs=problem.costs, lam=0, random_state=problem.seed, verbose=0, **options)
    with threadpool_limits(1):
        if together:
            model.fit(pd.concat([train, valid], ignore_index=True), np.concatenate([problem.train.y, problem.valid.y]))
        else:
            model.fit(train, problem.train.y, X_valid=valid, y_valid=problem.valid.y)
        found = []
        for budget in problem.budgets:
            policy = model.at_cost(budget)
            chance, paid = policy.predict_proba(test)[:, 1], float(policy.prediction_cost(test).mean())
            # probabilities of a cascade that was not told what mistakes cost are cut where it would be
            positive = policy.predict(test) == 1 if options.get("loss") is None else chance > 1 / (1 + MISSED)
            found.append(Answer(chance, positive, paid))
    return found


@dataclass(frozen=True)
class OneSet:
    """A model of the columns of the most important purchases: its price, and what it says of validation and test rows."""

    price: float
    valid: Numbers
    test: Numbers


def sets_of(problem: Problem) -> list[OneSet]:
    """LightGBM on nested sets of the most important purchases."""
    gain = best(problem, range(problem.n_features)).gain
    assert gain is not None
    of_item = np.zeros(problem.costs.n_items)
    for f, needed in enumerate(problem.costs.needs):
        of_item[list(needed)] += gain[f]
    order = np.argsort(-of_item, kind="stable")
    sizes = sorted({*range(1, 10), *np.geomspace(10, len(order), 8).astype(int)} & {*range(1, len(order) + 1)})
    found = []
    for size in sizes:
        bought = set(order[:size].tolist())
        columns = [f for f, needed in enumerate(problem.costs.needs) if bought.issuperset(needed)]
        model = best(problem, columns)
        found.append(OneSet(float(size), *(model.predict(part.X)[:, 1] for part in (problem.valid, problem.test))))
    return found


def best(problem: Problem, columns: Sequence[int]) -> Boosted:
    """The model with the number of leaves from which on either side the validation loss rises."""

    def fitted(rung: int) -> tuple[float, Boosted]:
        model = lightgbm_engine(problem, columns, Setting(LEAVES[rung], 0.05))
        chance = model.predict(problem.valid.X)[:, 1]
        return float(log_loss(problem.valid.y, Answer(chance, chance > 0, 0.0)).mean()), model

    rung = LEAVES.index(8)
    least = fitted(rung)
    for step in (1, -1):
        while 0 <= rung + step < len(LEAVES) and (other := fitted(rung + step))[0] < least[0]:
            rung, least = rung + step, other
    return least[1]


Choice = tuple[OneSet, OneSet, float, float]  # two sets, the probability, and how far from it (in log odds) rows go on


def said(choice: Choice, *, test: bool) -> Answer:
    """What the rows of validation, or of the test, are told."""
    first, second, cut, reach = choice
    a, b = (first.test, second.test) if test else (first.valid, second.valid)
    go = distance(a, cut) <= reach
    chance = np.where(go, b, a)
    return Answer(chance, chance > cut, first.price + float(go.mean()) * (second.price - first.price))


def distance(chance: Numbers, cut: float) -> Numbers:
    return np.abs(logit(np.clip(chance, 1e-9, 1 - 1e-9)) - logit(cut))


def choices(sets: Sequence[OneSet], budget: float, *, two: bool) -> Iterator[Choice]:
    """What pays at most the budget on validation rows."""
    for first, cut in product(sets, CUTS):
        if first.price > budget:
            continue
        yield first, first, cut, -1.0
        if two:
            away = distance(first.valid, cut)
            level, count = np.unique(away, return_counts=True)
            for second in sets:
                if second.price > budget:
                    share = (budget - first.price) / (second.price - first.price)
                    within = level[np.cumsum(count) <= share * len(away)]
                    yield first, second, cut, float(within[-1]) if within.size else -1.0


def ten_lines(problem: Problem, sets: Sequence[OneSet], measure: str, *, two: bool) -> list[tuple[Answer, Choice]]:
    """For each budget what validation prefers by the measure."""

    def harm(choice: Choice) -> float:
        return float(MEASURES[measure](problem.valid.y, said(choice, test=False)).mean())

    found = [min(choices(sets, budget, two=two), key=harm) for budget in problem.budgets]
    return [(said(choice, test=True), choice) for choice in found]


Seen = dict[tuple[str, float, str], list[tuple[Numbers, float]]]
"""By measure, budget and method: what the rows of each split lose, and what they pay."""


def judged(name: str, splits: int, *, together: bool) -> Iterator[Seen]:
    """What was seen after each split."""
    seen: Seen = defaultdict(list)
    for problem in problems(name, splits):
        start, y = time.process_time(), problem.test.y

        def keep(measure: str, budget: float, method: str, answer: Answer, y: NDArray[np.int64] = y) -> None:
            seen[measure, budget, method].append((MEASURES[measure](y, answer), answer.paid))

        for method, options in CASCADES.items():
            for budget, answer in zip(problem.budgets, cascade_answers(problem, options, together=together), strict=True):
                for measure in MEASURES:
                    keep(measure, budget, method, answer)
        sets = sets_of(problem)
        for measure, (method, two) in product(MEASURES, (("two stages", True), ("one set", False))):
            for budget, (answer, choice) in zip(problem.budgets, ten_lines(problem, sets, measure, two=two), strict=True):
                keep(measure, budget, method, answer)
                if choice[2] in (CUTS[0], CUTS[-1]) and measure == "mistakes":
                    warnings.warn(f"{name}, {problem.seed}, {method}, {budget:g}: the probability is an edge", stacklevel=2)
        print(f"{name}, split {problem.seed}: {time.process_time() - start:.0f} CPU s", flush=True)
        yield seen


def difference(ours: Sequence[Numbers], others: Sequence[Numbers]) -> tuple[float, float]:
    """The mean difference, and half the width of the wider interval."""
    mean, half = paired([a.mean() for a in ours], [b.mean() for b in others])
    rows = np.concatenate(ours) - np.concatenate(others)
    over_rows = 1.96 * float(rows.std(ddof=1)) / np.sqrt(len(rows)) if len(rows) > len(ours) else np.nan
    return mean, float(np.fmax(half, over_rows))


def table(seen: Seen, measure: str) -> str:
    """What each method loses and pays at each budget; in brackets the cascade less the other, where it is beyond the interval."""
    methods = [*CASCADES, "two stages", "one set"]
    own, lines = OURS[measure], []
    for method in methods:
        cells = []
        for budget in BUDGETS:
            lost, paid = zip(*seen[measure, budget, method], strict=True)
            ours = [loss for loss, _ in seen[measure, budget, own]]
            mean, half = difference(ours, lost)
            by = "" if method == own else f" ({mean:+.4f} ± {half:.4f})"
            cells.append(f"{np.mean([a.mean() for a in lost]):.4f}{by}, {np.mean(paid):.2f}")
        lines.append([f"**{method}**" if method == own else method, *cells])
    return markdown([measure, *(f"{b:g}" for b in BUDGETS)], lines)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--data", nargs="+", default=list(SOURCES), choices=list(SOURCES))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--together", action="store_true", help="cascades hold rows out by themselves")
    given = parser.parse_args()
    for name in given.data:
        for seen in judged(name, given.splits, together=given.together):
            for measure in MEASURES:
                print(f"\n{name}\n\n{table(seen, measure)}\n", flush=True)


if __name__ == "__main__":
    main()
