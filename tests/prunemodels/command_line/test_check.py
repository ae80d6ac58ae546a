"""The command ``check``: verdicts, exit status, JSON, and refusals."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from proofs_checks.verdict import Verdict
from prunemodels.cascades.cascade_files import load_cascade, save_cascade
from prunemodels.command_line.check import check_summary
from prunemodels.command_line.cli import main
from prunemodels.command_line.summary import plain
from tests.prunemodels.command_line.conftest import screen, told

FILES = "forest.skops --data valid.csv --label label --ignore w,note --costs 1 --quiet"
pytestmark = pytest.mark.usefixtures("house")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("tu papers", 0),
        ("tu papers --formulation closure", 0),
        ("tu papers --formulation IP0", 0),
        ("tu papers --formulation IP3 --merge", 0),
        ("tu papers --formulation IP1", 1),
        ("tu papers --formulation LP1", 1),
        (f"tu {FILES}", 0),
        ("tu interval.npz", 0),
        ("tu circle.npy", 1),
        ("tu interval.npz --method subdeterminants", 0),
        ("tu circle.npy --method subdeterminants", 1),
        ("tu r12.npy", 0),
        ("figure", 0),
        ("counterexample", 0),
        ("solution papers --lam 0.25", 0),
        (f"solution {FILES} --lam 0.02", 0),
        (f"solution {FILES} --lam 0.02 --pruned pruned.skops", 0),
        (f"solution {FILES} --lam 0.02 --pruned forest.skops", 1),
        (f"solution {FILES} --lam 0.02 --solver price_sharing", 0),
        ("path papers", 0),
        (f"path {FILES}", 0),
        (f"path {FILES} --table path.csv", 0),
        ("tu named.csv", 1),
        ("tu interval.csv", 0),
        ("integrality circle.npy", 1),
        ("integrality circle.npy --sides 2", 0),
        ("integrality interval.npz --sides 3,1,2", 0),
        ("integrality papers", 0),
        ("integrality papers --formulation LP1 --budget 1", 1),
        ("corollary papers", 1),
        ("corollary papers --budgets 3,2,0", 0),
    ],
)
def test_the_exit_status_is_the_answer(words: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    """0 holds, 1 refuted; the screen and the JSON say the same."""
    assert ("answer         refuted" in screen(capsys, f"check {words}", status)) == (status == 1)
    holds = [v["holds"] for v in told(capsys, f"check {words}", status)["verdicts"]]
    assert (False in holds) == (status == 1)


def test_certificates_are_told_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    """Fractions as text, whole numbers as numbers: of the corollary's budgets, and of each step of the counterexample."""
    corollary, steps = (
        told(capsys, f"check {words}", status)["verdicts"][0]["certificate"]
        for words, status in (("corollary papers", 1), ("counterexample", 0))
    )
    assert [(row["budget"], row["weight"], row["dearer"]["cost"]) for row in corollary["rows"]] == [
        ("5/2", "1/2", 3),
        (1, "1/2", 2),
    ]
    assert steps["steps"][1]["evidence"]["point"] == {"z1": 0, "z2": 1, **dict.fromkeys(("z3", "z4", "z5", "w1", "w2"), "1/2")}


def test_a_violating_submatrix_is_shown_with_its_names(capsys: pytest.CaptureFixture[str]) -> None:
    """IP1: a square submatrix of the named rows and columns; its determinant, recomputed here, is the one told."""
    found = told(capsys, "check tu papers --formulation IP1", 1)["verdicts"][0]["certificate"]
    assert abs(found["determinant"]) == 2
    assert round(np.linalg.det(np.array(found["entries"], dtype=float))) == found["determinant"]
    text = screen(capsys, "check tu papers --formulation IP1", 1)
    assert all(name in text for name in (*found["row_names"], *found["column_names"]))
    assert f"determinant {found['determinant']}" in text


