"""Costs and errors of predictions, by majority and mean vote; intervals of shares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from formulations.instance.tree_loss import TreeLoss, misclassification_loss
from prunemodels.command_line.cli import main
from prunemodels.errors import InvalidInputError
from prunemodels.evaluation.vote import cut_of, with_cut, without_cut
from prunemodels.statements.change import HeldOutChange, SampleCost, change_of
from prunemodels.statements.mean_bounds import MeanInterval, paired_share_interval, share_interval
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


WRONG = TreeLoss("zero_one")


def rare(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """One in six is ill, which two columns tell; four others say nothing."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, 6))
    X[:, 0] += 1.6 * y
    X[:, 1] += 1.2 * y
    return X, y


@pytest.fixture(scope="module")
def grown() -> tuple[Any, ...]:
    """A forest in which few trees ask the columns that tell, so that pruned ones say well for everybody."""
    X, y = rare(1500)
    forest = RandomForestClassifier(30, max_depth=6, max_features=1, random_state=0).fit(X[:500], y[:500])
    return forest, X[500:1000], y[500:1000], X[1000:], y[1000:]


def test_the_cut_is_the_best_threshold() -> None:
    """By brute force over all thresholds, with weights and costs; of equals the nearest to 1/2."""
    rng = np.random.default_rng(0)
    for seed in range(12):
        truth = rng.integers(0, 2, 200)
        fraction = np.clip(0.15 + 0.15 * truth + 0.08 * rng.normal(size=200), 0, 1).round(2)
        weights = rng.integers(1, 4, 200).astype(float) if seed % 2 else np.ones(200)
        loss = misclassification_loss([[0, 1], [5, 0]], np.array([0, 1])) if seed % 3 else WRONG
        price = loss.matrix if loss.costs else 1 - np.eye(2)
        cut = cut_of(fraction, truth, weights, loss)
        assert cut is not None
        lost = {t: weights @ price[truth, (fraction >= t).astype(int)] for t in np.linspace(0, 1.005, 202)}
        assert weights @ price[truth, (fraction >= cut).astype(int)] == pytest.approx(min(lost.values()))


def test_a_vote_that_is_well_is_left_alone() -> None:
    """Fractions that mean what they say, and ones that say nothing: a cut on 2.5 % of samples is due to chance."""
    cuts = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        fraction = rng.random(300)
        cuts.append(cut_of(fraction, (rng.random(300) < fraction).astype(int), np.ones(300), WRONG))
        cuts.append(cut_of(rng.random(300), (rng.random(300) < 0.5).astype(int), np.ones(300), WRONG))
    assert sum(cut is not None for cut in cuts) <= 3


def test_a_pruned_forest_finds_again_what_it_lost(grown: Any, tmp_path: Path) -> None:
    """The cut counts in evaluate, files, walks and pages; its cost is that of the vote as it was."""
    forest, X, y, X_test, y_test = grown
    plain = pm.prune_forest(forest, X, y, budget=1.0)
    cut = pm.prune_forest(forest, X, y, budget=1.0, cut_vote=True)
    assert isinstance(cut.estimator, FixedThresholdClassifier)
    assert 0 < cut.cut < 0.5
    before, after = plain.evaluate(X_test, y_test), cut.evaluate(X_test, y_test)
    assert after.error_after.mean == pytest.approx(1 - cut.estimator.score(X_test, y_test))
    assert after.error_after.mean < before.error_after.mean - 0.02
    assert after.cost_after == before.cost_after
    assert "The vote is cut anew: “1” from a fraction of" in " ".join(str(cut).split())
    pm.save_forest(cut, tmp_path / "cut.skops")
    again = pm.load_forest(tmp_path / "cut.skops")
    assert (again.predict(X_test) == cut.estimator.predict(X_test)).all()
    inner, threshold = without_cut(again)
    assert threshold == cut.cut
    assert (inner.predict_proba(X_test) == plain.estimator.predict_proba(X_test)).all()
    known = pd.DataFrame(X_test[:50], columns=[f"x{f}" for f in range(6)])
    walked = pm.OnDemandPredictor(again, 1, pm.on_demand.from_table(known)).run(known.index)
    assert (np.asarray(walked.predictions) == again.predict(X_test[:50])).all()
    assert pm.evaluate(again, X_test, y_test, costs=1).error == pytest.approx(after.error_after.mean)
    slim = pm.drop_unused(cut)
    read = np.unique(np.concatenate([t.tree_.feature[t.tree_.feature >= 0] for t in inner.estimators_]))
    assert slim.n_features_in_ == read.size
    assert slim.predict(X_test[:, read]).tolist() == again.predict(X_test).tolist()


def test_mistakes_move_the_cut(grown: Any) -> None:
    """Where the ill that are missed cost ten times more, the cut is lower."""
    forest, X, y, X_test, y_test = grown
    costs = [[0, 1], [10, 0]]
    plain, dear = (pm.prune_forest(forest, X, y, budget=1.0, misclassification_costs=c, cut_vote=True) for c in (None, costs))
    assert dear.cut < plain.cut
    as_it_was = pm.prune_forest(forest, X, y, budget=1.0, misclassification_costs=costs)
    assert dear.evaluate(X_test, y_test).error_after.mean < as_it_was.evaluate(X_test, y_test).error_after.mean


