"""Approximately submodular tree of classifiers (ASTC), for regression and classes.

Kusner, Chen, Zhou, Xu, Weinberger, Chen, *Feature-cost sensitive learning with submodular trees of classifiers*, AAAI 2014. Of
that paper we had the abstract, the introduction and a summary, not the full text. They give the following. The tree of linear
classifiers is that of CSTC. Each node is fitted greedily, one weak learner after the other, by the gain in fit per unit of cost;
the fit of a set S at node k is

    z_k(S) = Var_k(y) - min over beta of E_k[ (y - phi_S(x)' beta - b)^2 ]                                                  (A1)

over the examples that reach the node, so each step is least squares in closed form. The threshold sends half of the examples to
each child. Ours: the node budgets (A2); that weak learners whose items are all paid are taken first; hard splits of the
examples; pruning and fine-tuning as for CSTC; and more than two classes, for which (A1) is summed over one least-squares
prediction for each class, and nodes branch as in CSTC.

If (A2) leaves a node nothing worth buying, the node may spend all of the budget.

    cost of the path to a node of level j  <=  budget (j + 1) / depth,   j = 0 ... depth - 1                                (A2)

Weak learners are selected by their gain in fit per unit of new cost:

    next = argmax over t of  (z(S + t) - z(S)) / (c(S + t) - c(S)),   z(S) as in (A1)                             (G1)

Each step projects the chosen column out of the others (a step of the Cholesky factorisation of the columns' covariance, the R of
their QR factorisation), so that all gains of a step are one vector: gain_t = r_t^2 / G_tt, with r the covariance of the columns
with y and G that among the columns, both after projection. A node costs O(N T^2) once and O(T^2) for each step. With K
outputs r_t is a vector, and r_t^2 its squared norm: z(S) is summed over the outputs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from formulations.arguments import NotNegative, check_argument
from formulations.errors import InvalidInputError
from prunemodels.models.costs import Costs
from prunemodels.rivals.cstc.estimator import Features, TreeClassification, TreeOfClassifiers, TreeRegression
from prunemodels.rivals.cstc.global_loss import PARAMS, LearnerPrices, Weights
from prunemodels.rivals.cstc.training import ClassifierTree, LearnerOutputs, dividing_threshold, principal_direction


def select(
    train: LearnerOutputs,
    rows: NDArray[np.int64],
    purchases: LearnerPrices,
    before: NDArray[np.bool_],
    budget: float,
    min_gain: float,
    ridge: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Columns for the examples of a node, in order, and the least-squares classifier on them: beta (columns, K), intercept (K,).

    Parameters
    ----------
    rows
        the examples that reach it.
    before
        bool, shape (T,): weak learners that the nodes above use; these, and their items, are paid.
    budget
        the largest cost of the path to the node.
    min_gain
        least gain, as a share of the labels' variance (1) over all examples.
    ridge
        added to the variances in the final fit, shape (T,).
    """
    share = train.weights[rows] / train.weights[rows].sum()
    centre, mean = share @ train.phi[rows], share @ train.y[rows]
    centred = train.phi[rows] - centre
    covariance = centred.T @ (share[:, None] * centred)
    with_y = centred.T @ (share[:, None] * (train.y[rows] - mean))
    part = float(train.weights[rows].sum() / train.weights.sum())
    columns = _forward(covariance, with_y, purchases, before, budget, min_gain / part, PARAMS.spent * train.spread())
    matrix = covariance[np.ix_(columns, columns)] + np.diag(ridge[columns])
    beta = np.linalg.solve(matrix, with_y[columns])
    return columns, beta, mean - centre[columns] @ beta


