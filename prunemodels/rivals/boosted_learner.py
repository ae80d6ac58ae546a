"""What boosted rivals share: purchases while their trees grow, and the estimator around the trees.

An item that the model has, as GreedyMiser counts all items and CEGB those that are paid once, is free for all examples. Of the
others each example pays for itself. CEGB17's penalty, from prices as users write them:

    penalty of splitting leaf p by feature f
        = a_f w(p)  +  sum over m in items(f) that each example pays:  c_m * (weight of the examples in p without m)
                    +  sum over m in items(f) that are paid once:      c_m * W, if no example has m                     (1)

w(p) is the weight of p's examples, W that of all. This is CEGB17's eq. (13) with two changes. A feature may need several items,
and share them with other features. The price of an item paid once, as everywhere in this package, is what it adds to the mean
cost; CEGB17's gamma, which is compared with a sum over the examples, is W c_m.

Purchases last over all trees of a model: these are CEGB17's C(k, i, m) and D(k, m). A split of leaf p by feature f buys f's items
for p's examples, and for all examples the items that are paid once.

As estimators they share checked examples and settings, stages, predictions, and what these cost:

    F_0 = the base,    F_s = F_{s-1} + the trees of stage s, one for each of the K margins                                     (2)

A subclass grows the trees. Its base and its trees, their values times the learning rate, are all that predictions need.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils.validation import check_is_fitted

from formulations.arguments import check_arguments
from formulations.compiled import njit
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, EvaluationCost
from formulations.instance.ensemble import Ensemble
from formulations.instance.routing import as_rows, read_only, walk_tree
from prunemodels.models.costs import Costs, column_prices, example_costs, staged_costs
from prunemodels.models.labelled_samples import Sample, rows_to_predict, training_sample
from prunemodels.models.losses import Loss, class_targets
from prunemodels.rivals.histograms import TrainingRows


@dataclass(frozen=True, eq=False)
class Prices:
    """The prices in (1): c_m, which items each of the F features needs, and a_f >= 0, shape (F,)."""

    items: CostItems
    evaluation: NDArray[np.float64]

    @classmethod
    def of(cls, costs: Costs | None, evaluation_cost: EvaluationCost, n_features: int, names: tuple[str, ...] | None) -> Prices:
        """A learner's prices, checked before anything is grown; see `column_prices`."""
        return cls(*column_prices(costs, n_features, names, evaluation_cost=evaluation_cost))

    @cached_property
    def by_example(self) -> NDArray[np.int64]:
        """The items that each example pays, without those that are free."""
        return np.flatnonzero(~self.items.paid_once & (self.items.price > 0))

    @cached_property
    def for_all(self) -> NDArray[np.int64]:
        """The items that are paid once, without those that are free."""
        return np.flatnonzero(self.items.paid_once & (self.items.price > 0))

    @cached_property
    def shared(self) -> list[int]:
        """The items with a price that more than one feature needs."""
        users = Counter(m for needs in self.items.needs for m in needs)
        return [m for m in range(self.items.n_items) if users[m] > 1 and self.items.prices[m] > 0]

    def matrix(self, of: NDArray[np.int64]) -> csr_matrix:
        """c_m where feature f needs item ``of[j]``, shape (F, len(of))."""
        place = {int(m): j for j, m in enumerate(of)}
        pairs = [
            (f, place[m], float(self.items.prices[m])) for f, needs in enumerate(self.items.needs) for m in needs if m in place
        ]
        table = np.array(pairs).reshape(-1, 3)
        where = (table[:, 0].astype(np.int64), table[:, 1].astype(np.int64))
        return csr_matrix((table[:, 2], where), shape=(self.items.n_features, len(of)))

    def by_feature(self, of: NDArray[np.int64]) -> NDArray[np.float64]:
        """Sum of the prices of the items among `of` that each feature needs, shape (F,)."""
        return np.asarray(self.matrix(of).sum(axis=1), dtype=np.float64).ravel()


