"""Small instances that the tests share."""

from __future__ import annotations

import numpy as np

from prunemodels.rivals.cstc.global_loss import GlobalLoss, Weights
from prunemodels.rivals.cstc.weak_learners import LearnerPrices


def random_loss(seed: int, lam: float = 0.1, n: int = 40, n_weak: int = 5, n_items: int = 4, n_outputs: int = 1) -> GlobalLoss:
    """A loss on random data, with shared items, prices of evaluation and weights of the examples."""
    rng = np.random.default_rng(seed)
    share = rng.random(n)
    needs = rng.random((n_weak, n_items)) < 0.5
    purchases = LearnerPrices(needs, rng.random(n_items), 0.2 * rng.random(n_weak))
    y = rng.normal(size=(n, n_outputs))
    return GlobalLoss(rng.normal(size=(n, n_weak)), y, share / share.sum(), purchases, lam, 0.05, 3.0)


def random_weights(seed: int, n_nodes: int = 7, n_weak: int = 5, n_outputs: int = 1) -> Weights:
    """Weights of a tree, some of them zero; one output is branched by as it is."""
    rng = np.random.default_rng(seed)
    beta = rng.normal(size=(n_nodes, n_weak, n_outputs)) * (rng.random((n_nodes, n_weak, 1)) < 0.8)
    direction = rng.normal(size=(n_nodes, n_outputs)) if n_outputs > 1 else np.ones((n_nodes, 1))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return Weights(beta, rng.normal(size=(n_nodes, n_outputs)), direction, rng.normal(size=n_nodes))
