"""The command line end to end: what it writes and says, and that it refuses without a trace."""

from __future__ import annotations

import ast
import json
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor

import prunemodels as pm
from formulations.instance.price_tables import items_from_table
from prunemodels.command_line import commands, statuses, tasks
from prunemodels.command_line.cli import main, parser
from prunemodels.plots import tradeoff

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Case:
    """A folder with forests and data as a user would have them; `a` is a minimal valid command line."""

    folder: Path
    forest: Any
    X: pd.DataFrame
    y: pd.Series

    def prune(self, *more: str, **changed: str | None) -> list[str]:
        options = {
            "data": "valid.csv",
            "costs": "costs.csv",
            "budget": "5",
            "out": "out/pruned.skops",
        } | {k.replace("_", "-"): v for k, v in changed.items()}
        forest = options.pop("forest", None) or "forest.skops"
        words = [w for k, v in options.items() if v is not None for w in (f"--{k}", v)]
        return ["prune", forest, *words, "--quiet", *more]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp("cli")
    data = load_breast_cancer(as_frame=True)
    X, y = data.data.iloc[:, :8].rename(columns=lambda c: c.replace(" ", "_")), data.target
    train, valid = slice(0, 300), slice(300, 569)
    forest = RandomForestClassifier(8, max_depth=6, random_state=0).fit(X[train], y[train])
    skops.io.dump(forest, folder / "forest.skops")
    joblib.dump(forest, folder / "forest.joblib")
    skops.io.dump(RandomForestClassifier(3, random_state=0).fit(X[train].to_numpy(), y[train]), folder / "nameless.skops")
    skops.io.dump(RandomForestClassifier(), folder / "unfitted.skops")
    skops.io.dump(GradientBoostingClassifier(n_estimators=2).fit(X, y), folder / "boosted.skops")
    X[train].assign(label=y[train]).to_csv(folder / "train.csv", index=False)
    table = X[valid].assign(label=y[valid], w=np.arange(269) % 3)
    table.to_csv(folder / "valid.csv", index=False)
    table.to_csv(folder / "valid.csv.gz", index=False)
    table.sample(frac=1, axis=1, random_state=0).to_parquet(folder / "valid.parquet", index=False)
    prices = pd.DataFrame({"feature": X.columns, "cost": [1, 2, 1, 0.5, 1, 1, 1, 3], "item": ["g", None, "g", *[None] * 5]})
    prices.to_csv(folder / "costs.csv", index=False)
    broken_inputs(folder, table, prices)
    return Case(folder, forest, X[valid], y[valid])


def broken_inputs(folder: Path, table: pd.DataFrame, prices: pd.DataFrame) -> None:
    """Files that must be refused."""
    (folder / "torn.skops").write_bytes((folder / "forest.skops").read_bytes()[:2000])
    (folder / "torn.joblib").write_bytes((folder / "forest.joblib").read_bytes()[:2000])
    (folder / "torn.parquet").write_bytes(b"PAR1 no more")
    (folder / "torn.csv.gz").write_bytes(b"no gzip")
    (folder / "empty.csv").write_text("")
    (folder / "headonly.csv").write_text("a,b\n")
    (folder / "data.txt").write_text("a,b\n1,2\n")
    table.to_csv(folder / "headless.csv", index=False, header=False)
    table.drop(columns="mean_area").to_csv(folder / "lacking.csv", index=False)
    table.assign(mean_area="large").to_csv(folder / "wordy.csv", index=False)
    table.assign(mean_area=np.inf).to_csv(folder / "infinite.csv", index=False)
    table.assign(label=7).to_csv(folder / "strange.csv", index=False)
    table.assign(label=table.label.where(table.index > 305), w=-1).to_csv(folder / "gappy.csv", index=False)
    prices.iloc[1:].to_csv(folder / "costs_few.csv", index=False)
    prices.assign(cost=-1).to_csv(folder / "costs_negative.csv", index=False)
    prices.assign(feature=prices.feature.replace("mean_area", "area")).to_csv(folder / "costs_unknown.csv", index=False)
    prices.rename(columns={"cost": "price"}).to_csv(folder / "costs_nameless.csv", index=False)


