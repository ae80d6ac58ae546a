"""What the tables of `benchmarks.medical` mean, on a small clinic and by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import prunemodels as pm
from benchmarks import medical, medical_runs
from benchmarks.data.medical import MedicalData, load_medical
from benchmarks.medical_figure import STYLES, draw_panels
from benchmarks.medical_runs import KNOWN, SHARES, Measured, Optimiser, Recipe, Repeat, budgets_of, measure
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
    monkeypatch.setattr(medical_runs, "TREES", 3)
    monkeypatch.setattr(medical_runs, "SECONDS", math.inf)
    return load_medical("bupa")


@pytest.mark.parametrize("sample", medical.SAMPLES)
def test_every_error_sample_grows_a_forest(data: MedicalData, sample: Any) -> None:
    """Leaves are as large as asked for; in-bag errors are the trees' own, validation keeps rows from them for the costs."""
    forest, problem = Recipe(7, sample).grow(data.X, data.y, data.costs, 0)
    assert all(tree.tree_.n_node_samples.min() >= 7 or tree.tree_.node_count == 1 for tree in forest.estimators_)
    assert problem.n_rows == (36 if sample == "validation" else 120)
    assert forest.estimators_[0].tree_.weighted_n_node_samples[0] == (84 if sample == "validation" else 120)
    sources = {"in-bag": ["in-bag"], "out-of-bag": ["out-of-bag"], "blend": ["in-bag", "out-of-bag"]}
    assert [c.source for c in problem.errors.components] == sources.get(sample, ["in-bag", "given"])
    assert len({c.share for c in problem.errors.components}) == 1


def test_who_knows_the_prices_is_never_beaten_on_the_samples(data: MedicalData) -> None:
    """Within each true budget on the cost sample; no error sample's error is below the one that all prices reach."""
    _, true = Recipe().grow(data.X, data.y, data.costs, 0)
    budgets = budgets_of(data, SHARES)
    seeing = Optimiser(true, true)
    best = seeing.within(budgets)
    assert (seeing.solved, seeing.unproven) == (len(budgets), 0)
    assert all(p.exact_cost <= b for p, b in zip(best, budgets, strict=True))
    assert best[0].exact_cost == 0
    assert best[-1].exact_error < best[0].exact_error
    for known in KNOWN[1:]:
        blind = Optimiser(medical_runs._blind(true, data, known), true)
        found = blind.within(budgets)
        assert all(p.problem is true for p in found)
        assert all(p.exact_cost <= b and p.exact_error >= q.exact_error for p, b, q in zip(found, budgets, best, strict=True))
        assert blind.solved > len(budgets)
        assert any(p.exact_error > q.exact_error for p, q in zip(found, best, strict=True))
        assert found[-1].exact_cost > budgets[-1] / 2


def test_own_budgets_are_tuned_to_the_true_ones(data: MedicalData, monkeypatch: pytest.MonkeyPatch) -> None:
    """First at the unpruned forest's rate of exchange, then at that of what was found; who knows the prices asks once."""
    _, true = Recipe().grow(data.X, data.y, data.costs, 0)
    blind = Optimiser(medical_runs._blind(true, data, "no prices"), true)
    everything = pm.Pruning.unpruned(true)
    own = pm.Pruning.unpruned(blind.problem).exact_cost
    half = next(p for p in (pm.Pruning(true, q.kept) for q in reversed(list(blind.path))) if p.exact_cost > 0)
    for optimiser, wanted in (
        (blind, [4 * own / everything.exact_cost, 16 * own / everything.exact_cost / half.exact_cost]),
        (Optimiser(true, true), [4]),
    ):
        asked: list[Fraction] = []
        monkeypatch.setattr(optimiser, "solve", lambda budget, asked=asked: asked.append(budget) or half)
        optimiser.within([Fraction(4)])
        assert asked == wanted


