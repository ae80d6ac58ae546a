"""Groups of examples: 600 patients with four visits each, whose errors are those of new patients."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from prunemodels.cascades.fitting import divisions
from prunemodels.command_line.cli import main
from prunemodels.errors import InvalidInputError
from prunemodels.files.forests import save_forest
from prunemodels.models.labelled_samples import Sample, folds_of
from prunemodels.report_page.page import _facts as gathered
from prunemodels.stages.raw_tables import group_columns
from prunemodels.statements.mean_bounds import over_groups, paired_share_interval, share_interval


def visits(patients: int, seed: int = 0) -> pd.DataFrame:
    """Four visits each: a patient's values hardly change, and say nothing of his illness, which does not change at all."""
    rng, of = np.random.default_rng(seed), np.repeat(np.arange(patients), 4)
    values = rng.normal(size=(patients, 5))[of] + 0.05 * rng.normal(size=(of.size, 5))
    table = pd.DataFrame(values.round(4), columns=list("abcde"))
    return table.assign(patient=100 + 7 * of, ill=(rng.random(patients) < 0.4)[of].astype(int))


TABLE = visits(600)
X, Y, G = TABLE[list("abcde")], TABLE["ill"], TABLE["patient"]


def tree() -> Any:
    return DecisionTreeClassifier(min_samples_leaf=2, random_state=0)


def test_the_stated_error_is_that_of_new_patients() -> None:
    """Trees learn patients by heart: without groups the stated error is far too low, with groups that of other patients."""
    new = visits(400, seed=1)
    options: dict[str, Any] = {"lam": 0.0, "n_levels": 4, "random_state": 0}
    stated = {}
    for name, groups in (("rows", None), ("patients", G)):
        model = pm.CascadeClassifier([(tree(), ["a"]), (tree(), None)], 1, **options).fit(X, Y, groups=groups)
        stated[name] = model.error_, 1 - model.score(new[list("abcde")], new["ill"])
    assert stated["rows"][0] < stated["rows"][1] - 0.2
    assert abs(stated["patients"][0] - stated["patients"][1]) < 0.06


@pytest.mark.parametrize("cv", [None, 3, GroupKFold(4)])
@pytest.mark.parametrize("n", [400, 8000])
def test_no_group_is_on_two_sides(cv: Any, n: int) -> None:
    """Of any division: folds, one part, a splitter of scikit-learn; also of the folds by which policies are judged."""
    groups = np.random.default_rng(0).integers(0, n // 4, n)
    sample = Sample(np.zeros((n, 1)), np.arange(n) % 2, None, None, groups)
    parts = [*divisions(sample, cv, None, True, np.random.RandomState(0)), *folds_of(n, 5, groups, 0)]
    for rows, held_out in parts:
        assert not set(groups[rows]) & set(groups[held_out])
        assert rows.size + held_out.size == n


def test_promises_and_searches_keep_groups_together() -> None:
    """A promise is one of the mean over patients, tested by other patients; the search for sets and pruned forests know them."""
    model = pm.BudgetCascadeClassifier(LogisticRegression(), 1, n_stages=3, n_levels=4, max_error=0.7, random_state=0)
    model.fit(X, Y, groups=G)
    assert model.promise_.n <= 160  # of 600 patients, not of 2,400 visits
    own = set(G[model.own_rows_])
    assert len(own) <= 150
    forest = pm.BudgetPrunedForestClassifier(costs=1, budget=2, random_state=0).fit(X[:400], Y[:400], groups=G[:400])
    assert forest.pruning_.problem.usage.n_rows % 4 == 0


def test_intervals_count_groups() -> None:
    """Four equal visits say as much as one patient: the intervals are those of the patients."""
    rng = np.random.default_rng(0)
    wrong = (rng.random((2, 150)) < 0.2).astype(float)
    four, groups = np.repeat(wrong, 4, axis=1), np.repeat(np.arange(150), 4)
    means, weights = over_groups(list(four), np.ones(600), groups)
    assert (weights == 4).all()
    np.testing.assert_array_equal(means, wrong)
    one, many = share_interval(means[0], weights, 0.95), share_interval(wrong[0], np.ones(150), 0.95)
    assert (one.low, one.high) == (many.low, many.high)
    difference = paired_share_interval(means[1] - means[0], weights, 0.95)
    alone = paired_share_interval(wrong[1] - wrong[0], np.ones(150), 0.95)
    assert (difference.low, difference.high) == (alone.low, alone.high)


def test_a_change_counts_groups() -> None:
    """`evaluate` of a pruned forest: wider intervals, and a sentence that says what they count."""
    from prunemodels.example import X_test, X_valid, costs, forest, y_test, y_valid

    result = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=8)
    twice = np.arange(len(y_test)) // 2
    rows, groups = result.evaluate(X_test, y_test), result.evaluate(X_test, y_test, groups=twice)
    assert groups.error_after.mean == pytest.approx(rows.error_after.mean)
    assert groups.error_after.high > rows.error_after.high
    assert (groups.n, groups.n_groups, rows.n_groups) == (169, 85, None)
    assert groups.broken == rows.broken
    assert "Intervals count 85 groups" in str(groups)
    assert groups.classes.sensitivity.rates[1].high > rows.classes.sensitivity.rates[1].high
    single = result.evaluate(X_test, y_test, groups=np.arange(169))
    assert single.increase == rows.increase