@pytest.fixture
def case(files: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    """The files in a working directory of the test's own, with an empty folder ``out``."""
    for file in files.folder.iterdir():
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    return Case(tmp_path, files.forest, files.X, files.y)


def written() -> list[str]:
    return sorted(p.name for p in Path("out").iterdir())


@pytest.mark.parametrize("ending", ["skops", "joblib"])
def test_prune_to_a_budget(case: Case, capsys: pytest.CaptureFixture[str], ending: str) -> None:
    """With --method path the forest written is the best breakpoint, and the summary says what `evaluate` measures."""
    out = f"out/pruned.{ending}"
    more = ["--method", "path", "--label", "label", "--json", "--path-csv", "out/path.csv", "--picture", "out/picture"]
    assert main(case.prune(*more, out=out)) == 0
    told = json.loads(capsys.readouterr().out)
    costs = items_from_table(pd.read_csv("costs.csv"), tuple(case.X.columns))
    path = pm.pruning_path(pm.problem_from_forest(case.forest, case.X, costs=costs))
    expected = pm.apply_pruning(path.at_cost(5), case.forest)
    again = skops.io.load(out, trusted=["sklearn.tree._tree.Tree"]) if ending == "skops" else joblib.load(out)
    np.testing.assert_array_equal(again.predict(case.X), expected.predict(case.X))
    measured = pm.evaluate(expected, case.X, case.y, costs=costs)
    assert told["pruned"] == {
        "cost": pytest.approx(measured.cost),
        "sample_error": pytest.approx(path.at_cost(5).error),
        "data_error": measured.error,
        "splits": measured.splits,
    }
    assert told["unpruned"]["data_error"] == pytest.approx(np.mean(case.forest.predict(case.X) != case.y))
    assert told["breakpoints"] == len(path)
    assert written() == ["path.csv", "picture.png", "picture.svg", f"pruned.{ending}"]
    pd.testing.assert_frame_equal(pd.read_csv("out/path.csv"), path.to_frame())


def test_prune_for_a_lambda(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """With --lam the forest is optimal for that lambda, and the screen names it, the splits and the files."""
    assert main(case.prune(budget=None, lam="0.01")) == 0
    told = capsys.readouterr()
    path = pm.pruning_path(pm.problem_from_forest(case.forest, case.X, costs=pd.read_csv("costs.csv")))
    pruning = path.at_lam(0.01)
    saved = skops.io.load("out/pruned.skops", trusted=["sklearn.tree._tree.Tree"])
    assert pm.read_forest(saved).n_splits == pruning.n_splits
    assert "pruned to lambda = 0.01" in told.out
    assert str(pruning.n_splits) in told.out
    assert "out/pruned.skops" in told.out
    assert len(told.out.splitlines()) <= 24
    assert told.err == ""


def test_path(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """`path` writes every breakpoint and the one picture whose ending was given; labels are optional."""
    words = [
        "path",
        "forest.skops",
        "--data",
        "valid.csv",
        "--costs",
        "1",
        "--out",
        "out/p.csv",
        "--picture",
        "out/p.svg",
        "--quiet",
    ]
    assert main(words) == 0
    assert written() == ["p.csv", "p.svg"]
    path = pm.pruning_path(pm.problem_from_forest(case.forest, case.X, costs=1))
    pd.testing.assert_frame_equal(pd.read_csv("out/p.csv"), path.to_frame())
    assert f"{len(path)} optimal prunings" in capsys.readouterr().out


def test_the_table_of_budgets(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """`path` shows cost and error of the best pruning within shares of the cost, on held-out examples; each pruning once."""
    words = ["path", "forest.skops", "--data", "valid.csv", "--costs", "1", "--out", "out/p.csv", "--quiet", "--label", "label"]
    assert main([*words, "--held-out", "train.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(lines[2].split()) == "budget held-out cost held-out error rate splits single trees, in-bag"
    path = pm.pruning_path(pm.problem_from_forest(case.forest, case.X, costs=1))
    unpruned = pm.Pruning.unpruned(path.problem)
    row = next(line.split() for line in lines[4:] if "%)" in line)
    half = path[path.row_at_cost(int(row[1].strip("(")) / 100 * unpruned.cost)]
    held_out = pd.read_csv("train.csv")
    seen = pm.hold_out(half, case.forest, held_out[case.X.columns], held_out.label)
    assert seen.error is not None
    assert row[3:] == [
        f"{seen.cost.mean:.1f}",
        *f"{100 * seen.error.mean:.2f} %".split(),
        f"{half.n_splits:,}",
        *f"{100 * half.error:.2f} %".split(),
    ]
    rows = [tuple(line.split()[3:]) for line in lines[3:] if "%)" in line]
    assert len(rows) == len(set(rows)) > 2
    assert main([*words, "--force"]) == 0
    assert "error rate on valid.csv" in capsys.readouterr().out


def test_an_overrun_is_a_warning(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """Held-out examples that cost more than the budget: the screen says by how much, and JSON that it is so."""
    path = pm.pruning_path(pm.problem_from_forest(case.forest, case.X, costs=pd.read_csv("costs.csv")))
    budget = str(float(path.cost[2]))
    words = ["--label", "label", "--held-out", "train.csv", "--method", "path"]
    assert main(case.prune(*words, "--json", budget=budget)) == 0
    told = json.loads(capsys.readouterr().out)["held_out"]
    over = told["cost"] > float(budget)
    assert told["overrun"] is over
    assert told["budget_verdict"].startswith("Over budget: the" if over else "Within the budget of")
    assert main(case.prune(*words, "--force", budget=budget)) == 0
    assert told["budget_verdict"] in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("data", ["valid.csv.gz", "valid.parquet"])
def test_formats_and_column_order_do_not_matter(case: Case, data: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A gzipped CSV, and a Parquet file with shuffled columns, give the figures of the plain CSV."""
    figures = []
    for number, file in enumerate(["valid.csv", data]):
        # the path alone: how far the search for more gets in its seconds depends on the machine
        words = ["--method", "path", "--json", "--label", "label"]
        assert main(case.prune(*words, data=file, out=f"out/{number}.skops")) == 0
        told = json.loads(capsys.readouterr().out)
        figures.append((told["unpruned"], told["pruned"], told["breakpoints"]))
    assert figures[0] == figures[1]


def test_a_forest_without_names_takes_columns_by_place(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """Prices still go by the names of the data's columns."""
    case.X.assign(label=case.y).to_csv("plain.csv", index=False)
    assert main(case.prune("--label", "label", "--json", forest="nameless.skops", data="plain.csv")) == 0
    assert json.loads(capsys.readouterr().out)["pruned"]["cost"] <= 5


def test_error_samples_weights_and_evaluation_cost(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """Each choice of --errors gives the figures of the Python call with the same sample; weights and evaluation count."""
    train, given = pd.read_csv("train.csv"), pd.read_csv("valid.csv")
    training = train[case.X.columns], train.label
    labelled = given[case.X.columns], given.label
    for words, errors in [
        (["--errors", "in-bag", "--train", "train.csv"], pm.samples.InBag(*training)),
        (["--errors", "out-of-bag", "--train", "train.csv"], pm.samples.OutOfBag(*training)),
        (["--errors", "given", "--error-data", "valid.csv"], pm.samples.Given(*labelled)),
        (
            ["--errors", "blend", "--error-data", "valid.csv", "--given-share", "0.25"],
            pm.samples.Blend([(0.75, pm.samples.InBag()), (0.25, pm.samples.Given(*labelled))]),
        ),
    ]:
        more = ["--label", "label", "--weights", "w", "--evaluation-cost", "0.1", "--json", "--force", "--method", "path"]
        assert main(case.prune(*words, *more)) == 0
        told = json.loads(capsys.readouterr().out)
        problem = pm.problem_from_forest(
            case.forest,
            case.X,
            costs=pd.read_csv("costs.csv"),
            errors=errors,
            sample_weight=given.w,
            evaluation_cost=0.1,
        )
        pruning = pm.pruning_path(problem).at_cost(5)
        assert told["pruned"]["sample_error"] == pytest.approx(pruning.error)
        assert told["pruned"]["cost"] == pytest.approx(pruning.cost)
        assert told["unpruned"]["sample_error"] == pytest.approx(pm.Pruning.unpruned(problem).error)


def test_the_next_dearer_pruning_is_named(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """A budget inside a long hull edge leaves money unspent: the summary says what the next breakpoint would cost."""
    path = pm.pruning_path(pm.problem_from_forest(case.forest, case.X, costs=pd.read_csv("costs.csv")))
    row = path.row_at_cost(5)
    assert row > 0
    assert main(case.prune("--json")) == 0
    told = json.loads(capsys.readouterr().out)["next_dearer"]
    assert told["cost"] == pytest.approx(path.cost[row - 1])
    assert told["cost"] > 5
    assert told["sample_error"] == pytest.approx(path.error[row - 1])
    assert main(case.prune("--force")) == 0
    assert (
        f"next dearer    the path's next pruning costs {path.cost[row - 1]:.4g}, single trees' error" in capsys.readouterr().out
    )


def test_a_regression_forest(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors of a regressor are mean squared errors, named so on the screen."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    skops.io.dump(RandomForestRegressor(4, max_depth=5, random_state=0).fit(X[:300], y[:300]), "r.skops")
    X[300:].assign(target=y[300:]).to_csv("r.csv", index=False)
    assert main(case.prune("--label", "target", forest="r.skops", data="r.csv", costs="1")) == 0
    told = capsys.readouterr().out
    assert "mean squared error on r.csv" in told
    assert "%" not in re.sub(r"[(][0-9]+ %[)]", "", told)  # budgets as shares of the unpruned cost


def test_an_existing_file_is_replaced_only_with_force(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --force an existing output is refused before any work, and keeps its content."""
    Path("out/pruned.skops").write_text("old")
    assert main(case.prune()) == 2
    assert "--out: out/pruned.skops exists; choose another name, or allow replacing it with --force" in capsys.readouterr().err
    assert Path("out/pruned.skops").read_text() == "old"
    assert main(case.prune("--force")) == 0
    assert Path("out/pruned.skops").read_bytes()[:2] == b"PK"


BAD: list[tuple[dict[str, str | None], list[str], list[str]]] = [
    # what changes in a valid command line, what is added, and what the message must name
    ({"budget": "-1"}, [], ["--budget", "'-1'", "give a finite number >= 0"]),
    ({"budget": "nan"}, [], ["--budget", "'nan'", "give a finite number >= 0"]),
    ({"budget": "much"}, [], ["--budget", "'much'", "not a number"]),
    ({"budget": None, "lam": "-0.5"}, [], ["--lam", "'-0.5'", "give a finite number >= 0"]),
    ({"budget": None, "lam": "nan"}, [], ["--lam", "'nan'"]),
    ({"budget": None}, [], ["--budget", "--lam", "required"]),
    ({"lam": "1"}, [], ["--lam", "not allowed with", "--budget"]),
    ({"given_share": "2"}, [], ["--given-share", "'2'", "from 0 to 1"]),
    ({"forest": "absent.skops"}, [], ["FOREST", "there is no file absent.skops"]),
    ({"forest": "data.txt"}, [], ["FOREST", "data.txt begins with 'a,b'", "LightGBM"]),
    ({"forest": "forest.joblib"}, [], ["FOREST", "runs any code", "--trust-pickle"]),
    ({"forest": "torn.joblib"}, ["--trust-pickle"], ["FOREST", "torn.joblib cannot be read"]),
    ({"forest": "torn.skops"}, [], ["FOREST", "torn.skops is not a skops file"]),
    ({"forest": "unfitted.skops"}, [], ["FOREST", "RandomForestClassifier is not fitted"]),
    ({"forest": "boosted.skops"}, [], ["--label is missing: a boosted model is pruned for its loss on --data"]),
    ({"data": "absent.csv"}, [], ["--data", "there is no file absent.csv"]),
    ({"data": "data.txt"}, [], ["--data", "data.txt", ".parquet"]),
    ({"data": "torn.parquet"}, [], ["--data", "torn.parquet cannot be read"]),
    ({"data": "torn.csv.gz"}, [], ["--data", "torn.csv.gz cannot be read"]),
    ({"data": "empty.csv"}, [], ["--data", "empty.csv cannot be read", "EmptyDataError"]),
    ({"data": "headonly.csv"}, [], ["--data", "headonly.csv holds no examples"]),
    ({"data": "headless.csv"}, [], ["--data", "headless.csv has no header row"]),
    ({"data": "lacking.csv"}, [], ["--data", "lacks the column 'mean_area'", "'mean_radius'"]),
    ({"data": "wordy.csv"}, [], ["--data", "'mean_area'", "not numbers"]),
    ({"data": "infinite.csv"}, [], ["--data", "infinite.csv[0, 3]"]),
    ({"forest": "nameless.skops"}, [], ["--data", "10 feature columns", "trained on 8", "--label"]),
    ({"label": "class"}, [], ["--label", "no column 'class'", "'label'"]),
    ({"label": "label", "data": "strange.csv"}, [], ["--label", "label 7", "[0, 1]"]),
    ({"label": "label", "data": "gappy.csv"}, [], ["--label", "row 1", "gappy.csv"]),
    ({"weights": "weight"}, [], ["--weights", "no column 'weight'"]),
    ({"weights": "w", "data": "gappy.csv"}, [], ["--weights", "is -1"]),
    ({"costs": "-1"}, [], ["--costs -1", "negative"]),
    ({"costs": "nan"}, [], ["--costs nan", "nan"]),
    ({"costs": "1e-400"}, [], ["--costs 1e-400", "a number that a float can hold"]),
    ({"costs": "1e999999999"}, [], ["--costs 1e999999999", "a number that a float can hold"]),
    ({"costs": "absent.csv"}, [], ["--costs absent.csv", "there is no file"]),
    ({"costs": "costs_few.csv"}, [], ["--costs costs_few.csv", "no price for 'mean_radius'"]),
    ({"costs": "costs_negative.csv"}, [], ["--costs costs_negative.csv", "'mean_radius'", "negative"]),
    ({"costs": "costs_unknown.csv"}, [], ["--costs costs_unknown.csv", "'area'", "no such feature"]),
    ({"costs": "costs_nameless.csv"}, [], ["--costs costs_nameless.csv", "'price'", "needs 'cost'"]),
    ({"evaluation_cost": "-2"}, [], ["--evaluation-cost", "'-2'"]),
    ({"errors": "guessed"}, [], ["--errors", "'guessed'", "in-bag"]),
    ({"errors": "out-of-bag", "label": "label"}, [], ["--errors out-of-bag", "--train FILE"]),
    ({"errors": "given", "label": "label"}, [], ["--errors given", "--error-data FILE"]),
    (
        {"train": "train.csv", "errors": "given", "error_data": "valid.csv", "label": "label"},
        [],
        ["--train is not used", "given"],
    ),
    ({"train": "train.csv"}, [], ["--train needs labels", "--label"]),
    ({"train": "valid.csv", "label": "label"}, [], ["--errors in-bag", "269 rows", "trained on 300"]),
    ({"train": "lacking.csv", "label": "label"}, [], ["--train", "lacks the column 'mean_area'"]),
    ({"out": "absent/pruned.skops"}, [], ["--out", "folder absent", "does not exist"]),
    ({"out": "out/pruned.pkl"}, [], ["--out", "'.pkl'", ".skops, .joblib"]),
    ({"path_csv": "out/path.txt"}, [], ["--path-csv", "'.txt'", ".csv"]),
    ({"picture": "out/picture.gif"}, [], ["--picture", "'.gif'", ".png or .svg"]),
    ({"picture": "absent/picture"}, [], ["--picture", "folder absent", "does not exist"]),
]


@pytest.mark.parametrize(("changed", "added", "said"), BAD, ids=[" ".join(f"{k}={v}" for k, v in c.items()) for c, _, _ in BAD])
def test_bad_input(
    case: Case, changed: dict[str, str | None], added: list[str], said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Bad input ends with status 2 and a message of the argument, the value and the remedy; nothing is written or left behind."""
    before = sorted(p.name for p in Path.cwd().iterdir())
    assert main(case.prune(*added, **changed)) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "Traceback" not in told.err
    for words in said:
        assert words in told.err
    assert written() == []
    assert sorted(p.name for p in Path.cwd().iterdir()) == before


def test_another_scikit_learn_version(case: Case, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A forest of another version is refused with status 2."""
    with monkeypatch.context() as patch:
        patch.setattr("sklearn.base.__version__", "1.5.2")
        joblib.dump(case.forest, "old.joblib")
    assert main(case.prune("--trust-pickle", forest="old.joblib")) == 2
    assert "old.joblib was written by scikit-learn 1.5.2" in capsys.readouterr().err
    assert written() == []


@pytest.mark.parametrize("place", ["pruning_path", "dump_forest", "draw"])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, pm.errors.InterruptedSolveError])
def test_ctrl_c(
    case: Case, place: str, stop: type[BaseException], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C while computing or writing ends with status 130, one line, and no file."""

    def interrupted(*args: object, **options: object) -> None:
        raise stop

    monkeypatch.setattr(tradeoff if place == "draw" else commands, place, interrupted)
    assert main(case.prune("--picture", "out/picture")) == 130
    assert capsys.readouterr().err == "interrupted: nothing was written\n"
    assert written() == []


def test_the_module_runs_as_a_program(case: Case) -> None:
    """`python -m prunemodels` prunes in a process of its own: JSON alone on stdout, the status as exit code."""
    command = [sys.executable, "-m", "prunemodels"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run([*command, *case.prune("--json")], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["written"] == ["out/pruned.skops"]
    refused = subprocess.run([*command, "prune"], capture_output=True, text=True, env=environment, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "required: FOREST" in refused.stderr


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    """Help lists the commands by task, each with an example that parses; --version shows the package's version."""
    assert main(["--help"]) == 0
    told = capsys.readouterr().out
    assert max(map(len, told.split("exit status:")[0].splitlines())) <= 88
    for task, listed in tasks.TASKS.items():
        assert f"{task}:" in told
        for name, command in listed.items():
            assert tasks.example_text(name, " " * 13) in told
            words = tasks.example_text(name).replace("\\\n", " ").split()
            assert words == ["prunemodels", *command.example.split()]
            assert parser().parse_args(words[1:]).command == name
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"prunemodels {pm.__version__}\n"


def test_every_command_shows_its_example(capsys: pytest.CaptureFixture[str]) -> None:
    """Each command's own help ends with its example."""
    for name in tasks.COMMANDS:
        assert main([name, "--help"]) == 0
        assert capsys.readouterr().out.rstrip().endswith(tasks.example_text(name)), name


def test_alone_it_greets(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a command the program says what it is for and what to type, and succeeds; a wrong command is refused."""
    assert main([]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert max(map(len, told.out.splitlines())) <= 80
    for line in ("prunemodels demo", "prunemodels demo --data heart", "--budget 24", "prunemodels --help"):
        assert line in told.out
    assert main(["prun"]) == 2


def test_styles_are_for_terminals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Colour on a terminal; plain text in a pipe, with NO_COLOR, and on a terminal that shows none."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    main([])
    assert "\x1b" not in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    main([])
    assert "\x1b[1mprunemodels" in capsys.readouterr().out
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as changed:
            changed.setenv(name, value)
            main([])
            assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`completion` prints a script that knows every command and their options."""
    pytest.importorskip("shtab")
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in tasks.COMMANDS)
    assert "held-out" in script


def test_completion_without_shtab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Where shtab is missing, the message says how to install it."""
    monkeypatch.setitem(sys.modules, "shtab", None)  # as if it were absent
    assert main(["completion", "bash"]) == 2
    assert 'pip install "prunemodels[completion]"' in capsys.readouterr().err


@pytest.mark.parametrize("number", ["1_0", "0_1.5"])
def test_numbers_have_no_underscores(case: Case, number: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Python reads 1_0 as 10; on the command line it is a slip, refused in prices and budgets."""
    for words in (case.prune(costs=number), case.prune(budget=number)):
        assert main(words) == 2
        assert "a number is written without underscores" in capsys.readouterr().err
    assert written() == []


def test_statuses_are_listed_alike(capsys: pytest.CaptureFixture[str]) -> None:
    """The page on the command line and --help have the same statuses as the code; each number is one of its constants."""
    page = (ROOT / "docs" / "command_line.md").read_text().split("## Exit status")[1].split("##")[0]
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    assert dict(rows[2:]) == statuses.MEANINGS
    assert main(["--help"]) == 0
    assert statuses.epilog() in capsys.readouterr().out
    named = {statuses.DONE, statuses.REFUTED, statuses.REFUSED, statuses.UNDECIDED, statuses.DEFECT, statuses.NOT_SHOWN}
    signals = {statuses.BY_SIGNAL + number for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE)}
    assert {int(n) for key in statuses.MEANINGS for n in key.split(", ")} == named | signals | {statuses.INTERRUPTED}


def test_a_defect_is_one_line_and_a_traceback_on_demand(
    case: Case, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unexpected error has the status 70, not the 1 of a refuted claim; a solver's failure counts as one, too."""

    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(commands, "read_and_solve", fails)
    for error in (IndexError("list index\nout of range"), pm.errors.SolverFailedError("list index out of range")):
        monkeypatch.delenv("PRUNEMODELS_TRACEBACK", raising=False)
        assert main(case.prune()) == 70
        told = capsys.readouterr().err
        assert told.startswith(
            f"prunemodels prune: {type(error).__name__}: list index out of range. This is a defect of prunemodels"
        )
        assert told.count("\n") == 1
        monkeypatch.setenv("PRUNEMODELS_TRACEBACK", "1")
        assert main(case.prune()) == 70
        told = capsys.readouterr().err
        assert told.startswith("Traceback")
        assert "in fails" in told
    assert written() == []


@pytest.mark.parametrize(
    "error",
    [MemoryError("Unable to allocate 8 TiB"), RuntimeError("can't start new thread"), ImportError("x.so: failed to map segment")],
)
def test_too_little_memory_is_no_defect(
    case: Case, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    """Neither where numpy says so, nor where threads or the dynamic linker find no memory; nothing is written."""

    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(commands, "read_and_solve", fails)
    assert main(case.prune()) == 2
    assert capsys.readouterr().err == (
        f"prunemodels prune: not enough memory ({error}); give fewer examples, a smaller forest, or a machine with more\n"
    )
    assert written() == []


def test_columns_of_prices_are_not_shifted(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """A field too many in the rows of --data or --costs, and a second column of prices, are refused by file and line."""
    for name, text, told in (
        ("data", "valid.csv", "valid.csv, line 2, has 11 fields, but the header names 10 columns"),
        ("costs", "costs.csv", "costs.csv, line 2, has 4 fields, but the header names 3 columns"),
    ):
        header, *rows = Path(text).read_text().splitlines()
        Path("shifted").mkdir(exist_ok=True)
        Path("shifted", text).write_text("\n".join([header, *(f"0,{row}" for row in rows)]))
        assert main(case.prune(**{name: f"shifted/{text}"})) == 2
        assert f"shifted/{told}" in capsys.readouterr().err
    Path("costs2.csv").write_text(Path("costs.csv").read_text().replace("feature,cost,item", "feature,cost,cost"))
    assert main(case.prune(costs="costs2.csv")) == 2
    assert "costs2.csv names the column 'cost' twice, in the places 2 and 3" in capsys.readouterr().err
    assert written() == []


def test_help_needs_nothing_heavy() -> None:
    """The parser imports only the standard library at its top, so that help and usage errors do not wait for numba."""
    imported = set()
    parsing = {f"prunemodels.command_line.{kind}arguments" for kind in ("", "exit_", "report_")}
    mine = {f"prunemodels.command_line.{module}" for module in ("process", "statuses", "tasks", "terminal")}
    for file in (
        "command_line/cli",
        "command_line/process",
        "command_line/statuses",
        "command_line/tasks",
        "command_line/terminal",
        *(name.removeprefix("prunemodels.").replace(".", "/") for name in (*parsing, "command_line.__init__")),
    ):
        tree = ast.parse((ROOT / "prunemodels" / f"{file}.py").read_text())
        imported |= {a.name for n in tree.body if isinstance(n, ast.Import) for a in n.names}
        imported |= {str(n.module) for n in tree.body if isinstance(n, ast.ImportFrom)}
    assert {name.split(".")[0] for name in imported - parsing - mine} <= sys.stdlib_module_names
