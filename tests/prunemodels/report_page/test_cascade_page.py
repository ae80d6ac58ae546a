"""The page on a cascade: what it says is what the kernels count, for whoever reads it, on any kind of stages."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import prunemodels as pm
from prunemodels.cascades.cascade import Cascade
from prunemodels.cascades.evaluation import evaluate_exit_path
from prunemodels.cascades.forest_exits import cascade_of
from prunemodels.report_page import report_page, write_report
from prunemodels.report_page.cascade import found_in_fitting
from prunemodels.stages.policy import ExitPolicy
from prunemodels.statements.wording import amount, error
from tests.prunemodels.cascade_cases import KINDS, Kind, case, middle
from tests.prunemodels.cascades.tables import TableStages, random_table
from tests.prunemodels.report_page.cascade_cases import ROWS, TRUTH, cells, hand_cascade, hand_path, paragraph
from tests.prunemodels.report_page.cases import HOSTILE, Page, check_alone, check_markup, check_page, classifier, features


def shown(kind: Kind) -> Cascade:
    """The cascade of a kind by which its rows stop at the most stages."""
    return case(kind).cascade.at_row(middle(kind))


def number(cell: str) -> float:
    """What a cell says."""
    return float(cell.replace(",", "").replace("\u2212", "-").replace(" %", "e-2"))


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """Every kind on rows and, behind "no ", without, and the hand-made one."""
    found = {}
    for kind in KINDS:
        found[kind] = report_page(shown(kind), case(kind).X, case(kind).y)
        found[f"no {kind}"] = report_page(shown(kind))
    options = {"title": 'Clinic <"7">', "unit": "<euros>", "command": "prunemodels report '<c>'", "sources": {"file": "a & <b>"}}
    return {**found, "hand": report_page(hand_cascade(), ROWS, TRUTH, **options)}


ALL = [*KINDS, *(f"no {kind}" for kind in KINDS), "hand"]


@pytest.mark.slow_cases("numbers", "prunings", "three classes")
@pytest.mark.parametrize("kind", ALL)
def test_the_page_is_sound(pages: dict[str, str], kind: str) -> None:
    """Its markup, that it loads nothing, and that it can be read without seeing it, as on the page of a pruning."""
    check_page(pages[kind], tables=4, pictures=1 if kind.startswith("no ") else 4)


def test_the_stages_by_hand(pages: dict[str, str]) -> None:
    """Who comes, stops and errs, what is bought and paid: worked out in `cascade_cases`; 5/8 pay 2, 3/8 pay 5, all of them 4."""
    assert cells(pages["hand"], "stages-table") == [
        ["stage 0: nothing new to pay / reads 1 feature; free: age", "0", "100.0 %", "3 (37.5 %)", "33.33 %", "0"],
        ["stage 1: visit / reads 3 features; new: pulse, pressure", "2", "62.5 %", "2 (25.0 %)", "50.00 %", "1.25"],
        ["stage 2: scan, licence / reads 4 features", "5, and 4 once for all", "37.5 %", "3 (37.5 %)", "33.33 %", "7.125"],
    ]
    assert cells(pages["hand"], "who") == [
        ["stage 0", "37.5 %", "0", "33.33 %", "nothing"],
        ["stage 1", "25.0 %", "2", "50.00 %", "visit"],
        ["stage 2", "37.5 %", "7", "33.33 %", "visit, scan, licence"],
    ]
    assert cells(pages["hand"], "singles") == [
        ["stage 0", "0", "50.00 %"],  # rows 2, 3, 4 and 7
        ["stage 1", "2", "12.50 %"],  # row 4
        ["stage 2", "11", "25.00 %"],  # rows 4 and 7
    ]


def test_the_headline_by_hand(pages: dict[str, str]) -> None:
    """25/8 + 4 instead of 7 + 4, three of eight wrong instead of two; row 2 alone is answered worse, none better."""
    assert paragraph(pages["hand"], 0) == (
        "On 8 held-out examples a prediction costs 7.125 <euros> instead of 11, 35 % less, and 37.50 % of the predictions are "
        "wrong instead of 25.00 %, compared with sending everybody to the last of 3 stages."
    )
    assert paragraph(pages["hand"], 1) == (
        "Of 8 examples, 3 (38 %) stop at stage 0, 2 (25 %) at stage 1 and 3 (38 %) at stage 2. The first stage is stage 0."
    )
    assert paragraph(pages["hand"], 2) == (
        "Of 100 examples that are “1”, it misses about 25; before, about 25. Of 100 others, it calls about 50 “1” by mistake; "
        "before, about 25."
    )
    assert "The saving per prediction is 3.875 " in paragraph(pages["hand"], 3)
    assert "1 prediction went from right to wrong, 0 from wrong to right" in paragraph(pages["hand"], 3)
    text = Page(pages["hand"]).text().replace("\u00a0", " ")
    assert re.search(r"Cost per prediction, <euros>\s+11 →\s+7.125\s", text)
    assert re.search(r"Predictions that are wrong\s+25.0 →\s+37.5 %\s", text)
    assert re.search(r"Stages per prediction\s+3 →\s+2\s", text)  # 3/8 hear one stage, 2/8 two, 3/8 three
    assert re.search(r"Items bought per prediction\s+1\s+of 2 with a price", text)  # 5/8 the visit, 3/8 the scan


@pytest.mark.parametrize("kind", KINDS)
def test_figures_are_those_of_the_evaluation(pages: dict[str, str], kind: Kind) -> None:
    """Every policy, every single stage, and the chosen policy as `evaluate_exit_path` and `evaluate` have them, rounded."""
    known, cascade = case(kind), shown(kind)
    seen = evaluate_exit_path(cascade, known.X, known.y)
    task = cascade.exit_path_.stages.task
    points = {(row[3], row[4].split(" (")[0]) for row in cells(pages[kind], "policies")}
    every = {(amount(c), error(e, task).replace("\u00a0", " ")) for c, e in zip(seen.cost, seen.error, strict=True)}
    assert points <= every
    assert len(points) > 1
    for s, row in enumerate(cells(pages[kind], "singles")):
        mean = np.mean(seen.table.cost[s]) + seen.table.once[s]
        assert row[0] == f"stage {s}"
        assert number(row[1]) == pytest.approx(mean, rel=6e-4)
        assert number(row[2]) == pytest.approx(seen.loss[s].mean(), rel=6e-4, abs=6e-5)
    told = pm.evaluate(cascade, known.X, known.y)
    lede = paragraph(pages[kind], 0)
    assert f"costs {amount(told.cost)} instead of {cells(pages[kind], 'singles')[-1][1]}," in lede
    assert error(told.error, task).replace("\u00a0", " ") in lede
    assert ("mean squared error" in lede) == (task == "regression")
    rows = cells(pages[kind], "stages-table")
    assert number(rows[-1][5]) == pytest.approx(told.cost, rel=6e-4)
    stopped = np.bincount(cascade.stop_stages(known.X), minlength=len(rows))
    assert [int(row[3].split()[0]) for row in rows] == stopped.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_without_rows_the_figures_are_those_of_fitting(pages: dict[str, str], kind: Kind) -> None:
    """`cost_`, `held_out_cost_` and `held_out_error_`, the page says so, and does not tell who stops where."""
    cascade, page = shown(kind), pages[f"no {kind}"]
    task, n = cascade.exit_path_.stages.task, cascade.exit_path_.n
    said = error(cascade.held_out_error_, task).replace("\u00a0", " ")
    assert paragraph(page, 0).startswith(f"Cross-fitted on {n:,} examples a prediction costs {amount(cascade.held_out_cost_)} ")
    assert said in paragraph(page, 0)
    assert paragraph(page, 1).startswith("No held-out examples were given, so these figures come from fitting.")
    own, crossed, given = cells(page, "honesty")
    assert own[1:] == [
        f"{cascade.exit_path_.sample.own.sum():,}",
        amount(cascade.cost_),
        error(cascade.error_, task).replace("\u00a0", " "),
    ]
    assert crossed[1:] == [f"{n:,}", amount(cascade.held_out_cost_), said]
    assert given[1:] == ["none", "", ""]
    assert cells(page, "stages-table")[-1][4] == amount(cascade.cost_)
    assert 'id="stops"' not in page


def test_a_budget_chooses_the_policy() -> None:
    """The page says the cascade's own policy, or the one within a budget, as the cascade itself does."""
    known = case("prunings")
    budget = float(known.path.cost[middle("prunings")])
    for options, cascade in (({}, known.cascade), ({"budget": budget}, known.cascade.at_cost(budget))):
        page = report_page(known.cascade, known.X, known.y, **options)
        assert f"costs {amount(pm.evaluate(cascade, known.X, known.y).cost)} instead of" in paragraph(page, 1 if options else 0)
        assert bool(options) == (f"budget of {amount(budget)}: the" in paragraph(page, 0))