def _forward(
    covariance: NDArray[np.float64],
    with_y: NDArray[np.float64],
    purchases: LearnerPrices,
    before: NDArray[np.bool_],
    budget: float,
    min_gain: float,
    least: NDArray[np.float64],
) -> NDArray[np.int64]:
    """(G1), step by step; free columns first, by their gain; a column with a variance up to `least`, shape (T,), has none."""
    remaining, r, chosen = covariance.copy(), with_y.copy(), list[int]()
    used, paid, budget_left = before.copy(), purchases.needs[before].any(axis=0), budget - purchases.bill(before)
    for _ in range(len(r)):
        diagonal = remaining.diagonal()
        usable = diagonal > np.maximum(least, np.finfo(float).tiny)
        usable[chosen] = False
        gain = np.where(usable, (r**2).sum(axis=1) / np.where(usable, diagonal, 1.0), 0.0)
        cost = np.where(used, 0.0, purchases.evaluation) + (purchases.needs & ~paid) @ purchases.price
        gain[(cost > budget_left + 1e-9 * max(1.0, abs(budget_left))) | (gain <= min_gain)] = 0.0
        free = np.where(cost == 0, gain, 0.0)
        rate = free if free.any() else gain / np.where(cost > 0, cost, 1.0)
        if not rate.any():
            break
        t = int(np.flatnonzero(rate >= (1 - 1e-9) * rate.max())[0])  # of rates equal up to rounding, the first
        chosen.append(t)
        budget_left -= cost[t]
        used[t] = True
        paid |= purchases.needs[t]
        column = remaining[:, t] / np.sqrt(diagonal[t])
        r -= np.outer(column, r[t] / np.sqrt(diagonal[t]))
        remaining -= np.outer(column, column)
    return np.array(chosen, dtype=np.int64)


