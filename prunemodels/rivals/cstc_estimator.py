"""The base of CSTC's scikit-learn estimators: examples, prices, weak learners, finishing, prediction and its cost.

The classifiers are linear in a space to which T weak learners map each example:

    phi(x) = (h_1(x), ..., h_T(x)),   H(x) = beta' phi(x) + b                                             (W1)

CSTC13 section 3 takes the trees of gradient boosting with squared loss ("boosting trick"), and in section 5.1 ``phi(x) = x``.
Ours: each h_t is centred on the training examples, and where phi is x itself also scaled to unit variance, because the relaxed
penalties depend on the scale of a column. Boosted trees keep the scale that boosting gave them (beta = 1 is the boosted model).
The trees are those of scikit-learn's HistGradientBoostingRegressor; each needs every feature that one of its splits tests. With
several outputs each has boosted trees of its own, by squared loss, and all classifiers may use all of them (ours).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data
from tqdm import tqdm

from formulations.arguments import Count, Natural, Share, check_argument, check_arguments
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, exact
from prunemodels.models.costs import Costs, column_prices
from prunemodels.models.labelled_samples import Sample, split
from prunemodels.rivals.cstc_loss import PARAMS, GlobalLoss, LearnerPrices
from prunemodels.rivals.cstc_training import (
    ClassifierTree,
    LearnerOutputs,
    cheapest_of_best,
    fine_tuned,
    pruned,
    starting_parts,
    train,
    with_zeros,
)

Features = Literal["boosted", "identity"]


@dataclass(frozen=True, eq=False)
class WeakLearners:
    """The fitted map phi of (W1)."""

    models: tuple[HistGradientBoostingRegressor, ...]  # the boosted trees of each output; none where phi is x itself.
    uses: NDArray[np.bool_]  # bool, shape (T, F): whether weak learner t needs feature f; F of CSTC13, transposed.
    # centre, scale: shape (T,): h_t(x) is (value - centre) / scale.
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]

    @property
    def n_weak_learners(self) -> int:
        """T, the number of weak learners."""
        return len(self.centre)

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """phi(x) of every row, shape (N, T)."""
        return (_values(self.models, X) - self.centre) / self.scale


def fit_weak_learners(
    features: Features, X: NDArray[np.float64], y: NDArray[np.float64], weights: NDArray[np.float64], settings: dict[str, Any]
) -> WeakLearners:
    """Fit boosted trees with the given settings to each column of y, shape (N, K), or take the features themselves."""
    share = weights / weights.sum()
    if features == "identity":
        centre = share @ X
        spread = np.sqrt(share @ (X - centre) ** 2)
        return WeakLearners((), np.eye(X.shape[1], dtype=bool), centre, np.where(spread > 0, spread, 1.0))
    new = HistGradientBoostingRegressor(early_stopping=False, **settings)
    models = tuple(clone(new).fit(X, column, sample_weight=weights) for column in y.T)
    trees = [tree for model in models for (tree,) in model._predictors]
    uses = np.zeros((len(trees), X.shape[1]), dtype=bool)
    for t, tree in enumerate(trees):
        uses[t, tree.nodes["feature_idx"][tree.nodes["is_leaf"] == 0]] = True
    centre = share @ _values(models, X)
    return WeakLearners(models, uses, centre, np.ones(len(trees)))


def _values(models: tuple[HistGradientBoostingRegressor, ...], X: NDArray[np.float64]) -> NDArray[np.float64]:
    """h_t(x) before centring: what a boosting step adds to the prediction; the first also has the model's constant."""
    if not models:
        return X
    values = [np.diff(np.stack(list(model.staged_predict(X)), axis=1), axis=1, prepend=0.0) for model in models]
    return np.hstack(values)


