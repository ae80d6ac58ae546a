"""A budget that the population's mean cost meets, with a stated confidence.

The dearest pruning within the budget on the cost sample was chosen because it looked cheap there, so its true mean cost is above
the budget about as often as below. Here some rows, the choosing rows, determine the prunings. Other rows, the certifying rows,
test them one after another from the cheapest:

    P_0 = the forest of single leaves (costs nothing),   P_1, P_2, ...  the path's rows, costs rising, and where two rows
          are further apart than a tenth of the budget, the best prunings found between them
    U_k = upper bound of P_k's true mean cost, too low with probability at most alpha = 1 - confidence                 (1)
    answer: the last P_k such that U_1, ..., U_k <= B, and that costs at most B on the choosing rows too             (2)

So, by `prunemodels.statements.promises`,

    P(true mean cost of the answer <= B)  >=  confidence                                                           (3)

for any sample size, forest and distribution, under two conditions. The bound of `prunemodels.statements.mean_bounds` holds for
all n; that of the method "t" does not, and (3) can fail by far with it (`benchmarks.confidence`). And the certifying rows are
drawn independently from the population that predictions will be asked for, and had no part in the path: neither in its cost
sample, nor in its error sample, nor in growing the forest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import Seconds, Seed, Share, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.problem import PruningProblem
from formulations.instance.routing import features_of
from prunemodels.evaluation.evaluate import PARAMS
from prunemodels.evaluation.held_out import on_other_rows
from prunemodels.evaluation.path_sweeps import by_falling_end
from prunemodels.solving import solve
from prunemodels.statements.mean_bounds import Method, effective_rows
from prunemodels.statements.promises import Draws, last_kept
from solvers.within.by_path import path_of


@dataclass(frozen=True, eq=False)
class CertifiedBudget:
    """A pruning whose true mean cost is within the budget with the stated confidence: (3).

    Parameters
    ----------
    pruning
        the answer of (2); its problem is that of the choosing rows.
    smaller_budget
        its exact cost on the choosing rows.
    path
        of the choosing rows.
    certified_cost
        its mean cost on the certifying rows.
    upper_bound
        U_k of (2) for this pruning, <= B.
    n_choosing, n_certifying
        numbers of choosing and of certifying rows.
    tested
        number of prunings that were tested; the last one may have failed.
    n_effective
        how many rows of equal weight the certifying ones are worth, see `MeanInterval`.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> certified = pm.budgets.budget_for_confidence(problem, 8, confidence=0.9, random_state=0)
    >>> print(f"mean cost at most {certified.upper_bound:.2f}, pruning {certified.pruning}")
    mean cost at most 7.81, pruning Pruning(cost=7.33333, error=0.223, 19 splits)
    """

    budget: Fraction
    confidence: float
    method: Method
    pruning: Pruning
    smaller_budget: Fraction
    path: PruningPath
    certified_cost: float
    upper_bound: float
    n_choosing: int
    n_certifying: int
    tested: int
    n_effective: float

    def __repr__(self) -> str:
        differ = self.n_effective < self.n_certifying * (1 - 1e-9)
        rows = f" by {self.n_certifying:,} rows that count as {self.n_effective:,.3g}" if differ else ""
        return (
            f"CertifiedBudget(true cost <= {float(self.budget):.6g} with confidence {self.confidence:g}: "
            f"cost {float(self.smaller_budget):.6g} where chosen, {self.certified_cost:.6g} where certified{rows})"
        )


@checked
def budget_for_confidence(
    problem: PruningProblem,
    budget: Price,
    *,
    confidence: Share = 0.95,
    X_certify: Any = None,
    sample_weight: ArrayLike | None = None,
    share: Share = 0.5,
    path: PruningPath | None = None,
    method: Method = "betting",
    time_limit: Seconds | None = None,
    random_state: Seed | np.random.Generator | None = None,
) -> CertifiedBudget:
    """The dearest pruning that is certified to meet the budget in the population; see (1) to (3).

    Parameters
    ----------
    problem
        the instance.
    budget
        B >= 0: the largest mean cost of a prediction over the population, in the unit of the prices.
    X_certify
        rows to certify on, other ones than the cost sample. Default: a random part of the cost sample; the path is then computed
        from the rest.
    sample_weight
        shape (N,), >= 0: a row of `X_certify` stands for that many, with ``method="t"`` only.
    share
        share of the cost sample that certifies if `X_certify` is not given.
    path
        `pruning_path(problem)`, if it is already computed; only with `X_certify`.
    method
        ``"betting"`` (default), ``"bernstein"``, ``"hoeffding"``: (3) holds for every n. ``"t"`` is no guarantee: where one row
        in 40 makes up most of the cost, its bound was too low in 29 % of samples of 100 rows and in 13 % of samples of 400, at a
        stated 10 % (``python -m benchmarks.confidence``). Take it only for weighted cost samples, which the others refuse, and
        only if no few rows are much dearer than the rest.
    time_limit
        seconds of all searches between rows of the path together; default: a limit of work, see `prunemodels.solve`. The
        prunings that they find depend on the choosing rows alone, so (3) holds for any limit.
    random_state
        seed of the split, and of the order in which the certifying rows are read.

    Raises
    ------
    InvalidInputError
        for a budget that is negative or not a number, a confidence or share outside (0, 1), too few rows to split, and a path
        of another problem, or one that was computed from the certifying rows too.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> certified = pm.budgets.budget_for_confidence(problem, 8, confidence=0.9, random_state=0)
    >>> certified.pruning
    Pruning(cost=7.33333, error=0.223, 19 splits)
    """
    limit = exact(budget, "budget")
    rng = np.random.default_rng(random_state)
    choosing, certifying = _choosing_and_certifying(problem, X_certify, sample_weight, share, path, rng)
    chosen_by = path_of(choosing, path)
    order = rng.permutation(certifying.usage.n_rows)

    def draws() -> Iterator[tuple[tuple[Pruning, Fraction], Draws]]:
        for pruning, exact_cost, x, once in _candidates(chosen_by, certifying, limit, time_limit):
            largest = choosing.usage.largest_row_cost(pruning.kept)
            yield (pruning, exact_cost), Draws(np.minimum(x, largest)[order], largest, once)

    kept = last_kept(draws(), limit, confidence, method, certifying.usage.weights[order])
    certified, smaller = kept.answer or (Pruning.all_roots(choosing), Fraction(0))
    cost, bound = (0.0, 0.0) if kept.answer is None else (kept.mean, kept.bound)
    return CertifiedBudget(
        limit,
        confidence,
        method,
        certified,
        smaller,
        chosen_by,
        cost,
        bound,
        choosing.usage.n_rows,
        certifying.usage.n_rows,
        kept.tested,
        effective_rows(certifying.usage.weights),
    )


def _candidates(
    path: PruningPath, certifying: PruningProblem, limit: Fraction, time_limit: float | None
) -> Iterator[tuple[Pruning, Fraction, NDArray[np.float64], float]]:
    """(2)'s prunings within the limit on the choosing rows, costs rising, with their exact costs there.

    Third and fourth: the cost of each certifying example, and the prices paid once. Nothing here depends on which prunings are
    certified.
    """
    bounded: dict[str, Any] = (
        {"work": PARAMS.search_work / PARAMS.steps} if time_limit is None else {"time_limit": time_limit / PARAMS.steps}
    )
    below = Fraction(0)
    for k, x, once in costs_along(path, certifying):
        row_cost = path.exact_cost[k]
        for budget in _between(below, row_cost, limit):
            found = solve(path.problem, budget=budget, path=path, **bounded).pruning
            if found.exact_cost > below:
                below, usage = found.exact_cost, certifying.usage
                yield found, below, usage.row_costs(found.kept), usage.once_cost(found.kept)
        if row_cost > limit:
            return
        below = row_cost
        yield path[k], row_cost, x, once


def _between(below: Fraction, above: Fraction, limit: Fraction) -> list[Fraction]:
    """Budgets between the costs of two rows in steps of at most a tenth of the limit, the limit itself included."""
    end = min(above, limit)
    steps = math.ceil(PARAMS.steps * (end - below) / limit) if limit > 0 else 0
    last = steps if above > limit else steps - 1
    return [below + (end - below) * k / steps for k in range(1, last + 1)] if steps > 1 else []


def costs_along(path: PruningPath, certifying: PruningProblem) -> Iterator[tuple[int, NDArray[np.float64], float]]:
    """For each row of the path from the cheapest: its number, the cost of each certifying example, and the prices paid once.

    All prunings of the path up to the highest level of the splits that need a purchase make this purchase. So its price is
    added to the costs of its example once, when the walk reaches that level.
    """
    p, kept_until = certifying, path.rows_kept
    n, split_price = p.usage.n_rows, p.usage.split_price
    bought_until = p.usage.highest_user(p.usage.splits, kept_until)
    by_row, for_all = bought_until[: n * p.costs.n_items], bought_until[n * p.costs.n_items :]
    purchases = by_falling_end(np.flatnonzero(by_row > 0), by_row)
    evaluated = by_falling_end(np.flatnonzero((split_price > 0) & (kept_until > 0)), kept_until)
    paid, b, s = np.zeros(n), 0, 0
    for k in reversed(range(len(path))):
        added = purchases[b : np.searchsorted(-by_row[purchases], -k)]
        paid += np.bincount(added % n, weights=p.costs.price[added // n], minlength=n)
        b += added.size
        while s < evaluated.size and kept_until[evaluated[s]] > k:
            h = evaluated[s]
            paid[p.usage.routing.order[p.ensemble.tree_of[h], p.usage.routing.start[h] : p.usage.routing.stop[h]]] += split_price[
                h
            ]
            s += 1
        yield k, paid.copy(), float(p.costs.price[p.costs.paid_once & (for_all > k)].sum())


def _choosing_and_certifying(
    problem: PruningProblem,
    X_certify: Any,
    sample_weight: ArrayLike | None,
    share: float,
    path: PruningPath | None,
    rng: np.random.Generator,
) -> tuple[PruningProblem, PruningProblem]:
    """The instance that chooses, and the one that certifies."""
    if X_certify is not None:
        certifying = on_other_rows(problem, X_certify, sample_weight)
        if _same_rows(problem, certifying):
            raise InvalidInputError(
                "X_certify holds the rows of the cost sample, for which the path was computed; give other rows, or leave it out"
            )
        return problem, certifying
    if sample_weight is not None:
        raise InvalidInputError("sample_weight is of X_certify, which is missing; give both, or weights to the problem")
    if path is not None:
        raise InvalidInputError(
            "path was computed from all rows of the cost sample; leave it out, or give other rows as X_certify"
        )
    parts = halves(problem, share, rng)
    X = problem.X if hasattr(problem.X, "shape") else np.asarray(problem.X)
    choosing, certifying = (
        on_other_rows(problem, _safe_indexing(X, problem.usage.rows[part]), problem.usage.weights[part]) for part in parts
    )
    return choosing, certifying


def halves(problem: PruningProblem, share: float, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of the choosing rows, and of a share that certifies, among the rows of a cost sample."""
    n = problem.usage.n_rows
    certify = round(share * n)
    if min(certify, n - certify) < 2:
        raise InvalidInputError(f"{n} rows at share {share:g} leave fewer than 2 rows in one part; give more rows, or X_certify")
    shuffled = rng.permutation(n)
    return np.sort(shuffled[certify:]), np.sort(shuffled[:certify])


def _same_rows(one: PruningProblem, other: PruningProblem) -> bool:
    """Whether two cost samples hold the same rows, in whatever order; False where one is not in memory."""
    if not all(isinstance(p.X, np.ndarray | list) or hasattr(p.X, "iloc") or hasattr(p.X, "toarray") for p in (one, other)):
        return False
    first, second = (features_of(p.ensemble, p.X)[p.usage.rows] for p in (one, other))
    if first.shape != second.shape or not np.array_equal(np.sort(first[:, 0]), np.sort(second[:, 0]), equal_nan=True):
        return False
    return np.array_equal(first[np.lexsort(first.T)], second[np.lexsort(second.T)], equal_nan=True)
