"""A seeded instance of Yahoo's learning-to-rank shape: 519 features of a query and a document, with prices of seven classes.

A query has about 24 documents. Features are computed from hidden quantities of three kinds: of the query alone (the same for all
its documents), of the document alone, and of how well they match. Dearer features have less noise. A document is relevant if
a judge's noisy score of match and quality is high enough, which holds for about three of four as in the challenge's set 1. Values
are in [0, 1] as there, and a document may lack groups of features, which are then 0.

Numbers of features by price are those of the price file beside the program of BP16's authors (the GitHub repository
``fnan/FeatureBudgetedRandomForest``); which feature has which price, and how many are of a kind, is drawn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

N_FEATURES = 519
PRICE_CLASSES = (1, 5, 20, 50, 100, 150, 200)
FEATURES_BY_PRICE = (123, 31, 191, 125, 16, 32, 1)
HIDDEN = 6  # hidden quantities of each kind
GROUPS = 30  # groups of features that a document has or lacks together
Floats = NDArray[np.float64]


def prices() -> NDArray[np.int64]:
    """The price of each feature, shape (519,)."""
    return np.random.default_rng([0, 1]).permutation(np.repeat(PRICE_CLASSES, FEATURES_BY_PRICE))


def documents(n: int, seed: int, block: int = 1_000) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Documents, query by query, and whether each is relevant; float32 of shape (n, 519).

    Each block of queries has its own seed, so the first rows do not depend on n; another seed gives new documents with the same
    features.
    """
    features = _Features()
    X, y = np.empty((n, N_FEATURES), dtype=np.float32), np.empty(n, dtype=np.int8)
    first = k = 0
    while first < n:
        part, label = features.draw(block, np.random.default_rng([seed, 2, k]))
        X[first : first + len(part)], y[first : first + len(part)] = part[: n - first], label[: n - first]
        first, k = first + len(part), k + 1
    return X, y


class _Features:
    """The features: their loadings on the hidden quantities, their noise, and their groups."""

    def __init__(self) -> None:
        rng = np.random.default_rng([0, 3])
        self.kind = rng.choice(3, N_FEATURES, p=(0.15, 0.3, 0.55))  # query, document, match
        sparse = rng.random((HIDDEN, N_FEATURES)) < 0.3
        self.loading = sparse * rng.normal(size=(HIDDEN, N_FEATURES))
        self.noise = 1.2 / np.sqrt(1.0 + np.searchsorted(PRICE_CLASSES, prices()))
        self.steps = rng.choice([4, 16, 64, 4096], N_FEATURES)  # counts and flags take few values
        self.group = rng.integers(0, GROUPS, N_FEATURES)
        self.presence = rng.uniform(0.6, 1.0, GROUPS)
        self.presence[0] = 1.0
        self.judged = rng.normal(size=(3, HIDDEN)) / np.sqrt(HIDDEN)

    def draw(self, n_queries: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int8]]:
        """All documents of some queries."""
        query = np.repeat(np.arange(n_queries), 1 + rng.poisson(22.7, n_queries))
        hidden = [rng.normal(size=(n_queries, HIDDEN))[query], *rng.normal(size=(2, query.size, HIDDEN))]
        X = rng.normal(size=(query.size, N_FEATURES)) * self.noise
        for kind in range(3):
            columns = np.flatnonzero(self.kind == kind)
            X[:, columns] += hidden[kind] @ self.loading[:, columns]
            if kind == 0:
                X[:, columns] = X[np.searchsorted(query, query)[:, None], columns]  # the same for all documents of a query
        X = 1.0 / (1.0 + np.exp(-X))
        X = np.round(X * self.steps) / self.steps
        X[~(rng.random((query.size, GROUPS)) < self.presence)[:, self.group]] = 0.0
        quality = 0.4 * hidden[0] @ self.judged[0] + 0.8 * hidden[1] @ self.judged[1] + 1.2 * hidden[2] @ self.judged[2]
        quality += 0.5 * np.maximum(hidden[1][:, 0], 0.0) * hidden[2][:, 0] + rng.normal(0.0, 0.4, query.size)
        return X, (quality > -0.85).astype(np.int8)
