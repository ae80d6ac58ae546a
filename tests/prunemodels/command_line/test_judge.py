"""The commands that judge, and tables of prices."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import prunemodels as pm
from prunemodels.cascades import budget_cascade
from prunemodels.cascades.cascade_files import load_cascade
from prunemodels.command_line import examples
from prunemodels.command_line.cli import main
from prunemodels.stages.table_preparation import prepared
from tests.prunemodels.command_line.conftest import House, screen, told


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Patients with words, dates, gaps and identifiers; semicolons, decimal commas and umlauts in one of the files."""
    rng, n = np.random.default_rng(3), 360
    X = pd.DataFrame({"patient": [f"P{k:04d}" for k in range(n)], "age": rng.integers(20, 90, n).astype(float)})
    X["town"] = rng.choice(["K\xf6ln", "M\xfcnster", "Berlin"], n)
    days = pd.to_timedelta(rng.integers(0, 400, n), unit="D")
    X["admitted"] = (pd.Timestamp("2024-01-01") + pd.Series(days)).dt.strftime("%Y-%m-%d")
    X["pressure"] = rng.normal(120, 10, n).round(1)
    ill = X.pressure + 40 * (X.town == "K\xf6ln") - 0.3 * X.age > 115
    X["diagnosis"] = np.where(ill, "krank", "gesund")
    X.loc[::7, "age"], X.loc[::11, "town"] = np.nan, None
    X[:240].to_csv(tmp_path / "clinic.csv", sep=";", decimal=",", index=False, encoding="latin-1")
    X[240:].to_csv(tmp_path / "test.csv", index=False, encoding="utf-8-sig")
    (tmp_path / "prices.csv").write_text("feature;cost;needs\nage;0;\ntown;0;\nadmitted;1,5;age, town\npressure;7,27;\n")
    monkeypatch.chdir(tmp_path)
    return X


