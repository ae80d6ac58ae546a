"""BudgetRF as a scikit-learn estimator: a forest that is grown for cheap predictions (Nan, Wang and Saligrama 2015).

How the votes of a forest's trees are combined.

    majority   p_k = share of the trees whose leaf has most examples of class k          BRF15 section 2.1           (1)
    mean       p_k = mean over the trees of the fraction of class k at the leaf          scikit-learn's forests      (2)
    counts     p_k = examples of class k at the leaves of all trees / all examples there BRF15 section 3, to rank    (3)

Of equal classes the first is taken, in a leaf and in the forest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from formulations.arguments import check_argument
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import EvaluationCost, Price, exact
from prunemodels.models.costs import Costs, column_prices, example_costs, staged_costs
from prunemodels.models.forests.reading import read_forest
from prunemodels.models.labelled_samples import Sample, named, split, weights_of
from prunemodels.rivals.greedy_tree import grow_within, tree_grower
from prunemodels.rivals.sklearn_trees import ClassificationTree, ensemble_of, fill_forest, forest_to_fill
from prunemodels.rivals.stumps import ForestVote, Impurity, Outcome, Splits, growing_options, split_prices


def staged_shares(forest: Any, rows: NDArray[np.float32], vote: ForestVote) -> Iterator[NDArray[np.float64]]:
    """Shares p of every row, C-contiguous, after the first tree, the first two, and so on: each shape (N, C)."""
    total = np.zeros((len(rows), len(forest.classes_)))
    for estimator in forest.estimators_:
        tree = estimator.tree_
        total += _ballots(tree.value[:, 0, :], tree.weighted_n_node_samples, vote)[tree.apply(rows)]
        yield total / total.sum(axis=1, keepdims=True)


def _ballots(fractions: NDArray[np.float64], weight: NDArray[np.float64], vote: ForestVote) -> NDArray[np.float64]:
    """The vote of each node, shape (n, C)."""
    if vote == "mean":
        return fractions
    if vote == "counts":
        return np.asarray(fractions * weight[:, None])
    ballots: NDArray[np.float64] = np.eye(fractions.shape[1])[fractions.argmax(axis=1)]
    return ballots


class BudgetRFClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A forest whose trees take the split that is cheapest for its gain, until a budget is spent (BudgetRF).

        R(t) = min over stumps on feature t of  max over outcomes i of  c(t) / (F(S) - F(S_i))          BRF15, line 12

    Parameters
    ----------
    costs
        prices: one number, one for each feature, by name, a table, or `CostItems`, see `prunemodels.models.costs.cost_items`.
        Default: 1 for each feature. c(t) is the price of all items that t needs, without those paid once for all examples.
    budget
        B: trees are added until the mean cost of a prediction on the cost sample exceeds it; the last one is removed. None: no
        limit, `n_estimators` trees.
    n_estimators
        the largest number of trees.
    impurity
        F, and how splits are judged: ``"pairs"`` (threshold-Pairs) and ``"powers"``, by the worst outcome and with prices, as in
        BRF15; ``"cost_weighted_entropy"`` (as in BP16) and ``"cost_weighted_gini"``, by the expected outcome and with prices;
        ``"entropy"`` and ``"gini"``, the same without prices: an ordinary forest's splits.
    alpha
        >= 0, for threshold-Pairs: about this many examples of a wrong class do not count. A larger alpha makes the trees smaller,
        so that the budget pays for more of them.
    power
        >= 2, for Powers.
    outcome
        ``"minimax"`` or ``"expected"``: judge splits by it, whatever the impurity. Default: as stated for each impurity.
    min_impurity
        >= 0: a node of at most this impurity is a leaf (early stopping, as BP16 and NWS15 run BudgetRF).
    splits
        ``"random"``: for each feature the best of 80, 40 or 20 random stumps, at nodes of more than 2,000, of more than 500, and
        of fewer examples; ``"all"``: the best of all stumps.
    max_features, max_depth, min_samples_leaf
        as in scikit-learn's forests; default: all features, no limit, 1. In BRF15 an admissible impurity looks at all features.
    reuse_is_free
        whether, while a tree grows, a split costs nothing for items that a split above has paid for. False is the paper's
        algorithm: it charges them again during growth, though never for a prediction.
    bootstrap
        whether each tree draws as many rows as there are, with replacement. If not, the rows have their sample weights, and only
        random stumps or features make trees differ.
    validation_fraction
        with a budget and without `X_valid`: the share of the training examples, drawn at random within each class, on which the
        cost is measured and no tree is grown. None: measure it on the training examples themselves.
    evaluation_cost
        >= 0: price of evaluating one split on one example, one number for all features or one for each; part of c(t).
    vote
        how the trees' votes are combined: ``"majority"`` (BRF15), ``"mean"`` of class fractions, or ``"counts"``: sums of
        examples (BRF15's confidence, for ranking).
    n_jobs
        number of threads that grow trees; the forest does not depend on it.
    random_state
        for the validation split, the bootstraps, the stumps and the features.
    verbose
        > 0: a bar that counts trees.

    Attributes
    ----------
    forest_
        the forest: a fitted `sklearn.ensemble.RandomForestClassifier`, which can be pruned, evaluated and stored like any other.
        Its own `predict` is the vote ``"mean"``.
    n_estimators_
        number of its trees.
    stage_costs_
        mean cost on the cost sample after each tree; with a budget that was spent, one more: that with the tree that was removed.
        The sample is the validation examples, or the training examples if there are none.
    cost_
        mean cost of the forest on the cost sample.
    training_rows_
        the rows of X that the trees were grown on, for ``OutOfBag(X[rows], y[rows])`` and ``InBag(X[rows], y[rows])``.
    cost_items_
        the prices, as items.
    classes_, n_classes_, n_features_in_, feature_names_in_
        as in scikit-learn.

    Notes
    -----
    From the paper: GreedyTree, minimax splits, threshold-Pairs and Powers, bootstraps, the budget on validation data, the numbers
    of stumps, majority votes, confidences by counts. Ours: how stumps are drawn, thresholds in the middle between examples,
    ``"all"`` stumps, free reuse, items and evaluation in c(t), and stopping rules other than F(S) = 0.

    CEGB17 (section 3) criticises three things in BudgetRF: evaluation is free, a reused feature is charged again as trees grow,
    and a split costs the same however few examples reach it. `evaluation_cost` and `reuse_is_free` repair the first two.

    References
    ----------
    F. Nan, J. Wang, V. Saligrama: Feature-Budgeted Random Forest, ICML 2015 (BRF15). The same: Pruning Random Forests for
    Prediction on a Budget, NIPS 2016 (BP16). S. Peter, F. Diego, F. Hamprecht, B. Nadler: Cost efficient gradient boosting,
    NIPS 2017 (CEGB17).

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_train, costs, y_test, y_train
    >>> grown = pm.rivals.BudgetRFClassifier(costs, n_estimators=8, max_depth=4, random_state=0).fit(X_train, y_train)
    >>> print(f"cost {grown.prediction_cost(X_test).mean():.2f}, error {1 - grown.score(X_test, y_test):.3f}")
    cost 6.13, error 0.142
    """

    def __init__(
        self,
        costs: Costs | None = None,
        *,
        budget: Price | None = None,
        n_estimators: int = 40,
        impurity: Impurity = "pairs",
        alpha: float = 0.0,
        power: float = 2.0,
        outcome: Outcome | None = None,
        min_impurity: float = 0.0,
        splits: Splits = "random",
        max_features: int | float | str | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        reuse_is_free: bool = False,
        bootstrap: bool = True,
        validation_fraction: float | None = 0.3,
        evaluation_cost: EvaluationCost = 0,
        vote: ForestVote = "majority",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.costs = costs
        self.budget = budget
        self.n_estimators = n_estimators
        self.impurity = impurity
        self.alpha = alpha
        self.power = power
        self.outcome = outcome
        self.min_impurity = min_impurity
        self.splits = splits
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.reuse_is_free = reuse_is_free
        self.bootstrap = bootstrap
        self.validation_fraction = validation_fraction
        self.evaluation_cost = evaluation_cost
        self.vote = vote
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        X_valid: Any = None,
        sample_weight_valid: ArrayLike | None = None,
    ) -> Self:
        """Grow trees until the budget is spent.

        Parameters
        ----------
        X, y
            training examples; numbers within the range of float32, none missing.
        sample_weight
            shape (N,), >= 0: how likely each row is drawn; its weight in growth where rows are not drawn; and its weight in the
            mean cost, if it is in the cost sample.
        X_valid
            the cost sample: examples like those to be predicted. No labels are needed.
        sample_weight_valid
            their weights.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            if a parameter is invalid, prices do not fit, or the first tree alone costs more than the budget.
        """
        rows, y = validate_data(self, X, y, dtype=np.float32, order="C")
        check_classification_targets(y)
        sample = Sample(rows, y, weights_of(sample_weight, X))
        rule, criterion = growing_options(self, self.n_features_in_)
        most, budget = int(self.n_estimators), None if self.budget is None else float(exact(self.budget, "budget"))
        names = getattr(self, "feature_names_in_", None)
        items, evaluation = column_prices(self.costs, self.n_features_in_, names, evaluation_cost=self.evaluation_cost)
        rng = check_random_state(self.random_state)
        train, valid = self._train_and_valid(sample, X_valid, sample_weight_valid, rng)
        self.training_rows_ = np.arange(len(sample)) if train.place is None else train.place
        shared = {name: getattr(self, name) for name in ("max_depth", "max_features", "min_samples_leaf", "bootstrap")}
        # scikit-learn's own forest holds the trees that are grown here
        seed = rng.randint(np.iinfo(np.int32).max)
        forest = RandomForestClassifier(most, criterion=criterion, random_state=seed, **shared)
        forest = forest_to_fill(forest, named(self, train.X), train.y, train.weight)

        def mean_costs(trees: Sequence[ClassificationTree]) -> NDArray[np.float64]:
            """Of a prediction by the first tree, the first two, and so on, on the cost sample."""
            ensemble = ensemble_of(trees, self.n_features_in_, forest.classes_)
            return staged_costs(ensemble, valid.X, items, evaluation_cost=self.evaluation_cost, sample_weight=valid.weight)

        grow = tree_grower(train, forest, rule, split_prices(items, evaluation, self.reuse_is_free))
        trees, self.stage_costs_ = grow_within(grow, mean_costs, most, budget, n_jobs=self.n_jobs, verbose=self.verbose)
        self.forest_, self.cost_items_ = fill_forest(forest, trees, rule.max_features), items
        self.classes_, self.n_classes_ = forest.classes_, len(forest.classes_)
        self.n_estimators_ = len(trees)
        self.cost_ = float(self.stage_costs_[self.n_estimators_ - 1])
        return self

    def _train_and_valid(
        self, sample: Sample, X_valid: Any, sample_weight_valid: ArrayLike | None, rng: np.random.RandomState
    ) -> tuple[Sample, Sample]:
        """The examples that trees are grown on, and the cost sample: given, set aside for a budget, or the same."""
        if X_valid is not None:
            return sample, Sample(self._validated(X_valid), None, weights_of(sample_weight_valid, X_valid))
        if sample_weight_valid is not None:
            raise InvalidInputError("X_valid is missing: sample_weight_valid is given without it")
        if self.budget is None or self.validation_fraction is None:
            return sample, sample
        return split(sample, self.validation_fraction, rng, sample.y)

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X, shape (N,)."""
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[shares.argmax(axis=1)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The combined vote of the trees for each class, by `vote`; shape (N, n_classes), each row adds up to 1."""
        rows = self._rows(X)
        return deque(staged_shares(self.forest_, rows, self._vote()), maxlen=1)[0]

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Labels predicted by the first tree, by the first two, and so on."""
        for shares in self.staged_predict_proba(X):
            yield np.asarray(self.classes_[shares.argmax(axis=1)])

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """`predict_proba` by the first tree, the first two, and so on."""
        rows = self._rows(X)
        yield from staged_shares(self.forest_, rows, self._vote())

    def prediction_cost(self, X: Any) -> NDArray[np.float64]:
        """What each row of X pays, shape (N,), in the unit of the prices; items paid once for all are left out."""
        rows = self._rows(X)
        return example_costs(read_forest(self.forest_), rows, self.cost_items_, evaluation_cost=self.evaluation_cost)

    def staged_cost(self, X: Any) -> NDArray[np.float64]:
        """Mean cost of a prediction by the first tree, the first two, and so on, shape (trees,); all items included."""
        rows = self._rows(X)
        return staged_costs(read_forest(self.forest_), rows, self.cost_items_, evaluation_cost=self.evaluation_cost)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The forest's importances, as scikit-learn computes them from the impurities stored in its trees (Gini or entropy)."""
        check_is_fitted(self)
        importances: NDArray[np.float64] = self.forest_.feature_importances_
        return importances

    def _validated(self, X: Any) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = validate_data(self, X, reset=False, dtype=np.float32, order="C")
        return rows

    def _rows(self, X: Any) -> NDArray[np.float32]:
        check_is_fitted(self)
        return self._validated(X)

    def _vote(self) -> ForestVote:
        check_argument("vote", self.vote, ForestVote)
        return self.vote
