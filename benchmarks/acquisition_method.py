"""A predictor in the form that methods have in benchmarks of active feature acquisition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import NDArray

import prunemodels as pm
from prunemodels.on_demand.walk import Walk

FILE = "method.joblib"  # what a saved method's folder holds
Shape = Sequence[int] | None  # the last dimensions that make one row


class AcquisitionMethod:
    """Says which feature to acquire next, and predicts from those acquired: a method for benchmarks such as AFABench.

    The contract is that of ``AFAMethod`` in AFABench's repository as of 2026: `act`, which earlier versions call `select`, takes
    a batch of features, 0 where they are unknown, and a mask of the known ones, and returns 0 to stop or 1 + the place of the
    next feature, one column; `predict` returns class probabilities; `save` and ``load(path, device)`` use a folder; `to`,
    `device`, `has_builtin_classifier`, `cost_param`, `set_cost_param` and `set_seed` exist. A selection is one feature.
    Arrays come back as arrays, torch's tensors as tensors of the same device.

    What a feature shares with acquired ones is paid, and costs nothing more. A hard budget is a `max_cost`.
    """

    def __init__(self, model: Any, costs: Any = None, **options: Any) -> None:
        """The arguments of `OnDemandPredictor`: ``early_stopping``, ``tolerance``, ``max_cost``."""
        self._device: Any = "cpu"
        self._predictor = pm.OnDemandPredictor(model, costs, **options)

    def act(
        self, masked_features: Any, feature_mask: Any, selection_mask: Any = None, label: Any = None, feature_shape: Shape = None
    ) -> Any:
        """Integers, shape (batch, 1): 0 to stop, or 1 + the place of the next feature.

        Values and their mask have the shape (batch, features), or any shapes if `feature_shape` is given. A feature of
        `selection_mask`, which was asked for, cannot be had if it is not known.
        """
        walk, batch = self._walk(masked_features, feature_mask, selection_mask, feature_shape)
        return _like(masked_features, (walk.next_features() + 1).reshape(*batch, 1), whole=True)

    select = act

    def predict(self, masked_features: Any, feature_mask: Any, label: Any = None, feature_shape: Shape = None) -> Any:
        """Class probabilities, shape (batch, K), or numbers, shape (batch, 1), from the features that are known.

        An open tree counts with the value of the node that the row has reached. Where a cascade has no answer yet, all classes
        are equally probable.
        """
        walk, batch = self._walk(masked_features, feature_mask, None, feature_shape)
        walk.next_features()
        result = walk.result()
        said = result.predictions[:, None] if result.probabilities is None else result.probabilities
        if result.probabilities is not None:
            said = np.where(np.isnan(said), 1 / said.shape[1], said)
        return _like(masked_features, np.asarray(said, dtype=np.float64).reshape(*batch, said.shape[1]), whole=False)

    def save(self, path: str | Path) -> None:
        """Write the method to a folder, which is made if it does not exist."""
        Path(path).mkdir(exist_ok=True)
        joblib.dump(self._predictor, Path(path) / FILE)

    @classmethod
    def load(cls, path: str | Path, device: Any = "cpu") -> Self:
        """Read what `save` wrote: a pickle, which runs what is in it."""
        method = cls.__new__(cls)
        method._predictor = joblib.load(Path(path) / FILE)
        return method.to(device)

    def to(self, device: Any) -> Self:
        """Note the device; computations stay on the processor."""
        self._device = device
        return self

    @property
    def device(self) -> Any:
        return self._device

    has_builtin_classifier = True
    cost_param = None  # the trade-off between cost and error was made when the model was pruned

    def set_cost_param(self, cost_param: float) -> None:
        """Do nothing: prune with another budget, or give another `max_cost`."""

    def set_seed(self, seed: int | None) -> None:
        """Do nothing: the method is deterministic."""

    def _walk(self, values: Any, mask: Any, asked: Any, feature_shape: Shape) -> tuple[Walk, tuple[int, ...]]:
        """A walk of the rows, flattened, and the shape of the batch."""
        X, known = _array(values), _array(mask).astype(bool)
        n_last = 1 if feature_shape is None else len(feature_shape)
        batch = X.shape[: X.ndim - n_last]
        flat = math.prod(batch), math.prod(X.shape[X.ndim - n_last :])
        if X.ndim < n_last or known.shape != X.shape or (asked is not None and _array(asked).size != known.size):
            raise ValueError(
                f"masked_features has shape {X.shape} and the mask {known.shape}; give equal shapes (batch, features)"
            )
        performed = None if asked is None else _array(asked).astype(bool).reshape(flat)
        return self._predictor._partly_known(X.reshape(flat), known.reshape(flat), performed), batch


def _array(given: Any) -> NDArray[Any]:
    """An array of what was given; tensors leave their device and their graph."""
    return np.asarray(given.detach().cpu() if hasattr(given, "detach") else given)


def _like(given: Any, answer: NDArray[Any], *, whole: bool) -> Any:
    """The answer as a tensor on the device of the given one, of whole numbers or of its own type; or as it is."""
    if not hasattr(given, "new_tensor"):
        return answer
    tensor = given.new_tensor(answer)
    return tensor.long() if whole else tensor
