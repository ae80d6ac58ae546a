"""Cost efficient gradient boosting for classification and for regression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from formulations.errors import InvalidInputError
from prunemodels.rivals.cegb.estimator import CostEfficientBoosting
from prunemodels.rivals.losses import Loss, SquaredError, class_targets, classification_loss


class CEGBClassifier(ClassifierMixin, CostEfficientBoosting):  # type: ignore[misc]
    """Boosted trees, two classes or more, whose splits pay for the features that their examples have not bought yet.

    Every split is chosen to lower, greedily and to second order,

        (1 / W) sum_i w_i L(y_i, m(x_i))  +  lam * cost(m)                                            (OBJ)

    L is the log loss of the margins m; cost is the mean cost of a prediction as everywhere in this package: an example pays an
    item once, however many trees need it, and `evaluation_cost` for each split it passes; W is the sum of the weights w. The next
    split is the best one of all leaves, so trees get deep where few examples go.

    From the paper (Peter, Diego, Hamprecht and Nadler 2017, "CEGB17"): the objective, eq. (7), summed over examples, so `lam` is
    its lambda; the gain of a split, eq. (12), its penalty, eq. (13), best-first growth, section 4.3, and split prices by feature,
    section 5.2. alpha is `evaluation_cost`, beta_m the price of a feature, gamma_m is W times the price of an item paid once.
    Ours: items that features share; example weights in the cost; and the first margins, which are the best constants instead of
    0. From LightGBM: `reg_lambda`, the limits on leaves, and that trees are grown class by class for more than two classes.

    Parameters
    ----------
    costs
        prices: one number, one for each feature, by name, a table, or `CostItems`, see `prunemodels.models.costs.cost_items`.
        Default: 1 each.
    lam
        >= 0: loss per unit of cost, see (OBJ).
    evaluation_cost
        >= 0: price of evaluating one split on one example; one number for all features or one for each.
    training_costs
        prices for growing the trees, if they differ from those that are paid (CEGB17, Figure 3a). Default: `costs`.
    engine
        ``"lightgbm"``: LightGBM with its own penalties; it takes a price for each feature and one evaluation cost. Prices that it
        cannot express or gets wrong are refused (`lightgbm_engine` lists them). ``"own"``: this package's engine, on one core,
        which takes all prices.
    n_estimators
        rounds; fewer are made once no split is worth its price. A round has one tree, or one for each of more than two classes.
    learning_rate
        factor by which leaf values are multiplied.
    num_leaves, max_depth
        limits of each tree; None: any depth.
    min_child_samples, min_child_weight
        the least number of rows, and the least sum of the loss's second derivatives, in a leaf.
    reg_lambda
        ridge on leaf values.
    max_bin
        largest number of bins for each feature, between which thresholds are tried.
    growth
        ``"best"``: split the leaf with the best split next; ``"breadth"``: the oldest leaf that has a split worth its price. They
        differ only if the limit on leaves can bind; then LightGBM cannot grow breadth-first.
    n_jobs
        threads of LightGBM; results do not depend on them.
    random_state
        for the rows that LightGBM draws to place bins, if there are more than 200,000; nothing else is random.
    verbose
        > 0: a progress bar.

    Attributes
    ----------
    forest_
        the model as arrays, `ModelForest`: `prune_boosted` takes it.
    booster_
        LightGBM's booster, with ``engine="lightgbm"``; its labels are 0, 1, ... in the order of `classes_`, its columns unnamed.
    n_iter_
        rounds made.
    classes_
        the labels.
    n_features_in_, feature_names_in_
        as in scikit-learn.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_train, costs, y_test, y_train
    >>> model = pm.rivals.CEGBClassifier(costs, lam=0.01, n_estimators=10, n_jobs=1).fit(X_train, y_train)
    >>> print(f"cost {model.prediction_cost(X_test).mean():.2f}, error {1 - model.score(X_test, y_test):.3f}")
    cost 7.00, error 0.101
    """

    def _loss(self, y: NDArray[Any]) -> tuple[Loss, NDArray[np.float64]]:
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        if classes.size < 2:
            raise InvalidInputError(
                f"y has one class, {classes[0]!r}, among the rows of positive weight; give two classes at least"
            )
        self.classes_ = classes
        return classification_loss("log_loss", classes.size), class_targets(labels, classes.size)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, in the order of `classes_`, shape (N, n_classes)."""
        return _probabilities(self._margins(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Margins: shape (N,) for two classes, (N, n_classes) for more."""
        margins = self._margins(X)
        return margins[:, 0] if margins.shape[1] == 1 else margins

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """`predict_proba` after each round."""
        return map(_probabilities, self._staged_margins(X))


def _probabilities(margins: NDArray[np.float64]) -> NDArray[np.float64]:
    if margins.shape[1] > 1:
        return np.asarray(softmax(margins, axis=1))
    return np.column_stack([expit(-margins[:, 0]), expit(margins[:, 0])])


class CEGBRegressor(RegressorMixin, CostEfficientBoosting):  # type: ignore[misc]
    """Boosted regression trees whose splits pay for the features that their examples have not bought yet.

    `CEGBClassifier` with the loss ``(y - m)^2 / 2``, in whose units `lam` is given; parameters and attributes are the same,
    except for `classes_`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import prunemodels as pm
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = pm.rivals.CEGBRegressor(1, lam=100, n_estimators=20, n_jobs=1).fit(X[:300], y[:300])
    >>> print(f"cost {model.prediction_cost(X[300:]).mean():.2f}, R2 {model.score(X[300:], y[300:]):.2f}")
    cost 3.84, R2 0.39
    """

    def _loss(self, y: NDArray[Any]) -> tuple[Loss, NDArray[np.float64]]:
        return SquaredError(), np.asarray(y, dtype=np.float64)[:, None]
