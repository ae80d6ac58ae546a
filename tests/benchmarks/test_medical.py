"""What the tables of `benchmarks.medical` mean, on a small clinic and by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import prunemodels as pm
from benchmarks import medical
from benchmarks.data.medical import MedicalData, load_medical
from benchmarks.medical import KNOWN, SHARES, Measured, Optimiser, Repeat, budgets_of, grow, measure
from prunemodels.data_files import FOLDER_VARIABLE

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


def test_who_knows_the_prices_is_never_beaten_on_the_samples(data: MedicalData) -> None:
    """Within each true budget on the cost sample; no error sample's error is below the one that all prices reach."""
    _, true = grow(data.X, data.y, data.costs, 0)
    budgets = budgets_of(data, SHARES)
    seeing = Optimiser(true, true)
    best = seeing.within(budgets)
    assert (seeing.solved, seeing.unproven) == (len(budgets), 0)
    assert all(p.exact_cost <= b for p, b in zip(best, budgets, strict=True))
    assert best[0].exact_cost == 0
    assert best[-1].exact_error < best[0].exact_error
    for known in KNOWN[1:]:
        blind = Optimiser(medical._blind(true, data, known), true)
        found = blind.within(budgets)
        assert all(p.problem is true for p in found)
        assert all(p.exact_cost <= b and p.exact_error >= q.exact_error for p, b, q in zip(found, budgets, best, strict=True))
        assert blind.solved > len(budgets)
        assert any(p.exact_error > q.exact_error for p, q in zip(found, best, strict=True))
        assert found[-1].exact_cost > budgets[-1] / 2


def test_one_repeat_measures_on_patients_not_seen(data: MedicalData, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forests are measured on the test part or on a fold, never on rows they saw; the unpruned one as `evaluate` does."""
    train, test = data.split(3)
    seen = []

    def noted(forest: Any, held_out: Any, *more: Any) -> Measured:
        seen.append(tuple(held_out[0].index))
        return measure(forest, held_out, *more)

    monkeypatch.setattr(medical, "measure", noted)
    repeat = medical.one_repeat("bupa", 3)
    assert {rows for rows in seen if len(rows) == len(test)} == {tuple(test)}
    inner = [set(rows) for rows in seen if len(rows) != len(test)]
    assert set().union(*inner) == set(train.tolist())
    assert len({tuple(sorted(rows)) for rows in inner}) == medical.FOLDS
    assert set(repeat.by_budget) == set(KNOWN)
    forest, _ = grow(data.X.iloc[train], data.y[train], data.costs, 3)
    unpruned = pm.evaluate(forest, data.X.iloc[test], data.y[test], costs=data.costs)
    assert repeat.unpruned == Measured(unpruned.cost, unpruned.error)
    assert repeat.by_budget["all prices"][0].dollars == 0
    assert repeat.default.dollars <= 10
    assert repeat.at_choice in (*repeat.by_budget["all prices"], repeat.unpruned)
    assert repeat.solved >= 3 * len(SHARES)


def test_cross_validation_counts_each_patient_once(data: MedicalData) -> None:
    """With no budget every forest is one leaf a tree: the error is the smaller class's share, whatever the folds' sizes."""
    X, y = data.X[:100], data.y[:100].copy()
    y[:70], y[70:] = 0, 1
    nothing, unpruned = medical.cross_validated(data, X, y, 0, [0.0])
    assert (nothing.dollars, nothing.error) == (0, pytest.approx(0.3))
    assert unpruned.dollars > 1


def repeat(seed: int, errors: dict[Any, list[float]], unpruned: float = 0.2, chosen: int = 1) -> Repeat:
    """Two budgets that buy 1 and 2 dollars; 10 for everything."""
    by_budget = {k: [Measured(1.0, e[0]), Measured(2.0, e[1])] for k, e in errors.items()}
    return Repeat("bupa", seed, Measured(10.0, unpruned), Measured(9.0, 0.25), by_budget, chosen, 1, 6)


@pytest.fixture
def summary(data: MedicalData) -> medical.Summary:
    first = {"all prices": [0.4, 0.2], "no discounts": [0.4, 0.3], "no prices": [0.5, 0.4]}
    second = {"all prices": [0.2, 0.2], "no discounts": [0.4, 0.2], "no prices": [0.5, 0.4]}
    return medical.Summary.of(data, [repeat(0, first), repeat(1, second, chosen=2)])


def test_a_summary_by_hand(summary: medical.Summary, data: MedicalData) -> None:
    """Means over repeats; enough at 0.2 plus one standard error; lost over positive budgets."""
    tested = len(set(data.split(0)[1]) | set(data.split(1)[1]))
    assert 36 < summary.tested == tested < 72
    np.testing.assert_array_equal(summary.dollars("all prices"), [1, 2])
    np.testing.assert_array_equal(summary.errors("no discounts"), [[0.4, 0.3], [0.4, 0.2]])
    assert 0.2 + medical.standard_error(0.2, tested) == pytest.approx(0.25, abs=0.01)
    assert summary.enough("all prices") == 2  # 0.3, then 0.2
    assert summary.enough("no discounts") == 2  # 0.4, then 0.25
    assert summary.enough("no prices") == 10  # what the unpruned forest pays
    np.testing.assert_allclose(summary.lost("no discounts"), [0.1, 0.0])
    np.testing.assert_allclose(summary.lost("no prices"), [0.2, 0.2])


def test_the_tables_say_what_was_measured(summary: medical.Summary, monkeypatch: pytest.MonkeyPatch) -> None:
    """Means and standard deviations in percent and dollars, the two choices' mean, and how many budgets were not proven."""
    monkeypatch.setattr(medical, "SHARES", (0.0, 0.5))
    text = medical.report([summary])
    first, second = [line for line in text.splitlines() if line.startswith("| bupa")]
    cells = [c.strip() for c in first.split("|")[1:-1]]
    assert cells[0] == f"bupa ({summary.tested} tested)"
    assert cells[1:] == [
        "$10.00",
        "$9.00: 25.0 ± 0.0 %",
        "$10.00: 20.0 ± 0.0 %",
        "$1.00: 30.0 ± 14.1 %",
        "$2.00: 20.0 ± 0.0 %",
        "$6.00: 20.0 ± 0.0 %",
    ]
    assert [c.strip() for c in second.split("|")[2:-1]] == ["$2.00", "$2.00", "$10.00", "+5.0 ± 7.1", "+20.0 ± 0.0"]
    assert "budgets solved 12, not proven optimal in time 2" in text


@pytest.mark.usefixtures("data")
def test_the_command_writes_tables(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One command, one line a data set in both tables."""
    monkeypatch.setattr(medical, "SHARES", (0.0, 0.5))
    assert medical.main(["--data", "bupa", "--repeats", "1"]) == 0
    told = capsys.readouterr().out
    assert "| bupa (36 tested) |" in told
    assert "| bupa | $" in told
    assert "1 repeats, " in told