class TreeOfClassifiers(BaseEstimator):  # type: ignore[misc]
    """A tree of linear classifiers over weak learners, trained as a whole.

    Attributes
    ----------
    tree_
        `ClassifierTree`: the weights, for labels of mean 0 and variance 1; of several outputs the variances sum to 1.
    weak_learners_, purchases_
        phi, and the items that it needs.
    path_costs_
        what an example pays that leaves at each node, shape (V,).
    """

    tree_: ClassifierTree
    weak_learners_: WeakLearners
    purchases_: LearnerPrices
    path_costs_: NDArray[np.float64]

    def __init__(
        self,
        costs: Costs | None = None,
        lam: float = 0.001,
        *,
        depth: int = 3,
        features: Features = "boosted",
        n_weak_learners: int = 100,
        weak_depth: int = 2,
        learning_rate: float = 0.1,
        min_samples_leaf: int = 20,
        rho: float = 1e-4,
        sharpness: float | Sequence[float] = (10.0, 30.0, 100.0),
        n_init: int = 4,
        zero_tol: float = 1e-3,
        evaluation_cost: float = 0,
        max_cycles: int = 20,
        tol: float = 1e-4,
        validation_fraction: float | None = 0.2,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.costs = costs
        self.lam = lam
        self.depth = depth
        self.features = features
        self.n_weak_learners = n_weak_learners
        self.weak_depth = weak_depth
        self.learning_rate = learning_rate
        self.min_samples_leaf = min_samples_leaf
        self.rho = rho
        self.sharpness = sharpness
        self.n_init = n_init
        self.zero_tol = zero_tol
        self.evaluation_cost = evaluation_cost
        self.max_cycles = max_cycles
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _targets(self, y: Any) -> NDArray[np.float64]:
        """Labels as numbers, shape (N, K)."""

    @abstractmethod
    def _error(self, y: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The validation error of each example, from labels and predictions of shape (N, K)."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_valid: Any = None, y_valid: Any = None) -> Self:
        """Fit weak learners, then the tree over them; prune it on validation examples.

        Parameters
        ----------
        X, y
            examples, shape (N, F), and labels.
        sample_weight
            weights >= 0, default 1.
        X_valid, y_valid
            validation examples; default: `validation_fraction` of X, set aside.
        """
        self._check_settings()
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=isinstance(self, RegressorMixin))
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        items, _ = column_prices(self.costs, X.shape[1], getattr(self, "feature_names_in_", None))
        if items.paid_once.any():
            name = items.names[int(np.flatnonzero(items.paid_once)[0])]
            raise InvalidInputError(
                f"costs: {name!r} is paid once for all examples; a tree of classifiers counts what each pays: drop it"
            )
        X, y, weights = (v[weights > 0] for v in (X, y, weights))
        self._learn_labels(y)
        rng = check_random_state(self.random_state)
        train, given = Sample(X, y, weights), None
        if X_valid is not None:
            given = self._validation(X_valid, y_valid)
        elif self.validation_fraction is not None:
            train, valid = split(train, self.validation_fraction, rng, y if isinstance(self, ClassifierMixin) else None)
            given = valid.X, self._targets(valid.y), valid.weights
        self._fit(train.X, self._targets(train.y), train.weights, given, items, rng)
        return self

    def _fit(self, X: Any, y: Any, weights: Any, given: Any, items: CostItems, rng: np.random.RandomState) -> None:
        """Set the fitted attributes from checked examples."""
        share = weights / weights.sum()
        self._mean = share @ y
        self._scale = float(np.sqrt(share @ ((y - self._mean) ** 2).sum(axis=1))) or 1.0
        settings = {
            "max_iter": self.n_weak_learners,
            "max_depth": self.weak_depth,
            "max_leaf_nodes": None,
            "learning_rate": self.learning_rate,
            "min_samples_leaf": self.min_samples_leaf,
            "random_state": rng.randint(np.iinfo(np.int32).max),
        }
        scaled = (y - self._mean) / self._scale
        self.weak_learners_ = fit_weak_learners(self.features, X, scaled, weights, settings)
        uses = self.weak_learners_.uses
        needs = (uses.astype(np.float64) @ items.needs_of(range(items.n_features))) > 0
        self.purchases_ = LearnerPrices(needs, items.price, np.full(len(uses), float(self.evaluation_cost)))
        train = LearnerOutputs(self.weak_learners_.transform(X), scaled, weights)
        trees = self._grow(train, self.purchases_, rng)
        if given is None:
            self.tree_ = fine_tuned(trees[0], train, leaving=True)
        else:
            self.tree_ = self._best(trees, train, *given)
        self.path_costs_ = self.tree_.bills(self.purchases_)

    def _best(
        self,
        trees: Sequence[ClassifierTree],
        train: LearnerOutputs,
        X_valid: NDArray[np.float64],
        y_valid: NDArray[np.float64],
        weights: NDArray[np.float64],
    ) -> ClassifierTree:
        """Fine-tune and prune all trees, and take the cheapest of those that err least on the validation examples."""
        phi = self.weak_learners_.transform(X_valid)

        def errors(values: NDArray[np.float64]) -> NDArray[np.float64]:
            return self._error(y_valid, self._mean + self._scale * values)

        finished = []
        for tree in trees:
            judged = fine_tuned(tree, train, leaving=False)
            judged = pruned(judged, phi, lambda values: float(weights @ errors(values)))
            finished.append(fine_tuned(judged, train, leaving=True))
        by_start = np.array([errors(tree.predict(phi)) for tree in finished])
        costs = [float(weights @ tree.bills(self.purchases_)[tree.leaving(phi)]) for tree in finished]
        return finished[cheapest_of_best(by_start, weights, np.array(costs), (self._scale * PARAMS.no_error) ** 2)]

    def _check_settings(self) -> None:
        """Refuse invalid settings before any work."""
        counts = dict.fromkeys(("depth", "n_weak_learners", "weak_depth"), Count)
        check_arguments(self, {**counts, "validation_fraction": Share | None, "features": Features})
        for name in ("lam", "rho", "zero_tol", "tol", "evaluation_cost"):
            exact(getattr(self, name), name)
        self._stages()
        check_argument("n_init", self.n_init, Count)
        check_argument("max_cycles", self.max_cycles, Natural)

    def _stages(self) -> list[float]:
        """The sharpness of each stage."""
        given = np.asarray(self.sharpness, dtype=object).ravel().tolist()
        stages = [s for s in given if isinstance(s, int | float | np.number) and s is not True and 0 < float(s) < math.inf]
        numbers = [float(s) for s in stages]
        if not numbers or len(numbers) < len(given) or numbers != sorted(numbers):
            raise InvalidInputError(f"sharpness is {self.sharpness!r}; give a number > 0, or some that do not fall, one a stage")
        return numbers

    def _grow(self, outputs: LearnerOutputs, purchases: LearnerPrices, rng: np.random.RandomState) -> Sequence[ClassifierTree]:
        """One tree for each start."""
        stages, n_nodes = self._stages(), 2**self.depth - 1
        loss = GlobalLoss(outputs.phi, outputs.y, outputs.shares(), purchases, self.lam, self.rho, stages[-1])
        schedules = [stages[start if start < len(stages) else 0 :] for start in range(self.n_init)]
        grown: list[tuple[float, ClassifierTree]] = []
        with tqdm(total=self.n_init, desc="CSTC", unit="start", disable=not self.verbose) as bar:
            for schedule, parts in zip(schedules, starting_parts(n_nodes, self.n_init, len(stages), rng), strict=True):
                w, _ = train(loss, schedule, parts, self.max_cycles, self.tol)
                w = replace(w, beta=with_zeros(w.beta, outputs.spread(), self.zero_tol))
                grown.append((replace(loss, sharpness=math.inf).value(w), ClassifierTree.of(w, np.ones(n_nodes, dtype=bool))))
                bar.set_postfix(loss=f"{grown[-1][0]:.5g}", refresh=False)
                bar.update()
        self.start_losses_ = np.array([value for value, _ in grown])
        return [grown[start][1] for start in np.argsort(self.start_losses_, kind="stable")]

    def _validation(self, X_valid: Any, y_valid: Any) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
        """Check the validation examples that were given."""
        X = validate_data(self, X_valid, reset=False, dtype=np.float64)
        if y_valid is None or len(y_valid) != len(X):
            raise InvalidInputError(f"X_valid has {len(X)} rows; give y_valid, one label each")
        return X, self._targets(column_or_1d(y_valid)), np.ones(len(X))

    def _learn_labels(self, y: NDArray[Any]) -> None:
        """Record the labels."""

    def _space(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self.weak_learners_.transform(validate_data(self, X, reset=False, dtype=np.float64))

    def _values(self, X: Any) -> NDArray[np.float64]:
        phi = self._space(X)
        values = self.tree_.predict(phi)
        return np.asarray(self._mean + self._scale * values)

    def apply(self, X: Any) -> NDArray[np.int64]:
        """The classifier node that each row leaves at, in heap order, shape (N,)."""
        phi = self._space(X)
        return self.tree_.leaving(phi)

    def prediction_cost(self, X: Any) -> NDArray[np.float64]:
        """What each row pays on its path, shape (N,), in the unit of the prices.

        Items of all features of the weak learners that the path's classifiers use, each once, and `evaluation_cost` for each of
        these weak learners.
        """
        at = self.apply(X)
        return np.asarray(self.path_costs_[at])
