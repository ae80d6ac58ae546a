"""The vote of a pruned forest cut anew: the best threshold, only where it helps, in all that is said and saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import FixedThresholdClassifier

import prunemodels as pm
from formulations.instance.tree_loss import TreeLoss, misclassification_loss
from prunemodels.command_line.cli import main
from prunemodels.errors import InvalidInputError
from prunemodels.evaluation.vote import cut_of, with_cut, without_cut

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
