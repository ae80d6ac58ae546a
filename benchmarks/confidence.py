"""How often upper bounds of a mean cost are too low: Student's t and betting, where costs are even and where few rows are dear.

    python -m benchmarks.confidence

Each line draws a sample of n costs, asks for a bound that the true mean exceeds with probability 10 % at most, and counts how
often it does. Even costs are uniform. Where few rows are dear, one row in 40 costs forty times what the others do at most.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import markdown
from prunemodels.statements.mean_bounds import Method, upper_bound

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


def share_too_low(population: str, method: Method, n: int, repeats: int, seed: int = 0) -> float:
    """The share of samples whose bound is below the true mean."""
    draw, mean = POPULATIONS[population]
    rng = np.random.default_rng(seed)
    return float(np.mean([upper_bound(draw(rng, n), DEAREST, ALPHA, method) < mean for _ in range(repeats)]))


def table(sizes: tuple[int, ...], repeats: int) -> str:
    lines = [
        [name, f"{n:,}", *(f"{100 * share_too_low(name, method, n, repeats):.1f} %" for method in METHODS)]
        for name in POPULATIONS
        for n in sizes
    ]
    return markdown(["costs", "rows", *METHODS], lines)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=5000)
    print(table((25, 100, 400, 1600, 6400), arguments.parse_args().repeats))
