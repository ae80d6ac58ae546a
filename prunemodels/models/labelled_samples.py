"""The examples that `fit` is given: checks as in scikit-learn, and the split into training and validation examples.

Labels and targets are read for a model: one for each row, and of the model's kind. Examples may come in groups, such as the
visits of a patient: no group is on two sides of a split.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, KFold
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_array, column_or_1d, validate_data

from formulations.errors import InvalidInputError
from formulations.instance.cost_sample import in_order_of, real_array
from formulations.instance.tree_loss import TreeLoss
from formulations.sparse_arrays import without_duplicates


@dataclass(frozen=True, eq=False)
class Sample:
    """Examples, with labels and weights if there are any."""

    # numbers that float32 can represent: a table if the columns have names, else an array or a CSR matrix. Of a cascade also a
    # table of any columns, see `prunemodels.stages.raw_tables`.
    X: Any
    y: NDArray[Any] | None
    weight: NDArray[np.float64] | None
    # int64: the positions of the examples among those that the user gave; None: these are all of them.
    place: NDArray[np.int64] | None = None
    group: NDArray[np.int64] | None = None  # the number of each example's group, see `group_numbers`

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights, 1 each if none are given; shape (N,)."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @property
    def array(self) -> Any:
        """The rows without the names of their columns: a table cannot be written by skops."""
        return self.X.to_numpy() if isinstance(self.X, pd.DataFrame) else self.X

    def take(self, rows: NDArray[np.int64]) -> Sample:
        """Some of the examples."""
        X = self.X.iloc[rows] if isinstance(self.X, pd.DataFrame) else self.X[rows]
        y, weight = (None if v is None else v[rows] for v in (self.y, self.weight))
        place, group = rows if self.place is None else self.place[rows], None if self.group is None else self.group[rows]
        return Sample(X, y, weight, place, group)

    def of_weight(self) -> Sample:
        """The sample without its examples of weight 0."""
        return self if self.weight is None or self.weight.all() else self.take(np.flatnonzero(self.weight))


def training_sample(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Sample:
    """The training sample of `fit`; sets the estimator's ``n_features_in_`` and ``feature_names_in_``."""
    shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    if len(shape) == 2 and shape[1] > 1:
        raise InvalidInputError(f"y has {shape[1]} outputs (multi-output); fit one estimator for each column")
    check_distinct_columns(X)
    rows, y = validate_data(estimator, _summed(X), y, y_numeric=not is_classifier(estimator), **_rows_as(estimator))
    if is_classifier(estimator):
        check_classification_targets(y)
    return Sample(named(estimator, rows), y, weights_of(sample_weight, X))


def check_distinct_columns(X: Any) -> None:
    """Refuse a table that has a column twice."""
    twice = X.columns[X.columns.duplicated()].tolist() if isinstance(X, pd.DataFrame) else []
    if twice:
        raise InvalidInputError(f"X has the column {twice[0]!r} more than once; rename one of them")


def other_sample(estimator: Any, X: Any, y: Any, sample_weight: Any, name: str) -> Sample:
    """Further examples, checked against the estimator's training sample."""
    return labelled(estimator, rows_to_predict(estimator, X), y, in_order_of(X, sample_weight, "sample_weight"), name)


def labelled(estimator: Any, rows: Any, y: Any, sample_weight: Any, name: str) -> Sample:
    """Checked rows with labels and weights, see `other_sample`."""
    if y is not None:
        y = column_or_1d(y)
        y = y if is_classifier(estimator) else check_array(y, ensure_2d=False, dtype=np.float64, input_name=f"y_{name}")
        if len(y) != rows.shape[0]:
            raise InvalidInputError(f"y_{name} has {len(y)} labels, X_{name} has {rows.shape[0]} rows: give one label each")
    return Sample(rows, y, weights_of(sample_weight, rows))


def rows_to_predict(estimator: Any, X: Any) -> Any:
    """Examples in the form in which the forest was trained, with column names if it has them."""
    rows = _plain_rows(estimator, X)
    if rows is None:
        rows = validate_data(estimator, _summed(X), reset=False, **_rows_as(estimator))
    return named(estimator, rows)


