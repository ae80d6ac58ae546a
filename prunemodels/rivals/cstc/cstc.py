"""Cost-sensitive tree of classifiers (CSTC13), for regression and two classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from tqdm import tqdm

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from prunemodels.forests.costs import Costs
from prunemodels.rivals.cstc.classifier_tree import ClassifierTree
from prunemodels.rivals.cstc.estimator import TreeClassification, TreeOfClassifiers, TreeRegression
from prunemodels.rivals.cstc.finishing import Examples, with_zeros
from prunemodels.rivals.cstc.global_loss import GlobalLoss
from prunemodels.rivals.cstc.purchases import Purchases
from prunemodels.rivals.cstc.training import train


class _CSTC(TreeOfClassifiers):
    """Parameters and training of `CSTCRegressor` and `CSTCClassifier`."""

    def __init__(
        self,
        costs: Costs | None = None,
        lam: float = 0.001,
        *,
        depth: int = 3,
        features: str = "boosted",
        n_weak_learners: int = 100,
        weak_depth: int = 2,
        learning_rate: float = 0.1,
        min_samples_leaf: int = 20,
        rho: float = 1e-4,
        sharpness: float = 10.0,
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
        self.zero_tol = zero_tol
        self.evaluation_cost = evaluation_cost
        self.max_cycles = max_cycles
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.verbose = verbose

    def _check_settings(self) -> None:
        super()._check_settings()
        for name in ("lam", "rho", "zero_tol", "tol"):
            exact(getattr(self, name), name)
        if not exact(self.sharpness, "sharpness") > 0:
            raise InvalidInputError(f"sharpness is {self.sharpness!r}; give a number > 0")
        if not self.max_cycles >= 0:
            raise InvalidInputError(f"max_cycles is {self.max_cycles!r}; give a whole number >= 0")

    def _grow(self, examples: Examples, purchases: Purchases) -> ClassifierTree:
        share = examples.weights / examples.weights.sum()
        loss = GlobalLoss(examples.phi, examples.y, share, purchases, self.lam, self.rho, self.sharpness)
        with tqdm(total=self.max_cycles + 1, desc="CSTC", unit="cycle", disable=not self.verbose) as bar:

            def tick(value: float) -> None:
                bar.set_postfix(loss=f"{value:.5g}", refresh=False)
                bar.update()

            trained = train(loss, self.depth, self.max_cycles, self.tol, tick)
        self.losses_ = np.array(trained.losses)
        w = trained.weights
        beta = with_zeros(w.beta, examples.spread(), self.zero_tol)
        kept = np.ones(len(beta), dtype=bool)
        return ClassifierTree(beta, w.intercept, w.threshold, beta, w.intercept, kept)


class CSTCRegressor(TreeRegression, _CSTC):
    """Cost-sensitive tree of classifiers, for regression.

    Xu, Kusner, Weinberger, Chen, *Cost-sensitive tree of classifiers*, ICML 2013. A tree of linear predictors over weak
    learners; an example follows one path, branches by each predictor's threshold, and pays for the weak learners that the
    predictors on it use. All are trained together by squared loss plus lambda times the relaxed expected cost, (5) of
    `global_loss`.

    From the paper: weak learners and their costs (section 3), tree, soft traversal, loss and relaxation (4.1), initialisation top
    to bottom, cyclic optimisation with auxiliary variables, pruning, fine-tuning (4.2). Ours: intercepts, labels scaled to
    variance 1, `sharpness`, first thresholds, `zero_tol`, L-BFGS in place of conjugate gradients, and what `finishing` names.

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
        s of (S1), > 0; the larger it is, the closer soft traversal is to the hard paths that predictions take.
    zero_tol
        weights up to this size become zero, see `finishing`.
    evaluation_cost
        price of evaluating one weak learner.
    max_cycles, tol
        largest number of cycles over the nodes; they end earlier when one lowers the loss by less than the fraction `tol`.
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
    losses_
        the loss after the initialisation and each cycle; it never rises.
    weak_learners_, purchases_, path_costs_
        phi; the items that it needs; what an example pays that leaves at each node.
    """


class CSTCClassifier(TreeClassification, _CSTC):
    """Cost-sensitive tree of classifiers, for two classes.

    `CSTCRegressor` on labels -1 and 1; the second class is predicted where the prediction is above 0. CSTC13 leaves classes out
    "because of space limitations"; squared loss on -1 and 1 is ours. Validation counts wrong labels. More than two classes are
    refused: one tree for each class would pay for its features by itself, which is a different model.

    Parameters and attributes are those of `CSTCRegressor`, and besides:

    Attributes
    ----------
    classes_
        the two labels.
    """
