"""Scene15: a small table in both forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from benchmarks.data import load_scene15
from formulations.errors import BrokenFileError, InvalidInputError
from prunemodels.models.costs import example_costs
from prunemodels.models.forests.reading import read_forest

NAMES = ["gist_0", "gist_1", "lbp_0", "lbp_1"]
GROUPS = "feature,descriptor,cost\nlbp_1,lbp,0.0374\ngist_0,gist,9.282\nlbp_0,lbp,0.0374\ngist_1,gist,9.282\n"


def images(per_class: int, classes: int = 15) -> tuple[np.ndarray, np.ndarray]:
    y = np.tile(np.arange(classes), per_class)
    return np.random.default_rng(0).normal(size=(len(y), 4)).astype(np.float32), y


def write(folder: Path, per_class: int = 130, part: bool = False) -> tuple[np.ndarray, np.ndarray]:
    X, y = images(per_class)
    table = pd.DataFrame(X, columns=NAMES).assign(label=y)
    if part:
        table["part"] = np.resize(["train", "test", "validation", "test"], len(y))
    table.to_csv(folder / "scene15.csv", index=False)
    (folder / "scene15_groups.csv").write_text(GROUPS)
    return X, y


def test_split_as_the_paper_counts(tmp_path: Path) -> None:
    """100 images of each class train, 20 validate, the rest test; disjoint, drawn anew by another seed; the remark says so."""
    write(tmp_path)
    data = load_scene15(tmp_path, random_state=3)
    assert [len(p) for p in (data.train, data.validation, data.test)] == [1500, 300, 150]
    assert (np.bincount(data.train.y) == 100).all()
    assert (np.bincount(data.validation.y) == 20).all()
    rows = np.concatenate([p.X for p in (data.train, data.validation, data.test)])
    assert len(np.unique(rows, axis=0)) == 1950
    assert not np.array_equal(data.train.X, load_scene15(tmp_path, random_state=4).train.X)
    assert "seed 3" in data.remarks[0]


def test_features_of_a_descriptor_share_its_price(tmp_path: Path) -> None:
    """A tree that uses both features of a descriptor pays for it once, and prices follow the features, not the file's order."""
    write(tmp_path)
    data = load_scene15(tmp_path)
    assert data.feature_names == tuple(NAMES)
    assert data.costs.n_items == 2
    y = (data.train.X[:, 0] + data.train.X[:, 1] > 0).astype(int)
    tree = DecisionTreeClassifier(max_depth=6, random_state=0, max_features=None).fit(data.train.X[:, :2], y)
    items = pm.CostItems(data.costs.names, data.costs.prices, data.costs.needs[:2])
    assert example_costs(read_forest(tree), data.test.X[:5, :2], items) == pytest.approx(9.282)


def test_parts_of_the_table_are_kept(tmp_path: Path) -> None:
    """Where it names them."""
    X, _ = write(tmp_path, part=True)
    data = load_scene15(tmp_path)
    assert [len(p) for p in (data.train, data.validation, data.test)] == [488, 487, 975]
    np.testing.assert_array_equal(data.validation.X, X[2::4])
    assert data.remarks == ()


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (GROUPS.replace("cost", "price"), "no column 'cost'"),
        (GROUPS.replace("lbp_1", "lbp_7"), "same features.*lbp_1"),
        (GROUPS + "gist_1,gist,9.282\n", "same features.*gist_1"),
        (GROUPS.replace("lbp_0,lbp,0.0374", "lbp_0,lbp,0.05"), "descriptor 'lbp' have different costs"),
    ],
)
def test_groups_that_do_not_fit_are_refused(tmp_path: Path, groups: str, message: str) -> None:
    """Missing columns and features, repeats, and two prices for one descriptor are named."""
    write(tmp_path)
    (tmp_path / "scene15_groups.csv").write_text(groups)
    with pytest.raises(BrokenFileError, match=message):
        load_scene15(tmp_path)


def test_labels_and_parts_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    """Labels are whole numbers, parts are the three."""
    X, y = write(tmp_path)
    table = pd.DataFrame(X, columns=NAMES)
    table.assign(label=y + 0.5).to_csv(tmp_path / "scene15.csv", index=False)
    with pytest.raises(BrokenFileError, match="'label' holds other than whole numbers"):
        load_scene15(tmp_path)
    table.assign(label=y, part="train").to_csv(tmp_path / "scene15.csv", index=False)
    with pytest.raises(BrokenFileError, match="expected each of train, validation, test"):
        load_scene15(tmp_path)


def test_too_few_images_and_absent_or_damaged_files_are_refused(tmp_path: Path) -> None:
    """What is missing is said, with the remedy."""
    with pytest.raises(BrokenFileError, match=r"scene15\.csv or .* in the folder"):
        load_scene15(tmp_path)
    write(tmp_path, per_class=120)
    with pytest.raises(InvalidInputError, match=r"class 0 has 120 examples.*'part'"):
        load_scene15(tmp_path)
