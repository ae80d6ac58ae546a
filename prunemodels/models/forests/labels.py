"""Labels and targets, read for a model: one for each row, and of the model's kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from formulations.errors import InvalidInputError
from formulations.instance.cost_sample import real_array
from formulations.instance.tree_loss import TreeLoss


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
