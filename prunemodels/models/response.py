"""How the values of the nodes that a row ends in become probabilities, numbers and labels.

    s_k(x)  =  ( start_k + sum over the trees t of value_k(node of x in t) ) / divisor                                     (1)

    fractions, identity            probability_k = s_k,  number = s                                                        (2)
    two classes, one sum           probability of the second = 1 / (1 + exp(-a s))                                         (3)
    several classes                exp(s_k) / sum_j exp(s_j), or (3) for each class                                        (4)

The sums are in the library's own floating-point type and order: XGBoost adds float32, all others doubles. The results have the
type of the sums.

Calibrated classifiers of scikit-learn, and decision thresholds, change how scores become labels. Both keep the order of the
scores: a calibration is a monotone map, and a threshold a number. So bounds of a score, which are known before all features are
bought, are bounds of the probability, and decide the label. A `TwoClassRule` holds what they change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

from formulations.errors import NotFittedForestError, UnsupportedModelError
from formulations.instance.ensemble import Ensemble

Score = Literal["margin", "probability"]
"""What is calibrated or compared with a threshold: the sum of the trees, or the second class' probability."""


@dataclass(frozen=True, eq=False)
class TwoClassRule:
    """How the scores of a classifier for two classes become probabilities and labels."""

    # a fitted monotone map with a method ``predict`` from scores to the second class' probability; None: the model's own.
    calibration: Any = None
    calibrated: Score = "probability"  # the score that it maps
    threshold: float | None = None  # the class `positive` is predicted where its score is at least this; None: the likelier class
    compared: Score = "probability"  # the score that it is compared with: a probability is compared after calibration
    positive: int = 1  # place of the class that the threshold is for: 0 or 1


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
    """A wrapper around a wrapper: the outer one's threshold, on the inner one's probabilities, whatever the inner threshold."""
    if inner is None or outer is None:
        return outer if inner is None else inner
    if outer.calibration is None:
        return replace(outer, calibration=inner.calibration, calibrated=inner.calibrated)
    if inner.calibration is None:
        return outer
    raise UnsupportedModelError("a calibration of a calibrated model changes its scores again; calibrate it once")


Link = Literal["identity", "sigmoid", "softmax", "one_vs_rest", "fractions"]

SecondClass = Literal["probability > 1/2", "margin > 0", "margin >= 0"]

