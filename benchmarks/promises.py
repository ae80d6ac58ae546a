"""How often promised errors are broken.

    python -m benchmarks.promises

Each repetition draws examples anew, trains, and asks for the cheapest policy, or pruning, whose error is at most a number with
95 % confidence. The true error is measured on 40,000 further examples. Broken are promises of answers whose true error is above
the number; refused are requests for which nothing could be promised. At most 5 % of the requests may end in a broken promise.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

import prunemodels as pm
from benchmarks.measuring import markdown
from prunemodels.errors import InvalidInputError

Drawn = tuple[NDArray[np.float64], NDArray[Any]]
CONFIDENCE = 0.95
FRESH = 40_000
PRICES = [0, 1, 2, 3, 4, 5]


def two_classes(rng: np.random.Generator, n: int) -> Drawn:
    """Six columns, each of which tells a little; the best guess errs about 11 %."""
    X = rng.normal(size=(n, len(PRICES)))
    return X, (X @ [0.6, 0.8, 1.0, 1.2, 1.4, 1.6] + rng.logistic(size=n) * 0.6 > 0).astype(int)


def numbers(rng: np.random.Generator, n: int) -> Drawn:
    """The same columns; noise of variance 1/3."""
    X = rng.normal(size=(n, len(PRICES)))
    return X, X @ [0.6, 0.8, 1.0, 1.2, 1.4, 1.6] + rng.uniform(-1, 1, n)


def cascade(draw: Callable[..., Drawn], kind: Any, model: Any) -> Callable[[int, float], float]:
    """True error less the promised one of a cascade of four stages."""

    def broken_by(seed: int, max_error: float) -> float:
        rng = np.random.default_rng(seed)
        X, y = draw(rng, 1200)
        stages = [(None, []), (model, [0, 1]), (model, [0, 1, 2, 3]), (model, None)]
        fitted = kind(stages, PRICES, max_error=max_error, confidence=CONFIDENCE, n_levels=12, cv=3, random_state=seed)
        fitted.fit(X, y)
        X, y = draw(rng, FRESH)
        wrong = fitted.predict(X) != y if kind is pm.CascadeClassifier else (fitted.predict(X) - y) ** 2
        return float(wrong.mean()) - max_error

    return broken_by


def forest(seed: int, max_error: float) -> float:
    """True error less the promised one of a pruned forest."""
    rng = np.random.default_rng(seed)
    X, y = two_classes(rng, 900)
    grown = RandomForestClassifier(12, max_depth=6, random_state=seed).fit(X[:500], y[:500])
    pruned = pm.prune_forest(grown, X[500:], y[500:], costs=PRICES, max_error=max_error, confidence=CONFIDENCE)
    X, y = two_classes(rng, FRESH)
    return float((pruned.estimator.predict(X) != y).mean()) - max_error


WAYS: dict[str, tuple[Callable[[int, float], float], tuple[float, ...]]] = {
    "cascade, classes": (cascade(two_classes, pm.CascadeClassifier, LogisticRegression()), (0.18, 0.25)),
    "cascade, numbers": (cascade(numbers, pm.CascadeRegressor, LinearRegression()), (2.0, 5.0)),
    "pruned forest": (forest, (0.25, 0.3)),
}


def broken_and_refused(way: str, max_error: float, repeats: int) -> tuple[int, int]:
    """How many of so many requests end in a broken promise, and in a refusal."""
    broken = refused = 0
    for seed in range(repeats):
        try:
            broken += WAYS[way][0](seed, max_error) > 0
        except InvalidInputError:
            refused += 1
    return broken, refused


def table(repeats: int) -> str:
    lines = []
    for way, (_, errors) in WAYS.items():
        for max_error in errors:
            broken, refused = broken_and_refused(way, max_error, repeats)
            lines.append([way, f"{max_error:g}", f"{repeats}", f"{broken / repeats:.1%}", f"{refused / repeats:.1%}"])
    return markdown(["of", "max_error", "requests", "broken", "refused"], lines)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=300)
    print(table(arguments.parse_args().repeats))
