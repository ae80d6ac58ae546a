"""Objectives to try a polyhedron with: any integers, and those that data can produce.

Drawing **data** instead of coefficients: every tree's error sample is W rows over its leaves and classes, cells drawn at random
(a bootstrap of its own, so that trees may differ); e_h counts those outside the majority class of the rows below h. Items have
prices c_m >= 0, cost rows weights omega_i > 0, and lambda > 0. With T trees and N = sum of omega_i, (OBJ) of
`formulations.instance.problem` in whole numbers is, at lambda = mu N / (T W q) for integers mu, q > 0,

    T W q (OBJ)  =  sum_h q e_h z_h  +  sum mu c_m omega_i w_{m,i}  +  sum_{m paid once} mu N c_m w_{m,all}             (1)

and in terms of splits, z_h = y_parent(h) - y_h turns q e_h z_h into -q (e_h - e_left - e_right) y_h and a constant.   (2)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import Natural, Seed, checked
from formulations.errors import InvalidInputError
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import ErrorComponent, NodeErrors
from formulations.instance.problem import PruningProblem
from formulations.instance.routing import n_examples

_NAME = re.compile(r"(?P<kind>z|y|w|w_t)\[(?P<key>[^\]]+)\]")


@dataclass(frozen=True, eq=False)
class DrawnData:
    """k instances on the same trees and cost rows.

    Parameters
    ----------
    problem
        whose trees and routes they have.
    errors
        int64, shape (k, n): e_h.
    sample_size
        int64, shape (k,): W, the same for all trees.
    prices
        int64, shape (k, M): c_m; 0 for items that are free in `problem`, which have no columns.
    weights
        int64, shape (k, N): omega_i > 0.
    rate, divisor
        int64, shape (k,): mu and q.
    """

    problem: PruningProblem
    errors: NDArray[np.int64]
    sample_size: NDArray[np.int64]
    prices: NDArray[np.int64]
    weights: NDArray[np.int64]
    rate: NDArray[np.int64]
    divisor: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sample_size)

    def unit(self, k: int) -> int:
        """T W q: the k-th objective is (OBJ) times this, up to a constant where the program is in y."""
        return self.problem.ensemble.n_trees * int(self.sample_size[k]) * int(self.divisor[k])

    def lam(self, k: int) -> Fraction:
        """Lambda of the k-th instance."""
        return Fraction(int(self.rate[k]) * int(self.weights[k].sum()), self.unit(k))

    def instance(self, k: int) -> PruningProblem:
        """The k-th instance itself."""
        old = self.problem
        w_t = np.full(old.ensemble.n_trees, float(self.sample_size[k]))
        errors = NodeErrors((ErrorComponent(self.errors[k].astype(np.float64), w_t, source="drawn"),))
        prices = tuple(Fraction(int(c)) for c in self.prices[k])
        omega = np.zeros(n_examples(old.X))
        omega[old.rows] = self.weights[k]
        return PruningProblem.build(old.ensemble, errors, old.X, replace(old.costs, prices=prices), sample_weight=omega)

    def objectives(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """(1), or (2), for a program with these columns: int64, shape (k, len(columns)).

        Parameters
        ----------
        columns
            names as the formulations give them, without merged purchases: z[h], y[h], w[m,i], w[m,all], and w_t[u,m,i], which
            is in no objective.
        """
        found = np.zeros((len(self), len(columns)), dtype=np.int64)
        for j, name in enumerate(columns):
            parts = _NAME.fullmatch(name)
            if parts is None:
                raise InvalidInputError(f"the column {name!r} is none of z[h], y[h], w[m,i], w[m,all], w_t[u,m,i]")
            if parts["kind"] != "w_t":
                found[:, j] = self._coefficient(parts["kind"], parts["key"].split(","))
        return found

    def _coefficient(self, kind: str, key: list[str]) -> NDArray[np.int64]:
        """One column of (1) or (2)."""
        ensemble = self.problem.ensemble
        if kind == "z":
            return self.divisor * self.errors[:, int(key[0])]
        if kind == "y":
            h = int(key[0])
            return -self.divisor * (self.errors[:, h] - self.errors[:, ensemble.left[h]] - self.errors[:, ensemble.right[h]])
        price = self.rate * self.prices[:, int(key[0])]
        users = self.weights.sum(axis=1) if key[1] == "all" else self.weights[:, int(key[1])]
        return price * users


@checked
def arbitrary_objectives(n_columns: Natural, count: Natural, *, seed: Seed) -> NDArray[np.int64]:
    """Coefficients from -20 to 20, independently: int64, shape (count, n_columns).

    Examples
    --------
    >>> import prunemodels as pm
    >>> pm.checks.arbitrary_objectives(3, 2, seed=0)
    array([[ 14,   6,   0],
           [ -9,  -8, -19]])
    """
    return np.random.default_rng(seed).integers(-20, 21, (count, n_columns))


@checked
def draw_data(problem: PruningProblem, count: Natural, *, seed: Seed) -> DrawnData:
    """Instances with errors of two classes, prices, weights and lambda that data can produce; see the module.

    W is between 4 and twice the usage arcs, or 60 where these are few: with few errors for many purchases nothing is worth
    buying, and all objectives have the same optimum. Prices are between 0 and 9, mu and q between 1 and 9.

    Parameters
    ----------
    problem
        the trees, what features need, and the cost rows.
    count
        how many.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from formulations.instance.papers import two_trees
    >>> problem = two_trees()
    >>> polyhedron = pm.checks.read_polyhedron(pm.programs.FORMULATIONS["IP3"](problem, lam=1, relax=True))
    >>> pm.checks.draw_data(problem, 100, seed=0).objectives(polyhedron.columns).shape
    (100, 19)
    """
    rng = np.random.default_rng(seed)
    size = rng.integers(4, max(60, 2 * problem.n_usage_arcs) + 1, count)
    priced = np.array([c > 0 for c in problem.costs.prices], dtype=np.int64)
    trees = [problem.ensemble.only_tree(t) for t in range(problem.ensemble.n_trees)]
    return DrawnData(
        problem,
        errors=np.hstack([_errors_of_tree(tree, size, rng) for tree in trees]),
        sample_size=size,
        prices=rng.integers(0, 10, (count, problem.costs.n_items)) * priced,
        weights=rng.integers(1, 4, (count, problem.n_rows)),
        rate=rng.integers(1, 10, count),
        divisor=rng.integers(1, 10, count),
    )


def majority_errors(ensemble: Ensemble, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """e_h from class counts at the leaves: rows below h outside their majority class; int64, shape (k, n) from (k, n, C).

    What stands at splits is replaced by the sum over their leaves.
    """
    total = counts.copy()
    for h in reversed(range(ensemble.n_nodes)):  # children stand behind their parents
        if ensemble.left[h] >= 0:
            total[:, h] = total[:, ensemble.left[h]] + total[:, ensemble.right[h]]
    errors: NDArray[np.int64] = total.sum(axis=2) - total.max(axis=2)
    return errors


def _errors_of_tree(tree: Ensemble, size: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """W rows over the cells (leaf, class) of a tree, for each draw; most cells get few rows, as in fully grown trees."""
    leaves = np.flatnonzero(tree.left < 0)
    cells = rng.dirichlet(np.full(len(leaves) * 2, 0.3), len(size))
    counts = np.zeros((len(size), tree.n_nodes, 2), dtype=np.int64)
    counts[:, leaves] = rng.multinomial(size, cells).reshape(len(size), len(leaves), 2)
    return majority_errors(tree, counts)
