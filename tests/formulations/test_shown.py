"""Cards: what objects say of themselves, as text and as HTML."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

import prunemodels as pm
from formulations.instance.papers import two_trees
from formulations.shown import Card, spread


def test_a_card_in_text_by_hand() -> None:
    """Labels flush left, cells flush right, notes below; a long note is wrapped."""
    card = Card("Title", (("a", "1"), ("bcd", "22")), ("", "cost"), ("A note. " * 20,))
    lines = card.text().splitlines()
    assert lines[:6] == ["Title", "", "        cost", "  a        1", "  bcd     22", ""]
    assert len(lines) > 7
    assert max(map(len, lines)) <= 100
    assert Card("Title").text() == "Title"
    assert Card("Title", (("a", "1"),)).text() == "Title\n\n  a   1"


def test_html_is_escaped_and_complete() -> None:
    """Names of columns are the user's: they cannot end a tag, and every tag that opens is closed."""
    page = Card("<b>", (("<script>", "1 & 2"),), ("x", '"y"'), ("</div>",)).html()
    assert "<script>" not in page
    assert "<b>" not in page
    open_tags: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            open_tags.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert open_tags.pop() == tag

    Tags().feed(page)
    assert open_tags == []


@pytest.mark.parametrize(("n", "most", "rows"), [(3, 12, [0, 1, 2]), (100, 4, [0, 33, 66, 99]), (1, 2, [0])])
def test_rows_are_spread(n: int, most: int, rows: list[int]) -> None:
    """The first and the last are always there."""
    assert spread(n, most) == rows


def test_answers_show_themselves() -> None:
    """The two trees of the papers, whose figures are known by hand: at lambda 0.1 the optimum costs 3."""
    problem = two_trees()
    path = pm.pruning_path(problem)
    shown = {
        "problem": problem,
        "path": path,
        "pruning": path[0],
        "solution": pm.solve(problem, lam=0.1),
        "budget": pm.solve(problem, budget=2),
    }
    text = {name: one._card().text() for name, one in shown.items()}
    assert "2 trees, 5 splits" in text["problem"]
    assert f"{len(path)} optimal prunings" in text["path"]
    assert text["pruning"].splitlines()[3].split()[-2:] == ["3", "3"]
    assert "lambda = 0.1: optimal" in text["solution"]
    assert "Budget 2: met" in text["budget"]
    assert "no pruning within it has less error" in text["budget"]
    for one in shown.values():
        assert one._repr_html_().startswith("<div")


def test_at_cost_warns_where_little_of_the_budget_is_spent() -> None:
    """Of the two trees' rows with prices 1, 1 and 40 one costs 1, the next 42; both neighbours and the remedy are named."""
    path = pm.pruning_path(two_trees(prices=(20, 20, 1)))
    costs = path.cost.tolist()
    gap = next(k for k in range(1, len(costs)) if costs[k - 1] > 4 * max(costs[k], 1))
    budget = 0.9 * costs[gap - 1]
    with pytest.warns(pm.errors.UnspentBudgetWarning) as seen:
        assert path.at_cost(budget).cost == costs[gap]
    message = str(seen[0].message)
    assert f"between cost {costs[gap]:.4g} " in message
    assert f"and {costs[gap - 1]:.4g} " in message
    assert f"pm.solve(path.problem, budget={budget:g})" in message
    assert seen[0].filename == __file__
    path.at_cost(costs[gap - 1])  # all of it is spent
    path.at_cost(2 * costs[0] + 1)  # nothing dearer exists
