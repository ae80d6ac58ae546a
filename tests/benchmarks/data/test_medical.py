"""Medical data come with their prices, their split, and what is computed from other tests."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks.data.medical import load_medical, load_prices
from formulations.instance.price_tables import items_from_table
from prunemodels.data_files import FOLDER_VARIABLE, data_folder

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


def test_prices_that_do_not_fit_are_refused(folder: Path) -> None:
    """A price for a feature that is not there, before anything is trained."""
    (folder / "costs" / "bupa.csv").write_text("feature,cost\nmcv,7.27\nsgpt,7.27\ndrinks,1\n")
    with pytest.raises(pm.errors.InvalidInputError, match=r"price for 'drinks', and there is no such feature"):
        load_medical("bupa")


def test_only_empty_prices_are_computed(folder: Path) -> None:
    """A price of FTI's own is paid as written, and needs nothing more; tables without groups are fine."""
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
