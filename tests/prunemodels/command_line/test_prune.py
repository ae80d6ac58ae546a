"""`prunemodels path` and `prune`: the forests, tables and figures that they write are those of the Python calls."""

from __future__ import annotations

import re
import shlex
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io

import prunemodels as pm
from formulations.instance.tree_loss import USUAL_LOSS
from prunemodels.command_line import prunings
from prunemodels.command_line.cli import main
from prunemodels.evaluation.held_out import held_out_change, on_other_rows
from prunemodels.models.forests.problems import pruning_from_forest
from prunemodels.statements.change import SampleCost, change_of
from prunemodels.statements.wording import budget_verdict, limit_uses
from solvers.within import BUDGET_SOLVERS, best_breakpoint
from tests.prunemodels.command_line.conftest import House, close, screen, told, written

IN = "forest.skops --data valid.csv --costs costs.csv --quiet"
BUDGET = 5.2  # between two breakpoints


@pytest.fixture(scope="module")
def path(files: House) -> pm.PruningPath:
    """All optimal prunings of the forest."""
    return pm.pruning_path(pm.problem_from_forest(files.forest, files.X, costs=files.costs))


def load(file: str) -> Any:
    return skops.io.load(file, trusted=["sklearn.tree._tree.Tree"]) if file.endswith("skops") else joblib.load(file)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["path", "best", "exact"])