Sums = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Response:
    """From sums to predictions."""

    value: NDArray[np.float64]  # float64, shape (n, K): what each node adds to the K sums
    start: NDArray[np.float64]  # float64, shape (K,)
    divisor: int  # of (1): the number of trees of an average, else 1
    dtype: Any  # the type of the sums
    link: Link  # see `prunemodels.models.response`
    sharpness: float  # its a
    classes: NDArray[Any] | None  # the labels; None: numbers
    second: SecondClass = "probability > 1/2"  # the rule for the second of two classes with one sum, see `ModelForest`
    decision: TwoClassRule | None = None  # what a wrapper changes, or None

    @property
    def unit_roundoff(self) -> float:
        """Half the distance from 1 to the next number of `dtype`."""
        return float(np.finfo(self.dtype).eps) / 2

    @property
    def score(self) -> int | None:
        """The sum on which alone the answer depends, in which it is monotone; None: on more than one."""
        if self.value.shape[1] == 1:
            return 0
        if self.decision is None:
            return None
        return self.decision.positive if self.decision.calibration is None else 1

    def sums(self, node: NDArray[np.integer[Any]]) -> Sums:
        """(1), shape (N, K), for the nodes in which N rows end, shape (N, T)."""
        value = self.value.astype(self.dtype, copy=False)
        total = np.tile(self.start.astype(self.dtype), (len(node), 1))
        for t in range(node.shape[1]):  # in the library's order, for equal sums to the last bit
            total += value[node[:, t]]
        return total if self.divisor == 1 else total / self.divisor

    def probabilities(self, sums: Sums) -> Sums | None:
        """Of each class, shape (N, classes); None for numbers."""
        return None if self.classes is None else self._probabilities(sums)

    def _probabilities(self, sums: Sums) -> Sums:
        decision = self.decision
        if decision is None or decision.calibration is None:
            return self._own_probabilities(sums)
        score = sums[:, 0] if decision.calibrated == "margin" else self._own_probabilities(sums)[:, 1]
        second = np.asarray(decision.calibration.predict(score), dtype=np.float64)
        second = np.where((second > 1.0) & (second <= 1.0 + 1e-5), 1.0, second)  # as CalibratedClassifierCV mends roundings
        return np.column_stack([1.0 - second, second])

    def _own_probabilities(self, sums: Sums) -> Sums:
        """Those before calibration, (2) to (4)."""
        if self.link == "fractions":
            return sums
        if self.link == "softmax":
            return np.asarray(softmax(sums, axis=1))
        second = self._sigmoid(sums)
        return np.column_stack([1 - second[:, 0], second[:, 0]]) if sums.shape[1] == 1 else second

    def _sigmoid(self, sums: Sums) -> Sums:
        """(3) as the libraries compute it: `scipy.special.expit` rounds otherwise, and the rounded probability decides labels."""
        with np.errstate(over="ignore"):
            return np.asarray(1 / (1 + np.exp(-sums.dtype.type(self.sharpness) * sums)))

    def predictions(self, sums: Sums) -> NDArray[Any]:
        """Labels or numbers, shape (N,)."""
        if self.classes is None:
            return np.asarray(self._sigmoid(sums)[:, 0] if self.link == "sigmoid" else sums[:, 0])
        return np.asarray(self.classes.take(self._places(sums), axis=0))

    def _places(self, sums: Sums) -> NDArray[np.integer[Any]]:
        """The place of each row's label among the classes: that of the likelier class, or what `decision` or `second` says."""
        decision = self.decision
        if decision is not None and decision.threshold is not None:
            if decision.compared == "margin":
                score = sums[:, 0] if decision.positive else -sums[:, 0]
            else:
                score = self._probabilities(sums)[:, decision.positive]
            return np.where(score >= decision.threshold, decision.positive, 1 - decision.positive)
        if decision is None or decision.calibration is None:
            if sums.shape[1] == 1 and self.second != "probability > 1/2":
                return (sums[:, 0] >= 0 if self.second == "margin >= 0" else sums[:, 0] > 0).astype(np.int64)
            if self.link == "softmax":
                return np.asarray(sums.argmax(axis=1))
        return np.asarray(self._probabilities(sums).argmax(axis=1))

    def range(self, low: Sums, high: Sums) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The least and greatest probability of each class, or number, over all sums between `low` and `high`, shape (N, .)."""
        if self.classes is not None and self.link == "softmax" and self.value.shape[1] > 1:
            return _softmax_range(low, high)
        ends = []
        for sums in (low, high):
            found = self.probabilities(self._with_score(sums))
            ends.append(self.predictions(sums)[:, None] if found is None else found)
        return np.minimum(*ends).astype(np.float64), np.maximum(*ends).astype(np.float64)

    def _with_score(self, sums: Sums) -> Sums:
        """Sums in which, of two fractions, the other is 1 less the score: for a monotone answer between two such rows."""
        score = self.score
        if score is None or sums.shape[1] == 1:
            return sums
        both = 1.0 - sums
        both[:, score] = sums[:, score]
        return both

    def places_at(self, score: NDArray[np.float64]) -> NDArray[np.integer[Any]]:
        """The place of the label for each value of the sum `score`."""
        sums = np.repeat(score[:, None], self.value.shape[1], axis=1).astype(self.dtype)
        return self._places(self._with_score(sums))


def _softmax_range(low: Sums, high: Sums) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Class k is least likely where its own sum is low and all others are high, and most likely the other way round."""
    least, greatest = np.empty(low.shape), np.empty(low.shape)
    with np.errstate(over="ignore"):
        for k in range(low.shape[1]):
            others = np.arange(low.shape[1]) != k
            least[:, k] = 1.0 / (1.0 + np.exp(high[:, others] - low[:, [k]]).sum(axis=1))
            greatest[:, k] = 1.0 / (1.0 + np.exp(low[:, others] - high[:, [k]]).sum(axis=1))
    return least, greatest


def average_response(ensemble: Ensemble, decision: TwoClassRule | None = None) -> Response:
    """The response of a forest of scikit-learn: the mean of its trees."""
    link: Link = "identity" if ensemble.classes is None else "fractions"
    start = np.zeros(ensemble.value.shape[1])
    return Response(ensemble.value, start, ensemble.n_trees, np.float64, link, 1.0, ensemble.classes, decision=decision)
