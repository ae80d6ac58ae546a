"""Fitting stages, and their outputs for rows that they were not trained on, from which policies are learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import is_classifier
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems
from formulations.instance.tree_loss import TreeLoss
from prunemodels.cascades.elimination import JudgedFold, Keep, afresh, constant_of, mean_loss, parts_enough
from prunemodels.cascades.params import PARAMS
from prunemodels.models.labelled_samples import Sample, class_numbers, folds_of, part_of
from prunemodels.stages.judging import WRONG, fitting_loss
from prunemodels.stages.set_stages import (
    BlendedStage,
    Constant,
    SetStages,
    check_probabilities,
    columns_of,
    on_columns,
    predictions_of,
)
from prunemodels.stages.stages import Stages, StageTable, table_of

Division = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows to train on, and held-out rows."""


_IN_ONE_THREAD = ContextVar("_IN_ONE_THREAD", default=False)


@contextmanager
def in_one_thread_if_small(numbers: int) -> Iterator[None]:
    """One thread for work on a table of few numbers; within such work the limit is not set again, which takes milliseconds."""
    if _IN_ONE_THREAD.get() or numbers > PARAMS.one_thread_numbers:
        yield
        return
    token = _IN_ONE_THREAD.set(True)
    try:
        with threadpool_limits(1):
            yield
    finally:
        _IN_ONE_THREAD.reset(token)


@dataclass(frozen=True, eq=False)
class StagePlan:
    """A stage before it is fitted."""

    estimator: Any  # unfitted; None: predict the class shares, or the mean
    columns: NDArray[np.int64]  # the columns that it reads
    others: tuple[Any, ...] = ()  # more unfitted estimators: held-out rows choose one of them, or the mean of several


@dataclass(frozen=True, eq=False)
class Training:
    """Everything that is needed to fit the stages."""

    plans: Sequence[StagePlan]
    sample: Sample
    held_out: Sample | Sequence[Division]  # examples that are not in the sample, or how the sample is divided
    items: CostItems  # prices of all columns
    classes: NDArray[Any] | None  # the labels, for classification
    seed: int  # for stages that have none of their own
    n_jobs: int | None  # stages that are fitted at the same time
    by: TreeLoss = WRONG  # what predictions are judged by
    kept: Keep = afresh  # gives fitted stages
    verbose: int | None = 0  # whether bars tell the progress, see `progress_bar`
    known: Mapping[Known, Any] = field(default_factory=dict)  # models that were fitted before


Part = tuple[Sample, Sample]
"""Rows to train on, and held-out rows."""

Known = tuple[int, int, bytes]
"""A division by its place, an unfitted estimator by its `id`, and columns by their bytes."""

AnyStages = TypeVar("AnyStages", bound=Stages)


class Judged(NamedTuple, Generic[AnyStages]):
    """Fitted stages, and labelled rows that such stages were not trained on."""

    stages: AnyStages
    table: StageTable  # outputs for the rows
    rows: Sample  # the rows, in the table's order
    # shape (N,): 0 for the rows whose outputs are those of `stages`; other numbers for rows whose outputs are of stages that were
    # fitted for other divisions.
    fold: NDArray[np.int64]


