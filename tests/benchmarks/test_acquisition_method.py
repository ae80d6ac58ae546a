"""A predictor in the form that AFABench takes: its loop, tensors, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prunemodels as pm
from benchmarks.acquisition_method import AcquisitionMethod
from tests.prunemodels.cascade_cases import case
from tests.prunemodels.forest_kinds import fitted
from tests.prunemodels.on_demand.cases import votes

THREE = votes(3)

CONTRACT = ["act", "select", "predict", "save", "load", "to", "device"]
CONTRACT += ["has_builtin_classifier", "cost_param", "set_cost_param", "set_seed"]
"""What the benchmark calls."""


class Tensor:
    """Of a tensor what the method may use; it counts its devices by name."""

    def __init__(self, array: Any, device: str = "cuda") -> None:
        self.array, self.device_name = np.asarray(array), device

    def detach(self) -> Tensor:
        """The same numbers without a graph."""
        return self

    def cpu(self) -> np.ndarray:
        """The numbers in main memory."""
        return self.array

    def new_tensor(self, data: Any) -> Tensor:
        """Of the same type, on the same device."""
        return Tensor(np.asarray(data).astype(self.array.dtype), self.device_name)

    def long(self) -> Tensor:
        """As whole numbers."""
        return Tensor(self.array.astype(np.int64), self.device_name)


def evaluate(method: AcquisitionMethod, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The benchmark's loop: unmask what is selected until all rows stop. Returns the mask and the last predictions."""
    known = np.zeros(X.shape, dtype=bool)
    for _ in range(X.shape[1] + 1):
        actions = method.act(np.where(known, X, 0), known, selection_mask=known, label=None, feature_shape=X.shape[1:])
        assert actions.shape == (len(X), 1)
        rows = np.flatnonzero(actions[:, 0])
        if not rows.size:
            break
        assert not known[rows, actions[rows, 0] - 1].any()
        known[rows, actions[rows, 0] - 1] = True
    return known, method.predict(np.where(known, X, 0), known, label=None, feature_shape=X.shape[1:])


@pytest.mark.parametrize("early_stopping", [False, True])
def test_the_benchmarks_loop_ends_with_the_forests_classes(early_stopping: bool) -> None:
    """It acquires what the predictor buys one feature at a time, and predicts the forest's classes."""
    known_forest = fitted("random forest, named features")
    X = np.asarray(known_forest.X, dtype=np.float64)
    method = AcquisitionMethod(known_forest.forest, 1, early_stopping=early_stopping)
    assert all(hasattr(method, name) for name in CONTRACT)
    known, said = evaluate(method, X)
    assert np.array_equal(known_forest.forest.classes_[said.argmax(axis=1)], known_forest.forest.predict(known_forest.X))
    assert known.sum() < known.size
    walk = pm.OnDemandPredictor(known_forest.forest, 1, early_stopping=early_stopping).start(len(X))
    while requests := walk.next_requests(one_feature=True):
        for request in requests:
            walk.take(request, X[request.positions[:, None], request.columns])
    assert walk.result().units.tolist() == known.sum(axis=1).tolist()


def test_actions_by_hand() -> None:
    """1 + the place of the cheapest; 0 when all is known; a feature that was asked for in vain is not asked for again."""
    method = AcquisitionMethod(THREE, [3, 4, 5])
    known = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 1]], dtype=bool)
    assert method.act(np.ones((3, 3)), known).tolist() == [[1], [2], [0]]
    asked = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=bool)
    assert method.select(np.ones((3, 3)), known, asked).tolist() == [[2], [3], [0]]
    assert AcquisitionMethod(THREE, [3, 4, 5], max_cost=7).act(np.ones((1, 3)), known[1:2]).tolist() == [[2]]
    assert AcquisitionMethod(THREE, [3, 4, 5], max_cost=6).act(np.ones((1, 3)), known[1:2]).tolist() == [[0]]
    said = method.predict(np.ones((3, 3)), known)
    np.testing.assert_allclose(said, [[0.5, 0.5], [1 / 3, 2 / 3], [0, 1]])


def test_tensors_come_back_as_tensors() -> None:
    """Whole numbers and probabilities on the device of the given tensor."""
    method = AcquisitionMethod(THREE, [3, 4, 5])
    X, known = Tensor(np.ones((2, 3), dtype=np.float32)), Tensor(np.eye(2, 3, dtype=bool))
    actions, said = method.act(X, known), method.predict(X, known)
    assert (actions.array.tolist(), actions.array.dtype, actions.device_name) == ([[2], [1]], np.int64, "cuda")
    assert (said.array.shape, said.array.dtype, said.device_name) == ((2, 2), np.float32, "cuda")


def test_saved_and_loaded(tmp_path: Path) -> None:
    """The same actions and predictions of a cascade; the device is remembered."""
    X, method = case("sets").X.to_numpy(), AcquisitionMethod(case("sets").cascade)
    method.save(tmp_path / "method")
    again = AcquisitionMethod.load(tmp_path / "method", "cuda")
    assert again.device == "cuda"
    for one, other in zip(evaluate(method, X), evaluate(again, X), strict=True):
        assert np.array_equal(one, other)


def test_any_batch_and_feature_shape() -> None:
    """A batch of shape (2, 1) and features of shape (3, 1)."""
    method, X, known = AcquisitionMethod(THREE, [3, 4, 5]), np.ones((2, 1, 3, 1)), np.zeros((2, 1, 3, 1), dtype=bool)
    known[1, 0, 0, 0] = True
    assert method.act(X, known, feature_shape=(3, 1)).tolist() == [[[1]], [[2]]]
    assert method.predict(X, known, feature_shape=(3, 1)).shape == (2, 1, 2)
    with pytest.raises(ValueError, match=r"masked_features has shape \(2, 1, 3, 1\) and the mask \(2, 3\)"):
        method.act(X, known[:, 0, :, 0], feature_shape=(3, 1))
    with pytest.raises(pm.errors.InvalidInputError, match=r"give both shape \(n, 3\)"):
        method.act(np.ones((2, 4)), np.ones((2, 4), dtype=bool))
