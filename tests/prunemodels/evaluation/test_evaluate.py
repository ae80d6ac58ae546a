"""What one model costs and errs on new examples."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from prunemodels.statements.mean_bounds import MeanInterval
from prunemodels.statements.wording import budget_verdict, is_overrun
from tests.loops import looped
from tests.prunemodels.forest_kinds import KINDS, fitted, random_pruning


def test_by_hand():
    """Two splits: rows that go right at the root ask for one feature, the others for two."""
    X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    tree = DecisionTreeClassifier(random_state=0).fit(X, ["a", "b", "c", "c"])
    result = pm.evaluate(tree, X, ["a", "b", "c", "a"], costs=[3, 5], evaluation_cost=0.5)
    assert result.features == 1.5
    assert result.cost == 3 + 5 / 2 + 0.5 * 1.5
    assert result.error == 0.25
    assert (result.splits, result.n) == (2, 4)


@pytest.mark.slow
@looped("kind", KINDS)
def test_agrees_with_the_pruning(kind):
    """The pruned forest costs on the cost sample what its pruning says, and errs as its own ``predict``."""
    case = fitted(kind)
    costs, X = [7.27, 1, 0, 2.5, 9], case.X
    problem = pm.problem_from_forest(case.forest, X, costs=costs, evaluation_cost=0.1)
    pruning = random_pruning(problem)
    pruned = pm.apply_pruning(pruning, case.forest)
    result = pm.evaluate(pruned, X, case.y, costs=costs, evaluation_cost=0.1)
    assert result.cost == pytest.approx(pruning.cost)
    assert result.splits == pruning.n_splits
    wrong = pruned.predict(X) != case.y if hasattr(pruned, "classes_") else (pruned.predict(X) - case.y) ** 2
    assert result.error == np.mean(wrong)


def test_labels_of_another_shape_are_refused():
    """A column of labels, which would be compared with every prediction, and too few labels are refused."""
    case = fitted("regression forest")
    for y in (case.y[:, None], case.y[1:]):
        with pytest.raises(pm.errors.InvalidInputError, match=r"y has shape .*, X has 90 rows: give one label each"):
            pm.evaluate(case.forest, case.X, y, costs=1)


@looped("kind", ["random forest", "regression forest"])
def test_labels_that_nobody_can_predict_are_refused(kind):
    """A label of no class, and a missing one, would count as an error of any model."""
    case = fitted(kind)
    problem = pm.problem_from_forest(case.forest, case.X, costs=1)
    path = pm.pruning_path(problem)
    is_classifier = hasattr(case.forest, "classes_")
    for strange in ["perhaps", None, np.nan] if is_classifier else [np.nan, np.inf, "far"]:
        y = case.y.astype(object)
        y[4] = strange
        for judge in (
            lambda y: pm.evaluate(case.forest, case.X, y, costs=1),
            lambda y: pm.hold_out(path[0], case.forest, case.X, y),
            lambda y: pm.evaluate_path(path, case.X, y),
            lambda y: pm.tradeoff_curve(path, case.X, y),
            lambda y: pm.prune_forest(case.forest, case.X, y),
            lambda y: pm.evaluate(case.forest, pm.tables.ChunkedTable(case.X), y, costs=1),
            lambda y: pm.hold_out(path[0], case.forest, pm.tables.ChunkedTable(case.X), y),
            lambda y: pm.evaluate_path(path, pm.tables.ChunkedTable(case.X), y),
        ):
            with pytest.raises(pm.errors.InvalidInputError, match=r"is the label|targets must be finite|y is not numeric"):
                judge(y)


def test_boosted_models():
    """Cost and error are those of the model's own predictions on rows that ask for what their paths test; the loss is its own."""
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 10), np.array(["a", "a", "b", "b"] * 10)
    y[3] = "a"
    model = GradientBoostingClassifier(n_estimators=3, max_depth=1, random_state=0).fit(X, y)
    seen = pm.evaluate(model, X, y, costs=[3, 5])
    assert (seen.cost, seen.features, seen.splits) == (3, 1, 3)  # stumps on the first feature
    assert seen.error == 1 / 40
    assert seen.loss == pytest.approx(log_loss(y, model.predict_proba(X)), rel=1e-12)
    assert "log loss" in seen._repr_html_()
    fixed = FixedThresholdClassifier(FrozenEstimator(model), threshold=0.01).fit(X, y)
    assert pm.evaluate(fixed, X, y, costs=[3, 5]).error == 21 / 40  # all are "b"
    assert np.isnan(pm.evaluate(CalibratedClassifierCV(FrozenEstimator(model)).fit(X, y), X, y, costs=1).loss)


def cost(mean: float, low: float, high: float) -> MeanInterval:
    return MeanInterval(mean, 1.0, low, high, 0.95, "t", 73, 73)


@pytest.mark.parametrize(
    ("seen", "over", "words"),
    [
        # the interval lies above the budget: the population costs more
        (cost(169.9, 157, 183), True, "169.9 (95 % interval 157 to 183), 19.9 more than the 150 dollars"),
        # the budget lies within it: these examples cost more, and chance alone may explain it
        (cost(155, 140, 170), True, "5 more than the 150 dollars allowed. The budget lies within the interval"),
        (cost(149, 140, 158), False, "the 73 held-out examples cost 149 (95 % interval 140 to 158); the population may"),
        (cost(150, 150, 150), False, "cost 150 (95 % interval 150 to 150)."),
    ],
)
def test_four_cases(seen: MeanInterval, over: bool, words: str) -> None:
    """Certainly over, over by chance perhaps, within but not certainly, and within."""
    assert is_overrun(150, seen) is over
    assert words in budget_verdict(150, seen, "dollars").replace("\u00a0", " ")
