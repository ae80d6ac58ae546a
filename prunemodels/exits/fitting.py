"""Fitting stages, and their outputs for rows that they were not trained on, from which policies are learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv
from sklearn.utils.validation import has_fit_parameter

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems
from prunemodels.estimators.samples import Sample
from prunemodels.exits.elimination import constant_of
from prunemodels.exits.inputs import exit_table
from prunemodels.exits.set_stages import Constant, SetStages, check_probabilities, columns_of
from prunemodels.exits.stage_columns import on_columns
from prunemodels.exits.stages import StageTable

Division = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows to train on, and held-out rows."""

CROSS_VALIDATED_BELOW = 5_000
"""With fewer examples the default is five folds; from this number on it is a single division."""


@dataclass(frozen=True, eq=False)
class StagePlan:
    """A stage before it is fitted.

    Parameters
    ----------
    estimator
        unfitted; None: predict the class shares, or the mean.
    columns
        int64: the columns that it reads.
    """

    estimator: Any
    columns: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Training:
    """Everything that is needed to fit the stages.

    Parameters
    ----------
    plans
        the stages.
    sample
        the examples.
    held_out
        examples that are not in the sample, or how the sample is divided.
    items
        prices of all columns.
    classes
        the labels, for classification.
    seed
        for stages that have none of their own.
    refit
        whether stages that were fitted on a single division are fitted again on the whole sample. After several divisions they
        always are.
    n_jobs
        stages that are fitted at the same time.
    """

    plans: Sequence[StagePlan]
    sample: Sample
    held_out: Sample | Sequence[Division]
    items: CostItems
    classes: NDArray[Any] | None
    seed: int
    refit: bool
    n_jobs: int | None


Judged = tuple[SetStages, StageTable, Sample]
"""Stages to predict with, outputs of such stages for rows that they were not trained on, and these rows."""


def divisions(sample: Sample, cv: Any, fraction: float, classifier: bool, rng: np.random.RandomState) -> list[Division]:
    """The divisions of the examples that `cv` or its default gives.

    Raises
    ------
    InvalidInputError
        for a fraction outside (0, 1), and if a part would be empty.
    """
    n, y = len(sample), np.asarray(sample.y)
    if not 0 < fraction < 1:
        raise InvalidInputError(f"validation_fraction is {fraction!r}; give a number between 0 and 1")
    if cv is None and n >= CROSS_VALIDATED_BELOW:
        seed = int(rng.randint(np.iinfo(np.int32).max))
        rare = classifier and np.unique(y, return_counts=True)[1].min() < 2
        split = StratifiedShuffleSplit if classifier and not rare else ShuffleSplit
        return [tuple(d) for d in split(1, test_size=fraction, random_state=seed).split(np.zeros(n), y)]
    if cv is None:
        smallest_class = int(np.unique(y, return_counts=True)[1].min()) if classifier else n
        cv = max(2, min(5, smallest_class))
    if n < 2:
        raise InvalidInputError(f"n_samples={n}: exits need examples for training and others for validation; give at least 2")
    splitter = check_cv(cv, y, classifier=classifier)
    if isinstance(cv, Integral):  # a splitter object belongs to the caller and is not changed
        splitter.shuffle, splitter.random_state = True, int(rng.randint(np.iinfo(np.int32).max))
    return [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(np.zeros(n), y)]


def classes_of(sample: Sample) -> NDArray[Any]:
    """The labels, sorted.

    Raises
    ------
    InvalidInputError
        if there is only one.
    """
    classes = np.unique(np.asarray(sample.y))
    if classes.size < 2:
        raise InvalidInputError(f"y has one class, {classes.tolist()[0]!r}; a classifier needs at least two")
    return classes


def fit_stage(plan: StagePlan, sample: Sample, classes: NDArray[Any] | None, seed: int, s: int) -> Any:
    """The fitted model of a stage.

    Raises
    ------
    InvalidInputError
        for a classifier without probabilities, and an estimator whose fit takes no weights if there are weights.
    """
    model = on_columns(plan.estimator, sample.X, plan.columns) if plan.estimator is not None and plan.columns.size else None
    if model is None:
        weights = sample.weights
        y = np.asarray(sample.y)
        return Constant(constant_of(y if classes is None else np.searchsorted(classes, y), weights, classes))
    model = seeded(model, seed)
    if sample.weight is not None and not has_fit_parameter(model, "sample_weight"):
        raise InvalidInputError(f"stage {s} is a {type(model).__name__}, whose fit takes no sample_weight; leave the weights out")
    options = {} if sample.weight is None else {"sample_weight": sample.weight}
    model.fit(columns_of(sample.X, plan.columns), sample.y, **options)
    if classes is not None:
        check_probabilities(model, s)
    return model