def test_one_repeat_measures_on_patients_not_seen(data: MedicalData, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forests are measured on the test part or on a fold, never on rows they saw; the unpruned one as `evaluate` does."""
    train, test = data.split(3)
    seen = []

    def noted(forest: Any, held_out: Any, *more: Any) -> Measured:
        seen.append(tuple(held_out[0].index))
        return measure(forest, held_out, *more)

    monkeypatch.setattr(medical_runs, "measure", noted)
    repeat = medical_runs.one_repeat("bupa", 3, Recipe())
    assert {rows for rows in seen if len(rows) == len(test)} == {tuple(test)}
    inner = [set(rows) for rows in seen if len(rows) != len(test)]
    assert set().union(*inner) == set(train.tolist())
    assert len({tuple(sorted(rows)) for rows in inner}) == medical_runs.FOLDS
    assert set(repeat.by_budget) == set(KNOWN)
    forest, problem = Recipe().grow(data.X.iloc[train], data.y[train], data.costs, 3)
    unpruned = pm.evaluate(forest, data.X.iloc[test], data.y[test], costs=data.costs)
    assert repeat.unpruned == Measured(unpruned.cost, unpruned.error, pm.Pruning.unpruned(problem).cost)
    nothing = repeat.by_budget["all prices"][0]
    assert (nothing.dollars, nothing.promised) == (0, 0)
    assert repeat.default.dollars <= 10
    assert repeat.at_choice in (*repeat.by_budget["all prices"], repeat.unpruned)
    assert repeat.solved >= 3 * len(SHARES)


def test_cross_validation_counts_each_patient_once(data: MedicalData) -> None:
    """With no budget every forest is one leaf a tree: the error is the smaller class's share, whatever the folds' sizes."""
    X, y = data.X[:100], data.y[:100].copy()
    y[:70], y[70:] = 0, 1
    nothing, unpruned = medical_runs.cross_validated(data, X, y, 0, Recipe(), [0.0])
    assert (nothing.dollars, nothing.error) == (0, pytest.approx(0.3))
    assert unpruned.dollars > 1


def repeat(seed: int, errors: dict[Any, list[float]], unpruned: float = 0.2, chosen: int = 1) -> Repeat:
    """Two budgets that buy 1 and 2 dollars where 1 and 4 were promised; 10 for everything."""
    by_budget = {k: [Measured(1.0, e[0], 1.0), Measured(2.0, e[1], 4.0)] for k, e in errors.items()}
    return Repeat("bupa", seed, Measured(10.0, unpruned, 10.0), Measured(9.0, 0.25, math.nan), by_budget, chosen, 1, 6)


@pytest.fixture
def summary(data: MedicalData) -> medical.Summary:
    first = {"all prices": [0.4, 0.2], "no discounts": [0.4, 0.3], "no prices": [0.5, 0.4]}
    second = {"all prices": [0.2, 0.2], "no discounts": [0.4, 0.2], "no prices": [0.5, 0.4]}
    return medical.Summary.of(data, [repeat(0, first), repeat(1, second, chosen=2)])


def test_a_summary_by_hand(summary: medical.Summary, data: MedicalData) -> None:
    """Means over repeats; enough at 0.2 plus one standard error; lost over positive budgets; what was paid for each promise."""
    tested = len(set(data.split(0)[1]) | set(data.split(1)[1]))
    assert 36 < summary.tested == tested < 72
    np.testing.assert_array_equal(summary.dollars("all prices"), [1, 2])
    np.testing.assert_array_equal(summary.errors("no discounts"), [[0.4, 0.3], [0.4, 0.2]])
    assert 0.2 + medical_runs.standard_error(0.2, tested) == pytest.approx(0.25, abs=0.01)
    assert summary.enough("all prices") == 2  # 0.3, then 0.2
    assert summary.enough("no discounts") == 2  # 0.4, then 0.25
    assert summary.enough("no prices") == 10  # what the unpruned forest pays
    np.testing.assert_allclose(summary.lost("no discounts"), [0.1, 0.0])
    np.testing.assert_allclose(summary.lost("no prices"), [0.2, 0.2])
    assert summary.overrun() == pytest.approx(6 / 10)


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
    assert {line.count("|") for line in text.splitlines() if "|" in line} == {8, 7}
    assert "budgets solved 12, not proven optimal in time 2" in text
    assert "bupa 0.600" in text


def test_the_figure_shows_the_means_and_the_spread(summary: medical.Summary) -> None:
    """A panel a data set; three curves of means with dollars to the right, the band of the first, both unpruned forests."""
    fig = draw_panels([summary, summary])
    assert len(fig.axes) == 2
    ax = fig.axes[0]
    assert ax.get_title("left") == "BUPA liver"
    lines = {line.get_label(): line for line in ax.lines}
    assert len(lines) == len(STYLES) + 3
    known = lines[STYLES["all prices"]["label"]]
    np.testing.assert_allclose(known.get_xydata(), [[1, 0.7], [2, 0.8]])
    np.testing.assert_allclose(lines["the same forest unpruned"].get_xydata(), [[10, 0.8]])
    np.testing.assert_allclose(lines["scikit-learn's default forest"].get_xydata(), [[9, 0.75]])
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(0.7 - math.sqrt(0.02))
    assert band[:, 1].max() == pytest.approx(0.7 + math.sqrt(0.02))
    assert lines["price of all tests"].get_xdata() == [10, 10]


@pytest.mark.usefixtures("data")
def test_the_command_writes_tables_and_a_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One command; a figure that exists is refused before anything is computed; --study prints one line a leaf size."""
    monkeypatch.setattr(medical, "STUDIED", (0.0,))
    monkeypatch.setattr(medical_runs, "SHARES", (0.0, 0.5))
    monkeypatch.setattr(medical, "SHARES", (0.0, 0.5))
    words = ["--data", "bupa", "--repeats", "1", "--figure", str(tmp_path / "m.svg")]
    assert medical.main(words) == 0
    told = capsys.readouterr()
    assert "| bupa (" in told.out
    assert "1 repeats, " in told.out
    assert "1 of 1 runs" in told.err
    assert (tmp_path / "m.svg").read_text().count("BUPA liver") == 1
    assert medical.main(words) == 2
    assert "m.svg exists" in capsys.readouterr().err
    assert medical.main(["--data", "bupa", "--repeats", "1", "--study"]) == 0
    assert [line.split("|")[1].strip() for line in capsys.readouterr().out.splitlines()[2:4]] == [
        "bupa, leaves of 1",
        "bupa, leaves of 5",
    ]


def test_what_cannot_run_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Absent data, no repeats, a figure of another kind: one line on stderr, status 2."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    for words, said in (
        ([], "heart_cleveland.csv.gz"),
        (["--repeats", "0"], "--repeats is 0; give at least 1"),
        (["--figure", str(tmp_path / "m.pdf")], "'.pdf'; give one of .png, .svg"),
    ):
        assert medical.main(words) == 2
        assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