class _ASTC(TreeOfClassifiers):
    """Parameters and training of `ASTCRegressor` and `ASTCClassifier`."""

    def __init__(
        self,
        costs: Costs | None = None,
        budget: float | Sequence[float] | None = None,
        *,
        depth: int = 3,
        features: Features = "boosted",
        n_weak_learners: int = 100,
        weak_depth: int = 2,
        learning_rate: float = 0.1,
        min_samples_leaf: int = 20,
        min_gain: float = 1e-4,
        evaluation_cost: float = 0,
        validation_fraction: float | None = 0.2,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.costs = costs
        self.budget = budget
        self.depth = depth
        self.features = features
        self.n_weak_learners = n_weak_learners
        self.weak_depth = weak_depth
        self.learning_rate = learning_rate
        self.min_samples_leaf = min_samples_leaf
        self.min_gain = min_gain
        self.evaluation_cost = evaluation_cost
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.verbose = verbose

    def _check_settings(self) -> None:
        super()._check_settings()
        self._budgets()
        check_argument("min_gain", self.min_gain, NotNegative)

    def _budgets(self) -> NDArray[np.float64]:
        """The largest cost of a path to a node of each level, shape (depth,)."""
        if self.budget is None:
            return np.full(self.depth, math.inf)
        given = np.asarray(self.budget, dtype=np.float64)
        budgets = given * np.arange(1, self.depth + 1) / self.depth if given.ndim == 0 else given
        if budgets.shape != (self.depth,) or not (budgets >= 0).all() or (np.diff(budgets) < 0).any():
            raise InvalidInputError(
                f"budget is {self.budget!r}; give a number >= 0, or {self.depth} of them that do not fall, one a level"
            )
        return budgets

    def _grow(self, outputs: LearnerOutputs, purchases: LearnerPrices, rng: np.random.RandomState) -> Sequence[ClassifierTree]:
        """Fit the nodes top to bottom; a node that no example reaches is not kept."""
        n_nodes, T = 2**self.depth - 1, outputs.phi.shape[1]
        weights = Weights.zero(n_nodes, T, outputs.y.shape[1])
        kept, at, budgets = np.zeros(n_nodes, dtype=bool), np.zeros(len(outputs.y), dtype=np.int64), self._budgets()
        ridge = PARAMS.fine_ridge * outputs.spread()
        bought = np.zeros((n_nodes, T), dtype=bool)
        for k in tqdm(range(n_nodes), desc="ASTC", unit="node", disable=not self.verbose):
            rows = np.flatnonzero(at == k)
            if not rows.size:
                continue
            kept[k] = True
            before = bought[(k - 1) // 2] if k else np.zeros(T, dtype=bool)
            level = (k + 1).bit_length() - 1
            for budget in (budgets[level], budgets[-1]):
                columns, chosen, intercept = select(outputs, rows, purchases, before, budget, self.min_gain, ridge)
                if columns.size:
                    break  # a node without weak learners cannot branch, so no node below would spend the rest
            bought[k] = before
            bought[k, columns] = True
            beta = np.zeros((T, outputs.y.shape[1]))
            beta[columns] = chosen
            scores = outputs.phi[rows] @ beta + intercept
            direction = principal_direction(scores, outputs.weights[rows])
            threshold = dividing_threshold(scores @ direction, outputs.weights[rows])
            weights = weights.with_node(k, beta, intercept, threshold, direction)
            upper = scores @ direction > threshold
            if 2 * k + 2 < n_nodes and upper.any() and not upper.all():
                at[rows] = np.where(upper, 2 * k + 1, 2 * k + 2)
        return [ClassifierTree.of(weights, kept)]


class ASTCRegressor(TreeRegression, _ASTC):
    """Approximately submodular tree of classifiers, for regression; the module says what is from the paper and what is ours.

    Parameters
    ----------
    costs
        prices of the features in any form that `cost_items` reads; None: 1 for each.
    budget
        the largest cost of a path, spread over the levels by (A2), or one number for each level: the largest cost of the path up
        to it; None: no limit.
    depth
        levels of classifiers; the tree has at most 2^depth - 1.
    features
        ``"boosted"``: gradient boosted trees, or ``"identity"``: X itself.
    n_weak_learners, weak_depth, learning_rate, min_samples_leaf
        settings of the boosted trees.
    min_gain
        least gain of a weak learner, as a share of the labels' variance over all examples.
    evaluation_cost
        price of evaluating one weak learner.
    validation_fraction
        share of the examples that is set aside to prune the tree; None: it is pruned on the examples given to `fit`, or not at
        all.
    random_state
        for setting examples aside, and for boosting.
    verbose
        above 0: a progress bar.

    Attributes
    ----------
    tree_
        `ClassifierTree`: the weights, for labels of mean 0 and variance 1.
    weak_learners_, purchases_, path_costs_
        phi; the items that it needs; what an example pays that leaves at each node.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import prunemodels as pm
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> tree = pm.rivals.ASTCRegressor(1, budget=4, depth=2, random_state=0).fit(X[:300], y[:300])
    >>> print(f"cost {tree.prediction_cost(X[300:]).mean():.2f}, R2 {tree.score(X[300:], y[300:]):.2f}")
    cost 2.00, R2 0.33
    """


class ASTCClassifier(TreeClassification, _ASTC):
    """Approximately submodular tree of classifiers, for two or more classes.

    For two classes it is `ASTCRegressor` on labels -1 and 1; the second class is predicted where the prediction is above 0. For
    more, each node has a least-squares prediction for each class, of 1 for the class and 0 for the others, on weak learners that
    it buys once for all of them; the class of the largest is predicted. More than two classes are ours, as in `CSTCClassifier`.
    Validation counts wrong labels. Parameters and attributes are those of `ASTCRegressor`, except that `n_weak_learners` trees
    are boosted for each of more than two classes, and besides:

    Attributes
    ----------
    classes_
        the labels.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_train, costs, y_test, y_train
    >>> tree = pm.rivals.ASTCClassifier(costs, budget=10, depth=2, random_state=0).fit(X_train, y_train)
    >>> print(f"cost {tree.prediction_cost(X_test).mean():.2f}, error {1 - tree.score(X_test, y_test):.3f}")
    cost 8.00, error 0.154
    """
