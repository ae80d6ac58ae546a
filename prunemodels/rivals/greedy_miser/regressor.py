"""GreedyMiser for regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from formulations.instance.cost_items import EvaluationCost
from prunemodels.forests.costs import Costs
from prunemodels.rivals.greedy_miser.binning import MOST_BINS
from prunemodels.rivals.greedy_miser.losses import Loss, SquaredError
from prunemodels.rivals.greedy_miser.miser import GreedyMiser


class GreedyMiserRegressor(RegressorMixin, GreedyMiser):  # type: ignore[misc]
    """GreedyMiser (Xu, Weinberger and Chapelle 2012) for regression; the method is that of `GreedyMiserClassifier`.

    The loss is the mean squared error, r_i the residual. With ``learning_rate=1`` a tree lowers (mean squared error + lam *
    model cost) by the net value of its splits, so `lam` is in the units of prunemodels' (OBJ): squared error per unit of cost.

    Parameters
    ----------
    costs
        prices in any form that `problem_from_forest` takes, items shared by features included; None: 1 for each feature.
    lam
        lambda: mean squared residual that one unit of price must save, see `GreedyMiserClassifier`; 0: prices do not matter. Its
        unit is squared targets per unit of price, so only 0 suits all data.
    evaluation_cost
        price a_f of evaluating one split, one number or one for each feature: it is paid for each split that an example passes.
    n_estimators
        stages.
    learning_rate
        factor of a tree's values.
    max_depth
        largest number of splits on a path through a tree, 1 to 16.
    min_samples_leaf
        least number of examples in a leaf, whatever their weights.
    max_bins
        largest number of bins of values for a feature, 2 to 255. A feature with no more values than that is split exactly.
    subsample
        share of the examples, drawn for each stage without replacement, on which its trees are grown.
    n_iter_no_change
        early stopping: stop after this many stages in which the loss on validation examples did not fall; None: never.
    validation_fraction, tol
        share of the examples set aside for early stopping, and the least fall of the loss that counts.
    random_state
        for `subsample` and `validation_fraction`; nothing else is random.
    verbose
        above 0: a progress bar on the standard error stream.

    Attributes
    ----------
    ensemble_
        the trees, whose values, shape (n, 1), include the learning rate: margins are `baseline_` plus their sum.
    baseline_
        the constant margins that boosting starts from, shape (K,).
    stage_of_tree_, output_of_tree_
        the stage and the margin that each tree belongs to, shape (T,).
    model_cost_
        price of all items that the model needs after each stage, shape (n_estimators_,): the paper's own accounting, in which
        every example pays for every feature of the model. `staged_cost` is less: an example pays for what its own paths need.
    validation_loss_
        shape (n_estimators_,), or empty.
    n_estimators_
        stages grown.
    cost_items_
        the prices as items.
    n_features_in_, feature_names_in_
        as in scikit-learn.

    References
    ----------
    Xu, Weinberger and Chapelle, The greedy miser: learning under test-time budgets, ICML 2012; as BP16 section 5 and appendix 6.4
    and CEGB17 sections 3 and 4.3 describe it. `prunemodels.rivals.greedy_miser` lists what comes from which source, and what is
    ours.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import prunemodels as pm
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = pm.rivals.GreedyMiserRegressor(1, lam=100, n_estimators=20, random_state=0).fit(X[:300], y[:300])
    >>> print(f"cost {model.prediction_cost(X[300:]).mean():.2f}, R2 {model.score(X[300:], y[300:]):.2f}")
    cost 3.00, R2 0.29
    """

    def __init__(
        self,
        costs: Costs | None = None,
        *,
        lam: float = 0.0,
        evaluation_cost: EvaluationCost = 0,
        n_estimators: int = 1000,
        learning_rate: float = 0.1,
        max_depth: int = 4,
        min_samples_leaf: int = 1,
        max_bins: int = MOST_BINS,
        subsample: float = 1.0,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        tol: float = 1e-7,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.costs = costs
        self.lam = lam
        self.evaluation_cost = evaluation_cost
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.subsample = subsample
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _encoded(self, y: NDArray[Any] | None) -> tuple[None, NDArray[Any]]:
        return None, np.asarray(y)

    def _loss_of(self, classes: NDArray[Any] | None) -> Loss:
        return SquaredError()

    def _decided(self, F: NDArray[np.float64]) -> NDArray[Any]:
        return F[:, 0].copy()
