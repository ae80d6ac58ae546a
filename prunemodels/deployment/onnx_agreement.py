"""Does an ONNX model predict what the forest predicts?

Both add up one number per tree, v / T with the value v of a leaf: scikit-learn in double precision, ONNX in single. Where every
row reaches the same leaves, with eps = 2**-24 (half a unit in the last place),

    |ONNX - scikit-learn|  <=  (T + 3) eps max |v|                                                        (1)

up to terms in eps**2: two roundings of each summand, T - 1 of the sums, one at the end. A row that reaches another leaf differs
by far more. A label may differ only where the two largest probabilities of scikit-learn are within twice (1): a tie up to
rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from formulations.errors import InvalidInputError
from formulations.instance.routing import as_rows
from prunemodels.deployment.onnx_models import session
from prunemodels.forests.reading import check_columns, read_forest
from prunemodels.tree_models.tree_model import fitted_model

EPS = 2.0**-24


@dataclass(frozen=True)
class OnnxAgreement:
    """How an ONNX model's predictions compare with the forest's.

    Parameters
    ----------
    n
        rows compared.
    largest_difference
        of a probability, or of a regressor's prediction.
    allowed
        the bound (1) on differences by rounding.
    other_labels
        rows whose labels differ; 0 for regression.
    ties
        how many of them are ties up to rounding.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, forest
    >>> seen = pm.deployment.compare_onnx(pm.deployment.to_onnx(forest), forest, X_test)
    >>> seen.agrees, seen.n, seen.other_labels
    (True, 169, 0)
    """

    n: int
    largest_difference: float
    allowed: float
    other_labels: int
    ties: int

    @property
    def agrees(self) -> bool:
        """Whether every difference is one of rounding."""
        return self.largest_difference <= self.allowed and self.other_labels == self.ties


def compare_onnx(model: Any, forest: Any, X: Any) -> OnnxAgreement:
    """Run an ONNX model of a forest and compare labels and probabilities, or predictions, with scikit-learn's.

    Parameters
    ----------
    model
        an ONNX model, from `to_onnx` or another converter.
    forest
        the forest that it was made from.
    X
        rows as the forest takes them; the model is given them as float32.

    Raises
    ------
    InvalidInputError
        for rows that do not fit, or a model with other outputs than the forest's.
    UnsupportedModelError
        where onnxruntime is not installed.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, forest
    >>> model = pm.deployment.to_onnx(forest)
    >>> pm.deployment.compare_onnx(model, forest, X_test).agrees
    True
    """
    forest = fitted_model(forest)
    ensemble = read_forest(forest)
    check_columns(X, ensemble.feature_names)
    rows = as_rows(X, ensemble.n_features)
    running = session(model)
    outputs = running.run(None, {running.get_inputs()[0].name: rows})
    classifier = is_classifier(forest)
    ours = forest.predict_proba(X) if classifier else forest.predict(X)[:, None]
    theirs = np.asarray(outputs[-1], dtype=np.float64)
    if theirs.size != ours.size or len(outputs) != (2 if classifier else 1):
        raise InvalidInputError(
            f"the model gives {theirs.size} numbers for {len(rows)} rows, the forest {ours.size}; give a model of this forest, "
            "a classifier's without zipmap"
        )
    differences = np.abs(theirs.reshape(ours.shape) - ours)
    largest = np.abs(ensemble.value[~ensemble.is_split]).max()
    allowed = float((ensemble.n_trees + 3) * EPS * max(1.0 if classifier else largest, np.finfo(np.float32).tiny))
    other = _other_labels(outputs[0], forest.predict(X)) if classifier else np.zeros(len(rows), dtype=bool)
    ties = other & _tied(ours, 2 * allowed)
    return OnnxAgreement(len(rows), float(differences.max()), allowed, int(other.sum()), int(ties.sum()))


def _other_labels(theirs: Any, ours: NDArray[Any]) -> NDArray[np.bool_]:
    """Rows with different labels; ONNX knows integers and strings only."""
    other: NDArray[np.bool_] = np.asarray(theirs).astype(ours.dtype) != ours
    return other


def _tied(probabilities: NDArray[np.float64], distance: float) -> NDArray[np.bool_]:
    """Rows whose two largest probabilities are within the distance."""
    if probabilities.shape[1] < 2:
        return np.zeros(len(probabilities), dtype=bool)
    top = np.sort(probabilities, axis=1)[:, -2:]
    tied: NDArray[np.bool_] = top[:, 1] - top[:, 0] <= distance
    return tied
