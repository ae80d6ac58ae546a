"""Cost efficient gradient boosting: for classification, for regression, and by LightGBM.

LightGBM takes prices in its ``cegb_*`` parameters. Its gains lack the 1/2 of CEGB17 eq. (12), and from each it takes

    cegb_tradeoff * ( cegb_penalty_split * rows in the leaf
                      + cegb_penalty_feature_lazy[f] * rows in the leaf that no tree has split by f yet
                      + cegb_penalty_feature_coupled[f] if no row has been )                         (1)

so  cegb_tradeoff = 2 lam w,  penalty_split = alpha,  lazy = c_f  and  coupled = N c_f  give the penalty of eq. (13); w is the
weight of every example.

Where LightGBM 4.7 does not do (1), or (1) is not the penalty that is wanted, `boost_by_lightgbm` refuses the input or avoids the
case:

- *Coupled penalties* are right in the leaf that is split. But once a feature is bought, LightGBM values its splits in all other
  leaves of the tree at their gain without any penalty plus the coupled one, so it rewards what should become free (observed: a
  split with a gain of 0.019 was taken, and reported, at 1.019). So items paid once are refused unless trees have a single split.
- *Items that features share*, and *split prices by feature*, cannot be expressed (``feature_contri`` multiplies gains).
- *Rows count, weights do not*: a row of weight 2 pays once. Unequal weights are refused if there is a price to pay.
- *Lazy penalties* number pairs of row and feature with 32 bits; from 2^31 pairs on they are refused.
- *Bagging*: rows that are left out of a tree buy nothing in it although they will use it. If at most half are drawn, the rows are
  renumbered, so purchases are recorded for the wrong ones. *Continued training* (``init_model``) starts without any purchases.
  Neither is offered; only the parameters named here are passed to LightGBM.
- *Rows of a side*: to check `min_child_samples`, LightGBM estimates them from the second derivatives; so for classes leaves may
  hold fewer. engine="own" counts them.
- *A shortcut*: if no split of a leaf by a feature has a gain before its penalty, LightGBM no longer tries the feature below the
  leaf. With ``reg_lambda > 0``, which lowers gains, it may miss better splits. engine="own" tries all.
- *Growth*: best-first only. Where the limit on leaves cannot bind, any order grows the same tree.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import EvaluationCost
from prunemodels.models.costs import Costs
from prunemodels.models.labelled_samples import Sample, rows_to_predict
from prunemodels.models.libraries.model_forest import ModelForest
from prunemodels.models.libraries.reading import read_model
from prunemodels.models.losses import SQUARED_ERROR, classification_loss
from prunemodels.rivals.boosted_learner import BoostedClassification, BoostedLearner, BoostedRegression, Margins, Prices
from prunemodels.rivals.cegb_engine import Engine, Growth, Settings, boost
from prunemodels.rivals.histograms import TrainingRows


class CostEfficientBoosting(BoostedLearner):
    """See `CEGBClassifier`."""

    _settings = Settings
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

    def _grow(
        self, sample: Sample, classes: NDArray[Any] | None, prices: Prices, settings: Settings, names: tuple[str, ...] | None
    ) -> None:
        if self.training_costs is not None:
            prices = Prices.of(self.training_costs, self.evaluation_cost, self.n_features_in_, names)
        train, hidden = self._training_rows(sample, classes), self.verbose <= 0
        self._loss = SQUARED_ERROR if classes is None else classification_loss("log_loss", len(classes))
        self.__dict__.pop("booster_", None)
        if settings.engine == "own":
            forest = boost(train, self._loss, prices, settings, hidden=hidden)[0]
        else:
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            n_classes = 0 if classes is None else len(classes)
            jobs = self.n_jobs
            forest, self.booster_ = boost_by_lightgbm(train, n_classes, prices, settings, n_jobs=jobs, seed=seed, hidden=hidden)
        self.forest_ = replace(forest, classes=classes, ensemble=replace(forest.ensemble, feature_names=names))
        self.n_iter_ = forest.ensemble.n_trees // forest.n_outputs

    def _sums(self) -> Margins:
        return self.forest_.ensemble, self.forest_.base, self.forest_.output

    def _seen(self, X: Any) -> NDArray[np.float32]:
        check_is_fitted(self)
        rows = rows_to_predict(self, X)
        return self.forest_.rows(rows)


class CEGBClassifier(BoostedClassification, CostEfficientBoosting):
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
        cannot express or gets wrong are refused, see `prunemodels.rivals.cegb`, and so are unequal weights where
        there is a price to pay. ``"own"``: this package's engine, on one core, which takes all prices and weights.
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

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def _decided(self, F: NDArray[np.float64]) -> NDArray[Any]:
        return self.forest_.predictions(F)


class CEGBRegressor(BoostedRegression, CostEfficientBoosting):
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


MOST_PAIRS = 2**31
"""LightGBM numbers pairs of row and feature with signed 32-bit integers: there must be fewer than this."""

OWN_TAKES_THEM = 'engine="own" takes them'


def boost_by_lightgbm(
    train: TrainingRows,
    n_classes: int,
    prices: Prices,
    settings: Settings,
    *,
    n_jobs: int | None,
    seed: int,
    hidden: bool,
) -> tuple[ModelForest, Any]:
    """Train a booster and read it, with labels 0, 1, ...; `n_classes` is 0 for numbers. Returns the model and the booster."""
    lightgbm = _lightgbm()
    X, target, weight = train.X, train.targets, np.ones(len(train.X)) if train.weight is None else train.weight
    parameters = {
        **booster_parameters(settings, n_classes),
        **penalties(prices, settings, weight, len(X)),
        "num_threads": effective_n_jobs(n_jobs),
        "seed": seed,
    }
    labels = target.argmax(axis=1) if n_classes > 2 else target[:, 0]
    weights = None if (weight == 1).all() else weight
    data = lightgbm.Dataset(X, labels, weight=weights, params=parameters, free_raw_data=True)
    booster = lightgbm.Booster(parameters, data)
    with tqdm(total=settings.n_estimators, desc="CEGB", file=sys.stderr, leave=False, disable=hidden) as bar:
        for _ in range(settings.n_estimators):
            if booster.update():
                break  # no tree of the round has a split; LightGBM keeps such a round only if it is the first
            bar.update()
    booster.free_dataset()
    forest = read_model(booster)
    return replace(forest, classes=np.arange(n_classes) if n_classes else None), booster


def booster_parameters(settings: Settings, n_classes: int) -> dict[str, Any]:
    """LightGBM's parameters without prices; with them its results do not depend on the number of threads."""
    kind = {0: "regression", 2: "binary"}.get(n_classes, "multiclass")
    return {
        "objective": kind,
        **({"num_class": n_classes} if kind == "multiclass" else {}),
        "learning_rate": settings.learning_rate,
        "num_leaves": settings.num_leaves,
        "max_depth": -1 if settings.max_depth is None else settings.max_depth,
        "min_data_in_leaf": settings.min_child_samples,
        "min_sum_hessian_in_leaf": settings.min_child_weight,
        "lambda_l2": settings.reg_lambda,
        "max_bin": settings.max_bin,
        "deterministic": True,
        "force_col_wise": True,
        "verbosity": -1,
    }