def test_stages_that_are_never_asked_are_folded() -> None:
    """By row 2 of the hand-made path everybody stops at stage 0: the others say what they would buy, in a part of their own."""
    page = report_page(cascade_of(hand_path()).at_row(2), ROWS, TRUTH)
    assert [row[0].split(" / ")[0] for row in cells(page, "stages-table")] == ["stage 0: nothing new to pay"]
    assert [row[:4] for row in cells(page, "more-stages")] == [
        ["stage 1: visit / reads 3 features; new: pulse, pressure", "2", "0.0 %", "0 (0.0 %)"],
        ["stage 2: scan, licence / reads 4 features", "5, and 4 once for all", "0.0 %", "0 (0.0 %)"],
    ]
    assert "2 more stages, which the policy never asks" in page
    assert "Of 8 examples, 8 (100 %) stop at stage 0." in paragraph(page, 1)


def test_one_stage_has_no_exit() -> None:
    """A cascade of one stage is told as such, and nothing is divided by nothing."""
    known = case("sets")
    model = pm.CascadeClassifier([(LogisticRegression(), ["a", "b"])], 1, cv=2, random_state=0).fit(known.X, known.y)
    for page in (report_page(model, known.X, known.y), report_page(model)):
        check_markup(page)
        assert paragraph(page, 0).endswith(": there is one stage, and no exit.")
        assert "Verified." in page


