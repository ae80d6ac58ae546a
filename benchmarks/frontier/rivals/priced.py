"""Rivals whose training pays prices: CEGB by LightGBM's penalties, GreedyMiser, and CatBoost's penalties.

Each has a price in its loss, a size of its trees and a number of rounds. On the first seed the price is climbed for every size,
sizes are added while validation chooses the last one, and models that were chosen at their last round get twice the rounds. The
other seeds take the settings that were chosen there. The price is in units of `lambda_scale`, so that all data sets have the same
grid.

Neither library's penalties can express that features share an item. So the trees grow with the price of each feature alone, and
their examples pay the real items (CEGB, GreedyMiser), or all items of the features that the model uses (CatBoost).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.frontier.candidate import Candidate, Method, Scouted, Value, climb, measured, prefixes, winners
from benchmarks.frontier.problem import Problem
from benchmarks.frontier.rivals.boosted import STOPPING_ROUNDS, least_in_leaf
from prunemodels.rivals.cegb import CEGBClassifier, CEGBRegressor
from prunemodels.rivals.greedy_miser import GreedyMiserClassifier, GreedyMiserRegressor

RATE = 0.2  # learning rate of all three


def lambda_scale(problem: Problem) -> float:
    """The unit of lambda: prices differ by orders of magnitude, and so do the losses of regressions."""
    loss = float(problem.train.y.var()) if problem.task == "regression" else 1.0
    return loss * problem.n_features / max(problem.full_price, 1e-12)


@dataclass(frozen=True)
class Priced:
    """How a rival is searched, by the names of its size and its price.

    `fit` makes the candidates of one model: of the problem, size, price and rounds. There are `per_decade` rungs of the price for
    a factor of ten; the lowest is too small to matter, at the highest no feature is worth its price. `least` is the least size,
    and why it is. `start` has the first sizes, rungs and number of rounds, `beyond` the next sizes, of those that validation
    chose and those that were tried; `most_rounds` are for small data or not. `narrows`: later sizes climb from the rungs that
    were chosen for the first ones.
    """

    fit: Callable[[Problem, int, float, int], list[Candidate]]
    size: str
    price: str
    per_decade: int
    lowest: int
    highest: int
    least: tuple[int, str]
    start: Callable[[Problem], tuple[list[int], range, int]]
    beyond: Callable[[set[int], set[int]], list[int]]
    most_rounds: Mapping[bool, int]
    narrows: bool = False

    def __call__(self, problem: Problem, scouted: Scouted) -> Iterator[Candidate]:
        """All candidates: those of the chosen settings, or of all that are searched on the first seed."""
        todo, rungs, rounds = self.start(problem)
        found: list[Candidate] = []
        for size, rung in sorted({self._setting(s) for s in scouted or ()}):
            found += self.models(problem, size, rung, rounds)
        tried: set[int] = set()
        while todo and not scouted:
            tried.add(size := todo.pop(0))
            fit = partial(self.models, problem, size, rounds=rounds)
            found += climb(fit, list(rungs), self.lowest, self.highest, problem.budgets)
            if not todo:
                chosen = winners(found, problem.budgets)
                todo = self.beyond({int(w.params[self.size]) for w in chosen if self.size not in w.ends}, tried)
                used = [self._setting(w.params)[1] for w in chosen if w.params]
                rungs = range(min(used), max(used) + 1) if self.narrows and used else rungs
        while rounds < self.most_rounds[problem.is_small]:
            at_limit = [w for w in winners(found, problem.budgets) if w.params["rounds"] == rounds and "rounds" not in w.ends]
            if not at_limit:
                break
            rounds *= 2
            for size, rung in sorted({self._setting(w.params) for w in at_limit}):
                found += self.models(problem, size, rung, rounds)
        yield from found

    def _setting(self, params: Mapping[str, Value]) -> tuple[int, int]:
        """Size and rung of the price."""
        return int(params[self.size]), round(self.per_decade * math.log10(float(params[self.price])))

    def models(self, problem: Problem, size: int, rung: int, rounds: int) -> list[Candidate]:
        ends = {self.price: "too small to matter"} if rung == self.lowest else {}
        if size == self.least[0]:
            ends[self.size] = self.least[1]
        found = self.fit(problem, size, float(f"{10 ** (rung / self.per_decade):.3g}"), rounds)
        if not any(c.valid_cost for c in found):
            ends |= dict.fromkeys((self.price, self.size), "nothing is bought")
        return [Candidate(**{**vars(c), "ends": {**ends, **c.ends}}) for c in found]


def _staged(
    kinds: tuple[Any, Any],
    name: str,
    own: Callable[[Problem, int], dict[str, Any]],
    problem: Problem,
    size: int,
    price: float,
    rounds: int,
) -> list[Candidate]:
    is_regression = problem.task == "regression"
    start = time.process_time()
    model = kinds[is_regression](
        costs=problem.costs,
        lam=price * lambda_scale(problem),
        n_estimators=rounds,
        learning_rate=RATE,
        random_state=problem.seed,
        **own(problem, size),
    ).fit(problem.train.X, problem.train.y)
    seconds = time.process_time() - start
    stages = model.staged_predict if is_regression else model.staged_predict_proba
    done = len(model.staged_cost(problem.valid.X[:2]))
    exhausted = "no split is worth its price" if done < rounds else ""
    return prefixes(problem, {name: size, "lam": price}, stages, model.staged_cost, done, seconds, {}, exhausted=exhausted)


def _cegb(problem: Problem, leaves: int) -> dict[str, Any]:
    """CEGB (Peter and others 2017)."""
    own = {"num_leaves": leaves, "min_child_samples": least_in_leaf(problem)}
    return {"training_costs": problem.alone, "n_jobs": 1, **own}


def _catboost(problem: Problem, depth: int, price: float, rounds: int) -> list[Candidate]:
    """One model of CatBoost, stopped early: each feature is charged when a tree first uses it."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    kind: Any = CatBoostRegressor if problem.task == "regression" else CatBoostClassifier
    model = kind(
        iterations=rounds,
        learning_rate=RATE,
        depth=depth,
        thread_count=1,
        verbose=0,
        allow_writing_files=False,
        random_seed=problem.seed,
        od_type="Iter",
        od_wait=STOPPING_ROUNDS,
        first_feature_use_penalties=(problem.alone / problem.alone.mean()).tolist(),
        penalties_coefficient=price,
    )
    start = time.process_time()
    model.fit(problem.train.X, problem.train.y, eval_set=(problem.valid.X, problem.valid.y))
    seconds = time.process_time() - start
    used = np.flatnonzero(np.asarray(model.get_feature_importance(type="PredictionValuesChange")) > 0)
    trees = int(model.tree_count_)
    ends = {"rounds": "the validation loss rose"} if trees < rounds else {}
    params: dict[str, Value] = {"depth": depth, "penalty": price, "rounds": trees}
    predict = model.predict if problem.task == "regression" else model.predict_proba
    return [measured(problem, params, lambda X: np.asarray(predict(X)), problem.price_of(used), seconds, ends)]


