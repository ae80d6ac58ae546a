"""Cost-sensitive tree of classifiers (CSTC13), for regression and classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tqdm import tqdm

from formulations.arguments import Count, Natural, check_argument
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from prunemodels.models.costs import Costs
from prunemodels.rivals.cstc.estimator import Features, TreeClassification, TreeOfClassifiers, TreeRegression
from prunemodels.rivals.cstc.global_loss import GlobalLoss, LearnerPrices
from prunemodels.rivals.cstc.training import ClassifierTree, LearnerOutputs, starting_parts, train, with_zeros


class _CSTC(TreeOfClassifiers):
    """Parameters and training of `CSTCRegressor` and `CSTCClassifier`."""

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

    def _check_settings(self) -> None:
        super()._check_settings()
        for name in ("lam", "rho", "zero_tol", "tol"):
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


class CSTCRegressor(TreeRegression, _CSTC):
    """Cost-sensitive tree of classifiers, for regression.

    Xu, Kusner, Weinberger, Chen, *Cost-sensitive tree of classifiers*, ICML 2013. A tree of linear predictors over weak
    learners; an example follows one path, branches by each predictor's threshold, and pays for the weak learners that the
    predictors on it use. All are trained together by squared loss plus lambda times the relaxed expected cost, (5) of
    `global_loss`.

    From the paper: weak learners and their costs (section 3), tree, soft traversal, loss and relaxation (4.1), initialisation top
    to bottom, cyclic optimisation with auxiliary variables, pruning, fine-tuning (4.2). Ours: intercepts, labels scaled to
    variance 1, `sharpness` and its schedule, several starts and their first thresholds, `zero_tol`, L-BFGS in place of conjugate
    gradients, and what `prunemodels.rivals.cstc.training` names.

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
        whose finished tree is the cheapest of those that err least there, see `prunemodels.rivals.cstc.training`; else that of
        the least loss (5) along hard paths.
    zero_tol
        weights up to this size become zero, see `prunemodels.rivals.cstc.training`.
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


class CSTCClassifier(TreeClassification, _CSTC):
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
