"""`--costs`: one price list of a hospital for every table and model."""

from __future__ import annotations

import pandas as pd
import pytest

from prunemodels.command_line.cli import main
from tests.prunemodels.command_line.conftest import House, told

EVALUATE = "evaluate forest.skops --data test.csv --label label"


def test_prices_of_other_tests_are_counted(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """A list that prices more than the columns gives the same costs, and says how many of its prices are of no column; an item
    that a column needs counts, though the column of its own is not in the table.
    """
    before = told(capsys, f"{EVALUATE} --costs costs.csv")
    more = pd.DataFrame({"feature": ["ct", "blood draw", "swab"], "cost": [90, 3, 5]})
    pd.concat([house.costs, more]).to_csv("list.csv", index=False)
    after = told(capsys, f"{EVALUATE} --costs list.csv")
    assert after["figures"] == before["figures"]
    assert "list.csv: 3 prices are of no column here: 'ct', 'blood draw', 'swab'" in after["read"]
    chain = pd.concat([more, pd.DataFrame({"feature": ["tube"], "cost": [2]})]).assign(needs=[None, "tube", None, None])
    needs = house.costs.assign(item=None, needs=[None, "blood draw", None, "blood draw", *[None] * 4])
    pd.concat([needs, chain]).to_csv("needs.csv", index=False)
    needs.drop(columns="needs").to_csv("plain.csv", index=False)
    alone = told(capsys, f"{EVALUATE} --costs plain.csv")["figures"]["cost"]
    dearer = told(capsys, f"{EVALUATE} --costs needs.csv")["figures"]["cost"]
    assert dearer == pytest.approx(alone + 5)  # the draw and its tube


def test_missing_prices_are_named_all_at_once_with_what_may_be_meant(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """All columns without a price, and the names of the list that differ in case, blanks and hyphens alone."""
    other = {"mean_area": "Mean Area", "mean_radius": "mean-radius", "mean_texture": "texture"}
    house.costs.assign(feature=house.costs.feature.replace(other)).to_csv("list.csv", index=False)
    assert main([*EVALUATE.split(), "--costs", "list.csv"]) == 2
    said = capsys.readouterr().err
    assert "there is no price for 'mean_radius', 'mean_texture', 'mean_area'" in said
    assert "perhaps it says 'mean-radius' for 'mean_radius', 'Mean Area' for 'mean_area'" in said