def test_a_budget(house: House, path: pm.PruningPath, method: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer is the solution's own: relaxation, gap, exact cost; the forest written is its pruning, measured anew."""
    ending = "joblib" if method == "path" else "skops"
    more = "--label label --path-csv out/path.csv --picture out/picture"
    words = f"prune {IN} --budget {BUDGET} --method {method} --time-limit 20 {more} --out out/p.{ending}"
    r = told(capsys, words)
    expected = BUDGET_SOLVERS[method](path.problem, BUDGET, time_limit=20, path=path)  # type: ignore[call-arg]
    answer = r["answer"]
    assert [answer[k] for k in ("status", "stopped")] == [str(expected.status), str(expected.stopped)]
    assert [answer[k] for k in ("error", "bound", "gap")] == pytest.approx([expected.error, expected.bound, expected.gap])
    pruning = pruning_from_forest(path.problem, load(f"out/p.{ending}"))
    assert Fraction(answer["exact_cost"]) == pruning.exact_cost <= Fraction(answer["budget"]) == Fraction(str(BUDGET))
    assert r["pruned"]["cost"] == pruning.cost
    assert r["pruned"]["error"] == pytest.approx(pruning.error) == pytest.approx(expected.error)
    relaxation, mixture = answer["relaxation"], expected.relaxation
    assert [Fraction(relaxation["value"]), Fraction(relaxation["multipliers"][0])] == [mixture.value, mixture.lam]
    for (end, weight), (neighbour, part) in zip(relaxation["mixture"], mixture.mixture, strict=True):
        assert Fraction(weight) == part
        assert end == {"cost": neighbour.cost, "error": neighbour.error, "splits": neighbour.n_splits}
    row = path.row_at_cost(BUDGET)
    rows = [k for k in range(len(path)) if np.array_equal(path[k].kept, pruning.kept)]
    assert r["chosen_lam"] == (float(path.lam[rows[0]]) if rows else None)
    assert (method == "path") == (rows == [row])
    assert r["next_dearer"]["cost"] == path[row - 1].cost > BUDGET
    assert r["next_dearer"]["error"] == path[row - 1].error
    measured = pm.evaluate(pm.apply_pruning(pruning, house.forest), house.X, house.y, costs=house.costs)
    assert (r["on_data"]["error_after"]["mean"], r["pruned"]["splits"]) == (pytest.approx(measured.error), measured.splits)
    wrong = np.mean(house.forest.predict(house.X) != house.y)
    assert r["on_data"]["error_before"]["mean"] == pytest.approx(wrong)
    assert r["breakpoints"] == len(path)
    assert written() == [f"p.{ending}", "path.csv", "picture.png", "picture.svg"]
    pd.testing.assert_frame_equal(pd.read_csv("out/path.csv"), path.to_frame())


@pytest.mark.parametrize("goal", [f"--budget {BUDGET}", "--limit 3 --limit splits=12"])
def test_a_proof_is_written_and_checked(house: House, goal: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``check solution`` reads what ``--proof`` wrote, and confirms it; with other prices it does not."""
    told(capsys, f"prune {IN} {goal} --out out/p.skops --proof out/p.npz")
    assert written() == ["p.npz", "p.skops"]
    (verdict,) = told(capsys, "check solution forest.skops --data valid.csv --costs costs.csv --proof out/p.npz")["verdicts"]
    assert verdict["holds"] is True
    prices = pd.read_csv("costs.csv")
    prices.assign(cost=2 * prices["cost"]).to_csv("out/dearer.csv", index=False)
    told(capsys, "check solution forest.skops --data valid.csv --costs out/dearer.csv --proof out/p.npz", 1)


@pytest.mark.slow
def test_limits(house: House, path: pm.PruningPath, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer is that of the Python call; the uses on the held-out file are those of `limit_uses` there."""
    limits = [pm.Limit(3), pm.Limit(0.5, "mean_area"), pm.Limit(12, "splits")]
    words = f"prune {IN} --limit 3 --limit 'mean_area<=0.5' --limit splits=12 --held-out test.csv --picture out/p.svg"
    r = told(capsys, f"{words} --out out/p.skops")
    expected = pm.solve(path.problem, limits=limits)
    pruning = pruning_from_forest(path.problem, load("out/p.skops"))
    assert np.array_equal(pruning.kept, expected.pruning.kept)
    assert [Fraction(use) for use in r["answer"]["uses"]] == list(expected.uses)
    assert [r["answer"][k] for k in ("error", "bound", "gap")] == [expected.error, expected.bound, expected.gap]
    told_of = limit_uses(path.problem.usage.on(house.apart), pruning.kept, limits)
    for label in ("", " --label label"):
        seen = told(capsys, f"{words}{label} --out out/p.skops")["held_out"]
        assert [w["use"] for w in seen["uses"]] == [use.use for use in told_of]
        assert seen["uses"][0]["use"] == pytest.approx(seen["cost_after"]["mean"])
    assert r["budget"] is None
    assert "mean_area" in screen(capsys, f"{words} --out out/p.skops")
    plain = told(capsys, f"prune {IN} --limit {BUDGET} --out out/p.skops")
    assert plain["answer"]["error"] == told(capsys, f"prune {IN} --budget {BUDGET} --out out/p.skops")["pruned"]["error"]


def test_evaluate_tells_uses(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """The share of examples that ask for a feature, and the cost, which is the limit's that has no name."""
    words = "evaluate forest.skops --data test.csv --label label --costs costs.csv --limit mean_area=0.9 --limit 3"
    r = told(capsys, f"{words} --evaluation-cost 0.01")
    seen = pm.evaluate(house.forest, house.apart, house.apart_y, costs=house.costs, limits=[pm.Limit(0.9, "mean_area")])
    assert r["figures"]["uses"][0]["use"] == seen.uses[0].use
    assert r["figures"]["uses"][1]["use"] == pytest.approx(r["figures"]["cost"])
    assert "Over the limit of cost at most 3" in screen(capsys, words)


@pytest.mark.slow
def test_a_lambda(house: House, path: pm.PruningPath, capsys: pytest.CaptureFixture[str]) -> None:
    """The forest is optimal for that lambda; the unused columns go if that is asked for, and the predictions stay."""
    r = told(capsys, f"prune {IN} --lam 0.05 --held-out test.csv --out out/p.skops")
    pruning = path.at_lam(0.05)
    assert (r["answer"], r["pruned"]["cost"]) == (None, pruning.cost)
    assert r["held_out"]["cost_after"]["mean"] == pm.hold_out(pruning, None, house.apart).cost.mean
    assert r["chosen_lam"] == path.lam[path.row_at_lam(0.05)]
    assert r["next_dearer"]["cost"] == path[path.row_at_lam(0.05) - 1].cost
    shown = screen(capsys, f"prune {IN} --lam 0.05 --drop-unused --out out/slim.skops")
    assert str(pruning.n_splits) in shown
    assert "out/slim.skops" in shown
    pruned, slim = load("out/p.skops"), load("out/slim.skops")
    columns = list(slim.feature_names_in_)
    assert len(columns) < len(pruned.feature_names_in_)
    assert np.array_equal(slim.predict_proba(house.apart[columns]), pruned.predict_proba(house.apart))


@pytest.mark.slow
def test_the_path_and_its_table(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """Every breakpoint, the one picture whose ending was given, and what the path shows of itself and on held-out examples."""
    path = pm.pruning_path(pm.problem_from_forest(house.forest, house.X, costs=1))
    words = "path forest.skops --data valid.csv --costs 1 --label label --out out/p.csv --picture out/p.svg --quiet"
    shown = screen(capsys, f"{words} --held-out test.csv")
    assert written() == ["p.csv", "p.svg"]
    pd.testing.assert_frame_equal(pd.read_csv("out/p.csv"), path.to_frame())
    seen = pm.evaluate_path(path, house.apart, house.apart_y)
    for card in (path._card(), seen._card()):
        assert all(line in shown for line in card.text().splitlines()[:5])
    found = pd.DataFrame(told(capsys, words)["evaluation"])
    pd.testing.assert_frame_equal(found, pm.evaluate_path(path, house.X, house.y).to_frame())


@pytest.mark.slow
def test_error_samples_weights_and_evaluation_cost(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """Each choice of --errors gives the figures of the Python call with the same sample; weights and evaluation count."""
    train, weights = pd.read_csv("train.csv"), pd.read_csv("valid.csv").w.to_numpy()
    training, labelled = (train[house.X.columns], train.label), (house.X, house.y)
    for words, errors in [
        ("--errors in-bag --train train.csv", pm.samples.InBag(*training)),
        ("--errors out-of-bag --train train.csv", pm.samples.OutOfBag(*training, train.w)),
        ("--errors given --error-data valid.csv", pm.samples.Given(*labelled)),
    ]:
        more = "--label label --weights w --evaluation-cost 0.1 --method path --budget 5 --out out/p.skops"
        r = told(capsys, f"prune {IN} {words} {more}")
        options = {"errors": errors, "sample_weight": weights, "evaluation_cost": 0.1}
        problem = pm.problem_from_forest(house.forest, house.X, costs=house.costs, **options)
        pruning = pm.pruning_path(problem).at_cost(5)
        assert (r["pruned"]["error"], r["pruned"]["cost"]) == pytest.approx((pruning.error, pruning.cost))
        assert r["unpruned"]["error"] == pytest.approx(pm.Pruning.unpruned(problem).error)


@pytest.mark.slow
def test_held_out_examples(house: House, path: pm.PruningPath, capsys: pytest.CaptureFixture[str]) -> None:
    """Cost, error and change are those of the Python call; without labels the cost; weights count; an overrun is said."""
    words = f"prune {IN} --method path --budget {BUDGET} --out out/p.skops --held-out"
    pruning = path[path.row_at_cost(BUDGET)]
    apart = on_other_rows(path.problem, house.apart)
    change = held_out_change(apart, pruning.kept, house.forest, house.apart_y, 0.95)
    r = told(capsys, f"{words} test.csv --label label")
    close({k: v for k, v in r["held_out"].items() if k not in ("measure", "uses")}, change)
    verdict = budget_verdict(BUDGET, change.cost_after).replace("\u00a0", " ")
    assert (r["budget_verdict"], r["over_budget"]) == (verdict, change.cost_after.mean > BUDGET)
    shown = screen(capsys, f"{words} test.csv --label label")
    assert verdict in " ".join(shown.split())
    assert repr(change) in shown.replace("\u00a0", " ") or repr(change).replace("\u00a0", " ") in shown
    bare = told(capsys, f"{words} unlabelled.csv".replace("valid.csv", "train.csv"))["held_out"]
    assert {*bare} == {"n", "cost_after", "uses"}
    weights = np.arange(89) % 3
    problem = pm.problem_from_forest(house.forest, house.X, costs=house.costs, sample_weight=np.arange(180) % 3)
    taken = pm.pruning_path(problem).at_cost(BUDGET)
    for label in ("", " --label label"):
        weighted = told(capsys, f"{words} test.csv --weights w{label}")["held_out"]["cost_after"]["mean"]
        assert weighted == pytest.approx(pm.hold_out(taken, None, house.apart, sample_weight=weights).cost.mean)
        assert weighted != pm.hold_out(taken, None, house.apart).cost.mean


def test_an_error_far_above_the_forests_is_said(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """Without money the class of most patients is left, and more than chance lies between it and the forest."""
    for goal, told_of in (("--budget 0", True), ("--lam 0", False)):
        shown = " ".join(screen(capsys, f"prune {IN} {goal} --out out/p.skops --held-out test.csv --label label").split())
        assert ("may do better: exits (prunemodels exits), a cascade" in shown) == told_of


def test_far_worse_is_judged_example_by_example() -> None:
    """25 % and 30 % of 400 wrong: the intervals overlap, but each of the first errors is among the second."""
    losses = (np.arange(400) < 100).astype(float), (np.arange(400) < 120).astype(float)
    paid, loss = SampleCost(np.ones(400), 0.0), USUAL_LOSS["classification"]
    seen = change_of((paid, paid), losses, np.ones(400), 0.95, loss=loss)
    assert seen.error_after.low < seen.error_before.mean + 0.01
    assert seen.far_worse
    assert not change_of((paid, paid), (losses[1], losses[1]), np.ones(400), 0.95, loss=loss).far_worse


def test_labels_of_another_name(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """A table with 1 and 2 for a model of 0 and 1: with --map-labels the errors are those of the right labels."""
    words = f"prune {IN} --lam 0.01 --out out/p.skops --label label"
    mapped = told(capsys, f"{words} --data other.csv --map-labels 1=0,2=1")
    assert mapped["pruned"] == told(capsys, words)["pruned"]


def test_mistakes_have_costs_in_every_column(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """On the cost sample, too, an error is what the mistakes cost, by the weight of the examples."""
    r = told(capsys, f"prune {IN} --label label --weights w --lam 0 --mistakes 0:1=10 --out out/p.skops")
    said = house.forest.predict(house.X)
    costs = np.where((house.y == 0) & (said == 1), 10, (house.y == 1) & (said == 0))
    assert r["on_data"]["error_before"]["mean"] == pytest.approx(np.average(costs, weights=np.arange(180) % 3))


@pytest.mark.slow
def test_what_is_asked_is_handed_on(house: House, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`solve` gets method, time and progress, which is for terminals; without a method it is the best."""
    calls = []

    def recorded(problem: pm.PruningProblem, *, limits: list[pm.Limit], path: pm.PruningPath, **options: Any) -> Any:
        calls.append([limits[0].at_most, *(options[k] for k in ("method", "time_limit", "progress"))])
        return best_breakpoint(problem, limits[0].at_most, path=path)

    monkeypatch.setattr(prunings, "solve", recorded)
    words = shlex.split(f"prune {IN} --budget 5 --out out/p.skops --force")
    loud = [word for word in words if word != "--quiet"]
    for given, terminal in (
        ([*words, "--method", "exact", "--time-limit", "7.5"], False),
        (loud, False),
        (loud, True),
        (words, True),
    ):
        monkeypatch.setattr(sys.stderr, "isatty", lambda terminal=terminal: terminal)
        assert main(given) == 0
    best = [5, "best", None]
    assert calls == [[5, "exact", 7.5, False], [*best, False], [*best, True], [*best, False]]
    capsys.readouterr()


def test_what_finds_nobody_says_so_first(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """Roots alone answer one class: the terminal and JSON begin with it, and sensitivity and specificity stand in the table."""
    words = f"prune {IN} --label label --held-out test.csv --budget 0 --out out/none.skops"
    lines = screen(capsys, words).splitlines()
    assert lines[0] == "read first     This answers “1” for everybody; a saving says nothing."
    ill = int((house.apart_y == 0).sum())
    assert lines[1].startswith(f"read first     Of the {ill} examples that are “0”, none is found; before, ")
    rows = [line for line in lines if line.startswith("  sensitivity: “0” found")]
    assert len(rows) == 2  # on --data and on --held-out
    assert all("0.0 % (0.0 to " in row for row in rows)
    assert any(line.startswith("to be found    “0”, the rarer of two classes") for line in lines)
    found = told(capsys, words)
    assert next(iter(found)) == "warnings"
    assert found["warnings"][0] == "This answers “1” for everybody; a saving says nothing."
    classes = found["held_out"]["classes"]
    assert [rate["count"] for rate in classes["sensitivity"]["rates"]][1] == 0
    assert (classes["only"], classes["sensitivity"]["name"], classes["named"]) == ([None, "1"], "0", False)
    other = told(capsys, f"{words} --positive 1")["held_out"]["classes"]
    assert (other["sensitivity"]["name"], other["named"]) == ("1", True)


def test_a_terminal_shows_no_python(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither in what `prune` says, where the error rose and the next pruning is named, nor of prices that are refused."""
    words = f"prune {IN} --label label --held-out test.csv --budget 0.9 --force --out out/p.skops"
    said = screen(capsys, words)
    assert "next dearer    the path's next pruning costs " in said
    assert "exits, predictions on demand that stop early, or training anew." in " ".join(said.split())
    house.costs.assign(cost=[-8, *[3.1] * 7]).to_csv("low.csv", index=False)
    house.costs.assign(cost=[3.1, 1, 2.7, *[1] * 5]).to_csv("odd.csv", index=False)
    for prices, wrong in (("low", "is -8.0, negative"), ("odd", "costs 2.7 for 'mean_perimeter' and 3.1 elsewhere")):
        assert main(shlex.split(words.replace("costs.csv", f"{prices}.csv"))) == 2
        said += capsys.readouterr().err
        assert wrong in said
    for python in ("Pruning(", "pm.", "Decimal(", "np.", "31/10", "one_se"):
        assert python not in said


@pytest.mark.parametrize("held_out", ["", "--held-out test.csv"])
def test_several_budgets_have_a_file_each_and_one_table(
    house: House, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, held_out: str
) -> None:
    """Each file is what its budget alone gives, from one path; the table has them all, and what each says of its budget."""
    paths, real = list[Any](), prunings.path_of
    monkeypatch.setattr(prunings, "path_of", lambda *given: paths.append(0) or real(*given))
    words = f"prune {IN} --label label {held_out}"
    seen = told(capsys, f"{words} --budget 6 2.5 4 --out out/p.skops")
    assert len(paths) == 1
    assert [Path(one["file"]).name for one in seen["budgets"]] == ["p-2.5.skops", "p-4.skops", "p-6.skops"]
    assert seen["written"] == [one["file"] for one in seen["budgets"]]
    for one in seen["budgets"]:
        alone = told(capsys, f"{words} --budget {one['budget']} --out out/alone.skops")
        many, single = (pm.load_forest(file) for file in (one["file"], "out/alone.skops"))
        np.testing.assert_array_equal(many.predict_proba(house.X), single.predict_proba(house.X))
        assert one["change"] == alone["held_out" if held_out else "on_data"]
        assert one["pruned"]["cost"] <= one["budget"]
    text = screen(capsys, f"{words} --budget 6 2.5 4 --out out/p.skops")
    table = [line.split()[0] for line in text.splitlines() if re.match(r"(unpruned|[\d.]+) +\d", line)]
    assert table == ["unpruned", "2.5", "4", "6"]


def test_a_budget_and_limits_go_together(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """The pruning keeps to both, as the two limits do by themselves."""
    both = told(capsys, f"prune {IN} --budget 3 --limit splits=12 --out out/b.skops")
    limits = told(capsys, f"prune {IN} --limit 3 --limit splits=12 --out out/l.skops")
    assert both["pruned"] == limits["pruned"]
    assert both["pruned"]["cost"] <= 3
    assert both["pruned"]["splits"] <= 12
