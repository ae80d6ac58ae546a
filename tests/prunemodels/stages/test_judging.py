"""What predictions are judged by, against sums written out, and options that do not go together."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.errors import InvalidInputError
from formulations.instance.tree_loss import TreeLoss, misclassification_loss
from prunemodels.stages.judging import cost_matrix, expected, fitting_loss, judged_by, lost, margin, predicted_classes
from prunemodels.stages.params import PARAMS

CLASSES = np.array(["ill", "unsure", "well"])
COSTS = [[0, 2, 10], [1, 0, 3], [1, 0.5, 0]]
BY = misclassification_loss(COSTS, CLASSES)
LOG_LOSS = TreeLoss("log_loss")
RNG = np.random.default_rng(0)
VALUE = RNG.dirichlet([1, 1, 1], (2, 40))  # two stages, 40 rows
REFERENCE = RNG.dirichlet([1, 1, 1], 40)
TRUTH = RNG.integers(0, 3, 40)


def test_the_class_of_least_expected_cost_is_predicted() -> None:
    """One in five ill, and calling the ill well costs ten times a false alarm: 0.2 x 10 > 0.8 x 1, so all are called ill."""
    two = misclassification_loss([[0, 10], [1, 0]], np.array(["ill", "well"]))
    said = np.array([[0.2, 0.8], [0.05, 0.95]])
    assert predicted_classes(said, two).tolist() == [0, 1]
    assert predicted_classes(said).tolist() == [1, 1]
    assert lost(said, np.array([1, 0]), two).tolist() == [1, 10]
    assert expected(said, np.array([[0.3, 0.7], [0.3, 0.7]]), two) == pytest.approx([0.7, 3.0])
    assert margin(said, two) == pytest.approx([(2 - 0.8) / 10, (0.95 - 0.5) / 10])


def test_costs_of_three_classes_are_the_sums_written_out() -> None:
    for s, i in np.ndindex(2, 40):
        sums = [sum(VALUE[s, i, t] * COSTS[t][k] for t in range(3)) for k in range(3)]
        k = int(np.argmin(sums))
        assert predicted_classes(VALUE, BY)[s, i] == k
        assert lost(VALUE, TRUTH, BY)[s, i] == COSTS[TRUTH[i]][k]
        assert expected(VALUE, REFERENCE, BY)[s, i] == pytest.approx(sum(REFERENCE[i, t] * COSTS[t][k] for t in range(3)))
        first, second = sorted(sums)[:2]
        assert margin(VALUE[s], BY)[i] == pytest.approx((second - first) / 10)


def test_costs_of_one_for_each_mistake_are_the_error() -> None:
    ones = misclassification_loss(1 - np.eye(3), CLASSES)
    np.testing.assert_array_equal(predicted_classes(VALUE, ones), VALUE.argmax(axis=2))
    np.testing.assert_array_equal(lost(VALUE, TRUTH, ones), lost(VALUE, TRUTH))
    np.testing.assert_allclose(expected(VALUE, REFERENCE, ones), expected(VALUE, REFERENCE))
    np.testing.assert_allclose(margin(VALUE[0], ones), margin(VALUE[0]), atol=1e-15)
    np.testing.assert_allclose(fitting_loss(VALUE[0], TRUTH, ones), fitting_loss(VALUE[0], TRUTH))


@pytest.mark.parametrize("by", [BY, LOG_LOSS], ids=["mistakes", "log loss"])
def test_models_are_compared_by_a_proper_loss(by: TreeLoss) -> None:
    """No other probabilities are expected to lose less than those by which the labels are drawn."""
    for q in REFERENCE:

        def mean(p: np.ndarray, q: np.ndarray = q) -> float:
            each = fitting_loss(np.tile(p, (3, 1)), np.arange(3), by)
            return float(q @ each)

        assert all(mean(q) <= mean(p) + 1e-12 for p in VALUE[0])
        assert (expected(VALUE[:1], np.tile(q, (40, 1)), LOG_LOSS) >= expected(q[None, None], q[None], LOG_LOSS) - 1e-12).all()


def test_the_log_loss_of_a_class_that_nobody_expects_is_finite() -> None:
    sure = np.array([[1.0, 0.0]])
    assert lost(sure, np.array([1]), LOG_LOSS) == pytest.approx(-np.log(PARAMS.smallest_probability))
    assert margin(sure, LOG_LOSS) == pytest.approx(1.0)
    assert margin(np.array([[0.5, 0.5]]), LOG_LOSS) == pytest.approx(0.0)


def test_a_label_that_no_model_knows_costs_what_the_worst_mistake_costs() -> None:
    said = np.array([[0.9, 0.05, 0.05], [0.0, 0.0, 1.0]])  # called ill, then well
    unknown = np.array([-1, -1])
    assert lost(said, unknown, BY).tolist() == [1, 10]
    assert lost(said, unknown).tolist() == [1, 1]
    assert lost(said, unknown, LOG_LOSS) == pytest.approx([-np.log(PARAMS.smallest_probability)] * 2)


def test_pairs_that_are_not_named_cost_one() -> None:
    assert cost_matrix({("ill", "well"): 10}, CLASSES).tolist() == [[0, 1, 10], [1, 0, 1], [1, 1, 0]]
    assert cost_matrix({("1", "0"): 5}, np.array([0, 1])).tolist() == [[0, 1], [5, 0]]  # a class by what it is written as
    assert judged_by("classification", CLASSES, COSTS, "error").costs == BY.costs


@pytest.mark.parametrize(
    ("task", "mistakes", "loss", "says"),
    [
        ("classification", {("ill", "dead"): 3}, "error", "'dead', which is none of the classes"),
        ("classification", {"ill": 3}, "error", r"key 'ill'; give pairs"),
        ("classification", {("ill", "well"): -1}, "error", "the cost of 'ill' called 'well' is -1, negative"),
        ("classification", {("ill", "well"): "ten"}, "error", "the cost of 'ill' called 'well' is 'ten'; give a finite number"),
        ("classification", 10, "error", r"shape \(\); give one row for each true class"),
        ("classification", [[0, 1], [1, 0]], "error", r"shape \(2, 2\)"),
        ("classification", {("ill", "well"): 10}, "log_loss", "give one of them"),
        ("classification", None, "auc", "loss is 'auc'; give 'error' or 'log_loss'"),
        ("regression", {("ill", "well"): 10}, "error", "mistakes are for classes"),
        ("regression", None, "log_loss", "loss='log_loss' is for classes"),
    ],
)
def test_what_does_not_go_together_is_refused(task: object, mistakes: object, loss: object, says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        judged_by(task, CLASSES if task == "classification" else None, mistakes, loss)  # type: ignore[arg-type]