def divisions(sample: Sample, cv: Any, fraction: float | None, classifier: bool, rng: np.random.RandomState) -> list[Division]:
    """The divisions of the examples that `cv` or its default gives."""
    n, y, groups = len(sample), np.asarray(sample.y), sample.group
    if fraction is None:
        fraction = min(PARAMS.held_out_share, PARAMS.most_held_out / max(n, 1))
    if not 0 < fraction < 1:
        raise InvalidInputError(f"validation_fraction is {fraction!r}; give a number between 0 and 1")
    if cv is None and n >= PARAMS.cross_validated_below:
        seed = int(rng.randint(np.iinfo(np.int32).max))
        if groups is not None:
            return [part_of(n, fraction, groups, seed)]
        rare = classifier and np.unique(y, return_counts=True)[1].min() < 2
        split = StratifiedShuffleSplit if classifier and not rare else ShuffleSplit
        return [tuple(d) for d in split(1, test_size=fraction, random_state=seed).split(np.zeros(n), y)]
    if n < 2:
        raise InvalidInputError(f"n_samples={n}: exits need examples for training and others for validation; give at least 2")
    if groups is not None and (cv is None or isinstance(cv, Integral)):
        there, seed = np.unique(groups).size, int(rng.randint(np.iinfo(np.int32).max))
        if cv is not None and not 2 <= int(cv) <= there:
            raise InvalidInputError(f"cv is {cv}, and there are {there:,} groups; give at least 2 and at most as many folds")
        return folds_of(n, PARAMS.folds if cv is None else int(cv), groups, seed)
    if cv is None:
        cv = min(PARAMS.folds, n)
        classifier = classifier and int(np.unique(y, return_counts=True)[1].min()) >= cv  # else a class cannot be in every fold
    splitter = check_cv(cv, y, classifier=classifier)
    if isinstance(cv, Integral) and int(cv) > n:
        raise InvalidInputError(f"cv is {cv}, and there are {n} examples; give at most as many folds")
    if isinstance(cv, Integral) and classifier and int(cv) > (most := int(np.unique(y, return_counts=True)[1].max())):
        raise InvalidInputError(f"cv is {cv}, and no class has more than {most} examples; give at most as many folds")
    if isinstance(cv, Integral):  # a splitter object belongs to the caller and is not changed
        splitter.shuffle, splitter.random_state = True, int(rng.randint(np.iinfo(np.int32).max))
    return [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(np.zeros(n), y, groups)]


def classes_of(sample: Sample) -> NDArray[Any]:
    """The labels, sorted."""
    classes = np.unique(np.asarray(sample.y))
    if classes.size < 2:
        raise InvalidInputError(f"y has one class, {classes.tolist()[0]!r}; a classifier needs at least two")
    return classes


def fit_stage(estimator: Any, sample: Sample, classes: NDArray[Any] | None, seed: int, s: int, columns: NDArray[np.int64]) -> Any:
    """The fitted model of stage s, on some columns."""
    model = on_columns(estimator, sample.X, columns) if estimator is not None and columns.size else None
    if model is None or (classes is not None and np.unique(np.asarray(sample.y)).size < 2):
        weights = sample.weights
        y = np.asarray(sample.y)
        return Constant(constant_of(y if classes is None else np.searchsorted(classes, y), weights, classes))
    model = seeded(model, seed)
    options = {} if sample.weight is None else {weights_of_fit(model, s): sample.weight}
    # Without routing, for which the steps of a pipeline would have to make requests.
    with in_one_thread_if_small(len(sample) * columns.size), config_context(enable_metadata_routing=False):
        model.fit(_with_values(columns_of(sample.X, columns)), sample.y, **options)
    if classes is not None:
        check_probabilities(model, s)
    return model


def weights_of_fit(model: Any, s: int) -> str:
    """What the `fit` of stage s calls the weights of the examples: of a pipeline, those of its last step."""
    if has_fit_parameter(model, "sample_weight"):
        return "sample_weight"
    if isinstance(model, Pipeline) and has_fit_parameter(model[-1], "sample_weight"):
        return f"{model.steps[-1][0]}__sample_weight"
    raise InvalidInputError(f"stage {s} is a {type(model).__name__}, whose fit takes no sample_weight; leave the weights out")


def _with_values(X: Any) -> Any:
    """The rows with 0 in columns of numbers without any value, from which nothing is learned: boosting does not take those."""
    if isinstance(X, pd.DataFrame):
        empty = [k for k, kind in enumerate(X.dtypes) if pd.api.types.is_float_dtype(kind) and X.iloc[:, k].isna().all()]
        X = X.copy(deep=False) if empty else X
        for k in empty:
            X.isetitem(k, 0.0)
        return X
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and (gaps := np.isnan(X).all(axis=0)).any():
        return np.where(gaps, np.zeros(1, dtype=X.dtype), X)
    return X


def judged_fold(model: Any, train: Sample, held_out: Sample, classes: NDArray[Any] | None, seed: int) -> JudgedFold:
    """A division of the examples that judges models like this one, on any columns."""
    truth = class_numbers(classes, held_out.y, len(held_out), "y_valid")
    return JudgedFold(partial(fit_stage, model, train, classes, seed, 0), replace(held_out, y=truth))


def seeded(model: Any, seed: int) -> Any:
    """The model; every `random_state` in it that is None is set to the seed."""
    unset = [name for name, value in model.get_params().items() if name.split("__")[-1] == "random_state" and value is None]
    return model.set_params(**dict.fromkeys(unset, seed))


