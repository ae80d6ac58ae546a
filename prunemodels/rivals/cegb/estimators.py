"""Cost efficient gradient boosting: for classification, for regression, and what both share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from formulations.errors import InvalidInputError
from formulations.instance.routing import leaves_of
from prunemodels.models.costs import Costs, example_costs, staged_costs
from prunemodels.models.libraries.model_forest import ModelForest
from prunemodels.models.losses import Loss, SquaredError, class_targets, classification_loss
from prunemodels.rivals.cegb.lightgbm_engine import boost_by_lightgbm
from prunemodels.rivals.cegb.own_engine import boost
from prunemodels.rivals.cegb.purchases import EvaluationCost, Prices, read_prices
from prunemodels.rivals.cegb.settings import Engine, Growth, Settings
from prunemodels.rivals.histograms import TrainingRows


class CostEfficientBoosting(BaseEstimator):  # type: ignore[misc]
    """See `CEGBClassifier`."""

    forest_: ModelForest

    def __init__(
        self,
        costs: Costs | None = None,
        *,
        lam: float = 0.001,
        evaluation_cost: EvaluationCost = 0,
        training_costs: Costs | None = None,
        engine: Engine = "lightgbm",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        max_depth: int | None = None,
        min_child_samples: int = 20,
        min_child_weight: float = 1e-3,
        reg_lambda: float = 0.0,
        max_bin: int = 255,
        growth: Growth = "best",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.costs = costs
        self.lam = lam
        self.evaluation_cost = evaluation_cost
        self.training_costs = training_costs
        self.engine = engine
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.min_child_samples = min_child_samples
        self.min_child_weight = min_child_weight
        self.reg_lambda = reg_lambda
        self.max_bin = max_bin
        self.growth = growth
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _loss(self, y: NDArray[Any]) -> tuple[Loss, NDArray[np.float64]]:
        """The loss for the checked labels, and the targets; sets the attributes that depend on them."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X
            examples, shape (N, F); NaN is a missing value. Numbers are rounded to float32.
        y
            labels or targets, shape (N,).
        sample_weight
            shape (N,), >= 0: weights of the examples in the loss and in the cost. Unequal ones need ``engine="own"`` or
            ``lam=0``.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            for settings out of their range, prices that do not fit the features, and prices that the engine cannot take; it is a
            ValueError too, and says which argument, which value, and what to do.
        ImportError
            if ``engine="lightgbm"`` and LightGBM or treelite is not installed.
        """
        settings = Settings.of(self)
        if self.engine not in ("lightgbm", "own"):
            raise InvalidInputError(f"engine is {self.engine!r}; give 'lightgbm' or 'own'")
        X, y = validate_data(self, X, y, dtype=np.float32, ensure_all_finite="allow-nan", y_numeric=not is_classifier(self))
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        names = tuple(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None
        prices = read_prices(self.costs, self.evaluation_cost, self.n_features_in_, names)
        if self.training_costs is not None:
            prices = read_prices(self.training_costs, self.evaluation_cost, self.n_features_in_, names)
        taking_part = weight > 0
        if not taking_part.any():
            raise InvalidInputError("sample_weight is 0 for all rows; give at least one a positive weight")
        loss, targets = self._loss(y[taking_part])
        forest = self._boost(TrainingRows(X[taking_part], targets, weight[taking_part]), loss, prices, settings)
        self.forest_ = replace(
            forest, classes=getattr(self, "classes_", None), ensemble=replace(forest.ensemble, feature_names=names)
        )
        self.n_iter_ = forest.ensemble.n_trees // forest.n_outputs
        return self

    def _boost(self, train: TrainingRows, loss: Loss, prices: Prices, settings: Settings) -> ModelForest:
        if self.engine == "own":
            self.__dict__.pop("booster_", None)
            return boost(train, loss, prices, settings, hidden=self.verbose <= 0)[0]
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        forest, self.booster_ = boost_by_lightgbm(
            train, len(getattr(self, "classes_", ())), prices, settings, n_jobs=self.n_jobs, seed=seed, hidden=self.verbose <= 0
        )
        return forest

    def prediction_cost(self, X: Any) -> NDArray[np.float64]:
        """What each row of X pays at `costs`, shape (N,): items, each once, and splits, but no items paid once for all."""
        rows = self._rows(X)
        return example_costs(self.forest_.ensemble, rows, self._costs, evaluation_cost=self.evaluation_cost)

    def staged_cost(self, X: Any) -> NDArray[np.float64]:
        """Mean cost of a prediction after each round, shape (n_iter_,), items paid once for all included; it never falls."""
        rows, forest = self._rows(X), self.forest_
        stage = np.arange(forest.ensemble.n_trees) // forest.n_outputs
        return staged_costs(forest.ensemble, rows, self._costs, evaluation_cost=self.evaluation_cost, stage=stage)

    @property
    def _costs(self) -> Costs:
        return 1 if self.costs is None else self.costs

    def _rows(self, X: Any) -> NDArray[np.float32]:
        """Examples as rows that the trees route."""
        check_is_fitted(self, "forest_")
        return self.forest_.rows(validate_data(self, X, reset=False, dtype=np.float32, ensure_all_finite="allow-nan"))

    def _margins(self, X: Any) -> NDArray[np.float64]:
        """Sums of leaf values, shape (N, number of outputs)."""
        rows = self._rows(X)
        return self.forest_.margins(rows)

    def _staged_margins(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Margins after each round, each time in a new array."""
        rows, forest = self._rows(X), self.forest_
        leaves = leaves_of(forest.ensemble, rows)
        margins = np.tile(forest.base, (len(rows), 1))
        for t in range(forest.ensemble.n_trees):
            margins[:, forest.output[t]] += forest.ensemble.value[leaves[t], 0]
            if t % forest.n_outputs == forest.n_outputs - 1:
                yield margins.copy()

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Labels or numbers after each round, shape (N,) each."""
        for margins in self._staged_margins(X):
            yield self.forest_.predictions(margins)

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels or numbers, shape (N,)."""
        margins = self._margins(X)
        return self.forest_.predictions(margins)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


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
        return self._probabilities(self._margins(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def _probabilities(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        return classification_loss("log_loss", len(self.classes_)).probabilities(margins)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Margins: shape (N,) for two classes, (N, n_classes) for more."""
        margins = self._margins(X)
        return margins[:, 0] if margins.shape[1] == 1 else margins

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """`predict_proba` after each round."""
        return map(self._probabilities, self._staged_margins(X))


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
