"""Classifiers of scikit-learn that change how a model's scores become labels: calibrated ones, and decision thresholds.

Both keep the order of the scores: a calibration is a monotone map, and a threshold a number. So bounds of a score, which are
known before all features are bought, are bounds of the probability, and decide the label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

from formulations.errors import NotFittedForestError, UnsupportedModelError

Score = Literal["margin", "probability"]
"""What is calibrated or compared with a threshold: the sum of the trees, or the second class' probability."""


@dataclass(frozen=True, eq=False)
class TwoClassRule:
    """How the scores of a classifier for two classes become probabilities and labels.

    Parameters
    ----------
    calibration
        a fitted monotone map with a method ``predict`` from scores to the second class' probability; None: the model's own.
    calibrated
        the score that it maps.
    threshold
        the class `positive` is predicted where its score is at least this; None: the likelier class.
    compared
        the score that it is compared with: a probability is compared after calibration.
    positive
        place of the class that the threshold is for: 0 or 1.
    """

    calibration: Any = None
    calibrated: Score = "probability"
    threshold: float | None = None
    compared: Score = "probability"
    positive: int = 1


def unwrapped(model: Any) -> tuple[Any, TwoClassRule | None]:
    """The model inside of a frozen, calibrated or thresholded one, and what that changes; (model, None) for all others."""
    if isinstance(model, FrozenEstimator):
        return model.estimator, None
    if isinstance(model, CalibratedClassifierCV):
        return _calibrated(model)
    if isinstance(model, FixedThresholdClassifier):
        inner = getattr(model, "estimator_", None)
        pos = model.pos_label
        threshold = model.threshold
    elif isinstance(model, TunedThresholdClassifierCV):
        inner = getattr(model, "estimator_", None)
        pos = None if inner is None else model._curve_scorer._get_pos_label()  # what its own predict asks for; private
        threshold = getattr(model, "best_threshold_", None)
    else:
        return model, None
    if inner is None:
        raise NotFittedForestError.of(model)
    compared: Score = "probability"
    if model.response_method == "decision_function" or not hasattr(inner, "predict_proba"):
        compared = "margin"
    if threshold == "auto":
        threshold = 0.5 if compared == "probability" else 0.0
    positive = 1 if pos is None else int(np.flatnonzero(np.asarray(inner.classes_) == pos)[0])
    return inner, TwoClassRule(threshold=float(threshold), compared=compared, positive=positive)


def _calibrated(model: CalibratedClassifierCV) -> tuple[Any, TwoClassRule]:
    if not hasattr(model, "calibrated_classifiers_"):
        raise NotFittedForestError.of(model)
    parts = model.calibrated_classifiers_
    if len(parts) != 1:
        raise UnsupportedModelError(
            f"the CalibratedClassifierCV averages {len(parts)} calibrated models; train it with ensemble=False, or on a "
            "FrozenEstimator"
        )
    (part,) = parts
    if len(model.classes_) != 2:
        raise UnsupportedModelError(f"the CalibratedClassifierCV has {len(model.classes_)} classes; what is read: two classes")
    if part.method not in ("sigmoid", "isotonic"):
        raise UnsupportedModelError(f"calibration by {part.method!r} is not read; take method='sigmoid' or 'isotonic'")
    calibrated: Score = "margin" if hasattr(part.estimator, "decision_function") else "probability"
    return part.estimator, TwoClassRule(calibration=part.calibrators[0], calibrated=calibrated)


def merged(inner: TwoClassRule | None, outer: TwoClassRule | None) -> TwoClassRule | None:
    """A wrapper around a wrapper: the outer one's threshold, on the inner one's probabilities."""
    if inner is None or outer is None:
        return outer if inner is None else inner
    if outer.calibration is not None or inner.threshold is not None:
        raise UnsupportedModelError("a wrapper around a calibrated or thresholded model changes its scores again; wrap it once")
    return TwoClassRule(inner.calibration, inner.calibrated, outer.threshold, outer.compared, outer.positive)


def calibrate(decision: TwoClassRule, score: NDArray[np.floating]) -> NDArray[np.float64]:
    """The second class' probability, in scikit-learn's own arithmetic."""
    second = np.asarray(decision.calibration.predict(score), dtype=np.float64)
    return np.where((second > 1.0) & (second <= 1.0 + 1e-5), 1.0, second)  # as CalibratedClassifierCV mends roundings
