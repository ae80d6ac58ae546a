"""`prunemodels path` and `prune`: the forests, tables and figures that they write are those of the Python calls."""

from __future__ import annotations

import json
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
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

import prunemodels as pm
from prunemodels import plots
from prunemodels.command_line import inputs, prune
from prunemodels.command_line.cli import main
from prunemodels.evaluation.certified_budget import budget_for_confidence
from prunemodels.evaluation.held_out import held_out_cost, held_out_error
from prunemodels.evaluation.wording import budget_verdict
from prunemodels.files import mixtures
from prunemodels.models.forests.mixture import MixturePredictor
from prunemodels.models.forests.problems import pruning_from_forest
from prunemodels.plots import tradeoff
from solvers.budgets import solve_budget
from solvers.budgets.by_path import exact_cost
from tests.prunemodels.command_line.conftest import House

IN = "forest.skops --data valid.csv --costs costs.csv --quiet"
BUDGET = 5.2
"""Between two breakpoints."""


@pytest.fixture(scope="module")
def path(files: House) -> pm.PruningPath:
    """All optimal prunings of the forest."""
    return pm.pruning_path(pm.problem_from_forest(files.forest, files.X, costs=files.costs))


def told(capsys: pytest.CaptureFixture[str], words: str) -> dict[str, Any]:
    """What a command says as JSON."""
    assert main([*shlex.split(words), "--json", "--force"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def screen(capsys: pytest.CaptureFixture[str], words: str) -> str:
    """What it says on a terminal, each line of which fits."""
    assert main([*shlex.split(words), "--force"]) == 0
    found = capsys.readouterr()
    assert found.err == ""
    assert max(len(line) for line in found.out.splitlines() if not line.startswith(("next ", "to solve it"))) <= 120
    return found.out


def load(file: str) -> Any:
    return skops.io.load(file, trusted=["sklearn.tree._tree.Tree"]) if file.endswith("skops") else joblib.load(file)


def written() -> list[str]:
    return sorted(p.name for p in Path("out").iterdir())


@pytest.mark.parametrize("method", ["path", "best", "exact"])
def test_a_budget(house: House, path: pm.PruningPath, method: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer is the solution's own: relaxation, gap, exact cost; the forest written is its pruning, measured anew."""
    ending = "joblib" if method == "path" else "skops"
    more = "--label label --path-csv out/path.csv --picture out/picture"
    words = f"prune {IN} --budget {BUDGET} --method {method} --time-limit 20 {more} --out out/p.{ending}"
    r = told(capsys, words)
    expected = solve_budget(path.problem, BUDGET, method=method, time_limit=20, path=path)
    answer, mixture = r["budget_answer"], expected.relaxation
    assert [answer[k] for k in ("method", "status", "stopped")] == [method, str(expected.status), str(expected.stopped)]
    assert [answer[k] for k in ("error", "bound", "gap")] == pytest.approx([expected.error, expected.bound, expected.gap])
    pruning = pruning_from_forest(path.problem, load(f"out/p.{ending}"))
    assert Fraction(answer["exact_cost"]) == exact_cost(pruning) <= Fraction(answer["budget"]) == Fraction(str(BUDGET))
    assert answer["cost"] == r["pruned"]["cost"] == pruning.cost
    assert r["pruned"]["sample_error"] == pytest.approx(pruning.error) == pytest.approx(expected.error)
    relaxation = answer["relaxation"]
    assert Fraction(relaxation["exact_weight"]) == mixture.weight == pytest.approx(relaxation["weight"])
    assert Fraction(relaxation["exact_lam"]) == mixture.lam == pytest.approx(relaxation["lam"])
    assert relaxation["value"] == float(mixture.value)
    for name, neighbour in (("cheaper", mixture.cheaper), ("dearer", mixture.dearer)):
        assert relaxation[name] == {"cost": neighbour.cost, "error": neighbour.error}
    row = path.row_at_cost(BUDGET)
    rows = [k for k in range(len(path)) if np.array_equal(path[k].kept, pruning.kept)]
    assert r["chosen_lam"] == (float(path.lam[rows[0]]) if rows else None)
    assert (method == "path") == (rows == [row])
    assert r["next_dearer"]["cost"] == path[row - 1].cost > BUDGET
    assert r["next_dearer"]["sample_error"] == path[row - 1].error
    measured = pm.evaluate(pm.apply_pruning(pruning, house.forest), house.X, house.y, costs=house.costs)
    assert (r["pruned"]["data_error"], r["pruned"]["splits"]) == (measured.error, measured.splits)
    assert r["unpruned"]["data_error"] == pytest.approx(np.mean(house.forest.predict(house.X) != house.y))
    assert r["breakpoints"] == len(path)
    assert written() == [f"p.{ending}", "path.csv", "picture.png", "picture.svg"]
    pd.testing.assert_frame_equal(pd.read_csv("out/path.csv"), path.to_frame())


def test_a_lambda(house: House, path: pm.PruningPath, capsys: pytest.CaptureFixture[str]) -> None:
    """The forest is optimal for that lambda; the unused columns go if that is asked for, and the predictions stay."""
    r = told(capsys, f"prune {IN} --lam 0.05 --held-out test.csv --out out/p.skops")
    pruning = path.at_lam(0.05)
    assert (r["budget_answer"], r["pruned"]["cost"]) == (None, pruning.cost)
    assert r["held_out"]["cost"] == held_out_cost(pruning, house.apart).mean
    assert r["chosen_lam"] == path.lam[path.row_at_lam(0.05)]
    assert r["next_dearer"]["cost"] == path[path.row_at_lam(0.05) - 1].cost
    shown = screen(capsys, f"prune {IN} --lam 0.05 --drop-unused --out out/slim.skops")
    assert str(pruning.n_splits) in shown
    assert "out/slim.skops" in shown
    pruned, slim = load("out/p.skops"), load("out/slim.skops")
    columns = list(slim.feature_names_in_)
    assert len(columns) < len(pruned.feature_names_in_)
    assert np.array_equal(slim.predict_proba(house.apart[columns]), pruned.predict_proba(house.apart))


def test_the_path_and_its_table(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """Every breakpoint, the one picture whose ending was given, and cost and error of the best within shares, each once."""
    path = pm.pruning_path(pm.problem_from_forest(house.forest, house.X, costs=1))
    words = "path forest.skops --data valid.csv --costs 1 --label label --out out/p.csv --picture out/p.svg --quiet"
    lines = screen(capsys, f"{words} --held-out test.csv").splitlines()
    assert written() == ["p.csv", "p.svg"]
    pd.testing.assert_frame_equal(pd.read_csv("out/p.csv"), path.to_frame())
    assert " ".join(lines[2].split()) == "budget held-out cost held-out error rate splits single trees, in-bag"
    shown = next(line.split() for line in lines[4:] if "%)" in line)
    half = path[path.row_at_cost(int(shown[1].strip("(")) / 100 * pm.Pruning.unpruned(path.problem).cost)]
    seen = pm.hold_out(half, house.forest, house.apart, house.apart_y)
    assert seen.error is not None
    percents = [f"{100 * e:.2f} %".split() for e in (seen.error.mean, half.error)]
    assert shown[3:] == [f"{seen.cost.mean:.1f}", *percents[0], f"{half.n_splits:,}", *percents[1]]
    rows = [tuple(line.split()[3:]) for line in lines[3:] if "%)" in line]
    assert len(rows) == len(set(rows)) > 2
    taken = told(capsys, f"prune {IN} --budget 5 --method path --out out/p.skops")["table"]
    figures = [tuple(row["figures"][0].values()) for row in taken]
    assert len(figures) == len(set(figures))
    assert sum(row["chosen"] for row in taken) == 1


def test_formats_names_and_order_do_not_matter(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """Gzip, Parquet with shuffled columns, semicolons and decimal commas in Latin-1: the figures of the plain CSV."""
    table = pd.read_csv("valid.csv")
    table.to_csv("v.csv.gz", index=False)
    table.sample(frac=1, axis=1, random_state=0).to_parquet("v.parquet", index=False)
    table.assign(note="\xe9t\xe9").to_csv("v.csv", index=False, sep=";", decimal=",", encoding="latin-1")
    house.costs.to_csv("c.csv", index=False, sep=";", decimal=",", encoding="utf-8-sig")
    figures = []
    for data, costs in (("valid.csv", "costs.csv"), ("v.csv.gz", "costs.csv"), ("v.parquet", "c.csv"), ("v.csv", "c.csv")):
        words = f"prune forest.skops --data {data} --costs {costs} --label label --budget 5 --method path --out out/p.skops"
        r = told(capsys, words)
        figures.append([r[k] for k in ("unpruned", "pruned", "breakpoints", "table")])
    assert figures.count(figures[0]) == 4
    house.X.assign(label=house.y, number=range(len(house.X))).to_csv("plain.csv", index=False)
    nameless = "nameless.skops --data plain.csv --costs costs.csv --label label --ignore number"
    r = told(capsys, f"prune {nameless} --budget 5 --out out/p.skops")
    assert r["pruned"]["cost"] <= 5
    assert r["ignored"] == ["number"]


def test_error_samples_weights_and_evaluation_cost(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """Each choice of --errors gives the figures of the Python call with the same sample; weights and evaluation count."""
    train, weights = pd.read_csv("train.csv"), pd.read_csv("valid.csv").w
    training, labelled = (train[house.X.columns], train.label), (house.X, house.y)
    blend = pm.samples.Blend([(0.75, pm.samples.InBag()), (0.25, pm.samples.Given(*labelled))])
    for words, errors in [
        ("--errors in-bag --train train.csv", pm.samples.InBag(*training)),
        ("--errors out-of-bag --train train.csv", pm.samples.OutOfBag(*training)),
        ("--errors given --error-data valid.csv", pm.samples.Given(*labelled)),
        ("--errors blend --error-data valid.csv --given-share 0.25", blend),
    ]:
        more = "--label label --weights w --evaluation-cost 0.1 --method path --budget 5 --out out/p.skops"
        r = told(capsys, f"prune {IN} {words} {more}")
        options = {"errors": errors, "sample_weight": weights, "evaluation_cost": 0.1}
        problem = pm.problem_from_forest(house.forest, house.X, costs=house.costs, **options)
        pruning = pm.pruning_path(problem).at_cost(5)
        assert (r["pruned"]["sample_error"], r["pruned"]["cost"]) == pytest.approx((pruning.error, pruning.cost))
        assert r["unpruned"]["sample_error"] == pytest.approx(pm.Pruning.unpruned(problem).error)


def test_held_out_examples(house: House, path: pm.PruningPath, capsys: pytest.CaptureFixture[str]) -> None:
    """Cost and error are those of the Python calls; without labels no error; weights count; an overrun is said."""
    words = f"prune {IN} --method path --budget {BUDGET} --out out/p.skops --held-out"
    pruning = path[path.row_at_cost(BUDGET)]
    cost = held_out_cost(pruning, house.apart)
    error = held_out_error(pm.apply_pruning(pruning, house.forest), house.apart, house.apart_y)
    verdict = budget_verdict(BUDGET, cost).replace("\u00a0", " ")
    r = told(capsys, f"{words} test.csv --label label")
    assert r["held_out"] == {
        "file": "test.csv",
        "examples": 89,
        "confidence": 0.95,
        "method": "t",
        "cost": cost.mean,
        "cost_low": cost.low,
        "cost_high": cost.high,
        "error": error.mean,
        "error_low": error.low,
        "error_high": error.high,
        "overrun": cost.mean > BUDGET,
        "budget_verdict": verdict,
    }
    shown = " ".join(screen(capsys, f"{words} test.csv --label label").split())
    assert verdict in shown
    assert f"cost {cost.mean:.4g}, 95 % interval {cost.low:.4g} to {cost.high:.4g}, on 89 examples of test.csv" in shown
    bare = told(capsys, f"{words} unlabelled.csv".replace("valid.csv", "train.csv"))["held_out"]
    assert (bare["error"], bare["error_low"]) == (None, None)
    weights = np.arange(89) % 3
    problem = pm.problem_from_forest(house.forest, house.X, costs=house.costs, sample_weight=np.arange(180) % 3)
    taken = pm.pruning_path(problem).at_cost(BUDGET)
    weighted = told(capsys, f"{words} test.csv --weights w")["held_out"]
    assert weighted["cost"] == pytest.approx(held_out_cost(taken, house.apart, sample_weight=weights).mean)
    assert weighted["cost"] != held_out_cost(taken, house.apart).mean


def test_rows_that_come_twice_are_said(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """Among the held-out examples and those that chose the pruning, and within a file; else there is no hint."""
    apart = pd.read_csv("test.csv")
    pd.concat([apart, pd.read_csv("valid.csv")[:7]]).to_csv("leaky.csv", index=False)
    pd.concat([pd.read_csv("valid.csv"), pd.read_csv("valid.csv")[:3]]).to_csv("twice.csv", index=False)
    words = f"prune {IN} --lam 1 --out out/p.skops"
    hints = told(capsys, f"{words} --held-out leaky.csv --data twice.csv")["hints"]
    assert hints[0].startswith("3 of the 183 examples of twice.csv repeat the features of another one")
    assert hints[1].startswith("7 of the 96 held-out examples have the features of an example of twice.csv")
    assert told(capsys, f"{words} --held-out test.csv")["hints"] == []


def test_labels_of_another_name(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """A table with 1 and 2 for a model of 0 and 1: with --map-labels the errors are those of the right labels."""
    words = f"prune {IN} --lam 0.01 --out out/p.skops --label label"
    mapped = told(capsys, f"{words} --data other.csv --map-labels 1=0,2=1")
    assert mapped["pruned"] == told(capsys, words)["pruned"]


def test_what_is_asked_is_handed_on(house: House, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`solve_budget` gets method, time and progress, which is for terminals; without a method it is the best."""
    calls = []

    def recorded(problem: pm.PruningProblem, budget: float, **options: Any) -> Any:
        calls.append([budget, *(options[k] for k in ("method", "time_limit", "progress"))])
        return solve_budget(problem, budget, method="path", path=options["path"])

    monkeypatch.setattr(prune, "solve_budget", recorded)
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


def test_the_screen(house: House, path: pm.PruningPath, capsys: pytest.CaptureFixture[str]) -> None:
    """Budget, proof, gap and mixture, with the figures of the solution; above the dearest breakpoint there is nothing to wish."""
    words = f"prune {IN} --method path --out out/p.skops"
    shown = " ".join(screen(capsys, f"{words} --budget {BUDGET} --mixture --picture out/p --held-out test.csv").split())
    s = solve_budget(path.problem, BUDGET, method="path", path=path)
    mixture, mu = s.relaxation, float(s.relaxation.weight)
    assert f"cost {s.cost:.6g} of {BUDGET:g} on the cost sample; path: feasible" in shown
    assert f"lambda* = {float(mixture.lam):.6g}: {mu:.4g} of cost {mixture.dearer.cost:.6g} " in shown
    assert f"(error {100 * mixture.dearer.error:.2f} %) and {1 - mu:.4g} of cost {mixture.cheaper.cost:.6g}" in shown
    assert f"err less than {100 * s.bound:.2f} %; this one {100 * s.error:.2f} %, gap {100 * s.gap:.2f} %" in shown
    shown = screen(capsys, f"{words} --budget 100")
    assert "this one reaches it" in shown
    assert "next dearer" not in shown


def test_confidence(house: House, path: pm.PruningPath, capsys: pytest.CaptureFixture[str]) -> None:
    """The pruning is the one that half of the rows choose and the other half certify; the smaller budget is named."""
    near = float(path.exact_cost[1]) + 0.001  # fits the sample, but no population to be sure of
    words = f"prune {IN} --confidence 0.9 --budget {near} --out out/p.skops"
    r = told(capsys, f"{words} --picture out/p.png")
    found = budget_for_confidence(path.problem, near, confidence=0.9, random_state=0)
    pruning = pm.Pruning(path.problem, found.pruning.kept)
    np.testing.assert_array_equal(pruning_from_forest(path.problem, load("out/p.skops")).kept, pruning.kept)
    assert 0 < pruning.cost < path[path.row_at_cost(near)].cost
    answer = r["budget_answer"]
    assert answer["confidence"] == {
        "confidence": 0.9,
        "method": "betting",
        "smaller_budget": float(found.smaller_budget),
        "exact_smaller_budget": str(found.smaller_budget),
        "choosing_rows": 90,
        "certifying_rows": 90,
        "certified_cost": found.certified_cost,
        "upper_bound": found.upper_bound,
    }
    assert (answer["error"], answer["cost"], r["next_dearer"]) == (pruning.error, pruning.cost, None)
    assert answer["gap"] == pytest.approx(pruning.error - answer["bound"])
    assert f"the other 90 was {float(found.smaller_budget):.6g}" in " ".join(screen(capsys, words).split())


def test_the_mixture_is_written(house: House, path: pm.PruningPath, capsys: pytest.CaptureFixture[str]) -> None:
    """Two forests and a weight that together cost B on the cost sample, ready for `MixturePredictor`; none is overwritten."""
    words = shlex.split(f"prune {IN} --budget {BUDGET} --mixture --method path --out out/p.skops")
    assert main([*words, "--json"]) == 0
    names = ["p.cheaper.skops", "p.dearer.skops", "p.mixture.json", "p.skops"]
    assert sorted(json.loads(capsys.readouterr().out)["written"]) == [f"out/{name}" for name in names]
    assert written() == names
    kept = json.loads(Path("out/p.mixture.json").read_text())
    forests = [load(f"out/{kept[name]}") for name in ("cheaper", "dearer")]
    weight = Fraction(kept["weight"])
    cheaper, dearer = (pruning_from_forest(path.problem, forest) for forest in forests)
    assert weight * dearer.exact_cost + (1 - weight) * cheaper.exact_cost == Fraction(kept["budget"]) == Fraction(str(BUDGET))
    assert 0 < weight < 1
    assert set(MixturePredictor(*forests, weight).predict(house.apart)) == {0, 1}
    old = Path("out/p.skops").read_bytes()
    assert main(words) == 2
    assert "--out: out/p.skops exists; choose another name, or allow replacing it with --force" in capsys.readouterr().err
    assert Path("out/p.skops").read_bytes() == old
    Path("out/p.skops").unlink()
    assert main(words) == 2
    assert "--mixture: out/p.cheaper.skops exists" in capsys.readouterr().err


def test_regressors(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors of a regressor are mean squared errors, and no percentages anywhere."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    skops.io.dump(RandomForestRegressor(3, max_depth=4, random_state=0).fit(X[:200], y[:200]), "r.skops")
    X[200:320].assign(target=y[200:320]).to_csv("r.csv", index=False)
    X[320:].assign(target=y[320:]).to_csv("s.csv", index=False)
    words = "prune r.skops --data r.csv --label target --costs 1 --budget 2 --method path --held-out s.csv --quiet"
    shown = screen(capsys, f"{words} --out out/r.skops")
    assert not re.search("[0-9] %", re.sub(r"95 %|[(][0-9]+ %[)]", "", shown))
    assert "mean squared error" in shown


def test_another_scikit_learn_version(house: House, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A forest of another version is refused with status 2."""
    with monkeypatch.context() as patch:
        patch.setattr("sklearn.base.__version__", "1.5.2")
        joblib.dump(house.forest, "old.joblib")
    words = "prune old.joblib --data valid.csv --costs 1 --lam 1 --trust-pickle --out out/p.skops"
    assert main(words.split()) == 2
    assert "old.joblib was written by scikit-learn 1.5.2" in capsys.readouterr().err
    assert written() == []


HOMES = {"pruning_path": inputs, "dump_forest": mixtures, "plot_budget": plots, "draw": tradeoff}


@pytest.mark.parametrize("place", ["pruning_path", "solve_budget", "budget_for_confidence", "plot_budget", "draw", "dump_forest"])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, pm.errors.InterruptedSolveError])
def test_ctrl_c(
    house: House, place: str, stop: type[BaseException], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C while computing, certifying, drawing or writing ends with status 130, one line, and no file."""

    def interrupted(*args: object, **options: object) -> None:
        raise stop

    monkeypatch.setattr(HOMES.get(place, prune), place, interrupted)
    how = "--confidence 0.9" if place == "budget_for_confidence" else "--method path --mixture"
    assert main(f"prune {IN} --budget 5 {how} --held-out test.csv --picture out/p --out out/p.skops".split()) == 130
    assert capsys.readouterr().err == "interrupted: nothing was written\n"
    assert written() == []