def test_stages_that_do_not_say_what_they_read() -> None:
    """Stages of the user's own are told without what they buy; figures stay those of the evaluation."""
    table, truth, _ = random_table(8, 80)
    labels = np.array(["a", "b", "c"])[: table.value.shape[2]]
    X = np.arange(80)[:, None]
    model = pm.CascadeClassifier(TableStages(table, labels), doubt="margin", random_state=0).fit(X, labels[truth])
    page = report_page(model, X, labels[truth])
    check_markup(page)
    assert [row[0] for row in cells(page, "stages-table")] == [f"stage {s}" for s in range(model.policy_.last_stage + 1)]
    assert "The stages do not say what they read" in page
    assert f"costs {amount(evaluate_exit_path(model, X).mean_cost(model.policy_))} instead" in paragraph(page, 0)
    assert "Items bought per prediction" not in page


@pytest.mark.slow
def test_weights_count() -> None:
    """A row of weight 2 is two rows, a row of weight 0 is none: in shares, means, errors and purchases."""
    for kind in ("sets", "prunings", "numbers"):
        known = case(kind)
        w = np.where(np.arange(len(known.y)) < 20, 2.0, 1.0)
        w[50:70] = 0
        rows = np.concatenate([np.arange(50), np.arange(70, len(known.y)), np.arange(20)])
        one = report_page(shown(kind), known.X, known.y, sample_weight=w)
        other = report_page(shown(kind), known.X.iloc[rows], known.y[rows])
        for part in ("stages-table", "who", "policies", "singles"):
            for a, b in zip(cells(one, part), cells(other, part), strict=True):
                a, b = (
                    [re.sub(r"^\d+ \(| \(.* to .*", "", cell) for cell in row] for row in (a, b)
                )  # rows are counted as they stand
                assert a == b
        assert paragraph(one, 0).split("examples")[1] == paragraph(other, 0).split("examples")[1]
        assert paragraph(one, 0).startswith("On 100 held-out")
        pictures = [re.search("bars-chart.*?</svg>", page, re.DOTALL) for page in (one, other)]
        assert pictures[0].group() == pictures[1].group()


