"""The losses of models whose trees add up: of margins F for targets t, both of shape (N, K), with their derivatives.

    squared error    l = sum_k (t_k - F_k)^2                       l' = 2 (F - t)       l'' = 2                           (1)
    log loss         l = sum_k log(1 + exp(a F_k)) - t_k a F_k     l' = a (p - t)       l'' = a^2 p (1 - p) <= a^2 / 4    (2)
    softmax          l = log sum_k exp(F_k) - sum_k t_k F_k        l' = p - t           Hessian at most 1/2 identity      (3)

with 0 <= t <= 1 and p = 1 / (1 + exp(-a F)) in (2), where a is the sharpness of the sigmoid, and p = softmax(F) in (3), whose
Hessian is diag(p) - p p', of which no eigenvalue exceeds 1/2 (Boehning 1992). Targets for classes are 1 for the row's class and 0
for all others. One-against-rest models have (2) with a column for each class.

Trees that are grown here step on

    g = F - t  in (1),  l' else;      h = 1  in (1),  l''  in (2),  p (1 - p) K / (K - 1)  in (3):                        (4)

the first two derivatives (CEGB17 eq. 9a and 9b), of half of l in (1): with a learning rate of 1 a tree of means is then the exact
step. The factor of h in (3) is Friedman's (2000), for trees that are fitted class by class; LightGBM has it too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, softmax

from formulations.errors import InvalidInputError
from prunemodels.models.labelled_samples import class_numbers
from prunemodels.models.libraries.model_forest import ModelForest

LossName = Literal["log_loss", "squared_error"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Loss:
    """One of (1) to (3), as a function of targets and margins; `sharpness` is the a of (2)."""

    kind: Literal["squared_error", "log_loss", "softmax"]
    sharpness: float = 1.0

    @property
    def curvature(self) -> float:
        """The Hessian in F of one row's loss is at most this times the identity, everywhere."""
        return {"squared_error": 2.0, "log_loss": self.sharpness**2 / 4.0, "softmax": 0.5}[self.kind]

    def baseline(self, targets: Floats, weight: Floats | None) -> Floats:
        """The constant margins of least mean loss, shape (K,)."""
        mean = np.asarray(np.average(targets, axis=0, weights=weight))
        if self.kind == "log_loss":
            return np.asarray((np.log(mean) - np.log1p(-mean)) / self.sharpness)
        return np.log(np.maximum(mean, np.finfo(np.float64).tiny)) if self.kind == "softmax" else mean

    def values(self, targets: Floats, F: Floats) -> Floats:
        """The loss of each row, shape (N,)."""
        if self.kind == "squared_error":
            return np.asarray(((targets - F) ** 2).sum(axis=1))
        if self.kind == "softmax":
            return np.asarray(logsumexp(F, axis=1) - (targets * F).sum(axis=1))
        z = self.sharpness * F
        return np.asarray((np.logaddexp(0.0, z) - targets * z).sum(axis=1))

    def slopes(self, targets: Floats, F: Floats) -> Floats:
        """l', shape (N, K)."""
        return 2.0 * (F - targets) if self.kind == "squared_error" else self.sharpness * (self._p(F) - targets)

    def gradient(self, targets: Floats, F: Floats) -> Floats:
        """G of (4), shape (N, K)."""
        return F - targets if self.kind == "squared_error" else self.slopes(targets, F)

    def hessian(self, F: Floats) -> Floats:
        """H of (4), shape (N, K)."""
        if self.kind == "squared_error":
            return np.ones_like(F)
        p, K = self._p(F), F.shape[1]
        return p * (1.0 - p) * (K / (K - 1.0)) if self.kind == "softmax" else self.sharpness**2 * (p * (1.0 - p))

    def probabilities(self, F: Floats) -> Floats:
        """Probability of each class, shape (N, classes); of (2) there are two.

        Margins of (1) are limited to 0 and 1 and scaled to sum to 1; the probabilities are equal for all classes if all are 0.
        """
        if self.kind == "softmax":
            return self._p(F)
        if self.kind == "log_loss":
            return np.hstack([self._p(-F), self._p(F)])
        p = np.clip(np.hstack([1 - F, F]) if F.shape[1] == 1 else F, 0.0, 1.0)
        p[p.sum(axis=1) == 0] = 1.0
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def _p(self, F: Floats) -> Floats:
        """The p of (2) and (3)."""
        return np.asarray(softmax(F, axis=1) if self.kind == "softmax" else expit(self.sharpness * F))


SQUARED_ERROR = Loss("squared_error")


def classification_loss(name: LossName, n_classes: int) -> Loss:
    """The loss of that name for two or more classes."""
    if name == "squared_error":
        return SQUARED_ERROR
    return Loss("log_loss") if n_classes == 2 else Loss("softmax")


def class_targets(codes: NDArray[np.int64], n_classes: int) -> Floats:
    """The targets of rows of class 0, 1 ...: one column for each class, or one for the second of two."""
    return np.asarray(codes[:, None] == (np.arange(n_classes) if n_classes > 2 else np.ones(1)), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class SampleLoss:
    """The loss of rows whose targets it holds, shape (N, K)."""

    loss: Loss
    targets: Floats

    @property
    def curvature(self) -> float:
        """See `Loss.curvature`."""
        return self.loss.curvature

    def values(self, F: Floats) -> Floats:
        """See `Loss.values`."""
        return self.loss.values(self.targets, F)

    def slopes(self, F: Floats) -> Floats:
        """See `Loss.slopes`."""
        return self.loss.slopes(self.targets, F)


def loss_of(forest: ModelForest, y: object, n_rows: int) -> SampleLoss:
    """The loss that fits the model's link: squares, log loss, softmax, or one log loss for each class; y has one label a row."""
    if forest.classes is None:
        numbers = class_numbers(None, y, n_rows)
        if forest.link == "identity":
            return SampleLoss(SQUARED_ERROR, numbers[:, None])
        if ((numbers < 0) | (numbers > 1)).any():
            i = int(np.flatnonzero((numbers < 0) | (numbers > 1))[0])
            raise InvalidInputError(f"y[{i}] is {numbers[i]}; the model predicts probabilities: targets lie in [0, 1]")
        return SampleLoss(Loss("log_loss", forest.sharpness), numbers[:, None])
    labels = class_numbers(forest.classes, y, n_rows)
    loss = Loss("softmax") if forest.link == "softmax" else Loss("log_loss", forest.sharpness)
    return SampleLoss(loss, np.eye(forest.n_outputs)[labels] if forest.n_outputs > 1 else labels[:, None].astype(np.float64))
