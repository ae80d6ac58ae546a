"""Medical data sets whose tests have real prices: Turney's, in Canadian dollars, with what blood drawn once saves.

Prices are of Turney, *Cost-sensitive classification*, JAIR 2 (1995), the Ontario fee schedule; data are of the UCI repository.
Both lie in the folder of `prunemodels.data_files.data_folder`: ``NAME.csv.gz``, and ``costs/PRICES.csv`` with the columns
``feature,cost,discount_cost,shared_group`` of `items_from_table`. A test costs ``cost``, or
``discount_cost`` once another test of its group was bought.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from formulations.errors import BrokenFileError, InvalidInputError
from prunemodels.data_files import FOLDER_VARIABLE, data_folder, load_dataset, read_table
from prunemodels.models.costs import items_from_table

PRICES = {
    "heart_cleveland": "heart",
    "heart_statlog": "heart",
    "hepatitis": "hepatitis",
    "pima": "pima",
    "bupa": "bupa",
    "ann_thyroid": "ann_thyroid",
}
"""The data sets, and the file of the prices of each."""

COMPUTED = {"FTI": "TT4;T4U"}  # features computed from tests, which they need: nothing is paid for the arithmetic
TRAINING_ROWS = {"ann_thyroid": 3772}  # data sets that come with a split: so many rows train, the others test
TEST_SHARE = 0.3  # of the rows, where no split comes with the data


@dataclass(frozen=True, eq=False)
class MedicalData:
    """Test results (NaN: not known), diagnoses, and what the tests cost, as a table ready for ``costs=``."""

    name: str
    X: pd.DataFrame
    y: NDArray[Any]
    costs: pd.DataFrame

    @property
    def price_of_all(self) -> float:
        """What a patient costs who takes every test, discounts used."""
        return float(items_from_table(self.costs, list(self.X.columns)).price.sum())

    def without_discounts(self) -> pd.DataFrame:
        """The prices of tests taken alone: what is shared is forgotten, what a feature needs is not."""
        return self.costs[["feature", "cost", "needs"]]

    def split(self, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows to train on and rows to test on: the split of the data, or at random, classes in proportion."""
        rows = np.arange(len(self.y))
        if self.name in TRAINING_ROWS:
            train, test = np.split(rows, [TRAINING_ROWS[self.name]])
            return train, test
        train, test = train_test_split(rows, test_size=TEST_SHARE, stratify=self.y, random_state=seed)
        return np.sort(train), np.sort(test)


def load_medical(name: str) -> MedicalData:
    if name not in PRICES:
        raise InvalidInputError(f"{name!r} is no medical data set with prices; choose one of {', '.join(PRICES)}")
    data = load_dataset(name)
    costs = load_prices(PRICES[name])
    items_from_table(costs, list(data.X.columns))  # refuses what does not fit
    return MedicalData(name, data.X, data.y, costs)


def load_prices(prices: str) -> pd.DataFrame:
    """The table of prices ``costs/PRICES.csv``; features of `COMPUTED` get what they need in the column ``needs``."""
    file = data_folder() / "costs" / f"{prices}.csv"
    if not file.is_file():
        raise BrokenFileError(
            f"there is no file {file} with the prices; write one with the columns feature,cost,discount_cost,shared_group "
            f"(Turney's are kept with the data at UCI), or name the folder above costs/ in {FOLDER_VARIABLE}"
        )
    table = read_table(file)
    computed = table["feature"].isin(list(COMPUTED)) & table["cost"].isna()
    table["needs"] = table["feature"].map(COMPUTED).where(computed, "")
    if computed.any() and "shared_group" in table.columns:
        table["shared_group"] = table["shared_group"].mask(computed)  # a remark there, no group
    return table
