"""Every public solver against enumeration in fractions, on small random instances whose numbers are unpleasant.

Instances of even seeds have prices and weights that span up to 24 orders of magnitude and have 0 to 12 decimals; those of odd
seeds are of real numbers, see `benchmarks.fuzzing.real_numbers`. Budgets lie exactly at prunings' costs, one float above or below
them, or between. The references are the prunings of the forest, listed here one by one, and `proofs_checks.optimality.recount`,
which builds the instance from its trees, rows and prices; neither shares code with a solver. Engines are called by their
registries and through `pm.solve`. For each answer:

    the call   ends, without a time limit, within `child.MOST_CALLS` calls of functions                                (0)
    value      is the pruning's, recomputed                                                                               (1)
    bound      is at most the optimum                                                                                     (2)
    OPTIMAL    is said only where the value is the optimum's, up to `PROVEN` of it                                        (3)
    exact      search within a budget ends with the optimum                                                               (6)
    budgets    are kept exactly; floats by costs rounded to floats                                                         (4)
    value      is never above that of the forest of single leaves where that is allowed                                   (5)

    path       at a breakpoint both of its prunings, and the first and the last at the ends: up to the gap that it states   (7)
    refusals   are made when an instance is built, or never                                                                (8)

What floats can hide of a number is `PRECISION` of the error of the forest of single leaves, and of the number itself. What an
instance's rounding may hide is what the answer states, and `PROVEN` at most: nothing is read of how the instance was scaled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks.fuzzing import real_numbers
from benchmarks.fuzzing.child import NeverEndsError, limited
from benchmarks.fuzzing.real_numbers import items, tree_of_any_shape
from formulations import Ensemble, ErrorComponent, NodeErrors, PruningProblem
from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.solution import Solution, Status
from formulations.errors import CapacityOverflowError, PruneModelsError
from formulations.instance.limit import Limit
from proofs_checks.optimality.recount import Recount
from solvers import SOLVERS, pruning_path
from solvers.within import BUDGET_SOLVERS, METHODS
from tests.instances import ensemble_of

PRECISION = Fraction(1, 10**11)
"""Part of the error of the forest of single leaves, and of the value, that floating point may hide."""

PROVEN = Fraction(1, 10**9)
"""How far an answer that is OPTIMAL, or a path, may be from the optimum by rounding, as a share of the value."""

MOST_PRUNINGS = 1500  # instances with more prunings are left out: each is recomputed in fractions
EVERY_TIME = ("min_cut", "price_sharing", "dantzig_wolfe", "primal_dual", "highs_ip1", "highs_closure")
"""Engines that every instance meets; of the others each meets one."""

WITHIN_EVERY_TIME = ("path", "best", "exact")  # the same for budgets


@dataclass(frozen=True, eq=False)
class Enumerated:
    """An instance with all of its prunings; error and cost of each as fractions."""

    problem: PruningProblem
    kept: list[NDArray[np.bool_]]
    error: list[Fraction]
    cost: list[Fraction]

    @property
    def roots(self) -> Fraction:
        """Error of the forest of single leaves."""
        return self.error[0]

    def optimum(self, lam: Fraction) -> Fraction:
        return min(e + lam * c for e, c in zip(self.error, self.cost, strict=True))

    def least_error(self, allowed: Callable[[int], bool]) -> Fraction:
        return min(e for k, e in enumerate(self.error) if allowed(k))

    def number_of(self, kept: NDArray[np.bool_]) -> int:
        return next(k for k, mine in enumerate(self.kept) if np.array_equal(mine, kept))


Judge = Callable[[], Iterator[str]]
Calls = Callable[[Enumerated, np.random.Generator], Iterator[tuple[str, Judge]]]
Build = Callable[[np.random.Generator], PruningProblem]


def findings(seed: int, calls: Calls | None = None, build: Build | None = None) -> Iterator[str]:
    """All that is wrong with the answers to one instance: to those of `calls`, None: of this module."""
    rng = np.random.default_rng(seed)
    drawn = real_numbers.drawn(rng) if seed % 2 and build is None else None
    try:
        instance = enumerated((build or random_instance)(rng) if drawn is None else drawn.build())
    except CapacityOverflowError as error:
        yield from (f"PruningProblem.build: {wrong}" for wrong in drawn.wrong_refusal(str(error))) if drawn else ()
        return
    except Exception as error:
        yield f"PruningProblem.build: raw {type(error).__name__}: {error}" + (f" ({drawn.about})" if drawn else "")
        return
    for call, judge in (calls or _calls)(instance, rng) if instance else ():
        yield from (f"{call}: {wrong}" for wrong in judged(judge))


def judged(judge: Judge) -> Iterator[str]:
    """All that is wrong with one answer; errors and calls without an end are findings, too."""
    try:
        with limited():
            wrong_answers = list(judge())
        yield from wrong_answers
    except NeverEndsError as error:
        yield f"does not end: {error}"
    except CapacityOverflowError as refused:
        yield f"refused an instance that could be built: {refused}"
    except PruneModelsError as error:
        yield f"{type(error).__name__}: {error}"
    except Exception as error:
        yield f"raw {type(error).__name__}: {error}"


def random_instance(rng: np.random.Generator) -> PruningProblem:
    return _grown(rng) if rng.random() < 0.5 else _invented(rng)


def _grown(rng: np.random.Generator) -> PruningProblem:
    """One to three trees of iris; a few of its rows pay."""
    X, y = load_iris(return_X_y=True)
    leaves, seed = int(rng.integers(3, 8)), int(rng.integers(2**31))
    forest = RandomForestClassifier(int(rng.integers(1, 4)), max_leaf_nodes=leaves, random_state=seed).fit(X, y)
    prices, evaluation = _Numbers.of(rng), _Numbers.of(rng)
    rows = rng.choice(len(y), int(rng.integers(2, 12)), replace=False)
    price = 0.0 if rng.random() < 0.4 else evaluation.one()
    return pm.problem_from_forest(forest, X[rows], costs=[prices.one() for _ in range(4)], evaluation_cost=price)


def _invented(rng: np.random.Generator) -> PruningProblem:
    """One to three small trees of any shape, with prices, weights and errors of any size."""
    n_features, n_trees, n_rows = int(rng.integers(1, 5)), int(rng.integers(1, 4)), int(rng.integers(1, 13))
    ensemble, _ = ensemble_of([tree_of_any_shape(rng, n_features, int(rng.integers(0, 8))) for _ in range(n_trees)], n_features)
    errors = rng.integers(0, int(rng.choice([2, 20, 1000])), ensemble.n_nodes).astype(np.float64)
    if rng.random() < 0.3:  # real errors: the gains are rounded
        errors = errors * 10.0 ** rng.uniform(-9, 3) + rng.random(ensemble.n_nodes)
    per_tree = np.full(n_trees, float(rng.integers(1, 50))) if rng.random() < 0.7 else rng.uniform(0.5, 50, n_trees)
    numbers, others = _Numbers.of(rng), _Numbers.of(rng)
    evaluation = 0 if rng.random() < 0.5 else [others.one() for _ in range(n_features)]
    weights = None if rng.random() < 0.6 else np.array([numbers.one() or 1.0 for _ in range(n_rows)])
    return PruningProblem.build(
        ensemble,
        NodeErrors((ErrorComponent(errors, per_tree),)),
        rng.integers(0, 5, (n_rows, n_features)).astype(float),
        items(rng, numbers.one, n_features),
        sample_weight=weights,
        evaluation_cost=evaluation,
    )


def enumerated(problem: PruningProblem) -> Enumerated | None:
    """All prunings in fractions, the forest of single leaves first; None if there are too many."""
    recount, ensemble = Recount(problem), problem.ensemble
    kept: list[tuple[int, ...]] = [()]
    for root in ensemble.roots.tolist():
        ways = list(_ways(ensemble, root))
        if len(ways) * len(kept) > MOST_PRUNINGS:
            return None
        kept = [one + other for one in kept for other in ways]
    masks = [np.isin(np.arange(ensemble.n_nodes), nodes) for nodes in kept]
    error, cost = zip(*map(recount.objective, masks), strict=True)
    return Enumerated(problem, masks, list(error), list(cost))


def _ways(ensemble: Ensemble, h: int) -> Iterator[tuple[int, ...]]:
    """All sets of splits that can be kept below h, the empty one first."""
    yield ()
    if ensemble.left[h] >= 0:
        for left in _ways(ensemble, int(ensemble.left[h])):
            for right in _ways(ensemble, int(ensemble.right[h])):
                yield (h, *left, *right)


@dataclass(frozen=True)
class _Numbers:
    """Prices and weights of one instance: all alike, or of any size and any number of digits."""

    rng: np.random.Generator
    # "plain": small integers; "decimals": so many digits behind the point; "dust": plain ones, far smaller ones, and ones a
    # little above a plain one; "any": over 24 orders of magnitude.
    kind: str
    digits: int

    @classmethod
    def of(cls, rng: np.random.Generator) -> _Numbers:
        return cls(rng, str(rng.choice(["plain", "decimals", "dust", "any"], p=[0.1, 0.3, 0.3, 0.3])), int(rng.integers(1, 13)))

    def one(self) -> float:
        """The next number, sometimes 0."""
        rng, whole = self.rng, float(self.rng.integers(1, 10))
        if rng.random() < 0.15:
            return 0.0
        if self.kind == "plain":
            return whole
        if self.kind == "decimals":
            return round(float(rng.uniform(0, 10)), self.digits)
        if self.kind == "dust":
            small = float(f"{10.0 ** rng.integers(-9, -4):g}")
            return float(rng.choice([whole, small, round(whole / 10 + small, 12)]))
        return float(f"{10.0 ** rng.uniform(-12, 12):.{int(rng.integers(1, 6))}g}")


def _calls(instance: Enumerated, rng: np.random.Generator) -> Iterator[tuple[str, Judge]]:
    problem = instance.problem
    for lam in _lambdas(instance, rng):
        for name in _engines(SOLVERS, EVERY_TIME, rng):
            yield f"{name}, lam={lam!r}", partial(_judge_solution, instance, partial(SOLVERS[name], problem, lam))
        for call, ask in _doors_at(problem, lam, rng):
            yield call, partial(_judge_solution, instance, ask)
    for ties in ("smallest", "largest"):
        yield f"pruning_path, ties={ties!r}", partial(_judge_path, instance, ties)
    budgets = _budgets(instance, rng)
    for budget in budgets:
        for name in _engines(BUDGET_SOLVERS, WITHIN_EVERY_TIME, rng):
            yield f"{name}, budget={budget!r}", partial(_judge_within, instance, partial(_named, name, problem, budget), budget)
        for call, ask in _doors_within(problem, budget, rng):
            yield call, partial(_judge_within, instance, ask, budget)
    yield f"pm.solve, budget={budgets!r}", partial(_judge_budgets, instance, budgets)


Door = tuple[str, Callable[[], Solution]]


def _doors_at(problem: PruningProblem, lam: float | Fraction, rng: np.random.Generator) -> Iterator[Door]:
    """What users call at a lambda: without a name, with one, and with a gap, or other ties."""
    name = str(rng.choice([*SOLVERS]))
    options: list[dict[str, Any]] = [
        {},
        {"method": name},
        {"method": "price_sharing", "gap": 1e-3, "small_core": 0},
        {"ties": "largest"},
    ]
    for given in options:
        yield f"pm.solve, lam={lam!r}, {given}", partial(pm.solve, problem, lam=lam, **given)


def _doors_within(
    problem: PruningProblem, budget: float | Fraction, rng: np.random.Generator
) -> Iterator[tuple[str, Callable[[], LimitedSolution]]]:
    """What users call for a budget: a budget or a limit, without a name and with one."""
    yield f"pm.solve, budget={budget!r}", partial(pm.solve, problem, budget=budget)
    name = str(rng.choice([*BUDGET_SOLVERS]))
    yield f"pm.solve, budget={budget!r}, method={name!r}", partial(pm.solve, problem, budget=budget, method=name)
    method = str(rng.choice(["path", "best", "exact"]))
    limits = [Limit(budget)]
    yield f"pm.solve, limits=[Limit({budget!r})], {method}", partial(pm.solve, problem, limits=limits, method=method)


def _engines(registry: Iterable[str], every_time: tuple[str, ...], rng: np.random.Generator) -> tuple[str, ...]:
    return (*every_time, str(rng.choice([name for name in registry if name not in every_time])))


def _lambdas(instance: Enumerated, rng: np.random.Generator) -> list[float | Fraction]:
    """Around the slope between two prunings, at it, and anywhere."""
    pairs = [rng.integers(0, len(instance.kept), 2) for _ in range(20)]
    slopes = [
        abs((instance.error[i] - instance.error[k]) / (instance.cost[i] - instance.cost[k]))
        for i, k in pairs
        if instance.cost[i] != instance.cost[k]
    ]
    slope = slopes[int(rng.integers(len(slopes)))] if slopes else Fraction(1, 3)
    slope = min(max(slope, Fraction(1, 10**300)), Fraction(10**300))  # what a float can hold
    near = float(slope) * float(1 + 10.0 ** rng.uniform(-12, 0) * rng.choice([-1, 1]))
    return [slope, max(0.0, near), float(f"{10.0 ** rng.uniform(-14, 6):.3g}")]


def _budgets(instance: Enumerated, rng: np.random.Generator) -> list[float | Fraction]:
    """The cost of a pruning that errs less than every cheaper one, exactly and as a float beside it; a share of the dearest."""
    worth: list[int] = []
    for k in sorted(range(len(instance.cost)), key=lambda k: (instance.cost[k], instance.error[k])):
        if not worth or instance.error[k] < instance.error[worth[-1]]:
            worth.append(k)
    cost = instance.cost[worth[int(rng.integers(len(worth)))]]
    near = math.nextafter(float(cost), float(rng.choice([0.0, math.inf])))
    return [cost, max(0.0, near), float(max(instance.cost)) * float(rng.random())]


def sentences(*wrong: tuple[object, str]) -> Iterator[str]:
    """Those whose condition holds."""
    return (sentence for condition, sentence in wrong if condition)


def _hidden(instance: Enumerated, value: Fraction | float) -> Fraction:
    """What floating point can hide at that size."""
    return PRECISION * (instance.roots + abs(Fraction(value)))


def _judge_solution(instance: Enumerated, ask: Callable[[], Solution]) -> Iterator[str]:
    """(1), (2), (3), (5) at a lambda."""
    solution = ask()
    problem, lam = instance.problem, Fraction(str(solution.lam)) if isinstance(solution.lam, float) else solution.lam
    assert solution.pruning is not None
    k, best = instance.number_of(solution.pruning.kept), instance.optimum(lam)
    value = instance.error[k] + lam * instance.cost[k]
    hidden = _hidden(instance, best)
    verdict = None if solution.certificate is None else pm.checks.check_solution(problem, solution)
    claimed, is_optimal = f"OPTIMAL with {float(value)!r}", solution.status is Status.OPTIMAL
    yield from sentences(
        (
            abs(value - Fraction(solution.value)) > _hidden(instance, value),
            f"value {solution.value!r}, recomputed {float(value)!r}",
        ),
        (Fraction(solution.bound) > best + hidden, f"bound {solution.bound!r} above the optimum {float(best)!r}"),
        (value > instance.roots + hidden, f"value {float(value)!r}, the forest of single leaves has {float(instance.roots)!r}"),
        (is_optimal and value - best > PROVEN * best + hidden, f"{claimed}, not {float(best)!r}"),
        (verdict is not None and verdict.holds is not True, f"check_solution: {verdict and verdict.certificate}"),
    )


def _judge_path(instance: Enumerated, ties: Literal["smallest", "largest"]) -> Iterator[str]:
    """(7); the checker agrees, and no more than `PROVEN` is stated."""
    path = pruning_path(instance.problem, ties=ties)
    verdict = pm.checks.check_path(path)
    told = Fraction(path.relative_gap) if math.isfinite(path.relative_gap) else Fraction(1)
    yield from sentences(
        (verdict.holds is not True, f"check_path: {verdict.certificate}"),
        (told > PROVEN, f"states a relative gap of {path.relative_gap!r}"),
    )
    numbers = [instance.number_of(path[k].kept) for k in range(len(path))]
    steps = [(path.between(k), number) for k, pair in enumerate(pairwise(numbers)) for number in pair]
    last = path.breakpoints[-1]
    for lam, number in [(Fraction(0), numbers[0]), *steps, (last, numbers[-1]), (4 * last + 1, numbers[-1])]:
        best, mine = instance.optimum(lam), instance.error[number] + lam * instance.cost[number]
        stated = told * max(instance.roots - best, instance.roots / 100) * Fraction(1001, 1000)
        if mine - best > stated + _hidden(instance, best):
            yield f"at lambda {float(lam)!r}: {float(mine)!r}, the optimum is {float(best)!r}; it states {path.relative_gap!r}"


def _named(name: str, problem: PruningProblem, budget: float | Fraction) -> LimitedSolution:
    return replace(BUDGET_SOLVERS[name](problem, budget), method=name)


def _judge_within(instance: Enumerated, ask: Callable[[], LimitedSolution], budget: float | Fraction) -> Iterator[str]:
    """(1) to (6) of an answer within a budget."""
    solution = ask()
    return _wrong_within(instance, solution, budget, closes=solution.method == "exact")


def _judge_budgets(instance: Enumerated, budgets: list[float | Fraction]) -> Iterator[str]:
    """(1) to (5) of several budgets at once; the error never rises with the budget."""
    answers = pm.solve(instance.problem, budget=budgets)
    for budget, solution in zip(budgets, answers, strict=True):
        yield from (f"{budget!r}: {wrong}" for wrong in _wrong_within(instance, solution, budget, closes=False))
    for less, more in pairwise(sorted(zip(map(Fraction, budgets), answers, strict=True), key=lambda pair: pair[0])):
        if more[1].error > less[1].error:
            yield f"error {more[1].error!r} within {float(more[0])!r}, {less[1].error!r} within {float(less[0])!r}"


def _wrong_within(instance: Enumerated, solution: LimitedSolution, budget: float | Fraction, *, closes: bool) -> Iterator[str]:
    """(1) to (6) of an answer within a budget; with `closes` it must be OPTIMAL."""
    cost = instance.cost[instance.number_of(solution.pruning.kept)]
    yield from wrong_bounded(instance, solution, instance.least_error(lambda k: keeps(instance.cost[k], budget)))
    is_open = closes and solution.status is not Status.OPTIMAL
    yield from sentences(
        (not keeps(cost, budget), f"costs {float(cost)!r}, the budget is {budget!r}"),
        (is_open, f"left open: {solution.error!r} and {solution.bound!r}, {solution.stopped}"),
    )


def keeps(cost: Fraction, budget: float | Fraction) -> bool:
    """A float stands for every number that rounds to it."""
    return (float(cost) if isinstance(budget, float) else cost) <= budget


def wrong_bounded(instance: Enumerated, solution: LimitedSolution, best: Fraction) -> Iterator[str]:
    """(1) to (3), (5) of an answer within budgets."""
    error = instance.error[instance.number_of(solution.pruning.kept)]
    hidden = _hidden(instance, best)
    is_wrong = error - best > PROVEN * best + hidden
    verdict = pm.checks.check_solution(instance.problem, solution)
    wanted = (True,) if solution.method in METHODS else (True, None)
    yield from sentences(
        (abs(error - Fraction(solution.error)) > hidden, f"error {solution.error!r}, recomputed {float(error)!r}"),
        (Fraction(solution.bound) > best + hidden, f"bound {solution.bound!r} above the least error {float(best)!r}"),
        (solution.gap < 0, f"a negative gap: {solution.gap!r}"),
        (solution.status is Status.OPTIMAL and is_wrong, f"OPTIMAL with {float(error)!r}, the least error is {float(best)!r}"),
        (error > instance.roots + hidden, f"error {float(error)!r}, the forest of single leaves has {float(instance.roots)!r}"),
        (verdict.holds not in wanted, f"check_solution: {verdict.certificate}"),
    )
