"""The one table of bad inputs: what each command refuses, and what its message must name. Nothing is written."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import prunemodels as pm
from prunemodels.command_line.cli import main
from tests.prunemodels.command_line.conftest import House

IN = "forest.skops --data valid.csv --costs costs.csv"
LABELLED = f"{IN} --label label"
PRUNE = f"prune {IN} --out out/p.skops"
BUDGET = f"{PRUNE} --budget 5 --method path"
CERTAIN = f"{PRUNE} --max-error 0.1 --label label"
MODEL = "prune model.txt --data valid.csv --label label --costs costs.csv --out out/x.txt"
JUDGED = "--data valid.csv --label label --costs 1"
PAGE = f"report {LABELLED} --held-out test.csv --out out/r.html"
CASCADE = "report cascade.skops --out out/r.html"
APART = "--held-out test.csv --label label"
EXITS = f"exits {LABELLED} --out out/e.skops"
LEARNED = "cascade --data valid.csv --label label --out out/c.skops --ignore w,note --costs"
TRAIN = "train --data valid.csv --label label --out out/m.skops"
EXPORT = f"export {IN} --out out/m.lp"
COMPARE = f"compare {IN}"
PAPERS = "does not go with the papers' trees"

REFUSED = {
    "a budget, a lambda, a share": [
        (f"{PRUNE} --budget -1", "--budget: '-1' .* give a finite number >= 0"),
        (f"{PRUNE} --budget much", "--budget: 'much' is not a number"),
        (f"{PRUNE} --budget 150,5", "--budget: '150,5' has a decimal comma; write 150.5; `prunemodels prune --help` lists"),
        (f"{PRUNE} --budget 1_0", "a number is written without underscores"),
        (PRUNE, "one of --budget, --limit, --lam and --max-error is required"),
        (f"{PRUNE} --budget 1 --lam 1", "--budget and --lam do not go together"),
        (f"{BUDGET} --time-limit -1", "--time-limit: '-1'"),
        (f"{BUDGET} --method fast", "--method: .*'fast'.*exact"),
        (f"{PRUNE} --max-error 0.1 --confidence 1", "--confidence: '1' .* between 0 and 1"),
        (f"{COMPARE} --budget ,", "--budget: ',' is not a number"),
        (f"{COMPARE} --lam 1 --time-limit nan", "--time-limit: 'nan' .* give seconds >= 0"),
        (f"{PAGE} --lam 0.1 --confidence 95", "'95' is not a confidence level"),
        ("demo --seeds 0", "--seeds: '0' is not a count"),
        (f"{TRAIN} --split 1", "--split: '1' is not a share"),
        (f"{BUDGET} --mistakes ill=3", "--mistakes: .*give TRUE:PREDICTED=COST, such as ill:well=10"),
        (f"{BUDGET} --mistakes 0:2=3", r"--mistakes: mistakes name '2', which is none of the classes"),
        (f"{MODEL} --budget 5 --mistakes 0:1=3", "--mistakes is for forests, model.txt holds a boosted model"),
        (f"{CASCADE} --mistakes 0:1=3", "--mistakes is for forests, but cascade.skops holds a cascade"),
        (f"{PAGE} --lam 0.1 --positive 7", r"positive is '7', which is none of the classes \['0', '1'\]"),
        (f"{BUDGET} --label label --map-labels 1", "--map-labels: '1' maps no labels; give pairs such as 1=0,2=1"),
        ("prun", "invalid choice: 'prun'"),
    ],
    "models": [
        ("prune absent.skops --data valid.csv --costs 1 --lam 1 --out out/p.skops", "FOREST: there is no file absent.skops"),
        (f"{BUDGET.replace('forest.skops', 'data.txt')}", "FOREST: data.txt begins with 'a,b'.*LightGBM"),
        (f"{BUDGET.replace('forest.skops', 'forest.joblib')}", "FOREST: .*runs any code.*--trust-pickle"),
        (f"{BUDGET.replace('forest.skops', 'torn.joblib')} --trust-pickle", "FOREST: torn.joblib cannot be read"),
        (f"{BUDGET.replace('forest.skops', 'torn.skops')}", "FOREST: torn.skops is not a skops file"),
        (f"{BUDGET.replace('forest.skops', 'unfitted.skops')}", "FOREST: the RandomForestClassifier is not fitted"),
        (
            f"{PRUNE.replace('forest.skops', 'boosted.skops')} --lam 1",
            "--label is missing: a boosted model is pruned for its loss",
        ),
        (f"evaluate ada.skops {JUDGED}", "FOREST.CASCADE: AdaBoostClassifier cannot be pruned"),
        (f"evaluate prices.json {JUDGED}", "FOREST.CASCADE: prices.json holds the keys .*; give a model of XGBoost"),
        (f"path model.json {JUDGED} --out out/x.csv", "FOREST: XGBClassifier cannot be pruned; .* prune_boosted"),
        (
            "report absent.skops --out out/r.html",
            r"^prunemodels report: FOREST\|CASCADE: there is no file absent.skops; give the",
        ),
        ("report test.csv --out out/r.html", r"FOREST\|CASCADE: test.csv has the ending '.csv'"),
        (f"check path {'x' * 300}.skops --data valid.csv --costs 1", "x" * 300),
    ],
    "tables": [
        (f"{BUDGET} --data absent.csv", "--data: there is no file absent.csv"),
        (f"{BUDGET} --data data.txt", r"--data: data.txt is no table .*\.parquet, \.xlsx: other programs save as CSV"),
        (f"{BUDGET} --data torn.parquet", "--data: torn.parquet cannot be read"),
        (f"{BUDGET} --data torn.csv.gz", "--data: torn.csv.gz cannot be read"),
        (f"{BUDGET} --data empty.csv", "--data: empty.csv cannot be read .*EmptyDataError"),
        (f"{BUDGET} --data headonly.csv", "--data: headonly.csv holds no examples"),
        (f"{BUDGET} --data headless.csv", "--data: headless.csv has no header row"),
        (f"{BUDGET} --data lacking.csv", "--data: .*lacks the column 'mean_area'.*'mean_radius"),
        (f"{BUDGET} --data wordy.csv", "--data: wordy.csv, row 1: the column 'mean_area' holds 'large', not numbers"),
        (
            f"{BUDGET} --data commas.csv",
            "--data: commas.csv: .* 'mean_area' has .* '57,9' in row 1 and '57.9' in row 2; write one",
        ),
        (f"{BUDGET} --data infinite.csv", r"--data: infinite.csv, row 1: the column .mean_area. is infinite"),
        (f"{BUDGET} --data valid_shifted.csv", "valid_shifted.csv, line 2, has 12 fields, but the header names 11 columns"),
        (f"{BUDGET} --data valid_mixed.csv", "line 2, has 1 field, .* by semicolons, the header by commas"),
        (f"{BUDGET.replace('forest.skops', 'nameless.skops')}", "--data: .*11 feature columns.*trained on 8.*--label"),
        (f"{BUDGET.replace('forest.skops', 'nameless.skops')} --label label", "trained on 8, .*; leave out with --ignore"),
        (f"{BUDGET} --ignore number", "--ignore: valid.csv has no column 'number'; it has"),
        ("evaluate model.json --data few.csv --label label --costs 1", "--data: few.csv lacks the columns 'mean_texture', "),
        ("demo --data smooth.csv", "--label: the labels of smooth are continuous"),
        ("demo --data absent", "there is no file absent"),
    ],
    "labels and weights": [
        (f"{BUDGET} --label class", "--label: .*no column 'class'.*'label'"),
        (
            f"{BUDGET} --label label --data strange.csv",
            r"row 1: 7 is no label .*has \[7\], .*; by how often they come, 7 .* is 1 ",
        ),
        (
            f"{BUDGET} --label label --data other.csv",
            r"other.csv has \[1, 2\], the model \[0, 1\]; name those that mean the same",
        ),
        (f"{BUDGET} --label label --map-labels 5=0", "--map-labels: valid.csv has no label '5'; it has '[01]', '[01]'"),
        (f"{BUDGET} --label label --data gappy.csv", "--label: gappy.csv, row 1: the column 'label' is empty"),
        (f"{BUDGET} --weights weight", "--weights: .*no column 'weight'"),
        (f"{BUDGET} --weights w --data gappy.csv", r"--weights w: gappy.csv, row \d+: the column 'w' is -1"),
        (f"{MODEL} --lam 1 --label note", "--label note: .*'as told'"),
        (f"{EXITS.replace(' --label label', '')}", "--label is missing: exits are learned from labelled examples"),
        (f"{LEARNED} 1 --data wordy.csv --label mean_area --regression", "holds 'large', and --regression .* drop --regression"),
        (f"{LEARNED} 1 --data infinite.csv", r"--data: infinite.csv, row \d+: the column '\w+' is infinite.*clip it"),
        (f"{TRAIN} --data constant.csv", "--label label: .* have 'yes'; give examples with different labels"),
        ("demo --label kind", "--label kind: scikit-learn's data have no columns to choose from"),
    ],
    "prices": [
        (f"{BUDGET} --costs -1", "--costs -1: .*negative"),
        (f"{BUDGET} --costs nan", "--costs nan: .*NaN"),
        (f"{BUDGET} --costs 1e-400", "--costs 1e-400: .*a number that a float can hold"),
        (f"{BUDGET} --costs 0_1.5", "a number is written without underscores; write 01.5"),
        (
            f"{BUDGET} --costs costs_few.csv",
            "--costs costs_few.csv: .*no price for 'mean_radius'; write a price, 0 if it is free",
        ),
        (f"{BUDGET} --costs costs_negative.csv", "--costs costs_negative.csv: .*'mean_radius'.*negative"),
        (f"{BUDGET} --costs costs_unknown.csv", "--costs costs_unknown.csv: there is no price for 'mean_area'"),
        (f"{BUDGET} --costs costs_nameless.csv", "--costs costs_nameless.csv: .*'price'.*needs 'cost'"),
        (f"{BUDGET} --costs costs_twice.csv", "costs_twice.csv names the column 'cost' twice, in the places 2 and 4"),
        (f"{BUDGET} --costs costs_comma.csv", "costs_comma.csv: the column 'cost' has .* '7,27' in row 1 and '1.5' in row 2"),
        (f"{BUDGET} --costs costs_shifted.csv", "costs_shifted.csv, line 2, has 4 fields, but the header names 3 columns"),
        (f"check path {IN} --costs 1e308", "together cost more than 1.8e\\+308"),
        (
            f"{LEARNED} costs.csv --data known.csv",
            "no price for 'number', which has another value in nearly each row .*--ignore number",
        ),
    ],
    "errors to be minimised": [
        (f"{BUDGET} --errors guessed", "--errors: .*'guessed'.*in-bag"),
        (f"{BUDGET} --errors out-of-bag --label label", "--errors out-of-bag needs .* --train FILE"),
        (f"{BUDGET} --errors given --label label", "--errors given needs .* --error-data FILE"),
        (f"{BUDGET} --train train.csv --errors given --error-data test.csv --label label", "--train is not used with"),
        (f"{BUDGET} --train train.csv", "--train needs labels: .*--label"),
        (f"{BUDGET} --train valid.csv --label label", "--errors in-bag: .*180 rows.*trained on 300"),
        (f"{BUDGET} --train lacking.csv --label label", "--train: .*lacks the column 'mean_area'"),
    ],
    "options that do not go together": [
        (f"{PRUNE} --lam 1 --method path", "--method goes with --budget, not with --lam: drop it"),
        (f"{PRUNE} --budget 5 --confidence 0.9", "--confidence goes with --max-error"),
        (f"{PRUNE} --max-error 0.1 --budget 1", "--budget and --max-error do not go together"),
        (f"{PRUNE} --max-error 0.1", "--label is missing: --max-error is tested on labelled examples"),
        (f"{PRUNE} --max-error 0.01 --label label", "--max-error: .*299 rows without a mistake"),
        (f"{EXITS} --confidence 0.9", "--confidence goes with --max-error"),
        (f"{EXITS} --max-error 2", "--max-error: max_error is 2.0; give a number between 0 and 1"),
        (f"{PRUNE} --limit splits=9 --lam 1", "--limit and --lam do not go together; give one goal, or --budget with --limit"),
        (f"{PRUNE} --budget 1 2 --proof p.npz", "--proof is for one budget at a time"),
        (f"{PRUNE} --limit many", "--limit: limit is 'many'; write a number"),
        (f"{PRUNE} --limit nothing=1", "--limit: limits.0. .'nothing'.: there is no 'nothing' to limit"),
        (f"{MODEL} --limit splits=9", "--limit is for forests, model.txt holds a boosted model"),
        (f"{CERTAIN} --method best", "--method cannot be used with --max-error"),
        (f"{CERTAIN} --errors given --error-data ./valid.csv", "--error-data names the same file"),
        (f"{CERTAIN} --train train.csv --data train.csv", "--train names the same file"),
        (f"{CERTAIN} --weights w", "--weights cannot be used with --max-error.*equal weight"),
        (f"{CERTAIN} --data one.csv", "--max-error: 1 rows leave fewer than 2 rows in one half"),
        (f"{MODEL} --lam 1 --train test.csv", "--train is for forests, model.txt holds a boosted model"),
        (f"{MODEL} --budget 1 --method exact", "--method is for forests, .* one search: drop it"),
        (f"{TRAIN} --held-out test.csv --apart-csv out/a.csv", "--apart-csv writes what --split keeps apart"),
        (f"{EXITS} --stages 1", "--stages is 1; give 2 or more"),
        (COMPARE, "one of the arguments --lam --budget is required"),
        (f"{COMPARE} --lam 1 --solvers min_cut,cut", "--solvers: .*'cut'.*there are min_cut, "),
        (f"{COMPARE} --lam 1 --solvers ,", "--solvers: .*empty"),
        (f"{COMPARE} --budget 2 --solvers min_cut", "--solvers: .*'min_cut' for a budget.*there are path, "),
        (EXPORT, "one of --lam and --budget is needed; or --formulation IP0"),
        (f"{EXPORT} --lam 1 --formulation LP1", "LP1 takes --budget, not --lam"),
        (f"{EXPORT} --budget 1 --formulation IP1", "IP1 takes --lam, not --budget; .*with LP1"),
        (f"{EXPORT} --formulation LP1", "LP1 needs --budget"),
        (f"{EXPORT} --formulation closure", "closure needs --lam"),
        (f"{EXPORT} --formulation IP0 --lam 1", "IP0 .*takes no --lam"),
        (f"{EXPORT} --formulation IP0 --merge", "IP0 .*takes no --merge"),
        (f"{EXPORT} --formulation IP4", "--formulation: .*'IP4'.*IP3"),
        (f"{EXPORT} --formulation IP2 --lam 1", "--formulation IP2: .*8 trees.*use IP3"),
    ],
    "held-out files": [
        (f"{BUDGET} --held-out valid.csv", "--held-out names the same file as --data, .* kept apart"),
        (f"{BUDGET} --held-out copy.csv", "--held-out is a copy of the file of --data, .* kept apart"),
        (f"{BUDGET} --held-out part.csv", "--held-out part.csv: all of its 40 examples are in valid.csv, too"),
        (f"{BUDGET} --held-out absent.csv", "--held-out: there is no file absent.csv"),
        (f"{BUDGET} --held-out lacking.csv", "--held-out: .*lacks the column 'mean_area'"),
        (f"{BUDGET} --label label --held-out unlabelled.csv", "--label: unlabelled.csv has no column 'label'"),
        (f"{BUDGET} --label label --data train.csv --held-out one.csv", "--held-out one.csv: .*at least 2 examples"),
        (f"path {IN} --held-out test.csv --out out/p.csv", "--label is missing: the screen shows the error on --held-out"),
        (f"{EXITS} --held-out valid.csv", "--held-out names the same file as --data, from which the policy is learned"),
        (f"{TRAIN} --held-out valid.csv", "--held-out names the same file as --data, on which the model is trained"),
        (f"{PAGE} --lam 0.1 --held-out valid.csv", "--held-out names the same file as --data"),
        (f"{PAGE} --lam 0.1 --train test.csv", "--held-out names the same file as --train"),
    ],
    "pages": [
        (f"report {IN} --held-out test.csv --lam 1 --out out/r.html", "--label is missing: .* name the label column"),
        ("report forest.skops --lam 0.1 --out out/r.html", "--data is missing: a page on a pruned forest needs it"),
        ("report forest.skops --data valid.csv --lam 0.1 --out out/r.html", "--costs is missing"),
        (f"{PAGE} --lam 0.1 --method path", "--method goes with --budget"),
        (f"{PAGE} --pruned forest.pkl", "--pruned: forest.pkl has the ending"),
        (PAGE, "one of --budget, --limit, --lam and --pruned is required"),
        (f"{PAGE.replace('forest.skops', 'model.json')} --pruned x.json", "--pruned is for forests"),
        (f"{CASCADE} --data test.csv", "--data is for forests, but cascade.skops holds a cascade, which has its own prices"),
        (f"{CASCADE} --held-out test.csv", "--label is missing: the page shows the error on --held-out"),
        (f"{CASCADE} --label label", "--label names a column of --held-out, which is missing"),
        (f"{CASCADE} {APART} --label z", "--label: test.csv has no column 'z'"),
        (f"{CASCADE} {APART} --label mean_radius", "--label: the cascade reads the column 'mean_radius'; name another"),
        (f"{CASCADE} --held-out few.csv --label label", "--held-out: few.csv lacks the columns 'mean_texture', "),
        (f"{CASCADE} --held-out strange.csv --label label", "--label label: strange.csv, row 1: 7 is no label of the model"),
        (f"{CASCADE} --budget 0.5", "--budget 0.5: budget is 0.5, the cheapest policy costs 1; give at least that"),
    ],
    "outputs": [
        (f"{BUDGET} --out absent/p.skops", "--out: the folder absent of p.skops does not exist"),
        (f"{BUDGET} --out out/p.pkl", "--out: .*'.pkl'.*.skops, .joblib"),
        (f"{BUDGET} --path-csv out/path.txt", "--path-csv: .*'.txt'.*.csv"),
        (f"{BUDGET} --picture out/picture.gif", "--picture: .*'.gif'.*.png or .svg"),
        (f"{MODEL} --lam 1 --out out/x.json", r"--out: out/x.json has the ending .* \.txt"),
        (f"{EXPORT} --lam 1 --out out/m.txt", "--out: .*'.txt'.*.lp, .mps, .lp.gz, .mps.gz"),
        (f"{EXPORT} --lam 1 --out out/m.gz", "--out: .*'.gz'.*.lp.gz"),
        ("demo --out absent/out", "the folder absent of out does not exist"),
        ("demo --out data.txt", "--out: data.txt is a file; give a folder"),
    ],
    "checks": [
        ("check tu forest.skops", "--data is needed to set up the problem of the forest forest.skops"),
        ("check tu papers --data valid.csv", f"--data {PAPERS}"),
        ("check tu circle.npy --formulation IP3", "--formulation belongs to a forest; drop it for a matrix"),
        ("check tu circle.npy --method guess", "--method: there is no method 'guess'; there are network"),
        ("check tu circle.npy --method subdeterminants --certificate x.npz", "drop one"),
        ("check tu circle.npy --out tree.txt", "--out: tree.txt has the ending '.txt'"),
        ("check tu circle", "'circle' ends in none of .skops, .joblib, .npy"),
        ("check tu absent.npy", "MATRIX: there is no file absent.npy"),
        ("check tu papers --formulation IP2", "--formulation IP2: IP2 is the one-tree case"),
        ("check tu papers --formulation IP0 --merge", "takes no --merge"),
        ("check integrality circle.npy --sides 1,2", "--sides has 2 numbers, the matrix 3 rows; give one, or one for each"),
        ("check integrality papers --sides 1", "--sides belongs to a matrix; .* drop it"),
        ("check integrality papers --budget 1", "--budget is a side of LP1, which IP3 does not have"),
        ("check path circle.npy", "'circle.npy' ends in none of .skops, .joblib, and is not"),
        ("check solution papers --lam 1 --solver guess", "--solver: there is no solver 'guess'; there are "),
        (f"check solution {LABELLED} --lam 1 --pruned stranger.skops", "--pruned: the pruned forest has 3 trees"),
        ("check solution papers --lam 1 --solver price_sharing --pruned a.skops", "--solver and --pruned exclude each other"),
        (f"check path {LABELLED} --table valid.csv", "--table: valid.csv has no column"),
    ],
}

TWICE = re.compile(r"(FOREST|MATRIX|CASCADE|--\S+): (FOREST|MATRIX|CASCADE|--)")  # the name of an option twice


@pytest.mark.parametrize("kind", REFUSED)
def test_bad_inputs_are_refused(
    house: House, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Status 2 and one line that names the option once, the value and the remedy; nothing is learned, written, nor printed."""
    monkeypatch.setattr(pm.BudgetCascadeClassifier, "_chains", lambda *_: pytest.fail("models were fitted"))
    before, wrong = sorted(p.name for p in Path.cwd().rglob("*")), []
    for line, message in REFUSED[kind]:
        status, told = main(shlex.split(line)), capsys.readouterr()
        sound = re.match(r"prunemodels( \S+)*: ", told.err) and not TWICE.search(told.err) and told.err.count("\n") == 1
        if (status, told.out) != (2, "") or not sound or not re.search(message, told.err):
            wrong.append((line, status, told))
        assert sorted(p.name for p in Path.cwd().rglob("*")) == before, line
    assert wrong == []
