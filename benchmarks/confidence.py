"""How often upper bounds of a mean cost are too low: Student's t and betting, where costs are even and where few rows are dear.

    python -m benchmarks.confidence

Each line draws a sample of n costs, asks for a bound that the true mean exceeds with probability 10 % at most, and counts how
often it does. Even costs are uniform. Where few rows are dear, one row in 40 costs forty times what the others do at most.

    python -m benchmarks.confidence --weights

Each line draws 200 rows with weights of which so many are left by weight, and counts how often Student's 95 % interval of their
mean holds: as it is, and as it was with n - 1 degrees of freedom and without the heavy rows' correction. Costs are even, and
errors are 0 or 1, one in five.

    python -m benchmarks.confidence --pairs

Each line draws n rows of which a share is predicted worse and a share better by a second model. It counts how often Student's and
the exact 95 % intervals of the difference hold, and how often they say that something changed where nothing did.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.measuring import markdown
from prunemodels.statements.mean_bounds import Method, effective_rows, paired_interval, paired_share_interval, upper_bound

DEAREST = 10.0  # no row costs more
ALPHA = 0.1  # the stated probability of a bound that is too low
METHODS: tuple[Method, ...] = ("t", "betting")


POPULATIONS: dict[str, tuple[Callable[[np.random.Generator, int], NDArray[np.float64]], float]] = {
    "even": (lambda rng, n: DEAREST * rng.random(n), DEAREST / 2),
    # one row in 40 costs 10, the others up to 0.25
    "few are dear": (
        lambda rng, n: np.where(rng.random(n) < 1 / 40, DEAREST, DEAREST / 40 * rng.random(n)),
        DEAREST / 40 + DEAREST / 80 * 39 / 40,
    ),
}
"""How costs are drawn, and their mean."""


def share_too_low(population: str, method: Method, n: int, repeats: int) -> float:
    """The share of samples whose bound is below the true mean."""
    (draw, mean), rng = POPULATIONS[population], np.random.default_rng(0)
    return float(np.mean([upper_bound(draw(rng, n), DEAREST, ALPHA, method) < mean for _ in range(repeats)]))


def table(sizes: tuple[int, ...], repeats: int) -> str:
    lines = [
        [name, f"{n:,}", *(f"{100 * share_too_low(name, method, n, repeats):.1f} %" for method in METHODS)]
        for name in POPULATIONS
        for n in sizes
    ]
    return markdown(["costs", "rows", *METHODS], lines)


ROWS = 200

WEIGHTS: dict[str, Callable[[np.random.Generator, float], NDArray[np.float64]]] = {
    "lognormal": lambda rng, spread: np.exp(spread * rng.standard_normal(ROWS)),
    "pareto": lambda rng, spread: rng.random(ROWS) ** -spread,
}
"""How weights are drawn; the larger the spread, the fewer effective rows."""

LOSSES: dict[str, tuple[Callable[[np.random.Generator], NDArray[np.float64]], float]] = {
    "even costs": (lambda rng: DEAREST * rng.random(ROWS), DEAREST / 2),
    "error of 20 %": (lambda rng: (rng.random(ROWS) < 0.2).astype(np.float64), 0.2),
}


def weights_of(kind: str, effective: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Weights whose effective number is the given one: of one draw, the spread that has it."""
    seed, low, high = int(rng.integers(2**31)), 0.0, 20.0
    for _ in range(40):
        middle = (low + high) / 2
        w = WEIGHTS[kind](np.random.default_rng(seed), middle)
        low, high = (middle, high) if effective_rows(w) > effective else (low, middle)
    return w


def as_it_was(x: NDArray[np.float64], w: NDArray[np.float64]) -> tuple[float, float]:
    """Student's interval with n - 1 degrees of freedom, whatever the weights."""
    mean, n = float(w @ x / w.sum()), len(x)
    half = stats.t.ppf(0.975, n - 1) * np.sqrt(n / (n - 1) * (w * w @ (x - mean) ** 2)) / w.sum()
    return mean - half, mean + half


def weighted_table(repeats: int) -> str:
    """The share of intervals that hold, before and now."""
    lines = []
    for kind, effective, what in product(WEIGHTS, (12, 30, 40, 100), LOSSES):
        (draw, mean), rng, holds = LOSSES[what], np.random.default_rng(0), np.zeros(2)
        for _ in range(repeats):
            w, x = weights_of(kind, effective, rng), draw(rng)
            now = paired_interval(x, w, 0.95)
            holds += [low <= mean <= high for low, high in (as_it_was(x, w), (now.low, now.high))]
        lines.append([kind, f"{effective}", what, *(f"{share:.1%}" for share in holds / repeats)])
    return markdown(["weights", "effective rows", "of", "n - 1", "now"], lines)


def paired_table(repeats: int) -> str:
    """The share of intervals of a difference that hold, and, of equal models, of those that find a difference."""
    lines = []
    for n, (worse, better) in product((30, 100, 500, 2000), ((0.01, 0.01), (0.1, 0.1), (0.05, 0.0), (0.1, 0.02), (0.3, 0.2))):
        rng, holds, found = np.random.default_rng(0), np.zeros(2), np.zeros(2)
        for up, down, same in rng.multinomial(n, [worse, better, 1 - worse - better], repeats):
            d = np.repeat([1.0, -1.0, 0.0], [up, down, same])
            for k, interval in enumerate((paired_interval, paired_share_interval)):
                ends = interval(d, np.ones(n), 0.95)
                holds[k] += ends.low - 1e-12 <= worse - better <= ends.high + 1e-12
                found[k] += ends.low > 0 or ends.high < 0
        wrongly = [f"{share:.1%}" if worse == better else "" for share in found / repeats]
        lines.append([f"{n}", f"{worse:.0%}", f"{better:.0%}", *(f"{share:.1%}" for share in holds / repeats), *wrongly])
    return markdown(["rows", "worse", "better", "Student", "exact", "Student: changed", "exact: changed"], lines)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=5000)
    arguments.add_argument("--weights", action="store_true")
    arguments.add_argument("--pairs", action="store_true")
    given = arguments.parse_args()
    if given.pairs:
        print(paired_table(given.repeats))
    else:
        print(weighted_table(given.repeats) if given.weights else table((25, 100, 400, 1600, 6400), given.repeats))
