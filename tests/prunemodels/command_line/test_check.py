"""The command ``check``: verdicts, exit status, JSON, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from proofs_checks.verdict import Verdict
from prunemodels.command_line.check import check_summary
from prunemodels.command_line.cli import main
from prunemodels.command_line.summary import plain
from tests.proofs_checks.total_unimodularity import matrix_families

CIRCLE = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
FILES = ["--data", "valid.csv", "--label", "label", "--costs", "1", "--quiet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A forest, its cost sample, prunings and path of it, and matrices, as a user would have them."""
    folder = tmp_path_factory.mktemp("checks")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    forest = RandomForestClassifier(4, max_depth=4, random_state=0).fit(X[:300], y[:300])
    problem = pm.problem_from_forest(forest, X[300:340], costs=1)
    path = pm.pruning_path(problem)
    skops.io.dump(forest, folder / "forest.skops")
    skops.io.dump(pm.apply_pruning(path.at_lam(0.02), forest), folder / "pruned.skops")
    skops.io.dump(RandomForestClassifier(3, max_depth=2, random_state=1).fit(X[:300], y[:300]), folder / "stranger.skops")
    X[300:340].assign(label=y[300:340]).to_csv(folder / "valid.csv", index=False)
    path.to_frame().to_csv(folder / "path.csv", index=False)
    np.save(folder / "circle.npy", CIRCLE)
    pd.DataFrame(CIRCLE, index=["u", "v", "w"], columns=["x", "y", "z"]).to_csv(folder / "named.csv")
    pd.DataFrame([[1, 0], [1, 1], [0, 1]], columns=["x", "y"]).to_csv(folder / "interval.csv", index=False, sep=";")
    np.save(folder / "r12.npy", matrix_families.r12())
    sparse.save_npz(folder / "interval.npz", sparse.csr_array(np.array([[1, 0], [1, 1], [0, 1]])))
    return folder


