"""Medical data with their prices and splits, and what the tables of `benchmarks.medical` mean: on a small clinic, by hand."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks import medical
from benchmarks.data.medical import MedicalData, load_medical, load_prices
from benchmarks.medical import KNOWN, SHARES, Optimiser, budgets_of, grow
from prunemodels.data_files import FOLDER_VARIABLE, data_folder
from prunemodels.models.costs import items_from_table

PRICES = "feature,cost,discount_cost,shared_group\nmcv,5,1,A\nsgpt,5,1,A\nsgot,7,3,A\ngammagt,1,1,\n"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BUPA of 120 patients: two dear tests that say most, one cheap one that says a little."""
    folder = tmp_path_factory.mktemp("clinic")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 4)).round(2), columns=["mcv", "sgpt", "sgot", "gammagt"])
    ill = X["sgpt"] + X["sgot"] + 0.4 * X["gammagt"] + rng.normal(scale=0.4, size=120) > 0
    X.assign(label=ill.astype(int)).to_csv(folder / "bupa.csv.gz", index=False)
    (folder / "costs").mkdir()
    (folder / "costs" / "bupa.csv").write_text(PRICES)
    return folder


@pytest.fixture
def data(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> MedicalData:
    monkeypatch.setenv(FOLDER_VARIABLE, str(clinic))
    monkeypatch.setattr(medical, "TREES", 3)
    monkeypatch.setattr(medical, "SECONDS", math.inf)
    return load_medical("bupa")


@pytest.mark.slow
def test_who_knows_the_prices_is_never_beaten_on_the_samples(data: MedicalData) -> None:
    """Within each true budget on the cost sample; no error sample's error is below the one that all prices reach."""
    _, true = grow(data.X, data.y, data.costs, 0)
    budgets = budgets_of(data, SHARES)
    seeing = Optimiser(true, true)
    best = seeing.within(budgets)
    assert all(p.exact_cost <= b for p, b in zip(best, budgets, strict=True))
    assert best[0].exact_cost == 0
    assert best[-1].exact_error < best[0].exact_error
    for known in KNOWN[1:]:
        blind = Optimiser(medical._blind(true, data, known), true)
        found = blind.within(budgets)
        assert all(p.problem is true for p in found)
        assert all(p.exact_cost <= b and p.exact_error >= q.exact_error for p, b, q in zip(found, budgets, best, strict=True))
        assert any(p.exact_error > q.exact_error for p, q in zip(found, best, strict=True))
        assert found[-1].exact_cost > budgets[-1] / 2


@pytest.mark.slow
def test_one_repeat_measures_on_patients_not_seen(data: MedicalData, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every forest is measured on the test part; the unpruned one as `evaluate` does, and the choice is one of the rows."""
    train, test = data.split(3)
    seen = []
    evaluate = pm.evaluate

    def noted(forest: Any, X: pd.DataFrame, y: Any, **options: Any) -> Any:
        seen.append(tuple(X.index))
        return evaluate(forest, X, y, **options)

    monkeypatch.setattr(medical.pm, "evaluate", noted)
    rows = medical.one_repeat("bupa", 3)
    assert set(seen) == {tuple(test)}
    by = {(row["known"], row["budget"]): (row["dollars"], row["error"]) for row in rows}
    assert set(by) == {(k, b) for k in KNOWN for b in range(len(SHARES))} | {(x, -1) for x in ("unpruned", "default", "chosen")}
    forest, _ = grow(data.X.iloc[train], data.y[train], data.costs, 3)
    unpruned = evaluate(forest, data.X.iloc[test], data.y[test], costs=data.costs)
    assert by["unpruned", -1] == (unpruned.cost, unpruned.error)
    assert by["all prices", 0][0] == 0
    assert by["chosen", -1] in [numbers for (known, _), numbers in by.items() if known in ("all prices", "unpruned")]


def test_cross_validation_counts_each_patient_once(data: MedicalData) -> None:
    """With no budget every forest is one leaf a tree: the error is the smaller class's share, whatever the folds' sizes."""
    X, y = data.X[:100], data.y[:100].copy()
    y[:70], y[70:] = 0, 1
    nothing, unpruned = medical.cross_validated(data, X, y, 0, [0.0])
    assert nothing == pytest.approx(0.3)
    assert 0 < unpruned < 1


def by_hand() -> pd.DataFrame:
    """Two repeats; two budgets that buy 1 and 2 dollars, 10 for everything."""
    errors = {
        "all prices": [[0.4, 0.2], [0.2, 0.2]],
        "no discounts": [[0.4, 0.3], [0.4, 0.2]],
        "no prices": [[0.5, 0.4], [0.5, 0.4]],
    }
    rows = [
        {"data": "bupa", "seed": seed, "known": known, "budget": k, "dollars": 1.0 + k, "error": of[seed][k]}
        for known, of in errors.items()
        for seed in (0, 1)
        for k in (0, 1)
    ]
    others = {"unpruned": [(10, 0.2), (10, 0.2)], "default": [(9, 0.25), (9, 0.25)], "chosen": [(2, 0.2), (10, 0.2)]}
    rows += [
        {"data": "bupa", "seed": seed, "known": known, "budget": -1, "dollars": float(pair[0]), "error": pair[1]}
        for known, pairs in others.items()
        for seed, pair in enumerate(pairs)
    ]
    return pd.DataFrame(rows)


def test_enough_and_lost_by_hand() -> None:
    """Enough at 0.2 plus one standard error, 0.05 of 64 patients; lost over positive budgets."""
    rows = by_hand()
    assert medical.enough(rows, "all prices", 64) == 2  # 0.3, then 0.2
    assert medical.enough(rows, "no discounts", 64) == 2  # 0.4, then 0.25
    assert medical.enough(rows, "no prices", 64) == 10  # what the unpruned forest pays
    np.testing.assert_allclose(medical.lost(rows, "no discounts"), [0.1, 0.0])
    np.testing.assert_allclose(medical.lost(rows, "no prices"), [0.2, 0.2])


def test_the_tables_say_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Means and standard deviations in percent and dollars, the two choices' mean."""
    monkeypatch.setattr(medical, "SHARES", (0.0, 0.5))
    text = medical.report(by_hand(), {"bupa": 64}, {"bupa": 10.0})
    first, second = [line for line in text.splitlines() if line.startswith("| bupa")]
    assert [c.strip() for c in first.split("|")[1:-1]] == [
        "bupa (64 tested)",
        "$10.00",
        "$9.00: 25.0 ± 0.0 %",
        "$10.00: 20.0 ± 0.0 %",
        "$1.00: 30.0 ± 14.1 %",
        "$2.00: 20.0 ± 0.0 %",
        "$6.00: 20.0 ± 0.0 %",
    ]
    assert [c.strip() for c in second.split("|")[2:-1]] == ["$2.00", "$2.00", "$10.00", "+5.0 ± 7.1", "+20.0 ± 0.0"]


@pytest.mark.slow
@pytest.mark.usefixtures("data")
def test_the_command_writes_tables(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One command, one line a data set in both tables."""
    monkeypatch.setattr(medical, "SHARES", (0.0, 0.5))
    assert medical.main(["--data", "bupa", "--repeats", "1"]) == 0
    told = capsys.readouterr().out
    assert "| bupa (36 tested) |" in told
    assert "| bupa | $" in told


BLOOD = "feature,cost,discount_cost,shared_group\nage,1,1,\nTT4,14.51,12.41,A\nT4U,11.41,9.31,A\nFTI,,,computed from TT4+T4U\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small thyroid and a small BUPA, as they lie in the data folder."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(4000, 4)).round(2), columns=["age", "TT4", "T4U", "FTI"])
    X.assign(label=(X["FTI"] > 0).astype(int)).to_csv(tmp_path / "ann_thyroid.csv.gz", index=False)
    few = pd.DataFrame({"mcv": rng.normal(size=100), "sgpt": np.nan, "label": [0] * 80 + [1] * 20})
    few.to_csv(tmp_path / "bupa.csv.gz", index=False)
    (tmp_path / "costs").mkdir()
    (tmp_path / "costs" / "ann_thyroid.csv").write_text(BLOOD)
    (tmp_path / "costs" / "bupa.csv").write_text("feature,cost,discount_cost,shared_group\nmcv,7.27,5.17,A\nsgpt,7.27,5.17,A\n")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_prices_and_what_is_shared() -> None:
    """All tests: the blood once, 2.10, then 12.41 + 9.31, and 1 for the age; FTI has no item of its own and needs both tests.
    Without discounts the shared item is gone, what FTI needs is not.
    """
    data = load_medical("ann_thyroid")
    assert data.price_of_all == pytest.approx(1 + 2.10 + 12.41 + 9.31)
    items = items_from_table(data.costs, list(data.X.columns))
    needs = {name: {items.names[m] for m in own} for name, own in zip(data.X.columns, items.needs, strict=True)}
    assert needs["FTI"] == needs["TT4"] | needs["T4U"] == {"TT4", "T4U", "shared:A"}
    assert needs["age"] == {"age"}
    alone = items_from_table(data.without_discounts(), list(data.X.columns))
    assert {n: float(p) for n, p in zip(alone.names, alone.prices, strict=True)} == {"age": 1, "TT4": 14.51, "T4U": 11.41}
    assert [sorted(alone.names[m] for m in own) for own in alone.needs] == [["age"], ["TT4"], ["T4U"], ["T4U", "TT4"]]


@pytest.mark.usefixtures("folder")
def test_prices_go_into_a_problem() -> None:
    """A tree that asks FTI alone pays both tests and the blood: 23.82."""
    data = load_medical("ann_thyroid")
    train, _ = data.split(0)
    stump = RandomForestClassifier(1, max_depth=1, max_features=None, bootstrap=False).fit(data.X.iloc[train], data.y[train])
    problem = pm.problem_from_forest(stump, data.X, costs=data.costs)
    assert pm.Pruning.unpruned(problem).cost == pytest.approx(2.10 + 12.41 + 9.31)


@pytest.mark.usefixtures("folder")
def test_splits() -> None:
    """Thyroid's first 3,772 rows train whatever the seed; others are cut 70 / 30 with the classes in proportion, by the seed."""
    train, test = load_medical("ann_thyroid").split(7)
    np.testing.assert_array_equal(train, np.arange(3772))
    np.testing.assert_array_equal(test, np.arange(3772, 4000))
    data = load_medical("bupa")
    (train, test), again, other = data.split(1), data.split(1), data.split(2)
    np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(100))
    assert (len(test), int(data.y[test].sum())) == (30, 6)
    np.testing.assert_array_equal(test, again[1])
    assert not np.array_equal(test, other[1])
    assert (np.diff(test) > 0).all()


def test_what_is_absent_is_named(folder: Path) -> None:
    """An unknown name lists the known ones; an absent file says where it was looked for, and what it must hold."""
    with pytest.raises(
        pm.errors.InvalidInputError, match=r"'sonar' is no medical data set with prices; choose one of heart_clev.*thyroid"
    ):
        load_medical("sonar")
    with pytest.raises(pm.errors.BrokenFileError, match=r"pima\.csv\.gz; get the data .*PRUNEMODELS_DATA"):
        load_medical("pima")
    (folder / "costs" / "bupa.csv").unlink()
    with pytest.raises(
        pm.errors.BrokenFileError, match=r"costs.bupa\.csv with the prices; .*feature,cost,discount_cost.*PRUNEMODELS_DATA"
    ):
        load_medical("bupa")


def test_prices_that_do_not_fit_are_refused_and_only_empty_ones_computed(folder: Path) -> None:
    """A feature that is not there, before anything is trained. A price of FTI's own is paid as written, and needs no more."""
    (folder / "costs" / "bupa.csv").write_text("feature,cost\nmcv,7.27\nsgpt,7.27\ndrinks,1\n")
    with pytest.raises(pm.errors.InvalidInputError, match=r"price for 'drinks', and there is no such feature"):
        load_medical("bupa")
    (folder / "costs" / "ann_thyroid.csv").write_text("feature,cost\nage,1\nTT4,2\nT4U,3\nFTI,5\n")
    table = load_prices("ann_thyroid")
    assert list(table["needs"]) == [""] * 4
    assert load_medical("ann_thyroid").price_of_all == 11


@pytest.mark.parametrize(
    ("name", "rows", "features", "total"),
    [
        ("heart_cleveland", 303, 13, 323.97),
        ("heart_statlog", 270, 13, 323.97),
        ("hepatitis", 155, 19, 42.98),
        ("pima", 768, 8, 44.29),
        ("bupa", 345, 5, 30.54),
        ("ann_thyroid", 7200, 21, 69.81),
    ],
)
def test_the_real_data(name: str, rows: int, features: int, total: float) -> None:
    """Turney's tables, added up by hand: each group's saving once, each test's discounted price, what is not shared in full."""
    folder = data_folder()
    if not (folder / f"{name}.csv.gz").is_file() or not (folder / "costs").is_dir():
        pytest.skip(f"{name} is not in {folder} ({FOLDER_VARIABLE}={os.environ.get(FOLDER_VARIABLE)})")
    data = load_medical(name)
    assert data.X.shape == (rows, features)
    assert data.price_of_all == pytest.approx(total)