@pytest.mark.slow
def test_names_cannot_break_out() -> None:
    """Columns, items, title, unit, command and sources called like markup are shown as they are, nothing of them is markup."""
    X = features(150, 0)
    y = X.iloc[:, 3].to_numpy() > 0
    items = classifier().path.problem.costs
    stages = [(LogisticRegression(), [0, 2]), (LogisticRegression(), None)]
    model = pm.CascadeClassifier(stages, items, lam=1e-6, cv=2, random_state=0).fit(X, y)
    page = report_page(model, X[100:], y[100:], title="</title><h1>", unit="<b>", command="<i>", sources={"x": "<u>"})
    check_markup(page)
    check_alone(page)
    text = Page(page).text()
    assert all(word in text for word in ("</title><h1>", "<i>", "<u>", "<lab>", "own & only", HOSTILE[1]))
    assert len(Page(page).all("h1")) == 1
    page.encode()


@pytest.mark.parametrize("with_certificate", [True, False])
def test_a_check_that_fails_is_told_first(with_certificate: bool) -> None:
    """Gains that were tampered with are refuted; a path without its certificate is undecided; both before any figure of proof."""
    cascade = hand_cascade()
    path = cascade.exit_path_
    closures = path.closures
    if with_certificate:
        closures.problem.integers.gain[...] = closures.problem.integers.gain[::-1].copy()
    else:
        closures = replace(closures, certificate=None)
    cascade.exit_path_ = replace(path, learned=replace(path.learned, path=closures))
    page = report_page(cascade)
    word = "do not rely on this policy" if with_certificate else "The checks could not decide everything"
    assert word in page
    assert ("Refuted:" if with_certificate else "Undecided:") in page.split('id="proof"')[1][:300]


def test_a_policy_that_was_not_compared_is_refuted() -> None:
    """Rows in doubt that stop where surer ones go on: no closure, so nothing is proven of it, and the page names the place."""
    cascade = hand_cascade()
    go = np.array([[False, True, False], [False, False, False]])
    cascade.policy_ = ExitPolicy(cascade.policy_.doubt, cascade.policy_.theta, go)
    page = report_page(cascade)
    assert "do not rely on this policy" in page
    assert "rows of level 1 go on from stage 0, but what that requires does not hold" in page


@pytest.mark.slow
def test_many_stages_make_a_small_page() -> None:
    """Twenty stages of a forest on 64 features, hundreds of examples: the page stays below 150 kB, and lists of items are cut."""
    X, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(20, max_depth=6, random_state=0).fit(X[:600], y[:600])
    path = pm.pruning_path(pm.problem_from_forest(forest, X[600:900], costs=1))
    model = pm.exit_path(path, X[600:900], y[600:900], n_stages=20, doubt="margin", random_state=0).at_lam(1e-4)
    page = report_page(model, X[900:], y[900:])
    assert len(page.encode()) < 150_000
    assert re.search(r"20 of \d+ items are shown, those that most examples bought", page)
    assert any(re.search(r" and \d+ more / ", row[0]) for row in cells(page, "stages-table"))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((ROWS,), {}, "y is None, but X is given; give examples with their labels, or neither"),
        ((), {"y": TRUTH}, "X is None, but y is given"),
        ((), {"sample_weight": np.ones(8)}, "X is None, but sample_weight is given"),
        ((ROWS, TRUTH[:5]), {}, r"y has shape \(5,\), X has 8 rows: give one label each"),
        ((ROWS, TRUTH), {"sample_weight": np.eye(8)[0]}, "X has 1 examples of positive weight; give 2 or more"),
        ((ROWS, TRUTH), {"sample_weight": -np.ones(8)}, "sample_weight"),
        ((ROWS, TRUTH + 5), {}, r"y\[\d+\] is the label \d, the model was trained on \[0, 1\]"),
        ((ROWS, TRUTH), {"confidence": 95}, "confidence is 95; give a number between 0 and 1"),
        ((), {"budget": -1}, "budget is -1"),
        ((), {"chosen": None}, "chosen is a NoneType, which is for a PruningPath; for a CascadeClassifier, choose the policy"),
        ((None, ROWS, TRUTH), {}, "forest is a NoneType, but a CascadeClassifier contains its models; give X and y after"),
        ((), {"forest": 3}, "forest is a int, but a CascadeClassifier contains its models"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: tuple, options: dict, message: str) -> None:
    """Named, with its value and what to do."""
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        report_page(hand_cascade(), *arguments, **options)