def _plain_rows(estimator: Any, X: Any) -> NDArray[np.float32] | None:
    """What scikit-learn's check makes of a table of numbers with the columns of training, in a tenth of its time for one row.

    None for all other rows, which scikit-learn converts, warns of or refuses.
    """
    names = getattr(estimator, "feature_names_in_", None)
    if type(X) is pd.DataFrame and names is not None:
        numbers = all(isinstance(kind, np.dtype) and kind.kind in "fiu" for kind in set(X.dtypes))
        if not numbers or not np.array_equal(X.columns.to_numpy(), names):
            return None
        X = X.to_numpy()
    elif names is not None:
        return None
    if type(X) is not np.ndarray or X.dtype.kind not in "fiu" or X.shape[1:] != (estimator.n_features_in_,) or not len(X):
        return None
    with np.errstate(over="ignore"):
        rows = X.astype(np.float32, copy=False)
    if np.isfinite(rows).all():
        return rows
    return rows if not np.isinf(rows).any() and _rows_as(estimator)["ensure_all_finite"] == "allow-nan" else None


def named(estimator: Any, rows: Any) -> Any:
    """The rows as a table with column names, if the estimator was given names."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or hasattr(rows, "tocsr"):
        return rows
    # float64, because scikit-learn then makes a float32 copy; given a float32 table it would write into a read-only view
    return pd.DataFrame(rows.astype(np.float64), columns=names)


def _rows_as(estimator: Any) -> dict[str, Any]:
    """Arguments of scikit-learn's check: float32, as its trees cast rows, and NaN allowed if the forest allows it."""
    finite = "allow-nan" if get_tags(estimator).input_tags.allow_nan else True
    return {"dtype": np.float32, "accept_sparse": "csr", "ensure_all_finite": finite}


def _summed(X: Any) -> Any:
    """A sparse table with one entry at each place: on others scikit-learn's trees may grow for ever."""
    return without_duplicates(X, "X", rounded=True) if issparse(X) else X


def weights_of(sample_weight: Any, X: Any) -> NDArray[np.float64] | None:
    """Checked weights, one for each row of X; None if none are given."""
    if sample_weight is None:
        return None
    sample_weight = in_order_of(X, sample_weight, "sample_weight")
    weights = np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))
    if not weights.any():  # scikit-learn from 1.9 on refuses them itself
        raise InvalidInputError("sample_weight is 0 everywhere; it must contain at least one non-zero number")
    return weights


def split(
    sample: Sample, fraction: float, rng: np.random.RandomState, strata: NDArray[Any] | None = None
) -> tuple[Sample, Sample]:
    """Training and validation examples, drawn at random; of a sample in groups by groups alone.

    Each stratum, by default all examples, gives the same fraction to validation, and keeps at least one to train on.
    """
    if not 0 < fraction < 1:
        raise InvalidInputError(
            f"validation_fraction is {fraction!r}; give a number between 0 and 1, or None: the training rows are the cost sample"
        )
    n = len(sample)
    if sample.group is not None:
        rows, apart = part_of(n, fraction, sample.group, int(rng.randint(np.iinfo(np.int32).max)))
        return sample.take(rows), sample.take(apart)
    stratum = np.zeros(n, dtype=np.int64) if strata is None else np.unique(strata, return_inverse=True)[1]
    valid = np.zeros(n, dtype=bool)
    for c in range(int(stratum.max()) + 1):
        members = rng.permutation(np.flatnonzero(stratum == c))
        valid[members[: min(round(fraction * len(members)), len(members) - 1)]] = True
    if not valid.any():
        raise InvalidInputError(
            f"n_samples={n} at validation_fraction={fraction} leave no example to validate on; give more, or X_valid and y_valid"
        )
    return sample.take(np.flatnonzero(~valid)), sample.take(np.flatnonzero(valid))


def group_numbers(groups: Any, X: Any, name: str = "groups") -> NDArray[np.int64] | None:
    """The group of each row as a number from 0 on, shape (N,); None where none are given."""
    if groups is None:
        return None
    n, given = len(X) if hasattr(X, "__len__") and not hasattr(X, "tocsr") else X.shape[0], in_order_of(X, groups, name)
    values = pd.Series(np.asarray(given).tolist())
    if len(values) != n:
        raise InvalidInputError(f"{name} has {len(values):,} entries, X has {n:,} rows; give one group each")
    if values.isna().any():
        raise InvalidInputError(f"{name}[{int(np.flatnonzero(values.isna())[0])}] is missing; give each row a group")
    found: NDArray[np.int64] = pd.factorize(values)[0].astype(np.int64)
    if found.max(initial=0) < 1:
        raise InvalidInputError(f"{name} has one group; rows that are kept apart need at least two")
    return found


def check_apart(groups: Any, others: Any, names: tuple[str, str]) -> None:
    """Refuse a group that stands on both sides."""
    if groups is None or others is None:
        return
    both = set(np.asarray(groups).tolist()) & set(np.asarray(others).tolist())
    if both:
        raise InvalidInputError(
            f"the group {min(both, key=str)!r} is in {names[0]} and in {names[1]}; give each group to one of them"
        )


