"""`prunemodels prune --budget`: what it takes, says, writes and refuses."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_diabetes, make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import prunemodels as pm
from prunemodels import plots
from prunemodels.command_line import budget_commands, commands
from prunemodels.command_line.cli import main
from prunemodels.evaluation.certified_budget import budget_for_confidence
from prunemodels.evaluation.held_out import held_out_cost, held_out_error
from prunemodels.evaluation.overrun import budget_verdict
from prunemodels.files import mixtures
from prunemodels.forests.mixture import MixturePredictor
from prunemodels.forests.surgery import pruning_from_forest
from solvers.budgets import solve_budget
from solvers.budgets.exact.cost import exact_cost

BUDGET = 3.3
"""Inside a hull edge that is worth a fifth of the full cost."""


@dataclass(frozen=True)
class Case:
    """Files in the working directory, and what they hold."""

    forest: Any
    problem: pm.PruningProblem
    path: pm.PruningPath
    held_out: pd.DataFrame
    labels: np.ndarray


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Case]:
    folder = tmp_path_factory.mktemp("budget")
    data, y = make_classification(900, 8, n_informative=5, random_state=3)
    X = pd.DataFrame(data.round(4), columns=[f"f{k}" for k in range(8)])
    forest = RandomForestClassifier(5, max_depth=4, max_features=2, random_state=0).fit(X[:300], y[:300])
    skops.io.dump(forest, folder / "forest.skops")
    for name, rows in (("train", slice(0, 300)), ("valid", slice(300, 600)), ("test", slice(600, 900))):
        X[rows].assign(label=y[rows], w=np.arange(300) % 4 + 1).to_csv(folder / f"{name}.csv", index=False)
    X[600:].to_csv(folder / "unlabelled.csv", index=False)
    X[600:].drop(columns="f3").to_csv(folder / "lacking.csv", index=False)
    X[600:601].assign(label=y[600]).to_csv(folder / "one.csv", index=False)
    pd.DataFrame({"feature": X.columns, "cost": [1, 0.5, 1, 2, 1, 0.25, 1, 1]}).to_csv(folder / "costs.csv", index=False)
    problem = pm.problem_from_forest(forest, X[300:600], costs=pd.read_csv(folder / "costs.csv"))
    return folder, Case(forest, problem, pm.pruning_path(problem), X[600:], y[600:])


@pytest.fixture
def case(files: tuple[Path, Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    for file in files[0].iterdir():
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    return files[1]


def prune(*more: str, data: str = "valid.csv", budget: str | None = str(BUDGET), label: bool = True) -> list[str]:
    """A valid command line, and more words."""
    goal = [] if budget is None else ["--budget", budget]
    labelled = ["--label", "label"] if label else []
    words = ["prune", "forest.skops", "--data", data, "--costs", "costs.csv", *goal, *labelled]
    return [*words, "--out", "out/pruned.skops", "--quiet", *more]


def written() -> list[str]:
    return sorted(p.name for p in Path("out").iterdir())


def load(file: str) -> Any:
    return skops.io.load(file, trusted=["sklearn.tree._tree.Tree"])


@pytest.mark.parametrize("method", ["path", "best", "exact"])
def test_json_states_the_solution(case: Case, method: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The relaxation, the gap and the exact cost are the solution's own; the forest written is the pruning, within the budget."""
    assert main(prune("--json", "--method", method, "--time-limit", "20")) == 0
    told = json.loads(capsys.readouterr().out)
    answer = told["budget_answer"]
    expected = solve_budget(case.problem, BUDGET, method=method, time_limit=20, path=case.path)
    mixture = expected.relaxation
    assert answer["method"] == method
    assert answer["status"] == str(expected.status)
    assert answer["stopped"] == str(expected.stopped)
    assert (answer["error"], answer["bound"]) == (pytest.approx(expected.error), pytest.approx(expected.bound))
    assert answer["gap"] == pytest.approx(expected.gap)
    assert answer["seconds"] >= 0
    assert answer["confidence"] is None
    pruning = pruning_from_forest(case.problem, load("out/pruned.skops"))
    assert Fraction(answer["exact_cost"]) == exact_cost(pruning) <= Fraction(answer["budget"]) == Fraction(str(BUDGET))
    assert answer["cost"] == told["pruned"]["cost"] == pruning.cost
    assert told["pruned"]["sample_error"] == pytest.approx(pruning.error) == pytest.approx(expected.error)
    relaxation = answer["relaxation"]
    assert Fraction(relaxation["exact_weight"]) == mixture.weight
    assert relaxation["weight"] == float(mixture.weight)
    assert Fraction(relaxation["exact_lam"]) == mixture.lam
    assert relaxation["lam"] == float(mixture.lam)
    assert relaxation["value"] == float(mixture.value)
    for name, neighbour in (("cheaper", mixture.cheaper), ("dearer", mixture.dearer)):
        assert relaxation[name] == {"cost": neighbour.cost, "error": neighbour.error}
    breakpoint_ = any(np.array_equal(row.kept, pruning.kept) for row in case.path)
    assert (told["chosen_lam"] is not None) == breakpoint_
    if method == "path":
        assert told["chosen_lam"] == case.path.lam[case.path.row_at_cost(BUDGET)]
    assert told["next_dearer"]["cost"] == case.path[case.path.row_at_cost(BUDGET) - 1].cost