@pytest.mark.parametrize(("row", "told"), [(0, "everybody at stage 1"), (1, None), (2, "everybody at stage 0")])
def test_a_policy_without_exits_is_told(row: int, told: str | None) -> None:
    """Rows 0 and 2 of the hand-made path treat all levels alike; row 1 sends those in doubt on."""
    for page in (report_page(cascade_of(hand_path()).at_row(row), ROWS, TRUTH), report_page(cascade_of(hand_path()).at_row(row))):
        assert ("it is one model without exits" in page) == (told is not None)
        assert told is None or f"The chosen policy stops {told}: it is one model without exits." in page


def test_an_optimal_policy_is_told_with_its_lambdas() -> None:
    """Row 1 of the hand-made path: a visit saves who doubts 2/8 for 10/8, the others 1/8 for 6/8: optimal from 1/6 to 1/5."""
    page = report_page(cascade_of(hand_path()).at_row(1), ROWS, TRUTH)
    assert "For every lambda from 0.166667 to 0.2, no policy with these stages" in page
    text = Page(page).text()
    assert "1/6 \u2248 0.16666667 to 1/5 \u2248 0.2, row 1 of 3 of the path" in text
    assert "5/4 \u2248 1.25" in text
    assert "1/4 \u2248 0.25" in text


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    """Written over another with force, and not at all after an error."""
    place = tmp_path / "c.html"
    place.touch()
    write_report(place, cascade_of(hand_path()), force=True)
    assert "<title>Cascade</title>" in place.read_text(encoding="utf-8")
    with pytest.raises(pm.errors.InvalidInputError, match="X has 8 rows"):
        write_report(tmp_path / "d.html", hand_cascade(), ROWS, TRUTH[:3])
    assert [file.name for file in tmp_path.iterdir()] == ["c.html"]


def test_other_sources_are_refused(tmp_path: Path) -> None:
    """What is no path, no cascade, or not fitted; and a budget for a pruning."""
    small = classifier()
    with pytest.raises(pm.errors.NotFittedForestError, match=r"the CascadeClassifier is not fitted: call fit\(X, y\) first"):
        report_page(pm.CascadeClassifier([]))
    with pytest.raises(
        pm.errors.InvalidInputError, match="source is a RandomForestClassifier; give a PruningPath, a BoostedPath, a Cascade, or"
    ):
        pm.write_report(tmp_path / "c.html", small.forest, small.forest, small.X, small.y, chosen=small.some)
    with pytest.raises(pm.errors.InvalidInputError, match="budget is 3, which is for cascades; with a PruningPath give chosen="):
        report_page(small.path, small.forest, small.X, small.y, budget=3)


@pytest.mark.parametrize("kind", ["sets", "prunings", "three classes"])
def test_who_is_found_is_told_without_held_out_rows(kind: Kind) -> None:
    """Of the rows that the policy was learned from: found are those that the cascade calls by their name; sensitivity of two
    classes is told; a cascade that answers one class for everybody says so first.
    """
    known = case(kind)
    cascade = known.cascade.at_row(middle(kind))
    own = getattr(cascade, "own_rows_", slice(None))  # all of them where a forest has exits
    X, y = known.learned_rows.iloc[own], known.learned_labels[own]
    found = found_in_fitting(cascade, 0.95)
    assert found is not None
    said = cascade.predict(X)
    for one in found.classes:
        at = y.astype(str) == one.name
        assert (one.rates[1].count, one.rates[1].of) == ((said[at] == y[at]).sum(), at.sum())
    assert (found.sensitivity is None) == (kind == "three classes")
    if kind == "sets":
        nobody = known.cascade.at_row(len(known.path) - 1)
        assert len({*nobody.predict(X)}) == 1
        (alert, *_) = re.findall('<p class="alert">(.*?)</p>', report_page(nobody))
        assert alert == f"This answers “{nobody.predict(X)[0]}” for everybody; a saving says nothing."