@pytest.mark.slow
@pytest.mark.parametrize("model", ["forest", "boosted"])
def test_from_a_table_to_a_cascade(
    clinic: pd.DataFrame, model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Train, evaluate, prune and exits on a table with words, dates and gaps; each figure is that of the Python call."""
    trained = f"train --data clinic.csv --label diagnosis --ignore patient --model {model} --trees 6 --apart-csv apart.csv"
    r = told(capsys, f"{trained} --out m.skops")
    saved, apart = pm.load_forest("m.skops"), pd.read_csv("apart.csv")
    assert (r["examples"], r["held_out_examples"], len(apart)) == (144, 96, 96)
    columns = ["age", "town", "admitted", "pressure"]
    assert r["held_out_error"] == pytest.approx(np.mean(saved.predict(apart[columns]) != apart.diagnosis))
    assert r["held_out_error"] < r["plain_error"] == pytest.approx(np.mean(apart.diagnosis != "gesund"), abs=0.5)
    prices = {"age": 0, "town": 0, "admitted": 1.5, "pressure": 7.27}
    rows = "--label diagnosis --costs prices.csv"
    seen = told(capsys, f"evaluate m.skops --data test.csv {rows}")
    measured = pm.evaluate(saved, clinic[columns][240:], clinic.diagnosis[240:], costs=prices)
    assert [seen["figures"][k] for k in ("cost", "error")] == pytest.approx([measured.cost, measured.error])
    pruned = told(capsys, f"prune m.skops --data apart.csv {rows} --budget 9 --held-out test.csv --out cheap.skops")
    assert 0 < pruned["pruned"]["cost"] <= 9
    again = pm.evaluate(pm.load_forest("cheap.skops"), clinic[columns][240:], clinic.diagnosis[240:], costs=prices)
    assert pruned["held_out"]["cost_after"]["mean"] == pytest.approx(again.cost)
    if model == "forest":
        told(capsys, f"exits m.skops --data apart.csv {rows} --stages 3 --held-out test.csv --out e.skops")
        assert load_cascade("e.skops").exit_path_.stages.n_stages > 1
        told(capsys, f"report m.skops --data apart.csv {rows} --lam 0.01 --held-out test.csv --out page.html")
        small = HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5, early_stopping=False)
        monkeypatch.setattr(budget_cascade, "stage_models", lambda *_, **__: (prepared(small, "boosted"),))
        r = told(capsys, f"cascade --data clinic.csv --ignore patient {rows} --stages 2 --held-out test.csv --out c.skops")
        cascade, apart = load_cascade("c.skops"), clinic[240:]
        assert list(cascade.feature_names_in_) == columns
        paid, right = cascade.prediction_cost(apart[columns]).mean(), cascade.score(apart[columns], apart.diagnosis)
        page = told(capsys, "report c.skops --held-out test.csv --label diagnosis --out cascade.html")
        for seen in (r["held_out"], page["held_out"]):
            assert [seen[k]["mean"] for k in ("cost_after", "error_after")] == pytest.approx([paid, 1 - right])


@pytest.mark.parametrize("model", ["forest", "boosted"])
def test_a_table_means_the_same_however_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], model: str
) -> None:
    """Thousands, decimal commas, words for gaps and empty columns: the model, its prices and its errors are those of the plain
    table, and the terminal says what was taken.
    """
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(1), 240
    plain = pd.DataFrame({"age": rng.integers(20, 90, n).astype(float), "income": rng.integers(300, 9000, n)})
    plain["weight"] = rng.normal(70, 9, n).round(1)
    plain["ill"] = np.where((plain.age > 50) ^ (plain.income > 6000), "yes", "no")
    plain.loc[[3, 60, 120, 170, 239], "age"] = np.nan
    plain["late"] = [np.nan] * (n - 1) + [5.0]
    other = plain.copy()
    other["age"] = plain.age.map(lambda age: "?" if np.isnan(age) else f"{age:.0f}")
    other["income"] = plain.income.map(lambda income: f"{income:,}".replace(",", "."))
    plain.to_csv("plain.csv", index=False)
    other.assign(none=None).to_csv("other.csv", index=False, sep=";", decimal=",")
    other.to_excel("other.xlsx", index=False)
    Path("prices.csv").write_text("feature;cost\nage;1.200\nincome;7,27\nweight;2\n")
    errors, costs = [], []
    for file in ("plain.csv", "other.csv"):
        r = told(capsys, f"train --data {file} --label ill --model {model} --trees 5 --ignore late --out m.skops --force")
        errors.append((r["features"], r["held_out_error"], r["training_error"]))
        for seen in ("plain.csv", "other.csv", "other.xlsx"):
            figures = told(capsys, f"evaluate m.skops --data {seen} --label ill --ignore late --decimal comma --costs prices.csv")
            costs.append((figures["figures"]["cost"], figures["figures"]["error"]))
        assert figures["read"][-1] == "prices.csv: points for thousands in cost; decimal comma in cost"
    assert (len({*errors}), len({*costs}), errors[0][0]) == (1, 1, 3)
    words, empty = r["read"]
    assert words == "other.csv: decimal comma in weight; points for thousands in income; `?` is missing in age: 5 of 240"
    assert "'none' left out" in empty
    last = told(capsys, f"train --data other.csv --label ill --model {model} --trees 5 --seed 1 --out m.skops --force")
    assert last["features"] == 3 + ("late" not in "".join(last["read"]))


def test_codes_for_missing_values_are_told_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """-999 and 0 far from all others; not a 0 among small numbers, nor a code that comes once."""
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(1), 200
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(60, 5, n), "c": rng.integers(0, 40, n), "d": rng.normal(size=n)})
    X.loc[:4, "a"], X.loc[7:9, "b"], X.loc[11, "d"] = -999, 0, 999
    X.assign(y=X.a > 0).to_csv("t.csv", index=False)
    r = told(capsys, "train --data t.csv --label y --trees 3 --model boosted --out m.skops")
    assert [hint.split("'")[1] for hint in r["hints"]] == ["a", "b"]
    assert [number in hint for number, hint in zip(("is -999 in 5 of 200", "is 0 in 3 of 200"), r["hints"], strict=True)] == [
        True
    ] * 2
    assert "left out" not in "".join(r["read"])


def test_what_was_trained_on_is_not_called_held_out(clinic: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    """Of --data the rows that `train` took are counted, by their fingerprints; of a model that does not know its rows nothing
    is said.
    """
    told(capsys, "train --data clinic.csv --label diagnosis --ignore patient --trees 3 --apart-csv apart.csv --out m.skops")
    words = "prune m.skops --label diagnosis --costs prices.csv --budget 9 --out c.skops --force --data"
    for file, trained, said in (
        ("clinic.csv", 144, "On 240 examples, on 144 of which the forest was trained, so the error is too low."),
        ("apart.csv", 0, "On 96 examples, held out from the training."),
    ):
        assert told(capsys, f"{words} {file}")["in_training"] == trained
        assert main([*words.split(), file]) == 0
        assert said in capsys.readouterr().out
    model = pm.load_forest("m.skops")
    del model.training_prints_
    pm.save_forest(model, "other.skops")
    assert main(["prune", "other.skops", *words.split()[2:], "clinic.csv"]) == 0
    assert "On 240 examples. " in capsys.readouterr().out


def test_evaluate_takes_cascades_with_intervals(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """Cost, error and classes are those of calling the cascade; its own prices count, and others are refused."""
    X, y = house.apart[["mean_radius", "mean_texture", "mean_smoothness"]], house.apart_y.to_numpy()
    cascade, words = load_cascade("cascade.skops"), "evaluate cascade.skops --data test.csv --label label --positive 0"
    seen, paid, wrong = told(capsys, words), cascade.prediction_cost(X), cascade.predict(X) != y
    assert [seen["cost"]["mean"], seen["figures"]["cost"]] == pytest.approx([paid.mean()] * 2)
    t = stats.t.ppf(0.975, len(y) - 1) * paid.std(ddof=1) / np.sqrt(len(y))
    assert [seen["cost"]["low"], seen["cost"]["high"]] == pytest.approx([paid.mean() - t, paid.mean() + t])
    exact = stats.binomtest(int(wrong.sum()), len(y)).proportion_ci(0.95, "exact")
    assert [seen["error"][k] for k in ("mean", "low", "high")] == pytest.approx([wrong.mean(), exact.low, exact.high])
    (found,) = seen["classes"]["sensitivity"]["rates"]
    assert (found["count"], found["of"]) == ((~wrong & (y == 0)).sum(), (y == 0).sum())
    assert "0" in seen["classes"]["sensitivity"]["name"]
    assert told(capsys, f"{words} --budget 1.6")["cost"]["mean"] == pytest.approx(cascade.at_cost(1.6).prediction_cost(X).mean())
    same = pd.DataFrame({"feature": X.columns, "cost": [1, 0.5, 1]})
    same.to_csv("same.csv", index=False)
    told(capsys, f"{words} --costs same.csv")
    assert main([*words.split(), "--costs", "2"]) == 2
    assert "the cascade was made with 'mean_radius' at 1" in capsys.readouterr().err
    assert main(["evaluate", "forest.skops", "--data", "test.csv", "--label", "label"]) == 2
    assert "--costs is missing: forest.skops was not pruned with prices" in capsys.readouterr().err


def test_two_models_are_compared_on_the_same_rows(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors by the exact sign test, costs by pairs; either order, a cascade or a forest; each by the name of its file."""
    X, y = house.apart, house.apart_y.to_numpy()
    cascade, forest = load_cascade("cascade.skops"), house.forest
    rows = "--data test.csv --label label --costs prices.csv"
    pd.DataFrame({"feature": X.columns, "cost": [1, 0.5, 9, 9, 1, 9, 9, 9]}).to_csv("prices.csv", index=False)
    seen = told(capsys, f"evaluate cascade.skops {rows} --against forest.skops")
    a = cascade.predict(X[["mean_radius", "mean_texture", "mean_smoothness"]]) != y
    b = forest.predict(X) != y
    change, worse, better = seen["change"], int((a & ~b).sum()), int((b & ~a).sum())
    assert (change["broken"], change["mended"]) == (worse, better)
    assert change["increase"]["mean"] == pytest.approx(a.mean() - b.mean())
    assert seen["sign_test"] == pytest.approx(stats.binomtest(better, worse + better).pvalue)
    problem = pm.problem_from_forest(forest, X, costs=pd.read_csv("prices.csv"))
    paid = problem.usage.row_costs(problem.ensemble.is_split)
    saved = paid - cascade.prediction_cost(X[["mean_radius", "mean_texture", "mean_smoothness"]])
    assert change["saving"]["mean"] == pytest.approx(saved.mean())
    t = stats.t.ppf(0.975, len(y) - 1) * saved.std(ddof=1) / np.sqrt(len(y))
    assert change["saving"]["high"] == pytest.approx(saved.mean() + t)
    assert change["names"] == ["forest.skops", "cascade.skops"]
    back = told(capsys, f"evaluate forest.skops {rows} --against cascade.skops")["change"]
    assert (back["mended"], back["broken"]) == (worse, better)
    text = screen(capsys, f"evaluate cascade.skops {rows} --against forest.skops")
    assert "cascade.skops against forest.skops, on 89 examples" in text
    assert "before" not in text
    assert main([*f"evaluate forest.skops {rows} --against forest.skops".split()]) == 2
    assert "--against names the file of FOREST" in capsys.readouterr().err


@pytest.mark.parametrize("file", ["forest.skops", "cascade.skops"])
def test_labels_are_paired_by_how_often_they_come(
    house: House, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    """Other labels are refused with the pairing by prevalence, whatever their order, as a command that runs; on a terminal the
    user is asked, and y does the same.
    """
    table = pd.read_csv("test.csv")
    common = int(table.label.mean() > 0.5)  # in training as here
    table.assign(label=np.where(table.label == common, "z usual", "a rare")).to_csv("two_words.csv", index=False)
    words = f"evaluate {file} --data two_words.csv --label label" + " --costs costs.csv" * (file == "forest.skops")
    assert main(words.split()) == 2
    said = capsys.readouterr().err
    assert "by how often they come, z usual (" in said
    command = shlex.split(said[said.index("prunemodels evaluate", 30) :])
    assert command[-1] == f"z usual={common},a rare={1 - common}"
    right = told(capsys, words.replace("two_words.csv", "test.csv"))["figures"]["error"]
    assert told(capsys, shlex.join(command[1:]))["figures"]["error"] == right
    for answer, status in (("y", 0), ("n", 2)):
        asked = list[str]()
        monkeypatch.setattr(examples, "agreed", lambda _, question, a=answer, seen=asked: seen.append(question) or a == "y")
        assert main(words.split()) == status
        assert asked[0].endswith(f"as by --map-labels 'z usual={common},a rare={1 - common}'.")
        assert ("class" in capsys.readouterr().out) == (status == 0) or status == 0


def test_a_cascade_of_dear_mistakes_is_judged_by_what_they_cost(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """Error and measure are those of `evaluate`; a forest, which was made for another loss, is judged by these mistakes, too."""
    X, y = house.apart, house.apart_y.to_numpy()
    words = "exits forest.skops --data valid.csv --label label --ignore w,note --costs costs.csv --stages 3"
    told(capsys, f"{words} --mistakes 0:1=10 --out m.skops")
    cascade = load_cascade("m.skops")
    seen = told(capsys, "evaluate m.skops --data test.csv --label label --against forest.skops --costs costs.csv")
    figures = pm.evaluate(cascade, X, y)
    assert figures.measure == seen["figures"]["measure"] != "error rate"
    assert seen["error"]["mean"] == pytest.approx(figures.error)
    paid = [np.where(y == 0, 10, 1) * (model.predict(X) != y) for model in (house.forest, cascade)]
    assert [seen["change"][name]["mean"] for name in ("error_before", "error_after")] == pytest.approx(
        [one.mean() for one in paid]
    )
    assert seen["change"]["measure"] == "mean misclassification cost"
    change = pm.evaluate(cascade, X, y, against=house.forest, costs=house.costs)
    assert change.increase.mean == pytest.approx((paid[1] - paid[0]).mean())
    for name in ("increase", "saving"):
        assert [getattr(change, name).low, getattr(change, name).high] == [seen["change"][name][end] for end in ("low", "high")]


def test_what_cannot_be_compared_is_refused(house: House) -> None:
    """Groups without a comparison, limits with one, models of other labels, and prices that are not the cascade's."""
    X, y = house.apart, house.apart_y.to_numpy()
    words = RandomForestClassifier(2, random_state=0).fit(X, np.where(y, "a", "b"))
    cascade = pm.CascadeClassifier([(house.forest, None)] * 2, costs=1, random_state=0, cv=2).fit(X, y)
    for options, wanted in (
        ({"groups": y}, "groups are of intervals, which a comparison has"),
        ({"against": words}, "against answers .*a.*, the model .*0"),
        ({"against": house.forest, "limits": [pm.Limit(3, "cost")]}, "without limits"),
        ({"against": cascade, "costs": 2}, "price"),
    ):
        with pytest.raises(pm.errors.InvalidInputError, match=wanted):
            pm.evaluate(house.forest, X, y, **{"costs": 1, **options})


EVALUATE = "evaluate forest.skops --data test.csv --label label"


def test_prices_of_other_tests_are_counted(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """A list that prices more than the columns gives the same costs, and says how many of its prices are of no column; an item
    that a column needs counts, though the column of its own is not in the table.
    """
    before = told(capsys, f"{EVALUATE} --costs costs.csv")
    more = pd.DataFrame({"feature": ["ct", "blood draw", "swab"], "cost": [90, 3, 5]})
    pd.concat([house.costs, more]).to_csv("list.csv", index=False)
    after = told(capsys, f"{EVALUATE} --costs list.csv")
    assert after["figures"] == before["figures"]
    assert "list.csv: 3 prices are of no column here: 'ct', 'blood draw', 'swab'" in after["read"]
    chain = pd.concat([more, pd.DataFrame({"feature": ["tube"], "cost": [2]})]).assign(needs=[None, "tube", None, None])
    needs = house.costs.assign(item=None, needs=[None, "blood draw", None, "blood draw", *[None] * 4])
    pd.concat([needs, chain]).to_csv("needs.csv", index=False)
    needs.drop(columns="needs").to_csv("plain.csv", index=False)
    alone = told(capsys, f"{EVALUATE} --costs plain.csv")["figures"]["cost"]
    dearer = told(capsys, f"{EVALUATE} --costs needs.csv")["figures"]["cost"]
    assert dearer == pytest.approx(alone + 5)  # the draw and its tube


def test_missing_prices_are_named_all_at_once_with_what_may_be_meant(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """All columns without a price, and the names of the list that differ in case, blanks and hyphens alone."""
    other = {"mean_area": "Mean Area", "mean_radius": "mean-radius", "mean_texture": "texture"}
    house.costs.assign(feature=house.costs.feature.replace(other)).to_csv("list.csv", index=False)
    assert main([*EVALUATE.split(), "--costs", "list.csv"]) == 2
    said = capsys.readouterr().err
    assert "there is no price for 'mean_radius', 'mean_texture', 'mean_area'" in said
    assert "perhaps it says 'mean-radius' for 'mean_radius', 'Mean Area' for 'mean_area'" in said