def seeded(model: Any, seed: int) -> Any:
    """The model; its `random_state`, and that of each model inside of it, is set to the seed if it is None."""
    unset = [name for name, value in model.get_params().items() if name.split("__")[-1] == "random_state" and value is None]
    return model.set_params(**dict.fromkeys(unset, seed))


def stages_of(plans: Sequence[StagePlan], models: Sequence[Any], items: CostItems, classes: NDArray[Any] | None) -> SetStages:
    """Fitted models as stages."""
    return SetStages(tuple(models), tuple(plan.columns for plan in plans), items, classes)


def check_both(X_valid: Any, y_valid: Any) -> None:
    """Refuse validation rows without labels, and labels without rows."""
    if (X_valid is None) != (y_valid is None):
        missing, given = ("X_valid", "y_valid") if X_valid is None else ("y_valid", "X_valid")
        raise InvalidInputError(f"{missing} is missing: {given} is given; give both, or none")


def is_unfitted(estimator: Any) -> bool:
    """Whether this is an estimator that can be cloned and fitted: an object, not a class."""
    return not isinstance(estimator, type) and hasattr(estimator, "fit") and hasattr(estimator, "get_params")


def check_kinds(plans: Sequence[StagePlan], classifier: bool) -> None:
    """Refuse regressors among the stages of a classifier, and the other way round.

    Raises
    ------
    InvalidInputError
        naming stage and class.
    """
    for s, plan in enumerate(plans):
        if plan.estimator is not None and not is_unfitted(plan.estimator):
            raise InvalidInputError(f"stage {s} has the estimator {plan.estimator!r}; give an unfitted scikit-learn estimator")
        if plan.estimator is not None and is_classifier(plan.estimator) != classifier:
            wanted = "classifier" if classifier else "regressor"
            raise InvalidInputError(f"stage {s} is a {type(plan.estimator).__name__}; a {wanted} is needed here")


def joined_table(tables: Sequence[StageTable]) -> StageTable:
    """The rows of several tables of the same stages in one table."""
    value, spread, cost = (
        np.concatenate([getattr(table, name) for table in tables], axis=1) for name in ("value", "spread", "cost")
    )
    return StageTable(value, spread, cost, tables[0].once)


def fit_stages(
    training: Training, rows: NDArray[np.int64] | None = None, factors: NDArray[np.float64] | None = None
) -> SetStages:
    """All stages fitted on some rows of the sample.

    Parameters
    ----------
    rows
        None: all.
    factors
        shape (S, N), >= 0: factors of the weights of all N rows of the sample at each stage. None: 1.
    """
    sample = training.sample if rows is None else training.sample.take(rows)

    def rows_of(s: int) -> Sample:
        if factors is None:
            return sample
        factor = factors[s] if rows is None else factors[s, rows]
        return without_weight_zero(replace(sample, weight=factor if sample.weight is None else sample.weight * factor))

    plans, classes, seed = training.plans, training.classes, training.seed
    jobs = (delayed(fit_stage)(plan, rows_of(s), classes, seed, s) for s, plan in enumerate(plans))
    return stages_of(plans, Parallel(n_jobs=training.n_jobs)(jobs), training.items, classes)


def cross_fitted_table(
    training: Training, parts: Sequence[Division], factors: NDArray[np.float64] | None = None
) -> tuple[StageTable, Sample, list[SetStages]]:
    """The stages' outputs for held-out rows; these rows, in the table's order; and the stages fitted for each division.

    Parameters
    ----------
    factors
        see `fit_stages`.
    """
    sample = training.sample
    fitted = [fit_stages(training, train, factors) for train, _ in parts]
    tables = [exit_table(stages, sample.take(held_out).X) for stages, (_, held_out) in zip(fitted, parts, strict=True)]
    order = np.concatenate([held_out for _, held_out in parts])
    return joined_table(tables), sample.take(order), fitted


def judged_stages(training: Training, factors: NDArray[np.float64] | None = None) -> Judged:
    """The stages to predict with; such stages' outputs for rows that they were not trained on; these rows, in the table's order.

    Parameters
    ----------
    factors
        see `fit_stages`.
    """
    held_out = training.held_out
    if isinstance(held_out, Sample):
        stages = fit_stages(training, factors=factors)
        return stages, exit_table(stages, held_out.X), held_out
    table, valid, fitted = cross_fitted_table(training, held_out, factors)
    single = len(fitted) == 1 and not training.refit
    return fitted[0] if single else fit_stages(training, factors=factors), table, valid


def without_weight_zero(sample: Sample) -> Sample:
    """The examples of positive weight; weights that are all 1 become None."""
    sample = sample.of_weight()
    return replace(sample, weight=None) if sample.weight is not None and (sample.weight == 1).all() else sample
