"""Small precedence graphs for all tests, with what their numbers are exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from formulations import ParametricClosure


@dataclass(frozen=True, eq=False)
class Known:
    """An instance, its exact gains and prices, and all its closures as rows of yes and no."""

    problem: ParametricClosure
    gain: list[Fraction]
    price: list[Fraction]
    base_error: Fraction
    base_cost: Fraction

    def closures(self) -> list[list[bool]]:
        n, arcs = self.problem.n, list(zip(self.problem.tail.tolist(), self.problem.head.tolist(), strict=True))
        every = ([bool(m >> v & 1) for v in range(n)] for m in range(2**n))
        return [y for y in every if all(y[v] for u, v in arcs if y[u])]

    def error(self, kept: list[bool]) -> Fraction:
        return self.base_error - sum((g for g, y in zip(self.gain, kept, strict=True) if y), Fraction(0))

    def cost(self, kept: list[bool]) -> Fraction:
        return self.base_cost + sum((p for p, y in zip(self.price, kept, strict=True) if y), Fraction(0))

    def smallest_optimum(self, lam: Fraction) -> list[bool]:
        return min(self.closures(), key=lambda y: (self.error(y) + lam * self.cost(y), sum(y)))


def random_known(seed: int) -> Known:
    """Up to 9 nodes; gains and prices are often 0 or equal, tenths in even seeds, counts of thirds and sevenths in odd ones."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 10))
    name = rng.permutation(n)
    arcs = [(int(name[u]), int(name[v])) for u in range(n) for v in range(u) if rng.random() < 0.3]
    gain, price = rng.integers(-3, 5, n).tolist(), rng.integers(0, 4, n).tolist()
    units = (Fraction(1, 10), Fraction(1, 10)) if seed % 2 == 0 else (Fraction(1, 3), Fraction(1, 7))
    base = int(rng.integers(0, 20)) * units[0], int(rng.integers(0, 3)) * units[1]
    problem = ParametricClosure(
        np.array([float(g * units[0]) for g in gain]),
        np.array([float(p * units[1]) for p in price]),
        np.array([u for u, _ in arcs], dtype=np.int32),
        np.array([v for _, v in arcs], dtype=np.int32),
        float(base[0]),
        float(base[1]),
        *(() if seed % 2 == 0 else units),
    )
    return Known(problem, [g * units[0] for g in gain], [p * units[1] for p in price], *base)


def random_grid(rows: int, columns: int, seed: int = 0) -> ParametricClosure:
    """Every place requires the one above it and the one to its left; counts and cents over 50,000 examples."""
    rng = np.random.default_rng(seed)
    place = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    tail = np.concatenate([place[1:].ravel(), place[:, 1:].ravel()])
    head = np.concatenate([place[:-1].ravel(), place[:, :-1].ravel()])
    n, examples = place.size, 50_000
    gain, cents = rng.integers(-300, 400, n), rng.integers(0, 500_000, n)
    unit = Fraction(1, examples), Fraction(1, 100 * examples)
    return ParametricClosure(gain / examples, cents / 100 / examples, tail, head, 0.3, 1.0, *unit)


def closure_of(gain: list[float], price: list[float], arcs: list[tuple[int, int]], base_error: float = 0.0) -> ParametricClosure:
    """An instance by hand; arcs (u, v): u requires v."""
    tail, head = (np.array([arc[k] for arc in arcs], dtype=np.int32) for k in (0, 1))
    return ParametricClosure(np.array(gain, dtype=float), np.array(price, dtype=float), tail, head, base_error)
