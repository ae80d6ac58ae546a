"""The page, on forests and on boosted models: complete, accessible, safe with any name, and never half written."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import lightgbm
import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier

import prunemodels as pm
from prunemodels.evaluation.held_out import hold_out
from prunemodels.other_libraries import BoostedPath, boosted_path
from prunemodels.report_page import report_page, write_report
from prunemodels.report_page.facts import gather, gather_boosted
from prunemodels.report_page.page import DARK, LIGHT, render
from prunemodels.statements.wording import amount
from tests.prunemodels.models.libraries.models import L_DEEP, X2, X3, XR, Y2, Y3, YR
from tests.prunemodels.report_page.cases import HOSTILE, Case, Page, check_page, classifier, regressor

TITLE = 'Forest <"7"> & co'


def whole(case: Case, chosen: object, **labels: object) -> str:
    return report_page(case.path, case.forest, case.X, case.y, chosen=chosen, **labels)


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """A budget with every option, a row of the path, a pruning that is neither, and a regression."""
    case, numbers = classifier(), regressor()
    problem = case.path.problem
    budget = pm.solve(problem, budget=3, method="path", path=case.path)
    kept = problem.ensemble.is_split.copy()
    kept[problem.ensemble.nodes_of(0)] = False
    command, sources = "prunemodels report 'a b.skops' --title '<x>'", {"file of --data": "valid & <co>.csv, SHA-256 12ab"}
    return {
        "budget": whole(case, budget, title=TITLE, unit="<dollars>", command=command, sources=sources),
        "row": whole(case, case.some),
        "other": whole(case, pm.Pruning(problem, kept), confidence=0.8),
        "regression": whole(numbers, numbers.some),
        "roots": whole(case, pm.Pruning.all_roots(problem)),
        "unpruned": whole(case, pm.Pruning.unpruned(problem)),
    }


KINDS = ["budget", "row", "other", "regression", "roots", "unpruned"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_is_sound(pages: dict[str, str], kind: str) -> None:
    """Its markup, that it loads nothing, and that it can be read without seeing it."""
    check_page(pages[kind], tables=3, pictures=1)


def test_one_answer_for_everybody_comes_before_any_saving(pages: dict[str, str]) -> None:
    """A page on roots alone first says that they answer one class and which class nobody finds, and names no share saved."""
    case, header = classifier(), pages["roots"][: pages["roots"].index("</header>")]
    (label,) = set(pm.apply_pruning(pm.Pruning.all_roots(case.path.problem), case.forest).predict(case.X).tolist())
    first, second = re.findall('<p class="alert">(.*?)</p>', header)
    assert first == f"This answers “{label}” for everybody; a saving says nothing."
    assert f"that are “{not label}”, none is found; before, " in second
    assert header.index(second) < header.index("a prediction costs")
    assert "less</strong>" not in header
    assert "less</strong>" in pages["row"]


def test_exact_numbers_of_what_was_asked(pages: dict[str, str]) -> None:
    """The relaxation only where there is a budget or no row of the path; lambda only for a row; "wrong" only of classes."""
    for kind, terms in (
        ("budget", {"budget", "relaxation LP1"}),
        ("other", {"compared at the cost"}),
        ("row", {"optimal for lambda"}),
    ):
        shown = {text for tag, text in Page(pages[kind]).texts if tag == "dt"}
        assert terms <= shown
        assert ("relaxation LP1" in shown) == (kind != "row")
    assert ("wrong" in Page(pages["regression"]).text(), "wrong as before" in Page(pages["unpruned"]).text()) == (False, True)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours ``#rrggbb``, 1 to 21 (WCAG 2)."""
    bright = []
    for colour in (one, other):
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        bright.append(0.2126 * r + 0.7152 * g + 0.0722 * b)
    return (max(bright) + 0.05) / (min(bright) + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_lines_stand_out(colours: dict[str, str]) -> None:
    """Text has a contrast of at least 4.5 to 1 with its ground, lines of at least 3, in both themes."""
    for text in ("ink", "muted", "after", "accent", "good", "bad"):
        for ground in ("paper", "raised"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for shape in ("before", "after", "accent"):
        assert contrast(colours[shape], colours["paper"]) >= 3, shape
    assert LIGHT.keys() == DARK.keys()


def test_every_colour_is_of_a_theme(pages: dict[str, str]) -> None:
    """No colour outside the two tables, and no variable without one."""
    sheet = Page(pages["row"]).text("style")
    assert set(re.findall(r"#[0-9a-f]{3,6}\b", sheet)) <= set(LIGHT.values()) | set(DARK.values())
    assert set(re.findall(r"var\(--([a-z]+)\)", sheet)) <= set(LIGHT)
    assert "prefers-color-scheme:dark" in sheet
    assert "@media print" in sheet


def test_names_cannot_break_out(pages: dict[str, str]) -> None:
    """Features and items called like markup, 200 characters or right to left are shown as they are; so are title and command."""
    page = Page(pages["budget"])
    text = page.text()
    for shown in ("<lab>", "own & only", *HOSTILE[:2], "<dollars>", "valid & <co>.csv", "--title '<x>'"):
        assert shown in text, shown
    assert page.text("title").startswith(TITLE)
    assert "alert(1)" in text
    assert len(page.all("h1")) == 1
    pages["budget"].encode()


def test_the_headline_tells_saving_and_loss(pages: dict[str, str]) -> None:
    """With the numbers that `evaluate` measures, rounded."""
    case = classifier()
    problem, pruned = case.path.problem, pm.apply_pruning(case.some, case.forest)
    price = [float(a) for a in problem.usage.evaluation]
    before, after = (pm.evaluate(f, case.X, case.y, costs=problem.costs, evaluation_cost=price) for f in (case.forest, pruned))
    lede = re.search(r'<p class="lede(?: rose)?">(.*?)</p>', pages["row"]).group(1)
    saved = f"{100 * (1 - after.cost / before.cost):.0f}\u00a0% less"
    assert f"a prediction costs {after.cost:.4g} instead of {before.cost:.4g}, <strong>{saved}</strong>" in lede
    assert f"{100 * after.error:.2f}\u00a0% of the predictions are wrong" in lede
    assert "On 80 held-out examples" in lede


@pytest.mark.slow
def test_an_overrun_stands_at_the_top() -> None:
    """Held-out examples that cost more than the budget: both numbers and the interval before the headline, as a warning if chance
    does not explain it.
    """
    case = classifier()
    found = pm.solve(case.path.problem, budget=3, method="path", path=case.path)
    kept = whole(case, found)
    assert 'class="alert"' not in kept
    assert "Within the budget of 3" in Page(kept).text()

    def allowing(most: Fraction) -> pm.LimitedSolution:
        return replace(found, limits=(pm.Limit(most),), at_most=(most,))

    over = allowing(found.pruning.exact_cost)
    seen = hold_out(found.pruning, case.forest, case.X, case.y).cost
    assert seen.mean > found.cost
    page = whole(case, over, unit="dollars")
    assert seen.low < found.cost  # chance alone may explain it
    assert 'class="alert"' not in page
    assert page.index('class="kept-budget"') < page.index('class="lede')
    far = whole(case, allowing(found.pruning.exact_cost / 2), unit="dollars")
    assert far.index('class="alert"') < far.index('class="lede')
    text = Page(page).text().replace("\u00a0", " ")
    assert f"Over budget: the 80 held-out examples cost {amount(seen.mean)} (95 % interval {amount(seen.low)} to " in text
    assert f"more than the {amount(found.cost)} dollars allowed" in text
    assert "costs more than the budget; see the top" in text
    assert 'class="alert"' not in whole(case, found.pruning)  # without a budget there is none to overrun


def test_a_shared_item_is_named_in_words() -> None:
    """What the features of a group share is not called by its internal name."""
    case = regressor()
    costs = pm.CostItems.discounted([3] * 6, [1] * 6, ["B", "B", "", "", "", ""])
    path = pm.pruning_path(pm.problem_from_forest(case.forest, case.X, costs=costs))
    text = Page(report_page(path, case.forest, case.X, case.y, chosen=path[0])).text()
    assert "first of group B paid once for  x0 ,  x1" in text
    assert "shared:" not in text


@pytest.mark.slow
def test_a_refuted_check_is_told_first(pages: dict[str, str]) -> None:
    """Whatever else the page says."""
    case = classifier()
    facts = gather(case.path, case.forest, case.X, case.y, chosen=case.some)
    evidence = facts.evidence
    for holds, word, told in ((False, "Refuted:", "do not rely on this pruning"), (None, "Undecided:", "could not decide")):
        verdict = replace(evidence.verdicts[0], holds=holds, certificate="split 3 is < wrong")
        text = Page(render(replace(facts, evidence=replace(evidence, verdicts=(verdict, *evidence.verdicts[1:]))))).text()
        assert word in text
        assert told in text
        assert "split 3 is < wrong" in text
    rounded = Page(render(replace(facts, evidence=replace(evidence, hidden=2.5e-13)))).text()
    assert "optimal means up to a relative gap of 2e-13" in rounded
    assert "relative gap of" not in Page(render(facts)).text()


@pytest.mark.slow
def test_a_large_path_makes_a_small_page() -> None:
    """54 features, 40 trees, hundreds of breakpoints: the page stays far below 500 kB, with the items beyond twelve folded."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 54))
    y = (X[:, :6].sum(axis=1) + 0.8 * rng.normal(size=2000) > 0) & (X[:, 6] < 1.5)
    forest = RandomForestClassifier(40, max_depth=8, max_features=20, random_state=0).fit(X[:1200], y[:1200])
    path = pm.pruning_path(pm.problem_from_forest(forest, X[1200:1700], costs=1))
    assert len(path) > 150
    page = report_page(path, forest, X[1700:], y[1700:], chosen=path.at_cost(path.cost[0] / 2))
    assert len(page.encode()) < 150_000
    assert "42 more items" in page


def test_what_does_not_fit_is_refused() -> None:
    """A pruning of another problem, another forest, a confidence that is none."""
    case, numbers = classifier(), regressor()
    with pytest.raises(pm.errors.InvalidInputError, match="chosen belongs to another problem"):
        whole(case, numbers.some)
    with pytest.raises(pm.errors.InvalidInputError, match="the forest has other trees"):
        report_page(case.path, numbers.forest, case.X, case.y, chosen=case.some)
    with pytest.raises(pm.errors.InvalidInputError, match=r"confidence is 95"):
        whole(case, case.some, confidence=95)


@pytest.mark.slow
def test_weights_of_held_out_examples_count() -> None:
    """Twice an example is an example of weight two, in the headline."""
    case = classifier()
    w = np.where(np.arange(len(case.y)) < 20, 2.0, 1.0)
    twice = np.concatenate([np.arange(len(case.y)), np.arange(20)])
    one = whole(case, case.some, sample_weight=w)
    other = report_page(case.path, case.forest, case.X.iloc[twice], case.y[twice], chosen=case.some)
    ledes = [re.search(r'<p class="lede(?: rose)?">On [\d,]+ (.*?)</p>', page).group(1) for page in (one, other)]
    assert ledes[0] == ledes[1]


COSTS = pm.CostItems.from_items(
    {"drawing": 2, "<a>": 1, "device": 30, "rest": 3},
    [["drawing", "<a>"], ["drawing"], ["device"], ["rest"], ["rest"], []],
    once=["device"],
)
HELD = slice(120, None)


@pytest.fixture(scope="module")
def paths() -> dict[str, BoostedPath]:
    """Two classes, several, and numbers."""
    two = GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=0).fit(X2[:120], Y2[:120])
    three = lightgbm.LGBMClassifier(**L_DEEP).fit(X3[:120], Y3[:120])
    numbers = GradientBoostingRegressor(n_estimators=6, max_depth=2, random_state=0).fit(XR[:120], YR[:120])
    return {
        "two classes": boosted_path(two, X2[:120], Y2[:120], costs=COSTS, evaluation_cost=0.01, lams=4, rounds=4),
        "three classes": boosted_path(three, X3[:120], Y3[:120], costs=[1, 2, 3, 4, 5, 6], lams=4, rounds=4),
        "numbers": boosted_path(numbers, XR[:120], YR[:120], costs=2, lams=4, rounds=4),
    }


DATA = {"two classes": (X2[HELD], Y2[HELD]), "three classes": (X3[HELD], Y3[HELD]), "numbers": (XR[HELD], YR[HELD])}


@pytest.mark.slow_cases("two classes")
@pytest.mark.parametrize("name", DATA)
def test_the_page_on_a_boosted_model_is_sound(paths: dict[str, BoostedPath], name: str) -> None:
    """Sound markup, nothing from elsewhere, a picture and two tables that can be read without seeing."""
    chosen = paths[name][len(paths[name]) // 2]
    page = report_page(paths[name], *DATA[name], chosen=chosen, title="<Bought> & sold", unit="<EUR>", command="x <y>")
    check_page(page, tables=2, pictures=1)
    assert "not proven that no better pruning exists" in page
    assert "optimal pruning" not in page


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_figures_are_those_of_evaluate(paths: dict[str, BoostedPath], name: str, weighted: bool) -> None:
    """Cost, error and loss before and after are those of the models themselves; the items add up to the cost."""
    path, (X, y) = paths[name], DATA[name]
    weight = np.tile([1.0, 2.0], 60) if weighted else None
    copies = np.repeat(np.arange(120), 1 if weight is None else weight.astype(int))
    chosen = path[len(path) // 2]
    facts = gather_boosted(path, X, y, chosen=chosen, sample_weight=weight, confidence=0.9)
    evaluation = [float(a) for a in chosen.usage.evaluation]
    for place, p in enumerate((path.unpruned, chosen)):
        seen = pm.evaluate(p.to_model(), X[copies], y[copies], costs=chosen.usage.costs, evaluation_cost=evaluation)
        cost = (facts.held_out.cost_before, facts.held_out.cost_after)[place]
        assert cost.mean == pytest.approx(seen.cost)
        assert (facts.held_out.error_before, facts.held_out.error_after)[place].mean == pytest.approx(seen.error)
        assert facts.loss[place] == pytest.approx(seen.loss)
        assert sum((i.before, i.after)[place] for i in facts.items) == pytest.approx(seen.cost)
    page = report_page(path, X, y, chosen=chosen, sample_weight=weight)
    assert amount(facts.held_out.cost_after.mean) in page
    assert re.search(r"(is|was not shown to be) stationary", page)


def test_another_model_s_pruning_is_refused(paths: dict[str, BoostedPath], tmp_path: Path) -> None:
    """A pruning of one path is not shown on the page of another; the page is written as any other."""
    with pytest.raises(pm.errors.InvalidInputError, match="chosen is a pruning of another model than path"):
        report_page(paths["two classes"], *DATA["two classes"], chosen=paths["numbers"][0])
    path = paths["two classes"]
    written = write_report(tmp_path / "a.html", path, *DATA["two classes"], chosen=path.at_cost(40))
    assert written.read_text().startswith("<!DOCTYPE")
