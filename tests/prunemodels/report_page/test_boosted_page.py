"""The page on a pruned boosted model."""

from __future__ import annotations

import re
from pathlib import Path

import lightgbm
import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

import prunemodels as pm
from prunemodels.other_libraries import BoostedPath, boosted_path
from prunemodels.report_page import report_page, write_report
from prunemodels.report_page.boosted import gather_boosted
from prunemodels.statements.wording import amount
from tests.prunemodels.models.libraries.models import L_DEEP, X2, X3, XR, Y2, Y3, YR
from tests.prunemodels.report_page.cases import check_page

NAMES = ["<a>", "b & c", "d", "e", "f", "g"]
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
def test_the_page_is_sound(paths: dict[str, BoostedPath], name: str) -> None:
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
