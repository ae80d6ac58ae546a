"""GreedyMiser (Xu, Weinberger and Chapelle 2012): boosted trees of limited depth that pay for each feature once.

Sources (the paper itself is not among the project's papers)

- BP16 section 5 (iv): gradient boosted trees of low depth; each minimises squared loss with respect to the current gradient at
  the training examples plus feature acquisition cost; costs are zero for features that earlier trees use.
- BP16 appendix 6.4: 1,000 trees on MiniBooNE and Forest, 3,000 on Yahoo and Scene15; squared loss, on Scene15 the multi-class
  logistic loss; learning rate searched from 1e-5 to 1e2.
- BP16 section 5.1: several classes take an ensemble for each class.
- CEGB17 section 4.3: first-order steps (leaves are mean gradients, not Newton steps), breadth-first growth, features computed for
  all instances at once, depth four; section 3: every tree costs all inputs the same.
- CEGB17 section 5: if trees have a price, a tree of depth four is taken to cost as much as a feature of price 1; CEGB17 turns
  this into 1/4 for each split, which here is ``evaluation_cost=0.25``.
- The authors' public MATLAB code for trees, as found in other repositories: squared residuals are *summed*, so its lambda is N
  times ours; prices drop to zero between trees; a tree always splits to its full depth; its "depth 4" counts levels of nodes,
  which is ``max_depth=3`` here.

Ours: lambda per mean squared residual; prices drop within a tree too; a tree stops where no split is worth its price; items
shared by features; prices of splits; bins; missing values; weights; the constant that boosting starts from.

Time, measured on one core: 1,000 stages of depth 4 on 35,000 x 50 (MiniBooNE) 10 to 17 s; 200 stages of 7 trees on 36,603 x 54
(Covertype) 21 to 25 s.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from formulations.arguments import Share, check_argument
from formulations.instance.cost_items import EvaluationCost
from formulations.instance.ensemble import Ensemble
from prunemodels.models.costs import Costs
from prunemodels.models.labelled_samples import Sample, split
from prunemodels.models.losses import SQUARED_ERROR, LossName, classification_loss
from prunemodels.rivals.boosted_learner import BoostedClassification, BoostedLearner, BoostedRegression, Margins, Prices
from prunemodels.rivals.greedy_miser_growth import Settings, boost


class GreedyMiser(BoostedLearner):
    """See `GreedyMiserClassifier`."""

    _settings = Settings
    ensemble_: Ensemble

    def _grow(
        self, sample: Sample, classes: NDArray[Any] | None, prices: Prices, settings: Settings, names: tuple[str, ...] | None
    ) -> None:
        name: LossName = getattr(self, "loss", "squared_error")
        check_argument("loss", name, LossName)
        rng, valid = check_random_state(self.random_state), None
        if settings.n_iter_no_change is not None:
            check_argument("validation_fraction", self.validation_fraction, Share)
            sample, kept = split(sample, self.validation_fraction, rng, sample.y if is_classifier(self) else None)
            valid = self._training_rows(kept, classes)
        loss = SQUARED_ERROR if classes is None else classification_loss(name, len(classes))
        train, hidden = self._training_rows(sample, classes), self.verbose <= 0
        grown = boost(train, valid, loss, prices, settings, rng, names=names, hidden=hidden)
        self.ensemble_, self.baseline_, self._loss = grown.trees, grown.baseline, loss
        tree, k = np.arange(grown.trees.n_trees, dtype=np.int32), len(grown.baseline)
        self.stage_of_tree_, self.output_of_tree_ = tree // k, tree % k
        self.model_cost_, self.validation_loss_ = grown.model_cost, grown.validation_loss
        self.n_estimators_ = len(grown.model_cost)

    def _sums(self) -> Margins:
        return self.ensemble_, self.baseline_, self.output_of_tree_


class GreedyMiserClassifier(BoostedClassification, GreedyMiser):
    """GreedyMiser (Xu, Weinberger and Chapelle 2012) for two or more classes.

    Gradient boosting with regression trees of limited depth, in which a feature has to be worth its price once, for the whole
    model. Each tree h is grown greedily to minimise

        (1/V) sum_i w_i (r_i - h(x_i))^2  +  lam * ( price of all items that h is the first tree to need  +  evaluation of h )

    where r_i is the negative gradient at the stages so far and V = sum_i w_i. An item that a split of the model needs is free for
    all later splits. The trees of a stage, one for each class (two classes: one tree), are grown one after the other.

    Parameters
    ----------
    costs
        prices in any form that `problem_from_forest` takes, items shared by features included; None: 1 for each feature.
    lam
        lambda: mean squared residual that one unit of price must save, see the formula above; 0: prices do not matter.
        Residuals of class labels are between -1 and 1.
    loss
        ``"log_loss"``: binary or multi-class logistic. ``"squared_error"``: for labels 0 and 1, and for more than two classes
        each against the rest; BP16 used it on MiniBooNE and Forest.
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
    classes_
        the labels.
    n_features_in_, feature_names_in_
        as in scikit-learn.

    References
    ----------
    Xu, Weinberger and Chapelle, The greedy miser: learning under test-time budgets, ICML 2012; as BP16 section 5 and appendix 6.4
    and CEGB17 sections 3 and 4.3 describe it. `prunemodels.rivals.greedy_miser` lists what comes from which source, and what is
    ours.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_train, costs, y_test, y_train
    >>> model = pm.rivals.GreedyMiserClassifier(costs, lam=0.01, n_estimators=20, random_state=0).fit(X_train, y_train)
    >>> print(f"cost {model.prediction_cost(X_test).mean():.2f}, error {1 - model.score(X_test, y_test):.3f}")
    cost 2.00, error 0.089
    """

    def __init__(
        self,
        costs: Costs | None = None,
        *,
        lam: float = 0.001,
        loss: LossName = "log_loss",
        evaluation_cost: EvaluationCost = 0,
        n_estimators: int = 1000,
        learning_rate: float = 0.1,
        max_depth: int = 4,
        min_samples_leaf: int = 1,
        subsample: float = 1.0,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        tol: float = 1e-7,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.costs = costs
        self.lam = lam
        self.loss = loss
        self.evaluation_cost = evaluation_cost
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.subsample = subsample
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose


class GreedyMiserRegressor(BoostedRegression, GreedyMiser):
    """GreedyMiser (Xu, Weinberger and Chapelle 2012) for regression; the method is that of `GreedyMiserClassifier`.

    The loss is the mean squared error, r_i the residual. With ``learning_rate=1`` a tree lowers (mean squared error + lam *
    model cost) by the net value of its splits, so `lam` is in the units of prunemodels' (OBJ): squared error per unit of cost.

    Parameters
    ----------
    lam
        lambda: mean squared residual that one unit of price must save, see `GreedyMiserClassifier`; 0: prices do not matter. Its
        unit is squared targets per unit of price, so only 0 suits all data.
    costs, evaluation_cost, n_estimators, learning_rate, max_depth, min_samples_leaf, subsample, n_iter_no_change
        as in `GreedyMiserClassifier`, and so are the settings and attributes that are not named here; there is no ``classes_``.

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
        self.subsample = subsample
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
