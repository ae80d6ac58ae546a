"""``prunemodels report`` end to end, on forests and on saved cascades: the page, the summary, and the exit status."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import prunemodels as pm
from prunemodels.cascades.cascade_files import load_cascade, save_cascade
from prunemodels.command_line.cli import main
from tests.prunemodels.command_line.conftest import House, screen, told, written
from tests.prunemodels.report_page.cascade_cases import cells
from tests.prunemodels.report_page.cases import Page, check_alone, check_markup

WORDS = "report forest.skops --data valid.csv --label label --costs costs.csv --ignore w,note --out out/r.html --quiet"
APART = f"{WORDS} --held-out test.csv"
OUT = "--out out/r.html --quiet"
ROWS = f"--held-out test.csv --label label {OUT}"
PRICE = 2.5  # of all that the cascade reads


def html() -> str:
    return Path("out/r.html").read_text(encoding="utf-8")


def page() -> Page:
    return Page(html())


@pytest.mark.slow
def test_a_budget_becomes_a_page(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """The page is sound, names the budget, tells the command and the fingerprints of the files; the summary tells the gist."""
    shown = screen(capsys, f"{APART} --budget 4 --method path --title 'My <forest>' --unit euros")
    assert "proof          the optimisation on the samples is verified: all checks hold" in shown
    assert "written        out/r.html" in shown
    seen = page()
    assert not seen.problems
    text = seen.text()
    digest = hashlib.sha256((house.folder / "valid.csv").read_bytes()).hexdigest()[:16]
    for part in ("My <forest>", "budget of 4 euros", "euros instead of", "file of the forest", "file of --held-out"):
        assert part in text
    assert f"valid.csv, SHA-256 {digest}" in text
    assert str(house.folder) not in html()


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_cascade_becomes_a_page(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """The page is sound and names its files; the summary has the figures of `evaluate`, before those of the last stage."""
    r = told(capsys, f"report cascade.skops {ROWS} --title 'My <cascade>' --unit euros")
    cascade = load_cascade("cascade.skops")
    X, y = house.apart[cascade.feature_names_in_], house.apart_y
    after, seen = pm.evaluate(cascade, X, y), pm.cascades.evaluate_exit_path(cascade, X, y)
    change = r["held_out"]
    assert [change[k]["mean"] for k in ("cost_after", "error_after")] == pytest.approx([after.cost, after.error])
    assert [change[k]["mean"] for k in ("cost_before", "error_before")] == pytest.approx([PRICE, seen.loss[-1].mean()])
    assert (change["n"], r["verified"], r["written"]) == (len(y), True, ["out/r.html"])
    check_markup(html())
    check_alone(html())
    text = page().text()
    for shown in ("My <cascade>", "euros instead of", "file of the cascade", "cascade.skops, SHA-256", "test.csv, SHA-256"):
        assert shown in text
    assert shlex.split(page().text("code"))[:3] == ["prunemodels", "report", "cascade.skops"]


@pytest.mark.slow
def test_without_examples_the_figures_are_those_of_fitting(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """A cascade's file is enough; the screen says that the figures are cross-fitted."""
    shown = screen(capsys, f"report cascade.skops {OUT}")
    cascade = load_cascade("cascade.skops")
    assert shown.startswith(f"cross-fitted   cost {PRICE} -> ")
    assert "all checks hold" in shown
    assert "No held-out examples were given" in html()
    r = told(capsys, f"report cascade.skops {OUT}")["cross_fitted"]
    assert (r["cost_after"], r["error_after"], r["n"]) == (cascade.held_out_cost_, cascade.held_out_error_, 300)


def test_a_check_is_the_exit_status(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """3 for a path without its certificate, 1 for gains that somebody changed in the file; the text says which."""
    cascade = load_cascade("cascade.skops")
    path = cascade.exit_path_
    cascade.exit_path_ = replace(path, learned=replace(path.learned, path=replace(path.closures, certificate=None)))
    save_cascade(cascade, "bare.skops")
    assert "undecided" in screen(capsys, f"report bare.skops {OUT}", 3)
    cascade = load_cascade("cascade.skops")
    cascade.exit_path_.closures.problem.gain[...] = cascade.exit_path_.closures.problem.gain[::-1].copy()
    save_cascade(cascade, "forged.skops")
    assert "REFUTED" in screen(capsys, f"report forged.skops {OUT}", 1)
    assert "do not rely on this policy" in html()


def test_another_policy_is_shown(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """A budget or a lambda chooses another policy of the same stages."""
    cascade = load_cascade("cascade.skops")
    X, y = house.apart[cascade.feature_names_in_], house.apart_y
    for goal, other in (("--budget 1.25", cascade.at_cost(1.25)), ("--lam 10", cascade.at_lam(10))):
        seen, after = told(capsys, f"report cascade.skops {ROWS} {goal}")["held_out"], pm.evaluate(other, X, y)
        assert [seen[k]["mean"] for k in ("cost_after", "error_after")] == pytest.approx([after.cost, after.error])
        assert after.cost != pm.evaluate(cascade, X, y).cost


def test_a_joblib_file_needs_trust(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the word it is refused with the remedy; with it the page is that of the skops file."""
    assert main(["report", "cascade.joblib", *ROWS.split()]) == 2
    assert "FOREST|CASCADE: cascade.joblib is a joblib file" in capsys.readouterr().err
    assert written() == []
    screen(capsys, f"report cascade.joblib --trust-pickle {ROWS}")
    one = cells(html(), "stages-table")
    screen(capsys, f"report cascade.skops {ROWS}")
    assert cells(html(), "stages-table") == one
