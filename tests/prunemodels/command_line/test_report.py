"""``prunemodels report`` end to end: the page, the summary, and refusals that leave nothing behind."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import prunemodels as pm
from prunemodels.command_line import report
from prunemodels.command_line.cli import main
from tests.prunemodels.command_line.conftest import House, screen, told
from tests.prunemodels.report_page.cases import Page

WORDS = "report forest.skops --data valid.csv --label label --costs costs.csv --ignore w,note --out out/r.html --quiet"
APART = f"{WORDS} --held-out test.csv"


def page() -> Page:
    return Page(Path("out/r.html").read_text(encoding="utf-8"))


def test_a_budget_becomes_a_page(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """The page is sound, names the budget, tells the command and the fingerprints of the files; the summary tells the gist."""
    shown = screen(capsys, f"{APART} --budget 4 --time-limit 1 --title 'My <forest>' --unit euros")
    assert "proof          the optimisation on the samples is verified: all checks hold" in shown
    assert "written        out/r.html" in shown
    seen = page()
    assert not seen.problems
    text = seen.text()
    digest = hashlib.sha256((house.folder / "valid.csv").read_bytes()).hexdigest()[:16]
    for part in ("My <forest>", "the 4 euros allowed", "euros instead of", "file of the forest", "file of --held-out"):
        assert part in text
    assert f"valid.csv, SHA-256 {digest}" in text
    assert str(house.folder) not in Path("out/r.html").read_text()


@pytest.mark.parametrize("goal", ["--lam 0.01", "--pruned pruned.skops"])
def test_other_goals(house: House, capsys: pytest.CaptureFixture[str], goal: str) -> None:
    """A lambda, and a forest that somebody pruned: its figures are those of that forest."""
    r = told(capsys, f"{APART} {goal}")
    assert r["verified"] is True
    seen = r["held_out"]
    known = pm.evaluate(house.forest, house.apart, house.apart_y, costs=house.costs)
    assert [seen[k]["mean"] for k in ("cost_before", "error_before")] == pytest.approx([known.cost, known.error])
    if "pruned" in goal:
        cheap = pm.evaluate(pm.load_forest("pruned.skops"), house.apart, house.apart_y, costs=house.costs)
        assert [seen[k]["mean"] for k in ("cost_after", "error_after")] == pytest.approx([cheap.cost, cheap.error])
    assert seen["n"] == len(house.apart)


def test_a_refuted_check_is_the_exit_status() -> None:
    """1 where a check is refuted, 3 where one is undecided; the text says which."""
    refuted, undecided = (report.report_summary({}, [], SimpleNamespace(holds=holds), Path("r.html")) for holds in (False, None))
    assert (refuted.exit_status, undecided.exit_status) == (1, 3)
    assert ("REFUTED" in refuted.text(0.0), "undecided" in undecided.text(0.0)) == (True, True)


def test_a_file_given_with_an_equals_sign_loses_its_folder_too(house: House) -> None:
    """``--held-out=/some/where/test.csv`` is told as ``--held-out=test.csv``."""
    assert main([*WORDS.split(), "--lam", "0.01", f"--held-out={house.folder / 'test.csv'}"]) == 0
    assert "--held-out=test.csv" in page().text("code")


def test_mistakes_have_costs_and_the_positive_class_a_name(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """A missed case of class 0 costs ten: the page names the class, and errors are costs, equal to those of the library."""
    r = told(capsys, f"{APART} --lam 0.01 --mistakes 0:1=10 --positive 0")
    y, said = house.apart_y, house.forest.predict(house.apart)
    costs = np.where((y == 0) & (said == 1), 10, (y == 1) & (said == 0))
    assert r["held_out"]["error_before"]["mean"] == pytest.approx(costs.mean())
    text = page().text()
    assert f"before, {int(((y == 0) & (said == 1)).sum())}." in text
    assert "mean misclassification cost" in text
    assert "Of 100 examples that are" in text