def _start(problem: Problem, small: Any, classes: Any, large: Any) -> Any:
    """The start on small data, on large data of several classes, and on other large data."""
    sizes, rungs, rounds = small if problem.is_small else classes if problem.n_classes > 2 else large
    return list(sizes), rungs, rounds


def _more_leaves(used: set[int], tried: set[int]) -> list[int]:
    more = [max(2, min(tried) // 4)] if min(tried) in used and min(tried) > 2 else []
    return [*more, max(tried) * (4 if max(tried) < 64 else 2)] if max(tried) in used and max(tried) < 512 else more


def _more_depth(most: int, less: Callable[[int], int], used: set[int], tried: set[int]) -> list[int]:
    if max(tried) in used and max(tried) < most:
        return [max(tried) + (2 if max(tried) < 8 or most < 16 else 4)]
    return [less(min(tried))] if min(tried) in used and min(tried) > 1 else []


ONE_SPLIT = (1, "one split a tree is the fewest")

CEGB = Priced(
    partial(_staged, (CEGBClassifier, CEGBRegressor), "leaves", _cegb),
    "leaves",
    "lam",
    per_decade=3,
    lowest=-14,
    highest=2,
    least=(2, "a tree has two leaves at least"),
    start=partial(
        _start, small=((16, 4), range(-10, -1, 2), 100), classes=((64,), range(-7, -3), 80), large=((256, 64), range(-8, -3), 200)
    ),
    beyond=_more_leaves,
    most_rounds={True: 800, False: 400},  # 400 rounds of 512 leaves take a minute for each model
    narrows=True,
)

GREEDY_MISER = Priced(
    partial(  # Xu and others 2012: boosted trees that pay for each feature once
        _staged,
        (GreedyMiserClassifier, GreedyMiserRegressor),
        "depth",
        lambda problem, depth: {"max_depth": depth, "min_samples_leaf": least_in_leaf(problem)},
    ),
    "depth",
    "lam",
    per_decade=2,
    lowest=-12,
    highest=4,
    least=ONE_SPLIT,
    start=partial(
        _start, small=((4, 2), range(-8, 0, 2), 60), classes=((6,), range(-8, -3), 40), large=((8, 4), range(-8, -3), 120)
    ),
    beyond=partial(_more_depth, 16, lambda depth: depth // 2),
    most_rounds={True: 900, False: 480},
)

CATBOOST = Priced(
    _catboost,
    "depth",
    "penalty",
    per_decade=2,
    lowest=-10,
    highest=12,
    least=ONE_SPLIT,
    start=partial(
        _start, small=((4, 6), range(-2, 6), 1000), classes=((8, 6), range(-2, 6), 500), large=((8, 6), range(-2, 6), 500)
    ),
    beyond=partial(_more_depth, 12, lambda depth: max(1, depth - 2)),
    most_rounds={True: 1000, False: 500},
)


def _refuses_catboost(problem: Problem) -> str | None:
    if find_spec("catboost") is None:
        return "CatBoost is not installed"
    return None if problem.n_classes <= 3 else "many classes take minutes a model"


METHODS = [
    Method("CEGB", CEGB),
    Method("CatBoost's penalties", CATBOOST, refusal=_refuses_catboost),
    Method("GreedyMiser", GREEDY_MISER),
]