def folds_of(n: int, most: int, groups: NDArray[np.int64] | None, seed: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """At most so many folds of n rows, drawn at random: rows to learn from, and those of the fold."""
    if groups is None:
        parts = KFold(min(most, n), shuffle=True, random_state=seed).split(np.arange(n))
    else:
        count = min(most, np.unique(groups).size)
        parts = GroupKFold(count, shuffle=True, random_state=seed).split(np.arange(n), groups=groups)
    return [(np.asarray(rows), np.asarray(held_out)) for rows, held_out in parts]


def part_of(n: int, share: float, groups: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows, and a share of them that is kept apart, drawn by groups."""
    rows, apart = next(GroupShuffleSplit(1, test_size=share, random_state=seed).split(np.arange(n), groups=groups))
    return np.asarray(rows), np.asarray(apart)


def class_numbers(
    classes: NDArray[Any] | None,
    y: Any,
    n_rows: int,
    name: str = "y",
    *,
    entry: Callable[[int], str] | None = None,
) -> NDArray[Any]:
    """Labels as places among the classes, int64; targets of a model without classes as float64.

    Messages call all labels `name`, and that of row i ``entry(i)``, by default ``name[i]``.
    """
    labels = one_each(y, n_rows, name)
    entry = entry or (lambda i: f"{name}[{i}]")
    if classes is None:
        return _targets(labels, name, entry)
    place = {label: k for k, label in enumerate(classes.tolist())}
    distinct, where = (labels, slice(None)) if labels.dtype == object else np.unique(labels, return_inverse=True)
    found = np.array([place.get(label, -1) for label in distinct.tolist()], dtype=np.int64)[where]
    missing = np.flatnonzero(found < 0)
    if missing.size:
        i = int(missing[0])
        label = labels[i : i + 1].tolist()[0]
        there = sorted(set(labels.tolist()), key=str)
        raise InvalidInputError(
            f"{entry(i)} is the label {label!r}, the model was trained on {list(place)}; "
            + (f"{name} has {there[:6]}: map those that mean the same; else " if len(there) <= 2 * len(place) else "")
            + "leave such rows out"
        )
    return found


def prediction_losses(model: Any, predicted: NDArray[Any], y: Any) -> NDArray[np.float64]:
    """Of each row 1 for a wrong label and 0 for the right one, or the squared error of a model that predicts numbers.

    A forest has a loss of its own, see `forest_losses`.
    """
    if is_classifier(model) and not hasattr(model, "classes_"):  # a user's own learner: what it was trained on is not known
        return np.asarray(predicted != one_each(y, len(predicted), "y"), dtype=np.float64)
    return losses_of(np.asarray(model.classes_) if is_classifier(model) else None, predicted, y)


def losses_of(
    classes: NDArray[Any] | None,
    predicted: NDArray[Any],
    y: Any,
    entry: Callable[[int], str] | None = None,
    loss: TreeLoss | None = None,
) -> NDArray[np.float64]:
    """`prediction_losses` of a model with these classes; None: it predicts numbers. `loss` judges otherwise than usual."""
    truth = class_numbers(classes, y, len(predicted), entry=entry)
    if classes is None:
        return (loss or TreeLoss("squared_error")).of_numbers(truth, predicted)
    if loss is not None and loss.costs:
        return loss.of_classes(truth, class_numbers(classes, predicted, len(predicted)))
    return np.asarray(predicted != classes[truth], dtype=np.float64)


def forest_losses(
    forest: Any,
    X: Any,
    y: Any,
    loss: TreeLoss,
    entry: Callable[[int], str] | None = None,
) -> NDArray[np.float64]:
    """The loss of what a forest of scikit-learn predicts for each row."""
    return losses_of(getattr(forest, "classes_", None), np.asarray(forest.predict(X)), y, entry, loss)


def one_each(y: Any, n_rows: int, name: str) -> NDArray[Any]:
    """The labels as an array, one for each row."""
    labels = real_array(y, name)
    if labels.shape != (n_rows,):
        raise InvalidInputError(f"{name} has shape {labels.shape}, X has {n_rows} rows: give one label each")
    return labels


def _targets(y: NDArray[Any], name: str, entry: Callable[[int], str]) -> NDArray[np.float64]:
    try:
        numbers = y.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} is not numeric ({error}); the model predicts numbers") from error
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        raise InvalidInputError(f"{entry(int(bad[0]))} is {numbers[bad[0]]}; targets must be finite")
    return numbers
