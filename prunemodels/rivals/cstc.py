"""Trees of linear classifiers, CSTC (Xu, Kusner, Weinberger, Chen 2013), for regression and classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from formulations.errors import InvalidInputError
from prunemodels.rivals.cstc_estimator import TreeOfClassifiers


class CSTCRegressor(RegressorMixin, TreeOfClassifiers):  # type: ignore[misc]
    """Cost-sensitive tree of classifiers, for regression.

    Xu, Kusner, Weinberger, Chen, *Cost-sensitive tree of classifiers*, ICML 2013. A tree of linear predictors over weak
    learners; an example follows one path, branches by each predictor's threshold, and pays for the weak learners that the
    predictors on it use. All are trained together by squared loss plus lambda times the relaxed expected cost, (5) of
    `global_loss`.

    From the paper: weak learners and their costs (section 3), tree, soft traversal, loss and relaxation (4.1), initialisation top
    to bottom, cyclic optimisation with auxiliary variables, pruning, fine-tuning (4.2). Ours: intercepts, labels scaled to
    variance 1, `sharpness` and its schedule, several starts and their first thresholds, `zero_tol`, L-BFGS in place of conjugate
    gradients, and what `prunemodels.rivals.cstc_training` names.

    Parameters
    ----------
    costs
        prices of the features in any form that `cost_items` reads; None: 1 for each.
    lam
        lambda >= 0: the share of the labels' variance that one unit of the price is worth.
    depth
        levels of classifiers; the tree has 2^depth - 1.
    features
        ``"boosted"``: gradient boosted trees, or ``"identity"``: X itself.
    n_weak_learners, weak_depth, learning_rate, min_samples_leaf
        settings of the boosted trees. A classifier that uses a tree pays for all its features, so shallow trees are cheaper.
    rho
        weight of the l1 term, >= 0.
    sharpness
        s of (S1), > 0: one number, or one for each stage of the training, which do not fall; each stage goes on from the weights
        that the one before ended at. The larger it is, the closer soft traversal is to the hard paths that predictions take.
    n_init
        number of starts. The first goes through all stages of `sharpness`, the next one leaves out the first stage, and so on;
        those after these draw the parts in which nodes first divide their examples. With validation examples the start is kept
        whose finished tree is the cheapest of those that err least there, see `prunemodels.rivals.cstc_training`; else that of
        the least loss (5) along hard paths.
    zero_tol
        weights up to this size become zero, see `prunemodels.rivals.cstc_training`.
    evaluation_cost
        price of evaluating one weak learner.
    max_cycles, tol
        largest number of cycles over the nodes in each stage; they end earlier when one lowers the loss by less than the fraction
        `tol`.
    validation_fraction
        share of the examples that is set aside to prune the tree; None: it is pruned on the examples given to `fit`, or not at
        all.
    random_state
        for setting examples aside, for boosting, and for the starts after the first one.
    verbose
        above 0: a progress bar.

    Attributes
    ----------
    tree_
        `ClassifierTree`: the weights, for labels of mean 0 and variance 1.
    start_losses_
        the loss (5) of each start along hard paths, on the training examples, shape (n_init,).
    weak_learners_, purchases_, path_costs_
        phi; the items that it needs; what an example pays that leaves at each node.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import prunemodels as pm
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> tree = pm.rivals.CSTCRegressor(1, lam=0.01, depth=2, n_init=1, random_state=0).fit(X[:300], y[:300])
    >>> print(f"cost {tree.prediction_cost(X[300:]).mean():.2f}, R2 {tree.score(X[300:], y[300:]):.2f}")
    cost 10.00, R2 -0.80
    """

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The number predicted for each row."""
        values = self._values(X)
        return values[:, 0]

    def _targets(self, y: Any) -> NDArray[np.float64]:
        return np.asarray(y, dtype=np.float64)[:, None]

    def _error(self, y: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(((y - values) ** 2)[:, 0])


class CSTCClassifier(ClassifierMixin, TreeOfClassifiers):  # type: ignore[misc]
    """Cost-sensitive tree of classifiers, for two or more classes.

    CSTC13 leaves classes out "because of space limitations", so all of this is ours. For two classes it is `CSTCRegressor` on
    labels -1 and 1; the second class is predicted where the prediction is above 0. For more, each node has a linear predictor for
    each class, of 1 for the class and 0 for the others; the class of the largest is predicted. The squared losses of the classes
    are added up, and the classes share the cost of what they use: the mixed norm (4) of `global_loss` runs over them, so a weak
    learner that one class uses is free for the others. An example branches by the first principal direction of the predictions.
    With two classes this would be the model above. Validation counts wrong labels.

    Parameters and attributes are those of `CSTCRegressor`, except that `n_weak_learners` trees are boosted for each of more than
    two classes, and besides:

    Attributes
    ----------
    classes_
        the labels.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_train, costs, y_test, y_train
    >>> tree = pm.rivals.CSTCClassifier(costs, lam=0.01, depth=2, n_init=1, random_state=0).fit(X_train, y_train)
    >>> print(f"cost {tree.prediction_cost(X_test).mean():.2f}, error {1 - tree.score(X_test, y_test):.3f}")
    cost 10.00, error 0.077
    """

    classes_: NDArray[Any]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Least-squares predictions.

        For two classes of -1 (first class) and 1 (second), shape (N,); for more of 0 and 1, shape (N, n_classes).
        """
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row: of two the second where `decision_function` is above 0, of more that of its largest column."""
        values = self._values(X)
        return np.asarray(self.classes_[_decided(values)])

    def _learn_labels(self, y: NDArray[Any]) -> None:
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise InvalidInputError(
                f"y has 1 class, {self.classes_.tolist()[0]!r}, after rows of weight 0 are left out; give at least 2 classes"
            )

    def _targets(self, y: Any) -> NDArray[np.float64]:
        unknown = np.setdiff1d(np.unique(y), self.classes_)
        if unknown.size:
            raise InvalidInputError(
                f"y_valid has the label {unknown[:1].tolist()[0]!r}, y has only {self.classes_.tolist()}; drop those rows"
            )
        labels = np.asarray(y)
        if len(self.classes_) == 2:
            return np.where(labels == self.classes_[1], 1.0, -1.0)[:, None]
        return np.asarray(labels[:, None] == self.classes_, dtype=np.float64)

    def _error(self, y: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(_decided(values) != _decided(y), dtype=np.float64)


def _decided(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The number of the class of each row of values, shape (N, K)."""
    return np.asarray(values[:, 0] > 0 if values.shape[1] == 1 else values.argmax(axis=1), dtype=np.int64)
