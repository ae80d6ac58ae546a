"""The experiments on BRF15's theorem and its Table 1, and on CSTC13's synthetic problem."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.papers import brf15_bound, brf15_table1, cstc13_synthetic
from benchmarks.papers.__main__ import main
from benchmarks.papers.experiment import Scope, Unit
from formulations.errors import InvalidInputError


def test_optimal_costs_by_hand() -> None:
    """The class is x0 and x1: the dear x0, price 5, is asked only where the cheap x1, price 1, is 1; x2 tells nothing.

    Worst: 6, whatever the order. Mean over four pairs of (x0, x1): 1 + 5 / 2 if x1 is first, 5 + 1 / 2 if x0 is.
    """
    X = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    assert brf15_bound.optimal_costs(X, X[:, 0] & X[:, 1], np.array([5.0, 1.0, 0.1])) == (6.0, 3.5)
    # one feature alone, though two of price 1 each would do as well
    y = X[:, 2]
    assert brf15_bound.optimal_costs(X, y, np.array([5.0, 1.0, 0.1])) == (pytest.approx(0.1), pytest.approx(0.1))


def test_instances_can_be_separated() -> None:
    """Rows are distinct and two classes are there; more rows than six binary features tell apart are refused."""
    X, y, prices = brf15_bound.instance(32, np.random.default_rng(0))
    assert len(np.unique(X, axis=0)) == 32
    assert set(y) >= {0, 1}
    assert set(prices) <= set(brf15_bound.PRICES)
    with pytest.raises(InvalidInputError, match="n is 65; give 2 to 64 examples"):
        brf15_bound.instance(65, np.random.default_rng(0))


def test_ratios_stand_beside_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tree is cheaper than the optimum, none beyond the theorem's bound, and all leaves are pure."""
    monkeypatch.setattr(brf15_bound, "INSTANCES", 6)
    rows = [
        {"method": m, "examples": 8, **row}
        for m in brf15_bound.METHODS
        for row in brf15_bound.run(Unit("brf15_bound", "binary", 7, m, {"examples": 8}))
    ]
    brf15_bound.solved.cache_clear()
    frame = pd.DataFrame(rows)
    assert len(frame) == 18
    assert (frame["wrong"] == 0).all()
    assert (frame["max_cost"] >= frame["optimal_max_cost"] - 1e-9).all()
    assert (frame["mean_cost"] >= frame["optimal_mean_cost"] - 1e-9).all()
    told = brf15_bound.table(frame).set_index("splits")
    assert told.loc["pairs, worst outcome", "beyond the bound"] == 0
    assert told.loc["powers (l = 3), worst outcome", "beyond the bound"] == 0
    assert brf15_bound.table(frame.assign(bound=0.9)).set_index("splits").loc["pairs, worst outcome", "beyond the bound"] == 6


def test_variants_of_forest_change_one_field() -> None:
    """Three seeds of each; none stands beside a printed number."""
    units = brf15_table1.units(Scope(("covtype_two",), 4))
    changed = [u for u in units if u.method in brf15_table1.VARIANTS]
    assert len(changed) == 3 * len(brf15_table1.VARIANTS)
    assert all(len(u.setting) == 2 for u in changed)
    rows = [{"data": "covtype_two", "method": changed[0].method, "trees": 40, "features": 1.0, "error": 0.1}]
    assert brf15_table1.compare(pd.DataFrame(rows)) == []


def test_a_perfect_tree_and_its_nodes() -> None:
    """ASTC with 12 to spend is perfect; the nodes that predict use one dear feature each and err by nothing."""
    rows = pd.DataFrame(cstc13_synthetic.run(Unit("cstc13_synthetic", "quadrants", 0, "ASTC", {"budget": 12}, 400)))
    tree = rows[rows["kind"] == "tree"].iloc[0]
    assert (tree["cost"], tree["perfect"]) == (12, True)
    nodes = rows[rows["kind"] == "node"]
    assert nodes["node"].tolist() == list(range(7))
    assert nodes["examples"].iloc[0] == 400 == nodes["examples"].iloc[3:].sum()
    assert sorted(nodes["uses"].iloc[3:]) == ["y++", "y+-", "y-+", "y--"]
    assert (nodes["error"].iloc[3:] < 1e-4).all()
    assert (nodes["error"].iloc[:3] > 0.5).all()
    assert (rows["kind"] == "point").sum() == 3 * cstc13_synthetic.DRAWN


def test_the_synthetic_figure_from_command_to_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One command counts the perfect trees and draws the nodes of one."""
    monkeypatch.setattr(cstc13_synthetic, "LAMBDAS", (0.035,))
    monkeypatch.setattr(cstc13_synthetic, "METHODS", {"CSTC": {"n_init": 1, "sharpness": 100.0}})
    arguments = ["cstc13_synthetic", "--repeats", "1", "--rows", "1000", "--out", str(tmp_path)]
    assert main(arguments) == 0
    folder = tmp_path / "cstc13_synthetic"
    table = pd.read_csv(folder / "perfect_trees_rows1000.csv").set_index("at")
    assert table.loc["lambda 0.035", "perfect"] == table.loc["budget 12", "perfect"] == "1 of 1"
    assert table.loc["budget 2", "perfect"] == "0 of 1"
    assert math.isclose(table.loc["lambda 0.035", "cost"], 12)
    nodes = pd.read_csv(folder / "figure2_nodes_rows1000.csv")
    assert sorted(nodes["uses"].iloc[3:]) == ["y++", "y+-", "y-+", "y--"]
    assert (folder / "figure2_rows1000.png").is_file()
