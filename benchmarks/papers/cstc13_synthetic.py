"""The synthetic regression problem of CSTC13: section 5.1.

Labels are drawn around a mean in each quadrant of a square. Two cheap features tell the quadrant, four dear ones the label,
each in its own quadrant; a perfect predictor pays 1 + 1 + 10 = 12 for each example. The paper trains one tree: "In every path
along the tree, the first two classifiers split on the two cheap features [...]. The final classifier extracts a single
expensive feature [...]. As such, the mean squared error of the training and testing data both approach 0." It gives neither
lambda, nor the means, nor the number of examples: these are ours (`MEANS`, 1,000 examples to train and 1,000 to test).

For several lambda and seeds, how many of the trees pay exactly 12 for each test example and err by less than `NO_ERROR` of
the labels' variance: CSTC as it is by default, with a single start at a fixed sharpness.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from benchmarks.measuring import mean_of
from benchmarks.papers.data import grid_units
from benchmarks.papers.experiment import Comparison, Experiment, Presentation, Row, Scope, Unit

MEANS = {"y++": 6.0, "y+-": 2.0, "y-+": -2.0, "y--": -6.0}
"""Mean label in each quadrant of (x, z). The paper does not give its means; these are ours."""

QUADRANT_COSTS = {"sign(x)": 1, "sign(z)": 1, "y++": 10, "y+-": 10, "y-+": 10, "y--": 10}
"""Prices as in the paper: a perfect predictor pays 12 for each example."""


def four_quadrants(n: int, random_state: Any = None) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Examples and labels.

    (x, z) is uniform on the square [-1, 1]^2; labels are Gaussian around their quadrant's mean, with variance 1. Two cheap
    features tell the quadrant. Each of four expensive ones is the label itself in its own quadrant and a random number
    elsewhere: a draw from the labels of its own quadrant (ours: the paper says "a random number"), so that only the signs tell
    which feature to trust.

    """
    rng = check_random_state(random_state)
    x, z = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)
    columns = {"sign(x)": np.where(x > 0, 1.0, -1.0), "sign(z)": np.where(z > 0, 1.0, -1.0)}
    y = np.empty(n)
    for name, mean in MEANS.items():
        inside = ((x > 0) == (name[1] == "+")) & ((z > 0) == (name[2] == "+"))
        drawn = rng.normal(mean, 1.0, n)
        y[inside] = drawn[inside]
        columns[name] = np.where(inside, drawn, rng.normal(mean, 1.0, n))
    return pd.DataFrame(columns), y


PERFECT = 12  # what a perfect predictor pays
NO_ERROR = 1e-6  # mean squared error, as a share of the labels' variance, that counts as none
EXAMPLES = 1000
LAMBDAS = (0.02, 0.025, 0.03, 0.035, 0.04, 0.045)


def units(scope: Scope) -> list[Unit]:
    grid = [("CSTC", {"lam": lam}) for lam in LAMBDAS]
    return grid_units("cstc13_synthetic", scope, lambda *_: grid, version=2)


def run(unit: Unit) -> list[Row]:
    from prunemodels.rivals.cstc import CSTCRegressor

    n = EXAMPLES if unit.rows is None else unit.rows
    X, y = four_quadrants(n, unit.seed)
    X_test, y_test = four_quadrants(n, unit.seed + 1000)
    model = CSTCRegressor(QUADRANT_COSTS, unit.setting["lam"], features="identity", random_state=unit.seed)
    model.fit(X, y)
    paid, error = model.prediction_cost(X_test), float(np.mean((model.predict(X_test) - y_test) ** 2) / y_test.var())
    perfect = bool((paid == PERFECT).all()) and error < NO_ERROR
    return [{"cost": float(paid.mean()), "error": error, "perfect": perfect}]


def found_table(frame: pd.DataFrame) -> pd.DataFrame:
    """For each lambda: perfect trees of all, mean cost, mean error."""
    rows = []
    for lam, of in frame.groupby("lam", sort=False):
        perfect = f"{int(of['perfect'].sum())} of {len(of)}"
        rows.append({"lambda": lam, "perfect": perfect, "cost": mean_of(of["cost"]), "error": mean_of(of["error"])})
    return pd.DataFrame(rows)


def present(frame: pd.DataFrame) -> Presentation:
    note = f"perfect: every test example pays {PERFECT}, and the mean squared error, a share of the labels' variance, is below "
    return Presentation({"perfect_trees": found_table(frame)}, notes=[f"{note}{NO_ERROR:g}"])


def compare(frame: pd.DataFrame) -> Sequence[Comparison]:
    lam = float(frame.groupby("lam")["perfect"].mean().idxmax())
    at = frame[frame["lam"] == lam]
    return [
        Comparison("minimum cost of a perfect predictor", PERFECT, mean_of(at["cost"])),
        Comparison("mean squared error, share of the variance", "approaches 0", f"{mean_of(at['error']):.1e} at lambda {lam:g}"),
    ]


EXPERIMENT = Experiment(
    name="cstc13_synthetic",
    protocol="cstc13",
    source="CSTC13, section 5.1",
    title="four quadrants: does the tree find the optimal cost of 12 at no error",
    takes="1 min on one core; full 3 min",
    data=("quadrants",),
    repeats=3,
    units=units,
    run=run,
    present=present,
    compare=compare,
    why="the paper gives neither its means nor its lambda nor the number of examples",
)