class HeldOutModels:
    """Judges kinds of models on some columns by rows that they are not trained on."""

    def __init__(self, parts: Sequence[Part], training: Training, columns: NDArray[np.int64]) -> None:
        self.training, self.columns = training, columns
        self.parts = parts[: parts_enough([len(other) for _, other in parts], PARAMS.enough_compared)]
        self.truth = np.concatenate([class_numbers(training.classes, other.y, len(other)) for _, other in self.parts])
        self.weights = np.concatenate([other.weights for _, other in self.parts])
        self.fitted: dict[int, list[Any]] = {}  # by the `id` of the unfitted model; one for each part

    def values(self, model: Any) -> NDArray[np.float64]:
        """What such a model, trained on each part, says of the part's held-out rows, shape (N, K)."""
        classes, seed = self.training.classes, self.training.seed
        fitted = [fit_stage(model, train, classes, seed, 0, self.columns) for train, _ in self.parts]
        self.fitted[id(model)] = fitted
        rows = [columns_of(other.X, self.columns) for _, other in self.parts]
        return np.concatenate([predictions_of(one, X, classes) for one, X in zip(fitted, rows, strict=True)])

    def loss(self, value: NDArray[np.float64]) -> float:
        """The mean loss of such values."""
        return mean_loss(value, self.truth, self.weights, self.training.by)


def stages_of(plans: Sequence[StagePlan], models: Sequence[Any], items: CostItems, classes: NDArray[Any] | None) -> SetStages:
    """Fitted models as stages."""
    return SetStages(tuple(models), tuple(plan.columns for plan in plans), items, classes)


def is_unfitted(estimator: Any) -> bool:
    """Whether this is an estimator that can be cloned and fitted: an object, not a class."""
    return not isinstance(estimator, type) and hasattr(estimator, "fit") and hasattr(estimator, "get_params")


def check_kinds(plans: Sequence[StagePlan], classifier: bool) -> None:
    """Refuse regressors among the stages of a classifier, and the other way round."""
    for s, plan in enumerate(plans):
        if plan.estimator is not None and not is_unfitted(plan.estimator):
            raise InvalidInputError(
                f"stage {s} has the estimator {plan.estimator!r}; give an unfitted scikit-learn estimator, or None"
            )
        if plan.estimator is not None and is_classifier(plan.estimator) != classifier:
            wanted = "classifier" if classifier else "regressor"
            raise InvalidInputError(f"stage {s} is a {type(plan.estimator).__name__}; a {wanted} is needed here")


def fit_stages(training: Training, rows: NDArray[np.int64] | None = None, division: int = 0) -> SetStages:
    """All stages fitted on some rows of the sample, those of a division; None: on all."""
    sample = training.sample if rows is None else training.sample.take(rows)
    models = fit_models(training, training.plans, sample, division)
    return stages_of(training.plans, models, training.items, training.classes)


def fit_models(training: Training, plans: Sequence[StagePlan], sample: Sample, division: int = -1) -> list[Any]:
    """The fitted models of some plans; those that are known for this division or kept in files are not fitted again."""
    kept, options = training.kept, (sample, training.classes, training.seed)
    found = [training.known.get(known(division, plan.estimator, plan.columns)) for plan in plans]
    missing = [s for s, model in enumerate(found) if model is None]
    for s, model in enumerate(found):
        if model is not None:  # a fit that goes on from a folder knows no models but those in it
            found[s] = kept((), _work(plans[s], sample), partial(_itself, model))
    jobs = (delayed(_fit_or_load)(kept, plans[s], *options, s) for s in missing)
    with progress_bar(len(missing), "fitting models", training.verbose) as bar:
        for s, model in zip(missing, Parallel(n_jobs=training.n_jobs, return_as="generator")(jobs), strict=True):
            found[s] = model
            bar.update()
    return found


def known(division: int, estimator: Any, columns: NDArray[np.int64]) -> Known:
    """The key of a fitted model."""
    return division, id(estimator), columns.tobytes()


def progress_bar(total: int, what: str, verbose: int | None) -> Any:
    """A bar that says what is being done; None: on a terminal alone, after three seconds; 0: none."""
    delay, hidden = (3, None) if verbose is None else (0, verbose <= 0)
    return tqdm(total=total, desc=what, leave=False, delay=delay, disable=hidden)


