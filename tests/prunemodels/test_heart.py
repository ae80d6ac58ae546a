"""Heart's patients and Turney's prices: from the folder, else from OpenML."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets

import prunemodels as pm
from formulations.instance.price_tables import items_from_table
from prunemodels.data_files import data_folder
from prunemodels.datasets.heart import HEART_ON_OPENML, HEART_PRICES, fetch_heart


def test_the_prices_are_turneys() -> None:
    """All 13 tests cost 323.97 dollars together, discounts included."""
    costs = pd.read_csv(io.StringIO(HEART_PRICES))
    items = items_from_table(costs, costs["feature"].tolist())
    assert float(items.price.sum()) == pytest.approx(323.97)
    own = Path(data_folder()) / "costs" / "heart.csv"
    if own.is_file():
        given = pd.read_csv(own)
        assert given[["feature", "cost", "discount_cost"]].equals(
            costs[["feature", "cost"]].assign(discount_cost=costs["discount_cost"].fillna(costs["cost"]))
        )


def test_what_openml_gives_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Columns by their places, whose names differ there; without a network the message names both sources."""
    monkeypatch.setenv("PRUNEMODELS_DATA", str(tmp_path))
    asked: dict[str, Any] = {}

    def fetch(**options: Any) -> SimpleNamespace:
        asked.update(options)
        rows = pd.DataFrame(np.arange(26).reshape(2, 13), columns=[f"column {k}" for k in range(13)])
        return SimpleNamespace(data=rows, target=pd.Series(["present", "absent"], dtype="category"))

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    X, y, costs = fetch_heart()
    assert asked == {"data_id": HEART_ON_OPENML, "as_frame": True}
    assert list(X.columns) == list(costs["feature"])
    assert X["thal"].tolist() == [12.0, 25.0]
    assert y.tolist() == ["ill", "well"]

    def offline(**options: Any) -> None:
        raise OSError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", offline)
    with pytest.raises(pm.errors.BrokenFileError, match=r"OpenML cannot be reached \(OSError: no network\).*heart_statlog"):
        fetch_heart()


@pytest.mark.skipif(not (data_folder() / "heart_statlog.csv.gz").is_file(), reason="Heart's table is not there")
def test_the_folders_table_is_read() -> None:
    """270 patients, 120 of them ill; the README's call meets its budget and spends most of it."""
    from sklearn.ensemble import RandomForestClassifier

    X, y, costs = fetch_heart()
    assert X.shape == (270, 13)
    assert (y == "ill").sum() == 120
    forest = RandomForestClassifier(20, random_state=0).fit(X[:135], y[:135])
    result = pm.prune_forest(forest, X[135:], y[135:], costs=costs, budget=150, time_limit=3)
    assert 75 < result.cost <= 150