def test_refusals(grown: Any) -> None:
    """Without labels, with a promised error, and for other than two classes."""
    forest, X, y, *_ = grown
    three = RandomForestClassifier(3, random_state=0).fit(X, y + (X[:, 0] > 2))
    for message, model, labels, options in (
        ("y_valid is missing, by which the vote is cut", forest, None, {"budget": 1}),
        ("max_error is given, which tests the vote as it is", forest, y, {"max_error": 0.4}),
        ("the forest predicts 3 classes", three, y, {"budget": 1}),
    ):
        with pytest.raises(InvalidInputError, match=message):
            pm.prune_forest(model, X, labels, cut_vote=True, **options)
    assert with_cut(forest, None) is forest


@pytest.mark.slow
def test_commands_keep_the_cut(
    grown: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`prune --cut-vote` names it; `check solution` and `report` take the file, and the page has its error."""
    monkeypatch.chdir(tmp_path)
    _, X, y, X_test, y_test = grown
    named = RandomForestClassifier(30, max_depth=6, max_features=1, random_state=0)
    train_X, train_y = rare(1500)
    columns = list("abcdef")
    pm.save_forest(named.fit(pd.DataFrame(train_X[:500], columns=columns), train_y[:500]), "f.skops")
    for name, rows, labels in (("valid", X, y), ("test", X_test, y_test)):
        pd.DataFrame(rows, columns=columns).assign(y=labels).to_csv(f"{name}.csv", index=False)
    words = "f.skops --data valid.csv --label y --costs 1"
    assert main(f"prune {words} --budget 1 --cut-vote --held-out test.csv --out p.skops".split()) == 0
    assert "The vote is cut anew" in " ".join(capsys.readouterr().out.split())
    assert main(f"report {words} --pruned p.skops --held-out test.csv --out r.html".split()) == 0
    wrong = 100 * (1 - pm.load_forest("p.skops").score(pd.DataFrame(X_test, columns=columns), y_test))
    assert f"{wrong:.1f}" in Path("r.html").read_text()


def compared(n: int, worse: int, better: int, wrong_before: int = 0) -> HeldOutChange:
    """Two models on n rows: the second errs where the first does not on some rows, and the other way round on others."""
    before, after = np.zeros(n), np.zeros(n)
    before[: better + wrong_before] = 1
    after[better : better + wrong_before] = 1
    after[n - worse :] = 1
    free = SampleCost(np.zeros(n), 0.0, 1.0)
    return change_of((free, free), (before, after), np.ones(n), 0.95, loss=TreeLoss("zero_one"))


@pytest.mark.parametrize(("hits", "n"), [(0, 30), (30, 30), (3, 30), (61, 1533)])
def test_a_share_has_the_interval_of_clopper_and_pearson(hits: int, n: int) -> None:
    """SciPy's, computed by itself; 30 rows without a mistake leave up to 11.6 % possible."""
    found = share_interval(np.arange(n) < hits, np.ones(n), 0.95)
    exact = stats.binomtest(hits, n).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-12)
    if hits == 0:
        assert found.high == pytest.approx(0.1157, abs=5e-5)


def test_equal_weights_are_no_weights_and_unequal_ones_count_as_fewer_rows() -> None:
    """Two thirds of 90 rows of weight 0 or 1 that are worth 30: the interval of 30 rows."""
    hits = np.arange(90) % 3 == 0
    for weight in (1.0, 7.0):
        assert share_interval(hits, np.full(90, weight), 0.95).high == share_interval(hits, np.ones(90), 0.95).high
    heavy = np.where(np.arange(90) < 10, 10.0, 1.0)
    assert share_interval(hits, heavy, 0.95).n_effective < 35
    assert share_interval(hits, heavy, 0.95).high > share_interval(hits, np.ones(90), 0.95).high


@pytest.mark.parametrize(
    ("worse", "better", "says"),
    [
        (5, 0, "The error may have risen by up to"),  # p = 0.063
        (6, 0, "The error rose, by"),  # p = 0.031
        (12, 4, "The error may have risen by up to"),  # p = 0.077
        (13, 3, "The error rose, by"),  # p = 0.021
        (0, 6, "The error fell, by"),
        (1, 5, "The error may have fallen by up to"),
        (0, 0, "No example is predicted worse or better; of others at most"),
    ],
)
def test_rose_and_fell_are_said_where_the_sign_test_says_so(worse: int, better: int, says: str) -> None:
    """At 95 %, by the exact test on the rows that are predicted worse or better, whatever the number of all rows."""
    for n in (60, 200, 1000):
        change = compared(n, worse, better)
        d, p = change.increase, stats.binomtest(worse, worse + better).pvalue if worse + better else 1.0
        assert (d.low > 0 or d.high < 0) == (p <= 0.05), n
        assert d.mean == pytest.approx((worse - better) / n)
        if n < 1000 or p <= 0.05:  # on more rows such a difference is small, and said to be
            assert change.verdict.startswith(says), n
    mirrored = paired_share_interval(np.repeat([-1.0, 1.0, 0.0], [worse, better, 90]), np.ones(90 + worse + better), 0.95)
    same = paired_share_interval(np.repeat([1.0, -1.0, 0.0], [worse, better, 90]), np.ones(90 + worse + better), 0.95)
    assert (mirrored.low, mirrored.high) == pytest.approx((-same.high, -same.low))


def test_an_error_rate_without_a_mistake_is_not_certain() -> None:
    """The interval of 30 right answers, in the table of before and after."""
    change = compared(30, 0, 0)
    assert change.error_after.mean == 0
    assert change.error_after.high == pytest.approx(0.1157, abs=5e-5)
    assert change.error_after.method == "exact"
