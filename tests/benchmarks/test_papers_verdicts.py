"""Kept rows of the papers' experiments, and the verdicts that are made of them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import prunemodels as pm
from benchmarks.papers import __main__ as command
from benchmarks.papers import brf15_table1, published, running, verdicts
from benchmarks.papers.experiment import Comparison, Scope
from benchmarks.papers.running import Store, keep_rows, kept_frame
from formulations.errors import InvalidInputError


def number(published_value: float, *values: float, sd: float = math.nan) -> Comparison:
    return Comparison("x", published_value, float(np.mean(values)), values=values, published_sd=sd)


def test_the_interval_is_welchs() -> None:
    """1, 2, 3: s = 1, n = 3; without a printed sd df = 2 and t = 4.303, so h = 4.303 / sqrt(3) = 2.484."""
    assert verdicts.half_width((1.0, 2.0, 3.0)) == pytest.approx(2.484, abs=1e-3)
    # with s_p = 1 over 10 runs: 1/3 + 1/10; df = (13/30)^2 / (1/18 + 1/900) = 3.314, t = 3.019 (by interpolation in tables)
    assert verdicts.half_width((1.0, 2.0, 3.0), 1.0) == pytest.approx(3.019 * math.sqrt(13 / 30), abs=0.01)
    # a hundred runs: 1/3 + 1/100 with nearly the 2 degrees of freedom of ours
    assert verdicts.half_width((1.0, 2.0, 3.0), 1.0, 100) == pytest.approx(4.303 * math.sqrt(103 / 300), rel=0.08)
    assert math.isnan(verdicts.half_width((1.0, 2.0)))
    assert verdicts.half_width((1.0, 1.0, 1.0)) == 0


@pytest.mark.parametrize(
    ("comparison", "verdict"),
    [
        (number(4.4, 1, 2, 3), "undecided"),  # 2.4 away, within 2.484, but three repeats contain much
        (number(2.5, *[1, 2, 3] * 4), "reproduced"),  # s = 0.853, h = 2.201 * 0.853 / sqrt(12) = 0.542
        (number(2.6, *[1, 2, 3] * 4), "not reproduced"),
        (number(4.6, 1, 2, 3), "not reproduced"),
        (number(4.6, 1, 2, 3, sd=1.0), "not reproduced"),  # the paper's spread costs less than the degrees of freedom it adds
        (number(2.0, 2, 2), "too few repeats"),
        (Comparison("x", "a wins", "at 3 of 3", holds=True), "reproduced"),
        (Comparison("x", "a wins", "at 2 of 3", holds=False), "not reproduced"),
        (Comparison("x", "a wins", "at 3 of 3", holds=True, other_data=True), "other data"),
    ],
)
def test_verdicts(comparison: Comparison, verdict: str) -> None:
    """A number is reproduced within the interval, a sentence if our numbers bear it out, nothing on other data."""
    assert verdicts.verdict_on(comparison) == verdict


def test_labels_are_taken_apart() -> None:
    """The data set, whose name may have a comma, then the method, then the quantity."""
    label = "Forest, two classes, RF (Gini), 1 trees: test error"
    assert verdicts.parts_of(label) == ("Forest, two classes", "RF (Gini), 1 trees", "test error")
    assert verdicts.parts_of("MiniBooNE: CEGB against BudgetPrune") == ("MiniBooNE", "", "CEGB against BudgetPrune")
    assert verdicts.parts_of("Scene15, BudgetPrune") == ("Scene15", "BudgetPrune", "")
    assert verdicts.parts_of("nothing known") == ("", "", "nothing known")


def brf15_rows(features: float, seed: int) -> list[dict[str, float | None]]:
    """A unit's rows on MiniBooNE: the share of features given at one tree, errors as printed."""
    printed = published.BRF15_TABLE_1["miniboone"]["BudgetRF"]
    return [
        {"trees": k, "features": f if k > 1 else features, "error": e + seed / 1e4, "error_mean_vote": 0.1}
        for k, (f, e) in zip(published.BRF15_TREES, printed, strict=True)
    ]


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """BRF15's Table 1, three seeds of one method on one data set."""
    store = Store(tmp_path / "out" / "brf15_table1")
    units = [u for u in brf15_table1.units(Scope(("miniboone",), 3)) if u.method == "BudgetRF"]
    for unit, features in zip(units, (20.001234, 21.0, 22.0), strict=True):
        store.keep(unit, brf15_rows(features, unit.seed), 3600.0)
    store.keep(replace(units[0], rows=100), brf15_rows(0, 0), 1.0)
    return tmp_path / "out"


def test_rows_are_kept_and_read_back(finished: Path, tmp_path: Path) -> None:
    """Four digits remain, settings are columns again, and trials are left out."""
    folder = tmp_path / "kept"
    files = keep_rows(finished, folder)
    assert [f.name for f in files] == ["brf15_table1-miniboone.csv", "brf15_table1-units.csv"]
    assert files[0].read_text().splitlines()[:2] == ["unit,trees,features,error,error_mean_vote", "0,1,20,0.1241,0.1"]
    frame = kept_frame(brf15_table1.EXPERIMENT, folder)
    assert len(frame) == 12
    assert frame["machine"].str.contains("cores").all()
    assert frame[frame["trees"] == 1]["features"].tolist() == [20.0, 21.0, 22.0]
    assert set(frame["protocol"]) == {"brf15"}
    assert frame["seed"].tolist() == [0] * 4 + [1] * 4 + [2] * 4


