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
from prunemodels.data_files import FOLDER_VARIABLE
from prunemodels.models.costs import example_costs
from prunemodels.models.forests.reading import read_forest

NAMES = ["gist_0", "gist_1", "lbp_0", "lbp_1"]
GROUPS = "feature,descriptor,cost\nlbp_1,lbp,0.0374\ngist_0,gist,9.282\nlbp_0,lbp,0.0374\ngist_1,gist,9.282\n"


def write(folder: Path, per_class: int = 130) -> None:
    y = np.tile(np.arange(15), per_class)
    X = np.random.default_rng(0).normal(size=(len(y), 4)).astype(np.float32)
    pd.DataFrame(X, columns=NAMES).assign(label=y).to_csv(folder / "scene15.csv", index=False)
    (folder / "scene15_groups.csv").write_text(GROUPS)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data set's, in the data folder."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    (tmp_path / "scene15").mkdir()
    return tmp_path / "scene15"


def test_split_as_the_paper_counts(folder: Path) -> None:
    """100 images of each class train, 20 validate, the rest test; disjoint, drawn anew by another seed."""
    write(folder)
    data = load_scene15(random_state=3)
    assert [len(p) for p in data.parts] == [1500, 300, 150]
    assert (np.bincount(data.train.y) == 100).all()
    assert (np.bincount(data.validation.y) == 20).all()
    rows = np.concatenate([p.X for p in data.parts])
    assert len(np.unique(rows, axis=0)) == 1950
    assert not np.array_equal(data.train.X, load_scene15(random_state=4).train.X)


def test_features_of_a_descriptor_share_its_price(folder: Path) -> None:
    """A tree that uses both features of a descriptor pays for it once, and prices follow the features, not the file's order."""
    write(folder)
    data = load_scene15()
    assert data.costs.n_items == 2
    y = (data.train.X[:, 0] + data.train.X[:, 1] > 0).astype(int)
    tree = DecisionTreeClassifier(max_depth=6, random_state=0, max_features=None).fit(data.train.X[:, :2], y)
    items = pm.CostItems(data.costs.names, data.costs.prices, data.costs.needs[:2])
    assert example_costs(read_forest(tree), data.test.X[:5, :2], items) == pytest.approx(9.282)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (GROUPS.replace("cost", "price"), "no column 'cost'"),
        (GROUPS.replace("lbp_1", "lbp_7"), "same features.*lbp_1"),
        (GROUPS + "gist_1,gist,9.282\n", "same features.*gist_1"),
        (GROUPS.replace("lbp_0,lbp,0.0374", "lbp_0,lbp,0.05"), "descriptor 'lbp' have different costs"),
    ],
)
def test_groups_that_do_not_fit_are_refused(folder: Path, groups: str, message: str) -> None:
    """Missing columns and features, repeats, and two prices for one descriptor are named."""
    write(folder)
    (folder / "scene15_groups.csv").write_text(groups)
    with pytest.raises(BrokenFileError, match=message):
        load_scene15()


def test_labels_too_few_images_and_absent_files_are_refused(folder: Path) -> None:
    """What is missing is said, with the remedy; labels are whole numbers."""
    with pytest.raises(BrokenFileError, match=r"scene15\.csv or .* in the folder"):
        load_scene15()
    write(folder, per_class=120)
    with pytest.raises(InvalidInputError, match=r"class 0 has 120 examples, 121 are needed"):
        load_scene15()
    table = pd.read_csv(folder / "scene15.csv")
    table.assign(label=table["label"] + 0.5).to_csv(folder / "scene15.csv", index=False)
    with pytest.raises(BrokenFileError, match="'label' holds other than whole numbers"):
        load_scene15()