def four_visits(file: str, rows: slice) -> None:
    """Each patient once, and four times."""
    from prunemodels.example import X_test, y_test

    patients = X_test[rows].assign(ill=y_test[rows], patient=np.arange(len(X_test[rows])))
    patients.to_csv(f"one_{file}", index=False)
    pd.concat([patients] * 4).to_csv(f"four_{file}", index=False)


def test_evaluate_and_report_count_patients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four equal visits of each patient: every interval is that of the patients, by command and on a page."""
    from prunemodels.example import X_valid, forest, path, y_valid

    monkeypatch.chdir(tmp_path)
    four_visits("test.csv", slice(None))
    exits = pm.exit_path(path, X_valid, y_valid, n_stages=3, n_levels=8, random_state=0)
    pm.save_cascade(exits.at_cost(6), "c.skops")
    pm.save_cascade(exits.at_cost(3), "d.skops")
    save_forest(forest, "f.skops")
    for model in ("c.skops --against d.skops", "f.skops --costs 1"):
        found = []
        for table in ("one", "four"):
            evaluate = f"evaluate {model} --data {table}_test.csv --label ill --groups patient --json"
            assert main(evaluate.split()) == 0
            found.append(json.loads(capsys.readouterr().out))
        one, four = found
        assert [four[k] for k in ("cost", "error")] == [pytest.approx(one[k] | {"n": 169}) for k in ("cost", "error")]
        if "change" in one:
            assert four["change"]["increase"] == pytest.approx(one["change"]["increase"])
            assert four["change"]["n_groups"] == 169
        assert main([*evaluate.replace(" --json", "").split()]) == 0
        assert "Intervals count 169 groups of examples" in " ".join(capsys.readouterr().out.split())
    pages = []
    for table in ("one", "four"):
        report = f"report c.skops --held-out {table}_test.csv --label ill --groups patient --out {table}.html --json"
        assert main(report.split()) == 0
        pages.append(json.loads(capsys.readouterr().out)["held_out"])
    for name in ("cost_after", "error_after", "increase", "saving"):
        assert [pages[1][name][end] for end in ("low", "high")] == pytest.approx([pages[0][name][end] for end in ("low", "high")])
    data = pd.read_csv("four_test.csv")
    rows, labels, groups = data.drop(columns=["ill", "patient"]), data["ill"].to_numpy(), data["patient"]
    chosen = pm.solve(path.problem, budget=8, method="path", path=path)
    for source, more, options in ((exits, (), {}), (path, (forest,), {"chosen": chosen})):
        shown = gathered(source, *more, rows, labels, groups=groups, **options)
        plain = gathered(source, *more, rows, labels, **options)
        assert shown.held_out.n_groups == 169
        assert shown.held_out.error_after.high > plain.held_out.error_after.high
        ends, narrow = shown.tradeoff.ends, plain.tradeoff.ends
        assert ends is None or (np.diff(ends, axis=0) > np.diff(narrow, axis=0)).all()
    with pytest.raises(InvalidInputError, match="X is None, but groups is given"):
        gathered(exits, groups=groups)


def test_groups_are_routed() -> None:
    """scikit-learn's metadata routing hands groups to `fit`."""
    model = pm.CascadeClassifier([(LogisticRegression(), None)], 1, lam=0.0, cv=2, n_levels=4, stack=False)
    with config_context(enable_metadata_routing=True):
        options: dict[str, Any] = {"params": {"groups": G[:400]}, "cv": GroupKFold(2), "error_score": "raise"}
        seen = cross_validate(model.set_fit_request(groups=True), X[:400], Y[:400], **options)
    assert len(seen["test_score"]) == 2


def test_columns_of_patients_are_noticed() -> None:
    """A number that repeats in rows nearly equal; ages and wards repeat in others, too."""
    rng = np.random.default_rng(0)
    more = TABLE.assign(age=rng.integers(20, 90, len(TABLE)), ward=rng.integers(0, 300, len(TABLE)))
    assert group_columns(more.drop(columns="ill")) == ["patient"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": G[:9]}, "groups has 9 entries, X has 2,400 rows"),
        ({"groups": np.ones(2400)}, "groups has one group"),
        ({"groups": G, "X_valid": X, "y_valid": Y, "groups_valid": G}, "the group 100 is in X and in X_valid"),
        ({"groups": [None, *G[1:]]}, r"groups\[0\] is missing"),
    ],
)
def test_refusals(given: dict[str, Any], message: str) -> None:
    """Before training."""
    with pytest.raises(InvalidInputError, match=message):
        pm.CascadeClassifier([(LogisticRegression(), None)], 1).fit(X, Y, **given)


@pytest.mark.slow
def test_commands_keep_patients_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """train, prune and cascade: the column is no feature, no patient is on two sides, and screens say what intervals count."""
    monkeypatch.chdir(tmp_path)
    TABLE[:1200].to_csv("visits.csv", index=False)
    TABLE[1200:1800].to_csv("others.csv", index=False)
    train = "train --data visits.csv --label ill --groups patient --trees 5 --apart-csv apart.csv --out f.skops"
    assert main(train.split()) == 0
    assert "examples of 120 other groups" in capsys.readouterr().out
    apart = pd.read_csv("apart.csv")
    assert len(apart) == 480
    prune = "prune f.skops --data apart.csv --label ill --groups patient --costs 1 --budget 2"
    assert main([*prune.split(), "--held-out", "others.csv", "--out", "p.skops"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Intervals count 120 groups" in out
    assert "Intervals count 150 groups" in out
    assert main([*prune.split(), "--held-out", "visits.csv", "--out", "q.skops"]) == 2
    assert "is in apart.csv and in --held-out" in capsys.readouterr().err