def test_fewer_units_do_not_replace_more(finished: Path, tmp_path: Path) -> None:
    """Who has run a part cannot overwrite the whole by mistake."""
    keep_rows(finished, tmp_path / "kept")
    gone = next((finished / "brf15_table1" / "units").glob("*.json"))
    for place in (finished / "brf15_table1" / "units").glob("*.json"):
        gone = place if json.loads(place.read_text())["unit"]["rows"] is None else gone
    gone.unlink()
    with pytest.raises(pm.errors.InvalidInputError, match=r"has 2 finished units of brf15_table1, but .* keeps 3"):
        keep_rows(finished, tmp_path / "kept")
    with pytest.raises(pm.errors.InvalidInputError, match="holds no finished units"):
        keep_rows(tmp_path / "nothing", tmp_path / "empty")


def test_every_published_number_is_in_the_table(finished: Path, tmp_path: Path) -> None:
    """10 numbers a data set of NWS15 and 24 of BRF15, CIFAR-10 among them, 10 of BP16, and the sentences on absent data."""
    keep_rows(finished, tmp_path / "kept")
    table = verdicts.verdict_table(tmp_path / "kept")
    assert len(table) == 5 * 10 + 3 * 24 + 10 + len(published.SENTENCES)
    brf = table[(table["source"] == "BRF15, Table 1") & (table["repeats"] == 3)].set_index(["method", "quantity"])
    assert len(brf) == 8
    one = brf.loc[("BudgetRF, 1 trees", "% of features")]
    # 20, 21, 22 after rounding: s = 1, h = 2.484; the paper's 16.4 is 4.6 away
    assert (one["published"], one["ours"], one["verdict"]) == (16.4, 21.0, "not reproduced")
    assert one["interval"] == pytest.approx(2.484, abs=1e-3)
    assert brf.loc[("BudgetRF, 10 trees", "test error"), "verdict"] == "undecided"
    assert set(table.loc[table["data"] == "CIFAR-10", "verdict"]) == {"other data"}
    assert set(table.loc[table["data"] == "Sonar", "verdict"]) == {"not run"}
    count = verdicts.counts(table).set_index(["source", "data"]).loc[("BRF15, Table 1", "MiniBooNE")]
    assert count.to_dict() == {"undecided": 7, "not reproduced": 1, "not run": 16, "other data": 0}
    missed = table["verdict"] == "not reproduced"
    assert table.loc[missed, "reason"].tolist() == [published.SUBSETS]
    assert not table.loc[~missed, "reason"].any()


def test_the_commands(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Keep and verdicts, one after the other; the table is written beside the rows."""
    folder = tmp_path / "kept"
    monkeypatch.setattr(command, "FOLDER", folder)
    monkeypatch.setattr(running.keep_rows, "__defaults__", (folder,))
    monkeypatch.setattr(verdicts.verdict_table, "__defaults__", (folder,))
    assert command.main(["keep", "--out", str(finished)]) == 0
    assert command.main(["verdicts"]) == 0
    assert "| BRF15, Table 1 | MiniBooNE | 7 | 1 |" in capsys.readouterr().out
    written = pd.read_csv(folder / "verdicts.csv")
    assert written.loc[written["repeats"] == 3, "published"].tolist()[0] == "16.4"


def test_a_printed_table_has_a_line_for_each_cell(finished: Path, tmp_path: Path) -> None:
    """Printed and ours side by side, with the verdict's mark; what was not run is left out."""
    keep_rows(finished, tmp_path / "kept")
    lines = verdicts.blocks(verdicts.verdict_table(tmp_path / "kept"))["BRF15, Table 1"].splitlines()
    assert lines[0] == "| data | of | cost, printed | cost, here | error, printed | error, here |"
    assert lines[2] == "| MiniBooNE | BudgetRF, 1 trees | 16.4 | 21 ± 2.5 ✗ | 0.1241 | 0.1242 ± 0.00025 (✓) |"
    assert len([line for line in lines if line.startswith("| MiniBooNE")]) == 4


def test_tables_are_replaced_behind_their_marks() -> None:
    """All tables up to the next text go, the new one stands there once; what is written by hand stays."""
    text = (
        "A\n\n<!-- verdicts/X -->\n\n| old |\n| - |\n\n| of another data set |\n\nB\n\n| by hand |\n\n<!-- verdicts/Y -->\n\nC\n"
    )
    wanted = "A\n\n<!-- verdicts/X -->\n\n| new |\n\nB\n\n| by hand |\n\n<!-- verdicts/Y -->\n\n| y |\n\nC\n"
    assert verdicts.renewed(text, {"X": "| new |", "Y": "| y |"}) == wanted
    assert verdicts.renewed(wanted, {"X": "| new |", "Y": "| y |"}) == wanted
    with pytest.raises(InvalidInputError, match=r"<!-- verdicts/Z --> names no table; give one of X, Y"):
        verdicts.renewed("<!-- verdicts/Z -->\n\n", {"X": "", "Y": ""})


@pytest.mark.slow
def test_the_page_and_the_verdicts_are_those_of_the_committed_rows() -> None:
    """Every table behind a mark, and the one in the repository, is the command's: nobody typed or forgot to renew it."""
    committed, shown = verdicts.verdict_table(), verdicts.PAGE.read_text()
    assert verdicts.renewed(shown, verdicts.blocks(committed)) == shown
    made = verdicts.rounded(committed).fillna("").astype(str)
    written = pd.read_csv(running.FOLDER / "verdicts.csv", keep_default_na=False, dtype=str)
    pd.testing.assert_frame_equal(made, written)
