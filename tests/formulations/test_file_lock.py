"""Plumbing: locks, fingerprints, the log of long steps, cards, and answers that print in a line."""

from __future__ import annotations

import copy
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from formulations import BrokenFileError
from formulations.checkpoints import FileLock, hidden_name
from formulations.instance.papers import two_trees
from formulations.long_steps import timed_step
from formulations.shown import Card, spread
from formulations.stored_arrays import fingerprint
from prunemodels.example import X_test, X_valid, costs, forest, path, problem, y_test, y_valid
from solvers.price_sharing.rows import problem_fingerprint

ROOT = Path(__file__).resolve().parents[2]

HOLDER = """
import sys, time
from pathlib import Path
from formulations.checkpoints import FileLock
with FileLock(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(600)
"""


@pytest.mark.slow
def test_a_second_process_is_refused_until_the_first_was_killed(tmp_path: Path) -> None:
    """The error names the process; its lock file locks nothing after SIGKILL, and the next holder deletes it."""
    place = tmp_path / "path.csv"
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(place)], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "locked\n"
        with (
            pytest.raises(BrokenFileError, match=rf"another run, process {process.pid}, is writing .*path\.csv: wait"),
            FileLock(place),
        ):
            pass
        process.send_signal(signal.SIGKILL)
    assert os.listdir(tmp_path) == [".path.lock.csv"]
    with FileLock(place):
        assert (tmp_path / ".path.lock.csv").read_text() == f"{os.getpid()}\n"
    assert os.listdir(tmp_path) == []


def test_threads_take_turns(tmp_path: Path) -> None:
    """Of eight threads that wait for the lock, two never have it at once, although each deletes the lock file."""
    inside, most = [], []

    def work() -> None:
        with FileLock(tmp_path / "a", wait=60):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.001)
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 8
    assert os.listdir(tmp_path) == []


def test_a_place_that_takes_no_lock_is_named(tmp_path: Path) -> None:
    """A folder that is not there, and a folder in the place of the lock file."""
    with pytest.raises(BrokenFileError, match=r"cannot write .*absent/a: .*No such file"), FileLock(tmp_path / "absent" / "a"):
        pass
    (tmp_path / ".a.lock").mkdir()
    with pytest.raises(BrokenFileError, match=r"cannot write .*a: \.a\.lock: Is a directory"), FileLock(tmp_path / "a"):
        pass


def test_hidden_names_are_never_too_long(tmp_path: Path) -> None:
    """The longest names that a file may have, of one and of several bytes a character, with short and with long endings."""
    for name in ("a" * 251 + ".csv", "\u00e4" * 125 + ".csv", "b" * 255, "c." + "d" * 253):
        hidden = hidden_name(tmp_path / name, "partial")
        hidden.touch()
        (tmp_path / name).touch()
        assert len(os.fsencode(name)) <= 255
        assert hidden.suffix == (".csv" if name.endswith(".csv") else hidden.suffix)
    assert len(os.listdir(tmp_path)) == 8
    assert hidden_name(Path("path.csv"), "partial") == Path(".path.partial.csv")


def test_different_parts_differ() -> None:
    """Values, types, shapes, nesting and order all count; not which objects are the same, nor how an array lies in memory."""
    parts: list[Any] = [1, 1.0, "1", True, None, Fraction(1, 2), 0.5, [1], [[1]], ["a", "b"], ["ab"], ["b", "a"], {"a": "b"}]
    parts += [np.zeros(2), np.zeros(3), np.zeros((1, 2)), np.zeros(2, dtype=np.float32)]
    parts += [np.array(["a", last], dtype=object) for last in "bc"] + [pd.DataFrame({name: [1]}) for name in "ab"]
    parts += [DecisionTreeClassifier(), DecisionTreeClassifier(max_depth=2), DecisionTreeClassifier]
    assert len({fingerprint(part) for part in parts}) == len(parts)
    assert fingerprint("a", "b") != fingerprint("ab")
    half, table = Fraction(1, 2), np.arange(6).reshape(2, 3)
    for one, other in (
        ((half, half), (Fraction(1, 2), Fraction(2, 4))),
        (np.float64(0.5), 0.5),
        (table, np.asfortranarray(table)),
        (np.arange(6)[::2], np.array([0, 2, 4])),
    ):
        assert fingerprint(one) == fingerprint(other)