@pytest.mark.slow
def test_a_decomposition_is_explained_and_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    """R12: its 3-sum is told at the lines where it is; the pieces are drawn, and those of a violation."""
    text = screen(capsys, "check tu r12.npy --picture pieces")
    assert "3-sum after a pivot on row r0, column c0" in text
    assert "2-sum: the lines have" not in text
    assert text.split()[-4:] == ["written", "pieces.png", "written", "pieces.svg"]
    assert Path("pieces.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in Path("pieces.svg").read_text()
    assert told(capsys, "check tu circle.npy --picture circle.svg", 1)["written"] == ["circle.svg"]


def test_a_certificate_is_written_and_checked_again(capsys: pytest.CaptureFixture[str]) -> None:
    """The tree and its paths, written by one run, are accepted for the same matrix by another, and refuted for other ones."""
    assert told(capsys, "check tu papers --out other.npz")["written"] == ["other.npz"]
    assert told(capsys, "check tu papers --certificate other.npz")["verdicts"][0]["holds"]
    assert "arcs for" in screen(capsys, "check tu papers --formulation closure --certificate other.npz", 1)


def test_a_pruned_forest_that_is_not_optimal_is_told_by_how_much(capsys: pytest.CaptureFixture[str]) -> None:
    """The unpruned forest at lambda = 0.02: value, proven bound and gap."""
    found = told(capsys, f"check solution {FILES} --lam 0.02 --pruned forest.skops", 1)["verdicts"][0]["certificate"]
    assert found["gap"] > 0
    assert found["gap"] == pytest.approx(found["value"] - found["bound"])


def test_a_table_that_is_not_the_paths_is_refuted(capsys: pytest.CaptureFixture[str]) -> None:
    """A figure changed, a row missing: named; a column missing, or one that holds no numbers: refused."""
    table = pd.read_csv("path.csv")
    table.assign(cost=table["cost"] * (1 + 1e-9 * (table.index == 2))).to_csv("wrong.csv", index=False)
    assert "row 2 has cost" in screen(capsys, f"check path {FILES} --table wrong.csv", 1)
    table[:-1].to_csv("short.csv", index=False)
    text = screen(capsys, f"check path {FILES} --table short.csv", 1)
    assert f"short.csv has {len(table) - 1} rows, the path {len(table)}" in text
    bad = [(table.drop(columns="error"), "no column 'error'")]
    bad += [(table.assign(cost=cell), "--table: the column 'cost' of bad.csv holds") for cell in ("text", "9" * 400, "True")]
    for refused, message in bad:
        refused.to_csv("bad.csv", index=False)
        assert main(["check", "path", *FILES.split(), "--table", "bad.csv"]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.slow
def test_check_exits_proves_the_policies(capsys: pytest.CaptureFixture[str]) -> None:
    """The saved certificate is checked with status 0; a path whose certificate was tampered with has status 1."""
    screen(capsys, "check exits cascade.skops")
    cascade = load_cascade("cascade.skops")
    cascade.exit_path_.closures.problem.gain[...] = cascade.exit_path_.closures.problem.gain[::-1].copy()
    save_cascade(cascade, "forged.skops")
    screen(capsys, "check exits forged.skops", 1)


def test_undecided_is_3() -> None:
    """One undecided claim among those that hold: 3, not the 2 of bad input; one refuted among them: 1."""
    holds, fails, open_ = (Verdict("c", answer, "m") for answer in (True, False, None))
    assert check_summary("s", (holds,)).exit_status == 0
    assert check_summary("s", (holds, open_)).exit_status == 3
    assert check_summary("s", (open_, fails, holds)).exit_status == 1


def test_what_is_no_json_becomes_text() -> None:
    """Fractions, infinities, arrays and sets of a certificate; NaN is null."""
    given = {"a": Fraction(1, 2), "b": Fraction(4, 2), 3: np.array([1, 2]), "c": float("inf"), "d": (np.int64(1), None, np.nan)}
    assert plain(given) == {"a": "1/2", "b": 2, "3": [1, 2], "c": None, "d": [1, None, None]}


def test_the_counterexample_as_a_person_would_write_it(capsys: pytest.CaptureFixture[str]) -> None:
    """The point, the eight tight rows of rank 7, and what IP3 has instead."""
    text = screen(capsys, "check counterexample")
    for part in ("8 rows and bounds are tight there, of rank 7", "z3 = 1/2", "none of them fractional"):
        assert part in text