@pytest.fixture(autouse=True)
def here(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files in a working directory of the test's own."""
    for file in folder.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Exit status and what was printed; nothing may go to stderr."""
    status = main(["check", *words])
    told = capsys.readouterr()
    assert told.err == ""
    return status, told.out


def as_json(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    """The same for programs; NaN and Infinity are no JSON."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    status, text = check(capsys, *words, "--json")
    told: dict[str, Any] = json.loads(text, parse_constant=refuse)
    return status, told


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["tu", "papers"], 0),
        (["tu", "papers", "--formulation", "closure"], 0),
        (["tu", "papers", "--formulation", "IP0"], 0),
        (["tu", "papers", "--formulation", "IP3", "--merge"], 0),
        (["tu", "papers", "--formulation", "IP1"], 1),
        (["tu", "papers", "--formulation", "LP1"], 1),
        (["tu", "forest.skops", *FILES], 0),
        (["tu", "interval.npz"], 0),
        (["tu", "circle.npy"], 1),
        (["tu", "interval.npz", "--method", "subdeterminants"], 0),
        (["tu", "circle.npy", "--method", "camion"], 1),
        (["tu", "r12.npy"], 0),
        (["figure"], 0),
        (["counterexample"], 0),
        (["solution", "papers", "--lam", "0.25"], 0),
        (["solution", "forest.skops", "--lam", "0.02", *FILES], 0),
        (["solution", "forest.skops", "--lam", "0.02", "--pruned", "pruned.skops", *FILES], 0),
        (["solution", "forest.skops", "--lam", "0.02", "--pruned", "forest.skops", *FILES], 1),
        (["solution", "forest.skops", "--lam", "0.02", "--solver", "price_sharing", *FILES], 0),
        (["path", "papers"], 0),
        (["path", "forest.skops", *FILES], 0),
        (["path", "forest.skops", "--table", "path.csv", *FILES], 0),
        (["tu", "named.csv"], 1),
        (["tu", "interval.csv"], 0),
        (["integrality", "circle.npy"], 1),
        (["integrality", "circle.npy", "--sides", "2"], 0),
        (["integrality", "interval.npz", "--sides", "3,1,2"], 0),
        (["integrality", "papers"], 0),
        (["integrality", "papers", "--formulation", "LP1", "--budget", "1"], 1),
        (["corollary", "papers"], 1),
        (["corollary", "papers", "--budgets", "3,2,0"], 0),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_the_exit_status_is_the_answer(words: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    """0 holds, 1 refuted; the screen and the JSON say the same, and lines keep within 118 columns."""
    assert (found := check(capsys, *words))[0] == status
    assert ("answer    refuted" in found[1]) == (status == 1)
    assert max(map(len, found[1].splitlines())) <= 118
    again, told = as_json(capsys, *words)
    assert again == status
    assert ([v["holds"] for v in told["verdicts"]].count(False) > 0) == (status == 1)


def test_a_violating_submatrix_is_shown_with_its_names(capsys: pytest.CaptureFixture[str]) -> None:
    """IP1: a square submatrix of the named rows and columns; its determinant, recomputed here, is the one told."""
    _, told = as_json(capsys, "tu", "papers", "--formulation", "IP1")
    found = told["verdicts"][0]["certificate"]
    assert abs(found["determinant"]) == 2
    assert round(np.linalg.det(np.array(found["entries"], dtype=float))) == found["determinant"]
    _, text = check(capsys, "tu", "papers", "--formulation", "IP1")
    assert all(name in text for name in (*found["row_names"], *found["column_names"]))
    assert f"determinant {found['determinant']}" in text


def test_a_decomposition_is_explained_and_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    """R12: its 3-sum and its networks are told, with a reason for each; the pieces are drawn, and those of a violation."""
    status, text = check(capsys, "tu", "r12.npy", "--picture", "pieces")
    assert status == 0
    assert "3-sum after a pivot on row r0, column c0" in text
    assert "2-sum: the lines have" not in text
    assert "Pivot: as in the simplex method" in text
    assert text.split()[-4:] == ["written", "pieces.png", "written", "pieces.svg"]
    assert Path("pieces.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in Path("pieces.svg").read_text()
    status, told = as_json(capsys, "tu", "circle.npy", "--picture", "circle.svg")
    assert (status, told["written"]) == (1, ["circle.svg"])


def test_a_certificate_is_written_and_checked_again(capsys: pytest.CaptureFixture[str]) -> None:
    """The tree and its paths, written by one run, are accepted for the same matrix by another, and refuted for other ones."""
    status, told = as_json(capsys, "tu", "papers", "--out", "tree.npz")
    assert (status, told["written"]) == (0, ["tree.npz"])
    assert check(capsys, "tu", "papers", "--certificate", "tree.npz")[0] == 0
    status, text = check(capsys, "tu", "papers", "--formulation", "closure", "--certificate", "tree.npz")
    assert status == 1
    assert "arcs for" in text


def test_a_pruned_forest_that_is_not_optimal_is_told_by_how_much(capsys: pytest.CaptureFixture[str]) -> None:
    """The unpruned forest at lambda = 0.02: value, proven bound and gap."""
    _, told = as_json(capsys, "solution", "forest.skops", "--lam", "0.02", "--pruned", "forest.skops", *FILES)
    found = told["verdicts"][0]["certificate"]
    assert found["gap"] > 0
    assert found["gap"] == pytest.approx(found["value"] - found["bound"])


def test_a_table_that_is_not_the_paths_is_refuted(capsys: pytest.CaptureFixture[str]) -> None:
    """A figure changed, a row missing: named; a column missing: refused."""
    table = pd.read_csv("path.csv")
    table.assign(cost=table["cost"] * (1 + 1e-9 * (table.index == 2))).to_csv("wrong.csv", index=False)
    status, text = check(capsys, "path", "forest.skops", "--table", "wrong.csv", *FILES)
    assert status == 1
    assert "row 2 has cost" in text
    table[:-1].to_csv("short.csv", index=False)
    status, text = check(capsys, "path", "forest.skops", "--table", "short.csv", *FILES)
    assert status == 1
    assert f"short.csv has {len(table) - 1} rows, the path {len(table)}" in text
    table.drop(columns="error").to_csv("narrow.csv", index=False)
    assert main(["check", "path", "forest.skops", "--table", "narrow.csv", *FILES]) == 2
    assert "no column 'error'" in capsys.readouterr().err


@pytest.mark.parametrize("cell", ["text", "9" * 400, "True"])
def test_a_table_with_text_is_refused(cell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A cell that is no number makes its column one of text, and the column is named."""
    pd.read_csv("path.csv").assign(cost=cell).to_csv("text.csv", index=False)
    assert main(["check", "path", "forest.skops", "--table", "text.csv", *FILES]) == 2
    assert "--table: the column 'cost' of text.csv holds" in capsys.readouterr().err


def test_undecided_is_3() -> None:
    """One undecided claim among those that hold: 3, not the 2 of bad input; one refuted among them: 1."""
    holds, fails, open_ = (Verdict("c", answer, "m") for answer in (True, False, None))
    assert check_summary("s", (holds,)).exit_status == 0
    assert check_summary("s", (holds, open_)).exit_status == 3
    assert check_summary("s", (open_, fails, holds)).exit_status == 1


def test_what_is_no_json_becomes_text() -> None:
    """Fractions, infinities, arrays and sets of a certificate."""
    from fractions import Fraction

    told = plain({"a": Fraction(1, 2), "b": Fraction(4, 2), 3: np.array([1, 2]), "c": float("inf"), "d": (np.int64(1), None)})
    assert told == {"a": "1/2", "b": 2, "3": [1, 2], "c": "inf", "d": [1, None]}


def test_the_counterexample_as_a_person_would_write_it(capsys: pytest.CaptureFixture[str]) -> None:
    """The point, the eight tight rows of rank 7, and what IP3 has instead."""
    _, text = check(capsys, "counterexample")
    assert "8 rows and bounds are tight there, of rank 7" in text
    assert "z3 = 1/2" in text
    assert "none of them fractional" in text
    status, told = as_json(capsys, "counterexample")
    assert status == 0
    assert told["verdicts"][0]["holds"] is True