def _leaves(part: Any, place: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The fields of a dataclass, of those in it, and so on."""
    if not is_dataclass(part):
        return [place]
    return [leaf for field in fields(part) for leaf in _leaves(getattr(part, field.name), (*place, field.name))]


def _changed(part: Any, place: tuple[str, ...]) -> Any:
    """A copy of the dataclass with another value at one of its leaves."""
    owner = changed = copy.deepcopy(part)
    for name in place[:-1]:
        owner = getattr(owner, name)
    object.__setattr__(owner, place[-1], _other(getattr(owner, place[-1])))
    return changed


def _other(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, np.ndarray):
        other = value.copy()
        other.flat[0] = not other.flat[0] if other.dtype == bool else other.flat[0] + 1
        return other
    if isinstance(value, tuple):
        return (*value, value[0]) if value else ("new",)
    if isinstance(value, str):
        return value + "x"
    return ("new",) if value is None else value + 1


def test_every_field_of_an_instance_counts() -> None:
    """No field of trees, prices, errors, routing or integers can change unnoticed, but for the rows' features: routes say all."""
    problem = two_trees()
    before, places = problem_fingerprint(problem), _leaves(problem)
    assert ("usage", "routing", "order") in places
    assert ("usage", "evaluation") in places
    unnoticed = [place for place in places if problem_fingerprint(_changed(problem, place)) == before]
    assert unnoticed == [("usage", "X")]


LOG = logging.getLogger("prunemodels.a_test")


def messages(caplog: Any, level: int) -> list[tuple[str, str]]:
    return [(r.name, r.getMessage()) for r in caplog.records if r.levelno == level]


def test_a_step_says_when_it_begins_and_ends(caplog: pytest.LogCaptureFixture) -> None:
    """Two lines: what is done on what, and the seconds; of one that fails the log has the error's type."""
    with caplog.at_level(logging.INFO, "prunemodels"), timed_step(LOG, "counting %d sheep", 3):
        pass
    (_, begun), (name, ended) = messages(caplog, logging.INFO)
    assert (name, begun) == ("prunemodels.a_test", "counting 3 sheep")
    assert ended.startswith("counting 3 sheep: done in ")
    with caplog.at_level(logging.INFO, "prunemodels"), pytest.raises(ZeroDivisionError), timed_step(LOG, "dividing"):
        _ = 1 / 0
    assert "dividing: ZeroDivisionError after" in caplog.text


def test_pruning_a_forest_logs_its_steps(caplog: pytest.LogCaptureFixture) -> None:
    """Problem, path and budget by the modules that do the work; rounds only at DEBUG."""
    with caplog.at_level(logging.INFO):
        result = pm.prune_forest(forest, X_valid, y_valid, costs=costs)
        pm.solve(result.problem, budget=10, method="path")
    names = {name for name, _ in messages(caplog, logging.INFO)}
    assert {"prunemodels.models.forests.problems", "solvers.path.pruning_path", "prunemodels.solving"} <= names
    assert any(text.startswith("path of PruningProblem(Ensemble(8 trees") for _, text in messages(caplog, logging.INFO))
    assert not messages(caplog, logging.DEBUG)


@pytest.mark.slow
def test_nothing_is_shown_without_a_request() -> None:
    """A program that does not configure logging sees neither messages nor complaints."""
    program = (
        "import prunemodels as pm; from prunemodels.example import *; pm.prune_forest(forest, X_valid, costs=costs, budget=10)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""


def test_a_card_in_text_by_hand() -> None:
    """Labels flush left, cells flush right, notes below; a long note is wrapped."""
    card = Card("Title", (("a", "1"), ("bcd", "22")), ("", "cost"), ("A note. " * 20,))
    lines = card.text().splitlines()
    assert lines[:6] == ["Title", "", "        cost", "  a        1", "  bcd     22", ""]
    assert len(lines) > 7
    assert max(map(len, lines)) <= 100
    assert Card("Title").text() == "Title"
    assert Card("Title", (("a", "1"),)).text() == "Title\n\n  a   1"
    # of many rows some are shown, the first and the last among them
    assert (spread(3, 12), spread(100, 4), spread(1, 2)) == ([0, 1, 2], [0, 33, 66, 99], [0])


def test_html_is_escaped_and_complete() -> None:
    """Names of columns are the user's: they cannot end a tag, and every tag that opens is closed."""
    page = Card("<b>", (("<script>", "1 & 2"),), ("x", '"y"'), ("</div>",)).html()
    assert not {"script", "b"} & {element.tag for element in ElementTree.fromstring(page).iter()}


def test_answers_show_themselves() -> None:
    """The two trees of the papers, whose figures are known by hand: at lambda 0.1 the optimum costs 3."""
    problem = two_trees()
    path = pm.pruning_path(problem)
    for one, texts in (
        (problem, ["2 trees, 5 splits"]),
        (path, [f"{len(path)} optimal prunings"]),
        (path[0], ["cost per prediction, cost sample           3         3"]),
        (pm.solve(problem, lam=0.1), ["lambda = 0.1: optimal"]),
        (pm.solve(problem, budget=2), ["Budget 2: met", "no pruning within it has less error"]),
    ):
        assert [text for text in texts if text not in one._card().text()] == []
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


@pytest.fixture(scope="module")
def answers() -> list[object]:
    """What users hold in their hands, of an instance with a thousand variables."""
    relaxed = pm.programs.solve_relaxation(problem, 0.01)
    lp1 = pm.budgets.solve_lp1(problem, 9.5, path=path)
    found = pm.solve(problem, lam=0.01, method="price_sharing")
    tree = pm.engines.price_by_tree_pass(problem, problem.node_error, np.zeros(problem.ensemble.n_nodes))
    several = [
        relaxed.point,
        relaxed.dual,
        relaxed.answer,
        lp1,
        lp1.chain,
        found.certificate,
        pm.engines.final_scores(found),
        tree,
    ]
    return [
        *several,
        path.certificate,
        pm.tradeoff_curve(path, X_test, y_test),
        problem.errors,
        pm.programs.build(problem, lam=0.1),
    ]


def test_answers_print_in_a_line(answers: list[object]) -> None:
    """No answer prints its arrays, however long they are."""
    for answer in answers:
        assert "array(" not in repr(answer), type(answer)
        assert len(repr(answer)) < 250, (type(answer), repr(answer))


def test_arrays_print_their_shapes() -> None:
    """Shape and type of an array, fractions as they are written, numbers by name."""
    trees = pm.datasets.two_trees()
    relaxed = pm.programs.solve_relaxation(trees, 0.25, formulation="IP1")
    assert repr(relaxed.point) == "Named(15 numbers: z[0] = 0, z[1] = 1, z[2] = 0.5, ...)"
    assert repr(pm.engines.min_cut(trees, 0.25).certificate) == "ItemDuals(dual=<4 int64>, unit=1/8, lam=1/4)"
    assert repr(pm.engines.all_prunings(trees)).startswith("AllPrunings(kept=<15 x 12 bool>, gain=")