class ModelItems:
    """Items that are bought for all examples at once: which ones the model has, and what each feature still costs.

    `cost`: float64, shape (F, M), sparse: what the items cost that each feature needs.
    """

    def __init__(self, cost: csr_array | csr_matrix) -> None:
        self._cost = cost
        self.bought = np.zeros(cost.shape[1], dtype=np.bool_)  # D
        self.price = self._left()

    @classmethod
    def all_of(cls, items: CostItems) -> ModelItems:
        """Every item, at its price."""
        start = np.cumsum([0] + [len(needs) for needs in items.needs])
        item = np.array([m for needs in items.needs for m in needs], dtype=np.int64)
        return cls(csr_array((items.price[item], item, start), shape=(items.n_features, items.n_items)))

    def buy(self, feature: int) -> None:
        """Buy the items of a feature."""
        needed = _needs(self._cost, feature)
        if not self.bought[needed].all():
            self.bought[needed] = True
            self.price = self._left()

    def _left(self) -> NDArray[np.float64]:
        """What each feature still costs, shape (F,)."""
        return np.asarray(self._cost @ ~self.bought, dtype=np.float64)


class Purchases:
    """The purchases of the examples so far: one by one, and `once`, for all; weights >= 0, shape (N,)."""

    def __init__(self, prices: Prices, weight: NDArray[np.float64]) -> None:
        self._prices, self._weight = prices, weight
        self._by_example, self.once = prices.matrix(prices.by_example), ModelItems(prices.matrix(prices.for_all) * weight.sum())
        self._bought = np.zeros((weight.size, prices.by_example.size), dtype=np.bool_)  # C

    def running(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """What splitting the leaf of these rows by each feature costs, without items that are paid once; shape (F,)."""
        items = self._by_example @ _without(rows, self._bought, self._weight)
        return np.asarray(self._weight[rows].sum() * self._prices.evaluation + items, dtype=np.float64)

    def buy(self, rows: NDArray[np.int64], feature: int) -> None:
        """Buy the items of a feature: for these rows, and those that are paid once for all rows."""
        self._bought[np.ix_(rows, _needs(self._by_example, feature))] = True
        self.once.buy(feature)


def _needs(matrix: csr_array | csr_matrix, feature: int) -> NDArray[np.integer]:
    """The items of a feature."""
    return np.asarray(matrix.indices[matrix.indptr[feature] : matrix.indptr[feature + 1]])


@njit(cache=True)
def _without(rows, bought, weight):  # type: ignore[no-untyped-def]
    """Weight of the rows that have not bought each item."""
    total = np.zeros(bought.shape[1])
    for i in rows:
        w = weight[i]
        for m in range(bought.shape[1]):
            if not bought[i, m]:
                total[m] += w
    return total


Settings = TypeVar("Settings")
Margins = tuple[Ensemble, NDArray[np.float64], NDArray[np.int32]]
"""The trees of (14), stage by stage, the base, shape (K,), and the margin that each tree adds to."""


def settings_of(kind: type[Settings], learner: Any) -> Settings:
    """The settings of a learner, each refused where it is not what the annotation of its field asks for; numbers as floats."""
    hints = get_type_hints(kind, include_extras=True)
    check_arguments(learner, hints)
    given = {name: getattr(learner, name) for name in hints}
    return kind(**{name: float(v) if get_args(hints[name])[:1] == (float,) else v for name, v in given.items()})


class BoostedLearner(BaseEstimator):  # type: ignore[misc]
    """A boosted model that knows what its predictions cost; subclasses have parameters `costs` and `evaluation_cost`."""

    _settings: ClassVar[type]
    cost_items_: CostItems
    _loss: Loss

    @abstractmethod
    def _grow(
        self, sample: Sample, classes: NDArray[Any] | None, prices: Prices, settings: Any, names: tuple[str, ...] | None
    ) -> None:
        """Set the fitted attributes; labels of classes are their numbers."""

    @abstractmethod
    def _sums(self) -> Margins:
        """The trees, the base, and the margin of each tree."""

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X, y
            training examples; NaN is a missing value. Numbers are rounded to float32.
        sample_weight
            shape (N,), >= 0: weights of the examples in the loss, and where examples pay one by one in the cost.

        Returns
        -------
        self
        """
        settings: Any = settings_of(self._settings, self)
        sample = training_sample(self, X, y, sample_weight).of_weight()
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else tuple(names)
        prices = Prices.of(self.costs, self.evaluation_cost, self.n_features_in_, names)
        classes, codes = None, np.asarray(sample.y)
        if is_classifier(self):
            classes, codes = np.unique(codes, return_inverse=True)
            if len(classes) < 2:
                raise InvalidInputError(
                    f"y has 1 class after rows of weight 0 are left out ({classes[0]!r}); give at least 2 classes"
                )
        self._grow(Sample(sample.X, codes, sample.weight), classes, prices, settings, names)
        self.cost_items_ = prices.items
        if classes is not None:
            self.classes_ = classes
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, or numbers, shape (N,)."""
        return self._decided(self._margins(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """The result of `predict` after each stage."""
        return map(self._decided, self._staged_margins(X))

    def prediction_cost(self, X: Any) -> NDArray[np.float64]:
        """What each row pays, shape (N,): the items that its own paths through the trees need, each once, and its splits.

        Items that are paid once for all examples are left out; `staged_cost` has them.
        """
        rows = self._seen(X)
        return example_costs(self._sums()[0], rows, self.cost_items_, evaluation_cost=self.evaluation_cost)

    def staged_cost(self, X: Any) -> NDArray[np.float64]:
        """Mean cost of a row after each stage, shape (stages,), items paid once for all included; it never falls."""
        rows = self._seen(X)
        trees, base, _ = self._sums()
        stage = np.arange(trees.n_trees) // len(base)
        return staged_costs(trees, rows, self.cost_items_, evaluation_cost=self.evaluation_cost, stage=stage)

    @abstractmethod
    def _decided(self, F: NDArray[np.float64]) -> NDArray[Any]:
        """Predictions from margins, in a new array."""

    def _training_rows(self, sample: Sample, classes: NDArray[Any] | None) -> TrainingRows:
        """Examples for boosting: targets for classes are 0 and 1, in one column for each class, or one column for two."""
        y: NDArray[Any] = np.asarray(sample.y)
        targets = y.astype(np.float64)[:, None] if classes is None else class_targets(y, len(classes))
        return TrainingRows(as_rows(sample.X, self.n_features_in_), targets, sample.weight)

    def _seen(self, X: Any) -> NDArray[np.float32]:
        """Checked rows, as the trees read them."""
        check_is_fitted(self)
        return as_rows(rows_to_predict(self, X), self.n_features_in_)

    def _staged_margins(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Margins after each stage, shape (N, K), in one array that the next stage overwrites."""
        rows = read_only(self._seen(X))
        trees, base, output = self._sums()
        F = np.tile(base, (len(rows), 1))
        nodes, leaf = np.arange(trees.n_nodes, dtype=np.int32), np.empty(len(rows), dtype=np.int32)
        for t in range(trees.n_trees):
            walk_tree(trees, t, rows, nodes, leaf)
            F[:, output[t]] += trees.value[leaf, 0]
            if (t + 1) % len(base) == 0:
                yield F

    def _margins(self, X: Any) -> NDArray[np.float64]:
        """Margins after all stages, shape (N, K)."""
        *_, last = self._staged_margins(X)
        return last

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


class BoostedClassification(ClassifierMixin):  # type: ignore[misc]
    """The classification part of a boosted learner."""

    classes_: NDArray[Any]
    _loss: Loss

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Margins, shape (N, n_classes); for two classes shape (N,), > 0 for the second."""
        return self._scores(self._margins(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class, shape (N, n_classes); for the squared error margins limited to 0 and 1."""
        F = self._margins(X)
        return self._loss.probabilities(F)

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """The result of `predict_proba` after each stage."""
        for F in self._staged_margins(X):
            yield self._loss.probabilities(F)

    def _scores(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """Margins; for two classes one for each row, > 0 for the second."""
        return F.copy() if F.shape[1] > 1 else F[:, 0] - (0.5 if self._loss.kind == "squared_error" else 0.0)

    def _decided(self, F: NDArray[np.float64]) -> NDArray[Any]:
        scores = self._scores(F)
        labels: NDArray[Any] = self.classes_[scores.argmax(axis=1) if scores.ndim > 1 else (scores > 0).astype(int)]
        return labels


class BoostedRegression(RegressorMixin):  # type: ignore[misc]
    """The regression part of a boosted learner."""

    def _decided(self, F: NDArray[np.float64]) -> NDArray[Any]:
        return F[:, 0].copy()
