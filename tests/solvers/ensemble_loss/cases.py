"""Tiny random instances of (ENS), and what a forest predicts, computed in another way."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import settings
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.instance.ensemble_loss import NO_VOTE, EnsembleProblem, MeanLogLoss, Squares
from formulations.instance.problem import PruningProblem
from formulations.instance.routing import leaves_of
from solvers.brute_force import all_prunings
from tests.instances import random_problem, way, with_usage

TRIED = settings(deadline=None, max_examples=60)
"""Compiled code is compiled in the first example."""

KINDS = ("regression", "binary", "classes", "log")


@dataclass(frozen=True)
class Instance:
    """A problem with the rows of its error sample."""

    problem: EnsembleProblem
    rows: NDArray[np.float32]

    def objective(self, pruning: Pruning, lam: float) -> float:
        """(ENS) by walking every row down every pruned tree."""
        return plain_loss(self, pruning.kept) + lam * pruning.cost

    def least(self, lam: float) -> float:
        """(ENS) by listing all prunings."""
        trees = self.problem.problem
        return min(self.objective(Pruning(trees, kept), lam) for kept in all_prunings(trees).kept)


def random_instance(seed: int, *, trees: PruningProblem | None = None) -> Instance:
    """Squares of one or more columns or a log loss; weights, missing votes, few rows."""
    rng = np.random.default_rng(seed)
    trees = random_problem(seed) if trees is None else trees
    kind = KINDS[seed % 4]
    n_values = {"regression": 1, "binary": 2, "classes": 3, "log": 3}[kind]
    n = trees.ensemble.n_nodes
    value = rng.dirichlet(np.full(n_values, 0.4), n) if n_values > 1 else rng.normal(0, 3, (n, 1))
    task = "regression" if kind == "regression" else "classification"
    ensemble = replace(trees.ensemble, value=value, task=task, classes=None if n_values == 1 else np.arange(n_values))
    trees = with_usage(trees, ensemble=ensemble)
    n_rows = int(rng.integers(1, 12))
    rows = rng.integers(0, 5, (n_rows, ensemble.n_features)).astype(np.float32)
    leaf = leaves_of(ensemble, rows)
    if rng.random() < 0.4:  # out-of-bag votes, at least one a row
        silent = rng.random(leaf.shape) < 0.4
        silent[rng.integers(0, ensemble.n_trees, n_rows), np.arange(n_rows)] = False
        leaf[silent] = NO_VOTE
    label = rng.integers(0, n_values, n_rows)
    weights = np.ones(n_rows) if rng.random() < 0.5 else rng.choice([0.0, 0.5, 3.0], n_rows) + 1e-3
    loss, first = (MeanLogLoss(0.05, n_values) if kind == "log" else Squares()), np.zeros(n_rows, dtype=np.int32)
    if kind == "log":
        first, target = label.astype(np.int32), np.ones((n_rows, 1))
    elif kind == "binary":
        first, target = first + 1, (label == 1)[:, None].astype(float)
    else:
        target = np.eye(n_values)[label] if n_values > 1 else rng.normal(0, 3, (n_rows, 1))
    return Instance(EnsembleProblem(trees, leaf, first, target, weights, loss), rows)


def plain_loss(instance: Instance, kept: NDArray[np.bool_]) -> float:
    """L of a pruning in plain Python: walk, average, compare."""
    problem, total = instance.problem, 0.0
    ensemble = problem.ensemble
    for i, row in enumerate(instance.rows):
        voters = [t for t in range(ensemble.n_trees) if problem.leaf[t, i] != NO_VOTE]
        F = np.mean([ensemble.value[way(ensemble, ensemble.roots[t], row, kept)[-1]] for t in voters], axis=0)
        if isinstance(problem.loss, MeanLogLoss):
            epsilon = problem.loss.epsilon
            one = -np.log((F[problem.first[i]] + epsilon) / (1 + problem.loss.n_classes * epsilon))
        else:
            columns = slice(problem.first[i], problem.first[i] + problem.target.shape[1])
            one = ((F[columns] - problem.target[i]) ** 2).sum()
        total += problem.weights[i] * one
    return float(total / problem.weights.sum())


def random_point(problem: EnsembleProblem, rng: np.random.Generator) -> NDArray[np.float64]:
    """A point 0 <= y_h <= y_parent(h), 0 at leaves."""
    y = rng.random(problem.ensemble.n_nodes)
    for h, p in enumerate(problem.ensemble.parent.tolist()):
        if p >= 0:
            y[h] *= y[p]
    return np.where(problem.ensemble.is_split, y, 0.0)
