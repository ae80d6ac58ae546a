"""``prunemodels report`` on a saved cascade: the page, the summary, and the exit status."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import prunemodels as pm
from prunemodels.command_line.cli import main
from prunemodels.exits.cascade_files import load_cascade, save_cascade
from tests.prunemodels.command_line.conftest import House, screen, told, written
from tests.prunemodels.report_page.cascade_cases import cells
from tests.prunemodels.report_page.cases import Page
from tests.prunemodels.report_page.checks import check_alone, check_markup

OUT = "--out out/r.html --quiet"
APART = f"--held-out test.csv --label label {OUT}"
PRICE = 2.5
"""Of all that the cascade reads."""


def page() -> str:
    return Path("out/r.html").read_text(encoding="utf-8")


def test_a_cascade_becomes_a_page(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """The page is sound and names its files; the summary has the figures of `evaluate`, before those of the last stage."""
    r = told(capsys, f"report cascade.skops {APART} --title 'My <cascade>' --unit euros")
    cascade = load_cascade("cascade.skops")
    X, y = house.apart[cascade.feature_names_in_], house.apart_y
    after, seen = pm.evaluate(cascade, X, y), pm.exits.evaluate_exit_path(cascade, X, y)
    change = r["held_out"]
    assert [change[k]["mean"] for k in ("cost_after", "error_after")] == pytest.approx([after.cost, after.error])
    assert [change[k]["mean"] for k in ("cost_before", "error_before")] == pytest.approx([PRICE, seen.loss[-1].mean()])
    assert (change["n"], r["verified"], r["written"]) == (len(y), True, ["out/r.html"])
    check_markup(page())
    check_alone(page())
    text = Page(page()).text()
    for shown in ("My <cascade>", "euros instead of", "file of the cascade", "cascade.skops, SHA-256", "test.csv, SHA-256"):
        assert shown in text
    assert shlex.split(Page(page()).text("code"))[:3] == ["prunemodels", "report", "cascade.skops"]


def test_without_examples_the_figures_are_those_of_fitting(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """A cascade's file is enough; the screen says that the figures are cross-fitted."""
    shown = screen(capsys, f"report cascade.skops {OUT}")
    cascade = load_cascade("cascade.skops")
    assert shown.startswith(f"cross-fitted   cost {PRICE} -> ")
    assert "all checks hold" in shown
    assert "No held-out examples were given" in page()
    r = told(capsys, f"report cascade.skops {OUT}")["cross_fitted"]
    assert (r["cost_after"], r["error_after"], r["n"]) == (cascade.held_out_cost_, cascade.held_out_error_, 300)


def test_a_refuted_check_is_the_exit_status(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """Gains that somebody changed in the file do not go with its proof."""
    cascade = load_cascade("cascade.skops")
    cascade.exit_path_.closures.problem.gain[...] = cascade.exit_path_.closures.problem.gain[::-1].copy()
    save_cascade(cascade, "forged.skops")
    assert "REFUTED" in screen(capsys, f"report forged.skops {OUT}", 1)
    assert "do not rely on this policy" in page()


def test_another_policy_is_shown(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """A budget or a lambda chooses another policy of the same stages."""
    cascade = load_cascade("cascade.skops")
    X, y = house.apart[cascade.feature_names_in_], house.apart_y
    for goal, other in (("--budget 1.25", cascade.at_cost(1.25)), ("--lam 10", cascade.at_lam(10))):
        seen, after = told(capsys, f"report cascade.skops {APART} {goal}")["held_out"], pm.evaluate(other, X, y)
        assert [seen[k]["mean"] for k in ("cost_after", "error_after")] == pytest.approx([after.cost, after.error])
        assert after.cost != pm.evaluate(cascade, X, y).cost


def test_a_joblib_file_needs_trust(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the word it is refused with the remedy; with it the page is that of the skops file."""
    assert main(["report", "cascade.joblib", *APART.split()]) == 2
    assert "FOREST|CASCADE: cascade.joblib is a joblib file" in capsys.readouterr().err
    assert written() == []
    screen(capsys, f"report cascade.joblib --trust-pickle {APART}")
    one = cells(page(), "stages-table")
    screen(capsys, f"report cascade.skops {APART}")
    assert cells(page(), "stages-table") == one