def _fit_or_load(kept: Keep, plan: StagePlan, sample: Sample, classes: Any, seed: int, s: int) -> Any:
    return kept((), _work(plan, sample), partial(fit_stage, plan.estimator, sample, classes, seed, s, plan.columns))


def _work(plan: StagePlan, sample: Sample) -> Any:
    """What a stage is fitted of."""
    return plan.estimator, plan.columns, len(sample) if sample.place is None else sample.place


def _itself(model: Any) -> Any:
    return model


def judged_stages(training: Training) -> Judged[SetStages]:
    """The stages, and their outputs for rows that they were not trained on.

    After several divisions the stages of one of them predict, so that some rows remain that they have not seen: what is stated
    of a policy is measured on those. It is the division whose outputs are closest to those of all divisions.
    """
    held_out = training.held_out
    place = np.repeat(np.arange(len(training.plans)), [1 + len(plan.others) for plan in training.plans])
    alone = [StagePlan(estimator, plan.columns) for plan in training.plans for estimator in (plan.estimator, *plan.others)]
    each = replace(training, plans=alone)
    if isinstance(held_out, Sample):
        stages = fit_stages(each)
        judged = Judged(stages, table_of(stages, held_out.X), held_out, np.zeros(len(held_out), dtype=np.int64))
    else:
        fitted = [fit_stages(each, train, k) for k, (train, _) in enumerate(held_out)]
        tables = [table_of(stages, each.sample.take(rows).X) for stages, (_, rows) in zip(fitted, held_out, strict=True)]
        names = ("value", "spread", "cost")
        value, spread, cost = (np.concatenate([getattr(table, name) for table in tables], axis=1) for name in names)
        table = StageTable(value, spread, cost, tables[0].once)
        division = np.repeat(np.arange(len(fitted)), [len(rows) for _, rows in held_out])
        kind = _most_typical(table, division)
        valid = each.sample.take(np.concatenate([rows for _, rows in held_out]))
        judged = Judged(fitted[kind], table, valid, np.where(division == kind, 0, division + 1))
    return judged if len(each.plans) == len(training.plans) else _best_of_alternatives(training, judged, place)


def _best_of_alternatives(training: Training, judged: Judged[SetStages], place: NDArray[np.int64]) -> Judged[SetStages]:
    """For every stage the model, or the mean of the best models, of least loss on the held-out rows."""
    truth, weights = class_numbers(training.classes, judged.rows.y, len(judged.rows)), judged.rows.weights
    models, values = [], []
    for s in range(len(training.plans)):
        own = np.flatnonzero(place == s)
        loss = [float(fitting_loss(judged.table.value[k], truth, training.by) @ weights) for k in own]
        ranked = own[np.argsort(loss, kind="stable")]
        means = [judged.table.value[ranked[: m + 1]].mean(axis=0) for m in range(own.size)]
        m = int(np.argmin([float(fitting_loss(value, truth, training.by) @ weights) for value in means]))
        chosen = tuple(judged.stages.models[k] for k in ranked[: m + 1])
        models.append(chosen[0] if m == 0 else BlendedStage(chosen))
        values.append(means[m])
    first = np.unique(place, return_index=True)[1]
    stages = stages_of(training.plans, models, training.items, training.classes)
    table = judged.table
    return judged._replace(
        stages=stages, table=StageTable(np.stack(values), table.spread[first], table.cost[first], table.once[first])
    )


def chain_of(judged: Judged[SetStages], place: NDArray[np.int64]) -> Judged[SetStages]:
    """Some of the stages, in the given order, as stages of their own: what they buy is counted anew."""
    stages, table = judged.stages.of(place), judged.table
    cost = np.repeat(stages.prices()[:, None], table.n_rows, axis=1)
    return judged._replace(stages=stages, table=StageTable(table.value[place], table.spread[place], cost, stages.once))


def _most_typical(table: StageTable, division: NDArray[np.int64]) -> int:
    """The division whose largest probabilities, or numbers, have means closest to those of all rows, summed over the stages."""
    value = table.value.max(axis=2)
    means = np.array([value[:, division == k].mean(axis=1) for k in range(int(division.max()) + 1)])
    return int(np.abs(means - value.mean(axis=1)).sum(axis=1).argmin())


def without_weight_zero(sample: Sample) -> Sample:
    """The examples of positive weight; weights that are all 1 become None."""
    sample = sample.of_weight()
    return replace(sample, weight=None) if sample.weight is not None and (sample.weight == 1).all() else sample