def test_best_is_the_default(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --method the search inside the edge is asked for, with its own time limit, and improves on the breakpoint."""
    assert main(prune("--json")) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["budget_answer"]["method"] == "best"
    assert told["budget_answer"]["error"] < case.path[case.path.row_at_cost(BUDGET)].error
    assert told["chosen_lam"] is None


def test_method_and_time_limit_are_handed_on(
    case: Case, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the command line says is what `solve_budget` is called with; progress on a terminal alone, and not with --quiet."""
    calls = []

    def recorded(problem: pm.PruningProblem, budget: float, **options: Any) -> Any:
        calls.append((budget, options))
        return solve_budget(problem, budget, method="path", path=options["path"])

    monkeypatch.setattr(budget_commands, "solve_budget", recorded)
    assert main(prune("--method", "exact", "--time-limit", "7.5")) == 0
    assert main([word for word in prune("--force") if word != "--quiet"]) == 0
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main([word for word in prune("--force") if word != "--quiet"]) == 0
    assert main(prune("--force")) == 0
    told = [{k: v for k, v in options.items() if k != "path"} for _, options in calls]
    best = {"method": "best", "time_limit": None}
    assert told == [
        {"method": "exact", "time_limit": 7.5, "progress": False},
        {**best, "progress": False},
        {**best, "progress": True},
        {**best, "progress": False},
    ]
    assert {budget for budget, _ in calls} == {BUDGET}


def test_the_screen(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """One screen: the table, cost of the budget, proof and gap, the mixture, held-out cost with its interval and the overrun."""
    assert main(prune("--method", "path", "--held-out", "test.csv", "--picture", "out/p", "--mixture")) == 0
    told = capsys.readouterr()
    solution = solve_budget(case.problem, BUDGET, method="path", path=case.path)
    mixture = solution.relaxation
    mu = float(mixture.weight)
    assert f"budget         cost {solution.cost:.6g} of 3.3 on the cost sample; path: feasible, 0.0 s" in told.out
    assert f"at lambda* = {float(mixture.lam):.6g}:" in told.out
    dearer, cheaper = mixture.dearer, mixture.cheaper
    assert f"{mu:.4g} of cost {dearer.cost:.6g} (error {100 * dearer.error:.2f} %)" in told.out
    assert f"{1 - mu:.4g} of cost {cheaper.cost:.6g} (error {100 * cheaper.error:.2f} %)" in told.out
    assert f"no pruning of cost 3.3 has trees that err less than {100 * solution.bound:.2f} %" in told.out
    assert f"this one {100 * solution.error:.2f} %, gap {100 * solution.gap:.2f} %" in told.out
    cost = held_out_cost(solution.pruning, case.held_out)
    ends = f"95 % interval {cost.low:.4g} to {cost.high:.4g}"
    assert f"held out       cost {cost.mean:.4g}, {ends}, on 300 examples of test.csv" in told.out
    assert f"Within the budget of 3.3: the 300 held-out examples cost {cost.mean:.4g}" in told.out
    assert "forest's error" in told.out
    assert "next dearer    the path's next pruning costs" in told.out
    assert "the least error found within the budget; on the path, at lambda" in told.out
    assert told.err == ""
    assert len(told.out.splitlines()) <= 30
    assert max(len(line) for line in told.out.splitlines()) <= 120


def test_a_budget_that_leaves_nothing_to_wish(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """Above the dearest breakpoint the least error is reached, and no dearer pruning is named."""
    assert main(prune("--method", "path", budget="100")) == 0
    told = capsys.readouterr().out
    assert "this one reaches it" in told
    assert "path: optimal" in told
    assert "next dearer" not in told


def test_held_out_figures(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """Cost and error on the held-out file are those of the Python calls; without labels there is no error; weights count."""
    assert main(prune("--json", "--method", "path", "--held-out", "test.csv")) == 0
    told = json.loads(capsys.readouterr().out)["held_out"]
    pruning = case.path[case.path.row_at_cost(BUDGET)]
    cost = held_out_cost(pruning, case.held_out)
    error = held_out_error(pm.apply_pruning(pruning, case.forest), case.held_out, case.labels)
    assert told == {
        "file": "test.csv",
        "examples": 300,
        "confidence": 0.95,
        "method": "t",
        "cost": cost.mean,
        "cost_low": cost.low,
        "cost_high": cost.high,
        "error": error.mean,
        "error_low": error.low,
        "error_high": error.high,
        "overrun": cost.mean > BUDGET,
        "budget_verdict": budget_verdict(BUDGET, cost).replace("\u00a0", " "),
    }
    assert main(prune("--json", "--force", "--method", "path", "--held-out", "unlabelled.csv", label=False)) == 0
    told = json.loads(capsys.readouterr().out)["held_out"]
    assert (told["cost"], told["error"], told["error_low"]) == (cost.mean, None, None)
    assert main(prune("--json", "--force", "--method", "path", "--held-out", "test.csv", "--weights", "w", budget="6.7")) == 0
    told = json.loads(capsys.readouterr().out)
    weighted = pm.problem_from_forest(
        case.forest,
        pd.read_csv("valid.csv")[case.held_out.columns],
        costs=pd.read_csv("costs.csv"),
        sample_weight=np.arange(300) % 4 + 1,
    )
    taken = pm.pruning_path(weighted).at_cost(6.7)
    assert told["held_out"]["cost"] == pytest.approx(
        held_out_cost(taken, case.held_out, sample_weight=np.arange(300) % 4 + 1).mean
    )
    assert told["held_out"]["cost"] != held_out_cost(taken, case.held_out).mean


def test_lam_takes_held_out_rows_too(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """With --lam the summary is as before, with the held-out cost beside it, and no answer to a budget."""
    assert main(prune("--json", "--lam", "0.05", "--held-out", "test.csv", budget=None)) == 0
    told = json.loads(capsys.readouterr().out)
    pruning = case.path.at_lam(0.05)
    assert told["budget_answer"] is None
    assert told["pruned"]["cost"] == pruning.cost
    assert told["held_out"]["cost"] == held_out_cost(pruning, case.held_out).mean
    assert told["chosen_lam"] == case.path.lam[case.path.row_at_lam(0.05)]
    assert told["next_dearer"]["cost"] == case.path[case.path.row_at_lam(0.05) - 1].cost


def test_drop_unused(case: Case) -> None:
    """With --drop-unused the forest that is written asks for the columns that it reads, and predicts the same."""
    assert main(prune("--lam", "0.05", budget=None)) == 0
    assert main(prune("--lam", "0.05", "--drop-unused", "--out", "out/slim.skops", budget=None)) == 0
    pruned, slim = load("out/pruned.skops"), load("out/slim.skops")
    columns = list(slim.feature_names_in_)
    assert len(columns) < len(pruned.feature_names_in_)
    assert np.array_equal(slim.predict_proba(case.held_out[columns]), pruned.predict_proba(case.held_out))


def test_confidence(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """The pruning is the one that half of the rows choose and the other half certify; the smaller budget is named."""
    near = float(case.path.exact_cost[1]) + 0.001  # fits the sample, but no population to be sure of
    assert main(prune("--json", "--confidence", "0.9", "--picture", "out/p.png", budget=str(near))) == 0
    told = json.loads(capsys.readouterr().out)
    found = budget_for_confidence(case.problem, near, confidence=0.9, random_state=0)
    pruning = pm.Pruning(case.problem, found.pruning.kept)
    saved = pruning_from_forest(case.problem, load("out/pruned.skops"))
    np.testing.assert_array_equal(saved.kept, pruning.kept)
    assert 0 < pruning.cost < case.path[case.path.row_at_cost(near)].cost
    answer = told["budget_answer"]
    assert answer["confidence"] == {
        "confidence": 0.9,
        "method": "betting",
        "smaller_budget": float(found.smaller_budget),
        "exact_smaller_budget": str(found.smaller_budget),
        "choosing_rows": 150,
        "certifying_rows": 150,
        "certified_cost": found.certified_cost,
        "upper_bound": found.upper_bound,
    }
    assert answer["error"] == pruning.error
    assert answer["gap"] == pytest.approx(pruning.error - answer["bound"])
    assert answer["cost"] == pruning.cost <= near
    assert told["next_dearer"] is None
    assert main(prune("--force", "--confidence", "0.9", budget=str(near))) == 0
    screen = capsys.readouterr().out
    assert f"budget         {near:g} for the population with 90 % confidence; mean cost at most" in screen
    assert f"the budget on the other 150 was {float(found.smaller_budget):.6g}" in screen
    assert "that the other half certifies" in screen


def test_the_mixture_is_written(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """Two forests and a weight that together cost B on the cost sample, ready for `MixturePredictor`."""
    assert main(prune("--mixture", "--method", "path", "--json")) == 0
    names = ["pruned.cheaper.skops", "pruned.dearer.skops", "pruned.mixture.json", "pruned.skops"]
    assert written() == names
    assert sorted(json.loads(capsys.readouterr().out)["written"]) == [f"out/{name}" for name in names]
    told = json.loads(Path("out/pruned.mixture.json").read_text())
    forests = [load(f"out/{told[name]}") for name in ("cheaper", "dearer")]
    weight = Fraction(told["weight"])
    cheaper, dearer = (pruning_from_forest(case.problem, forest) for forest in forests)
    assert weight * dearer.exact_cost + (1 - weight) * cheaper.exact_cost == Fraction(told["budget"]) == Fraction(str(BUDGET))
    assert 0 < weight < 1
    assert set(MixturePredictor(*forests, weight).predict(case.held_out)) == {0, 1}
    assert main(prune("--mixture")) == 2  # pruned.skops first, then each of its companions
    Path("out/pruned.skops").unlink()
    assert main(prune("--mixture")) == 2
    assert "--mixture: out/pruned.cheaper.skops exists" in capsys.readouterr().err


def test_regressors(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors of a regressor are no percentages, in the budget's lines neither."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    skops.io.dump(RandomForestRegressor(3, max_depth=4, random_state=0).fit(X[:200], y[:200]), "r.skops")
    X[200:320].assign(target=y[200:320]).to_csv("r.csv", index=False)
    X[320:].assign(target=y[320:]).to_csv("s.csv", index=False)
    words = ["prune", "r.skops", "--data", "r.csv", "--label", "target", "--costs", "1", "--budget", "2", "--method", "path"]
    assert main([*words, "--held-out", "s.csv", "--out", "out/r.skops", "--quiet"]) == 0
    told = capsys.readouterr().out
    assert not re.search("[0-9] %", re.sub(r"95 %|[(][0-9]+ %[)]", "", told))
    assert "single trees   mean squared error of the trees, in-bag" in told
    assert "proven         no pruning of cost 2 has trees that err less than" in told


BAD: list[tuple[list[str], dict[str, Any], list[str]]] = [
    (["--lam", "1", "--method", "path"], {"budget": None}, ["--method goes with --budget", "drop it"]),
    (["--lam", "1", "--time-limit", "3"], {"budget": None}, ["--time-limit goes with --budget"]),
    (["--lam", "1", "--confidence", "0.9"], {"budget": None}, ["--confidence goes with --budget"]),
    (["--lam", "1", "--mixture"], {"budget": None}, ["--mixture goes with --budget"]),
    (["--method", "fast"], {}, ["--method", "'fast'", "exact"]),
    (["--time-limit", "-1"], {}, ["--time-limit", "'-1'"]),
    (["--confidence", "1"], {}, ["--confidence", "'1'", "between 0 and 1"]),
    (["--confidence", "0"], {}, ["--confidence", "'0'", "between 0 and 1"]),
    (["--confidence", "nan"], {}, ["--confidence", "'nan'"]),
    (["--confidence", "0.9", "--method", "best"], {}, ["--method cannot be used with --confidence"]),
    (["--confidence", "0.9", "--time-limit", "3"], {}, ["--time-limit cannot be used with --confidence"]),
    (["--confidence", "0.9", "--mixture"], {}, ["--mixture cannot be used with --confidence"]),
    (["--confidence", "0.9", "--errors", "given", "--error-data", "./valid.csv"], {}, ["--error-data names the same file"]),
    (["--confidence", "0.9", "--train", "train.csv"], {"data": "train.csv"}, ["--train names the same file"]),
    (["--confidence", "0.9", "--weights", "w"], {}, ["--weights cannot be used with --confidence", "equal weight"]),
    (["--confidence", "0.9"], {"data": "one.csv"}, ["--confidence 0.9", "1 rows at share 0.5"]),
    (["--held-out", "valid.csv"], {}, ["--held-out names the same file as --data", "kept apart"]),
    (["--held-out", "absent.csv"], {}, ["--held-out", "there is no file absent.csv"]),
    (["--held-out", "lacking.csv"], {"label": False}, ["--held-out", "lacks the column 'f3'"]),
    (["--held-out", "unlabelled.csv"], {}, ["--label", "no column 'label'", "unlabelled.csv"]),
    (["--held-out", "one.csv"], {}, ["--held-out one.csv", "at least 2 examples"]),
]


@pytest.mark.parametrize(("added", "changed", "said"), BAD, ids=[" ".join(a) for a, _, _ in BAD])
def test_bad_input(
    case: Case, added: list[str], changed: dict[str, Any], said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2, the option and the value named, and nothing written."""
    method = [] if any(w in added for w in ("--lam", "--confidence", "--method")) else ["--method", "path"]
    assert main(prune(*method, *added, **changed)) == 2
    told = capsys.readouterr()
    assert told.out == ""
    for words in said:
        assert words in told.err
    assert written() == []


@pytest.mark.parametrize("place", ["solve_budget", "budget_for_confidence", "plot_budget", "dump_forest", "hold_out"])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, pm.errors.InterruptedSolveError])
def test_ctrl_c(
    case: Case, place: str, stop: type[BaseException], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C while searching, certifying, drawing or writing ends with status 130, one line, and no file."""

    def interrupted(*args: object, **options: object) -> None:
        raise stop

    homes = {"hold_out": commands, "dump_forest": mixtures, "plot_budget": plots}
    monkeypatch.setattr(homes.get(place, budget_commands), place, interrupted)
    how = ["--confidence", "0.9"] if place == "budget_for_confidence" else ["--method", "path", "--mixture"]
    assert main(prune(*how, "--held-out", "test.csv", "--picture", "out/p")) == 130
    assert capsys.readouterr().err == "interrupted: nothing was written\n"
    assert written() == []