def penalties(prices: Prices, settings: Settings, weight: NDArray[np.float64], n_rows: int) -> dict[str, Any]:
    """The ``cegb_*`` parameters that express the prices by (1); none for ``lam=0``."""
    if settings.growth == "breadth" and settings.order_matters:
        raise InvalidInputError(
            f"growth is 'breadth', LightGBM grows best-first; give max_depth with 2**max_depth <= num_leaves "
            f'({settings.num_leaves}), where both are the same, or engine="own"'
        )
    if settings.lam == 0:
        return {}
    _check(prices, settings, weight)
    needed: dict[str, Any] = {
        "cegb_tradeoff": 2.0 * settings.lam * float(weight[0]),
        "cegb_penalty_split": float(prices.evaluation.max(initial=0.0)),
    }
    if prices.by_example.size:
        pairs = n_rows * prices.items.n_features
        if pairs >= MOST_PAIRS:
            raise InvalidInputError(
                f"X has {n_rows} rows and {prices.items.n_features} columns, {pairs} pairs; LightGBM's lazy penalties "
                f'count fewer than 2**31: give fewer rows, or engine="own"'
            )
        needed["cegb_penalty_feature_lazy"] = prices.by_feature(prices.by_example).tolist()
    if prices.for_all.size:
        needed["cegb_penalty_feature_coupled"] = (n_rows * prices.by_feature(prices.for_all)).tolist()
    return needed


def _check(prices: Prices, settings: Settings, weight: NDArray[np.float64]) -> None:
    items = prices.items
    if prices.shared:
        raise InvalidInputError(
            f"costs: several features need the item {items.names[prices.shared[0]]!r}, LightGBM has a price for each; "
            f"{OWN_TAKES_THEM}"
        )
    if prices.for_all.size and not settings.single_split:
        raise InvalidInputError(
            f"costs: the item {items.names[prices.for_all[0]]!r} is paid once for all; LightGBM rewards "
            f"further splits by its feature instead of making them free; {OWN_TAKES_THEM}, or give num_leaves=2"
        )
    if np.ptp(prices.evaluation) > 0:
        raise InvalidInputError(f"evaluation_cost differs by feature, LightGBM has one price for all splits; {OWN_TAKES_THEM}")
    if np.ptp(weight) > 0:
        raise InvalidInputError(
            "sample_weight is not the same for all rows; LightGBM's penalties count rows, whatever they weigh; "
            'engine="own" weighs costs and losses alike'
        )


def _lightgbm() -> Any:
    """The lightgbm package."""
    try:
        import lightgbm
    except ImportError as error:
        raise ImportError(
            'engine="lightgbm" needs LightGBM; install it with: python -m pip install lightgbm, or give engine="own"'
        ) from error
    return lightgbm
